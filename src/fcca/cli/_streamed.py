"""What ``fcca distill`` computes over a Parquet file that is read in pieces: the same as over all its rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca._files import AtomicOutputs
from fcca._known_rows import known_rows
from fcca._progress import progress_bar, step
from fcca._weights import heaviest_label
from fcca.classifier import FCCAClassifier
from fcca.cli._columns import as_known, guessed
from fcca.cli._data import (
    TableFacts,
    check_classes,
    check_header,
    check_learned,
    counts_of,
    label_among,
    labels_of,
    missing_labels,
)
from fcca.cli._distillation import (
    LARGEST_NUMBER,
    Learned,
    check_decision,
    check_range,
    check_rules,
    collected_notes,
    decided,
    learned_on,
    learned_on_sample,
    limits_as_options,
    loaded_from,
    new_classifier,
    nothing_known,
    timed,
    unknown_to,
    with_any_label,
    with_selection,
)
from fcca.cli._found import Distillation, LeftOut, Scores, notes_on_unknown
from fcca.cli._lines import CounterfactualLines
from fcca.cli._models import known_columns
from fcca.cli._options import COUNTERFACTUALS, LARGEST_SAMPLE, DistillSettings
from fcca.cli._rules import read_rules
from fcca.cli._split import MOST_STRATIFIED, Split
from fcca.constraints import Constraint
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers._rules import OF_ALL_ROWS, OF_ALL_ROWS_IF_LINEAR
from fcca.discretizers._run import Run
from fcca.discretizers._validation import columns_for
from fcca.exceptions import InvalidInputError
from fcca.models import LinearModel, read_model
from fcca.streaming import ParquetTable
from fcca.streaming._distill import CountedTable, Distilled, LocalPieces, distilled
from fcca.streaming._parquet import header
from fcca.streaming._stages import Observed, Rows

T = TypeVar("T")
Labels = NDArray[np.generic]
Bools = NDArray[np.bool_]


def streamed_distillation(path: Path, label: str | None, settings: DistillSettings, outputs: AtomicOutputs) -> Distillation:
    """Fit the black box on a sample, take out its thresholds over all rows and find the best tree on them.

    Parameters
    ----------
    path : Path
        The Parquet file.
    label : str or None
        The label column; None for the one that is named like a label.
    settings : DistillSettings
    outputs : AtomicOutputs
        Where the counterfactuals go, piece by piece.
    """
    rules = read_rules(settings.rules)
    table = _opened(path, label)
    loaded = None if settings.model_file is None else loaded_from(settings.model_file)
    _check_rules_of_pieces(rules, is_linear=_is_linear(settings, loaded))
    (labels, counts, learnable), labels_seconds = timed(lambda: _all_labels(table, settings))
    check_classes(counts, table.label)
    check_decision(counts, settings)
    split = Split.of(labels, counts, table.label, settings.test_size, settings.seed)
    check_learned(counts, learnable, table.label, settings.test_size, settings.seed)
    chosen: NDArray[np.int64] | None = None
    sample_seconds = 0.0
    if settings.model_file is None or loaded is None:
        chosen = split.sample(LARGEST_SAMPLE if settings.sample is None else settings.sample)
        learned, sample_seconds = _learned(table, split, chosen, labels, settings, rules)
        names, target, known = list(learned.X.columns), learned.target, learned.columns()
    else:
        learned = loaded
        names = table.columns
        known = known_columns(names, counts, table.label, path.name, learned.target, settings.model_file)
        target = decided(learned.target, settings)
    source = _Source(table, names, known, split)
    pieces = _TimedPieces(source, learned.X if len(learned.X) else None)
    if settings.model_file is not None and rules:
        check_rules(rules, pieces.first())
    classifier = with_selection(new_classifier(target, settings, rules), settings)
    lines_path = outputs.path(COUNTERFACTUALS) if settings.counterfactuals else None
    with CounterfactualLines(lines_path, outputs.directory) as lines, collected_notes() as notes:

        def keep(found: Counterfactuals) -> None:
            lines.add(found, source.training_rows)

        found, fcca_seconds = timed(lambda: _distilled(pieces, classifier, keep))
        median_cost, median_seconds = timed(lines.median_cost)

    with step("Rates"):
        commonest = heaviest_label(found.training.y, found.training.n_rows.astype(np.float64))
        (training, held_out), rates_seconds = timed(
            lambda: tuple(_scores(found.classifier, rows, commonest) for rows in (found.training, found.held_out))
        )
    assert training is not None
    return Distillation(
        data=TableFacts(path.name, table.label, table.n_rows, len(names), counts, tuple(source.gaps.tolist())),
        model_file=settings.model_file,
        in_memory=None,
        sample=None if chosen is None else len(chosen),
        n_to_learn_from=split.n_training,
        target=target,
        classifier=found.classifier,
        median_cost=median_cost,
        commonest=commonest,
        training=training,
        held_out=held_out,
        seconds={
            "labels": labels_seconds,
            "sample": sample_seconds,
            "target": learned.seconds,
            **pieces.seconds,
            "tree": fcca_seconds - sum(pieces.seconds.values()),
            "fcca": fcca_seconds,
            "rates": median_seconds + rates_seconds,
        },
        notes=(
            *learned.notes,
            *(note for note in notes if note not in learned.notes),
            *notes_on_unknown(source.left_out, source.held_out_left_out, by=unknown_to(settings, chosen)),
        ),
    )


# --- before the first search --------------------------------------------------------------------------------------------


def _opened(path: Path, label: str | None) -> ParquetTable:
    """The table, its header judged."""
    names, n_rows = header(path)
    check_header(names)
    return ParquetTable(path, label_among(names, label, path.name, n_rows))


def _is_linear(settings: DistillSettings, loaded: Learned | None) -> bool:
    """Whether the black box, loaded or yet to be fitted, is a linear one."""
    if loaded is not None:
        return isinstance(read_model(loaded.target), LinearModel)
    return settings.model is not None and settings.model.is_linear


def _check_rules_of_pieces(rules: tuple[Constraint, ...], *, is_linear: bool) -> None:
    """Refuse, before any pass, rules that look at all rows at once."""
    for rule in rules:
        if isinstance(rule, OF_ALL_ROWS_IF_LINEAR if is_linear else OF_ALL_ROWS):
            raise InvalidInputError(
                f"The rule {rule!r} needs all rows at once, but the rows come in pieces: rules between columns (sums, "
                "implications, one-hot groups) do. Leave it out, or read all rows with --no-stream."
            )


def _all_labels(table: ParquetTable, settings: DistillSettings) -> tuple[Labels | None, dict[Any, int], set[Any]]:
    """The labels of all rows, where they are few; the rows of each class; and the classes of those to learn from."""
    kept: list[pd.Series[Any]] = []
    counts: Counter[Any] = Counter()
    learnable: set[Any] = set()
    by_row = Split(table.n_rows, settings.test_size, settings.seed)
    missing = LeftOut()
    few = table.n_rows <= MOST_STRATIFIED
    with progress_bar("Labels", table.n_rows, shown=False) as progress:
        for frame in table.frames([table.label]):
            column = frame[table.label]
            missing.add(frame.index[column.isna()].to_numpy())
            if few:
                kept.append(column)
            elif missing.n == 0:
                labels, end = labels_of(column), int(frame.index[-1]) + 1
                counts.update(counts_of(labels))
                learnable.update(labels[~by_row.held_out(end - len(labels), end)].tolist())
            if progress is not None:
                progress(int(frame.index[-1]) + 1)
    if missing.n:
        raise missing_labels(table.label, missing.n, missing.first[0])
    if not few:
        return None, dict(sorted(counts.items())), learnable
    labels = labels_of(pd.concat(kept))
    counts.update(counts_of(labels))
    return labels, dict(counts), set(counts)


def _learned(
    table: ParquetTable,
    split: Split,
    chosen: NDArray[np.int64] | None,
    labels: Labels | None,
    settings: DistillSettings,
    rules: tuple[Constraint, ...],
) -> tuple[Learned, float]:
    """A black box fitted on some rows, and the seconds that these took to read; all rows where ``chosen`` is None."""
    begin = perf_counter()
    columns = [*table.columns, table.label]
    rows = np.arange(table.n_rows) if chosen is None else chosen
    with progress_bar("Sample", table.n_rows, shown=False) as progress:
        frame = table.rows(rows, columns, progress)
    y = labels_of(frame.pop(table.label))
    seconds = perf_counter() - begin
    if chosen is not None:
        return learned_on_sample(frame, y, settings, rules, from_text=False), seconds
    X, notes = guessed(frame, settings.categorical, from_text=False)
    return learned_on(X, split.training_rows(), y, notes, settings, rules), seconds


# --- pieces -------------------------------------------------------------------------------------------------------------


class _Source:
    """The rows that a black box can answer, as it knows them, in pieces.

    Parameters
    ----------
    table : ParquetTable
    names : list of str
        The columns to learn from.
    known : Columns or None
        What the black box knows of them.
    split : Split
    """

    def __init__(self, table: ParquetTable, names: list[str], known: Columns | None, split: Split) -> None:
        self.table, self.names, self.known, self.split = table, names, known, split
        self.training_known = with_any_label(known)
        self.held_out_known = self.training_known  # of rows held out: gaps and labels that rows to learn from have
        self.gaps: Bools = np.zeros(len(names), dtype=bool)
        self.training_rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # of the piece that is being worked on
        self.left_out, self.held_out_left_out = LeftOut(), LeftOut()

    def __iter__(self) -> Iterator[Rows]:
        self.left_out, self.held_out_left_out = LeftOut(), LeftOut()
        for frame in self.table.frames([*self.names, self.table.label]):
            rows = frame.index.to_numpy()
            held_out = self.split.held_out(int(rows[0]), int(rows[-1]) + 1)
            y = labels_of(frame[self.table.label])
            X, gaps = self._converted(frame[self.names])
            if gaps is not None or (self.known is not None and self.known.has_categories):
                if gaps is not None:
                    self.gaps |= gaps
                is_known = self._is_known(X, held_out)
                if not is_known.all():
                    self.left_out.add(rows[~is_known & ~held_out])
                    self.held_out_left_out.add(rows[~is_known & held_out])
                    X, y, rows, held_out = X[is_known], y[is_known], rows[is_known], held_out[is_known]
            self.training_rows = rows[~held_out]
            yield Rows(X, y, None, held_out if held_out.any() else None)

    def _converted(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, Bools | None]:
        """A piece as the black box knows it, and in which columns values are missing, None where in none."""
        plain = self.known is None or not (self.known.has_categories or any(column.ignored for column in self.known))
        if plain and all(dtype.kind in "biuf" for dtype in frame.dtypes):
            values = frame.to_numpy(dtype=np.float64)
            if values.min() >= -LARGEST_NUMBER and values.max() <= LARGEST_NUMBER:  # neither holds where one is missing
                return pd.DataFrame(values, columns=self.names, copy=False), None
        X = as_known(frame, self.known)
        check_range(X)
        gaps = X.isna().any().to_numpy()
        return X, gaps if gaps.any() else None

    def _is_known(self, X: pd.DataFrame, held_out: Bools) -> Bools:
        known = known_rows(self.training_known, X)
        if held_out.any() and self.held_out_known is not self.training_known:
            known = np.where(held_out, known_rows(self.held_out_known, X), known)
        return known


class _TimedPieces(LocalPieces):
    """The pieces, with the time that each pass takes.

    Parameters
    ----------
    source : _Source
    like : DataFrame or None
        The rows that the black box was fitted on.
    """

    def __init__(self, source: _Source, like: pd.DataFrame | None) -> None:
        super().__init__(source, source.table.n_rows)
        self.source: _Source = source
        self.like = like
        self.seconds: dict[str, float] = {}

    def first(self) -> Any:
        """Some rows."""
        return super().first() if self.like is None else self.like

    def sum(self, label: str, function: Callable[..., T | None], *given: Any) -> T:
        """Apply a function to every piece, and add up what it returns."""
        name = label.split(",")[0].lower()
        total, seconds = timed(lambda: super(_TimedPieces, self).sum(label, function, *given))
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if isinstance(total, Observed):
            run: Run = given[0]
            self.source.held_out_known = columns_for(run.engine.model, total.seen.has_gaps.tolist())
        return total


def _distilled(pieces: _TimedPieces, classifier: FCCAClassifier, keep: Callable[[Counterfactuals], None]) -> Distilled:
    try:
        with limits_as_options():
            return distilled(pieces, classifier, keep, granularity="--q ")
    except InvalidInputError as error:
        if pieces.source.left_out.n == pieces.source.split.n_training:
            raise nothing_known() from error
        raise


def _scores(classifier: FCCAClassifier, rows: CountedTable, commonest: Any) -> Scores | None:
    if len(rows.y) == 0:
        return None
    return Scores.of(rows.B, rows.y, rows.answers, classifier.tree_.predict(rows.B), commonest, rows.n_rows)
