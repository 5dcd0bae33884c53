"""Groups of rows, defined by the values of a column or given by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.utils import close_to

#: Label of the group of rows without a value.
MISSING = "(missing)"
#: Largest number of distinct numbers in a column that defines groups.
MOST_NUMBERS = 10


@dataclass(frozen=True)
class Groups:
    """A division of rows into groups.

    Attributes
    ----------
    name : str
        Name of the column that defines the groups.
    labels : list
        Names of the groups.
    code : ndarray of shape (n_rows,)
        Group of each row, as a position in ``labels``.
    """

    name: str
    labels: list[Any]
    code: NDArray[np.intp]

    @classmethod
    def of(cls, values: Any, name: str | None = None, *, n_rows: int | None = None) -> Groups:
        """Build one group for each distinct value.

        Missing values form a separate group. The groups are sorted by their values, or in the order of pandas' category
        dtype.

        Parameters
        ----------
        values : iterable
            One value per row.
        name : str, optional
            Name of the groups. By default, the name of the Series.
        n_rows : int, optional
            Expected number of values.
        """
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidInputError(f"groups must be one value per row, got {values!r}.")
        given: Any = list(values) if type(values).__module__.startswith("polars") else values
        name = str(getattr(values, "name", None) or "group") if name is None else name
        column = pd.Series(given) if not isinstance(given, pd.Series) else given
        if n_rows is not None and len(column) != n_rows:
            raise InvalidInputError(f"groups must be one value per row ({n_rows} rows), got {len(column)} value(s).")
        is_missing = column.isna().to_numpy(dtype=bool)
        if isinstance(column.dtype, pd.CategoricalDtype):
            present = set(column.dropna().tolist())
            labels = [_plain(label) for label in column.cat.categories.tolist() if label in present]
        else:
            labels = sorted({_plain(label) for label in column[~is_missing].tolist()}, key=_order)
        position = {label: at for at, label in enumerate(labels)}
        code = np.array([position.get(_plain(label), len(labels)) for label in column.tolist()], dtype=np.intp)
        if is_missing.any():
            labels = [*labels, MISSING]
        if len(labels) < 2:
            what = f"only one value, {labels[0]!r}" if labels else "no value"
            raise InvalidInputError(
                f"{name!r} has {what}, so there is nothing to compare. Pass rows of at least two groups."
            )
        return cls(name, labels, code)

    @property
    def index(self) -> pd.Index[Any]:
        """The names of the groups as an index for data frames."""
        return pd.Index(self.labels, dtype=object, name=self.name, tupleize_cols=False)

    def __iter__(self) -> Any:
        """Iterate over the groups: the name of each, and the positions of its rows."""
        return ((label, np.flatnonzero(self.code == at)) for at, label in enumerate(self.labels))


def groups_of_column(values: Any, name: str, groups: Any | Callable[[Any], Any], n_rows: int) -> Groups:
    """Build groups from the values of a column, or from the parameter ``groups``.

    Parameters
    ----------
    values : Series
        Values of the column.
    name : str
        Name of the column.
    groups : array-like, callable or None
        The group of each row, or a function that computes the groups from the column. With None, each value is a group.
    n_rows : int
        Expected number of rows.
    """
    if callable(groups):
        return Groups.of(groups(values), name, n_rows=n_rows)
    if groups is not None:
        return Groups.of(groups, name, n_rows=n_rows)
    if pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > MOST_NUMBERS:
        raise InvalidInputError(
            f"Column {name!r} has {values.nunique()} different numbers, which are too many groups. Bin them, for example "
            f"with groups=lambda column: pd.cut(column, [0, 25, 60, 120])."
        )
    return Groups.of(values, name, n_rows=n_rows)


def position_of(name: Any, names: Sequence[str]) -> int:
    """Return the position of the column ``name`` in ``names``. Raise an error if it is unknown."""
    if not isinstance(name, str):
        raise InvalidInputError(f"sensitive must be the name of a column, got {name!r}.")
    if name not in names:
        raise InvalidInputError(f"Unknown column {name!r}. {close_to(name, names)}")
    return list(names).index(name)


def check_label(label: Any, known: Sequence[Any], what: str = "classes") -> Any:
    """Return the entry of ``known`` that equals ``label``. Raise an error if there is none.

    ``what`` describes the known labels in the error message.
    """
    plain = [_plain(one) for one in known]
    if _plain(label) not in plain:
        raise InvalidInputError(f"favourable={label!r} must be one of the {what}: {plain}.")
    return plain[plain.index(_plain(label))]


def _plain(label: Any) -> Any:
    """Convert numpy numbers to Python numbers, and whole floats to integers, such as 0.0 to 0."""
    label = label.item() if isinstance(label, np.generic) else label
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _order(label: Any) -> tuple[str, Any]:
    is_number = isinstance(label, (int, float))
    return ("" if is_number else type(label).__name__, label if is_number else str(label))
