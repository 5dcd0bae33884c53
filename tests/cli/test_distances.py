"""Options --scale and --category-distance: same results as the library, errors before any work."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from command_line import check_refused, distill, explain, table
from fcca.certificates import read_certificate
from mixed_tables import loans
from real_data import imported


@pytest.fixture
def mixed(tmp_path):
    X, y = loans(120)
    path = tmp_path / "loans.csv"
    X.assign(label=y).to_csv(path, index=False)
    return path


def _parameters(out):
    return json.loads((out / "certificate.json").read_text(encoding="utf-8"))["parameters"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ("range", "auto")),
        (("--scale", "rank"), ("rank", "auto")),
        (("--scale", "mad", "--category-distance", "0.5"), ("mad", 0.5)),
        (("--scale", "income=2,age=10", "--category-distance", "auto"), ({"income": 2.0, "age": 10.0}, "auto")),
    ],
    ids=str,
)
def test_distances_of_a_distillation_are_in_its_certificate(mixed, out, options, expected):
    result = distill(mixed, *options, "--test-size", 0, "--out", out)
    assert result.exit_code == 0, result.stderr
    found = _parameters(out)
    assert (found["scale"], found["category_distance"]) == expected
    read_certificate((out / "certificate.json").read_text(encoding="utf-8"))


def test_another_unit_is_another_change(tmp_path, csv):
    skops = imported("skops.io")
    from sklearn.ensemble import GradientBoostingClassifier

    X = table().drop(columns="label").astype(float)
    model = tmp_path / "model.skops"
    skops.dump(GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0).fit(X, table()["label"]), model)
    cost = []
    for scale in ("range", "height=1000"):
        out = tmp_path / f"{scale}.csv"
        result = explain(model, csv, "--rows", "0", "--scale", scale, "--lambda0", 0, "--out", out)
        assert result.exit_code == 0, result.stderr
        cost.append(pd.read_csv(out)["cost"].iloc[0])
    assert cost[1] < cost[0] / 50


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--scale", "miles", "range, rank, mad or units of columns"),
        ("--scale", "income=0", "range, rank, mad or units of columns"),
        ("--scale", "income=-1", "range, rank, mad or units of columns"),
        ("--scale", "income=nan", "range, rank, mad or units of columns"),
        ("--scale", "income=1,income=2", "range, rank, mad or units of columns"),
        ("--scale", "=3", "range, rank, mad or units of columns"),
        ("--category-distance", "0", "'auto' or a number above 0"),
        ("--category-distance", "far", "'auto' or a number above 0"),
        ("--scale", "wage=3", "unit for the unknown column 'wage'. Did you mean 'age'"),
        ("--scale", "grade=3", "unit for 'grade', but this column holds categories"),
    ],
)
def test_invalid_distances_raise_errors(mixed, out, option, value, words):
    check_refused(distill(mixed, option, value, "--out", out), words)


def test_ranks_of_a_linear_model_are_refused(mixed, out):
    check_refused(distill(mixed, "--scale", "rank", "--model", "logistic", "--out", out), "a linear model")
