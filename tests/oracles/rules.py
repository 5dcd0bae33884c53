"""All changes that rules leave of a row, each built as a point and put to the real model.

Rules are read from the rules themselves, not from what the package compiles them to. Of the package only the reader is used,
for the cuts of a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fcca.constraints import (
    Allowed,
    Bounds,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    Linear,
    MaxChanges,
    OneHot,
    Rule,
)
from oracles import contract, distances

MOST_COMBINATIONS = 400_000
AT_ONCE = 4_000
SUM_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows by code, with what is known of the columns, and the model fitted on them."""

    estimator: object
    as_given: object  # from rows of codes to what the estimator takes
    names: tuple[str, ...]
    labels: dict[int, tuple]  # of columns of categories
    X: np.ndarray
    cuts: list[np.ndarray]
    lambdas: tuple[float, float, float]
    margin: float
    scale: object = "range"  # a word, or units by name
    category_distance: object = 1.0
    cache: dict = field(default_factory=dict)

    def price(self, distance):
        fixed, linear, square = self.lambdas
        return fixed + linear * distance + square * distance**2

    def seen(self, j):
        """Training values of a column, sorted."""
        if j not in self.cache:
            self.cache[j] = np.unique(self.X[~np.isnan(self.X[:, j]), j])
        return self.cache[j]

    def unit(self, j):
        width = self.seen(j)[-1] - self.seen(j)[0]
        return width if width > 0 else 1.0

    def scale_of(self, j):
        """The word or the unit of a column."""
        return self.scale if isinstance(self.scale, str) else self.scale.get(self.names[j], "range")

    def distance(self, j, origin, landing):
        return distances.distance(self.X[:, j], self.scale_of(j), origin, landing)

    def unordered(self):
        """Distance of a change that has no direction."""
        if self.category_distance != "auto":
            return self.category_distance
        if "auto" not in self.cache:
            numbers = [j for j in range(self.X.shape[1]) if j not in self.labels]
            self.cache["auto"] = distances.mean_distance([self.X[:, j] for j in numbers], map(self.scale_of, numbers))
        return self.cache["auto"]

    def middle(self, j):
        """What a filling comes as near to as it can: the median."""
        return float(np.nanmedian(self.X[:, j]))


def of_kind(rules, *kinds):
    return [rule for rule in rules if isinstance(rule, kinds)]


def named(rules, kind, name):
    """Whether a rule of that kind is about the column."""
    return any(name in rule.columns for rule in of_kind(rules, kind))


def sums(rules):
    """Coefficients by name and upper end of all sums."""
    found = [*of_kind(rules, Linear), *(one for rule in of_kind(rules, Rule) for one in rule.linear)]
    return [(dict(rule.coefficients), rule.upper) for rule in found]


def ends(rules, name, x0):
    """Between what a number stays once it moves."""
    low, high = -np.inf, np.inf
    if named(rules, Increasing, name) and not np.isnan(x0):
        low = x0
    if named(rules, Decreasing, name) and not np.isnan(x0):
        high = x0
    for rule in of_kind(rules, Bounds):
        if rule.name != name:
            continue
        if rule.by is None and not rule.relative:
            low = max(low, -np.inf if rule.low is None else rule.low)
            high = min(high, np.inf if rule.high is None else rule.high)
        elif not np.isnan(x0):
            down, up = rule.by if rule.by is not None else (rule.low, rule.high)
            size = 1.0 if rule.by is not None else abs(x0)
            low = max(low, -np.inf if down is None else x0 + down * size)
            high = min(high, np.inf if up is None else x0 + up * size)
    return low, high


def grid(rules, name):
    """Step and origin, or None."""
    for rule in of_kind(rules, Grid, Integer):
        if name in rule.columns:
            return (rule.step, rule.origin) if isinstance(rule, Grid) else (1.0, 0.0)
    return None


def middle_of(open_low, low, high):
    """The middle of what is above open_low and from low to high; None where nothing is."""
    low = max(low, open_low)
    if low > high or high <= open_low:
        return None
    middle = low + (high - low) / 2
    return middle if middle > open_low else high


def on_grid(step, origin, open_low, low, high, near):
    """The value of the grid nearest to one value, the lower of two; None where there is none in the interval."""
    first, last = np.floor((max(low, open_low) - origin) / step) - 2, np.ceil((high - origin) / step) + 2
    values = origin + np.arange(first, last + 1) * step
    values = values[(values > open_low) & (values >= low) & (values <= high)]
    return None if len(values) == 0 else float(values[np.argmin(np.abs(values - near))])


def number_options(table, rules, j, x0):
    """Where a number can go and at what distance, beside staying."""
    name, seen, missing = table.names[j], table.seen(j), np.isnan(x0)
    if named(rules, Immutable, name) or (missing and not named(rules, Fillable, name)):
        return
    low, high = ends(rules, name, x0)
    near = table.middle(j) if missing else x0
    bottom, top = max(low, min(seen[0], near)), min(high, max(seen[-1], near))
    cuts = table.cuts[j]
    free = {other for coefficients, _ in sums(rules) for other in coefficients}
    free |= {other for rule in of_kind(rules, Implies) for other in rule.columns}
    if name in free:
        # Its training values too, but for the last of each cell: what lies between that and the cut is no place of its own.
        cell = np.searchsorted(cuts, seen)
        cuts = np.union1d(cuts, seen[:-1][cell[:-1] == cell[1:]])
    steps = grid(rules, name)
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    own = -1 if missing else np.searchsorted(cuts, x0)
    for cell, (lower, upper) in enumerate(pairwise(edges)):
        if cell == own:
            continue
        last = min(top, upper)
        middle = middle_of(lower, bottom, last)
        if middle is None:
            continue
        inside = seen[(seen > lower) & (seen <= upper)]
        if len(inside) == 0 and not rules and (seen == np.floor(seen)).all():  # without rules, whole numbers stay whole
            first, final = np.floor(lower) + 1, np.floor(upper)
            if first > seen[0] and final < seen[-1]:
                if first > final:
                    continue
                inside = np.array([first, final])
        if steps is not None:
            value = on_grid(*steps, lower, bottom, last, near)
        elif len(inside) == 0:
            value = middle
        else:
            value = float(np.clip(near, inside[0], inside[-1]))
            first = max(bottom, lower)
            if missing:
                value = min(max(value, first), last)
            elif lower >= x0:  # upwards
                value = middle if value > last else max(value, first)
            else:
                value = middle if value < first else min(value, last)
        if value is not None:
            yield float(value), table.unordered() if missing else table.distance(j, x0, float(value))


def category_options(table, rules, j, x0):
    """The codes that a category can become."""
    name, labels = table.names[j], table.labels[j]
    if named(rules, Immutable, name) or (np.isnan(x0) and not named(rules, Fillable, name)):
        return
    for code, label in enumerate(labels):
        if code == x0:
            continue
        before = None if np.isnan(x0) else labels[int(x0)]
        if before is not None:
            if any((before, label) in rule.pairs for rule in of_kind(rules, Forbidden) if rule.name == name):
                continue
            lists = [dict(rule.moves) for rule in of_kind(rules, Allowed) if rule.name == name]
            if any(label not in moves.get(before, ()) for moves in lists):
                continue
        yield float(code), table.unordered()


def group_options(table, rules, group, x0):
    """The ways in which exactly one column of a group is 1, as lists of values."""
    for chosen in range(len(group)):
        values = [float(at == chosen) for at in range(len(group))]
        moved = [(j, value) for j, value in zip(group, values, strict=True) if value != x0[j]]
        if not moved:
            continue
        for j, value in moved:
            low, high = ends(rules, table.names[j], x0[j])
            seen, steps = table.seen(j), grid(rules, table.names[j])
            stays = named(rules, Immutable, table.names[j]) or not low <= value <= high
            stays |= not min(seen[0], x0[j]) <= value <= max(seen[-1], x0[j])
            stays |= steps is not None and on_grid(*steps, -np.inf, value, value, value) is None
            if stays:
                break
        else:
            yield values


def units(table, rules, x0):
    """Per feature or group: its columns, and what it can be with what that costs, as it is first."""
    weight = {rule.name: rule.weight for rule in of_kind(rules, Cost)}
    groups = list({rule.names: [table.names.index(name) for name in rule.names] for rule in of_kind(rules, OneHot)}.values())
    for group in groups:
        price = table.price(table.unordered()) * weight.get(table.names[group[0]], 1.0)
        others = [(values, price) for values in group_options(table, rules, group, x0)]
        yield group, [([x0[j] for j in group], 0.0), *others]
    for j in sorted(set(range(len(x0))) - {j for group in groups for j in group}):
        options = category_options if j in table.labels else number_options
        factor = weight.get(table.names[j], 1.0)
        others = [([value], table.price(distance) * factor) for value, distance in options(table, rules, j, x0[j])]
        yield [j], [([x0[j]], 0.0), *others]


def kept_between(table, rules, x0, points, n_changes):
    """Which points keep the rules between columns."""
    kept = np.ones(len(points), dtype=bool)
    for rule in of_kind(rules, MaxChanges):
        kept &= n_changes <= rule.n
    at = {name: j for j, name in enumerate(table.names)}
    same = (points == x0) | (np.isnan(points) & np.isnan(x0))
    for coefficients, upper in sums(rules):
        index, factor = [at[name] for name in coefficients], np.array(list(coefficients.values()))
        parts = points[:, index] * factor
        size = abs(upper) + np.nansum(np.abs(parts), axis=1)
        kept &= same[:, index].all(axis=1) | ~(parts.sum(axis=1) > upper + SUM_ROUNDING * size)
    for rule in of_kind(rules, Implies):
        goes = []
        for name, rises in rule.directions:
            before, after = x0[at[name]], points[:, at[name]]
            goes.append(after > before if rises else after < before)
        kept &= ~goes[0] | goes[1]
    return kept


class TooManyCombinationsError(ValueError):
    """The case is too large to be enumerated."""


def least_cost(table, rules, x0, *, target=None):
    """Least cost at which the real model answers another class by the margin, infinity where the rules leave none."""
    offered = list(units(table, rules, x0))
    sizes = [len(options) for _, options in offered]
    if np.prod([float(size) for size in sizes]) > MOST_COMBINATIONS:
        raise TooManyCombinationsError(sizes)
    at = np.indices(sizes).reshape(len(sizes), -1).T
    points = np.empty((len(at), len(x0)))
    costs = np.zeros(len(at))
    for (columns, options), chosen in zip(offered, at.T, strict=True):
        points[:, columns] = np.array([values for values, _ in options])[chosen]
        costs += np.array([cost for _, cost in options])[chosen]
    kept = np.flatnonzero(kept_between(table, rules, x0, points, (at > 0).sum(axis=1)))
    kept = kept[np.argsort(costs[kept], kind="stable")]
    classes = list(table.estimator.classes_)
    own = classes.index(np.ravel(table.estimator.predict(table.as_given(x0[None, :])))[0])
    for begin in range(0, len(kept), AT_ONCE):
        some = kept[begin : begin + AT_ONCE]
        given = table.as_given(points[some])
        scores = contract.scores_of(table.estimator, given)
        answers = np.ravel(table.estimator.predict(given))
        reached = np.zeros(len(some), dtype=bool)
        for wanted in [k for k in range(len(classes)) if k != own] if target is None else [target]:
            by_margin = (contract.leads(scores, wanted) >= table.margin - 1e-12).all(axis=1)
            reached |= by_margin & (answers == classes[wanted])
        if reached.any():
            return float(costs[some[np.argmax(reached)]])
    return np.inf
