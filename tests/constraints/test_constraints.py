"""Rules as data, refused rules, and compiled limits."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import fields

import numpy as np
import pytest

import fcca.constraints
from fcca.constraints import (
    Allowed,
    Bounds,
    Constraint,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implication,
    Implies,
    Increasing,
    Integer,
    Limits,
    Linear,
    LinearRule,
    MaxChanges,
    OneHot,
    Rule,
    compile_rules,
    holds,
    limits_for,
    rules_from_yaml,
)
from fcca.exceptions import InvalidInputError
from rule_columns import AGE, BLUE, COLUMNS, EVERY_RULE, GREEN, HIGH, INCOME, JOB, LEVEL, LOW, POINTS, RED

every_rule = pytest.mark.parametrize("case", EVERY_RULE, ids=lambda case: repr(case.rule))


def compiled(*rules, points=POINTS, **settings):
    return compile_rules(rules, COLUMNS, LOW, HIGH, points, **settings)


# --- as data ------------------------------------------------------------------------------------------------------------


@every_rule
def test_a_rule_survives_repr_and_json(case):
    rule = case.rule
    names = {kind.__name__: kind for kind in Constraint.kinds.values()}
    assert eval(repr(rule), names) == rule
    assert Constraint.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert len({rule, pickle.loads(pickle.dumps(rule))}) == 1
    assert set(rule.columns) <= set(COLUMNS.names)
    for field in (*fields(rule), *fields(Immutable("x"))):
        with pytest.raises(AttributeError):
            setattr(rule, field.name, ("other",))
    assert all(rule != other.rule for other in EVERY_RULE if other is not case)
    assert type(rule).__doc__
    assert isinstance(compiled(rule), Limits)


def test_every_kind_of_rule_is_tried_and_public():
    kinds = set(Constraint.kinds.values())
    assert {type(case.rule) for case in EVERY_RULE} == kinds
    assert {getattr(fcca.constraints, name) for name in fcca.constraints.__all__} >= kinds


@every_rule
def test_yaml_gives_the_same_rule(case):
    assert (case.yaml is None) == (type(case.rule).yaml_key is None)
    if case.yaml is not None:
        assert rules_from_yaml(case.yaml) == (case.rule,)
        assert case.yaml.startswith(f"{case.rule.yaml_key}: ")


@every_rule
def test_properties_for_other_rooms_fit_the_columns(case):
    rule = case.rule
    assert rule.lands_on in ("nearest", "limits", "any")
    assert rule.needs_all_rows(is_linear=False) >= rule.needs_all_rows(is_linear=True)
    assert rule.needs_all_rows(is_linear=False) == (rule.lands_on == "any")
    for part in (rule.fixed_columns, rule.fillable_columns, rule.group, rule.cost_factors):
        assert set(part) in (set(), set(rule.columns))


@every_rule
def test_a_change_keeps_or_breaks_the_rule(case):
    for changes, kept in ((case.keeps, True), (case.breaks, False), ({}, True)):
        if changes is not None:
            after = POINTS[:1].copy()
            after[0, list(changes)] = list(changes.values())
            assert holds([case.rule], COLUMNS, POINTS[:1], after).tolist() == [kept], changes


@every_rule
def test_limits_allow_exactly_the_changes_that_keep_the_rule(case):
    """On random changes within the box, for single rules and compatible pairs."""
    rng = np.random.default_rng(len(repr(case.rule)))
    points = np.repeat(POINTS, 100, axis=0)
    seen = set()
    for other in [None, *EVERY_RULE]:
        rules = [case.rule] if other is None else [case.rule, other.rule]
        try:
            limits = compiled(*rules, points=points)
        except InvalidInputError:  # they contradict each other
            continue
        after = random_changes(rng, points, rules)
        expected = within(limits, points, after)
        np.testing.assert_array_equal(holds(rules, COLUMNS, points, after), expected, err_msg=str(rules))
        seen |= set(expected.tolist()) if other is None else set()
    assert seen == ({True, False} if case.breaks is not None else {True})


def random_changes(rng, points, rules):
    """Points with some values of the rules' columns, and few others, replaced by values near them and by whole numbers."""
    named = [name in {name for rule in rules for name in rule.columns} for name in COLUMNS.names]
    numbers = np.isin(np.arange(7), [AGE, INCOME])
    near = points + rng.choice([-12, -5, -1, -0.5, 0.1, 0.5, 1, 5, 10], points.shape)
    anywhere = rng.integers(LOW, HIGH + 1, points.shape)
    drawn = np.clip(np.where(numbers & ~np.isnan(near) & (rng.random(points.shape) < 0.6), near, anywhere), LOW, HIGH)
    changed = rng.random(points.shape) < np.where(named, 0.5, 0.2)
    fillable = np.isin(COLUMNS.names, [name for rule in rules for name in rule.fillable_columns])
    return np.where(changed & (fillable | ~np.isnan(points)), drawn, points)


def within(limits, before, after):
    """Mask of the changes that the limits allow."""
    return np.array([_is_within(limits, i, x0, x) for i, (x0, x) in enumerate(zip(before, after, strict=True))])


def _is_within(limits, i, x0, x):
    moved = ~((x == x0) | (np.isnan(x) & np.isnan(x0)))
    n_changes = moved.sum()
    for group in map(list, limits.groups):
        n_changes -= max(moved[group].sum() - 1, 0)
        if moved[group].any() and not (set(x[group]) == {0, 1} and x[group].sum() == 1):
            return False
    if limits.max_changes is not None and n_changes > limits.max_changes:
        return False
    if any(moved[list(rule.coefficients)].any() and sum(a * x[j] for j, a in rule.coefficients.items()) > rule.upper
           for rule in limits.linear):  # fmt: skip
        return False
    rises = {True: x > x0, False: x < x0}
    if any(
        rises[rule.rises][rule.feature] and not rises[rule.then_rises][rule.then_feature] for rule in limits.implications
    ):
        return False
    return all(_may_move(limits, i, j, x0[j], x[j]) for j in np.flatnonzero(moved))


def _may_move(limits, i, j, start, end):
    if limits.frozen is not None and limits.frozen[i, j]:
        return False
    if np.isnan(start):
        if limits.fillable is None or not limits.fillable[j]:
            return False
    elif j in limits.moves and np.isinf(limits.moves[j][int(start), int(end)]):
        return False
    if limits.low is not None and not limits.low[i, j] <= end <= limits.high[i, j]:
        return False
    return limits.step is None or limits.step[j] == 0 or ((end - limits.origin[j]) / limits.step[j]).is_integer()


def test_the_order_of_a_sum_does_not_matter():
    assert Linear({"a": 1, "b": 2}, 3) == Linear({"b": 2, "a": 1}, 3) != Linear({"a": 1, "b": 2}, 4)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"rule": "imutable", "names": ["a"]}, "Unknown rule 'imutable'"),
        ({"rule": "immutable"}, "requires the entries"),
        ({"rule": "grid", "name": "a", "width": 1}, "requires the entries"),
        ({}, "Unknown rule None"),
        ("immutable", "must be a mapping"),
    ],
)
def test_a_dictionary_of_no_rule_is_refused(entries, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        Constraint.from_dict(entries)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Immutable(), "one or more columns"),
        (lambda: Immutable(3), "expects the name of a column, a non-empty string, got 3"),
        (lambda: Increasing(""), "expects the name of a column, a non-empty string, got ''"),
        (lambda: Bounds("a"), "has no bound"),
        (lambda: Bounds("a", 3, 2), "the lower bound 3 is above the upper bound 2"),
        (lambda: Bounds("a", by=(3, 2)), "the lower bound 3 is above the upper bound 2"),
        (lambda: Bounds("a", low=1, by=(0, 1)), "either 'by', or 'low' and 'high'"),
        (lambda: Bounds("a", by=3), "'by' must be two numbers"),
        (lambda: Bounds("a", by="ab"), "'by' must be two numbers"),
        (lambda: Bounds("a", low="x"), "low must be a finite number"),
        (lambda: Bounds("a", high=np.nan), "high must be a finite number"),
        (lambda: Bounds("a", low=-np.inf), "has no bound"),
        (lambda: Grid("a", 0), "step must be above 0"),
        (lambda: Grid("a", 1, np.inf), "origin must be a finite number"),
        (lambda: Cost("a", 0), "above 0"),
        (lambda: Cost("a", "x"), "weight must be a finite number"),
        (lambda: Forbidden("a", []), "pairs (from, to)"),
        (lambda: Forbidden("a", ["xy"]), "pairs (from, to)"),
        (lambda: Forbidden("a", [("x", "y", "z")]), "pairs (from, to)"),
        (lambda: Forbidden("a", "xy"), "pairs (from, to)"),
        (lambda: Allowed("a", {}), "expects a mapping from a category to a list of categories"),
        (lambda: Allowed("a", {"x": "yz"}), "expects a mapping from a category to a list of categories"),
        (lambda: MaxChanges(0), "at least 1, got 0"),
        (lambda: MaxChanges(1.5), "at least 1"),
        (lambda: MaxChanges(True), "at least 1"),
        (lambda: OneHot("a"), "two or more distinct columns"),
        (lambda: OneHot("a", "b", "a"), "two or more distinct columns"),
        (lambda: Linear({}), "from columns to coefficients"),
        (lambda: Linear({"a": 0}), "coefficient of 0"),
        (lambda: Linear({"a": np.inf}), "finite number"),
        (lambda: Linear([("a", 1), ("a", 2)]), "from columns to coefficients"),
        (lambda: Rule(3), "expects a formula"),
        (lambda: Rule("a"), "has no comparison"),
        (lambda: Rule("a < b"), "compares with '<'; use <="),
        (lambda: Rule("a = b"), "compares with '='"),
        (lambda: Rule("a <="), "lacks a column name or a number at its end"),
        (lambda: Rule("a + * b <= 1"), "before '*'"),
        (lambda: Rule("a b <= 1"), "'b' instead of an operator"),
        (lambda: Rule("2a <= 1"), "cannot be read at '2a"),
        (lambda: Rule("a * b <= 1"), "multiplies two columns"),
        (lambda: Rule("1 / a <= 1"), "divides by a column"),
        (lambda: Rule("a / 0 <= 1"), "divides by a column or by 0"),
        (lambda: Rule("(a <= 1"), "closing parenthesis"),
        (lambda: Rule("(" * 5000 + "a <= 1"), "more than 50 nested parentheses"),
        (lambda: Rule("a <= a"), "a comparison without columns, or one whose columns cancel out"),
        (lambda: Rule("1 <= 2"), "a comparison without columns, or one whose columns cancel out"),
        (lambda: Rule("a & b <= 1"), "cannot be read at '& b <= 1'"),
        (lambda: Rule("a <= 1e999"), "finite number"),
        (lambda: Implies("age", "income rises"), "such as 'age rises'"),
        (lambda: Implies("age rises", None), "such as 'age rises'"),
        (lambda: Implies("age rises", "age falls"), "one column"),
    ],
)
def test_rules_that_make_no_sense_are_refused_at_once(make, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", [Linear({"a": 1, "b": -1})]),
        ("a >= b", [Linear({"a": -1, "b": 1})]),
        ("a ≤ b", [Linear({"a": 1, "b": -1})]),
        ("x + 2*y <= 10", [Linear({"x": 1, "y": 2}, 10)]),
        ("x*2 - y/4 <= -.5e1", [Linear({"x": 2, "y": -0.25}, -5)]),
        ("-(x - 3) * 2 <= y + 1", [Linear({"x": -2, "y": -1}, -5)]),
        ("1 - -x >= 2", [Linear({"x": -1}, -1)]),
        ("---(((-x))) <= -(-2)", [Linear({"x": 1}, 2)]),
        ("a + b == 1", [Linear({"a": 1, "b": 1}, 1), Linear({"a": -1, "b": -1}, -1)]),
        ("0 <= a <= b", [Linear({"a": -1}), Linear({"a": 1, "b": -1})]),
        ("`my income` + x.1 <= `größe`", [Linear({"my income": 1, "x.1": 1, "größe": -1})]),
        ("größe + _x1 <= 2", [Linear({"größe": 1, "_x1": 1}, 2)]),
        ("a + b <= a + c", [Linear({"b": 1, "c": -1})]),
    ],
)
def test_formulas_are_read(text, expected):
    assert list(Rule(text).linear) == expected


def test_directions_are_read():
    directions = Implies("worst radius rises", "`rises` falls").directions
    assert directions == (("worst radius", True), ("rises", False))


# --- compiled -----------------------------------------------------------------------------------------------------------


def test_no_rules_limit_nothing():
    assert compiled() == Limits()


def test_bounds_are_those_of_the_point():
    found = compiled(Bounds("income", low=-5), Bounds("income", -0.5, 0.25, relative=True), Bounds("age", by=(None, 5)))
    np.testing.assert_array_equal(found.low[:, INCOME], [25, -5, -5])
    np.testing.assert_array_equal(found.high[:, INCOME], [62.5, -6, np.inf])  # of -8: 8 · .25 above it
    np.testing.assert_array_equal(found.high[:, AGE], [35, 45.5, 100])
    assert np.isinf(found.low[:, AGE]).all()
    np.testing.assert_array_equal(found.frozen, np.arange(7) == np.where([[0], [1], [0]], INCOME, -1))  # -5 is above -6


def test_directions_are_bounded_by_the_current_value():
    found = compiled(Increasing("age", "income"))
    np.testing.assert_array_equal(found.low[:, :2], [[30, 50], [40.5, -8], [95, -np.inf]])
    assert np.isinf(found.high).all()
    found = compiled(Decreasing("income"))
    np.testing.assert_array_equal(found.high[:, INCOME], [50, -8, np.inf])


def test_columns_are_frozen_weighed_gridded_and_filled():
    found = compiled(
        Immutable("age", "job"), Cost("income", 2), Cost("income", 2), Integer("age"), Grid("income", 5, 2), Fillable("job")
    )
    assert found.frozen[:, [AGE, JOB]].all()
    assert found.frozen.sum() == 6
    np.testing.assert_array_equal(found.weight, [1, 2, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(found.step, [1, 5, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(found.origin, [0, 2, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(np.flatnonzero(found.fillable), [JOB])


def test_moves_between_categories_are_forbidden_or_allowed():
    moves = compiled(Forbidden("job", [("clerk", "smith")])).moves[JOB]
    np.testing.assert_array_equal(np.argwhere(np.isinf(moves)), [[0, 2]])
    moves = compiled(Allowed("job", {"clerk": ["smith"]}), Forbidden("job", [("clerk", "nurse")])).moves[JOB]
    np.testing.assert_array_equal(np.argwhere(np.isfinite(moves)), [[0, 0], [0, 2], [1, 1], [2, 2]])


@pytest.mark.parametrize(("label", "code"), [(1, 0), (2.5, 1), (True, 2), ("x", 3), ("1", 0), ("2.50", 1), ("true", 2)])
def test_other_labels_are_found_by_value_and_by_text(label, code):
    other = 3 if code != 3 else 0
    moves = compiled(Forbidden("level", [(label, "x" if code != 3 else 1)])).moves[LEVEL]
    np.testing.assert_array_equal(np.argwhere(np.isinf(moves)), [[code, other]])


def test_a_member_of_a_group_that_may_not_switch_is_frozen():
    group = OneHot("red", "green", "blue")
    found = compiled(group, group)
    assert found.groups == ((RED, GREEN, BLUE),)
    assert found.frozen[:, BLUE].all()  # never 1 in the data
    assert not found.frozen[:, [RED, GREEN]].any()
    found = compiled(group, Increasing("red"), Bounds("green", high=0.5))
    np.testing.assert_array_equal(found.frozen[:, RED], [True, False, False])
    np.testing.assert_array_equal(found.frozen[:, GREEN], [True, False, True])


def test_sums_and_implications_are_rows():
    found = compiled(Rule("age <= income"), Implies("age rises", "income falls"), MaxChanges(3), MaxChanges(2))
    assert found.linear == (LinearRule({AGE: 1.0, INCOME: -1.0}, 0.0),)
    assert found.implications == (Implication(AGE, True, INCOME, False),)
    assert found.max_changes == 2
    equation = compiled(Rule("age + income == 50")).linear
    assert [rule.coefficients for rule in equation] == [{AGE: 1.0, INCOME: 1.0}, {AGE: -1.0, INCOME: -1.0}]
    assert 50 < equation[0].upper < 50 + 1e-9
    assert -50 < equation[1].upper < -50 + 1e-9


def test_the_limits_of_some_points():
    found = compiled(Increasing("age"), Immutable("job"), Cost("age", 3))
    taken = limits_for(found, np.array([2, 0, 0]), np.arange(7) == np.array([[AGE], [RED], [JOB]]))
    np.testing.assert_array_equal(taken.low[:, AGE], [95, 30, 30])
    assert [np.flatnonzero(row).tolist() for row in taken.frozen] == [[AGE, JOB], [JOB, RED], [JOB]]
    assert taken.weight[AGE] == 3
    assert limits_for(None, np.array([0])) is None
    assert limits_for(None, np.array([0]), np.ones((1, 7), dtype=bool)).frozen.all()
    assert limits_for(Limits(max_changes=2), np.array([0, 1])) == Limits(max_changes=2)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([Immutable("agee")], "Immutable('agee'): unknown column 'agee'. Did you mean 'age'?"),
        ([Cost("Income", 2)], "Did you mean 'income'?"),
        ([Fillable("zzz")], "Expected one of 'age', 'income', 'job'"),
        ([Rule("age <= incomes")], "Rule('age <= incomes'): unknown column 'incomes'. Did you mean 'income'?"),
        ([Increasing("job")], "Increasing('job'): column 'job' holds categories"),
        ([Bounds("job", 0, 1)], "holds categories"),
        ([Integer("job")], "holds categories"),
        ([OneHot("job", "red")], "holds categories"),
        ([Linear({"job": 1})], "holds categories"),
        ([Implies("age rises", "job rises")], "holds categories"),
        ([Forbidden("age", [(1, 2)])], "Forbidden('age', [(1, 2)]): column 'age' holds numbers"),
        ([Allowed("age", {1: [2]})], "holds numbers"),
        ([Forbidden("job", [("clerk", "nurze")])], "has no category 'nurze'. Did you mean 'nurse'?"),
        ([Forbidden("job", [("clerk", "clerk")])], "from 'clerk' to 'clerk'"),
        ([Allowed("job", {"clark": ["nurse"]})], "Did you mean 'clerk'?"),
        ([Allowed("job", {"clerk": [None]})], "has no category None"),
        (
            [Increasing("age"), Decreasing("age")],
            "contradicts Increasing('age'): column 'age' could neither rise nor fall. If this is intended, use Immutable",
        ),
        ([Bounds("age", high=30), Bounds("age", low=31)], "contradicts Bounds('age', high=30)"),
        ([Bounds("age", low=31), Bounds("age", high=30)], "contradicts Bounds('age', low=31)"),
        ([Bounds("income", low=101)], "no value of 'income' in the data, from -10 to 100, is within the bounds"),
        ([Bounds("income", high=-11)], "Bounds('income', high=-11): no value of 'income'"),
        ([Grid("income", 200, 150)], "no value of the grid is between -10 and 100"),
        ([Integer("income"), Bounds("income", 0.1, 0.9)], "no value of the grid is between 0.1 and 0.9"),
        ([Integer("age"), Grid("age", 2)], "Integer('age') sets another grid for column 'age'"),
        ([Cost("age", 2), Cost("age", 3)], "contradicts Cost('age', 2)"),
        ([OneHot("red", "green"), OneHot("green", "blue")], "column 'green' is already in OneHot('red', 'green')"),
        ([OneHot("red", "age")], "'age' has values other than 0 and 1"),
        ([OneHot("red", "green"), Cost("red", 2)], "Give all of them the same Cost"),
        ([Allowed("job", {"clerk": ["nurse"]}), Allowed("job", {"nurse": ["clerk"]})], "into one rule"),
        ([Allowed("job", {"clerk": ["nurse"]}), Forbidden("job", [("clerk", "nurse")])], "is forbidden by another rule"),
        ([Rule("age + income <= 7")], "no values within the range"),
        ([Rule("age == 200")], "no values within the range"),
        (["age <= income"], "constraints must be rules of fcca.constraints, got 'age <= income'"),
        ([Immutable], "write Immutable(…)"),
    ],
)
def test_contradictions_and_unknown_names_are_refused(rules, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        compiled(*rules)


def test_bounds_and_sums_may_contradict_each_other_unless_a_value_that_stays_is_outside_the_bounds():
    rules = [Rule("age >= 60 + income"), Bounds("income", low=36)]
    with pytest.raises(InvalidInputError, match="no values within the range"):
        compiled(*rules, points=POINTS[:1])
    assert len(compiled(*rules, points=POINTS[1:2]).linear) == 1


@pytest.mark.parametrize("rules", [3, "Immutable", None])
def test_anything_but_a_list_of_rules_is_refused(rules):
    with pytest.raises(InvalidInputError, match="list of rules"):
        compile_rules(rules, COLUMNS, LOW, HIGH, POINTS)


def test_a_single_rule_is_accepted():
    assert compile_rules(MaxChanges(2), COLUMNS, LOW, HIGH, POINTS).max_changes == 2


@pytest.mark.parametrize(
    "rules",
    [
        [Immutable("age"), Cost("age", 2)],
        [Immutable("age"), Increasing("age")],
        [Fillable("age")],
        [Implies("age rises", "income rises"), Implies("income rises", "age rises")],
        [Bounds("age", high=30), Bounds("age", low=30)],
        [Bounds("age", low=93)],  # beyond the training data, but one of the points is there
        [OneHot("red", "green"), Cost("red", 2), Cost("green", 2)],
        [Integer("age"), Integer("age"), Grid("age")],
    ],
    ids=repr,
)
def test_compatible_rules_are_accepted(rules):
    assert isinstance(compiled(*rules), Limits)


def test_a_column_that_is_not_binary_is_refused_in_a_group():
    binary = np.ones(7, dtype=bool)
    binary[GREEN] = False
    with pytest.raises(InvalidInputError, match="'green' has values other than 0 and 1"):
        compiled(OneHot("red", "green"), is_binary=binary)
