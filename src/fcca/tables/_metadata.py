"""Metadata routing: pass additional arguments of ``fit`` to the estimator that requested them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _check_method_params


def routed_metadata(owner: Any, part: str, metadata: Mapping[str, Any], X: Any, sample_weight: Any) -> dict[str, Any]:
    """Return the additional arguments of ``fit`` that an inner estimator requested.

    Entries for rows with weight 0 are removed, because these rows are left out of the fit.

    Parameters
    ----------
    owner : estimator
        Estimator that contains the inner estimator and routes metadata to it.
    part : str
        Name of the inner estimator in ``owner.get_metadata_routing()``.
    metadata : mapping of str to object
        Arguments of ``owner.fit`` besides X, y and sample_weight.
    X : array-like or data frame of shape (n_rows, n_features)
    sample_weight : array-like of shape (n_rows,) or None
    """
    if not metadata:
        return {}
    requested: dict[str, Any] = dict(process_routing(owner, "fit", **metadata)[part].fit)
    rows: NDArray[np.int64] | None = None if sample_weight is None else np.flatnonzero(np.asarray(sample_weight))
    return dict(_check_method_params(X, requested, indices=rows))
