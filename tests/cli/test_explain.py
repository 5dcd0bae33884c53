"""What ``fcca explain`` promises."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.svm import SVC

import fcca.cli._explain_result
from command_line import check_refused, columns, distill, explain, files_in, run, run_process, table
from fcca import CounterfactualExplainer, FCCAClassifier, OptimalTreeClassifier
from fcca.cli import main
from fcca.cli._checks import chosen_rows
from fcca.counterfactuals import STATUSES, CounterfactualEngine
from fcca.export import save
from real_data import imported

README = Path(__file__).parents[2] / "README.md"
LIBRARIES = {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}


@pytest.fixture(scope="module")
def classifier():
    return GradientBoostingClassifier(max_depth=2, n_estimators=10, random_state=0).fit(columns(), table()["label"])


@pytest.fixture
def model(tmp_path, classifier):
    path = tmp_path / "model.skops"
    imported("skops.io").dump(classifier, path)
    return path


# --- answers ----------------------------------------------------------------------------------------------------------


def test_the_counterfactuals_are_those_of_the_library(model, csv, classifier, tmp_path):
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


def test_a_relative_gap_is_kept_and_named(model, csv, classifier):
    result = explain(model, csv, "--rows", "0-9", "--relative-gap", 0.2, "--json")
    answers = json.loads(result.stdout)["answers"]
    exact = CounterfactualExplainer(classifier, columns()).explain(columns().iloc[:10])
    for answer, least in zip(answers, exact.cost.tolist(), strict=True):
        assert answer["status"] == "within_gap"
        assert answer["bound"] <= least * (1 + 1e-9)
        assert answer["bound"] >= answer["cost"] * 0.8 * (1 - 1e-9)
        assert answer["sentence"].endswith("(no change is over 20 % cheaper).")
    assert "10 within the gap" in explain(model, csv, "--rows", "0-9", "--relative-gap", 0.2).stdout


def test_the_summary_says_if_time_ran_out(model, csv):
    result = explain(model, csv, "--rows", "0-3", "--time-limit", 0)
    assert result.exit_code == 0
    assert "4 unknown" in result.stdout
    assert "time ran out" in result.stdout


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


# --- which rows, how far, and under which names -----------------------------------------------------------------------


def test_only_the_rows_of_a_class_are_explained(model, csv, classifier):
    predicted = classifier.predict(columns())
    answers = json.loads(explain(model, csv, "--only", "yes", "--rows", "10-60", "--json").stdout)["answers"]
    assert [answer["row"] for answer in answers] == [row for row in range(10, 61) if predicted[row] == "yes"]
    assert {answer["predicted"] for answer in answers} == {"yes"}
    by_threshold = np.where(classifier.predict_proba(columns())[:, 1] >= 0.3, "yes", "no")
    result = explain(model, csv, "--only", "no", "--decision-threshold", 0.3, "--json")
    assert [answer["row"] for answer in json.loads(result.stdout)["answers"]] == np.flatnonzero(
        by_threshold == "no"
    ).tolist()
    row = int(np.flatnonzero(predicted == "no")[0])
    check_refused(explain(model, csv, "--only", "yes", "--rows", row), "none of the 1 rows is predicted as")
    check_refused(explain(model, csv, "--only", "yess"), "--only is yess", "Did you mean 'yes'?")


def test_margin_and_plausibility_are_those_of_the_library(model, csv, classifier):
    rows = ["--rows", "0-5", "--json"]
    for options, given in (
        (["--margin", "40%"], {"margin": "40%"}),
        (["--margin", "0.9"], {"margin": 0.9}),
        (["--plausibility", 0.9], {"plausibility": 0.9}),
    ):
        expected = CounterfactualExplainer(classifier, columns(), **given).explain(columns().iloc[:6])
        answers = json.loads(explain(model, csv, *rows, *options).stdout)["answers"]
        assert [answer["sentence"] for answer in answers] == expected.sentences()
        plain = CounterfactualExplainer(classifier, columns()).explain(columns().iloc[:6])
        assert expected.sentences() != plain.sentences()


def test_class_names_are_shown_and_understood(model, csv):
    names = ["--class-names", "yes=0 approved,no=declined", "--json", "--rows", "0-9"]
    plain = json.loads(explain(model, csv, "--only", "no", "--target", "yes", "--json", "--rows", "0-9").stdout)
    named = json.loads(explain(model, csv, "--only", "declined", "--target", "0 approved", *names).stdout)
    assert named["classes"] == ["declined", "0 approved"]
    for old, new in zip(plain["answers"], named["answers"], strict=True):
        assert (new["predicted"], new["target"]) == ("declined", "0 approved")
        assert new["sentence"] == old["sentence"].replace("be yes if", "be 0 approved if")
        assert new["moves"] == old["moves"]
    decided = json.loads(explain(model, csv, *names, "--decision-threshold", 0.2).stdout)["decision"]
    assert decided == "0 approved if its probability is at least 0.2, instead of 0.5"
    check_refused(
        explain(model, csv, "--class-names", "yess=a"), "'yess'", "not a class of the model", "Did you mean 'yes'?"
    )
    check_refused(explain(model, csv, *names, "--target", "yes"), "--target is yes", "'0 approved'")


# --- small trees ------------------------------------------------------------------------------------------------------


def test_a_small_tree_is_explained_from_its_document_and_from_its_estimator(csv, tmp_path):
    tree = FCCAClassifier(tree=OptimalTreeClassifier(regularization=0.0)).fit(columns(), table()["label"])
    expected = CounterfactualExplainer(tree, columns()).explain(columns()).sentences()
    imported("skops.io")
    for name in ("tree.json", "tree.skops"):
        save(tree, tmp_path / name)
        result = explain(tmp_path / name, csv, "--json")
        assert result.exit_code == 0, result.stderr
        assert [answer["sentence"] for answer in json.loads(result.stdout)["answers"]] == expected
    assert "leaves" in explain(tmp_path / "tree.json", csv, "--rows", 0).stdout
    imported("skops.io").dump(FCCAClassifier(), tmp_path / "raw.skops")
    check_refused(explain(tmp_path / "raw.skops", csv), "not fitted")


def test_values_that_training_did_not_have_are_noted_once(csv, tmp_path):
    rows = columns().head(20).astype(float)
    rows.iloc[3, 0] = np.nan
    rows.to_csv(tmp_path / "later.csv", index=False)
    save(FCCAClassifier().fit(columns(), pd.read_csv(csv)["label"]), tmp_path / "tree.json")
    for only in ("yes", "no"):
        result = explain(tmp_path / "tree.json", tmp_path / "later.csv", "--reference", csv, "--only", only, "--json")
        notes = json.loads(result.stdout)["notes"]
        assert sum("values that no training row has" in note for note in notes) <= 1, notes


# --- what cannot be used ----------------------------------------------------------------------------------------------


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
        ("--margin", "0%"),
        ("--margin", "101%"),
        ("--margin", "some"),
        ("--plausibility", "1"),
        ("--class-names", "yes"),
        ("--jobs", "0"),
        ("--time-limit", "-1"),
        ("--time-limit-per-row", "nan"),
        ("--relative-gap", "1"),
        ("--relative-gap", "-0.1"),
        ("--out", "changes.xlsx"),
    ],
)
def test_bad_options_are_refused_before_any_work(model, csv, monkeypatch, option, value):
    monkeypatch.setattr(fcca.cli._explain_result, "run_explain", lambda *args, **kwargs: pytest.fail("work has begun"))
    check_refused(explain(model, csv, option, value), f"{option} is ", "Expected")


def test_rows_classes_and_columns_that_are_not_there_are_named(model, csv, tmp_path):
    check_refused(explain(model, csv, "--rows", "3,80"), "--rows is 3,80", "80 rows", "79")
    check_refused(explain(model, csv, "--target", "maybe"), "--target is maybe", "'no', 'yes'")
    check_refused(explain(model, csv, "--label", "grade"), "'grade'", "'height'")
    table().drop(columns="weight").to_csv(tmp_path / "lacks.csv", index=False)
    check_refused(explain(model, tmp_path / "lacks.csv"), "lacks.csv", "'weight'", "model.skops")
    table()[["weight", "height", "member", "label"]].to_csv(tmp_path / "order.csv", index=False)
    refused = distill(tmp_path / "order.csv", "--model-file", model, "--out", tmp_path / "no")
    check_refused(refused, "order.csv", "'height', 'weight', 'member'.")
    table().iloc[:0].to_csv(tmp_path / "empty.csv", index=False)
    check_refused(explain(model, tmp_path / "empty.csv"), "no rows")


def test_columns_are_found_by_name_and_others_are_not_used(model, csv, tmp_path):
    table().assign(id=1)[["weight", "id", "label", "member", "height"]].to_csv(tmp_path / "more.csv", index=False)
    found, expected = (explain(model, path, "--rows", "0-4", "--json") for path in (tmp_path / "more.csv", csv))
    assert found.exit_code == 0, found.output
    document, same = json.loads(found.stdout), json.loads(expected.stdout)
    assert document["notes"] == ["The model does not use these columns of more.csv: 'id', 'label'."]
    assert [one["sentence"] for one in document["answers"]] == [one["sentence"] for one in same["answers"]]


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


def test_a_model_that_is_not_fitted_says_so(tmp_path, csv):
    imported("skops.io").dump(GradientBoostingClassifier(), tmp_path / "raw.skops")
    check_refused(explain(tmp_path / "raw.skops", csv), "GradientBoostingClassifier that is not fitted")


def test_a_directory_is_no_place_for_a_file(model, csv, tmp_path, monkeypatch):
    (tmp_path / "taken.csv").mkdir()
    monkeypatch.setattr(fcca.cli._explain_result, "run_explain", lambda *args, **kwargs: pytest.fail("work has begun"))
    check_refused(explain(model, csv, "--out", tmp_path / "taken.csv"), "taken.csv", "directory")


# --- files, streams and exit codes ------------------------------------------------------------------------------------


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


def test_unverified_counterfactuals_are_an_error(model, csv, monkeypatch):
    verified = CounterfactualEngine._verified

    def one_fails(self, X, found):
        found = verified(self, X, found)
        found.status_code[0] = STATUSES.index("unverified")
        return found

    monkeypatch.setattr(CounterfactualEngine, "_verified", one_fails)
    result = explain(model, csv, "--rows", "0-3")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: 1 of 4 counterfactuals")
    assert result.stderr.count("\n") == 1
    assert "not confirmed by the classifier itself" in " ".join(result.stdout.split())


def test_an_interrupt_is_reported(model, csv, monkeypatch, capfd):
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CounterfactualExplainer, "explain", interrupted)
    result = explain(model, csv)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")
    monkeypatch.setattr(sys, "argv", ["fcca", "explain", str(model), str(csv)])
    with pytest.raises(SystemExit, match="130"):
        main()
    assert capfd.readouterr() == ("", "Interrupted.\n")


@pytest.mark.slow
def test_80_columns_suffice_and_nothing_is_cut_off(model, csv):
    result = run_process("explain", model, csv, "--n", 2, env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", result.stdout)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "more: use --out FILE or --json for all." in result.stdout
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


def test_help_has_examples_and_says_where_a_change_lands():
    assert "explain" in run("--help").stdout
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", run("explain", "--help").stdout).split())
    for mentioned in (
        *(
            "fcca explain loans.skops loans.csv",
            "--target-probability",
            "define the distance of a change",
            "130 interrupted",
        ),
        "at the nearest value of the data in this interval",
        "If the data has no value there, it ends at the middle of the interval",
        "Each further one takes as long as the first",
    ):
        assert mentioned in text


def test_long_sentences_are_printed_completely(tmp_path):
    frame = columns().add_prefix("a rather long name of a column, as questionnaires have them: ")
    path = tmp_path / "m.skops"
    model = GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0).fit(frame, table()["label"])
    imported("skops.io").dump(model, path)
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = explain(path, tmp_path / "t.csv", "--rows", "0-4", "--n", 3, columns=60)
    assert "…" not in result.stdout
    words = result.stdout.split()
    for text in CounterfactualExplainer(model, frame).explain(frame.iloc[:5], n=3).sentences():
        assert set(text.split()) <= set(words)


def test_the_probability_says_whose_it_is(model, csv):
    assert "P(yes)" in explain(model, csv, "--target", "yes", "--rows", "0-9").stdout
    assert "P(then)" in explain(model, csv, "--rows", "0-9").stdout
    assert "Decision" not in explain(model, csv, "--rows", 0, "--decision-threshold", 0.5).stdout
    result = explain(model, csv, "--rows", 0, "--decision-threshold", 0.2)
    assert "yes if its probability is at least 0.2, instead of 0.5" in result.stdout
    document = json.loads(explain(model, csv, "--rows", 0, "--decision-threshold", 0.2, "--json").stdout)
    assert document["decision"] == "yes if its probability is at least 0.2, instead of 0.5"
    assert json.loads(explain(model, csv, "--rows", 0, "--json").stdout)["decision"] is None


# --- the range of other data ------------------------------------------------------------------------------------------


def test_rows_of_another_file_keep_to_the_reference_and_are_noted_where_they_lie_outside(model, csv, classifier, tmp_path):
    new = columns().iloc[:2].copy()
    new.loc[1, "weight"] = 99.0
    new.to_csv(tmp_path / "new.csv", index=False)
    result = explain(model, tmp_path / "new.csv", "--reference", csv)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("Note: 1 row has values outside the range of the data: row 1 in weight (99 is above ")
    expected = CounterfactualExplainer(classifier, columns()).explain(new)
    document = json.loads(explain(model, tmp_path / "new.csv", "--reference", csv, "--label", "label", "--json").stdout)
    assert [answer["sentence"] for answer in document["answers"]] == expected.sentences()
    assert document["notes"] == list(expected.notes)
    largest = float(columns()["weight"].max())
    smallest = float(columns()["weight"].min())
    assert document["outside_range"] == [
        {"row": 1, "feature": "weight", "value": 99.0, "smallest": smallest, "largest": largest}
    ]
    check_refused(explain(model, csv, "--reference", tmp_path / "absent.csv"), "absent.csv")
    new[["weight"]].to_csv(tmp_path / "few.csv", index=False)
    check_refused(explain(model, csv, "--reference", tmp_path / "few.csv"), "few.csv lacks 'height'")


def test_numbers_in_files_and_json_are_numbers(csv, tmp_path):
    frame = (columns() * 12_345).assign(label=table()["label"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=5, random_state=0).fit(
        frame[columns().columns], frame["label"]
    )
    imported("skops.io").dump(model, tmp_path / "m.skops")
    out = tmp_path / "changes.csv"
    answers = json.loads(explain(tmp_path / "m.skops", tmp_path / "t.csv", "--rows", "0-9", "--out", out, "--json").stdout)[
        "answers"
    ]
    assert re.search(r"\d,\d{3}", " ".join(answer["sentence"] for answer in answers))
    assert all(
        isinstance(move[key], float) for answer in answers for move in answer["moves"] for key in ("from", "to", "cut")
    )
    for name in ("cost", "from", "to", "cut"):
        assert [float(text) for text in pd.read_csv(out, dtype=str)[name]] == pd.read_csv(out)[name].tolist()


# --- the README -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    imported("skops.io")
    blocks = re.findall(r"```(\w+)\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(next(text for kind, text in blocks if kind == "python" and "skops.io.dump" in text), {})
    commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines() if ".csv" in line]
    assert len(commands) >= 3
    printed = ""
    for command in commands:
        result = run(*command.split("#")[0].split()[1:], columns=80)
        assert result.exit_code == 0, result.stderr
        printed += result.stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    for kind, text in blocks:
        if kind == "text":
            assert text.rstrip() in "\n".join(lines)
