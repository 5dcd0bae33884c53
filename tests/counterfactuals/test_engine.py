"""The engine: Ctrl-C, progress, deadlines and sparse results."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.exceptions import InvalidInputError
from hardening.processes import own_seconds, wait_until_used


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def engine(data):
    engine = CounterfactualEngine(
        GradientBoostingClassifier(max_depth=1, random_state=0).fit(*data), CounterfactualProblem()
    )
    engine.observe(data[0])
    return engine


def solve(engine, X, **options):
    names = [f"x{j}" for j in range(X.shape[1])]
    return engine.solve(X, np.arange(len(X)), engine.class_index(engine.predict(X)), feature_names=names, **options)


def test_chunks_of_training_rows_give_the_same_cells(engine, data):
    other = CounterfactualEngine(engine.estimator, engine.problem)
    for chunk in np.array_split(data[0], 7):
        other.observe(chunk)
    np.testing.assert_array_equal(other.cells.smallest, engine.cells.smallest)
    np.testing.assert_array_equal(other.cells.largest, engine.cells.largest)


def test_progress_ends_with_all_points(engine, data):
    seen = []
    solve(engine, np.tile(data[0], (50, 1)), progress=seen.append)
    assert seen[-1] == 50 * len(data[0])
    assert seen == sorted(seen)


def test_an_error_in_progress_stops_the_search(engine, data):
    def fail(done):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve(engine, np.tile(data[0], (50, 1)), progress=fail)


def test_without_time_nothing_is_claimed(engine, data):
    found = solve(engine, data[0], time_limit=0.0)
    assert set(found.status) == {"unknown"}
    assert np.all(found.bound == 0)
    assert np.all(np.isinf(found.cost))
    assert len(found.moves.feature) == 0


def test_frame_has_a_line_per_move_and_one_without_moves(engine, data):
    found = solve(engine, data[0])
    frame = found.to_frame()
    assert len(frame) == len(found.moves.feature)
    assert frame["row"].is_monotonic_increasing
    empty = solve(engine, data[0], time_limit=0.0).to_frame()
    assert len(empty) == len(data[0])
    assert empty["feature"].isna().all()


def test_apply_refuses_another_table(engine, data):
    found = solve(engine, data[0])
    with pytest.raises(InvalidInputError, match="the table that was explained"):
        found.apply(data[0][:10])
    with pytest.raises(InvalidInputError, match="the table that was explained"):
        found.apply(data[0][:, :5])


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_search_within_a_second(n_jobs):
    script = f"""
        import time, numpy as np
        from sklearn.datasets import load_breast_cancer
        from sklearn.ensemble import GradientBoostingClassifier
        from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
        X, y = load_breast_cancer(return_X_y=True)
        engine = CounterfactualEngine(GradientBoostingClassifier(max_depth=1).fit(X, y), CounterfactualProblem())
        engine.observe(X)
        rows = np.tile(X, (3_000, 1))
        own = np.tile(engine.class_index(engine.predict(X)), 3_000)
        print("ready", flush=True)
        try:
            engine.solve(rows, np.arange(len(rows)), own, feature_names=["x"] * 30, n_jobs={n_jobs})
        except KeyboardInterrupt:
            print(time.process_time())
        else:
            print("finished")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    used = wait_until_used(process, own_seconds(process.pid) + 0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert float(out) - used < n_jobs  # seconds of the processor, so that a busy machine does not matter


def test_ties_do_not_depend_on_the_order_of_training_rows_nor_on_units():
    # Moving a feature costs 1 however far, so ties abound; the rule needs several features at once, so that the greedy start
    # often fails and the search begins from training rows.
    rng = np.random.default_rng(31)
    X = rng.integers(0, 4, (1500, 5)).astype(float) + rng.integers(0, 2, (1500, 5)) * 0.25
    y = ((X[:, 2] > 2) & (X[:, 1] > 1) & (X[:, 3] > 1) | (X[:, 0] > 2) & (X[:, 4] < 1) & (X[:, 2] < 1)).astype(int)
    problem = CounterfactualProblem(1.0, 0.0, 0.0)
    points = []
    for training, unit in ((X, 1.0), (X[::-1].copy(), 1.0), (X * 1024, 1024.0)):
        forest = RandomForestClassifier(7, max_depth=4, random_state=31).fit(X * unit, y)
        engine = CounterfactualEngine(forest, problem)
        engine.observe(training)
        points.append(solve(engine, X[:60] * unit).apply(X[:60] * unit) / unit)
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(points[0], points[2])
