"""Check changed rows against rules, and list the rules that unchanged rows break."""

from __future__ import annotations

import numpy as np
import pytest

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
    broken_by,
    compile_rules,
    holds,
)
from fcca.tables import Columns
from rule_columns import AGE, COLUMNS, GREEN, INCOME, JOB, POINTS, RED


@pytest.mark.parametrize(
    ("rules", "changes", "kept"),
    [
        ([], {INCOME: 3}, True),
        ([], {INCOME: np.nan}, False),
        ([Immutable("age")], {AGE: 31}, False),
        ([Immutable("age")], {INCOME: 31}, True),
        ([Immutable("job")], {JOB: 1}, False),
        ([Increasing("age")], {AGE: 29}, False),
        ([Increasing("age")], {AGE: 31}, True),
        ([Decreasing("age")], {AGE: 31}, False),
        ([Decreasing("age")], {AGE: 29}, True),
        ([Bounds("income", 60, 70)], {}, True),
        ([Bounds("income", 60, 70)], {INCOME: 59}, False),
        ([Bounds("income", 60, 70)], {INCOME: 70}, True),
        ([Bounds("income", -0.1, 0.1, relative=True)], {INCOME: 55}, True),
        ([Bounds("income", -0.1, 0.1, relative=True)], {INCOME: 44.9}, False),
        ([Bounds("income", by=(-5, 5))], {INCOME: 45}, True),
        ([Bounds("income", by=(-5, None))], {INCOME: 44}, False),
        ([Integer("age")], {AGE: 31.5}, False),
        ([Integer("age")], {AGE: 31}, True),
        ([Grid("age", 0.1)], {AGE: 0.3}, True),
        ([Grid("age", 0.1, 0.05)], {AGE: 0.3}, False),
        ([Forbidden("job", [("clerk", "nurse")])], {JOB: 1}, False),
        ([Forbidden("job", [("clerk", "nurse")])], {JOB: 2}, True),
        ([Allowed("job", {"clerk": ["nurse"]})], {JOB: 1}, True),
        ([Allowed("job", {"clerk": ["nurse"]})], {JOB: 2}, False),
        ([Allowed("job", {"nurse": ["clerk"]})], {JOB: 1}, False),
        ([Allowed("job", {"nurse": ["clerk"]})], {}, True),
        ([MaxChanges(1)], {AGE: 31}, True),
        ([MaxChanges(1)], {AGE: 31, JOB: 1}, False),
        ([OneHot("red", "green")], {RED: 0}, False),
        ([OneHot("red", "green")], {RED: 0, GREEN: 1}, True),
        ([OneHot("red", "green")], {GREEN: 0.5, RED: 0.5}, False),
        ([OneHot("red", "green"), MaxChanges(1)], {RED: 0, GREEN: 1}, True),
        ([OneHot("red", "green"), MaxChanges(1)], {RED: 0, GREEN: 1, AGE: 3}, False),
        ([Rule("income <= age")], {}, True),  # broken before, and not touched
        ([Rule("income <= age")], {AGE: 31}, False),
        ([Rule("income <= age")], {AGE: 50}, True),
        ([Rule("income + age == 80")], {AGE: 31, INCOME: 49}, True),
        ([Rule("income + age == 80")], {AGE: 31}, False),
        ([Linear({"age": 0.1, "income": 0.2}, 0.1 * 3 + 0.2 * 3)], {AGE: 3, INCOME: 3}, True),
        ([Implies("age rises", "income rises")], {AGE: 31}, False),
        ([Implies("age rises", "income rises")], {AGE: 31, INCOME: 51}, True),
        ([Implies("age rises", "income falls")], {AGE: 31, INCOME: 51}, False),
        ([Implies("age falls", "income rises")], {AGE: 31}, True),
        ([Cost("age", 2), Fillable("age")], {AGE: 31}, True),
    ],
)
def test_changed_rows_are_checked(rules, changes, kept):
    before = POINTS[[0, 0]]
    after = before.copy()
    for j, value in changes.items():
        after[0, j] = value
    assert holds(rules, COLUMNS, before, after).tolist() == [kept, True]


def test_only_fillable_columns_are_filled_in():
    before, after = POINTS[[2]], POINTS[[2]].copy()
    after[0, INCOME] = 3
    assert not holds([], COLUMNS, before, after)[0]
    assert not holds([Fillable("job")], COLUMNS, before, after)[0]
    rules = [Fillable("income"), Increasing("income"), Bounds("income", by=(1, 2)), Implies("income rises", "age rises")]
    assert holds(rules, COLUMNS, before, after)[0]
    assert not holds([Fillable("income"), Bounds("income", low=4)], COLUMNS, before, after)[0]
    assert not holds([Fillable("income"), Immutable("income")], COLUMNS, before, after)[0]
    assert not holds(
        [Fillable("income"), Implies("age falls", "income rises")], COLUMNS, before, after - (np.arange(7) == 0)
    )[0]
    after[0, INCOME], after[0, JOB] = np.nan, 1
    assert holds([Fillable("job"), Allowed("job", {"clerk": ["nurse"]}), Rule("age <= income")], COLUMNS, before, after)[0]


def test_rules_broken_before_a_change_are_listed():
    found = broken_by(
        [
            Bounds("age", 35, 90),
            Integer("age"),
            Grid("income", 5),
            OneHot("red", "green"),
            Rule("age <= income"),
            Linear({"age": 1}, 94),
            Bounds("income", 0.5, 1, relative=True),
            Increasing("age"),
            Implies("age rises", "income rises"),
        ],
        COLUMNS,
        POINTS,
    )
    assert found.columns.tolist() == ["row", "rule", "why"]
    assert list(found.itertuples(index=False, name=None)) == [
        (0, "Bounds('age', low=35, high=90)", "age is 30, below 35"),
        (1, "Integer('age')", "age is 40.5, not on the grid"),
        (1, "Grid('income', step=5, origin=0)", "income is -8, not on the grid"),
        (1, "Rule('age <= income')", "age is 40.5, income is -8: the sum is above 0"),
        (2, "Bounds('age', low=35, high=90)", "age is 95, above 90"),
        (2, "OneHot('red', 'green')", "the columns are 0, 0"),
        (2, "Linear({'age': 1}, upper=94)", "age is 95: the sum is above 94"),
    ]
    assert len(broken_by([], COLUMNS, POINTS)) == 0


def test_compiled_bounds_and_the_check_agree_to_the_last_bit():
    rng = np.random.default_rng(0)
    own = np.concatenate([rng.normal(size=500) * 10.0 ** rng.integers(-5, 6, 500), [0.0, -0.0]])
    columns, table = Columns.numbers(1, ["x"]), own[:, None]
    for rule in (Bounds("x", -0.3, 0.7, relative=True), Bounds("x", by=(-0.1, 0.3)), Bounds("x", -1e9, 0.1 + 0.2)):
        limits = compile_rules([rule], columns, np.array([-1e6]), np.array([1e6]), table)
        for edge, outwards in ((limits.low, -np.inf), (limits.high, np.inf)):
            stays = (edge == table).all(axis=1)
            assert holds([rule], columns, table, edge).all()
            assert not (holds([rule], columns, table, np.nextafter(edge, outwards)) & ~stays & (own != 0)).any()
