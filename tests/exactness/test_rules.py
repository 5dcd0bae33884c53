"""Rules: the cost is the least that they leave, by enumeration with the real predict, and no answer breaks one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from exactness.checks import agree
from exactness.rule_instances import FAMILIES, KINDS, instances
from fcca.constraints import holds
from oracles import contract
from oracles.rules import TooManyCombinationsError, least_cost

# Models, with 3 sets of rules and 4 rows each.
ENUMERATED = [
    pytest.param(2 * len(FAMILIES), id="quick"),
    pytest.param(12 * len(FAMILIES), id="full", marks=pytest.mark.verify),
]
# The same with 5 sets of rules and 12 rows.
HELD = [pytest.param(len(FAMILIES) // 2, id="quick"), pytest.param(10 * len(FAMILIES), id="full", marks=pytest.mark.verify)]


def assert_kept(instance, found):
    """Answers flip the real model by the margin and keep every rule; a row is otherwise untouched."""
    about = (instance.name, instance.rules)
    assert set(found.status) <= {"optimal", "infeasible"}, (*about, found.counts())
    answered = found.is_status("optimal")
    assert np.isinf(found.cost[~answered]).all(), about
    before, after = found.table[found.rows], found.points
    kept = holds(instance.rules, instance.explainer.columns, before[answered], after[answered])
    assert kept.all(), (*about, before[answered][~kept], after[answered][~kept])
    if not answered.any():
        return
    estimator = instance.table.estimator
    given = instance.explainer.columns.decode(after[answered])
    assert np.array_equal(np.ravel(estimator.predict(given)), found.target[answered]), about
    assert (found.target[answered] != found.predicted[answered]).all(), about
    scores = contract.scores_of(estimator, given)
    for line, code in zip(scores, found.target_code[answered], strict=True):
        assert contract.leads(line[None, :], code).min() >= instance.table.margin - 1e-12, about
    moved = np.zeros(before.shape, dtype=bool)
    moved[found.moves.point, found.moves.feature] = True
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    assert np.array_equal(same[answered], ~moved[answered]), about


@pytest.mark.parametrize("n_models", ENUMERATED)
def test_the_cost_is_the_least_that_the_rules_leave(n_models):
    statuses, kinds, dearer, skipped = Counter(), Counter(), 0, 0
    for instance in instances(n_models):
        found = instance.solve()
        assert_kept(instance, found)
        for row, cost, status in zip(found.rows, found.cost, found.status, strict=True):
            try:
                least = least_cost(instance.table, instance.rules, instance.rows[row])
            except TooManyCombinationsError:
                skipped += 1
                continue
            about = (instance.name, instance.rules, instance.rows[row].tolist(), cost, least)
            assert agree(cost, least), about
            assert (status == "infeasible") == np.isinf(least), about
            dearer += cost > least_cost(instance.table, [], instance.rows[row]) * (1 + 1e-9)
            statuses[str(status)] += 1
        kinds.update(type(rule) for rule in instance.rules)
    n_cases = statuses.total()
    assert n_cases > 11 * n_models
    assert skipped < n_models / 2
    assert set(kinds) == set(KINDS)
    assert statuses["infeasible"] > n_cases / 20
    assert dearer > n_cases / 5


@pytest.mark.slow
@pytest.mark.parametrize("n_models", HELD)
def test_no_answer_breaks_a_rule(n_models):
    n_cases = 0
    for instance in instances(n_models, seed=1, rows_per_set=12, sets_per_model=5):
        found = instance.solve()
        assert_kept(instance, found)
        n_cases += len(found)
    assert n_cases == 60 * n_models


@pytest.mark.slow
def test_several_answers_keep_the_rules_and_contain_no_earlier_one():
    for instance in instances(len(FAMILIES), seed=2, sets_per_model=1):
        found = instance.solve(n=3)
        assert_kept(instance, found)
        one = instance.solve()
        assert np.array_equal(one.cost, found.cost[found.answer == 1]), instance.name
        moved = np.zeros((len(found), found.table.shape[1]), dtype=bool)
        moved[found.moves.point, found.moves.feature] = True
        for row in np.unique(found.rows):
            mine = np.flatnonzero((found.rows == row) & found.is_status("optimal"))
            assert (np.diff(found.cost[mine]) >= -1e-9).all(), instance.name
            for later in range(len(mine)):
                for earlier in range(later):
                    assert (moved[mine[earlier]] & ~moved[mine[later]]).any(), instance.name


def test_the_class_asked_for_is_reached_at_the_least_cost_that_the_rules_leave():
    n_cases = 0
    for instance in instances(len(FAMILIES), seed=3, sets_per_model=1):
        classes = instance.table.estimator.classes_
        own = instance.explainer.explain(instance.table.as_given(instance.rows)).own_code
        for target in range(len(classes)):
            rows = np.flatnonzero(own != target)
            if len(classes) == 2 or len(rows) == 0:
                continue
            given = instance.table.as_given(instance.rows[rows])
            found = instance.explainer.explain(given, target=classes[target], constraints=instance.rules)
            assert_kept(instance, found)
            for row, cost in zip(rows, found.cost, strict=True):
                least = least_cost(instance.table, instance.rules, instance.rows[row], target=target)
                assert agree(cost, least), (instance.name, instance.rules, cost, least)
                n_cases += 1
    assert n_cases > 20
