"""Row weights.

A row with weight 2 counts as two identical rows, and a row with weight 0 is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcca.exceptions import InvalidInputError


def check_weights(sample_weight: ArrayLike | None, n_rows: int, *, may_all_be_0: bool = False) -> NDArray[np.float64]:
    """Check row weights, and return them as an array.

    Weights must be finite, not negative and not all 0, with one weight per row.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), float or None
        A single number is the weight of every row. None gives all rows the weight 1.
    n_rows : int
    may_all_be_0 : bool, default=False
        Whether to accept weights that are all 0.

    Returns
    -------
    ndarray of float, shape (n_rows,)
    """
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"sample_weight must be a list of numbers: {error}.") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must be 1D with one entry per row, got shape {weight.shape} for {n_rows} rows."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InvalidInputError(
            "sample_weight must be finite. Negative values in data passed to sample_weight are not allowed."
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise InvalidInputError("sample_weight is too large: its sum overflows. Divide it by its mean.")
    if not may_all_be_0 and not (weight > 0).any():
        raise InvalidInputError("sample_weight must have at least one non-zero entry.")
    return weight


def heaviest_label(y: NDArray[np.generic], weight: NDArray[np.float64] | None = None) -> Any:
    """Return the label with the largest total weight; in a tie, the first in sorted order.

    ``weight`` has one weight per row. None gives all rows the weight 1.
    """
    labels, code = np.unique(y, return_inverse=True)
    return labels.tolist()[int(np.bincount(code.ravel(), weights=weight).argmax())]
