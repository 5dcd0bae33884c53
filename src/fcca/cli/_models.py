"""Black boxes of the command line: created by name, or loaded from a file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fcca.classifier import FCCAClassifier
from fcca.cli._checks import not_installed
from fcca.cli._column_types import listed
from fcca.cli._options import DEPTH, FOREST_DEPTH, MODEL_FILES, ROUNDS, TargetModel
from fcca.cli._read_table import ModelColumns
from fcca.discretizers import BLACK_BOX_DEPTH
from fcca.exceptions import InvalidInputError
from fcca.export import DistilledTree, holds_predictor, load, size_in_words
from fcca.models import (
    DecidedAt,
    LightGBMBooster,
    TableCoder,
    TreeEnsemble,
    load_model,
    prepared,
    read_model,
    unwrapped,
)
from fcca.scorecard import FCCAScorecard, Scorecard, as_scorecard
from fcca.tables import Columns, PowerOfTwoScaler
from fcca.trees import OptimalTreeClassifier, TreeStructure

SMALLEST_RANGE = 1e-20
SMALL_TREES = (DistilledTree, FCCAClassifier, OptimalTreeClassifier)
SCORECARDS = (FCCAScorecard, Scorecard)

# --- by name ------------------------------------------------------------------------------------------------------------


def target_model(model: TargetModel, random_state: int, X: pd.DataFrame, preset: str | None = None) -> Any:
    """Return the unfitted classifier that ``--model`` names, with its preprocessing.

    Parameters
    ----------
    model : TargetModel
    random_state : int
    X : DataFrame
        The rows that the classifier will be fitted on. Their types and ranges determine the preprocessing.
    preset : str, optional
        Value of ``--preset``, which sets the depth of the trees of ``gb``.
    """
    columns = Columns.of_table(X)
    classifier = MAKERS[model](random_state)
    if model is TargetModel.gb:
        classifier.set_params(max_depth=BLACK_BOX_DEPTH[preset])
    if model.is_linear:
        return prepared(make_pipeline(PowerOfTwoScaler(), StandardScaler(), classifier), columns)
    if columns.has_categories and model.takes_categories and _has_usual_ranges(X):
        return prepared(classifier, columns)  # without a scaler, so that the model knows the categorical columns
    return prepared(make_pipeline(PowerOfTwoScaler(), classifier), columns)


def _has_usual_ranges(X: pd.DataFrame) -> bool:
    """Return True if the ranges of all numeric columns suit 32-bit floats."""
    numbers = X.select_dtypes("float64")
    ranges = numbers.max() - numbers.min()
    return bool(((ranges == 0) | ranges.between(SMALLEST_RANGE, 1 / SMALLEST_RANGE)).all())


def _xgboost(random_state: int) -> Any:
    _library("xgboost")
    from fcca.cli._xgboost import XGBClassifier

    return XGBClassifier(n_estimators=ROUNDS, max_depth=DEPTH, random_state=random_state, n_jobs=1)


def _lightgbm(random_state: int) -> Any:
    return _library("lightgbm").LGBMClassifier(
        n_estimators=ROUNDS,
        max_depth=DEPTH,
        random_state=random_state,
        n_jobs=1,
        deterministic=True,
        force_col_wise=True,
        verbosity=-1,
    )


def _catboost(random_state: int) -> Any:
    return _library("catboost").CatBoostClassifier(
        iterations=ROUNDS, depth=DEPTH, random_seed=random_state, thread_count=1, allow_writing_files=False, verbose=False
    )


MAKERS: dict[TargetModel, Callable[[int], Any]] = {
    TargetModel.gb: lambda seed: GradientBoostingClassifier(n_estimators=ROUNDS, random_state=seed),
    TargetModel.rf: lambda seed: RandomForestClassifier(n_estimators=ROUNDS, max_depth=FOREST_DEPTH, random_state=seed),
    TargetModel.hgb: lambda seed: HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=DEPTH, early_stopping=False, random_state=seed
    ),
    TargetModel.xgb: _xgboost,
    TargetModel.lgbm: _lightgbm,
    TargetModel.catboost: _catboost,
    TargetModel.svm: lambda seed: LinearSVC(random_state=seed, max_iter=10_000),
    TargetModel.logistic: lambda seed: LogisticRegression(max_iter=1_000),
}


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise not_installed(name) from error


# --- from files ---------------------------------------------------------------------------------------------------------


def model_from_file(path: Path, *, trusted: bool) -> Any:
    """Load a fitted classifier from a file, and check that its type is supported.

    Parameters
    ----------
    path : Path
    trusted : bool
        If False, a subprocess loads the file first, because a damaged file may end the process.
    """
    classifier = load_model(path, trusted=trusted)
    read_model(classifier)
    return classifier


def tree_or_model_from_file(path: Path, *, trusted: bool) -> Any:
    """Load a small tree of fcca or a fitted classifier from a file, and check that its type is supported.

    Parameters
    ----------
    path : Path
    trusted : bool
        As in :func:`model_from_file`.
    """
    found = predictor_from_file(path, trusted=trusted)
    if isinstance(found, SCORECARDS):
        raise InvalidInputError(f"{path} holds a {type(found).__name__}. Expected a tree or a fitted model: {MODEL_FILES}.")
    return found


def predictor_from_file(path: Path, *, trusted: bool) -> Any:
    """Load a small tree, a scorecard or a fitted classifier from a file, and check that its type is supported.

    The parameters are those of :func:`tree_or_model_from_file`.
    """
    if not holds_predictor(path):
        return model_from_file(path, trusted=trusted)
    found = load(path, trusted=trusted)
    if not isinstance(found, (*SMALL_TREES, *SCORECARDS)):
        raise InvalidInputError(
            f"{path} holds a {type(found).__name__}. Expected a tree, a scorecard or a fitted model: {MODEL_FILES}."
        )
    if isinstance(found, SMALL_TREES):
        read_model(found)
    return found


def structure_of(classifier: Any) -> TreeStructure | None:
    """Return the nodes of a small tree of fcca; None for all other classifiers."""
    if isinstance(classifier, DistilledTree):
        return classifier.structure
    if isinstance(classifier, FCCAClassifier):
        return classifier.structure_
    return classifier.tree_ if isinstance(classifier, OptimalTreeClassifier) else None


def columns_of(classifier: Any, source: Path) -> ModelColumns:
    """Return the columns that a classifier from the file ``source`` was fitted on."""
    names = getattr(classifier, "feature_names_in_", None)
    known = None if names is None else [str(name) for name in names]
    if isinstance(classifier, SCORECARDS):
        columns = as_scorecard(classifier).tested_columns
        return ModelColumns(source.name, known, len(columns), columns)
    model = read_model(classifier)
    return ModelColumns(source.name, known, model.n_features, model.columns)


def known_columns(
    names: list[str], labels: Collection[Any], label: str, table: str, classifier: Any, source: Path
) -> Columns | None:
    """Check that a table fits a classifier, and return the classifier's columns.

    The table must have the same columns in the same order, and at least one class of the classifier.

    Parameters
    ----------
    names : list of str
        Feature columns of the table.
    labels : collection
        Classes of the table.
    label, table : str
        Names of the label column and of the table, for error messages.
    classifier : fitted classifier
    source : Path
        File of the classifier, for error messages.
    """
    known = columns_of(classifier, source)
    known.check(names, table)
    classes = classifier.classes_.tolist()
    if not set(classes) & set(labels):
        raise InvalidInputError(
            f"The model in {source.name} predicts {listed(classes)}, but the label column {label!r} of {table} has "
            f"{listed(list(labels))}. Use the labels of the model, or choose another column with --label."
        )
    return known.columns


# --- descriptions -------------------------------------------------------------------------------------------------------


def described(classifier: Any) -> str:
    """Describe a fitted classifier: its type, size and decision threshold."""
    if isinstance(classifier, DecidedAt):
        return f"{described(classifier.estimator)}, decision threshold {classifier.threshold:g}"
    size = _size(classifier)
    return ", ".join([_name(classifier), size] if size else [_name(classifier)])


def _name(classifier: Any) -> str:
    if isinstance(classifier, FrozenEstimator):
        return _name(classifier.estimator)
    if isinstance(classifier, Pipeline):
        if isinstance(classifier.steps[0][1], TableCoder):  # a pipeline made by fcca
            return _name(classifier.steps[-1][1])
        return " + ".join(_name(step) for _, step in classifier.steps if not isinstance(step, PowerOfTwoScaler))
    return type(classifier).__name__


def _size(classifier: Any) -> str:
    """Describe the number and depth of the trees of a model, or the number of bins of a scorecard.

    The text is empty for other models.
    """
    if isinstance(classifier, SCORECARDS):
        card = as_scorecard(classifier)
        return f"{len(card.table)} bins of {len(card.used)} columns"
    if (nodes := structure_of(classifier)) is not None:
        return size_in_words(nodes)
    model = read_model(classifier)
    if not isinstance(model, TreeEnsemble) or type(unwrapped(classifier)).__name__ == "ExplainableBoostingClassifier":
        return ""
    depth, level = 0, model.roots
    while len(inner := level[model.feature[level] >= 0]):
        depth, level = depth + 1, np.concatenate([model.left[inner], model.right[inner]])
    n_trees = len(model.roots)
    if n_trees == 1:
        return f"depth {depth}"
    return f"{n_trees:,} stumps" if depth == 1 else f"{n_trees:,} trees of depth up to {depth}"


def decision(classifier: Any, name: Callable[[Any], Any] = lambda label: label) -> str | None:
    """Describe the decision threshold of a classifier; None for the usual threshold.

    The usual threshold is 0.5 for probabilities, and 0 for a decision function. ``name`` returns the name of a class.
    """
    if isinstance(classifier, DecidedAt):
        return _decision(name(classifier.classes_.tolist()[1]), "probability", classifier.threshold)
    if isinstance(classifier, FixedThresholdClassifier | TunedThresholdClassifierCV):
        tuned = isinstance(classifier, TunedThresholdClassifierCV)
        threshold = classifier.best_threshold_ if tuned else classifier.threshold
        if isinstance(threshold, str):
            return None
        positive = classifier._curve_scorer._get_pos_label() if tuned else classifier.pos_label
        method = classifier.response_method
        by_probability = method == "predict_proba" or (method == "auto" and hasattr(classifier, "predict_proba"))
        label = classifier.classes_.tolist()[1] if positive is None else positive
        return _decision(name(label), "probability" if by_probability else "decision function", threshold)
    if isinstance(classifier, FrozenEstimator):
        return decision(classifier.estimator, name)
    if isinstance(classifier, Pipeline):
        return decision(classifier.steps[-1][1], name)
    inner = getattr(classifier, "best_estimator_", None)
    return None if inner is None else decision(inner, name)


def _decision(label: Any, of: str, threshold: float) -> str | None:
    usual = 0.5 if of == "probability" else 0.0
    return None if threshold == usual else f"{label} if its {of} is at least {threshold:.4g}, instead of {usual:g}"


def notes_on_labels(classifier: Any, source: Path) -> list[str]:
    """Return a note if the model file does not store class labels.

    LightGBM files do not store them.
    """
    if not isinstance(classifier, LightGBMBooster):
        return []
    return [
        f"{source.name} is a LightGBM file, which does not store labels. Its classes are called "
        f"{listed(classifier.classes_.tolist())}, in the sorted order of the training labels. An LGBMClassifier saved as "
        ".skops keeps its labels."
    ]
