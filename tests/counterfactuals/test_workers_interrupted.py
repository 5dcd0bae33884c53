"""Ctrl-C ends the worker processes of joblib too."""

import os
import signal
import subprocess
import sys
import time

import pytest

INTERRUPTED = """
import sys, time
import numpy as np
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from fcca import CounterfactualExplainer

if __name__ == "__main__":
    X, y = make_classification(3000, 20, n_informative=15, random_state=0)
    explainer = CounterfactualExplainer(RandomForestClassifier(60, max_depth=9, random_state=0).fit(X, y), X)
    with parallel_config(backend="loky", n_jobs=2):
        from joblib import Parallel, delayed
        print(*Parallel()(delayed(__import__("os").getpid)() for _ in range(8)), flush=True)
        try:
            explainer.explain(X)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is no signal there")
def test_ctrl_c_ends_the_workers(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        workers = {int(pid) for pid in process.stdout.readline().split()}
        time.sleep(1.5)
        os.killpg(process.pid, signal.SIGINT)
        printed, _ = process.communicate(timeout=120)
    assert printed == "interrupted\n"
    deadline = time.monotonic() + 60
    while any(is_running(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(is_running(pid) for pid in workers)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
