"""The supported steps of pipelines, as functions of raw columns.

Raw columns are the columns of the table before the first step. Each output column of a supported step is a function of a
single raw column. So a condition on the output column is a condition on the raw column.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from fcca.exceptions import UnsupportedModelError

Floats = NDArray[np.float64]

FINITE = float(np.finfo(np.float64).max)


class Table(list[NDArray[Any]]):
    """A table as a list with one array per column.

    Attributes
    ----------
    sparse : bool
        Whether the steps of the pipeline return the table as a sparse matrix. Some scalers round the values of sparse
        matrices differently.
    """

    def __init__(self, columns: Iterable[NDArray[Any]], *, sparse: bool = False) -> None:
        super().__init__(columns)
        self.sparse = sparse

    def joined(self, *, sparse: bool) -> Table:
        """Convert numeric columns to a common dtype, as in a matrix.

        A table with a column that is not numeric is returned unchanged. ``sparse`` tells whether the matrix is sparse.
        """
        if any(values.dtype.kind not in "fiub" for values in self):
            return self
        kind = np.result_type(*self) if len(self) else np.float64
        return Table((values.astype(kind, copy=False) for values in self), sparse=sparse)


@dataclass(frozen=True)
class Trace:
    """How an output column is computed from a raw column.

    Attributes
    ----------
    source : int
        Position of the raw column.
    constant : bool
        Whether the output depends only on whether the raw value is missing.
    encoded : bool
        Whether the output is a number that encodes a category.
    slope, centre, offset : float
        The output for the raw value x is ``slope * (x - centre) + offset``, up to rounding. Only used if the output is
        neither constant nor encoded.
    exact : bool
        True if this formula is exact, because the slope is a power of two, and centre and offset are 0.
    """

    source: int
    constant: bool = False
    encoded: bool = False
    slope: float = 1.0
    centre: float = 0.0
    offset: float = 0.0
    exact: bool = True

    @property
    def raw(self) -> bool:
        """True if the output is the raw column, except for filled-in missing values."""
        return not self.constant and not self.encoded and self.exact and self.slope == 1

    def scaled(self, slope: float, centre: float, offset: float, exact: bool) -> Trace:
        """Return the trace of the output after a further scaler.

        The scaler computes ``slope * (x - centre) + offset``. ``exact`` is True if the scaler does not round.
        """
        if self.constant or self.encoded:
            return self
        first = self.centre == 0 and self.offset == 0
        return replace(
            self,
            slope=slope * self.slope,
            centre=centre / self.slope if first else self.centre,
            offset=offset if first else slope * (self.offset - centre) + offset,
            exact=self.exact and exact,
        )


@dataclass
class RawColumnFacts:
    """Facts about labels and missing values of raw columns, found in the steps.

    Raw columns are given by position.

    Attributes
    ----------
    labels : dict of int to list
        For each raw column, the labels that any encoder knows, in the order of the first encoder.
    required : dict of int to list of sets
        For each raw column, one set per encoder that rejects unknown labels. The set has the labels that this encoder knows.
    filled : dict of int to list
        For each raw column, the labels that an imputer or a missing indicator treats as missing.
    none_is_missing : set of int
        Raw columns in which a missing label is None instead of NaN.
    as_object : set of int
        Raw columns with the dtype object. scikit-learn treats them differently from numeric columns.
    """

    labels: dict[int, list[Any]] = field(default_factory=dict)
    required: dict[int, list[set[Any]]] = field(default_factory=dict)
    filled: dict[int, list[Any]] = field(default_factory=dict)
    none_is_missing: set[int] = field(default_factory=set)
    as_object: set[int] = field(default_factory=set)

    def note(self, j: int, labels: Sequence[Any], *, strict: bool) -> None:
        """Add the labels that an encoder knows for raw column ``j``.

        A ``strict`` encoder rejects all other labels.
        """
        known = self.labels.setdefault(j, [])
        before = set(known)
        known += [label for label in labels if label not in before]
        if strict:
            self.required.setdefault(j, []).append(set(labels))

    def categories(self, j: int) -> tuple[Any, ...] | None:
        """Return the labels of raw column ``j`` that the steps accept.

        Return None if no encoder uses the column.
        """
        if j not in self.labels:
            return None
        filled = self.filled.get(j, [])
        known = [
            label for label in self.labels[j] if label in filled or all(label in own for own in self.required.get(j, []))
        ]
        return tuple(known + [label for label in filled if label not in known])


def is_missing(value: Any) -> bool:
    """Return True for None and NaN."""
    return value is None or bool(np.ndim(value) == 0 and pd.isna(value))


def unfrozen(step: Any) -> Any:
    """Return the step inside a FrozenEstimator."""
    while type(step).__name__ == "FrozenEstimator":
        step = step.estimator
    return step


def is_nothing(step: Any) -> bool:
    """Return True for a step that does not change the table.

    Such a step is None, "passthrough" or a FunctionTransformer. :func:`check_step` accepts a FunctionTransformer only
    without a function.
    """
    return step is None or (isinstance(step, str) and step == "passthrough") or _leaf_name(step) == "FunctionTransformer"


def _leaf_name(step: Any) -> str:
    """Return the class name of a step.

    The name includes the module, unless the class is from scikit-learn or fcca.
    """
    module = type(step).__module__
    return type(step).__name__ if module.startswith(("sklearn.", "fcca.")) else f"{module}.{type(step).__name__}"


# Scalers: slope, centre and offset of each column.
def _vectors(m: int, slope: Any, centre: Any, offset: float = 0.0) -> tuple[Floats, Floats, Floats]:
    return (
        np.ones(m) if slope is None else np.asarray(slope, dtype=np.float64),
        np.zeros(m) if centre is None else np.asarray(centre, dtype=np.float64),
        np.full(m, offset),
    )


SCALERS: dict[str, Callable[[Any, int], tuple[Floats, Floats, Floats]]] = {
    "StandardScaler": lambda s, m: _vectors(m, 1 / s.scale_ if s.with_std else None, s.mean_ if s.with_mean else None),
    "MinMaxScaler": lambda s, m: _vectors(m, s.scale_, s.data_min_, s.feature_range[0]),
    "MaxAbsScaler": lambda s, m: _vectors(m, 1 / s.scale_, None),
    "PowerOfTwoScaler": lambda s, m: _vectors(m, s.scale_, None),
    "RobustScaler": lambda s, m: _vectors(
        m, 1 / s.scale_ if s.with_scaling else None, s.center_ if s.with_centering else None
    ),
}


def _trace_scaler(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    columns = zip(*SCALERS[type(step).__name__](step, len(traces)), strict=True)
    exact = type(step).__name__ == "PowerOfTwoScaler"
    return [
        trace.scaled(float(slope), float(centre), float(offset), exact)
        for trace, (slope, centre, offset) in zip(traces, columns, strict=True)
    ]


def _flags(indicator: Any, traces: Sequence[Trace]) -> list[Trace]:
    return [Trace(traces[i].source, constant=True, encoded=traces[i].encoded) for i in indicator.features_]


def _note_missing(step: Any, traces: Sequence[Trace], facts: RawColumnFacts) -> None:
    """Add the values that a step treats as missing to ``facts``.

    The step is a SimpleImputer or a MissingIndicator.
    """
    if step.missing_values is None:
        facts.none_is_missing.update(trace.source for trace in traces)
    elif not is_missing(step.missing_values):
        for trace in traces:
            if not trace.encoded:
                known = facts.filled.setdefault(trace.source, [])
                known += [] if step.missing_values in known else [step.missing_values]


def _trace_imputer(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    _note_missing(step, traces, facts)
    kept = [
        trace
        for trace, statistic in zip(traces, step.statistics_, strict=True)
        if step.keep_empty_features or not (isinstance(statistic, (float, np.floating)) and np.isnan(statistic))
    ]
    return kept + (_flags(step.indicator_, traces) if step.add_indicator else [])


def _trace_indicator(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    _note_missing(step, traces, facts)
    return _flags(step, traces)


def _trace_encoder(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    name = type(step).__name__
    if name == "OneHotEncoder":
        widths = [int(width) for width in step._n_features_outs]
    elif name == "TargetEncoder" and step.target_type_ == "multiclass":
        widths = [len(step.classes_)] * len(traces)
    else:
        widths = [1] * len(traces)
    strict = getattr(step, "handle_unknown", "error") == "error" and name != "TargetEncoder"
    out = []
    for trace, width, categories in zip(traces, widths, step.categories_, strict=True):
        if trace.raw:
            labels = [label for label in np.asarray(categories).tolist() if not is_missing(label)]
            facts.note(trace.source, labels, strict=strict)
            if np.asarray(categories).dtype == object:
                facts.as_object.add(trace.source)
            missing = [label for label in np.asarray(categories).tolist() if is_missing(label)]
            if missing and all(label is None for label in missing):
                facts.none_is_missing.add(trace.source)
        elif not trace.encoded and not trace.constant:
            raise UnsupportedModelError(
                f"{name} comes after a scaler in the pipeline, so its categories are scaled numbers, which is not "
                "supported. Put the encoder before the scaler."
            )
        out += [Trace(trace.source, encoded=True, constant=trace.constant)] * width
    return out


def _trace_coder(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    out = []
    for trace, column in zip(traces, step.columns_, strict=True):
        if column.categories is None:
            out.append(trace)
            continue
        facts.note(trace.source, column.categories, strict=True)
        out.append(Trace(trace.source, encoded=True))
    return out


LEAVES: dict[str, Callable[[Any, list[Trace], RawColumnFacts], list[Trace]]] = {
    **dict.fromkeys(SCALERS, _trace_scaler),
    "SimpleImputer": _trace_imputer,
    "MissingIndicator": _trace_indicator,
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), _trace_encoder),
    "TableCoder": _trace_coder,
}
# Steps whose extremes, labels and fill values do not depend on weights.
WITHOUT_WEIGHTS = frozenset(
    {"MinMaxScaler", "MaxAbsScaler", "PowerOfTwoScaler", "SimpleImputer", "MissingIndicator", "TableCoder"}
)
OWN = frozenset({"PowerOfTwoScaler", "TableCoder"})
SUPPORTED = (
    ", ".join(name for name in LEAVES if name not in OWN)
    + ", ColumnTransformer, FeatureUnion and Pipeline of these, 'passthrough' and 'drop'"
)


def _inner_steps(step: Any) -> list[Any]:
    """Return the steps inside a Pipeline, ColumnTransformer or FeatureUnion.

    Return an empty list for any other step.
    """
    name = _leaf_name(step)
    if name == "Pipeline":
        return [inner for _, inner in step.steps]
    if name == "ColumnTransformer":
        return [*(inner for _, inner, _ in step.transformers), step.remainder]
    return [inner for _, inner in step.transformer_list] if name == "FeatureUnion" else []


def check_step(step: Any) -> None:
    """Check that a fitted or unfitted step is supported.

    A step is supported if each of its output columns is a function of one input column.
    """
    step = unfrozen(step)
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return
    name = _leaf_name(step)
    if name == "FunctionTransformer":
        if step.func is not None:
            raise UnsupportedModelError(
                f"The pipeline step FunctionTransformer calls {getattr(step.func, '__name__', step.func)!r}, which cannot "
                f"be inverted. Apply the function to the table before the pipeline. Supported steps: {SUPPORTED}."
            )
    elif name not in LEAVES and name not in ("Pipeline", "ColumnTransformer", "FeatureUnion"):
        raise UnsupportedModelError(
            f"The pipeline step {type(step).__name__} is not supported before a classifier. Supported steps: {SUPPORTED}."
        )
    if getattr(step, "clip", False):
        raise UnsupportedModelError("MinMaxScaler(clip=True) is not supported. Use clip=False.")
    if getattr(step, "transformer_weights", None):
        raise UnsupportedModelError(f"{name}(transformer_weights=...) is not supported. Leave out transformer_weights.")
    for inner in _inner_steps(step):
        check_step(inner)


def step_weights(step: Any, weight: Any, *, routed: bool = True) -> dict[str, Any]:
    """Return the arguments that pass row weights to a step's ``fit``.

    The result is empty if weights have no effect on the step. It is also empty for SimpleImputer, which does not accept
    weights and computes its fill values from the unweighted rows.

    Parameters
    ----------
    step : transformer, 'passthrough', 'drop' or None
    weight : ndarray of shape (n_rows,)
    routed : bool, default=True
        Whether weights can reach the step. ColumnTransformer and FeatureUnion do not pass weights to the steps inside them.

    Raises
    ------
    UnsupportedModelError
        If weights have an effect on the step, but cannot be passed to it.
    """
    if type(step).__name__ == "FrozenEstimator" or step == "drop" or is_nothing(step):
        return {}
    name = _leaf_name(step)
    if name == "Pipeline":
        return {
            f"{inner}__{key}": value
            for inner, transformer in step.steps
            for key, value in step_weights(transformer, weight, routed=routed).items()
        }
    if name in ("ColumnTransformer", "FeatureUnion"):
        for inner in _inner_steps(step):
            step_weights(inner, weight, routed=False)
        return {}
    counted = getattr(step, "min_frequency", None) is not None or getattr(step, "max_categories", None) is not None
    if name in WITHOUT_WEIGHTS or (name in ("OneHotEncoder", "OrdinalEncoder") and not counted):
        return {}
    if not has_fit_parameter(step, "sample_weight"):
        what = "min_frequency and max_categories count" if counted else f"{name} counts"
        encoder = "OneHotEncoder without min_frequency and max_categories"
        raise UnsupportedModelError(
            f"{name} does not support sample_weight: {what} rows without weights. Use "
            f"{encoder if 'Encoder' in name else 'StandardScaler or MinMaxScaler'}, or fit the pipeline yourself and wrap "
            "it in a FrozenEstimator."
        )
    if not routed:
        raise UnsupportedModelError(
            f"ColumnTransformer does not pass sample_weight to {name}. Use MinMaxScaler instead, put {name} before or after "
            "the ColumnTransformer, or fit the pipeline yourself and wrap it in a FrozenEstimator."
        )
    return {"sample_weight": weight}


def _branches(step: Any, n: int) -> list[tuple[Any, list[int], slice]]:
    """List the steps inside a ColumnTransformer or FeatureUnion.

    Each step comes with the positions of its input columns, and the slice of its output columns. In a FeatureUnion, the
    slices are not known and are empty.
    """
    if _leaf_name(step) == "FeatureUnion":
        return [(inner, list(range(n)), slice(0)) for _, inner in step.transformer_list if inner != "drop"]
    found = []
    for name, inner, _ in step.transformers_:
        place = step.output_indices_[name]
        if not (isinstance(inner, str) and inner == "drop") and place.stop > place.start:
            found.append((inner, [int(i) for i in step._transformer_to_input_indices[name]], place))
    return found


def trace(step: Any, traces: list[Trace], facts: RawColumnFacts) -> list[Trace]:
    """Trace the output columns of a fitted step back to raw columns.

    Parameters
    ----------
    step : fitted transformer
    traces : list of Trace
        The traces of the step's input columns.
    facts : RawColumnFacts
        Facts about the raw columns. This function adds the facts that are found in the step.

    Returns
    -------
    list of Trace
        The traces of the step's output columns.
    """
    step = unfrozen(step)
    if is_nothing(step):
        return traces
    name = _leaf_name(step)
    if name == "Pipeline":
        for _, inner in step.steps:
            traces = trace(inner, traces, facts)
        return traces
    if name in ("ColumnTransformer", "FeatureUnion"):
        found: list[Trace] = []
        for inner, columns, _ in _branches(step, len(traces)):
            found += trace(inner, [traces[i] for i in columns], facts)
        return found
    return LEAVES[name](step, traces, facts)


def transform(step: Any, table: Table, needed: NDArray[np.bool_] | None = None) -> Table:
    """Transform a table with a fitted step.

    Parameters
    ----------
    step : fitted transformer
    table : Table
        The input columns.
    needed : ndarray of bool or None
        True for output columns that are needed. The others may be NaN.

    Returns
    -------
    Table
        The output columns.
    """
    step = unfrozen(step)
    if is_nothing(step):
        return table
    name = _leaf_name(step)
    if name == "Pipeline":
        for _, inner in step.steps:
            table = transform(inner, table)
        return table
    if name in ("ColumnTransformer", "FeatureUnion"):
        out = Table([])
        any_sparse = False
        for inner, columns, place in _branches(step, len(table)):
            if needed is not None and name == "ColumnTransformer" and not needed[place].any():
                out += [np.full(len(table[0]), np.nan)] * (place.stop - place.start)
            else:
                branch = transform(inner, Table((table[i] for i in columns), sparse=table.sparse))
                any_sparse |= branch.sparse
                out += branch
        return out.joined(sparse=step.sparse_output_ if name == "ColumnTransformer" else any_sparse)
    return _transformed(step, table)


def _transformed(step: Any, table: Table) -> Table:
    given: Any
    objects = any(values.dtype.kind not in "fiub" for values in table)
    names = getattr(step, "feature_names_in_", None)
    if objects and names is not None:
        given = pd.DataFrame({i: pd.Series(values, dtype=values.dtype) for i, values in enumerate(table)})
        given.columns = names
    else:
        given = np.stack([values.astype(object) for values in table] if objects else table, axis=1)
        if given.dtype.kind == "f":
            np.clip(given, -FINITE, FINITE, out=given)  # a step may reject values that overflowed in the step before
        if table.sparse and not objects:
            given = sparse.csr_matrix(given)
        elif names is not None:
            given = pd.DataFrame(given, columns=names, copy=False)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit has warned of unknown categories and empty columns
        out = step.transform(given)
    if isinstance(out, pd.DataFrame):
        return Table(out.iloc[:, k].to_numpy() for k in range(out.shape[1]))
    if sparse.issparse(out):
        return Table(out.toarray().T, sparse=True)
    return Table(np.asarray(out).T)
