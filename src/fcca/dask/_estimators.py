"""The estimators, on tables of Dask and on tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pandas as pd
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fcca import classifier as classifiers
from fcca import discretizers, trees
from fcca.constraints import Constraint
from fcca.counterfactuals import DEFAULT_MARGIN
from fcca.dask._base import ClassifierOnDask, OnDask, plain
from fcca.dask._distill import SAMPLE, check_parameters
from fcca.dask._models import check_sample, frozen, local_model
from fcca.dask._tables import is_collection
from fcca.dask._thresholds import fitted_discretizer
from fcca.dask._zeros_and_ones import counted_bits
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from fcca.streaming._distill import distilled


class FCCADiscretizer(TransformerMixin, OnDask, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn a Dask table into the few 0/1 columns that a classifier's decisions hang on.

    What :class:`fcca.FCCADiscretizer` does, with the searches where the rows are: the thresholds are the same to the last
    digit. A table in memory is taken, too, and then all is as there.

    Parameters
    ----------
    estimator : classifier, default=None
        In scikit-learn's ``FrozenEstimator``: taken as it is, one of ``xgboost.dask`` or ``lightgbm.dask`` included. Any
        other is cloned and fitted in this process on ``sample`` rows, which come here for that. None is the paper's gradient
        boosting of 100 stumps.
    p0, p1, lambda0, lambda1, lambda2, Q, margin, merge_tolerance, round_thresholds, constraints, time_limit, \
time_limit_per_point, n_jobs, verbose, selection : see :class:`fcca.FCCADiscretizer`
        For Dask tables ``margin`` is a number and ``time_limit`` None; ``n_jobs`` is the number of threads of one task, and
        ``verbose=1`` shows a bar that counts partitions.
    sample : int, default=100000
        How many rows, drawn at random from all, an estimator is fitted on that is not frozen.
    random_state : int, default=0
        The seed of the sample, which depends on neither the partitions nor the workers.
    retries : int, default=3
        How often a task that failed on a worker is tried again.

    Attributes
    ----------
    client : distributed.Client or None
        To be set before ``fit``; None is the active one or, where there is none, Dask's own scheduler.
    thresholds_, all_thresholds_, selection_, statuses_, estimator_, classes_, constant_features_, n_features_in_, \
feature_names_in_ : see :class:`fcca.FCCADiscretizer`
        ``counterfactuals_`` only after a fit in memory.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca.dask import FCCADiscretizer
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> ddf = dd.from_pandas(frame, npartitions=4)
    >>> X, y = ddf.drop(columns="target"), ddf["target"]
    >>> discretizer = FCCADiscretizer(Q=0.9).fit(X, y)
    >>> B = discretizer.transform(X)
    >>> B.npartitions, B.shape[1] == len(discretizer.thresholds_)
    (4, True)
    """

    _plain = discretizers.FCCADiscretizer
    _own = ("sample", "random_state", "retries")

    def __init__(
        self,
        estimator: Any = None,
        *,
        p0: float = 0.5,
        p1: float = 1.0,
        lambda0: float = 0.1,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        Q: float = 0.0,
        margin: float | str = DEFAULT_MARGIN,
        merge_tolerance: float | str = "auto",
        round_thresholds: bool = True,
        constraints: Sequence[Constraint] | None = None,
        time_limit: float | None = None,
        time_limit_per_point: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        selection: OptimalSelection | None = None,
        sample: int = SAMPLE,
        random_state: int = 0,
        retries: int = 3,
    ) -> None:
        self.estimator = estimator
        self.p0 = p0
        self.p1 = p1
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.Q = Q
        self.margin = margin
        self.merge_tolerance = merge_tolerance
        self.round_thresholds = round_thresholds
        self.constraints = constraints
        self.time_limit = time_limit
        self.time_limit_per_point = time_limit_per_point
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.selection = selection
        self.sample = sample
        self.random_state = random_state
        self.retries = retries

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the counterfactuals of all rows where they are, and collect the thresholds.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_rows, n_features), or a table in memory
            An array is chunked by rows alone.
        y : Dask Series or array of shape (n_rows,)
            With the partitions of X.
        sample_weight : Dask Series or array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        unfitted = clone(self._unfitted())
        if not is_collection(X):
            return self._take(_with_local_model(unfitted).fit(X, y, sample_weight))
        pieces = self._pieces(X, y, sample_weight)
        check_parameters(classifiers.FCCAClassifier(unfitted), unfitted)
        check_sample(self.sample, self.random_state)
        black_box = frozen(unfitted.estimator, pieces, sample=self.sample, seed=self.random_state, refit=True)
        return self._take(fitted_discretizer(pieces, unfitted.set_params(estimator=black_box)))

    def transform(self, X: Any) -> Any:
        """0/1 columns, 1 where the condition holds.

        Parameters
        ----------
        X : Dask DataFrame or array, or a table in memory

        Returns
        -------
        DataFrame or array
            Of Dask, and not computed yet, where X is of Dask: a frame, its columns named for their conditions, for a frame.
        """
        check_is_fitted(self, "thresholds_")
        return self._answers(X, "transform", pd.DataFrame(columns=self.get_feature_names_out(), dtype="int8"))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then transform the same table.

        Parameters
        ----------
        X, y, sample_weight : as in fit

        Returns
        -------
        DataFrame or array
        """
        return self.fit(X, y, sample_weight).transform(X)

    def predict_target(self, X: Any) -> Any:
        """Answers of the classifier whose thresholds these are.

        Parameters
        ----------
        X : Dask DataFrame or array, or a table in memory

        Returns
        -------
        Series or array
            Of Dask, and not computed yet, where X is of Dask.
        """
        check_is_fitted(self, "thresholds_")
        return self._answers(X, "predict_target", pd.Series(self._fitted.classes_).iloc[:0])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the output columns, such as ``"RM > 6.94"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, where X had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "thresholds_")
        names: NDArray[Any] = self._fitted.get_feature_names_out(input_features)
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class FCCAClassifier(ClassifierOnDask):
    """A small decision tree in place of a black box, from a Dask table.

    What :class:`fcca.FCCAClassifier` does, with the work where the rows are: thresholds and tree are the same to the last
    digit. A table in memory is taken, too, and then all is as there. See also :func:`distill`.

    Parameters
    ----------
    discretizer : FCCADiscretizer, default=None
        Its ``estimator`` is treated as that of :class:`fcca.dask.FCCADiscretizer`.
    tree : OptimalTreeClassifier, default=None
        None is ``OptimalTreeClassifier(max_depth=3)``.
    fit_to : {"labels", "target"}, default="labels"
        What the tree learns: the labels, or the answers of the black box.
    n_thresholds : int, default=None
        Give the tree so many of the thresholds, the best ones. "auto" needs a table in memory.
    sample : int, default=100000
        How many rows, drawn at random from all, a black box is fitted on that is not frozen.
    random_state : int, default=0
        The seed of the sample, which depends on neither the partitions nor the workers.
    retries : int, default=3
        How often a task that failed on a worker is tried again.
    verbose : int, default=0
        1 shows a progress bar, which counts partitions.

    Attributes
    ----------
    client : distributed.Client or None
        To be set before ``fit``; None is the active one or, where there is none, Dask's own scheduler.
    discretizer_, tree_, structure_, fidelity_, n_thresholds_, classes_, n_features_in_, feature_names_in_ : see \
:class:`fcca.FCCAClassifier`

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca.dask import FCCAClassifier
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> ddf = dd.from_pandas(frame, npartitions=4)
    >>> X, y = ddf.drop(columns="target"), ddf["target"]
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> classifier.tree_.is_optimal_, classifier.score(X, y) > 0.95
    (True, True)
    >>> classifier.predict(X).npartitions
    4
    >>> type(classifier.to_local())
    <class 'fcca.classifier.FCCAClassifier'>
    """

    _plain = classifiers.FCCAClassifier
    _own = ("sample", "random_state", "retries", "verbose")

    def __init__(
        self,
        discretizer: Any = None,
        tree: Any = None,
        *,
        fit_to: str = "labels",
        n_thresholds: int | str | None = None,
        sample: int = SAMPLE,
        random_state: int = 0,
        retries: int = 3,
        verbose: int = 0,
    ) -> None:
        self.discretizer = discretizer
        self.tree = tree
        self.fit_to = fit_to
        self.n_thresholds = n_thresholds
        self.sample = sample
        self.random_state = random_state
        self.retries = retries
        self.verbose = verbose

    def _unfitted(self) -> classifiers.FCCAClassifier:
        unfitted: classifiers.FCCAClassifier = super()._unfitted()
        unfitted.discretizer, unfitted.tree = plain(unfitted.discretizer), plain(unfitted.tree)
        return unfitted

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the counterfactuals of all rows where they are, collect the thresholds and grow the tree.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_rows, n_features), or a table in memory
            An array is chunked by rows alone.
        y : Dask Series or array of shape (n_rows,)
            With the partitions of X.
        sample_weight : Dask Series or array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        unfitted = clone(self._unfitted())
        discretizer = discretizers.FCCADiscretizer() if unfitted.discretizer is None else unfitted.discretizer
        if not is_collection(X):
            if isinstance(discretizer, discretizers.FCCADiscretizer):
                _with_local_model(discretizer)
            return self._take(unfitted.fit(X, y, sample_weight))
        if not isinstance(discretizer, discretizers.FCCADiscretizer):
            raise InvalidInputError(f"Dask tables need an FCCADiscretizer, got {type(discretizer).__name__}.")
        pieces = self._pieces(X, y, sample_weight)
        check_parameters(unfitted, discretizer)
        check_sample(self.sample, self.random_state)
        black_box = frozen(discretizer.estimator, pieces, sample=self.sample, seed=self.random_state, refit=True)
        unfitted.discretizer = discretizer.set_params(estimator=black_box)
        return self._take(distilled(pieces, unfitted).classifier)


class OptimalTreeClassifier(ClassifierOnDask):
    """The decision tree of least error share + ``regularization`` · leaves, proven, on the 0/1 columns of a Dask table.

    The distinct rows are counted where they are, and their counts are added up on the workers; the search runs in this
    process, on the distinct rows, and finds the same tree as :class:`fcca.OptimalTreeClassifier` on all rows. A table in
    memory is taken, too, and then all is as there.

    Parameters
    ----------
    max_depth, regularization, class_weight, thresholds, time_limit, max_nodes : see :class:`fcca.OptimalTreeClassifier`
    retries : int, default=3
        How often a task that failed on a worker is tried again.
    verbose : int, default=0
        1 shows a progress bar, which counts partitions.

    Attributes
    ----------
    client : distributed.Client or None
        To be set before ``fit``; None is the active one or, where there is none, Dask's own scheduler.
    objective_, lower_bound_, gap_, is_optimal_, n_leaves_, depth_, regularization_, tree_, classes_, n_features_in_, \
feature_names_in_ : see :class:`fcca.OptimalTreeClassifier`

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from fcca.dask import OptimalTreeClassifier
    >>> random = np.random.default_rng(0)
    >>> B = random.integers(0, 2, (1000, 5))
    >>> X, y = da.from_array(B, chunks=(300, 5)), da.from_array(B[:, 1] & B[:, 3], chunks=300)
    >>> tree = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> tree.is_optimal_, tree.rules()
    (True, ['x1 ≤ 0.5 → 0 (1.00)', 'x1 > 0.5 and x3 ≤ 0.5 → 0 (1.00)', 'x1 > 0.5 and x3 > 0.5 → 1 (1.00)'])
    """

    _plain = trees.OptimalTreeClassifier
    _own = ("retries", "verbose")

    def __init__(
        self,
        max_depth: int | None = 3,
        *,
        regularization: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        thresholds: str = "auto",
        time_limit: float | None = None,
        max_nodes: int | None = None,
        retries: int = 3,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.regularization = regularization
        self.class_weight = class_weight
        self.thresholds = thresholds
        self.time_limit = time_limit
        self.max_nodes = max_nodes
        self.retries = retries
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the distinct rows where they are, and find the tree.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_rows, n_features), or a table in memory
            Columns of 0 and 1 where it is of Dask; an array is chunked by rows alone.
        y : Dask Series or array of shape (n_rows,)
            With the partitions of X.
        sample_weight : Dask Series or array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        unfitted = self._unfitted()
        if not is_collection(X):
            return self._take(unfitted.fit(X, y, sample_weight))
        unfitted._validate_params()
        pieces = self._pieces(X, y, sample_weight)
        counted = pieces.sum("Rows", counted_bits)
        names = pieces.table.feature_names
        table = counted.table()
        B = table if names is None else pd.DataFrame(table, columns=names)
        return self._take(unfitted.fit_counted(B, counted.labels(), counted.rows.weight, counted.rows.n_rows))


def _with_local_model(discretizer: discretizers.FCCADiscretizer) -> discretizers.FCCADiscretizer:
    """The discretizer, for a table in memory: a classifier that was trained on a cluster does without it."""
    if isinstance(discretizer.estimator, FrozenEstimator):
        discretizer.set_params(estimator=FrozenEstimator(local_model(discretizer.estimator)))
    return discretizer
