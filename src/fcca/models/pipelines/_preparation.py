"""Build pipelines that encode categories and fill in missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from fcca.models._registry import READERS, SEARCHES, class_names
from fcca.models.pipelines._steps import SCALERS, is_nothing, unfrozen
from fcca.models.pipelines._table_coder import TableCoder
from fcca.models.readers._decision_threshold import DecidedAt
from fcca.tables import Columns

MOST_CATEGORIES = 254

TAKE_MISSING = class_names(name for name, reader in READERS.items() if reader.takes_missing)
AROUND = class_names(name for name, reader in READERS.items() if reader.is_around) | class_names(SEARCHES)


@dataclass(frozen=True)
class _InnerClassifier:
    """The classifier inside pipelines, parameter searches and other wrappers.

    Attributes
    ----------
    estimator : classifier
        The innermost classifier.
    path : str
        Prefix of its parameters in the outer estimator, such as ``"estimator__"``.
    ready : bool
        True if no preparation is needed. This is the case if the classifier is already fitted, or if the user's pipeline has
        steps other than scalers.
    scaled : bool
        Whether a scaler comes before the classifier.
    """

    estimator: Any
    path: str = ""
    ready: bool = False
    scaled: bool = False


def _inner_classifier(estimator: Any, path: str = "", scaled: bool = False) -> _InnerClassifier:
    if isinstance(estimator, (FrozenEstimator, DecidedAt)):
        return _InnerClassifier(estimator, path, ready=True)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            if not is_nothing(step):
                if type(unfrozen(step)).__name__ not in SCALERS:
                    return _InnerClassifier(estimator, path, ready=True)
                scaled = True
        name, last = estimator.steps[-1]
        return _inner_classifier(last, f"{path}{name}__", scaled)
    if type(estimator).__name__ in AROUND and estimator.estimator is not None:
        return _inner_classifier(estimator.estimator, f"{path}estimator__", scaled)
    return _InnerClassifier(estimator, path, scaled=scaled)


def prepared(estimator: Any, columns: Columns) -> Any:
    """Prepare a classifier for a table with categories and missing values.

    HistGradientBoostingClassifier, XGBoost, LightGBM and CatBoost can split by category. They are told which columns hold
    categories. Other classifiers get one binary column per category, and one for missing labels if there are any.
    Classifiers that support missing numbers get the numbers unchanged. For other classifiers, missing numbers are replaced
    with the median of the column, and an additional column marks them. Row weights do not change the median.

    Parameters
    ----------
    estimator : unfitted classifier
    columns : Columns
        Columns of the training table.

    Returns
    -------
    classifier
        A scikit-learn Pipeline with a clone of the estimator as its last step. The estimator itself is returned if it is
        fitted and frozen, or if its pipeline has encoders or imputers. It is also returned if its parameters already say
        which columns hold categories. Finally, it is returned if the table has no categories, and no missing values that the
        estimator does not support.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from fcca.tables._columns import Columns
    >>> from fcca.models import prepared
    >>> loans = pd.DataFrame({"income": [3.5, None, 2.0], "purpose": ["tv", "car", "car"]})
    >>> pipeline = prepared(GradientBoostingClassifier(), Columns.of_table(loans)).fit(loans, [0, 1, 0])
    >>> pipeline.predict(loans).tolist()
    [0, 1, 0]
    """
    has_missing = columns.may_miss & ~columns.is_category
    if not columns.has_categories and not has_missing.any():
        return estimator
    inner = _inner_classifier(estimator)
    if inner.ready or _has_own_categories(inner.estimator):
        return estimator
    takes_missing = type(inner.estimator).__name__ in TAKE_MISSING
    if not columns.has_categories:
        if takes_missing:
            return estimator
        return Pipeline([("gaps", _by_column(columns, fill=True)), ("classifier", clone(estimator))])
    native = None if inner.scaled else _native(inner, columns)
    if native is not None:
        output, parameters = native
        classifier = clone(estimator).set_params(**{f"{inner.path}{key}": value for key, value in parameters.items()})
        return Pipeline([("labels", TableCoder(output)), ("classifier", classifier)])
    steps = [("labels", TableCoder()), ("columns", _by_column(columns, fill=not takes_missing))]
    return Pipeline([*steps, ("classifier", clone(estimator))])


def _by_column(columns: Columns, *, fill: bool) -> ColumnTransformer:
    """Build a ColumnTransformer that one-hot encodes columns of categories.

    With ``fill``, it also replaces missing numbers with the median of their column and adds a column that marks them.
    """
    categories = np.flatnonzero(columns.is_category).tolist()
    filled = np.flatnonzero(columns.may_miss & ~columns.is_category & fill).tolist()
    numbers = [j for j in range(len(columns)) if j not in categories and j not in filled]
    parts: list[tuple[str, Any, list[int]]] = [
        ("categories", OneHotEncoder(sparse_output=False), categories),
        ("filled", SimpleImputer(strategy="median", add_indicator=True), filled),
        ("numbers", "passthrough", numbers),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def _has_own_categories(estimator: Any) -> bool:
    """Return True if the user told the classifier which columns hold categories.

    The parameters for this are, for example, ``categorical_features`` and ``enable_categorical``.
    """
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    own = parameters.get("categorical_features")
    if own is not None and not (isinstance(own, str) and own == "from_dtype"):
        return True
    names = ("cat_features", "categorical_feature", "feature_types")
    return bool(parameters.get("enable_categorical")) or any(parameters.get(name) is not None for name in names)


def _native(inner: _InnerClassifier, columns: Columns) -> tuple[str, dict[str, Any]] | None:
    """Return the settings that let a classifier split by category itself.

    The result is the value of the parameter ``output`` of TableCoder, and a dictionary with parameters of the classifier.
    Return None if the classifier cannot split by category, or if a column has too many categories for it.
    """
    chosen = np.flatnonzero(columns.is_category).tolist()
    most = max(len(column.categories) for column in columns if column.categories is not None)
    name = type(inner.estimator).__name__
    parameters = inner.estimator.get_params()
    if name == "HistGradientBoostingClassifier" and most <= min(MOST_CATEGORIES, parameters["max_bins"]):
        return "numbers", {"categorical_features": chosen}
    if name == "LGBMClassifier":
        return "categories", {}
    if name == "XGBClassifier" and parameters.get("booster") in (None, "gbtree", "dart"):
        types = ["c" if category else "q" for category in columns.is_category]
        return "numbers", {"enable_categorical": True, "feature_types": types}
    # CatBoost's statistics of categories are not supported, so one_hot_max_size must cover all categories. CatBoost changes
    # lists in its parameters, which clone does not allow.
    if name == "CatBoostClassifier" and most <= min(MOST_CATEGORIES, parameters.get("one_hot_max_size") or MOST_CATEGORIES):
        return "whole", {"cat_features": tuple(chosen), "one_hot_max_size": parameters.get("one_hot_max_size") or 255}
    return None
