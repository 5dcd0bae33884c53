"""Sentences about the objective and the limits of a tree."""

from __future__ import annotations

from typing import Any

from fcca.trees._criteria import CRITERION_NAMES
from fcca.utils import plain


def amount_in_words(criterion: str, value: float) -> str:
    """Format a value of a criterion with four digits: ``5.2 %`` for an error, ``0.312`` for others.

    Parameters
    ----------
    criterion : str
    value : float
    """
    factor, unit = (100, " %") if criterion == "error" else (1, "")
    return f"{plain(float(f'{factor * value:.4g}'))}{unit}"


def objective_in_words(tree: Any) -> str:
    """Describe how an objective is computed: ``error 5.2 % + 3 leaves × 1 % = 8.2 %``.

    Parameters
    ----------
    tree : OptimalTreeClassifier
        Fitted.
    """
    cost = max(0.0, tree.objective_ - tree.regularization_ * tree.n_leaves_)
    leaves = f"{tree.n_leaves_} {'leaf' if tree.n_leaves_ == 1 else 'leaves'}"
    said, price, total = (amount_in_words(tree.criterion, value) for value in (cost, tree.regularization_, tree.objective_))
    against = "" if tree.tree_.soft_weight is None else " (against the probabilities)"
    return f"{CRITERION_NAMES[tree.criterion]} {said}{against} + {leaves} × {price} = {total}"


def compared_trees(tree: Any) -> str:
    """Describe the trees compared: ``tree of depth at most 4 with at most 8 leaves``.

    Parameters
    ----------
    tree : OptimalTreeClassifier
    """
    said = "tree" if tree.max_depth is None else f"tree of depth at most {tree.max_depth}"
    limits = [] if tree.max_leaf_nodes is None else [f"at most {tree.max_leaf_nodes} leaves"]
    if tree.min_samples_leaf > 1:
        limits.append(f"at least {tree.min_samples_leaf} rows in a leaf")
    if tree.min_weight_fraction_leaf > 0:
        limits.append(f"at least {amount_in_words('error', tree.min_weight_fraction_leaf)} of the weight in a leaf")
    return f"{said} with {' and '.join(limits)}" if limits else said
