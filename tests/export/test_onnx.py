"""The ONNX model: well-formed, says what it takes, and refuses what it has no place for. That it answers as the classifier
does is for the tests of parity and of refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from export.documents import chain
from export.onnx_runner import answers_of, session_of
from export.random_documents import HOSTILE_NAMES, LARGE, good_rows, random_tree
from export.trees import N_TREES, fitted
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export import _to_onnx, as_distilled, from_json, to_onnx
from fcca.tables import Column, Columns
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")


@pytest.fixture(autouse=True)
def onnx():
    imported("onnxruntime")
    return imported("onnx")


def stump(categories: list | None, classes: list, *, missing: bool = True, name: str = "x"):
    """A tree that tests whether x is the first category, or greater than 0."""
    condition = {"kind": "cut", "column": 0, "threshold": 0.0}
    if categories is not None:
        condition = {"kind": "set", "column": 0, "categories": categories[:1]}
    weights = [[1.0] + [0.0] * (len(classes) - 1), [0.0] * (len(classes) - 1) + [1.0]]
    document = json.loads(chain(1)) | {
        "classes": classes,
        "columns": [{"name": name, "categories": categories, "missing": missing}],
        "missing_values": missing,
        "conditions": [condition],
        "nodes": [
            {"condition": 0, "left": 1, "right": 2, "weight": np.sum(weights, axis=0).tolist(), "rows": 2},
            *({"condition": None, "weight": weight, "rows": 1} for weight in weights),
        ],
    }
    return from_json(json.dumps(document))


def run(model: bytes, values: np.ndarray):
    session = session_of(model)
    return session.run(None, {session.get_inputs()[0].name: values})


def test_models_are_well_formed(onnx):
    trees = [fitted(seed)[0] for seed in range(N_TREES)] + [random_tree(seed) for seed in range(30)]
    for tree in [*trees, random_tree(0, hostile=True), from_json(chain(200))]:
        model = onnx.load_from_string(to_onnx(tree))
        onnx.checker.check_model(model, full_check=True)
        names = [one.name for one in model.graph.input] + [out for node in model.graph.node for out in node.output]
        names += [one.name for one in model.graph.initializer]
        assert len(set(names)) == len(names)


def test_exactly_the_tested_columns_are_inputs():
    for seed in range(30):
        tree = random_tree(seed)
        inputs = {one.name for one in session_of(to_onnx(tree)).get_inputs()}
        assert inputs == ({tree.columns.names[j] for j in tree.asked} or {tree.columns.names[0]})


def test_nothing_is_compared_in_32_bits(onnx):
    single = onnx.TensorProto.FLOAT
    for seed in range(30):
        model = onnx.load_from_string(to_onnx(random_tree(seed)))
        assert all(one.data_type != single for one in model.graph.initializer)
        assert all(one.type.tensor_type.elem_type != single for one in [*model.graph.input, *model.graph.output])
        casts = [one for node in model.graph.node if node.op_type == "Cast" for one in node.attribute]
        assert all(one.i == onnx.TensorProto.INT64 for one in casts)


def test_the_leaf_is_the_classifiers():
    for seed in range(12):
        classifier, X = fitted(seed)
        assert answers_of(to_onnx(classifier), X)[2].tolist() == classifier.apply(X).tolist()


def test_the_metadata_describe_the_model():
    classifier, _ = fitted(1)
    tree = as_distilled(classifier)
    said = session_of(to_onnx(classifier)).get_modelmeta().custom_metadata_map
    assert json.loads(said["fcca.classes"]) == list(tree.classes)
    assert said["fcca.certificate"] == tree.certificate.in_words()
    assert said["fcca.version"] == tree.fcca_version
    assert json.loads(said["fcca.outputs"]) == ["label", "probabilities", "leaf"]
    assert [one["name"] for one in json.loads(said["fcca.inputs"])] == [tree.columns.names[j] for j in tree.asked]


def test_outputs_are_renamed_if_a_column_has_their_name():
    for name in ("label", "leaf"):
        session = session_of(to_onnx(stump(None, ["a", "b"], name=name)))
        said = session.get_modelmeta().custom_metadata_map
        expected = [f"{one}_" if one == name else one for one in ("label", "probabilities", "leaf")]
        assert [one.name for one in session.get_outputs()] == json.loads(said["fcca.outputs"]) == expected
        assert session.run(None, {name: np.array([1.0, -1.0])})[0].tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "like", [*HOSTILE_NAMES, "rows", "fcca", "node_0", "constant_1", "value_0", "value_0_", "ai.onnx.ml"]
)
def test_column_names_never_clash_with_names_of_the_graph(like):
    model = to_onnx(stump(None, ["a", "b"], name=like))
    assert run(model, np.array([0.0, 5e-324, np.nan]))[0].tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("classes", "kind", "refused"),
    [
        (["a", "b"], "tensor(string)", ""),
        (["", "b"], "tensor(string)", "<refused>"),
        (["", "<refused>", "<refused>_"], "tensor(string)", "<refused>__"),
        ([0, 1], "tensor(int64)", -1),
        ([-1, 1], "tensor(int64)", -(2**63)),
        ([-1, -(2**63)], "tensor(int64)", 1 - 2**63),
        ([False, True], "tensor(int64)", -1),
        ([LARGE, LARGE + 1], "tensor(int64)", -1),
        ([0.5, 2.0], "tensor(double)", "NaN"),
        ([1, 2.5], "tensor(double)", "NaN"),
    ],
)
def test_labels_keep_their_values_and_refused_rows_have_another(classes, kind, refused):
    model = to_onnx(stump(None, classes))
    label, probabilities, leaf = run(model, np.array([-1.0, 1.0, np.inf, np.nan, -np.inf]))
    session = session_of(model)
    assert session.get_outputs()[0].type == kind
    assert json.loads(session.get_modelmeta().custom_metadata_map["fcca.refused_label"]) == refused
    no_label = label.tolist()[2]
    assert np.isnan(no_label) if refused == "NaN" else no_label == refused
    assert [label.tolist()[at] for at in (0, 1, 3)] == [classes[0], classes[-1], classes[0]]
    assert leaf.tolist() == [1, 2, -1, 1, -1]
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("categories", "kind", "missing", "unseen"),
    [
        (["a", "b"], "string", "", "c"),
        (["", "b"], "string", "<missing>", "c"),
        (["<missing>", ""], "string", "<missing>_", "c"),
        ([3, 1], "float64", "NaN", 2),
        ([True, False], "float64", "NaN", 2),
        ([0.5, 1], "float64", "NaN", np.inf),
        ([2**53 - 1, 1], "float64", "NaN", 2**53),
        ([2**53, 1], "int64", -(2**63), 2**53 + 1),
        ([-(2**63), 1], "int64", 1 - 2**63, 0),
    ],
)
@pytest.mark.parametrize("takes_missing", [True, False])
def test_categories_keep_their_type(categories, kind, missing, unseen, takes_missing):
    model = to_onnx(stump(categories, ["others", "first"], missing=takes_missing))
    said = json.loads(session_of(model).get_modelmeta().custom_metadata_map["fcca.inputs"])
    assert said == [{"name": "x", "type": kind, "missing": missing}]
    dtype = {"string": object, "float64": np.float64, "int64": np.int64}[kind]
    gap = np.nan if missing == "NaN" else missing
    values = np.array([categories[0], categories[1], gap, unseen], dtype=dtype)
    label, _, leaf = run(model, values)
    assert leaf.tolist() == [2, 1, 1, 1]
    assert label.tolist()[:2] == ["first", "others"]


def test_an_empty_table_has_no_predictions():
    for seed in range(30):
        tree = random_tree(seed)
        label, probabilities, leaf = answers_of(to_onnx(tree), good_rows(tree, 0, seed))
        assert (label.shape, probabilities.shape, leaf.shape) == ((0,), (0, len(tree.classes)), (0,))


@pytest.mark.parametrize("categories", [None, ["a", "b"], [1, 2], ["a", 1]])
def test_a_tree_of_one_leaf_counts_the_rows_of_the_first_column(categories):
    document = json.loads(chain(1))
    document |= {"conditions": [], "nodes": [{"condition": None, "weight": [1, 3], "rows": 4}], "missing_values": True}
    document["columns"] = [{"name": "x", "categories": categories, "missing": False}] * 1
    model = to_onnx(from_json(json.dumps(document)))
    numbers = session_of(model).get_inputs()[0].type == "tensor(double)"
    label, probabilities, leaf = run(model, np.array([np.nan, np.inf]) if numbers else np.array(["?", ""], dtype=object))
    assert label.tolist() == ["b", "b"]
    assert probabilities.tolist() == [[1.5 / 5, 3.5 / 5]] * 2
    assert leaf.tolist() == [0, 0]


def test_columns_without_names_are_inputs_by_position():
    tree = replace(random_tree(3), columns=Columns(tuple(replace(one, name=None) for one in random_tree(3).columns)))
    assert {one.name for one in session_of(to_onnx(tree)).get_inputs()} == {f"x{j}" for j in tree.asked}


def test_the_deepest_tree_can_be_written():
    tree = from_json(chain(200))
    rows = pd.DataFrame({"x": np.arange(-2, 203) / 1.0})
    assert answers_of(to_onnx(tree), rows)[2].tolist() == tree.apply(rows).tolist()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (stump(["a", 1], ["a", "b"]), "categories of column 'x' are both strings and numbers"),
        (stump(None, ["a", 1]), "classes are both strings and numbers"),
        (stump(None, [0, 2**63]), "classes have numbers"),
        (stump(None, [0, 10**400]), "classes have numbers"),
        (stump([0.5, 2**60], ["a", "b"]), "categories of column 'x' have numbers"),
        (stump(None, ["a", "b"], name=""), "Column 0 has an empty name"),
        (stump(None, ["a", "\ud800"]), "not valid Unicode"),
        (stump(["a", "\ud800"], ["a", "b"]), "not valid Unicode"),
        (stump(None, ["a", "b"], name="\udc00"), "not valid Unicode"),
    ],
)
def test_trees_that_onnx_cannot_hold_are_refused(tree, said):
    with pytest.raises(InvalidInputError, match=said):
        to_onnx(tree)


def test_mixed_categories_of_an_untested_column_do_not_matter():
    tree = stump(None, ["a", "b"])
    other = replace(tree, columns=Columns((*tree.columns, Column("y", ("a", 1)))))
    assert [one.name for one in session_of(to_onnx(other)).get_inputs()] == ["x"]


def test_without_onnx_the_error_names_the_extra(monkeypatch):
    def no_onnx(name: str):
        assert name == "onnx"
        raise ImportError(name)

    monkeypatch.setattr(_to_onnx, "import_module", no_onnx)
    with pytest.raises(UnsupportedModelError, match=r"pip install 'fcca\[onnx\]'"):
        to_onnx(fitted(0)[0])


def test_onnx_is_imported_only_when_needed():
    code = "import sys, fcca.export; fcca.export.to_onnx; print('onnx' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
