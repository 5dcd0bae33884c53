"""The steps of ``fcca distill``: a black box, its thresholds, and a small tree on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from fcca.classifier import FCCAClassifier
from fcca.cli._black_box import BlackBox, Rules, check_rules, decided, fitted_black_box
from fcca.cli._columns import listed
from fcca.cli._data import check_classes, check_learned
from fcca.cli._distillation_result import Distillation, Scores
from fcca.cli._models import known_columns, model_from_file
from fcca.cli._notes import collected_notes, notes_on_unknown
from fcca.cli._options import DistillSettings
from fcca.cli._rules import read_rules
from fcca.cli._sources import MemorySource, ParquetSource, TableLabels
from fcca.cli._split import Split
from fcca.discretizers import BinaryRows, FCCADiscretizer, OutOfTimeError
from fcca.exceptions import InvalidInputError
from fcca.tables import heaviest_label
from fcca.trees import OptimalTreeClassifier
from fcca.utils import step

Source = MemorySource | ParquetSource

OPTION_OF_LIMIT = {"time_limit": "--time-limit", "time_limit_per_row": "--time-limit-per-row"}


def distillation(source: Source, settings: DistillSettings) -> Distillation:
    """Fit the black box, find its thresholds and grow the best tree on them.

    Parameters
    ----------
    source : Source
        The table, in memory or read in pieces.
    settings : DistillSettings
    """
    rules = read_rules(settings.rules)
    loaded = _loaded(source, settings)
    source.check_rules(rules, settings, loaded)
    _check_scale(source, settings)
    labels = source.labels(settings)
    split = _split(source, labels, settings)
    sample = None
    if loaded is None:
        sample = split.sample(settings.sample or source.default_sample)
        rows = split.training_rows() if sample is None else None
        black_box = fitted_black_box(
            *source.read(sample), rows, settings, rules, from_text=source.from_text, stopwatch=source.stopwatch
        )
    else:
        black_box = _known(source, labels, loaded, settings)
    source.prepare(black_box, split, settings)
    if loaded is not None and rules:
        check_rules(rules, source.example())
    with collected_notes() as notes, _limits_as_options():
        classifier = source.fit(_new_classifier(black_box.classifier, settings, rules), settings)
    with step("Rates"), source.stopwatch.time("rates"):
        training, held_out = source.binary_rows(classifier)
        commonest = _commonest(training)
        scores = Scores.of(training, classifier, commonest)
        held_out_scores = None if held_out is None else Scores.of(held_out, classifier, commonest)
    is_known = sample is None and loaded is None
    unknown = "that no training row has in its column" if is_known else "that the black box does not know"
    return Distillation(
        data=source.facts(labels.counts),
        model_file=settings.model_file,
        in_memory=source.rows_in_memory,
        sample=None if sample is None else len(sample),
        n_to_learn_from=split.n_training,
        target=black_box.classifier,
        classifier=classifier,
        median_cost=source.median_cost,
        commonest=commonest,
        training=scores,
        held_out=held_out_scores,
        stopwatch=source.stopwatch,
        notes=(
            *black_box.notes,
            *(note for note in notes if note not in black_box.notes),
            *notes_on_unknown(*source.left_out(), by=unknown),
        ),
    )


def _loaded(source: Source, settings: DistillSettings) -> Any:
    """The black box in a file; None where it is to be fitted."""
    if settings.model_file is None:
        return None
    with step("Loading the black box"), source.stopwatch.time("target"):
        return model_from_file(settings.model_file, trusted=settings.trust_model_file)


def _check_scale(source: Source, settings: DistillSettings) -> None:
    """Check that the units of --scale are of columns of the table."""
    units = settings.distances().get("scale", "range")
    unknown = [] if isinstance(units, str) else [name for name in units if name not in source.names]
    if unknown:
        raise InvalidInputError(f"--scale gives a unit of {unknown[0]!r}, but the columns are {listed(source.names)}.")


def _split(source: Source, labels: TableLabels, settings: DistillSettings) -> Split:
    """Rows to train on and rows to hold out, checked."""
    counts, test_size, random_state = labels.counts, settings.test_size, settings.random_state
    check_classes(counts, source.label)
    if len(counts) > 2 and settings.decision_threshold is not None:
        raise InvalidInputError(f"There are {len(counts)} classes; --decision-threshold is for two. Leave it out.")
    split = Split.of(labels.y, counts, source.label, test_size, random_state)
    learned = labels.learned if labels.y is None else np.unique(labels.y[split.training_rows()]).tolist()
    check_learned(counts, learned, source.label, test_size, random_state)
    return split


def _known(source: Source, labels: TableLabels, loaded: Any, settings: DistillSettings) -> BlackBox:
    """A loaded black box, which knows the columns of the table."""
    assert settings.model_file is not None
    columns = known_columns(source.names, labels.counts, source.label, source.name, loaded, settings.model_file)
    return BlackBox(decided(loaded, settings), source.names, loaded_columns=columns)


def _new_classifier(black_box: Any, settings: DistillSettings, rules: Rules) -> FCCAClassifier:
    """A classifier around a fitted black box, itself not fitted."""
    discretizer = FCCADiscretizer(
        FrozenEstimator(black_box),
        p0=settings.p0,
        p1=settings.p1,
        lambda0=settings.lambda0,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        **settings.distances(),
        Q=settings.q,
        margin=settings.margin,
        merge_tolerance=settings.tolerance(),
        round_thresholds=settings.round_thresholds,
        time_limit=settings.time_limit,
        time_limit_per_row=settings.time_limit_per_row,
        constraints=rules or None,
        n_jobs=settings.jobs,
    )
    tree = OptimalTreeClassifier(
        max_depth=settings.depth, regularization=settings.regularization, time_limit=settings.time_limit
    )
    return FCCAClassifier(discretizer, tree, fit_to=str(settings.fit_to))


def _commonest(rows: BinaryRows) -> Any:
    """The class of most rows."""
    return heaviest_label(rows.y, None if rows.n_rows is None else rows.n_rows.astype(np.float64))


@contextmanager
def _limits_as_options() -> Iterator[None]:
    """Errors that name the time limits as options."""
    try:
        yield
    except OutOfTimeError as error:
        raise OutOfTimeError(error.what, *(OPTION_OF_LIMIT[name] for name in error.limits)) from error
