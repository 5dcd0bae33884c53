"""The mixed-integer program: its landings, its results, and its claims when HiGHS is not exact."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from exactness.ensemble_instances import interacting_labels
from exactness.instances import hostile_column
from fcca import read_model
from fcca.cells import Cells, TrainingValues
from fcca.constraints import Limits, LinearRule
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.exceptions import UnsupportedModelError
from fcca.milp import _highs, _tree_program, _tree_search, solve_milp
from fcca.milp._places import PlaceFinder
from fcca.models import TreeEnsemble
from fcca.models._links import Logistic
from oracles import contract, ensemble_milp

OPTIMAL, _, FEASIBLE, INFEASIBLE, UNKNOWN = range(5)
TYPES = ["f8", "f8", "i1", "i4", "i8", "i8", "i4", "f8", "f8", "f8"]


@pytest.fixture(scope="module")
def boosting():
    X, y = load_breast_cancer(return_X_y=True)
    return X, GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)


def ensemble(trees, n_features, boundary=0.0):
    """A model by hand: a tree is a leaf's value or (feature, threshold, left tree, right tree)."""
    nodes = []

    def add(tree):
        at = len(nodes)
        nodes.append(None)
        if isinstance(tree, tuple):
            feature, threshold, left, right = tree
            nodes[at] = (feature, threshold, add(left), add(right), 0.0)
        else:
            nodes[at] = (-1, 0.0, -1, -1, tree)
        return at

    roots = [add(tree) for tree in trees]
    feature, threshold, left, right, value = (np.array(column) for column in zip(*nodes, strict=True))
    return TreeEnsemble(
        classes=np.array([0, 1]),
        n_features=n_features,
        link=Logistic(),
        boundary=boundary,
        base=np.zeros(1),
        roots=np.array(roots, dtype=np.int64),
        feature=feature.astype(np.int32),
        threshold=threshold.astype(float),
        native_threshold=threshold.astype(float),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=value.astype(float)[:, None],
    )


def ask(model, x0, *, margin=1e-4, lambdas=(0.1, 1.0, 0.0), X_train=None, **settings):
    """Solve for x0 or some rows of a model by hand, on the box from 0 to 1."""
    rows = np.atleast_2d(np.asarray(x0, dtype=np.float64))
    X_train = np.repeat(np.linspace(0, 1, 101)[:, None], model.n_features, axis=1) if X_train is None else X_train
    own = (model.scores(rows)[:, 0] > model.boundary).astype(np.int32)
    question = {
        "model": model,
        "cells": ensemble_milp.cells_of(model, X_train),
        "rows": rows,
        "points": np.arange(len(rows)),
        "own_class": own,
        "target": np.full(len(rows), -1, dtype=np.int32),
        "margin": np.full(len(rows), margin),
        "lambda0": lambdas[0],
        "lambda1": lambdas[1],
        "lambda2": lambdas[2],
    }
    names = ["cost", "bound", "status", "target", "nodes", "first_move", "feature", "landing", "cut", "seconds"]
    return SimpleNamespace(**dict(zip(names, solve_milp(**question | settings), strict=True)))


def test_landings_follow_the_contract():
    rng = np.random.default_rng(0)
    for _ in range(200):
        column = hostile_column(rng, 12)
        spread = np.ptp(column) or 1.0
        cuts = rng.choice(np.concatenate([column, np.nextafter(column, np.inf), column + spread * rng.normal(size=12)]), 9)
        cuts = np.unique(cuts)
        x0 = rng.choice([rng.choice(column), rng.choice(cuts), column.min() - spread, column.max() + spread])
        cells = Cells.from_cuts([cuts]).observe(column[:, None].copy())
        own = int(np.searchsorted(cuts, x0))
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        expected = [contract.landing_in(edges[k], edges[k + 1], x0, column) for k in range(len(cuts) + 1)]
        expected = np.array([np.nan if landing is None else landing for landing in expected])
        expected[own] = x0
        landings = PlaceFinder(cells, (0.1, 1.0, 0.0), Limits(), TrainingValues()).landings(0, 0, x0)
        landings[own] = x0
        np.testing.assert_array_equal(landings, expected)


def test_returns_what_the_searches_return(boosting):
    X, estimator = boosting
    results = ensemble_milp.solve(estimator, X, X[:3], CounterfactualProblem())
    assert [array.dtype.str[1:] for array in results] == TYPES
    cost, bound, status, target, nodes, first_move, feature, landing, cut, seconds = results
    assert {len(array) for array in (cost, bound, status, target, nodes, seconds)} == {3}
    assert len(first_move) == 4
    assert first_move[0] == 0
    assert first_move[-1] == len(feature) == len(landing) == len(cut)
    for begin, end in pairwise(first_move):
        assert np.all(np.diff(feature[begin:end]) > 0)
    assert np.all(seconds > 0)


def test_no_points_give_empty_results(boosting):
    X, estimator = boosting
    results = ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem(), points=np.empty(0, dtype=np.int64))
    assert [array.dtype.str[1:] for array in results] == TYPES
    assert [len(array) for array in results] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_finds_the_moves_that_the_search_for_stumps_finds():
    X, y = load_breast_cancer(return_X_y=True)
    estimator = GradientBoostingClassifier(n_estimators=40, max_depth=1, random_state=0).fit(X, y)
    results = ensemble_milp.solve(estimator, X, X[:12], CounterfactualProblem())
    engine = CounterfactualEngine(estimator, CounterfactualProblem())
    engine.observe(X)
    names = [f"x{j}" for j in range(X.shape[1])]
    found = engine.solve(X, np.arange(12), engine.class_index(estimator.predict(X[:12])), feature_names=names)
    np.testing.assert_allclose(results[0], found.cost, rtol=1e-12)
    np.testing.assert_array_equal(results[6], found.moves.feature)
    np.testing.assert_array_equal(results[7], found.moves.landing)
    np.testing.assert_array_equal(results[8], found.moves.cut)


def test_without_time_nothing_is_claimed(boosting):
    X, estimator = boosting
    for limit in ("time_limit", "time_limit_per_row"):
        cost, bound, status, target, *_ = ensemble_milp.solve(estimator, X, X[:5], CounterfactualProblem(), **{limit: 0.0})
        assert np.all(status == UNKNOWN)
        assert np.all(np.isinf(cost))
        assert np.all(bound == 0)
        assert np.all(target == -1)


def test_progress_counts_the_points_and_may_stop_them(boosting):
    X, estimator = boosting
    done = []
    ensemble_milp.solve(estimator, X, X[:4], CounterfactualProblem(), progress=done.append)
    assert done == [1, 2, 3, 4]

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensemble_milp.solve(estimator, X, X[:4], CounterfactualProblem(), progress=interrupt)


def test_frozen_may_come_as_bytes(boosting):
    X, estimator = boosting
    frozen = np.zeros((1, X.shape[1]), dtype=bool)
    frozen[0, ::2] = True
    as_bytes, as_booleans = (
        ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem(), frozen=frozen.astype(kind))
        for kind in ("u1", bool)
    )
    assert as_bytes[0] == as_booleans[0]
    assert not frozen[0, as_bytes[6]].any()
    everything = ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem(), frozen=np.ones_like(frozen))
    assert everything[2] == INFEASIBLE
    assert everything[1] == np.inf


def with_categories():
    """The first column has the codes 0, 1, 2, and a test sends 1 to the right; the second is a number."""
    model = ensemble([(0, np.nan, -1.0, 1.0), (1, 0.5, 0.0, 0.5)], 2)
    missing_left = np.array([False, False, False, False, False, False])
    return replace(model, categories={0: np.array([0, 2])}, missing_left=missing_left)


def ask_with_categories(x0, seen=(5, 2, 3), **settings):
    cells = Cells.from_cuts([np.empty(0), np.array([0.5])], {0: np.array([0, 1, 0, 1], dtype=np.int32)})
    codes = np.repeat([0.0, 1.0, 2.0], seen)
    cells.observe(np.ascontiguousarray(np.column_stack([codes, np.linspace(0, 1, len(codes))])))
    return ask(with_categories(), x0, cells=cells, X_train=np.zeros((1, 2)), **settings)


def test_a_category_is_entered_at_the_price_of_a_whole_range():
    found = ask_with_categories([0.0, 0.2])
    assert found.status == OPTIMAL
    np.testing.assert_allclose(found.cost, 1.1)
    np.testing.assert_array_equal(found.landing, [1.0])
    assert np.isnan(found.cut).all()
    back = ask_with_categories([1.0, 0.2])  # of two categories alike, the more frequent one
    np.testing.assert_array_equal(back.landing, [0.0])


def test_a_category_that_nobody_has_or_that_a_rule_forbids_is_not_entered():
    assert ask_with_categories([0.0, 0.2], seen=(5, 0, 3)).status == INFEASIBLE
    factor = np.ones((3, 3))
    factor[0, 1] = np.inf
    assert ask_with_categories([0.0, 0.2], limits=Limits(moves={0: factor})).status == INFEASIBLE
    assert ask_with_categories([2.0, 0.2], limits=Limits(moves={0: factor})).status == OPTIMAL


def test_a_missing_category_is_filled_in_only_where_it_may_be():
    own = {"own_class": np.array([1], dtype=np.int32)}
    assert ask_with_categories([np.nan, 0.2], **own).status == INFEASIBLE
    found = ask_with_categories([np.nan, 0.2], limits=Limits(fillable=np.array([True, False])), **own)
    assert found.status == OPTIMAL
    np.testing.assert_array_equal(found.landing, [0.0])
    np.testing.assert_allclose(found.cost, 1.1)


def test_plausibility_is_refused(boosting):
    X, estimator = boosting
    engine = CounterfactualEngine(estimator, CounterfactualProblem(), method="milp")
    engine.observe(X)
    with pytest.raises(UnsupportedModelError, match="plausibility"):
        engine.solve(
            X,
            np.arange(2),
            engine.class_index(estimator.predict(X[:2])),
            feature_names=[f"x{j}" for j in range(X.shape[1])],
            plausibility=engine.plausibility(0.1),
        )


def test_a_sum_applies_once_a_missing_value_is_filled_in():
    values = np.repeat(np.linspace(0, 1, 101)[:, None], 2, axis=1)
    cells = Cells.from_cuts([values[:-1, 0], values[:-1, 1]]).observe(values)
    settings = {"cells": cells, "training": TrainingValues([values])}
    fillable = np.array([True, False])

    def asked(model, upper):
        model = replace(model, missing_left=model.feature >= 0)
        limits = Limits(fillable=fillable, linear=(LinearRule({0: 1.0, 1: 1.0}, upper),))
        return ask(model, [np.nan, 0.2], limits=limits, **settings)

    stays = asked(ensemble([(1, 0.5, -1.0, 1.0)], 2), 0.3)
    np.testing.assert_array_equal(stays.feature, [1])
    np.testing.assert_allclose(stays.cost, 0.1 + 0.31)
    filled = asked(ensemble([(0, 0.5, -1.0, 1.0)], 2), 0.605)
    assert stays.status == filled.status == OPTIMAL  # by the program, not by what is found without it
    np.testing.assert_allclose(filled.landing, [0.51, 0.09])
    np.testing.assert_allclose(filled.cost, 1.1 + 0.1 + 0.11)
    assert asked(ensemble([(0, 0.5, -1.0, 1.0)], 2), 0.505).status == INFEASIBLE


def test_programs_that_are_too_large_are_unknown(monkeypatch, boosting):
    X, estimator = boosting
    monkeypatch.setattr(_tree_program, "MOST_ENTRIES", 1000)
    cost, bound, status, target, *_ = ensemble_milp.solve(estimator, X, X[:2], CounterfactualProblem())
    assert np.all(status == UNKNOWN)
    assert np.all(np.isinf(cost))
    assert np.all(bound == 0)
    assert np.all(target == -1)


def test_a_sum_kept_within_the_solvers_tolerance_is_kept():
    """Presolve would call this infeasible, because the values sum exactly to the limit."""
    values = np.column_stack([np.arange(-8, 9) / 10, np.arange(-8, 9) * 1000.0])
    model = ensemble([(1, -4500.0, -1.0, 1.0)], 2)
    cells = Cells.from_cuts([values[:-1, 0], values[:-1, 1]]).observe(values)
    upper, size = -1999.0, 1e-12 * 6000
    sums = (LinearRule({0: 2.0, 1: 0.5}, upper + size), LinearRule({0: -2.0, 1: -0.5}, size - upper))
    for x0 in (-5999.999755859375, -6000.1, -7000.0):
        found = ask(model, [0.3, x0], cells=cells, limits=Limits(linear=sums))
        assert found.status == OPTIMAL
        np.testing.assert_array_equal(found.landing, [0.5, -4000.0])


def test_a_split_with_one_reachable_side_is_ignored():
    model = ensemble([(0, np.inf, (0, 0.5, -1.0, 1.0), 99.0), (0, -np.inf, 99.0, (0, -1e308, 99.0, 0.0))], 1)
    found = ask(model, [0.2])
    assert found.status == OPTIMAL
    np.testing.assert_allclose(found.cost, 0.1 + 0.31)
    np.testing.assert_array_equal(found.cut, [0.5])
    assert ask(model, [0.2], margin=1.5).status == INFEASIBLE


def test_two_moves_where_neither_alone_gains():
    both = (0, 0.5, -1.0, (1, 0.5, -1.0, 1.0))
    found = ask(ensemble([both], 2), [0.2, 0.4])
    assert found.status == OPTIMAL
    np.testing.assert_array_equal(found.feature, [0, 1])
    np.testing.assert_allclose(found.landing, [0.51, 0.51])
    np.testing.assert_allclose(found.cost, 0.2 + 0.31 + 0.11)


def test_the_boundary_counts():
    model = ensemble([(0, 0.5, -1.0, 1.0), (1, 0.5, -1.0, 1.0)], 2, boundary=0.5)
    up = ask(model, [0.2, 0.8])  # the score is 0: the first class
    np.testing.assert_array_equal(up.feature, [0])
    assert up.target == 1
    down = ask(model, [0.8, 0.8])
    assert down.target == 0
    assert len(down.feature) == 1
    assert ask(model, [0.2, 0.8], margin=1.6).status == INFEASIBLE


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6, 1e12])
def test_the_scale_of_scores_and_costs_does_not_matter(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    estimator = GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0).fit(X, interacting_labels(rng, X, 2))
    model = read_model(estimator)
    plain = ask(model, X[:6], X_train=X)
    scaled = replace(model, value=model.value * unit, base=model.base * unit)
    by_score = ask(scaled, X[:6], X_train=X, margin=1e-4 * unit)
    np.testing.assert_allclose(by_score.cost, plain.cost, rtol=1e-9)
    by_cost = ask(model, X[:6], X_train=X, lambdas=(0.1 * unit, unit, 0.0))
    np.testing.assert_allclose(by_cost.cost, plain.cost * unit, rtol=1e-9)
    assert np.all(by_score.status == OPTIMAL)
    assert np.all(by_cost.status == OPTIMAL)


def nearly_enough(shortfall):
    """Feature 0 is cheap but gains too little by the shortfall; feature 1 is expensive and gains enough."""
    return ensemble([(0, 0.3, -1.0, -shortfall), (1, 0.8, 0.0, 1.0)], 2)


@pytest.mark.parametrize("shortfall", [1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_a_margin_missed_within_the_solvers_tolerance_is_missed(shortfall):
    found = ask(nearly_enough(shortfall), [0.25, 0.1], margin=1e-300)
    assert found.status == OPTIMAL
    np.testing.assert_array_equal(found.feature, [0, 1])


def test_unsettled_searches_are_not_called_optimal(monkeypatch):
    model = nearly_enough(1e-12)
    monkeypatch.setattr(_tree_search, "MOST_ATTEMPTS", 1)
    monkeypatch.setattr(_tree_search.TreeSearch, "_greedy", lambda *_: None)
    found = ask(model, [0.25, 0.1], margin=1e-300)
    monkeypatch.undo()
    optimum = ask(model, [0.25, 0.1], margin=1e-300)
    assert found.status == UNKNOWN
    assert 0 < found.bound <= optimum.cost
    assert found.cost == np.inf


def test_a_bound_below_the_cost_is_closed_by_further_runs(monkeypatch, boosting):
    """HiGHS may accept a cut as crossed within a millionth, so its bound may be too low by as much."""
    X, estimator = boosting
    exact, calls = _highs.solve_program, []

    def short_at_first(**arguments):
        answer = exact(**arguments)
        calls.append(answer.status)
        if len(calls) == 1:
            answer.mip_dual_bound *= 1 - 1e-6
        return answer

    expected = ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem())
    monkeypatch.setattr(_highs, "solve_program", short_at_first)
    cost, bound, status, *_ = ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem())
    assert calls == [0, 0]
    assert status == OPTIMAL
    assert cost == bound == expected[0]


def test_a_failing_solver_leaves_the_greedy_solution_unproven(monkeypatch, boosting):
    X, estimator = boosting
    settings = []

    def fail(**arguments):
        settings.append(arguments["options"]["presolve"])
        return SimpleNamespace(status=4, x=None, mip_node_count=None, mip_dual_bound=None)

    monkeypatch.setattr(_highs, "solve_program", fail)
    cost, bound, status, *_ = ensemble_milp.solve(estimator, X, X[:1], CounterfactualProblem())
    assert settings == [True, False]
    assert status == FEASIBLE
    assert np.isfinite(cost)
    assert bound == 0


def test_among_equal_costs_the_nearest_cell_is_entered():
    model = ensemble([(0, 0.5, -1.0, (0, 0.7, 1.0, 2.0))], 1)
    found = ask(model, [0.2], lambdas=(1.0, 0.0, 0.0))
    np.testing.assert_array_equal(found.cut, [0.5])
    np.testing.assert_allclose(found.landing, [0.51])


def test_a_class_that_wins_already_takes_no_move():
    model = ensemble([(0, 0.5, -1.0, 1.0)], 1)
    found = ask(model, [0.8], own_class=np.array([0], dtype=np.int32))
    assert found.status == OPTIMAL
    assert found.cost == 0
    assert len(found.feature) == 0
