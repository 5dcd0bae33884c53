"""Every example runs, and says nothing that a reader should not see."""

import re
import runpy
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from real_data import data_file, imported

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
NEEDS = {"xgboost", "lightgbm", "catboost", "skops", "interpret"}


def test_there_are_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_warnings_and_draws(path, capfd, monkeypatch, tmp_path):
    source = path.read_text(encoding="utf-8")
    for library in NEEDS & set(re.findall(r"^(?:from|import) (\w+)", source, flags=re.MULTILINE)):
        imported(library)
    for name in re.findall(r"\"FCCA_DATA\"\], \"(\w+)\.csv\"", source):
        data_file(name)
    monkeypatch.chdir(tmp_path)
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: (drawn.extend(plt.get_fignums()), plt.close("all")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        runpy.run_path(str(path), run_name="__main__")
    assert drawn
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_asks_one_question(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120
    assert set(lines[2]) == {"="}
    assert len(lines[2]) >= len(lines[1])
