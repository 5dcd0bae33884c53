"""``fcca scorecard``: its figures, its files, and errors before any work."""

import json
import re

import duckdb
import numpy as np
import pandas as pd
import pytest

from command_line import check_refused, files_in, run
from export.trees import as_dictionaries
from fcca import FCCAScorecard, MidpointDiscretizer
from fcca.export import save, scorecard_from_json
from fcca.plots import ScorecardDisplay
from real_data import imported
from special_tables import people

FILES = ["scorecard.csv", "scorecard.json", "scorecard.py", "scorecard.sql"]


@pytest.fixture
def people_csv(tmp_path):
    imported("sqlglot")
    X, y = people(missing=True)
    path = tmp_path / "people.csv"
    X.assign(label=pd.Series(y).map({0: "no", 1: "yes"})).to_csv(path, index=False)
    return path


def test_the_files_score_the_table_as_each_other(people_csv, out):
    result = run("scorecard", people_csv, "--special", "-9,-8", "--monotonic", "auto", "--favourable", "yes", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert files_in(out) == FILES
    card = scorecard_from_json((out / "scorecard.json").read_text())
    assert card.favourable == "yes"
    rows = pd.read_csv(people_csv).drop(columns="label").astype(float)
    expected = card.score_points(rows).tolist()
    module: dict = {}
    exec((out / "scorecard.py").read_text(), module)
    assert [module["score"](row) for row in as_dictionaries(rows)] == expected
    connection = duckdb.connect()
    connection.register("data", rows.assign(position=range(len(rows))))
    found = connection.execute((out / "scorecard.sql").read_text()).df().sort_values("position")
    assert found["fcca_score"].tolist() == expected
    assert pd.read_csv(out / "scorecard.csv")["points"].tolist() == card.table["points"].tolist()
    assert len(ScorecardDisplay.from_estimator(card).axes_) == 2


@pytest.mark.parametrize(
    ("names", "prefix"),
    [(["fcca_score"], "fcca_1_"), (["Fcca_Probability", "fcca_1_score"], "fcca_2_"), (["probability"], "fcca_")],
)
def test_the_query_adds_columns_with_new_names(people_csv, out, names, prefix):
    table = pd.read_csv(people_csv)
    table.assign(**{name: range(len(table)) for name in names}).to_csv(people_csv, index=False)
    result = run("scorecard", people_csv, "--label", "label", "--thresholds", 2, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert re.findall('AS "(.*)"', (out / "scorecard.sql").read_text()) == [f"{prefix}score", f"{prefix}probability"]


@pytest.mark.parametrize("suffix", [".json", ".skops"])
def test_a_scorecard_predicts_the_rows_of_a_table(suffix, people_csv, out, tmp_path):
    X, y = people(missing=True)
    card = FCCAScorecard(MidpointDiscretizer(max_thresholds=10)).fit(X, y)
    model, written = tmp_path / f"card{suffix}", tmp_path / "scores.csv"
    save(card, model)
    result = run("predict", model, people_csv, "--class-names", "0=no,1=yes", "--out", written)
    assert result.exit_code == 0, result.stderr
    assert f"{card.n_bins_} bins of" in result.stdout
    found = pd.read_csv(written)
    assert found["score"].tolist() == card.score_points(X).tolist()
    assert found["prediction"].tolist() == ["yes" if one else "no" for one in card.predict(X)]
    np.testing.assert_allclose(found["probability_yes"], card.predict_proba(X)[:, 1], rtol=1e-12)
    lines = json.loads(run("predict", model, people_csv, "--json").stdout)["predictions"]
    assert [line["score"] for line in lines] == card.score_points(X).tolist()
    check_refused(run("predict", model, people_csv, "--wanted", "1"), "is not a small tree, so there are no reasons")
    check_refused(run("explain", model, people_csv), "Expected a tree or")


def test_json_has_the_figures_of_the_held_out_rows(people_csv, out):
    result = run("scorecard", people_csv, "--json", "--thresholds", 4, "--out", out)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert list(document["figures"]) == ["scorecard", "logistic", "black box"]
    assert 0.5 < document["figures"]["scorecard"]["auc"] <= 1
    assert document["is_held_out"]
    assert document["thresholds"] <= 4
    assert len(document["bins"]) == len(pd.read_csv(out / "scorecard.csv"))


def test_the_summary_names_every_column_of_the_scorecard(people_csv, out):
    result = run("scorecard", people_csv, "--test-size", 0, "--out", out)
    assert "on 600 training rows" in result.stdout
    assert all(name in result.stdout for name in pd.read_csv(out / "scorecard.csv")["column"])


def test_wrong_options_are_refused(people_csv, out, tmp_path):
    check_refused(run("scorecard", people_csv, "--favourable", "maybe", "--out", out), "--favourable is 'maybe'")
    three = tmp_path / "three.csv"
    pd.DataFrame({"x": range(60), "label": ["a", "b", "c"] * 20}).to_csv(three, index=False)
    check_refused(run("scorecard", three, "--keep", "x", "--out", out), "has 3 classes, but a scorecard is for two")
    assert not out.exists() or files_in(out) == []
