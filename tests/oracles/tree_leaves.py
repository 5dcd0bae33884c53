"""The cheapest change into every leaf of a small tree: column by column, because a leaf restricts each column alone."""

from itertools import pairwise

import numpy as np

from oracles import contract


def holds(nodes, node, x):
    """Whether the row ``x`` goes to the right at an inner node."""
    value = x[nodes.feature[node]]
    if node in nodes.asks_missing:
        return bool(np.isnan(value))
    if node in nodes.categories:
        return value in nodes.categories[node]
    if node in nodes.asks_special:
        return value == nodes.threshold[node]
    return bool(value > nodes.threshold[node])


def numbers(nodes, j, x0, column, special, problem):
    """The values that a number can take, each with its cost; the present one first. A missing value stays."""
    if np.isnan(x0):
        return [(x0, 0.0)]
    cuts = {float(nodes.threshold[node]) for node in np.flatnonzero(nodes.feature == j) if nodes.kind_of(node) == "cut"}
    codes = special.get(j, np.empty(0))
    edges = sorted({-np.inf, np.inf, *cuts, *codes, *np.nextafter(codes, -np.inf)})
    present = column[~np.isnan(column)]
    ordinary = present[~np.isin(present, codes)]
    unit = ordinary.max() - ordinary.min() or 1.0
    found = [(x0, 0.0)]
    for low, high in pairwise(edges):
        if high in codes or low < x0 <= high:
            continue
        if x0 in codes:
            seen, near = ordinary[(ordinary > low) & (ordinary <= high)], np.median(ordinary)
            landing = float(np.clip(near, seen.min(), seen.max())) if len(seen) else None
            landing = contract.landing_in(low, high, near, ordinary) if landing is None else landing
        else:
            landing = contract.landing_in(low, high, x0, ordinary)
        if landing is not None:
            distance = problem.category_distance if x0 in codes else abs(landing - x0) / unit
            found.append((landing, contract.price(distance, problem)))
    return found


def categories(x0, column, problem):
    """The codes that a category can take, each with its cost; the present one first. A missing value stays."""
    others = [] if np.isnan(x0) else [code for code in np.unique(column[~np.isnan(column)]) if code != x0]
    return [(x0, 0.0), *((float(code), contract.price(problem.category_distance, problem)) for code in others)]


def least_cost(nodes, is_category, X_train, x0, problem, *, special=None, target=None):
    """Least cost of a change into a leaf of another class, or of the class ``target``, that wins by the margin."""
    offered = [
        categories(x0[j], column, problem) if is_category[j] else numbers(nodes, j, x0[j], column, special or {}, problem)
        for j, column in enumerate(X_train.T)
    ]
    own = nodes.probability[nodes.leaf_of(x0[None])[0]].argmax()
    least = np.inf
    for leaf in np.flatnonzero(nodes.feature < 0).tolist():
        share = nodes.probability[leaf]
        to = int(share.argmax())
        lead = share[to] - np.delete(share, to).max()
        if to == own or lead < problem.margin or (target is not None and to != target):
            continue
        path, cost = nodes.path_to(leaf), 0.0
        for j, values in enumerate(offered):
            tests = [(node, side) for node, side in path if nodes.feature[node] == j]
            fits = [price for value, price in values if _fits(nodes, tests, j, value, x0)]
            cost += min(fits, default=np.inf)
        least = min(least, cost)
    return float(least)


def _fits(nodes, tests, j, value, x0):
    x = x0.copy()
    x[j] = value
    return all(holds(nodes, node, x) == side for node, side in tests)
