"""Documents of threshold tables are checked like those of trees."""

from __future__ import annotations

import json

import numpy as np
import pytest

from export.test_old_versions import OLD
from fcca import ThresholdTable
from fcca.conditions import _document
from fcca.exceptions import InvalidInputError
from fcca.export import from_json


def document(name="gaps"):
    return json.loads((OLD / f"thresholds-{name}.json").read_text(encoding="utf-8"))


def test_stored_documents_are_read():
    for name in ("cuts", "categories", "gaps"):
        text = json.dumps(document(name))
        assert ThresholdTable.from_json(text) == ThresholdTable.from_json(text.encode())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (7, "got int"),
        ("[" * 100_000, "Not a JSON document"),
        ("9" * 5000, "Not a JSON document"),
        (b"\xff\xfe", "Not a JSON document"),
        ("NaN", "JSON does not allow the value NaN"),
        ('{"format": "fcca.thresholds", "format": "x"}', "the name 'format' occurs twice"),
        ('{"format": "fcca.thresholds", "version": true}', "version True"),
        ('{"format": "fcca.thresholds", "version": [1]}', "version"),
        ('{"format": "fcca-tree", "version": 1}', "Not a threshold table"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_other_texts_are_a_typed_error(text, words):
    with pytest.raises(InvalidInputError, match=words):
        ThresholdTable.from_json(text)


def changed(change):
    other = document()
    change(other)
    return json.dumps(other)


def put(*path, to):
    def change(given):
        for key in path[:-1]:
            given = given[key]
        given[path[-1]] = to

    return change


CUT, SET = 0, next(at for at, one in enumerate(document()["conditions"]) if one["kind"] == "set")
DAMAGES = {
    "NaN": (put("conditions", CUT, "threshold", to=float("nan")), "JSON does not allow the value NaN"),
    "infinite": (put("conditions", CUT, "cut", to=float("inf")), "JSON does not allow the value Infinity"),
    "a huge number": (put("conditions", CUT, "count", to=10**400), "'count' of condition 0 is not finite"),
    "a huge column": (put("conditions", CUT, "feature", to=2**40), "is on column"),
    "a negative column": (put("conditions", CUT, "feature", to=-1), "is on column -1, but there are 4 columns"),
    "a column that is true": (
        put("conditions", CUT, "feature", to=True),
        "'feature' of condition 0 is missing or has the wrong type",
    ),
    "a condition twice": (lambda given: given["conditions"].insert(0, given["conditions"][0]), "occurs twice"),
    "another order": (lambda given: given["conditions"].reverse(), "must be sorted"),
    "a threshold beside its values": (put("conditions", CUT, "below", to=1e9), "does not lie between"),
    "no neighbour": (lambda given: given["conditions"][CUT].pop("above"), "'above' of condition 0 is missing"),
    "a set of nothing": (put("conditions", SET, "categories", to=[]), "at least one"),
    "a set of one twice": (put("conditions", SET, "categories", to=["car", "car"]), "must be distinct"),
    "an unknown category": (put("conditions", SET, "categories", to=["yacht"]), "not a category"),
    "a kind that is a list": (
        put("conditions", CUT, "kind", to=["cut"]),
        "'kind' of condition 0 is missing or has the wrong type",
    ),
    "a cut of labels": (put("conditions", CUT, "feature", to=1), "no threshold|sorted"),
    "a name that is a number": (put("feature_names", 0, to=7), "must be strings"),
    "the name of another column": (put("columns", 0, "name", to=document()["feature_names"][1]), "in 'columns'"),
    "more names": (lambda given: given["feature_names"].append("x"), "5 names for 4 columns"),
    "columns that are a text": (put("columns", to="all"), "'columns' of the document is missing or has the wrong type"),
    "a column that is a number": (put("columns", 0, to=7), "'name' of column 0 is missing"),
    "a category twice": (put("columns", 1, "categories", to=["car", "car"]), "must be distinct"),
    "no categories": (put("columns", 1, "categories", to=[]), "at least one"),
    "no mark": (lambda given: given["columns"][0].pop("missing"), "'missing' of column 0 is missing"),
    "conditions that are an object": (
        put("conditions", to={}),
        "'conditions' of the document is missing or has the wrong type",
    ),
    "a condition that is a list": (put("conditions", 0, to=[]), "'kind' of condition 0 is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damage_is_named(name):
    change, words = DAMAGES[name]
    with pytest.raises(InvalidInputError, match=words):
        ThresholdTable.from_json(changed(change))


def test_tables_too_large_are_neither_read_nor_written(monkeypatch):
    text = json.dumps(document())
    table = ThresholdTable.from_json(text)
    monkeypatch.setattr(_document, "LARGEST", 100)
    with pytest.raises(InvalidInputError, match="characters, but a threshold table may have at most 100"):
        ThresholdTable.from_json(text)
    with pytest.raises(InvalidInputError, match="Keep fewer conditions"):
        table.to_json()


def test_lists_of_millions_are_refused():
    with pytest.raises(InvalidInputError, match="'feature_names' of the document has 2,000,001 entries, more than"):
        ThresholdTable.from_json(changed(put("feature_names", to=[""] * 2_000_001)))


def test_counts_that_are_not_finite_are_not_written():
    table, _ = ThresholdTable.from_counts(["a"], [0], [1.0], [np.inf])
    with pytest.raises(InvalidInputError, match="not finite"):
        table.to_json()


def test_trees_with_categories_take_missing_values():
    tree = json.loads((OLD / "tree-categories.json").read_text(encoding="utf-8"))
    tree |= {"version": 2, "conditions": [], "nodes": tree["nodes"][:1], "missing_values": False}
    with pytest.raises(InvalidInputError, match="'missing_values' is false, but columns have missing values or categories"):
        from_json(json.dumps(tree))
