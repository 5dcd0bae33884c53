"""Reproducible fingerprints of tables and classifiers.

A fingerprint is the SHA-256 of a sequence of parts. Each part is preceded by its length, eight bytes in little-endian
order. Numbers have 64 bits, also in little-endian order. Negative zero is written as positive zero, and every missing value
as the same NaN. The page on certificates in the documentation lists the parts and their order. After a change here, update
that page and the constant ``DATA`` or ``MODEL``, which is the first part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcca.exceptions import InvalidInputError
from fcca.export import plain_label as python_label
from fcca.models import Calibrated, LinearModel, Link, Model, TreeBlock, TreeEnsemble
from fcca.tables import Columns

Floats = NDArray[np.float64]

DATA, MODEL = "fcca-data-1", "fcca-model-1"
# A calibration is a function: its values at these scores represent it.
PROBES = np.linspace(-32.0, 32.0, 4097)


class FingerprintHash:
    """A SHA-256 hash to which parts are added one after the other."""

    def __init__(self, begin: str) -> None:
        self._hash = hashlib.sha256()
        self.text(begin)

    def bytes(self, part: bytes) -> None:
        """Add bytes to the hash, as one part."""
        self._hash.update(len(part).to_bytes(8, "little"))
        self._hash.update(part)

    def text(self, part: str) -> None:
        """Add a string to the hash, as one part, encoded in UTF-8."""
        self.bytes(part.encode("utf-8", "surrogatepass"))

    def json(self, part: Any) -> None:
        """Add a value to the hash, as one part: JSON in ASCII, without spaces."""
        self.text(json.dumps(part, separators=(",", ":"), allow_nan=False))

    def numbers(self, part: ArrayLike) -> None:
        """Add numbers to the hash, as one part of 64-bit floats. A table is added row by row."""
        values = np.atleast_1d(np.array(part, dtype="<f8", order="C")) + 0.0
        values[np.isnan(values)] = np.nan
        self.bytes(values.tobytes())

    def whole(self, part: ArrayLike) -> None:
        """Add whole numbers to the hash, as one part of 64-bit integers."""
        self.bytes(np.ascontiguousarray(part, dtype="<i8").tobytes())

    def hexdigest(self) -> str:
        """Return the fingerprint of all parts that were added so far."""
        return self._hash.hexdigest()


# --- tables -------------------------------------------------------------------------------------------------------------


def data_fingerprint(
    X: Any,
    y: ArrayLike,
    weight: ArrayLike | None = None,
    rows: ArrayLike | None = None,
    *,
    categories: Collection[int] = (),
) -> str:
    """Compute the fingerprint of a table with labels and weights.

    Equal values give equal fingerprints, even if their types differ.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    weight : array-like of shape (n_rows,), optional
        Weights of the rows. None means that every row has weight 1.
    rows : array-like of shape (n_rows,), optional
        Row numbers. None means 0, 1, 2, ….
    categories : collection of int
        Positions of the columns of categories. Numbers in these columns are treated as categories. Columns of strings need
        not be listed.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from fcca.certificates import data_fingerprint
    >>> X, y = np.array([[1, 2], [3, 4]], dtype=np.int32), [0, 1]
    >>> data_fingerprint(X, y) == data_fingerprint(X.astype(float), y)
    True
    >>> data_fingerprint(X, y)[:16]
    '2ad0fa517cce5964'
    """
    columns = Columns.of_table(X)
    table = columns.encode(X)
    numbers = np.arange(len(table)) if rows is None else np.asarray(rows, dtype=np.int64)
    weights = np.ones(len(table)) if weight is None else np.asarray(weight, dtype=np.float64)
    order = np.argsort(numbers, kind="stable")
    parts = FingerprintHash(DATA)
    parts.whole(numbers[order])
    parts.numbers(weights[order])
    for j, column in enumerate(columns):
        parts.text("" if column.name is None else column.name)
        values = table[order, j]
        if column.categories is None and j not in categories:
            parts.text("numbers")
            parts.numbers(values)
            continue
        parts.text("categories")
        labels, missing = column.categories, np.isnan(values)
        if labels is None:
            distinct = np.unique(values[~missing])
            labels, values = tuple(distinct.tolist()), np.searchsorted(distinct, values)
        _add_labels(parts, labels, np.where(missing, -1, values).astype(np.int64))
    classes, code = _distinct(np.asarray(y)[order])
    parts.text("labels")
    _add_labels(parts, classes, code)
    return parts.hexdigest()


def positions_of_categories(columns: Columns | None) -> frozenset[int]:
    """Return the positions of the columns that hold categories."""
    return frozenset(j for j, column in enumerate(columns or ()) if column.categories is not None)


def _distinct(y: NDArray[Any]) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    classes, code = np.unique(y, return_inverse=True)
    return tuple(classes.tolist()), code.astype(np.int64).ravel()


def _add_labels(parts: FingerprintHash, labels: tuple[Any, ...], code: NDArray[np.int64]) -> None:
    """Add the labels that occur in a column to a hash, and then the label of each row.

    The labels that occur are sorted by their JSON strings. The label of a row is added as its position in this order. In the
    argument ``code``, it is given as a position in ``labels``.
    """
    present = np.unique(code[code >= 0]).tolist()
    texts = {at: json.dumps(plain_label(labels[at])) for at in present}
    listed = sorted(present, key=lambda at: texts[at])
    place = np.full(len(labels) + 1, -1, dtype=np.int64)  # the last entry is for code -1, a missing value
    place[listed] = np.arange(len(listed))
    parts.json([plain_label(labels[at]) for at in listed])
    parts.whole(place[code])


def plain_label(label: Any) -> str | int | float | bool:
    """Convert a label to a Python string, number or boolean. Whole numbers become int."""
    plain = python_label(label, "label")
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


# --- classifiers --------------------------------------------------------------------------------------------------------


def model_fingerprint(model: Model) -> str:
    """Compute the fingerprint of a black box: its cuts, leaves, coefficients and links.

    Parameters
    ----------
    model : Model
        As returned by :func:`fcca.read_model`.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    parts = FingerprintHash(MODEL)
    parts.json([plain_label(label) for label in model.classes.tolist()])
    parts.whole(model.n_features)
    _add_link(parts, model.link)
    parts.numbers(model.boundary)
    for j, column in enumerate(model.columns or ()):
        if column.categories is not None:
            parts.whole(j)
            parts.json([_label_text(label) for label in column.categories])
    if isinstance(model, LinearModel):
        _add_linear(parts, model)
    elif isinstance(model, TreeEnsemble):
        _add_trees(parts, model)
    else:
        raise InvalidInputError(
            f"A {type(model).__name__} has no fingerprint. Expected a LinearModel or a TreeEnsemble, as read_model returns."
        )
    return parts.hexdigest()


def _label_text(label: Any) -> Any:
    """Convert a category to a JSON value.

    A black box can have a category for all labels that it does not list. This category becomes a JSON object.
    """
    return plain_label(label) if isinstance(label, str | int | float | np.generic) else {"other": str(label)}


def _add_link(parts: FingerprintHash, link: Link) -> None:
    parts.text(type(link).__name__)
    if isinstance(link, Calibrated):
        parts.numbers(link.both_classes(PROBES))
        return
    parts.json([[field.name, getattr(link, field.name)] for field in fields(link)])


def _add_linear(parts: FingerprintHash, model: LinearModel) -> None:
    parts.text("linear")
    for values in (model.coef, model.intercept, model.centre):
        parts.numbers(values)
    for j in sorted(model.effects):
        parts.whole(j)
        parts.numbers(model.effects[j])
    parts.numbers(np.empty(0) if model.missing is None else model.missing)


def _add_trees(parts: FingerprintHash, model: TreeEnsemble) -> None:
    """Add all trees of an ensemble to a hash.

    The nodes of all trees are added together, level by level from the roots, left children before right ones.
    """
    parts.text("trees")
    parts.numbers([model.divisor, float(model.single_precision)])
    parts.numbers(model.base)
    parts.numbers([[part.n_trees, part.divisor, part.weight] for part in model.parts or (TreeBlock(0, 1.0, 1.0),)])
    level, tree = model.roots.astype(np.int64), np.arange(len(model.roots))
    while len(level):
        feature = model.feature[level]
        inner = feature >= 0
        parts.whole(tree)
        parts.whole(feature)
        by_set = np.array([node in model.categories for node in level.tolist()], dtype=np.bool_)
        parts.numbers(np.where(inner & ~by_set, model.threshold[level], 0.0))
        parts.numbers(np.where(inner[:, None], 0.0, model.value[level]))
        parts.whole(inner & (model.missing_left[level] if model.missing_left is not None else True))
        parts.whole(model.missing_left is not None)
        for node in level[by_set].tolist():
            parts.whole(np.sort(model.categories[node]))
        children = np.stack([model.left[level[inner]], model.right[level[inner]]], axis=1).ravel()
        level, tree = children.astype(np.int64), np.repeat(tree[inner], 2)
