"""What ``fcca distill`` computes: a black box, its thresholds, and a small tree on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

from fcca._columns import Columns
from fcca._files import AtomicOutputs
from fcca._frames import listed_rows
from fcca._known_rows import known_rows
from fcca._progress import step
from fcca._weights import heaviest_label
from fcca.classifier import NODES_OF_CHOICE, NODES_OF_PATH, FCCAClassifier, choose_n_thresholds
from fcca.cli._columns import as_json, one_type_per_column
from fcca.cli._data import Dataset, check_split
from fcca.cli._models import fitting, model_from_file, target_model
from fcca.cli._options import COUNTERFACTUALS, THRESHOLDS_CSV, THRESHOLDS_JSON, TREE, DistillSettings
from fcca.cli._rules import read_rules
from fcca.constraints import Constraint, compile_rules
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError, UnverifiedCounterfactualWarning
from fcca.export import to_json
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.models import decide_at
from fcca.selection import OptimalSelection
from fcca.trees import OptimalTreeClassifier

Rows = NDArray[np.int64]
T = TypeVar("T")

LARGEST_NUMBER = 1e300


@dataclass(frozen=True)
class Scores:
    """How the model, the binary rows and the tree do on some rows."""

    rows: int
    target_accuracy: float
    compression: float
    inconsistency: float
    tree_accuracy: float
    tree_fidelity: float
    baseline_accuracy: float  # of always answering the commonest class of the training rows


@dataclass(frozen=True)
class Distillation:
    """All that ``fcca distill`` found."""

    data: Dataset
    model_file: Path | None
    training_rows: Rows  # rows of the file
    target: Any
    classifier: FCCAClassifier
    test: tuple[pd.DataFrame, NDArray[np.generic]] | None  # rows held out, those that the black box can answer
    commonest: Any  # class of the training rows
    training: Scores
    held_out: Scores | None
    target_seconds: float
    fcca_seconds: float
    notes: tuple[str, ...]

    @property
    def discretizer(self) -> FCCADiscretizer:
        """The fitted discretizer."""
        discretizer: FCCADiscretizer = self.classifier.discretizer_
        return discretizer

    @property
    def n_unverified(self) -> int:
        """Counterfactuals that the black box's own predict does not agree with."""
        return int(self.discretizer.counterfactuals_.is_status("unverified").sum())

    def with_note(self, note: str) -> Distillation:
        """The same, with something more to know."""
        return replace(self, notes=(*self.notes, note))

    def on_unverified(self, *, where: str = "") -> str:
        """What to say of them."""
        marked = f"marked 'unverified' in {where} and " if where else ""
        return (
            f"{self.n_unverified} of {len(self.discretizer.counterfactuals_)} counterfactuals do not flip the model's own "
            f"predict; they are {marked}left out of all counts."
        )

    def counterfactuals_frame(self) -> pd.DataFrame:
        """One line per move; ``row`` is the row of the file, the first is 0."""
        found = self.discretizer.counterfactuals_
        of_file = replace(found, rows=self.training_rows[found.rows])
        return one_type_per_column(of_file.to_frame().sort_values("row", kind="stable", ignore_index=True))

    def shown_columns(self) -> Columns | None:
        """The columns, gaps only where the file has any: some models take them everywhere."""
        columns = self.discretizer.thresholds_.columns
        if columns is None:
            return None
        gaps = self.data.X.isna().any().tolist()
        return Columns(
            tuple(replace(column, missing=column.missing and gap) for column, gap in zip(columns, gaps, strict=True))
        )

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the files beside the report."""
        table = self.discretizer.thresholds_
        frame = table.to_frame()
        frame["categories"] = [None if labels is None else as_json(labels) for labels in table.labels]
        frame.to_csv(outputs.path(THRESHOLDS_CSV), index=False, lineterminator="\n")
        outputs.path(THRESHOLDS_JSON).write_text(table.to_json(), encoding="utf-8", newline="\n")
        outputs.path(TREE).write_text(to_json(self.classifier), encoding="utf-8", newline="\n")
        self.counterfactuals_frame().to_parquet(outputs.path(COUNTERFACTUALS), index=False)


def split_rows(data: Dataset, settings: DistillSettings) -> tuple[Rows, Rows]:
    """Rows to train on and rows to hold out, with the same shares of every class."""
    rows = np.arange(len(data.y))
    if settings.test_size == 0:
        return rows, rows[:0]
    check_split(data, settings.test_size)
    training, held_out = train_test_split(rows, test_size=settings.test_size, stratify=data.y, random_state=settings.seed)
    return training, held_out


def distillation(data: Dataset, settings: DistillSettings, test: Dataset | None = None) -> Distillation:
    """Fit the black box, take out its thresholds and find the best tree on them.

    Parameters
    ----------
    data : Dataset
        Split into rows to train on and rows to hold out.
    settings : DistillSettings
    test : Dataset, optional
        Rows to hold out that come from elsewhere, where no row of ``data`` is held out.
    """
    rules = read_rules(settings.rules)
    loaded, loading_seconds = None, 0.0
    if settings.model_file is None:
        data = data.guessed(settings.categorical)
    else:
        file = settings.model_file
        with step("Loading the black box"):
            loaded, loading_seconds = _timed(lambda: model_from_file(file))
        data = fitting(data, loaded, file)
        test = None if test is None else fitting(test, loaded, file)
    check_range(data)
    _check_classes(data, settings)
    training_rows, held_out_rows = split_rows(data, settings)
    X, y = training_table(data.X.iloc[training_rows]), data.y[training_rows]
    _check_rules(rules, X)
    with collected_notes() as notes:
        with step("Fitting the black box"):
            target, target_seconds = _timed(lambda: _target(loaded, settings, X, y))
        classifier = FCCAClassifier(
            _discretizer(target, settings, rules),
            OptimalTreeClassifier(
                max_depth=settings.depth, regularization=settings.regularization, time_limit=settings.time_limit
            ),
            fit_to=str(settings.fit_to),
        )
        with step(f"Thresholds and tree{'; --time-limit bounds them' if settings.time_limit is None else ''}"):
            _, fcca_seconds = _timed(lambda: _with_selection(classifier, settings, X, y).fit(X, y))

    held_out = data if test is None else test
    held_out_rows = held_out_rows if test is None else np.arange(len(test.y))
    known = known_rows(classifier.discretizer_.thresholds_.columns, held_out.X.iloc[held_out_rows])
    tested = (held_out.X.iloc[held_out_rows[known]], held_out.y[held_out_rows[known]]) if known.any() else None
    with step("Rates"):
        commonest = heaviest_label(y)
        training = _scores(classifier, data.X.iloc[training_rows], y, commonest)
        held_out_scores = None if tested is None else _scores(classifier, *tested, commonest)
    return Distillation(
        data=data,
        model_file=settings.model_file,
        training_rows=training_rows,
        target=target,
        classifier=classifier,
        test=tested,
        commonest=commonest,
        training=training,
        held_out=held_out_scores,
        target_seconds=loading_seconds + target_seconds,
        fcca_seconds=fcca_seconds,
        notes=(*data.notes, *notes, *_notes_on_unknown(held_out_rows[~known])),
    )


def _discretizer(target: Any, settings: DistillSettings, rules: tuple[Constraint, ...]) -> FCCADiscretizer:
    return FCCADiscretizer(
        FrozenEstimator(target),
        p0=settings.p0,
        p1=settings.p1,
        lambda0=settings.lambda0,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        Q=settings.q,
        margin=settings.margin,
        merge_tolerance=settings.tolerance(),
        round_thresholds=settings.round_thresholds,
        time_limit=settings.time_limit,
        time_limit_per_point=settings.time_limit_per_row,
        constraints=rules or None,
        n_jobs=settings.jobs,
    )


def _with_selection(
    classifier: FCCAClassifier, settings: DistillSettings, X: pd.DataFrame, y: NDArray[np.generic]
) -> FCCAClassifier:
    """The classifier, told how many thresholds to choose, where this was asked for."""
    if settings.thresholds is None:
        return classifier
    limits = OptimalSelection(
        against=str(settings.fit_to),
        time_limit=settings.time_limit,
        max_nodes=None if settings.time_limit else NODES_OF_CHOICE,
    )
    if settings.thresholds == "auto":
        quick = clone(limits).set_params(max_nodes=NODES_OF_PATH)
        n = choose_n_thresholds(classifier.selection_path(X, y, selection=quick))
    else:
        n = int(settings.thresholds)
    classifier.set_params(discretizer__selection=limits.set_params(n_thresholds=n))
    return classifier


def _scores(classifier: FCCAClassifier, X: pd.DataFrame, y: NDArray[np.generic], commonest: Any) -> Scores:
    B = classifier.discretizer_.transform(X)
    answers, tree_answers = classifier.discretizer_.predict_target(X), classifier.predict(X)
    return Scores(
        rows=len(y),
        target_accuracy=float(accuracy_score(y, answers)),
        compression=compression_rate(B),
        inconsistency=inconsistency_rate(B, y),
        tree_accuracy=float(accuracy_score(y, tree_answers)),
        tree_fidelity=fidelity(tree_answers, answers),
        baseline_accuracy=float(np.mean(y == commonest)),
    )


def training_table(X: pd.DataFrame) -> pd.DataFrame:
    """Rows to train on, without categories that none of them has."""
    listed = {name: X[name].cat.remove_unused_categories() for name in X.columns if X[name].dtype == "category"}
    return X.assign(**listed) if listed else X


def _notes_on_unknown(rows: Rows) -> tuple[str, ...]:
    """What to say of held-out rows that the black box cannot answer."""
    if len(rows) == 0:
        return ()
    one = len(rows) == 1
    have, count = ("row has a category or a gap", "counts") if one else ("rows have categories or gaps", "count")
    return (
        f"{len(rows):,} held-out {have} that no training row has in its column, and {count} for no rate: "
        f"{listed_rows(np.sort(rows), None)} (the first is 0).",
    )


def _numbers(X: pd.DataFrame) -> pd.DataFrame:
    return X.select_dtypes("float64")


def check_range(data: Dataset) -> None:
    """Refuse numbers so large that the difference of two of them overflows."""
    largest = _numbers(data.X).abs().max()
    if largest.max() > LARGEST_NUMBER:
        raise InvalidInputError(
            f"Column {largest.idxmax()!r} holds numbers as large as {largest.max():g}. Expected numbers up to "
            f"{LARGEST_NUMBER:g}: rescale the column."
        )


def _check_rules(rules: tuple[Constraint, ...], X: pd.DataFrame) -> None:
    """Refuse rules on columns that are not there, or that contradict each other, before anything is fitted."""
    if not rules:
        return
    columns = Columns.of_table(X)
    table = columns.encode(X)
    is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in table.T])
    compile_rules(rules, columns, np.nanmin(table, axis=0), np.nanmax(table, axis=0), table[:0], is_binary=is_binary)


def _check_classes(data: Dataset, settings: DistillSettings) -> None:
    n_classes = len(data.class_counts())
    if n_classes > 2 and settings.decision_threshold is not None:
        raise InvalidInputError(f"There are {n_classes} classes; --decision-threshold is for two. Leave it out.")


def _target(loaded: Any, settings: DistillSettings, X: pd.DataFrame, y: NDArray[np.generic]) -> Any:
    """The classifier to be distilled, fitted."""
    target = loaded
    if settings.model is not None:
        numbers = _numbers(X)
        widths = (numbers.max() - numbers.min()).to_numpy()
        target = target_model(settings.model, settings.seed, Columns.of_table(X), widths).fit(X, y)
    return target if settings.decision_threshold is None else decide_at(target, settings.decision_threshold)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = perf_counter()
    result = work()
    return result, perf_counter() - begin


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Warnings meant for users, as texts; those meant for programmers are passed on as the warnings they are."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not issubclass(warning.category, UnverifiedCounterfactualWarning):  # an error is printed for these
            text = " ".join(str(warning.message).split())
            if text not in notes:
                notes.append(text)
