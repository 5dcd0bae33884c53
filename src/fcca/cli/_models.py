"""The classifiers of the command line: fitted by name, or loaded from a file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fcca.cli._checks import not_installed
from fcca.cli._columns import listed
from fcca.cli._data import Dataset, check_order
from fcca.cli._options import DEPTH, FOREST_DEPTH, ROUNDS, TargetModel
from fcca.exceptions import InvalidInputError
from fcca.models import DecidedAt, LightGBMBooster, TableCoder, TreeEnsemble, prepared, read_model, unwrapped
from fcca.tables import Columns, PowerOfTwoScaler, check_columns

Floats = NDArray[np.float64]

SMALLEST_WIDTH = 1e-20

# --- by name ------------------------------------------------------------------------------------------------------------


def target_model(model: TargetModel, random_state: int, columns: Columns | None = None, widths: Floats | None = None) -> Any:
    """The classifier of that name, unfitted; the same for the same random_state.

    Parameters
    ----------
    model : TargetModel
    random_state : int
    columns : Columns, optional
        What the training table is made of; None for plain numbers.
    widths : ndarray, optional
        The ranges of its columns of numbers.
    """
    if model.is_linear:
        estimator = make_pipeline(PowerOfTwoScaler(), StandardScaler(), MAKERS[model](random_state))
    elif columns is not None and columns.has_categories and model.takes_categories and _are_usual(widths):
        estimator = MAKERS[model](random_state)  # behind a scaler it could not be told which columns hold categories
    else:
        estimator = make_pipeline(PowerOfTwoScaler(), MAKERS[model](random_state))
    return estimator if columns is None else prepared(estimator, columns)


def _are_usual(widths: Floats | None) -> bool:
    """Whether the libraries' float32 tells the values of columns with such ranges apart."""
    return widths is None or bool(np.all((widths == 0) | ((widths >= SMALLEST_WIDTH) & (widths <= 1 / SMALLEST_WIDTH))))


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
    TargetModel.gb: lambda seed: GradientBoostingClassifier(n_estimators=ROUNDS, max_depth=1, random_state=seed),
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


def model_from_file(path: Path) -> Any:
    """The fitted classifier in a file, one that can be read."""
    from fcca.models import load_model

    classifier = load_model(path)
    read_model(classifier)
    return classifier


def columns_of(classifier: Any) -> tuple[list[str] | None, int, Columns | None]:
    """Names of the columns that a fitted classifier knows, None where it has seen none; how many; and what they hold."""
    names = getattr(classifier, "feature_names_in_", None)
    model = read_model(classifier)
    return None if names is None else [str(name) for name in names], model.n_features, model.columns


def fitting(data: Dataset, classifier: Any, source: Path) -> Dataset:
    """The data as a classifier knows them; refused if it was fitted on other columns or other labels than they have."""
    columns = [str(name) for name in data.X.columns]
    return data.as_known(known_columns(columns, data.class_counts(), data.label, data.name, classifier, source))


def known_columns(
    columns: list[str], counts: dict[Any, int], label: str, table: str, classifier: Any, source: Path
) -> Columns | None:
    """What a classifier knows of the columns of a table; refused if it was fitted on others, or on other labels.

    Parameters
    ----------
    columns : list of str
        The table's own.
    counts : dict
        Rows of each of its classes.
    label, table : str
        Names of the label column and of the table.
    classifier : fitted classifier
    source : Path
        Its file.
    """
    names, n_features, known = columns_of(classifier)
    check_order(columns, names, table, source.name)
    check_columns(columns, len(columns), names, n_features, table=table, knower=f"the model in {source.name} was fitted on")
    classes, labels = classifier.classes_.tolist(), list(counts)
    unknown = [label for label in labels if label not in classes]
    if len(unknown) == len(labels):
        raise InvalidInputError(
            f"The model in {source.name} answers {listed(classes)}, but the label column {label!r} of {table} "
            f"holds {listed(labels)}. Write the labels as the model knows them, or choose another column with --label."
        )
    return known


# --- words --------------------------------------------------------------------------------------------------------------


def described(classifier: Any) -> str:
    """What a fitted classifier is called, its scalers included, how large it is and where it decides."""
    if isinstance(classifier, DecidedAt):
        return f"{described(classifier.estimator)}, deciding at {classifier.threshold:g}"
    size = _size(classifier)
    return ", ".join([_name(classifier), size] if size else [_name(classifier)])


def _name(classifier: Any) -> str:
    if isinstance(classifier, FrozenEstimator):
        return _name(classifier.estimator)
    if isinstance(classifier, Pipeline):
        if isinstance(classifier.steps[0][1], TableCoder):  # one that fcca has made
            return _name(classifier.steps[-1][1])
        return " + ".join(_name(step) for _, step in classifier.steps if not isinstance(step, PowerOfTwoScaler))
    return type(classifier).__name__


def _size(classifier: Any) -> str:
    """How many trees of which depth; nothing for models of other kinds, and for curves, which are only read as trees."""
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


def decision(classifier: Any) -> str | None:
    """Where a classifier of two classes decides, in words; None where that is at even odds."""
    if isinstance(classifier, DecidedAt):
        return _decision(classifier.classes_[1], "probability", classifier.threshold)
    if isinstance(classifier, FixedThresholdClassifier | TunedThresholdClassifierCV):
        tuned = isinstance(classifier, TunedThresholdClassifierCV)
        threshold = classifier.best_threshold_ if tuned else classifier.threshold
        if isinstance(threshold, str):
            return None
        positive = classifier._curve_scorer._get_pos_label() if tuned else classifier.pos_label
        method = classifier.response_method
        by_probability = method == "predict_proba" or (method == "auto" and hasattr(classifier, "predict_proba"))
        label = classifier.classes_[1] if positive is None else positive
        return _decision(label, "probability" if by_probability else "decision function", threshold)
    if isinstance(classifier, FrozenEstimator):
        return decision(classifier.estimator)
    if isinstance(classifier, Pipeline):
        return decision(classifier.steps[-1][1])
    inner = getattr(classifier, "best_estimator_", None)
    return None if inner is None else decision(inner)


def _decision(label: Any, of: str, threshold: float) -> str | None:
    usual = 0.5 if of == "probability" else 0.0
    return None if threshold == usual else f"{label} where its {of} is at least {threshold:.4g}, instead of {usual:g}"


def labels_note(classifier: Any, source: Path) -> str | None:
    """What to know about the classes of a model from a file that does not keep their names."""
    if not isinstance(classifier, LightGBMBooster):
        return None
    classes = classifier.classes_.tolist()
    return (
        f"{source.name} is a file of LightGBM, which keeps no labels: its classes are called {listed(classes)}, in the "
        "sorted order of the labels that the model was trained on. Saved as .skops, an LGBMClassifier keeps them."
    )
