"""Phrases about the objective of a tree, and about its limits."""

from __future__ import annotations

from typing import Any

from fcca.trees._criteria import CRITERION_NAMES
from fcca.utils import plain


def amount_in_words(criterion: str, value: float) -> str:
    """Format a value of a criterion with up to four significant digits.

    An error is written in per cent, such as ``5.2 %``. The other criteria are plain numbers, such as ``0.312``.

    Parameters
    ----------
    criterion : str
        A criterion of OptimalTreeClassifier.
    value : float
    """
    factor, unit = (100, " %") if criterion == "error" else (1, "")
    return f"{plain(float(f'{factor * value:.4g}'))}{unit}"


def objective_in_words(tree: Any) -> str:
    """Write the objective of a tree as a sum, such as ``cost 8.2 % = 5.2 % (error) + 3 leaves × 1 %``.

    The first term is the criterion, measured on the training rows. If the tree was fitted to soft labels, the text in
    parentheses mentions them.

    Parameters
    ----------
    tree : OptimalTreeClassifier
        A fitted tree.
    """
    cost = max(0.0, tree.objective_ - tree.regularization_ * tree.n_leaves_)
    leaves = f"{tree.n_leaves_} {'leaf' if tree.n_leaves_ == 1 else 'leaves'}"
    said, price, total = (amount_in_words(tree.criterion, value) for value in (cost, tree.regularization_, tree.objective_))
    against = "" if tree.tree_.soft_weight is None else ", measured against the soft labels that it learned"
    return f"cost {total} = {said} ({CRITERION_NAMES[tree.criterion]}{against}) + {leaves} × {price}"


def compared_trees(tree: Any) -> str:
    """Describe the trees among which the search found the best one.

    For example, ``tree on these thresholds with depth at most 4 and at most 8 leaves``. A proof of optimality holds for
    this set, on the training rows.

    Parameters
    ----------
    tree : OptimalTreeClassifier
        Its parameters are the limits on depth and leaves.
    """
    limits = [] if tree.max_depth is None else [f"depth at most {tree.max_depth}"]
    if tree.max_leaf_nodes is not None:
        limits.append(f"at most {tree.max_leaf_nodes} leaves")
    if tree.min_samples_leaf > 1:
        limits.append(f"at least {tree.min_samples_leaf} rows in a leaf")
    if tree.min_weight_fraction_leaf > 0:
        limits.append(f"at least {amount_in_words('error', tree.min_weight_fraction_leaf)} of the weight in a leaf")
    last = [", ".join(limits[:-1]), limits[-1]] if len(limits) > 1 else limits
    return f"tree on these thresholds with {' and '.join(last)}" if limits else "tree on these thresholds"
