"""What ``fcca predict`` promises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.svm import LinearSVC

import fcca.cli._predict_result
from command_line import check_refused, columns, files_in, loans, run, table
from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import UnknownValuesWarning
from fcca.export import from_json, save
from real_data import imported


def predict(*args: object, **kwargs: int):
    result = run("predict", *args, **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture(scope="module")
def lender():
    X, y = loans().drop(columns="label"), loans()["label"]
    return FCCAClassifier(FCCADiscretizer(), OptimalTreeClassifier(regularization=0.0)).fit(X, y)


@pytest.fixture
def tree(tmp_path, lender):
    save(lender, tmp_path / "tree.json")
    return tmp_path / "tree.json"


@pytest.fixture
def loans_csv(tmp_path):
    path = tmp_path / "loans.csv"
    loans().to_csv(path, index=False)
    return path


# --- trees ------------------------------------------------------------------------------------------------------------


def test_predictions_paths_and_reasons_are_those_of_the_library(tree, loans_csv, lender, tmp_path):
    X = loans().drop(columns="label")
    out = tmp_path / "predictions.csv"
    result = predict(tree, loans_csv, "--wanted", "granted", "--out", out)
    assert result.exit_code == 0, result.stderr
    written = pd.read_csv(out)
    assert written["row"].tolist() == list(range(len(X)))
    assert written["prediction"].tolist() == lender.predict(X).tolist()
    np.testing.assert_allclose(written[["probability_granted", "probability_refused"]], lender.predict_proba(X), rtol=1e-12)
    assert set(written["wanted"]) == {"granted"}
    rule_of = dict(zip(sorted(set(lender.apply(X))), lender.rules(), strict=True))
    assert written["path"].tolist() == [rule_of[leaf].partition(" → ")[0] for leaf in lender.apply(X)]
    expected = lender.reasons(X, "granted")
    assert expected["number"].max() > 1
    for number, lines in expected.groupby("number"):
        found = written.set_index("row")[[f"reason_{number}", f"drop_{number}"]].dropna()
        assert found[f"reason_{number}"].to_dict() == lines.set_index("row")["condition"].to_dict()
        np.testing.assert_allclose(found[f"drop_{number}"], lines["drop"], rtol=1e-12)


def test_json_has_every_row(tree, loans_csv, lender):
    result = predict(tree, loans_csv, "--wanted", "refused", "--json")
    document = json.loads(result.stdout)
    X = loans().drop(columns="label")
    assert document["classes"] == ["granted", "refused"]
    assert [line["prediction"] for line in document["predictions"]] == lender.predict(X).tolist()
    np.testing.assert_array_equal([line["probabilities"] for line in document["predictions"]], lender.predict_proba(X))
    found = [(line["row"], one["condition"], one["drop"]) for line in document["predictions"] for one in line["reasons"]]
    expected = lender.reasons(X, "refused")
    assert found == list(expected[["row", "condition", "drop"]].itertuples(index=False, name=None))


def test_the_table_shows_the_first_rows_in_80_columns(tree, loans_csv):
    result = predict(tree, loans_csv, "--wanted", "granted", columns=80)
    assert "P(granted)" in result.stdout
    assert "190 more rows" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert predict(tree, loans_csv, "--quiet").stdout == ""


def test_a_stored_estimator_predicts_as_its_document(tree, loans_csv, lender, tmp_path):
    imported("skops.io")
    save(lender, tmp_path / "lender.skops")
    documents = [json.loads(predict(file, loans_csv, "--json").stdout) for file in (tree, tmp_path / "lender.skops")]
    assert documents[0]["predictions"] == documents[1]["predictions"]
    small = OptimalTreeClassifier(max_depth=2).fit(columns()[["member"]], table()["label"])
    save(small, tmp_path / "small.skops")
    columns()[["member"]].to_csv(tmp_path / "rows.csv", index=False)
    document = json.loads(predict(tmp_path / "small.skops", tmp_path / "rows.csv", "--json").stdout)
    assert [line["prediction"] for line in document["predictions"]] == small.predict(columns()[["member"]]).tolist()


def test_unknown_categories_and_missing_values_are_one_note(tree, lender, tmp_path):
    X = loans().drop(columns="label").iloc[:4].copy()
    X["purpose"] = ["yacht", "car", None, "tv"]
    X["children"] = X["children"].astype(float)
    X.loc[1, "children"] = np.nan
    X.to_csv(tmp_path / "new.csv", index=False)
    result = predict(tree, tmp_path / "new.csv", "--json")
    document = json.loads(result.stdout)
    assert len(document["notes"]) == 1
    assert "1 unknown category in column 'purpose'" in document["notes"][0]
    with pytest.warns(UnknownValuesWarning):
        assert [line["prediction"] for line in document["predictions"]] == lender.predict(X).tolist()
    assert predict(tree, tmp_path / "new.csv").stderr.startswith("Note: ")


# --- black boxes ------------------------------------------------------------------------------------------------------


def test_a_black_box_has_labels_and_probabilities(tmp_path, csv):
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(columns(), table()["label"])
    imported("skops.io").dump(model, tmp_path / "m.skops")
    out = tmp_path / "p.parquet"
    result = predict(tmp_path / "m.skops", csv, "--out", out)
    assert result.exit_code == 0, result.stderr
    written = pd.read_parquet(out)
    assert written.columns.tolist() == ["row", "prediction", "probability_no", "probability_yes"]
    assert written["prediction"].tolist() == model.predict(columns()).tolist()
    np.testing.assert_array_equal(written[["probability_no", "probability_yes"]], model.predict_proba(columns()))
    refused = predict(tmp_path / "m.skops", csv, "--wanted", "yes")
    check_refused(refused, "--wanted is yes", "not a small tree", "fcca explain")


def test_a_black_box_without_probabilities_has_labels(tmp_path, csv):
    imported("skops.io").dump(LinearSVC(random_state=0).fit(columns(), table()["label"]), tmp_path / "m.skops")
    document = json.loads(predict(tmp_path / "m.skops", csv, "--json").stdout)
    assert {line["probabilities"] for line in document["predictions"]} == {None}
    assert {line["prediction"] for line in document["predictions"]} == {"no", "yes"}


# --- names and errors -------------------------------------------------------------------------------------------------


def test_class_names_replace_the_labels(tree, loans_csv):
    names = ["--class-names", "granted=yes please,refused=no"]
    plain = json.loads(predict(tree, loans_csv, "--wanted", "granted", "--json").stdout)
    named = json.loads(predict(tree, loans_csv, "--wanted", "yes please", "--json", *names).stdout)
    assert named["classes"] == ["yes please", "no"]
    name = {"granted": "yes please", "refused": "no"}
    for old, new in zip(plain["predictions"], named["predictions"], strict=True):
        assert new == old | {"prediction": name[old["prediction"]], "wanted": "yes please"}


def test_what_cannot_be_used_is_named(tree, loans_csv, tmp_path, monkeypatch):
    check_refused(predict(tree, loans_csv, "--wanted", "grantet"), "--wanted is grantet", "Did you mean 'granted'?")
    check_refused(predict(tree, loans_csv, "--class-names", "grantd=a"), "'grantd'", "Did you mean 'granted'?")
    check_refused(predict(tree, loans_csv, "--class-names", "granted=refused"), "two classes", "'refused'")
    check_refused(predict(tree, loans_csv, "--label", "lable"), "'lable'", "Did you mean 'label'?")
    check_refused(predict(tmp_path / "tre.json", loans_csv), "There is no file", "Did you mean 'tree.json'?")
    (tmp_path / "cut.json").write_text(tree.read_text()[:200])
    check_refused(predict(tmp_path / "cut.json", loans_csv), "cut.json")
    loans().drop(columns="income").to_csv(tmp_path / "lacks.csv", index=False)
    check_refused(predict(tree, tmp_path / "lacks.csv"), "lacks.csv", "'income'", "tree.json")
    thresholds = from_json(tree.read_text()).thresholds
    save(thresholds, tmp_path / "thresholds.json")
    check_refused(predict(tmp_path / "thresholds.json", loans_csv), "ThresholdTable", "Expected a tree")
    monkeypatch.setattr(fcca.cli._predict_result, "run_predict", lambda *args: pytest.fail("work has begun"))
    check_refused(predict(tree, loans_csv, "--out", "p.xlsx"), "--out is p.xlsx", ".csv or .parquet")
    check_refused(predict(tree, loans_csv, "--class-names", "granted"), "--class-names is granted", "0=good,1=bad")
    assert "p.xlsx" not in files_in(tmp_path)
