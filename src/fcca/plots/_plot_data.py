"""Take the data of a plot from a fitted estimator or a result, and check it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fcca.classifier import FCCAClassifier
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import ThresholdTransformer
from fcca.exceptions import InvalidInputError
from fcca.utils import type_in_words

Floats = NDArray[np.float64]


def fitted_classifier(estimator: Any) -> FCCAClassifier:
    """Check that an estimator is a fitted FCCAClassifier and return it."""
    if not isinstance(estimator, FCCAClassifier):
        raise InvalidInputError(f"Expected a fitted FCCAClassifier, got {type_in_words(estimator)}.")
    check_is_fitted(estimator)
    return estimator


def fitted_discretizer(estimator: Any) -> Any:
    """Return the discretizer of a fitted classifier.

    A fitted discretizer is returned unchanged.
    """
    if isinstance(estimator, FCCAClassifier):
        return fitted_classifier(estimator).discretizer_
    if not isinstance(estimator, ThresholdTransformer):
        raise InvalidInputError(f"Expected a fitted FCCAClassifier or a fitted discretizer, got {type_in_words(estimator)}.")
    check_is_fitted(estimator, "thresholds_")
    return estimator


def counterfactuals_of(discretizer: Any) -> Counterfactuals:
    """Return the counterfactuals of a fitted discretizer. Raise an error if it has none."""
    found = getattr(discretizer, "counterfactuals_", None)
    if not isinstance(found, Counterfactuals):
        raise InvalidInputError(f"{type_in_words(discretizer)} does not compute counterfactuals. Use an FCCADiscretizer.")
    return found


def ranges(estimator: Any, X: Any) -> tuple[Floats, Floats]:
    """Return the smallest and largest training value of every column.

    Parameters
    ----------
    estimator : FCCAClassifier or discretizer, fitted
    X : data frame, array or None
        The training data. None if the estimator stores the ranges or the data.
    """
    discretizer = fitted_discretizer(estimator)
    found = getattr(discretizer, "counterfactuals_", None)
    if X is None and found is not None and found.box is not None:
        box: tuple[Floats, Floats] = found.box
        return box
    if X is None and isinstance(estimator, FCCAClassifier):
        X = estimator.training_data().X
    if X is None:
        raise InvalidInputError(
            f"{type_in_words(discretizer)} does not store the ranges of the columns. Pass the training data as X."
        )
    table = discretizer.encode(X)
    return np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)


def in_share_of_range(value: Any, low: Any, high: Any) -> Any:
    """Return the relative positions of values between ``low`` and ``high``, from 0 to 1.

    If ``low`` equals ``high``, the position is 0.5.
    """
    width = np.asarray(high, dtype=float) - low
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.where(width > 0, np.clip((value - low) / np.where(width > 0, width, 1.0), 0.0, 1.0), 0.5)


def one_row(estimator: Any, row: Any) -> Any:
    """Convert one row, such as a Series or a list, to a table for the estimator."""
    if isinstance(row, pd.Series):
        return row.to_frame().T.infer_objects()
    if hasattr(row, "columns") or (isinstance(row, np.ndarray) and row.ndim == 2):
        if len(row) != 1:
            raise InvalidInputError(f"row must be a single row, got {len(row)} rows. Pass one row, such as X.iloc[[5]].")
        return row
    if np.ndim(row) == 0 or isinstance(row, str):
        raise InvalidInputError(f"row must contain the values of a row, such as X.iloc[[5]] or X[5], got {row!r}.")
    names = getattr(estimator, "feature_names_in_", None)
    if len(row) != estimator.n_features_in_:
        raise InvalidInputError(f"row must have {estimator.n_features_in_} values, one per column, got {len(row)}.")
    return np.asarray(row)[None, :] if names is None else pd.DataFrame([list(row)], columns=list(names))


def check_result(found: Any, kind: type, maker: str) -> None:
    """Raise an error if an argument is not the result of a certain function.

    Parameters
    ----------
    found : object
        The argument.
    kind : type
        Expected type.
    maker : str
        Name of the function that returns such results, for the error message.
    """
    if not isinstance(found, kind):
        raise InvalidInputError(f"Expected the result of {maker}, got {type(found).__name__}.")


def check_frame(name: str, frame: Any, columns: Iterable[str], maker: str) -> None:
    """Check that an argument is a non-empty data frame with the expected columns.

    Parameters
    ----------
    name : str
        Name of the argument, for the error message.
    frame : object
        The argument.
    columns : iterable of str
        Expected columns.
    maker : str
        Name of the function that returns such data frames, for the error message.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInputError(f"{name} must be the result of {maker}, got {type(frame).__name__}.")
    missing = [column for column in columns if column not in frame]
    if missing or len(frame) == 0:
        what = f"lacks {', '.join(missing)}" if missing else "has no rows"
        raise InvalidInputError(f"{name} must be the result of {maker}, but it {what}.")
