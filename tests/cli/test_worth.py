"""A summary begins with the quality of the tree, and warns if the tree is useless."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, log_loss, roc_auc_score

from command_line import distill, run, table
from fcca.export import load
from real_data import imported

KINDS = ("tree", "cart", "commonest_class", "black_box")


def rare(n=1500):
    """A table where no leaf has a majority of the rare class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"])
    bad = 0.03 + 0.4 * ((frame["a"] > 0.5) & (frame["b"] > 0))
    return frame.assign(label=np.where(rng.random(n) < bad, "bad", "good"))


@pytest.fixture
def rare_file(tmp_path):
    rare().to_csv(tmp_path / "rare.csv", index=False)
    return tmp_path / "rare.csv"


def quality(*arguments):
    result = distill(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["quality"]


# --- figures --------------------------------------------------------------------------------------------------------------


def test_a_summary_begins_with_the_held_out_rows(csv, out):
    shown = distill(csv, "--out", out).stdout
    assert shown.splitlines()[1].startswith("Held-out rows: 16")
    first = shown[: shown.index("╭─ fcca distill")]
    for name in (
        "Accuracy",
        "Balanced accuracy",
        "AUC",
        "Log-loss",
        "KS",
        "Confusion matrix on held-out rows (down: true class, across: prediction of the tree)",
    ):
        assert re.search(rf"^{re.escape(name)} ", first, re.MULTILINE)


def test_the_first_screen_has_figures_size_optimality_and_the_next_step(csv, out):
    shown = distill(csv, "--out", out, report=True, columns=80).stdout
    screen = "\n".join(shown.splitlines()[:24])
    starts = ("Held-out rows: 16", "Size        depth ", "Optimality  proven on the training rows: ", "Next        ")
    places = [screen.index(start) for start in starts]
    assert places == sorted(places)
    assert "report.html" in "".join(screen[places[-1] :].split())


def test_the_figures_are_those_of_the_tree_on_the_training_rows_where_none_are_held_out(tmp_path, out):
    frame = table(150)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = quality(tmp_path / "t.csv", "--test-size", 0, "--out", out)
    tree = load(out / "tree.json")
    X, y = frame.drop(columns="label"), frame["label"]
    probability = tree.predict_proba(X)
    assert (found["of"], found["rows"]) == ("training", 150)
    assert found["tree"]["accuracy"] == np.mean(tree.predict(X) == y)
    assert found["tree"]["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, tree.predict(X)))
    assert found["tree"]["auc"] == pytest.approx(roc_auc_score(y, probability[:, 1]))
    assert found["tree"]["log_loss"] == pytest.approx(log_loss(y, probability, labels=["no", "yes"]))
    assert found["confusion"] == {"classes": ["no", "yes"], "rows": confusion_matrix(y, tree.predict(X)).tolist()}
    shown = distill(tmp_path / "t.csv", "--test-size", 0, "--out", out).stdout
    assert shown.splitlines()[1].startswith("Training rows: 150")
    assert "No rows were held out" in shown


def test_three_classes_have_a_matrix_and_no_ks(tmp_path, out):
    iris = load_iris(as_frame=True)
    iris.data.assign(label=iris.target_names[iris.target]).to_csv(tmp_path / "iris.csv", index=False)
    shown = distill(tmp_path / "iris.csv", "--out", out).stdout
    assert "→ setosa" in shown
    assert not re.search("^KS", shown, re.MULTILINE)
    found = quality(tmp_path / "iris.csv", "--out", out)
    assert all(found[kind]["ks"] is None for kind in KINDS)
    assert found["cart"]["leaves"] == found["tree"]["leaves"]
    assert np.sum(found["confusion"]["rows"]) == found["rows"] == 30


def test_many_names_are_numbered_in_the_head_of_the_matrix(tmp_path, out):
    iris = load_iris(as_frame=True)
    names = np.array(["a long name", "another long name", "the third one"])
    iris.data.assign(label=names[iris.target]).to_csv(tmp_path / "iris.csv", index=False)
    shown = distill(tmp_path / "iris.csv", "--out", out, columns=80).stdout
    assert re.search(r"→ 1 +→ 2 +→ 3", shown)
    assert re.search(r"^2 another long … +\d+ +\d+ +\d+$", shown, re.MULTILINE)


def test_a_black_box_without_probabilities_has_a_dash(csv, out):
    shown = distill(csv, "--model", "svm", "--out", out).stdout
    assert re.search(r"^Log-loss .* –$", shown, re.MULTILINE)
    assert re.search(r"^AUC .* \d\.\d{3}$", shown, re.MULTILINE)


def test_a_table_in_chunks_says_what_it_does_not_know(tmp_path, out):
    table(200).to_parquet(tmp_path / "t.parquet")
    shown = " ".join(distill(tmp_path / "t.parquet", "--stream", "--out", out).stdout.split())
    assert "CART, and the AUC and log-loss of the black box, need the rows in memory (--no-stream)." in shown
    assert re.search(r"Log-loss \d\.\d+ – \d\.\d+ – ", shown)


# --- verdict --------------------------------------------------------------------------------------------------------------


def test_a_tree_no_better_than_the_most_frequent_class_says_so_and_what_helps(rare_file, out):
    options = (rare_file, "--criterion", "error", "--out", out)
    found = quality(*options)
    assert found["verdict"] == "This tree is no better than always predicting “good”: it has a single leaf."
    assert "--criterion log_loss" in [line["options"] for line in found["advice"]]
    for line in found["advice"]:
        again = quality(*options, *line["options"].split())["tree"]
        assert {name: line[name] for name in again} == again
        assert again["leaves"] > 1
        assert again["auc"] > 0.55
    shown = run("distill", *options).stdout
    assert found["verdict"] in shown
    assert "proven optimal, and no better than the most frequent class" in " ".join(shown.split())
    page = (out / "report.html").read_text(encoding="utf-8")
    assert found["verdict"] in page
    assert "--criterion log_loss gives" in page


def test_advice_names_the_number_of_thresholds_that_it_was_tried_on(out):
    options = ("--q", 0.7, "--criterion", "error", "--regularization", 0.4, "--out", out)
    advice = quality(*options, "--thresholds", "auto")["advice"]
    assert advice
    for line in advice:
        assert "--thresholds" in line["options"]
        again = quality(*options, *line["options"].split())["tree"]
        assert {name: line[name] for name in again} == again


def test_noise_says_that_nothing_helps(tmp_path, out):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1500, 2)).round(2), columns=["a", "b"])
    frame.assign(label=rng.choice(["no", "yes"], 1500, p=[0.8, 0.2])).to_csv(tmp_path / "noise.csv", index=False)
    shown = distill(tmp_path / "noise.csv", "--out", out).stdout
    assert "This tree is no better than always predicting “no”" in shown
    assert "Other settings were tried, but none gave a better tree." in shown


def test_a_table_in_chunks_without_held_out_rows_has_nothing_to_try_by(tmp_path, out):
    rare().to_parquet(tmp_path / "rare.parquet")
    options = (tmp_path / "rare.parquet", "--stream", "--test-size", 0, "--criterion", "error", "--out", out)
    assert "No other settings were tried. Hold out rows" in distill(*options).stdout


# --- options of the tree --------------------------------------------------------------------------------------------------


def test_the_options_of_the_tree_reach_it(rare_file, out):
    given = ("--criterion", "gini", "--max-depth", 4, "--max-leaves", 5, "--min-samples-leaf", 40)
    shown = json.loads(distill(rare_file, *given, "--class-weight", "bad=5", "--out", out, "--json").stdout)
    assert 1 < shown["tree"]["leaves"] <= 5
    tree = json.loads((out / "certificate.json").read_text(encoding="utf-8"))["parameters"]["tree"]
    expected = {"criterion": "gini", "max_depth": 4, "max_leaf_nodes": 5, "min_samples_leaf": 40}
    assert {name: tree[name] for name in expected} == expected


def test_weights_of_classes_are_those_of_the_option(rare_file, out):
    plain, balanced, named = (
        quality(rare_file, "--criterion", "error", "--out", out, *weight)
        for weight in ((), ("--class-weight", "balanced"), ("--class-weight", "bad=20, good=1"))
    )
    assert plain["tree"]["leaves"] == 1
    for found in (balanced, named):
        assert found["tree"]["balanced_accuracy"] > 0.6


def test_weights_of_whole_numbers_as_classes(tmp_path, out):
    frame = rare().assign(label=lambda table: (table["label"] == "bad").astype(int))
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = quality(tmp_path / "t.csv", "--criterion", "error", "--class-weight", "1=20", "--out", out)
    assert found["tree"]["balanced_accuracy"] > 0.6


def test_a_certificate_of_a_weighted_tree_is_verified(rare_file, out):
    imported("skops.io")
    options = ("--criterion", "log_loss", "--class-weight", "bad=3,good=1", "--max-leaves", 4, "--save-model")
    assert distill(rare_file, *options, "--out", out).exit_code == 0
    checked = run("verify", out / "certificate.json", "--data", rare_file, "--model", out / "model.skops")
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-depth", "0", "--max-depth is 0. Expected a whole number of at least 1"),
        ("--max-leaves", "1", "--max-leaves is 1. Expected a whole number of at least 2"),
        ("--min-samples-leaf", "0", "--min-samples-leaf is 0"),
        ("--class-weight", "heavy", "Expected 'balanced', or classes with weights above 0, such as yes=5,no=1."),
        ("--class-weight", "bad=0", "weights above 0"),
        ("--class-weight", "bad=inf", "weights above 0"),
        ("--class-weight", "bad=1,bad=2", "weights above 0"),
        ("--class-weight", "=2", "weights above 0"),
        ("--criterion", "entropy", "--criterion"),
    ],
)
def test_invalid_tree_settings_raise_errors_before_any_work(rare_file, out, monkeypatch, option, value, said):
    monkeypatch.setattr("fcca.cli._read_table.read_data", lambda *args: pytest.fail("work has begun"))
    result = distill(rare_file, option, value, "--out", out, columns=300)
    assert result.exit_code == 2
    assert said in result.stderr


def test_weights_of_unknown_classes_are_refused_before_anything_is_fitted(rare_file, out, monkeypatch):
    monkeypatch.setattr("fcca.cli._black_box.target_model", lambda *args: pytest.fail("work has begun"))
    result = distill(rare_file, "--class-weight", "worse=2", "--out", out, columns=300)
    assert result.exit_code == 2
    assert "--class-weight has the unknown class 'worse' of 'label'. Expected one of 'bad', 'good'." in result.stderr
