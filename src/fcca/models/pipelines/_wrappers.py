"""Read classifiers inside pipelines, parameter searches and FrozenEstimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fcca.exceptions import UnsupportedModelError
from fcca.models._model import Model
from fcca.models.pipelines._inversion import model_of_raw_columns
from fcca.models.pipelines._steps import check_step, is_nothing
from fcca.tables import Columns

Floats = NDArray[np.float64]


def as_fitted_on(estimator: Any, X: Floats, columns: Columns | None = None) -> Any:
    """Convert encoded rows to the kind of table used to fit an estimator.

    Parameters
    ----------
    estimator : fitted classifier or transformer
    X : ndarray of shape (n_rows, n_features)
        The rows. With ``columns``, categories are given as codes.
    columns : Columns or None
        Names and categories of the columns, to convert codes back to labels.

    Returns
    -------
    ndarray or DataFrame
        The rows. They have column names if the estimator was fitted on a table with column names.
    """
    names = fitted_names(estimator)
    if columns is not None and (columns.named or columns.has_categories):
        given = columns.decode(X)
        if names is None or len(names) != given.shape[1]:
            return given
        if not isinstance(given, pd.DataFrame):
            given = pd.DataFrame(given).infer_objects()
        given.columns = pd.Index(names)
        return given
    if names is None or len(names) != X.shape[1]:
        return X
    return pd.DataFrame(X, columns=names, copy=False)


def fitted_names(estimator: Any) -> Any:
    """Return the column names that an estimator was fitted on, or None."""
    return getattr(_first(estimator), "feature_names_in_", None)


def _first(estimator: Any) -> Any:
    """Return the first step of a pipeline.

    If this step is a pipeline, return its first step instead. Return any other estimator unchanged.
    """
    steps = [step for _, step in getattr(estimator, "steps", []) if not (step is None or isinstance(step, str))]
    return _first(steps[0]) if steps else estimator


def _innermost(estimator: Any) -> Any:
    """Return the classifier inside pipelines and wrappers.

    A wrapper has the attribute ``estimator``.
    """
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif getattr(estimator, "estimator", None) is not None:
            estimator = estimator.estimator
        else:
            return estimator


def read_pipeline(pipeline: Any, read_model: Callable[[Any], Model]) -> Model:
    """Convert a fitted pipeline to a model of its raw columns.

    Raw columns are the columns before the first step. ``read_model`` reads the classifier, which is the last step.
    """
    for _, step in pipeline.steps[:-1]:
        check_step(step)
    steps = [step for _, step in pipeline.steps[:-1] if not is_nothing(step)]
    model = read_model(pipeline.steps[-1][1])
    if not steps:
        return model
    first = _first(steps[0])
    check_is_fitted(first)
    library = type(_innermost(pipeline)).__module__.split(".")[0]
    return model_of_raw_columns(steps, model, int(first.n_features_in_), fitted_names(pipeline), library)


def check_pipeline(pipeline: Any, check_supported: Callable[[Any], None]) -> None:
    """Check that every step of a fitted or unfitted pipeline is supported.

    ``check_supported`` checks the classifier, which is the last step.
    """
    for _, step in pipeline.steps[:-1]:
        check_step(step)
    check_supported(pipeline.steps[-1][1])


def best_estimator(search: Any) -> Any:
    """Return the best estimator of a fitted parameter search."""
    if not hasattr(search, "best_estimator_"):
        raise UnsupportedModelError(f"{type(search).__name__} has no best_estimator_. Fit it with refit=True.")
    return search.best_estimator_
