"""How often counterfactuals stay valid after the classifier is refitted or values are slightly off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from fcca.constraints import Constraint
from fcca.counterfactuals import CounterfactualExplainer, Explanations, as_share, margin_of_share
from fcca.exceptions import InvalidInputError
from fcca.models import DecidedAt, decide_at
from fcca.tables import Columns
from fcca.utils import is_number, whole_number

__all__ = ["margin_effect", "share_margin"]

Floats = NDArray[np.float64]

LARGEST_SEED = 2**31 - 1
ROWS_AT_ONCE = 65_536


def share_margin(classifier: Any, X: Any, share: float | str) -> float:
    """Convert a share such as 10 % into a margin in units of the classifier's scores.

    The margin is the amount by which the score of the new class must exceed the scores of the other classes. The scores of
    forests and voting classifiers are shares of votes or averaged probabilities. For them, the margin is a share of the
    votes: with "10%", the new class leads by a tenth of the votes, such as 55 to 45 for two classes. The scores of boosting
    and linear models have no fixed range. For them, the margin is a share of the distance between the 5th and the 95th
    percentile of the scores on X. If the model has one score per class, the lead of a class is its score minus the largest
    score of another class. The distance is then computed for the leads of each class, and averaged over the classes.

    Parameters
    ----------
    classifier : fitted classifier or CounterfactualExplainer
    X : array-like or data frame of shape (n_rows, n_features)
        Training rows of the classifier.
    share : float or str
        A number above 0 and up to 1, or a string such as ``"10%"``.

    Returns
    -------
    float
        A value for the parameter ``margin`` of an explainer or a discretizer.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from fcca.robustness import share_margin
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> share_margin(forest, X, "10%")
    0.1
    """
    part = as_share(share)
    engine = (
        classifier if isinstance(classifier, CounterfactualExplainer) else CounterfactualExplainer(classifier, X)
    ).engine
    model = engine.model
    table = (model.columns or Columns.numbers(model.n_features)).encode(X)
    return margin_of_share(model, engine.scores(table), part)


def margin_effect(
    classifier: Any,
    X: Any,
    rows: Any,
    *,
    y: ArrayLike | None = None,
    target: Any = None,
    margins: Sequence[float | str] = (1e-4, "5%", "10%", "20%"),
    constraints: Iterable[Constraint] = (),
    n_refits: int = 10,
    noise: float = 0.01,
    n_noises: int = 20,
    random_state: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """Measure the cost and the robustness of counterfactuals for several margins.

    A counterfactual is computed for one fitted classifier. When somebody acts on it, the classifier may have been refitted,
    or the new value may be slightly off. With a margin, the new class wins by more than necessary. Such counterfactuals cost
    more than those without a margin, and they stay valid more often. This function measures both.

    Parameters
    ----------
    classifier : fitted classifier
    X : array-like or data frame of shape (n_rows, n_features)
        Training rows of the classifier.
    rows : array-like or data frame
        Rows for which counterfactuals are computed.
    y : array-like of shape (n_rows,), optional
        Training labels. Required if ``n_refits`` is above 0.
    target : label, optional
        The class that the changed rows should be predicted as. Rows that are already predicted as this class are left out.
        None accepts every class other than the predicted one.
    margins : sequence of float or str
        Score differences, or strings such as ``"10%"`` (see :func:`share_margin`).
    constraints : list of Constraint, default=()
        Rules of :mod:`fcca.constraints`.
    n_refits : int, default=10
        Number of classifiers to fit on bootstrap samples of the training rows. The same number of classifiers is fitted on
        all training rows, with new random seeds. A sample has at least one row of every category and class.
    noise : float, default=0.01
        Largest random error that is added to each changed numeric value, up or down, as a share of the column's range.
        Categories and unchanged values get no error.
    n_noises : int, default=20
        Number of times that random errors are added to each counterfactual.
    random_state : int, default=0
        Seed of the samples, of the refitted classifiers and of the errors.
    **options
        Further parameters of CounterfactualExplainer, such as costs, ``n_jobs`` and time limits.

    Returns
    -------
    DataFrame
        One row per margin.

        - ``margin``: the margin as given. ``score``: the margin as a score difference.
        - ``asked``: number of rows for which the search was run. ``solved``: number of these rows with a counterfactual.
          ``unproven``: number of solved rows whose search was stopped by a time limit. ``infeasible``: number of rows proven
          to have no counterfactual. ``unknown``: number of all other rows.
        - ``mean_cost``, ``median_cost``: cost over the solved rows. ``mean_changes``: mean number of changed columns.
        - ``holds_resampled``: share of the changed rows that are still predicted as the new class, averaged over the
          classifiers refitted on samples. ``holds_reseeded``: the same for the classifiers refitted with new seeds.
          ``holds_noisy``: the same for the given classifier, after random errors were added to the changed rows.

        Values that were not measured are NaN. ``holds_reseeded`` is NaN for a classifier without a ``random_state``.

    See Also
    --------
    fcca.plots.MarginEffectDisplay : Draws the result as curves.

    Notes
    -----
    With a larger margin, fewer rows have a counterfactual. If ``solved`` differs between two margins, their figures are
    measured on different rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from fcca.robustness import margin_effect
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)
    >>> found = margin_effect(forest, X, X[:20], y=y, margins=[1e-4, "20%"], n_refits=3)
    >>> found["mean_cost"].is_monotonic_increasing
    True
    """
    given = _checked(margins, n_refits, noise, n_noises, y)
    if "margin" in options:
        raise InvalidInputError("margin_effect has no parameter 'margin'. Pass a list of margins as 'margins' instead.")
    first = CounterfactualExplainer(classifier, X, **options)
    table, _ = first.encode_rows(rows)
    if target is not None:
        open_rows = np.flatnonzero(first.engine.predict(table) != target)
        if len(open_rows) == 0:
            raise InvalidInputError(
                f"All {len(table)} rows are already predicted as {target!r}, so there is nothing to change. Give other rows "
                "or another target."
            )
        rows = _safe_indexing(rows, open_rows) if len(open_rows) < len(table) else rows
    rng = np.random.default_rng(random_state)
    resampled, reseeded = ([], []) if n_refits == 0 else _refitted(first, X, column_or_1d(y), n_refits, rng)
    seed = int(rng.integers(LARGEST_SEED))
    lines = []
    for margin in given:
        score = share_margin(first, X, margin) if isinstance(margin, str) else float(margin)
        explainer = CounterfactualExplainer(classifier, X, margin=score, **options)
        found = explainer.explain(rows, target=target, constraints=constraints)
        solved = np.flatnonzero(found.is_status("optimal", "feasible"))
        points, wanted = found.points[solved], found.target[solved]
        as_given = explainer.engine.given(points) if len(solved) else None
        changes = np.bincount(found.moves.point, minlength=len(found))[solved]
        lines.append(
            {
                "margin": margin,
                "score": score,
                "asked": len(found),
                "solved": len(solved),
                "unproven": int(found.is_status("feasible").sum()),
                "infeasible": int(found.is_status("infeasible").sum()),
                "unknown": int(found.is_status("unknown", "unverified").sum()),
                "mean_cost": _mean(found.cost[solved]),
                "median_cost": float(np.median(found.cost[solved])) if len(solved) else float("nan"),
                "mean_changes": _mean(changes),
                "holds_resampled": _agreement(resampled, as_given, wanted),
                "holds_reseeded": _agreement(reseeded, as_given, wanted),
                # The same draws for every margin, so that lines differ by the margin alone.
                "holds_noisy": _under_noise(explainer, found, solved, noise, n_noises, np.random.default_rng(seed)),
            }
        )
    return pd.DataFrame(lines)


def _checked(margins: Any, n_refits: Any, noise: Any, n_noises: Any, y: Any) -> list[float | str]:
    whole_number("n_refits", n_refits, least=0)
    whole_number("n_noises", n_noises, least=0)
    if not is_number(noise, at_least=0, at_most=1):
        raise InvalidInputError(f"noise must be a share from 0 to 1, got {noise!r}.")
    if n_refits > 0 and y is None:
        raise InvalidInputError("y is required to refit the classifier. Pass the training labels, or n_refits=0.")
    if isinstance(margins, str) or not isinstance(margins, Iterable):
        raise InvalidInputError(f"margins must be a list of numbers or of strings such as '10%', got {margins!r}.")
    given = list(margins)
    if not given:
        raise InvalidInputError("margins must contain at least one margin.")
    for margin in given:
        if isinstance(margin, str):
            as_share(margin)
    return given


# --- refitted classifiers -------------------------------------------------------------------------------------------------


def _refitted(
    explainer: CounterfactualExplainer, X: Any, y: NDArray[Any], n: int, rng: np.random.Generator
) -> tuple[list[Any], list[Any]]:
    """Refit the classifier on bootstrap samples, and on all rows with new seeds, ``n`` times each.

    Return both lists of classifiers. The second list is empty if the classifier has no ``random_state``.
    """
    fresh, threshold = _unfitted(explainer.classifier)
    seeds = [name for name in fresh.get_params() if name == "random_state" or name.endswith("__random_state")]
    table = explainer.columns.encode(X)
    if len(y) != len(table):
        raise InvalidInputError(f"X and y must have the same number of rows ({len(table)} and {len(y)}).")

    def fitted(X: Any, y: NDArray[Any]) -> Any:
        model = clone(fresh).set_params(**{name: int(rng.integers(LARGEST_SEED)) for name in seeds}).fit(X, y)
        return model if threshold is None else decide_at(model, threshold)

    resampled = []
    for _ in range(n):
        drawn = _sample(table, y, explainer.columns, rng)
        resampled.append(fitted(_safe_indexing(X, drawn), y[drawn]))
    return resampled, [fitted(X, y) for _ in range(n)] if seeds else []


def _unfitted(estimator: Any) -> tuple[Any, float | None]:
    """Return an unfitted copy of the classifier, and its decision threshold or None."""
    threshold = None
    while isinstance(estimator, (FrozenEstimator, DecidedAt)):
        if isinstance(estimator, DecidedAt) and threshold is None:
            threshold = estimator.threshold
        estimator = estimator.estimator
    fresh = clone(estimator)
    parts = [fresh, *fresh.get_params().values()]
    if any(hasattr(part, "fit") and not isinstance(part, type) and clone(part) is part for part in parts):
        raise InvalidInputError(
            f"{type(estimator).__name__} or a part of it was read from a file or is frozen, so it cannot be refitted. "
            "Give a classifier that can be fitted, or n_refits=0."
        )
    return fresh, threshold


def _sample(table: Floats, y: NDArray[Any], columns: Columns, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a bootstrap sample, and return the positions of its rows.

    A row is added for each class and each category that was not drawn. If a column has both missing and other values, the
    sample has at least one row of each kind.
    """
    drawn = rng.integers(len(table), size=len(table))
    kept = [np.unique(y, return_inverse=True)[1]]
    kept += [np.isnan(column).astype(np.int64) for column in table[:, columns.may_miss].T]
    kept += [np.where(np.isnan(column), -1, column).astype(np.int64) for column in table[:, columns.is_category].T]
    extra = [
        int(rng.choice(np.flatnonzero(values == lost))) for values in kept for lost in np.setdiff1d(values, values[drawn])
    ]
    return np.concatenate([drawn, np.array(extra, dtype=np.int64)])


def _agreement(models: list[Any], given: Any, wanted: NDArray[Any]) -> float:
    """Return how often several classifiers predict the wanted classes, as a share of all predictions.

    ``models`` are the classifiers, and ``given`` are the changed rows. ``wanted`` has the class that each row should get.
    """
    if not models or given is None:
        return float("nan")
    return float(np.mean([np.mean(np.asarray(model.predict(given)).ravel() == wanted) for model in models]))


# --- noise ----------------------------------------------------------------------------------------------------------------


def _under_noise(
    explainer: CounterfactualExplainer,
    found: Explanations,
    solved: NDArray[np.int64],
    noise: float,
    n_noises: int,
    rng: np.random.Generator,
) -> float:
    """Add random errors to counterfactuals, and return how often they still flip the prediction.

    Parameters
    ----------
    explainer : CounterfactualExplainer
    found : Explanations
        The counterfactuals.
    solved : ndarray of int
        Positions of the rows with a counterfactual.
    noise : float
        Largest error, as a share of the column's range.
    n_noises : int
        Number of times that errors are added to each counterfactual.
    rng : Generator

    Returns
    -------
    float
        Share of the predictions that are the new class.
    """
    if n_noises == 0 or len(solved) == 0:
        return float("nan")
    points, wanted = found.points, found.target
    cells = explainer.engine.cells
    number = ~explainer.columns.is_category[found.moves.feature]
    point, feature = found.moves.point[number], found.moves.feature[number]
    reach = noise * (cells.box_high - cells.box_low)
    n_held, at_once = 0, max(1, ROWS_AT_ONCE // len(points))
    for first in range(0, n_noises, at_once):
        missed = []
        for _ in range(first, min(n_noises, first + at_once)):
            # One draw per row and column, changed or not, so that a row gets the same noise for every margin.
            draw = rng.uniform(-1, 1, size=points.shape)
            near = points.copy()
            near[point, feature] += (draw * reach)[point, feature]
            missed.append(near[solved])
        answers = explainer.engine.predict(np.concatenate(missed)).reshape(len(missed), len(solved))
        n_held += int((answers == wanted[solved]).sum())
    return n_held / (n_noises * len(solved))


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
