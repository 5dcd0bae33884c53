"""Cross-validate the tree for several granularities or numbers of thresholds, and choose one of them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from fcca.classifier._fit_tree import binary_rows, fit_tree, resolve_fit_to, selection_fit_to
from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.selection import NUMBERS_OF_THRESHOLDS, OptimalSelection, whole_numbers
from fcca.tables import weighted_rows
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

#: The levels of granularity in the paper.
GRANULARITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LEAST_LIKELIHOOD = 1e-15  # probability of a class that does not occur in the training rows of a fold
#: Maximum number of branches of each search in a cross-validation, where the starting solution is good enough.
NODES_OF_PATH = 0


class Fold(NamedTuple):
    """One fold of a cross-validation: rows to learn from, and rows held out.

    Attributes
    ----------
    number : int
        Number of the fold, from 0.
    X, y, weight : as in fit
        Rows to learn from. ``weight`` is None without weights.
    X_test, y_test, test_weight : as in fit
        Rows held out.
    """

    number: int
    X: Any
    y: NDArray[np.generic]
    weight: Floats | None
    X_test: Any
    y_test: NDArray[np.generic]
    test_weight: Floats | None

    @property
    def weights(self) -> dict[str, Floats]:
        """The weights as a keyword argument of ``fit``; an empty dict without weights."""
        return {} if self.weight is None else {"sample_weight": self.weight}


def folds(X: Any, y: Any, sample_weight: ArrayLike | None, cv: Any) -> Iterator[Fold]:
    """Split the rows into the folds of a cross-validation, without rows of weight 0."""
    X, y, weight, _ = weighted_rows(X, y, sample_weight)
    try:
        splits = list(check_cv(cv, y, classifier=True).split(X, y))
    except ValueError as error:  # more folds than rows of a class
        raise InvalidInputError(f"The rows cannot be split for cross-validation: {error}") from error
    for number, (train, test) in enumerate(splits):
        yield Fold(
            number,
            *(_safe_indexing(X, train), y[train], None if weight is None else weight[train]),
            *(_safe_indexing(X, test), y[test], None if weight is None else weight[test]),
        )


class FoldTrees:
    """Fits and measures trees on the binary columns of one fold.

    Parameters
    ----------
    fold : Fold
    new_tree : callable
        Returns a new, unfitted tree.
    discretizer : discretizer
        Fitted on the training rows of the fold.
    fit_to : {"mixture", "probability", "labels", "target"} or None
        What the trees learn; see :func:`resolve_fit_to`.
    """

    def __init__(self, fold: Fold, new_tree: Callable[[], Any], discretizer: Any, fit_to: str | None) -> None:
        self.fold, self.new_tree = fold, new_tree
        self.predictions = discretizer.predict_target(fold.X_test)
        self.rows = binary_rows(discretizer, fold.X, fold.y, fold.weight)
        self.fit_to = resolve_fit_to(fit_to, new_tree(), self.rows, discretizer)

    def line(self, thresholds: ThresholdTable, B: NDArray[np.int8], B_test: NDArray[np.int8]) -> dict[str, float]:
        """Fit a tree on binary columns, and return its measurements.

        The measurements form one row of the result of ``granularity_path`` or ``selection_path``.

        Parameters
        ----------
        thresholds : ThresholdTable
            The thresholds of the columns.
        B, B_test : ndarray of shape (n_rows, n_thresholds)
            Binary columns of the training rows and of the held-out rows.
        """
        fold, weights = self.fold, self.fold.weights
        tree = fit_tree(self.new_tree(), replace(self.rows, B=B), self.fit_to)
        predicted = tree.predict(B_test)
        return {
            "thresholds": len(thresholds),
            "features": len(thresholds.features_used),
            "compression": compression_rate(B, **weights),
            "inconsistency": inconsistency_rate(B, fold.y, **weights),
            "accuracy": fidelity(predicted, fold.y_test, fold.test_weight),
            "auc": _auc(tree, B_test, fold),
            "log_loss": _log_loss(tree, B_test, fold),
            "fidelity": fidelity(predicted, self.predictions, fold.test_weight),
            "leaves": getattr(tree, "n_leaves_", np.nan),
            "optimal": float(getattr(tree, "is_optimal_", np.nan)),
        }


def _auc(tree: Any, B: NDArray[np.int8], fold: Fold) -> float:
    """Compute the one-vs-rest AUC of a tree on the held-out rows, averaged over the classes.

    ``B`` are the binary columns of these rows. Return NaN for a tree without ``predict_proba``, and if no class is held by
    some of the rows and not by others.
    """
    if not hasattr(tree, "predict_proba"):
        return np.nan
    probability = tree.predict_proba(B)
    is_class = [fold.y_test == label for label in tree.classes_]
    areas = [
        roc_auc_score(member, probability[:, at], sample_weight=fold.test_weight)
        for at, member in enumerate(is_class)
        if member.any() and not member.all()
    ]
    return float(np.mean(areas)) if areas else np.nan


def _log_loss(tree: Any, B: NDArray[np.int8], fold: Fold) -> float:
    """Compute the log-loss of a tree against the labels of the held-out rows.

    ``B`` are the binary columns of these rows. Return NaN for a tree without ``predict_proba``.
    """
    if not hasattr(tree, "predict_proba"):
        return np.nan
    column = pd.Index(tree.classes_).get_indexer(fold.y_test)
    likelihood = np.where(column >= 0, tree.predict_proba(B)[np.arange(len(column)), column], 0.0)
    return float(np.average(-np.log(np.maximum(likelihood, LEAST_LIKELIHOOD)), weights=fold.test_weight))


def granularities_of_fold(
    fold: Fold,
    discretizer: Any,
    new_tree: Callable[[], Any],
    fit_to: str | None,
    levels: Sequence[float],
    lambda0: Sequence[float] | None,
) -> Iterator[dict[str, float]]:
    """Fit the discretizer on a fold, and measure one tree for each granularity.

    Yield the measurements for each cost ``lambda0`` and each granularity in ``levels``.
    """
    first = _without_warnings(discretizer).fit(fold.X, fold.y, **fold.weights)
    trees = FoldTrees(fold, new_tree, first, fit_to)
    for cost in [first.lambda0] if lambda0 is None else lambda0:
        discretizer = first
        if cost != first.lambda0:
            fitted = FrozenEstimator(first.estimator_)  # already has the decision threshold
            discretizer = clone(first).set_params(estimator=fitted, decision_threshold=None, lambda0=cost)
            discretizer.set_output(transform="default").fit(fold.X, fold.y, **fold.weights)
        for Q in levels:
            kept = discretizer.set_granularity(Q).thresholds_
            line = trees.line(kept, discretizer.transform(fold.X), discretizer.transform(fold.X_test))
            yield {"lambda0": cost, "Q": Q} | line


def selections_of_fold(
    fold: Fold,
    discretizer: Any,
    new_tree: Callable[[], Any],
    fit_to: str | None,
    numbers: Sequence[int],
    selection: OptimalSelection,
) -> Iterator[dict[str, float]]:
    """Fit the discretizer on a fold, and measure one tree for each number of thresholds.

    ``selection`` chooses the thresholds. Yield the measurements for each number in ``numbers``.
    """
    _without_warnings(discretizer).fit(fold.X, fold.y, **fold.weights)
    trees = FoldTrees(fold, new_tree, discretizer, fit_to)
    measured = fold.y if selection.fit_to == "labels" else discretizer.predict_target(fold.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the path says how many are proven
        frontier = selection.frontier(discretizer.thresholds_, fold.X, measured, numbers, fold.weight)
    B, B_test = discretizer.transform(fold.X), discretizer.transform(fold.X_test)
    unselected = trees.line(discretizer.thresholds_, B, B_test)
    with_all = {f"{name}_all": unselected[name] for name in ("accuracy", "auc", "log_loss")}
    for n in numbers:
        # The largest selection of at most n thresholds. There is no line if ``keep`` requires more than n.
        for one in [one for one in frontier if one.n_thresholds <= n][-1:]:
            line = trees.line(one.thresholds, B[:, one.kept], B_test[:, one.kept])
            yield {"n_thresholds": n} | line | {"selection_optimal": float(one.is_optimal)} | with_all


def _without_warnings(discretizer: Any) -> Any:
    """Let a discretizer accept held-out rows with values that the fold's training rows do not have."""
    if "handle_unknown" in discretizer.get_params(deep=False):
        discretizer.set_params(handle_unknown="ignore")
    return discretizer


def path_frame(lines: Sequence[dict[str, float]], keys: list[str], *, per_fold: bool) -> pd.DataFrame:
    """Build the result of ``granularity_path`` or ``selection_path``.

    Parameters
    ----------
    lines : sequence of dict
        Measurements of each fold and setting.
    keys : list of str
        Names of the entries that define a setting, such as ``Q``.
    per_fold : bool
        Whether to return one row per fold and setting instead of the means over the folds.
    """
    frame = pd.DataFrame(lines)
    if per_fold:
        first = [*keys, "fold"]
        return frame[[*first, *frame.columns.drop(first)]]
    groups = frame.drop(columns="fold").groupby(keys)
    path = groups.mean()
    path["accuracy_se"] = groups["accuracy"].sem(ddof=1)
    return path.reset_index()


def choose_granularity(path: pd.DataFrame, rule: str = "one_standard_error", *, tradeoff: float = 0.8) -> dict[str, float]:
    """Choose the granularity from the result of a cross-validation.

    Parameters
    ----------
    path : DataFrame
        The result of :meth:`FCCAClassifier.granularity_path`.
    rule : {"best", "one_standard_error", "tradeoff"}, default="one_standard_error"
        "best" chooses the row of the path with the highest accuracy. "one_standard_error" chooses the row with the fewest
        thresholds whose accuracy is within one standard error of the highest. "tradeoff" is the rule of the paper's authors.
        It maximizes ``(1 - tradeoff) * compression - tradeoff * inconsistency``.
    tradeoff : float, default=0.8
        Weight of the inconsistency in the rule "tradeoff".

    Returns
    -------
    dict
        ``lambda0`` and ``Q`` of the chosen row.
    """
    _check_path(path, "granularity_path", ("lambda0", "Q", "thresholds", "accuracy", "accuracy_se"))
    if rule == "tradeoff":
        gain = (1 - tradeoff) * path["compression"] - tradeoff * path["inconsistency"]
        chosen = path.loc[gain.sort_values(ascending=False, kind="stable").index].iloc[0]
    elif rule in ("best", "one_standard_error"):
        chosen = _most_accurate(path, rule, "thresholds")
    else:
        raise InvalidInputError(f"rule must be 'best', 'one_standard_error' or 'tradeoff', got {rule!r}.")
    return {"lambda0": float(chosen["lambda0"]), "Q": float(chosen["Q"])}


def choose_n_thresholds(path: pd.DataFrame, rule: str = "no_worse") -> int | None:
    """Choose the number of thresholds from the result of a cross-validation.

    Parameters
    ----------
    path : DataFrame
        The result of :meth:`FCCAClassifier.selection_path`.
    rule : {"no_worse", "best", "one_standard_error"}, default="no_worse"
        "no_worse" chooses the smallest number whose tree is no worse than the tree on all thresholds, in accuracy, AUC
        and log-loss on held-out rows. "best" chooses the number whose tree has the highest accuracy. "one_standard_error"
        chooses the smallest number whose accuracy is within one standard error of the highest.

    Returns
    -------
    int or None
        None means to keep all thresholds. The rule "no_worse" returns None if every number gives a worse tree.
    """
    if rule == "no_worse":
        measures = ("accuracy", "auc", "log_loss")
        _check_path(path, "selection_path", ("n_thresholds", *measures, *(f"{name}_all" for name in measures)))
        is_worse = path["log_loss"] > path["log_loss_all"]
        for name in ("accuracy", "auc"):
            is_worse |= path[name] < path[f"{name}_all"]
        return None if is_worse.all() else int(path.loc[~is_worse, "n_thresholds"].min())
    if rule not in ("best", "one_standard_error"):
        raise InvalidInputError(f"rule must be 'no_worse', 'best' or 'one_standard_error', got {rule!r}.")
    _check_path(path, "selection_path", ("n_thresholds", "accuracy", "accuracy_se"))
    return int(_most_accurate(path, rule, "n_thresholds")["n_thresholds"])


def _check_path(path: pd.DataFrame, maker: str, columns: Sequence[str]) -> None:
    if missing := [name for name in columns if name not in path.columns]:
        raise InvalidInputError(
            f"path must be the result of {maker} with per_fold=False, but it has no column {', '.join(missing)}."
        )
    if len(path) == 0:
        raise InvalidInputError("path has no rows to choose from. Expected at least one row.")


def _most_accurate(path: pd.DataFrame, rule: str, size: str) -> Any:
    """Choose a row of a path by the rule "best" or "one_standard_error".

    ``size`` is the column to minimize among the rows within one standard error of the highest accuracy.
    """
    best = path.sort_values(["accuracy", size], ascending=[False, True], kind="stable").iloc[0]
    if rule == "best":
        return best
    close = path[path["accuracy"] >= best["accuracy"] - np.nan_to_num(best["accuracy_se"])]
    return close.sort_values([size, "accuracy"], ascending=[True, False], kind="stable").iloc[0]


class CrossValidationMixin(ABC):
    """Methods that cross-validate a classifier for several granularities or numbers of thresholds."""

    fit_to: str | None

    @abstractmethod
    def _new_discretizer(self) -> Any:
        """Return a new, unfitted discretizer."""

    @abstractmethod
    def _new_tree(self) -> Any:
        """Return a new, unfitted tree."""

    def granularity_path(
        self,
        X: Any,
        y: Any,
        *,
        Q: Sequence[float] = GRANULARITIES,
        lambda0: Sequence[float] | None = None,
        cv: Any = 5,
        sample_weight: ArrayLike | None = None,
        per_fold: bool = False,
    ) -> pd.DataFrame:
        """Cross-validate the tree for several granularities.

        The black box is fitted once per fold. The counterfactuals are computed once per fold and ``lambda0``. Thresholds are
        kept by how many counterfactuals cross them. A selection of the discretizer is ignored.

        Parameters
        ----------
        X, y : as in fit
        Q : sequence of float
            Granularities to try.
        lambda0 : sequence of float, optional
            Costs per changed column to try. The default is the ``lambda0`` of the discretizer.
        cv : int or splitter, default=5
        sample_weight : array-like of shape (n_rows,), optional
        per_fold : bool, default=False
            Whether to return one row per fold instead of the means over the folds.

        Returns
        -------
        DataFrame
            One row for each ``lambda0`` and ``Q``, with means over the folds. ``thresholds``: number of thresholds kept.
            ``features``: number of columns with a threshold. ``compression`` and ``inconsistency``: on training rows.
            ``accuracy``, ``auc`` and ``log_loss``: on held-out rows, against their labels. ``fidelity``: on held-out rows,
            against the black box. ``leaves``: number of leaves. ``optimal``: share of folds whose tree is proven optimal.
            ``accuracy_se``: standard error of the accuracy.

        See Also
        --------
        choose_granularity : Chooses one of the granularities.
        """
        levels = list(Q)
        if not levels:
            raise InvalidInputError("Q must contain at least one level of granularity, such as 0.5.")
        lines = [
            line | {"fold": fold.number}
            for fold in folds(X, y, sample_weight, cv)
            for line in granularities_of_fold(fold, self._without_selection(), self._new_tree, self.fit_to, levels, lambda0)
        ]
        return path_frame(lines, ["lambda0", "Q"], per_fold=per_fold)

    def selection_path(
        self,
        X: Any,
        y: Any,
        *,
        n_thresholds: Iterable[int] = NUMBERS_OF_THRESHOLDS,
        selection: OptimalSelection | None = None,
        cv: Any = 5,
        sample_weight: ArrayLike | None = None,
        per_fold: bool = False,
    ) -> pd.DataFrame:
        """Cross-validate the tree for several numbers of thresholds.

        In each fold, ``selection`` chooses the thresholds. The black box and the counterfactuals are computed once per fold.

        Parameters
        ----------
        X, y : as in fit
        n_thresholds : iterable of int, default=range(1, 17)
            Numbers of thresholds to try. If fewer thresholds are found in a fold, all of them are kept.
        selection : OptimalSelection, optional
            Chooses the thresholds. Its ``n_thresholds`` and ``max_inconsistency`` are ignored. The default is the
            selection of the discretizer. If there is none, thresholds with a small inconsistency are found quickly and
            without proof (``max_nodes=0``). The conditions in ``keep`` and ``forbid`` must exist in every fold.
        cv : int or splitter, default=5
        sample_weight : array-like of shape (n_rows,), optional
        per_fold : bool, default=False
            Whether to return one row per fold instead of the means over the folds.

        Returns
        -------
        DataFrame
            One row for each number of thresholds, with means over the folds. The columns are those of
            :meth:`granularity_path`, with ``n_thresholds`` instead of ``lambda0`` and ``Q``. Four columns
            are added. ``selection_optimal`` is the share of folds whose thresholds are proven optimal. ``accuracy_all``,
            ``auc_all`` and ``log_loss_all`` are the accuracy, AUC and log-loss of the tree on all thresholds.

        See Also
        --------
        choose_n_thresholds : Chooses one of the numbers.
        """
        numbers = sorted(set(whole_numbers("n_thresholds", n_thresholds)))
        discretizer = self._new_discretizer()
        check_selects(discretizer)
        selection = discretizer.selection if selection is None else selection
        if selection is None:
            selection = OptimalSelection(fit_to=selection_fit_to(self.fit_to), max_nodes=NODES_OF_PATH)
        if not isinstance(selection, OptimalSelection):
            raise InvalidInputError(f"selection must be an OptimalSelection or None, got {selection!r}.")
        selection.check_parameters(for_frontier=True)
        lines = [
            line | {"fold": fold.number}
            for fold in folds(X, y, sample_weight, cv)
            for line in selections_of_fold(fold, self._without_selection(), self._new_tree, self.fit_to, numbers, selection)
        ]
        return path_frame(lines, ["n_thresholds"], per_fold=per_fold)

    def _without_selection(self) -> Any:
        discretizer = self._new_discretizer()
        return discretizer.set_params(selection=None) if hasattr(discretizer, "selection") else discretizer


def check_selects(discretizer: Any) -> None:
    """Raise an error if a discretizer cannot choose among its thresholds."""
    if not hasattr(discretizer, "set_selection"):
        raise InvalidInputError(
            f"{type(discretizer).__name__} cannot choose among its thresholds, because it has no method set_selection. Use "
            "a discretizer with this method, such as FCCADiscretizer."
        )
