"""Medians by the bits of values, from rows in chunks."""

from types import SimpleNamespace

import numpy as np
import pytest

from fcca.discretizers import EncodedRows, medians
from fcca.discretizers._medians import floats_of, ordered_keys
from fcca.discretizers._stages import count_digits

WITHOUT_SPECIAL = SimpleNamespace(engine=SimpleNamespace(special={}))
TINY, HUGE = 5e-324, np.finfo(float).max


class _Chunks:
    """Columns of numbers, cut up."""

    def __init__(self, X, ends):
        self.chunks = np.split(X, ends)
        self.columns = list(range(X.shape[1]))

    def one_pass(self, prefix, at):
        found = [count_digits(EncodedRows(chunk, None), WITHOUT_SPECIAL, self.columns, prefix, at) for chunk in self.chunks]
        found = [one for one in found if one is not None]
        total = found[0]
        for one in found[1:]:
            total = total + one
        return total

    def medians(self):
        return list(medians(self.columns, self.one_pass).values())


NASTY = {
    "one value": [3.5],
    "two values": [3.5, -1.25],
    "even": [1, 2, 3, 4],
    "odd": [1, 2, 3],
    "all equal": [7.1] * 6,
    "zeros of both signs": [-0.0, 0.0, -0.0, 0.0],
    "around zero": [-TINY, -0.0, TINY],
    "subnormals": [TINY, 2 * TINY, 3 * TINY, 4 * TINY],
    "subnormals of both signs": [-TINY, TINY],
    "huge": [HUGE, HUGE, HUGE],
    "huge of both signs": [-HUGE, HUGE],
    "a huge one in the middle": [-HUGE, HUGE / 1.5, HUGE],
    "neighbours": [1.0, np.nextafter(1.0, 2)],
    "neighbours across a power of two": [np.nextafter(2.0, 1), 2.0, 2.0, np.nextafter(2.0, 3)],
    "negative": [-5.5, -4.0, -4.0, -1e-300],
    "from everywhere": [-HUGE, -1.0, -TINY, 0.0, TINY, 1.0, HUGE],
    "far apart": [1e-300, 1e300],
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("n_gaps", [0, 3])
def test_median_is_that_of_numpy(name, n_gaps):
    values = np.array(NASTY[name] + [np.nan] * n_gaps, dtype=np.float64)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.permutation(values), rng.permutation(values)])
    expected = [float(np.nanmedian(X[:, j])) for j in range(2)]
    for ends in ([], [1], [0, len(X) // 2]):
        assert _Chunks(X, ends).medians() == expected


@pytest.mark.parametrize("seed", range(6))
def test_median_of_bits_drawn_at_random_is_that_of_numpy(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2**64, 400, dtype=np.uint64).view(np.float64)
    x[~np.isfinite(x)] = np.nan
    X = np.column_stack([x, np.where(rng.random(400) < 0.5, np.round(rng.normal(size=400), 1), np.nan)])
    expected = [float(np.nanmedian(X[:, j])) for j in range(2)]
    assert _Chunks(X, [13, 13, 200, 399]).medians() == expected


def test_a_column_that_is_missing_in_a_whole_chunk_has_the_median_of_the_others(monkeypatch):
    X = np.array([[np.nan], [np.nan], [2.0], [5.0]])
    assert _Chunks(X, [2]).medians() == [3.5]


def test_floats_and_whole_numbers_are_in_the_same_order():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**64, 1000, dtype=np.uint64).view(np.float64)
    x = np.unique(x[np.isfinite(x)])
    key = ordered_keys(x)
    assert (np.diff(key.astype(object)) > 0).all()
    assert np.array_equal(floats_of(key), x)
