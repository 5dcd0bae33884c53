"""Ctrl-C inside a callback of a C library, which Python cannot raise there."""

import ctypes
import sys
import time

import pytest
import typer

from fcca import cli
from fcca.cli._running import EXIT_INTERRUPTED, Output, run_command


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
