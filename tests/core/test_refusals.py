"""Arguments that do not fit together are refused in words, one by one."""

import numpy as np
import pytest

from core.call_results import check_call
from core.calls import CATEGORIES, DRAWS, NUMBERS, WITH_MISSING, call, cells, limits, questions, rows, trees
from fcca import _core


def _put(at, value):
    def change(array):
        array = array.copy()
        array.flat[at] = value
        return array

    return change


def _without_last(array):
    return np.ascontiguousarray(array[:-1])


def _of(name):
    """Right arguments with nothing left out: two plain columns, one with gaps, one of categories; three classes."""
    random = np.random.default_rng(3)
    cell = cells(random, [NUMBERS, WITH_MISSING, CATEGORIES, NUMBERS])
    ends = np.tile([0.0, 1.0], 3)
    cell |= {"unit": np.ones(4), "first_knot": np.array([0, 2, 4, 4, 6]), "knot": ends, "rank": ends.copy()}
    X = rows(random, 6, cell)
    if name in ("select_thresholds", "greedy_thresholds"):
        chain_size = np.array([2, 3], dtype=np.int32)
        found = {
            "passed": random.integers(0, chain_size + 1, (9, 2)).astype(np.int32),
            "label": np.tile([0, 1, 2], 3).astype(np.int32),
            "weight": np.ones(9),
            "n_classes": 3,
            "chain_size": chain_size,
            "count": np.arange(1.0, 6.0),
            "n_thresholds": 2,
        }
        if name == "greedy_thresholds":
            return found
        return {
            **found,
            "state": np.zeros(5, dtype=np.int32),
            "feature": np.array([0, 0, 1, 1, 1], dtype=np.int32),
            "per_feature": np.array([2, 3], dtype=np.int32),
            "max_features": 2,
            "ceiling": np.inf,
            "max_nodes": 1000,
            "time_limit": 10.0,
        }
    if name == "solve_tree":
        return {
            "table": random.integers(0, 2, (9, 3)).astype(np.uint8),
            "label": np.tile([0, 1, 2], 3).astype(np.int32),
            "weight": np.ones(9),
            "count": np.ones(9, dtype=np.int64),
            "n_classes": 3,
            "criterion": 0,
            "penalty": 0.5,
            "max_depth": 3,
            "max_leaves": None,
            "min_weight": 0.0,
            "min_rows": 1,
            "max_nodes": None,
            "time_limit": 10.0,
        }
    if name == "solve_raw_tree":
        return {
            "rank": random.integers(0, 9, (9, 3)).astype(np.int32),
            "label": np.tile([0, 1, 2], 3).astype(np.int32),
            "weight": np.ones(9),
            "count": np.ones(9, dtype=np.int64),
            "n_classes": 3,
            "criterion": 0,
            "penalty": 0.5,
            "max_depth": 3,
            "max_leaves": None,
            "min_weight": 0.0,
            "min_rows": 1,
            "max_nodes": None,
            "time_limit": 10.0,
        }
    asked = questions(random, X, 3)
    rules = limits(random, len(X), cell, between=name == "solve_ensemble")
    n, m = X.shape
    rules |= {
        "low": np.full((n, m), 0.1),
        "high": np.full((n, m), 0.9),
        "frozen": np.zeros((n, m), dtype=np.uint8),
        "step": np.zeros(m),
        "origin": np.zeros(m),
        "weight": np.ones(m),
        "fillable": np.ones(m, dtype=np.uint8),
        "fill_near": np.full(m, 0.5),
    }
    grown = trees(random, 3, 2, m, 3)
    nodes = {key: grown[key] for key in ("roots", "feature", "left", "right")}
    if name == "solve_additive":
        return {
            **asked,
            "cells": cell,
            "limits": rules,
            "values": random.normal(size=(len(cell["smallest"]), 3)),
            "base": np.zeros(3),
        }
    if name == "solve_linear":
        plain = {**rules, "first_entry": None, "entry_factor": None, "entry_code": None}
        numbers = {
            "coef": np.ones(m),
            "centre": np.zeros(m),
            "box_low": np.zeros(m),
            "box_high": np.ones(m),
            "unit": np.ones(m),
            "intercept": 0.0,
        }
        two_classes = {"own_class": asked["own_class"] % 2, "target": np.full(n, -1, dtype=np.int32)}
        return {**asked, **two_classes, **numbers, "rows": np.nan_to_num(X), "limits": plain}
    if name == "solve_ensemble":
        rules |= {
            "first_term": np.array([0, 2], dtype=np.int64),
            "term_feature": np.array([0, 3], dtype=np.int32),
            "term_coef": np.ones(2),
            "upper": np.ones(1),
            "if_feature": np.zeros(1, dtype=np.int32),
            "if_rises": np.ones(1, dtype=np.uint8),
            "then_feature": np.full(1, 3, dtype=np.int32),
            "then_rises": np.ones(1, dtype=np.uint8),
        }
        cut = np.zeros(len(nodes["feature"]), dtype=np.int32)
        tables = {
            "values": grown["value"],
            "base": np.zeros(3),
            "side_least": np.zeros(0),
            "examples": np.zeros((2, m), dtype=np.int32),
            "relative_gap": 0.0,
        }
        return {**asked, "cells": cell, "limits": rules, **nodes, "cut": cut, **tables}
    if name == "score_trees":
        n_nodes = len(nodes["feature"])
        return {
            "rows": X,
            **nodes,
            "threshold": np.full(n_nodes, 0.5),
            "missing_left": np.zeros(n_nodes, dtype=np.uint8),
            "first_code": np.zeros(n_nodes, dtype=np.int64),
            "n_codes": np.full(n_nodes, 2, dtype=np.int64),
            "left_codes": np.array([0, 1], dtype=np.uint8),
            "value": grown["value"],
            "base": np.zeros(3),
            "part_size": np.array([1, 2], dtype=np.int64),
            "part_divisor": np.ones(2),
            "part_weight": np.ones(2),
            "nested": True,
            "divisor": 1.0,
            "single_precision": False,
            "out": np.empty((n, 3)),
        }
    if name == "score_additive":
        values = random.normal(size=(len(cell["smallest"]), 3))
        return {"rows": X, "cells": cell, "values": values, "base": np.zeros(3), "out": np.empty((n, 3))}
    if name == "find_cells":
        return {"rows": X, "cells": cell, "out": np.empty(X.shape, dtype=np.int32)}
    return {"rows": X, "cells": cell, "smallest": cell["smallest"], "largest": cell["largest"]}


@pytest.mark.parametrize("name", DRAWS)
def test_what_the_cases_start_from_is_right(name):
    check_call(name, _of(name))


NAN, INF = float("nan"), float("inf")

#: Function, argument, what is done to it, what the error says.
CASES = [
    ("find_cells", "cells.first_cut", _without_last, "first_cut, box_low and box_high disagree"),
    ("find_cells", "cells.first_cut", _put(0, 1), "first_cut and cuts disagree"),
    ("find_cells", "cells.first_cut", _put(1, 10**9), "first_cut and cuts disagree"),
    ("find_cells", "cells.first_cut", _put(-1, 10**9), "first_cut and cuts disagree"),
    ("find_cells", "cells.box_high", _without_last, "first_cut, box_low and box_high disagree"),
    ("find_cells", "cells.cuts", _put(0, NAN), "a cut must be a number"),
    ("find_cells", "cells.smallest", _without_last, "cuts and cells disagree"),
    ("find_cells", "cells.largest", _without_last, "cuts and cells disagree"),
    ("find_cells", "cells.closed", lambda _: np.zeros(1, dtype=np.uint8), "closed and cells disagree"),
    ("find_cells", "cells.unit", _without_last, "unit and features disagree"),
    ("find_cells", "cells.unit", _put(0, 0.0), "a unit must be a number above 0"),
    ("find_cells", "cells.unit", _put(0, INF), "a unit must be a number above 0"),
    ("find_cells", "cells.unordered", lambda _: 0.0, "unordered must be a number above 0"),
    ("find_cells", "cells.unordered", lambda _: NAN, "unordered must be a number above 0"),
    ("find_cells", "cells.first_knot", _without_last, "first_knot, knot and rank disagree"),
    ("find_cells", "cells.first_knot", _put(-1, 10**9), "first_knot and knot disagree"),
    ("find_cells", "cells.rank", _without_last, "first_knot, knot and rank disagree"),
    ("find_cells", "cells.rank", lambda _: None, "first_knot, knot and rank disagree"),
    ("find_cells", "cells.knot", _put(0, NAN), "a knot must be finite"),
    ("find_cells", "cells.rank", _put(0, INF), "a rank must be finite"),
    ("find_cells", "cells.knot", _put(0, 1.0), "knots must rise, and ranks must not fall"),
    ("find_cells", "cells.rank", _put(0, 2.0), "knots must rise, and ranks must not fall"),
    ("find_cells", "cells.kinds", _without_last, "kinds and features disagree"),
    ("find_cells", "cells.kinds", _put(0, 3), "a kind is out of range"),
    ("find_cells", "cells.code_cell", lambda _: None, "kinds without codes"),
    ("find_cells", "cells.first_code", _put(-1, 10**9), "first_code and code_cell disagree"),
    ("find_cells", "cells.code_cell", _put(0, 99), "the cell of a code is out of range"),
    ("find_cells", "cells.code_cell", _put(0, -1), "the cell of a code is out of range"),
    ("find_cells", "rows", lambda X: X[:, :-1].copy(), "rows and out disagree|different numbers of features"),
    ("find_cells", "rows", _put(2, 1e9), "a category code is out of range"),
    ("find_cells", "rows", _put(2, NAN), "a category code is out of range"),
    ("find_cells", "rows", _put(2, -1.0), "a category code is out of range"),
    ("find_cells", "out", _without_last, "rows and out disagree"),
    ("widen_cells", "rows", lambda X: X[:, :-1].copy(), "rows and cells have different numbers of features"),
    ("widen_cells", "smallest", np.copy, "not the arrays of these cells"),
    ("score_additive", "values", _without_last, "values and base disagree"),
    ("score_additive", "values", _put(0, NAN), "a value must be finite"),
    ("score_additive", "base", _put(0, INF), "a base must be finite"),
    ("score_additive", "out", _without_last, "rows, model and out disagree"),
    ("solve_additive", "base", _without_last, "values and base disagree"),
    ("solve_additive", "rows", lambda X: X[:, :-1].copy(), "rows and model have different numbers of features"),
    ("solve_additive", "points", _put(0, -1), "a point is out of range"),
    ("solve_additive", "points", _put(0, 6), "a point is out of range"),
    ("solve_additive", "own_class", _put(0, 3), "a class is out of range"),
    ("solve_additive", "own_class", _put(0, -1), "a class is out of range"),
    ("solve_additive", "target", _put(0, 3), "a target is out of range"),
    ("solve_additive", "target", _put(0, -2), "a target is out of range"),
    ("solve_additive", "margin", _put(0, NAN), "a margin must be a number"),
    ("solve_additive", "margin", _without_last, "one class, target and margin per point"),
    ("solve_additive", "lambda0", lambda _: -1.0, "lambda0, lambda1 and lambda2 must be finite"),
    ("solve_additive", "lambda1", lambda _: NAN, "lambda0, lambda1 and lambda2 must be finite"),
    ("solve_additive", "lambda2", lambda _: INF, "lambda0, lambda1 and lambda2 must be finite"),
    ("solve_additive", "limits.low", _without_last, "one line of bounds"),
    ("solve_additive", "limits.low", _put(0, NAN), "a bound must be a number"),
    ("solve_additive", "limits.high", _put(0, NAN), "a bound must be a number"),
    ("solve_additive", "limits.high", lambda _: None, "a rule lacks a part"),
    ("solve_additive", "limits.origin", lambda _: None, "a rule lacks a part"),
    ("solve_additive", "limits.fill_near", lambda _: None, "a rule lacks a part"),
    ("solve_additive", "limits.frozen", _without_last, "one line of bounds"),
    ("solve_additive", "limits.weight", _without_last, "one step, origin, weight and filling"),
    ("solve_additive", "limits.weight", _put(0, -1.0), "a weight must be finite"),
    ("solve_additive", "limits.step", _put(0, NAN), "a step must be finite"),
    ("solve_additive", "limits.origin", _put(0, INF), "an origin must be finite"),
    ("solve_additive", "limits.first_entry", lambda _: None, "categories without entries"),
    ("solve_additive", "limits.first_entry", lambda array: array - 10**6, "first_entry is out of range"),
    ("solve_additive", "limits.first_entry", lambda array: array + 10**6, "entries are missing"),
    ("solve_additive", "limits.first_entry", _put(2, 1), "entries and categories disagree"),
    ("solve_additive", "limits.entry_code", _without_last, "entries are missing"),
    ("solve_additive", "limits.entry_factor", _put(0, -1.0), "a factor must not be negative"),
    ("solve_additive", "limits.max_changes", lambda _: 1, "rules between features are for the branch and bound"),
    ("solve_additive", "limits.max_changes", lambda _: -1, "max_changes must not be negative"),
    ("solve_linear", "centre", _without_last, "coef, centre, box and unit disagree"),
    ("solve_linear", "unit", _without_last, "coef, centre, box and unit disagree"),
    ("solve_linear", "unit", _put(0, 0.0), "a unit must be a number above 0"),
    ("solve_linear", "unit", _put(0, NAN), "a unit must be a number above 0"),
    ("solve_linear", "unit", _put(0, INF), "a unit must be a number above 0"),
    ("solve_linear", "coef", _put(0, NAN), "coef, centre and box must be finite"),
    ("solve_linear", "box_high", _put(0, INF), "coef, centre and box must be finite"),
    ("solve_linear", "intercept", lambda _: NAN, "intercept must be finite"),
    ("solve_linear", "own_class", _put(0, 2), "a class is out of range"),
    ("solve_linear", "limits.max_changes", lambda _: 1, "rules between features are not for linear models"),
    ("solve_ensemble", "cut", _without_last, "the nodes' arrays disagree"),
    ("solve_ensemble", "left", _without_last, "the nodes' arrays disagree"),
    ("solve_ensemble", "values", _put(0, NAN), "a value must be finite"),
    ("solve_ensemble", "base", _put(0, NAN), "a base must be finite"),
    ("solve_ensemble", "base", _without_last, "values, base and side rows disagree"),
    ("solve_ensemble", "side_least", lambda _: np.zeros(3), "values, base and side rows disagree"),
    ("solve_ensemble", "side_least", lambda _: np.full(1, NAN), "the least value of a side row must be a number"),
    (
        "solve_ensemble",
        "examples",
        lambda array: array[:, :-1].copy(),
        "examples and model have different numbers of features",
    ),
    ("solve_ensemble", "examples", _put(0, 99), "the cell of an example is out of range"),
    ("solve_ensemble", "examples", _put(0, -1), "the cell of an example is out of range"),
    ("solve_ensemble", "relative_gap", lambda _: 1.0, "relative_gap must be at least 0 and below 1"),
    ("solve_ensemble", "relative_gap", lambda _: NAN, "relative_gap must be at least 0 and below 1"),
    ("solve_ensemble", "own_class", _put(0, 3), "a class is out of range"),
    ("solve_ensemble", "roots", _put(0, -1), "a root is out of range"),
    ("solve_ensemble", "roots", _put(0, 10**12), "a root is out of range"),
    ("solve_ensemble", "roots", _put(1, 0), "a node has two parents"),
    ("solve_ensemble", "left", _put(0, 0), "a node has two parents"),
    ("solve_ensemble", "limits.first_term", _put(-1, 1), "linear rules disagree"),
    ("solve_ensemble", "limits.upper", _without_last, "linear rules disagree"),
    ("solve_ensemble", "limits.upper", _put(0, NAN), "a limit must be a number"),
    ("solve_ensemble", "limits.term_coef", _put(0, INF), "a coefficient must be finite"),
    ("solve_ensemble", "limits.term_feature", _put(0, 4), "the feature of a rule is out of range"),
    ("solve_ensemble", "limits.if_feature", _put(0, -1), "the feature of a rule is out of range"),
    ("solve_ensemble", "limits.then_feature", _put(0, 4), "the feature of a rule is out of range"),
    ("solve_ensemble", "limits.then_rises", _without_last, "implications disagree"),
    ("score_trees", "threshold", _without_last, "the nodes' arrays disagree"),
    ("score_trees", "left", _put(0, 99), "a child is out of range"),
    ("score_trees", "left", _put(0, 0), "a node has two parents"),
    ("score_trees", "feature", _put(0, 4), "the feature of a node is out of range"),
    ("score_trees", "base", _without_last, "value, base and out disagree"),
    ("score_trees", "out", _without_last, "value, base and out disagree"),
    ("score_trees", "part_weight", _without_last, "the parts disagree"),
    ("score_trees", "part_size", lambda _: np.array([4, -1]), "the sizes of the parts must sum to the number of trees"),
    (
        "score_trees",
        "part_size",
        lambda _: np.array([2**62, 2**62]),
        "the sizes of the parts must sum to the number of trees",
    ),
    ("score_trees", "part_size", lambda _: np.array([1, 1]), "the sizes of the parts must sum to the number of trees"),
    ("score_trees", "missing_left", _without_last, "missing_left and the nodes disagree"),
    ("score_trees", "n_codes", lambda _: None, "the categories' arrays disagree"),
    ("score_trees", "n_codes", _without_last, "the categories and the nodes disagree"),
    ("score_trees", "n_codes", _put(0, 3), "the categories of a node are out of range"),
    ("score_trees", "first_code", _put(0, 2**63 - 1), "the categories of a node are out of range"),
    ("solve_raw_tree", "label", _without_last, "one label per row"),
    ("solve_raw_tree", "label", _put(0, 3), "a label is out of range"),
    ("solve_raw_tree", "n_classes", lambda _: 1, "at least two classes"),
    ("solve_raw_tree", "weight", _put(0, NAN), "weights must be finite"),
    ("solve_raw_tree", "weight", _without_last, "one weight per row"),
    ("solve_raw_tree", "rank", _put(0, 9), "a rank must be below"),
    ("solve_raw_tree", "rank", _put(0, -1), "a rank must be below"),
    ("solve_raw_tree", "count", _without_last, "one count per row"),
    ("solve_raw_tree", "criterion", lambda _: 5, "the criterion is out of range"),
    ("solve_raw_tree", "max_leaves", lambda _: 0, "max_leaves must be between 1 and 1,000,000"),
    ("solve_raw_tree", "min_weight", lambda _: NAN, "min_weight must not be negative"),
    ("solve_raw_tree", "min_rows", lambda _: 0, "min_rows must be at least 1"),
    ("solve_raw_tree", "penalty", lambda _: NAN, "penalty and max_depth must not be negative"),
    ("solve_tree", "label", _without_last, "one label per row"),
    ("solve_tree", "label", _put(0, 3), "a label is out of range"),
    ("solve_tree", "label", _put(0, -1), "a label is out of range"),
    ("solve_tree", "n_classes", lambda _: 0, "the number of classes is out of range"),
    ("solve_tree", "n_classes", lambda _: 2**62, "the number of classes is out of range"),
    ("solve_tree", "weight", _put(0, NAN), "weights must be finite"),
    ("solve_tree", "weight", _put(0, -1.0), "weights must be finite"),
    ("solve_tree", "weight", _put(slice(None), 1e308), "weights must be finite"),
    ("solve_tree", "table", _put(0, 2), "the table must hold only 0 and 1"),
    ("solve_tree", "penalty", lambda _: NAN, "penalty and max_depth must not be negative"),
    ("solve_tree", "max_depth", lambda _: -1, "penalty and max_depth must not be negative"),
    ("solve_tree", "count", _without_last, "one count per row"),
    ("solve_tree", "count", _put(0, -1), "counts must not be negative"),
    ("solve_tree", "criterion", lambda _: 5, "the criterion is out of range"),
    ("solve_tree", "criterion", lambda _: -1, "the criterion is out of range"),
    ("solve_tree", "max_leaves", lambda _: 0, "max_leaves must be between 1 and 1,000,000"),
    ("solve_tree", "min_weight", lambda _: NAN, "min_weight must not be negative"),
    ("solve_tree", "min_rows", lambda _: 0, "min_rows must be at least 1"),
    ("select_thresholds", "passed", _put(0, 3), "a row passes more conditions than its chain has"),
    ("select_thresholds", "passed", _put(0, -1), "a row passes more conditions than its chain has"),
    ("select_thresholds", "label", _put(0, 3), "a label is out of range"),
    ("select_thresholds", "weight", _put(0, NAN), "weights must be finite"),
    ("select_thresholds", "weight", _without_last, "one label and weight per row"),
    ("select_thresholds", "chain_size", _without_last, "one count per chain"),
    ("select_thresholds", "chain_size", _put(0, -1), "a chain must have 0 to 65,535 conditions"),
    ("select_thresholds", "chain_size", _put(0, 1), "chains and conditions disagree"),
    ("select_thresholds", "count", _put(0, -1.0), "counts must be finite"),
    ("select_thresholds", "count", _put(0, INF), "counts must be finite"),
    ("select_thresholds", "n_thresholds", lambda _: 6, "more thresholds than conditions"),
    ("select_thresholds", "state", _put(0, 3), "a state is out of range"),
    ("select_thresholds", "state", _without_last, "one state and feature per condition"),
    ("select_thresholds", "feature", _put(0, 2), "a feature is out of range"),
    ("select_thresholds", "per_feature", _put(0, -(2**31)), "caps must not be negative"),
    ("select_thresholds", "max_features", lambda _: -(2**31), "caps must not be negative"),
    ("select_thresholds", "ceiling", lambda _: NAN, "the ceiling must be a number"),
    ("greedy_thresholds", "passed", _put(0, 2**31 - 1), "a row passes more conditions than its chain has"),
    ("greedy_thresholds", "n_thresholds", lambda _: 2**62, "more thresholds than conditions"),
]


@pytest.mark.parametrize(
    ("name", "place", "change", "message"), CASES, ids=[f"{c[0]}-{c[1]}-{i}" for i, c in enumerate(CASES)]
)
def test_what_does_not_fit_is_refused(name, place, change, message):
    arguments = _of(name)
    *outer, key = place.split(".")
    into = arguments[outer[0]] if outer else arguments
    into[key] = change(into[key])
    with pytest.raises(ValueError, match=message):
        call(name, arguments)


def test_trees_score_the_same_whichever_way_their_nodes_are_numbered():
    arguments = _of("score_trees")
    call("score_trees", arguments)
    n = len(arguments["feature"])
    backwards = {
        key: np.ascontiguousarray(arguments[key][::-1])
        for key in ("feature", "left", "right", "threshold", "missing_left", "first_code", "n_codes", "value")
    }
    for key in ("left", "right"):
        backwards[key] = np.where(backwards["feature"] < 0, -1, n - 1 - backwards[key]).astype(np.int32)
    out = np.empty_like(arguments["out"])
    call("score_trees", {**arguments, **backwards, "roots": n - 1 - arguments["roots"], "out": out})
    np.testing.assert_array_equal(out, arguments["out"])


def test_gaps_need_a_cell_of_their_own():
    cell = cells(np.random.default_rng(0), [WITH_MISSING])
    cell |= {"first_cut": np.zeros(2, dtype=np.int64), "cuts": np.zeros(0), "smallest": np.zeros(1), "largest": np.zeros(1)}
    with pytest.raises(ValueError, match="a column with missing values has no cell for them"):
        _core.Cells(**cell)


@pytest.mark.parametrize("name", ["find_cells", "score_additive", "score_trees", "widen_cells"])
def test_what_is_written_into_must_be_the_array_itself(name):
    """A copy that the call makes for itself would be written into and lost."""
    arguments = _of(name)
    place = "smallest" if name == "widen_cells" else "out"
    for other in (np.asfortranarray(np.zeros((6, 8)))[:, ::2], arguments[place].astype(np.float32)):
        with pytest.raises(TypeError):
            call(name, {**arguments, place: other})


def test_a_chain_of_more_conditions_than_16_bits_count_is_refused():
    passed = np.zeros((1, 1), dtype=np.int32)
    row = {"passed": passed, "label": np.zeros(1, dtype=np.int32), "weight": np.ones(1), "n_classes": 2}
    chain = {"chain_size": np.array([65_536], dtype=np.int32), "count": np.ones(65_536)}
    with pytest.raises(ValueError, match="must have 0 to 65,535 conditions"):
        _core.greedy_thresholds(**row, **chain, n_thresholds=1)


def test_more_conditions_than_16_bits_number_are_refused_by_the_optimal_selection_only():
    n = 40_000
    row = {
        "passed": np.zeros((1, 2), dtype=np.int32),
        "label": np.zeros(1, dtype=np.int32),
        "weight": np.ones(1),
        "n_classes": 2,
    }
    chain = {"chain_size": np.array([n, n], dtype=np.int32), "count": np.ones(2 * n)}
    assert len(_core.greedy_thresholds(**row, **chain, n_thresholds=1)) == 1
    with pytest.raises(ValueError, match="at most 65,535 conditions"):
        _core.select_thresholds(
            **row,
            **chain,
            state=np.zeros(2 * n, dtype=np.int32),
            feature=np.zeros(2 * n, dtype=np.int32),
            per_feature=np.array([5], dtype=np.int32),
            max_features=1,
            n_thresholds=1,
            ceiling=np.inf,
            max_nodes=10,
            time_limit=1.0,
        )
