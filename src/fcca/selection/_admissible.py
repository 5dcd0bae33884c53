"""The sets of conditions that the parameters ``keep``, ``forbid``, ``per_feature`` and ``max_features`` allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable
from fcca.utils import close_to, whole_number

KEPT, FORBIDDEN = 1, 2  # 0 is open


@dataclass(frozen=True)
class Admissible:
    """The admissible sets of conditions: those that a selection may choose.

    Attributes
    ----------
    state : ndarray of shape (n_conditions,)
        1 for a condition that every set must contain, 2 for a condition that no set may contain, 0 for all others.
    per_feature : ndarray of shape (n_features,)
        Maximum number of conditions on each column.
    max_features : int
        Maximum number of columns with a condition.
    largest : tuple of int
        Sizes of the admissible sets to which no further condition can be added, in ascending order. If ``max_features``
        limits the columns, these sets can have different sizes.
    """

    state: NDArray[np.int8]
    per_feature: NDArray[np.int32]
    max_features: int
    largest: tuple[int, ...]

    @property
    def most(self) -> int:
        """Number of conditions in the largest admissible set."""
        return self.largest[-1]

    @property
    def n_kept(self) -> int:
        """Number of conditions that every admissible set contains."""
        return int((self.state == KEPT).sum())

    @property
    def fewest(self) -> int:
        """Number of conditions in the smallest set that a search considers, at least 1."""
        return max(1, self.n_kept)

    @classmethod
    def of(cls, table: ThresholdTable, *, keep: Any, forbid: Any, per_feature: Any, max_features: Any) -> Admissible:
        """Build the admissible sets from the parameters of an OptimalSelection.

        Raise an error for conditions that are not in ``table``, and for parameters that contradict each other.
        """
        if len(table) == 0:
            raise InvalidInputError("The table has no conditions to choose from. Give a table with at least one condition.")
        state = np.zeros(len(table), dtype=np.int8)
        forbidden = _positions("forbid", forbid, table, columns=True)
        state[forbidden] = FORBIDDEN
        kept = _positions("keep", keep, table, columns=False)
        both = [at for at in kept if state[at] == FORBIDDEN]
        if both:
            raise InvalidInputError(
                f"{table.names()[both[0]]!r} is in both 'keep' and 'forbid'. Remove it from one of them."
            )
        state[kept] = KEPT
        n_features = len(table.feature_names)
        caps = _caps(per_feature, table)
        kept_of = np.bincount(table.feature[state == KEPT], minlength=n_features)
        for j in np.flatnonzero(kept_of > caps).tolist():
            raise InvalidInputError(
                f"'keep' has {kept_of[j]} conditions on column {table.feature_names[j]!r}, but per_feature "
                f"allows {caps[j]}. Raise per_feature or shorten 'keep'."
            )
        open_of = np.bincount(table.feature[state != FORBIDDEN], minlength=n_features)
        takes = np.minimum(open_of, caps)
        columns = n_features
        if max_features is not None:
            columns = min(n_features, whole_number("max_features", max_features))
        begun = int((kept_of > 0).sum())
        if begun > columns:
            raise InvalidInputError(
                f"The conditions in 'keep' are on {begun} columns, but max_features={max_features}. Raise max_features or "
                "shorten 'keep'."
            )
        fresh = takes[(kept_of == 0) & (takes > 0)].tolist()
        sizes = [sum(fresh)] if columns - begun >= len(fresh) else _sums_of(fresh, columns - begun)
        largest = sorted(size + int(takes[kept_of > 0].sum()) for size in sizes)
        if largest[-1] == 0:
            raise InvalidInputError("'forbid' and 'per_feature' together exclude every condition. Relax one of them.")
        return cls(state, caps, columns, tuple(largest))


def _sums_of(sizes: list[int], n: int) -> list[int]:
    """Return all possible sums of ``n`` numbers from ``sizes``, sorted and without duplicates."""
    sums = [1, *([0] * n)]  # sums[i]: bit s is set if s is a sum of i numbers
    for size in sizes:
        for taken in range(n, 0, -1):
            sums[taken] |= sums[taken - 1] << size
    return [at for at, bit in enumerate(reversed(f"{sums[n]:b}")) if bit == "1"]


def whole_numbers(name: str, given: Any) -> list[int]:
    """Check that ``given`` is a list of whole numbers of at least 1, and return it.

    ``name`` is the name of the parameter in error messages.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"{name} must be a list of numbers of conditions, such as range(1, 9) or [2, 4, 8]; got {given!r}."
        )
    numbers = [whole_number(name, n) for n in given]
    if not numbers:
        raise InvalidInputError(f"{name} must contain at least one number of conditions.")
    return numbers


def _caps(per_feature: Any, table: ThresholdTable) -> NDArray[np.int32]:
    """Return the maximum number of conditions on each column of the table.

    Columns that ``per_feature`` does not limit get the number of their conditions in the table.
    """
    caps = np.bincount(table.feature, minlength=len(table.feature_names)).astype(np.int32)
    if per_feature is None:
        return caps
    if not isinstance(per_feature, Mapping):
        if isinstance(per_feature, bool) or not isinstance(per_feature, Integral):
            raise InvalidInputError(
                f"per_feature must be a whole number, or a mapping of columns to whole numbers, such as {{'age': 2}}; got "
                f"{per_feature!r}."
            )
        return np.minimum(caps, whole_number("per_feature", per_feature))
    for name, cap in per_feature.items():
        if name not in table.feature_names:
            words = close_to(str(name), table.feature_names)
            raise InvalidInputError(f"per_feature has the unknown column {name!r}. {words}")
        j = table.feature_names.index(name)
        caps[j] = min(int(caps[j]), whole_number(f"per_feature[{name!r}]", cap, least=0))
    return caps


def _positions(parameter: str, given: Any, table: ThresholdTable, *, columns: bool) -> list[int]:
    """Return the positions of the conditions in ``given``, without duplicates.

    Parameters
    ----------
    parameter : str
        Name of the parameter in error messages: ``keep`` or ``forbid``.
    given : list or None
        Conditions: names, positions, or tuples of a column and a threshold.
    table : ThresholdTable
    columns : bool
        Whether ``given`` may contain the name of a column, which stands for all conditions on the column.
    """
    if given is None:
        return []
    if isinstance(given, (str, bytes, tuple, Mapping, Iterator)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"'{parameter}' must be a list of conditions, such as ['age > 30'] or [('age', 30)]; got {given!r}."
        )
    position = {name: at for at, name in enumerate(table)}
    return sorted({at for entry in given for at in _positions_of(parameter, entry, table, position, columns)})


def _positions_of(parameter: str, entry: Any, table: ThresholdTable, names: dict[str, int], columns: bool) -> list[int]:
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        if not -len(names) <= int(entry) < len(names):
            raise InvalidInputError(
                f"'{parameter}' contains the position {entry}, but positions go from 0 to {len(names) - 1}."
            )
        return [int(entry) % len(names)]
    name = entry
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[0], str):
            _refuse(parameter, entry)
        feature_names = table.columns if table.columns is not None else table.feature_names
        name = ThresholdTable.from_list([entry], feature_names).renamed(table.feature_names).names()[0]
    if not isinstance(name, str):
        _refuse(parameter, entry)
    if name in names:
        return [names[name]]
    if columns and name in table.feature_names:
        # A column without conditions may be forbidden too, which has no effect.
        return np.flatnonzero(table.feature == table.feature_names.index(name)).tolist()
    known = [*names, *table.feature_names] if columns else list(names)
    raise InvalidInputError(f"'{parameter}' has the unknown condition {name!r}. {close_to(name, known)}")


def _refuse(parameter: str, entry: Any) -> NoReturn:
    raise InvalidInputError(
        f"'{parameter}' has {entry!r}. Expected a condition: its name, such as 'age > 30', its position, or a column and a "
        "threshold, such as ('age', 30)."
    )
