"""Soft labels: probabilities in sixteenths, and mixtures of probabilities and labels."""

import numpy as np
import pytest

from fcca.tables import SoftLabels


def _problem(n, seed=0):
    random = np.random.default_rng(seed)
    return SoftLabels.of(random.dirichlet(np.ones(3), n)), random.integers(0, 3, n), random.exponential(size=n)


@pytest.mark.parametrize(
    ("total", "share"),
    [(10, 1), (714, 1), (715, 0.75), (2_999, 0.75), (3_001, 0.5), (8_333, 0.5), (8_334, 0.25), (1e9, 0.25)],
)
def test_the_share_of_the_probabilities_falls_with_the_weight(total, share):
    soft, label, weight = _problem(50)
    weight *= total / weight.sum()
    weighted = SoftLabels(soft.weight * weight[:, None], soft.n_rows)
    mixture = weighted.mixed(label, weight)
    assert mixture.total == pytest.approx(total)
    parts = share * soft.weight / soft.units + (1 - share) * np.eye(3)[label]
    np.testing.assert_allclose(mixture.weight / mixture.units, parts * weight[:, None])


def test_sums_of_rows_stay_whole():
    for total in (100, 1_000, 5_000, 50_000):
        soft, label, _ = _problem(total)
        mixture = soft.mixed(label, None)
        assert np.array_equal(mixture.weight, np.round(mixture.weight))
        assert (mixture.weight.sum(axis=1) == mixture.units).all()


def test_the_share_does_not_depend_on_the_order_of_the_rows():
    """With a weight of 3,000, the share lies between two quarters."""
    soft, label, weight = _problem(3_000)
    weight *= 3_000 / weight.sum()
    random = np.random.default_rng(0)
    orders = [random.permutation(3_000) for _ in range(100)]
    assert len({weight[order].sum() for order in orders}) > 1
    assert len({soft.rows(order).mixed(label[order], weight[order]).units for order in orders}) == 1
