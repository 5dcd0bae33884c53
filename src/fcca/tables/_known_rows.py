"""Find the rows that a fitted black box can predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.tables._columns import Columns


def known_rows(columns: Columns | None, X: Any) -> NDArray[np.bool_]:
    """Return a mask of the rows that a black box fitted on ``columns`` can predict.

    These rows have no unknown category, and missing values only in columns that allow them.

    Parameters
    ----------
    columns : Columns or None
        The columns of the training table. If None, all categories are allowed, and missing values are not.
    X : array-like or data frame of shape (n_rows, n_features)
    """
    frame = _as_frame(X)
    is_missing = frame.isna().to_numpy(dtype=np.bool_)
    if columns is None:
        return np.logical_not(is_missing.any(axis=1))
    may_miss = [column.missing or column.ignored for column in columns]
    known: NDArray[np.bool_] = ~(is_missing & ~np.array(may_miss)).any(axis=1)
    for j, column in enumerate(columns):
        if column.categories is not None:
            known &= is_missing[:, j] | frame.iloc[:, j].isin(list(column.categories)).to_numpy(dtype=np.bool_)
    return known


def _as_frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if type(X).__module__.startswith("polars"):
        return pd.DataFrame({j: pd.Series(X.to_series(j).to_list()) for j in range(X.width)})
    table = X.toarray() if hasattr(X, "toarray") else X
    return pd.DataFrame(table)
