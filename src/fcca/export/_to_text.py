"""Convert a tree to indented text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcca.export._distilled_tree import as_distilled
from fcca.export._tree_branches import Branch, branches_in_words, rows_in_words, size_in_words
from fcca.utils import printable


def to_text(classifier: Any) -> str:
    """Convert the tree to indented text, with one line per branch.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    str
        A leaf shows the predicted class, its share of the leaf's training weight, and the number of training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
    >>> from fcca.export import to_text
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier(FCCADiscretizer(Q=0.9), OptimalTreeClassifier(max_depth=1)).fit(X, y)
    >>> print(to_text(classifier).splitlines()[0])
    Decision tree, depth 1, 2 leaves, proven optimal
    """
    tree = as_distilled(classifier)
    root = branches_in_words(tree.structure, tree.columns.names, tree.classes, tree.columns)
    title = f"Decision tree, {size_in_words(tree.structure)}, {tree.certificate.in_words()}"
    return "\n".join((title, *_lines(root, 0))) + "\n"


def _lines(branch: Branch, depth: int) -> Iterator[str]:
    for side in branch.branches or (branch,):
        said = f"{printable(side.said)}  " if side.said else ""
        leaf = "" if side.branches else f"→ {printable(side.answer)}  ({side.share:.2f} of {rows_in_words(side.rows)})"
        yield f"{'    ' * depth}{said}{leaf}".rstrip()
        if side.branches:
            yield from _lines(side, depth + 1)
