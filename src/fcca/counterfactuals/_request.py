"""The checked arguments of one call of ``explain``."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.constraints import Constraint, Limits
from fcca.counterfactuals._problem import is_number
from fcca.exceptions import InvalidInputError
from fcca.milp import ANY_OTHER_CLASS
from fcca.tables import Columns, cell_of
from fcca.utils import close_to

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Request:
    """The checked and encoded arguments of one call of ``explain``.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
        The rows to explain, with categories as codes.
    labels : ndarray of shape (n_rows,)
        Names of the rows, such as the index of a data frame.
    own, wanted : ndarray of shape (n_rows,)
        The predicted class and the target class, as positions in ``classes``. A target of -1 is any other class.
    margin : ndarray of shape (n_rows,)
        Score margin by which the target class must win.
    probability : float or None
        Required probability of the target class.
    rules : tuple of Constraint
    limits : Limits or None
        The rules, compiled for these rows.
    began : float
        Start of the call, by ``perf_counter``.
    replaced : DataFrame
        The values of the given rows that the classifier cannot take, and what ``table`` has instead.
    """

    table: Floats
    labels: NDArray[Any]
    own: Codes
    wanted: Codes
    margin: Floats
    probability: float | None
    rules: tuple[Constraint, ...]
    limits: Limits | None
    began: float
    replaced: pd.DataFrame


def n_columns(X: Any) -> int | None:
    """Return the number of columns of a table; None for anything else."""
    try:
        shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # lists of different lengths
        return None
    return shape[1] if len(shape) == 2 else None


def is_flat(X: Any) -> bool:
    """Return True if X is a single row of plain values."""
    return X.ndim == 1 if hasattr(X, "ndim") else not any(np.ndim(entry) for entry in X)


def row_labels(X: Any) -> NDArray[Any] | None:
    """Return the index of a data frame or the name of a Series, else None."""
    if isinstance(X, pd.DataFrame):
        return np.asarray(X.index)
    return np.array([X.name], dtype=object) if isinstance(X, pd.Series) and X.name is not None else None


def check_real(name: str, value: Any) -> None:
    """Check that an argument is a number."""
    if not is_number(value):
        raise InvalidInputError(f"{name} must be a number, got {value!r}.")


def check_effort(n_jobs: Any, **time_limits: Any) -> None:
    """Check ``n_jobs`` and the time limits."""
    for name, limit in time_limits.items():
        if limit is not None:
            check_real(name, limit)
            if not limit >= 0:
                raise InvalidInputError(f"{name} must be None or a number of seconds of at least 0, got {limit!r}.")
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {n_jobs!r}.")


def target_codes(target: Any, own: Codes, classes: list[Any]) -> Codes:
    """Convert the argument ``target`` to positions in ``classes``; -1 stands for any other class.

    Parameters
    ----------
    target : label, sequence of labels or None
    own : ndarray of shape (n_rows,)
        The predicted class of each row, as a position in ``classes``.
    classes : list
    """
    n_rows = len(own)
    if target is None:
        return 1 - own if len(classes) == 2 else np.full(n_rows, ANY_OTHER_CLASS, dtype=np.int32)
    if np.ndim(target) == 0:
        target = [target] * n_rows
    elif np.ndim(target) > 1 or len(target) != n_rows:
        raise InvalidInputError(f"target must be one label or one per row ({n_rows} rows), got shape {np.shape(target)}.")
    labels = [label.item() if isinstance(label, np.generic) else label for label in target]
    unknown = [label for label in labels if label not in classes]
    if unknown:
        raise InvalidInputError(f"{unknown[0]!r} is not a class of the classifier. {close_to(unknown[0], classes)}")
    return np.array([classes.index(label) for label in labels], dtype=np.int32)


def replaced_values(X: Any, table: Floats, mask: NDArray[np.bool_], labels: NDArray[Any], columns: Columns) -> pd.DataFrame:
    """List the values of X that were replaced, with the columns row, feature, value and used.

    Parameters
    ----------
    X : array-like or data frame
        The given rows.
    table : ndarray of shape (n_rows, n_features)
        The encoded rows, after the replacement.
    mask : ndarray of shape (n_rows, n_features)
        Mask of the replaced values.
    labels : ndarray of shape (n_rows,)
        Names of the rows.
    columns : Columns
    """
    places = np.argwhere(mask).tolist()
    return pd.DataFrame(
        {
            "row": labels[[i for i, _ in places]],
            "feature": pd.array([columns.names[j] for _, j in places], dtype="string"),
            "value": pd.Series([cell_of(X, i, j) for i, j in places], dtype=object),
            "used": pd.Series([columns.label(j, table[i, j]) for i, j in places], dtype=object),
        }
    )
