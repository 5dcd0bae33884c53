"""``fcca distill`` with models of other families and from files, and how models are described."""

from __future__ import annotations

import json
import re
import sys

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from command_line import FILES, check_refused, columns, distill, explain, files_in, run, table
from fcca.cli._models import decision, described
from fcca.models import decide_at
from real_data import imported

LIBRARIES = {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}


@pytest.fixture(scope="module")
def classifier():
    return GradientBoostingClassifier(max_depth=2, n_estimators=10, random_state=0).fit(columns(), table()["label"])


@pytest.fixture
def model(tmp_path, classifier):
    path = tmp_path / "model.skops"
    imported("skops.io").dump(classifier, path)
    return path


# --- fcca distill with other models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rf", "hgb", "xgb", "lgbm", "catboost"])
def test_every_family_is_distilled(name, csv, tmp_path, out):
    if name in LIBRARIES:
        imported(LIBRARIES[name])
    result = distill(csv, "--model", name, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"Black box +\w+, [\d,]+ (trees of depth up to [1-4]|stumps)", result.stdout)
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
    check_refused(refused, "predicts 'no', 'yes'", "has 0, 1")


def test_a_trusted_model_file_is_loaded_without_a_child_process(model, csv, out, tmp_path, monkeypatch):
    expected = explain(model, csv, "--rows", "0-5", "--out", tmp_path / "expected.csv")
    assert expected.exit_code == 0, expected.stderr
    trials = []
    monkeypatch.setattr("fcca.models.files._load_model.try_in_child", lambda *args: trials.append(args))
    trusted = (
        explain(model, csv, "--rows", "0-5", "--out", tmp_path / "trusted.csv", "--trust-model-file"),
        distill(csv, "--model-file", model, "--out", out, "--trust-model-file"),
        run("report", model, csv, "--out", tmp_path / "r.html", "--levels", "0.5", "--trust-model-file"),
        run("verify", out / "certificate.json", "--data", csv, "--model", model, "--sample", 2, "--trust-model-file"),
    )
    assert [result.exit_code for result in trusted] == [0, 0, 0, 0]
    assert trials == []
    both = [pd.read_csv(tmp_path / name).drop(columns="seconds") for name in ("expected.csv", "trusted.csv")]
    pd.testing.assert_frame_equal(*both)
    assert distill(csv, "--model-file", model, "--out", out).exit_code == 0
    assert len(trials) == 1
    check_refused(distill(csv, "--out", out, "--trust-model-file"), "--trust-model-file", "without --model-file")


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


def test_a_file_of_lightgbm_says_that_it_keeps_no_labels(tmp_path):
    lightgbm = imported("lightgbm")
    frame = columns().assign(label=table()["label"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(columns(), frame["label"])
    model.booster_.save_model(tmp_path / "booster.txt")
    result = explain(tmp_path / "booster.txt", tmp_path / "t.csv", "--rows", 0)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("Note: booster.txt is a LightGBM file, which does not store labels")
    assert "0, 1" in result.stderr
    assert ".skops" in result.stderr
    document = json.loads(explain(tmp_path / "booster.txt", tmp_path / "t.csv", "--rows", 0, "--json").stdout)
    assert "does not store labels" in document["notes"][0]


def test_models_are_described_by_their_size(classifier):
    glassbox = imported("interpret.glassbox")
    curves = glassbox.ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=5, n_jobs=1)
    assert described(classifier) == "GradientBoostingClassifier, 10 trees of depth up to 2"
    assert described(curves.fit(columns(), table()["label"])) == "ExplainableBoostingClassifier"
    assert described(SVC(kernel="linear").fit(columns(), table()["label"])) == "SVC"
    tree = DecisionTreeClassifier(max_depth=2).fit(columns(), table()["label"])
    assert described(decide_at(tree, 0.3)) == "DecisionTreeClassifier, depth 2, decision threshold 0.3"


def test_another_decision_threshold_is_distilled(csv, out):
    result = distill(csv, "--model", "rf", "--decision-threshold", 0.3, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "decision threshold 0.3" in " ".join(result.stdout.split())
    check_refused(distill(csv, "--model", "svm", "--decision-threshold", 0.3, "--out", out), "predict_proba")


def test_a_forest_from_a_file_without_names_is_checked_by_number(csv, tmp_path):
    path = tmp_path / "forest.skops"
    forest = RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0)
    imported("skops.io").dump(forest.fit(columns().to_numpy(), table()["label"]), path)
    assert explain(path, csv, "--rows", 0).exit_code == 0
    table().assign(id=1).to_csv(tmp_path / "more.csv", index=False)
    check_refused(explain(path, tmp_path / "more.csv", "--rows", 0), "more.csv has 5 column(s)", "3", "--label")


# --- where a model decides --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrap", "text"),
    [
        (lambda fitted: decide_at(fitted, 0.3), "yes if its probability is at least 0.3, instead of 0.5"),
        (lambda fitted: decide_at(fitted, 0.5), None),
        (lambda fitted: FixedThresholdClassifier(fitted), None),
        (
            lambda fitted: FrozenEstimator(FixedThresholdClassifier(fitted, threshold=0.9, pos_label="no")),
            "no if its probability is at least 0.9, instead of 0.5",
        ),
        (
            lambda fitted: FixedThresholdClassifier(fitted, threshold=0.5, response_method="decision_function"),
            "yes if its decision function is at least 0.5, instead of 0",
        ),
        (lambda fitted: fitted, None),
    ],
)
def test_the_decision_threshold_is_described(classifier, wrap, text):
    assert decision(wrap(classifier)) == text


def test_a_tuned_threshold_is_described(classifier):
    tuned = TunedThresholdClassifierCV(FrozenEstimator(classifier), cv="prefit", refit=False)
    tuned.fit(columns(), table()["label"])
    tuned.best_threshold_ = 0.25
    assert decision(make_pipeline(tuned)) == "yes if its probability is at least 0.25, instead of 0.5"
