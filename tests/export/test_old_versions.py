"""Documents of earlier versions are read, and predict the same as before."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError
from fcca.export import EXPORTERS, from_json, load, to_json

OLD = Path(__file__).parent / "old"
RECORDED = json.loads((OLD / "answers.json").read_text(encoding="utf-8"))
TREES = sorted(name for name in RECORDED if name.startswith("tree-"))
TABLES = sorted(name for name in RECORDED if name.startswith("thresholds-"))


def rows_of(name, columns):
    """The recorded rows, with the types of their columns."""
    rows = pd.DataFrame(RECORDED[name]["rows"], columns=[column["name"] for column in columns], dtype=object)
    for column in columns:
        if column["categories"] is None:
            rows[column["name"]] = rows[column["name"]].astype(float)
    return rows


def test_all_stored_documents_are_tried():
    assert {path.name for path in OLD.glob("*-*.json")} == set(RECORDED)
    assert len(TREES) == 7
    assert {RECORDED[name]["version"] for name in TABLES} == {1, 2}


@pytest.mark.parametrize("name", TREES)
def test_trees_of_version_1_predict_as_recorded(name):
    text = (OLD / name).read_text(encoding="utf-8")
    document, recorded = json.loads(text), RECORDED[name]
    assert document["version"] == 1
    tree = load(OLD / name)
    if document["columns"][0]["name"] is None:
        rows = pd.DataFrame(recorded["rows"]).to_numpy()
    else:
        rows = rows_of(name, document["columns"])
    assert tree.predict(rows).tolist() == recorded["answers"]
    leaf = tree.apply(rows)
    assert tree.structure.share[leaf].tolist() == recorded["shares"]
    held = tree.structure.weight[leaf] + 0.5
    assert tree.predict_proba(rows).tolist() == (held / held.sum(axis=1, keepdims=True)).tolist()
    assert tree.rules() == recorded["rules"]
    assert (tree.thresholds, tree.provenance) == (None, None)
    assert to_json(tree) == text
    assert tree.fcca_version == document["fcca"]


@pytest.mark.parametrize("name", TREES)
def test_version_1_has_no_binary_columns(name):
    tree = from_json((OLD / name).read_bytes())
    for ask in (lambda: tree.transform([[1.0]]), tree.get_feature_names_out):
        with pytest.raises(InvalidInputError, match="which stores only the conditions that the tree tests"):
            ask()


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("form", ["json", "markdown", "python", "text"])
def test_version_1_can_be_exported_to_every_form(name, form, tmp_path):
    result = run("export", OLD / name, "--to", form, "--out", tmp_path / "tree")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "tree").read_text(encoding="utf-8") == EXPORTERS[form].write(load(OLD / name))


@pytest.mark.parametrize("name", TABLES)
def test_threshold_tables_binarize_as_recorded(name):
    text, recorded = (OLD / name).read_text(encoding="utf-8"), RECORDED[name]
    table = load(OLD / name)
    assert isinstance(table, ThresholdTable)
    assert json.loads(text)["version"] == recorded["version"]
    assert table.names() == recorded["names"]
    assert table.count.tolist() == recorded["count"]
    columns = json.loads(text).get("columns") or [{"name": one, "categories": None} for one in table.feature_names]
    assert table.binarize(rows_of(name, columns)).tolist() == recorded["columns"]
    assert table.to_json() == text
