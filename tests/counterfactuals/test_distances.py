"""Scales and category distances: statistics by definition, and errors before fitting."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import CounterfactualExplainer, FCCADiscretizer
from fcca.counterfactuals import BinCounts, CounterfactualEngine, CounterfactualProblem, ValueCounts
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import is_linear
from mixed_tables import loans
from oracles import distances

SCALES = ("range", "rank", "mad")


def random_table(rng, n):
    """Columns of many kinds: continuous, tied, binary, mostly one value, constant, with missing values, far from 0."""
    columns = [
        rng.normal(size=n),
        rng.integers(0, 4, n).astype(float),
        (rng.random(n) < 0.2).astype(float),
        np.where(rng.random(n) < 0.8, 3.0, rng.normal(size=n)),
        np.full(n, 2.5),
        np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n) * 1e-7),
        1e9 + np.round(rng.gamma(2, 1, n), 1),
    ]
    X = np.column_stack(columns)
    X[0, np.isnan(X).all(axis=0)] = 0.0
    return X


def measured(X, scale, weight, names):
    """An engine that has seen the rows, with its distances by values and by bins."""
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0)
    model.fit(np.nan_to_num(X), np.arange(len(X)) % 2)
    engine = CounterfactualEngine(model, CounterfactualProblem(scale=scale, category_distance="auto"))
    engine.observe(X)
    values = ValueCounts.of(X, engine.is_number, weight)
    by_values = engine.measure(names, values).cells.distances
    if isinstance(scale, str) and scale != "range":
        return engine.cells, by_values
    bins = BinCounts.of(X, engine.cells.box_low, engine.cells.box_high, weight)
    assert engine.measure(names, bins=bins).category_distance == by_values.unordered
    return engine.cells, by_values


@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    X = random_table(rng, int(rng.integers(5, 60)))
    weight = None if seed % 2 else rng.integers(1, 4, len(X)).astype(float)
    names = [f"x{j}" for j in range(X.shape[1])]
    for scale in (*SCALES, {"x0": 0.3, "x6": 100.0}):
        cells, found = measured(X, scale, weight, names)
        by_column = [scale if isinstance(scale, str) else scale.get(name, "range") for name in names]
        assert found.unordered == distances.mean_distance(X.T, by_column, weight), scale
        low, high = cells.box_low, cells.box_high
        for j in range(X.shape[1]):
            if low[j] == high[j]:
                continue
            x = np.concatenate([X[~np.isnan(X[:, j]), j], rng.uniform(low[j], high[j], 5), [low[j] - 1.0, high[j] + 1.0]])
            width = float(high[j] - low[j])
            for origin in rng.choice(x, 4):
                expected = [distances.distance(X[:, j], by_column[j], origin, to, weight) for to in x]
                assert np.allclose(found.between(j, origin, x, width), expected, rtol=1e-9, atol=1e-11), (scale, j)


@pytest.mark.parametrize("seed", range(4))
def test_distances_rise_with_the_way_from_a_value_also_one_float_on(seed):
    rng = np.random.default_rng(seed)
    X = random_table(rng, 40)
    names = [f"x{j}" for j in range(X.shape[1])]
    _, found = measured(X, "rank", None, names)
    for j in (0, 1, 5, 6):
        seen = np.unique(X[~np.isnan(X[:, j]), j])
        x = np.sort(
            np.concatenate([seen, np.nextafter(seen, np.inf), np.nextafter(seen, -np.inf), rng.choice(seen, 9) * 1.01])
        )
        for origin in x[::5]:
            far = found.between(j, origin, x, 1.0)
            assert (np.diff(far[x >= origin]) >= 0).all()
            assert (np.diff(far[x <= origin]) <= 0).all()


@pytest.mark.parametrize("n_chunks", [2, 5])
def test_statistics_of_chunks_add_up(n_chunks):
    rng = np.random.default_rng(0)
    X = random_table(rng, 80)
    weight = rng.integers(0, 4, len(X)).astype(float)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    numbers = [True] * X.shape[1]
    parts = np.array_split(rng.permutation(len(X)), n_chunks)
    values, bins = ValueCounts.of(X, numbers, weight), BinCounts.of(X, low, high, weight)
    for part in ("values", "weights"):
        chunks = [ValueCounts.of(X[rows], numbers, weight[rows]) for rows in parts]
        total = chunks[0]
        for chunk in chunks[1:]:
            total = total + chunk
        assert all(map(np.array_equal, getattr(total, part), getattr(values, part)))
    total = sum(
        (BinCounts.of(X[rows], low, high, weight[rows]).weights for rows in parts), start=np.zeros_like(bins.weights)
    )
    assert np.array_equal(total, bins.weights)
    assert np.array_equal(BinCounts.of_values(values, low, high).weights, bins.weights)


def test_a_column_that_is_mostly_one_value_has_the_mean_deviation_as_its_unit():
    X = np.array([[0.0]] * 8 + [[4.0], [6.0]])
    _, found = measured(X, "mad", None, ["x0"])
    assert found.unit.tolist() == [1.0]  # the mean of 8 zeros, 4 and 6


# --- refusals -----------------------------------------------------------------------------------------------------------


def _refused(estimator, X, y, message, error=InvalidInputError, **parameters):
    with pytest.raises(error, match=message):
        FCCADiscretizer(estimator, **parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": "miles"}, r"scale must be one of 'range', 'rank', 'mad' or .* got 'miles'\.$"),
        ({"scale": {"income": 0.0}}, r"The unit of 'income' in scale must be .*, got 0.0"),
        ({"scale": {"income": -1}}, r"The unit of 'income' in scale must be .*, got -1"),
        ({"scale": {"income": np.nan}}, r"The unit of 'income' in scale must be .*, got nan"),
        ({"scale": {"income": np.inf}}, r"The unit of 'income' in scale must be .*, got inf"),
        ({"scale": {"income": "big"}}, r"The unit of 'income' in scale must be .*, got 'big'"),
        ({"scale": {"income": True}}, r"The unit of 'income' in scale must be .*, got True"),
        ({"scale": {"wage": 3.0}}, "unit for the unknown column 'wage'. Did you mean 'age'"),
        ({"scale": {"grade": 3.0}}, "unit for 'grade', but this column holds categories"),
        ({"category_distance": 0}, "category_distance must be 'auto' or a number"),
        ({"category_distance": -1.0}, "category_distance must be 'auto' or a number"),
        ({"category_distance": np.nan}, "category_distance must be 'auto' or a number"),
        ({"category_distance": np.inf}, "category_distance must be 'auto' or a number"),
        ({"category_distance": "near"}, "category_distance must be 'auto' or a number"),
        ({"category_distance": True}, "category_distance must be 'auto' or a number"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused_before_fitting(monkeypatch, parameters, message):
    X, y = loans(60)
    monkeypatch.setattr(RandomForestClassifier, "fit", lambda *given, **named: pytest.fail("fitted"))
    _refused(RandomForestClassifier(3), X, y, message, **parameters)
    monkeypatch.undo()
    model = FCCADiscretizer(RandomForestClassifier(3, random_state=0)).fit(X, y).estimator_
    with pytest.raises(InvalidInputError, match=message):
        CounterfactualExplainer(model, X, **parameters)
    with pytest.raises(InvalidInputError, match=message):
        FCCADiscretizer(FrozenEstimator(model), **parameters).observe(X)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_ranks_of_linear_models_are_refused_before_they_are_fitted(monkeypatch, estimator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    fitted = estimator.fit(X, y)
    assert is_linear(estimator)
    with pytest.raises(UnsupportedModelError, match="made of trees"):
        CounterfactualExplainer(fitted, X, scale="rank")
    with pytest.raises(UnsupportedModelError, match="made of trees"):
        FCCADiscretizer(FrozenEstimator(fitted), scale="rank").fit(X, y)
    monkeypatch.setattr(type(estimator), "fit", lambda *given, **named: pytest.fail("fitted"))
    _refused(estimator, X, y, "made of trees", UnsupportedModelError, scale="rank")


def test_a_unit_too_small_beside_its_range_is_refused():
    X = np.array([[0.0], [1e20], [2e20], [5e20]])
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0).fit(X, [0, 0, 1, 1])
    with pytest.raises(InvalidInputError, match="Distances would be too large"):
        CounterfactualExplainer(model, X, scale={"x0": 1e-90})


# --- words --------------------------------------------------------------------------------------------------------------


def test_none_stands_for_the_range_and_for_the_distance_of_the_data():
    X, y = loans(120)
    plain, said = (
        FCCADiscretizer(RandomForestClassifier(3, max_depth=2, random_state=0), **given).fit(X, y)
        for given in ({}, {"scale": "range", "category_distance": "auto"})
    )
    assert plain.all_thresholds_ == said.all_thresholds_
    assert (
        plain.category_distance_ == said.category_distance_ == CounterfactualExplainer(said.estimator_, X).category_distance_
    )


def test_a_change_of_category_costs_its_distance():
    X = pd.DataFrame({"x": np.linspace(0, 1, 40), "kind": ["a", "b"] * 20})
    y = np.array([0, 1] * 20)
    model = FCCADiscretizer(GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0)).fit(X, y).estimator_
    for distance in (0.05, 0.5, 1.0, 3.0):
        explainer = CounterfactualExplainer(model, X, category_distance=distance, lambda0=0.1, lambda1=2.0, lambda2=0.5)
        assert np.allclose(explainer.explain(X[:4]).cost, 0.1 + 2 * distance + 0.5 * distance**2)
