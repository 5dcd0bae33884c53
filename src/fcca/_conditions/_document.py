"""A threshold table as a JSON document.

Tables of cuts on plain numbers are written as version 1, which every fcca reads; version 2 adds the columns' categories and
gaps, sets of categories, and ``is missing``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from fcca._columns import Column, Columns
from fcca.exceptions import InvalidInputError

JSON_FORMAT = "fcca.thresholds"
PLAIN_VERSION, VERSION = 1, 2
FLAGS = {field.name: field.default for field in fields(Column) if isinstance(field.default, bool)}
NUMBERS = ("feature", "threshold", "cut", "below", "above", "count")


def written_document(
    feature_names: Sequence[str],
    arrays: dict[str, list[Any]],
    labels: Sequence[Sequence[Any] | None],
    columns: Columns | None,
) -> str:
    """The document of a table."""
    is_plain = columns is None and all(kind == "cut" for kind in arrays["kind"])
    entries = zip(*(arrays[name] for name in ("kind", *NUMBERS)), labels, strict=True)
    document: dict[str, Any] = {
        "format": JSON_FORMAT,
        "version": PLAIN_VERSION if is_plain else VERSION,
        "feature_names": list(feature_names),
    }
    if columns is not None:
        document["columns"] = [_written_column(column) for column in columns.columns]
    document["conditions"] = [_written_condition(*entry) for entry in entries]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _written_condition(
    kind: str,
    feature: int,
    threshold: float,
    cut: float,
    below: float,
    above: float,
    count: float,
    labels: Sequence[Any] | None,
) -> dict[str, Any]:
    written: dict[str, Any] = {"kind": kind, "feature": feature}
    if kind == "cut":
        neighbours = {"below": None if np.isnan(below) else below, "above": None if np.isnan(above) else above}
        written |= {"threshold": threshold, "cut": cut} | neighbours
    if kind == "set":
        written |= {"categories": [_written_label(label) for label in labels or ()]}
    return written | {"count": count}


def _written_column(column: Column) -> dict[str, Any]:
    categories = None if column.categories is None else [_written_label(label) for label in column.categories]
    flags = {name: getattr(column, name) for name in FLAGS}
    return {"name": column.name, "categories": categories} | flags


def _written_label(label: Any) -> str | int | float | bool:
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str | int | float):
        return plain
    raise InvalidInputError(
        f"The category {label!r} of type {type(label).__name__} cannot be written as JSON: texts and numbers can. Rename "
        "the categories, for example with X[column].astype(str)."
    )


def read_document(text: str) -> tuple[Any, ...]:
    """What a ThresholdTable is made of, in the order of its fields."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"Not a JSON document: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != JSON_FORMAT:
        raise InvalidInputError(f"Not a threshold table: expected a JSON object with format {JSON_FORMAT!r}.")
    version = document.get("version")
    if version not in (PLAIN_VERSION, VERSION):
        raise InvalidInputError(f"Threshold table of version {version!r}; this fcca reads {PLAIN_VERSION} and {VERSION}.")
    try:
        names = [_text(name) for name in document["feature_names"]]
        given = document.get("columns") if version == VERSION else None
        columns = None if given is None else Columns(tuple(_read_column(column) for column in given))
        conditions = [_read_condition(entry, version) for entry in document["conditions"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"Damaged threshold table: {error!r}.") from error
    numbers = np.array([numbers for _, numbers, _ in conditions], dtype=np.float64).reshape(-1, len(NUMBERS)).T
    kinds = np.array([kind for kind, _, _ in conditions], dtype="U7")
    return (
        tuple(names),
        numbers[0].astype(np.int32),
        *numbers[1:],
        kinds,
        tuple(labels for _, _, labels in conditions),
        columns,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, got {value!r}")
    return value


def _label(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise TypeError(f"expected a text or a number as category, got {value!r}")
    return value


def _read_column(entry: dict[str, Any]) -> Column:
    categories = None if entry["categories"] is None else tuple(_label(label) for label in entry["categories"])
    name = None if entry["name"] is None else _text(entry["name"])
    return Column(name, categories, **{flag: _truth(entry.get(flag, default)) for flag, default in FLAGS.items()})


def _read_condition(entry: dict[str, Any], version: int) -> tuple[str, list[float], tuple[Any, ...] | None]:
    kind = entry["kind"]
    if kind not in (("cut",) if version == PLAIN_VERSION else ("cut", "set", "missing")):
        raise ValueError(f"unknown kind of condition {kind!r}")
    if not isinstance(entry["feature"], int) or isinstance(entry["feature"], bool):
        raise TypeError("feature must be a column number")
    numbers = [np.nan] * 4
    if kind == "cut":
        neighbours = [np.nan if entry[name] is None else float(entry[name]) for name in ("below", "above")]
        numbers = [float(entry["threshold"]), float(entry["cut"]), *neighbours]
    labels = tuple(_label(label) for label in entry["categories"]) if kind == "set" else None
    return kind, [entry["feature"], *numbers, float(entry["count"])], labels
