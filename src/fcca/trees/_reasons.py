"""Reason codes: the conditions on the path of a row that spoke against a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.tables import Columns
from fcca.trees._structure import TreeStructure
from fcca.utils import close_to


class Reason(NamedTuple):
    """A condition on the path to a leaf that lowered the probability of the wanted class.

    Attributes
    ----------
    feature : str
        The column that the condition is on.
    condition : str
        The condition as text, such as ``income ≤ 2,100``.
    before, after : float
        Smoothed probability of the wanted class before and after the condition: in the parent node and in the child node.
    """

    feature: str
    condition: str
    before: float
    after: float

    @property
    def drop(self) -> float:
        """The strength of the reason: by how much the condition lowered the probability."""
        return self.before - self.after


@dataclass(frozen=True)
class LeafReasons:
    """The prediction of a leaf, and the reasons for it.

    Attributes
    ----------
    label : label
        The predicted class.
    probability : tuple of float
        Smoothed probability of each class.
    path : tuple of str
        The conditions that lead to the leaf, without redundant ones.
    wanted : label
        The class that the reasons speak against.
    reasons : tuple of Reason
        The strongest reason first. Empty if no condition on the path lowered the probability.
    """

    label: Any
    probability: tuple[float, ...]
    path: tuple[str, ...]
    wanted: Any
    reasons: tuple[Reason, ...]


class ReasonsMixin:
    """Methods of a fitted tree that explain its predictions.

    A subclass provides ``apply`` and ``_described``.
    """

    apply: Callable[[Any], NDArray[np.int64]]

    def _described(self) -> tuple[TreeStructure, NDArray[Any], Sequence[str], Columns | None]:
        """Return the nodes, the classes, and the names and the descriptions of the columns."""
        raise NotImplementedError

    def leaf_reasons(self, wanted: Any = None) -> dict[int, LeafReasons]:
        """Describe every leaf: its prediction, its path, and the reasons that speak against a class.

        Parameters
        ----------
        wanted : label, default=None
            As in :meth:`reasons`.

        Returns
        -------
        dict of int to LeafReasons
            By the position of the leaf among the nodes, as in :meth:`apply`.
        """
        nodes, classes, names, columns = self._described()
        labels = classes.tolist()
        if wanted is not None and wanted not in labels:
            raise InvalidInputError(f"wanted is {wanted!r}, which is not a class. {close_to(wanted, labels)}")
        chosen, texts = None if wanted is None else labels.index(wanted), nodes.branches_in_words(names, columns)
        found = {}
        for leaf in np.flatnonzero(nodes.feature < 0).tolist():
            path, share = nodes.path_to(leaf), nodes.probability[leaf]
            order = np.argsort(-share, kind="stable")
            of_class = int(order[min(1, len(order) - 1)]) if chosen is None else chosen
            found[leaf] = LeafReasons(
                label=labels[order[0]],
                probability=tuple(share.tolist()),
                path=tuple(nodes.path_in_words(path, names, columns)),
                wanted=labels[of_class],
                reasons=_reasons(nodes, [*path, (leaf, False)], of_class, names, texts),
            )
        return found

    def reasons(self, X: Any, wanted: Any = None) -> pd.DataFrame:
        """List the reasons for the prediction of each row: the conditions that spoke against a class.

        A reason is a condition on the path of the row that lowered the probability of the class, from the parent node to
        the child node. The drop of the probability is the strength of the reason.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        wanted : label, default=None
            The class that the reasons speak against, such as the approval of a loan. None: for each row, the class with
            the second-largest probability. The reasons then say why the row is not in the next best class.

        Returns
        -------
        DataFrame
            One line per row and reason, the strongest reason first. The columns are row, label, wanted, number, feature,
            condition, before, after and drop. ``label`` is the prediction. ``before`` and ``after`` are the smoothed
            probabilities of the wanted class. A row without such a condition has no line.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from fcca import FCCAClassifier
        >>> data = load_breast_cancer(as_frame=True)
        >>> classifier = FCCAClassifier().fit(data.data, data.target_names[data.target])
        >>> found = classifier.reasons(data.data.iloc[:1], wanted="benign")
        >>> found[["condition", "drop"]].round(2).values.tolist()
        [['worst concave points > 0.111', 0.43], ['worst area > 727', 0.11], ['worst perimeter > 117.5', 0.08]]
        """
        known, leaves = self.leaf_reasons(wanted), self.apply(X).tolist()
        lines = [
            (row, known[leaf].label, known[leaf].wanted, number, *reason, reason.drop)
            for row, leaf in zip(_row_names(X, len(leaves)), leaves, strict=True)
            for number, reason in enumerate(known[leaf].reasons, start=1)
        ]
        names = ["row", "label", "wanted", "number", "feature", "condition", "before", "after", "drop"]
        return pd.DataFrame(lines, columns=names)


def _reasons(
    nodes: TreeStructure,
    path: Sequence[tuple[int, bool]],
    of_class: int,
    feature_names: Sequence[str],
    texts: Sequence[tuple[str, str] | None],
) -> tuple[Reason, ...]:
    """Return the conditions on a path that lowered the probability of a class, the strongest first.

    Parameters
    ----------
    nodes : TreeStructure
    path : sequence of (int, bool)
        The path to the leaf, and the leaf itself.
    of_class : int
        Position of the class.
    feature_names : sequence of str
    texts : sequence
        Result of :meth:`TreeStructure.branches_in_words`.
    """
    probability = nodes.probability[:, of_class].tolist()
    found = []
    for (node, goes_right), (child, _) in pairwise(path):
        said = texts[node]
        if said is not None and probability[child] < probability[node]:
            name = feature_names[int(nodes.feature[node])]
            found.append(Reason(name, said[goes_right], probability[node], probability[child]))
    return tuple(sorted(found, key=lambda reason: -reason.drop))


def _row_names(X: Any, n_rows: int) -> list[Any]:
    """Return the index of a data frame, or the positions of the rows of any other table."""
    return list(X.index) if isinstance(X, pd.DataFrame) else list(range(n_rows))
