"""Rules as JSON: one per leaf, disjoint and exhaustive, and no condition twice."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from export.documents import chain
from export.random_documents import good_rows, random_tree
from export.rules_reader import apply_rules
from export.trees import N_TREES, fitted
from fcca.export import as_distilled, from_json, to_json, to_rules

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")


def tree_of(column: dict, spec: tuple | None, *, missing_values: bool = True):
    """A tree on one column; an inner node is its condition, its left and its right side, a leaf is None."""
    conditions: list[dict] = []
    nodes: list[dict] = []

    def grow(given: tuple | None) -> int:
        node: dict = {"condition": None, "weight": [1.0, 0.0], "rows": 1}
        at = len(nodes)
        nodes.append(node)
        if given is not None:
            condition, left, right = given
            node["condition"] = len(conditions)
            conditions.append(condition | {"column": 0})
            node["left"], node["right"] = grow(left), grow(right)
            rows = sum(nodes[node[side]]["rows"] for side in ("left", "right"))
            node |= {"weight": [float(rows), 0.0], "rows": rows}
        return at

    grow(spec)
    document = json.loads(chain(1)) | {"columns": [column], "missing_values": missing_values}
    return from_json(json.dumps(document | {"conditions": conditions, "nodes": nodes}))


def conditions_of(tree) -> list[list[dict]]:
    rules = json.loads(to_rules(tree))["rules"]
    return [[{key: one[key] for key in one if key != "column"} for one in rule["conditions"]] for rule in rules]


def cut(operator: str, threshold: float, missing: bool) -> dict:
    return {"kind": "cut", "operator": operator, "threshold": threshold, "missing": missing}


def gap(operator: str) -> dict:
    return {"kind": "missing", "operator": operator}


def some(operator: str, categories: list, missing: bool) -> dict:
    return {"kind": "set", "operator": operator, "categories": categories, "missing": missing}


def test_the_document_says_all_of_the_tree():
    for seed in range(N_TREES):
        classifier, _ = fitted(seed)
        tree, nodes = as_distilled(classifier), classifier.structure_
        document = json.loads(to_rules(classifier))
        leaves = np.flatnonzero(nodes.feature < 0)
        assert (document["format"], document["version"], document["fcca"]) == ("fcca-rules", 1, tree.fcca_version)
        assert document["classes"] == list(tree.classes)
        assert document["columns"] == json.loads(to_json(classifier))["columns"]
        assert document["missing_values"] is tree.takes_missing
        in_words = {"in_words": tree.certificate.in_words()}
        assert document["certificate"] == json.loads(to_json(classifier))["certificate"] | in_words
        rules = document["rules"]
        assert [rule["leaf"] for rule in rules] == leaves.tolist()
        assert [rule["rows"] for rule in rules] == nodes.n_rows[leaves].tolist()
        assert [rule["weight"] for rule in rules] == nodes.weight[leaves].tolist()
        assert [rule["shares"] for rule in rules] == nodes.share[leaves].tolist()
        assert [rule["probabilities"] for rule in rules] == nodes.probability[leaves].tolist()
        said = [f"{rule['in_words']} → {rule['class']} ({max(rule['shares']):.2f})" for rule in rules]
        assert said == classifier.rules()


def test_the_rule_that_holds_is_that_of_the_leaf():
    for seed in range(N_TREES):
        tree = random_tree(seed)
        rows = good_rows(tree, 200, seed)
        rules, refused = apply_rules(to_rules(tree), rows)
        assert not refused.any()
        assert [rule["leaf"] for rule in rules] == tree.apply(rows).tolist()


def test_no_rule_says_anything_twice():
    n_merged = 0
    for seed in range(60):
        tree = random_tree(seed)
        for rule in json.loads(to_rules(tree))["rules"]:
            said = [(one["kind"], one["column"], one["operator"]) for one in rule["conditions"]]
            assert len(set(said)) == len(said)
            n_merged += len(tree.structure.path_to(rule["leaf"])) - len(said)
    assert n_merged > 100


NUMBERS = {"name": "x", "categories": None, "missing": True}
COLOURS = {"name": "x", "categories": ["red", "green", "blue", "grey", "pink"], "missing": True}


def above(threshold: float) -> dict:
    return {"kind": "cut", "threshold": threshold}


def among(*categories: str) -> dict:
    return {"kind": "set", "categories": list(categories)}


MISSING = {"kind": "missing"}


@pytest.mark.parametrize("missing_values", [True, False])
def test_several_cuts_become_the_tightest_ones(missing_values):
    spec = (above(9.0), (above(3.0), (above(5.0), None, None), (above(5.0), None, None)), (above(11.0), None, None))
    assert conditions_of(tree_of(NUMBERS, spec, missing_values=missing_values)) == [
        [cut("<=", 3.0, True)],  # a missing value is above no threshold
        [cut(">", 5.0, False), cut("<=", 3.0, False)],  # a leaf that no row can reach
        [cut(">", 3.0, False), cut("<=", 5.0, False)],
        [cut(">", 5.0, False), cut("<=", 9.0, False)],
        [cut(">", 9.0, False), cut("<=", 11.0, False)],
        [cut(">", 11.0, False)],
    ]


def test_tests_for_missing_values_become_part_of_the_cuts():
    spec = (MISSING, (above(1.0), None, (MISSING, None, None)), (above(1.0), (MISSING, None, None), None))
    assert conditions_of(tree_of(NUMBERS, spec)) == [
        [cut("<=", 1.0, False)],
        [cut(">", 1.0, False)],
        [gap("is"), gap("is not")],  # what was not missing cannot be
        [gap("is"), gap("is not")],
        [gap("is")],
        [gap("is"), gap("is not")],
    ]
    assert conditions_of(tree_of(NUMBERS, (MISSING, None, None))) == [[gap("is not")], [gap("is")]]


@pytest.mark.parametrize("missing_values", [True, False])
def test_several_sets_become_one_short_list(missing_values):
    spec = (
        among("red", "green"),
        (among("blue"), (among("grey", "pink"), None, None), None),
        (among("green", "blue"), None, (among("red"), None, None)),
    )
    assert conditions_of(tree_of(COLOURS, spec, missing_values=missing_values)) == [
        [some("not in", ["red", "green", "blue", "grey", "pink"], True)],  # unknown categories and missing values
        [some("in", ["grey", "pink"], False)],
        [some("in", ["blue"], False)],
        [some("in", ["red"], False)],
        [some("in", ["green"], False)],
        [some("in", [], False)],
    ]
    one = tree_of(COLOURS, (among("red"), None, None), missing_values=missing_values)
    assert conditions_of(one) == [[some("not in", ["red"], True)], [some("in", ["red"], False)]]


def test_a_tree_of_one_leaf_always_holds():
    (rule,) = json.loads(to_rules(tree_of(NUMBERS, None)))["rules"]
    assert rule["conditions"] == []
    assert rule["in_words"] == "always"


def test_the_deepest_tree_can_be_written():
    tree = from_json(chain(200))
    rows = pd.DataFrame({"x": np.arange(-2, 203) / 1.0})
    rules, _ = apply_rules(to_rules(tree), rows)
    assert [rule["leaf"] for rule in rules] == tree.apply(rows).tolist()


def test_nothing_in_it_can_act_on_a_terminal_or_break_a_file():
    text = to_rules(random_tree(0, hostile=True))
    assert "\u202e" not in text
    assert "\x00" not in text
    assert json.loads(text.encode())["columns"][3]["name"] == random_tree(0, hostile=True).columns.names[3]
