"""Verdict and advice on a tree, in words."""

from __future__ import annotations

from fcca.quality._advice import TriedTree
from fcca.quality._comparison import Quality
from fcca.utils import printable


def verdict_in_words(quality: Quality) -> str:
    """Say that a tree is no better than the commonest class; empty where it is better.

    Parameters
    ----------
    quality : Quality
    """
    if not quality.is_useless:
        return ""
    always = f"This tree is no better than always answering “{printable(quality.commonest_class)}”"
    if quality.leaves == 1:
        reason = "it has a single leaf."
    else:
        ranks = "" if quality.tree.auc is None else f", and its AUC is {quality.tree.auc:.3f}"
        reason = f"it is right no more often on the {rows_in_words(quality)}{ranks}."
    box = " Nor is the black box: the columns tell little about the label." if quality.black_box_is_useless else ""
    return f"{always}: {reason}{box}"


def advice_in_words(tree: TriedTree, setting: str | None = None) -> str:
    """Say what another setting gives.

    Parameters
    ----------
    tree : TriedTree
    setting : str, optional
        The setting in words; default is as in Python.
    """
    setting = setting or ", ".join(f"{name}={value!r}" for name, value in tree.parameters.items())
    figures, before = tree.figures, tree.before
    pairs = [("AUC", figures.auc, before.auc), ("log-loss", figures.log_loss, before.log_loss)]
    gains = [f"{name} {value:.3f} (now {old:.3f})" for name, value, old in pairs]
    shares = f"{100 * figures.balanced_accuracy:.1f} % (now {100 * before.balanced_accuracy:.1f} %)"
    how = "on the held-out rows" if tree.is_held_out else "cross-validated"
    return f"{setting} gives {tree.leaves} leaves: {', '.join(gains)} and balanced accuracy {shares}, {how}."


def rows_in_words(quality: Quality) -> str:
    """Name the rows of the figures."""
    return "held-out rows" if quality.is_held_out else "training rows"
