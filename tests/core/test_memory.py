"""Where memory or threads run out, Python gets an error or fewer threads do the work; the process lives on.

tests/core/failures.cpp lets every single allocation fail; here it is the system that says no. Each case runs in a process of
its own, whose address space is limited.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("asan", "tsan"))

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space as Linux does"),
    pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory is beyond any limit; failures.cpp runs under it instead"),
]

LIMITED = """
import resource
import sys

import numpy as np

from core.calls import call
from core.test_threads import _work
from fcca import _core


def leave(megabytes):
    used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + megabytes * 2**20, resource.RLIM_INFINITY))


def back():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""

SEARCH_WITHOUT_MEMORY = """
n, m = 20_000, 2_000
arguments = {
    "table": np.random.default_rng(0).integers(0, 2, (n, m)).astype(np.uint8),
    "label": np.arange(n, dtype=np.int32) % 2,
    "weight": np.ones(n),
    "count": None,
    "n_classes": 2,
    "criterion": 0,
    "penalty": 1.0,
    "max_depth": 4,
    "max_leaves": None,
    "min_weight": 0.0,
    "min_rows": 1,
    "max_nodes": None,
    "time_limit": 0.2,
}
leave(3)
try:
    _core.solve_tree(**arguments)
except MemoryError:
    back()
    few = {"table": arguments["table"][:50, :5].copy(), "label": arguments["label"][:50], "weight": np.ones(50)}
    assert _core.solve_tree(**{**arguments, **few, "time_limit": 60.0})[2]  # proven: there is life after it
    print("MemoryError")
"""

THREADS_WITHOUT_MEMORY = """
arguments = _work("solve_ensemble", 60)
expected = call("solve_ensemble", {**arguments, "n_threads": 1})
for megabytes in (2, 24):  # a thread's stack takes 8: none can be started, or two
    leave(megabytes)
    found = call("solve_ensemble", {**arguments, "n_threads": 60})
    back()
    np.testing.assert_array_equal(found[0], expected[0])
print("the same")
"""


def _said(script):
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + script], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_search_without_memory_ends_in_a_memory_error():
    assert _said(SEARCH_WITHOUT_MEMORY) == "MemoryError"


def test_threads_that_cannot_be_started_are_done_without():
    assert _said(THREADS_WITHOUT_MEMORY) == "the same"
