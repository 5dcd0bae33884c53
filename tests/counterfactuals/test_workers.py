"""Worker processes of joblib backends: the same results as threads, byte for byte."""

import os
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import fields

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import CounterfactualExplainer, FCCADiscretizer
from fcca.constraints import (
    Bounds,
    Fillable,
    Immutable,
    Implies,
    Increasing,
    Limits,
    Linear,
    LinearRule,
    MaxChanges,
    OneHot,
    Rule,
)
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem, Counterfactuals, _workers
from fcca.counterfactuals._workers import n_worker_processes
from fcca.exceptions import UnsupportedModelError, UnverifiedCounterfactualWarning, WorkerDiedError
from mixed_tables import loans
from real_data import imported

LOKY = {"backend": "loky", "n_jobs": 2}


class OfAnotherMind(GradientBoostingClassifier):
    """Its predict disagrees with its trees."""

    def predict(self, X):
        answers = super().predict(X)
        answers[X[:, 0] > np.median(self.seen_)] = self.classes_[0]
        return answers


class AtHomeNowhere(GradientBoostingClassifier):
    """Cannot predict in the process that fitted it."""

    def fit(self, X, y):
        self.home_ = os.getpid()
        return super().fit(X, y)

    def predict(self, X):
        if os.getpid() == self.home_:
            raise RuntimeError("asked at home")
        return super().predict(X)


class Mortal(GradientBoostingClassifier):
    """Ends the calling process, as a system without memory would, a given number of times."""

    def predict(self, X):
        if os.getpid() != self.home_:
            for death in range(self.deaths_):
                try:
                    os.close(os.open(f"{self.graves_}/{death}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                time.sleep(0.5)  # chunks that came before may arrive
                os._exit(9)
        return super().predict(X)


class Speechless(GradientBoostingClassifier):
    """Predicts the original rows, but no changed ones."""

    def predict(self, X):
        if not np.isin(X[:, 0], self.seen_).all() or len(X) < len(self.seen_):
            raise ArithmeticError("no answer to this")
        return super().predict(X)


def assert_same(found, expected):
    """Every field but the seconds, to the last bit and with its type."""
    assert type(found) is type(expected)
    for field in fields(expected):
        if field.name == "seconds":
            assert len(found.seconds) == len(expected.seconds)
            continue
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        pairs = zip(ours, theirs, strict=True) if field.name in ("moves", "box") and theirs is not None else [(ours, theirs)]
        for one, other in pairs:
            if isinstance(other, np.ndarray) and other.dtype != object:
                assert one.dtype == other.dtype
                assert one.shape == other.shape
                assert one.tobytes() == other.tobytes(), field.name
            elif hasattr(other, "equals"):
                assert one.equals(other)
            else:
                assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other


@contextmanager
def counted_calls(monkeypatch):
    """Count the calls that use workers."""
    calls = []
    solve = _workers.solve_by_workers
    monkeypatch.setattr("fcca.counterfactuals._engine.solve_by_workers", lambda *a, **k: calls.append(1) or solve(*a, **k))
    yield calls


def cancer(n=60):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y, X.iloc[:n]


def stumps():
    X, y, some = cancer(200)
    return CounterfactualExplainer(
        GradientBoostingClassifier(n_estimators=40, max_depth=1, random_state=0).fit(X, y), X
    ), some


def deep_forest_of_three_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return CounterfactualExplainer(RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y), X), X


def rules_that_differ_from_row_to_row():
    X, y, some = cancer()
    rules = [
        Bounds("mean radius", low=-0.1, high=0.1, relative=True),
        Increasing("worst area"),
        Immutable("mean texture"),
        Linear({"mean radius": 1, "worst radius": -1}, upper=0),
        Implies("worst area rises", "worst radius rises"),
        MaxChanges(3),
    ]
    forest = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(X, y)
    return CounterfactualExplainer(forest, X, constraints=rules), some


def groups_that_differ_from_row_to_row():
    X, y = make_classification(120, 8, random_state=0)
    X[:, :3] = np.eye(3)[np.arange(len(X)) % 3]
    X[:2, :3] = [[1, 1, 0], [0, 0, 0]]  # what no other chunk has
    y = (X[:, 0] + X[:, 4] + 0.3 * X[:, 5] > 0.5).astype(int)
    forest = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(X, y)
    return CounterfactualExplainer(forest, X, constraints=[OneHot("x0", "x1", "x2")]), X[:50]


def categories_and_gaps():
    X, y = loans()
    X["purpose"] = X["purpose"].astype("category")
    boosting = HistGradientBoostingClassifier(
        max_iter=15, max_depth=3, categorical_features="from_dtype", random_state=0
    ).fit(X, y)
    some = X.iloc[:80].sort_values("income")  # all gaps in the last chunks
    return CounterfactualExplainer(boosting, X, constraints=[Fillable("income")]), some


def plausible():
    X, y = load_iris(return_X_y=True, as_frame=True)
    stumps = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0).fit(X, y > 0)
    return CounterfactualExplainer(stumps, X, plausibility=0.2), X.iloc[40:60]


def linear():
    X, y, some = cancer()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    rules = [Implies("mean radius rises", "worst radius rises"), Bounds("mean area", low=-0.2, high=0.2, relative=True)]
    return CounterfactualExplainer(model, X, constraints=rules), some


def linear_of_three_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return CounterfactualExplainer(LogisticRegression(max_iter=1000).fit(X, y), X), X


CASES = [
    stumps,
    deep_forest_of_three_classes,
    rules_that_differ_from_row_to_row,
    groups_that_differ_from_row_to_row,
    categories_and_gaps,
    plausible,
    linear,
    linear_of_three_classes,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_processes_give_what_threads_give(case, monkeypatch):
    explainer, rows = case()
    expected = explainer.explain(rows)
    with counted_calls(monkeypatch) as calls, parallel_config(**LOKY):
        found = explainer.explain(rows)
    assert calls
    assert_same(found, expected)


def test_further_answers_of_a_row_are_the_same():
    explainer, rows = stumps()
    expected = explainer.explain(rows.iloc[:12], n=3)
    with parallel_config(**LOKY):
        assert_same(explainer.explain(rows.iloc[:12], n=3), expected)


def test_a_backend_without_generators_does_as_well():
    explainer, rows = stumps()
    expected = explainer.explain(rows)
    with parallel_config(backend="multiprocessing", n_jobs=2):
        assert_same(explainer.explain(rows), expected)


def test_a_discretizer_finds_the_same_thresholds():
    X, y = loans()
    X = X.drop(columns=["purpose", "grade"])
    estimator = HistGradientBoostingClassifier(max_iter=15, max_depth=2, random_state=0)
    expected = FCCADiscretizer(estimator).fit(X, y)
    with parallel_config(backend="loky"):
        found = FCCADiscretizer(estimator, n_jobs=2).fit(X, y)
    assert_same(found.counterfactuals_, expected.counterfactuals_)
    assert found.all_thresholds_.to_frame().equals(expected.all_thresholds_.to_frame())


def engine_of(estimator, X, y, **options):
    engine = CounterfactualEngine(estimator.fit(X, y), CounterfactualProblem(0.1, 1.0, 0.0, 1e-4), **options)
    engine.observe(X)
    names = [f"x{j}" for j in range(X.shape[1])]
    own = np.argmax(estimator.predict_proba(X), axis=1).astype(np.int32)

    def solve(points, **settings):
        return engine.solve(X, points, own[points], feature_names=names, **settings)

    return solve


def small(n=60):
    return make_classification(n, 6, random_state=0)


def test_the_program_of_last_resort_is_shared_out_too(monkeypatch):
    solve = engine_of(GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0), *small(), method="milp")
    points = np.arange(3, 11)
    expected = solve(points)
    with counted_calls(monkeypatch) as calls, parallel_config(**LOKY):
        assert_same(solve(points), expected)
    assert calls


def test_the_workers_ask_the_classifier_itself():
    solve = engine_of(AtHomeNowhere(n_estimators=5, random_state=0), *small())
    with pytest.raises(RuntimeError, match="asked at home"):
        solve(np.arange(20))
    with parallel_config(**LOKY):
        assert (solve(np.arange(20)).status == "optimal").all()


def test_unverified_counterfactuals_are_unverified_in_workers_too():
    X, y = small()
    estimator = OfAnotherMind(n_estimators=5, random_state=0)
    estimator.seen_ = X[:, 0]
    solve = engine_of(estimator, X, y)
    expected = solve(np.arange(60))
    assert 0 < expected.is_status("unverified").sum() < 60
    with parallel_config(**LOKY):
        assert_same(solve(np.arange(60)), expected)
    with parallel_config(**LOKY), pytest.warns(UnverifiedCounterfactualWarning):
        CounterfactualExplainer(estimator, X).explain(X)


def test_a_classifier_that_cannot_be_pickled_is_refused():
    estimator = GradientBoostingClassifier(n_estimators=5, random_state=0)
    solve = engine_of(estimator, *small())
    estimator.lock = threading.Lock()
    with parallel_config(**LOKY), pytest.raises(UnsupportedModelError, match="backend='threading'"):
        solve(np.arange(60))


def test_programs_of_columns_under_rules_have_in_a_worker_what_they_need(monkeypatch):
    X, y = small()
    X[:, 5] = X[:, 5] > 0
    X[:, 4] = 1 - X[:, 5]
    estimator = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    solve = engine_of(estimator, X, y, method="milp")
    limits = Limits(linear=(LinearRule({0: 1.0, 1: -1.0}, 0.5),), groups=((4, 5),))
    expected = solve(np.arange(8), limits=limits)
    assert (expected.status == "optimal").any()
    with counted_calls(monkeypatch) as calls, parallel_config(**LOKY):
        assert_same(solve(np.arange(8), limits=limits), expected)
    assert calls


def test_arguments_are_refused_before_a_worker_is_asked():
    solve = engine_of(LogisticRegression(), *small(), method="milp")
    for context in ({"backend": "threading"}, LOKY):
        with parallel_config(**context), pytest.raises(UnsupportedModelError, match="is linear"):
            solve(np.arange(10))


# --- time -----------------------------------------------------------------------------------------------------------------


def test_a_timeout_gives_the_same_statuses_as_threads():
    explainer, rows = deep_forest_of_three_classes()
    explainer.time_limit = 0.0
    expected = explainer.explain(rows)
    assert (expected.status != "optimal").any()
    with parallel_config(**LOKY):
        assert_same(explainer.explain(rows), expected)


def in_this_process(monkeypatch, change=lambda chunk, before: chunk):
    """Solve the chunks in this process; return the list of sent chunks."""
    sent, solve_chunk = [], _workers._solve_chunk

    def here(shared, chunk):
        sent.append((shared, chunk))
        return solve_chunk(shared, change(chunk, len(sent) - 1))

    monkeypatch.setattr(_workers, "_solve_chunk", here)
    monkeypatch.setattr(_workers, "delayed", lambda function: function)
    monkeypatch.setattr(_workers, "Parallel", lambda **settings: lambda answers: (answer for answer in answers))
    return sent


def test_a_chunk_that_waited_gets_what_is_left_of_the_time(monkeypatch):
    explainer, rows = deep_forest_of_three_classes()
    explainer.time_limit = 600.0
    sent = in_this_process(monkeypatch, lambda chunk, before: chunk._replace(ends_at=0.0) if before >= 3 else chunk)
    with parallel_config(**LOKY):
        found = explainer.explain(rows)
    timely = sum(len(chunk.per_point["rows"]) for _, chunk in sent[:3])
    assert (found.status[:timely] == "optimal").all()
    assert (found.status[timely:] != "optimal").any()
    lefts = [chunk.time_limit for _, chunk in sent]
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[-1] < lefts[0] <= 600.0


def test_progress_is_updated_chunk_by_chunk():
    solve = engine_of(GradientBoostingClassifier(n_estimators=5, random_state=0), *small())
    told = []
    with parallel_config(**LOKY):
        solve(np.arange(60), progress=told.append)
    assert len(told) == 2 * _workers.CHUNKS_PER_WORKER
    assert told == sorted(told)
    assert told[-1] == 60


# --- where the work goes, and what goes with it ---------------------------------------------------------------------------


def test_processes_are_used_where_the_backend_has_them_alone():
    assert n_worker_processes(2) == 1
    for settings in ({"backend": "threading"}, {"backend": "sequential"}, {"backend": "loky", "require": "sharedmem"}, {}):
        with parallel_config(n_jobs=2, **settings):
            assert n_worker_processes(None) == n_worker_processes(2) == 1
    with parallel_config(**LOKY):
        assert (n_worker_processes(None), n_worker_processes(3), n_worker_processes(1)) == (2, 3, 1)
    with joblib.parallel_backend("multiprocessing", n_jobs=2):
        assert n_worker_processes(None) == 2


def test_workers_start_no_workers_of_their_own():
    with parallel_config(**LOKY):
        found = Parallel()(delayed(n_worker_processes)(n_jobs) for n_jobs in (None, 2, -1))
    assert found == [1, 1, 1]


@pytest.mark.parametrize("constraints", [None, [Rule("x0 <= x1"), MaxChanges(2)]], ids=["no rules", "rules"])
def test_training_rows_are_not_sent(monkeypatch, constraints):
    X, y = make_classification(50_000, 10, random_state=0)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[:1000], y[:1000])
    explainer = CounterfactualExplainer(forest, X, constraints=constraints)
    sent = in_this_process(monkeypatch)
    with parallel_config(**LOKY):
        explainer.explain(X[:10])
    assert sum(chunk.per_point["rows"].nbytes for _, chunk in sent) == X[:10].nbytes
    assert len({id(shared) for shared, _ in sent}) == 1
    assert len(sent[0][0]) < X.nbytes / 50


def test_one_point_stays_here(monkeypatch):
    explainer, rows = stumps()
    with counted_calls(monkeypatch) as calls, parallel_config(**LOKY):
        found = explainer.explain(rows.iloc[[0]])
    assert not calls
    assert isinstance(found, Counterfactuals)


# --- clusters -------------------------------------------------------------------------------------------------------------


@pytest.mark.verify
def test_a_dask_cluster_gives_what_threads_give(monkeypatch):
    distributed = imported("distributed")
    cases = [case() for case in (deep_forest_of_three_classes, categories_and_gaps, linear)]
    expected = [explainer.explain(rows) for explainer, rows in cases]
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster), parallel_config(backend="dask"):
        for (explainer, rows), answers in zip(cases, expected, strict=True):
            with counted_calls(monkeypatch) as calls:
                assert_same(explainer.explain(rows), answers)
            assert calls


# --- what ends the workers, which take a while to start again ------------------------------------------------------------


@pytest.mark.slow
def test_an_error_of_the_classifier_is_raised_as_it_is():
    X, y = small()
    estimator = Speechless(n_estimators=5, random_state=0)
    estimator.seen_ = X[:, 0]
    solve = engine_of(estimator, X, y)
    with parallel_config(**LOKY), pytest.raises(ArithmeticError, match="no answer to this"):
        solve(np.arange(60))


def mortal(tmp_path, deaths):
    estimator = Mortal(n_estimators=5, random_state=0)
    estimator.home_, estimator.graves_, estimator.deaths_ = os.getpid(), str(tmp_path), deaths
    return engine_of(estimator, *small())


@pytest.mark.slow
def test_new_workers_take_over_after_a_death(tmp_path):
    solve = mortal(tmp_path, 1)
    expected = solve(np.arange(60))
    told = []
    with parallel_config(**LOKY):
        assert_same(solve(np.arange(60), progress=told.append), expected)
    assert os.listdir(tmp_path) == ["0"]
    assert told == sorted(set(told))
    assert told[-1] == 60


def test_results_from_before_a_death_are_kept(monkeypatch):
    X, y = small()
    solve = engine_of(GradientBoostingClassifier(n_estimators=5, random_state=0), X, y)
    expected = solve(np.arange(60))
    sent = in_this_process(monkeypatch)

    def broken_after_some(**settings):
        n_tasks = 5 if len(sent) < 10 else 60

        def answers(tasks):
            for at, answer in enumerate(tasks):
                yield answer
                if at + 1 == n_tasks:
                    raise BrokenProcessPool("a worker is gone")

        return answers

    monkeypatch.setattr(_workers, "Parallel", broken_after_some)
    with parallel_config(**LOKY):
        assert_same(solve(np.arange(60)), expected)
    assert [chunk.per_point["rows"].tobytes() for _, chunk in sent] == [
        X[which].tobytes() for which in _workers._equal_parts(60, 2)
    ]


@pytest.mark.slow
def test_repeated_deaths_of_workers_are_an_error(tmp_path):
    solve = mortal(tmp_path, 10)
    with (
        parallel_config(**LOKY),
        pytest.raises(WorkerDiedError, match=r"Worker processes died 3 times.* memory .*lower n_jobs"),
    ):
        solve(np.arange(60))
