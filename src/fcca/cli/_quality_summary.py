"""The quality of the tree in the summary: figures, warning, better settings, confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fcca.cli._console_text import CLASSES_SHOWN, add_numbers, number, percent, plain_table, printable
from fcca.cli._distillation_result import Distillation
from fcca.cli._options import DistillSettings
from fcca.quality import Figures, Quality, TriedTree, advice_sentence, verdict_sentence

AMBER = "yellow"
LONGEST_CLASS = 14  # characters of a class name in a table
MOST_LETTERS = 28  # characters of all class names in the header of a table, for terminals of 80 columns
LINES = (
    ("Accuracy", "accuracy", percent),
    ("Balanced accuracy", "balanced_accuracy", percent),
    ("AUC", "auc", "{:.3f}".format),
    ("Log-loss", "log_loss", "{:.3f}".format),
    ("KS", "ks", "{:.3f}".format),
)
#: Command line options of tree parameters.
OPTIONS = {
    "criterion": "--criterion",
    "regularization": "--regularization",
    "class_weight": "--class-weight",
    "max_depth": "--max-depth",
    "max_leaf_nodes": "--max-leaves",
}
NOT_HELD_OUT = "No rows were held out. New rows may be predicted less well."
NOTHING_BETTER = "Other settings were tried, but none gave a better tree."
NOTHING_TRIED = "No other settings were tried. Hold out rows with --test-size 0.2 to try some."
IN_CHUNKS = (
    "The table was read in chunks. CART, and the AUC and log-loss of the black box, need the rows in memory (--no-stream)."
)


def quality_summary(found: Distillation) -> list[RenderableType]:
    """Return a table that compares the tree with other classifiers.

    These are CART, the most frequent class and the black box. Notes follow the table. A warning follows if the tree is no
    better than the most frequent class.
    """
    quality = found.quality
    parts: list[RenderableType] = [_figures_table(quality)]
    notes = [] if quality.is_held_out else [NOT_HELD_OUT]
    if found.streamed:
        notes.append(IN_CHUNKS)
    parts += [Text(note, style="dim") for note in notes]
    if quality.is_useless:
        parts += [Text(), Text(verdict_sentence(quality), style=AMBER)]
    return parts


def _figures_table(quality: Quality) -> Table:
    kind = "Held-out rows" if quality.is_held_out else "Training rows"
    table = plain_table([f"{kind}: {number(round(quality.n_rows))}"])
    leaves = "leaf" if quality.leaves == 1 else "leaves"
    cart = "CART" if quality.cart_leaves is None else f"CART\n{quality.cart_leaves} leaves"
    add_numbers(table, f"tree\n{quality.leaves} {leaves}", cart, "most frequent\nclass", "black\nbox")
    compared = (quality.tree, quality.cart, quality.commonest, quality.black_box)
    for title, name, form in LINES:
        if name == "ks" and len(quality.classes) != 2:
            continue
        table.add_row(Text(title), *(_formatted(figures, name, form) for figures in compared))
    return table


def _formatted(figures: Figures | None, name: str, form: Any) -> str:
    value = None if figures is None else getattr(figures, name)
    return "–" if value is None else form(value)


def confusion_table(quality: Quality) -> RenderableType:
    """Return the confusion matrix of the tree as a table.

    With many classes, return a hint to the JSON output instead.
    """
    if len(quality.classes) > CLASSES_SHOWN:
        return Text(f"The confusion matrix of {len(quality.classes)} classes is in the JSON (--json).", style="dim")
    names = heads = [_short(label) for label in quality.classes]
    if sum(map(len, names)) > MOST_LETTERS:  # number the columns instead
        heads = [str(place) for place in range(1, len(names) + 1)]
        names = [f"{place} {name}" for place, name in zip(heads, names, strict=True)]
    kind = "held-out" if quality.is_held_out else "training"
    table = plain_table([f"Confusion matrix on {kind} rows (down: true class, across: prediction of the tree)"])
    add_numbers(table, *(f"→ {head}" for head in heads))
    for name, line in zip(names, quality.confusion.tolist(), strict=True):
        table.add_row(Text(name), *(number(round(n)) for n in line))
    return table


def _short(label: Any) -> str:
    text = printable(label)
    return text if len(text) <= LONGEST_CLASS else f"{text[: LONGEST_CLASS - 1]}…"


def better_settings(found: Distillation, settings: DistillSettings) -> list[RenderableType]:
    """Return a table of settings that gave better trees.

    Other settings are tried only if the tree is small or useless. A useless tree is no better than the most frequent class.
    If no better settings are known, return a sentence for a useless tree, and an empty list for other trees.
    """
    if found.advice:
        return [Text(), _advice_table(found.advice, found, settings)]
    if not found.quality.is_useless:
        return []
    return [Text(), Text(NOTHING_TRIED if found.advice is None else NOTHING_BETTER, style=AMBER)]


def _advice_table(tried: Sequence[TriedTree], found: Distillation, settings: DistillSettings) -> Table:
    """Return a table of the current and the better settings."""
    first = tried[0]
    how = "held-out rows" if first.is_held_out else "cross-validated"
    table = plain_table([f"Better settings ({how})"])
    add_numbers(table, "leaves", "balanced\naccuracy", "AUC", "log-loss")
    lines = [("now", found.quality.leaves, first.before)]
    lines += [(_options(found, settings, tree.parameters), tree.leaves, tree.figures) for tree in tried]
    for title, leaves, figures in lines:
        cells = [_formatted(figures, name, form) for _, name, form in LINES[1:4]]
        table.add_row(Text(title), number(leaves), *cells)
    return table


def _options(found: Distillation, settings: DistillSettings, parameters: dict[str, Any]) -> str:
    """Return the command line options that set these parameters of the tree."""
    options = [
        f"{OPTIONS[name]} {f'{value:g}' if isinstance(value, float) else value}" for name, value in parameters.items()
    ]
    if settings.thresholds == "auto":  # auto would choose another number for another tree
        options.append(f"--thresholds {len(found.discretizer.thresholds_)}")
    return " ".join(options)


def advice(found: Distillation, settings: DistillSettings) -> list[str]:
    """Return one sentence for each setting that gave a better tree."""
    return [advice_sentence(tree, _options(found, settings, tree.parameters)) for tree in found.advice or ()]


def quality_document(found: Distillation, settings: DistillSettings) -> dict[str, Any]:
    """Return the figures of the tree and of the compared classifiers, for ``--json``."""
    quality = found.quality
    return {
        "of": "held_out" if quality.is_held_out else "training",
        "rows": round(quality.n_rows),
        "tree": {"leaves": quality.leaves} | asdict(quality.tree),
        "cart": None if quality.cart is None else {"leaves": quality.cart_leaves} | asdict(quality.cart),
        "commonest_class": asdict(quality.commonest),
        "black_box": asdict(quality.black_box),
        "confusion": {"classes": list(quality.classes), "rows": [[round(n) for n in line] for line in quality.confusion]},
        "verdict": verdict_sentence(quality) or None,
        "advice": [
            {"options": _options(found, settings, tree.parameters), "leaves": tree.leaves} | asdict(tree.figures)
            for tree in found.advice or ()
        ],
    }
