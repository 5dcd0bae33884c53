"""What the tree is worth, as it is printed: figures beside its rivals, confusion matrix, verdict and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fcca.cli._distillation_result import Distillation
from fcca.cli._options import DistillSettings
from fcca.cli._console_text import CLASSES_SHOWN, add_numbers, number, percent, plain_table, printable
from fcca.quality import Figures, Quality, TriedTree, advice_sentence, verdict_sentence

AMBER = "yellow"
LONGEST_CLASS = 14  # letters of a class in a table
MOST_LETTERS = 28  # of all classes in the head of a table of 80 columns
LINES = (
    ("Accuracy", "accuracy", percent),
    ("Balanced accuracy", "balanced_accuracy", percent),
    ("AUC", "auc", "{:.3f}".format),
    ("Log-loss", "log_loss", "{:.3f}".format),
    ("KS", "ks", "{:.3f}".format),
)
#: Options of the parameters that are tried.
OPTIONS = {
    "criterion": "--criterion",
    "regularization": "--regularization",
    "class_weight": "--class-weight",
    "max_depth": "--max-depth",
    "max_leaf_nodes": "--max-leaves",
}
NOT_HELD_OUT = "No rows were held out: new rows may be predicted less well."
NOTHING_BETTER = "No other setting that was tried gave a better tree."
NOTHING_TRIED = "No other settings were tried: hold out rows with --test-size 0.2."
IN_PIECES = (
    "The table was read in pieces: CART, and the AUC and log-loss of the black box, need the rows in memory (--no-stream)."
)


def quality_summary(found: Distillation, settings: DistillSettings) -> list[RenderableType]:
    """Tables and texts that a summary begins with."""
    quality = found.quality
    parts: list[RenderableType] = [_figures_table(quality)]
    notes = [] if quality.is_held_out else [NOT_HELD_OUT]
    if found.streamed:
        notes.append(IN_PIECES)
    parts += [Text(note, style="dim") for note in notes]
    parts += [Text(), _confusion_table(quality), *_verdict(found, settings)]
    return parts


def _figures_table(quality: Quality) -> Table:
    kind = "Held-out rows" if quality.is_held_out else "Training rows"
    table = plain_table([f"{kind}: {number(round(quality.n_rows))}"])
    leaves = "leaf" if quality.leaves == 1 else "leaves"
    cart = "CART" if quality.cart_leaves is None else f"CART\n{quality.cart_leaves} leaves"
    add_numbers(table, f"tree\n{quality.leaves} {leaves}", cart, "commonest\nclass", "black\nbox")
    rivals = (quality.tree, quality.cart, quality.commonest, quality.black_box)
    for title, name, said in LINES:
        if name == "ks" and len(quality.classes) != 2:
            continue
        table.add_row(Text(title), *(_said(figures, name, said) for figures in rivals))
    return table


def _said(figures: Figures | None, name: str, said: Any) -> str:
    value = None if figures is None else getattr(figures, name)
    return "–" if value is None else said(value)


def _confusion_table(quality: Quality) -> RenderableType:
    if len(quality.classes) > CLASSES_SHOWN:
        return Text(f"The confusion matrix of {len(quality.classes)} classes is in the JSON (--json).", style="dim")
    names = heads = [_short(label) for label in quality.classes]
    if sum(map(len, names)) > MOST_LETTERS:  # the columns are numbered instead
        heads = [str(place) for place in range(1, len(names) + 1)]
        names = [f"{place} {name}" for place, name in zip(heads, names, strict=True)]
    table = plain_table(["Rows by class and prediction of the tree"])
    add_numbers(table, *(f"→ {head}" for head in heads))
    for name, line in zip(names, quality.confusion.tolist(), strict=True):
        table.add_row(Text(name), *(number(round(n)) for n in line))
    return table


def _short(label: Any) -> str:
    text = printable(label)
    return text if len(text) <= LONGEST_CLASS else f"{text[: LONGEST_CLASS - 1]}…"


def _verdict(found: Distillation, settings: DistillSettings) -> list[RenderableType]:
    """A warning on a tree that is worth nothing, and settings that were tried and are better."""
    quality = found.quality
    if not (quality.is_useless or found.advice):
        return []
    parts: list[RenderableType] = [Text(verdict_sentence(quality), style=AMBER)] if quality.is_useless else []
    if found.advice:
        parts.append(_advice_table(found.advice, found, settings))
    else:
        parts.append(Text(NOTHING_TRIED if found.advice is None else NOTHING_BETTER, style=AMBER))
    return [part for each in parts for part in (Text(), each)]


def _advice_table(tried: Sequence[TriedTree], found: Distillation, settings: DistillSettings) -> Table:
    """Settings that were tried, below those of the tree."""
    first = tried[0]
    how = "held-out rows" if first.is_held_out else "cross-validated"
    table = plain_table([f"Better settings, as tried ({how})"])
    add_numbers(table, "leaves", "balanced\naccuracy", "AUC", "log-loss")
    lines = [("as it is", found.quality.leaves, first.before)]
    lines += [(_options(found, settings, tree.parameters), tree.leaves, tree.figures) for tree in tried]
    for title, leaves, figures in lines:
        said = [_said(figures, name, said) for _, name, said in LINES[1:4]]
        table.add_row(Text(title), number(leaves), *said)
    return table


def _options(found: Distillation, settings: DistillSettings, parameters: dict[str, Any]) -> str:
    """Parameters of a tree as options of the command."""
    options = [
        f"{OPTIONS[name]} {f'{value:g}' if isinstance(value, float) else value}" for name, value in parameters.items()
    ]
    if settings.thresholds == "auto":  # their number depends on the tree
        options.append(f"--thresholds {len(found.discretizer.thresholds_)}")
    return " ".join(options)


def advice(found: Distillation, settings: DistillSettings) -> list[str]:
    """Options that give a better tree, a sentence each."""
    return [advice_sentence(tree, _options(found, settings, tree.parameters)) for tree in found.advice or ()]


def quality_document(found: Distillation, settings: DistillSettings) -> dict[str, Any]:
    """The same as JSON has it."""
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
