"""Help texts and printed numbers of the commands."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from command_line import columns, distill, explain, run, table
from fcca.cli._console_text import percent
from real_data import imported

COMMANDS = ("distill", "scorecard", "explain", "report", "export", "verify", "benchmark")


def in_one_line(text):
    """What a panel of rich holds, as one line."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


# --- help -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_flags_are_shown_without_a_value(command):
    shown = run(*command, "--help", columns=100).stdout
    assert "--help" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_fit_a_terminal_of_80_columns_on_a_line_each(command):
    shown = run(command, "--help", columns=80).stdout
    lines = [line.rstrip() for line in shown[shown.index("Examples") : shown.index("╭")].splitlines()[1:] if line.strip()]
    assert len(lines) >= 4
    for comment, example in zip(lines[::2], lines[1::2], strict=True):
        assert comment.startswith(" # ")
        assert example.startswith(f" fcca {command}")


def test_the_first_example_is_the_one_the_program_starts_with():
    start = "fcca distill"
    shown = run("distill", "--help").stdout
    assert shown[shown.index("Examples") :].split("\n fcca", 1)[1].startswith(start.removeprefix("fcca"))
    assert start in run("--help").stdout
    assert "--regularization is the cost per leaf" in in_one_line(shown)


def test_the_help_of_the_time_limit_mentions_the_tree_if_there_is_one():
    for command, has_tree in (("distill", True), ("report", True), ("explain", False)):
        shown = in_one_line(run(command, "--help").stdout)
        assert ("and to the tree" in shown) is has_tree


# --- rates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0.0 %"), (0.7288, "72.9 %"), (0.0001, "< 0.1 %"), (0.9996, "> 99.9 %"), (1, "100.0 %"), (0.0005, "0.1 %")],
)
def test_percents_never_round_to_0_or_100(share, text):
    assert percent(share) == text


def test_percents_can_be_whole_or_finer():
    assert [percent(0.5, 0), percent(0.999, 0), percent(0.02198, 2)] == ["50 %", "> 99 %", "2.20 %"]


def test_always_predicting_the_most_frequent_class_is_among_the_rates(tmp_path):
    result = distill("--q", 0.5, "--out", tmp_path)
    y = load_breast_cancer().target
    training, held_out = train_test_split(y, test_size=0.2, stratify=y, random_state=0)
    rate = percent(float(np.mean(held_out == 1)))
    assert re.search(rf"^Accuracy +[\d.]+ % +[\d.]+ % +{rate} +[\d.]+ %$", result.stdout, re.MULTILINE)
    assert not re.search(r"\d%", result.stdout)
    document = json.loads(distill("--q", 0.5, "--out", tmp_path, "--json").stdout)
    assert document["commonest_class"] == "benign"
    assert document["rates"]["held_out"]["baseline_accuracy"] == np.mean(held_out == 1)
    assert document["rates"]["training"]["baseline_accuracy"] == np.mean(training == 1)


def test_the_better_settings_of_a_small_tree_give_the_listed_figures(tmp_path):
    options = ("--q", 0.7, "--criterion", "error", "--max-depth", 3, "--out", tmp_path, "--json")
    few = json.loads(distill(*options).stdout)["quality"]
    assert few["tree"]["leaves"] == 2
    assert few["verdict"] is None
    advised = [line["options"].split()[0] for line in few["advice"]]
    assert "--regularization" in advised
    for line in few["advice"]:
        again = json.loads(distill(*options, *line["options"].split()).stdout)["quality"]["tree"]
        assert {name: line[name] for name in again} == again


# --- explanations ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    model = GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0).fit(columns(), table()["label"])
    imported("skops.io").dump(model, folder / "m.skops")
    columns().to_csv(folder / "t.csv", index=False)
    return folder / "m.skops", folder / "t.csv", pd.Series(model.predict(columns()))


def test_rows_and_counterfactuals_are_counted_separately_without_the_final_proof(files):
    model, data, predicted = files
    row = int(np.flatnonzero(predicted == "no")[0])
    shown = explain(model, data, "--rows", row, "--target", "yes", "--n", 50)
    answers = json.loads(explain(model, data, "--rows", row, "--target", "yes", "--n", 50, "--json").stdout)["answers"]
    assert answers[-1]["status"] == "infeasible"
    n = len(answers) - 1
    said = f"1 row, {n} counterfactual{'s' if n > 1 else ''}: {n} proven optimal; proven that no other counterfactual exists"
    assert said in in_one_line(shown.stdout)
    assert re.search(r" no other *$", shown.stdout, re.MULTILINE)


def test_rows_that_need_no_change_are_not_counted_as_changes(files):
    model, data, predicted = files
    shown = in_one_line(explain(model, data, "--target", "yes").stdout)
    there = int((predicted == "yes").sum())
    assert f"80 rows: {80 - there} proven optimal, {there} already yes" in shown
    assert "none needed" in shown
    only = str(int(np.flatnonzero(predicted == "yes")[0]))
    assert "1 row: 1 already yes" in in_one_line(explain(model, data, "--target", "yes", "--rows", only).stdout)
