"""Damaged documents raise an error of fcca, or are read exactly as they are."""

from __future__ import annotations

import copy
import json
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from export.trees import fitted
from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError
from fcca.export import from_json, to_json

OLD = Path(__file__).parent / "old"
N_CHANGED, N_BYTES = 300, 200  # of each kind of document
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e308, 1e-320, -0.0),
    *("", "x", "cut", "set", "missing", "\ud800", "x" * 300, "labels", "optimal", [], {}, [[]], [0], [None], {"a": 1}),
]


def places(document):
    """The path to every value of a document."""
    found, pending = [], [((), document)]
    while pending:
        path, value = pending.pop()
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in inside:
            found.append((*path, key))
            pending.append(((*path, key), part))
    return found


def at(document, path):
    for key in path:
        document = document[key]
    return document


def changed(document, rng):
    """The document with one to three changes: a value, a place lost, one twice, two exchanged, a number close by."""
    other = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        ways = places(other)
        if not ways:
            return other
        path = rng.choice(ways)
        around, key = at(other, path[:-1]), path[-1]
        kind = rng.randrange(6)
        if kind == 0:
            around[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 1:
            del around[key]
        elif kind == 2:
            around[key] = copy.deepcopy(at(other, rng.choice(ways)))
        elif kind == 3 and isinstance(around, list):
            around.insert(rng.randrange(len(around) + 1), copy.deepcopy(around[key]))
        elif kind == 4 and isinstance(around, list):
            to = rng.randrange(len(around))
            around[key], around[to] = around[to], around[key]
        elif isinstance(around[key], float | int) and not isinstance(around[key], bool):
            value = around[key]
            around[key] = rng.choice((value + 1, value - 1, -value, value * 2, float(np.nextafter(float(value), np.inf))))
        else:
            around[key] = rng.choice(VALUES)
    return other


def damaged_bytes(content, rng):
    """The bytes with one to four changes."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        begin = rng.randrange(len(content))
        end = min(len(content), begin + rng.choice((1, 1, 3, 20)))
        kind = rng.randrange(5)
        if kind == 0:
            content[begin] = rng.randrange(256)
        elif kind == 1:
            del content[begin:end]
        elif kind == 2:
            content[begin:begin] = content[end : end + rng.randrange(1, 40)]
        elif kind == 3:
            content[begin:begin] = rng.choice(
                (b"0", b"-", b"NaN", b"1e999", b"[", b"}", b'"', b"\\u0000", b"\xff", b"9" * 30)
            )
        elif len(content) > 200:
            del content[rng.randrange(100, len(content)) :]
    return bytes(content)


@cache
def documents():
    """Trees of both versions, and tables of thresholds."""
    seeds = (1, 2, 5, 10, 11, 17)
    trees = [(OLD / f"tree-{name}.json").read_text(encoding="utf-8") for name in ("gaps", "classes", "one_leaf")]
    trees += [to_json(fitted(seed)[0]) for seed in seeds]
    tables = [(OLD / f"thresholds-{name}.json").read_text(encoding="utf-8") for name in ("cuts", "categories", "gaps")]
    return {"tree": trees, "table": tables}


def read(kind, content):
    """Read a document and write it again; a tree also predicts."""
    if kind == "table":
        table = ThresholdTable.from_json(content)
        assert len(table.names()) == len(table)
        return table.to_json()
    tree = from_json(content)
    tree.rules()
    text = to_json(tree)
    assert to_json(from_json(text)) == text
    return text


def says_the_same(given, read_again):
    """True if every entry that was read is in the given document; true differs from 1, but 1 equals 1.0."""
    if isinstance(read_again, dict):
        return isinstance(given, dict) and all(says_the_same(given.get(key), value) for key, value in read_again.items())
    if isinstance(read_again, list):
        same_length = isinstance(given, list) and len(given) == len(read_again)
        return same_length and all(says_the_same(*pair) for pair in zip(given, read_again, strict=True))
    if isinstance(read_again, float) and isinstance(given, int) and not isinstance(given, bool):
        given = float(given)
    return given == read_again and isinstance(given, bool) == isinstance(read_again, bool)


def content_of(text):
    """Normalize a document: plain tables may have any version."""
    document = json.loads(text)
    if document["format"] == "fcca.thresholds":
        return {key: value for key, value in document.items() if key != "version"}
    if document["version"] == 1:
        conditions = document.pop("conditions")
        for node in document["nodes"]:
            node["condition"] = None if node["condition"] is None else conditions[node["condition"]]
    return document


@pytest.mark.parametrize("kind", ["tree", "table"])
def test_a_changed_document_is_refused_or_read_as_it_is(kind):
    rng = random.Random(7)
    originals = [json.loads(text) for text in documents()[kind]]
    refused = 0
    for number in range(N_CHANGED * len(originals)):
        other = changed(originals[number % len(originals)], rng)
        try:
            text = read(kind, json.dumps(other))
        except InvalidInputError:
            refused += 1
            continue
        assert says_the_same(content_of(json.dumps(other)), content_of(text)), number
    assert refused > N_CHANGED * len(originals) * 0.6
    assert refused < N_CHANGED * len(originals)


@pytest.mark.parametrize("kind", ["tree", "table"])
def test_damaged_bytes_are_refused_or_read_as_they_are(kind):
    rng = random.Random(8)
    originals = [text.encode() for text in documents()[kind]]
    refused = 0
    for number in range(N_BYTES * len(originals)):
        content = damaged_bytes(originals[number % len(originals)], rng)
        try:
            text = read(kind, content)
        except InvalidInputError:
            refused += 1
            continue
        assert says_the_same(content_of(content), content_of(text)), number
    assert N_BYTES * len(originals) * 0.5 < refused < N_BYTES * len(originals)
