"""Explanations: counterfactuals with their rows, as data frames, sentences and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.counterfactuals._counterfactual_sentences import feature_in_words, grouped
from fcca.counterfactuals._result import STATUSES, Counterfactuals, number_in_short
from fcca.tables import without_special
from fcca.utils import printable

Floats = NDArray[np.float64]

ANSWERS_IN_HTML = 50
ROWS_IN_NOTE, COLUMNS_IN_NOTE = 5, 3


@dataclass(frozen=True, repr=False)
class Explanations(Counterfactuals):
    """Counterfactuals of the given rows, ordered by row and cost.

    Attributes
    ----------
    rows : ndarray of shape (n_answers,)
        Row of each counterfactual, as a position in the given table.
    answer : ndarray of shape (n_answers,)
        Number of the counterfactual within its row: 1 for the cheapest, 2 for the next. A row with fewer than ``n``
        counterfactuals has a last entry without a change. Its status is ``infeasible`` if it is proven that no further
        counterfactual exists, or ``unknown`` after a timeout.
    predicted, target : ndarray of shape (n_answers,)
        The class predicted for the row before the change, and after it.
    status : ndarray of shape (n_answers,)
        ``optimal``, ``feasible``, ``infeasible``, ``unknown`` or ``unverified``. No counterfactual of a row changes all the
        features of an earlier one. A further counterfactual is ``optimal`` if it is proven to be the cheapest one with this
        property.
    cost, bound : ndarray of shape (n_answers,)
        Cost of the counterfactual, and a proven lower bound of the cheapest cost. They are equal if the status is optimal.
    nodes, seconds : ndarray of shape (n_answers,)
        Number of nodes that the searches visited, and their wall time.
    moves : Moves
        The changed features, with their values before (origin) and after (landing).
    probability_before, probability_after : ndarray of shape (n_answers,)
        Probability of the target before and after the change, by the classifier's ``predict_proba``. NaN if the classifier
        does not have this method, or if there is no counterfactual.
    outside_range : DataFrame
        Values of the explained rows outside the range of the data that the explainer was given.
    replaced : DataFrame
        Values of the explained rows that the classifier cannot take: unknown categories, and missing values. The columns are
        row, feature, value and used. The row is explained with the value ``used`` instead, and the proof holds for it.
    notes : tuple of str
        Remarks on replaced values, on values outside that range, and on rules that the rows break before any change.
    feature_names : sequence of str
    columns : Columns or None
        Categories and missing values of the table; None if all columns are plain numbers.
    rules : tuple of Constraint
        The rules that restrict the changes.
    broken_rules : DataFrame
        Rules that the rows break before any change, with the columns row, rule and why. This is not an error, because rules
        restrict only changes.
    """

    answer: NDArray[np.int64]
    wanted_code: NDArray[np.int32]  # position of the target class; -1 for any other class
    table: Floats  # the given rows, with categories as codes
    labels: NDArray[Any]  # row labels
    probability_before: Floats
    probability_after: Floats
    target_probability: float | None
    own_code: NDArray[np.int32] = field(kw_only=True)
    box: tuple[Floats, Floats] = field(kw_only=True)
    broken_rules: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["row", "rule", "why"]), kw_only=True)

    replaced: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["row", "feature", "value", "used"]), kw_only=True
    )

    @property
    def predicted(self) -> NDArray[Any]:
        """Predictions before the change, one per counterfactual."""
        predicted: NDArray[Any] = self.classes[self.own_code]
        return predicted

    @property
    def class_code(self) -> NDArray[np.int32]:
        """Class named in each sentence, as a position in ``classes``; -1 for "another class".

        It is the class reached, or the requested target class if no counterfactual was found.
        """
        code: NDArray[np.int32] = np.where(self.target_code >= 0, self.target_code, self.wanted_code)
        return code

    @property
    def outside_range(self) -> pd.DataFrame:
        """Values of the explained rows outside the range of the explainer's data.

        The columns of the data frame are row, feature, value, smallest and largest.
        """
        smallest, largest = self.box
        row, feature = np.nonzero(self._outside)
        return pd.DataFrame(
            {
                "row": self.labels[row],
                "feature": pd.array(np.asarray(self.feature_names, dtype=object)[feature], dtype="string"),
                "value": self.table[row, feature],
                "smallest": smallest[feature],
                "largest": largest[feature],
            }
        )

    @property
    def _outside(self) -> NDArray[np.bool_]:
        """Mask of the numbers outside the range of the data; False for categories and special values."""
        ordinary = without_special(self.table, self.special)
        outside: NDArray[np.bool_] = (ordinary < self.box[0]) | (ordinary > self.box[1])
        if self.columns is not None:
            outside[:, self.columns.is_category] = False
        return outside

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on replaced values, on values outside the range, and on rules broken before any change."""
        return (*self._notes_on_replaced(), *self._notes_on_range(), *self._notes_on_rules())

    def _notes_on_replaced(self) -> tuple[str, ...]:
        n_rows = self.replaced["row"].nunique()
        if n_rows == 0:
            return ()
        shown = self.replaced.head(ROWS_IN_NOTE)
        places = [
            f"row {printable(line.row)} in {feature_in_words(line.feature)} "
            f"({'missing' if gone else printable(line.value)}, explained as {printable(line.used)})"
            for line, gone in zip(shown.itertuples(), shown["value"].isna(), strict=True)
        ]
        more = f"; … {len(self.replaced) - ROWS_IN_NOTE} more" if len(self.replaced) > ROWS_IN_NOTE else ""
        have = "row has" if n_rows == 1 else "rows have"
        return (f"{n_rows:,} {have} values that the data does not have in the same column: {'; '.join(places)}{more}.",)

    def _notes_on_range(self) -> tuple[str, ...]:
        outside = self._outside
        rows = np.flatnonzero(outside.any(axis=1))
        if len(rows) == 0:
            return ()
        places = []
        for i in rows[:ROWS_IN_NOTE]:
            columns = np.flatnonzero(outside[i])
            shown = [self._beyond(i, j) for j in columns[:COLUMNS_IN_NOTE]]
            more = f" and {len(columns) - len(shown)} more columns" if len(columns) > len(shown) else ""
            places.append(f"row {printable(self.labels[i])} in {', '.join(shown)}{more}")
        more = f"; … {len(rows) - ROWS_IN_NOTE} more rows" if len(rows) > ROWS_IN_NOTE else ""
        have = "row has" if len(rows) == 1 else "rows have"
        return (
            f"{len(rows):,} {have} values outside the range of the data: {'; '.join(places)}{more}. Check their units: the "
            "counterfactuals are valid, but the classifier may not have seen such values.",
        )

    def _notes_on_rules(self) -> tuple[str, ...]:
        n_rows = self.broken_rules["row"].nunique()
        if n_rows == 0:
            return ()
        lines = self.broken_rules.head(ROWS_IN_NOTE).itertuples()
        places = [f"row {printable(line.row)} {printable(line.rule)} ({printable(line.why)})" for line in lines]
        more = f"; … {len(self.broken_rules) - ROWS_IN_NOTE} more" if len(self.broken_rules) > ROWS_IN_NOTE else ""
        have = "row breaks" if n_rows == 1 else "rows break"
        note = f"{n_rows:,} {have} rules before any change: {'; '.join(places)}{more}. Rules apply to changed values only."
        return (note,)

    def _beyond(self, row: int, feature: int) -> str:
        """Describe a value outside the range, such as ``income (9,000 is above 4,254)``."""
        value, low, high = self.table[row, feature], self.box[0][feature], self.box[1][feature]
        where = f"below {grouped(low)}" if value < low else f"above {grouped(high)}"
        return f"{feature_in_words(self.feature_names[feature])} ({grouped(value)} is {where})"

    @property
    def original(self) -> Any:
        """The unchanged row of every counterfactual, as given to ``explain``.

        It is a data frame if a column holds categories, otherwise an array.
        """
        return self._decoded(self.table[self.rows])

    @property
    def x(self) -> Any:
        """The changed row of every counterfactual; NaN if no counterfactual was found.

        It is a data frame if a column holds categories, otherwise an array.
        """
        return self._decoded(self.points)

    @property
    def points(self) -> Floats:
        """Changed rows as float64, with category codes; NaN if no counterfactual was found."""
        points = self.changed_table(self.table)
        points[self.is_status("infeasible", "unknown")] = np.nan
        return points

    def _row_labels(self) -> NDArray[Any]:
        labels: NDArray[Any] = self.labels[self.rows]
        return labels

    def to_frame(self) -> pd.DataFrame:
        """Build a data frame with one row per changed feature.

        The columns are row, answer, target, status, cost, bound, seconds, feature, from, to and cut. A counterfactual
        without changes has one row, in which feature, from, to and cut are missing. The column ``row`` holds the index
        labels if a data frame was explained, otherwise the positions of the rows.
        """
        names = ("answer", "target", "status", "cost", "bound", "seconds")
        return self._frame_of_moves({name: getattr(self, name) for name in names})

    def changed(self, *, all_features: bool = False) -> pd.DataFrame:
        """Build a data frame of original and changed values, one row per counterfactual.

        Parameters
        ----------
        all_features : bool, default=False
            Whether to include the features that no counterfactual changes.

        Returns
        -------
        DataFrame
            The index is ``(row, answer)``. The columns are pairs ``(feature, "original")`` and ``(feature, "changed")``.
        """
        kept = range(len(self.feature_names)) if all_features else np.unique(self.moves.feature).tolist()
        original, x = self.table[self.rows], self.points
        columns = {
            (self.feature_names[j], kind): self.values(np.full(len(self), j, dtype=np.int32), values[:, j])
            for j in kept
            for kind, values in (("original", original), ("changed", x))
        }
        index = pd.MultiIndex.from_arrays([self._row_labels(), self.answer], names=["row", "answer"])
        frame = pd.DataFrame(columns, index=index)
        frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["feature", "value"])
        return frame

    def _row_before(self, i: int) -> Floats:
        row: Floats = self.table[self.rows[i]]
        return row

    def _sentence_details(self, i: int) -> dict[str, Any]:
        return {"number": int(self.answer[i]), "probability": self.target_probability}

    def _repr_html_(self) -> str:
        labels = self._row_labels()
        lines = [
            [
                labels[i],
                self.answer[i],
                text,
                STATUSES[self.status_code[i]],
                number_in_short(self.cost[i]),
                _from_to(self.probability_before[i], self.probability_after[i]),
            ]
            for i, text in enumerate(self._first_sentences(ANSWERS_IN_HTML))
        ]
        head = ["row", "answer", "what would have to change", "status", "cost", "probability of the class"]
        return self._html(head, lines, numbers=[1, 4])


def _from_to(before: float, after: float) -> str:
    if np.isnan(before):
        return "–"
    return f"{before:.2f} → {after:.2f}" if np.isfinite(after) else f"{before:.2f}"
