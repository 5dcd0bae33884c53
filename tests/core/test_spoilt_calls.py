"""Whatever the core's functions are given, they answer or raise: they never read or write out of bounds.

Under `make sanitize` every call is watched; elsewhere a crash would end the tests.
"""

import faulthandler

import numpy as np
import pytest

from core.call_results import check_call
from core.calls import DRAWS, call, spoilt

#: What a call that makes no sense may end with.
REFUSALS = (TypeError, ValueError, OverflowError, MemoryError)

#: Seconds after which a call hangs: all have a time limit of half a second.
TOO_LONG = 120


@pytest.mark.parametrize("name", DRAWS)
def test_right_calls_are_answered(name):
    for seed in range(40):
        check_call(name, DRAWS[name](np.random.default_rng(seed)))


def _run(name, seeds):
    refused = 0
    faulthandler.dump_traceback_later(TOO_LONG, exit=True)
    try:
        for seed in seeds:
            wrong = spoilt(name, np.random.default_rng([seed, len(name)]))
            try:
                call(name, wrong.arguments)
            except REFUSALS:
                refused += 1
            except Exception as error:
                pytest.fail(f"{name} with {wrong.places} (seed {seed}) ended with {error!r}")
    finally:
        faulthandler.cancel_dump_traceback_later()
    return refused


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.filterwarnings("ignore")  # of numpy, about the values that are put in
def test_spoilt_calls_end_in_an_answer_or_an_error(name):
    assert _run(name, range(60)) > 30  # most of what is done to them must be refused


@pytest.mark.verify
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("first", range(1000, 4000, 500))
@pytest.mark.filterwarnings("ignore")
def test_many_spoilt_calls_end_in_an_answer_or_an_error(name, first):
    assert _run(name, range(first, first + 500)) > 250
