"""Sources of rows: a table in memory, or a Parquet file in chunks.

Both sources have the same methods. :func:`fcca.cli._distill_steps.distillation` calls them in this order: ``check_rules``,
``labels``, ``read`` if a black box is fitted, ``prepare``, ``example`` if there are rules and the black box is loaded,
``fit``, ``binary_rows``, ``encoded_rows``, ``facts`` and ``unknown_rows``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from fcca.classifier import NODES_OF_CHOICE, NODES_OF_PATH, FCCAClassifier, choose_n_thresholds, selection_fit_to
from fcca.cli._black_box import LARGEST_NUMBER, BlackBox, Rules, check_range, training_table
from fcca.cli._column_types import as_known
from fcca.cli._counterfactual_lines import CounterfactualLines
from fcca.cli._distillation_result import RowsInMemory
from fcca.cli._models import known_columns
from fcca.cli._notes import UnknownRows
from fcca.cli._options import COUNTERFACTUALS, LARGEST_SAMPLE, DistillSettings
from fcca.cli._read_table import Dataset, TableFacts, check_header
from fcca.cli._split import MOST_STRATIFIED, Split
from fcca.cli._table_labels import counts_of, label_among, labels_of, missing_labels
from fcca.cli._timing import Stopwatch
from fcca.discretizers import BinaryRows, LocalChunks, Rows, SearchResult
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.models import LinearModel, OpenColumn, read_model
from fcca.selection import OptimalSelection
from fcca.streaming import Distilled, ParquetTable, distilled, header
from fcca.tables import Column, Columns, known_rows
from fcca.utils import AtomicOutputs, progress_bar, step, stopping_early

T = TypeVar("T")
Labels = NDArray[np.generic]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
RowNumbers = NDArray[np.int64]


class TableLabels(NamedTuple):
    """The labels of a table, or only their counts if the table is large."""

    y: Labels | None  # of all rows; None if there are too many rows
    counts: dict[Any, int]  # number of rows of each class
    learned: frozenset[Any] = frozenset()  # classes of the training rows; only used if y is None


def _with_any_label(columns: Columns | None) -> Columns | None:
    """Return a copy in which columns with unstored category labels accept any category.

    Some black boxes do not store the labels of their categories.
    """
    if columns is None:
        return None
    return Columns(
        tuple(
            Column(column.name, missing=column.missing, ignored=column.ignored) if isinstance(column, OpenColumn) else column
            for column in columns
        )
    )


def _nothing_known() -> InvalidInputError:
    """Return the error for a table in which no training row can be predicted."""
    return InvalidInputError(
        "Every training row has an unknown category or an unexpected missing value, which the black box cannot predict. "
        "Use a table with the categories that the black box was fitted on."
    )


def _with_selection(
    classifier: FCCAClassifier,
    settings: DistillSettings,
    X: pd.DataFrame | None = None,
    y: NDArray[np.generic] | None = None,
) -> FCCAClassifier:
    """Return the classifier, set to select the number of thresholds in ``--thresholds``.

    Without this option, the classifier is returned unchanged.

    Parameters
    ----------
    classifier : FCCAClassifier
        An unfitted classifier.
    settings : DistillSettings
    X, y : DataFrame and ndarray, optional
        The training rows. ``--thresholds auto`` cross-validates on them.
    """
    if settings.thresholds is None:
        return classifier
    limits = OptimalSelection(
        fit_to=selection_fit_to(settings.fit_to),
        time_limit=settings.time_limit,
        max_nodes=None if settings.time_limit else NODES_OF_CHOICE,
    )
    if settings.thresholds == "auto":
        quick = clone(limits).set_params(max_nodes=NODES_OF_PATH)
        n = choose_n_thresholds(classifier.selection_path(X, y, selection=quick))
    else:
        n = int(settings.thresholds)
    return classifier if n is None else classifier.set_params(discretizer__selection=limits.set_params(n_thresholds=n))


# --- in memory ----------------------------------------------------------------------------------------------------------


class MemorySource:
    """A table whose rows are all in memory.

    Parameters
    ----------
    data : Dataset
    test : Dataset, optional
        Held-out rows from another file. Without it, rows of ``data`` are held out.
    """

    def __init__(self, data: Dataset, test: Dataset | None = None) -> None:
        self.data, self.test = data, test
        self.name, self.label, self.from_text = data.name, data.label, data.from_text
        self.names = [str(name) for name in data.X.columns]
        self.default_sample: int | None = None  # all rows
        self.stopwatch = Stopwatch("target")
        self.rows_in_memory: RowsInMemory | None = None
        self._left_out, self._held_out_unknown = UnknownRows(), UnknownRows()

    def check_rules(self, rules: Rules, settings: DistillSettings, loaded: Any) -> None:
        """Do nothing, because a table in memory supports all rules."""

    def labels(self, settings: DistillSettings) -> TableLabels:
        """Return the labels of all rows, and their counts."""
        return TableLabels(self.data.y, self.data.class_counts())

    def read(self, rows: RowNumbers | None) -> tuple[pd.DataFrame, Labels]:
        """Return the rows with the given row numbers, and their labels.

        If ``rows`` is None, return all rows.
        """
        return (self.data.X, self.data.y) if rows is None else (self.data.X.iloc[rows], self.data.y[rows])

    def prepare(self, black_box: BlackBox, split: Split, settings: DistillSettings) -> None:
        """Convert the columns to the types that the black box expects.

        Training rows that the black box cannot predict are left out.
        """
        if self.test is not None and settings.model_file is not None:
            test, counts = self.test, self.test.class_counts()
            names = [str(name) for name in test.X.columns]
            self.test = test.as_known(
                known_columns(names, counts, test.label, test.name, black_box.classifier, settings.model_file)
            )
        self.split, self.categorical = split, settings.categorical
        self.training_rows = split.training_rows()
        if black_box.table is not None:  # fitted on all training rows
            self.data = replace(self.data, X=black_box.table)
            return
        self.data = replace(self.data, X=as_known(self.data.X[black_box.names], black_box.columns))
        check_range(self.data.X)
        rows = np.sort(self.training_rows)
        is_known = known_rows(_with_any_label(black_box.columns), self.data.X.iloc[rows])
        self._left_out.add(rows[~is_known])
        if not is_known.any():
            raise _nothing_known()
        self.training_rows = rows[is_known]

    def example(self) -> pd.DataFrame:
        """Return the training rows, to check rules against their columns."""
        return training_table(self.data.X.iloc[self.training_rows])

    def fit(self, classifier: FCCAClassifier, settings: DistillSettings) -> FCCAClassifier:
        """Compute the thresholds and the tree on the training rows, and return the classifier."""
        X, y = self.example(), self.data.y[self.training_rows]
        bounded = "; --time-limit bounds them" if settings.time_limit is None else ""
        with step(f"Thresholds and tree{bounded}"), self.stopwatch.time("fcca"), stopping_early():
            fitted: FCCAClassifier = _with_selection(classifier, settings, X, y).fit(X, y)
        found = fitted.discretizer_.counterfactuals_
        self.median_cost = float(np.median(found.cost[found.is_proven]))
        return fitted

    def binary_rows(self, classifier: FCCAClassifier) -> tuple[BinaryRows, BinaryRows | None]:
        """Return the training rows and the held-out rows as binary columns.

        The second result is None if there is no held-out row.
        """
        held_out = self.data if self.test is None else self.test
        rows = self.split.held_out_rows() if self.test is None else np.arange(len(held_out.y))
        is_known = known_rows(classifier.discretizer_.thresholds_.columns, held_out.X.iloc[rows])
        self._held_out_unknown.add(rows[~is_known])
        tested = (held_out.X.iloc[rows], held_out.y[rows]) if len(rows) else None
        self.rows_in_memory = RowsInMemory(self.data.X, self.data.y, self.categorical, self.training_rows, tested)
        training = (self.data.X.iloc[self.training_rows], self.data.y[self.training_rows])
        binary_rows = classifier.discretizer_.binary_rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownValuesWarning)  # a note counts them
            return binary_rows(*training), None if tested is None else binary_rows(*tested)

    def encoded_rows(self, classifier: FCCAClassifier) -> tuple[Floats | None, Floats | None]:
        """Return the training rows and the held-out rows as arrays, with codes for categories."""
        assert self.rows_in_memory is not None
        encode, tested = classifier.discretizer_.encode, self.rows_in_memory.test
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownValuesWarning)  # a note counts them
            return encode(self.data.X.iloc[self.training_rows]), None if tested is None else encode(tested[0])

    def unknown_rows(self) -> tuple[UnknownRows, UnknownRows]:
        """Return the training rows and the held-out rows with an unknown category or an unexpected missing value.

        These training rows are left out.
        """
        return self._left_out, self._held_out_unknown

    def facts(self, counts: dict[Any, int]) -> TableFacts:
        """Return the facts about the table that the summary shows."""
        return self.data.facts()


# --- in chunks ----------------------------------------------------------------------------------------------------------


class ParquetSource:
    """A table in a Parquet file, read in chunks.

    Parameters
    ----------
    path : Path
    label : str or None
        The label column. With None, it is found by its name.
    outputs : AtomicOutputs
        Output files. The counterfactuals are written to one of them, chunk by chunk.
    """

    from_text = False
    rows_in_memory = None

    def __init__(self, path: Path, label: str | None, outputs: AtomicOutputs) -> None:
        names, n_rows = header(path)
        check_header(names)
        self.table = ParquetTable(path, label_among(names, label, path.name, n_rows))
        self.outputs = outputs
        self.name, self.label, self.names = path.name, self.table.label, self.table.columns
        self.default_sample: int | None = LARGEST_SAMPLE
        self.stopwatch = Stopwatch("labels", "sample", "target")

    def check_rules(self, rules: Rules, settings: DistillSettings, loaded: Any) -> None:
        """Raise an error for a rule that can only be used with all rows in memory.

        This is checked before the file is read.
        """
        is_linear = settings.model is not None and settings.model.is_linear
        if loaded is not None:
            is_linear = isinstance(read_model(loaded), LinearModel)
        for rule in rules:
            if rule.needs_all_rows(is_linear=is_linear):
                raise InvalidInputError(
                    f"The rule {rule!r} requires all rows at once, but the table is read in chunks. Omit the rule, or read "
                    "all rows with --no-stream."
                )

    def labels(self, settings: DistillSettings) -> TableLabels:
        """Read the labels of all rows.

        For tables with more than ``MOST_STRATIFIED`` rows, only the counts of the classes are kept.
        """
        with self.stopwatch.time("labels"):
            return _labels(self.table, settings)

    def read(self, rows: RowNumbers | None) -> tuple[pd.DataFrame, Labels]:
        """Read the rows with the given row numbers, and their labels.

        If ``rows`` is None, read all rows.
        """
        table = self.table
        every = np.arange(table.n_rows) if rows is None else rows
        with self.stopwatch.time("sample"):
            with progress_bar("Sample", table.n_rows) as progress:
                frame = table.rows(every, [*table.columns, table.label], progress)
            return frame, labels_of(frame.pop(table.label))

    def prepare(self, black_box: BlackBox, split: Split, settings: DistillSettings) -> None:
        """Set up the iteration over chunks, with the column types of the black box."""
        self.rows = _KnownRows(self.table, black_box, split)
        self.chunks = _TimedChunks(self.rows, black_box.X, self.stopwatch)

    def example(self) -> pd.DataFrame:
        """Return some rows, to check rules against their columns."""
        example: pd.DataFrame = self.chunks.first()
        return example

    def fit(self, classifier: FCCAClassifier, settings: DistillSettings) -> FCCAClassifier:
        """Compute the thresholds and the tree on all training rows, chunk by chunk.

        During the search, the counterfactuals are written to a file, unless ``--no-counterfactuals`` was given.
        """
        classifier = _with_selection(classifier, settings)
        path = self.outputs.path(COUNTERFACTUALS) if settings.counterfactuals else None
        earlier = dict(self.stopwatch.seconds)
        whole = Stopwatch()
        with CounterfactualLines(path, self.outputs.directory) as lines:
            with whole.time("fcca"):
                self._found = self._distilled(classifier, lines)
            with whole.time("rates"):
                self.median_cost = lines.median_cost()
        seconds = self.stopwatch.seconds
        passes = sum(seconds.values()) - sum(earlier.values())
        seconds |= {"tree": whole.seconds["fcca"] - passes} | whole.seconds
        return self._found.classifier

    def _distilled(self, classifier: FCCAClassifier, lines: CounterfactualLines) -> Distilled:
        def keep(result: SearchResult) -> None:
            self.rows.held_out_known = result.counterfactuals.columns  # for the held-out rows of later passes
            lines.add(result.counterfactuals, self.rows.training_rows)

        self.chunks.keep = keep
        try:
            return distilled(self.chunks, classifier, granularity="--q ")
        except InvalidInputError as error:
            if self.rows.left_out.n == self.rows.split.n_training:
                raise _nothing_known() from error
            raise

    def binary_rows(self, classifier: FCCAClassifier) -> tuple[BinaryRows, BinaryRows | None]:
        """Return the training rows and the held-out rows as binary columns.

        Equal rows are stored once, with their count. The second result is None if there are no held-out rows.
        """
        held_out = self._found.held_out
        return self._found.training, held_out if len(held_out.y) else None

    def encoded_rows(self, classifier: FCCAClassifier) -> tuple[Floats | None, Floats | None]:
        """Return ``(None, None)``, because the rows are not in memory."""
        return None, None

    def unknown_rows(self) -> tuple[UnknownRows, UnknownRows]:
        """Return the training rows and the held-out rows with an unknown category or an unexpected missing value.

        These training rows are left out.
        """
        return self.rows.left_out, self.rows.held_out_unknown

    def facts(self, counts: dict[Any, int]) -> TableFacts:
        """Return the facts about the table that the summary shows."""
        missing = tuple(self.rows.has_missing.tolist())
        return TableFacts(self.name, self.label, self.table.n_rows, len(missing), counts, missing)


def _labels(table: ParquetTable, settings: DistillSettings) -> TableLabels:
    kept: list[pd.Series[Any]] = []
    counts: Counter[Any] = Counter()
    learned: set[Any] = set()
    by_row = Split(table.n_rows, settings.test_size, settings.random_state)
    missing = UnknownRows()
    few = table.n_rows <= MOST_STRATIFIED
    with progress_bar("Labels", table.n_rows) as progress:
        for frame in table.frames([table.label]):
            column = frame[table.label]
            missing.add(frame.index[column.isna()].to_numpy())
            if few:
                kept.append(column)
            elif missing.n == 0:
                labels, end = labels_of(column), int(frame.index[-1]) + 1
                counts.update(counts_of(labels))
                learned.update(labels[~by_row.held_out(end - len(labels), end)].tolist())
            if progress is not None:
                progress(int(frame.index[-1]) + 1)
    if missing.n:
        raise missing_labels(table.label, missing.n, missing.first[0])
    if not few:
        return TableLabels(None, dict(sorted(counts.items())), frozenset(learned))
    labels = labels_of(pd.concat(kept))
    return TableLabels(labels, counts_of(labels))


class _KnownRows:
    """Iterates over the chunks of a table, converted for the black box.

    Training rows that the black box cannot predict, because of an unknown category or a missing value, are left out.

    Parameters
    ----------
    table : ParquetTable
    black_box : BlackBox
    split : Split
    """

    def __init__(self, table: ParquetTable, black_box: BlackBox, split: Split) -> None:
        self.table, self.split = table, split
        self.names, self.known = black_box.names, black_box.columns
        self.training_known = _with_any_label(self.known)
        self.held_out_known = self.training_known  # for held-out rows: categories and missing values of the training rows
        self.has_missing: Bools = np.zeros(len(self.names), dtype=bool)
        self.training_rows: RowNumbers = np.empty(0, dtype=np.int64)  # of the current chunk
        self.left_out, self.held_out_unknown = UnknownRows(), UnknownRows()

    def __iter__(self) -> Iterator[Rows]:
        self.left_out, self.held_out_unknown = UnknownRows(), UnknownRows()
        for frame in self.table.frames([*self.names, self.table.label]):
            rows = frame.index.to_numpy()
            held_out = self.split.held_out(int(rows[0]), int(rows[-1]) + 1)
            y = labels_of(frame[self.table.label])
            X, missing = self._converted(frame[self.names])
            if missing is not None or (self.known is not None and self.known.has_categories):
                if missing is not None:
                    self.has_missing |= missing
                is_known = self._is_known(X, held_out)
                if not is_known.all():
                    self.left_out.add(rows[~is_known & ~held_out])
                    self.held_out_unknown.add(rows[~is_known & held_out])
                    kept = is_known | held_out
                    X, y, rows, held_out = X[kept], y[kept], rows[kept], held_out[kept]
            self.training_rows = rows[~held_out]
            yield Rows(X, y, None, held_out if held_out.any() else None)

    def _converted(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, Bools | None]:
        """Convert a chunk to the column types that the black box expects.

        The second result is a mask of the columns with missing values, or None if there are none.
        """
        plain = self.known is None or not (self.known.has_categories or any(column.ignored for column in self.known))
        if plain and all(dtype.kind in "biuf" for dtype in frame.dtypes):
            values = frame.to_numpy(dtype=np.float64)
            if values.min() >= -LARGEST_NUMBER and values.max() <= LARGEST_NUMBER:  # False if a value is NaN
                return pd.DataFrame(values, columns=self.names, copy=False), None
        X = as_known(frame, self.known)
        check_range(X)
        missing = X.isna().any().to_numpy()
        return X, missing if missing.any() else None

    def _is_known(self, X: pd.DataFrame, held_out: Bools) -> Bools:
        known = known_rows(self.training_known, X)
        if held_out.any() and self.held_out_known is not self.training_known:
            known = np.where(held_out, known_rows(self.held_out_known, X), known)
        return known


class _TimedChunks(LocalChunks):
    """Chunks of a table, with a stopwatch for each pass over them.

    Parameters
    ----------
    rows : _KnownRows
    like : DataFrame or None
        Rows that the black box was fitted on. They are an example of the column names and types. With None, the first
        chunk is the example.
    stopwatch : Stopwatch
    """

    def __init__(self, rows: _KnownRows, like: pd.DataFrame | None, stopwatch: Stopwatch) -> None:
        super().__init__(rows, rows.table.n_rows)
        self.like, self.stopwatch = like, stopwatch

    def first(self) -> Any:
        """Return some rows, as an example of the column names and types."""
        return super().first() if self.like is None else self.like

    def sum(self, label: str, stage: Callable[..., T | None], *given: Any) -> T:
        """Call ``stage`` for every chunk, add up the results, and measure the time.

        Parameters
        ----------
        label : str
            Name of the pass, for the progress bar and the stopwatch.
        stage : callable
            Called with the rows of a chunk and the arguments ``*given``.
        """
        with self.stopwatch.time(label.partition(",")[0].lower()):
            return super().sum(label, stage, *given)
