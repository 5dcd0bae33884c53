"""``--class-names`` changes what is shown and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import check_refused, columns, distill, run, table
from fcca.export import from_json
from real_data import imported

NAMES = ["--class-names", "no=z declined,yes=approved"]  # in another order than the labels
NAME = {"no": "z declined", "yes": "approved"}


def document(*args: object, out: Path) -> dict:
    result = distill(*args, "--json", "--out", out)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_distill_finds_the_same_tree_under_other_names(csv, tmp_path):
    plain, named = (document(csv, *given, out=tmp_path / str(len(given))) for given in ([], NAMES))
    assert named["classes"] == [one | {"class": NAME[one["class"]]} for one in plain["classes"]]
    assert [rule.replace("approved", "yes").replace("z declined", "no") for rule in named["tree"]["rules"]] == plain["tree"][
        "rules"
    ]
    assert named["quality"]["confusion"] == {
        "classes": ["z declined", "approved"],
        "rows": plain["quality"]["confusion"]["rows"],
    }
    trees = [from_json((tmp_path / str(n) / "tree.json").read_text()) for n in (0, 2)]
    assert trees[1].classes == ("z declined", "approved")
    assert [NAME[label] for label in trees[0].predict(columns())] == trees[1].predict(columns()).tolist()
    for name in ("thresholds.json", "thresholds.csv", "certificate.json", "counterfactuals.parquet"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_chunks_and_fitted_models_have_the_same_names(csv, tmp_path):
    imported("skops.io")
    table().to_parquet(tmp_path / "t.parquet")
    document(csv, "--save-model", out=tmp_path / "plain")
    model = ["--model-file", tmp_path / "plain" / "model.skops"]
    expected = [document(csv, *model, out=tmp_path / "a"), document(tmp_path / "t.parquet", "--stream", out=tmp_path / "b")]
    found = [
        document(csv, *model, *NAMES, out=tmp_path / "c"),
        document(tmp_path / "t.parquet", "--stream", *NAMES, out=tmp_path / "d"),
    ]
    for plain, named in zip(expected, found, strict=True):
        assert named["certificate"]["objective"] == plain["certificate"]["objective"]
        assert {one["class"] for one in named["classes"]} == set(NAME.values())
    verify = ["verify", tmp_path / "c" / "certificate.json", "--data", csv, "--model", model[1], "--random-state", 0]
    verify += ["--tree", tmp_path / "c" / "tree.json"]
    assert run(*verify, *NAMES).exit_code == 0
    assert run(*verify).exit_code == 1  # the certificate has the labels


def test_the_summary_and_the_report_show_names_only(csv, tmp_path):
    result = distill(csv, *NAMES, "--out", tmp_path / "out", report=True)
    assert result.exit_code == 0, result.stderr
    assert "z declined (" in result.stdout
    assert "→ approved" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('"classes":["z declined","approved"]') == 2
    assert '["no","yes"]' not in page
    assert '"commonest":"no"' not in page


def test_class_weights_use_the_names(csv, tmp_path):
    weighted = [
        document(csv, "--class-weight", "yes=5", out=tmp_path / "a"),
        document(csv, "--class-weight", "approved=5", *NAMES, out=tmp_path / "b"),
    ]
    assert weighted[0]["certificate"]["objective"] == weighted[1]["certificate"]["objective"]
    refused = distill(csv, "--class-weight", "yes=5", *NAMES, "--out", tmp_path / "c")
    check_refused(refused, "unknown class 'yes'", "'approved'")


@pytest.mark.parametrize(
    ("names", "mentioned"),
    [
        ("yes", "Expected labels and their names, such as 0=good,1=bad"),
        ("yes=", "Expected labels"),
        ("yes=a,yes=b", "Expected labels"),
        ("yess=a", "Did you mean 'yes'?"),
        ("yes=no", "two classes of the label column 'label' the name 'no'"),
        ("yes=a,no=a", "the name 'a'"),
    ],
)
def test_names_that_cannot_be_used_are_refused(csv, tmp_path, names, mentioned):
    check_refused(distill(csv, "--class-names", names, "--out", tmp_path / "out"), "--class-names", mentioned)
    assert not (tmp_path / "out").exists()
