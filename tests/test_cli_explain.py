"""What ``fcca explain`` promises, and ``fcca distill`` with models of other families and from files."""

from __future__ import annotations

import errno
import json
import os
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.svm import SVC

import fcca.cli._app
import fcca.cli._explanation
from command_line import FILES, distill, explain, files_in, run, run_process, table
from fcca import CounterfactualExplainer
from fcca.cli._explanation import chosen_rows
from fcca.counterfactuals import CounterfactualEngine
from fcca.counterfactuals._result import STATUSES
from real_data import imported

LIBRARIES = {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}


def columns():
    return table().drop(columns="label").astype(float)


@pytest.fixture(scope="module")
def classifier():
    return GradientBoostingClassifier(max_depth=2, n_estimators=10, random_state=0).fit(columns(), table()["label"])


@pytest.fixture
def model(tmp_path, classifier):
    path = tmp_path / "model.skops"
    imported("skops.io").dump(classifier, path)
    return path


# --- answers ------------------------------------------------------------------------------------------------------------


def test_the_answers_are_those_of_the_library(model, csv, classifier, tmp_path):
    out = tmp_path / "changes.csv"
    result = explain(model, csv, "--rows", "0,5,10-12", "--n", 2, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    rows = [0, 5, 10, 11, 12]
    expected = CounterfactualExplainer(classifier, columns()).explain(columns().iloc[rows], n=2)
    written = pd.read_csv(out)
    assert list(written.columns) == list(expected.to_frame().columns)
    pd.testing.assert_frame_equal(
        written.drop(columns="seconds"), expected.to_frame().drop(columns="seconds"), check_dtype=False, rtol=1e-15
    )
    assert set(written["row"]) == set(rows)
    words = " ".join(result.stdout.split())
    for text in expected.sentences():
        assert " ".join(text.split()) in words


def test_json_is_valid_and_complete(model, csv, classifier):
    result = explain(model, csv, "--rows", "3-6", "--n", 50, "--json", columns=40)
    assert result.exit_code == 0
    assert result.stderr == ""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    document = json.loads(result.stdout, parse_constant=refuse)
    expected = CounterfactualExplainer(classifier, columns()).explain(columns().iloc[3:7], n=50)
    assert document["classes"] == ["no", "yes"]
    assert [answer["sentence"] for answer in document["answers"]] == expected.sentences()
    assert [answer["status"] for answer in document["answers"]] == expected.status.tolist()
    assert document["answers"][-1]["cost"] is None  # 50 sets of features there are not
    assert sum(len(answer["moves"]) for answer in document["answers"]) == len(expected.moves.point)
    assert {answer["predicted"] for answer in document["answers"]} <= {"no", "yes"}


def test_a_target_a_probability_and_a_threshold_are_kept_to(model, csv, classifier):
    result = explain(model, csv, "--target", "yes", "--target-probability", 0.8, "--json")
    answers = json.loads(result.stdout)["answers"]
    assert len(answers) == 80
    assert {answer["target"] for answer in answers} == {"yes"}
    assert all(answer["probability_after"] >= 0.8 - 1e-6 for answer in answers if answer["status"] == "optimal")
    result = explain(model, csv, "--decision-threshold", 0.2, "--json")
    predicted = [answer["predicted"] for answer in json.loads(result.stdout)["answers"]]
    assert predicted == np.where(classifier.predict_proba(columns())[:, 1] >= 0.2, "yes", "no").tolist()


def test_without_time_the_answers_say_so(model, csv):
    result = explain(model, csv, "--rows", "0-3", "--time-limit", 0)
    assert result.exit_code == 0
    assert "4 unknown" in result.stdout
    assert "Time ran out" in result.stdout


def test_the_label_is_left_out_by_its_name_or_by_being_named(tmp_path, model):
    names = {"label": "outcome", "y": "y"}
    for name in names.values():
        path = tmp_path / f"{name}.csv"
        table().rename(columns={"label": name}).to_csv(path, index=False)
        assert explain(model, path, "--rows", 0, *(["--label", name] if name == "outcome" else [])).exit_code == 0
    path = tmp_path / "only.csv"
    columns().to_csv(path, index=False)
    assert explain(model, path, "--rows", 0).exit_code == 0


def test_rows_are_numbers_and_ranges():
    assert [list(rows) for rows in chosen_rows("0, 5 ,10-12")] == [[0], [5], [10, 11, 12]]


def test_parquet_comes_in_and_goes_out(tmp_path, model):
    table().to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "deep" / "changes.parquet"
    assert explain(model, tmp_path / "t.parquet", "--rows", 7, "--out", out).exit_code == 0
    assert set(pd.read_parquet(out)["row"]) == {7}
    assert files_in(out.parent) == ["changes.parquet"]


# --- what cannot be used ------------------------------------------------------------------------------------------------


def check_refused(result, *mentioned):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    for text in mentioned:
        assert text in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rows", "x"),
        ("--rows", "5-3"),
        ("--rows", "-1"),
        ("--rows", ""),
        ("--target-probability", "1"),
        ("--target-probability", "nan"),
        ("--n", "0"),
        ("--decision-threshold", "0"),
        ("--lambda0", "-1"),
        ("--margin", "0"),
        ("--jobs", "0"),
        ("--time-limit", "-1"),
        ("--time-limit-per-row", "nan"),
        ("--out", "changes.xlsx"),
    ],
)
def test_bad_options_are_refused_before_any_work(model, csv, monkeypatch, option, value):
    monkeypatch.setattr(fcca.cli._app, "explanation", lambda *args, **kwargs: pytest.fail("work has begun"))
    check_refused(explain(model, csv, option, value), f"{option} is ", "Expected")


def test_rows_classes_and_columns_that_are_not_there_are_named(model, csv, tmp_path):
    check_refused(explain(model, csv, "--rows", "3,80"), "--rows is 3,80", "80 rows", "79")
    check_refused(explain(model, csv, "--target", "maybe"), "--target is maybe", "'no', 'yes'")
    check_refused(explain(model, csv, "--label", "grade"), "'grade'", "'height'")
    table().drop(columns="weight").to_csv(tmp_path / "lacks.csv", index=False)
    check_refused(explain(model, tmp_path / "lacks.csv"), "lacks.csv", "'weight'", "model.skops")
    table().assign(id=1).to_csv(tmp_path / "more.csv", index=False)
    check_refused(explain(model, tmp_path / "more.csv"), "'id'", "'label'", "--label")
    table()[["weight", "height", "member", "label"]].to_csv(tmp_path / "order.csv", index=False)
    check_refused(explain(model, tmp_path / "order.csv"), "another order", "'weight'")
    table().iloc[:0].to_csv(tmp_path / "empty.csv", index=False)
    check_refused(explain(model, tmp_path / "empty.csv"), "no rows")


BAD_MODELS = {
    "absent.skops": None,
    "empty.skops": b"",
    "cut.skops": b"PK\x03\x04 and then nothing",
    "noise.bin": b"\x00\x01\x02\x03 what is this",
    "model.pkl": b"\x80\x04\x95\x00\x00\x00\x00.",
    "other.json": b'{"a": 1}',
    "cut.json": b'{"learner": {"attributes"',
    "cut.txt": b"tree\nversion=v4\n",
    "cut.cbm": b"CBM1 and then nothing",
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_a_file_that_is_no_model_is_refused(tmp_path, csv, name):
    path = tmp_path / name
    if BAD_MODELS[name] is not None:
        path.write_bytes(BAD_MODELS[name])
    check_refused(explain(path, csv), name)
    check_refused(distill(csv, "--model-file", path, "--out", tmp_path / "out"), name)
    assert not (tmp_path / "out").exists()


def test_a_classifier_that_cannot_be_explained_is_refused(tmp_path, csv):
    path = tmp_path / "kernel.skops"
    imported("skops.io").dump(SVC().fit(columns(), table()["label"]), path)
    check_refused(explain(path, csv), "kernel")


def test_a_directory_is_no_place_for_a_file(model, csv, tmp_path, monkeypatch):
    (tmp_path / "taken.csv").mkdir()
    monkeypatch.setattr(fcca.cli._app, "explanation", lambda *args, **kwargs: pytest.fail("work has begun"))
    check_refused(explain(model, csv, "--out", tmp_path / "taken.csv"), "taken.csv", "directory")


# --- files, streams and exit codes --------------------------------------------------------------------------------------


def test_a_failure_while_writing_keeps_the_old_file_and_prints_the_answers(model, csv, tmp_path, monkeypatch):
    out = tmp_path / "changes.csv"
    out.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = explain(model, csv, "--rows", 0, "--out", out)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "Row 0" in result.stdout
    assert out.read_text() == "old"


def test_unverified_answers_are_an_error(model, csv, monkeypatch):
    verified = CounterfactualEngine._verified

    def one_fails(self, X, found, first_move):
        found = verified(self, X, found, first_move)
        found.status_code[0] = STATUSES.index("unverified")
        return found

    monkeypatch.setattr(CounterfactualEngine, "_verified", one_fails)
    result = explain(model, csv, "--rows", "0-3")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: 1 of 4 answers")
    assert result.stderr.count("\n") == 1
    assert "not confirmed by the classifier itself" in " ".join(result.stdout.split())


def test_an_interrupt_is_said(model, csv, monkeypatch):
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CounterfactualExplainer, "explain", interrupted)
    result = explain(model, csv)
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


def test_80_columns_suffice_and_nothing_is_cut_off(model, csv):
    result = run_process("explain", model, csv, "--n", 2, env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", result.stdout)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "more: --out FILE or --json has them all." in result.stdout
    assert explain(model, csv, "--quiet").stdout == ""


def test_hostile_names_are_only_shown(tmp_path):
    names = ["[red]x[/red]", ":smile: 🚀\x1b[31m", "say, you > 1"]
    frame = columns().set_axis(names, axis=1)
    labels = np.where(table()["label"] == "yes", "[bold]\x1b[2J", "no")
    path = tmp_path / "m.skops"
    imported("skops.io").dump(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(frame, labels), path)
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = explain(path, tmp_path / "t.csv", "--rows", "0-5")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "[red]x[/red]" in result.stdout


def test_help_has_examples():
    assert "explain" in run("--help").stdout
    text = run("explain", "--help").stdout
    for mentioned in ("fcca explain loans.skops loans.csv", "--target-probability", "counted", "130 interrupted"):
        assert mentioned in text


# --- fcca distill with other models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rf", "hgb", "xgb", "lgbm", "catboost"])
def test_every_family_is_distilled(name, csv, tmp_path, out):
    if name in LIBRARIES:
        imported(LIBRARIES[name])
    result = distill(csv, "--model", name, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert files_in(out) == FILES
    again = distill(csv, "--model", name, "--out", tmp_path / "again", "--jobs", 1)
    assert again.exit_code == 0
    for file in FILES:
        assert (out / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    found = pd.read_parquet(out / "counterfactuals.parquet")
    assert set(found["status"]) <= {"optimal", "infeasible"}
    assert set(found["target"]) <= {"yes", "no"}


@pytest.mark.parametrize("name", ["rf", "hgb", "xgb", "lgbm", "catboost"])
def test_every_family_takes_many_classes(name, tmp_path, out):
    if name in LIBRARIES:
        imported(LIBRARIES[name])
    iris = load_iris(as_frame=True)
    frame = iris.data[["petal width (cm)", "petal length (cm)"]].assign(label=iris.target_names[iris.target])
    frame.to_csv(tmp_path / "iris.csv", index=False)
    result = distill(tmp_path / "iris.csv", "--model", name, "--out", out, "--time-limit-per-row", 2)
    assert result.exit_code == 0, result.stderr
    assert set(pd.read_parquet(out / "counterfactuals.parquet")["target"].dropna()) <= set(iris.target_names)


def test_a_library_that_is_not_installed_is_named(csv, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    result = distill(csv, "--model", "xgb", "--out", out)
    check_refused(result, "xgboost is not installed", "pip install 'fcca[xgboost]'")
    assert not out.exists()


def test_a_fitted_model_is_distilled_as_it_is(model, csv, out, tmp_path):
    result = distill(csv, "--model-file", model, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "model.skops" in result.stdout
    assert files_in(out) == FILES
    check_refused(distill(csv, "--model-file", model, "--model", "gb", "--out", out), "--model gb", "--model-file")
    table().drop(columns="weight").to_csv(tmp_path / "lacks.csv", index=False)
    check_refused(distill(tmp_path / "lacks.csv", "--model-file", model, "--out", tmp_path / "no"), "lacks.csv", "'weight'")
    table().assign(label=(table()["label"] == "yes").astype(int)).to_csv(tmp_path / "coded.csv", index=False)
    refused = distill(tmp_path / "coded.csv", "--model-file", model, "--out", tmp_path / "no")
    check_refused(refused, "answers 'no', 'yes'", "holds 0, 1")


def test_a_booster_from_its_own_file_is_distilled_and_explained(tmp_path, out):
    xgboost = imported("xgboost")
    frame = columns().assign(label=(table()["label"] == "yes").astype(int))
    frame.to_csv(tmp_path / "t.csv", index=False)
    rows = xgboost.DMatrix(columns(), label=frame["label"])
    settings = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    xgboost.train(settings, rows, num_boost_round=10).save_model(tmp_path / "booster.json")
    assert distill(tmp_path / "t.csv", "--model-file", tmp_path / "booster.json", "--out", out).exit_code == 0
    result = explain(tmp_path / "booster.json", tmp_path / "t.csv", "--rows", "0-9", "--target", 1, "--json")
    assert result.exit_code == 0, result.stderr
    assert {answer["target"] for answer in json.loads(result.stdout)["answers"]} == {1}


def test_another_decision_threshold_is_distilled(csv, out):
    result = distill(csv, "--model", "rf", "--decision-threshold", 0.3, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "deciding at 0.3" in " ".join(result.stdout.split())
    check_refused(distill(csv, "--model", "svm", "--decision-threshold", 0.3, "--out", out), "predict_proba")


def test_a_forest_from_a_file_without_names_is_checked_by_number(csv, tmp_path):
    path = tmp_path / "forest.skops"
    forest = RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0)
    imported("skops.io").dump(forest.fit(columns().to_numpy(), table()["label"]), path)
    assert explain(path, csv, "--rows", 0).exit_code == 0
    table().assign(id=1).to_csv(tmp_path / "more.csv", index=False)
    check_refused(explain(path, tmp_path / "more.csv", "--rows", 0), "more.csv has 5 column(s)", "3", "--label")
