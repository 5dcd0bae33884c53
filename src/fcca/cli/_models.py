"""The classifiers of the command line: fitted by name, or loaded from a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fcca._frames import check_columns
from fcca._units import PowerOfTwoScaler
from fcca.cli._data import Dataset, listed
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import DecidedAt, read_model

ROUNDS, DEPTH, FOREST_DEPTH = 100, 3, 4


class TargetModel(StrEnum):
    """The models that can be distilled from the command line."""

    gb = "gb"
    rf = "rf"
    hgb = "hgb"
    xgb = "xgb"
    lgbm = "lgbm"
    catboost = "catboost"
    svm = "svm"
    logistic = "logistic"

    @property
    def is_linear(self) -> bool:
        """Whether it takes two classes only."""
        return self in (TargetModel.svm, TargetModel.logistic)


# --- by name ------------------------------------------------------------------------------------------------------------


def target_model(model: TargetModel, seed: int) -> Any:
    """The classifier of that name, unfitted; the same for the same seed."""
    if model.is_linear:
        return make_pipeline(PowerOfTwoScaler(), StandardScaler(), MAKERS[model](seed))
    return make_pipeline(PowerOfTwoScaler(), MAKERS[model](seed))


def _xgboost(seed: int) -> Any:
    library = _library("xgboost")

    class XGBClassifier(library.XGBClassifier):  # type: ignore[name-defined]
        """XGBoost's classifier for any labels: it takes 0, 1, … only."""

        labels: NDArray[np.generic] | None = None

        def fit(self, X: Any, y: Any) -> Any:
            """Fit on the labels' positions."""
            self.labels = None
            labels, codes = np.unique(y, return_inverse=True)
            super().fit(X, codes)
            self.labels = labels
            return self

        @property
        def classes_(self) -> NDArray[np.generic]:
            """The labels."""
            known: NDArray[np.generic] = super().classes_ if self.labels is None else self.labels
            return known

        def predict(self, X: Any) -> NDArray[np.generic]:
            """Labels."""
            assert self.labels is not None
            labels: NDArray[np.generic] = self.labels[super().predict(X)]
            return labels

    return XGBClassifier(n_estimators=ROUNDS, max_depth=DEPTH, random_state=seed, n_jobs=1)


def _lightgbm(seed: int) -> Any:
    return _library("lightgbm").LGBMClassifier(
        n_estimators=ROUNDS,
        max_depth=DEPTH,
        random_state=seed,
        n_jobs=1,
        deterministic=True,
        force_col_wise=True,
        verbosity=-1,
    )


def _catboost(seed: int) -> Any:
    return _library("catboost").CatBoostClassifier(
        iterations=ROUNDS, depth=DEPTH, random_seed=seed, thread_count=1, allow_writing_files=False, verbose=False
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


def check_installed(model: TargetModel) -> None:
    """Refuse a model whose library is not there, before any work."""
    names = {TargetModel.xgb: "xgboost", TargetModel.lgbm: "lightgbm", TargetModel.catboost: "catboost"}
    if model in names:
        _library(names[model])


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedModelError(f"{name} is not installed. Install it: pip install 'fcca[{name}]'.") from error


# --- from files ---------------------------------------------------------------------------------------------------------


def model_from_file(path: Path) -> Any:
    """The fitted classifier in a file, one that can be read."""
    from fcca.models._files import load_model

    classifier = load_model(path)
    read_model(classifier)
    return classifier


def columns_of(classifier: Any) -> tuple[list[str] | None, int]:
    """Names of the columns that a fitted classifier knows, None where it has seen none; and how many there are."""
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names], read_model(classifier).n_features


def check_fits(classifier: Any, data: Dataset, source: Path) -> None:
    """Refuse a classifier that was fitted on other columns or other labels than the data has."""
    names, n_features = columns_of(classifier)
    columns = [str(name) for name in data.X.columns]
    check_columns(
        columns, len(columns), names, n_features, table=data.name, knower=f"the model in {source.name} was fitted on"
    )
    classes, labels = classifier.classes_.tolist(), list(data.class_counts())
    unknown = [label for label in labels if label not in classes]
    if len(unknown) == len(labels):
        raise InvalidInputError(
            f"The model in {source.name} answers {listed(classes)}, but the label column {data.label!r} of {data.name} "
            f"holds {listed(labels)}. Write the labels as the model knows them, or choose another column with --label."
        )


# --- names --------------------------------------------------------------------------------------------------------------


def model_name(classifier: Any) -> str:
    """What a fitted classifier is called, its scalers included."""
    if isinstance(classifier, DecidedAt):
        return f"{model_name(classifier.estimator)}, deciding at {classifier.threshold:g}"
    if isinstance(classifier, FrozenEstimator):
        return model_name(classifier.estimator)
    if isinstance(classifier, Pipeline):
        steps = [step for _, step in classifier.steps if not isinstance(step, PowerOfTwoScaler)]
        return " + ".join(model_name(step) for step in steps)
    if isinstance(classifier, GradientBoostingClassifier) and classifier.max_depth == 1:
        return f"{type(classifier).__name__}, {classifier.n_estimators} stumps"
    return type(classifier).__name__
