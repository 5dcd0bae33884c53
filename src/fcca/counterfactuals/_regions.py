"""Certified regions: boxes around counterfactuals in which the new class is proven."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.conditions import label_in_words
from fcca.counterfactuals._counterfactual_sentences import chained, class_in_words, feature_in_words, grouped
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._region_search import Boxes
from fcca.tables import Columns
from fcca.utils import html_table, paragraph, printable, shortest_decimal

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LIMITS_SHOWN = 4
REGIONS_SHOWN = 10
#: Names of the sides of a box, by direction.
SIDES = {-1: "lower", 0: "category", 1: "upper"}
# In a sentence, an end is moved inwards by at most this share of the range of its column.
ROUNDED_BY = 0.01


@dataclass(frozen=True, repr=False)
class Regions:
    """Boxes around the changed rows of counterfactuals, in which every row keeps the new class.

    In such a box, the new class is certain: see :meth:`CounterfactualExplainer.regions`. A numeric column may take all
    numbers with ``lower < x <= upper``, or ``lower <= x <= upper`` for a linear classifier. A column of categories may take
    a set of categories. A missing or special value stays as it is. No side of a maximal box can be moved outwards.

    Attributes
    ----------
    found : Explanations
        The counterfactuals. The other attributes have one entry per counterfactual.
    status : ndarray of str, shape (n_answers,)
        ``maximal``: proven, and no side can be moved outwards. ``unfinished``: proven, but a time limit stopped a search, so
        the box may not be maximal. ``none``: there is no changed row, or its class has no clear lead.
    lower, upper : ndarray of shape (n_answers, n_features)
        Ends of the numeric columns. They are infinite if the column has no limit, and NaN for missing values, columns of
        categories and the status ``none``.
    lower_is_inside : bool
        Whether the lower end belongs to the box: False for trees, whose cuts send ``x <= cut`` to the left.
    is_free : ndarray of bool, shape (n_answers, n_features)
        True if the column may take any value: any number, or any number in the range of the data for a linear classifier.
    categories : dict of int to ndarray of bool, shape (n_answers, n_categories)
        For each column of categories, a mask of the categories in the box.
    witness_of, witness_feature, witness_direction : ndarray of shape (n_witnesses,)
        For each witness, the position of its counterfactual and the side of the box: the column, and -1 for the lower end, 1
        for the upper end or 0 for a category. A side without a witness ends where the cuts or the data end.
    witness_rows : ndarray of shape (n_witnesses, n_features)
        Encoded rows. A witness is inside the box except for the column of its side, where it is just outside. There, the new
        class is not certain.
    witness_code : ndarray of shape (n_witnesses,)
        The class that the classifier predicts for the witness, as a position in the classes. It is the new class only if no
        class has a clear lead there and elsewhere in the same cell.
    is_whole : ndarray of bool, shape (n_features,)
        True for columns whose training values are whole numbers.
    """

    found: Explanations
    status: NDArray[np.str_]
    lower: Floats
    upper: Floats
    lower_is_inside: bool
    is_free: Bools
    categories: dict[int, Bools]
    witness_of: NDArray[np.int64]
    witness_feature: NDArray[np.int64]
    witness_direction: NDArray[np.int64]
    witness_rows: Floats
    witness_code: NDArray[np.int32]
    is_whole: Bools

    def __len__(self) -> int:
        return len(self.status)

    @property
    def witness_class(self) -> NDArray[Any]:
        """Predictions for the witnesses."""
        predicted: NDArray[Any] = self.found.classes[self.witness_code]
        return predicted

    @classmethod
    def of(
        cls,
        found: Explanations,
        which: NDArray[np.int64],
        boxes: Boxes,
        witness_code: NDArray[np.int32],
        *,
        lower_is_inside: bool,
        is_whole: Bools,
    ) -> Regions:
        """Build the regions of all counterfactuals from the boxes of those at the positions ``which``."""
        n, m = len(found), len(found.feature_names)
        status = np.full(n, "none", dtype="U10")
        status[which] = np.where(boxes.unfinished, "unfinished", "maximal")
        lower, upper, is_free = np.full((n, m), np.nan), np.full((n, m), np.nan), np.zeros((n, m), dtype=np.bool_)
        lower[which], upper[which], is_free[which] = boxes.lower, boxes.upper, boxes.is_free
        categories = {}
        for j, inside in boxes.categories.items():
            categories[j] = np.zeros((n, inside.shape[1]), dtype=np.bool_)
            categories[j][which] = inside
        return cls(
            found=found,
            status=status,
            lower=lower,
            upper=upper,
            lower_is_inside=lower_is_inside,
            is_free=is_free,
            categories=categories,
            witness_of=which[boxes.witness_of],
            witness_feature=boxes.witness_feature,
            witness_direction=boxes.witness_direction,
            witness_rows=boxes.witnesses,
            witness_code=witness_code,
            is_whole=is_whole,
        )

    def contains(self, i: int, X: Any) -> Bools:
        """Return a mask of the rows of X that are in the region of counterfactual ``i``.

        Parameters
        ----------
        i : int
        X : array-like or data frame
            Rows with the columns of the explained table.
        """
        columns = self.found.columns or Columns.numbers(len(self.found.feature_names))
        table = columns.encode(X)
        inside: Bools = np.full(len(table), self.status[i] != "none")
        point = self.found.points[i]
        for j in range(table.shape[1]):
            x = table[:, j]
            if np.isnan(point[j]):
                inside &= np.isnan(x)
            elif j in self.categories:
                known = ~np.isnan(x)
                inside &= known
                inside[known] &= self.categories[j][i][x[known].astype(np.intp)]
            else:
                above = x >= self.lower[i, j] if self.lower_is_inside else x > self.lower[i, j]
                inside &= above & (x <= self.upper[i, j])
        return inside

    # --- tables ---------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Build a data frame with one line per limited column of every region.

        The columns are row, answer, status, feature, lower, upper and categories. ``categories`` is a tuple for a column of
        categories, otherwise None. Columns that may take any value are left out.
        """
        at, feature = np.nonzero(~self.is_free & (self.status != "none")[:, None])
        return pd.DataFrame(
            {
                "row": self.found.labels[self.found.rows][at],
                "answer": self.found.answer[at],
                "status": self.status[at],
                "feature": pd.array(np.asarray(self.found.feature_names, dtype=object)[feature], dtype="string"),
                "lower": self.lower[at, feature],
                "upper": self.upper[at, feature],
                "categories": pd.Series(
                    [self.labels(*place) for place in zip(at.tolist(), feature.tolist(), strict=True)], dtype=object
                ),
            }
        )

    def witnesses(self) -> pd.DataFrame:
        """Build a data frame with one line per witness.

        The columns are row, answer, feature, side ("lower", "upper" or "category") and predicted, followed by one column per
        feature with the value of the witness, as a pair ``("value", feature)``.
        """
        found, m = self.found, len(self.found.feature_names)
        frame = pd.DataFrame(
            {
                ("witness", "row"): found.labels[found.rows][self.witness_of],
                ("witness", "answer"): found.answer[self.witness_of],
                ("witness", "feature"): [found.feature_names[j] for j in self.witness_feature.tolist()],
                ("witness", "side"): [SIDES[direction] for direction in self.witness_direction.tolist()],
                ("witness", "predicted"): self.witness_class,
                **{
                    ("value", found.feature_names[j]): found.values(
                        np.full(len(self.witness_rows), j, dtype=np.int32), self.witness_rows[:, j]
                    )
                    for j in range(m)
                },
            }
        )
        return frame

    def labels(self, i: int, j: int) -> tuple[Any, ...] | None:
        """Return the categories of one column in a region; None for a numeric column."""
        if j not in self.categories:
            return None
        columns = self.found.columns
        codes = np.flatnonzero(self.categories[j][i]).tolist()
        return tuple(codes if columns is None else (columns.label(j, code) for code in codes))

    # --- sentences ------------------------------------------------------------------------------------------------------

    def sentences(self, class_names: Mapping[Any, str] | None = None, subject: str | None = None) -> list[str]:
        """Write sentences such as ``Row 5 stays approved with income of 2,340 or more and loans of at most 2.``

        The changed columns come first. Columns that may take any value are left out. Numbers are rounded inwards, so each
        sentence is true for the numbers that it prints.

        Parameters
        ----------
        class_names : mapping, optional
            Names of the classes, such as ``{0: "declined", 1: "approved"}``.
        subject : str, optional
            First words of every sentence. The default is the name of the row: "Row 5".
        """
        return [self.sentence(i, class_names, subject) for i in range(len(self))]

    def sentence(self, i: int, class_names: Mapping[Any, str] | None = None, subject: str | None = None) -> str:
        """Write the sentence of one region; see :meth:`sentences`."""
        found = self.found
        row = f"Row {printable(found.labels[found.rows[i]])}" if subject is None else subject
        if found.answer[i] > 1:
            row += f" (counterfactual {found.answer[i]})"
        if self.status[i] == "none":
            return f"{row}: no region, because there is no changed row with a clear lead of its class."
        stays = f"{row} stays {class_in_words(found.class_labels(class_names)[found.target_code[i]])}"
        moved = found.moves.feature[found.moves.point == i].tolist()
        limited = [j for j in np.flatnonzero(~self.is_free[i]).tolist() if j not in moved]
        parts = [self.limit(i, j) for j in moved if not self.is_free[i, j]]
        shown = limited if len(parts) + len(limited) <= LIMITS_SHOWN else limited[: max(0, LIMITS_SHOWN - 1 - len(parts))]
        parts += [self.limit(i, j) for j in shown]
        if more := len(limited) - len(shown):
            parts.append(f"{more} other columns within their limits" if more > 1 else "1 other column within its limits")
        open_end = " (time ran out, so the region may be larger)" if self.status[i] == "unfinished" else ""
        return f"{stays} with {chained(parts)}{open_end}." if parts else f"{stays} whatever the values{open_end}."

    def limit(self, i: int, j: int) -> str:
        """Describe the limits of one column in words, such as ``income of 2,340 or more``."""
        name, point = feature_in_words(self.found.feature_names[j]), float(self.found.points[i, j])
        if math.isnan(point):
            return f"{name} missing"
        if j in self.categories:
            return f"{name} {self._set_in_words(i, j)}"
        if j in self.found.special and point in self.found.special[j]:
            return f"{name} at {grouped(point)}"
        low, high = float(self.lower[i, j]), float(self.upper[i, j])
        if self.is_whole[j] and point.is_integer():
            return f"{name} {_whole_range(low, high, self.lower_is_inside)}"
        width = float(self.found.box[1][j] - self.found.box[0][j])
        return f"{name} {_range(low, high, point, ROUNDED_BY * width, self.lower_is_inside)}"

    def _set_in_words(self, i: int, j: int) -> str:
        inside = self.categories[j][i]
        other = 2 * inside.sum() > len(inside)
        codes = np.flatnonzero(~inside if other else inside).tolist()
        columns = self.found.columns
        labels = codes if columns is None else [columns.label(j, code) for code in codes]
        names = [printable(label_in_words(label)) for label in labels]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
        return f"other than {listed}" if other else listed

    def __repr__(self) -> str:
        lines = [f"  {self.sentence(i)}" for i in range(min(len(self), REGIONS_SHOWN))]
        more = [f"  … {len(self) - len(lines):,} more"] if len(self) > len(lines) else []
        return "\n".join([self._title(), *lines, *more])

    def _repr_html_(self) -> str:
        lines = [[self.found.labels[self.found.rows[i]], self.sentence(i), self.status[i]] for i in range(len(self))]
        return paragraph(self._title()) + html_table(["row", "region", "status"], lines[:REGIONS_SHOWN])

    def _title(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        parts = [f"{count:,} {name}" for name, count in zip(names.tolist(), counts.tolist(), strict=True)]
        return f"Regions of {len(self):,} counterfactual{'s' if len(self) != 1 else ''}: {', '.join(parts) or 'none'}"


def _whole_range(low: float, high: float, low_is_inside: bool) -> str:
    """Describe the whole numbers of an interval in words."""
    first = low if math.isinf(low) else float(math.ceil(low) if low_is_inside else math.floor(low) + 1)
    last = high if math.isinf(high) else float(math.floor(high))
    if math.isinf(first):
        return f"of at most {grouped(last)}"
    if math.isinf(last):
        return f"of {grouped(first)} or more"
    return f"of {grouped(first)}" if first == last else f"from {grouped(first)} to {grouped(last)}"


def _range(low: float, high: float, point: float, further: float, low_is_inside: bool) -> str:
    """Describe an interval in words, with its ends rounded inwards by at most ``further``, but not across the point."""
    if math.isfinite(low):
        below = math.nextafter(point, math.inf) if low_is_inside else point
        low = shortest_decimal(low, low, min(math.nextafter(low + further, math.inf), below))
    if math.isfinite(high):
        high = shortest_decimal(high, max(high - further, point), math.nextafter(high, math.inf))
    above = f"of {grouped(low)} or more" if low_is_inside else f"above {grouped(low)}"
    if math.isinf(low):
        return f"of at most {grouped(high)}"
    if math.isinf(high):
        return above
    return f"from {grouped(low)} to {grouped(high)}" if low_is_inside else f"{above} and up to {grouped(high)}"
