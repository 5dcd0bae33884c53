"""Check that conditions fit their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.conditions._phrases import KINDS, Codes, codes_of, smaller_side
from fcca.conditions._sorting import has_number
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns

Labels = tuple[Any, ...]


def checked_codes(
    names: Sequence[str],
    feature: NDArray[np.int32],
    kind: NDArray[np.str_],
    labels: Sequence[Labels | None],
    columns: Columns | None,
) -> tuple[Codes | None, ...]:
    """Check that conditions fit their columns; return the category codes of every set.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    feature, kind, labels, columns
        As in :class:`fcca.thresholds.ThresholdTable`.
    """
    if len(kind) != len(feature) or len(labels) != len(feature):
        raise InvalidInputError(
            "Every condition must have a kind and an entry in labels. The entry is None, or the categories of a set."
        )
    kinds = set(kind.tolist())
    if unknown := kinds.difference(KINDS):
        raise InvalidInputError(f"Unknown kind of condition {unknown.pop()!r}. Expected one of {list(KINDS)}.")
    if columns is not None:
        wrong = np.flatnonzero(has_number(kind) & columns.is_category[feature])
        if len(wrong):
            raise InvalidInputError(
                f"Column {names[feature[wrong[0]]]!r} holds categories, so it has no threshold. Give its condition as a set "
                "of categories."
            )
    if "set" not in kinds:
        return (None,) * len(feature)
    return tuple(
        _codes_of_set(names[j], set_categories(columns, j), given or ()) if one == "set" else None
        for j, given, one in zip(feature.tolist(), labels, kind.tolist(), strict=True)
    )


def set_categories(columns: Columns | None, feature: int) -> Labels | None:
    """Return the categories of the column of a set; None if it holds numbers.

    Parameters
    ----------
    columns : Columns or None
        The columns of the table. None raises an InvalidInputError.
    feature : int
        Position of the column.
    """
    if columns is None:
        raise InvalidInputError(
            "The categories of the columns are required for sets. Pass a data frame instead of the column names."
        )
    return columns.columns[feature].categories


def set_labels(columns: Columns | None, feature: int, codes: Codes) -> Labels:
    """Return the categories of a set, given their codes.

    Parameters
    ----------
    columns, feature
        As in :func:`set_categories`.
    codes : tuple of int
        Positions in the column's categories.
    """
    categories = set_categories(columns, feature) or ()
    return tuple(categories[code] for code in codes)


def _codes_of_set(name: str, categories: Labels | None, labels: Labels) -> Codes:
    codes = codes_of(name, categories, labels)
    assert categories is not None
    if codes != smaller_side(codes, len(categories)) or labels != tuple(categories[code] for code in codes):
        raise InvalidInputError(
            f"The set {labels} of column {name!r} is not in normal form. Give the set or its complement, whichever is "
            "smaller, in the order of the column's categories. from_counts and from_list do this for you."
        )
    return codes
