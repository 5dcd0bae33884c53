"""A small tree in place of a black box, from rows that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from fcca._progress import progress_bar
from fcca.classifier import FCCAClassifier
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import FCCADiscretizer
from fcca.discretizers._pieces import check_table, columns_to_fill
from fcca.discretizers._run import Run
from fcca.exceptions import InvalidInputError
from fcca.models import read_model
from fcca.models._labels import OpenColumn
from fcca.selection import most_frequent
from fcca.streaming import _stages as stages
from fcca.streaming._counted import CountedRows, RowCoder
from fcca.streaming._stages import Rows, TooManyRowsError
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier

T = TypeVar("T")
Labels = NDArray[Any]

#: Levels of granularity that are tried where the rows are too many at the one asked for.
COARSER = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class Pieces(Protocol):
    """A table in pieces, wherever they are."""

    def first(self) -> Any:
        """Some raw rows, to learn the columns from."""

    def sum(self, label: str, function: Callable[..., T | None], *given: Any) -> T:
        """Apply a function to every piece, with what else it is given, and add up what it returns but for None.

        Parameters
        ----------
        label : str
            What is being done, for the progress bar.
        function : callable
            Takes :class:`Rows`, and ``given``.
        """


@dataclass(frozen=True)
class CountedTable:
    """Distinct rows on the conditions that were kept.

    Attributes
    ----------
    B : ndarray of shape (n_distinct, n_conditions)
        0 and 1.
    y, answers : ndarray of shape (n_distinct,)
        Label, and what the black box answers.
    n_rows, weight : ndarray of shape (n_distinct,)
        How many rows each stands for, and their weight.
    """

    B: NDArray[np.int8]
    y: Labels
    answers: Labels
    n_rows: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class Distilled:
    """What was found in a table.

    Attributes
    ----------
    classifier : FCCAClassifier
    training, held_out : CountedTable
    """

    classifier: FCCAClassifier
    training: CountedTable
    held_out: CountedTable


def distilled(
    pieces: Pieces,
    classifier: FCCAClassifier,
    keep: Callable[[Counterfactuals], None] | None = None,
    *,
    granularity: str = "Q=",
) -> Distilled:
    """Fit a classifier on a table in pieces: the same as on the whole table at once.

    Parameters
    ----------
    pieces : Pieces
    classifier : FCCAClassifier
        Not fitted, and not changed; its black box is fitted, in a FrozenEstimator.
    keep : callable, optional
        Takes the counterfactuals of one piece after the other, where pieces are in this process and in order.
    granularity : str
        What messages write before a Q.
    """
    fitted: FCCAClassifier = clone(classifier)
    discretizer, selection = _discretizer(fitted)
    like, observed, run = with_thresholds(pieces, discretizer, keep)
    candidates = discretizer.thresholds_
    coder = RowCoder.of(candidates, len(observed.all_classes), len(run.engine.model.classes))
    try:
        counted = pieces.sum("Rows", stages.counted, run, coder, observed.all_classes, len(candidates))
    except TooManyRowsError as error:
        raise _advised(error, discretizer, coder, granularity) from error
    _check_same_rows(int(counted.training.n_rows.sum()), observed)
    labels = (observed.all_classes, run.engine.model.classes)
    if selection is not None:
        table = _table(counted.training, coder, candidates, *labels)
        learned = table.y if selection.against == "labels" else table.answers
        chosen = selection.select(candidates, coder.values(counted.training.keys), learned, table.weight)
        discretizer.selection = selection
        discretizer._keep(chosen)
    training, held_out = (
        _table(rows, coder, discretizer.thresholds_, *labels) for rows in (counted.training, counted.held_out)
    )
    return Distilled(_grown(fitted, discretizer, like, training), training, held_out)


class Known(NamedTuple):
    """What is known before the first search."""

    like: Any  # one raw row
    observed: stages.Observed
    run: Run


def with_thresholds(
    pieces: Pieces, discretizer: FCCADiscretizer, keep: Callable[[Counterfactuals], None] | None = None
) -> Known:
    """Give a discretizer the thresholds that it would find on all rows at once.

    Parameters
    ----------
    pieces : Pieces
    discretizer : FCCADiscretizer
        Without a selection.
    keep : callable, optional
        As in :func:`distilled`.
    """
    found = known(pieces, discretizer)
    run = found.run
    discretizer._note_constant_features(run, stacklevel=4)
    searched = pieces.sum("Counterfactuals", stages.searched, run, *([] if keep is None else [keep]))
    _check_same_rows(searched.n_rows, found.observed)
    run.warn_about(searched, stacklevel=3)
    merged, _ = run.merged(searched, found.observed.classes[:3].tolist())
    around = pieces.sum("Values", stages.around, run, merged).cells if run.needs_values_around() else None
    discretizer._take_thresholds(run, searched, merged, around)
    del discretizer._run, discretizer._searched, discretizer._observed
    return found


def known(pieces: Pieces, discretizer: FCCADiscretizer) -> Known:
    """All that searches have to know of a table.

    Parameters
    ----------
    pieces : Pieces
    discretizer : FCCADiscretizer
        Without a selection.
    """
    like = pieces.first()
    start = discretizer._begin_pieces(like)
    like = _safe_indexing(like, [0])  # the piece itself need not stay in memory
    if columns := _open_columns(start):
        categories = pieces.sum("Categories", stages.categories, start, columns)
        start = discretizer._begin_pieces(like, categories.table(len(start.names)))
    observed = pieces.sum("Ranges", stages.observed, start)
    if observed.n_rows == 0:
        raise InvalidInputError("There are no rows to learn from.")
    if len(observed.classes) < 2:
        raise InvalidInputError(f"y must have at least two classes to learn from; got 1 class in {observed.n_rows} row(s).")
    run = start.knowing(observed.seen)
    run.check_some_values()
    if columns := columns_to_fill(run):

        def one_pass(prefix: NDArray[np.uint64], at: int) -> stages.Ranks:
            label = f"Medians, {at + 1} of {stages.N_PASSES}"
            return pieces.sum(label, stages.ranks, run, columns, prefix, at)

        run = start.knowing(observed.seen, stages.medians(columns, one_pass))
    return Known(like, observed, run)


def _check_same_rows(n_rows: int, observed: stages.Observed) -> None:
    """Refuse a table that has changed since it was first gone through."""
    if n_rows != observed.n_rows:
        raise InvalidInputError(
            f"The table had {observed.n_rows:,} rows to learn from when it was first gone through, and later {n_rows:,}. It "
            "has to stay the same, and where a function gives the pieces, it has to give all of them each time."
        )


def _open_columns(run: Run) -> list[int]:
    """Columns of categories whose labels the classifier has not kept: all pieces together tell them."""
    columns = run.engine.model.columns
    if columns is None or not columns.has_categories:
        return []
    own = read_model(run.engine.estimator).columns
    return [j for j, column in enumerate(own or ()) if isinstance(column, OpenColumn)]


def _discretizer(fitted: FCCAClassifier) -> tuple[FCCADiscretizer, Any]:
    """A discretizer without its selection, and the selection."""
    if fitted.n_thresholds == "auto":
        raise InvalidInputError(
            "n_thresholds='auto' is chosen by cross-validation, which needs all rows in memory. Give a number."
        )
    fitted._validate_params()
    discretizer = fitted._new_discretizer()
    if not isinstance(discretizer, FCCADiscretizer):
        raise InvalidInputError(f"Rows in pieces need an FCCADiscretizer, got {type(discretizer).__name__}.")
    discretizer._validate_params()
    tree = fitted._new_tree()
    if not isinstance(tree, OptimalTreeClassifier):
        raise InvalidInputError(f"Rows in pieces need an OptimalTreeClassifier as tree, got {type(tree).__name__}.")
    tree._validate_params()
    if fitted.n_thresholds is not None:
        limits = fitted._limits_of_selection(discretizer)
        discretizer.selection = limits.set_params(n_thresholds=fitted.n_thresholds)
    selection = discretizer.selection
    if selection is not None:
        selection.check_parameters()
    return discretizer.set_params(selection=None), selection


def _table(rows: CountedRows, coder: RowCoder, table: ThresholdTable, classes: Labels, answers: Labels) -> CountedTable:
    label, answer = coder.labels_and_answers(rows)
    return CountedTable(coder.binarized(rows, table), classes[label], answers[answer], rows.n_rows, rows.weight)


def _grown(fitted: FCCAClassifier, discretizer: FCCADiscretizer, like: Any, rows: CountedTable) -> FCCAClassifier:
    """The classifier, its tree grown on distinct rows."""
    fitted.discretizer_ = discretizer
    validate_data(fitted, like, skip_check_array=True)  # notes the columns
    learned = rows.y if fitted.fit_to == "labels" else rows.answers
    tree = fitted._new_tree().fit_counted(rows.B, learned, rows.weight, rows.n_rows)
    fitted._take_tree(tree, rows.B, rows.answers, {"sample_weight": rows.weight})
    return fitted


def _advised(error: TooManyRowsError, discretizer: FCCADiscretizer, coder: RowCoder, granularity: str) -> InvalidInputError:
    """What to do where there are too many distinct rows."""
    every, rows = discretizer.all_thresholds_, error.some
    advice = f"Keep fewer of them: raise {granularity.rstrip(' =')}."
    for Q in COARSER:
        fewer = every.select(most_frequent(every, Q))
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


# --- in this process ----------------------------------------------------------------------------------------------------


class LocalPieces:
    """A table in pieces that are read one after the other in this process.

    Parameters
    ----------
    source : iterable of Rows
        That can be gone through again and again.
    n_rows : int or None
        For the progress bar, where it is known.
    verbose : bool
        Whether to show one.
    """

    def __init__(self, source: Iterable[Rows], n_rows: int | None, *, verbose: bool = False) -> None:
        self.source, self.n_rows, self.verbose = source, n_rows, verbose

    def first(self) -> Any:
        """Some raw rows."""
        for rows in self.source:
            if check_table(rows.X):
                return rows.X
        raise InvalidInputError("There are no rows to learn from.")

    def sum(self, label: str, function: Callable[..., T | None], *given: Any) -> T:
        """Apply a function to every piece, and add up what it returns."""

        def results() -> Iterator[T]:
            done = 0
            with progress_bar(label, self.n_rows, self.verbose) as progress:
                for rows in self.source:
                    result = function(rows, *given)
                    done += check_table(rows.X)
                    if progress is not None:
                        progress(done)
                    if result is not None:
                        yield result

        total = summed(results())
        if total is None:
            raise InvalidInputError("There are no rows to learn from.")
        return total


def summed(parts: Iterator[T]) -> T | None:
    """The sum of parts, two at a time that hold about as many: sums that grow with their parts are not copied often."""
    waiting: list[tuple[int, Any]] = []
    for part in parts:
        size, total = 1, part
        while waiting and waiting[-1][0] <= size:
            more, other = waiting.pop()
            size, total = size + more, other + total
        waiting.append((size, total))
    if not waiting:
        return None
    _, total = waiting.pop()
    while waiting:
        total = waiting.pop()[1] + total
    return total


class _Given:
    """Pieces as callers give them, each as Rows."""

    def __init__(self, pieces: Any) -> None:
        self.pieces = pieces
        self._last: Any = None

    def __iter__(self) -> Iterator[Rows]:
        given = self.pieces() if callable(self.pieces) else self.pieces
        if isinstance(given, Iterator) and given is self._last:
            raise InvalidInputError(
                "The function that gives the pieces returned the same iterator twice. It has to return a new one each time, "
                "as the table is gone through several times."
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
        Something that can be gone through again and again: a list, an object whose ``__iter__`` starts anew, or a function
        that returns an iterator.
    discretizer : FCCADiscretizer
        Its ``estimator`` is fitted already, in a ``FrozenEstimator``.
    tree : OptimalTreeClassifier, default=None
        None is ``OptimalTreeClassifier(max_depth=3)``.
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
    return distilled(LocalPieces(_Given(pieces), n_rows, verbose=bool(verbose)), classifier).classifier
