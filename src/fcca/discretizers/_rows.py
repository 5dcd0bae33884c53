"""Classes for rows of a table: as the user passes them, encoded, or as binary columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples, column_or_1d

from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.exceptions import InvalidInputError
from fcca.tables import SoftLabels, check_weights

Floats = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True)
class BinaryRows:
    """Rows as binary columns.

    One entry may stand for many equal rows of the table.

    Attributes
    ----------
    B : ndarray of shape (n_rows, n_conditions)
        The binary columns, one per condition.
    y, predictions : ndarray of shape (n_rows,)
        Labels, and predictions of the black box.
    weight : ndarray of shape (n_rows,) or None
        Weight of each entry; None means 1.
    n_rows : ndarray of shape (n_rows,) or None
        Number of equal rows of the table that each entry stands for; None means 1.
    soft : SoftLabels or None
        Class probabilities of the black box, times the weights; None if the black box has no probabilities.
    """

    B: NDArray[np.int8]
    y: Labels
    predictions: Labels
    weight: Floats | None = None
    n_rows: NDArray[np.int64] | None = None
    soft: SoftLabels | None = None

    def some(self, at: NDArray[np.intp]) -> BinaryRows:
        """Select the rows at the given positions.

        Parameters
        ----------
        at : ndarray of int
            Positions of the rows to select.
        """
        weight = None if self.weight is None else self.weight[at]
        n_rows = None if self.n_rows is None else self.n_rows[at]
        soft = None if self.soft is None else self.soft.rows(at)
        return BinaryRows(self.B[at], self.y[at], self.predictions[at], weight, n_rows, soft)


@dataclass(frozen=True)
class EncodedRows:
    """Rows with positive weight, encoded with the categories of the black box.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Codes for categories, NaN for missing values.
    y : ndarray of shape (n_rows,)
        Labels; empty if no labels were given.
    weight : ndarray of shape (n_rows,) or None
        None means that every row has weight 1.
    predictions : ndarray of shape (n_rows,) or None
        Predictions of the black box; None if they are not yet computed.
    probability : ndarray of shape (n_rows, n_classes) or None
        Class probabilities of the black box; None if they are not yet computed.
    """

    X: Floats
    y: Labels
    weight: Floats | None = None
    predictions: Labels | None = None
    probability: Floats | None = None

    def __len__(self) -> int:
        return len(self.X)

    def training(self, search: ThresholdSearch) -> EncodedRows:
        """Return this object, because its rows are already encoded and none is held out."""
        return self

    def testing(self, search: ThresholdSearch) -> EncodedRows | None:
        """Return None, because no row is held out."""
        return None


class Rows(NamedTuple):
    """A chunk of a table as the user gave it, not yet encoded.

    Attributes
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
    held_out : ndarray of bool of shape (n_rows,), optional
        Mask of the held-out rows. They are not used for training, only for measuring the quality of the tree.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    held_out: NDArray[np.bool_] | None = None

    def training(self, search: ThresholdSearch) -> EncodedRows:
        """Encode the training rows of the chunk."""
        return self._encoded(search, held_out=False)

    def testing(self, search: ThresholdSearch) -> EncodedRows | None:
        """Encode the held-out rows of the chunk; None if ``held_out`` is None."""
        return None if self.held_out is None else self._encoded(search, held_out=True)

    def _encoded(self, search: ThresholdSearch, *, held_out: bool) -> EncodedRows:
        if self.y is None:
            raise InvalidInputError("A chunk has no labels: y is None. Pass chunks as (X, y) or (X, y, sample_weight).")
        if self.held_out is None:
            return encoded_rows(search, self.X, self.y, self.sample_weight)
        chosen = np.flatnonzero(np.asarray(self.held_out) == held_out)
        weight = None
        if self.sample_weight is not None:
            weight = check_weights(self.sample_weight, len(self.held_out), may_all_be_0=True)[chosen]
        X, y = _safe_indexing(self.X, chosen), _safe_indexing(self.y, chosen)
        return encoded_rows(search, X, y, weight, handle_unknown="ignore" if held_out else "error")


def encoded_rows(
    search: ThresholdSearch, X: Any, y: Any, sample_weight: ArrayLike | None, *, handle_unknown: str = "error"
) -> EncodedRows:
    """Check and encode the rows of a chunk that have a positive weight.

    Parameters
    ----------
    search : ThresholdSearch
        Encodes the rows with the categories of its black box.
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or None
    sample_weight : array-like of shape (n_rows,) or None
        None means that every row has weight 1. All weights of a chunk may be 0.
    handle_unknown : {"error", "warn", "ignore"}, default="error"
        As in :meth:`fcca.tables.Columns.encode`.
    """
    n_rows = n_rows_of(X)
    labels: Labels = np.empty(0)
    if y is not None:
        labels = check_labels(y)
        if len(labels) != n_rows:
            raise InvalidInputError(f"X and y must have the same number of rows ({n_rows} and {len(labels)}).")
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, n_rows, may_all_be_0=True)
        rows = np.flatnonzero(weight > 0)
        if len(rows) < n_rows:
            X, weight, labels = _safe_indexing(X, rows), weight[rows], labels if y is None else labels[rows]
            n_rows = len(rows)
    if n_rows == 0:
        return EncodedRows(np.empty((0, len(search.names))), labels[:0], weight)
    return EncodedRows(search.encode(X, handle_unknown), labels, weight)


def n_rows_of(X: Any) -> int:
    """Return the number of rows of a table.

    Raises an error if X is not a table.
    """
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise InvalidInputError(f"X must be a table of rows and columns, got {type(X).__name__}.") from error


def check_labels(y: Any) -> Labels:
    """Check the labels of a chunk, and return them as an array.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    """
    try:
        given = column_or_1d(y)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must be a column of labels: {error}") from error
    missing = np.flatnonzero(pd.isna(given))
    if len(missing):
        raise InvalidInputError(
            f"y has no label in {len(missing)} row(s). The first one is row {missing[0]} of the chunk, counted from 0. NaN, "
            "None and NA are missing labels. Leave out the rows without a label."
        )
    try:
        labels: Labels = _check_y(y)
        if len(labels):
            check_classification_targets(labels)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in given}))
        raise InvalidInputError(f"The labels in y are of several types: {kinds}. Convert them to one type.") from error
    except ValueError as error:
        raise InvalidInputError(
            f"y has the values {', '.join(map(repr, given[:3].tolist()))}, …. Expected class labels: strings or whole "
            f"numbers. {error}"
        ) from error
    return labels
