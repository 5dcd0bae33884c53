"""Black boxes as workers can be given them: fitted, and free of the cluster that they were trained on."""

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
from sklearn.utils import _safe_indexing

from fcca.dask._pieces import DaskPieces
from fcca.dask._tables import Table
from fcca.discretizers import FCCADiscretizer
from fcca.discretizers._validation import check_training_data
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import as_classifier, check_supported, read_model
from fcca.models._labels import CodedColumn
from fcca.streaming._stages import Rows

Positions = NDArray[np.int64]


def local_model(model: Any) -> Any:
    """A classifier that needs no cluster to answer, with the same trees.

    Parameters
    ----------
    model : classifier
        One of ``xgboost.dask`` or ``lightgbm.dask``, what ``xgboost.dask.train`` returned, a booster, or any other, which
        comes back as it is.
    """
    if isinstance(model, FrozenEstimator):
        return local_model(model.estimator)
    if isinstance(model, dict):
        if "booster" not in model:
            raise UnsupportedModelError(
                f"model is a dict with {sorted(map(str, model))}. Expected a classifier, or what xgboost.dask.train "
                "returned: a dict with 'booster'."
            )
        return as_classifier(model["booster"])
    if _is_of(model, "lightgbm.dask"):
        _check_trained(model)
        return model.to_local()
    if _is_of(model, "xgboost.dask"):
        _check_trained(model)
        return _of_xgboost(model)
    return as_classifier(model)


def _is_of(model: Any, module: str) -> bool:
    return any(base.__module__.startswith(module) for base in type(model).__mro__)


def _check_trained(model: Any) -> None:
    if not model.__sklearn_is_fitted__():
        name = type(model).__name__
        raise InvalidInputError(
            f"The {name} is not fitted. Fit it on the cluster first, with its own fit(X, y); or give a "
            f"{name.removeprefix('Dask')}, which is fitted on a sample of the rows."
        )


def _of_xgboost(model: Any) -> Any:
    """The classifier of the same name without Dask, with the same booster."""
    name = type(model).__name__.removeprefix("Dask")
    plain = getattr(import_module("xgboost"), name, None)
    if plain is None:
        raise UnsupportedModelError(f"{type(model).__name__} has no counterpart in xgboost. Give its get_booster().")
    local = plain(**model.get_params())
    local.load_model(bytearray(model.get_booster().save_raw("ubj")))
    return local


def is_fitted(model: Any) -> bool:
    """Whether a classifier can be read as it is."""
    try:
        read_model(model)
    except NotFittedError:
        return False
    return True


def frozen(model: Any, pieces: DaskPieces, *, sample: int, seed: int, refit: bool = False) -> FrozenEstimator:
    """The black box, fitted.

    Parameters
    ----------
    model : classifier or None
    pieces : DaskPieces
    sample : int
        How many rows a classifier that is not fitted is fitted on.
    seed : int
        Of the sample.
    refit : bool
        Fit it anew unless it came in a FrozenEstimator.
    """
    is_frozen = isinstance(model, FrozenEstimator)
    if model is not None:
        model = local_model(model)
        check_supported(model)
    if model is not None and (is_frozen or not refit) and is_fitted(model):
        found = model
    elif is_frozen:
        raise InvalidInputError(f"FrozenEstimator has a {type(model).__name__} that is not fitted. Fit it first.")
    else:
        found = _fitted_on_sample(model, pieces, sample, seed)
    _check_positions_known(found, pieces.table)
    return FrozenEstimator(found)


def check_sample(n: Any, seed: Any) -> None:
    """Refuse, before any work, what no sample can be drawn by.

    Parameters
    ----------
    n, seed : object
        What was given as ``sample`` and as ``random_state``.
    """
    if not isinstance(n, Integral) or n < 2:
        raise InvalidInputError(f"sample must be at least 2 rows, a whole number, got {n!r}.")
    if not isinstance(seed, Integral) or seed < 0:
        raise InvalidInputError(
            f"random_state must be 0 or more, a whole number, got {seed!r}: the same call draws the same sample every time."
        )


def _fitted_on_sample(model: Any, pieces: DaskPieces, sample: int, seed: int) -> Any:
    rows = sampled(pieces, sample, seed)
    discretizer = FCCADiscretizer(None if model is None else clone(model))
    return discretizer._fit_estimator(check_training_data(discretizer, rows.X, rows.y, rows.sample_weight))


def sampled(pieces: DaskPieces, n: int, seed: int) -> Rows:
    """Rows drawn at random, in their order: the same ones whatever the partitions and the workers.

    Parameters
    ----------
    pieces : DaskPieces
    n : int
        How many; all, where there are no more.
    seed : int
    """
    check_sample(n, seed)
    ends = np.cumsum(pieces.each(_n_rows))
    total = int(ends[-1])
    if total == 0:
        raise InvalidInputError("There are no rows to learn from.")
    at = np.arange(total) if n >= total else np.sort(np.random.default_rng(seed).choice(total, n, replace=False))
    begins = np.concatenate([[0], ends[:-1]])
    of_each = [
        at[np.searchsorted(at, begin) : np.searchsorted(at, end)] - begin for begin, end in zip(begins, ends, strict=True)
    ]
    parts = [part for part in pieces.each(_chosen, of_each) if part is not None]
    X = (
        pd.concat([part.X for part in parts], ignore_index=True)
        if isinstance(parts[0].X, pd.DataFrame)
        else np.concatenate([part.X for part in parts])
    )
    weight = None if parts[0].sample_weight is None else np.concatenate([part.sample_weight for part in parts])
    return Rows(X, np.concatenate([part.y for part in parts]), weight)


def _n_rows(number: int, rows: Rows) -> int:
    return int(rows.X.shape[0])


def _chosen(number: int, rows: Rows, of_each: list[Positions]) -> Rows | None:
    at = of_each[number]
    if not len(at):
        return None
    weight = None if rows.sample_weight is None else rows.sample_weight[at]
    return Rows(_safe_indexing(rows.X, at), rows.y[at], weight)


def _check_positions_known(model: Any, table: Table) -> None:
    """Refuse categories that a classifier knows by their positions where these may differ between partitions."""
    columns, names = read_model(model).columns, table.feature_names
    for j, column in enumerate(columns or ()):
        name = None if names is None or j >= len(names) else names[j]
        if isinstance(column, CodedColumn) and name is not None and not table.categorical.get(name, True):
            raise InvalidInputError(
                f"{type(model).__name__} knows the categories of column {name!r} by their positions, but Dask does not know "
                f"them, so that partitions may have others. Make them known: ddf = ddf.categorize(columns=[{name!r}])."
            )
