"""Data of the training rows that can be looked up on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.report._levels import numbers
from fcca.report._page_data import positions_in
from fcca.report._report_input import Positions, ReportInput


def sample(codes: Positions, n: int, keep: Positions | None = None) -> Positions:
    """Draw at most ``n`` rows at random, stratified by class, and return their positions.

    The same arguments always give the same rows.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class of each row, as an integer code.
    n : int
    keep : ndarray of int, optional
        Rows to draw first.
    """
    if len(codes) <= n:
        return np.arange(len(codes))
    keep = np.empty(0, dtype=np.int64) if keep is None else keep
    exact = n * np.bincount(codes) / len(codes)
    share = np.floor(exact).astype(np.int64)
    # The remaining rows go to the classes with the largest fractions.
    share[np.argsort(share - exact, kind="stable")[: n - share.sum()]] += 1
    random = np.random.default_rng(0)
    chosen = []
    for code, size in enumerate(share.tolist()):
        first = keep[codes[keep] == code][:size]
        others = np.setdiff1d(np.flatnonzero(codes == code), first)
        chosen += [first, random.choice(others, size=size - len(first), replace=False)]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def picked(rows: dict[str, Any], which: Positions) -> dict[str, Any]:
    """Reduce the result of :func:`rows_document` to the rows at the positions ``which``."""

    def some(values: list[Any]) -> list[Any]:
        return [values[at] for at in which.tolist()]

    return {
        name: values if name == "columns" else [some(column) for column in values] if name == "values" else some(values)
        for name, values in rows.items()
    }


def rows_document(inputs: ReportInput, data: dict[str, Any], rows: Positions, listed: Positions) -> dict[str, Any]:
    """Return the data of the training rows that can be looked up on the page.

    It holds their labels and predictions, and their counterfactuals. Their values are those of the columns
    ``data["form"]["in_rows"]``.

    Parameters
    ----------
    inputs : ReportInput
    data : dict
        Result of :func:`data_document`.
    rows : ndarray of int
        Positions of the training rows.
    listed : ndarray of int
        Result of :func:`listed_conditions`.
    """
    columns = data["form"]["in_rows"]
    probability = inputs.probability(rows)
    training = inputs.training
    return {
        "number": [inputs.names[row] for row in rows.tolist()],
        "label": inputs.class_codes(training.y[rows]).tolist(),
        "target": inputs.class_codes(training.predictions[rows]).tolist(),
        "probability": [None] * len(rows) if probability is None else [round(p, 4) for p in probability.tolist()],
        "columns": columns,
        "values": [numbers(training.table[rows, data["columns"][j]["feature"]]) for j in columns],
        "answer": _counterfactuals(inputs, rows, listed),
    }


def _counterfactuals(inputs: ReportInput, rows: Positions, listed: Positions) -> list[dict[str, Any] | None]:
    found = inputs.counterfactuals
    documents: list[dict[str, Any] | None] = [None] * len(rows)
    if found is None:
        return documents
    points = inputs.point_of_row[rows]
    searched = np.flatnonzero(points >= 0)
    some = found.take(points[searched])
    crossed = _crossed(inputs, some.rows, listed)
    known = inputs.class_codes(found.classes)
    # XGBoost predicts 1 for True, but the page has one name per class.
    shown = inputs.shown_classes
    names = {label: str(shown[code]) for label, code in zip(found.classes.tolist(), known.tolist(), strict=True)}
    reached = ~some.is_status("infeasible", "unknown")
    to = np.where(reached, known[some.target_code], -1).tolist()
    cost, bound = _short(some.cost), _short(some.bound)
    for i, (at, status, sentence) in enumerate(
        zip(searched.tolist(), some.status.tolist(), some.sentences(names, subject="This row"), strict=True)
    ):
        documents[at] = {
            "status": status,
            "to": to[i] if to[i] >= 0 else None,
            "sentence": sentence,
            "cost": cost[i],
            "bound": bound[i],
            "crossed": crossed[i],
        }
    return documents


def _short(values: NDArray[np.float64]) -> list[float | int | None]:
    """Round numbers to six significant digits, for JSON."""
    return numbers([float(f"{x:.6g}") for x in values.tolist()])


def _crossed(inputs: ReportInput, rows: Positions, listed: Positions) -> list[list[int]]:
    """Return for each row the listed conditions that its counterfactual crosses.

    ``rows`` are positions in the table given to ``fit``. The results are positions in ``listed``.
    """
    row, condition = inputs.discretizer.crossings()
    row, condition = row[np.isin(condition, listed)], positions_in(listed, condition)
    order = np.lexsort((condition, row))
    row, condition = row[order], condition[order]
    begin, end = np.searchsorted(row, rows), np.searchsorted(row, rows, side="right")
    return [condition[first:last].tolist() for first, last in zip(begin.tolist(), end.tolist(), strict=True)]
