"""Every forged certificate is rejected by the check for it, with a message that names the problem.

The documents have no digest of themselves: what is changed here is only ever found because it is computed anew.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certificates import (
    forged_distances,
    forged_open_ends,
    forged_points,
    forged_provenance,
    forged_samples,
    forged_trees,
)
from certificates.certified import case, fitted, hgb, many, mixed, numbers, rf, switches
from certificates.forgeries import FORGERIES
from fcca.certificates import read_certificate, verify
from fcca.constraints import Fillable, Forbidden, MaxChanges, OneHot, Rule, limits_for
from fcca.counterfactuals import CounterfactualEngine
from fcca.counterfactuals._result import joined
from fcca.exceptions import InvalidInputError

for forged in (forged_distances, forged_open_ends, forged_points, forged_provenance, forged_samples, forged_trees):
    assert forged.forgery  # each has put its own into the list


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_is_rejected(name):
    of, change, check, words, options = FORGERIES[name]
    one = case(of)
    document = json.loads(one.document)
    change(document)
    result = one.verified(json.dumps(document), **({"sample": 0} | options))
    assert not result.accepted
    assert check in result.failed, f"\n{result!r}"
    for word in words:
        assert word.lower() in result[check].words.lower()


@pytest.mark.parametrize(("tolerance", "words"), [(1.0, "is not settled after 250"), (-1.0, "is settled after")])
def test_a_search_that_ended_too_early_or_too_late_is_rejected(tolerance, words, monkeypatch):
    """Everything else in these certificates is true."""
    model = GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=0)
    with monkeypatch.context() as patched:
        patched.setattr("fcca.discretizers._row_sample.TOLERANCE", tolerance)
        patched.setattr("fcca.discretizers._row_sample.RELATIVE_TOLERANCE", tolerance)
        one = fitted(many(), model, max_rows="auto")
        document = one.document
    result = one.verified(document, sample=0)
    assert result.failed == ("thresholds found",)
    assert words in result["thresholds found"].words


# --- other data, other models ---------------------------------------------------------------------------------------------


def changed_data():
    one = case("gb")
    cell, swapped, label = one.X.copy(), one.X.copy(), one.y.copy()
    cell.iloc[17, 2] = np.nextafter(cell.iloc[17, 2], np.inf)
    swapped.iloc[[4, 9]] = swapped.iloc[[9, 4]].to_numpy()
    label[3] = 1 - label[3]
    named = one.X.rename(columns={"worst area": "area"})
    return {
        "one cell, by one float": (cell, one.y, None),
        "two rows swapped": (swapped, one.y, None),
        "one label": (one.X, label, None),
        "one name": (named, one.y, None),
        "two columns swapped": (one.X[one.X.columns[[1, 0, 2, 3, 4, 5]]], one.y, None),
        "a row fewer": (one.X.iloc[:-1], one.y[:-1], None),
        "a weight": (one.X, one.y, np.where(np.arange(len(one.y)) == 5, 1.5, 1.0)),
        "a gap": (one.X.mask((one.X.index == 8).repeat(6).reshape(-1, 6)), one.y, None),
    }


@pytest.mark.parametrize("name", changed_data())
def test_other_data_are_rejected(name):
    one = case("gb")
    X, y, weight = changed_data()[name]
    result = verify(one.document, X, y, one.model, weight)
    assert result.failed[:1] == ("data",)
    assert "fingerprint" in result["data"].words or "rows" in result["data"].words
    assert result["costs"].outcome == "not checked"
    assert "other data" in result["costs"].words


def test_another_model_and_one_with_a_changed_leaf_are_rejected():
    one = case("gb of depth 2")
    other = case("gb").model
    changed = copy.deepcopy(one.model)
    tree = changed.estimators_[3, 0].tree_
    leaf = int(np.flatnonzero(tree.children_left < 0)[0])
    tree.value[leaf] += 1e-9
    moved = copy.deepcopy(one.model)
    moved.estimators_[0, 0].tree_.threshold[0] += 1e-3
    linear = LogisticRegression(max_iter=5000).fit(one.X, one.y)
    for model in (other, changed, moved, linear):
        result = verify(one.document, one.X, one.y, model)
        assert result.failed == ("model",)
        assert "fingerprint of the black box" in result["model"].words
    unreadable = verify(one.document, one.X, one.y, object())
    assert unreadable.failed == ("model",)
    assert "is not supported" in unreadable["model"].words


@pytest.mark.parametrize("name", ["logistic", "logistic, mixed", "logistic, three classes"])
def test_a_coefficient_changed_by_one_float_is_another_model(name):
    one = case(name)
    changed = copy.deepcopy(one.model)
    last = changed.steps[-1][1] if hasattr(changed, "steps") else changed
    last.coef_[0, 0] = np.nextafter(last.coef_[0, 0], 9)
    assert verify(one.document, one.X, one.y, changed).failed == ("model",)


# --- searches that lie ----------------------------------------------------------------------------------------------------


def lying_search(monkeypatch):
    """An engine that returns a counterfactual that is not the cheapest as optimal; everything after it is honest.

    Returns the list that the row is put into.
    """
    honest = CounterfactualEngine.solve
    rows = []

    def solve(self, X, points, own_class, **options):
        found = honest(self, X, points, own_class, **options)
        others = {name: value for name, value in options.items() if name not in ("limits", "progress")}
        for at in range(11, len(points) if not rows else 0):
            frozen = np.zeros((1, X.shape[1]), dtype=bool)
            frozen[0, found.moves.feature[found.moves.point == at][:1]] = True
            limits = limits_for(options.get("limits"), np.array([at]), frozen)
            dear = honest(self, X, points[[at]], own_class[[at]], limits=limits, **others)
            if dear.status.tolist() == ["optimal"] and dear.cost[0] > found.cost[at] + 1e-6:
                rows.append(int(points[at]))
                order = np.arange(len(found))
                order[at] = len(found)
                return replace(joined([found, dear]).take(order), columns=found.columns)
        return found

    monkeypatch.setattr(CounterfactualEngine, "solve", solve)
    return rows


LYING = {
    "gb": (lambda: numbers(100, 4), lambda: None),
    "rf": (lambda: numbers(60, 4), lambda: rf(5)),
    "rf, mixed": (lambda: mixed(100), rf),
    "logistic": (lambda: numbers(100, 4), lambda: LogisticRegression(max_iter=5000)),
    "logistic, mixed": (lambda: mixed(100), lambda: LogisticRegression(max_iter=500)),
    "rf, switches": (lambda: switches(80), lambda: rf(5)),
    "hgb under rules": (
        lambda: mixed(100),
        hgb,
        Fillable("income", "purpose"),
        Forbidden("purpose", [("tv", "car")]),
        MaxChanges(3),
    ),
    "rf, switches under rules": (
        lambda: switches(80),
        lambda: rf(5),
        OneHot("car", "tv", "boat"),
        Rule("rent <= income"),
    ),
}


@pytest.mark.parametrize("name", LYING)
def test_re_proving_finds_a_cost_that_is_too_high_in_a_consistent_forgery(monkeypatch, name):
    data, estimator, *rules = LYING[name]
    with monkeypatch.context() as lying:
        rows = lying_search(lying)
        one = fitted(data(), estimator(), constraints=rules or None)
    result = one.verified(sample=None, time_limit=3.0)
    assert result.failed == ("optima",)
    assert f"row {rows[0]}:" in result["optima"].words.lower()
    assert "cheaper than" in result["optima"].words


# --- documents that are none ----------------------------------------------------------------------------------------------


READ = {"label": "y", "categorical": [], "rows": 3, "left_out": [1], "fingerprint": "0" * 64}


def documents():
    d = json.loads(case("three thresholds").document)

    def but(*path, to):
        forged = copy.deepcopy(d)
        inner = forged
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = to
        return json.dumps(forged)

    def lacking(*path):
        forged = copy.deepcopy(d)
        inner = forged
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return json.dumps(forged)

    found = d["counterfactuals"]
    return {
        "no text": 7,
        "no JSON": "{",
        "not finite": json.dumps(d).replace('"cost": [', '"cost": [NaN, '),
        "a list": "[]",
        "another format": but("format", to="fcca-tree"),
        "another version": but("version", to=2),
        "no version": but("version", to=True),
        "no data": lacking("data"),
        "no names": but("data", "columns", to=[]),
        "a fingerprint of other letters": but("data", "fingerprint", to="Z" * 64),
        "a status that is none": but("statuses", to={"perfect": 3}),
        "a number of rows below 0": but("statuses", to={"optimal": -3}),
        "columns of other lengths": but("counterfactuals", "cost", to=found["cost"][:-1]),
        "a cost that is a text": but("counterfactuals", "cost", to=["1"] * len(found["cost"])),
        "a cost below 0": but("counterfactuals", "cost", to=[-1] * len(found["cost"])),
        "a cost beyond numbers": but("counterfactuals", "cost", to=[10**400] * len(found["cost"])),
        "rows that are none": but("counterfactuals", "row", to=[0.5] * len(found["row"])),
        "a value that is a list": but("counterfactuals", "move_to", to=[[]] * len(found["move_to"])),
        "a column that there is not": but("counterfactuals", "move_feature", to=[99] * len(found["move_feature"])),
        "a status of a point that is none": but("counterfactuals", "status", to=["good"] * len(found["status"])),
        "a share above 1": but("parameters", "p1", to=1.5),
        "a cost of a change below 0": but("parameters", "lambda1", to=-1),
        "no margin": but("parameters", "margin", to=None),
        "a merging that is no number": but("parameters", "merge_tolerance", to="some"),
        "a rule that is none": but("parameters", "rules", to=[{"rule": "fly", "names": ["a"]}]),
        "a rule that is a number": but("parameters", "rules", to=[3]),
        "a rule of nothing": but("parameters", "rules", to=[{"rule": "immutable", "names": 5}]),
        "to learn something else": but("parameters", "fit_to", to="wishes"),
        "a tree without depth": but("parameters", "tree", "max_depth", to=0),
        "class weights of nothing": but("parameters", "tree", "class_weight", to=[["a"]]),
        "class weights that are texts": but("parameters", "tree", "class_weight", to=[["a", "b"]]),
        "a selection against something else": but("parameters", "selection", "fit_to", to="rows"),
        "a selection by probabilities": but("parameters", "selection", "fit_to", to="probability"),
        "caps that are texts": but("parameters", "selection", "per_feature", to={"worst area": "two"}),
        "branches beyond numbers": but("parameters", "selection", "max_nodes", to=10**30),
        "conditions to keep that are texts": but("parameters", "selection", "keep", to=["a"]),
        "kept beyond those found": but("thresholds", "kept", to=[999]),
        "kept twice": but("thresholds", "kept", to=[1, 1]),
        "thresholds of other columns": but("thresholds", "found", "feature_names", to=["a"] * 6),
        "a threshold of no column": but("thresholds", "found", "conditions", 0, "feature", to=77),
        "a tree that is none": but("tree", to={}),
        "no proof": lacking("proof", "gap"),
        "a decision beyond 1": but("model", "decision_threshold", to=1.5),
        "versions that are numbers": but("versions", "fcca", to=1),
        "rows without a fingerprint": but("data", "fingerprint", to=None),
        "a fingerprint without rows": but("data", "rows", to=None),
        "fewer rows than none": but("data", "rows", to=-5),
        "rows left out that are none": but("data", "read", to=READ | {"left_out": [-1]}),
        "rows left out that are not in the file": but("data", "read", to=READ | {"left_out": [3]}),
        "a row left out twice": but("data", "read", to=READ | {"left_out": [1, 1]}),
        "a file without a fingerprint": but("data", "read", to=READ | {"fingerprint": None}),
        "categories of no column": but("data", "read", to=READ | {"categorical": ["height"]}),
        "a margin of 0": but("parameters", "margin", to=0),
        "a scale that is none": but("parameters", "scale", to="miles"),
        "a scale that is a number": but("parameters", "scale", to=3.0),
        "a unit below 0": but("parameters", "scale", to={"worst area": -1.0}),
        "a unit that is a text": but("parameters", "scale", to={"worst area": "big"}),
        "a category distance of 0": but("parameters", "category_distance", to=0.0),
        "a category distance that is a word": but("parameters", "category_distance", to="far"),
        "a category distance that is true": but("parameters", "category_distance", to=True),
        "a merging below 0": but("parameters", "merge_tolerance", to=-1),
        "a merging beyond 1": but("parameters", "merge_tolerance", to=1e308),
        "a time below 0": but("parameters", "time_limit", to=-1),
        "a time of a point below 0": but("parameters", "time_limit_per_row", to=-0.5),
        "a time of a tree that is a text": but("parameters", "tree", "time_limit", to="long"),
        "a time of a tree below 0": but("parameters", "tree", "time_limit", to=-1.0),
        "no time of a tree": lacking("parameters", "tree", "time_limit"),
        "branches of a tree below 0": but("parameters", "tree", "max_nodes", to=-1),
        "branches of a tree that are true": but("parameters", "tree", "max_nodes", to=True),
        "no class weights": lacking("parameters", "tree", "class_weight"),
        "a reason for no counterfactuals where there are some": but("why_no_counterfactuals", to="Nobody asked."),
        "no reason for no counterfactuals": but("counterfactuals", to=None),
        "a tree of version 1": but("tree", "version", to=1),
        "a tree without provenance": but("tree", "provenance", to=None),
    }


@pytest.mark.parametrize("name", documents())
def test_other_documents_are_refused(name):
    one = case("three thresholds")
    with pytest.raises(InvalidInputError):
        verify(documents()[name], one.X, one.y, one.model)


def test_a_long_version_is_cut_in_the_message():
    with pytest.raises(InvalidInputError) as error:
        read_certificate(json.dumps({"format": "fcca-certificate", "version": "9" * 10_000}))
    assert len(str(error.value)) < 250


def test_old_certificates_without_distances_are_read():
    one = case("the paper's distances, mixed")
    document = json.loads(one.document)
    for name in ("scale", "category_distance"):
        del document["parameters"][name]
        del document["tree"]["provenance"]["discretizer"]["parameters"][name]
    assert one.verified(json.dumps(document)).accepted


def test_old_certificates_without_count_ties_are_read():
    one = fitted(mixed(), count_ties=False)
    document = json.loads(one.document)
    del document["parameters"]["count_ties"]
    del document["tree"]["provenance"]["discretizer"]["parameters"]["count_ties"]
    assert one.verified(json.dumps(document)).accepted


def test_old_certificates_without_max_nodes_are_read():
    one = case("gb")
    document = json.loads(one.document)
    del document["parameters"]["tree"]["max_nodes"]
    assert one.verified(json.dumps(document)).accepted


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": None}, "X must be a table"),
        ({"y": None}, "y must be a list of labels"),
        ({"y": 5}, "y must be a list of labels"),
        ({"y": np.zeros((150, 2))}, "y must be a list of labels"),
        ({"y": [0, 1]}, r"same number of rows \(150 and 2\)"),
        ({"model": RandomForestClassifier()}, "a RandomForestClassifier, is not fitted"),
        ({"model": FrozenEstimator(RandomForestClassifier())}, "a RandomForestClassifier, is not fitted"),
        ({"model": make_pipeline(StandardScaler(), LogisticRegression())}, "a Pipeline, is not fitted"),
    ],
    ids=lambda given: given if isinstance(given, str) else next(iter(given)),
)
def test_rows_and_models_that_cannot_be_used_are_refused(given, words):
    for name in ("gb", "deciding elsewhere"):
        one = case(name)
        with pytest.raises(InvalidInputError, match=words):
            verify(one.document, **({"X": one.X, "y": one.y, "model": one.model} | given))


@pytest.mark.parametrize(
    "options",
    [
        {"sample": -1},
        {"sample": True},
        {"sample": 1.5},
        {"random_state": -1},
        {"time_limit": -1},
        {"time_limit": "long"},
        {"rows": [1]},
    ],
    ids=str,
)
def test_options_that_cannot_be_used_are_refused(options):
    one = case("gb")
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        verify(one.document, one.X, one.y, one.model, **options)
