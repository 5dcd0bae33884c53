"""Fit a discretizer on bootstrap samples, to see which thresholds are found again."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, column_or_1d

from fcca.classifier import FCCAClassifier
from fcca.discretizers import ThresholdTransformer
from fcca.exceptions import ConstantFeatureWarning, InvalidInputError, NoCounterfactualError
from fcca.stability._bootstrap_result import Stability
from fcca.stability._matching import Matcher
from fcca.tables import check_weights
from fcca.thresholds import ThresholdTable
from fcca.utils import is_number, is_whole, progress_bar, progress_shown, type_in_words, whole_number

Floats = NDArray[np.float64]

TOLERANCE = 0.05
SAMPLES_PER_JOB = 4  # between two updates of the progress bar


def bootstrap(
    discretizer: Any,
    X: Any,
    y: ArrayLike | None,
    *,
    n_samples: int = 100,
    sample_weight: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int | None = None,
) -> Stability:
    """Measure how often bootstrap samples find the same thresholds as all rows.

    The discretizer is fitted on all rows and on each sample. A sample is drawn with replacement. The number of rows of each
    class is the same as in the training rows. Each sample has a separate seed, so the result does not depend on ``n_jobs``.
    A larger ``n_samples`` adds samples and does not change the first ones. A row that is drawn twice gets twice its weight.
    A row that is not drawn gets weight 0, so some values and categories may be missing in a sample.

    A threshold counts as found again if the sample has a nearly equal condition on the same column. Two numeric thresholds
    are nearly equal if at most a share ``tolerance`` of the training rows lies between them. Conditions on categories or
    missing values must be the same, apart from categories that do not occur in the sample. Several thresholds of the full
    fit may match the same condition of a sample.

    Parameters
    ----------
    discretizer : FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer or FCCAClassifier
        Fitted or not. It is not changed. It should keep only some thresholds, for example by a ``selection``. If it keeps
        all of them, most thresholds are found again, and the result says little. Set the ``random_state`` of its black box,
        because changing seeds add to the variation. A fitted black box in a ``FrozenEstimator`` is the same in all samples,
        so only the later steps vary.
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Labels. None for a discretizer that needs no labels. All rows are then drawn with the same probability.
    n_samples : int, default=100
        Number of samples.
    sample_weight : array-like of shape (n_rows,), optional
        A weight does not change how often a row is drawn. It multiplies the weight of the row in each sample. Rows with
        weight 0 are left out.
    tolerance : float, default=0.05
        Largest share of the training rows between two thresholds that count as nearly equal.
    random_state : int, default=0
        Seed of the samples.
    n_jobs : int, optional
        Number of samples to fit in parallel. None stands for 1, -1 for the number of cores.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error.

    Returns
    -------
    Stability
        For each threshold, how often it was found again, and its distance to the nearest threshold of the samples.

    Raises
    ------
    NoCounterfactualError
        If no sample could be fitted. If only some samples could not be fitted, ``failures`` of the result lists them.

    See Also
    --------
    fcca.plots.StabilityDisplay : Draws the result as bars and ranges.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import MidpointDiscretizer
    >>> from fcca.stability import bootstrap
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = bootstrap(MidpointDiscretizer(max_thresholds=1), X, y, n_samples=20)
    >>> found.to_frame()[["condition", "chosen", "exact"]]
                     condition  chosen  exact
    0  sepal length (cm) > 5.7    0.85   0.55
    1     sepal width (cm) > 3    0.85   0.85
    2  petal length (cm) > 4.3    1.00   0.40
    3   petal width (cm) > 1.3    0.70   0.70
    """
    _check_numbers(n_samples, tolerance, random_state, n_jobs)
    if not isinstance(discretizer, (ThresholdTransformer, FCCAClassifier)):
        raise InvalidInputError(
            f"Expected a discretizer such as FCCADiscretizer(), or an FCCAClassifier, got {type_in_words(discretizer)}."
        )
    n_rows = _num_samples(X)
    weight = check_weights(sample_weight, n_rows)
    labels = None if y is None else column_or_1d(y)
    if labels is not None and len(labels) != n_rows:
        raise InvalidInputError(f"X and y must have the same number of rows ({n_rows} and {len(labels)}).")
    if not (weight > 0).all():
        rows = np.flatnonzero(weight > 0)
        X, weight, labels = _safe_indexing(X, rows), weight[rows], None if labels is None else labels[rows]
    fresh = clone(discretizer)
    full = _thresholds(clone(fresh).fit(X, labels, sample_weight=None if sample_weight is None else weight))
    match = Matcher(full, X, weight)
    code = np.zeros(len(weight), dtype=np.intp) if labels is None else np.unique(labels, return_inverse=True)[1].ravel()

    outcomes: list[_Outcome] = []
    with progress_shown(verbose), progress_bar("Bootstrap samples", n_samples) as progress:
        for outcome in _outcomes(fresh, X, labels, weight, code, n_samples, random_state, n_jobs):
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes))
    failures = {at: outcome.failure for at, outcome in enumerate(outcomes) if outcome.failure is not None}
    tables = tuple(outcome.table for outcome in outcomes if outcome.table is not None)
    if not tables:
        raise NoCounterfactualError(f"None of the {n_samples} samples could be fitted. First error: {failures[0]}")
    _warn_once(outcomes)
    found = [match(table) for table in tables]
    return Stability(
        thresholds=full,
        tables=tables,
        failures=failures,
        n_samples=int(n_samples),
        tolerance=float(tolerance),
        same=np.array([one.same for one in found]),
        rows_between=np.array([one.rows for one in found]),
        distance=np.array([one.distance for one in found]),
    )


def _check_numbers(n_samples: Any, tolerance: Any, random_state: Any, n_jobs: Any) -> None:
    whole_number("n_samples", n_samples)
    whole_number("random_state", random_state, least=0)
    if not is_number(tolerance, at_least=0, at_most=1) or tolerance == 1:
        raise InvalidInputError(f"tolerance must be a share of the rows, from 0 to below 1, got {tolerance!r}.")
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")


def _thresholds(fitted: Any) -> ThresholdTable:
    table: ThresholdTable = getattr(fitted, "discretizer_", fitted).thresholds_
    return table


# --- samples --------------------------------------------------------------------------------------------------------------


class _Outcome(NamedTuple):
    """Result of fitting one sample: its thresholds or the error, and the warnings."""

    table: ThresholdTable | None
    failure: str | None
    warned: list[tuple[type[Warning], str]]


def _outcomes(
    fresh: Any,
    X: Any,
    y: Any,
    weight: Floats,
    code: NDArray[np.intp],
    n_samples: int,
    random_state: int,
    n_jobs: int | None,
) -> Iterator[_Outcome]:
    at_once = SAMPLES_PER_JOB * effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as pool:
        for first in range(0, n_samples, at_once):
            numbers = range(first, min(n_samples, first + at_once))
            yield from pool(delayed(_fitted)(clone(fresh), X, y, weight, code, (random_state, at)) for at in numbers)


def _fitted(discretizer: Any, X: Any, y: Any, weight: Floats, code: NDArray[np.intp], seed: tuple[int, int]) -> _Outcome:
    times = drawn(code, seed)
    table, failure = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # A column may be constant in a sample. This does not deserve a warning.
        warnings.simplefilter("ignore", ConstantFeatureWarning)
        try:
            table = _thresholds(discretizer.fit(X, y, sample_weight=weight * times))
        except (InvalidInputError, NoCounterfactualError) as error:
            failure = f"{type(error).__name__}: {error}"
    return _Outcome(table, failure, [(one.category, str(one.message)) for one in caught])


def drawn(code: NDArray[np.intp], seed: tuple[int, int]) -> NDArray[np.int64]:
    """Draw a bootstrap sample, and return how often each row is drawn.

    The number of rows of each class is the same as in the training data.

    Parameters
    ----------
    code : ndarray of shape (n_rows,)
        Class of each row, as an integer code.
    seed : tuple of int
        The seed that all samples share, and the number of this sample.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed[0], spawn_key=(seed[1],)))
    times = np.zeros(len(code), dtype=np.int64)
    for one in range(int(code.max()) + 1):
        rows = np.flatnonzero(code == one)
        times += np.bincount(rng.choice(rows, size=len(rows)), minlength=len(code))
    return times


def _warn_once(outcomes: list[_Outcome]) -> None:
    """Issue each type of warning once, with the number of samples in which it occurred."""
    first: dict[type[Warning], str] = {}
    samples: Counter[type[Warning]] = Counter()
    for outcome in outcomes:
        samples.update({category for category, _ in outcome.warned})
        for category, message in outcome.warned:
            first.setdefault(category, message)
    for category, times in samples.items():
        warnings.warn(f"In {times} of {len(outcomes)} samples: {first[category]}", category, stacklevel=3)
