"""Counterfactuals of rows, with a sparse list of the changed features (moves)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.conditions import label_in_words
from fcca.constraints import Constraint, holds
from fcca.counterfactuals._counterfactual_sentences import Move, grouped, sentence, shown_landing
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, Special
from fcca.utils import html_table, paragraph, printable

Floats = NDArray[np.float64]

#: ``optimal``: proven cheapest. ``within_gap``: proven to be within the relative gap of the cheapest. ``feasible``: found,
#: but not proven before a timeout. ``infeasible``: proven that no change inside the range of the data exists. ``unknown``:
#: nothing found before a timeout. ``unverified``: not confirmed by the classifier's ``predict``.
STATUSES = ("optimal", "within_gap", "feasible", "infeasible", "unknown", "unverified")
#: The statuses of counterfactuals with the proof that was asked for. Without a relative gap, all of them are optimal.
PROVEN = ("optimal", "within_gap")

ANSWERS_SHOWN = 10
PER_ANSWER = ("rows", "target_code", "status_code", "cost", "bound", "nodes", "seconds")


class Moves(NamedTuple):
    """The changed features of all counterfactuals: arrays with one entry per change."""

    point: NDArray[np.int64]  # position in Counterfactuals.rows
    feature: NDArray[np.int32]
    origin: Floats  # a number or a category's code; NaN for a missing value
    landing: Floats
    cut: Floats  # the cut crossed last; NaN for categories and for missing values


@dataclass(frozen=True, repr=False)
class Counterfactuals:
    """Counterfactuals of some rows of a table X: one entry per counterfactual.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Positions in X of the rows that the counterfactuals change.
    target : ndarray of shape (n_points,)
        The class of the changed row; None if no counterfactual was found.
    status : ndarray of shape (n_points,)
        One of ``optimal``, ``within_gap``, ``feasible``, ``infeasible``, ``unknown``, ``unverified``.
    cost, bound : ndarray of shape (n_points,)
        Cost of the counterfactual, and a proven lower bound of the cheapest cost. They are equal if the status is optimal.
        If it is within_gap, the bound is at least ``cost * (1 - relative_gap)``.
    nodes : ndarray of shape (n_points,)
        Number of nodes that the search visited.
    seconds : ndarray of shape (n_points,)
        Wall time of the search.
    moves : Moves
        The changed features, with their values before (origin) and after (landing); categories as codes.
    feature_names : sequence of str
    columns : Columns or None
        Categories and missing values of the table; None if all columns are plain numbers.
    own_code : ndarray of shape (n_points,), or None
        The class predicted before the change, as a position in ``classes``; None if unknown.
    box : pair of ndarrays, or None
        Smallest and largest training value of each feature.
    has_cuts : bool
        True for a classifier made of trees; a linear classifier has no cuts.
    rules : tuple of Constraint
        The rules that restrict the changes.
    special : mapping of int to ndarray
        Special values of numeric columns, by position.
    """

    rows: NDArray[np.int64]
    classes: NDArray[np.generic]
    target_code: NDArray[np.int32]  # position in classes, -1 for none
    status_code: NDArray[np.int8]
    cost: Floats
    bound: Floats
    nodes: NDArray[np.int64]
    seconds: Floats
    moves: Moves
    feature_names: Sequence[str]
    columns: Columns | None = field(default=None, kw_only=True)
    own_code: NDArray[np.int32] | None = field(default=None, kw_only=True)
    box: tuple[Floats, Floats] | None = field(default=None, kw_only=True)
    has_cuts: bool = field(default=True, kw_only=True)
    rules: tuple[Constraint, ...] = field(default=(), kw_only=True)
    special: Special = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def status(self) -> NDArray[np.str_]:
        """Status of every counterfactual, as a string."""
        return np.array(STATUSES)[self.status_code]

    @property
    def target(self) -> NDArray[Any]:
        """Class that each counterfactual reaches; None if no counterfactual was found."""
        labels: NDArray[Any] = self.classes[np.maximum(self.target_code, 0)]
        if (self.target_code < 0).any():
            labels = labels.astype(object)
            labels[self.target_code < 0] = None
        return labels

    def is_status(self, *names: str) -> NDArray[np.bool_]:
        """Return a mask of the counterfactuals whose status is one of ``names``."""
        return np.isin(self.status_code, [STATUSES.index(name) for name in names])

    @property
    def is_proven(self) -> NDArray[np.bool_]:
        """Mask of the counterfactuals that are proven cheapest, or within the relative gap that was asked for."""
        return self.is_status(*PROVEN)

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """Mask of the counterfactuals that flip the prediction, proven or not."""
        return self.is_status(*PROVEN, "feasible")

    @property
    def has_categories(self) -> bool:
        """True if at least one column holds categories."""
        return self.columns is not None and self.columns.has_categories

    def apply(self, X: Any) -> Any:
        """Apply the changes to rows of X; return one changed row per counterfactual.

        Parameters
        ----------
        X : array-like or data frame
            The table that was explained.

        Returns
        -------
        ndarray, or data frame
            The changed rows, in the units and labels of X: a data frame if a column holds categories, otherwise an array.
        """
        is_coded = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
        points = self.changed_table(X if is_coded or self.columns is None else self.columns.encode(X))
        return self._decoded(points)

    def changed_table(self, table: Any) -> Floats:
        """Apply the changes to an encoded table; return one changed row per counterfactual."""
        table = np.asarray(table, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.feature_names) or (len(self) and len(table) <= self.rows.max()):
            raise InvalidInputError("X does not have the shape of the table that was explained. Pass that table as X.")
        points: Floats = table[self.rows]
        points[self.moves.point, self.moves.feature] = self.moves.landing
        return points

    def _decoded(self, table: Floats) -> Any:
        """Decode category codes into a data frame of labels; return plain numbers unchanged."""
        if self.columns is None or not self.has_categories:
            return table
        frame = self.columns.decode(table)
        frame.columns = pd.Index(list(self.feature_names))
        return frame

    def values(self, feature: NDArray[np.int32], codes: Floats) -> NDArray[Any]:
        """Decode values: category labels, None for missing categories, numbers unchanged.

        ``codes[i]`` is a value of the column ``feature[i]``.
        """
        if self.columns is None or not self.columns.has_categories:
            return codes
        shown: NDArray[Any] = codes.astype(object)
        for at in np.flatnonzero(self.columns.is_category[feature]):
            shown[at] = self.columns.label(int(feature[at]), float(codes[at]))
        return shown

    def counts(self) -> dict[str, int]:
        """Count the counterfactuals by status."""
        found = np.bincount(self.status_code, minlength=len(STATUSES))
        return {name: int(n) for name, n in zip(STATUSES, found, strict=True) if n}

    def take(self, which: NDArray[np.int64]) -> Counterfactuals:
        """Select counterfactuals in the given order; repetitions are allowed."""
        first = np.searchsorted(self.moves.point, which)
        n_moves = np.searchsorted(self.moves.point, which, side="right") - first
        begin = np.cumsum(n_moves) - n_moves
        kept = np.repeat(first - begin, n_moves) + np.arange(n_moves.sum())
        point = np.repeat(np.arange(len(which)), n_moves)
        columns = {field.name: getattr(self, field.name) for field in fields(Counterfactuals)}
        columns |= {name: columns[name][which] for name in (*PER_ANSWER, "own_code") if columns[name] is not None}
        return Counterfactuals(**columns | {"moves": Moves(point, *(column[kept] for column in self.moves[1:]))})

    def unverified(self, which: NDArray[np.int64]) -> Counterfactuals:
        """Copy the object with the status 'unverified' at the positions ``which``."""
        status = self.status_code.copy()
        status[which] = STATUSES.index("unverified")
        return replace(self, status_code=status)

    def to_frame(self) -> pd.DataFrame:
        """Build a data frame with one row per changed feature.

        The columns are row, target, status, cost, bound, feature, from, to and cut. A counterfactual without changes has
        one row, in which feature, from, to and cut are missing.
        """
        return self._frame_of_moves({name: getattr(self, name) for name in ("target", "status", "cost", "bound")})

    def _frame_of_moves(self, per_answer: dict[str, NDArray[Any]]) -> pd.DataFrame:
        """Build a data frame with one row per changed feature.

        Its first column is named ``row``. The columns of ``per_answer`` follow: their values, one per counterfactual, are
        repeated for every changed feature.
        """
        n_moves = np.bincount(self.moves.point, minlength=len(self))
        still = np.flatnonzero(n_moves == 0)
        point = np.concatenate([self.moves.point, still])
        order = np.argsort(point, kind="stable")
        point = point[order]
        missing = np.full(len(still), np.nan)

        def per_move(values: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([values, missing])[order]

        names = np.asarray(self.feature_names, dtype=object)[self.moves.feature]
        return pd.DataFrame(
            {
                "row": self._row_labels()[point],
                **{name: values[point] for name, values in per_answer.items()},
                "feature": pd.array(np.concatenate([names, np.full(len(still), None)])[order], dtype="string"),
                "from": per_move(self.values(self.moves.feature, self.moves.origin)),
                "to": per_move(self.values(self.moves.feature, self.moves.landing)),
                "cut": per_move(self.moves.cut),
            }
        )

    def _row_labels(self) -> NDArray[Any]:
        """Return the values of the column ``row``, one per counterfactual."""
        return self.rows

    # --- sentences -----------------------------------------------------------------------------------------------------

    @property
    def class_code(self) -> NDArray[np.int32]:
        """Class named in each sentence, as a position in ``classes``; -1 for "another class".

        It is the class reached. If no counterfactual was found and there are two classes, it is the class that was not
        predicted.
        """
        other = 1 - self.own_code if len(self.classes) == 2 and self.own_code is not None else -1
        code: NDArray[np.int32] = np.where(self.target_code >= 0, self.target_code, other).astype(np.int32)
        return code

    def _sentence_details(self, i: int) -> dict[str, Any]:
        """Return further arguments of :func:`sentence` for counterfactual ``i``. Subclasses override this method."""
        return {}

    def sentences(self, class_names: Mapping[Any, str] | None = None, subject: str | None = None) -> list[str]:
        """Write sentences such as ``Row 5 would be approved if income rose from 2,100 to 2,340.``

        Numbers are rounded to the fewest digits that keep the prediction. So each sentence also holds for the rounded
        numbers that it prints.

        Parameters
        ----------
        class_names : mapping, optional
            Names of the classes, such as ``{0: "declined", 1: "approved"}``. A class that is not in the mapping keeps its
            label.
        subject : str, optional
            First words of every sentence, such as "The application". The default is the name of the row: "Row 5".

        Returns
        -------
        list of str
        """
        return self._first_sentences(len(self), class_names, subject)

    def _first_sentences(
        self, n: int, class_names: Mapping[Any, str] | None = None, subject: str | None = None
    ) -> list[str]:
        labels = self._row_labels()
        names, codes = self.class_labels(class_names), self.class_code
        begin = np.searchsorted(self.moves.point, np.arange(len(self) + 1))
        return [
            sentence(
                STATUSES[self.status_code[i]],
                names[codes[i]] if codes[i] >= 0 else None,
                [self.move_at(k) for k in range(begin[i], begin[i + 1])],
                subject=f"Row {printable(labels[i])}" if subject is None else subject,
                cost=float(self.cost[i]),
                bound=float(self.bound[i]),
                ruled=bool(self.rules),
                **self._sentence_details(i),
            )
            for i in range(min(n, len(self)))
        ]

    def move_at(self, k: int) -> Move:
        """Return one change as a :class:`Move`, from which a sentence is written.

        Parameters
        ----------
        k : int
            Position in ``moves``.
        """
        return self._move(k, exact=self._is_exact(int(self.moves.point[k])))

    def _move(self, k: int, *, exact: bool) -> Move:
        feature, origin, landing = (column[k].item() for column in self.moves[1:4])
        return Move(
            self.feature_names[feature],
            origin,
            landing,
            float(self.moves.cut[k]) if self.has_cuts else np.nan,
            landing if self.box is None else float(self.box[int(landing > origin)][feature]),
            exact,
            self._labels_of_move(feature, origin, landing),
        )

    def _is_exact(self, i: int) -> bool:
        """Return whether sentences print counterfactual ``i`` unrounded, because rounded values break a rule."""
        if not self.rules:
            return False
        before = self._row_before(i)
        if before is None:
            return True
        after = before.copy()
        for k in range(*np.searchsorted(self.moves.point, [i, i + 1]).tolist()):
            move = self._move(k, exact=False)
            after[self.moves.feature[k]] = shown_landing(move) if move.labels is None else move.landing
        columns = self.columns or Columns.numbers(len(self.feature_names))
        named = Columns(tuple(replace(column, name=name) for column, name in zip(columns, self.feature_names, strict=True)))
        return not holds(self.rules, named, before[None], after[None])[0]

    def _row_before(self, i: int) -> Floats | None:
        """Return the row that counterfactual ``i`` changes; None if a rule needs values that are not known here.

        Only changed values are known. The other values are 0, and do not matter to rules on single columns.
        """
        if any(rule.lands_on == "any" for rule in self.rules):
            return None
        mine = slice(*np.searchsorted(self.moves.point, [i, i + 1]).tolist())
        row = np.zeros(len(self.feature_names))
        row[self.moves.feature[mine]] = self.moves.origin[mine]
        return row

    def _labels_of_move(self, feature: int, origin: float, landing: float) -> tuple[str | None, str | None] | None:
        """Return the labels before and after a change of a category or a special value; None for other numbers."""
        if feature in self.special and origin in self.special[feature]:
            return grouped(origin), grouped(landing)
        if self.columns is None or not self.columns.is_category[feature]:
            return None
        before, after = self.columns.label(feature, origin), self.columns.label(feature, landing)
        return None if before is None else printable(label_in_words(before)), printable(label_in_words(after))

    def class_labels(self, given: Mapping[Any, str] | None = None) -> list[str]:
        """Return the names of the classes in sentences: those given, otherwise the labels.

        Parameters
        ----------
        given : mapping, optional
            Names by label.
        """
        labels = self.classes.tolist()
        given = {} if given is None else given
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise InvalidInputError(f"class_names has the unknown class {unknown[0]!r}. The classes are {labels}.")
        return [printable(given.get(label, label)) for label in labels]

    def _title(self) -> str:
        n_rows = len(np.unique(self.rows))
        counts = ", ".join(f"{count:,} {status}" for status, count in self.counts().items())
        return f"{type(self).__name__} of {n_rows:,} row{'s' if n_rows != 1 else ''}: {counts or 'none'}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows; always empty, because this object stores no rows."""
        return ()

    def __repr__(self) -> str:
        lines = [f"  {text}" for text in self._first_sentences(ANSWERS_SHOWN)]
        more = [f"  … {len(self) - len(lines):,} more"] if len(self) > len(lines) else []
        return "\n".join([self._title(), *lines, *more, *(f"  Note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        lines = [
            [self.rows[i], text, STATUSES[self.status_code[i]], number_in_short(self.cost[i])]
            for i, text in enumerate(self._first_sentences(ANSWERS_SHOWN))
        ]
        return self._html(["row", "what would have to change", "status", "cost"], lines, numbers=[0, 3])

    def _html(self, head: list[str], lines: list[list[Any]], numbers: list[int]) -> str:
        """Build the HTML for notebooks: title, table of the first counterfactuals, and notes."""
        more = paragraph(f"… {len(self) - len(lines):,} more") if len(self) > len(lines) else ""
        notes = "".join(paragraph(f"Note: {note}") for note in self.notes)
        return paragraph(self._title()) + html_table(head, lines, numbers=numbers) + more + notes


def number_in_short(x: float) -> str:
    """Format a number with four significant digits; a dash if it is not finite."""
    return f"{x:.4g}" if np.isfinite(x) else "–"


def joined(parts: Sequence[Counterfactuals]) -> Counterfactuals:
    """Concatenate counterfactuals of the same model and table.

    The fields for sentences, such as ``box``, are those of the first part. ``own_code`` is None unless all parts have it.
    """
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    own_codes = [part.own_code for part in parts if part.own_code is not None]
    point = np.concatenate([part.moves.point + offset for part, offset in zip(parts, offsets, strict=False)])
    columns = (np.concatenate(column) for column in zip(*(part.moves[1:] for part in parts), strict=True))
    per_answer: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_ANSWER}
    return replace(
        parts[0],
        **per_answer,
        moves=Moves(point, *columns),
        columns=next((part.columns for part in parts if part.columns is not None), None),
        own_code=np.concatenate(own_codes) if len(own_codes) == len(parts) else None,
    )


def without_moves(
    rows: NDArray[np.int64],
    classes: NDArray[np.generic],
    target_code: NDArray[np.int32],
    status: str,
    bound: Floats,
    feature_names: Sequence[str],
    columns: Columns | None = None,
) -> Counterfactuals:
    """Build counterfactuals without changes, all with the same status.

    The cost is 0 for the status 'optimal', and infinite for any other status.
    """
    n = len(rows)
    nothing = np.empty(0)
    return Counterfactuals(
        rows=rows,
        classes=classes,
        target_code=target_code,
        status_code=np.full(n, STATUSES.index(status), dtype=np.int8),
        cost=np.full(n, 0.0 if status == "optimal" else np.inf),
        bound=bound,
        nodes=np.zeros(n, dtype=np.int64),
        seconds=np.zeros(n),
        moves=Moves(nothing.astype(np.int64), nothing.astype(np.int32), nothing, nothing, nothing),
        feature_names=feature_names,
        columns=columns,
    )
