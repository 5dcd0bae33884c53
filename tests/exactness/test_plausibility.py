"""Changes that an isolation forest finds plausible: the cheapest such change, by enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier

from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem, _plausibility
from fcca.counterfactuals._plausibility import N_TREES, ROWS_PER_TREE, Plausibility
from fcca.exceptions import InvalidInputError

SIZES = [pytest.param(12, id="quick"), pytest.param(300, id="full", marks=pytest.mark.verify)]


def random_table(rng):
    X = np.round(rng.random((40, int(rng.integers(2, 4)))) * 4)
    y = (X.sum(axis=1) + rng.normal(size=40) > 2 * X.shape[1]).astype(int)
    y[:2] = 0, 1
    return X, y


def small_model(rng, X, y):
    if rng.random() < 0.5:
        model = GradientBoostingClassifier(n_estimators=5, max_depth=int(rng.integers(1, 3)), random_state=0)
    else:
        model = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0)
    return model.fit(X, y)


def landings(cuts, model_cuts, values, x0):
    """Every cell's landing, one for each cell but the own one, and x0 itself.

    Where only a part of a cell of the model is empty, nothing lands in it.
    """
    edges = [-np.inf, *cuts, np.inf]
    low, high = min(values.min(), x0), max(values.max(), x0)
    found = [x0]
    for below, above in itertools.pairwise(edges):
        if below < x0 <= above:
            continue
        inside = values[(values > below) & (values <= above)]
        if len(inside):
            found.append(inside.min() if below >= x0 else inside.max())
            continue
        around = np.searchsorted(model_cuts, above)
        if (np.searchsorted(model_cuts, values) == around).any():
            continue
        bottom, top = max(low, below), min(high, above)
        if below < top and bottom <= top:
            found.append(bottom + (top - bottom) / 2)
    return found


@pytest.mark.parametrize("n_cases", SIZES)
def test_no_cheaper_plausible_change_exists(n_cases, monkeypatch):
    monkeypatch.setattr(_plausibility, "N_TREES", 3)
    monkeypatch.setattr(_plausibility, "ROWS_PER_TREE", 8)
    for seed in range(n_cases):
        rng = np.random.default_rng(seed)
        X, y = random_table(rng)
        model = small_model(rng, X, y)
        engine = CounterfactualEngine(model, CounterfactualProblem())
        engine.observe(X)
        plausibility = engine.plausibility(float(rng.choice([0.05, 0.3, 0.7])))
        own = engine.class_index(engine.predict(X))
        found = engine.solve(
            X, np.arange(3), own[:3], feature_names=[str(j) for j in range(X.shape[1])], plausibility=plausibility
        )
        both = engine.forest.beside(plausibility.forest)
        cells, _ = both.cells()
        span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        for i in range(3):
            options = [landings(cells.cuts_of(j), engine.cells.cuts_of(j), X[:, j], X[i, j]) for j in range(X.shape[1])]
            points = np.array(list(itertools.product(*options)))
            scores = engine.model.scores(points)
            lead = scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
            wins = (lead if own[i] == 0 else -lead) >= 1e-4 - 1e-12
            plausible = plausibility.depths(points) >= plausibility.least - 1e-9
            distance = np.abs(points - X[i]) / span
            cost = (0.1 * (distance > 0) + distance).sum(axis=1)
            least = cost[wins & plausible].min(initial=np.inf)
            assert found.cost[i] == pytest.approx(least, abs=1e-9), (seed, i)
            assert found.status[i] == ("infeasible" if least == np.inf else "optimal")


def test_the_depth_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    plausibility = Plausibility.fit(X, {}, 0.1)
    isolation = IsolationForest(n_estimators=N_TREES, max_samples=ROWS_PER_TREE, random_state=0).fit(X)
    usual = 2 * (np.log(ROWS_PER_TREE - 1) + np.euler_gamma) - 2 * (ROWS_PER_TREE - 1) / ROWS_PER_TREE
    assert -(2 ** (-plausibility.depths(X) / usual)) == pytest.approx(isolation.score_samples(X), abs=1e-12)
    assert (plausibility.depths(X) < plausibility.least).mean() == pytest.approx(0.1, abs=0.005)


def test_categories_and_gaps_have_a_depth_too():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 3, 200)]).astype(float)
    X[:20, 0], X[20:30, 1] = np.nan, 3  # the code of a missing category
    plausibility = Plausibility.fit(X, {1: 4}, 0.2)
    depth = plausibility.depths(X)
    assert np.isfinite(depth).all()
    assert depth[20:30].mean() < depth[30:].mean()  # few have it, so it is odd


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InvalidInputError, match="plausibility must be None or a share between 0 and 1"):
        Plausibility.fit(np.zeros((5, 1)), {}, share)
