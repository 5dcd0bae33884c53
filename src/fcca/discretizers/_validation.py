"""Check and encode tables, labels and parameters before a discretizer is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples, check_consistent_length, validate_data

from fcca.counterfactuals import DEFAULT_MARGIN, CounterfactualProblem, as_share
from fcca.discretizers._presets import resolved
from fcca.exceptions import InvalidInputError
from fcca.models import Model, as_fitted_on, prepared, weight_parameters
from fcca.tables import Column, Columns, check_column_names, check_columns, check_weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingData:
    """A checked and encoded training table, without the rows of weight 0.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Codes for categories, NaN for missing values.
    y : ndarray of shape (n_rows,) or None
        Labels; None if the discretizer does not need them.
    weight : ndarray of shape (n_rows,) or None
        None means that every row has weight 1.
    rows : ndarray of shape (n_rows,)
        Positions of these rows in the table that the user gave.
    columns : Columns or None
        Categories and missing values; None for plain numbers without missing values.
    given : array or data frame
        The same rows in the form that is passed to a classifier: numbers, or a data frame with category labels.
    """

    X: Floats
    y: Any
    weight: Floats | None
    rows: NDArray[np.int64]
    columns: Columns | None
    given: Any


def check_training_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Check and encode a table with labels of at least two classes."""
    data = check_table(estimator, X, y, sample_weight, labels=True)
    check_classes(len(pd.unique(data.y)), len(data.X))  # by hashing: np.unique would sort all rows
    return data


def check_classes(n_classes: int, n_rows: int) -> None:
    """Check that the labels have at least two classes."""
    if n_classes < 2:
        raise InvalidInputError(f"y must have at least two classes, got 1 class in {n_rows} row(s).")


def check_table(estimator: Any, X: Any, y: Any, sample_weight: Any, *, labels: bool) -> TrainingData:
    """Check and encode a table and, if ``labels`` is True, its labels.

    Sets ``n_features_in_`` and ``feature_names_in_`` of the estimator.
    """
    check_column_names(X)
    plain = is_plain(X)
    if not plain:
        validate_data(estimator, X, skip_check_array=True)  # notes the columns
        if labels and y is None:
            raise InvalidInputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=estimator) if labels else None
        check_consistent_length(X, y)
    else:
        finite = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}
        X, y = validate_data(estimator, X, y, **finite) if labels else (validate_data(estimator, X, **finite), None)
    if labels:
        check_classification_targets(y)
    n_rows = _num_samples(X)
    rows, weight = _weighted_rows(sample_weight, n_rows)
    if len(rows) < n_rows:
        X, y = _safe_indexing(X, rows), None if y is None else y[rows]
    if plain:
        # The minimum is NaN if any value is missing: one pass without a copy.
        columns = _numbers_with_missing(estimator, X) if np.isnan(X.min()) else None
        return TrainingData(X, y, weight, rows, columns, as_fitted_on(estimator, X))
    columns = Columns.of_table(X)
    _check_mixed_labels(X, columns)
    table = columns.encode(X)
    if not columns.has_categories:
        known = columns if columns.may_miss.any() else None
        return TrainingData(table, y, weight, rows, known, as_fitted_on(estimator, table))
    # A data frame goes to the classifier as it is: its own steps may choose columns by their type.
    given = X if isinstance(X, pd.DataFrame) else columns.decode(table)
    return TrainingData(table, y, weight, rows, columns, given)


def _check_mixed_labels(X: Any, columns: Columns) -> None:
    """Check that no column mixes strings and numbers, unless its dtype is category."""
    for j, column in enumerate(columns):
        labels = column.categories or ()
        texts = [label for label in labels if isinstance(label, str)]
        if 0 < len(texts) < len(labels) and not (
            isinstance(X, pd.DataFrame) and isinstance(X.dtypes.iloc[j], pd.CategoricalDtype)
        ):
            raise InvalidInputError(
                f"Column {columns.names[j]!r} holds numbers and strings, such as {texts[0]!r}. A numeric column must hold "
                "numbers only. If the values are categories, convert them to strings, for example with "
                "X[column].astype(str)."
            )


def is_plain(X: Any) -> bool:
    """Return True if all columns have a numeric or boolean dtype."""
    if isinstance(X, pd.DataFrame):
        return all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)
    if type(X).__module__.startswith("polars"):
        return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes)
    if sparse.issparse(X):
        return True
    try:
        table = np.asarray(X)
    except ValueError:  # rows of different lengths; the check of numbers raises an error for them
        return True
    return table.dtype.kind not in "OUS" or table.ndim != 2


def _numbers_with_missing(estimator: Any, X: Floats) -> Columns:
    is_missing = np.isnan(X)
    names = getattr(estimator, "feature_names_in_", None)
    empty = np.flatnonzero(is_missing.all(axis=0))
    if len(empty):
        shown = repr(str(names[empty[0]])) if names is not None else str(empty[0])
        raise InvalidInputError(f"All values of column {shown} in X are missing. Leave the column out.")
    return Columns(
        tuple(
            Column(None if names is None else str(names[j]), missing=missing)
            for j, missing in enumerate(np.any(is_missing, axis=0).tolist())
        )
    )


def decoded(estimator: Any, columns: Columns | None, X: Floats) -> Any:
    """Convert an encoded table to the form that classifiers are fitted on.

    That is a data frame with labels if a column holds categories. Otherwise it is an array of numbers, or a data frame if
    the estimator has column names.
    """
    return columns.decode(X) if columns is not None and columns.has_categories else as_fitted_on(estimator, X)


def fitted_through(
    estimator: Any,
    columns: Columns | None,
    given: Any,
    y: Any,
    weight: Floats | None,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    """Fit a classifier, in a pipeline with encoders if the table requires them.

    Parameters
    ----------
    estimator : classifier
    columns : Columns or None
        Categories and missing values of the table; None for plain numbers without missing values.
    given : array or data frame
        The training table.
    y : array-like
    weight : ndarray or None
        None means that every row has weight 1.
    metadata : mapping, optional
        Additional arguments of ``fit``. If there are any, the weights are passed as ``sample_weight``. A pipeline passes
        all these arguments to the steps that request them.

    Returns
    -------
    fitted classifier or pipeline
    """
    given_estimator = estimator
    if columns is not None:
        estimator = prepared(estimator, columns)
    if metadata:
        if estimator is not given_estimator and weight is not None:
            estimator[-1].set_fit_request(sample_weight=True)  # fcca built this pipeline, so the user cannot request it
        return estimator.fit(given, y, **metadata, **({} if weight is None else {"sample_weight": weight}))
    with config_context(enable_metadata_routing=False):
        return estimator.fit(given, y, **({} if weight is None else weight_parameters(estimator, weight)))


def table_for(model: Model, data: TrainingData) -> Floats:
    """Encode the training table with the category codes of a model."""
    known = model.columns
    if known is None or not _is_special(known):
        if data.columns is not None:
            what = "categories" if data.columns.has_categories else "missing values"
            raise InvalidInputError(
                f"X has {what}, but the classifier was fitted on numbers without missing values. Pass X in "
                "the same form as in the fit of the classifier."
            )
        return data.X
    if data.columns is None and not known.has_categories:
        return data.X
    table = None if data.columns is None else _recoded(data.X, data.columns, known)
    return known.encode(data.given) if table is None else table


def _recoded(X: Floats, columns: Columns, known: Columns) -> Floats | None:
    """Translate category codes from ``columns`` to ``known``, without encoding X again.

    Returns X itself if all codes stay the same. Returns None if a column is numeric in only one of ``columns`` and
    ``known``, or if ``known`` lacks a category or does not allow a missing value. Then the table must be encoded with
    :meth:`Columns.encode`, which raises an error if necessary.
    """
    if np.isnan(X[:, [not (column.missing or column.ignored) for column in known]]).any():
        return None
    table = X
    for j, (own, other) in enumerate(zip(columns, known, strict=True)):
        if other.ignored:
            codes = np.where(np.isnan(X[:, j]), 0.0, X[:, j]) if own.categories is None else np.zeros(len(X))
        elif own.categories == other.categories:
            continue
        elif own.categories is None or other.categories is None:
            return None
        else:
            code_of = {label: code for code, label in enumerate(other.categories)}
            code = np.array([code_of.get(label, -1) for label in own.categories] + [np.nan])
            codes = code[np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(np.intp)]
            if (codes < 0).any():
                return None
        table = X.copy() if table is X else table
        table[:, j] = codes
    return table


def columns_for(model: Model, has_missing: Sequence[bool]) -> Columns | None:
    """Return the columns of a model, adapted to the missing values in data.

    In the result, a column allows missing values only if its entry of ``has_missing`` is True. Returns None if the model was
    fitted on plain numbers only.
    """
    known = model.columns
    if known is None or not _is_special(known):
        return None
    # Some classifiers take missing values everywhere.
    return Columns(tuple(replace(column, missing=missing) for column, missing in zip(known, has_missing, strict=True)))


def _is_special(columns: Columns) -> bool:
    """Return True if a column has categories, may have missing values, or is ignored."""
    return columns.has_categories or bool(columns.may_miss.any()) or any(column.ignored for column in columns)


def _weighted_rows(sample_weight: Any, n_rows: int) -> tuple[NDArray[np.int64], Floats | None]:
    """Return the positions and the weights of the rows with a positive weight."""
    if sample_weight is None:
        return np.arange(n_rows), None
    weight = check_weights(sample_weight, n_rows)
    rows = np.flatnonzero(weight > 0)
    return rows, weight[rows]


def check_same_columns(discretizer: Any, classifier: Any, n_features: int) -> None:
    """Check that a classifier was fitted on the same columns as the discretizer."""
    seen, given = (getattr(fitted, "feature_names_in_", None) for fitted in (classifier, discretizer))
    check_columns(
        None if given is None else list(given),
        discretizer.n_features_in_,
        None if seen is None else list(seen),
        n_features,
        knower="the frozen classifier was fitted on",
    )


def distinct_rows(X: Floats, y: NDArray[np.generic], weight: Floats | None) -> tuple[Floats, NDArray[np.generic], Floats]:
    """Return the sorted distinct pairs of row and label, with their total weights.

    Two missing values in the same column are treated as equal.
    """
    label = np.unique(y, return_inverse=True)[1]
    order = np.lexsort((label, *X.T[::-1]))
    X, y, label = X[order], y[order], label[order]
    differs = X[1:] != X[:-1]
    if np.isnan(X.min()):
        differs &= ~(np.isnan(X[1:]) & np.isnan(X[:-1]))
    first = np.ones(len(X), dtype=bool)
    first[1:] = np.any(differs, axis=1) | (label[1:] != label[:-1])
    weights = np.ones(len(X)) if weight is None else weight[order]
    return X[first], y[first], np.add.reduceat(weights, np.flatnonzero(first))


def problem_of(parameters: Any) -> CounterfactualProblem:
    """Check the costs and the margin of an ``FCCADiscretizer``, and return them."""
    margin = parameters.margin
    if isinstance(margin, str):
        as_share(margin)
        margin = DEFAULT_MARGIN
    names = ("preset", "scale", "category_distance")
    given = resolved({name: getattr(parameters, name) for name in names})
    costs = (parameters.lambda0, parameters.lambda1, parameters.lambda2)
    return CounterfactualProblem(*costs, margin, given["scale"], given["category_distance"], parameters.relative_gap)


def asked_distances(discretizer: Any) -> dict[str, Any]:
    """Return ``scale``, ``category_distance`` and ``special_values`` of an ``FCCADiscretizer``.

    A ``scale`` or ``category_distance`` of None is replaced by the value of the preset. Sets become sorted lists.
    """
    special = discretizer.special_values
    if isinstance(special, Mapping):
        special = {str(name): sorted(map(float, values)) for name, values in special.items()}
    elif special is not None:
        special = sorted(map(float, special))
    problem = problem_of(discretizer)
    scale, distance = problem.scale, problem.category_distance
    return {
        "scale": scale if isinstance(scale, str) else {name: float(unit) for name, unit in scale.items()},
        "category_distance": distance if isinstance(distance, str) else float(distance),
        "special_values": special,
    }
