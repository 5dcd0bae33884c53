"""JSON Schemas accept every written document; damaged ones fail the schema or from_json."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from export.documents import chain, damaged
from export.random_documents import random_document, random_tree
from export.trees import fitted
from fcca.counterfactuals import STATUSES
from fcca.exceptions import InvalidInputError
from fcca.export import from_json, schema, to_json, to_rules
from fcca.export._schemas import VERSIONS
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")


@pytest.fixture(scope="module")
def validators():
    jsonschema = imported("jsonschema")
    return {
        (name, version): jsonschema.Draft202012Validator(schema(name, version))
        for name, versions in VERSIONS.items()
        for version in versions
    }


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((["x"],), r"one of rules, tree, got \['x'\]"),
        ((None,), "one of rules, tree, got None"),
        (("tree", "1"), "one of 1, 2, got '1'"),
        (("tree", True), "one of 1, 2, got True"),
        (("tree", 1.0), r"one of 1, 2, got 1\.0"),
        (("tree", [1]), r"one of 1, 2, got \[1\]"),
    ],
)
def test_unknown_schemas_are_refused_with_the_known_ones(asked, words):
    with pytest.raises(InvalidInputError, match=words):
        schema(*asked)


def test_schemas_are_valid_and_name_their_document(validators):
    for (name, version), validator in validators.items():
        validator.check_schema(validator.schema)
        assert validator.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert validator.schema["$id"] == f"urn:fcca:fcca-{name}:{version}"
        assert validator.schema["properties"]["format"]["const"] == f"fcca-{name}"
        assert validator.schema["properties"]["version"]["const"] == version


def test_the_default_version_is_the_current_one():
    classifier, _ = fitted(1)
    assert schema("tree") == schema("tree", json.loads(to_json(classifier))["version"])
    assert schema("rules") == schema("rules", json.loads(to_rules(classifier))["version"])


def test_a_schema_is_a_copy():
    schema("rules").clear()
    assert schema("rules")


@pytest.mark.parametrize(("name", "version"), [("sql", None), ("tree", 99), ("tree", 0), ("../rules", 1), ("rules", "1")])
def test_unknown_schemas_and_versions_are_refused(name, version):
    with pytest.raises(InvalidInputError, match="must be one of"):
        schema(name, version)


@pytest.mark.parametrize("n_trees", [12, pytest.param(200, marks=pytest.mark.verify)])
def test_every_document_fits_its_schema(validators, n_trees):
    kinds = set()
    for seed in range(n_trees):
        classifier, _ = fitted(seed)
        tree = random_tree(seed, hostile=seed % 5 == 0)
        for text in (to_json(classifier), to_json(tree), to_rules(classifier), to_rules(tree)):
            document = json.loads(text)
            key = (document["format"].removeprefix("fcca-"), document["version"])
            assert [error.message for error in validators[key].iter_errors(document)] == []
            kinds.add(key)
    assert kinds == set(validators)
    assert validators["tree", 1].is_valid(json.loads(chain(200)))


def document_with_all_kinds() -> dict:
    """A document of version 1 with cuts, sets and tests for missing values."""
    for seed in range(100):
        document = random_document(seed)
        kinds = {one["kind"] for one in document["conditions"]}
        if kinds == {"cut", "set", "missing"} and len(document["columns"]) > 1 and len(document["classes"]) > 1:
            return document
    raise AssertionError("none found")


def test_damaged_documents_do_not_fit_or_are_refused(validators):
    document = document_with_all_kinds()
    assert validators["tree", 1].is_valid(document)
    cases = damaged(document)
    assert len(cases) > 60
    unnoticed, seen_by_schema = [], 0
    for what, other in cases.items():
        fits = validators["tree", 1].is_valid(other)
        seen_by_schema += not fits
        if fits and not is_refused(other):
            unnoticed.append(what)
    assert unnoticed == []
    assert seen_by_schema > 0.6 * len(cases)


def is_refused(document: Any) -> bool:
    try:
        from_json(json.dumps(document))
    except InvalidInputError:
        return True
    return False


def places(document: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield (*path, key)
            yield from places(value, (*path, key))
    elif isinstance(document, list):
        for at, value in enumerate(document):
            yield (*path, at)
            yield from places(value, (*path, at))


def changed(document: Any, path: tuple, value: Any) -> Any:
    other = copy.deepcopy(document)
    at = other
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return other


def is_of_another_kind(old: Any, new: Any) -> bool:
    def kind(value: Any) -> type:
        return float if isinstance(value, int) and not isinstance(value, bool) else type(value)

    return kind(old) is not kind(new)


#: Entries that may be of several kinds, so that a value of another kind may be as good.
FREE = {"name", "categories", "classes", "class", "below", "above", "parameters", "accuracy", "selection", "provenance"}
FREE |= {"counterfactuals", "max_depth", "max_leaf_nodes", "condition"}


@pytest.mark.parametrize(("name", "version"), [(name, version) for name in VERSIONS for version in VERSIONS[name]])
def test_entries_of_another_kind_do_not_fit(validators, name, version):
    rng = np.random.default_rng(0)
    tried = 0
    for seed in (1, 3, 5):
        text = (
            to_rules(fitted(seed)[0]) if name == "rules" else to_json(fitted(seed)[0] if version == 2 else random_tree(seed))
        )
        document = json.loads(text)
        validator = validators[name, version]
        every = [path for path in places(document) if not FREE.intersection(path)]
        for at in rng.permutation(len(every))[:25]:
            old = document
            for key in every[at]:
                old = old[key]
            for new in ({"no": "such"}, [[]], "text", True, 0.5, None):
                if is_of_another_kind(old, new):
                    assert not validator.is_valid(changed(document, every[at], new)), (every[at], new)
                    tried += 1
    assert tried > 200


@pytest.mark.parametrize(("name", "version"), [(name, version) for name in VERSIONS for version in VERSIONS[name]])
def test_entries_that_are_gone_or_unknown_do_not_fit(validators, name, version):
    classifier = fitted(1)[0]
    text = to_rules(classifier) if name == "rules" else to_json(classifier if version == 2 else random_tree(1))
    document, validator = json.loads(text), validators[name, version]
    objects = [()] + [path for path in places(document) if "parameters" not in path and "libraries" not in path]
    n_tried = 0
    for path in objects:
        at = document
        for key in path:
            at = at[key]
        if not isinstance(at, dict) or "counterfactuals" in path:
            continue
        for key in at.keys() - {"soft_weight"}:  # the objective is not that of the leaves without it
            other = copy.deepcopy(document)
            inside = other
            for step in path:
                inside = inside[step]
            del inside[key]
            assert not validator.is_valid(other), (path, key)
            n_tried += 1
        assert not validator.is_valid(changed(document, (*path, "unknown"), 1)), path
    assert n_tried > 30


def test_rules_with_other_operators_do_not_fit(validators):
    validator = validators["rules", 1]
    tried = set()
    for seed in range(40):
        document = json.loads(to_rules(random_tree(seed)))
        for at, rule in enumerate(document["rules"]):
            for place, condition in enumerate(rule["conditions"]):
                if (condition["kind"], condition["operator"]) in tried:
                    continue
                path = ("rules", at, "conditions", place, "operator")
                for operator in {">", "<=", "in", "not in", "is", "is not", "<", "="}:
                    other = changed(document, path, operator)
                    goes = {"cut": {">", "<="}, "set": {"in", "not in"}, "missing": {"is", "is not"}}[condition["kind"]]
                    assert validator.is_valid(other) == (operator in goes)
                tried.add((condition["kind"], condition["operator"]))
        if len(tried) == 6:
            return
    raise AssertionError(f"only {tried} were there")


def test_the_statuses_are_those_of_counterfactuals():
    given = schema("tree")["$defs"]["provenance"]["properties"]["counterfactuals"]["propertyNames"]["enum"]
    assert given == list(STATUSES)
