"""Option --special: same results as the library, a note where it is not given, errors before any work."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from command_line import check_refused, distill, explain, run
from fcca import FCCAClassifier, GTREDiscretizer
from fcca.export import save
from real_data import imported
from special_tables import people


@pytest.fixture
def people_csv(tmp_path):
    X, y = people()
    path = tmp_path / "people.csv"
    X.assign(label=y).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("given", "expected"),
    [("-9,-8", [-9.0, -8.0]), ("score=-9,-8,months=99", {"score": [-9.0, -8.0], "months": [99.0]})],
)
def test_special_values_of_a_distillation_are_in_its_files(people_csv, out, given, expected):
    result = distill(people_csv, "--special", given, "--test-size", 0, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "--special" not in result.output
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["parameters"]["special_values"] == expected
    assert "score is -9" in pd.read_csv(out / "thresholds.csv")["condition"].tolist()


def test_likely_special_values_are_noted(people_csv, out):
    result = distill(people_csv, "--test-size", 0, "--out", out)
    assert result.exit_code == 0
    assert "--special=-9,-8" in result.output


def test_no_explanation_ends_at_a_special_value(people_csv, tmp_path):
    skops = imported("skops.io")
    from sklearn.ensemble import GradientBoostingClassifier

    X, y = people()
    model, out = tmp_path / "model.skops", tmp_path / "found.csv"
    skops.dump(GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y), model)
    result = explain(model, people_csv, "--rows", "0-79", "--special", "score=-9,-8,months=99", "--out", out)
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(out)
    ends = [column for column in found if column.endswith(("to", "new"))]
    assert ends
    assert not np.isin(found[ends].select_dtypes("number"), (-9, -8, 99)).any()


@pytest.mark.parametrize("given", ["nine", "-9,", "score=", "-9,score=-8", "=-9", "nan"])
def test_wrong_values_are_refused(people_csv, out, given):
    check_refused(distill(people_csv, "--special", given, "--out", out), "--special")


@pytest.mark.parametrize("command", ["distill", "scorecard", "explain"])
def test_unknown_columns_are_refused(people_csv, out, tmp_path, command):
    data = [people_csv]
    if command == "explain":
        tree = FCCAClassifier(GTREDiscretizer()).fit(*people())
        save(tree, tmp_path / "tree.json")
        data = [tmp_path / "tree.json", people_csv, "--label", "label"]
    out = [] if command == "explain" else ["--out", out]
    found = run(command, *data, "--special", "scor=-9", *out)
    check_refused(found, "--special names the unknown column 'scor'", "Did you mean 'score'")
