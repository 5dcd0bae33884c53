"""Ways through the searches that ordinary tables seldom take."""

import numpy as np
import pytest

from core.calls import NUMBERS, WITH_MISSING, call, cells, limits, questions, rows
from fcca import _core

FEATURE, LANDING = 6, 7
FIRST_MOVE = 5


def _inconsistent(codes, label, weight):
    """The weight outside the heaviest class of every group of equal rows."""
    _, group = np.unique(codes, axis=0, return_inverse=True)
    held = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(held, (group.ravel(), label), weight)
    return float((held.sum(axis=1) - held.max(axis=1)).sum())


def _selection(passed, label, chain_size, **asked):
    n = int(chain_size.sum())
    arguments = {
        "passed": passed.astype(np.int32),
        "label": label.astype(np.int32),
        "weight": np.ones(len(label)),
        "n_classes": int(label.max()) + 1,
        "chain_size": chain_size.astype(np.int32),
        "count": np.ones(n),
        "state": np.zeros(n, dtype=np.int32),
        "feature": np.repeat(np.arange(len(chain_size)), chain_size).astype(np.int32),
        "per_feature": chain_size.astype(np.int32),
        "max_features": len(chain_size),
        "ceiling": np.inf,
        "max_nodes": 2**62,
        "time_limit": np.inf,
    }
    return _core.select_thresholds(**(arguments | asked))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_conditions_than_a_word_has_bits_are_all_counted(n_classes):
    """Of 70 conditions all are kept: what they cannot tell apart is what no selection can."""
    random = np.random.default_rng(1)
    chain_size = np.full(10, 7)
    passed, label = random.integers(0, 3, (300, 10)), random.integers(0, n_classes, 300)
    passed[:, 2:] = passed[:, :1]  # many rows are alike
    kept, cost, bound, optimal, _ = _selection(passed, label, chain_size, n_thresholds=70, state=np.ones(70, dtype=np.int32))
    assert kept.tolist() == list(range(70))
    assert optimal
    assert cost == bound == _inconsistent(passed, label, np.ones(300)) > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_of_thousands_of_rows_are_compared_in_part_and_the_bound_still_holds(n_classes):
    """More than 4096 rows of a class are alike so far: a row is paired with some of them."""
    random = np.random.default_rng(2)
    chain_size = np.array([120, 120])
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(121), np.arange(121)))
    passed = np.column_stack([x, y])
    label = np.where(x > 60, 1, 0) + (y > 80) * (n_classes - 2)
    flipped = random.random(len(label)) < 0.1
    label[flipped] = (label[flipped] + 1) % n_classes
    assert np.bincount(label).max() > 4096
    weight = np.ones(len(label))
    kept, cost, bound, _, _ = _selection(passed, label, chain_size, n_thresholds=3, max_nodes=1)
    taken = np.zeros(240, dtype=bool)
    taken[kept] = True
    below = [np.append(0, np.cumsum(taken[:120])), np.append(0, np.cumsum(taken[120:]))]
    assert cost == _inconsistent(np.column_stack([below[0][x], below[1][y]]), label, weight)
    # Cuts at 60 and 80 leave a tenth of the rows, and nothing leaves fewer than the bound says.
    known = _inconsistent(np.column_stack([x > 60, y > 80, y > 80]), label, weight)
    assert 0 < bound <= cost <= known


def test_gaps_are_filled_in_on_the_grid_nearest_to_the_value_asked_for():
    """One column with a gap: the answer is the grid's value nearest to fill_near in the cell that flips the model."""
    cell = cells(np.random.default_rng(0), [WITH_MISSING])
    cell |= {
        "first_cut": np.array([0, 2], dtype=np.int64),
        "cuts": np.array([0.5, np.inf]),
        "smallest": np.array([0.0, 0.6, np.nan]),
        "largest": np.array([0.4, 1.0, np.nan]),
        "closed": None,
    }
    X = np.array([[np.nan]])
    # Cell 1 answers class 1; the model answers class 0 for a gap.
    base = {"cells": cell, "values": np.array([[-1.0], [1.0], [-1.0]]), "base": np.zeros(1)}
    asked = {**questions(np.random.default_rng(0), X, 2), "own_class": np.zeros(1, dtype=np.int32), "n_threads": 1}
    asked["target"] = np.full(1, -1, dtype=np.int32)
    rules = limits(np.random.default_rng(0), 1, cell, between=False)
    rules |= {"low": None, "high": None, "frozen": None, "weight": None, "fillable": np.ones(1, dtype=np.uint8)}
    expected = {0.86: 0.9, 0.84: 0.8, 0.2: 0.6, 0.9: 0.9, 1.0: 1.0}
    for near, landing in expected.items():
        rules |= {"step": np.array([0.1]), "origin": np.zeros(1), "fill_near": np.array([near])}
        found = call("solve_additive", {**asked, **base, "limits": rules})
        np.testing.assert_allclose(found[LANDING], [landing], atol=1e-12)


def test_frozen_features_stay_where_they_are_with_many_classes():
    random = np.random.default_rng(4)
    cell = cells(random, [NUMBERS] * 4)
    X = rows(random, 40, cell)
    model = {"cells": cell, "values": random.normal(size=(len(cell["smallest"]), 4)), "base": np.zeros(4)}
    frozen = np.zeros((40, 4), dtype=np.uint8)
    frozen[:, :2] = 1
    rules = {**limits(random, 40, cell, between=False), "low": None, "high": None, "frozen": frozen}
    asked = {**questions(random, X, 4), "time_limit": np.inf, "time_limit_per_row": np.inf}
    asked["target"] = ((asked["own_class"] + 1) % 4).astype(np.int32)  # a class by name: all rivals count
    found = call("solve_additive", {**asked, **model, "limits": rules})
    assert len(found[FEATURE])
    assert set(found[FEATURE]) <= {2, 3}


def test_nothing_to_do_is_done():
    """No points, no rows, no trees, no conditions."""
    none = np.zeros(0, dtype=np.int32)
    cell = cells(np.random.default_rng(0), [NUMBERS])
    asked = {**questions(np.random.default_rng(0), np.zeros((0, 1)), 2), "n_threads": 4}
    rules = limits(np.random.default_rng(0), 0, cell, between=False)
    model = {"cells": cell, "values": np.zeros((len(cell["smallest"]), 1)), "base": np.zeros(1)}
    found = call("solve_additive", {**asked, **model, "limits": rules})
    assert [len(array) for array in found] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    empty = {"weight": np.zeros(0), "label": none, "n_classes": 2}
    cost, bound, optimal, *_ = _core.solve_tree(
        table=np.zeros((0, 3), dtype=np.uint8),
        **empty,
        count=None,
        criterion=0,
        penalty=1.0,
        max_depth=3,
        max_leaves=None,
        min_weight=0.0,
        min_rows=1,
        max_nodes=None,
        time_limit=1.0,
    )
    assert (cost, bound, optimal) == (1.0, 1.0, True)  # one leaf
    passed = np.zeros((0, 0), dtype=np.int32)
    assert len(_core.greedy_thresholds(passed=passed, **empty, chain_size=none, count=np.zeros(0), n_thresholds=0)) == 0


def test_weights_too_small_to_be_multiplied_up_are_counted_as_nothing():
    """Whole numbers of a unit are made of weights; of the smallest float there is none that fits."""
    random = np.random.default_rng(6)
    passed, label = random.integers(0, 3, (30, 2)), random.integers(0, 2, 30)
    _, cost, bound, optimal, _ = _selection(passed, label, np.array([2, 2]), n_thresholds=1, weight=np.full(30, 5e-324))
    assert optimal
    assert cost == bound == 0.0


@pytest.mark.parametrize("ceiling", [-np.inf, -1.0])
def test_no_set_is_below_a_ceiling_below_nothing(ceiling):
    random = np.random.default_rng(7)
    passed, label = random.integers(0, 3, (30, 2)), random.integers(0, 2, 30)
    _, cost, _, optimal, _ = _selection(passed, label, np.array([2, 2]), n_thresholds=1, ceiling=ceiling)
    assert optimal
    assert np.isnan(cost)


def _two_scattered_sets(n_cells):
    """An ensemble whose trees need every second cell of two columns, and the right side of a third column."""
    cuts = [np.arange(1, n_cells) / n_cells] * 2 + [np.array([0.5])]
    first_cut = np.append(0, np.cumsum([len(own) for own in cuts]))
    nothing_seen = np.full(first_cut[-1] + 3, np.nan)
    cell = {
        "first_cut": first_cut.astype(np.int64),
        "cuts": np.concatenate(cuts),
        "smallest": nothing_seen,
        "largest": nothing_seen.copy(),
        "box_low": np.zeros(3),
        "box_high": np.ones(3),
        **dict.fromkeys(["closed", "kinds", "first_code", "code_cell"]),
    }
    # Left is inside the set. Scores of the first tree: -0.2 in both sets, -0.5 and -0.4 in one of them, -1 in none.
    return {
        "cells": cell,
        "roots": np.array([0, 7], dtype=np.int64),
        "feature": np.array([0, 1, 1, -1, -1, -1, -1, 2, -1, -1], dtype=np.int32),
        "cut": np.zeros(10, dtype=np.int32),
        "left": np.array([1, 3, 5, -1, -1, -1, -1, 8, -1, -1], dtype=np.int32),
        "right": np.array([2, 4, 6, -1, -1, -1, -1, 9, -1, -1], dtype=np.int32),
        "values": np.array([0, 0, 0, -0.2, -0.5, -0.4, -1, 0, 0, 0.3])[:, None],
        "base": np.zeros(1),
        "first_left": np.array([0, n_cells, n_cells, *[-1] * 7], dtype=np.int64),
        "left_cells": np.tile(np.arange(n_cells, dtype=np.uint8) % 2, 2),
    }


@pytest.mark.parametrize(("n_cells", "bound"), [(40, 3.0), (4000, 0.0)])
def test_a_row_that_needs_too_much_memory_ends_like_one_that_is_out_of_time(n_cells, bound):
    model = _two_scattered_sets(n_cells)
    X = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])  # outside the sets, and in the last cells, which are in both
    random = np.random.default_rng(0)
    asked = {**questions(random, X, 2), "own_class": np.zeros(2, dtype=np.int32), "target": np.ones(2, dtype=np.int32)}
    asked |= {"lambda0": 1.0, "lambda1": 0.0, "lambda2": 0.0, "time_limit": np.inf, "time_limit_per_row": np.inf}
    rules = {**limits(random, 2, model["cells"], between=False), "low": None, "high": None}
    rules |= {"frozen": None, "step": None, "origin": None, "weight": None}
    more = {"side_least": np.zeros(0), "examples": np.zeros((0, 3), dtype=np.int32), "relative_gap": 0.0}
    cost, lower, status, *_ = call("solve_ensemble", {**asked, **model, **more, "limits": rules})
    assert cost.tolist() == [3.0, 1.0]
    assert lower.tolist() == [bound, 1.0]
    assert status.tolist() == [0 if bound else 2, 0]  # optimal, or found without a proof
