"""What is checked before a library gets a file: honest files pass, damaged ones are refused by the checks themselves."""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import _stored_catboost, _stored_lightgbm, _stored_xgboost, load_model
from fcca.models._damage import check_archive
from fcca.models._ubjson import read_ubjson
from hardening import seeds
from hardening.mutations import mutated
from real_data import imported


def of_json(check: Callable[[object], None]) -> Callable[[bytes], None]:
    return lambda content: check(json.loads(content))


CHECKS = {
    "XGBoost json": (seeds.xgboost_json, "json", of_json(_stored_xgboost.check_document), "xgboost"),
    "XGBoost ubj": (seeds.xgboost_ubj, "numbers", _stored_xgboost.check_ubjson, "xgboost"),
    "LightGBM": (seeds.lightgbm_text, "lines", lambda content: _stored_lightgbm.check_text(content.decode()), "lightgbm"),
    "CatBoost json": (seeds.catboost_json, "json", of_json(_stored_catboost.check_document), "catboost"),
    "skops": (seeds.skops_of_scikit_learn, "zip", check_archive, "skops"),
}
# What json and zipfile raise by themselves; a file is refused by these too.
REFUSED = (
    ValueError, UnsupportedModelError, RecursionError, zipfile.BadZipFile, KeyError, EOFError, NotImplementedError,
    SyntaxError, TypeError, AttributeError, tokenize.TokenError,
)  # fmt: skip


@pytest.mark.parametrize("kind", CHECKS)
@pytest.mark.parametrize("n", [300, pytest.param(5000, marks=pytest.mark.verify)])
def test_honest_files_pass_and_damaged_ones_are_refused_in_words(kind, n):
    make, structured, check, library = CHECKS[kind]
    imported(library)
    contents = make()
    for content in contents:
        check(content)
    refused = 0
    for number in range(n):
        try:
            check(mutated(contents[number % len(contents)], number, structured=structured))
        except REFUSED:
            refused += 1
    assert n / 3 < refused < n


def test_numbers_of_ubjson_are_read_as_they_are():
    name = b"L" + bytes(7) + b"\x01a"
    assert read_ubjson(b"[i\xffU\xffI\x00\x01l\x00\x00\x00\x02]") == [-1, 255, 1, 2]
    assert read_ubjson(b"[L" + bytes(7) + b"\x03TFZCx]") == [3, True, False, None, "x"]
    assert read_ubjson(b"[#U\x02i\x01i\x02") == [1, 2]
    np.testing.assert_array_equal(read_ubjson(b"[$d#U\x02?\x80\x00\x00@\x00\x00\x00"), [1.0, 2.0])
    assert read_ubjson(b"{" + name + b"SU\x02hi}") == {"a": "hi"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[", b"x", b"[$x#U\x01", b"[$d#L\x7f" + b"\xff" * 7, b"[#L\x7f" + b"\xff" * 7, b"i\x01i", b"SS", b"[" * 100,
     b"{U\x01ai\x01U\x01ai\x01}", b"SU\x01\xff", b"SL" + b"\xff" * 8],
)  # fmt: skip
def test_damaged_ubjson_is_refused(content):
    with pytest.raises(ValueError):  # noqa: PT011 - any, from the reader or from the decoding of a text
        read_ubjson(content)


def test_a_file_that_ends_the_trial_process_is_refused_in_words(monkeypatch):
    imported("catboost")
    content = seeds.catboost_binary()[0]
    _stored_catboost.check_binary(content)
    monkeypatch.setattr(_stored_catboost, "TRIAL", "import os; os.abort()")
    with pytest.raises(ValueError, match="error of its own"):
        _stored_catboost.check_binary(content)
    monkeypatch.setattr(_stored_catboost, "TRIAL", "import sys; sys.exit('refused: too odd')")
    with pytest.raises(ValueError, match=r"^too odd$"):
        _stored_catboost.check_binary(content)
    monkeypatch.setattr(_stored_catboost, "TRIAL", "print('no JSON')")
    with pytest.raises(ValueError, match="cannot write again"):
        _stored_catboost.check_binary(content)
    monkeypatch.setattr(_stored_catboost, "TRIAL", "import time; time.sleep(60)")
    monkeypatch.setattr(_stored_catboost, "LEAST_SECONDS", 0.2)
    with pytest.raises(ValueError, match="within 0 seconds"):
        _stored_catboost.check_binary(content)


def test_infinities_in_catboost_s_json_are_refused_before_it_reads_them(tmp_path):
    imported("catboost")
    document = json.loads(seeds.catboost_json()[3])
    document["trees"][1]["x"] = -np.inf
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="-Infinity is not a number of JSON"):
        load_model(tmp_path / "model.json")


def test_a_name_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "model.json").write_text('{"learner": {}, "learner": {}}')
    with pytest.raises(InvalidInputError, match="twice"):
        load_model(tmp_path / "model.json")


def test_trees_in_an_archive_are_not_built_of_two_things_under_one_number():
    imported("skops")
    content = seeds.skops_of_scikit_learn()[0]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    pending, array = [schema], None
    while array is None:
        value = pending.pop()
        if isinstance(value, dict) and value.get("__loader__") == "TreeNode":
            array = value["content"]["content"]["nodes"]
        pending += list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    schema["twin"] = array | {"file": "another.npy"}
    members["schema.json"] = json.dumps(schema).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="two different things"):
        check_archive(out.getvalue())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Tree=", "Three=", "no trees"),
        ("label_index=0\n", "", "label_index"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=2", "at a time"),
        ("objective=binary sigmoid:1", "objective=binary sigmoid:0", "steepness"),
        ("objective=binary sigmoid:1", "objective=binary num_class:7", "classes"),
        ("objective=binary sigmoid:1", "objective=%%", "objective"),
        ("feature_names=", "feature_names=one_more ", "feature_names"),
        ("[11.1:46]", "[11.1:4x]", "feature_infos"),
        ("\nend of trees", "\nend of threes", "cut off"),
        ("is_linear=0", "is_linear=2", "is_linear"),
        ("shrinkage=1\n", "shrinkage=x\n", "shrinkage"),
        ("decision_type=1 ", "decision_type=99 ", "decision_type|where it should be"),
        ("cat_boundaries=0 1", "cat_boundaries=1 0", "sets of categories"),
        ("threshold=0 ", "threshold=7 ", "set of categories"),
        ("left_child=1 ", "left_child=0 ", "form a tree"),
        ("split_feature=1 ", "split_feature=9 ", "column"),
        ("leaf_value=-", "leaf_value=x", "leaf_value"),
        ("feature_importances:", "feature_importance:", "understood"),
        ("income=14", "income=1x", "how often|no numbers"),
        ("end of parameters", "end of parameter", "parameters"),
        ("pandas_categorical:[[", "pandas_categorical:[[[", "labels"),
        ('pandas_categorical:[["clerk"', "pandas_categorical:[[{}", "labels"),
    ],
)
def test_lightgbm_s_text_is_refused_for_what_is_wrong_with_it(old, new, why):
    imported("lightgbm")
    text = seeds.lightgbm_text()[1].decode()
    old = (
        old
        if old in text or not old.startswith("income=")
        else next(line for line in text.splitlines() if line.startswith("income="))
    )
    old = old if old in text or not old.startswith("[11") else text.partition("feature_infos=")[2].split()[0]
    assert old in text, old
    changed = text.replace(old, new) if "Tree" in old else text.replace(old, new, 1)
    with pytest.raises(ValueError, match=why):
        _stored_lightgbm.check_text(_with_sizes(changed))


def _with_sizes(text: str) -> str:
    """The same, the sizes of its trees in its header as they are now."""
    head, found, rest = text.partition("\n\nTree=")
    trees = ("Tree=" + rest).partition("end of trees")[0].split("\nTree=")
    sizes = [len(("" if at == 0 else "Tree=") + tree) + (at < len(trees) - 1) for at, tree in enumerate(trees)]
    lines = [
        f"tree_sizes={' '.join(map(str, sizes))}" if line.startswith("tree_sizes=") else line for line in head.split("\n")
    ]
    return "\n".join(lines) + found + rest


def test_a_small_archive_with_a_huge_schema_is_refused_before_it_is_parsed():
    imported("skops")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b'{"a": [' + b"[]," * 30_000_000 + b"[]]}")
    assert len(out.getvalue()) < 2**20
    with pytest.raises(ValueError, match=r"schema\.json has 90,0"):
        check_archive(out.getvalue())
