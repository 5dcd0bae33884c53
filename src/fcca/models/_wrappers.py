"""What people put around a classifier: pipelines with scalers, parameter searches, FrozenEstimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from fcca._units import PowerOfTwoScaler
from fcca.exceptions import UnsupportedModelError
from fcca.models._model import LinearModel, Model, TreeEnsemble
from fcca.models._precision import largest_passing

Floats = NDArray[np.float64]


class Affine(NamedTuple):
    """Columns x ↦ slope · (x − centre) + offset, slope > 0."""

    slope: Floats
    centre: Floats
    offset: Floats


def _affine(m: int, slope: Floats | None, centre: Floats | None, offset: float = 0.0) -> Affine:
    return Affine(
        np.ones(m) if slope is None else np.asarray(slope, dtype=np.float64),
        np.zeros(m) if centre is None else np.asarray(centre, dtype=np.float64),
        np.full(m, offset),
    )


AFFINE_SCALERS: dict[str, Callable[[Any, int], Affine]] = {
    "StandardScaler": lambda s, m: _affine(m, 1 / s.scale_ if s.with_std else None, s.mean_ if s.with_mean else None),
    "MinMaxScaler": lambda s, m: _affine(m, s.scale_, s.data_min_, s.feature_range[0]),
    "MaxAbsScaler": lambda s, m: _affine(m, 1 / s.scale_, None),
    "PowerOfTwoScaler": lambda s, m: _affine(m, s.scale_, None),
    "RobustScaler": lambda s, m: _affine(
        m, 1 / s.scale_ if s.with_scaling else None, s.center_ if s.with_centering else None
    ),
}


# Those to recommend: the power of two is what fcca puts before its own default classifier.
PUBLIC_SCALERS = [name for name in AFFINE_SCALERS if name != "PowerOfTwoScaler"]

# What these learn, extremes, does not depend on weights.
WEIGHTLESS_SCALERS = frozenset({"MinMaxScaler", "MaxAbsScaler", "PowerOfTwoScaler"})


def as_fitted_on(estimator: Any, X: Floats) -> Any:
    """X in the form the estimator was fitted on: with its column names if it has seen names, so that it need not warn."""
    steps = [step for _, step in getattr(estimator, "steps", []) if step is not None and step != "passthrough"]
    names = getattr(steps[0] if steps else estimator, "feature_names_in_", None)
    if names is None or len(names) != X.shape[1]:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names, copy=False)


def check_scaler(scaler: Any) -> None:
    """Refuse pipeline steps that are not one of the affine scalers."""
    if scaler is None or scaler == "passthrough":
        return
    name = type(scaler).__name__
    if name not in AFFINE_SCALERS or not type(scaler).__module__.startswith(("sklearn.preprocessing", "fcca.")):
        raise UnsupportedModelError(
            f"The pipeline step {name} is not supported before a classifier. Supported steps: "
            f"{', '.join(PUBLIC_SCALERS)} and 'passthrough'."
        )
    if getattr(scaler, "clip", False):
        raise UnsupportedModelError("MinMaxScaler(clip=True) is not supported: use clip=False.")


def scaler_weights(scaler: Any, weight: Any) -> dict[str, Any]:
    """The parameters by which a scaler's fit takes weights; none where weights do not change what it learns."""
    if scaler is None or scaler == "passthrough" or type(scaler).__name__ in WEIGHTLESS_SCALERS:
        return {}
    if not has_fit_parameter(scaler, "sample_weight"):
        raise UnsupportedModelError(
            f"{type(scaler).__name__} takes no sample_weight. Use StandardScaler or MinMaxScaler, or fit the pipeline "
            "yourself and freeze it."
        )
    return {"sample_weight": weight}


def _read_through_scaler(scaler: Any, inner: Model) -> Model:
    m = inner.n_features
    affine = AFFINE_SCALERS[type(scaler).__name__](scaler, m)
    if isinstance(inner, LinearModel):
        intercept = inner.intercept + inner.coef @ (affine.offset - inner.centre)
        return replace(inner, coef=inner.coef * affine.slope, intercept=intercept, centre=affine.centre)
    assert isinstance(inner, TreeEnsemble)
    nodes = np.flatnonzero(inner.feature >= 0)
    columns = inner.feature[nodes]
    threshold, native = inner.threshold.copy(), inner.native_threshold.copy()
    if len(nodes):
        if isinstance(scaler, PowerOfTwoScaler):  # exact both ways
            threshold[nodes] = inner.threshold[nodes] / affine.slope[columns]
        else:
            threshold[nodes] = _cuts_before(scaler, columns, inner.threshold[nodes], m)
        native[nodes] = (native[nodes] - affine.offset[columns]) / affine.slope[columns] + affine.centre[columns]
    return replace(inner, threshold=threshold, native_threshold=native)


def _cuts_before(scaler: Any, columns: NDArray[np.int32], cuts: Floats, m: int) -> Floats:
    """For each cut of a scaled column, the largest float64 of the column itself that the scaler does not take above it."""
    (column, cut), where = np.unique(np.stack([columns.astype(np.float64), cuts]), axis=1, return_inverse=True)
    column = column.astype(np.int64)
    # One cut of every column in each row that the scaler is shown.
    row = np.arange(len(column)) - np.searchsorted(column, column)

    def scaled(x: Floats) -> Floats:
        rows = np.zeros((int(row.max()) + 1, m))
        rows[row, column] = x
        with np.errstate(over="ignore", invalid="ignore"):
            # The scaler's own arithmetic, so that its rounding is the model's.
            out = np.asarray(scaler.transform(as_fitted_on(scaler, rows)))
        return np.asarray(out[row, column], dtype=np.float64)

    found: Floats = largest_passing(lambda x: scaled(x) <= cut, len(cut))[where.ravel()]
    return found


def read_pipeline(pipeline: Any, read_model: Callable[[Any], Model]) -> Model:
    """Read the last step and take its cuts or coefficients back through the scalers before it."""
    model = read_model(pipeline.steps[-1][1])
    for _, step in reversed(pipeline.steps[:-1]):
        check_scaler(step)
        if step is not None and step != "passthrough":
            model = _read_through_scaler(step, model)
    return model


def check_pipeline(pipeline: Any, check_supported: Callable[[Any], None]) -> None:
    """Check every step before anything is fitted."""
    for _, step in pipeline.steps[:-1]:
        check_scaler(step)
    check_supported(pipeline.steps[-1][1])


def best_estimator(search: Any) -> Any:
    """Return what a fitted parameter search found."""
    if not hasattr(search, "best_estimator_"):
        raise UnsupportedModelError(f"{type(search).__name__} keeps no best estimator: fit it with refit=True.")
    return search.best_estimator_
