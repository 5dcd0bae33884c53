"""Certified regions: every row inside keeps the class by the real ``predict``, and a witness outside each side does not."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactness.ensemble_instances import small_ensembles
from exactness.instances import load
from fcca import CounterfactualExplainer
from fcca.constraints import Immutable
from mixed_tables import loans
from oracles import contract
from real_data import imported

N_POINTS = {"quick": 400, "full": 10_000}
N_ROWS = {"quick": 4, "full": 30}
SIZES = [pytest.param("quick", id="quick"), pytest.param("full", id="full", marks=pytest.mark.verify)]


def boston():
    X, y = load("boston")
    return X, y


def mixed(classes=2):
    X, y = loans(400, seed=3, classes=classes)
    return X.astype({"purpose": "category", "grade": "category"}), y


def blobs():
    """Rows of four classes that overlap, so that a few votes often tie."""
    X, y = make_classification(400, 4, n_informative=4, n_redundant=0, n_classes=4, class_sep=0.4, random_state=6)
    return X.round(1), y


def xgb(**options):
    return imported("xgboost").XGBClassifier(random_state=0, n_jobs=1, **options)


def lgbm(**options):
    return imported("lightgbm").LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1, **options)


MODELS = {
    "forest": lambda: (RandomForestClassifier(40, max_depth=6, random_state=0), boston()),
    "boosting of stumps": lambda: (GradientBoostingClassifier(max_depth=1, random_state=0), boston()),
    "boosting of depth 3": lambda: (GradientBoostingClassifier(random_state=0), boston()),
    "XGBoost": lambda: (xgb(n_estimators=60, max_depth=4), boston()),
    "LightGBM": lambda: (lgbm(n_estimators=60, num_leaves=15), boston()),
    "deep forest": lambda: (RandomForestClassifier(40, random_state=0), boston()),
    "deep extra trees, four classes": lambda: (ExtraTreesClassifier(5, random_state=6), blobs()),
    "deep extra trees": lambda: (ExtraTreesClassifier(20, random_state=0), boston()),
    "logistic": lambda: (make_pipeline(StandardScaler(), LogisticRegression()), boston()),
    "HistGradientBoosting, categories": lambda: (
        HistGradientBoostingClassifier(max_iter=30, categorical_features="from_dtype", random_state=0),
        mixed(),
    ),
    "LightGBM, categories": lambda: (lgbm(n_estimators=30), mixed()),
    "HistGradientBoosting, three classes": lambda: (
        HistGradientBoostingClassifier(max_iter=15, categorical_features="from_dtype", random_state=0),
        mixed(3),
    ),
    "LightGBM, three classes": lambda: (lgbm(n_estimators=20), mixed(3)),
    "logistic, categories": lambda: (LogisticRegression(max_iter=500), filled(mixed())),
}


def filled(table):
    """The numeric columns of a mixed table, without missing values."""
    X, y = table
    return X[["income", "age"]].fillna(X["income"].median()).to_numpy(), y


@cache
def explained(name, size):
    model, (X, y) = MODELS[name]()
    model.fit(X, y)
    explainer = CounterfactualExplainer(model, X, time_limit=60)
    step = max(1, len(X) // N_ROWS[size])
    found = explainer.explain(X[::step] if isinstance(X, np.ndarray) else X.iloc[::step])
    return model, explainer, explainer.regions(found)


def random_rows(rng, explainer, regions, i, n):
    """Rows inside a region: random ones, and ones at its ends."""
    point, cells = regions.found.points[i], explainer.engine.cells
    rows = np.empty((n, len(point)))
    for j, x in enumerate(point):
        if np.isnan(x):
            rows[:, j] = np.nan
        elif j in regions.categories:
            rows[:, j] = rng.choice(np.flatnonzero(regions.categories[j][i]), n)
        else:
            low = max(regions.lower[i, j], min(cells.box_low[j], x) - 1)
            high = min(regions.upper[i, j], max(cells.box_high[j], x) + 1)
            first = low if regions.lower_is_inside else np.nextafter(low, np.inf)
            rows[:, j] = np.clip(low + (high - low) * rng.random(n), first, high)
            at_end = rng.random(n) < 0.2
            rows[at_end, j] = rng.choice([first, high], int(at_end.sum()))
    return rows


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_random_rows_inside_keep_the_class(name, size):
    model, explainer, regions = explained(name, size)
    rng, n_boxes = np.random.default_rng(0), 0
    for i in np.flatnonzero(regions.status != "none").tolist():
        rows = random_rows(rng, explainer, regions, i, N_POINTS[size])
        given = explainer.engine.given(rows)
        assert np.all(np.ravel(model.predict(given)) == regions.found.target[i]), (name, i)
        assert regions.contains(i, rows if regions.found.columns is None else given).all()
        n_boxes += 1
    assert n_boxes >= 0.8 * len(regions)
    assert set(regions.status) <= {"maximal", "none"}


def listed(regions):
    """Position of the counterfactual, column and direction of every witness."""
    columns = (regions.witness_of, regions.witness_feature, regions.witness_direction)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_a_witness_just_outside_has_another_class(name, size):
    model, explainer, regions = explained(name, size)
    found, cells = regions.found, explainer.engine.cells
    predicted = np.ravel(model.predict(explainer.engine.given(regions.witness_rows)))
    assert np.array_equal(predicted, regions.witness_class)
    probability = np.sort(model.predict_proba(explainer.engine.given(regions.witness_rows)), axis=1)
    is_tie = probability[:, -1] - probability[:, -2] < 1e-4  # no class is certain there
    is_target = predicted == found.target[regions.witness_of]
    assert np.all(is_tie[is_target])
    assert len(model.classes_) > 2 or is_target.mean() <= 0.01
    for (i, j, direction), row in zip(listed(regions), regions.witness_rows, strict=True):
        inside = row[None].copy()
        inside[0, j] = found.points[i, j]
        assert regions.contains(i, inside if found.columns is None else explainer.engine.given(inside)).all()
        end = regions.upper[i, j] if direction > 0 else regions.lower[i, j]
        if direction == 0:
            assert not regions.categories[j][i, int(row[j])]
        elif explainer.engine.has_cuts:  # in the first cell outside
            cell = np.searchsorted(cells.cuts_of(j), end)
            assert np.searchsorted(cells.cuts_of(j), row[j]) == (cell + 1 if direction > 0 else cell)
        else:
            assert (row[j] - end) * direction > 0


@pytest.mark.parametrize("seed", range(8))
def test_ties_of_votes_between_other_classes_are_outside(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 8, (60, 2)).astype(float), rng.integers(0, 3 + seed % 3, 60)
    model = ExtraTreesClassifier(3 + seed % 4, random_state=seed).fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    regions = explainer.regions(explainer.explain(X[model.predict(X) != 0][:12], target=0))
    points = np.array(list(product(np.arange(-0.5, 8, 0.25), repeat=2)))
    assert (regions.status == "maximal").any()
    for i in range(len(regions)):
        assert np.all(model.predict(points[regions.contains(i, points)]) == 0)


@pytest.mark.parametrize("model", [GradientBoostingClassifier(max_depth=2), LogisticRegression()])
def test_rows_without_a_counterfactual_have_no_region(model):
    X, y = boston()
    fixed = Immutable(*(f"x{j}" for j in range(X.shape[1])))
    explainer = CounterfactualExplainer(model.fit(X, y), X, constraints=[fixed])
    regions = explainer.regions(explainer.explain(X[:3]))
    assert regions.status.tolist() == ["none"] * 3
    assert not regions.contains(0, X).any()
    assert len(regions.to_frame()) == len(regions.witnesses()) == 0


@pytest.mark.parametrize("name", MODELS)
def test_every_side_has_a_witness_or_ends_with_the_data(name):
    _, explainer, regions = explained(name, "quick")
    sides, cells = set(listed(regions)), explainer.engine.cells
    for i in np.flatnonzero(regions.status == "maximal").tolist():
        for j in range(len(regions.found.feature_names)):
            if np.isnan(regions.found.points[i, j]):
                continue
            if j in regions.categories:
                outside = int((~regions.categories[j][i]).sum())
                assert outside == 0 or (i, j, 0) in sides
                continue
            for direction, end, edge in zip(
                (-1, 1), (regions.lower[i, j], regions.upper[i, j]), edges(cells, j), strict=True
            ):
                at_the_edge = not explainer.engine.has_cuts and direction * (end - edge) >= 0
                assert (i, j, direction) in sides or np.isinf(end) or at_the_edge


def edges(cells, j):
    return cells.box_low[j], cells.box_high[j]


def combinations_of(estimator):
    """For each column, the largest number of every cell; and all combinations of these numbers."""
    above = [np.nextafter(cuts[-1], np.inf) if len(cuts) else 0.0 for cuts in contract.cuts_by_feature(estimator)]
    values = [np.append(cuts, last) for cuts, last in zip(contract.cuts_by_feature(estimator), above, strict=True)]
    return values, np.array(list(product(*values)))


@pytest.mark.parametrize("n_cases", [pytest.param(40, id="quick"), pytest.param(600, id="full", marks=pytest.mark.verify)])
def test_boxes_of_small_ensembles_are_maximal_by_enumeration(n_cases):
    n_sides = n_doubtful = 0
    for instance in small_ensembles(n_cases, seed=12, rows_per_model=2):
        explainer = CounterfactualExplainer(instance.estimator, instance.X_train, category_distance=1.0)
        regions = explainer.regions(explainer.explain(instance.X))
        values, points = combinations_of(instance.estimator)
        predicted = instance.estimator.predict(points)
        for i in np.flatnonzero(regions.status == "maximal").tolist():
            target, lower, upper = regions.found.target[i], regions.lower[i], regions.upper[i]
            inside = regions.contains(i, points)
            assert inside.any()
            assert np.all(predicted[inside] == target), instance.name
            for j, column in enumerate(values):
                others = np.arange(len(values)) != j
                rest = np.all(((points > lower) & (points <= upper))[:, others], axis=1)
                for end, step in ((lower[j], 0), (upper[j], 1)):
                    if np.isinf(end):
                        continue
                    beyond = rest & (points[:, j] == column[np.searchsorted(column, end) + step])
                    n_sides += 1
                    n_doubtful += not np.any(predicted[beyond] != target)
    assert n_sides > n_cases
    assert n_doubtful <= 0.01 * n_sides  # no class is certain there: leads within the rounding of a sum
