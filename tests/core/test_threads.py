"""Several threads: the answers of one, deadlines, cancellation and progress while they run."""

import threading
import time

import numpy as np
import pytest

from core.calls import NUMBERS, call, cells, limits, questions, rows, trees
from fcca.counterfactuals import STATUSES

SEARCHES = ("solve_additive", "solve_linear", "solve_ensemble")

#: Of what solve_* gives, the times differ from run to run.
COST, BOUND, STATUS, SECONDS = 0, 1, 2, 9
FEASIBLE, UNKNOWN = STATUSES.index("feasible"), STATUSES.index("unknown")


def _work(name, n, *, n_classes=3, n_trees=12, depth=3):
    """A search over n points that takes every thread a while."""
    random = np.random.default_rng(5)
    cell = cells(random, [NUMBERS] * 5)
    X = rows(random, n, cell)
    n_cuts = np.diff(cell["first_cut"])
    arguments = {**questions(random, X, n_classes), "time_limit": np.inf, "time_limit_per_row": np.inf, "lambda2": 0.0}
    rules = {
        **limits(random, n, cell, between=False),
        "low": None,
        "high": None,
        "frozen": None,
        "step": None,
        "origin": None,
    }
    arguments["limits"] = rules
    if name == "solve_linear":
        numbers = {"coef": random.normal(size=5), "centre": np.full(5, 0.5), "intercept": 0.1}
        other = {"own_class": arguments["own_class"] % 2, "target": np.full(n, -1, dtype=np.int32)}
        box = {"box_low": cell["box_low"], "box_high": cell["box_high"], "unit": np.ones(5)}
        return {**arguments, **other, **numbers, **box}
    arguments["cells"] = cell
    if name == "solve_additive":
        return {
            **arguments,
            "values": random.normal(size=(len(cell["smallest"]), n_classes)),
            "base": random.normal(size=n_classes),
        }
    grown = trees(random, n_trees, depth, 5, n_classes)
    cut = random.integers(0, n_cuts[np.maximum(grown["feature"], 0)] + 1).astype(np.int32)
    nodes = {key: grown[key] for key in ("roots", "feature", "left", "right")}
    tables = {"values": grown["value"], "base": random.normal(size=n_classes), "side_least": np.zeros(0)}
    tables["relative_gap"] = 0.0
    return {**arguments, **nodes, **tables, "cut": cut, "examples": np.zeros((1, 5), dtype=np.int32)}


N_POINTS = {"solve_additive": 1500, "solve_linear": 1500, "solve_ensemble": 40}


@pytest.mark.parametrize("name", SEARCHES)
def test_threads_give_the_answers_of_one(name):
    arguments = _work(name, N_POINTS[name])
    alone = call(name, {**arguments, "n_threads": 1})
    for n_threads in (2, 4, 1000):
        together = call(name, {**arguments, "n_threads": n_threads})
        for which, (one, other) in enumerate(zip(alone, together, strict=True)):
            if which != SECONDS:
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("name", SEARCHES)
def test_progress_rises_to_the_number_of_points(name, n_threads):
    arguments = _work(name, N_POINTS[name])
    seen = []
    call(name, {**arguments, "n_threads": n_threads, "progress": seen.append})
    assert seen == sorted(seen)
    assert seen[-1] == N_POINTS[name]


class _EnoughError(Exception):
    pass


def _long_work(n_threads):
    return {**_work("solve_ensemble", 5000, n_trees=150, depth=5), "n_threads": n_threads}


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_what_progress_raises_cancels_all_threads(n_threads):
    calls = []

    def progress(done):
        calls.append((done, threading.get_ident()))
        if len(calls) == 3:
            raise _EnoughError

    before = threading.active_count()
    start = time.monotonic()
    with pytest.raises(_EnoughError):
        call("solve_ensemble", {**_long_work(n_threads), "progress": progress})
    assert time.monotonic() - start < 60
    assert len(calls) == 3  # nobody asks again once it was cancelled
    assert {who for _, who in calls} == {threading.get_ident()}  # it is the caller who looks up
    assert threading.active_count() == before


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_a_deadline_for_all_leaves_what_was_found_by_then(n_threads):
    start = time.monotonic()
    found = call("solve_ensemble", {**_long_work(n_threads), "time_limit": 0.1})
    assert time.monotonic() - start < 60
    assert (found[STATUS] == UNKNOWN).any()
    np.testing.assert_array_less(found[BOUND], found[COST] + 1e-9)


@pytest.mark.parametrize("limit", [0.0, -1.0, -np.inf, 1e-4])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_deadline_per_point_ends_each_of_them(n_threads, limit):
    arguments = {**_long_work(n_threads), "time_limit_per_row": limit}
    first = {key: arguments[key][:30] for key in ("points", "own_class", "target", "margin")}
    found = call("solve_ensemble", {**arguments, **first})
    assert np.isin(found[STATUS], range(UNKNOWN + 1)).all()
    assert (found[STATUS] == UNKNOWN).any() or (found[STATUS] == FEASIBLE).any()
    np.testing.assert_array_less(found[BOUND], found[COST] + 1e-9)


def test_searches_of_several_callers_do_not_disturb_each_other():
    arguments = _work("solve_additive", 600)
    expected = call("solve_additive", arguments)
    answers = []

    def ask():
        answers.append(call("solve_additive", {**arguments, "n_threads": 2}))

    callers = [threading.Thread(target=ask) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(answers) == 3
    for answer in answers:
        np.testing.assert_array_equal(answer[COST], expected[COST])
