"""The steps of ``fcca distill``: black box, thresholds, tree, figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from fcca.classifier import TREES, FCCAClassifier
from fcca.cli._black_box import BlackBox, Rules, check_rules, decided, fitted_black_box
from fcca.cli._checks import check_special_columns, class_weights, margin_of
from fcca.cli._class_names import ClassNames
from fcca.cli._distillation_result import Distillation, Scores
from fcca.cli._models import known_columns, model_from_file
from fcca.cli._notes import collected_notes, notes_on_unknown
from fcca.cli._options import DistillSettings
from fcca.cli._row_sources import MemorySource, ParquetSource, TableLabels
from fcca.cli._rules_option import read_rules
from fcca.cli._split import Split
from fcca.cli._table_labels import check_classes, check_learned
from fcca.discretizers import BinaryRows, FCCADiscretizer, OutOfTimeError
from fcca.exceptions import InvalidInputError
from fcca.quality import Comparison, LabelledRows, Quality, TriedTree, tried_trees
from fcca.trees import OptimalTreeClassifier
from fcca.utils import close_to, step

Source = MemorySource | ParquetSource

SMALL_TREE = 2  # other settings are tried for trees of at most this many leaves
OPTION_OF_LIMIT = {"time_limit": "--time-limit", "time_limit_per_row": "--time-limit-per-row"}


def distillation(source: Source, settings: DistillSettings) -> Distillation:
    """Fit the black box, find its thresholds, and grow and evaluate the tree.

    Parameters
    ----------
    source : Source
        The table, which is in memory or read in chunks.
    settings : DistillSettings
    """
    rules = read_rules(settings.rules)
    loaded = _loaded(source, settings)
    source.check_rules(rules, settings, loaded)
    _check_scale(source, settings)
    labels = source.labels(settings)
    classes = list(labels.counts if loaded is None else dict.fromkeys([*labels.counts, *loaded.classes_.tolist()]))
    names = ClassNames(settings.class_names, classes, f"the label column {source.label!r}")
    split = _split(source, labels, settings)
    tree = _new_tree(settings, labels.counts, source.label, names)
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
        classifier = source.fit(_new_classifier(black_box.classifier, tree, settings, rules), settings)
    with step("Rates"), source.stopwatch.time("rates"):
        training, held_out = source.binary_rows(classifier)
        comparison = _comparison(classifier, (training, held_out), source.encoded_rows(classifier))
        judged = training if held_out is None else held_out
        quality = comparison.quality(classifier.tree_, judged.B)
        advice = _advice(comparison, quality, training, held_out)
        commonest = quality.commonest_class
        scores = Scores.of(training, classifier, commonest)
        held_out_scores = None if held_out is None else Scores.of(held_out, classifier, commonest)
    quality = replace(quality, classes=names.all(quality.classes), commonest_class=names.name(commonest))
    data = source.facts(labels.counts)
    data = replace(data, class_counts={names.name(label): n for label, n in data.class_counts.items()})
    is_known = sample is None and loaded is None
    unknown = "that no training row has in the same column" if is_known else "that the black box does not know"
    return Distillation(
        data=data,
        model_file=settings.model_file,
        in_memory=source.rows_in_memory,
        sample=None if sample is None else len(sample),
        n_to_learn_from=split.n_training,
        target=black_box.classifier,
        classifier=classifier,
        median_cost=source.median_cost,
        quality=quality,
        advice=advice,
        training=scores,
        held_out=held_out_scores,
        stopwatch=source.stopwatch,
        notes=(
            *black_box.notes,
            *(note for note in notes if note not in black_box.notes),
            *notes_on_unknown(*source.unknown_rows(), by=unknown),
        ),
        class_names=names,
    )


def _loaded(source: Source, settings: DistillSettings) -> Any:
    """Load the black box from the file of ``--model-file``; None without this option."""
    if settings.model_file is None:
        return None
    with step("Loading the black box"), source.stopwatch.time("target"):
        return model_from_file(settings.model_file, trusted=settings.trust_model_file)


def _check_scale(source: Source, settings: DistillSettings) -> None:
    """Check that the columns that ``--scale`` and ``--special`` name exist in the table."""
    check_special_columns(settings.distances().get("special_values"), source.names)
    units = settings.distances().get("scale", "range")
    unknown = [] if isinstance(units, str) else [name for name in units if name not in source.names]
    if unknown:
        raise InvalidInputError(
            f"--scale has a unit for the unknown column {unknown[0]!r}. {close_to(unknown[0], source.names)}"
        )


def _split(source: Source, labels: TableLabels, settings: DistillSettings) -> Split:
    """Split the table into training and held-out rows.

    Raise an error if the table has too few rows or classes, or if a class has no training row.
    """
    counts, test_size, random_state = labels.counts, settings.test_size, settings.random_state
    check_classes(counts, source.label)
    if len(counts) > 2 and settings.decision_threshold is not None:
        raise InvalidInputError(
            f"--decision-threshold works only for two classes, but there are {len(counts)} classes. Omit it."
        )
    split = Split.of(labels.y, counts, source.label, test_size, random_state)
    learned = labels.learned if labels.y is None else np.unique(labels.y[split.training_rows()]).tolist()
    check_learned(counts, learned, source.label, test_size, random_state)
    return split


def _known(source: Source, labels: TableLabels, loaded: Any, settings: DistillSettings) -> BlackBox:
    """Check that a loaded black box fits the table, and return it.

    The columns must be the same, and the black box must know at least one class of the table.
    """
    assert settings.model_file is not None
    columns = known_columns(source.names, labels.counts, source.label, source.name, loaded, settings.model_file)
    return BlackBox(decided(loaded, settings), source.names, loaded_columns=columns)


def _new_tree(settings: DistillSettings, counts: dict[Any, int], label: str, names: ClassNames) -> OptimalTreeClassifier:
    """Return an unfitted tree whose parameters come from the preset and the options.

    ``counts`` has the number of rows of each class. ``label`` is the name of the label column, for error messages, and
    ``names`` are the names of the classes.
    """
    given = TREES[settings.preset] | settings.tree_parameters()
    if settings.class_weight is not None:
        weights = class_weights("--class-weight", settings.class_weight)
        given["class_weight"] = weights if isinstance(weights, str) else _weights_of_labels(weights, counts, label, names)
    return OptimalTreeClassifier(**given)


def _weights_of_labels(weights: dict[str, float], counts: dict[Any, int], label: str, names: ClassNames) -> dict[Any, float]:
    """Return the weight of every class of the table.

    The keys of ``weights`` are class names as text. The keys of the result are labels of the table. A class without a given
    weight gets weight 1.
    """
    known = {str(names.name(of_class)): of_class for of_class in counts}
    unknown = [name for name in weights if name not in known]
    if unknown:
        raise InvalidInputError(
            f"--class-weight has the unknown class {unknown[0]!r} of {label!r}. {close_to(unknown[0], known)}"
        )
    return {of_class: weights.get(name, 1.0) for name, of_class in known.items()}


def _new_classifier(black_box: Any, tree: OptimalTreeClassifier, settings: DistillSettings, rules: Rules) -> FCCAClassifier:
    """Return an unfitted ``FCCAClassifier`` that explains a fitted black box.

    Its parameters come from the options. The black box is not fitted again, because it is wrapped in scikit-learn's
    ``FrozenEstimator``.
    """
    discretizer = FCCADiscretizer(
        FrozenEstimator(black_box),
        preset=None if settings.preset is None else str(settings.preset),
        p0=settings.p0,
        p1=settings.p1,
        lambda0=settings.lambda0,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        **settings.distances(),
        Q=settings.q,
        max_rows=settings.rows_to_search(),
        margin=margin_of(settings.margin),
        merge_tolerance=settings.tolerance(),
        round_thresholds=settings.round_thresholds,
        time_limit=settings.time_limit,
        time_limit_per_row=settings.time_limit_per_row,
        relative_gap=settings.relative_gap,
        constraints=rules or None,
        n_jobs=settings.jobs,
    )
    fit_to = None if settings.fit_to is None else str(settings.fit_to)
    return FCCAClassifier(discretizer, tree, fit_to=fit_to)


def _comparison(
    classifier: FCCAClassifier,
    rows: tuple[BinaryRows, BinaryRows | None],
    tables: tuple[NDArray[np.float64] | None, NDArray[np.float64] | None],
) -> Comparison:
    """Prepare the comparison of trees with CART and the black box.

    Parameters
    ----------
    classifier : FCCAClassifier
        A fitted classifier.
    rows : tuple
        Training rows and held-out rows as binary columns.
    tables : tuple
        The same rows as numbers and codes. None if they are not in memory.
    """
    training, held_out = (
        None
        if each is None
        else LabelledRows(each.y, each.predictions, None if each.n_rows is None else each.n_rows.astype(np.float64), table)
        for each, table in zip(rows, tables, strict=True)
    )
    assert training is not None
    return Comparison(classifier, training, held_out)


def _advice(
    comparison: Comparison, quality: Quality, training: BinaryRows, held_out: BinaryRows | None
) -> list[TriedTree] | None:
    """Try other settings if the tree is small or useless.

    A small tree has at most ``SMALL_TREE`` leaves and makes errors. A useless tree is no better than always predicting the
    most frequent class.

    Return the trees that are better than the tree with the current settings. Return None if trees cannot be judged,
    because no rows are held out and cross-validation is impossible.
    """
    is_small = quality.leaves <= SMALL_TREE and quality.tree.accuracy < 1
    if not (is_small or quality.is_useless):
        return []
    with step("Other settings"):
        return tried_trees(comparison, training, held_out)


@contextmanager
def _limits_as_options() -> Iterator[None]:
    """Name the command line options, not the Python parameters, in errors about time limits."""
    try:
        yield
    except OutOfTimeError as error:
        raise OutOfTimeError(error.what, *(OPTION_OF_LIMIT[name] for name in error.limits)) from error
