"""Ensembles whose leads are multiples of a step, for which the search rounds the needed lead up."""

import math

import numpy as np
import pytest

from core.calls import call, limits, questions

SIZES = [pytest.param(60, id="quick"), pytest.param(4000, id="full", marks=pytest.mark.verify)]
MARGIN = 1e-4
MOST_TREES = 12
EPSILON = np.finfo(float).eps


def _cells(random, n_cells):
    """Cells of columns between 0 and 1. A move lands on the middle of a cell."""
    cuts = [np.sort(random.choice(np.linspace(0.05, 0.95, 19), n - 1, replace=False)) for n in n_cells]
    middles = [(np.append(0, own) + np.append(own, 1)) / 2 for own in cuts]
    cell = {
        "first_cut": np.append(0, np.cumsum(n_cells - 1)).astype(np.int64),
        "cuts": np.concatenate(cuts),
        "smallest": np.concatenate(middles),
        "largest": np.concatenate(middles),
        "box_low": np.zeros(len(n_cells)),
        "box_high": np.ones(len(n_cells)),
        **dict.fromkeys(["closed", "kinds", "first_code", "code_cell"]),
    }
    return cell, cuts, middles


def _leaf_values(random, n_classes):
    """A function that draws the values of the leaves of one tree."""
    step = random.choice([0.1, 1 / 3, 1 / 7, 0.01, math.pi, 1e-4, 1e5])
    kind = random.integers(4)

    def of(n_leaves):
        amounts = random.integers(0, random.choice([2, 3, 8]), (n_leaves, n_classes)).astype(float)
        if kind == 0:  # shares of rows, as in forests: the steps of the trees differ
            return amounts / random.integers(1, 6) * step
        values = amounts * step * random.integers(1, 4)
        if kind == 1:  # the leads of every tree begin somewhere else
            values += random.normal(size=n_classes)
        if kind == 2:  # almost multiples: near the largest difference that counts as none
            values += random.uniform(-0.45e-7, 0.45e-7, values.shape) * step / MOST_TREES
        if kind == 3:  # as in boosting: no step, except for a single tree with two leaves
            values = random.normal(size=values.shape)
        return values

    return of


def _trees(random, n_trees, depth, n_cells, values_of, n_classes):
    """Random trees, and for each one the leaf of every combination of cells."""
    feature, cut, left, right, roots, values = [], [], [], [], [], []
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in n_cells], indexing="ij"), axis=-1).reshape(-1, len(n_cells))
    scores = []

    def add(j, k):
        for nodes, value in ((feature, j), (cut, k), (left, -1), (right, -1)):
            nodes.append(value)
        return len(feature) - 1

    def grow(low, high, at, depth):
        wide = np.flatnonzero(low < high)
        if depth == 0 or len(wide) == 0 or random.random() < 0.1:
            node = add(-1, 0)
            leaf_of[at] = node
            return node
        j = random.choice(wide)
        k = int(random.integers(low[j], high[j]))
        node = add(int(j), k)
        goes_left = grid[at, j] <= k
        left_high, right_low = high.copy(), low.copy()
        left_high[j], right_low[j] = k, k + 1
        left[node] = grow(low, left_high, at[goes_left], depth - 1)
        right[node] = grow(right_low, high, at[~goes_left], depth - 1)
        return node

    for _ in range(n_trees):
        leaf_of = np.zeros(len(grid), dtype=np.int64)
        begin = len(feature)
        roots.append(grow(np.zeros(len(n_cells), dtype=int), n_cells - 1, np.arange(len(grid)), depth))
        of_tree = values_of(len(feature) - begin)
        values.append(of_tree)
        scores.append(of_tree[leaf_of - begin])
    integers = {"feature": feature, "cut": cut, "left": left, "right": right}
    model = {name: np.array(nodes, dtype=np.int32) for name, nodes in integers.items()}
    model |= {"roots": np.array(roots, dtype=np.int64), "values": np.concatenate(values)[:, :n_classes].copy()}
    return model | {"first_left": None, "left_cells": None}, grid, np.stack(scores)


def _instance(seed):
    """A call, and the least cost by brute force; None if a sum is too near to what is needed to be decided."""
    random = np.random.default_rng(seed)
    n_classes = int(random.choice([1, 1, 3]))
    n_cells = random.integers(2, 7, int(random.integers(2, 5)))
    cell, cuts, middles = _cells(random, n_cells)
    n_trees, depth = int(random.integers(1, MOST_TREES + 1)), int(random.integers(1, 5))
    model, grid, by_tree = _trees(random, n_trees, depth, n_cells, _leaf_values(random, n_classes), n_classes)
    # scores[i, k]: exact, without the base
    scores = np.array([[math.fsum(by_tree[:, i, k]) for k in range(n_classes)] for i in range(len(grid))])
    target = 1
    leads = scores if n_classes == 1 else scores[:, [target]] - np.delete(scores, target, axis=1)
    x = random.random(len(n_cells))
    own = np.array([np.searchsorted(own_cuts, x[j]) for j, own_cuts in enumerate(cuts)])
    lambda0, lambda1 = random.choice([(0.1, 1.0), (0.0, 1.0), (1.0, 0.0)])
    by_cell = [
        np.where(np.arange(n) == own[j], 0.0, lambda0 + lambda1 * abs(middles[j] - x[j])) for j, n in enumerate(n_cells)
    ]
    cost = np.array([sum(by_cell[j][k] for j, k in enumerate(combination)) for combination in grid])
    # The base is such that some leads are exactly what is needed.
    base = np.zeros(n_classes)
    pivot = leads[random.integers(len(grid))]
    if n_classes == 1:
        base[0] = MARGIN - pivot[0]
        reached_by = (leads + base[0] - MARGIN)[:, 0][:, None]
    else:
        base[np.delete(np.arange(n_classes), target)] = pivot - MARGIN
        reached_by = leads - pivot
    size = np.abs(by_tree).max(initial=0) * n_trees + np.abs(base).max() + 1
    unsure = 64 * EPSILON * (n_trees + 4) * size
    is_tie = np.abs(reached_by) <= EPSILON * (n_trees + 4) * size
    if np.any(~is_tie & (np.abs(reached_by) <= unsure)):
        return None
    feasible = np.all(is_tie | (reached_by > 0), axis=1)
    least = cost[feasible].min(initial=np.inf)
    asked = {**questions(random, x[None], 2), "own_class": np.zeros(1, dtype=np.int32), "target": np.ones(1, dtype=np.int32)}
    asked |= {"lambda0": lambda0, "lambda1": lambda1, "lambda2": 0.0, "time_limit": np.inf, "time_limit_per_row": np.inf}
    asked |= {"margin": np.full(1, MARGIN), "n_threads": 1}
    rules = {
        **limits(random, 1, cell, between=False),
        **dict.fromkeys(["low", "high", "frozen", "step", "origin", "weight"]),
    }
    more = {"side_least": np.zeros(0), "examples": np.zeros((0, len(n_cells)), dtype=np.int32), "relative_gap": 0.0}
    return {**asked, **model, **more, "base": base, "cells": cell, "limits": rules}, least


@pytest.mark.parametrize("n_cases", SIZES)
def test_a_change_that_just_reaches_the_needed_lead_is_found(n_cases):
    n_finite = 0
    for seed in range(n_cases):
        instance = _instance(seed)
        if instance is None:
            continue
        arguments, least = instance
        cost, lower, *_ = call("solve_ensemble", arguments)
        if np.isinf(least):
            assert not np.isfinite(cost[0]), seed
            continue
        n_finite += least > 0
        np.testing.assert_allclose([cost[0], lower[0]], least, rtol=1e-9, atol=1e-12, err_msg=str(seed))
    assert n_finite > n_cases / 4
