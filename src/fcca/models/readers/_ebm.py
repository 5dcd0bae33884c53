"""Read interpret's ExplainableBoostingClassifier (EBM) without interactions.

Without interactions, the score is a sum of step functions, one per feature. Each step function is read as a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._labels import ColumnLabels, OpenColumn, distinct_labels
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models._nodes import Nodes, joined
from fcca.tables import Column, Columns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InterpretLogistic(Logistic):
    """Logistic link for the single score of an EBM.

    The library interpret computes the probability, so that rounding is the same.
    """

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes."""
        # Imported by name, so that type checks of this file do not need interpret.
        probabilities: Floats = import_module("interpret.utils").inv_link(score, "logit")
        return probabilities


LINKS = {"logit": InterpretLogistic(), "mlogit": Softmax()}


def check(estimator: Any) -> None:
    """Check before fitting that the parameter ``interactions`` is 0."""
    pairs = estimator.interactions
    if len(pairs) > 0 if isinstance(pairs, (list, tuple)) else pairs != 0:
        raise UnsupportedModelError(
            f"ExplainableBoostingClassifier(interactions={pairs!r}) adds terms with two or more features, which are not "
            "supported. Set interactions=0."
        )


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted ExplainableBoostingClassifier to a TreeEnsemble."""
    pairs = [term for term in estimator.term_features_ if len(term) > 1]
    if pairs:
        names = [" × ".join(estimator.feature_names_in_[j] for j in pair) for pair in pairs]
        raise UnsupportedModelError(
            f"The ExplainableBoostingClassifier has {len(pairs)} terms with two or more features, such as {names[0]}. They "
            "are not supported. Fit it with interactions=0."
        )
    features = [term[0] for term in estimator.term_features_]
    if estimator.link_ not in LINKS:
        raise UnsupportedModelError(
            f"The ExplainableBoostingClassifier's link {estimator.link_!r} is not supported. Supported: {', '.join(LINKS)}."
        )
    base = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    columns = Columns(tuple(_column(estimator, j) for j in range(len(estimator.feature_names_in_))))
    terms = [
        _term(j, estimator.bins_[j][0], np.asarray(scores, dtype=np.float64).reshape(len(scores), -1), columns[j])
        for j, scores in zip(features, estimator.term_scores_, strict=True)
    ]
    nodes = joined(terms)
    takes_missing = bool(columns.may_miss.any())
    if takes_missing:
        nodes = replace(nodes, missing_left=np.zeros(len(nodes.left), dtype=np.bool_))
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        columns=columns if takes_missing or columns.has_categories or columns.named else None,
        link=LINKS[estimator.link_],
        base=base,
        **nodes.arguments(),
    )


def _column(estimator: Any, j: int) -> Column:
    """Build the description of column ``j``.

    Missing values are supported if the column had some in the training data.
    """
    name = estimator.feature_names_in_[j]
    given = None if name == f"feature_{j:04}" else name
    terms = zip(estimator.term_features_, estimator.bin_weights_, strict=True)
    missing = any(term == (j,) and weights[0] > 0 for term, weights in terms)
    if estimator.feature_types_in_[j] == "continuous":
        return Column(given, missing=missing)
    labels = tuple(estimator.bins_[j][0])
    if any(_is_number(label) for label in labels):
        return SpelledColumn(given, labels, missing=missing, as_category=False)
    return Column(given, labels, missing=missing, as_category=False)


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class SpelledColumn(OpenColumn):
    """A column whose categories are numbers that the classifier stores as strings.

    For example, both 2 and 2.0 in a table match the category ``"2"``.
    """

    def labels_in(self, values: pd.Series[Any], name: str) -> ColumnLabels:
        """Match the labels in ``values`` with the strings that the classifier stores."""
        labels, _ = distinct_labels(values)
        known = {label: position for position, label in enumerate(self.categories or ())}
        spelled = [
            label if isinstance(label, str) else str(int(label) if label == int(label) else label) for label in labels
        ]
        unknown = [label for label, text in zip(labels, spelled, strict=True) if text not in known]
        if unknown:
            raise InvalidInputError(
                f"The category {unknown[0]!r} in column {name} is unknown to the ExplainableBoostingClassifier. Its "
                f"categories are {', '.join(known)}. Use one of them, or fit the classifier on strings."
            )
        return ColumnLabels(labels, np.array([known[text] for text in spelled], dtype=np.int64), False)


def _term(j: int, bins: Any, scores: Floats, column: Column) -> Nodes:
    """Build the tree of one feature from its bins and their scores.

    Parameters
    ----------
    j : int
        Position of the feature.
    bins : ndarray or dict
        For a numeric feature, its cuts. For a feature with categories, the position of the bin of each category.
    scores : ndarray of shape (n_bins, n_outputs)
        The amount that each bin adds to the scores. The first bin is for missing values, the last for unknown categories.
    column : Column
        The description of the feature.
    """
    groups: list[NDArray[np.int64]] = []
    if column.categories is None:
        cuts, values = _steps(bins, scores[1:-1])
    else:
        values, group = np.unique(scores[[bins[label] for label in column.categories]], axis=0, return_inverse=True)
        groups = [np.flatnonzero(group.ravel() == i).astype(np.int64) for i in range(len(values))]
        cuts = np.full(len(values) - 1, np.nan)
    left, right, begin, number = _balanced(len(values))
    inner = left >= 0
    cut, value = np.zeros(len(left)), np.zeros((len(left), scores.shape[1]))
    cut[inner], value[~inner] = cuts[number[inner]], values[number[~inner]]
    sets: list[tuple[int, NDArray[np.int64]]] = []
    if groups:
        sets = [(node, np.concatenate(groups[begin[node] : number[node] + 1])) for node in np.flatnonzero(inner).tolist()]
    if column.missing:  # a further root separates missing values
        sets = [(node + 1, codes) for node, codes in sets]
        if groups:
            sets.insert(0, (0, np.arange(len(column.categories or ()), dtype=np.int64)))
        left, right = (np.where(side < 0, -1, side + 1) for side in (left, right))
        left, right = np.concatenate([[1], left, [-1]]), np.concatenate([[len(left) + 1], right, [-1]])
        cut = np.concatenate([[np.nan if groups else np.inf], cut, [0.0]])
        value = np.concatenate([np.zeros((1, scores.shape[1])), value, scores[:1]])
    inner = left >= 0
    return Nodes(
        roots=np.zeros(1, dtype=np.int64),
        feature=np.where(inner, j, -1).astype(np.int32),
        # A value on the cut goes to the right. A cut at infinity only separates missing values.
        threshold=np.where(inner, np.where(cut == np.inf, np.inf, np.nextafter(cut, -np.inf)), 0.0),
        native_threshold=cut,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=value,
        categories={node: np.sort(codes) for node, codes in sets},
    )


def _steps(cuts: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Remove cuts at which a step function does not change."""
    step = np.any(values[1:] != values[:-1], axis=1)
    return np.asarray(cuts, dtype=np.float64)[step], values[np.concatenate([[True], step])]


def _balanced(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Build a balanced binary tree whose leaves are ``n`` bins in order.

    Returns
    -------
    left, right : ndarray of shape (n_nodes,)
        The children of each node; -1 for a leaf.
    first : ndarray of shape (n_nodes,)
        The first bin below each node.
    number : ndarray of shape (n_nodes,)
        For a leaf, the position of its bin. For an inner node, the position of its cut. Cut ``i`` lies between the bins
        ``i`` and ``i + 1``.
    """
    left, right, first, number = (np.full(2 * n - 1, -1, dtype=np.int64) for _ in range(4))
    bins = [(0, n)]
    for node, (begin, end) in enumerate(bins):  # the list grows during the loop
        first[node] = begin
        if end - begin == 1:
            number[node] = begin
            continue
        middle = (begin + end) // 2
        left[node], right[node], number[node] = len(bins), len(bins) + 1, middle - 1
        bins += [(begin, middle), (middle, end)]
    return left, right, first, number
