"""Scales and category distances: the cost is the least, by enumeration with the real predict and by another program."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from exactness.checks import agree
from exactness.rule_instances import FAMILIES, SCALES, instances
from exactness.test_rules import assert_kept
from fcca.constraints import Cost
from fcca.counterfactuals import CounterfactualEngine
from oracles.rules import TooManyCombinationsError, least_cost

ENUMERATED = [
    pytest.param(2 * len(FAMILIES), id="quick"),
    pytest.param(24 * len(FAMILIES), id="full", marks=pytest.mark.verify),
]
PROGRAMS = [pytest.param(len(FAMILIES), id="quick"), pytest.param(6 * len(FAMILIES), id="full", marks=pytest.mark.verify)]


@pytest.mark.parametrize("n_models", ENUMERATED)
def test_the_cost_is_the_least_with_every_scale(n_models):
    scales, n_cases, n_other = Counter(), 0, 0
    for instance in instances(n_models, seed=11, scaled=True):
        table = instance.table
        found = instance.solve()
        assert_kept(instance, found)
        assert instance.explainer.category_distance_ == table.unordered(), instance.name
        for row, cost in zip(found.rows, found.cost, strict=True):
            try:
                least = least_cost(table, instance.rules, instance.rows[row])
            except TooManyCombinationsError:
                continue
            about = (instance.name, table.scale, table.category_distance, instance.rules, instance.rows[row].tolist())
            assert agree(cost, least), (*about, cost, least)
            n_cases += 1
            n_other += bool(np.isfinite(cost))
        scales[table.scale if isinstance(table.scale, str) else "units"] += 1
    assert n_cases > 11 * n_models
    assert n_other > n_cases / 3
    assert set(scales) == {*SCALES, "units"}


@pytest.mark.parametrize("n_models", PROGRAMS)
def test_the_search_and_the_program_agree_with_every_scale(n_models):
    n_cases = 0
    for instance in instances(n_models, seed=12, sets_per_model=1, scaled=True):
        found = instance.solve()
        mine = instance.explainer.engine
        other = CounterfactualEngine(
            mine.estimator, mine.problem, method="milp", like=instance.table.as_given(instance.table.X)
        )
        other.observe(np.concatenate(mine.training.rows()))
        rows, _ = instance.explainer.encode_rows(instance.table.as_given(instance.rows))
        proven = other.solve(
            rows,
            np.arange(len(rows)),
            found.own_code,
            feature_names=instance.explainer.feature_names,
            limits=instance.explainer._limits(tuple(instance.rules), rows),
        )
        about = (instance.name, instance.table.scale, instance.table.category_distance, instance.rules)
        assert all(map(agree, found.cost, proven.cost)), (*about, found.cost, proven.cost)
        n_cases += len(found)
    assert n_cases == 4 * n_models


def test_a_cost_rule_multiplies_what_a_distance_costs():
    n_cases = 0
    for instance in instances(len(FAMILIES), seed=13, sets_per_model=1, scaled=True):
        if not instance.table.labels:
            continue
        rules = [Cost(name, 3.0) for name in instance.table.names]
        plain = instance.explainer.explain(instance.table.as_given(instance.rows))
        dearer = instance.explainer.explain(instance.table.as_given(instance.rows), constraints=rules)
        assert all(map(agree, 3 * plain.cost, dearer.cost)), instance.name
        n_cases += len(plain)
    assert n_cases > 20
