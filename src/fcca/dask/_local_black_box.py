"""A fitted black box that predicts without the cluster that trained it."""

from __future__ import annotations

from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from fcca.dask._dask_chunks import DaskChunks
from fcca.dask._partitions import PartitionedTable
from fcca.discretizers import FCCADiscretizer, Rows
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import CodedColumn, as_classifier, check_supported, read_model

Positions = NDArray[np.int64]


def black_box(classifier: Any, chunks: DaskChunks, *, sample: int, random_state: int) -> FrozenEstimator:
    """Return the black box as a fitted classifier that predicts without a cluster.

    An unfitted classifier is fitted on a sample of the rows.

    Parameters
    ----------
    classifier : classifier or None
        None is gradient boosting with 100 trees of depth 2.
    chunks : DaskChunks
        The table.
    sample : int
        Number of rows for fitting an unfitted classifier.
    random_state : int
        Seed of the sample.
    """
    local = None if classifier is None else local_classifier(classifier)
    if local is not None:
        check_supported(local)
    if local is None or not _is_fitted(local):
        if isinstance(classifier, FrozenEstimator):
            raise InvalidInputError(f"The {type(local).__name__} in the FrozenEstimator is not fitted. Fit it first.")
        local = _fitted_on_sample(local, sampled(chunks, sample, random_state))
    _check_categories_known(local, chunks.table)
    return FrozenEstimator(local)


def local_classifier(classifier: Any) -> Any:
    """Return a classifier with the same trees that predicts without a cluster.

    Parameters
    ----------
    classifier : classifier, Booster or dict
        A classifier of ``xgboost.dask`` or ``lightgbm.dask``, the result of ``xgboost.dask.train``, or a booster. Other
        classifiers are returned unchanged.
    """
    if isinstance(classifier, FrozenEstimator):
        return local_classifier(classifier.estimator)
    if isinstance(classifier, dict):
        if "booster" not in classifier:
            raise UnsupportedModelError(
                f"classifier is a dict with the keys {sorted(map(str, classifier))}. Expected a classifier, or the result "
                "of xgboost.dask.train: a dict with the key 'booster'."
            )
        return as_classifier(classifier["booster"])
    if _is_of(classifier, "lightgbm.dask"):
        _check_trained(classifier)
        return classifier.to_local()
    if _is_of(classifier, "xgboost.dask"):
        _check_trained(classifier)
        return _local_xgboost(classifier)
    return as_classifier(classifier)


def _is_of(classifier: Any, module: str) -> bool:
    return any(base.__module__.startswith(module) for base in type(classifier).__mro__)


def _check_trained(classifier: Any) -> None:
    if not classifier.__sklearn_is_fitted__():
        name = type(classifier).__name__
        raise InvalidInputError(
            f"The {name} is not fitted. Call its fit(X, y) on the cluster first, or pass a {name.removeprefix('Dask')}, "
            "which is fitted on a sample of the rows."
        )


def _local_xgboost(classifier: Any) -> Any:
    """Convert a classifier of ``xgboost.dask`` to the same classifier of ``xgboost``."""
    name = type(classifier).__name__.removeprefix("Dask")
    plain = getattr(import_module("xgboost"), name, None)
    if plain is None:
        raise UnsupportedModelError(
            f"{type(classifier).__name__} has no counterpart in xgboost. Pass the result of its get_booster()."
        )
    local = plain(**classifier.get_params())
    local.load_model(bytearray(classifier.get_booster().save_raw("ubj")))
    return local


def _is_fitted(classifier: Any) -> bool:
    try:
        read_model(classifier)
    except NotFittedError:
        return False
    return True


def _fitted_on_sample(classifier: Any, rows: Rows) -> Any:
    discretizer = FCCADiscretizer(None if classifier is None else clone(classifier))
    return discretizer.fit_black_box(rows.X, rows.y, rows.sample_weight)


def check_sample(n: Any, random_state: Any) -> None:
    """Check the parameters ``sample`` and ``random_state`` of ``distill``.

    Parameters
    ----------
    n, random_state : object
        The values of ``sample`` and ``random_state``.
    """
    if not isinstance(n, Integral) or n < 2:
        raise InvalidInputError(f"sample must be an integer of at least 2, got {n!r}.")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise InvalidInputError(
            f"random_state must be an integer of at least 0, got {random_state!r}. The sample must be reproducible."
        )


def sampled(chunks: DaskChunks, n: int, random_state: int) -> Rows:
    """Draw a random sample of rows, in the order of the table.

    The sample depends on neither partitions nor workers.

    Parameters
    ----------
    chunks : DaskChunks
        The table.
    n : int
        Number of rows to draw. If the table has fewer rows, all of them are returned.
    random_state : int
        Seed of the sample.
    """
    ends = np.cumsum(chunks.each(_n_rows))
    total = int(ends[-1])
    if total == 0:
        raise InvalidInputError("There are no rows to learn from.")
    at = np.arange(total) if n >= total else np.sort(np.random.default_rng(random_state).choice(total, n, replace=False))
    begins = np.concatenate([[0], ends[:-1]])
    of_each = [
        at[np.searchsorted(at, begin) : np.searchsorted(at, end)] - begin for begin, end in zip(begins, ends, strict=True)
    ]
    parts = [part for part in chunks.each(_chosen, of_each) if part is not None]
    weight = None if parts[0].sample_weight is None else np.concatenate([part.sample_weight for part in parts])
    return Rows(pd.concat([part.X for part in parts], ignore_index=True), np.concatenate([part.y for part in parts]), weight)


def _n_rows(number: int, rows: Rows) -> int:
    return len(rows.X)


def _chosen(number: int, rows: Rows, of_each: list[Positions]) -> Rows | None:
    at = of_each[number]
    if not len(at):
        return None
    return Rows(rows.X.iloc[at], rows.y[at], None if rows.sample_weight is None else rows.sample_weight[at])


def _check_categories_known(classifier: Any, table: PartitionedTable) -> None:
    """Check that a category has the same code in all partitions.

    This is required only for a black box that splits on category codes instead of labels.
    """
    unknown = table.unknown_categories
    for name, column in zip(table.layout.features, read_model(classifier).columns or (), strict=False):
        if isinstance(column, CodedColumn) and name in unknown:
            raise InvalidInputError(
                f"{type(classifier).__name__} uses the category codes of column {name!r}, but Dask does not know the "
                "categories. The codes may differ between partitions. Make the categories known: "
                f"ddf = ddf.categorize(columns=[{name!r}])."
            )
