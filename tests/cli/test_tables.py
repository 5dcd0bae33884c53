"""Tables with categories and missing values, and files of rules, on the command line."""

from __future__ import annotations

import gzip
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from command_line import FILES, check_refused, distill, explain, files_in, loans, table
from fcca import FCCAClassifier, FCCADiscretizer, ThresholdTable
from fcca.cli._read_table import read_data
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, known_rows
from real_data import data_file, imported

LIBRARIES = {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}


@pytest.fixture
def loans_csv(tmp_path):
    path = tmp_path / "loans.csv"
    loans().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def lender():
    X, y = loans().drop(columns="label").astype({"purpose": "category"}), loans()["label"]
    return imported("lightgbm").LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X, y)


@pytest.fixture
def lender_file(tmp_path, lender):
    path = tmp_path / "lender.skops"
    imported("skops.io").dump(lender, path)
    return path


def rules_file(tmp_path, text):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    return path


# --- fcca distill -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["gb", "rf", "hgb", "xgb", "lgbm", "catboost", "svm", "logistic"])
def test_categories_and_missing_values_need_no_preparation(loans_csv, tmp_path, out, model):
    if model in LIBRARIES:
        imported(LIBRARIES[model])
    result = distill(loans_csv, "--model", model, "--regularization", 0.001, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert files_in(out) == FILES
    assert "nan" not in result.stdout
    assert re.search(r'── purpose (= "car"|in \{)', result.stdout)
    assert re.search(r'── purpose (≠ "car"|not in \{)', result.stdout)
    found = ThresholdTable.from_json((out / "thresholds.json").read_text(encoding="utf-8"))
    written = pd.read_csv(out / "thresholds.csv")
    assert [None if pd.isna(text) else tuple(json.loads(text)) for text in written["categories"]] == list(found.labels)
    assert set(pd.read_parquet(out / "counterfactuals.parquet")["status"]) <= {"optimal", "infeasible"}
    loans().to_parquet(tmp_path / "loans.parquet")
    again = distill(tmp_path / "loans.parquet", "--model", model, "--regularization", 0.001, "--out", tmp_path / "typed")
    assert again.exit_code == 0
    assert (tmp_path / "typed" / "thresholds.json").read_bytes() == (out / "thresholds.json").read_bytes()


def test_the_tree_says_where_missing_values_go(loans_csv, out):
    result = distill(loans_csv, "--model", "hgb", "--regularization", 0.001, "--out", out)
    assert " or missing" in result.stdout
    assert "children ≤ 1 or missing" not in result.stdout  # the model would take them there, the file has none


def test_labels_and_numbers_are_in_the_file_of_moves(loans_csv, out):
    assert distill(loans_csv, "--out", out).exit_code == 0
    found = pd.read_parquet(out / "counterfactuals.parquet")
    frame = pd.read_csv(loans_csv)
    moves = found[found["feature"].notna()]
    assert {"purpose", "income"} <= set(moves["feature"])
    for _, move in moves.iterrows():
        before = frame.loc[move["row"], move["feature"]]
        assert (move["from"] == before) if move["feature"] == "purpose" else (float(move["from"]) == before)
    assert set(moves.loc[moves["feature"] == "purpose", "to"]) <= set(frame["purpose"].dropna())


def test_question_marks_are_missing_and_a_note_says_so(tmp_path, out):
    frame = loans()
    expected = tmp_path / "expected"
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert distill(tmp_path / "t.csv", "--out", expected).exit_code == 0
    n_missing = frame["income"].isna().sum()
    frame.assign(purpose=frame["purpose"].fillna(" ?")).to_csv(tmp_path / "t.csv", index=False, na_rep="-")
    result = distill(tmp_path / "t.csv", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert f"Note: Column 'income': '-' counts as a missing value, in {n_missing} rows." in result.stderr
    assert "Note: Column 'purpose': ' ?' counts as a missing value, in " in result.stderr
    assert (out / "thresholds.json").read_bytes() == (expected / "thresholds.json").read_bytes()


def test_numbers_beside_a_question_mark_are_the_nearest_numbers(tmp_path):
    frame = table().astype({"height": object})
    frame["height"] = [repr(float(x)) for x in np.random.default_rng(1).normal(size=80) * 1e-7]
    frame.loc[3, "height"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    X = read_data(tmp_path / "t.csv", None).guessed().X
    assert X["height"].dtype == np.float64
    assert np.isnan(X["height"][3])
    assert X["height"].drop(3).tolist() == [float(text) for text in frame["height"].drop(3)]


def test_names_of_rows_are_left_out_unless_they_are_asked_for(tmp_path, out):
    loans().assign(id=[f"case {i}" for i in range(200)]).to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out)
    assert result.exit_code == 0
    assert "Note: Column 'id' is left out: 200 different strings in 200 rows" in result.stderr
    assert "200 rows × 3 columns" in result.stdout
    result = distill(tmp_path / "t.csv", "--out", out, "--categorical", "id", "--test-size", 0)
    assert result.exit_code == 0, result.stderr
    assert "200 rows × 4 columns" in result.stdout


def test_numbers_can_be_categories(tmp_path, out):
    rng = np.random.default_rng(0)
    code = rng.integers(1, 5, 200)
    frame = pd.DataFrame({"code": code, "height": rng.normal(size=200), "label": np.where(code == 2, "yes", "no")})
    frame.loc[7, "code"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out, "--categorical", "code")
    assert result.exit_code == 0, result.stderr
    assert "code = 2  → yes" in result.stdout
    check_refused(distill(tmp_path / "t.csv", "--out", out, "--categorical", "cod"), "'cod'", "Did you mean 'code'?")


def test_codes_with_zeros_in_front_are_other_codes(tmp_path, out):
    rng = np.random.default_rng(0)
    code, kind = rng.choice(["01", "1", "2"], 300), rng.choice(["None", "car", "NA"], 300)
    label = np.where((code == "01") | (kind == "None"), "yes", "no")
    pd.DataFrame({"code": code, "kind": kind, "label": label}).to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out, "--categorical", "code", "--test-size", 0)
    assert result.exit_code == 0, result.stderr
    assert 'code = "01"' in result.stdout
    assert "kind is missing" in result.stdout  # NA
    frame = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False, na_values=["NA"])
    found = ThresholdTable.from_json((out / "thresholds.json").read_text(encoding="utf-8"))
    assert {label for labels in found.labels if labels for label in labels} <= {"01", "1", "2", "None", "car"}
    assert found.binarize(frame.drop(columns="label")).any(axis=0).all()


def test_mixed_spellings_can_be_categories(tmp_path, out):
    frame = table().assign(children=np.random.default_rng(0).choice(["0", "1", "2", "3+"], 80))
    frame.to_csv(tmp_path / "t.csv", index=False)
    check_refused(distill(tmp_path / "t.csv", "--out", out), "'children'", "'3+'", "--categorical 'children'")
    assert not out.exists()
    assert distill(tmp_path / "t.csv", "--out", out, "--categorical", "children").exit_code == 0


def test_a_note_names_held_out_rows_with_unknown_categories(tmp_path, out):
    frame = loans()
    frame.loc[11, "purpose"] = "a boat"
    frame.to_csv(tmp_path / "t.csv", index=False)
    seen = set()
    for seed in range(8):
        result = distill(tmp_path / "t.csv", "--out", out, "--random-state", seed)
        assert result.exit_code == 0, result.stderr
        held_out = "row 11 (counted from 0)" in result.stderr
        assert "160 for training, 40 held out" in result.stdout
        seen.add(held_out)
    assert seen == {True, False}
    columns = Columns.of_table(loans())
    assert known_rows(columns, frame).tolist() == [row != 11 for row in range(200)]


def test_the_command_agrees_with_the_library(tmp_path, out):
    data = pd.read_csv(data_file("titanic"))
    data.to_csv(tmp_path / "titanic.csv", index=False)
    result = distill(tmp_path / "titanic.csv", "--out", out, "--model", "rf", "--test-size", 0)
    assert result.exit_code == 0, result.stderr
    X, y = data.drop(columns="label"), data["label"]
    forest = RandomForestClassifier(100, max_depth=4, random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(forest)).fit(X, y)
    found = ThresholdTable.from_json((out / "thresholds.json").read_text(encoding="utf-8"))
    assert set(found.names()) == set(classifier.discretizer_.thresholds_.names())
    for line in classifier.rules():
        assert line.split(" → ")[0].split(" and ")[-1].strip("()").removesuffix(" or missing") in result.stdout


def test_the_classifier_for_xgboost_can_be_pickled():
    imported("xgboost")
    from fcca.cli._models import target_model
    from fcca.cli._options import TargetModel

    X, y = loans().drop(columns="label"), loans()["label"]
    fitted = target_model(TargetModel.xgb, 0, X).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(X).tolist() == fitted.predict(X).tolist()
    assert set(again.classes_) == {"granted", "refused"}


# --- rules ------------------------------------------------------------------------------------------------------------


def test_rules_are_kept_by_distill(loans_csv, tmp_path, out):
    rules = rules_file(tmp_path, "immutable: [purpose]\nincreasing: [income]\n")
    assert distill(loans_csv, "--out", out, "--rules", rules).exit_code == 0
    moves = pd.read_parquet(out / "counterfactuals.parquet")
    assert "purpose" not in set(moves["feature"].dropna())
    rises = moves[moves["feature"] == "income"]
    assert (rises["to"].astype(float) > rises["from"].astype(float)).all()
    assert "infeasible" in set(moves["status"])


BAD_RULES = {
    "unknown column": ("immutable: [incme]\n", ["'incme'", "income"]),
    "unknown category": ("forbidden: {purpose: [[car, boat]]}\n", ["boat", "purpose"]),
    "contradiction": ("bounds: {income: {low: 90, high: 10}}\n", ["90", "10"]),
    "contradicting rules": ("bounds:\n  children: [0, 1]\ngrid:\n  children: {step: 10, origin: 5}\n", ["children"]),
    "unknown key": ("imutable: [income]\n", ["rules.yaml, line 1", "immutable"]),
    "malformed": ("immutable: [income\nbounds: {", ["rules.yaml, line", "not valid YAML"]),
    "nothing": ("# all of them are gone\n", ["no rules", "immutable"]),
    "not rules": ("just a text\n", ["rules.yaml, line 1"]),
}


@pytest.mark.parametrize("kind", BAD_RULES)
def test_bad_rules_are_refused_before_any_work(loans_csv, lender_file, tmp_path, out, monkeypatch, kind):
    text, mentioned = BAD_RULES[kind]
    rules = rules_file(tmp_path, text)
    check_refused(explain(lender_file, loans_csv, "--rules", rules, "--out", tmp_path / "changes.csv"), *mentioned)
    assert not (tmp_path / "changes.csv").exists()
    monkeypatch.setattr("fcca.cli._black_box.target_model", lambda *args: pytest.fail("work has begun"))
    check_refused(distill(loans_csv, "--out", out, "--rules", rules), *mentioned)
    assert not out.exists()


def test_a_file_of_rules_that_is_not_there_is_named(loans_csv, lender_file, tmp_path, out):
    absent = tmp_path / "absent.yaml"
    check_refused(distill(loans_csv, "--out", out, "--rules", absent), "absent.yaml")
    check_refused(explain(lender_file, loans_csv, "--rules", absent), "absent.yaml")


# --- fcca explain -----------------------------------------------------------------------------------------------------


def test_categories_and_missing_values_are_explained(loans_csv, lender_file, tmp_path):
    rules = rules_file(tmp_path, "fillable: [income]\n")
    out = tmp_path / "changes.csv"
    result = explain(lender_file, loans_csv, "--n", 2, "--rules", rules, "--json", "--out", out)
    assert result.exit_code == 0, result.stderr
    answers = json.loads(result.stdout)["answers"]
    moves = [(answer, move) for answer in answers for move in answer["moves"]]
    frame = pd.read_csv(loans_csv)
    labels = set(frame["purpose"].dropna())
    filled = [move for _, move in moves if move["from"] is None]
    assert filled
    assert all(move["feature"] == "income" and isinstance(move["to"], float) for move in filled)
    changed = [(answer, move) for answer, move in moves if move["feature"] == "purpose"]
    assert changed
    for answer, move in changed:
        assert {move["from"], move["to"]} <= labels
        assert move["cut"] is None
        assert f'purpose changed from "{move["from"]}" to "{move["to"]}"' in answer["sentence"]
    written = pd.read_csv(out)
    assert len(written[written["feature"].notna()]) == len(moves)
    parquet = tmp_path / "changes.parquet"
    assert explain(lender_file, loans_csv, "--rows", "0-20", "--out", parquet).exit_code == 0
    assert set(pd.read_parquet(parquet)["row"]) == set(range(21))
    shown = explain(lender_file, loans_csv, "--rules", rules, "--rows", str(row_with_missing_income(frame)))
    assert "the missing income became" in shown.stdout


def row_with_missing_income(frame):
    """A row whose income is missing."""
    return ",".join(str(row) for row in np.flatnonzero(frame["income"].isna())[:10])


def test_rules_are_named_where_nothing_is_possible_and_where_rows_break_them(loans_csv, lender_file, tmp_path):
    everything = rules_file(tmp_path, "immutable: [income, purpose, children]\n")
    result = explain(lender_file, loans_csv, "--rows", 0, "--rules", everything)
    assert "no change within the rules and the range of the data leads to" in " ".join(result.stdout.split())
    assert "1 infeasible" in result.stdout
    bounds = rules_file(tmp_path, "bounds: {children: [0, 1]}\n")
    result = explain(lender_file, loans_csv, "--rules", bounds)
    assert result.exit_code == 0
    assert "rows break rules before any change" in result.stderr
    document = json.loads(explain(lender_file, loans_csv, "--rules", bounds, "--json").stdout)
    broken = {line["row"] for line in document["broken_rules"]}
    assert broken == set(np.flatnonzero(pd.read_csv(loans_csv)["children"] > 1).tolist())


def test_categories_that_the_model_does_not_know_are_named(loans_csv, lender_file, tmp_path):
    frame = loans().iloc[:5].copy()
    frame.loc[2, "purpose"] = "a boat"
    frame.to_csv(tmp_path / "new.csv", index=False)
    result = explain(lender_file, tmp_path / "new.csv", "--reference", loans_csv, "--out", tmp_path / "changes.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Note:") == 1
    assert "row 2 in purpose (a boat, explained as" in result.stderr
    frame = loans().iloc[:5].astype({"income": object})
    frame.loc[3, "income"] = "plenty"
    frame.to_csv(tmp_path / "new.csv", index=False)
    check_refused(explain(lender_file, tmp_path / "new.csv", "--reference", loans_csv), "'income'", "row 3", "'plenty'")


def test_a_model_of_categories_from_a_file_is_distilled(loans_csv, lender_file, tmp_path, out):
    result = distill(loans_csv, "--model-file", lender_file, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert 'purpose = "car"' in result.stdout
    refused = distill(loans_csv, "--model-file", lender_file, "--categorical", "children", "--out", tmp_path / "no")
    check_refused(refused, "--categorical", "--model-file")


def test_long_labels_are_printed_whole_in_80_columns(tmp_path, out):
    frame = loans()
    names = {label: f"{label}, as the questionnaire of the second year of the study words it" for label in ("car", "tv")}
    frame["purpose"] = frame["purpose"].replace(names)
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out, columns=80)
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert set(names["car"].split()) <= set(result.stdout.replace("│", " ").replace('"', " ").split())


def test_empty_fields_at_the_end_of_lines_are_missing_values(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write('label,a,b\nx,1,\ny,2,"3\n"\n\n   \nx,1,5\ny,2,6\n')
    assert read_data(path, None).X["b"].isna().tolist() == [True, False, False, False]
    with gzip.open(path, "at", encoding="utf-8") as file:
        file.write("x,1\n")
    with pytest.raises(InvalidInputError, match=r"Line 9 of t\.csv\.gz has 2 fields, but the header has 3 column names"):
        read_data(path, None)
