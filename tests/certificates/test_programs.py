"""Trees on categories, missing values and rules: optima are proven anew by a program that shares nothing with the search.

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
    """The check of optima, of a sample with the counterfactual of this number, after a change of the document."""
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
    """What is infeasible gets the answer of another row."""
    found = document["counterfactuals"]
    other = found["status"].index("optimal")
    for name in ("status", "target", "cost", "bound"):
        found[name][at] = found[name][other]


@pytest.mark.parametrize("name", KINDS)
def test_optima_are_proven_anew_by_the_program(name):
    optima = case(name).verified(sample=SAMPLE, time_limit=None)["optima"]
    assert optima.outcome == "passed", optima.words
    assert optima.words.endswith(f"{SAMPLE} by a mixed-integer program on HiGHS.")


@pytest.mark.parametrize("name", KINDS)
def test_a_dearer_answer_is_rejected_by_the_program(name):
    assert_rejected(*verified_with(name, changed_cost(1e-6), one_with(name)), "not optimal", "cheaper than")


@pytest.mark.parametrize("name", KINDS)
def test_a_cheaper_answer_than_there_is_is_rejected_by_the_program(name):
    assert_rejected(*verified_with(name, changed_cost(-1e-6), one_with(name)), "proven that nothing is below")


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_that_is_denied_is_found_by_the_program(name):
    assert_rejected(*verified_with(name, called_infeasible, one_with(name)), "called infeasible", "flips the black box")


@pytest.mark.parametrize("name", ["lgbm, mixed", "catboost, mixed", "moves between categories", "sums and implications"])
def test_an_answer_where_there_is_none_is_rejected_by_the_program(name):
    found = verified_with(name, called_optimal, one_with(name, "infeasible"))
    assert_rejected(*found, "proven that nothing is below inf")
