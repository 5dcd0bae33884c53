"""GTREDiscretizer: thresholds at which a reference ensemble of trees splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, StrOptions

from fcca.discretizers._base import TargetThresholdTransformer
from fcca.discretizers._crossings import observed_cells, values_around, zero_one_columns
from fcca.discretizers._rows import EncodedRows
from fcca.discretizers._stumps import Refit, StumpBoosting
from fcca.discretizers._validation import (
    TrainingData,
    check_same_columns,
    check_training_data,
    columns_for,
    decoded,
    distinct_rows,
    fitted_through,
    table_for,
)
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import TreeEnsemble, check_supported, labelled, read_model, weight_parameters
from fcca.selection import OptimalSelection
from fcca.tables import HANDLINGS, Columns
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

# Sums of weights over different rows may differ in their last digits. Shares of whole rows differ by far more.
SAME_SCORE = 1e-12


class GTREDiscretizer(TargetThresholdTransformer):
    """Use the thresholds at which a reference ensemble of trees splits.

    The ensemble is fitted, and every value at which it splits becomes a binary column ``x > threshold``. Every set of
    categories that it distinguishes becomes a binary column ``x in {…}``. If the ensemble splits a column with missing
    values, there is also a binary column ``is missing``. Then binary columns are dropped one by one, the least important
    first. This ends before an ensemble on the remaining columns becomes less accurate than an ensemble on all binary
    columns. The accuracy is measured on the training rows. This is the GTRE method (guessed thresholds from a reference
    ensemble) of McTavish et al., with which the FCCA paper compares its thresholds. ``GTREDiscretizer()`` finds the same
    thresholds as gosdt's ``ThresholdGuessBinarizer(max_depth=1)``.

    Parameters
    ----------
    estimator : classifier, default=None
        A tree ensemble with ``feature_importances_`` that :func:`fcca.read_model` reads. It is cloned and fitted, once on X
        and repeatedly on binary columns. A fitted ensemble in scikit-learn's ``FrozenEstimator`` is not refitted on X; only
        clones of it are fitted on the binary columns. None is the paper's gradient boosting of 100 stumps with a learning
        rate of 0.1. Refitting such stumps is fast for two classes. Any other ensemble takes a full fit per dropped column.
    column_elimination : bool, default=True
        Whether to drop binary columns that the ensemble does not need. False keeps all thresholds of the ensemble.
    as_gosdt : bool, default=True
        Follow gosdt where it departs from the published procedure, in three ways. With more than two classes, gosdt uses
        the thresholds of the first class's trees only. If a single binary column is as accurate as all of them, gosdt keeps
        two. Finally, gosdt compares values with thresholds in float64, although the trees compare in float32. False uses
        the thresholds of all trees, may end with a single binary column, and compares exactly as the trees do. The first
        and the third difference concern only scikit-learn's ``GradientBoostingClassifier`` without a scaler before it.
    round_thresholds : bool, default=True
        Replace each threshold with the shortest decimal between the two training values around it. This does not change
        the binary columns of the training rows. Thresholds between the same two values are combined. The original number
        stays in the column ``cut`` of the table.
    random_state : int, RandomState instance or None, default=0
        Seed of the default ensemble, and of a given ensemble without a seed. The seed breaks ties between columns that
        separate the classes equally well. None draws a new seed each time.
    selection : OptimalSelection, default=None
        Chooses, among the thresholds that the elimination leaves, those with the smallest inconsistency on the training
        rows. None keeps all of them. See also :meth:`set_selection`.
    handle_unknown : {"warn", "ignore", "error"}, default="warn"
        What to do with rows that have a category, or a missing value, that no training row has in the same column. "ignore":
        no set of categories contains an unknown category, and every other condition on a missing value is false. The
        black box gets the most frequent training category instead of an unknown one. If it does not take missing values in
        the column, it gets the training median instead.
        "warn": the same, with one warning per call that counts these values. "error": an error.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions kept.
    all_thresholds_ : ThresholdTable
        The conditions before the selection is applied. ``count`` is the importance of a condition in an ensemble fitted on
        the binary columns of exactly these conditions. The importances sum to 1.
    selection_ : Selection
        The chosen conditions, with the proof. Only if there is a selection.
    estimator_ : classifier
        The reference ensemble, fitted on X.
    stand_ins_ : StandIns
        What the black box gets instead of values that it cannot take: the training median or the most frequent category.
    reference_score_ : float
        Weighted share of the training rows that an ensemble fitted on all binary columns predicts correctly.
    score_path_ : ndarray of shape (n_iterations + 1,)
        Weighted share of correct predictions (see ``reference_score_``) after 0, 1, 2, … columns were dropped. Only the last
        entry may be below the first.
    n_iterations_ : int
        Number of binary columns dropped, including the last one, which is put back if it was needed.
    n_thresholds_reference_ : int
        Number of binary columns before any was dropped.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    See Also
    --------
    FCCADiscretizer : thresholds that counterfactuals cross.
    MidpointDiscretizer : all possible thresholds.

    Notes
    -----
    Ties between columns are broken by the order of columns and rows and by scikit-learn's random number generator, as in
    gosdt. If a row occurs twice or has a weight other than 1, the default ensemble is fitted on the sorted distinct rows
    with their weights. So a row given twice has the same effect as a row with weight 2. In this case gosdt, which fits the
    rows in the given order, may break ties between columns differently. An ensemble given as ``estimator``, even
    ``GradientBoostingClassifier(max_depth=1)``, is fitted on the rows in the given order.

    scikit-learn's trees treat values that differ by less than 1e-7 as equal. Columns with such small differences need a
    scaler: ``GTREDiscretizer(make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1)))``. The thresholds
    stay in the original units of the columns.

    References
    ----------
    McTavish, Zhong, Achermann, Karimalis, Chen, Rudin, Seltzer (2022). Fast Sparse Decision Tree Optimization via Reference
    Ensembles. AAAI 36(9). https://doi.org/10.1609/aaai.v36i9.21194

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import GTREDiscretizer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> discretizer = GTREDiscretizer().fit(X, y)
    >>> discretizer.transform(X).shape[1] < discretizer.n_thresholds_reference_
    True
    >>> bool(discretizer.score_path_[:-1].min() >= discretizer.reference_score_)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "column_elimination": ["boolean"],
        "as_gosdt": ["boolean"],
        "round_thresholds": ["boolean"],
        "random_state": ["random_state"],
        "selection": [OptimalSelection, None],
        "handle_unknown": [StrOptions(set(HANDLINGS))],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        column_elimination: bool = True,
        as_gosdt: bool = True,
        round_thresholds: bool = True,
        random_state: Any = 0,
        selection: OptimalSelection | None = None,
        handle_unknown: str = "warn",
    ) -> None:
        self.estimator = estimator
        self.column_elimination = column_elimination
        self.as_gosdt = as_gosdt
        self.round_thresholds = round_thresholds
        self.random_state = random_state
        self.selection = selection
        self.handle_unknown = handle_unknown

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, collect its thresholds, and drop those that it does not need.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numeric columns, in their original units, and columns of categories: strings or pandas' category dtype. Values
            may be missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two identical rows. A row of weight 0 is left out.

        Returns
        -------
        self
        """
        if self.estimator is not None:
            check_supported(self.estimator)
        self._begin()
        data = check_training_data(self, X, y, sample_weight)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        learned = _counted(self, data) if self.estimator is None else data
        self.estimator_ = self._fit_reference(learned, seed)

        names = self._column_names()
        model = self._model(learned.given)
        X = table_for(model, learned)
        columns = columns_for(model, np.isnan(X).any(axis=0).tolist())
        table = self._splits(model, X, columns, names)
        if len(table) == 0:
            raise InvalidInputError(
                f"The reference ensemble has no splits, so there are no thresholds. Either no column separates the {len(X)} "
                "rows, or the values are closer together than scikit-learn's trees can separate (1e-7). Scale the columns."
            )
        self.n_thresholds_reference_ = len(table)
        B = table.binarize(X)
        B[:, table.kind == "cut"] ^= 1  # as in gosdt: 1 where the value is not above the threshold
        refitter = _seeded(clone(_innermost(self.estimator_)), seed)
        if not hasattr(type(refitter), "feature_importances_"):
            raise UnsupportedModelError(
                f"{type(refitter).__name__} has no feature_importances_, which are needed to drop the least important "
                "threshold. Use scikit-learn's GradientBoostingClassifier or a random forest."
            )
        kept, importance = self._eliminate(_refits(refitter, B, learned.y, learned.weight), len(table))
        table = replace(table.select(np.isin(np.arange(len(table)), kept)), count=importance)
        table = _with_values_around(X, table)
        self.all_thresholds_ = table.rounded(zero_one_columns(X))[0] if self.round_thresholds else table
        rows = X if learned.X is data.X else table_for(model, data)
        self._note_stand_ins(rows, model.columns)
        self._choose(EncodedRows(rows, data.y, data.weight))
        return self

    def _fit_reference(self, data: TrainingData, seed: int) -> Any:
        estimator = GradientBoostingClassifier(max_depth=1) if self.estimator is None else clone(self.estimator)
        if not isinstance(estimator, FrozenEstimator):
            estimator = _seeded(estimator, seed)
        return fitted_through(estimator, data.columns, data.given, data.y, data.weight)

    def _model(self, given: Any) -> TreeEnsemble:
        model = labelled(read_model(self.estimator_), given)
        check_same_columns(self, self.estimator_, model.n_features)
        if not isinstance(model, TreeEnsemble):
            raise UnsupportedModelError(
                f"{type(self.estimator_).__name__} has no thresholds. Pass an ensemble of trees as estimator."
            )
        return model

    def _splits(self, model: TreeEnsemble, X: Floats, columns: Columns | None, names: list[str]) -> ThresholdTable:
        """Return every distinct split of the ensemble as a condition, without rounding."""
        reference = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        if self.as_gosdt and isinstance(reference, GradientBoostingClassifier):
            trees = [stage[0].tree_ for stage in reference.estimators_]
            feature = np.concatenate([tree.feature for tree in trees])
            cut = threshold = np.concatenate([tree.threshold for tree in trees])
        else:
            feature, threshold, cut = model.feature, model.threshold, model.native_threshold
        order = np.lexsort((cut, threshold, feature))
        order = order[(feature[order] >= 0) & np.isfinite(threshold[order])]
        repeated = np.zeros(len(order), dtype=bool)
        repeated[1:] = (np.diff(feature[order]) == 0) & (np.diff(threshold[order]) == 0)
        kept = order[~repeated]
        unknown = np.full(len(kept), np.nan)
        table = ThresholdTable(
            tuple(names), feature[kept], threshold[kept], cut[kept], unknown, unknown, np.ones(len(kept)), columns=columns
        )
        return table if columns is None else table + _other_splits(model, X, columns, names)

    def _eliminate(self, refit: Callable[[NDArray[np.intp]], Refit], n_columns: int) -> tuple[NDArray[np.intp], Floats]:
        """Drop the least important binary column until the accuracy falls.

        Returns the columns that are kept, and their importances. ``refit`` fits the ensemble on some of the columns.
        """
        columns = np.arange(n_columns)
        kept, now = columns, refit(columns)
        before, path = now, [now.score]
        if self.column_elimination:
            while len(columns) > 1 and now.score >= path[0] - SAME_SCORE:
                kept, before = columns, now
                columns = np.delete(columns, np.argmin(now.importance))
                now = refit(columns)
                path.append(now.score)
            if not self.as_gosdt and now.score >= path[0] - SAME_SCORE:
                kept, before = columns, now
        self.score_path_ = np.array(path)
        self.n_iterations_ = len(path) - 1
        self.reference_score_ = path[0]
        return kept, before.importance


def _other_splits(model: TreeEnsemble, X: Floats, columns: Columns, names: list[str]) -> ThresholdTable:
    """Return the conditions of an ensemble on categories and on missing values."""
    asked: list[tuple[int, tuple[Any, ...] | None]] = []
    for node, codes in model.categories.items():
        j = int(model.feature[node])
        categories = columns[j].categories or ()
        if 0 < len(codes) < len(categories):
            asked.append((j, tuple(categories[code] for code in codes.tolist())))
    split = np.unique(model.feature[model.feature >= 0])
    asked += [(j, None) for j in split[np.isnan(X[:, split].min(axis=0))].tolist()]
    return ThresholdTable.from_sets(names, asked, columns)


def _counted(discretizer: Any, data: TrainingData) -> TrainingData:
    """Combine equal rows and sum their weights.

    A row that occurs twice must give the same result as one row with weight 2. So the combined rows are sorted. If all rows
    are distinct and have weight 1, they keep their order, because gosdt uses this order to break ties between columns.
    """
    X, y, weight = distinct_rows(data.X, data.y, data.weight)
    if np.all(weight == 1):
        return replace(data, weight=None)
    return replace(data, X=X, y=y, weight=weight, given=decoded(discretizer, data.columns, X))


def _innermost(estimator: Any) -> Any:
    """Return the fitted classifier inside pipelines, parameter searches and ``FrozenEstimator``."""
    if isinstance(estimator, Pipeline):
        return _innermost(estimator.steps[-1][1])
    if isinstance(estimator, FrozenEstimator):
        return _innermost(estimator.estimator)
    return _innermost(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def _seeded(estimator: Any, seed: int) -> Any:
    """Pass the seed to every ``random_state`` parameter that is None."""
    parameters = estimator.get_params()
    is_seed = {name: name.rpartition("__")[2] == "random_state" for name in parameters}
    return estimator.set_params(**{name: seed for name, value in parameters.items() if is_seed[name] and value is None})


def _is_plain_stumps(estimator: Any) -> bool:
    """Return True if :class:`StumpBoosting` can replace the estimator.

    This is the case for scikit-learn's gradient boosting of stumps, if only ``n_estimators``, ``learning_rate`` and
    ``random_state`` differ from the defaults.
    """
    if type(estimator) is not GradientBoostingClassifier:
        return False
    free = ("n_estimators", "learning_rate", "random_state")
    plain = GradientBoostingClassifier(max_depth=1, **{name: getattr(estimator, name) for name in free})
    return bool(estimator.get_params() == plain.get_params())


def _refits(
    estimator: Any, B: NDArray[np.int8], y: NDArray[np.generic], weight: Floats | None
) -> Callable[[NDArray[np.intp]], Refit]:
    """Return a function that fits the estimator on columns of the binary table B.

    The function accepts the positions of these columns and returns a :class:`Refit`.
    """
    classes = np.unique(y)
    quick = None
    if _is_plain_stumps(estimator) and len(classes) == 2:
        quick = StumpBoosting(B, y == classes[1], weight, estimator.n_estimators, estimator.learning_rate)
    parameters = {} if weight is None else weight_parameters(estimator, weight)

    def refit(columns: NDArray[np.intp]) -> Refit:
        if quick is not None and (found := quick.fit(columns)) is not None:
            return found
        rows = B[:, columns].astype(np.float32)
        estimator.fit(rows, y, **parameters)
        correct = np.asarray(estimator.predict(rows)).ravel() == y
        importance = np.asarray(estimator.feature_importances_, dtype=np.float64)
        return Refit(float(np.average(correct, weights=weight)), importance / (importance.sum() or 1.0))

    return refit


def _with_values_around(X: Floats, table: ThresholdTable) -> ThresholdTable:
    """Set ``below`` and ``above`` of the table: the training values next to each threshold."""
    is_cut = table.kind == "cut"
    cells = observed_cells(X, table.feature[is_cut], table.threshold[is_cut])
    return values_around(cells, table.cut[is_cut], table)
