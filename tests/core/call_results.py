"""Facts that hold for the result of every valid call of the core's functions."""

from __future__ import annotations

import numpy as np

from core.calls import Arguments, call
from fcca.counterfactuals import STATUSES
from oracles import tree_enumeration

CRITERIA = ("error", "gini", "log_loss", "evidence", "error+log_loss")

OPTIMAL, WITHIN_GAP, FEASIBLE = (STATUSES.index(name) for name in ("optimal", "within_gap", "feasible"))


def check_call(name: str, arguments: Arguments) -> None:
    """Make the call and check its result."""
    if "out" in arguments:
        arguments["out"][...] = -7777  # all of it must be overwritten
    result = call(name, arguments)
    if name in ("score_additive", "score_trees"):
        assert np.isfinite(arguments["out"]).all()
        assert not (arguments["out"] == -7777).any()
    elif name == "find_cells":
        n_cells = np.diff(arguments["cells"]["first_cut"]) + 1
        assert ((arguments["out"] >= 0) & (arguments["out"] < n_cells)).all()
    elif name == "widen_cells":
        seen = ~np.isnan(arguments["smallest"])
        assert np.array_equal(seen, ~np.isnan(arguments["largest"]))
        assert (arguments["smallest"][seen] <= arguments["largest"][seen]).all()
    elif name == "solve_tree":
        _check_tree(arguments, *result)
    elif name == "solve_raw_tree":
        cost, bound, is_optimal, _, column, rank_left, rank_right, left, right = result
        assert ((rank_left < rank_right) == (column >= 0)).all()
        tree = {**arguments, "table": arguments["rank"]}
        _check_tree(tree, cost, bound, is_optimal, 0, column, left, right)
    elif name == "greedy_thresholds":
        assert len(set(result)) == arguments["n_thresholds"] == len(result)
        assert set(result) <= set(range(len(arguments["count"])))
    elif name == "select_thresholds":
        _check_selection(arguments, *result)
    else:
        _check_counterfactuals(arguments, *result)


def _check_tree(arguments, cost, bound, is_optimal, n_nodes, column, left, right):
    total = arguments["weight"].sum()
    assert bound <= cost + 1e-9 * total
    weights = np.bincount(arguments["label"], arguments["weight"], arguments["n_classes"])
    as_leaf = tree_enumeration.leaf_cost(weights, CRITERIA[arguments["criterion"]])
    assert cost <= as_leaf + arguments["penalty"] + 1e-9 * total
    assert not is_optimal or abs(cost - bound) <= 1e-9 * max(1.0, total)
    leaf = column < 0
    assert leaf.sum() == (~leaf).sum() + 1
    assert (column < arguments["table"].shape[1]).all()
    assert sorted([*left[~leaf], *right[~leaf]]) == list(range(1, len(column)))


def _check_selection(arguments, chosen, cost, bound, is_optimal, n_nodes):
    if np.isnan(cost):  # no such set, or none found within the limits
        assert len(chosen) == 0
        return
    assert len(set(chosen)) == len(chosen) == arguments["n_thresholds"]
    assert set(chosen) <= set(range(len(arguments["count"])))
    assert bound <= cost <= arguments["weight"].sum() + 1e-9
    assert bound == cost or not is_optimal
    assert set(np.flatnonzero(arguments["state"] == 1)) <= set(chosen)  # conditions to keep
    assert not set(np.flatnonzero(arguments["state"] == 2)) & set(chosen)  # forbidden conditions


def _check_counterfactuals(arguments, cost, bound, status, target, n_nodes, first_move, feature, landing, cut, seconds):
    n, m = arguments["rows"].shape
    found = np.isin(status, [OPTIMAL, WITHIN_GAP, FEASIBLE])
    assert len(cost) == len(bound) == len(status) == len(target) == n
    assert np.isfinite(cost[found]).all()
    assert (bound[found] <= cost[found] + 1e-9).all()
    assert np.allclose(cost[status == OPTIMAL], bound[status == OPTIMAL], rtol=0, atol=1e-9)
    n_moves = np.diff(first_move)
    assert first_move[0] == 0
    assert first_move[-1] == len(feature) == len(landing) == len(cut)
    assert (n_moves[~found] == 0).all()
    assert ((feature >= 0) & (feature < m)).all()
    asked = arguments["target"] >= 0
    assert (target[found & asked] == arguments["target"][found & asked]).all()
    assert (target[found] != arguments["own_class"][found]).all()
