"""Tables of Dask, partition by partition: what is computed of one is computed where it lies, in the task that reads it."""

from __future__ import annotations

import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import FCCAError, InvalidInputError
from fcca.streaming._stages import Rows

Delayed = Any  # dask has no types

TEXTS = ("string", "empty")  # as pandas calls what objects are
ANYTHING = pd.Series([], dtype=object)  # what Dask is told of partitions that are no frames


def is_collection(X: Any) -> bool:
    """Whether X is a table of Dask."""
    return isinstance(X, dd.DataFrame | dd.Series | da.Array)


@dataclass(frozen=True)
class Layout:
    """Which columns of a partition are which, where they are all in one frame."""

    label: str
    sample_weight: str | None
    columns: tuple[str, ...]

    def rows(self, frame: pd.DataFrame) -> Rows:
        """The rows of a partition."""
        weight = None if self.sample_weight is None else _numbers(frame[self.sample_weight])
        return Rows(frame[list(self.columns)], _labels(frame[self.label], repr(self.label)), weight)


@dataclass(frozen=True)
class Columns:
    """The parts of a partition, where table, labels and weights are given one by one."""

    has_labels: bool
    has_weights: bool

    def rows(self, X: Any, *others: Any) -> Rows:
        """The rows of a partition."""
        rest = list(others)
        y = _labels(rest.pop(0), "y") if self.has_labels else np.empty(0)
        weight = _numbers(rest.pop(0)) if self.has_weights else None
        for name, column in (("y", y if self.has_labels else None), ("sample_weight", weight)):
            if column is not None and len(column) != X.shape[0]:
                raise InvalidInputError(f"X has {X.shape[0]} rows and {name} has {len(column)}. Expected as many.")
        return Rows(X, y, weight)


def _labels(column: Any, name: str) -> NDArray[Any]:
    missing = np.asarray(pd.isna(column))
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        row = column.index[at] if isinstance(column, pd.Series) else at
        raise InvalidInputError(f"The labels {name} have no value in row {row} of a partition. Leave out such rows.")
    labels = _as_array(column)
    if labels.dtype.kind == "f" and not (whole := np.isfinite(labels) & (labels == np.floor(labels))).all():
        raise InvalidInputError(
            f"The labels {name} are numbers such as {labels[~whole][0]:g}, but classes are whole numbers, texts or truth "
            "values. Cut the column into classes first."
        )
    if labels.dtype.kind not in "biufUMm" and (held := pd.api.types.infer_dtype(labels, skipna=False)) not in TEXTS:
        raise InvalidInputError(
            f"The labels {name} hold objects of type {held}, but classes are whole numbers, texts or truth values. Give the "
            "column one of these types."
        )
    return labels


def _as_array(column: Any) -> NDArray[Any]:
    if not isinstance(column, pd.Series):
        return np.asarray(column)
    if pd.api.types.is_integer_dtype(column.dtype) and not isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_bool_dtype(column.dtype) and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=np.bool_)
    return column.to_numpy()


def _numbers(column: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"sample_weight must be numbers: {error}.") from error


@dataclass(frozen=True)
class Table:
    """A table of Dask with its labels and weights.

    Attributes
    ----------
    parts : tuple of dask collections
        Of as many partitions each, all frames or all arrays.
    layout : Layout or Columns
        How one partition of each make rows.
    """

    parts: tuple[Any, ...]
    layout: Layout | Columns

    @classmethod
    def of_frame(cls, ddf: Any, label: str, sample_weight: str | None) -> Table:
        """The table in a Dask data frame that has the labels, too."""
        if not isinstance(ddf, dd.DataFrame):
            raise InvalidInputError(
                f"distill takes a Dask DataFrame, got {type(ddf).__name__}. Read one with dask.dataframe.read_parquet, or "
                "make one of a pandas frame with dask.dataframe.from_pandas. fcca.dask.FCCAClassifier takes arrays, too."
            )
        names = list(ddf.columns)
        _check_unique(names)
        for asked in (label, *([] if sample_weight is None else [sample_weight])):
            if asked not in names:
                raise InvalidInputError(f"The table has no column {asked!r}. Its columns are {names}.")
        if label == sample_weight:
            raise InvalidInputError(f"{label!r} is named twice: as label and as sample_weight.")
        columns = tuple(name for name in names if name not in (label, sample_weight))
        if not columns:
            raise InvalidInputError(f"The table has no column to learn from beside {label!r}.")
        read = [*columns, label, *([] if sample_weight is None else [sample_weight])]
        return cls((ddf[read],), Layout(label, sample_weight, columns))

    @classmethod
    def of_parts(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        """The table in Dask collections: a frame with Series, or arrays chunked by rows."""
        if not isinstance(X, dd.DataFrame | da.Array):
            raise InvalidInputError(
                f"X must be a Dask DataFrame or a Dask array of rows and columns, got {type(X).__name__}."
            )
        if isinstance(X, dd.DataFrame):
            _check_unique(list(X.columns))
        else:
            if X.ndim != 2:
                raise InvalidInputError(f"X must have rows and columns, got a Dask array of {X.ndim} dimension(s).")
            if X.numblocks[1] != 1:
                raise InvalidInputError(
                    f"X is chunked into {X.numblocks[1]} blocks of columns, but a row must be in one place. Put them "
                    "together: X.rechunk({1: -1})."
                )
        others = {name: part for name, part in (("y", y), ("sample_weight", sample_weight)) if part is not None}
        beside = tuple(_beside(X, part, name) for name, part in others.items())
        return cls((X, *beside), Columns(y is not None, sample_weight is not None))

    @property
    def is_array(self) -> bool:
        """Whether it is of arrays."""
        return isinstance(self.parts[0], da.Array)

    @property
    def n_partitions(self) -> int:
        """How many partitions there are."""
        return _n_partitions(self.parts[0] if self.is_array else self._together)

    @property
    def feature_names(self) -> list[str] | None:
        """The columns to learn from; None where they have no names."""
        if isinstance(self.layout, Layout):
            return list(self.layout.columns)
        return [str(name) for name in self.parts[0].columns] if isinstance(self.parts[0], dd.DataFrame) else None

    @property
    def categorical(self) -> dict[str, bool]:
        """The columns of pandas' category type, and whether Dask knows their categories."""
        X = self.parts[0]
        if not isinstance(X, dd.DataFrame):
            return {}
        known = {name: X[name].cat.known for name, kind in X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
        return {str(name): bool(is_known) for name, is_known in known.items()}

    def applied(self, function: Callable[..., Any], *given: Any) -> list[Delayed]:
        """A function of each partition's rows, and of what else it is given, one task per partition.

        Parameters
        ----------
        function : callable
            Takes the number of the partition, :class:`Rows`, and ``given``.
        """
        packed = broadcast((function, self.layout, *given))
        if self.is_array:
            indexed = [(part, "ij"[: part.ndim]) for part in self.parts]
            numbers = da.arange(self.n_partitions, chunks=1)
            results = da.blockwise(
                _applied,
                "i",
                *(numbers, "i", packed, None),
                *(entry for pair in indexed for entry in pair),
                dtype=object,
                meta=np.empty(0, dtype=object),
                concatenate=True,
                align_arrays=False,
                adjust_chunks={"i": 1},
            )
            return list(results.to_delayed())
        numbers = dd.from_map(_itself, range(self.n_partitions), meta=ANYTHING, enforce_metadata=False)
        return list(_mapped(numbers, _applied, packed, self._together).to_delayed())

    @cached_property
    def _together(self) -> Any:
        """The partitions of all frames as tuples.

        Dask may read several partitions as one, where few columns are asked for. Here that is settled once for all.
        """
        first, *others = self.parts
        return _mapped(first, _as_tuple, *others).optimize()


def _mapped(first: Any, function: Callable[..., Any], *others: Any) -> Any:
    """A function of the partitions of frames, which may return anything."""
    return first.map_partitions(function, *others, meta=ANYTHING, enforce_metadata=False, align_dataframes=False)


def _itself(number: int) -> int:
    return number


def _as_tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


def _applied(number: Any, packed: tuple[Any, ...], *parts: Any) -> Any:
    function, layout, *given = packed
    at = int(np.ravel(number)[0])
    parts = parts[0] if isinstance(parts[0], tuple) else parts  # frames come together
    try:
        return function(at, layout.rows(*parts), *given)
    except FCCAError as error:
        error.add_note(f"This was found in partition {at} of the table, the first is 0.")
        raise


def broadcast(value: Any) -> Delayed:
    """A value that many tasks take, as a task of its own.

    It is in the graph once. A worker that has lost it unpacks it again; what is scattered to workers is lost with them.
    """
    packed = zlib.compress(cloudpickle.dumps(value), level=1)
    return dask.delayed(_unpacked, pure=False)(packed, dask_key_name=f"fcca-broadcast-{uuid4().hex}")


def _unpacked(packed: bytes) -> Any:
    return pickle.loads(zlib.decompress(packed))


def _check_unique(names: Sequence[Any]) -> None:
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise InvalidInputError(f"Column names must be unique; repeated: {', '.join(map(repr, repeated))}.")


def _n_partitions(part: Any) -> int:
    return int(part.numblocks[0] if isinstance(part, da.Array) else part.npartitions)


def _beside(X: Any, part: Any, name: str) -> Any:
    """Labels or weights as a collection of X's kind, with its partitions."""
    if not isinstance(part, dd.Series | da.Array) or getattr(part, "ndim", 1) != 1:
        raise InvalidInputError(
            f"X is of Dask, so {name} must be a Dask Series or a Dask array of one dimension, got {type(part).__name__}."
        )
    if isinstance(X, da.Array):
        part = part.to_dask_array() if isinstance(part, dd.Series) else part
        sizes = X.chunks[0]
        if sizes != part.chunks[0] and not np.isnan([*sizes, *part.chunks[0]]).any():
            if sum(sizes) != sum(part.chunks[0]):
                raise InvalidInputError(f"X has {sum(sizes)} rows and {name} has {sum(part.chunks[0])}. Expected as many.")
            part = part.rechunk((sizes,))
    elif isinstance(part, da.Array):
        part = dd.from_dask_array(part)
    if _n_partitions(part) != _n_partitions(X):
        raise InvalidInputError(
            f"X has {_n_partitions(X)} partitions and {name} has {_n_partitions(part)}. Expected as many, with the same "
            "rows: take both from one table, or repartition them alike."
        )
    return part
