"""A few columns of every kind, their range and some points, and a list of all rules for tests that they share."""

from dataclasses import dataclass

import numpy as np

from fcca import constraints as c
from fcca.tables import Column, Columns

COLUMNS = Columns(
    (
        Column("age"),
        Column("income", missing=True),
        Column("job", categories=("clerk", "nurse", "smith"), missing=True),
        Column("red"),
        Column("green"),
        Column("blue"),
        Column("level", categories=(1, 2.5, True, "x")),
    )
)
AGE, INCOME, JOB, RED, GREEN, BLUE, LEVEL = range(7)
LOW = np.array([18.0, -10.0, 0, 0, 0, 0, 0])
HIGH = np.array([90.0, 100.0, 2, 1, 1, 0, 3])
POINTS = np.array(
    [
        [30.0, 50.0, 0, 1, 0, 0, 0],
        [40.5, -8.0, 2, 0, 1, 0, 1],
        [95.0, np.nan, np.nan, 0, 0, 0, 2],
    ]
)


@dataclass(frozen=True)
class Case:
    """A rule, a change of the first point that keeps it, one that breaks it (None: no change does), and its YAML."""

    rule: c.Constraint
    keeps: dict
    breaks: dict | None
    yaml: str | None


# Every kind of rule. The tests that all rules share go over this list.
EVERY_RULE = [
    Case(c.Immutable("age", "job"), {INCOME: 0}, {JOB: 1}, "immutable: [age, job]"),
    Case(c.Increasing("age"), {AGE: 31}, {AGE: 29}, "increasing: age"),
    Case(c.Decreasing("income"), {INCOME: 49}, {INCOME: 51}, "decreasing: income"),
    Case(c.Integer("age"), {AGE: 31}, {AGE: 31.5}, "integer: age"),
    Case(c.Fillable("income", "job"), {INCOME: 5, JOB: 1}, None, "fillable: [income, job]"),
    Case(c.Bounds("income", low=0), {INCOME: 0}, {INCOME: -1}, "bounds: {income: {low: 0}}"),
    Case(c.Bounds("income", high=7.25), {INCOME: 7}, {INCOME: 8}, "bounds: {income: [~, 7.25]}"),
    Case(c.Bounds("income", 0, 10), {INCOME: 10}, {INCOME: 11}, "bounds: {income: [0, 10]}"),
    Case(
        c.Bounds("income", -0.2, 0.2, relative=True), {INCOME: 60}, {INCOME: 61}, "bounds: {income: {relative: [-.2, .2]}}"
    ),
    Case(c.Bounds("age", by=(-5, 5)), {AGE: 25}, {AGE: 24}, "bounds: {age: {by: [-5, 5]}}"),
    Case(c.Bounds("age", by=(None, 0.1)), {AGE: 30.1}, {AGE: 31}, "bounds: {age: {by: [~, 0.1]}}"),
    Case(c.Grid("income", 2.5, 0.5), {INCOME: 5.5}, {INCOME: 5}, "grid: {income: {step: 2.5, origin: 0.5}}"),
    Case(c.Cost("income", 2), {INCOME: 5}, None, "cost: {income: 2}"),
    Case(
        c.Forbidden("job", [("clerk", "nurse"), ("nurse", "clerk")]),
        {JOB: 2},
        {JOB: 1},
        "forbidden: {job: [[clerk, nurse], [nurse, clerk]]}",
    ),
    Case(
        c.Allowed("job", {"clerk": ["nurse"], "nurse": ()}), {JOB: 1}, {JOB: 2}, "allowed: {job: {clerk: nurse, nurse: []}}"
    ),
    Case(c.MaxChanges(2), {AGE: 31, INCOME: 5}, {AGE: 31, INCOME: 5, JOB: 1}, "max_changes: 2"),
    Case(c.OneHot("red", "green", "blue"), {RED: 0, GREEN: 1}, {RED: 0}, "one_hot: [[red, green, blue]]"),
    Case(c.Linear({"age": 1, "income": -0.1}, upper=30.3), {AGE: 31, INCOME: 7}, {AGE: 31, INCOME: 6}, None),
    Case(c.Rule("age + 2*income <= 150"), {INCOME: 60}, {INCOME: 61}, "rules: age + 2*income <= 150"),
    Case(c.Implies("age rises", "income falls"), {AGE: 31, INCOME: 5}, {AGE: 31}, "implies: age rises -> income falls"),
]
