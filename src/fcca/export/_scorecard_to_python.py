"""Convert a scorecard to a Python module without dependencies.

Column names, categories and classes enter the module only as ``repr`` of built-in strings and numbers, as in
``_to_python``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcca.export._to_python import CATEGORY, MISSING, NUMBER
from fcca.scorecard import Scorecard, ScorecardColumn, as_scorecard

HEAD = '''\
"""A scorecard, written by fcca. Plain Python without dependencies.

score({{column: value, ...}}) returns the score of a row, points(row) the points of each column. predict(row) returns its
class, and predict_proba(row) the probability of each class. Only the columns in COLUMNS are used. A missing value is None
or NaN. An unknown category gets the mean points of its column. An infinite number raises a ValueError.
"""

import math

CLASSES = {classes}
COLUMNS = {columns}
BASE_POINTS = {base}
INTERCEPT = {intercept}
'''

FUNCTIONS = '''

def points(row):
    """Return the points of a row, which is a dictionary of columns and values, as a dictionary of columns and points."""
    return {name: of_bin[at] for name, of_bin, at in zip(COLUMNS, POINTS, _bins(row))}


def score(row):
    """Return the score of a row: the base points and the points of all columns."""
    total = BASE_POINTS
    for of_bin, at in zip(POINTS, _bins(row)):
        total += of_bin[at]
    return total


def log_odds(row):
    """Return the log-odds of the second class."""
    total = INTERCEPT
    for of_bin, at in zip(COEFFICIENTS, _bins(row)):
        total += of_bin[at]
    return total


def predict(row):
    """Return the predicted class of a row."""
    return CLASSES[int(log_odds(row) > 0)]


def predict_proba(row):
    """Return the probability of each class, as a dictionary of classes and probabilities."""
    odds = math.exp(-abs(log_odds(row)))
    shares = (odds / (1 + odds), 1 / (1 + odds))
    return dict(zip(CLASSES, shares if log_odds(row) > 0 else shares[::-1]))
'''


def scorecard_to_python(scorecard: Any) -> str:
    """Convert a scorecard to the source code of a Python module without dependencies.

    The module has the functions ``score(row)``, ``points(row)``, ``log_odds(row)``, ``predict(row)`` and
    ``predict_proba(row)``, where a row is a dictionary. Scores, points and log-odds are exactly those of the scorecard.

    Parameters
    ----------
    scorecard : FCCAScorecard or Scorecard
        A fitted scorecard, or one that was read from a file.

    Returns
    -------
    str
        Python source code.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAScorecard
    >>> from fcca.export import scorecard_to_python
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = FCCAScorecard(n_thresholds=3).fit(X, y)
    >>> module = {}
    >>> exec(scorecard_to_python(scorecard), module)
    >>> bool(module["score"](X.iloc[0].to_dict()) == scorecard.score_points(X)[0])
    True
    """
    card = as_scorecard(scorecard)
    kinds = {column.is_category for column in card.used}
    parts = [
        HEAD.format(
            classes=repr(tuple(card.classes)),
            columns=repr(tuple(card.features_used)),
            base=_number(card, card.base_points),
            intercept=repr(card.intercept),
        ),
        *_tables(card),
        FUNCTIONS,
        MISSING if kinds else "",
        NUMBER if False in kinds else "",
        CATEGORY if True in kinds else "",
        "\n\ndef _bins(row):\n",
        *(f"    {line}\n" for line in _body(card)),
    ]
    return "".join(parts)


def _number(card: Scorecard, points: float) -> str:
    return repr(int(points)) if card.round_points else repr(float(points))


def _tables(card: Scorecard) -> Iterator[str]:
    for column in card.used:
        if column.is_category:
            yield f"CATEGORIES_{column.feature} = {tuple(card.columns[column.feature].categories or ())!r}\n"
    for title, values in (
        ("POINTS", [[_number(card, one) for one in points.tolist()] for points in card.points]),
        ("COEFFICIENTS", [[repr(one) for one in column.coefficient.tolist()] for column in card.used]),
    ):
        yield f"# One line per column, one entry per bin.\n{title} = (\n"
        yield from (f"    ({', '.join(line)}),\n" for line in values)
        yield ")\n"


def _body(card: Scorecard) -> Iterator[str]:
    for k, (column, name) in enumerate(zip(card.used, card.features_used, strict=True)):
        if column.is_category:
            yield f"x = _category(row, {name!r}, CATEGORIES_{column.feature})"
        else:
            yield f"x = _number(row, {name!r})"
        yield f"b{k} = {_place(column)}"
    yield f"return ({''.join(f'b{k}, ' for k in range(len(card.used)))})"


def _place(column: ScorecardColumn) -> str:
    """Return a Python expression for the position of the bin of ``x``."""
    if column.is_category:
        steps = [(f"x in {codes!r}", at) for at, codes in enumerate(column.groups)]
        tests, last = [("x is None", column.missing), *steps], column.missing + 1
    else:
        special = [(f"x == {value!r}", column.n_ordinary + at) for at, value in enumerate(column.special)]
        cuts = [(f"x > {cut!r}", at + 1) for at, cut in enumerate(column.cuts)]
        tests, last = [("x != x", column.missing), *special, *reversed(cuts)], 0
    return " ".join([*(f"{at} if {test} else" for test, at in tests), str(last)])
