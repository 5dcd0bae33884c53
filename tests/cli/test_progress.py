"""What is shown of work that takes time."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from rich.console import Console
from sklearn.datasets import load_iris

from command_line import distill
from fcca import FCCADiscretizer
from fcca.utils import _progress as progress


def wait_for(stream: io.StringIO, text: str) -> str:
    """What the stream holds once the text is in it."""
    for _ in range(500):
        if text in stream.getvalue():
            return stream.getvalue()
        time.sleep(0.01)
    pytest.fail(f"{text!r} is not in {stream.getvalue()!r}")


def test_without_a_terminal_long_work_says_how_far_it_is():
    stream = io.StringIO()
    with progress.PlainDisplay(stream, seconds=0.02) as display, progress.shown_on(display):
        with progress.step("Fitting"):
            wait_for(stream, "Fitting: 0 s so far\n")
            with progress.progress_bar("Counterfactuals", 5000) as update:
                update(1200)
                wait_for(stream, "Counterfactuals: 1,200 of 5,000, about 0 s left\n")
        with progress.progress_bar("Report", None) as update:
            wait_for(stream, "Report: 0 s so far\n")
            update(3, 12)
            wait_for(stream, "Report: 3 of 12, about ")
    length = len(stream.getvalue())
    time.sleep(0.1)
    assert len(stream.getvalue()) == length  # over is over
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", stream.getvalue())


def test_the_time_left_is_that_of_the_outermost_work():
    stream = io.StringIO()
    with (
        progress.PlainDisplay(stream, seconds=0.02) as display,
        progress.shown_on(display),
        progress.progress_bar("Folds", 5) as outer,
        progress.progress_bar("Rows", 9) as inner,
    ):
        outer(1)
        inner(4)
        wait_for(stream, "Folds: 1 of 5, ")
    assert "Rows" not in stream.getvalue()


def test_short_work_says_nothing(csv, out):
    stream = io.StringIO()
    with progress.PlainDisplay(stream) as display, progress.shown_on(display), progress.step("Reading"):
        pass
    assert stream.getvalue() == ""
    assert distill(csv, "--out", out).stderr == ""


def test_a_closed_stream_does_not_end_the_display():
    class Closed(io.StringIO):
        writes = 0

        def write(self, text):
            self.writes += 1
            return super().write(text)

    stream = Closed()
    stream.close()
    with progress.PlainDisplay(stream, seconds=0.01) as display, progress.shown_on(display), progress.step("Reading"):
        for _ in range(500):
            if stream.writes > 1:
                break
            time.sleep(0.01)
    assert stream.writes > 1  # the thread went on after the first error


@pytest.mark.parametrize("width", [100, 60])
def test_a_terminal_shows_bars_with_the_time_left_and_wipes_them(width):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    with progress.TerminalDisplay(console) as display, progress.shown_on(display):
        with progress.step("Reading [red]the data"):
            display._progress.refresh()
        with progress.progress_bar("Counterfactuals", 5000) as update:
            for done in range(0, 5001, 500):
                update(done)
                time.sleep(0.01)
            display._progress.refresh()
    shown = stream.getvalue()
    assert "Reading [red]the data" in shown
    assert "Counterfactuals" in shown
    assert "of 5,000" in shown
    assert re.search(r"about \d+ s left", shown)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "\n").splitlines()
    assert max(len(line) for line in lines) <= width
    assert shown.rstrip().endswith("\x1b[2K\x1b[?25h")  # the last line is wiped and the cursor is back


def test_without_a_terminal_the_library_shows_progress_only_if_asked(capsys, monkeypatch):
    X, y = load_iris(return_X_y=True)
    opened = []
    plain = progress.PlainDisplay
    monkeypatch.setattr(progress, "PlainDisplay", lambda stream: opened.append(stream) or plain(stream))
    for verbose in (None, 0):
        FCCADiscretizer(verbose=verbose).fit(X[:100], y[:100])
        assert opened == []
    FCCADiscretizer(verbose=1).fit(X[:100], y[:100])
    assert opened == [sys.stderr]
    assert capsys.readouterr().out == ""


FIT = """
import sys, threading
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from fcca import FCCAClassifier, FCCADiscretizer
from fcca.utils import _progress
verbose, seconds, own_thread = eval(sys.argv[1])
_progress.SECONDS_UNSEEN = seconds
X, y = load_iris(return_X_y=True)
def fit():
    FCCAClassifier(FCCADiscretizer(RandomForestClassifier(60, random_state=0), verbose=verbose)).fit(X, y)
thread = threading.Thread(target=fit)
thread.start() if own_thread else fit()
"""


def in_terminal(*arguments) -> str:
    """What a fit shows whose standard error is a terminal."""
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", FIT, repr(arguments)], stderr=inner, env=os.environ | {"TERM": "xterm"}
    ) as fit:
        os.close(inner)
        shown = b""
        with suppress(OSError):  # the terminal is closed at the end
            while part := os.read(outer, 4096):
                shown += part
    os.close(outer)
    assert fit.returncode == 0
    return shown.decode()


def test_a_terminal_shows_the_progress_of_a_long_fit():
    shown = in_terminal(None, 0.02, False)
    assert "Black box" in shown
    assert "Counterfactuals" in shown
    assert "of 150" in shown


@pytest.mark.parametrize(
    ("verbose", "seconds", "own_thread"),
    [(None, 60, False), (0, 0.02, False), (None, 0.02, True)],
    ids=["short", "verbose=0", "another thread"],
)
def test_a_terminal_shows_nothing_of(verbose, seconds, own_thread):
    assert in_terminal(verbose, seconds, own_thread) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "about 0 s left"), (40, "about 40 s left"), (200, "about 3 min left"), (9000, "about 2.5 h left")],
)
def test_times_are_rough(seconds, text):
    assert progress.time_left(seconds) == text


def test_quiet_opens_no_display(csv, out, monkeypatch):
    opened = []
    plain = progress.PlainDisplay
    monkeypatch.setattr("fcca.cli._running.PlainDisplay", lambda stream: opened.append(stream) or plain(stream))
    assert distill(csv, "--out", out, "--quiet").exit_code == 0
    assert opened == []
    assert distill(csv, "--out", out).exit_code == 0
    assert len(opened) == 1
