"""Ctrl-C inside a callback of a C library, and while rows are searched."""

import ctypes
import io
import json
import sys
import time

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier

from command_line import distill
from fcca import FCCAClassifier, FCCADiscretizer, cli
from fcca.certificates import certificate, verify
from fcca.cli._running import EXIT_INTERRUPTED, Output, run_command
from fcca.discretizers import _sampled_search
from fcca.exceptions import SampledRowsWarning
from fcca.stability import bootstrap
from fcca.utils import TerminalDisplay, shown_on, stopping_early


@ctypes.CFUNCTYPE(None)
def interrupted_callback():
    raise KeyboardInterrupt


def exit_code(work):
    with pytest.raises(typer.Exit) as leaving:
        run_command(work, Output())
    return leaving.value.exit_code


def test_an_interrupt_lost_in_a_callback_ends_the_command():
    def work():
        interrupted_callback()
        for _ in range(3000):
            time.sleep(0.01)
        return 0

    assert exit_code(work) == EXIT_INTERRUPTED


def test_the_error_of_an_interrupted_library_is_not_shown(capsys):
    def work():
        interrupted_callback()
        raise ValueError("no rows from the callback")

    assert exit_code(work) == EXIT_INTERRUPTED
    assert "no rows" not in capsys.readouterr().err


def test_other_errors_in_callbacks_are_still_reported(monkeypatch):
    @ctypes.CFUNCTYPE(None)
    def broken():
        raise RuntimeError("a broken callback")

    def work():
        broken()
        return 0

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.append(str(unraisable.exc_value)))
    assert exit_code(work) == 0
    assert reported == ["a broken callback"]


def test_an_interrupt_in_a_callback_of_xgboost_comes_after_it():
    """Raised inside, it makes XGBoost crash."""
    source = "def _next_wrapper(interrupt):\n    interrupt(2, __import__('sys')._getframe())\n    return 'whole'"
    functions = {}
    exec(compile(source, "site-packages/xgboost/core.py", "exec"), functions)

    def work():
        assert functions["_next_wrapper"](cli.interrupt) == "whole"
        for _ in range(3000):
            time.sleep(0.01)
        return 0

    assert exit_code(work) == EXIT_INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        cli.interrupt(2, sys._getframe())


# --- a search that is stopped ---------------------------------------------------------------------------------------------


@pytest.fixture
def watched():
    """A terminal with a person in front of it."""
    console = Console(file=io.StringIO(), force_terminal=True)
    with TerminalDisplay(console, 60.0) as display, shown_on(display):
        yield


@pytest.fixture
def stopped(monkeypatch):
    """Ctrl-C in the third batch of rows of every search."""
    usual, batches = _sampled_search.find_counterfactuals, []

    def search(*given):
        batches.append(len(given[2]))
        if len(batches) == 3:
            batches.clear()
            raise KeyboardInterrupt
        return usual(*given)

    monkeypatch.setattr(_sampled_search, "find_counterfactuals", search)
    monkeypatch.setattr("fcca.discretizers._threshold_search.SMALL_ENSEMBLE", 0)


def some_rows(n=600):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(n, 4)).round(2), columns=list("abcd"))
    return X, (X["a"] + X["b"] * X["c"] + random.normal(0, 0.3, n) > 0).astype(int).to_numpy()


def all_rows():
    return FCCADiscretizer(RandomForestClassifier(5, max_depth=4, random_state=0), max_rows="all")


def test_ctrl_c_keeps_the_rows_searched_so_far(watched, stopped):
    X, y = some_rows()
    words = r"Stopped after 25[01] of 5\d\d rows; the table so far has \d+ thresholds"
    with stopping_early(), pytest.warns(SampledRowsWarning, match=words):
        classifier = FCCAClassifier(all_rows()).fit(X, y)
    found = classifier.discretizer_
    assert found.row_sample_.reason == "interrupted"
    assert len(found.counterfactuals_) == found.row_sample_.n_searched
    assert (found.thresholds_.share_low < found.thresholds_.share_high).all()
    result = verify(certificate(classifier), X, y, found.estimator_, sample=2)
    assert result.accepted, result
    assert json.loads(certificate(classifier))["sample"]["reason"] == "interrupted"


def test_a_second_ctrl_c_ends_the_fit(watched, stopped, monkeypatch):
    X, y = some_rows()

    def again(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FCCAClassifier, "grow", again)
    with stopping_early(), pytest.warns(SampledRowsWarning), pytest.raises(KeyboardInterrupt):
        FCCAClassifier(all_rows()).fit(X, y)


@pytest.mark.filterwarnings("ignore::fcca.exceptions.SampledRowsWarning")
def test_only_the_first_of_several_searches_is_stopped(watched, stopped):
    X, y = some_rows()
    with stopping_early():
        assert all_rows().fit(X, y).row_sample_.reason == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            all_rows().fit(X, y)


def test_ctrl_c_before_the_first_rows_ends_the_fit(watched, monkeypatch):
    def search(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(_sampled_search, "find_counterfactuals", search)
    monkeypatch.setattr("fcca.discretizers._threshold_search.SMALL_ENSEMBLE", 0)
    with stopping_early(), pytest.raises(KeyboardInterrupt):
        all_rows().fit(*some_rows())


def test_ctrl_c_ends_scripts_and_fits_that_are_part_of_other_work(stopped, watched):
    X, y = some_rows()
    with pytest.raises(KeyboardInterrupt):  # no one has asked to keep results
        all_rows().fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        bootstrap(FCCAClassifier(all_rows()), X, y, n_samples=3)


def test_ctrl_c_without_a_terminal_ends_the_fit(stopped):
    with pytest.raises(KeyboardInterrupt):
        all_rows().fit(*some_rows())


def test_the_command_keeps_the_rows_searched_so_far(stopped, tmp_path, monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr("fcca.cli._running.PlainDisplay", lambda stream: TerminalDisplay(console, 60.0))
    X, y = some_rows(700)
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--model", "rf", "--max-rows", "all", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "Stopped after 25" in result.stderr + result.stdout
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["sample"]["reason"] == "interrupted"
