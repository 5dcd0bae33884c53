"""Explanations: the counterfactuals of some rows, as frames, sentences and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.counterfactuals._result import STATUSES, Counterfactuals, number_in_short
from fcca.counterfactuals._sentences import feature_in_words, grouped
from fcca.utils import printable

Floats = NDArray[np.float64]

ANSWERS_IN_HTML = 50
ROWS_IN_NOTE, COLUMNS_IN_NOTE = 5, 3


@dataclass(frozen=True, repr=False)
class Explanations(Counterfactuals):
    """Counterfactuals of the given rows; those of a row stand together, the cheapest first.

    Attributes
    ----------
    rows : ndarray of shape (n_answers,)
        Which row of the table that was given each answer is for.
    answer : ndarray of shape (n_answers,)
        1 for the cheapest of a row, 2 for the next. A row with fewer answers than were asked for ends with one that says
        why: ``infeasible`` where it is proven that there is no other, ``unknown`` where time ran out.
    predicted, target : ndarray of shape (n_answers,)
        The class that the row is answered with, and the class that is reached.
    status : ndarray of shape (n_answers,)
        ``optimal``, ``feasible``, ``infeasible``, ``unknown`` or ``unverified``. The second answer of a row is ``optimal``
        where it is proven that nothing cheaper changes a set of features that does not contain the first one's, and so on.
    cost, bound : ndarray of shape (n_answers,)
        Cost of the answer, and a proven lower bound on it; equal where optimal.
    nodes, seconds : ndarray of shape (n_answers,)
        Size and wall time of the searches for it.
    moves : Moves
        Which feature went from where to where, sparsely.
    probability_before, probability_after : ndarray of shape (n_answers,)
        What the classifier's own ``predict_proba`` gives the target at the row and at the changed point; NaN where it has
        none, or where there is no answer.
    outside_range : DataFrame
        Values of the rows that lie outside the range of the data that the explainer was given.
    notes : tuple of str
        What to know about the rows before the answers are used, such as values outside that range.
    feature_names : sequence of str
    columns : Columns or None
        Categories and missing values of the table; None where all columns are plain numbers.
    exact : bool
        Whether sentences print values as they are: there are rules that rounded ones might break.
    broken_rules : DataFrame
        Rules that rows break as they are: row, rule, why. They hold for what changes.
    """

    answer: NDArray[np.int64]
    wanted_code: NDArray[np.int32]  # position in classes of what was asked for, -1 for any other class
    table: Floats  # the rows that were given, categories as codes
    labels: NDArray[Any]  # what they are called
    probability_before: Floats
    probability_after: Floats
    target_probability: float | None
    own_code: NDArray[np.int32] = field(kw_only=True)
    box: tuple[Floats, Floats] = field(kw_only=True)
    broken_rules: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["row", "rule", "why"]), kw_only=True)

    @property
    def predicted(self) -> NDArray[Any]:
        """Predictions of the rows before the change, one per answer."""
        predicted: NDArray[Any] = self.classes[self.own_code]
        return predicted

    @property
    def class_code(self) -> NDArray[np.int32]:
        """Position in classes of the class reached or asked for; -1 for any other."""
        code: NDArray[np.int32] = np.where(self.target_code >= 0, self.target_code, self.wanted_code)
        return code

    @property
    def outside_range(self) -> pd.DataFrame:
        """Values outside the range of the data: row, feature, value, smallest, largest."""
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
        """Mask of the numbers outside the range of the data; categories have no range."""
        outside: NDArray[np.bool_] = (self.table < self.box[0]) | (self.table > self.box[1])
        if self.columns is not None:
            outside[:, self.columns.is_category] = False
        return outside

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on values outside the range of the data and on broken rules."""
        return (*self._notes_on_range(), *self._notes_on_rules())

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
            f"{len(rows):,} {have} values outside the range of the data: {'; '.join(places)}{more}. The answers hold for "
            "the classifier, but it may have seen no such values; check their units.",
        )

    def _notes_on_rules(self) -> tuple[str, ...]:
        n_rows = self.broken_rules["row"].nunique()
        if n_rows == 0:
            return ()
        lines = self.broken_rules.head(ROWS_IN_NOTE).itertuples()
        places = [f"row {printable(line.row)} {printable(line.rule)} ({printable(line.why)})" for line in lines]
        more = f"; … {len(self.broken_rules) - ROWS_IN_NOTE} more" if len(self.broken_rules) > ROWS_IN_NOTE else ""
        have = "row breaks" if n_rows == 1 else "rows break"
        return (f"{n_rows:,} {have} rules without any change: {'; '.join(places)}{more}. The rules hold for what changes.",)

    def _beyond(self, row: int, feature: int) -> str:
        """``income (9,000 is above 4,254)``."""
        value, low, high = self.table[row, feature], self.box[0][feature], self.box[1][feature]
        where = f"below {grouped(low)}" if value < low else f"above {grouped(high)}"
        return f"{feature_in_words(self.feature_names[feature])} ({grouped(value)} is {where})"

    @property
    def original(self) -> Any:
        """The row of every answer, in raw units: an array, or a data frame with labels where there are categories."""
        return self._decoded(self.table[self.rows])

    @property
    def x(self) -> Any:
        """The changed row of every answer, in raw units; NaN where there is none."""
        return self._decoded(self.points)

    @property
    def points(self) -> Floats:
        """Changed rows as float64, categories as codes; NaN where there is none."""
        points = self.changed_table(self.table)
        points[self.is_status("infeasible", "unknown")] = np.nan
        return points

    def _row_labels(self) -> NDArray[Any]:
        labels: NDArray[Any] = self.labels[self.rows]
        return labels

    def to_frame(self) -> pd.DataFrame:
        """Return one line per move: row, answer, target, status, cost, bound, seconds, feature, from, to, cut.

        An answer without moves has one line without a feature. ``row`` is the label of the row where the table was a
        data frame with an index, its position elsewhere.
        """
        names = ("answer", "target", "status", "cost", "bound", "seconds")
        return self._frame_of_moves({name: getattr(self, name) for name in names})

    def changed(self, *, all_features: bool = False) -> pd.DataFrame:
        """Return original and changed values side by side, one line per answer.

        Parameters
        ----------
        all_features : bool, default=False
            All columns, instead of those that some answer changes.

        Returns
        -------
        DataFrame
            Rows by ``(row, answer)``, columns by ``(feature, "original" or "changed")``.
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

    def _sentence_details(self, i: int) -> dict[str, Any]:
        return {"number": int(self.answer[i]), "probability": self.target_probability}

    def _heading(self, i: int) -> str:
        row = f"row {printable(self.labels[self.rows[i]])}"
        return row if self.answer[i] == 1 else f"{row}, answer {self.answer[i]}"

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
