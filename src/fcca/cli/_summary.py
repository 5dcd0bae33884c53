"""What ``fcca distill`` prints. Names of columns and classes come from a file, so they are only ever put in a Text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from fcca._proof import proof_in_words
from fcca.cli._found import Distillation
from fcca.cli._models import described
from fcca.cli._options import COUNTERFACTUALS, REPORT
from fcca.cli._running import file_link
from fcca.cli._words import classes_in_words, number, percent, printable, seconds, status_counts
from fcca.export._words import Branch, branches_in_words, rows_in_words, size_in_words

THRESHOLDS_SHOWN = 10
SMALL_TREE = 2  # leaves up to which it is said why there are not more


def summary(found: Distillation, written: Sequence[Path]) -> RenderableType:
    """Everything that was found, and the files that were written."""
    parts: list[RenderableType] = [
        panel("fcca distill", facts(found)),
        _scores_table(found),
        Text(),
        _thresholds_table(found),
        Text(),
        tree_of_rules(found),
        *_price_of_a_leaf(found),
    ]
    if written:
        parts += [Text(), _written(written)]
    parts += [line for path in written if path.name == REPORT for line in (Text(), _report_line(path))]
    return Group(*parts)


def report_summary(found: Distillation, path: Path) -> RenderableType:
    """What a report is about, and where it is."""
    return Group(panel("fcca report", facts(found)), _scores_table(found), Text(), _report_line(path))


def panel(title: str, lines: Sequence[tuple[str, str]]) -> Panel:
    """Titles and texts in a frame."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(name, Text(text))
    return Panel(grid, title=title, title_align="left", box=box.ROUNDED, border_style="cyan")


# --- facts --------------------------------------------------------------------------------------------------------------


def facts_of_data(found: Distillation) -> list[tuple[str, str]]:
    """Titles and texts on what holds at any granularity: data, model, counterfactuals."""
    data, training, held_out = found.data, found.training, found.held_out
    return [
        ("Data", f"{printable(data.name)}: {number(data.n_rows)} rows × {number(data.n_columns)} columns"),
        ("Classes", classes_in_words(data.class_counts)),
        ("Rows", f"{number(training.rows)} for training, {number(held_out.rows) if held_out else 'none'} held out"),
        ("Black box", _model(found)),
        ("Counterfactuals", _answers(found)),
        ("Median size of a change", f"{found.median_cost:.3g}"),
    ]


def facts(found: Distillation) -> list[tuple[str, str]]:
    """Titles and texts on everything."""
    kept, every = found.discretizer.thresholds_, found.discretizer.all_thresholds_
    n_columns = found.data.n_columns
    target = f"{seconds(found.seconds['target'])} to {'fit' if found.model_file is None else 'load'} the black box"
    (title, data), *others = facts_of_data(found)
    return [
        (title, f"{data}, {'read in pieces' if found.streamed else 'read whole'}"),
        *others,
        (
            "Thresholds",
            f"{number(len(kept))} kept of {number(len(every))} found, "
            f"on {number(len(kept.features_used))} of {number(n_columns)} columns",
        ),
        *_selection(found),
        ("Tree", _certificate(found)),
        ("Time", f"{target}, {seconds(found.seconds['fcca'])} for all that fcca adds"),
    ]


def _selection(found: Distillation) -> list[tuple[str, str]]:
    """How good the thresholds are that were chosen, where a number of them was asked for."""
    chosen = getattr(found.discretizer, "selection_", None)
    if chosen is None:
        return []
    n, every = number(chosen.n_thresholds), number(len(chosen.candidates))
    against = "" if found.classifier.fit_to == "labels" else " with the black box's answers"
    rate = f"{n} of {every} thresholds, inconsistency{against} {percent(chosen.inconsistency, 2)}"
    return [("Selection", f"{chosen.proof}: {rate}; no {n} of them are below {percent(chosen.lower_bound, 2)}")]


def _model(found: Distillation) -> str:
    name = described(found.target)
    if found.sample is not None:
        return f"{name}, fitted on a sample of {number(found.sample)} of {number(found.n_to_learn_from)} rows"
    return name if found.model_file is None else f"{name}, as it is in {printable(found.model_file.name)}"


def _answers(found: Distillation) -> str:
    return f"{number(sum(found.statuses.values()))} rows asked: {status_counts(found.statuses)}"


# --- scores -------------------------------------------------------------------------------------------------------------


def _scores_table(found: Distillation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("Rates", overflow="fold")
    table.add_column("training", justify="right", no_wrap=True)
    table.add_column("held out", justify="right", no_wrap=True)
    lines = (
        ("Accuracy of the black box", "target_accuracy"),
        ("Accuracy of the tree", "tree_accuracy"),
        (f"Accuracy of always “{printable(found.commonest)}”", "baseline_accuracy"),
        ("Fidelity of the tree to the black box", "tree_fidelity"),
        ("Compression (equal binary rows written once)", "compression"),
        ("Inconsistency (share of labels no tree can match)", "inconsistency"),
    )
    for title, name in lines:
        rates = (percent(getattr(scores, name)) if scores else "–" for scores in (found.training, found.held_out))
        table.add_row(Text(title), *rates)
    return table


# --- thresholds ---------------------------------------------------------------------------------------------------------


def _thresholds_table(found: Distillation) -> Table:
    kept = found.discretizer.thresholds_
    n_optimal = found.statuses["optimal"]
    order = np.argsort(-kept.count, kind="stable")[:THRESHOLDS_SHOWN]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(
        "Thresholds" if len(order) == len(kept) else f"Top {len(order)} of {len(kept)} thresholds", overflow="fold"
    )
    table.add_column("crossed", justify="right", no_wrap=True)
    table.add_column("of counterfactuals", justify="right", no_wrap=True)
    names = kept.names()
    for at in order:
        count = kept.count[at]
        table.add_row(Text(printable(names[at])), number(round(count)), percent(count / n_optimal))
    return table


# --- tree ---------------------------------------------------------------------------------------------------------------


def tree_of_rules(found: Distillation) -> Tree:
    """The tree in the units of the file: ``x ≤ t`` or ``x = "a"`` and so on at the branches, a class at the leaves."""
    nodes, names = found.classifier.structure_, found.discretizer.thresholds_.feature_names
    first = branches_in_words(nodes, names, found.classifier.classes_.tolist(), found.shown_columns())

    def leaf(branch: Branch) -> Text:
        text = Text("→ ")
        text.append(printable(branch.answer), style="bold green")
        rows = rows_in_words(branch.rows)
        return text.append(f"  {number(round(branch.weight))} of {rows}", style="dim")

    def grow(tree: Tree, branch: Branch) -> None:
        for side in branch.branches:
            rule = Text(printable(side.said))
            if side.branches:
                grow(tree.add(rule), side)
            else:
                tree.add(rule.append("  ").append_text(leaf(side)))

    title = f"Decision tree, {size_in_words(nodes)}, {_proof(found)}"
    root = Tree(Text(title, style="bold").append("; at a leaf, training rows of its class", style="not bold dim"))
    if first.branches:
        grow(root, first)
    else:
        root.add(leaf(first))
    return root


def _price_of_a_leaf(found: Distillation) -> list[Text]:
    """Why a tree is as small as it is, and what to do about it, where nobody has said what a leaf costs."""
    tree = found.classifier.tree_
    if tree.regularization is not None or tree.n_leaves_ > SMALL_TREE or found.training.tree_accuracy == 1:
        return []
    cheaper = float(f"{tree.regularization_ / 4:.1g}")
    rows = number(round(tree.regularization_ * found.training.rows))
    return [
        Text(
            f"A leaf costs {percent(tree.regularization_)}: it has to make {rows} rows right "
            f"that would be wrong without it. --regularization {cheaper:g} lets the tree have more leaves."
            + (
                " Other thresholds may, too: try another number, or --thresholds auto."
                if found.discretizer.selection is not None
                else ""
            ),
            style="dim",
        )
    ]


def _proof(found: Distillation) -> str:
    tree = found.classifier.tree_
    return proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)


def _certificate(found: Distillation) -> str:
    tree = found.classifier.tree_
    error = tree.objective_ - tree.regularization_ * tree.n_leaves_
    leaves = f"{tree.n_leaves_} {'leaves' if tree.n_leaves_ > 1 else 'leaf'}"
    price = f"error {percent(error, 2)} + {leaves} × {percent(tree.regularization_, 2)} = {percent(tree.objective_, 2)}"
    bound = f"no tree of depth at most {tree.max_depth} is below {percent(tree.lower_bound_, 2)}"
    return f"{_proof(found)}: {price}; {bound}"


# --- words --------------------------------------------------------------------------------------------------------------


def _written(paths: Sequence[Path]) -> Text:
    text = Text("Written to ", style="bold").append(printable(paths[0].parent), style="not bold")
    for path in paths:
        text.append(f"\n  {path.name}", style="not bold")
        if path.name == COUNTERFACTUALS:
            text.append("  (row: of the input table, counted from 0)", style="not bold dim")
    return text


def _report_line(path: Path) -> Text:
    return Text("Report: ", style="bold", overflow="fold").append_text(file_link(path))
