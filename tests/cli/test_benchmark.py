"""``fcca benchmark``: methods side by side on the same folds."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from command_line import check_refused, files_in, loans, run, table
from fcca import FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier
from fcca.cli._models import target_model
from fcca.cli._options import TargetModel


def benchmark(*args: object, **kwargs: int):
    result = run("benchmark", *args, **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


AGAINST = ("black box", "most frequent class")  # what every method is compared with


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    table(120).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def found(people):
    result = benchmark(people, "--folds", 3, "--q", "0.8,0", "--max-depth", 2, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_every_method_has_a_line(found):
    assert [line["method"] for line in found["methods"]] == [*AGAINST, "FCCA Q=0", "FCCA Q=0.8", "GTRE", "CART"]
    assert (found["folds"], found["max_depth"], found["rows"], found["missing"]) == (3, 2, 120, {})
    black_box, baseline, *trees = found["methods"]
    assert black_box["fidelity"] == 1
    assert black_box["leaves"] is None
    assert (baseline["leaves"], baseline["columns"], baseline["optimal"]) == (1, 0, None)
    for line in trees:
        assert 0.5 < line["accuracy"] <= 1
        assert 2 <= line["leaves"] <= 4
        assert line["seconds"] > 0
    assert trees[0]["thresholds"] >= trees[1]["thresholds"]


def test_the_figures_are_those_of_the_library(found):
    frame = table(120)
    X, y = frame.drop(columns="label").astype(float), frame["label"].to_numpy(dtype=str)
    lines = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        X_train, X_test = X.iloc[train], X.iloc[test]
        black_box = target_model(TargetModel.gb, 0, X_train).fit(X_train, y[train])
        answers = black_box.predict(X_test)
        lines.append(("black box", np.mean(answers == y[test]), 1.0, np.nan, np.nan))
        guess = max(("no", "yes"), key=y[train].tolist().count)
        lines.append(("most frequent class", np.mean(y[test] == guess), np.mean(answers == guess), 1, 0))
        fcca = FCCADiscretizer(FrozenEstimator(black_box)).fit(X_train, y[train])
        gtre = GTREDiscretizer(FrozenEstimator(black_box)).fit(X_train, y[train])
        for name, discretizer, Q in (("FCCA Q=0", fcca, 0), ("FCCA Q=0.8", fcca, 0.8), ("GTRE", gtre, None)):
            discretizer = discretizer if Q is None else discretizer.set_granularity(Q)
            tree = OptimalTreeClassifier(max_depth=2).fit(discretizer.transform(X_train), y[train])
            predicted = tree.predict(discretizer.transform(X_test))
            size = (tree.n_leaves_, len(discretizer.thresholds_))
            lines.append((name, np.mean(predicted == y[test]), np.mean(predicted == answers), *size))
        cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X_train, y[train])
        predicted = cart.predict(X_test)
        lines.append(("CART", np.mean(predicted == y[test]), np.mean(predicted == answers), cart.get_n_leaves(), np.nan))
    names = ["method", "accuracy", "fidelity", "leaves", "thresholds"]
    expected = pd.DataFrame(lines, columns=names).groupby("method")
    for line in found["methods"]:
        mean = expected.mean().loc[line["method"]]
        for name in names[1:]:
            assert (np.nan if line[name] is None else line[name]) == pytest.approx(mean[name], nan_ok=True)
        assert line["accuracy_se"] == pytest.approx(expected["accuracy"].sem().loc[line["method"]])


def test_categories_and_missing_values_are_compared_too(tmp_path):
    frame = loans()
    frame.loc[11, "purpose"] = "a boat"
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = benchmark(tmp_path / "t.csv", "--folds", 2, "--q", "0", "--out", tmp_path / "new/t.csv")
    assert result.exit_code == 0, result.stderr
    assert "1 held-out row has a category or a missing value" in result.stderr
    assert "No condition holds for such a value." in result.stderr
    written = pd.read_csv(tmp_path / "new/t.csv")
    assert written["method"].tolist() == [*AGAINST, "FCCA Q=0", "GTRE", "CART"]
    assert (written["accuracy"] > 0.6).all()
    assert f"Written to {tmp_path / 'new/t.csv'}" in result.stdout


def test_rows_with_unknown_values_count_in_the_accuracy(tmp_path):
    X, y = pd.DataFrame({"a": np.tile([0.0, 1.0], 30), "kind": "u"}), np.tile(["no", "yes"], 30).astype(object)
    X.loc[[7, 8], "kind"] = ["boat", "car"]  # unknown to the black box of the fold that holds them out
    y[[7, 8]] = ["no", "yes"]  # and not like the other rows
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    result = benchmark(tmp_path / "t.csv", "--folds", 2, "--q", "0", "--json", "--keep", "kind")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert "2 held-out rows have categories" in " ".join(document["notes"])
    found = {line["method"]: line["accuracy"] for line in document["methods"]}
    assert set(found) == {*AGAINST, "FCCA Q=0", "GTRE", "CART"}
    assert [found[name] for name in ("black box", "FCCA Q=0", "GTRE", "CART")] == pytest.approx([58 / 60] * 4)


@pytest.mark.parametrize("model", ["logistic", "hgb", "xgb"])
def test_a_note_says_if_gtre_does_not_support_the_model(tmp_path, model):
    loans().to_csv(tmp_path / "t.csv", index=False)
    result = benchmark(tmp_path / "t.csv", "--folds", 2, "--q", "0.5", "--model", model)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("GTRE is left out. ") == 1
    assert not re.search(r"^GTRE  ", result.stdout, re.MULTILINE)
    assert re.search(r"^CART  ", result.stdout, re.MULTILINE)


def test_methods_can_be_left_out(people):
    result = benchmark(people, "--folds", 2, "--methods", "cart, cart", "--json")
    assert [line["method"] for line in json.loads(result.stdout)["methods"]] == [*AGAINST, "CART"]


@pytest.mark.parametrize("width", [79, 60])
def test_narrow_terminals_get_every_figure(people, width):
    result = benchmark(people, "--folds", 2, "--methods", "cart", columns=width)
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= width
    assert "…" not in result.stdout
    for heading in ("accuracy", "fidelity", "seconds", "thresholds", "columns", "leaves", "proven"):
        assert len(re.findall(rf"^method.*\b{heading}\b", result.stdout, re.MULTILINE)) == 1


def test_quiet_prints_nothing(people, tmp_path):
    result = benchmark(people, "--folds", 2, "--methods", "cart", "--quiet", "--out", tmp_path / "b.csv")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert files_in(tmp_path) == ["b.csv"]


def test_wrong_arguments_are_named_before_any_work(people, tmp_path, monkeypatch):
    monkeypatch.setattr("fcca.cli._benchmark_result.target_model", lambda *args: pytest.fail("work has begun"))
    few = table(120).assign(label=["rare"] * 2 + ["often"] * 118)
    few.to_csv(tmp_path / "few.csv", index=False)
    for arguments, mentioned in (
        ((people, "--folds", 1), ["--folds is 1"]),
        ((people, "--q", "0.5,2"), ["--q is 0.5,2"]),
        ((people, "--q", ""), ["--q is "]),
        ((people, "--max-depth", 0), ["--max-depth is 0"]),
        ((people, "--jobs", 0), ["--jobs is 0"]),
        ((people, "--random-state", -1), ["--random-state is -1"]),
        ((people, "--time-limit", -1), ["--time-limit is -1"]),
        ((people, "--methods", "fcca,magic"), ["--methods is fcca,magic", "gtre"]),
        ((people, "--out", tmp_path / "b.xlsx"), ["--out", ".csv"]),
        (("--label", "grade"), ["--label grade", "without a file"]),
        ((tmp_path / "few.csv",), ["'rare'", "2 row(s)", "5 folds"]),
    ):
        check_refused(benchmark(*arguments), *mentioned)
    assert files_in(tmp_path) == ["few.csv"]


def test_a_failure_while_writing_prints_what_was_computed(people, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = benchmark(people, "--folds", 2, "--methods", "cart", "--out", tmp_path / "b.csv")
    assert result.exit_code == 1
    assert "CART" in result.stdout
    assert "Written" not in result.stdout
    assert "No space left on device" in result.stderr
    assert files_in(tmp_path) == []
