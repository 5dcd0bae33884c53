"""Replace a black box with an optimal tree, using a Dask DataFrame."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from fcca.classifier import FCCAClassifier
from fcca.dask._dask_chunks import DaskChunks
from fcca.dask._local_black_box import black_box, check_sample
from fcca.dask._partitions import PartitionedTable
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.streaming import distilled, parts_for_chunks
from fcca.utils import progress_shown


def distill(
    ddf: Any,
    label: str,
    classifier: Any = None,
    *,
    sample_weight: str | None = None,
    discretizer: FCCADiscretizer | None = None,
    tree: Any = None,
    fit_to: str | None = None,
    n_thresholds: int | None = None,
    sample: int = 100_000,
    random_state: int = 0,
    client: Any = None,
    retries: int = 3,
    verbose: int | None = None,
) -> FCCAClassifier:
    """Replace a black box with an optimal tree, using a Dask DataFrame.

    Every worker computes the counterfactuals of its partitions and counts the thresholds that they cross. The workers sum
    these counts, and later the counts of the distinct binary rows that the tree is grown on. Rows stay on their workers,
    with two exceptions. This process reads a few rows to find the types of the columns, and the sample for an unfitted
    classifier. A linear classifier has no cuts. All values at which its counterfactuals end are sent to this process, which
    then merges similar values.

    The result is the same, to the last digit, as after :meth:`FCCAClassifier.fit <fcca.FCCAClassifier.fit>` on all rows at
    once. It depends on neither partitions nor workers, even if a worker is lost. Weights that are not integers are the only
    exception: their sums depend on the partitions in the last digit.

    The table is read several times, usually three, as by :func:`fcca.streaming.distill`. If the table fits into the memory
    of the workers, ``ddf.persist()`` saves time.

    To predict on the cluster, map ``predict`` over the features. The result is a Dask array; ``meta`` gives its type::

        X = ddf[list(result.feature_names_in_)]
        ddf["prediction"] = X.map_partitions(result.predict, meta=result.classes_[:0])

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        Divisions may be unknown, and partitions may be empty.
    label : str
        Name of the label column.
    classifier : classifier, default=None
        The black box. A fitted classifier is used unchanged. It may come from scikit-learn, XGBoost, LightGBM and so on,
        from ``xgboost.dask`` or ``lightgbm.dask``, or be the result of ``xgboost.dask.train``. An unfitted classifier is
        fitted in this process on ``sample`` random rows. None is gradient boosting with 100 trees of depth 2, fitted on
        such a sample.
    sample_weight : str, default=None
        Name of the weight column.
    discretizer : FCCADiscretizer, default=None
        The parameters of the search. ``estimator`` must be None. ``n_jobs`` is the number of threads per task.
    tree : OptimalTreeClassifier, default=None
        None is ``OptimalTreeClassifier()``.
    fit_to : {"mixture", "probability", "labels", "target"}, default=None
        What the tree learns; see :class:`~fcca.FCCAClassifier`.
    n_thresholds : int, default=None
        Number of thresholds for the tree. The thresholds with the smallest inconsistency on the training rows are chosen.
        None keeps all thresholds.
    sample : int, default=100000
        Number of random rows for fitting an unfitted classifier.
    random_state : int, default=0
        Seed of the sample, which depends on neither partitions nor workers.
    client : distributed.Client, default=None
        None uses the active client or, if there is none, Dask's local scheduler.
    retries : int, default=3
        How often a failed task is repeated.
    verbose : int, default=None
        None shows a progress bar, which counts partitions, in a terminal or a notebook, if the work takes more than two
        seconds. 0 shows nothing. 1 always shows the progress on standard error.

    Returns
    -------
    FCCAClassifier
        The fitted classifier. It stores neither the training rows nor the counterfactuals of single rows.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from fcca import FCCADiscretizer
    >>> from fcca.dask import distill
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> boosting = GradientBoostingClassifier(max_depth=1, random_state=0)
    >>> boosting = boosting.fit(frame.drop(columns="target"), frame["target"])
    >>> ddf = dd.from_pandas(frame, npartitions=4)
    >>> result = distill(ddf, "target", boosting, discretizer=FCCADiscretizer(Q=0.7))
    >>> result.tree_.is_optimal_, result.discretizer_.statuses_
    (True, {'optimal': 564})
    >>> X = ddf[list(result.feature_names_in_)]
    >>> predictions = X.map_partitions(result.predict, meta=result.classes_[:0])
    >>> bool((predictions.compute() == result.predict(frame.drop(columns="target"))).all())
    True
    """
    table = PartitionedTable(ddf, label, sample_weight)
    chunks = DaskChunks(table, client, retries=retries)
    searcher = _unfitted_discretizer(discretizer)
    unfitted = FCCAClassifier(searcher, tree, fit_to=fit_to, n_thresholds=n_thresholds)
    # Check parameters before any partition is read. The black box may belong to a cluster and is checked when it is read.
    parts_for_chunks(clone(unfitted))
    check_sample(sample, random_state)
    with progress_shown(verbose):
        searcher.set_params(estimator=black_box(classifier, chunks, sample=sample, random_state=random_state))
        return distilled(chunks, unfitted).classifier


def _unfitted_discretizer(discretizer: FCCADiscretizer | None) -> FCCADiscretizer:
    """Check that a discretizer can be used on a cluster; return a clone."""
    if discretizer is None:
        return FCCADiscretizer()
    if not isinstance(discretizer, FCCADiscretizer):
        raise InvalidInputError(f"discretizer must be an FCCADiscretizer, got {type(discretizer).__name__}.")
    if discretizer.estimator is not None:
        raise InvalidInputError(
            f"The discretizer has an estimator, {type(discretizer.estimator).__name__}. Pass it as classifier instead."
        )
    if discretizer.time_limit is not None:
        raise InvalidInputError(
            f"time_limit={discretizer.time_limit!r} applies to all searches together, but they run on many workers. Use "
            "time_limit_per_row instead."
        )
    if isinstance(discretizer.margin, str):
        raise InvalidInputError(
            f"margin={discretizer.margin!r} is a share of the range of all scores, but the rows are on many workers. Pass "
            "a number."
        )
    copy: FCCADiscretizer = clone(discretizer)
    return copy
