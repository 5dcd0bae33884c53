"""Boosters in skops files are checked before their libraries read them, however the file was rearranged."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fcca.models._damage import check_archive
from fcca.models._stored_trees import states_in
from real_data import imported

MAKERS = {
    "xgboost": lambda library: library.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1),
    "lightgbm": lambda library: library.LGBMClassifier(n_estimators=2, num_leaves=3, n_jobs=1, verbose=-1),
    "catboost": lambda library: library.CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False),
}


def parts(name):
    """The members of a skops file of a booster, the state of what its library reads, and the document around it."""
    model = MAKERS[name](imported(name)).fit(*load_breast_cancer(return_X_y=True))
    with zipfile.ZipFile(io.BytesIO(imported("skops.io").dumps(model))) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    schema = json.loads(members.pop("schema.json"))
    for state in states_in(schema):
        for key in ("handle", "_handle", "__model"):
            if isinstance(state.get(key), dict) and state[key].get("__loader__") in (
                "BytearrayNode",
                "BytesNode",
                "JsonNode",
            ):
                return members, state, key, schema
    raise AssertionError(f"a file of {name} has no booster")


def archived(members, schema):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in (members | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, part)
    return content.getvalue()


@pytest.mark.parametrize("name", MAKERS)
def test_a_booster_of_its_library_passes(name):
    members, _, _, schema = parts(name)
    check_archive(archived(members, schema))


@pytest.mark.parametrize("name", ["xgboost", "catboost"])
def test_a_damaged_booster_is_found_whatever_its_member_is_called(name):
    members, state, key, schema = parts(name)
    whole = members.pop(state[key]["file"])
    state[key]["file"] = "other.txt"
    check_archive(archived(members | {"other.txt": whole}, schema))
    with pytest.raises(ValueError, match=r"cut off|verification failed"):
        check_archive(archived(members | {"other.txt": whole[:-40]}, schema))


@pytest.mark.parametrize("before", ["x", "\n", "tree\nmore=1\n"])
def test_a_text_of_lightgbm_is_checked_whatever_it_begins_with(before):
    members, state, key, schema = parts("lightgbm")
    text = before + json.loads(state[key]["content"]).replace("left_child=", "left_child=9")
    state[key]["content"] = json.dumps(text)
    with pytest.raises(ValueError, match="it "):
        check_archive(archived(members, schema))


@pytest.mark.parametrize("name", MAKERS)
def test_a_booster_is_not_made_of_anything_else(name):
    """XGBoost reads whatever has bytes, an array as well."""
    members, state, key, schema = parts(name)
    array = io.BytesIO()
    np.save(array, np.zeros(5, dtype=np.uint8))
    state[key] = {
        "__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": "a.npy",
        "__id__": 7,
    }  # fmt: skip
    with pytest.raises(ValueError, match="none of its library's"):
        check_archive(archived(members | {"a.npy": array.getvalue()}, schema))


def test_a_booster_that_is_not_a_text_is_refused():
    members, state, key, schema = parts("lightgbm")
    state[key]["content"] = "[1]"
    with pytest.raises(ValueError, match="not a text"):
        check_archive(archived(members, schema))
    state[key]["content"] = "null"  # one without a model, which has no answers
    check_archive(archived(members, schema))


def test_a_booster_without_attributes_is_refused():
    members, _, _, schema = parts("lightgbm")
    booster = next(state for state in states_in(schema) if state.get("__module__") == "lightgbm.basic")
    booster["content"]["content"] = []
    with pytest.raises(ValueError, match="without attributes"):
        check_archive(archived(members, schema))


@pytest.mark.parametrize("number", ["the same", 1.0, True])
def test_nothing_else_stands_under_the_number_of_a_booster(number):
    """skops takes the first of what has one number, and 1.0 and true are the same number as 1."""
    members, state, key, schema = parts("lightgbm")
    state[key]["__id__"] = 1
    booster = next(state for state in states_in(schema) if state.get("__module__") == "lightgbm.basic")
    other = json.loads(json.dumps(state[key])) | {"content": '"other"', "__id__": 1 if number == "the same" else number}
    booster["content"]["content"] = {"first": other, **booster["content"]["content"]}
    with pytest.raises(ValueError, match=r"under one number|whole number"):
        check_archive(archived(members, schema))
