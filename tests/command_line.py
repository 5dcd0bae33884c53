"""The command line as tests call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from fcca.cli._app import app
from fcca.utils import _progress

# However slow the machine: what a command says beside its result is what the tests look at.
_progress.SECONDS_BETWEEN_LINES = 3600.0

FILES = ["certificate.json", "counterfactuals.parquet", "thresholds.csv", "thresholds.json", "tree.json"]
REPORT = "report.html"
COMMAND = [sys.executable, "-c", "from fcca.cli import main; main()"]


def run(*args: object, columns: int = 200):
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": str(columns)}, prog_name="fcca")


def distill(*args: object, report: bool = False, **kwargs: int):
    """``fcca distill``; without the report unless it is asked for, which takes a tree per step of its slider."""
    result = run("distill", *args, *([] if report else ["--no-report"]), **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def explain(*args: object, **kwargs: int):
    result = run("explain", *args, **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run_process(*args: object, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, encoding="utf-8", **kwargs)


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def table(n: int = 80, seed: int = 0) -> pd.DataFrame:
    """Two columns of numbers, a boolean one and a text label that hangs on the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(3)
    label = np.where(X[:, 0] + 0.1 * rng.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame({"height": X[:, 0], "weight": X[:, 1], "member": rng.random(n) > 0.5, "label": label})


def columns() -> pd.DataFrame:
    """The columns of the table without its label, as numbers."""
    return table().drop(columns="label").astype(float)


def loans(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Numbers and texts, gaps in both, and a label that hangs on one of each."""
    rng = np.random.default_rng(seed)
    purpose = rng.choice(["car", "a new kitchen, fitted", "tv"], n)
    income = rng.normal(30, 8, n).round(1)
    label = np.where((purpose == "car") & (income + rng.normal(0, 2, n) > 28), "granted", "refused")
    frame = pd.DataFrame({"income": income, "purpose": purpose, "children": rng.integers(0, 4, n), "label": label})
    frame.loc[rng.random(n) < 0.2, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "purpose"] = None
    return frame


def check_refused(result, *mentioned: str) -> None:
    """An error, nothing but an error, and these words in it."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    for text in mentioned:
        assert text in result.stderr
