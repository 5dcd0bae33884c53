"""ThresholdTable: conditions with counts. It knows no model and no rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fcca._decimals import plain, shortest_decimal
from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]

__all__ = ["ThresholdTable"]

JSON_FORMAT = "fcca.thresholds"
JSON_VERSION = 1


@dataclass(frozen=True)
class ThresholdTable:
    """Conditions ``x > threshold``, each with how much weight of counterfactuals crossed it.

    Sorted by feature and threshold, without repetition, and immutable: every method returns a new table. Two tables add
    up: equal conditions add their counts.

    Attributes
    ----------
    feature_names : tuple of str
        Names of all columns of X, whether they carry a condition or not.
    feature : ndarray of shape (n_conditions,)
        Column of each condition.
    threshold : ndarray of shape (n_conditions,)
        The number that is applied and printed.
    cut : ndarray of shape (n_conditions,)
        The model's own number.
    below, above : ndarray of shape (n_conditions,)
        The training values next to the threshold: the largest not above it, the smallest above it.
    count : ndarray of shape (n_conditions,)
        Weight of the counterfactuals that crossed it.

    Examples
    --------
    >>> from fcca import ThresholdTable
    >>> table = ThresholdTable.from_list([("RM", 6.94), ("LSTAT", 9.725)], ["RM", "LSTAT"])
    >>> table.names()
    ['RM > 6.94', 'LSTAT > 9.725']
    >>> table.binarize([[7.0, 9.0], [6.0, 9.725]]).tolist()
    [[1, 0], [0, 0]]
    """

    feature_names: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: Floats
    cut: Floats
    below: Floats
    above: Floats
    count: Floats
    _names: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("feature", "threshold", "cut", "below", "above", "count"):
            column = np.array(getattr(self, name), dtype=np.int32 if name == "feature" else np.float64)
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))
        order = np.lexsort((self.threshold, self.feature))
        if not np.array_equal(order, np.arange(len(order))):
            raise InvalidInputError("Conditions must be sorted by feature and threshold.")
        same = (np.diff(self.feature) == 0) & (np.diff(self.threshold) == 0)
        if same.any():
            raise InvalidInputError("A condition occurs twice.")
        if len(self) and not (self.feature.min() >= 0 and self.feature.max() < len(self.feature_names)):
            raise InvalidInputError("A condition names a column that is not there.")
        if not np.isfinite(self.threshold).all():
            raise InvalidInputError("Thresholds must be finite numbers.")
        names = [f"{self.feature_names[j]} > {plain(t)}" for j, t in zip(self.feature, self.threshold, strict=True)]
        object.__setattr__(self, "_names", names)

    # --- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_counts(
        cls, feature_names: Sequence[str], feature: ArrayLike, threshold: ArrayLike, count: ArrayLike
    ) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Sum counts by (feature, threshold); also returns, per entry given, the condition it went to."""
        feature, threshold = np.asarray(feature, dtype=np.int32), np.asarray(threshold, dtype=np.float64)
        order = np.lexsort((threshold, feature))
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(feature[order]) != 0) | (np.diff(threshold[order]) != 0)
        condition = np.empty(len(order), dtype=np.int64)
        condition[order] = np.cumsum(first) - 1
        kept = order[first]
        unknown = np.full(len(kept), np.nan)
        sums = _sums(condition, np.asarray(count, dtype=np.float64), len(kept))
        table = cls(tuple(feature_names), feature[kept], threshold[kept], threshold[kept], unknown, unknown, sums)
        return table, condition

    @classmethod
    def from_list(cls, conditions: Sequence[tuple[str, float]], feature_names: Sequence[str]) -> ThresholdTable:
        """Make a table from a person's own list of ``(column, threshold)``; every count is 1."""
        names = list(feature_names)
        unknown = sorted({name for name, _ in conditions} - set(names))
        if unknown:
            raise InvalidInputError(f"No column named {', '.join(map(repr, unknown))}. The columns are {names}.")
        feature = [names.index(name) for name, _ in conditions]
        table, _ = cls.from_counts(names, feature, [t for _, t in conditions], np.ones(len(conditions)))
        return replace(table, count=np.minimum(table.count, 1.0))

    def renamed(self, feature_names: Sequence[str]) -> ThresholdTable:
        """The same conditions on columns of other names."""
        return replace(self, feature_names=tuple(feature_names))

    def with_neighbours(self, cut: Floats, below: Floats, above: Floats) -> ThresholdTable:
        """The same conditions with the model's own numbers and the training values next to them."""
        return replace(self, cut=cut, below=below, above=above)

    # --- using it -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.feature)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ThresholdTable):
            return NotImplemented
        columns = ("feature", "threshold", "cut", "below", "above", "count")
        return self.feature_names == other.feature_names and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True) for name in columns
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        columns = (self.feature, self.threshold, self.cut, self.below, self.above, self.count)
        return type(self), (self.feature_names, *columns)  # through __post_init__, so that the arrays stay read-only

    def names(self) -> list[str]:
        """Conditions as text, ``"RM > 6.94"``."""
        return list(self._names)

    @property
    def features_used(self) -> list[str]:
        """Names of the columns that carry at least one condition."""
        return [self.feature_names[j] for j in np.unique(self.feature)]

    def binarize(self, X: ArrayLike) -> NDArray[np.int8]:
        """One 0/1 column per condition: 1 where ``x > threshold``."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names):
            raise InvalidInputError(f"X must have {len(self.feature_names)} columns, got an array of shape {X.shape}.")
        out = np.empty((len(X), len(self)), dtype=np.int8)
        for begin in range(0, len(X), 4096):  # pieces that stay in the cache
            piece = slice(begin, begin + 4096)
            np.greater(X[piece][:, self.feature], self.threshold, out=out[piece], casting="unsafe")
        return out

    def select(self, keep: NDArray[np.bool_]) -> ThresholdTable:
        """The conditions where ``keep`` is true."""
        return replace(
            self,
            feature=self.feature[keep],
            threshold=self.threshold[keep],
            cut=self.cut[keep],
            below=self.below[keep],
            above=self.above[keep],
            count=self.count[keep],
        )

    # --- joining conditions -------------------------------------------------------------------------------------------

    def __add__(self, other: ThresholdTable) -> ThresholdTable:
        if not isinstance(other, ThresholdTable):
            return NotImplemented
        if self.feature_names != other.feature_names:
            raise InvalidInputError("Only tables over the same columns can be added.")
        stacked = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("feature", "threshold", "cut", "below", "above", "count")
        }
        return _joined(self.feature_names, stacked)[0]

    def merged(self, tolerance: Floats) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Merge conditions of a feature that are closer than ``tolerance[feature]``.

        The most crossed one takes in all within its reach and represents them; then the most crossed of the rest, and so
        on, so no two that remain are that close. Also returns, per condition, the one it went to.
        """
        representative = np.arange(len(self))
        for j in np.unique(self.feature):
            mine = np.flatnonzero(self.feature == j)
            threshold, open_count = self.threshold[mine], self.count[mine].copy()
            while np.isfinite(leader_count := open_count[leader := int(np.argmax(open_count))]) and leader_count >= 0:
                near = (np.abs(threshold - threshold[leader]) < tolerance[j]) & (open_count >= 0)
                near[leader] = True
                representative[mine[near]] = mine[leader]
                open_count[near] = -np.inf
        leaders, condition = np.unique(representative, return_inverse=True)
        merged = self.select(np.isin(np.arange(len(self)), leaders))
        return replace(merged, count=_sums(condition, self.count, len(leaders))), condition

    def rounded(self) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Replace every threshold by the shortest decimal between the training values next to it.

        On training rows nothing changes. Conditions between the same two training values say the same of them and are
        joined; the most crossed one gives the ``cut`` and is the one that is rounded. Also returns, per condition, the one
        it went to.
        """
        columns = {name: getattr(self, name) for name in ("feature", "cut", "below", "above", "count")}
        shortest: dict[tuple[int, float, float], float] = {}
        threshold = np.empty(len(self))
        for i in np.lexsort((self.threshold, -self.count)).tolist():
            gap = (int(self.feature[i]), float(self.below[i]), float(self.above[i]))
            if gap not in shortest:
                shortest[gap] = shortest_decimal(float(self.threshold[i]), gap[1], gap[2])
            threshold[i] = shortest[gap]
        return _joined(self.feature_names, columns | {"threshold": threshold})

    # --- in and out ---------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One line per condition."""
        return pd.DataFrame(
            {
                "condition": self._names,
                "feature": [self.feature_names[j] for j in self.feature],
                "threshold": self.threshold,
                "cut": self.cut,
                "below": self.below,
                "above": self.above,
                "count": self.count,
            }
        )

    def to_json(self) -> str:
        """A JSON document that :meth:`from_json` turns into an equal table."""
        conditions = [
            {
                "kind": "cut",
                "feature": int(j),
                "threshold": float(t),
                "cut": float(cut),
                "below": None if np.isnan(below) else float(below),
                "above": None if np.isnan(above) else float(above),
                "count": float(count),
            }
            for j, t, cut, below, above, count in zip(
                self.feature, self.threshold, self.cut, self.below, self.above, self.count, strict=True
            )
        ]
        document = {
            "format": JSON_FORMAT,
            "version": JSON_VERSION,
            "feature_names": list(self.feature_names),
            "conditions": conditions,
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ThresholdTable:
        """Read what :meth:`to_json` wrote."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInputError(f"Not a JSON document: {error}.") from error
        if not isinstance(document, dict) or document.get("format") != JSON_FORMAT:
            raise InvalidInputError(f"Not a threshold table: expected a JSON object with format {JSON_FORMAT!r}.")
        if document.get("version") != JSON_VERSION:
            raise InvalidInputError(
                f"Threshold table of version {document.get('version')!r}; this fcca reads {JSON_VERSION}."
            )
        try:
            names = [_text(name) for name in document["feature_names"]]
            conditions = [_condition(entry) for entry in document["conditions"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"Damaged threshold table: {error!r}.") from error
        columns = np.array(conditions, dtype=np.float64).reshape(-1, 6).T
        return cls(tuple(names), columns[0].astype(np.int32), *columns[1:])


def _sums(group: NDArray[np.int64], values: Floats, n: int) -> Floats:
    return np.bincount(group, weights=values, minlength=n).astype(np.float64)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


def _condition(entry: dict[str, Any]) -> list[float]:
    if entry["kind"] != "cut":
        raise ValueError(f"unknown kind of condition {entry['kind']!r}")
    if not isinstance(entry["feature"], int):
        raise TypeError("feature must be a column number")
    neighbours = [np.nan if entry[name] is None else float(entry[name]) for name in ("below", "above")]
    return [entry["feature"], float(entry["threshold"]), float(entry["cut"]), *neighbours, float(entry["count"])]


def _joined(feature_names: tuple[str, ...], columns: dict[str, NDArray[Any]]) -> tuple[ThresholdTable, NDArray[np.int64]]:
    """Join equal (feature, threshold): counts add, neighbours tighten, the most crossed entry gives the cut."""
    table, condition = ThresholdTable.from_counts(feature_names, columns["feature"], columns["threshold"], columns["count"])
    below, above = np.full(len(table), np.nan), np.full(len(table), np.nan)
    np.fmax.at(below, condition, columns["below"])
    np.fmin.at(above, condition, columns["above"])
    # Written last wins: by count, and among equal counts the smallest cut.
    order = np.lexsort((-columns["cut"], columns["count"]))
    cut = np.empty(len(table))
    cut[condition[order]] = columns["cut"][order]
    return replace(table, cut=cut, below=below, above=above), condition
