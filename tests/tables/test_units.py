"""The scaler in front of the default black box."""

import numpy as np
import pytest

from fcca import FCCAClassifier, FCCADiscretizer
from fcca.tables import PowerOfTwoScaler


def scales(*columns):
    return PowerOfTwoScaler().fit(np.column_stack(columns)).scale_


def test_the_middle_half_of_the_values_gets_a_range_just_below_one():
    x = np.linspace(0, 100, 101)
    assert scales(x, x * 1e-9, x * 2.0**40).tolist() == [2.0**-6, scales(x * 1e-9)[0], 2.0**-46]
    assert 0.5 <= 50e-9 * scales(x * 1e-9)[0] < 1


def test_units_and_repeated_rows_change_nothing():
    x = np.random.default_rng(0).lognormal(size=200)
    scaled = PowerOfTwoScaler().fit_transform(x[:, None])
    assert PowerOfTwoScaler().fit_transform(x[:, None] * 2.0**20).tolist() == scaled.tolist()
    assert scales(np.repeat(x, 3)).tolist() == scales(x).tolist()


def test_one_huge_value_does_not_push_the_others_together():
    rng = np.random.default_rng(1)
    income = rng.lognormal(10, 0.5, 1000)
    y = np.where(income > 20_000, "high", "low")
    for huge in (999_999_999.0, 1e12, 1e30):
        income[7] = huge
        X = np.column_stack([income, rng.normal(size=1000)])
        classifier = FCCAClassifier(FCCADiscretizer()).fit(X, y)
        assert (classifier.discretizer_.predict_target(X) == y).mean() > 0.99
        assert classifier.score(X, y) > 0.99


@pytest.mark.parametrize(
    "column",
    [[0.0, 0.0, 0.0], [np.nan, 1.0, np.nan], [0.0, 1e-320, 1e-310], [-1.7e308, 0.0, 1.7e308], [0.0, 1e-300, 1e300]],
    ids=["constant", "one value", "tiny", "huge", "tiny and huge"],
)
def test_the_largest_values_fit_into_float32(column):
    scaled = PowerOfTwoScaler().fit_transform(np.array(column)[:, None])
    assert np.isfinite(scaled[~np.isnan(scaled)].astype(np.float32)).all()
