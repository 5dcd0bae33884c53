"""Files of rules are read, and errors name the problem."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fcca.cli._rules_option import read_rules
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
    MaxChanges,
    OneHot,
    Rule,
    compile_rules,
    load_rules,
    rules_from_yaml,
)
from fcca.exceptions import InvalidInputError
from fcca.tables import Column, Columns

EVERYTHING = """
# who may change what
immutable: [age, sex]
increasing: education
decreasing: [debt]
integer: [children]
fillable: [phone, "on"]
bounds:
  income: {low: 0, high: 10}
  debt: {relative: [-.2, .2]}
  age: {by: [-5, 5], low: 18}
  rent: [null, 1e3]
  size: {high: 2}
grid: {children: 1, loan: {step: 500, origin: 1_00}}
max_changes: 3
one_hot: [[a, b], [c, d, e]]
forbidden:
  job: [[x, y], [yes, no]]
  insured:
    - [on, off]
allowed:
  insured: {no: [yes], yes: no}
  level: {1: [2, 3.5]}
cost: {income: 2, job: .5}
rules: ["a <= b", x + 2*y <= 10]
implies: ["education rises -> age rises", my debt falls → income rises]
"""


def test_every_key_is_read():
    assert list(rules_from_yaml(EVERYTHING)) == [
        Immutable("age", "sex"),
        Increasing("education"),
        Decreasing("debt"),
        Integer("children"),
        Fillable("phone", "on"),
        Bounds("income", 0, 10),
        Bounds("debt", -0.2, 0.2, relative=True),
        Bounds("age", low=18),
        Bounds("age", by=(-5, 5)),
        Bounds("rent", high=1000),
        Bounds("size", high=2),
        Grid("children", 1),
        Grid("loan", 500, 100),
        MaxChanges(3),
        OneHot("a", "b"),
        OneHot("c", "d", "e"),
        Forbidden("job", [("x", "y"), ("yes", "no")]),
        Forbidden("insured", [("on", "off")]),
        Allowed("insured", {"no": ["yes"], "yes": ["no"]}),
        Allowed("level", {"1": ["2", "3.5"]}),
        Cost("income", 2),
        Cost("job", 0.5),
        Rule("a <= b"),
        Rule("x + 2*y <= 10"),
        Implies("education rises", "age rises"),
        Implies("my debt falls", "income rises"),
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "immutable:\n", "immutable: []\nbounds: {}\nmax_changes: ~"])
def test_empty_texts_have_no_rules(text):
    assert rules_from_yaml(text) == ()


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (0, 1), ("No", "Yes"), (1.5, "1.5 ")])
def test_yes_and_no_stay_texts(labels):
    columns = Columns((Column("insured", categories=labels),))
    rules = rules_from_yaml(f"forbidden: {{insured: [[{labels[0]}, '{labels[1]}']]}}")
    limits = compile_rules(rules, columns, np.zeros(1), np.ones(1), np.zeros((1, 1)))
    np.testing.assert_array_equal(np.argwhere(np.isinf(limits.moves[0])), [[0, 1]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imutable: [age]", "The rules, line 1: unknown key 'imutable'. Did you mean 'immutable'?"),
        ("max_changes: 3\n\nzzz: 1", "line 3: unknown key 'zzz'. Expected one of 'allowed'"),
        ("- immutable", "line 1: expected a mapping with the keys allowed, bounds, cost"),
        ("immutable", "expected a mapping"),
        ("immutable: {age: 1}", "line 1, immutable: expected a list of columns, such as [age, sex], got a mapping"),
        ("immutable: [[age]]", "line 1, immutable: expected a name, got a list"),
        ("immutable: ['']", "expected a name, got ''"),
        ("immutable: [age]\nimmutable: [sex]", "line 2: the key 'immutable' is already in line 1"),
        ("bounds:\n  income: {low: x}", "line 2, bounds: expected a number, got 'x'"),
        (
            "bounds:\n  income: {lower: 1}",
            "line 2, bounds: unknown key 'lower' in the bounds of 'income'. Did you mean 'low'?",
        ),
        ("bounds:\n  income: {low: 2, high: 1}", "line 2, bounds: Bounds('income'): the lower bound 2 is above"),
        ("bounds:\n  income: {}", "the bounds of 'income' are empty"),
        ("bounds:\n  income: {low: }", "Bounds('income') has no bound"),
        ("bounds:\n  income: [1, 2, 3]", "expected two numbers [low, high], got a list"),
        ("bounds:\n  income: 3", "line 2, bounds: expected low, high, relative or by, got '3'"),
        ("bounds:\n  debt: {relative: .2}", "expected two shares, such as [-0.2, 0.2], got '.2'"),
        ("bounds:\n  debt: {by: [1]}", "expected two numbers, such as [-5, 5]"),
        ("bounds: [income]", "expected columns with their bounds"),
        ("bounds: {[a, b]: 1}", "expected a name, got a list"),
        ("bounds: {a: [nan, 1]}", "finite number"),
        ("grid: {children: 0}", "line 1, grid: Grid('children'): step must be above 0"),
        ("grid: {children: {width: 2}}", "unknown key 'width' in a grid. Expected one of 'step', 'origin'"),
        ("grid: {children: [1]}", "expected a step, or {step: 5, origin: 2}"),
        ("cost: {income: free}", "line 1, cost: expected a number, got 'free'"),
        ("cost: {income: -1}", "weight must be above 0"),
        ("max_changes: 0", "line 1, max_changes: MaxChanges expects a whole number of at least 1, got 0"),
        ("max_changes: 1.5", "at least 1, got 1.5"),
        ("max_changes: [1]", "expected a number, got a list"),
        ("one_hot: [a, b]", "line 1, one_hot: expected a list of groups, such as [[a, b], [c, d]], got 'a'"),
        ("one_hot:\n- [a, b]\n- [c]", "line 3, one_hot: OneHot expects the names of two or more"),
        ("forbidden: {job: [x, y]}", "line 1, forbidden: expected a pair [from, to], got 'x'"),
        ("forbidden: {job: [[x]]}", "expected a pair [from, to], got a list"),
        ("forbidden: {job: x}", "expected a list of pairs"),
        ("forbidden: {job: []}", "Forbidden('job') expects a list of pairs"),
        ("allowed: {job: [x]}", "expected a mapping from each category to a list of categories"),
        ("allowed: {job: {x: [[y]]}}", "expected a name, got a list"),
        ("rules:\n- a <= b\n- a < b", "line 3, rules: Rule('a < b') compares with '<'"),
        ("rules: [[a]]", "expected a formula, got a list"),
        ("implies: [a rises]", "line 1, implies: expected a string such as 'education rises -> age rises', got 'a rises'"),
        ("implies: [a rises -> b]", "line 1, implies: Expected a column and a direction"),
        ("bounds: {a: [1, 2}", "line 1: not valid YAML"),
        ("immutable:\n\t- age", "line 2: not valid YAML"),
        ("a: 1\n---\nb: 2", "not valid YAML"),
        ("rules: [`a b` <= c]", "not valid YAML"),
        ("immutable: !!python/object/apply:os.system [ls]\nx: 1", "line 2: unknown key 'x'"),
        pytest.param("immutable: " + "[" * 5000, "nested too deeply", id="deep"),
        ("immutable: &a [*a]", "expected a name, got a list"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        rules_from_yaml(text)


def test_rules_come_from_files(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + "immutable: [größe]\r\n".encode())
    assert load_rules(path) == load_rules(str(path)) == read_rules(path) == (Immutable("größe"),)
    assert read_rules(None) == ()


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"none\.yaml cannot be read: No such file"):
        load_rules(tmp_path / "none.yaml")
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        load_rules(tmp_path)
    path = tmp_path / "rules.yaml"
    path.write_bytes(b"immutable: [\xff]")
    with pytest.raises(InvalidInputError, match=r"rules\.yaml is not valid UTF-8"):
        load_rules(path)
    path.write_bytes(b"immutable: [a\x00]")
    with pytest.raises(InvalidInputError, match=r"rules\.yaml.*not valid YAML"):
        load_rules(path)
    path.write_text("max_changes: 0")
    with pytest.raises(InvalidInputError, match=r"rules\.yaml, line 1, max_changes"):
        read_rules(path)
    path.write_text("")
    with pytest.raises(InvalidInputError, match=r"rules\.yaml has no rules"):
        read_rules(path)
