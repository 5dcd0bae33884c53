"""Write a scorecard as a JSON document, and read it back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcca.export._to_json import json_document, written_columns
from fcca.scorecard import Scorecard, ScorecardColumn, as_scorecard
from fcca.tables import Column, Columns
from fcca.utils import DocumentReader, is_label, parsed

FORMAT, VERSION = "fcca-scorecard", 1
LARGEST = 32 * 2**20  # characters
READER = DocumentReader("scorecard", FORMAT, (VERSION,), "scorecard.json", "fcca.export.scorecard_to_json")
SCALE = {"intercept": float, "pdo": float, "base_score": float, "base_odds": float, "round_points": bool}
COLUMN = {"name": str | None, "categories": list | None, "missing": bool}


def scorecard_to_json(scorecard: Any) -> str:
    """Convert a scorecard to a JSON document, which :func:`scorecard_from_json` reads.

    Parameters
    ----------
    scorecard : FCCAScorecard or Scorecard
        A fitted scorecard, or one that was read from a file.

    Returns
    -------
    str
        An object with ``format`` "fcca-scorecard", ``version`` 1, ``classes``, ``favourable``, ``intercept``, ``pdo``,
        ``base_score``, ``base_odds``, ``round_points``, ``base_points``, ``columns`` of the table, and ``bins``: one entry
        per column of the scorecard. It has the position of the ``column``, its ``cuts``, ``special`` values and ``groups``
        of category codes, and for each bin its name, ``coefficient``, ``points`` and training ``weight`` of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAScorecard
    >>> from fcca.export import scorecard_from_json, scorecard_to_json
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = FCCAScorecard(n_thresholds=3).fit(X, y)
    >>> read = scorecard_from_json(scorecard_to_json(scorecard))
    >>> bool((read.score_points(X) == scorecard.score_points(X)).all())
    True
    """
    card = as_scorecard(scorecard)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "classes": list(card.classes),
        "favourable": card.favourable,
        **{name: getattr(card, name) for name in SCALE},
        "base_points": card.base_points,
        "columns": written_columns(card.columns),
        "bins": [_written(card, k) for k in range(len(card.used))],
    }
    return json_document(document, lambda value: isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _written(card: Scorecard, k: int) -> dict[str, Any]:
    column = card.used[k]
    return {
        "column": column.feature,
        "cuts": list(column.cuts),
        "special": list(column.special),
        "groups": [list(codes) for codes in column.groups],
        "names": card.bins(k),
        "coefficient": column.coefficient.tolist(),
        "points": card.points[k].tolist(),
        "weight": column.weight.tolist(),
    }


def scorecard_from_json(text: str | bytes) -> Scorecard:
    """Read a scorecard from a document written by :func:`scorecard_to_json`.

    Parameters
    ----------
    text : str or bytes
        Bytes must be UTF-8. Points and names of bins are computed again, not read.

    Returns
    -------
    Scorecard

    Raises
    ------
    InvalidInputError
        If the text is not a complete, consistent document. Nothing in it is run as code.
    """
    document = parsed(text, LARGEST, "a scorecard")
    READER.version(document)
    classes = READER.labels(READER.entry(document, "classes", list), "classes")
    favourable = document.get("favourable")
    if len(classes) != 2 or not is_label(favourable) or favourable not in classes:
        raise READER.damaged("it must have two classes, and 'favourable' must be one of them")
    scale = READER.entries(document, SCALE, "the document")
    if scale["pdo"] <= 0 or scale["base_odds"] <= 0:
        raise READER.damaged("'pdo' and 'base_odds' must be above 0")
    columns = _columns(READER.entry(document, "columns", list))
    used = tuple(_bins(entry, at, columns) for at, entry in enumerate(READER.entry(document, "bins", list)))
    features = [column.feature for column in used]
    if features != sorted(set(features)):
        raise READER.damaged("the bins must be sorted by column, with one entry per column")
    return Scorecard(columns=columns, classes=(classes[0], classes[1]), used=used, favourable=favourable, **scale)


def _columns(given: list[Any]) -> Columns:
    found = []
    for at, entry in enumerate(given):
        where = f"column {at}"
        name, categories, missing = READER.entries(entry, COLUMN, where).values()
        found.append(Column(name, None if categories is None else READER.categories(entry, where), missing))
    names = [column.name for column in found]
    if not found or len({name is None for name in names}) > 1 or (names[0] is not None and len(set(names)) < len(names)):
        raise READER.damaged("it must have columns, and either all of them have distinct names, or none has a name")
    return Columns(tuple(found))


def _bins(entry: Any, at: int, columns: Columns) -> ScorecardColumn:
    where = f"entry {at} of the bins"
    j = READER.entry(entry, "column", int, where)
    if not 0 <= j < len(columns):
        raise READER.damaged(f"{where} is on column {j}, but there are {len(columns)} columns")
    cuts, special, coefficient = (READER.numbers(entry, name, where) for name in ("cuts", "special", "coefficient"))
    groups = [_codes(codes, where) for codes in READER.entry(entry, "groups", list, where)]
    known = columns[j].categories
    codes_once = sorted(code for codes in groups for code in codes) == list(range(len(known or ())))
    if not codes_once or bool(groups) != (known is not None) or () in groups or (known and (cuts or special)):
        raise READER.damaged(f"the groups of {where} must hold each category of the column once, and no numbers")
    if cuts != sorted(set(cuts)) or special != sorted(set(special)):
        raise READER.damaged(f"the cuts and special values of {where} must be in ascending order")
    weight = READER.entry(entry, "weight", list, where)
    pairs = [READER.numbers({"weight": pair}, "weight", where) for pair in weight]
    are_pairs = all(len(pair) == 2 and min(pair) >= 0 for pair in pairs)
    found = ScorecardColumn(
        j, tuple(cuts), tuple(special), tuple(groups), np.array(coefficient), np.array(pairs if are_pairs else [])
    )
    if not are_pairs or not len(coefficient) == len(pairs) == found.n_bins:
        raise READER.damaged(
            f"{where} must have a coefficient and two weights of at least 0 for each of {found.n_bins} bins"
        )
    return found


def _codes(codes: Any, where: str) -> tuple[int, ...]:
    return tuple(
        READER.entry({"code": code}, "code", int, where) for code in READER.entry({"codes": codes}, "codes", list, where)
    )
