"""The quality benchmark fits, measures, continues and reports what its page promises."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score

ROOT = Path(__file__).parents[2]
FEW = ("fcca default", "fcca evidence", "deciles", "GTRE", "CART depth 3", "CART 8 leaves")


@pytest.fixture
def folder(tmp_path):
    """Two small tables, and a file that holds no classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)).round(2)
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
    frame.to_csv(tmp_path / "alpha.csv", index=False)
    frame.assign(label=X[:, 0]).to_csv(tmp_path / "price.csv", index=False)
    three = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
    three[:4] = 9  # a class of four rows
    (tmp_path / "contree").mkdir()
    with gzip.open(tmp_path / "contree" / "beta.txt.gz", "wt") as file:
        file.writelines(f"{k} {' '.join(map(str, row))}\n" for k, row in zip(three, X, strict=True))
    return tmp_path


def run(folder, *arguments):
    record = folder / "record.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "quality.py"), *arguments, "--fresh", "--json", str(record)]
    ended = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=500, env=os.environ | {"FCCA_DATA": str(folder)}, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(record.read_text(encoding="utf-8")), ended.stdout


def test_a_small_run_measures_every_method_on_every_split(folder):
    record, text = run(folder, "--splits", "2", "--methods", *FEW)
    assert record["ended"] is None
    assert any(line.startswith("price: ") for line in record["skipped"])
    sizes = {line["table"]: (line["half"], line["rows"], line["classes"]) for line in record["tables"]["Tables"]}
    assert sizes == {"alpha": ("odd", 240, 2), "beta": ("even", 236, 3)}
    for half in ("odd", "even"):
        assert {line["method"]: line["done"] for line in record["tables"][f"Fits, {half} tables"]} == dict.fromkeys(FEW, 2)
        means = {line["method"]: line for line in record["tables"][f"Means over the {half} tables"]}
        assert set(means) == set(FEW)
        for line in means.values():
            assert line["tables"] == 1
            assert line["splits"] == "2"
            assert 0.5 < line["accuracy"] <= 1
            assert 0.5 < line["AUC"] <= 1
            assert 0 < line["log-loss"] < 1
            assert 1 <= line["leaves"] <= 8
            assert line["conditions"] < line["leaves"]
        assert means["GTRE"]["columns"] <= means["fcca default"]["columns"]
        assert means["fcca default"]["proven"] == 1
        ranks = record["tables"][f"Mean ranks among {len(FEW)} methods, {half} tables"]
        assert sum(line["AUC"] for line in ranks) == pytest.approx(sum(range(1, len(FEW) + 1)))
    assert {one["text"].split()[0] for one in record["verdicts"]} == {"odd", "even"}
    assert "beta, split 2" in text


def test_a_fit_past_its_limit_is_ended_and_named(folder):
    record, _ = run(folder, "--tables", "alpha", "--splits", "1", "--methods", "random forest", "--limit", "0.02")
    (line,) = record["tables"]["Not measured, odd tables"]
    assert (line["table"], line["method"], line["status"], line["splits"]) == ("alpha", "random forest", "time limit", 1)


def test_a_run_past_its_budget_says_what_is_left(quality):
    cells = quality.cells_to_fit(["alpha", "beta"], 3, ["CART depth 3"], quality.Store(None))
    assert quality.run_cells(cells, 2, 60.0, 0.0, print) == {"done": 0, "left": 6}


def outcome(quality, table="alpha", split=0, method="CART depth 3", **figures):
    return {"table": table, "split": split, "method": method, "status": "done", "reason": "", **figures}


def test_fits_are_kept_until_their_code_changes(quality, tmp_path):
    path = tmp_path / "cells.jsonl"
    store = quality.Store(path)
    store.keep(outcome(quality, accuracy=np.float64(0.5)))
    store.keep(outcome(quality, split=1))
    path.write_text(path.read_text() + '{"table": "alpha", "spl')  # ended while it wrote
    again = quality.Store(path)
    assert again.found == store.found
    again.keep(outcome(quality, split=2))
    assert len(quality.Store(path).found) == 3
    cells = quality.cells_to_fit(["alpha", "beta"], 4, ["CART depth 3", "pycontree"], again)
    asked = [(cell.split, cell.table, "CART depth 3" in cell.methods, "pycontree" in cell.methods) for cell in cells]
    both = [(split, "beta", True, split < 1) for split in range(4)]
    alpha = [(0, "alpha", False, True), (3, "alpha", True, False)]
    assert asked == sorted([*both, *alpha], key=lambda one: (one[0], one[1]))
    path.write_text(path.read_text().replace(store.versions["CART depth 3"], "0-0"))
    assert not quality.Store(path).found


def test_a_missing_library_is_said(quality):
    fits = sys.modules["_quality_fits"]
    method = fits.Method("theirs", "other trees", print, ("no_such_library", "no-such-library"))
    assert method.missing == "no-such-library is not installed (pip install 'fcca[bench]')"
    assert quality.METHODS["CART depth 3"].missing == ""


def test_leaves_are_smoothed_by_a_half(quality):
    fits = sys.modules["_quality_fits"]
    found = fits.leaf_probability(np.array([4, 4, 7]), np.array([0, 2, 1]), np.array([7, 4]), 3)
    np.testing.assert_allclose(found, [[0.5 / 2.5, 1.5 / 2.5, 0.5 / 2.5], [1.5 / 3.5, 0.5 / 3.5, 1.5 / 3.5]])
    np.testing.assert_allclose(fits.smoothed(np.array([[0.0, 1.0]]), 10), [[0.5 / 11, 10.5 / 11]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_measures_are_those_of_scikit_learn(quality, n_classes):
    fits = sys.modules["_quality_fits"]
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 60)
    probability = rng.dirichlet(np.ones(n_classes), 60)
    black_box = rng.integers(0, n_classes, 60)
    found = fits.measures(fits.Fitted(probability, 0.0, black_box=black_box), y)
    score = probability[:, 1] if n_classes == 2 else probability
    assert found["AUC"] == pytest.approx(roc_auc_score(y, score, multi_class="ovr"))
    assert found["log-loss"] == pytest.approx(log_loss(y, probability))
    assert found["accuracy"] == np.mean(probability.argmax(axis=1) == y)
    assert found["fidelity"] == np.mean(probability.argmax(axis=1) == black_box)


def test_intervals_allow_for_shared_training_rows(quality):
    summary = sys.modules["_quality_summary"]
    differences = [0.02, 0.03, 0.01, 0.02, 0.025]
    found = summary.Interval.corrected(differences, 30, 70)
    variance = (1 / 5 + 30 / 70) * np.var(differences, ddof=1)
    assert found.mean == pytest.approx(0.021)
    assert found.half == pytest.approx(stats.t.ppf(0.975, 4) * np.sqrt(variance))
    assert (found.sign, found.text(1), found.text(-1)) == (1, "+2.1 ± 1.6 ▲", "+2.1 ± 1.6 ▼")
    assert summary.Interval.corrected([0.1], 30, 70).sign == 0


def frame_of(rows):
    columns = ["table", "split", "method", "accuracy", "AUC", "log-loss", "columns", "leaves"]
    return pd.DataFrame(rows, columns=columns).assign(**{"rows": 70, "held-out rows": 30})


def test_verdicts_follow_the_bars(quality):
    summary = sys.modules["_quality_summary"]

    def verdicts(default, cart, deciles):
        rows = [
            (table, split, method, *figures)
            for table in ("a", "b")
            for split in range(2)
            for method, figures in (("fcca default", default), ("CART depth 3", cart), ("deciles", deciles))
        ]
        frame = frame_of(rows)
        intervals = {name: summary.paired_differences(frame, ["CART depth 3", "deciles"], name) for name in summary.BARS}
        return [line[:4] for line in summary.verdicts(frame, intervals, "even")]

    cart = (0.80, 0.80, 0.40, np.nan, 8)
    assert verdicts((0.81, 0.80, 0.39, 20, 8), cart, (0.81, 0.80, 0.39, 20, 8)) == ["PASS"] * 4
    assert verdicts((0.79, 0.85, 0.39, 20, 9), cart, (0.80, 0.80, 0.40, 30, 8)) == ["MISS", "PASS", "MISS", "MISS"]
    assert verdicts((0.81, 0.77, 0.39, 20, 8), cart, (0.80, 0.70, 0.40, 10, 8)) == ["MISS", "MISS", "MISS", "PASS"]


def test_deciles_ask_for_categories_and_missing_values(quality):
    ours = sys.modules["_quality_ours"]
    X = pd.DataFrame(
        {
            "n": [*map(float, range(1, 20)), np.nan],
            "two": ["u", "v"] * 10,
            "three": pd.Series(["x", "y", "z", None] * 5, dtype=object),
        }
    ).astype({"two": object})
    names = list(ours.decile_table(X))
    assert sum(name.startswith("n >") for name in names) == 9
    assert sum(name.startswith("two") for name in names) == 1
    assert sum(name.startswith("three") for name in names) == 4
    assert "n is missing" in names


def test_tables_are_halved_by_the_alphabet(quality, folder, monkeypatch):
    tables = sys.modules["_quality_tables"]
    monkeypatch.setenv("FCCA_DATA", str(folder))
    names = tables.table_names(tables.find_data_folder())
    assert names == ["alpha", "beta", "price"]
    assert tables.chosen_tables(["odd"], names) == ["alpha", "price"]
    assert tables.chosen_tables(["even", "wine"], names) == ["beta", "wine"]
    with pytest.raises(SystemExit, match="Unknown table 'gamma'"):
        tables.chosen_tables(["gamma"], names)
