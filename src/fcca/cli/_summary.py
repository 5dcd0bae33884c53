"""What ``fcca distill`` prints. Names of columns and classes come from a file, so they are only ever put in a Text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from fcca._columns import Columns
from fcca.cli._distillation import Distillation, Scores
from fcca.cli._models import described
from fcca.cli._options import COUNTERFACTUALS, OUTPUT_NAMES
from fcca.cli._words import number, printable, seconds, status_counts

THRESHOLDS_SHOWN = 10
CLASSES_SHOWN = 8


def summary(found: Distillation, directory: Path | None) -> RenderableType:
    """Everything that was found, and the directory that the files were written to."""
    parts: list[RenderableType] = [
        Panel(_facts(found), title="fcca distill", title_align="left", box=box.ROUNDED, border_style="cyan"),
        _scores_table(found.training, found.held_out),
        Text(),
        _thresholds_table(found),
        Text(),
        tree_of_rules(found),
    ]
    if directory is not None:
        parts += [Text(), _written(directory)]
    return Group(*parts)


# --- facts --------------------------------------------------------------------------------------------------------------


def _facts(found: Distillation) -> Table:
    data, training, held_out = found.data, found.training, found.held_out
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")

    def add(title: str, text: str) -> None:
        grid.add_row(title, Text(text))

    add("Data", f"{printable(data.name)}: {number(len(data.y))} rows × {number(data.X.shape[1])} columns")
    add("Classes", _classes(found))
    add("Rows", f"{number(training.rows)} for training, {number(held_out.rows) if held_out else 'none'} held out")
    add("Target model", _model(found))
    add("Counterfactuals", _answers(found))
    add("Median cost", _median_cost(found))
    discretizer = found.discretizer
    kept, every = discretizer.thresholds_, discretizer.all_thresholds_
    add(
        "Thresholds",
        f"{number(len(kept))} kept of {number(len(every))} found, "
        f"on {number(len(kept.features_used))} of {number(data.X.shape[1])} columns",
    )
    add("Tree", _certificate(found))
    target = f"{seconds(found.target_seconds)} to {'fit' if found.model_file is None else 'load'} the target"
    add("Time", f"{target}, {seconds(found.fcca_seconds)} for all that fcca adds")
    return grid


def _classes(found: Distillation) -> str:
    counts = [f"{printable(name)} ({number(count)})" for name, count in found.data.class_counts().items()]
    shown = ", ".join(counts[:CLASSES_SHOWN])
    return shown if len(counts) <= CLASSES_SHOWN else f"{shown}, … ({len(counts)} classes)"


def _model(found: Distillation) -> str:
    name = described(found.target)
    return name if found.model_file is None else f"{name}, as it is in {printable(found.model_file.name)}"


def _answers(found: Distillation) -> str:
    counterfactuals = found.discretizer.counterfactuals_
    return f"{number(len(counterfactuals))} rows asked: {status_counts(counterfactuals)}"


def _median_cost(found: Distillation) -> str:
    counterfactuals = found.discretizer.counterfactuals_
    return f"{np.median(counterfactuals.cost[counterfactuals.is_status('optimal')]):.3g}"


# --- scores -------------------------------------------------------------------------------------------------------------


def _scores_table(training: Scores, held_out: Scores | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("Rates", overflow="fold")
    table.add_column("training", justify="right", no_wrap=True)
    table.add_column("held out", justify="right", no_wrap=True)
    lines = (
        ("Compression (equal binary rows written once)", "compression"),
        ("Inconsistency (share of labels no tree can match)", "inconsistency"),
        ("Accuracy of the target model", "target_accuracy"),
        ("Accuracy of the tree", "tree_accuracy"),
        ("Fidelity of the tree to the target model", "tree_fidelity"),
    )
    for title, name in lines:
        table.add_row(title, *(f"{getattr(scores, name):.1%}" if scores else "–" for scores in (training, held_out)))
    return table


# --- thresholds ---------------------------------------------------------------------------------------------------------


def _thresholds_table(found: Distillation) -> Table:
    kept = found.discretizer.thresholds_
    n_optimal = int(found.discretizer.counterfactuals_.is_status("optimal").sum())
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
        table.add_row(Text(printable(names[at])), number(round(count)), f"{count / n_optimal:.1%}")
    return table


# --- tree ---------------------------------------------------------------------------------------------------------------


def tree_of_rules(found: Distillation) -> Tree:
    """The tree in the units of the file: ``x ≤ t`` or ``x = "a"`` and so on at the branches, a class at the leaves."""
    nodes, classes = found.classifier.structure_, found.classifier.classes_
    names = found.discretizer.thresholds_.feature_names

    def leaf(node: int) -> Text:
        best = int(np.argmax(nodes.weight[node]))
        rows = int(nodes.n_rows[node])
        text = Text("→ ")
        text.append(printable(classes[best]), style="bold green")
        text.append(
            f"  {number(round(nodes.weight[node][best]))} of {number(rows)} row{'s' if rows > 1 else ''}", style="dim"
        )
        return text

    def grow(branch: Tree, node: int, shown: Columns | None) -> None:
        for goes_right, child in ((False, int(nodes.left[node])), (True, int(nodes.right[node]))):
            rule = Text(printable(nodes.test_in_words(node, goes_right, names, shown)))
            if nodes.feature[child] < 0:
                branch.add(rule.append("  ").append_text(leaf(child)))
                continue
            # Below a test that only present values pass, the column is not said to be missing again.
            present = goes_right != (node in nodes.asks_missing)
            grow(branch.add(rule), child, _without_gaps(shown, int(nodes.feature[node])) if present else shown)

    title = (
        f"Decision tree, depth {nodes.depth}, {nodes.n_leaves} {'leaves' if nodes.n_leaves > 1 else 'leaf'}, {_proof(found)}"
    )
    root = Tree(Text(title, style="bold").append("; at a leaf, training rows of its class", style="not bold dim"))
    if nodes.feature[0] < 0:
        root.add(leaf(0))
    else:
        grow(root, 0, found.shown_columns())
    return root


def _without_gaps(columns: Columns | None, feature: int) -> Columns | None:
    if columns is None:
        return None
    return Columns(tuple(replace(column, missing=column.missing and j != feature) for j, column in enumerate(columns)))


def _proof(found: Distillation) -> str:
    tree = found.classifier.tree_
    return "proven optimal" if tree.is_optimal_ else f"within {tree.gap_:.1%} of optimal"


def _certificate(found: Distillation) -> str:
    tree = found.classifier.tree_
    error = tree.objective_ - tree.regularization_ * tree.n_leaves_
    leaves = f"{tree.n_leaves_} {'leaves' if tree.n_leaves_ > 1 else 'leaf'}"
    price = f"error {error:.4f} + {leaves} × {tree.regularization_:.4g} = {tree.objective_:.4f}"
    bound = f"no tree of depth {found.classifier.tree_.max_depth} is below {tree.lower_bound_:.4f}"
    return f"{_proof(found)}: {price}; {bound}"


# --- words --------------------------------------------------------------------------------------------------------------


def _written(directory: Path) -> Text:
    text = Text("Written to ", style="bold").append(printable(directory), style="not bold")
    for name in OUTPUT_NAMES:
        text.append(f"\n  {name}", style="not bold")
        if name == COUNTERFACTUALS:
            text.append("  (row: of the input table, counted from 0)", style="not bold dim")
    return text
