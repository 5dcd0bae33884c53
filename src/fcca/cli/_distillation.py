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

from fcca._columns import Column, Columns
from fcca._known_rows import known_rows
from fcca._progress import step
from fcca._weights import heaviest_label
from fcca.classifier import NODES_OF_CHOICE, NODES_OF_PATH, FCCAClassifier, choose_n_thresholds
from fcca.cli._columns import as_known, guessed
from fcca.cli._data import Dataset
from fcca.cli._found import Distillation, InMemory, LeftOut, Scores, notes_on_unknown
from fcca.cli._models import fitting, known_columns, model_from_file, target_model
from fcca.cli._options import DistillSettings
from fcca.cli._rules import read_rules
from fcca.cli._split import Split
from fcca.constraints import Constraint, compile_rules
from fcca.discretizers import FCCADiscretizer
from fcca.discretizers._run import OutOfTimeError
from fcca.exceptions import InvalidInputError, UnverifiedCounterfactualWarning
from fcca.models import decide_at, read_model
from fcca.models._labels import OpenColumn, labelled
from fcca.selection import OptimalSelection
from fcca.trees import OptimalTreeClassifier

RowNumbers = NDArray[np.int64]
T = TypeVar("T")

LARGEST_NUMBER = 1e300
OPTION_OF_LIMIT = {"time_limit": "--time-limit", "time_limit_per_point": "--time-limit-per-row"}


@dataclass(frozen=True)
class Learned:
    """A fitted black box, and what it was fitted on."""

    target: Any
    X: pd.DataFrame
    notes: tuple[str, ...]
    seconds: float

    def columns(self) -> Columns | None:
        """What the black box knows of its columns, their labels as they are in the rows that it was fitted on."""
        return labelled(read_model(self.target), self.X).columns


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
    check_decision(data.class_counts(), settings)
    left_out, sample = LeftOut(), None
    if settings.model_file is None:
        split = split_of(data, settings)
        training_rows, sample = split.training_rows(), split.sample(settings.sample)
        if sample is None:
            data = data.guessed(settings.categorical)
            learned = learned_on(data.X, training_rows, data.y, data.notes, settings, rules)
        else:
            learned = learned_on_sample(data.X.iloc[sample], data.y[sample], settings, rules, from_text=data.from_text)
            known = learned.columns()
            data = replace(data, X=as_known(data.X[list(learned.X.columns)], known))
            check_range(data.X)
            training_rows = _answered(known, data.X, training_rows, left_out)
        target = learned.target
        X = training_table(data.X.iloc[training_rows])
    else:
        learned = loaded_from(settings.model_file)
        names = [str(name) for name in data.X.columns]
        known = known_columns(names, data.class_counts(), data.label, data.name, learned.target, settings.model_file)
        data = data.as_known(known)
        test = None if test is None else fitting(test, learned.target, settings.model_file)
        check_range(data.X)
        split = split_of(data, settings)
        training_rows = _answered(with_any_label(known), data.X, split.training_rows(), left_out)
        X = training_table(data.X.iloc[training_rows])
        check_rules(rules, X)
        target = decided(learned.target, settings)
    y = data.y[training_rows]
    with collected_notes() as notes, limits_as_options():
        classifier = new_classifier(target, settings, rules)
        with step(f"Thresholds and tree{'; --time-limit bounds them' if settings.time_limit is None else ''}"):
            _, fcca_seconds = timed(lambda: with_selection(classifier, settings, X, y).fit(X, y))

    held_out = data if test is None else test
    held_out_rows = split.held_out_rows() if test is None else np.arange(len(test.y))
    is_known = known_rows(classifier.discretizer_.thresholds_.columns, held_out.X.iloc[held_out_rows])
    unknown = LeftOut()
    unknown.add(held_out_rows[~is_known])
    tested = (held_out.X.iloc[held_out_rows[is_known]], held_out.y[held_out_rows[is_known]]) if is_known.any() else None
    with step("Rates"):
        commonest = heaviest_label(y)
        (training, held_out_scores), rates_seconds = timed(
            lambda: (
                _scores(classifier, data.X.iloc[training_rows], y, commonest),
                None if tested is None else _scores(classifier, *tested, commonest),
            )
        )
    found = classifier.discretizer_.counterfactuals_
    return Distillation(
        data=data.facts(),
        model_file=settings.model_file,
        in_memory=InMemory(data.X, data.y, settings.categorical, training_rows, tested),
        sample=None if sample is None else len(sample),
        n_to_learn_from=split.n_training,
        target=target,
        classifier=classifier,
        median_cost=float(np.median(found.cost[found.is_status("optimal")])),
        commonest=commonest,
        training=training,
        held_out=held_out_scores,
        seconds={"target": learned.seconds, "fcca": fcca_seconds, "rates": rates_seconds},
        notes=(
            *learned.notes,
            *(note for note in notes if note not in learned.notes),
            *notes_on_unknown(left_out, unknown, by=unknown_to(settings, sample)),
        ),
    )


# --- the black box ------------------------------------------------------------------------------------------------------


def loaded_from(file: Path) -> Learned:
    """The black box in a file."""
    with step("Loading the black box"):
        target, seconds = timed(lambda: model_from_file(file))
    return Learned(target, pd.DataFrame(), (), seconds)


def learned_on_sample(
    frame: pd.DataFrame,
    y: NDArray[np.generic],
    settings: DistillSettings,
    rules: tuple[Constraint, ...],
    *,
    from_text: bool,
) -> Learned:
    """A black box fitted on a sample of the rows to learn from, which also tells what the columns are.

    Parameters
    ----------
    frame : DataFrame
        The sample as it was read; its index tells the rows of the file.
    y : ndarray
    settings : DistillSettings
    rules : tuple of Constraint
    from_text : bool
        Whether the file has no types of its own.
    """
    if len(np.unique(y)) == 1:
        raise InvalidInputError(f"All {len(y):,} rows of the sample are of class {y[0]!s}. Take a larger --sample.")
    table, notes = guessed(frame, settings.categorical, from_text=from_text, of=" of the sample")
    return learned_on(table, np.arange(len(y)), y, notes, settings, rules)


def learned_on(
    table: pd.DataFrame,
    rows: RowNumbers,
    y: NDArray[np.generic],
    table_notes: tuple[str, ...],
    settings: DistillSettings,
    rules: tuple[Constraint, ...],
) -> Learned:
    """A black box fitted on rows of a table of numbers and categories.

    Parameters
    ----------
    table : DataFrame
    rows : ndarray
        Which of its rows to learn from.
    y : ndarray
        Of all of them.
    table_notes : tuple of str
        What to know about the table.
    settings : DistillSettings
    rules : tuple of Constraint
        Checked before anything is fitted.
    """
    check_range(table)
    X = training_table(table.iloc[rows])
    check_rules(rules, X)
    with collected_notes() as notes, step("Fitting the black box"):
        target, seconds = timed(lambda: decided(_fitted(settings, X, y[rows]), settings))
    return Learned(target, X, (*table_notes, *notes), seconds)


def _fitted(settings: DistillSettings, X: pd.DataFrame, y: NDArray[np.generic]) -> Any:
    assert settings.model is not None
    numbers = _numbers(X)
    widths = (numbers.max() - numbers.min()).to_numpy()
    return target_model(settings.model, settings.seed, Columns.of_table(X), widths).fit(X, y)


def decided(target: Any, settings: DistillSettings) -> Any:
    """The black box, deciding where it was told to."""
    return target if settings.decision_threshold is None else decide_at(target, settings.decision_threshold)


def unknown_to(settings: DistillSettings, sample: RowNumbers | None) -> str:
    """What it is about categories and gaps that a black box cannot answer."""
    if sample is None and settings.model_file is None:
        return "that no training row has in its column"
    return "that the black box does not know"


def with_any_label(columns: Columns | None) -> Columns | None:
    """The columns, for rows that are to tell the labels of some of them that the black box has not kept."""
    if columns is None:
        return None
    return Columns(
        tuple(
            Column(column.name, missing=column.missing, ignored=column.ignored) if isinstance(column, OpenColumn) else column
            for column in columns
        )
    )


def _answered(known: Columns | None, X: pd.DataFrame, rows: RowNumbers, left_out: LeftOut) -> RowNumbers:
    """Those of some rows that the black box can answer, in the order of the file; the others are left out."""
    rows = np.sort(rows)
    is_known = known_rows(known, X.iloc[rows])
    left_out.add(rows[~is_known])
    if not is_known.any():
        raise nothing_known()
    return rows[is_known]


def nothing_known() -> InvalidInputError:
    """What to say where the black box can answer no row."""
    return InvalidInputError("The black box knows the categories and gaps of none of the rows to learn from.")


# --- thresholds and tree ------------------------------------------------------------------------------------------------


def split_of(data: Dataset, settings: DistillSettings) -> Split:
    """Rows to train on and rows to hold out."""
    return Split.of(data.y, data.class_counts(), data.label, settings.test_size, settings.seed)


def new_classifier(target: Any, settings: DistillSettings, rules: tuple[Constraint, ...]) -> FCCAClassifier:
    """A classifier around a fitted black box, itself not fitted."""
    return FCCAClassifier(
        _discretizer(target, settings, rules),
        OptimalTreeClassifier(
            max_depth=settings.depth, regularization=settings.regularization, time_limit=settings.time_limit
        ),
        fit_to=str(settings.fit_to),
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


def with_selection(
    classifier: FCCAClassifier,
    settings: DistillSettings,
    X: pd.DataFrame | None = None,
    y: NDArray[np.generic] | None = None,
) -> FCCAClassifier:
    """The classifier, told how many thresholds to choose, where this was asked for; ``auto`` needs the rows."""
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
    discretizer = classifier.discretizer_
    return Scores.of(discretizer.transform(X), y, discretizer.predict_target(X), classifier.predict(X), commonest)


def training_table(X: pd.DataFrame) -> pd.DataFrame:
    """Rows to train on, without categories that none of them has."""
    listed = {name: X[name].cat.remove_unused_categories() for name in X.columns if X[name].dtype == "category"}
    return X.assign(**listed) if listed else X


def _numbers(X: pd.DataFrame) -> pd.DataFrame:
    return X.select_dtypes("float64")


def check_range(X: pd.DataFrame) -> None:
    """Refuse numbers so large that the difference of two of them overflows."""
    largest = _numbers(X).abs().max()
    if largest.max() > LARGEST_NUMBER:
        raise InvalidInputError(
            f"Column {largest.idxmax()!r} holds numbers as large as {largest.max():g}. Expected numbers up to "
            f"{LARGEST_NUMBER:g}: rescale the column."
        )


def check_rules(rules: tuple[Constraint, ...], X: pd.DataFrame) -> None:
    """Refuse rules on columns that are not there, or that contradict each other, before anything is fitted."""
    if not rules:
        return
    columns = Columns.of_table(X)
    table = columns.encode(X)
    is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in table.T])
    compile_rules(rules, columns, np.nanmin(table, axis=0), np.nanmax(table, axis=0), table[:0], is_binary=is_binary)


def check_decision(counts: dict[Any, int], settings: DistillSettings) -> None:
    """Refuse a probability to decide at where there are more than two classes."""
    if len(counts) > 2 and settings.decision_threshold is not None:
        raise InvalidInputError(f"There are {len(counts)} classes; --decision-threshold is for two. Leave it out.")


@contextmanager
def limits_as_options() -> Iterator[None]:
    """Errors that tell which limit of time to raise, by the names of the options."""
    try:
        yield
    except OutOfTimeError as error:
        raise OutOfTimeError(error.what, *(OPTION_OF_LIMIT[name] for name in error.limits)) from error


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and the seconds that it took."""
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
