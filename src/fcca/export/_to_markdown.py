"""Convert a tree to a Markdown table of rules."""

from __future__ import annotations

import re
from typing import Any

from fcca.export._distilled_tree import as_distilled
from fcca.export._tree_branches import size_in_words
from fcca.utils import printable


def to_markdown(classifier: Any) -> str:
    """Convert the tree to a Markdown table with one rule per leaf.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    str
        A title and a table with one line per leaf. A line has the conditions, the predicted class, its share of the leaf's
        training weight, and the number of training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
    >>> from fcca.export import to_markdown
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier(FCCADiscretizer(Q=0.9), OptimalTreeClassifier(max_depth=1)).fit(X, y)
    >>> print(to_markdown(classifier).splitlines()[0])
    **Decision tree**, depth 1, 2 leaves, proven optimal.
    """
    tree = as_distilled(classifier)
    nodes = tree.structure
    share = nodes.share.max(axis=1)
    lines = [
        f"**Decision tree**, {size_in_words(nodes)}, {tree.certificate.in_words()}.",
        "",
        "| rule | prediction | share | training rows |",
        "|---|---|---:|---:|",
    ]
    for leaf in tree.leaves:
        said = nodes.path_in_words(nodes.path_to(leaf), tree.columns.names, tree.columns)
        rule = " and ".join(_code(text) for text in said) or "always"
        prediction = _code(str(tree.class_of(leaf)))
        lines.append(f"| {rule} | {prediction} | {share[leaf]:.2f} | {int(nodes.n_rows[leaf]):,} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Return text as inline code for a cell of a Markdown table.

    Bars in the text do not end the cell, and backquotes do not end the code.
    """
    text = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text.startswith(" ") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"
