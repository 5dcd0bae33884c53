"""Split the partitions of a Dask DataFrame into features, labels and weights."""

from __future__ import annotations

import pickle
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.discretizers import Rows
from fcca.exceptions import FCCAError, InvalidInputError

Delayed = Any  # dask has no types

TEXTS = ("string", "empty")  # pandas' names for the kinds of objects that are valid labels
ANYTHING = pd.Series([], dtype=object)  # Dask's description of partitions that are not frames


@dataclass(frozen=True)
class Layout:
    """Names of the label, weight and feature columns of a table.

    Attributes
    ----------
    label : str
        Name of the label column.
    sample_weight : str or None
        Name of the weight column; None if there is no such column.
    features : tuple of str
        Names of the feature columns.
    """

    label: str
    sample_weight: str | None
    features: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the feature, label and weight columns."""
        return [*self.features, self.label, *([] if self.sample_weight is None else [self.sample_weight])]

    def rows(self, frame: pd.DataFrame) -> Rows:
        """Split one partition into features, checked labels and weights."""
        weight = None if self.sample_weight is None else _weights(frame[self.sample_weight])
        return Rows(frame[list(self.features)], _labels(frame[self.label]), weight)


class PartitionedTable:
    """A Dask DataFrame with a label column and an optional weight column.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
    label : str
        Name of the label column.
    sample_weight : str or None
        Name of the weight column; None if there is no such column.
    """

    def __init__(self, ddf: Any, label: str, sample_weight: str | None) -> None:
        if not isinstance(ddf, dd.DataFrame):
            raise InvalidInputError(
                f"ddf must be a Dask DataFrame, got {type(ddf).__name__}. Read one with dask.dataframe.read_parquet, or "
                "convert a table with dask.dataframe.from_pandas or dask.dataframe.from_dask_array."
            )
        self.layout = _layout(list(ddf.columns), label, sample_weight)
        self.frame = ddf[self.layout.columns]

    @property
    def n_partitions(self) -> int:
        """Number of partitions that are read, after Dask has merged small ones."""
        return int(self._partitions.npartitions)

    @property
    def unknown_categories(self) -> set[Any]:
        """Names of the categorical columns whose categories Dask does not know."""
        categorical = [name for name, kind in self.frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
        return {name for name in categorical if not self.frame[name].cat.known}

    def applied(self, function: Callable[..., Any], *given: Any) -> list[Delayed]:
        """Return one Dask task per partition, each of which calls a function.

        Parameters
        ----------
        function : callable
            Called as ``function(number, rows, *given)``, with the number of the partition and its rows as :class:`Rows`.
        *given : object
            Further arguments of the function.
        """
        packed = broadcast((function, self.layout, *given))
        numbers = dd.from_map(_unchanged, range(self.n_partitions), meta=ANYTHING, enforce_metadata=False)
        return list(_mapped(numbers, _applied, packed, self._partitions).to_delayed())

    @cached_property
    def _partitions(self) -> Any:
        """The partitions, each as a tuple with one data frame.

        Dask may merge partitions when few columns are read. ``optimize`` makes this decision once for all passes, so that
        the number of partitions stays the same.
        """
        return _mapped(self.frame, _as_tuple).optimize()


def _layout(names: list[str], label: str, sample_weight: str | None) -> Layout:
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise InvalidInputError(f"Column names must be unique; repeated: {', '.join(map(repr, repeated))}.")
    for name in (label, *([] if sample_weight is None else [sample_weight])):
        if name not in names:
            raise InvalidInputError(f"The table has no column {name!r}. Its columns are {names}.")
    if label == sample_weight:
        raise InvalidInputError(f"label and sample_weight must be different columns, got {label!r} for both.")
    features = tuple(name for name in names if name not in (label, sample_weight))
    if not features:
        raise InvalidInputError(f"The table has no features: its only columns are {names}.")
    return Layout(label, sample_weight, features)


def _labels(column: pd.Series[Any]) -> NDArray[Any]:
    missing = np.flatnonzero(pd.isna(column))
    if len(missing):
        row = column.index[missing[0]]
        raise InvalidInputError(f"The label column {column.name!r} has a missing value in row {row}. Drop such rows.")
    labels = _as_array(column)
    if labels.dtype.kind == "f" and not (whole := np.isfinite(labels) & (labels == np.floor(labels))).all():
        raise InvalidInputError(
            f"The label column {column.name!r} has values such as {labels[~whole][0]:g}, but classes must be integers, "
            "strings or booleans. Convert the column to classes first."
        )
    if labels.dtype.kind not in "biufUMm" and (held := pd.api.types.infer_dtype(labels, skipna=False)) not in TEXTS:
        raise InvalidInputError(
            f"The label column {column.name!r} has objects of type {held}, but classes must be integers, strings or "
            "booleans. Convert the column to one of these types."
        )
    return labels


def _as_array(column: pd.Series[Any]) -> NDArray[Any]:
    if pd.api.types.is_integer_dtype(column.dtype) and not isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_bool_dtype(column.dtype) and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=np.bool_)
    return column.to_numpy()


def _weights(column: pd.Series[Any]) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"sample_weight must be a column of numbers: {error}.") from error


def _mapped(first: Any, function: Callable[..., Any], *others: Any) -> Any:
    """Apply a function to every partition, without checking the types of its results."""
    return first.map_partitions(function, *others, meta=ANYTHING, enforce_metadata=False, align_dataframes=False)


def _unchanged(number: int) -> int:
    return number


def _as_tuple(frame: pd.DataFrame) -> tuple[pd.DataFrame]:
    return (frame,)


def _applied(number: int, packed: tuple[Any, ...], partition: tuple[pd.DataFrame]) -> Any:
    function, layout, *given = packed
    try:
        return function(number, layout.rows(*partition), *given)
    except FCCAError as error:
        error.add_note(f"This happened in partition {number}, counted from 0.")
        raise


def broadcast(value: Any) -> Delayed:
    """Return a Dask task that provides a value to many other tasks.

    The task graph stores the value only once. If a worker is lost, another worker unpacks the value again. A value that was
    sent with ``Client.scatter`` would be lost with its worker.
    """
    packed = zlib.compress(cloudpickle.dumps(value), level=1)
    return dask.delayed(_unpacked, pure=False)(packed, dask_key_name=f"fcca-broadcast-{uuid4().hex}")


def _unpacked(packed: bytes) -> Any:
    return pickle.loads(zlib.decompress(packed))
