"""MidpointDiscretizer: all thresholds that there are."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, validate_data

from fcca._frames import check_column_names
from fcca._weights import check_weights
from fcca.discretizers._base import ThresholdTransformer
from fcca.exceptions import ConstantFeatureWarning, InvalidInputError
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]


class MidpointDiscretizer(ThresholdTransformer):
    """Put a threshold between any two neighbouring values of every column.

    The 0/1 columns say as much of the training rows as the numbers do. This is what an optimal tree on continuous data has
    to choose from, and usually far too much of it.

    Parameters
    ----------
    round_thresholds : bool, default=True
        Replace each midpoint by the shortest decimal between its two values. The midpoint itself stays in the column ``cut``
        of the table.
    max_thresholds : int, default=None
        Keep at most so many of a column, those that come closest to dividing the rows evenly.
    boundary_only : bool, default=False
        Only between values whose labels differ: not where the rows of both values are of one and the same class. A
        single split loses nothing by it; a tree of several may.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions; every ``count`` is 1.
    constant_features_ : list of str
        Columns with one value, which were left out.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X has column names.

    See Also
    --------
    FCCADiscretizer : thresholds that counterfactuals cross.
    GTREDiscretizer : thresholds that a boosting splits at.

    Examples
    --------
    >>> from fcca import MidpointDiscretizer
    >>> discretizer = MidpointDiscretizer().fit([[1.5, 20], [2.25, 10], [2.25, 30]])
    >>> discretizer.get_feature_names_out().tolist()
    ['x0 > 2', 'x1 > 10', 'x1 > 20']
    >>> discretizer.transform([[2.0, 15], [3.0, 25]]).tolist()
    [[0, 1, 0], [1, 1, 1]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "round_thresholds": ["boolean"],
        "max_thresholds": [Interval(Integral, 1, None, closed="left"), None],
        "boundary_only": ["boolean"],
    }

    def __init__(
        self, *, round_thresholds: bool = True, max_thresholds: int | None = None, boundary_only: bool = False
    ) -> None:
        self.round_thresholds = round_thresholds
        self.max_thresholds = max_thresholds
        self.boundary_only = boundary_only

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the midpoints.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numbers, in their own units.
        y : array-like of shape (n_rows,), optional
            Labels; asked for with ``boundary_only`` only.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 is the same as the row twice, weight 0 as leaving it out.

        Returns
        -------
        self
        """
        self._forget()
        X, label, weight = self._check(X, y, sample_weight)
        names = [str(name) for name in _check_feature_names_in(self)]
        gaps = [_gaps(X[:, j], label, weight, self.max_thresholds) for j in range(X.shape[1])]
        self._note_constant_features(X, names)
        feature = np.repeat(np.arange(X.shape[1]), [len(below) for below, _ in gaps])
        below, above = (np.concatenate(values) for values in zip(*gaps, strict=True))
        if len(feature) == 0:
            raise InvalidInputError(
                f"No column has two different values {'of different labels ' if label is not None else ''}in "
                f"{len(X)} sample(s), so there is nothing to put a threshold between."
            )
        # Halved first, so that the sum of two large values does not overflow.
        middle = below / 2 + above / 2
        middle = np.where((middle >= below) & (middle < above), middle, below)
        table = ThresholdTable(tuple(names), feature, middle, middle, below, above, np.ones(len(feature)))
        self.thresholds_ = table.rounded()[0] if self.round_thresholds else table
        return self

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, NDArray[np.intp] | None, Floats]:
        """X, the labels as numbers where they matter, and the weights, without the rows of weight 0."""
        check_column_names(X)
        label = None
        if self.boundary_only:
            if y is None:
                raise InvalidInputError("boundary_only=True requires y to be passed, but the target y is None.")
            X, y = validate_data(self, X, y, dtype=np.float64, order="C")
            check_classification_targets(y)
            label = np.unique(y, return_inverse=True)[1]
        else:
            X = validate_data(self, X, dtype=np.float64, order="C")
        weight = check_weights(sample_weight, len(X))
        kept = weight > 0
        return X[kept], None if label is None else label[kept], weight[kept]

    def _note_constant_features(self, X: Floats, names: list[str]) -> None:
        self.constant_features_ = [names[j] for j in np.flatnonzero(X.min(axis=0) == X.max(axis=0))]
        if 0 < len(self.constant_features_) < X.shape[1]:
            shown = ", ".join(self.constant_features_[:5]) + (", …" if len(self.constant_features_) > 5 else "")
            warnings.warn(
                f"{len(self.constant_features_)} column(s) have one value only and were left out: {shown}",
                ConstantFeatureWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self.boundary_only)
        return tags


def _gaps(x: Floats, label: NDArray[np.intp] | None, weight: Floats, at_most: int | None) -> tuple[Floats, Floats]:
    """Neighbouring values of a column to put a threshold between: the lower ones and the upper ones."""
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
    """Positions of n different entries of a rising row that lie close to 1/(n + 1), 2/(n + 1), …"""
    wanted = np.arange(1, n + 1) / (n + 1)
    right = np.clip(np.searchsorted(share, wanted), 1, len(share) - 1)
    nearest = np.where(wanted - share[right - 1] <= share[right] - wanted, right - 1, right)
    # Two that want the same entry: the second takes the next one, unless this leaves too few for those after it.
    rank = np.arange(n)
    return np.minimum(np.maximum.accumulate(nearest - rank) + rank, len(share) - n + rank)
