"""Optima of trees on categories, missing values and rules are re-proven by a program independent of the search.

The search is taken away here, so that it can be nothing else that proves or rejects.
"""

from __future__ import annotations

import json
from itertools import count

import numpy as np
import pytest

from certificates.certified import case
from fcca.certificates import _check_proofs as _proofs

KINDS = [
    "gb, mixed",
    "hgb, mixed",
    "xgb, mixed",
    "lgbm, mixed",
    "catboost, mixed",
    "rf, mixed",
    "gb, three classes",
    "weights, mixed",
    "bounds, costs and directions",
    "grids",
    "one of several",
    "sums and implications",
    "moves between categories",
    "gaps that may be filled",
]
SAMPLE = 3


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    def refused(given, chosen, time_limit, proofs):
        raise AssertionError(f"left to the search: {chosen[~proofs.proven]}")

    monkeypatch.setattr(_proofs, "_by_search", refused)


def verified_with(name, change, at):
    """The check of optima after a change of the document, on a sample that includes this counterfactual."""
    one = case(name)
    document = json.loads(one.document)
    n = len(document["counterfactuals"]["row"])
    seed = next(seed for seed in count() if at in np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
    change(document, at)
    row = document["counterfactuals"]["row"][at]
    return row, one.verified(json.dumps(document), sample=SAMPLE, random_state=seed, time_limit=None)["optima"]


def one_with(name, status="optimal"):
    return json.loads(case(name).document)["counterfactuals"]["status"].index(status)


def assert_rejected(row, optima, *words):
    assert optima.outcome == "failed"
    assert f"row {row}:" in optima.words.lower()
    for word in words:
        assert word in optima.words


def changed_cost(by):
    def change(document, at):
        for name in ("cost", "bound"):
            document["counterfactuals"][name][at] += by

    return change


def called_infeasible(document, at):
    found = document["counterfactuals"]
    row = found["row"][at]
    found["status"][at], found["target"][at], found["cost"][at], found["bound"][at] = "infeasible", None, None, None
    kept = [k for k, of in enumerate(found["move_row"]) if of != row]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name] = [found[name][k] for k in kept]


def called_optimal(document, at):
    """An infeasible row gets the counterfactual of another row."""
    found = document["counterfactuals"]
    other = found["status"].index("optimal")
    for name in ("status", "target", "cost", "bound"):
        found[name][at] = found[name][other]


@pytest.mark.parametrize("name", KINDS)
def test_the_program_re_proves_optima(name):
    optima = case(name).verified(sample=SAMPLE, time_limit=None)["optima"]
    assert optima.outcome == "passed", optima.words
    assert optima.words.endswith(f"{SAMPLE} by a mixed-integer program on HiGHS.")


@pytest.mark.parametrize("name", KINDS)
def test_the_program_rejects_a_cost_that_is_too_high(name):
    assert_rejected(*verified_with(name, changed_cost(1e-6), one_with(name)), "not optimal", "cheaper than")


@pytest.mark.parametrize("name", KINDS)
def test_the_program_rejects_a_cost_that_is_too_low(name):
    assert_rejected(*verified_with(name, changed_cost(-1e-6), one_with(name)), "no change costs less than")


@pytest.mark.parametrize("name", KINDS)
def test_the_program_finds_a_denied_counterfactual(name):
    assert_rejected(*verified_with(name, called_infeasible, one_with(name)), "status is infeasible", "flips the black box")


@pytest.mark.parametrize("name", ["lgbm, mixed", "catboost, mixed", "moves between categories", "sums and implications"])
def test_the_program_rejects_a_counterfactual_of_an_infeasible_row(name):
    found = verified_with(name, called_optimal, one_with(name, "infeasible"))
    assert_rejected(*found, "no change flips the black box")
