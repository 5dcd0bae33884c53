"""GTREDiscretizer: thresholds guessed by a reference ensemble."""

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
from sklearn.utils._param_validation import HasMethods

from fcca.discretizers._base import TargetThresholdTransformer
from fcca.discretizers._crossings import observed_cells, values_around
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
from fcca.tables import Columns
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

# Sums of weights over other rows may differ in their last digits; shares of whole rows differ by far more.
SAME_SCORE = 1e-12


class GTREDiscretizer(TargetThresholdTransformer):
    """Guess thresholds by a reference ensemble.

    The ensemble is fitted, and every value that it splits at becomes a binary column. So does every set of categories that
    it distinguishes, and ``is missing`` for a column with missing values that it splits. Then the least important column is
    dropped, as long as an ensemble on the binary columns is no less accurate on the training rows than with all columns.
    This is the GTRE of McTavish et al., which the paper compares with. ``GTREDiscretizer()`` finds the same thresholds as
    gosdt's ``ThresholdGuessBinarizer(max_depth=1)``.

    Parameters
    ----------
    estimator : classifier, default=None
        A tree ensemble with ``feature_importances_`` that :func:`fcca.read_model` reads. It is cloned and fitted, once on X
        and then again and again on 0/1 columns. A fitted one in scikit-learn's ``FrozenEstimator`` gives its thresholds as
        it is; clones of it are fitted on the 0/1 columns. None is the paper's gradient boosting of 100 stumps with a
        learning rate of 0.1. Such stumps of two classes are refitted quickly; anything else costs a fit per column dropped.
    column_elimination : bool, default=True
        False keeps all thresholds of the ensemble.
    as_gosdt : bool, default=True
        Follow gosdt where it departs from the published procedure. With more than two classes, it takes the thresholds of
        the first class's trees only. Where a single column is still as good as all, it keeps two. It compares in float64
        with the number that the trees compare in float32 with. False takes the thresholds of all trees, goes down to a
        single column, and compares exactly as the trees do. The first and the third concern scikit-learn's
        ``GradientBoostingClassifier`` only, without a scaler before it.
    round_thresholds : bool, default=True
        Replace each threshold by the shortest decimal between the two training values around it, which changes nothing on
        training rows; thresholds between the same two values become one. The ensemble's own number stays in the column
        ``cut`` of the table.
    random_state : int, RandomState instance or None, default=0
        Seed of the default ensemble, and of one given without a seed of its own. It decides between columns that are
        equally good. None draws another one each time.
    selection : OptimalSelection, default=None
        Chooses the best of the thresholds that the elimination leaves, with proof; see also :meth:`set_selection`. None
        keeps them all.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions kept.
    all_thresholds_ : ThresholdTable
        The conditions before selection; ``count`` is their importance for the ensemble fitted on exactly these columns, with
        a sum of 1.
    selection_ : Selection
        The choice with its proof; only where there is a selection.
    estimator_ : classifier
        The reference ensemble, fitted on X.
    reference_score_ : float
        Share of training rows, by weight, that the ensemble on all of the 0/1 columns gets right.
    score_path_ : ndarray of shape (n_iterations + 1,)
        The same with all columns, after dropping one, two, …; only the last entry may lie below the first.
    n_iterations_ : int
        Number of columns dropped; the last one is put back.
    n_thresholds_reference_ : int
        Number of columns before any was dropped.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X has column names.

    See Also
    --------
    FCCADiscretizer : thresholds that counterfactuals cross.
    MidpointDiscretizer : all thresholds that there are.

    Notes
    -----
    Where two columns are equally good or equally unimportant, the order of columns and of rows decides, and so does
    scikit-learn's random number generator, as in gosdt. Where a row occurs twice or has a weight other than 1, the default
    ensemble is fitted on the sorted distinct rows with their weights, so that writing a row twice instead of weighting it
    changes nothing. Then gosdt, which fits rows in the order given, may break ties between equally good columns in another
    way. A given ensemble, ``GradientBoostingClassifier(max_depth=1)`` too, is fitted on the rows in the order given.

    scikit-learn's trees take values closer than 1e-7 for equal. Columns in such units need a scaler:
    ``GTREDiscretizer(make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1)))``; the thresholds stay in the
    columns' own units.

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
    ) -> None:
        self.estimator = estimator
        self.column_elimination = column_elimination
        self.as_gosdt = as_gosdt
        self.round_thresholds = round_thresholds
        self.random_state = random_state
        self.selection = selection

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, collect its thresholds, and drop those without effect.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numbers, in their own units; and categories, columns of texts or of pandas' category type. Values may be missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 is the same as the row twice, weight 0 as leaving it out.

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
                f"The reference ensemble has no splits, so no thresholds. Either no column separates the {len(X)} rows, "
                "or their values lie closer together than scikit-learn's trees can separate (1e-7): scale the columns."
            )
        self.n_thresholds_reference_ = len(table)
        B = table.binarize(X)
        B[:, table.kind == "cut"] ^= 1  # as gosdt has them: 1 where the value is not above the threshold
        refitter = _seeded(clone(_innermost(self.estimator_)), seed)
        if not hasattr(type(refitter), "feature_importances_"):
            raise UnsupportedModelError(
                f"{type(refitter).__name__} has no feature_importances_, by which the least important threshold is dropped. "
                "Use scikit-learn's GradientBoostingClassifier or a random forest."
            )
        kept, importance = self._eliminate(_refits(refitter, B, learned.y, learned.weight), len(table))
        table = replace(table.select(np.isin(np.arange(len(table)), kept)), count=importance)
        table = _with_values_around(X, table)
        self.all_thresholds_ = table.rounded()[0] if self.round_thresholds else table
        rows = X if learned.X is data.X else table_for(model, data)
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
                f"{type(self.estimator_).__name__} has no thresholds to take: the reference must be an ensemble of trees."
            )
        return model

    def _splits(self, model: TreeEnsemble, X: Floats, columns: Columns | None, names: list[str]) -> ThresholdTable:
        """Every distinct split of the ensemble, with its own numbers."""
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
        """Drop the least important column until the score falls; return the others with importances."""
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
    """Sets of categories that an ensemble distinguishes, and missing values of its columns."""
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
    """Sort and count equal rows; rows that are all distinct keep their order.

    gosdt takes rows in the order given, which decides between columns that are equally good. A row that occurs twice must
    give the same as one row of weight 2, which has one place in the order.
    """
    X, y, weight = distinct_rows(data.X, data.y, data.weight)
    if np.all(weight == 1):
        return replace(data, weight=None)
    return replace(data, X=X, y=y, weight=weight, given=decoded(discretizer, data.columns, X))


def _innermost(estimator: Any) -> Any:
    """The fitted classifier inside pipelines, parameter searches and FrozenEstimator."""
    if isinstance(estimator, Pipeline):
        return _innermost(estimator.steps[-1][1])
    if isinstance(estimator, FrozenEstimator):
        return _innermost(estimator.estimator)
    return _innermost(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def _seeded(estimator: Any, seed: int) -> Any:
    """Set the seeds that were left open."""
    parameters = estimator.get_params()
    is_seed = {name: name.rpartition("__")[2] == "random_state" for name in parameters}
    return estimator.set_params(**{name: seed for name, value in parameters.items() if is_seed[name] and value is None})


def _is_plain_stumps(estimator: Any) -> bool:
    """Check whether StumpBoosting computes the same: default parameters but depth, length and rate."""
    if type(estimator) is not GradientBoostingClassifier:
        return False
    free = ("n_estimators", "learning_rate", "random_state")
    plain = GradientBoostingClassifier(max_depth=1, **{name: getattr(estimator, name) for name in free})
    return bool(estimator.get_params() == plain.get_params())


def _refits(
    estimator: Any, B: NDArray[np.int8], y: NDArray[np.generic], weight: Floats | None
) -> Callable[[NDArray[np.intp]], Refit]:
    """A function that fits the estimator on some of the columns."""
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
    """Add the training values next to the thresholds."""
    is_cut = table.kind == "cut"
    cells = observed_cells(X, table.feature[is_cut], table.threshold[is_cut])
    return values_around(cells, table.cut[is_cut], table)
