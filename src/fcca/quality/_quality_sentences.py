"""Sentences for the user: warnings about useless trees, and better settings."""

from __future__ import annotations

from fcca.quality._comparison import Quality
from fcca.quality._tried_trees import TriedTree
from fcca.utils import printable


def figures_sentence(quality: Quality) -> str:
    """Return one sentence with the accuracies of the tree, the black box and the most frequent class.

    Parameters
    ----------
    quality : Quality
    """
    tree, black_box, guessing = (
        _percent(figures.accuracy) for figures in (quality.tree, quality.black_box, quality.commonest)
    )
    rows = "rows held out" if quality.is_held_out else "training rows"
    return f"{tree} right on {rows}; black box {black_box}, guessing {guessing}."


def _percent(share: float) -> str:
    """Format a share as a percentage that never rounds to 0 % or 100 %."""
    text = f"{100 * share:.1f} %"
    if text == "100.0 %":
        return "100 %" if share == 1 else "> 99.9 %"
    if text == "0.0 %":
        return "0 %" if share == 0 else "< 0.1 %"
    return text


def verdict_sentence(quality: Quality) -> str:
    """Return a warning if the tree is no better than the most frequent class.

    Return an empty string for other trees.

    Parameters
    ----------
    quality : Quality
    """
    if not quality.is_useless:
        return ""
    always = f"This tree is no better than always predicting “{printable(quality.commonest_class)}”"
    if quality.leaves == 1:
        reason = "it has a single leaf."
    else:
        rows = "held-out rows" if quality.is_held_out else "training rows"
        auc = "" if quality.tree.auc is None else f", and its AUC is {quality.tree.auc:.3f}"
        reason = f"its accuracy on the {rows} is no higher{auc}."
    box = (
        " The black box is no better, either: the columns say little about the label."
        if quality.black_box_is_useless
        else ""
    )
    return f"{always}: {reason}{box}"


def advice_sentence(tree: TriedTree, setting: str | None = None) -> str:
    """Return a sentence about a better setting and the metrics of its tree.

    Parameters
    ----------
    tree : TriedTree
        A tree with other settings than the fitted one.
    setting : str, optional
        The setting as text, such as command line options. By default, Python parameters such as ``max_depth=5``.
    """
    setting = setting or ", ".join(f"{name}={value!r}" for name, value in tree.parameters.items())
    figures, before = tree.figures, tree.before
    pairs = [("AUC", figures.auc, before.auc), ("log-loss", figures.log_loss, before.log_loss)]
    gains = [f"{name} {value:.3f} (now {old:.3f})" for name, value, old in pairs]
    shares = f"{100 * figures.balanced_accuracy:.1f} % (now {100 * before.balanced_accuracy:.1f} %)"
    how = "on the held-out rows" if tree.is_held_out else "cross-validated"
    return f"{setting} gives {tree.leaves} leaves: {', '.join(gains)} and balanced accuracy {shares}, {how}."
