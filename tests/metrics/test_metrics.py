"""The paper's two rates and fidelity, against their definitions."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from fcca.exceptions import InvalidInputError
from fcca.metrics import compression_rate, fidelity, inconsistency_rate


def by_definition(B, y):
    groups = defaultdict(Counter)
    for row, label in zip(map(tuple, B), y, strict=True):
        groups[row][label] += 1
    wrong = sum(sum(labels.values()) - max(labels.values()) for labels in groups.values())
    return 1 - len(groups) / len(B), wrong / len(B)


@pytest.mark.parametrize("seed", range(20))
def test_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(1, 200), rng.integers(1, 70)
    B = rng.integers(0, 2, size=(n, 3)).repeat(k, axis=1)[:, :k] if seed % 2 else rng.integers(0, 3, size=(n, 3))
    y = rng.choice(["a", "b", "c"], size=n)
    compression, inconsistency = by_definition(B, y)
    assert compression_rate(B) == pytest.approx(compression)
    assert inconsistency_rate(B, y) == pytest.approx(inconsistency)


def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row():
    rng = np.random.default_rng(1)
    B, y = rng.integers(0, 2, size=(60, 4)), rng.integers(0, 3, size=60)
    weight = rng.integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    assert compression_rate(B, weight) == pytest.approx(compression_rate(B[repeated]))
    assert inconsistency_rate(B, y, weight) == pytest.approx(inconsistency_rate(B[repeated], y[repeated]))
    assert fidelity(y, B[:, 0], weight) == pytest.approx(fidelity(y[repeated], B[repeated, 0]))


def test_no_columns_at_all():
    assert compression_rate(np.zeros((4, 0))) == 0.75
    assert inconsistency_rate(np.zeros((4, 0)), [0, 0, 0, 1]) == 0.25


def test_all_weights_zero_is_an_error():
    with pytest.raises(InvalidInputError, match="non-zero"):
        compression_rate([[0]], [0.0])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent"):
        inconsistency_rate([[0], [1]], [1, 2, 3])
