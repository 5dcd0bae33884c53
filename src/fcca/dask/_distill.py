"""A small tree in place of a black box, from a table on a Dask cluster."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from fcca.classifier import FCCAClassifier
from fcca.dask._base import plain
from fcca.dask._models import check_sample, frozen
from fcca.dask._pieces import DaskPieces
from fcca.dask._tables import Table
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.streaming._distill import _discretizer as checked_discretizer
from fcca.streaming._distill import distilled

SAMPLE = 100_000


def distill(
    ddf: Any,
    label: str,
    model: Any = None,
    *,
    sample_weight: str | None = None,
    discretizer: FCCADiscretizer | None = None,
    tree: Any = None,
    fit_to: str = "labels",
    n_thresholds: int | None = None,
    sample: int = SAMPLE,
    random_state: int = 0,
    client: Any = None,
    retries: int = 3,
    verbose: int = 0,
) -> FCCAClassifier:
    """Put a small, provably best tree in place of a black box, from a table on a Dask cluster.

    Every worker computes the counterfactuals of the partitions that it holds; what they cross is counted, and the counts
    are added up on the workers, as are the distinct rows of 0 and 1 that the tree is grown on. Rows stay where they are, but
    for a few to learn the columns from, and the sample that a model is fitted on which is not fitted yet. Of a linear model
    all changed values are sent until near ones are merged.
    The classifier is the same, to the last digit, as the one that :meth:`FCCAClassifier.fit <fcca.FCCAClassifier.fit>` finds
    on all rows at once, whatever the partitions and the workers, and also where a worker is lost on the way; but for weights
    of rows or classes that are no whole numbers, whose sums depend on the partitions in the last digit.

    The table is gone through as often as by :func:`fcca.streaming.distill`: three times as a rule. Where it comes from more
    than reading a file, and fits into the memory of the workers, ``ddf.persist()`` saves time.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        Divisions need not be known, and partitions may be empty.
    label : str
        The column of labels.
    model : classifier, default=None
        Fitted: taken as it is; one of scikit-learn, XGBoost, LightGBM, …, of ``xgboost.dask`` or ``lightgbm.dask``, or what
        ``xgboost.dask.train`` returned. Not fitted: fitted in this process on ``sample`` rows, which come here for that.
        None is the paper's gradient boosting of 100 stumps, fitted so.
    sample_weight : str, default=None
        A column of weights.
    discretizer : FCCADiscretizer, default=None
        The parameters of the search; its ``estimator`` is None. Its ``n_jobs`` is the number of threads of one task. Of
        one of :class:`fcca.dask.FCCADiscretizer`, ``sample``, ``random_state`` and ``retries`` are those given here.
    tree : OptimalTreeClassifier, default=None
        None is ``OptimalTreeClassifier(max_depth=3)``.
    fit_to : {"labels", "target"}, default="labels"
        What the tree learns.
    n_thresholds : int, default=None
        Give the tree so many of the thresholds, the best ones.
    sample : int, default=100000
        How many rows, drawn at random from all, a model is fitted on that is not fitted yet.
    random_state : int, default=0
        The seed of the sample, which depends on neither the partitions nor the workers.
    client : distributed.Client, default=None
        None is the active one or, where there is none, Dask's own scheduler.
    retries : int, default=3
        How often a task that failed on a worker is tried again.
    verbose : int, default=0
        1 shows a progress bar, which counts partitions.

    Returns
    -------
    FCCAClassifier
        A plain one, without the training rows and without the single counterfactuals.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from fcca import FCCADiscretizer
    >>> from fcca.dask import distill
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> model = GradientBoostingClassifier(max_depth=1, random_state=0).fit(frame.drop(columns="target"), frame["target"])
    >>> ddf = dd.from_pandas(frame, npartitions=4)
    >>> classifier = distill(ddf, "target", model, discretizer=FCCADiscretizer(Q=0.7))
    >>> classifier.tree_.is_optimal_, classifier.discretizer_.statuses_
    (True, {'optimal': 564})
    """
    table = Table.of_frame(ddf, label, sample_weight)
    pieces = DaskPieces(table, client, retries=retries, verbose=bool(verbose))
    found = FCCADiscretizer() if discretizer is None else plain(discretizer)
    if not isinstance(found, FCCADiscretizer):
        raise InvalidInputError(f"discretizer must be an FCCADiscretizer, got {type(found).__name__}.")
    found = clone(found)
    if found.estimator is not None:
        raise InvalidInputError(
            f"The discretizer has an estimator, {type(found.estimator).__name__}. Give the classifier as model instead."
        )
    classifier = FCCAClassifier(found, plain(tree), fit_to=fit_to, n_thresholds=n_thresholds)
    check_parameters(classifier, found)
    check_sample(sample, random_state)
    found.set_params(estimator=frozen(model, pieces, sample=sample, seed=random_state))
    return distilled(pieces, classifier).classifier


def check_parameters(classifier: FCCAClassifier, discretizer: FCCADiscretizer) -> None:
    """Refuse, before any work, parameters that cannot be used.

    Parameters
    ----------
    classifier : FCCAClassifier
    discretizer : FCCADiscretizer
        The classifier's own, or the one in place of None.
    """
    _check_limits(discretizer)
    # The black box is judged where it is read: it may be of a cluster.
    without = clone(discretizer).set_params(estimator=None)
    checked, _ = checked_discretizer(clone(classifier).set_params(discretizer=without))
    checked._check_parameters()


def _check_limits(discretizer: FCCADiscretizer) -> None:
    """Refuse what cannot be kept in many places at once."""
    if discretizer.time_limit is not None:
        raise InvalidInputError(
            f"time_limit={discretizer.time_limit:g} is for all searches together, but these run in many places at once. "
            "Give time_limit_per_point instead."
        )
    if isinstance(discretizer.margin, str):
        raise InvalidInputError(
            f"margin is {discretizer.margin!r}, a share of the range of all scores, but the rows are in many places. Give "
            "it as a number."
        )
