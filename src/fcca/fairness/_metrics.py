"""Rates of favourable predictions and errors for each group, and the differences between groups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from fcca.exceptions import InvalidInputError
from fcca.fairness._row_groups import Groups, check_label
from fcca.tables import check_weights
from fcca.utils import html_table, number, paragraph, printable

Floats = NDArray[np.float64]

#: Rule of thumb of employment law: every group is selected at least four fifths as often as any other.
FOUR_FIFTHS = 0.8
ROUNDING = 1e-12  # 0.24 / 0.3 is a little below it

RATES = ("base_rate", "selection_rate", "accuracy", "tpr", "fpr", "precision")


@dataclass(frozen=True)
class GroupGaps:
    """Differences between groups in the predictions of a classifier.

    A difference is NaN if the rate is defined for fewer than two groups.

    Attributes
    ----------
    demographic_parity_difference : float
        Largest minus smallest selection rate of a group. The selection rate is the share of favourable predictions.
    disparate_impact : float
        Smallest divided by largest selection rate. 1 if all groups have the same rate.
    passes_four_fifths : bool or None
        Whether ``disparate_impact`` is at least 0.8; None if it is unknown.
    equal_opportunity_difference : float
        Largest minus smallest true positive rate.
    equalized_odds_difference : float
        The larger of two differences: ``equal_opportunity_difference``, and largest minus smallest false positive rate.
    accuracy_difference : float
        Largest minus smallest accuracy.
    notes : tuple of str
        Sentences on groups that were left out of a difference.
    """

    demographic_parity_difference: float
    disparate_impact: float
    passes_four_fifths: bool | None
    equal_opportunity_difference: float
    equalized_odds_difference: float
    accuracy_difference: float
    notes: tuple[str, ...] = ()

    def to_series(self) -> pd.Series[Any]:
        """Return the differences as a Series, indexed by their names."""
        names = [field.name for field in fields(self) if field.name != "notes"]
        return pd.Series({name: getattr(self, name) for name in names}, dtype=object)

    def _repr_html_(self) -> str:
        words = {True: "yes", False: "no", None: "–"}
        lines = [
            (str(name).replace("_", " "), number(value) if isinstance(value, float) else words[value])
            for name, value in self.to_series().items()
        ]
        return html_table(("difference between groups", ""), lines, numbers=(1,)) + "".join(map(paragraph, self.notes))


def group_metrics(
    y_true: ArrayLike, y_pred: ArrayLike, groups: Any, favourable: Any, sample_weight: ArrayLike | None = None
) -> pd.DataFrame:
    """Compute the rates of favourable predictions and of errors per group.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions. All labels except the favourable one count as unfavourable.
    groups : array-like of shape (n_rows,)
        The group of each row. Rows with a missing value form a separate group.
    favourable : label
        The favourable class.
    sample_weight : array-like of shape (n_rows,), optional
        A row with weight 2 counts as two identical rows.

    Returns
    -------
    DataFrame
        One row per group.

        - ``rows``: number of rows.
        - ``positives``: weight of the rows with a favourable label. ``selected``: weight of the rows with a favourable
          prediction. ``base_rate`` and ``selection_rate``: these two weights, divided by the weight of the group.
        - ``accuracy``: share of rows whose label and prediction are both favourable or both unfavourable.
        - ``tpr``: share of favourable predictions among rows with a favourable label. ``fpr``: the same among rows with an
          unfavourable label.
        - ``precision``: share of favourable labels among rows with a favourable prediction.
        - ``note``: why a rate is NaN.

    See Also
    --------
    gaps : Computes the differences between the groups.

    Examples
    --------
    >>> from fcca.fairness import group_metrics
    >>> found = group_metrics([1, 0, 1, 0], [1, 0, 0, 0], ["a", "a", "b", "b"], favourable=1)
    >>> found["selection_rate"].to_dict()
    {'a': 0.5, 'b': 0.0}
    """
    truth, predicted = column_or_1d(y_true), column_or_1d(y_pred)
    if len(truth) != len(predicted):
        raise InvalidInputError(f"y_true and y_pred must have the same number of rows ({len(truth)} and {len(predicted)}).")
    label = check_label(favourable, [*pd.unique(truth), *pd.unique(predicted)], "labels in y_true and y_pred")
    weight = check_weights(sample_weight, len(truth))
    return metrics_of(truth == label, predicted == label, Groups.of(groups, n_rows=len(truth)), weight)


def metrics_of(truth: NDArray[np.bool_], predicted: NDArray[np.bool_], groups: Groups, weight: Floats) -> pd.DataFrame:
    """Compute the result of :func:`group_metrics` from masks.

    Parameters
    ----------
    truth, predicted : ndarray of bool, shape (n_rows,)
        Whether the label (``truth``) and the prediction (``predicted``) of each row are the favourable class.
    groups : Groups
    weight : ndarray of shape (n_rows,)
    """
    lines = []
    for _, rows in groups:
        true, given, w = truth[rows], predicted[rows], weight[rows]
        total, positives, selected, hits = w.sum(), w[true].sum(), w[given].sum(), w[true & given].sum()
        figures = {
            "base_rate": _share(positives, total),
            "selection_rate": _share(selected, total),
            "accuracy": _share(w[true == given].sum(), total),
            "tpr": _share(hits, positives),
            "fpr": _share(w[~true & given].sum(), w[~true].sum()),
            "precision": _share(hits, selected),
        }
        lines.append({"rows": len(rows), "positives": positives, "selected": selected} | figures | {"note": _note(figures)})
    frame = pd.DataFrame(lines, index=groups.index)
    counts = ["positives", "selected"]
    if (frame[counts] == frame[counts].round()).all(axis=None):
        frame[counts] = frame[counts].astype(np.int64)
    return frame


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _note(figures: dict[str, float]) -> str:
    if np.isnan(figures["accuracy"]):
        return "all rows have weight 0"
    why = {"tpr": "no favourable label", "fpr": "no unfavourable label", "precision": "no favourable prediction"}
    return "; ".join(f"{name} is undefined: {reason}" for name, reason in why.items() if np.isnan(figures[name]))


def gaps(
    y_true: ArrayLike, y_pred: ArrayLike, groups: Any, favourable: Any, sample_weight: ArrayLike | None = None
) -> GroupGaps:
    """Measure the differences between groups in a classifier's predictions.

    Parameters
    ----------
    y_true, y_pred, groups, favourable, sample_weight
        As in :func:`group_metrics`.

    Returns
    -------
    GroupGaps

    Examples
    --------
    >>> from fcca.fairness import gaps
    >>> found = gaps([1, 0, 1, 0], [1, 0, 1, 1], ["a", "a", "b", "b"], favourable=1)
    >>> found.demographic_parity_difference, found.disparate_impact, found.passes_four_fifths
    (0.5, 0.5, False)
    """
    return gaps_of(group_metrics(y_true, y_pred, groups, favourable, sample_weight))


def gaps_of(metrics: pd.DataFrame) -> GroupGaps:
    """Compute the differences between groups from the result of :func:`group_metrics`."""
    known = {name: metrics[name].dropna() for name in RATES}

    def difference(name: str) -> float:
        return float(known[name].max() - known[name].min()) if len(known[name]) > 1 else float("nan")

    rates = known["selection_rate"]
    impact = float(rates.min() / rates.max()) if len(rates) > 1 and rates.max() > 0 else float("nan")
    odds = [difference("tpr"), difference("fpr")]
    notes = [
        f"{printable(group)} is left out of comparisons of {name}"
        for name in ("selection_rate", "tpr", "fpr")
        for group in metrics.index[metrics[name].isna()]
    ]
    if len(rates) > 1 and rates.max() == 0:
        notes.append("no row of any group has a favourable prediction, so the disparate impact is undefined")
    return GroupGaps(
        demographic_parity_difference=difference("selection_rate"),
        disparate_impact=impact,
        passes_four_fifths=None if np.isnan(impact) else impact >= FOUR_FIFTHS - ROUNDING,
        equal_opportunity_difference=odds[0],
        equalized_odds_difference=max(odds) if not np.isnan(odds).any() else float("nan"),
        accuracy_difference=difference("accuracy"),
        notes=tuple(notes),
    )
