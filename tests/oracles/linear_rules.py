"""Linear models under rules: every combination of choices, and for each a linear program in what is left to choose.

What a change adds to the scores is asked of the real model, not of the package: its scores are straight lines between any
two values of a number, and steps for categories, gaps and groups.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from oracles import contract, distances

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
MOST_COMBINATIONS = 300_000
ROUNDING = 1e-11


@dataclass(frozen=True)
class Case:
    """One row of one model and the rules it keeps."""

    estimator: object
    as_given: object  # from rows of codes to what the estimator takes
    X: np.ndarray  # training rows by code
    categories: dict  # by column, the number of categories
    limits: object
    i: int  # the line of the limits
    x0: np.ndarray
    problem: object
    own: int
    target: int | None = None
    cache: dict = field(default_factory=dict)

    def scale_of(self, j):
        scale = self.problem.scale
        return scale if isinstance(scale, str) else scale.get(f"x{j}", "range")

    def unit(self, j):
        """What a distance of 1 is in a column of numbers."""
        return distances.unit(self.X[:, j], self.scale_of(j))

    def unordered(self):
        """Distance of a change that has no direction."""
        if self.problem.category_distance != "auto":
            return self.problem.category_distance
        numbers = [j for j in range(self.X.shape[1]) if j not in self.categories]
        return distances.mean_distance([self.X[:, j] for j in numbers], map(self.scale_of, numbers))

    def unordered_price(self, weight):
        return (self.problem.lambda0 + self.problem.lambda1 * self.unordered()) * weight

    def with_values(self, values):
        row = self.x0.copy()
        for j, value in values.items():
            row[j] = value
        return row

    def scores(self):
        return contract.scores_of(self.estimator, self.as_given(self.x0[None, :]))[0]

    def gain(self, values):
        """What values in place of the row's own add to the scores; 0 until the model has been asked."""
        key = tuple(sorted(values.items()))
        return self.cache.setdefault(key, np.zeros(1))

    def answer(self):
        """Have the model score all that was asked for, at once."""
        rows = [self.with_values(dict(key)) for key in self.cache]
        scores = contract.scores_of(self.estimator, self.as_given(np.array([self.x0, *rows])))
        self.cache.update(zip(list(self.cache), scores[1:] - scores[0], strict=True))


@dataclass(frozen=True)
class Option:
    """One thing that a feature or group can do: the values it takes at the start, and how far it can go from there."""

    values: dict
    cost: float
    gain: np.ndarray
    moved: bool = True
    rises: frozenset = frozenset()
    falls: frozenset = frozenset()
    span: float = 0.0  # in raw units, upwards; downwards where negative
    price: float = 0.0  # per raw unit
    slope: np.ndarray | None = None  # of the scores, per raw unit upwards


def grid_values(step, origin, low, high):
    first, last = np.floor((low - origin) / step) - 2, np.ceil((high - origin) / step) + 2
    values = origin + np.arange(first, last + 1) * step
    return values[(values >= low) & (values <= high)]


def number_options(case, j, weight):
    limits, x0, seen = case.limits, case.x0[j], case.X[~np.isnan(case.X[:, j]), j]
    missing = np.isnan(x0)
    if missing and (limits.fillable is None or not limits.fillable[j]):
        return
    low, high = (seen.min(), seen.max()) if missing else (min(seen.min(), x0), max(seen.max(), x0))
    unit = case.unit(j)
    low = low if limits.low is None else max(low, limits.low[case.i, j])
    high = high if limits.high is None else min(high, limits.high[case.i, j])
    if low > high:
        return
    fixed, price = case.problem.lambda0 * weight, case.problem.lambda1 * weight
    far = (low, high) if low < high else (low, low + unit)
    slope = (case.gain({j: far[1]}) - case.gain({j: far[0]})) / (far[1] - far[0])
    on_grid = limits.step is not None and limits.step[j] > 0
    if missing and on_grid:
        for value in grid_values(limits.step[j], limits.origin[j], low, high):
            yield Option({j: value}, case.unordered_price(weight), case.gain({j: value}))
    elif missing:
        yield Option({j: low}, case.unordered_price(weight), case.gain({j: low}), span=high - low, slope=slope)
    elif on_grid:
        for value in grid_values(limits.step[j], limits.origin[j], low, high):
            if value != x0:
                way = {"rises" if value > x0 else "falls": frozenset([j])}
                yield Option({j: value}, fixed + price * abs(value - x0) / unit, slope * (value - x0), **way)
    else:
        for start, end, way in ((max(low, x0), high, "rises"), (min(high, x0), low, "falls")):
            if (end > x0) if way == "rises" else (end < x0):
                cost = fixed + price * abs(start - x0) / unit
                yield Option(
                    {j: start}, cost, slope * (start - x0), span=end - start, price=price / unit, slope=slope,
                    **{way: frozenset([j])},
                )  # fmt: skip


def category_options(case, j, weight):
    limits, x0 = case.limits, case.x0[j]
    missing = np.isnan(x0)
    if missing and (limits.fillable is None or not limits.fillable[j]):
        return
    price = case.unordered_price(weight)
    for code in np.unique(case.X[~np.isnan(case.X[:, j]), j]):
        factor = 1.0 if missing or j not in limits.moves else limits.moves[j][int(x0), int(code)]
        if code != x0 and np.isfinite(factor):
            yield Option({j: code}, price * factor, case.gain({j: code}))


def group_options(case, group, weight):
    price = case.unordered_price(weight)
    frozen = np.zeros(len(case.x0), dtype=bool) if case.limits.frozen is None else case.limits.frozen[case.i]
    for one in group:
        values = {j: float(j == one) for j in group if float(j == one) != case.x0[j]}
        inside = all(case.X[:, j].min() <= value <= case.X[:, j].max() for j, value in values.items())
        if values and inside and not any(frozen[j] for j in values):
            rises = frozenset(j for j, value in values.items() if value > case.x0[j])
            yield Option(values, price, case.gain(values), rises=rises, falls=frozenset(values) - rises)


def units(case):
    """Per feature or group, all that it can do."""
    list(asked_of_units(case))
    case.answer()
    return list(asked_of_units(case))


def asked_of_units(case):
    limits = case.limits
    weight = np.ones(len(case.x0)) if limits.weight is None else limits.weight
    stays = Option({}, 0.0, np.zeros(1), moved=False)
    grouped = {j for group in limits.groups for j in group}
    for group in limits.groups:
        yield [stays, *group_options(case, group, weight[group[0]])]
    for j in range(len(case.x0)):
        if j in grouped or (limits.frozen is not None and limits.frozen[case.i, j]):
            continue
        options = category_options if j in case.categories else number_options
        yield [stays, *options(case, j, weight[j])]


def least_rise(case, j, rises):
    """The value that a number at least goes to where an implication makes it: its next training value, within its bounds."""
    seen = case.X[:, j][~np.isnan(case.X[:, j])]
    low = -np.inf if case.limits.low is None else case.limits.low[case.i, j]
    high = np.inf if case.limits.high is None else case.limits.high[case.i, j]
    beyond = seen[seen > case.x0[j]] if rises else seen[seen < case.x0[j]]
    if len(beyond) == 0:
        return case.x0[j]
    return min(beyond.min(), high) if rises else max(beyond.max(), low)


def program_of(case, chosen, leads):
    """Rows ``a @ t >= b`` of a combination, t between 0 and 1 per option that goes on; None where it breaks a rule."""
    limits = case.limits
    going = [option for option in chosen if option.span != 0]
    rows, least = [], []
    for lead, needed in leads:
        rows.append([float(lead @ option.slope) * option.span for option in going])
        least.append(needed - sum(float(lead @ option.gain) for option in chosen if option.moved))
    rises, falls = (frozenset().union(*(getattr(option, way) for option in chosen)) for way in ("rises", "falls"))
    values = {j: value for option in chosen for j, value in option.values.items()}
    at = {next(iter(option.values)): k for k, option in enumerate(going)}
    for rule in limits.implications:
        if rule.feature not in (rises if rule.rises else falls):
            continue
        if rule.then_feature not in (rises if rule.then_rises else falls):
            return None
        if rule.then_feature in at:
            j, sign = rule.then_feature, 1 if rule.then_rises else -1
            row = [0.0] * len(going)
            row[at[j]] = abs(going[at[j]].span)
            rows.append(row)
            least.append(sign * (least_rise(case, j, rule.then_rises) - values[j]))
    for rule in limits.linear:
        after = case.with_values(values)
        if not set(rule.coefficients) & set(values) or any(np.isnan(after[j]) for j in rule.coefficients):
            continue
        row = [rule.coefficients.get(next(iter(option.values)), 0.0) * option.span for option in going]
        rows.append([-a for a in row])
        size = sum(abs(a * after[j]) for j, a in rule.coefficients.items()) + abs(rule.upper)
        least.append(sum(a * after[j] for j, a in rule.coefficients.items()) - rule.upper - 1e-15 * size)
    return going, np.array(rows, dtype=float).reshape(len(least), len(going)), np.array(least)


def cheapest(going, rows, least, enough):
    """Least cost of the options that go on; infinity where it is no less than ``enough``, which need not be solved for."""
    tolerance = ROUNDING * np.maximum(1.0, np.abs(least))
    reach = np.maximum(rows, 0).sum(axis=1)
    if (reach < least - tolerance).any():
        return np.inf
    if len(going) == 0:
        return 0.0
    cost = np.array([option.price * abs(option.span) for option in going])
    if any(cost_of_one_row(cost, *row) >= enough for row in zip(rows, least - tolerance, strict=True)):
        return np.inf
    size = np.maximum(np.abs(rows).max(axis=1), 1e-300)
    keep = np.abs(rows).max(axis=1) > 0
    most = np.minimum(least, reach)[keep]
    answer = linprog(
        cost, A_ub=-rows[keep] / size[keep, None], b_ub=-most / size[keep], bounds=(0, 1), method="highs-ds", options=TIGHT
    )
    return float(answer.fun) if answer.status == 0 else np.inf


def cost_of_one_row(cost, row, least):
    """Least cost of this row alone, which all rows together cannot undercut: what gains most for its cost first."""
    total, gains = 0.0, np.flatnonzero(row > 0)
    for k in gains[np.argsort(cost[gains] / row[gains])]:
        if least <= 0:
            break
        total += cost[k] * min(1.0, least / row[k])
        least -= row[k]
    return total


def least_cost(case):
    """Least cost of a change that wins by the margin and keeps the rules; infinity where there is none."""
    scores = case.scores()
    n_classes = max(2, len(scores))
    aims = []
    for target in [k for k in range(n_classes) if k != case.own] if case.target is None else [case.target]:
        if len(scores) == 1:
            weights = np.array([[1.0 if target == 1 else -1.0]])
        else:
            weights = np.delete(np.eye(n_classes)[target] - np.eye(n_classes), target, axis=0)
        aims.append([(lead, case.problem.margin - float(lead @ scores)) for lead in weights])
    offered = units(case)
    if np.prod([float(len(options)) for options in offered]) > MOST_COMBINATIONS:
        raise ValueError("The case is too large to be enumerated.")
    combinations = []
    for chosen in itertools.product(*offered):
        n_changes = sum(option.moved for option in chosen)
        if case.limits.max_changes is None or n_changes <= case.limits.max_changes:
            combinations.append((sum(option.cost for option in chosen), chosen))
    combinations.sort(key=lambda one: one[0])
    best = np.inf
    for cost, chosen in combinations:
        if cost >= best:
            break
        for leads in aims:
            program = program_of(case, chosen, leads)
            if program is not None:
                best = min(best, cost + cheapest(*program, enough=best - cost))
    return best
