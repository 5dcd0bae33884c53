"""Fits report their jobs to scikit-learn's callbacks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from fcca import FCCAClassifier, FCCADiscretizer
from fcca.discretizers import reported_to_callbacks
from fcca.utils import (
    TerminalDisplay,
    open_display,
    progress_bar,
    shown_on,
    stop_search,
    stopping_early as stops_early,
)

pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")

X, y = load_breast_cancer(return_X_y=True)


class Recorder:
    """A callback that records the tasks of a fit."""

    def __init__(self):
        self.begun, self.ended, self.calls = [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.begun.append((context.estimator_name, context.task_name, context.max_subtasks))
        self.calls.append("rows" if X is not None else "task")

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name, context.max_subtasks))


def boosting():
    return GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0)


def test_a_discretizer_reports_the_parts_of_its_search():
    recorder = Recorder()
    found = FCCADiscretizer(boosting(), max_rows=250).set_callbacks(recorder).fit(X, y)
    assert recorder.calls[:2] == ["setup", "rows"]
    assert recorder.calls[-1] == "teardown"
    assert recorder.begun[0] == recorder.ended[-1] == ("FCCADiscretizer", "fit", None)
    assert sorted(map(str, recorder.begun)) == sorted(map(str, recorder.ended))
    assert ("FCCADiscretizer", "Black box", 0) in recorder.ended
    assert ("FCCADiscretizer", "Counterfactuals", 100) in recorder.ended
    n_parts = recorder.ended.count(("FCCADiscretizer", "Counterfactuals, part", 0))
    assert n_parts == 100 * len(found.counterfactuals_) // found.row_sample_.n_rows


def test_a_classifier_reports_the_jobs_of_its_parts():
    recorder = Recorder()
    FCCAClassifier(FCCADiscretizer(boosting())).set_callbacks(recorder).fit(X, y)
    names = [name for _, name, _ in recorder.ended]
    assert names.count("Counterfactuals, part") == 100
    assert "Optimal tree" in names
    assert {owner for owner, _, _ in recorder.ended} == {"FCCAClassifier"}


def test_the_discretizer_of_a_classifier_has_its_own_callbacks():
    recorder = Recorder()
    FCCAClassifier(FCCADiscretizer(boosting()).set_callbacks(recorder)).fit(X, y)
    assert {owner for owner, _, _ in recorder.ended} == {"FCCADiscretizer"}


def test_callbacks_change_no_result():
    plain = FCCADiscretizer(boosting()).fit(X, y)
    reported = clone(plain).set_callbacks(Recorder()).fit(X, y)
    assert reported.all_thresholds_ == plain.all_thresholds_


def test_the_progress_bar_of_scikit_learn_shows_the_jobs(capsys):
    from sklearn.callback import ProgressBar

    FCCAClassifier(FCCADiscretizer(boosting())).set_callbacks(ProgressBar()).fit(X, y)
    assert "FCCAClassifier - Counterfactuals" in capsys.readouterr().out


def test_a_pipeline_passes_its_progress_bar_on(capsys):
    from sklearn.callback import ProgressBar

    model = make_pipeline(StandardScaler(), FCCADiscretizer(boosting())).set_callbacks(ProgressBar())
    model.fit(X, y)
    assert "FCCADiscretizer - fit" in capsys.readouterr().out


def test_callbacks_are_torn_down_after_an_error():
    recorder = Recorder()
    model = FCCADiscretizer(boosting()).set_callbacks(recorder)
    with pytest.raises(ValueError, match="inf"):
        model.fit(np.full((20, 2), np.inf), np.arange(20) % 2)
    assert recorder.calls[-1] == "teardown"
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_ctrl_c_still_ends_only_the_search_on_a_terminal():
    from rich.console import Console

    model = FCCADiscretizer(boosting()).set_callbacks(Recorder())
    with shown_on(TerminalDisplay(Console(quiet=True))), stops_early(), reported_to_callbacks(model, X, y):
        assert not isinstance(open_display(), TerminalDisplay)
        assert stop_search()
        assert not stop_search()
    with stops_early(), reported_to_callbacks(model, X, y):
        assert not stop_search()


def test_an_interrupted_job_ends_its_task():
    model = FCCADiscretizer(boosting()).set_callbacks(recorder := Recorder())
    with reported_to_callbacks(model, X, y):
        with pytest.raises(KeyboardInterrupt), progress_bar("Work", 4):
            raise KeyboardInterrupt
        assert "Work" in [name for _, name, _ in recorder.ended]


def test_the_shown_job_gets_the_same_progress():
    lines = []

    class Display:
        def job(self, label, total):
            from contextlib import nullcontext

            return nullcontext(lambda done, of=None: lines.append((label, done, of)))

    model = FCCADiscretizer(boosting()).set_callbacks(recorder := Recorder())
    with shown_on(Display()), reported_to_callbacks(model, X, y), progress_bar("Work", 4) as update:
        update(1)
        update(4, 4)
    assert lines == [("Work", 1, None), ("Work", 4, 4)]
    assert [name for _, name, _ in recorder.ended] == ["Work, part"] * 4 + ["Work", "fit"]
