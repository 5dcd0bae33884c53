"""MidpointDiscretizer: a threshold between any two neighbouring values of a column."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from fcca.discretizers._base import ThresholdTransformer
from fcca.discretizers._crossings import zero_one_columns
from fcca.discretizers._rows import EncodedRows
from fcca.discretizers._validation import TrainingData, check_table
from fcca.discretizers._warnings import warn_constant_features
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from fcca.tables import HANDLINGS
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]


class MidpointDiscretizer(ThresholdTransformer):
    """Put a threshold between any two neighbouring training values of every column.

    Any other threshold divides the training values of its column in the same way as one of these. So all of these
    thresholds are required to find an optimal tree on continuous data. Usually there are far too many of them. A column of
    categories gets one condition per category, or a single condition if it has two categories. A column with missing values
    gets the additional condition ``is missing``.

    Parameters
    ----------
    round_thresholds : bool, default=True
        Replace each midpoint with the shortest decimal between the two training values around it. The midpoint itself stays
        in the column ``cut`` of the threshold table.
    max_thresholds : int, default=None
        Maximum number of thresholds per column. The thresholds that divide the rows most evenly are kept. ``is missing`` is
        always kept. None means no limit.
    boundary_only : bool, default=False
        Put no threshold between two values if all rows with these values have the same class. The remaining thresholds
        still include an optimal one for a tree with a single split. A larger tree may become worse.
    selection : OptimalSelection, default=None
        Chooses, among all thresholds, those with the smallest inconsistency on the training rows. None keeps all of them.
        See also :meth:`set_selection`.
    handle_unknown : {"warn", "ignore", "error"}, default="warn"
        What to do with rows that have a category, or a missing value, that no training row has in the same column. "ignore":
        no set of categories contains an unknown category, and every other condition on a missing value is false. "warn": the
        same, with one warning per call that counts these values. "error": an error.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions kept; every ``count`` is 1.
    all_thresholds_ : ThresholdTable
        The conditions before the selection is applied.
    selection_ : Selection
        The chosen conditions, with the proof. Only if there is a selection.
    constant_features_ : list of str
        Columns with only one value, which have no conditions.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    See Also
    --------
    FCCADiscretizer : thresholds that counterfactuals cross.
    GTREDiscretizer : thresholds at which a gradient boosting model splits.

    Examples
    --------
    >>> from fcca import MidpointDiscretizer
    >>> discretizer = MidpointDiscretizer().fit([[1.5, 20], [2.25, 10], [2.25, 30]])
    >>> discretizer.get_feature_names_out().tolist()
    ['x0 > 2', 'x1 > 15', 'x1 > 25']
    >>> discretizer.transform([[2.0, 20], [3.0, 30]]).tolist()
    [[0, 1, 0], [1, 1, 1]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "round_thresholds": ["boolean"],
        "max_thresholds": [Interval(Integral, 1, None, closed="left"), None],
        "boundary_only": ["boolean"],
        "selection": [OptimalSelection, None],
        "handle_unknown": [StrOptions(set(HANDLINGS))],
    }

    def __init__(
        self,
        *,
        round_thresholds: bool = True,
        max_thresholds: int | None = None,
        boundary_only: bool = False,
        selection: OptimalSelection | None = None,
        handle_unknown: str = "warn",
    ) -> None:
        self.round_thresholds = round_thresholds
        self.max_thresholds = max_thresholds
        self.boundary_only = boundary_only
        self.selection = selection
        self.handle_unknown = handle_unknown

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the midpoints between neighbouring values, and the conditions on categories.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numeric columns, in their original units, and columns of categories: strings or pandas' category dtype. Values
            may be missing.
        y : array-like of shape (n_rows,), optional
            Labels. They are needed only for ``boundary_only`` and for a selection.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two identical rows. A row of weight 0 is left out.

        Returns
        -------
        self
        """
        self._begin()
        if self._needs_labels and y is None:
            reason = "boundary_only=True" if self.boundary_only else "A selection"
            raise InvalidInputError(f"{reason} requires y to be passed, but the target y is None.")
        data = check_table(self, X, y, sample_weight, labels=self._needs_labels)
        names = self._column_names()
        self._note_constant_features(data, names)
        label = np.unique(data.y, return_inverse=True)[1] if self.boundary_only else None
        weight = np.ones(len(data.X)) if data.weight is None else data.weight
        table = _all_conditions(data, names, label, weight, self.max_thresholds)
        if len(table) == 0:
            raise InvalidInputError(
                f"No column has two different values {'with different labels ' if label is not None else ''}in "
                f"{len(data.X)} sample(s), so there is no threshold."
            )
        self.all_thresholds_ = table.rounded(zero_one_columns(data.X))[0] if self.round_thresholds else table
        self._choose(EncodedRows(data.X, data.y, data.weight))
        return self

    @property
    def _needs_labels(self) -> bool:
        return bool(self.boundary_only) or super()._needs_labels

    def _note_constant_features(self, data: TrainingData, names: list[str]) -> None:
        # A missing value counts as a value: the minimum of such a column is NaN, which is not equal to itself.
        constant = np.flatnonzero(data.X.min(axis=0) == data.X.max(axis=0))
        self.constant_features_ = [names[j] for j in constant]
        if len(self.constant_features_) < len(names):
            warn_constant_features(self.constant_features_)


def _all_conditions(
    data: TrainingData, names: list[str], label: NDArray[np.intp] | None, weight: Floats, at_most: int | None
) -> ThresholdTable:
    """Build the conditions of all columns: on midpoints, categories and missing values.

    ``label`` is None unless ``boundary_only`` is True. ``at_most`` is the parameter ``max_thresholds``.
    """
    X, columns = data.X, data.columns
    is_category = np.zeros(len(names), dtype=bool) if columns is None else columns.is_category
    has_gaps = np.isnan(X.min(axis=0))
    nothing = np.empty(0), np.empty(0)
    gaps = []
    for j in range(len(names)):
        seen = ~np.isnan(X[:, j]) if has_gaps[j] else slice(None)
        mine = None if label is None else label[seen]
        gaps.append(nothing if is_category[j] else _gaps(X[seen, j], mine, weight[seen], at_most))
    feature = np.repeat(np.arange(len(names), dtype=np.int32), [len(below) for below, _ in gaps])
    below, above = (np.concatenate(values) for values in zip(*gaps, strict=True))
    # Halved first, so that the sum of two large values does not overflow.
    middle = below / 2 + above / 2
    middle = np.where((middle >= below) & (middle < above), middle, below)
    table = ThresholdTable(tuple(names), feature, middle, middle, below, above, np.ones(len(feature)), columns=columns)
    if columns is None:
        return table
    asked: list[tuple[int, tuple[Any, ...] | None]] = [(j, None) for j in np.flatnonzero(has_gaps).tolist()]
    asked += [
        (j, ((columns[j].categories or ())[code],))
        for j in np.flatnonzero(is_category).tolist()
        for code in _categories(X[:, j], weight, at_most)
    ]
    return table + ThresholdTable.from_sets(names, asked, columns)


def _categories(x: Floats, weight: Floats, at_most: int | None) -> list[int]:
    """Return the codes of the categories that get a condition.

    If two categories occur, only the second one gets a condition. If more than ``at_most`` categories occur, only those
    whose share of the rows is nearest to one half get a condition. Otherwise, every category that occurs gets one.
    """
    seen = ~np.isnan(x)
    codes, which = np.unique(x[seen].astype(np.intp), return_inverse=True)
    if len(codes) <= 2:
        codes = codes[1:]
    elif at_most is not None and len(codes) > at_most:
        share = np.bincount(which, weights=weight[seen]) / weight[seen].sum()
        codes = codes[np.argsort(np.abs(share - 0.5), kind="stable")[:at_most]]
    return [int(code) for code in codes]


def _gaps(x: Floats, label: NDArray[np.intp] | None, weight: Floats, at_most: int | None) -> tuple[Floats, Floats]:
    """Choose the pairs of neighbouring values that get a threshold.

    Returns the lower and the upper value of each pair. With ``label``, pairs whose rows all have the same class are left
    out. If more than ``at_most`` pairs remain, those that divide the rows most evenly are chosen.
    """
    values, which = np.unique(x, return_inverse=True)
    kept = np.arange(len(values) - 1)
    if label is not None:
        least, most = np.full(len(values), label.max()), np.zeros(len(values), dtype=np.intp)
        np.minimum.at(least, which, label)
        np.maximum.at(most, which, label)
        kept = kept[np.minimum(least[:-1], least[1:]) < np.maximum(most[:-1], most[1:])]
    if at_most is not None and len(kept) > at_most:
        share = np.cumsum(np.bincount(which, weights=weight))[kept] / weight.sum()
        kept = kept[_nearest(share, at_most)]
    return values[kept], values[kept + 1]


def _nearest(share: Floats, n: int) -> NDArray[np.intp]:
    """Return the positions of ``n`` entries of ``share`` that are spread evenly.

    ``share`` is an ascending array with more than ``n`` numbers between 0 and 1. The result is the positions of the entries
    nearest to ``1 / (n + 1)``, ``2 / (n + 1)``, …, ``n / (n + 1)``. No position occurs twice.
    """
    wanted = np.arange(1, n + 1) / (n + 1)
    right = np.clip(np.searchsorted(share, wanted), 1, len(share) - 1)
    nearest = np.where(wanted - share[right - 1] <= share[right] - wanted, right - 1, right)
    # If an entry is nearest to two of these numbers, the second number gets the next entry, unless too few entries are left.
    rank = np.arange(n)
    return np.minimum(np.maximum.accumulate(nearest - rank) + rank, len(share) - n + rank)
