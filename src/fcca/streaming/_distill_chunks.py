"""Replace a black box with an optimal tree, from a table in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fcca.classifier import FCCAClassifier
from fcca.discretizers import (
    BinaryRows,
    Chunks,
    CountedRows,
    FCCADiscretizer,
    FoundThresholds,
    LocalChunks,
    RowCoder,
    Rows,
    TooManyRowsError,
    check_same_rows,
    count_rows,
)
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from fcca.tables import SoftLabels
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier
from fcca.utils import progress_shown

Labels = NDArray[Any]

#: Values of Q to suggest when the table has too many distinct rows.
COARSER = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Distilled:
    """A classifier fitted on a table in chunks, and the distinct rows.

    Attributes
    ----------
    classifier : FCCAClassifier
        The fitted classifier.
    training, held_out : BinaryRows
        The distinct training rows and the distinct held-out rows, as binary columns with counts.
    """

    classifier: FCCAClassifier
    training: BinaryRows
    held_out: BinaryRows


def distilled(chunks: Chunks, classifier: FCCAClassifier, *, granularity: str = "Q=") -> Distilled:
    """Fit a classifier on a table in chunks.

    The result is the same as after ``fit`` on the whole table.

    Parameters
    ----------
    chunks : Chunks
        The table.
    classifier : FCCAClassifier
        An unfitted classifier, which is cloned. Its black box must be fitted, in a ``FrozenEstimator``.
    granularity : str, default="Q="
        Text before the value of Q in error messages.
    """
    fitted: FCCAClassifier = clone(classifier)
    discretizer, tree, selection = parts_for_chunks(fitted)
    found = discretizer.fit_chunks(chunks)
    training, held_out = _binary_rows(chunks, found, discretizer, selection, granularity)
    return Distilled(fitted.grow(discretizer, tree, training), training, held_out)


def parts_for_chunks(
    classifier: FCCAClassifier,
) -> tuple[FCCADiscretizer, OptimalTreeClassifier, OptimalSelection | None]:
    """Check that a classifier can be fitted on chunks, and return its unfitted parts.

    Parameters
    ----------
    classifier : FCCAClassifier

    Returns
    -------
    discretizer : FCCADiscretizer
        Without its selection, which is applied later, to the distinct binary rows.
    tree : OptimalTreeClassifier
    selection : OptimalSelection or None
    """
    if classifier.n_thresholds == "auto":
        raise InvalidInputError(
            "n_thresholds='auto' runs a cross-validation, which needs all rows in memory. Pass an integer or None."
        )
    discretizer, tree = classifier.new_parts()
    if not isinstance(discretizer, FCCADiscretizer):
        raise InvalidInputError(
            f"For a table in chunks, the discretizer must be an FCCADiscretizer, got {type(discretizer).__name__}."
        )
    if not isinstance(tree, OptimalTreeClassifier):
        raise InvalidInputError(
            f"For a table in chunks, the tree must be an OptimalTreeClassifier, got {type(tree).__name__}."
        )
    discretizer.check_parameters()
    tree.check_parameters()
    selection = discretizer.selection
    if selection is not None:
        selection.check_parameters()
    return discretizer.set_params(selection=None), tree, selection


def _binary_rows(
    chunks: Chunks,
    found: FoundThresholds,
    discretizer: FCCADiscretizer,
    selection: OptimalSelection | None,
    granularity: str,
) -> tuple[BinaryRows, BinaryRows]:
    """Compute the distinct training rows and held-out rows as binary columns.

    If there is a selection, it is applied first, and the rows have only the columns that it keeps.
    """
    candidates, classes, predicted = discretizer.thresholds_, found.statistics.all_classes, discretizer.classes_
    coder = RowCoder.of(candidates, len(classes), len(predicted))
    try:
        counted = chunks.sum("Rows", count_rows, found.search, coder, classes, len(candidates))
    except TooManyRowsError as error:
        raise _advised(error, discretizer, coder, granularity) from error
    check_same_rows(int(counted.training.n_rows.sum()), found.statistics)

    def binary(rows: CountedRows, table: ThresholdTable) -> BinaryRows:
        label, prediction = coder.labels_and_predictions(rows)
        B = coder.binarized(rows, table)
        soft = SoftLabels(rows.soft, rows.n_rows) if rows.soft.shape[1] else None
        return BinaryRows(B, classes[label], predicted[prediction], rows.weight, rows.n_rows, soft)

    if selection is not None:
        label, prediction = coder.labels_and_predictions(counted.training)
        learned = classes[label] if selection.fit_to == "labels" else predicted[prediction]
        values = coder.values(counted.training.keys)
        discretizer.accept_selection(selection, selection.select(candidates, values, learned, counted.training.weight))
    kept = discretizer.thresholds_
    return binary(counted.training, kept), binary(counted.held_out, kept)


def _advised(error: TooManyRowsError, discretizer: FCCADiscretizer, coder: RowCoder, granularity: str) -> InvalidInputError:
    """Build the error for too many distinct rows, with advice to raise Q."""
    every, rows = discretizer.all_thresholds_, error.some
    advice = f"Increase {granularity.rstrip(' =')} to keep fewer thresholds."
    for Q in COARSER:
        fewer = every.select(discretizer.kept_at(Q))
        if Q <= discretizer.Q or len(fewer) >= len(discretizer.thresholds_):
            continue
        n = len(np.unique(np.packbits(coder.binarized(rows, fewer), axis=1), axis=0))
        if n * 20 < len(rows):
            advice = (
                f"With {granularity}{Q:g}, only {len(fewer)} thresholds are kept, and {n:,} of {len(rows):,} sampled rows "
                "are distinct."
            )
            break
    return InvalidInputError(
        f"The {len(discretizer.thresholds_)} thresholds at {granularity}{discretizer.Q:g} give {error.n_distinct:,} "
        f"distinct binary rows in the first {error.n_rows:,} rows. This is too many for the memory of the tree search. "
        f"{advice}"
    )


class _GivenChunks:
    """The chunks given by the user, converted to :class:`Rows` in each iteration."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks
        self._last: Any = None

    def __iter__(self) -> Iterator[Rows]:
        given = self.chunks() if callable(self.chunks) else self.chunks
        if isinstance(given, Iterator) and given is self._last:
            raise InvalidInputError(
                "The function for the chunks returned the same iterator twice. It must return a new iterator each time, "
                "because the table is read several times."
            )
        self._last = given
        for chunk in given:
            if not isinstance(chunk, Rows) and (not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3)):
                got = type(chunk).__name__ + (f" of length {len(chunk)}" if isinstance(chunk, tuple | list) else "")
                raise InvalidInputError(
                    f"A chunk must be (X, y) or (X, y, sample_weight), got {got}. Even a single chunk must be in a list."
                )
            yield chunk if isinstance(chunk, Rows) else Rows(*chunk)


def distill(
    chunks: Any,
    discretizer: FCCADiscretizer,
    tree: Any = None,
    *,
    fit_to: str | None = None,
    n_thresholds: int | None = None,
    verbose: int | None = None,
) -> FCCAClassifier:
    """Replace a black box with an optimal tree, from a table in chunks.

    The table need not fit into memory. It is read three times, one chunk at a time. The passes collect the ranges of the
    columns, then the counterfactuals, then the distinct binary rows that the tree is grown on. Some tables require
    more passes:

    - one more for a linear black box;
    - one more for a black box that does not store category labels;
    - four more for missing values in numeric columns.

    The result is the same, to the last digit, as after :meth:`FCCAClassifier.fit <fcca.FCCAClassifier.fit>` on all rows at
    once. Weights that are not integers are the only exception: their sums depend on the order of the rows in the last digit.

    Parameters
    ----------
    chunks : ParquetTable, sequence of (X, y) or (X, y, sample_weight), or callable
        The chunks of the table, as an object that can be iterated several times, such as a list. Instead of an iterator,
        give a function that returns a new iterator at each call.
    discretizer : FCCADiscretizer
        The parameters of the search. ``estimator`` must be a fitted classifier in a ``FrozenEstimator``.
    tree : OptimalTreeClassifier, default=None
        None stands for ``OptimalTreeClassifier()``.
    fit_to : {"mixture", "probability", "labels", "target"}, default=None
        What the tree learns; see :class:`~fcca.FCCAClassifier`.
    n_thresholds : int, default=None
        Number of thresholds for the tree. The thresholds with the smallest inconsistency on the training rows are chosen.
        None keeps all thresholds.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error.

    Returns
    -------
    FCCAClassifier
        The fitted classifier. It stores neither the training rows nor the counterfactuals of single rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from fcca import FCCADiscretizer
    >>> from fcca.streaming import distill
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> chunks = [(X[at : at + 100], y[at : at + 100]) for at in range(0, len(X), 100)]
    >>> classifier = distill(chunks, FCCADiscretizer(FrozenEstimator(model), Q=0.7))
    >>> classifier.tree_.is_optimal_, classifier.discretizer_.statuses_
    (True, {'optimal': 564})
    """
    classifier = FCCAClassifier(discretizer, tree, fit_to=fit_to, n_thresholds=n_thresholds)
    if isinstance(chunks, Iterator):
        raise InvalidInputError(
            "chunks is an iterator, which ends after one pass. Pass a list, or a function that returns a new iterator."
        )
    if not callable(chunks) and not isinstance(chunks, Iterable):
        raise InvalidInputError(
            f"chunks must be a list of (X, y), a ParquetTable or a function, got {type(chunks).__name__}."
        )
    n_rows = getattr(chunks, "n_rows", None)
    with progress_shown(verbose):
        return distilled(LocalChunks(_GivenChunks(chunks), n_rows), classifier).classifier
