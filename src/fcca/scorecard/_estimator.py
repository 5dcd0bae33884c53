"""FCCAScorecard: a scorecard on the thresholds of a black box."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fcca.discretizers import FCCADiscretizer, clone_to_fit
from fcca.exceptions import InvalidInputError
from fcca.scorecard._answers import ScorecardAnswersMixin
from fcca.scorecard._logistic import Coefficients, choose_coefficients
from fcca.scorecard._points import Scorecard
from fcca.scorecard._terms import Terms
from fcca.tables import Columns, Special, check_column_names, special_by_column, weighted_rows
from fcca.utils import close_to, whole_number

Floats = NDArray[np.float64]

#: Trends of the points with the values of a column.
TRENDS = ("rising", "falling", "auto")


class FCCAScorecard(ScorecardAnswersMixin, ClassifierMixin, BaseEstimator):
    """A scorecard: logistic regression on the bins between a black box's thresholds, as points.

    A scorecard gives points to the bins of some columns. The sum of a row's points is its score, a linear function of its
    log-odds. The bins of a numeric column are the intervals between thresholds, by default those that counterfactuals cross.
    Categories that no threshold separates share a bin. Missing values and special values such as -9 have bins of their own.
    The logistic regression has an l1 penalty on the differences between neighbouring bins. So it drops most thresholds, and
    merges the bins on both sides. Only for two classes.

    Parameters
    ----------
    discretizer : FCCADiscretizer, default=None
        Fits the black box and finds its thresholds. Its ``special_values`` have bins of their own. Another discretizer, such
        as MidpointDiscretizer, can be used too. None stands for ``FCCADiscretizer()``.
    n_thresholds : int, default=None
        Maximum number of conditions that separate bins, over all columns. None sets no limit: then the penalty alone, which
        cross-validation chooses, decides.
    monotonic : {"rising", "falling", "auto"} or mapping of column names to these, default=None
        Trend of the points with the values of a numeric column. "rising": from each bin to the next, the points stay the
        same or rise. "falling": they stay the same or fall. "auto": the trend of the favourable class in the training rows.
        A string applies to all numeric columns. Bins of special and missing values have no order.
    pdo : float, default=20
        Points that double the odds of the favourable class.
    base_score, base_odds : float, default=600 and 50
        At a score of ``base_score``, the odds of the favourable class are ``base_odds`` to 1.
    favourable : label, default=None
        The class that high scores stand for. None is the first class: usually, the second class marks the event, such as a
        default or a disease.
    round_points : bool, default=True
        Whether the points of each bin are rounded to whole numbers. ``decision_function``, ``predict_proba`` and
        ``predict`` always use the coefficients without rounding.

    Attributes
    ----------
    scorecard_ : Scorecard
        The bins and their points, without the black box. Exporters use it.
    table_ : DataFrame
        One line per bin with training rows. ``column`` and ``bin``; ``count``: training weight; ``share`` of the training
        weight; ``event_rate``: share of the second class; ``WoE``: weight of evidence, the log-odds of the first class in
        the bin minus its log-odds in the whole table; ``IV``: contribution to the information value; ``coefficient``: added
        to the log-odds of the second class; ``points``.
    base_points_ : float
        Points of every row, before the points of its bins. They are the score of a row with the mean of every column.
    intercept_ : float
        Log-odds of the second class of such a row.
    thresholds_ : ThresholdTable
        The conditions that separate the bins.
    trends_ : dict of str to str
        "rising" or "falling", for each column with a trend.
    discretizer_ : FCCADiscretizer
        The fitted discretizer. Its ``estimator_`` is the black box.
    n_bins_ : int
        Number of bins with training rows.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    Notes
    -----
    Five-fold cross-validation chooses the penalty. It compares the log-odds of held-out rows with the mean of the label and
    the probability of the black box, by the log-loss. Equal rows are in the same fold. So a row of weight 2 has the same
    effect as two rows, and the result does not depend on the order of the rows. If ``n_thresholds`` limits the conditions,
    those with the largest coefficients are kept, under the strongest penalty that keeps more of them than the limit. Then
    cross-validation chooses the penalty of a second regression on these conditions.

    Unknown categories, and special or missing values that no training row has, get 0 points, the mean of their column. A
    number outside the training range is in the first or the last interval.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAScorecard
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = FCCAScorecard(n_thresholds=5, monotonic="auto").fit(X, y)
    >>> scorecard.score(X, y) > 0.9
    True
    >>> bool((scorecard.score_points(X) == scorecard.base_points_ + scorecard.contributions(X).sum(axis=1)).all())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "discretizer": [HasMethods(["fit", "encode", "set_output"]), None],
        "n_thresholds": [object],  # checked by whole_number
        "monotonic": [StrOptions(set(TRENDS)), Mapping, None],
        "pdo": [Interval(Real, 0, None, closed="neither")],
        "base_score": [Interval(Real, None, None, closed="neither")],
        "base_odds": [Interval(Real, 0, None, closed="neither")],
        "favourable": [object],
        "round_points": ["boolean"],
    }

    def __init__(
        self,
        discretizer: Any = None,
        *,
        n_thresholds: int | None = None,
        monotonic: str | Mapping[str, str] | None = None,
        pdo: float = 20.0,
        base_score: float = 600.0,
        base_odds: float = 50.0,
        favourable: Any = None,
        round_points: bool = True,
    ) -> None:
        self.discretizer = discretizer
        self.n_thresholds = n_thresholds
        self.monotonic = monotonic
        self.pdo = pdo
        self.base_score = base_score
        self.base_odds = base_odds
        self.favourable = favourable
        self.round_points = round_points

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the black box, find its thresholds, and fit the scorecard.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Training rows. Columns are numeric, in their original units, or hold categories: strings or pandas' category
            dtype. Values may be missing.
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        if self.n_thresholds is not None:
            whole_number("n_thresholds", self.n_thresholds)
        check_column_names(X)
        if y is None:
            raise InvalidInputError("FCCAScorecard requires y to be passed, but the target y is None.")
        rows = weighted_rows(X, y, sample_weight)
        classes = self._checked_classes(rows.y)
        self._check_monotonic(X)
        discretizer = clone_to_fit(self._discretizer())
        discretizer.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        encoded = discretizer.encode(rows.X)
        weight = np.ones(len(encoded)) if rows.sample_weight is None else rows.sample_weight
        label, columns = (rows.y == classes[1]).astype(np.float64), self._columns_of(discretizer)
        terms = Terms.of(discretizer.thresholds_, encoded, weight, _special_values(discretizer, columns))
        sign = 1 if self.favourable is not None and self.favourable == classes[1] else -1
        trends = self._trends(terms, columns, label, sign)
        probability = self._probability(discretizer, encoded, rows.y)
        learned = (label, label if probability is None else probability, trends)
        found = choose_coefficients(terms.problem(*learned), terms.folds(*learned), self.n_thresholds)
        self.trends_ = {columns.names[j]: "rising" if sign * up > 0 else "falling" for j, up in trends.items()}
        return self._set(discretizer, columns, classes, terms, found, label)

    def _set(
        self, discretizer: Any, columns: Columns, classes: NDArray[Any], terms: Terms, found: Coefficients, label: Floats
    ) -> Self:
        """Set the fitted attributes. ``label`` is 1 for the rows of the second class."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(discretizer, name):
                setattr(self, name, getattr(discretizer, name))
            elif hasattr(self, name):
                delattr(self, name)
        first, second = classes.tolist()
        self.classes_ = classes
        self.discretizer_ = discretizer
        self.thresholds_ = terms.table.select(found.slopes != 0)
        self.scorecard_ = Scorecard(
            columns=columns,
            classes=(first, second),
            used=tuple(terms.columns(found, label)),
            intercept=found.intercept,
            favourable=first if self.favourable is None else self.favourable,
            pdo=float(self.pdo),
            base_score=float(self.base_score),
            base_odds=float(self.base_odds),
            round_points=bool(self.round_points),
        )
        return self

    # --- what the scorecard holds --------------------------------------------------------------------------------------

    @property
    def table_(self) -> pd.DataFrame:
        """The bins with training rows."""
        return self.scorecard_.table

    @property
    def base_points_(self) -> float:
        """Points of every row, before the points of its bins."""
        return self.scorecard_.base_points

    @property
    def intercept_(self) -> float:
        """Log-odds of the second class for a row with the mean of every column."""
        return self.scorecard_.intercept

    @property
    def n_bins_(self) -> int:
        """Number of bins with training rows."""
        return len(self.scorecard_.table)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorecard_")

    # --- checks --------------------------------------------------------------------------------------------------------

    def _checked_classes(self, y: NDArray[Any]) -> NDArray[Any]:
        check_classification_targets(y)
        classes: NDArray[Any] = np.unique(y)
        n = len(classes)
        if n > 2:
            raise InvalidInputError(
                f"Only binary classification is supported, but y has {n} classes. Combine classes, or use FCCAClassifier."
            )
        if n < 2:
            raise InvalidInputError(f"y must have two classes, got 1 class in {len(y)} row(s).")
        if self.favourable is not None and self.favourable not in classes.tolist():
            raise InvalidInputError(f"favourable must be one of the classes {classes.tolist()}, got {self.favourable!r}.")
        return classes

    def _check_monotonic(self, X: Any) -> None:
        if not isinstance(self.monotonic, Mapping):
            return
        columns = Columns.of_table(X)
        for name, trend in self.monotonic.items():
            if name not in columns.names:
                raise InvalidInputError(f"monotonic names the unknown column {name!r}. {close_to(name, columns.names)}")
            if columns[columns.names.index(name)].categories is not None:
                raise InvalidInputError(
                    f"monotonic names the column {name!r}, which holds categories. Categories have no order. Leave the "
                    "column out of monotonic."
                )
            if trend not in (*TRENDS, None):
                raise InvalidInputError(f"monotonic[{name!r}] must be one of {', '.join(TRENDS)} or None, got {trend!r}.")

    # --- steps of fit --------------------------------------------------------------------------------------------------

    def _discretizer(self) -> Any:
        return FCCADiscretizer() if self.discretizer is None else self.discretizer

    def _columns_of(self, discretizer: Any) -> Columns:
        names = getattr(discretizer, "feature_names_in_", None)
        known: Columns | None = discretizer.thresholds_.columns
        return Columns.numbers(discretizer.n_features_in_, names) if known is None else known

    def _trends(self, terms: Terms, columns: Columns, label: Floats, sign: int) -> dict[int, int]:
        """Return 1 for each column in which the log-odds may not fall, and -1 if they may not rise.

        ``sign`` is 1 if high scores stand for the second class, else -1.
        """
        found = {}
        for j in np.unique(terms.table.feature[terms.table.kind == "cut"]).tolist():
            trend = self.monotonic.get(columns.names[j]) if isinstance(self.monotonic, Mapping) else self.monotonic
            if trend is not None:
                found[j] = terms.trend(j, label) if trend == "auto" else sign * (1 if trend == "rising" else -1)
        return found

    @staticmethod
    def _probability(discretizer: Any, encoded: Floats, y: NDArray[Any]) -> Floats | None:
        """Return the black box's probability of the second class; None if it does not have one."""
        black_box: Any = getattr(discretizer, "estimator_", None)
        if not hasattr(black_box, "predict_proba") or not np.array_equal(black_box.classes_, np.unique(y)):
            return None
        found = np.asarray(black_box.predict_proba(discretizer.as_black_box_takes(encoded)), dtype=np.float64)
        second: Floats = found[:, 1]
        return second

    # --- predictions ---------------------------------------------------------------------------------------------------

    @property
    def _card(self) -> Scorecard:
        return self.scorecard_

    def _places(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        check_column_names(X)
        if self.discretizer_.thresholds_.columns is None:
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan")
        else:
            validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        columns, handle_unknown = self.scorecard_.tested_columns, self.discretizer_.handle_unknown
        return self.scorecard_.places(columns.encode(X, handle_unknown=handle_unknown))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = get_tags(self._discretizer()).input_tags
        for name in ("allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags


def _special_values(discretizer: Any, columns: Columns) -> Special:
    is_number = [column.categories is None for column in columns]
    return special_by_column(getattr(discretizer, "special_values", None), columns.names, is_number)


def as_scorecard(given: Any) -> Scorecard:
    """Return the stand-alone scorecard of a fitted FCCAScorecard, or a Scorecard itself."""
    if isinstance(given, Scorecard):
        return given
    if not isinstance(given, FCCAScorecard):
        raise InvalidInputError(f"Expected a fitted FCCAScorecard or a Scorecard, got {type(given).__name__}.")
    check_is_fitted(given)
    card: Scorecard = given.scorecard_
    return card
