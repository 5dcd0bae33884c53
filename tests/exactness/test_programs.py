"""Two ways to one cost: the searches and the mixed-integer program, on categories, gaps and every rule."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from exactness.checks import agree
from exactness.rule_instances import FAMILIES, KINDS, instance_of_every_column, instances
from exactness.test_rules import assert_kept
from rule_columns import EVERY_RULE

TOLERANCE = 1e-8
# Models, with 3 sets of rules and 4 rows each.
COMPARED = [
    pytest.param(len(FAMILIES), 21, id="quick"),
    pytest.param(20 * len(FAMILIES), 22, id="full", marks=pytest.mark.verify),
]


def by_program(instance):
    """The same instance, put to the mixed-integer program."""
    explainer = copy(instance.explainer)
    explainer.engine = copy(explainer.engine)
    explainer.engine.method = "milp"
    other = replace(instance)
    other.__dict__["explainer"] = explainer
    return other


def assert_the_same(instance, statuses):
    """Costs and statuses of the program, which are counted, are those of the search; its answers hold."""
    expected, found = instance.solve(), by_program(instance).solve()
    assert_kept(instance, found)
    for row, cost, least, status, known in zip(
        instance.rows, found.cost, expected.cost, found.status, expected.status, strict=True
    ):
        about = (instance.name, instance.rules, row.tolist(), cost, least)
        assert agree(cost, least, TOLERANCE), about
        assert status == known, about
    statuses.update(found.status.tolist())


@pytest.mark.parametrize(("n_models", "seed"), COMPARED)
def test_program_and_search_agree_on_categories_and_gaps(n_models, seed):
    statuses, n_gaps, n_categories = Counter(), 0, 0
    for instance in instances(n_models, seed, sets_per_model=1):
        plain = replace(instance, rules=[])
        plain.__dict__["explainer"] = instance.explainer
        assert_the_same(plain, statuses)
        n_gaps += np.isnan(instance.rows).any(axis=1).sum()
        n_categories += len(instance.rows) * bool(instance.table.labels)
    assert statuses.total() == 4 * n_models
    assert n_gaps > n_models / 4
    assert n_categories > n_models
    assert statuses["infeasible"] > 0


@pytest.mark.parametrize(("n_models", "seed"), COMPARED)
def test_program_and_search_agree_under_rules(n_models, seed):
    statuses, kinds = Counter(), Counter()
    for instance in instances(n_models, seed + 10):
        assert_the_same(instance, statuses)
        kinds.update(type(rule) for rule in instance.rules)
    assert statuses.total() == 12 * n_models
    assert set(kinds) == set(KINDS)
    assert statuses["infeasible"] > statuses.total() / 20


@cache
def instances_of_every_rule():
    return list(instances(2 * len(FAMILIES), 41, rows_per_set=2))


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_alone_is_the_same_for_program_and_search(kind):
    statuses = Counter()
    for instance in instances_of_every_rule():
        mine = [rule for rule in instance.rules if isinstance(rule, kind)]
        if mine:
            alone = replace(instance, rules=mine)
            alone.__dict__["explainer"] = instance.explainer
            assert_the_same(alone, statuses)
        if statuses.total() >= 12:
            break
    assert statuses["optimal"] > 0


@pytest.mark.parametrize("case", EVERY_RULE, ids=lambda case: repr(case.rule))
def test_every_rule_of_the_list_is_the_same_for_program_and_search(case):
    statuses = Counter()
    assert_the_same(instance_of_every_column(case.rule), statuses)
    assert statuses["optimal"] > 0


def test_the_class_asked_for_costs_the_same_by_program_and_search():
    n_cases = 0
    for instance in instances(len(FAMILIES), 42, sets_per_model=1):
        classes = instance.table.estimator.classes_
        if len(classes) == 2:
            continue
        own = instance.explainer.explain(instance.table.as_given(instance.rows)).own_code
        for target in range(len(classes)):
            rows = instance.rows[own != target]
            if len(rows):
                asked = {"target": classes[target], "constraints": instance.rules}
                given = instance.table.as_given(rows)
                expected = instance.explainer.explain(given, **asked)
                found = by_program(instance).explainer.explain(given, **asked)
                assert [agree(*costs, TOLERANCE) for costs in zip(found.cost, expected.cost, strict=True)] == [True] * len(
                    rows
                )
                n_cases += len(rows)
    assert n_cases > 20
