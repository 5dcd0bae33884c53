"""Linear models with many classes, categories, gaps and rules: the cost is the least there is, by enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from exactness.checks import agree
from fcca.constraints import Implication, Limits, LinearRule
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem, _linear_solver
from fcca.exceptions import UnsupportedModelError
from fcca.milp._exact_lp import least_sum
from oracles import contract
from oracles.linear_rules import Case, least_cost

# Models, with one set of rules and 4 rows each.
SIZES = [pytest.param(24, id="quick"), pytest.param(300, id="full", marks=pytest.mark.verify)]
LABELS = (("car", "tv"), ("no", "yes", "later"), ("north", "east", "south", "west"))
COSTS = ((0.1, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.2))
MARGINS = (1e-4, 0.1, 1.0)


@dataclass
class Instance:
    """A model, its training rows by code, rows to be changed and the rules."""

    name: str
    engine: CounterfactualEngine
    X: np.ndarray
    rows: np.ndarray
    own: np.ndarray
    limits: Limits
    categories: dict

    @property
    def estimator(self):
        return self.engine.estimator

    @property
    def problem(self):
        return self.engine.problem

    def solve(self, **settings):
        names = [f"x{j}" for j in range(self.X.shape[1])]
        points = np.arange(len(self.rows), dtype=np.int64)
        return self.engine.solve(self.rows, points, self.own, feature_names=names, limits=self.limits, **settings)

    def case(self, i, target=None):
        return Case(
            self.estimator, self.engine.given, self.X, self.categories, self.limits, i, self.rows[i], self.problem,
            int(self.own[i]), target,
        )  # fmt: skip


def number_column(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 6, n).astype(float)
    return np.round(rng.normal(size=n) * 3, 1) * 10.0 ** rng.integers(-2, 4) if kind == 1 else rng.normal(size=n)


def coded_table(rng, n):
    """Numbers, then perhaps a group, then perhaps categories; gaps in some of them."""
    columns = [number_column(rng, n) for _ in range(int(rng.integers(2, 4)))]
    n_numbers, group, labels = len(columns), (), {}
    if rng.random() < 0.3:
        one = rng.integers(0, 3, n)
        group = tuple(range(len(columns), len(columns) + 3))
        columns += [(one == k).astype(float) for k in range(3)]
    for _ in range(int(rng.integers(0, 3))):
        mine = LABELS[int(rng.integers(len(LABELS)))]
        code = rng.integers(0, len(mine), n).astype(float)
        code[: len(mine)] = np.arange(len(mine))
        labels[len(columns)] = mine
        columns.append(code)
    X = np.column_stack(columns)
    if rng.random() < 0.4:
        holes = rng.random(X.shape) < 0.2 * (rng.random(X.shape[1]) < 0.7)
        holes[:8] = False
        holes[:, list(group)] = False
        X[holes] = np.nan
    return np.ascontiguousarray(X), n_numbers, group, labels


def frame_of(X, labels):
    columns = {}
    for j in range(X.shape[1]):
        if j in labels:
            code = np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(int)
            columns[f"x{j}"] = np.array([*labels[j], np.nan], dtype=object)[code]
        else:
            columns[f"x{j}"] = X[:, j]
    return pd.DataFrame(columns)


def classifier(rng):
    kind = rng.integers(4)
    if kind == 0:
        return LinearSVC(random_state=0)
    return RidgeClassifier() if kind == 1 else LogisticRegression(C=float(rng.choice([0.3, 3.0, 100.0])))


def fitted(rng, X, labels, y):
    """The classifier behind encoders and imputers where the table asks for them."""
    frame = frame_of(X, labels)
    numbers = [f"x{j}" for j in range(X.shape[1]) if j not in labels]
    steps = [StandardScaler()] if rng.random() < 0.7 else []
    if np.isnan(X).any():
        steps = [SimpleImputer(strategy="median", add_indicator=bool(rng.integers(2))), *steps]
    parts = [("numbers", make_pipeline(*steps) if steps else "passthrough", numbers)]
    if labels:
        encoder = OneHotEncoder(handle_unknown="ignore", drop="first" if rng.random() < 0.2 else None)
        parts.append(("labels", encoder, [f"x{j}" for j in labels]))
    return make_pipeline(ColumnTransformer(parts, sparse_threshold=0), classifier(rng)).fit(frame, y)


def random_limits(rng, X, rows, n_numbers, group, labels):
    """Some rules, each kind in about every third case."""
    n, m = rows.shape
    numbers = list(range(n_numbers))
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)

    def with_chance(p):
        return rng.random() < p

    low, high = np.full((n, m), -np.inf), np.full((n, m), np.inf)
    for j in numbers:
        if with_chance(0.3):  # around the row, or away from it
            low[:, j] = rows[:, j] + rng.normal(size=n) * spread[j] * 0.3
            low[np.isnan(low[:, j]), j] = -np.inf
        if with_chance(0.3):
            high[:, j] = np.where(np.isfinite(low[:, j]), low[:, j], rows[:, j]) + rng.random(n) * spread[j]
            high[np.isnan(high[:, j]), j] = np.inf
    step = np.zeros(m)
    for j in numbers:
        if with_chance(0.25):
            step[j] = spread[j] / rng.choice([4.0, 7.0, 2.5])
    moves = {}
    for j, mine in labels.items():
        if with_chance(0.4):
            moves[j] = rng.choice([0.5, 1.0, 2.0, np.inf], size=(len(mine), len(mine)))
    linear, implications = [], []
    if n_numbers > 1 and with_chance(0.35):
        a, b = rng.permutation(numbers)[:2].tolist()
        coefficients = {a: 1.0 / spread[a], b: float(rng.choice([-1.0, 1.0, 2.0])) / spread[b]}
        if group and with_chance(0.5):
            coefficients[group[0]] = 0.5
        sums = sum(X[:, j] * factor for j, factor in coefficients.items())
        linear.append(LinearRule(coefficients, float(np.nanquantile(sums, rng.choice([0.4, 0.7, 0.95])))))
    if n_numbers > 1 and with_chance(0.35):
        named = [*numbers, *group[:1]]
        a, b = rng.permutation(named)[:2].tolist()
        implications.append(Implication(a, bool(rng.integers(2)), b, bool(rng.integers(2))))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=m, p=[0.1, 0.3, 0.3, 0.3])
    if group:
        weight[list(group)] = 1.5
    return Limits(
        low=low if with_chance(0.6) else None,
        high=high if with_chance(0.6) else None,
        frozen=rng.random((n, m)) < 0.15 if with_chance(0.4) else None,
        step=step if step.any() else None,
        origin=rng.normal(size=m) if step.any() else None,
        weight=weight if with_chance(0.3) else None,
        max_changes=int(rng.integers(1, 4)) if with_chance(0.3) else None,
        moves=moves,
        fillable=rng.random(m) < 0.7 if with_chance(0.7) else None,
        groups=(group,) if group else (),
        linear=tuple(linear),
        implications=tuple(implications),
    )


def random_scale(rng, X, labels):
    """A scale of linear models, and a category distance below, at or above a full range, or that of the data."""
    numbers = [j for j in range(X.shape[1]) if j not in labels]
    units = {
        f"x{j}": float((np.nanmax(X[:, j]) - np.nanmin(X[:, j]) or 1.0) * rng.choice([0.01, 0.3, 20.0])) for j in numbers
    }
    scale = ["range", "mad", units][int(rng.integers(3))]
    return {"scale": scale, "category_distance": [0.1, 0.5, 2.0, "auto"][int(rng.integers(4))]}


def instances(n_models, seed=0, n_rows=4, rules=True, scaled=False):
    for number in range(n_models):
        rng = np.random.default_rng([seed, number])
        X, n_numbers, group, labels = coded_table(rng, int(rng.integers(30, 60)))
        n_classes = int(rng.integers(2, 5))
        Z = np.where(np.isnan(X), 0.3, (X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-9))
        y = (Z @ rng.normal(size=(X.shape[1], n_classes)) + rng.normal(size=(len(X), n_classes))).argmax(axis=1)
        y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
        estimator = fitted(rng, X, labels, y)
        problem = CounterfactualProblem(*COSTS[number % len(COSTS)], 0.0, float(rng.choice(MARGINS)))
        problem = replace(problem, **random_scale(rng, X, labels)) if scaled else problem
        engine = CounterfactualEngine(estimator, problem, like=frame_of(X, labels))
        columns = engine.model.columns
        assert columns is None or [column.categories for column in columns] == [
            tuple(sorted(labels[j])) if j in labels else None for j in range(X.shape[1])
        ]
        for j, mine in labels.items():  # codes by the sorted labels, as the reader has them
            order = np.argsort(np.argsort(mine))
            X[:, j] = np.where(np.isnan(X[:, j]), np.nan, order[np.nan_to_num(X[:, j]).astype(int)])
        engine.observe(X)
        rows = X[rng.permutation(len(X))[:n_rows]].copy()
        own = engine.class_index(engine.predict(rows))
        limits = random_limits(rng, X, rows, n_numbers, group, labels) if rules else Limits()
        categories = {j: len(mine) for j, mine in labels.items()}
        yield Instance(f"seed {seed}, model {number}", engine, X, rows, own, limits, categories)


def assert_kept(instance, found):
    """Answers flip the real model by the margin, keep the rules, and are certified."""
    about, limits, problem = instance.name, instance.limits, instance.problem
    assert set(found.status) <= {"optimal", "infeasible"}, (about, found.counts())
    assert np.array_equal(found.bound, found.cost), about
    for i in range(len(found)):
        moves = {int(j): float(v) for p, j, _, v, _ in zip(*found.moves, strict=True) if p == i}
        if found.status[i] == "infeasible":
            assert np.isinf(found.cost[i]), about
            assert not moves, about
            continue
        case = instance.case(i)
        x0, after = instance.rows[i], case.with_values(moves)
        assert all(value != x0[j] for j, value in moves.items()), about
        scores = contract.scores_of(instance.estimator, instance.engine.given(after[None, :]))
        lead = contract.leads(scores, int(found.target_code[i])).min()
        assert lead >= problem.margin - 1e-13 * max(1.0, np.abs(scores).max()), (about, i, lead)
        cost, groups = 0.0, dict.fromkeys(limits.groups, False)
        for j, value in moves.items():
            weight = 1.0 if limits.weight is None else limits.weight[j]
            seen = instance.X[~np.isnan(instance.X[:, j]), j]
            group = next((group for group in limits.groups if j in group), None)
            unordered = j in instance.categories or np.isnan(x0[j]) or group is not None
            distance = case.unordered() if unordered else abs(value - x0[j]) / case.unit(j)
            assert limits.frozen is None or not limits.frozen[i, j], about
            assert not np.isnan(x0[j]) or limits.fillable[j], about
            if group is not None:
                weight *= not groups[group]
                groups[group] = True
                assert after[list(group)].sum() == 1, about
            elif j in instance.categories:
                assert value in seen, about
                weight *= limits.moves[j][int(x0[j]), int(value)] if j in limits.moves and not np.isnan(x0[j]) else 1.0
            else:
                assert min(seen.min(), x0[j] if x0[j] == x0[j] else np.inf) <= value, about
                assert max(seen.max(), x0[j] if x0[j] == x0[j] else -np.inf) >= value, about
                assert limits.low is None or value >= limits.low[i, j], about
                assert limits.high is None or value <= limits.high[i, j], about
                if limits.step is not None and limits.step[j] > 0:
                    k = np.rint((value - limits.origin[j]) / limits.step[j])
                    assert value == limits.origin[j] + k * limits.step[j], about
            cost += weight * (problem.lambda0 + problem.lambda1 * distance)
        assert agree(found.cost[i], cost), (about, i, found.cost[i], cost)
        n_changes = sum(groups.values()) + sum(all(j not in group for group in limits.groups) for j in moves)
        assert limits.max_changes is None or n_changes <= limits.max_changes, about
        for rule in limits.linear:
            if set(rule.coefficients) & set(moves):
                assert not sum(a * after[j] for j, a in rule.coefficients.items()) > rule.upper, (about, i)
        for rule in limits.implications:
            goes = [
                after[j] > x0[j] if rises else after[j] < x0[j]
                for j, rises in ((rule.feature, rule.rises), (rule.then_feature, rule.then_rises))
            ]
            assert goes[1] or not goes[0], about


@pytest.mark.parametrize("n_models", SIZES)
def test_the_cost_is_the_least_that_the_rules_leave(n_models):
    statuses, dearer = Counter(), 0
    for instance in instances(n_models):
        found = instance.solve()
        assert_kept(instance, found)
        for i in range(len(found)):
            expected = least_cost(instance.case(i))
            about = (instance.name, i, instance.limits, instance.rows[i].tolist(), found.cost[i], expected)
            assert agree(found.cost[i], expected), about
            statuses[str(found.status[i])] += 1
            dearer += found.cost[i] > least_cost(replace_limits(instance.case(i))) * (1 + 1e-9)
    assert statuses.total() == 4 * n_models
    assert statuses["infeasible"] > n_models / 5
    assert dearer > n_models


@pytest.mark.parametrize("n_models", SIZES)
def test_the_cost_is_the_least_with_every_scale(n_models):
    n_cases = 0
    for instance in instances(n_models // 2, seed=5, scaled=True):
        found = instance.solve()
        assert_kept(instance, found)
        for i in range(len(found)):
            expected = least_cost(instance.case(i))
            about = (instance.name, i, instance.problem, instance.limits, instance.rows[i].tolist(), found.cost[i], expected)
            assert agree(found.cost[i], expected), about
            n_cases += 1
    assert n_cases == 4 * (n_models // 2)


def replace_limits(case):
    return replace(case, limits=Limits(groups=case.limits.groups), cache={})


@pytest.mark.parametrize("n_models", SIZES)
def test_without_rules_the_cost_is_the_least_for_many_classes_categories_and_gaps(n_models):
    n_cases = 0
    for instance in instances(n_models // 2, seed=1, n_rows=6, rules=False):
        found = instance.solve()
        assert_kept(instance, found)
        for i in range(len(found)):
            expected = least_cost(instance.case(i))
            assert agree(found.cost[i], expected), (instance.name, i, found.cost[i], expected)
            n_cases += 1
    assert n_cases == 6 * (n_models // 2)


def test_the_class_asked_for_is_reached_at_the_least_cost():
    n_cases = 0
    for instance in instances(40, seed=2):
        n_classes = len(instance.estimator.classes_)
        target = (instance.own + 1) % n_classes
        if n_classes > 2:
            found = instance.solve(target=target)
            assert_kept(instance, found)
            for i in range(len(found)):
                assert agree(found.cost[i], least_cost(instance.case(i, int(target[i])))), (instance.name, i)
                n_cases += 1
    assert n_cases > 40


@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e9])
def test_many_classes_are_exact_far_from_zero(offset):
    """Values far from 0 for their spread, in units from 1e-9 to 1e9."""
    rng = np.random.default_rng(0)
    for costs in COSTS:
        X = (rng.normal(size=(40, 5)) + offset) * 10.0 ** rng.integers(-9, 9, size=5)
        y = (((X - X.mean(axis=0)) / X.std(axis=0)) @ rng.normal(size=(5, 3))).argmax(axis=1)
        engine = CounterfactualEngine(
            make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), CounterfactualProblem(*costs)
        )
        engine.observe(X)
        rows = X[:6].copy()
        own = engine.class_index(engine.predict(rows))
        instance = Instance(f"offset {offset}", engine, X, rows, own, Limits(), {})
        found = instance.solve()
        assert set(found.status) <= {"optimal", "infeasible"}
        for i in range(len(found)):
            assert agree(found.cost[i], least_cost(instance.case(i))), (offset, costs, i)


def test_programs_and_the_fixed_charge_search_agree(monkeypatch):
    """Two classes, numbers, categories and gaps: either way is exact, so either may be taken."""
    for instance in instances(60, seed=3, rules=False):
        limits = replace(instance.limits, fillable=np.ones(instance.X.shape[1], dtype=bool))
        instance.limits = replace(limits, weight=np.linspace(0.5, 1.5, instance.X.shape[1]))
        if len(instance.estimator.classes_) > 2:
            continue
        fast = instance.solve()
        with monkeypatch.context() as patch:
            patch.setattr(_linear_solver, "_plain_points", lambda model, limits, table: np.zeros(len(table), dtype=bool))
            by_program = instance.solve()
        assert_kept(instance, fast)
        assert_kept(instance, by_program)
        for ours, theirs in zip(fast.cost, by_program.cost, strict=True):
            assert agree(ours, theirs), (instance.name, ours, theirs)


def test_too_many_combinations_of_categories_go_to_a_program(monkeypatch):
    monkeypatch.setattr(_linear_solver, "MOST_COMBINATIONS", 1)
    for instance in instances(20, seed=4, rules=False):
        found = instance.solve()
        assert_kept(instance, found)
        assert all(agree(found.cost[i], least_cost(instance.case(i))) for i in range(len(found))), instance.name


def test_squared_distances_are_refused_before_any_work():
    for instance in instances(12, seed=5):
        instance.engine.problem = replace(instance.problem, lambda2=0.5)
        if len(instance.estimator.classes_) > 2 or instance.categories:
            with pytest.raises(UnsupportedModelError, match=r"lambda2=0\.5 .* Use lambda2=0"):
                instance.solve()


def test_without_time_nothing_is_claimed():
    n_unknown = 0
    for instance in instances(20, seed=6):
        done = []
        found = instance.solve(time_limit=0.0, progress=done.append)
        assert done[-1] == len(found)
        assert set(found.status) <= {"optimal", "infeasible", "feasible", "unknown"}
        certain = found.is_status("optimal", "infeasible")
        exact = instance.solve()
        assert np.array_equal(found.cost[certain], exact.cost[certain])
        assert (found.bound <= exact.cost + 1e-9).all()
        n_unknown += np.count_nonzero(~certain)
    assert n_unknown > 20


def test_the_same_question_has_the_same_answer():
    for instance in instances(8, seed=7):
        one, other = instance.solve(), instance.solve()
        assert np.array_equal(one.cost, other.cost)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one.moves, other.moves, strict=True))


def test_a_gap_is_filled_as_near_to_the_median_as_will_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    X[::7, 0] = np.nan
    estimator = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    engine = CounterfactualEngine(estimator, CounterfactualProblem(margin=0.1))
    engine.observe(X)
    rows = X[np.isnan(X[:, 0])]
    limits = Limits(fillable=np.array([True, False]), frozen=np.tile([False, True], (len(rows), 1)))
    own = engine.class_index(engine.predict(rows))
    found = engine.solve(rows, np.arange(len(rows)), own, feature_names=["a", "b"], limits=limits)
    assert found.is_status("optimal").sum() > 5
    median = np.nanmedian(X[:, 0])
    for i, _, _, landing, _ in zip(*found.moves, strict=True):
        nearer = rows[i].copy()
        nearer[0] = landing + (median - landing) * 1e-6
        sign = 1 if found.target_code[i] == 1 else -1
        assert landing == median or sign * estimator.decision_function(nearer[None, :])[0] < 0.1
    assert np.allclose(found.cost[found.is_status("optimal")], 1.1)


def test_small_programs_are_solved_to_the_last_digits():
    """Costs and gains over eight powers of ten, against the least over all corners in exact fractions."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 5))
        rows = rng.integers(-9, 10, size=(2, n)) * 10.0 ** rng.integers(-4, 5, size=(2, 1))
        cost, high = rng.integers(1, 9, size=n).astype(float), rng.integers(1, 4, size=n).astype(float)
        least = np.maximum(rows, 0) @ high * rng.random(2)
        nothing = np.zeros(2)
        found = least_sum(cost, rows, least, high, more=nothing, slack=1e-14 * np.abs(least))
        expected = corner_cost(cost, rows, least, high)
        if found is None:
            assert expected is None
        else:
            assert float(cost @ found.x) == pytest.approx(float(expected), rel=1e-13)
            assert found.bound == pytest.approx(float(expected), rel=1e-12)


def corner_cost(cost, rows, least, high):
    """Least cost over corners: all but as many columns as there are tight rows stand at an end."""
    cost, high, least = ([Fraction(value) for value in values] for values in (cost, high, least))
    rows = [[Fraction(value) for value in row] for row in rows]
    best = None
    for tight in ((), (0,), (1,), (0, 1)):
        for inner in itertools.combinations(range(len(cost)), len(tight)):
            for ends in itertools.product((0, 1), repeat=len(cost) - len(inner)):
                outer = [j for j in range(len(cost)) if j not in inner]
                x = [Fraction(0)] * len(cost)
                for j, end in zip(outer, ends, strict=True):
                    x[j] = high[j] * end
                solved = solved_for(rows, least, x, tight, inner)
                inside = solved and all(0 <= value <= top for value, top in zip(x, high, strict=True))
                if inside and all(dot(row, x) >= end for row, end in zip(rows, least, strict=True)):
                    best = dot(cost, x) if best is None else min(best, dot(cost, x))
    return best


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def solved_for(rows, least, x, tight, inner):
    """Set the inner columns of x so that rows are tight, by Cramer's rule; whether that can be done."""
    left = [least[r] - dot(rows[r], x) for r in tight]
    if len(tight) == 1:
        a = rows[tight[0]][inner[0]]
        if a == 0:
            return False
        x[inner[0]] = left[0] / a
    elif len(tight) == 2:
        (a, b), (c, d) = ([rows[r][j] for j in inner] for r in tight)
        determinant = a * d - b * c
        if determinant == 0:
            return False
        x[inner[0]], x[inner[1]] = (left[0] * d - b * left[1]) / determinant, (a * left[1] - left[0] * c) / determinant
    return True
