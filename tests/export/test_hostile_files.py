"""skops files that were tampered with are refused before use; some would crash the process."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.svm import SVC

from fcca import FCCAClassifier, FCCADiscretizer, MidpointDiscretizer, OptimalTreeClassifier, ThresholdTable
from fcca.constraints import Immutable
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export import load, to_json
from fcca.export._check_stored import check_stored
from fcca.models.files import damage_as_invalid_input
from fcca.selection import OptimalSelection
from fcca.tables import StandIns
from mixed_tables import loans
from real_data import imported


def table():
    X, y = loans(150)
    return X.assign(purpose=pd.Categorical(X["purpose"])), (y == "good").astype(int)


@cache
def saved(mixed=True):
    X, y = table()
    model = RandomForestClassifier(3, max_depth=3, random_state=0)
    X = X if mixed else X[["income", "age"]].fillna(2.0)
    chosen = OptimalSelection(6)
    discretizer = FCCADiscretizer(model, selection=chosen, constraints=[Immutable("age")])
    return FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=2, criterion="error")).fit(X, y)


def written(estimator):
    return imported("skops.io").dumps(estimator)


def refused(content, tmp_path, words):
    (tmp_path / "tampered.skops").write_bytes(content)
    with pytest.raises(InvalidInputError, match=words) as error:
        load(tmp_path / "tampered.skops")
    assert "tampered.skops" in str(error.value)


def with_schema(content, change):
    """The file with another document in it."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(changed, "w") as other:
        for name in archive.namelist():
            given = archive.read(name)
            if name == "schema.json":
                schema = json.loads(given)
                change(schema)
                given = json.dumps(schema).encode()
            other.writestr(name, given)
    return changed.getvalue()


def states(schema, **wanted):
    """All objects in a document with such entries."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if all(value.get(f"__{name}__") == entry for name, entry in wanted.items()):
                yield value
            pending += value.values()
        elif isinstance(value, list):
            pending += value


# --- how objects are made -----------------------------------------------------------------------------------------------


def test_an_unchanged_file_is_loaded(tmp_path):
    (tmp_path / "good.skops").write_bytes(written(saved()))
    assert to_json(load(tmp_path / "good.skops")) == to_json(saved())


TEXT = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": '"/etc/passwd"', "is_json": True}
CALLS = {
    "ListNode": {"content": [TEXT]},
    "SetNode": {"content": [TEXT]},
    "TupleNode": {"content": [TEXT]},
    "ConstructorFromReduceNode": {"content": {**TEXT, "__loader__": "TupleNode", "__class__": "tuple", "content": [TEXT]}},
    "DictNode": {"content": {}, "key_types": {**TEXT, "__loader__": "ListNode", "__class__": "list", "content": []}},
    "LossNode": {
        "__reduce__": {"args": {**TEXT, "__loader__": "TupleNode", "__class__": "tuple", "content": [TEXT]}},
        "content": {**TEXT, "content": "{}"},
    },
    "RandomStateNode": {"content": TEXT},
    "NdArrayNode": {"type": "json", "content": [TEXT], "shape": {**TEXT, "content": "[1]"}},
    "MethodNode": {"content": {"func": "save_model", "obj": TEXT}},
    "OperatorFuncNode": {"attrs": TEXT},
    "SomeNode": {},
}


@pytest.mark.parametrize("loader", CALLS)
def test_trusted_types_are_not_called_with_arguments_from_a_file(loader, tmp_path, monkeypatch):
    xgboost = imported("xgboost")

    class CalledError(Exception):
        pass

    def call(*args, **kwargs):
        raise CalledError

    monkeypatch.setattr(xgboost.core.Booster, "__init__", call)

    def change(schema):
        state = next(states(schema, **{"class": "RandomForestClassifier"}))
        state.clear()
        state |= {"__class__": "Booster", "__module__": "xgboost.core", "__loader__": loader, "__id__": 7} | CALLS[loader]

    refused(with_schema(written(saved(False)), change), tmp_path, "would create a xgboost.core.Booster with")


def test_keys_are_texts_or_numbers(tmp_path):
    def change(schema):
        state = next(states(schema, loader="DictNode"))
        state["key_types"]["content"][0] |= {"__class__": "Booster", "__module__": "xgboost.core"}

    refused(with_schema(written(saved()), change), tmp_path, "keys are neither strings nor numbers")


def test_a_threshold_table_is_built_by_its_constructor(tmp_path):
    def change(schema):
        state = next(states(schema, **{"class": "ThresholdTable"}))
        state |= {"__loader__": "ObjectNode", "content": {**TEXT, "content": "{}"}}

    refused(with_schema(written(saved()), change), tmp_path, "would create a fcca.thresholds.ThresholdTable with ObjectNode")


@pytest.mark.parametrize("entry", ["__class__", "__module__"])
def test_objects_have_a_type(entry, tmp_path):
    def change(schema):
        next(states(schema, loader="ListNode"))[entry] = 7

    refused(with_schema(written(saved()), change), tmp_path, "without a type")


def test_code_is_refused(tmp_path):
    def change(schema):
        state = next(states(schema, **{"class": "RandomForestClassifier"}))
        state.clear()
        state |= {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 7}

    refused(with_schema(written(saved()), change), tmp_path, r"not known to be safe: os\.system")


def test_other_objects_are_refused(tmp_path):
    refused(written({"a": 1}), tmp_path, "holds a dict, which is not an estimator")


# --- what they hold -----------------------------------------------------------------------------------------------------


def tampered(changes=None):
    """A saved classifier with the parts at these paths replaced."""
    classifier = pickle.loads(pickle.dumps(saved()))
    for way, new in (changes or {}).items():
        *path, last = way.split(".")
        at = classifier
        for name in path:
            at = at[int(name)] if name.isdigit() else getattr(at, name)
        vars(at)[last] = new(vars(at)[last]) if callable(new) else new
    return classifier


def put(position, value):
    """A copy of an array with another value at a position."""

    def change(array):
        other = array.copy()
        other[position] = value
        return other

    return change


def swap(**fields):
    """A copy of a tuple with other fields."""
    return lambda moves: moves._replace(**{name: change(getattr(moves, name)) for name, change in fields.items()})


DAMAGES = {
    "a node that points outside": {"structure_.left": put(0, 99)},
    "a node that points backwards": {"structure_.right": put(0, 0)},
    "a column that is not there": {"tree_.tree_.feature": put(0, 10**6)},
    "another tree in raw units": {"structure_.threshold": lambda array: array + 1},
    "a column beyond the table": {"structure_.feature": put(0, 99)},
    "a node that is no node": {"structure_.feature": put(-1, -7)},
    "weights that are not finite": {"structure_.weight": put((0, 0), np.inf)},
    "weights below 0": {"structure_.weight": put((0, 0), -1)},
    "a node without weight": {"structure_.weight": put(-1, 0)},
    "rows below 0": {"structure_.n_rows": put(0, -1)},
    "weights of one dimension": {"structure_.weight": lambda array: array[:, 0]},
    "weights as texts": {"structure_.weight": lambda array: array.astype(str)},
    "no nodes": {"structure_.feature": np.empty(0, dtype=np.int32)},
    "nodes as a list": {"structure_.feature": lambda array: array.tolist()},
    "thresholds that are whole": {"structure_.threshold": lambda array: np.zeros(len(array), dtype=int)},
    "categories of a leaf": {"structure_.categories": {99: (0,)}},
    "no category": {"structure_.categories": lambda sets: dict.fromkeys(sets or {0: ()}, ())},
    "categories as a list": {"structure_.categories": []},
    "gaps as a list": {"structure_.asks_missing": []},
    "a tree that is no tree": {"structure_.left": lambda array: array[:-1]},
    "columns of zeros and ones as a list": {"tree_.tree_.asks_one": [0]},
    "a column of zeros and ones at no node": {"tree_.tree_.asks_one": frozenset({99})},
    "other classes": {"classes_": np.array([3, 4])},
    "classes of the tree": {"tree_.classes_": np.array([1])},
    "leaves": {"tree_.n_leaves_": 99},
    "an objective": {"tree_.objective_": 0.0},
    "an objective that is a text": {"tree_.objective_": "0.1"},
    "a proof that is a number": {"tree_.is_optimal_": 1},
    "a fidelity": {"fidelity_": 7.0},
    "columns": {"n_features_in_": 99},
    "columns of the bins": {"discretizer_.n_features_in_": 99},
    "columns that are a text": {"n_features_in_": "4"},
    "names": {"feature_names_in_": np.array(["a", "b", "c", "d"], dtype=object)},
    "thresholds that are none": {"discretizer_.thresholds_": 7},
    "thresholds from elsewhere": {
        "discretizer_.thresholds_": lambda table: ThresholdTable.from_list([("income", 1e9)], table.columns),
    },
    "thresholds of other columns": {"discretizer_.all_thresholds_": ThresholdTable.from_list([("a", 1.0)], ["a"])},
    "no selection": {"discretizer_.selection_": 7},
    "a selection of others": {"discretizer_.selection_.kept": np.ones(99, dtype=bool)},
    "a selection of numbers": {"discretizer_.selection_.candidates": 7},
    "statuses": {"discretizer_.statuses_": {"perfect": 3}},
    "counts of statuses": {"discretizer_.statuses_": {"optimal": -3}},
    "crossings": {"discretizer_._crossing_points": put(0, 10**6)},
    "crossings that are no array": {"discretizer_._crossing_points": []},
    "crossings out of order": {"discretizer_._first_crossing": put(0, 3)},
    "rows of counterfactuals": {"discretizer_.counterfactuals_.rows": put(0, -5)},
    "as many rows": {"discretizer_.counterfactuals_.rows": lambda array: array[:-1]},
    "rows that are a list": {"discretizer_.counterfactuals_.rows": [1]},
    "a status": {"discretizer_.counterfactuals_.status_code": put(0, 77)},
    "a target": {"discretizer_.counterfactuals_.target_code": put(0, 77)},
    "an answer": {"discretizer_.counterfactuals_.own_code": put(0, 77)},
    "a cost": {"discretizer_.counterfactuals_.cost": lambda array: array[1:]},
    "a feature": {"discretizer_.counterfactuals_.moves": swap(feature=put(0, 99))},
    "a point": {"discretizer_.counterfactuals_.moves": swap(point=put(0, 10**6))},
    "an order of points": {"discretizer_.counterfactuals_.moves": swap(point=lambda array: array[::-1].copy())},
    "moves that are longer": {"discretizer_.counterfactuals_.moves": swap(cut=lambda array: np.append(array, 1.0))},
    "moves that are lists": {"discretizer_.counterfactuals_.moves": swap(point=lambda array: array.tolist())},
    "a category of moves": {"discretizer_.counterfactuals_.moves": swap(landing=lambda array: array + 1000.0)},
    "names of moves": {"discretizer_.counterfactuals_.feature_names": [1, 2, 3, 4]},
    "fewer names of moves": {"discretizer_.counterfactuals_.feature_names": ["a"]},
    "no names of moves": {"discretizer_.counterfactuals_.feature_names": 7},
    "columns of moves": {"discretizer_.counterfactuals_.columns": 7},
    "a box": {"discretizer_.counterfactuals_.box": (np.zeros(1), np.zeros(1))},
    "a box of one end": {"discretizer_.counterfactuals_.box": (np.zeros(4),)},
    "columns of the box": {"discretizer_.counterfactuals_.columns.columns": ()},
    "a category twice": {"discretizer_.counterfactuals_.columns.1.categories": ("car", "car")},
    "a name": {"discretizer_.counterfactuals_.columns.1.name": 7},
    "no categories": {"discretizer_.counterfactuals_.columns.1.categories": ()},
    "a mark": {"discretizer_.counterfactuals_.columns.1.missing": 7},
    "columns that are numbers": {"discretizer_.counterfactuals_.columns.columns": (1, 2, 3, 4)},
    "columns that know more": {"discretizer_.counterfactuals_.columns.answers": 7},
    "rules of counterfactuals": {"discretizer_.counterfactuals_.rules": 7},
    "rules that are numbers": {"discretizer_.counterfactuals_.rules": (7,)},
    "no stand-ins": {"discretizer_.stand_ins_": 7},
    "fewer stand-ins": {"discretizer_.stand_ins_": StandIns(np.zeros(1), np.zeros(1, dtype=bool), np.zeros(1, dtype=bool))},
    "stand-ins for numbers": {"discretizer_.stand_ins_.is_category": lambda mask: ~mask},
    "a stand-in that is no category": {"discretizer_.stand_ins_.values": put(1, 99.0)},
    "a rule": {"discretizer_.constraints.0.names": (7,)},
    "another model": {"discretizer_.estimator_": MidpointDiscretizer()},
    "a path": {"selection_path_": {"accuracy": ["high"]}},
    "a path that is a text": {"selection_path_": "all"},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_parts_that_do_not_fit_are_refused(name):
    classifier = tampered(DAMAGES[name])
    with pytest.raises((InvalidInputError, UnsupportedModelError)), damage_as_invalid_input(Path("file"), "a file"):
        check_stored(classifier)


def test_an_unchanged_estimator_passes(tmp_path):
    classifier = tampered()
    check_stored(classifier)
    (tmp_path / "whole.skops").write_bytes(written(classifier))
    X, _ = table()
    assert load(tmp_path / "whole.skops").predict(X).tolist() == saved().predict(X).tolist()


@pytest.mark.parametrize("name", ["a node that points outside", "an objective", "a rule", "a category twice", "a fidelity"])
def test_files_with_parts_that_do_not_fit_are_refused(name, tmp_path):
    refused(written(tampered(DAMAGES[name])), tmp_path, "cannot be loaded")


def test_cached_values_of_columns_are_computed_again(tmp_path):
    classifier = tampered()
    columns = classifier.discretizer_.thresholds_.columns
    vars(columns)["_codes"] = (None,) * len(columns)
    vars(columns)["has_categories"] = False
    (tmp_path / "tampered.skops").write_bytes(written(classifier))
    loaded = load(tmp_path / "tampered.skops")
    X, _ = table()
    assert loaded.predict(X).tolist() == saved().predict(X).tolist()


# --- black boxes whose compiled loops trust what they are given ----------------------------------------------------------


def black_boxes():
    X, y = table()
    X = X[["income", "age"]].fillna(2.0)
    three = np.where(X["age"] > 60, 2, y)
    yield (
        "boosting",
        GradientBoostingClassifier(n_estimators=3).fit(X, y),
        {
            "estimators_": lambda stages: np.repeat(stages, 50, axis=1),
            "n_features_in_": lambda _: 1,
        },
    )
    yield (
        "boosting of three",
        GradientBoostingClassifier(n_estimators=3).fit(X, three),
        {
            "init_": lambda start: GradientBoostingClassifier(n_estimators=3).fit(X, y).init_,
            "estimators_": lambda stages: stages[:, :2],
        },
    )
    yield (
        "boosting from zero",
        GradientBoostingClassifier(n_estimators=3, init="zero").fit(X, y),
        {
            "n_trees_per_iteration_": lambda _: 0,
            "init_": lambda _: "one",
        },
    )
    yield "forest", RandomForestClassifier(3, max_depth=2).fit(X, y), {"n_features_in_": lambda _: 1}
    yield (
        "histograms",
        HistGradientBoostingClassifier(max_iter=3).fit(X, y),
        {
            "_predictors": lambda stages: [stage * 40 for stage in stages],
            "n_trees_per_iteration_": lambda _: 9,
            "_bin_mapper": lambda bins: other(bins, is_categorical_=np.zeros(1, dtype=np.uint8)),
        },
    )
    yield (
        "bits",
        HistGradientBoostingClassifier(max_iter=3).fit(X, y),
        {
            "_predictors": lambda stages: [
                [other(tree, raw_left_cat_bitsets=np.zeros((1, 1), dtype=np.uint32)) for tree in stage] for stage in stages
            ],
        },
    )
    yield (
        "categories",
        HistGradientBoostingClassifier(max_iter=3, categorical_features=[1]).fit(X.astype(int) % 9, y),
        {
            "_bin_mapper": lambda bins: other(bins, is_categorical_=np.zeros(2, dtype=np.uint8)),
        },
    )
    yield (
        "machine",
        SVC(kernel="linear").fit(X, y),
        {
            "_n_support": lambda counts: counts * 1000,
            "support_": lambda rows: rows[:1],
            "_dual_coef_": lambda numbers: numbers[:, :1],
            "_intercept_": lambda numbers: np.zeros(9),
            "support_vectors_": lambda vectors: vectors.tolist(),
        },
    )


def other(given, **attributes):
    from copy import copy

    changed = copy(given)
    vars(changed).update(attributes)
    return changed


@pytest.mark.filterwarnings("ignore")
def test_black_boxes_whose_parts_do_not_fit_are_refused(tmp_path):
    imported("skops.io")
    X = table()[0][["income", "age"]].fillna(2.0)
    holder = MidpointDiscretizer(max_thresholds=2).fit(X)
    n = 0
    for name, model, changes in black_boxes():
        for attribute, change in {"nothing": None, **changes}.items():
            holder.held_ = model if change is None else other(model, **{attribute: change(getattr(model, attribute))})
            (tmp_path / "tampered.skops").write_bytes(written(holder))
            if change is None:
                assert load(tmp_path / "tampered.skops").held_.predict(X.astype(int) % 9).shape == (len(X),), name
                continue
            with pytest.raises(InvalidInputError, match=r"do not fit together|missing node or column"):
                load(tmp_path / "tampered.skops")
            n += 1
    assert n == 17
