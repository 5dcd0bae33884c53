"""Write conditions as readable text, and represent sets of categories by codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.tables import Columns
from fcca.utils import plain

#: Kinds in the order of a column's conditions: a cut ``x > t``, a special value ``x is -9``, a set ``x in {…}``, and
#: ``x is missing``.
KINDS = ("cut", "special", "set", "missing")

Codes = tuple[int, ...]


def label_in_words(label: Any) -> str:
    """Format a category for display.

    Strings are put in quotes, numbers and booleans are not.
    """
    if isinstance(label, (bool, np.bool_)):
        return str(bool(label))
    if isinstance(label, Real):
        return plain(float(label)) if isinstance(label, (float, np.floating)) else str(label)
    return json.dumps(str(label), ensure_ascii=False)


def condition_in_words(name: str, kind: str, threshold: float, labels: Sequence[Any] | None) -> str:
    """Return the text of a condition.

    Examples are ``RM > 6.94`` and ``purpose in {"car", "tv"}``. The kind "one" is a cut in a column of zeros and ones, and
    becomes ``x = 1``.
    """
    if kind == "one":
        return f"{name} = 1"
    return _in_words(name, kind, threshold, labels, (">", "=", "in", "is missing", "is"))


def or_special_in_words(values: Iterable[float]) -> str:
    """Return what follows the text of a cut if special values are on its side, such as `` or is -9``."""
    texts = [plain(value) for value in values]
    return f" or is {' or '.join(texts)}" if texts else ""


def negation_in_words(
    name: str, kind: str, threshold: float, labels: Sequence[Any] | None, *, may_be_missing: bool = False
) -> str:
    """Return the text of a negated condition, such as ``RM ≤ 6.94``.

    With ``may_be_missing``, the negation of ``x > t`` ends in "or missing", because a missing value is not above t.
    """
    signs = ("≤", "≠", "not in", "is not missing", "is not")
    text = f"{name} = 0" if kind == "one" else _in_words(name, kind, threshold, labels, signs)
    return f"{text} or missing" if kind in ("cut", "one") and may_be_missing else text


def _in_words(name: str, kind: str, threshold: float, labels: Sequence[Any] | None, signs: tuple[str, ...]) -> str:
    if kind == "cut":
        return f"{name} {signs[0]} {plain(threshold)}"
    if kind == "missing":
        return f"{name} {signs[3]}"
    if kind == "special":
        return f"{name} {signs[4]} {plain(threshold)}"
    texts = [label_in_words(label) for label in labels or ()]
    return f"{name} {signs[1]} {texts[0]}" if len(texts) == 1 else f"{name} {signs[2]} {{{', '.join(texts)}}}"


def smaller_side(codes: Iterable[int], n_categories: int) -> Codes:
    """Return the smaller of a set of codes and its complement.

    Both split the rows in the same way, so the smaller one represents the split. If both have the same size, the result is
    the one without code 0. The result is sorted.
    """
    inside = sorted(set(codes))
    if 2 * len(inside) < n_categories or (2 * len(inside) == n_categories and inside[0] != 0):
        return tuple(inside)
    return tuple(sorted(set(range(n_categories)).difference(inside)))


def codes_of(name: str, categories: Sequence[Any] | None, labels: Iterable[Any]) -> Codes:
    """Return the sorted codes of a set of categories.

    ``labels`` are categories of the column ``name``. Raise InvalidInputError if a label is unknown, or if the set is empty
    or contains all categories.
    """
    if categories is None:
        raise InvalidInputError(
            f"Column {name!r} holds numbers, but the condition is a set of categories. Pass a number as threshold."
        )
    known = {label: code for code, label in enumerate(categories)}
    given = list(labels)
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InvalidInputError(f"{unknown[0]!r} is not a category of column {name!r}. Its categories are {list(known)}.")
    codes = tuple(sorted({known[label] for label in given}))
    if not 0 < len(codes) < len(known):
        raise InvalidInputError(
            f"A set of categories must contain at least one category, but not all of the column, got {given}. The "
            f"categories of column {name!r} are {list(known)}."
        )
    return codes


def common_columns(one: Columns | None, other: Columns | None) -> Columns | None:
    """Combine the descriptions of the columns of two threshold tables.

    The columns must have the same categories in both tables. In the result, a column may have missing values if it may have
    them in at least one of the tables.
    """
    if one is None or other is None:
        return other if one is None else one
    joined = []
    for mine, its in zip(one.columns, other.columns, strict=True):
        if mine.categories != its.categories:
            raise InvalidInputError(
                f"Only threshold tables with the same categories can be added. Column {mine.name!r} has the categories "
                f"{mine.categories} in one table and {its.categories} in the other."
            )
        joined.append(replace(mine, missing=mine.missing or its.missing))
    return Columns(tuple(joined))
