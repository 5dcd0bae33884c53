"""A threshold table as a JSON document.

The format has four versions. Version 1, which every version of fcca reads, holds conditions ``x > t`` on plain numbers.
Version 2 adds conditions ``x in {…}`` and ``x is missing``, and the categories of columns. Version 3 adds special values,
``x is -9``. Version 4 adds the shares of a sample of rows, with their confidence
intervals. A table is written in the oldest version that can represent it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.tables import Column, Columns
from fcca.utils import DocumentReader, parsed

JSON_FORMAT = "fcca.thresholds"
PLAIN_VERSION, SETS_VERSION, VERSION = 1, 2, 4
ALL_KINDS = ("cut", "special", "set", "missing")
KINDS_OF_VERSION = {1: ("cut",), 2: ("cut", "set", "missing"), 3: ALL_KINDS, 4: ALL_KINDS}
FLAGS = [field.name for field in fields(Column) if isinstance(field.default, bool)]
NUMBERS = ("feature", "threshold", "cut", "below", "above", "count")
SHARES = ("share", "share_low", "share_high")
LARGEST = 256 * 2**20  # characters; a table of a million conditions has fewer

TABLE = DocumentReader("threshold table", JSON_FORMAT, tuple(KINDS_OF_VERSION), "thresholds.json", "ThresholdTable.to_json")
COLUMN = {"name": str | None, "categories": list | None} | dict.fromkeys(FLAGS, bool)


def written_document(
    feature_names: Sequence[str],
    arrays: dict[str, list[Any]],
    labels: Sequence[Sequence[Any] | None],
    columns: Columns | None,
    zero_one: Container[int],
    special: Mapping[int, Sequence[float]],
) -> str:
    """Return the JSON document of a threshold table.

    Parameters
    ----------
    feature_names : sequence of str
        Names of all columns.
    arrays : dict of str to list
        The arrays of the table, such as ``kind``, ``feature`` and ``threshold``, with one entry per condition.
    labels : sequence
        For each condition, the categories of its set, or None.
    columns : Columns or None
        Categories and missing values of the columns; None for plain numbers.
    zero_one : container of int
        Positions of the columns of zeros and ones.
    special : mapping of int to sequence of float
        Special values that training rows have, by column.
    """
    kinds = set(arrays["kind"])
    has_shares = "share" in arrays
    oldest = VERSION if has_shares else PLAIN_VERSION if columns is None else SETS_VERSION
    entries = zip(*(arrays[name] for name in ("kind", *NUMBERS)), labels, strict=True)
    document: dict[str, Any] = {
        "format": JSON_FORMAT,
        "version": next(v for v, known in KINDS_OF_VERSION.items() if v >= oldest and kinds.issubset(known)),
        "feature_names": list(feature_names),
    }
    if columns is not None:
        document["columns"] = [_written_column(column) for column in columns.columns]
    document["conditions"] = [
        _written_condition(*entry) | (facts_of_cut(entry[1], zero_one, special) if entry[0] == "cut" else {})
        for entry in entries
    ]
    if has_shares:
        for at, condition in enumerate(document["conditions"]):
            condition |= {name: arrays[name][at] for name in SHARES}
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise InvalidInputError(
            "The threshold table has a number that is not finite (NaN or infinity), which JSON cannot hold. Counts and cuts "
            "must be finite."
        ) from error
    if len(text) > LARGEST:
        raise InvalidInputError(
            f"The document for {len(labels):,} conditions would have {len(text):,} characters, more than the limit of "
            f"{LARGEST:,}. Keep fewer conditions: raise Q, or select some of them."
        )
    return text


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
    if kind == "special":
        written |= {"value": threshold}
    if kind == "set":
        written |= {"categories": [_written_label(label) for label in labels or ()]}
    return written | {"count": count}


def facts_of_cut(feature: int, zero_one: Container[int], special: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """Return the entries of a cut that describe its column: ``zero_one`` and ``special``, where they apply."""
    found: dict[str, Any] = {"zero_one": True} if feature in zero_one else {}
    return found | ({"special": list(special[feature])} if feature in special else {})


def _written_column(column: Column) -> dict[str, Any]:
    categories = None if column.categories is None else [_written_label(label) for label in column.categories]
    flags = {name: getattr(column, name) for name in FLAGS}
    return {"name": column.name, "categories": categories} | flags


def _written_label(label: Any) -> str | int | float | bool:
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str | int | float):
        return plain
    raise InvalidInputError(
        f"The category {label!r} of type {type(label).__name__} cannot be written as JSON. Expected a string or a number. "
        "Convert the categories, for example with X[column].astype(str)."
    )


# --- reading ------------------------------------------------------------------------------------------------------------


def read_document(text: Any) -> tuple[Any, ...]:
    """Read a JSON document into the arguments of ``ThresholdTable``, in their order.

    Parameters
    ----------
    text : str or bytes
        The document. The order of the conditions is checked by ThresholdTable, not by this function.

    Raises
    ------
    InvalidInputError
        If the text is not a complete, consistent document.
    """
    document = parsed(text, LARGEST, "a threshold table")
    version = TABLE.version(document)
    names = TABLE.entry(document, "feature_names", list)
    if not all(isinstance(name, str) for name in names):
        raise TABLE.damaged("'feature_names' must be strings")
    columns = None
    if version != PLAIN_VERSION and document.get("columns") is not None:
        given = TABLE.entry(document, "columns", list)
        columns = Columns(tuple(_read_column(column, at) for at, column in enumerate(given)))
        for column, name in zip(columns, names, strict=False):  # ThresholdTable checks the lengths
            # A library may rename a column, as LightGBM does, but not to the name of another column.
            if column.name is not None and column.name != name and column.name in names:
                raise TABLE.damaged(f"the column {name[:40]!r} of 'feature_names' is {column.name[:40]!r} in 'columns'")
    kinds = KINDS_OF_VERSION[version]
    conditions = [
        _read_condition(entry, at, kinds, len(names)) for at, entry in enumerate(TABLE.entry(document, "conditions", list))
    ]
    numbers = np.array([numbers for _, numbers, _ in conditions], dtype=np.float64).reshape(-1, len(NUMBERS)).T
    shares = [_read_shares(entry, at) for at, entry in enumerate(document["conditions"]) if version == VERSION]
    return (
        tuple(names),
        numbers[0].astype(np.int32),
        *numbers[1:],
        np.array([kind for kind, _, _ in conditions], dtype="U7"),
        tuple(labels for _, _, labels in conditions),
        columns,
        *TABLE.facts_of_cuts(document["conditions"], numbers[0].astype(np.int32).tolist()),
        *(np.array(shares, dtype=np.float64).reshape(-1, len(SHARES)).T if version == VERSION else (None,) * len(SHARES)),
    )


def _read_shares(entry: Any, at: int) -> list[float]:
    share, low, high = (TABLE.entry(entry, name, float, f"condition {at}") for name in SHARES)
    if not 0 <= low <= high <= 1 or not 0 <= share <= 1:
        raise TABLE.damaged(f"the shares of condition {at} must be between 0 and 1, and share_low not above share_high")
    return [share, low, high]


def _read_column(entry: Any, at: int) -> Column:
    where = f"column {at}"
    found = TABLE.entries(entry, COLUMN, where)
    if found["categories"] is not None:
        found["categories"] = TABLE.categories(entry, where)
    return Column(**found)


def _read_condition(
    entry: Any, at: int, kinds: tuple[str, ...], n_columns: int
) -> tuple[str, list[float], tuple[Any, ...] | None]:
    where = f"condition {at}"
    kind, feature = TABLE.entry(entry, "kind", str, where), TABLE.entry(entry, "feature", int, where)
    if kind not in kinds:
        raise TABLE.damaged(f"{where} has the kind {kind[:20]!r}, but expected {' or '.join(kinds)}")
    if not 0 <= feature < n_columns:
        raise TABLE.damaged(f"{where} is on column {feature}, but there are {n_columns} columns")
    numbers = TABLE.cut(entry, where) if kind == "cut" else (np.nan,) * 4
    if kind == "special":
        numbers = (TABLE.entry(entry, "value", float, where), np.nan, np.nan, np.nan)
    labels = TABLE.categories(entry, where) if kind == "set" else None
    return kind, [feature, *numbers, TABLE.entry(entry, "count", float, where)], labels
