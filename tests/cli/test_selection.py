"""``fcca distill --thresholds``: so many, the best of them, and what is proven."""

import json

import pandas as pd
import pytest

from command_line import distill
from fcca import ThresholdTable
from fcca.metrics import inconsistency_rate


def test_so_many_thresholds_with_their_proof(tmp_path):
    result = distill("--thresholds", 3, "--q", 0.5, "--json", "--test-size", 0, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["thresholds"]
    chosen = found["selection"]
    assert (chosen["n_thresholds"], len(found["kept"])) == (3, 3)
    assert 3 < chosen["candidates"] < found["found"]  # those that --q keeps
    assert chosen["proof"] == "proven optimal"
    assert chosen["inconsistency"] == chosen["lower_bound"]
    table = ThresholdTable.from_json((tmp_path / "thresholds.json").read_text(encoding="utf-8"))
    assert len(table) == len(pd.read_csv(tmp_path / "thresholds.csv")) == 3


def test_the_inconsistency_printed_is_that_of_the_training_rows(tmp_path):
    from sklearn.datasets import load_breast_cancer

    distill("--thresholds", 2, "--test-size", 0, "--out", tmp_path)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = ThresholdTable.from_json((tmp_path / "thresholds.json").read_text(encoding="utf-8"))
    rate = inconsistency_rate(table.binarize(X), y)
    printed = distill("--thresholds", 2, "--test-size", 0, "--out", tmp_path).stdout
    line = next(line for line in printed.splitlines() if "Selection" in line)
    assert "proven optimal: 2 of 78 thresholds" in line
    assert f"inconsistency {100 * rate:.2f} %" in line


def test_auto_chooses_the_number(tmp_path):
    result = distill("--thresholds", "auto", "--q", 0.7, "--json", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["thresholds"]
    assert 1 <= found["selection"]["n_thresholds"] == len(found["kept"]) <= 16


def test_without_it_there_is_no_selection(tmp_path):
    result = distill("--q", 0.9, "--json", "--out", tmp_path)
    assert json.loads(result.stdout)["thresholds"]["selection"] is None
    assert "Selection" not in distill("--q", 0.9, "--out", tmp_path).stdout


def test_it_is_measured_against_what_the_tree_learns(tmp_path):
    result = distill("--preset", "paper", "--thresholds", 5, "--fit-to", "target", "--json", "--out", tmp_path)
    against_target = json.loads(result.stdout)["thresholds"]["selection"]["inconsistency"]
    result = distill("--preset", "paper", "--thresholds", 5, "--json", "--out", tmp_path)
    assert against_target != json.loads(result.stdout)["thresholds"]["selection"]["inconsistency"]


@pytest.mark.parametrize("given", ["0", "-3", "2.5", "many", "", "1e3"])
def test_invalid_numbers_raise_errors_before_any_work(tmp_path, given):
    result = distill(f"--thresholds={given}", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "Expected 'auto' or a whole number of at least 1" in result.stderr
    assert not (tmp_path / "out").exists()
