"""A small tree in place of a black box, from rows that need not fit into memory."""

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
    CountedRows,
    FCCADiscretizer,
    FoundThresholds,
    LocalPieces,
    Pieces,
    RowCoder,
    Rows,
    TooManyRowsError,
    check_same_rows,
    count_rows,
)
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier

Labels = NDArray[Any]

#: Levels of granularity that are tried where there are too many distinct rows at the given one.
COARSER = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Distilled:
    """A classifier fitted on a table in pieces, and the distinct rows of the table.

    Attributes
    ----------
    classifier : FCCAClassifier
    training, held_out : BinaryRows
    """

    classifier: FCCAClassifier
    training: BinaryRows
    held_out: BinaryRows


def distilled(pieces: Pieces, classifier: FCCAClassifier, *, granularity: str = "Q=") -> Distilled:
    """Fit a classifier on a table in pieces: the same as on the whole table at once.

    Parameters
    ----------
    pieces : Pieces
    classifier : FCCAClassifier
        Not fitted, and not changed; its black box is fitted, in a FrozenEstimator.
    granularity : str, default="Q="
        What messages write before a Q.
    """
    fitted: FCCAClassifier = clone(classifier)
    discretizer, tree, selection = parts_for_pieces(fitted)
    found = discretizer.fit_pieces(pieces)
    training, held_out = _binary_rows(pieces, found, discretizer, selection, granularity)
    return Distilled(fitted.grow(discretizer, tree, training), training, held_out)


def parts_for_pieces(
    classifier: FCCAClassifier,
) -> tuple[FCCADiscretizer, OptimalTreeClassifier, OptimalSelection | None]:
    """Discretizer, tree and selection of a classifier, checked, and none of them fitted.

    Parameters
    ----------
    classifier : FCCAClassifier
    """
    if classifier.n_thresholds == "auto":
        raise InvalidInputError(
            "n_thresholds='auto' is chosen by cross-validation, which needs all rows in memory. Give a number."
        )
    discretizer, tree = classifier.new_parts()
    if not isinstance(discretizer, FCCADiscretizer):
        raise InvalidInputError(f"Rows in pieces need an FCCADiscretizer, got {type(discretizer).__name__}.")
    if not isinstance(tree, OptimalTreeClassifier):
        raise InvalidInputError(f"Rows in pieces need an OptimalTreeClassifier as tree, got {type(tree).__name__}.")
    discretizer.check_parameters()
    tree.check_parameters()
    selection = discretizer.selection
    if selection is not None:
        selection.check_parameters()
    return discretizer.set_params(selection=None), tree, selection


def _binary_rows(
    pieces: Pieces,
    found: FoundThresholds,
    discretizer: FCCADiscretizer,
    selection: OptimalSelection | None,
    granularity: str,
) -> tuple[BinaryRows, BinaryRows]:
    """The distinct rows, those to learn from and those held out, on the thresholds that the selection keeps."""
    candidates, classes, predicted = discretizer.thresholds_, found.statistics.all_classes, discretizer.classes_
    coder = RowCoder.of(candidates, len(classes), len(predicted))
    try:
        counted = pieces.sum("Rows", count_rows, found.search, coder, classes, len(candidates))
    except TooManyRowsError as error:
        raise _advised(error, discretizer, coder, granularity) from error
    check_same_rows(int(counted.training.n_rows.sum()), found.statistics)

    def binary(rows: CountedRows, table: ThresholdTable) -> BinaryRows:
        label, prediction = coder.labels_and_predictions(rows)
        B = coder.binarized(rows, table)
        return BinaryRows(B, classes[label], predicted[prediction], rows.weight, rows.n_rows)

    if selection is not None:
        label, prediction = coder.labels_and_predictions(counted.training)
        learned = classes[label] if selection.fit_to == "labels" else predicted[prediction]
        values = coder.values(counted.training.keys)
        discretizer.accept_selection(selection, selection.select(candidates, values, learned, counted.training.weight))
    kept = discretizer.thresholds_
    return binary(counted.training, kept), binary(counted.held_out, kept)


def _advised(error: TooManyRowsError, discretizer: FCCADiscretizer, coder: RowCoder, granularity: str) -> InvalidInputError:
    """An error that says what to do about too many distinct rows."""
    every, rows = discretizer.all_thresholds_, error.some
    advice = f"Keep fewer of them: raise {granularity.rstrip(' =')}."
    for Q in COARSER:
        fewer = every.select(discretizer.kept_at(Q))
        if Q <= discretizer.Q or len(fewer) >= len(discretizer.thresholds_):
            continue
        n = len(np.unique(np.packbits(coder.binarized(rows, fewer), axis=1), axis=0))
        if n * 20 < len(rows):
            advice = f"{granularity}{Q:g} keeps {len(fewer)} of them, which tell {n:,} of {len(rows):,} such rows apart."
            break
    return InvalidInputError(
        f"The {len(discretizer.thresholds_)} thresholds at {granularity}{discretizer.Q:g} tell {error.n_distinct:,} of the "
        f"first {error.n_rows:,} rows apart, more than a tree's search has memory for. {advice}"
    )


class _GivenPieces:
    """Pieces as callers give them, each as Rows."""

    def __init__(self, pieces: Any) -> None:
        self.pieces = pieces
        self._last: Any = None

    def __iter__(self) -> Iterator[Rows]:
        given = self.pieces() if callable(self.pieces) else self.pieces
        if isinstance(given, Iterator) and given is self._last:
            raise InvalidInputError(
                "The function that gives the pieces returned the same iterator twice. It must return a new one each time, "
                "because the table is read several times."
            )
        self._last = given
        for piece in given:
            if not isinstance(piece, Rows) and (not isinstance(piece, tuple | list) or len(piece) not in (2, 3)):
                got = type(piece).__name__ + (f" of length {len(piece)}" if isinstance(piece, tuple | list) else "")
                raise InvalidInputError(
                    f"A piece must be (X, y) or (X, y, sample_weight), got {got}. Give a list of these, also where there is "
                    "one piece."
                )
            yield piece if isinstance(piece, Rows) else Rows(*piece)


def distill(
    pieces: Any,
    discretizer: FCCADiscretizer,
    tree: Any = None,
    *,
    fit_to: str = "labels",
    n_thresholds: int | None = None,
    verbose: int = 0,
) -> FCCAClassifier:
    """Put a small, provably best tree in place of a black box, from a table that need not fit into memory.

    The table is read a few times over, a piece at a time: for the ranges, for the counterfactuals, and for the distinct rows
    of 0 and 1 that the tree is grown on (once more for linear black boxes, and for those that have not kept the labels of
    categories; four times more for tables with missing numbers).
    The classifier is the same, to the last digit, as the one that :meth:`FCCAClassifier.fit <fcca.FCCAClassifier.fit>` finds
    on all rows at once, but for weights of rows or classes that are no whole numbers, whose sums depend on their order in
    the last digit.

    Parameters
    ----------
    pieces : ParquetTable, sequence of (X, y) or (X, y, sample_weight), or callable
        A list, an object whose ``__iter__`` starts again each time, or a function that returns an iterator.
    discretizer : FCCADiscretizer
        Its ``estimator`` is fitted already, in a ``FrozenEstimator``.
    tree : OptimalTreeClassifier, default=None
        None is ``OptimalTreeClassifier()``.
    fit_to : {"labels", "target"}, default="labels"
        What the tree learns.
    n_thresholds : int, default=None
        Give the tree so many of the thresholds, the best ones.
    verbose : int, default=0
        1 shows progress bars.

    Returns
    -------
    FCCAClassifier
        Without the training rows and without the single counterfactuals.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from fcca import FCCADiscretizer
    >>> from fcca.streaming import distill
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> pieces = [(X[at : at + 100], y[at : at + 100]) for at in range(0, len(X), 100)]
    >>> classifier = distill(pieces, FCCADiscretizer(FrozenEstimator(model), Q=0.7))
    >>> classifier.tree_.is_optimal_, classifier.discretizer_.statuses_
    (True, {'optimal': 564})
    """
    classifier = FCCAClassifier(discretizer, tree, fit_to=fit_to, n_thresholds=n_thresholds)
    if isinstance(pieces, Iterator):
        raise InvalidInputError(
            "pieces is an iterator, which ends after one pass. Give a list, or a function that returns an iterator."
        )
    if not callable(pieces) and not isinstance(pieces, Iterable):
        raise InvalidInputError(f"pieces must be a list of (X, y), a table or a function, got {type(pieces).__name__}.")
    n_rows = getattr(pieces, "n_rows", None)
    return distilled(LocalPieces(_GivenPieces(pieces), n_rows, verbose=bool(verbose)), classifier).classifier
