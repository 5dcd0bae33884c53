"""Results of ``fcca distill`` and ``fcca report``: files, printed summary and JSON.

The summary begins with the figures of the tree on held-out rows. The size of the tree, the proof of its optimality and the
next step come second. Details follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from fcca.cli._checks import chosen_levels
from fcca.cli._command import Result
from fcca.cli._console_text import (
    add_numbers,
    classes_in_words,
    number,
    panel,
    percent,
    plain_table,
    printable,
    seconds,
    status_counts,
    titled_grid,
)
from fcca.cli._distill_command import Distill
from fcca.cli._distillation_result import Distillation
from fcca.cli._models import described
from fcca.cli._options import COUNTERFACTUALS, REPORT, TREE
from fcca.cli._quality_summary import (
    AMBER,
    advice,
    better_settings,
    confusion_table,
    quality_document,
    quality_summary,
)
from fcca.cli._report_command import Report
from fcca.cli._running import EXIT_UNVERIFIED, file_link
from fcca.counterfactuals import PROVEN
from fcca.export import Branch, as_distilled, branches_in_words, rows_in_words, size_in_words
from fcca.thresholds import ThresholdTable
from fcca.trees import amount_in_words, compared_trees, objective_in_words
from fcca.utils import AtomicOutputs, progress_bar, proof_in_words

TREE_SECONDS = 10.0  # for the tree of each slider step, unless --time-limit is less
THRESHOLDS_SHOWN = 10


@dataclass(frozen=True)
class _Distilled(Result):
    """Base class of the results of ``fcca distill`` and ``fcca report``.

    Attributes
    ----------
    found : Distillation
        The black box, its thresholds, the tree and their figures.
    notes : tuple of str
        Notes to print before the summary.
    settings : DistillSettings
        The options of the command.
    """

    found: Distillation
    notes: tuple[str, ...]
    settings: Any
    shows_tree: ClassVar[bool] = False  # whether the printed summary contains the tree

    def verdict(self) -> tuple[int, str]:
        """Return the exit code and an error message.

        It is an error if a counterfactual does not flip the prediction of the black box.
        """
        statuses = self.found.statuses
        n = statuses.get("unverified", 0)
        if n == 0:
            return 0, ""
        marked = f"marked 'unverified' in {COUNTERFACTUALS} and " if COUNTERFACTUALS in self.settings.targets()[1] else ""
        return EXIT_UNVERIFIED, (
            f"{n} of {sum(statuses.values())} counterfactuals do not flip the model's prediction. They are {marked}left out "
            "of the counts of all thresholds."
        )

    def _write_page(self, path: Path, levels: Sequence[float] | None = None) -> None:
        """Write the HTML report; ``levels`` are the quantiles of its frequency slider."""
        from fcca import report

        found, limit, rows = self.found, self.settings.time_limit, self.found.in_memory
        assert rows is not None
        X_test, y_test = rows.test or (None, None)
        with progress_bar("Report", None) as progress:
            text = report.page(
                found.classifier,
                X_test=X_test,
                y_test=y_test,
                Q=levels,
                title=self.settings.title or f"A small tree in place of a black box: {found.data.name}",
                row_numbers=rows.training_rows,
                facts=[*facts_of_data(found), ("Row numbers", "rows of the table, counted from 0")],
                notes=found.notes,
                advice=advice(found, self.settings),
                class_names=found.class_names.by_label,
                time_limit=TREE_SECONDS if limit is None else min(TREE_SECONDS, limit),
                progress=progress,
            )
        path.write_text(text, encoding="utf-8", newline="\n")

    def _first_screen(self, written: Sequence[Path]) -> list[RenderableType]:
        """Return the first screen of the summary, with the most important results.

        These are the figures of the tree, its size, its proof of optimality and the next step. Better settings and the
        confusion matrix follow.
        """
        found = self.found
        return [
            *quality_summary(found),
            Text(),
            _at_a_glance(found, written, shows_tree=self.shows_tree),
            *better_settings(found, self.settings),
            Text(),
            confusion_table(found.quality),
            Text(),
        ]


@dataclass(frozen=True)
class DistillResult(_Distilled):
    """The result of ``fcca distill``: files, summary and JSON."""

    settings: Distill
    shows_tree: ClassVar[bool] = True

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the files and the report, and measure how long both take."""
        found, settings, stopwatch = self.found, self.settings, self.found.stopwatch
        with stopwatch.time("files"):
            found.write(outputs, counterfactuals=settings.counterfactuals, save_model=settings.save_model)
        with stopwatch.time("report"):
            if not (found.streamed or settings.no_report):
                self._write_page(outputs.path(REPORT))

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the tables and texts that the command prints."""
        found = self.found
        parts: list[RenderableType] = [
            *self._first_screen(written),
            panel("fcca distill", facts(found)),
            _scores_table(found),
            Text(),
            _thresholds_table(found),
            Text(),
            tree_of_rules(found),
        ]
        if written:
            parts += [Text(), _written(written)]
        parts += [line for path in written if path.name == REPORT for line in (Text(), _report_line(path))]
        return Group(*parts)

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the results as a dictionary, for ``--json``."""
        files = {path.name: str(path) for path in written}
        document = {"quality": quality_document(self.found, self.settings)} | _document(self.found)
        return document | {"files": files, "seconds": self.found.stopwatch.seconds, "notes": list(self.notes)}


@dataclass(frozen=True)
class ReportResult(_Distilled):
    """The result of ``fcca report``: the HTML report and a summary."""

    settings: Report

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the HTML report to the file of ``--out``."""
        levels = None if self.settings.levels is None else chosen_levels("--levels", self.settings.levels)
        self._write_page(outputs.path(self.settings.out.name), levels)

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the tables and texts that the command prints."""
        lines = [line for path in written for line in (Text(), _report_line(path))]
        found = self.found
        return Group(*self._first_screen(written), panel("fcca report", facts(found)), _scores_table(found), *lines)


# --- first screen -------------------------------------------------------------------------------------------------------


def _at_a_glance(found: Distillation, written: Sequence[Path], *, shows_tree: bool) -> Table:
    """Return the lines Size, Optimality, Selection and Next of the summary.

    ``shows_tree`` is True if the summary prints the tree further below.
    """
    kept, every = found.discretizer.thresholds_, found.discretizer.all_thresholds_
    size = (
        f"{size_in_words(found.classifier.structure_)}; {number(len(kept))} of {number(len(every))} thresholds kept, "
        f"on {number(len(kept.features_used))} of {number(found.data.n_columns)} columns"
    )
    grid = titled_grid()
    grid.add_row("Size", Text(size))
    grid.add_row("Optimality", Text(_certificate(found)))
    for title, text in _selection(found):
        grid.add_row(title, Text(text))
    grid.add_row("Next", _next_step(found, written, shows_tree=shows_tree))
    return grid


def _next_step(found: Distillation, written: Sequence[Path], *, shows_tree: bool) -> Text:
    """Return the text of the summary line ``Next``, with a suggestion.

    ``shows_tree`` is True if the summary prints the tree further below.
    """
    below = "Read the better settings below" if found.advice else "Read the tree below" if shows_tree else ""
    page = next((path for path in written if path.suffix in (".html", ".htm")), None)
    if page is not None:
        text = Text(f"{below}, or open " if below else "Open ", overflow="fold")
        return text.append_text(file_link(page)).append(" in a browser.")
    tree = next((path for path in written if path.name == TREE), None)
    code = "" if tree is None else f", or convert the tree to code with: fcca export {printable(tree)}"
    return Text(f"{below}{code}" if code else f"{below}.", overflow="fold")


# --- facts --------------------------------------------------------------------------------------------------------------


def facts_of_data(found: Distillation) -> list[tuple[str, str]]:
    """Return titles and texts about the data, the black box and the counterfactuals."""
    data, training, held_out = found.data, found.training, found.held_out
    return [
        ("Data", f"{printable(data.name)}: {number(data.n_rows)} rows × {number(data.n_columns)} columns"),
        ("Classes", classes_in_words(data.class_counts)),
        ("Rows", f"{number(training.rows)} for training, {number(held_out.rows) if held_out else 'none'} held out"),
        ("Black box", _model(found)),
        ("Counterfactuals", f"{_rows_searched(found)}: {status_counts(found.statuses)}"),
        ("Median cost of a change", f"{found.median_cost:.3g} ({_cost_formula(found)})"),
    ]


def _rows_searched(found: Distillation) -> str:
    """Return the number of rows that were searched, such as ``1,000 of 8,367 rows``."""
    n, sample = number(sum(found.statuses.values())), found.discretizer.row_sample_
    return f"{n} rows" if sample is None else f"{n} of {number(sample.n_rows)} rows"


def _cost_formula(found: Distillation) -> str:
    """Return the formula for the cost of a change, such as ``0.1 per changed column + 1 × distance``."""
    made = found.discretizer
    terms = ((made.lambda0, "per changed column"), (made.lambda1, "× distance"), (made.lambda2, "× squared distance"))
    return " + ".join(f"{factor:g} {unit}" for factor, unit in terms if factor) or "0"


def facts(found: Distillation) -> list[tuple[str, str]]:
    """Return the titles and texts of the framed part of the summary."""
    target = f"{seconds(found.stopwatch.seconds['target'])} to {'fit' if found.model_file is None else 'load'} the black box"
    (title, data), *others = facts_of_data(found)
    return [
        (title, f"{data}{', read in chunks' if found.streamed else ''}"),
        *others,
        ("Time", f"{target}, {seconds(found.stopwatch.seconds['fcca'])} for the thresholds and the tree"),
    ]


def _selection(found: Distillation) -> list[tuple[str, str]]:
    """Describe the thresholds chosen by ``--thresholds``.

    Return a list with one pair of a title and a text. It is empty if the option was not given.
    """
    chosen = getattr(found.discretizer, "selection_", None)
    if chosen is None:
        return []
    n, every = number(chosen.n_thresholds), number(len(chosen.candidates))
    against = "" if found.classifier.fit_to_ != "target" else " with the black box's predictions"
    rate = f"{n} of {every} thresholds, inconsistency{against} {percent(chosen.inconsistency, 2)}"
    return [("Selection", f"{chosen.proof}: {rate}; no choice of {n} thresholds is below {percent(chosen.lower_bound, 2)}")]


def _model(found: Distillation) -> str:
    name = described(found.target)
    if found.sample is not None:
        return f"{name}, fitted on a sample of {number(found.sample)} of {number(found.n_to_learn_from)} rows"
    return name if found.model_file is None else f"{name}, from {printable(found.model_file.name)}"


# --- scores -------------------------------------------------------------------------------------------------------------


def _scores_table(found: Distillation) -> Table:
    table = plain_table(["Rates"])
    add_numbers(table, "training", "held out")
    lines = (
        ("Accuracy of the tree", "tree_accuracy"),
        ("Fidelity of the tree to the black box", "tree_fidelity"),
        ("Compression (share of rows that repeat an earlier row once the thresholds are applied)", "compression"),
        ("Inconsistency (share of rows that even the best tree on these thresholds gets wrong)", "inconsistency"),
    )
    for title, name in lines:
        rates = (percent(getattr(scores, name)) if scores else "–" for scores in (found.training, found.held_out))
        table.add_row(Text(title), *rates)
    return table


# --- thresholds ---------------------------------------------------------------------------------------------------------


def _thresholds_table(found: Distillation) -> Table:
    kept = found.discretizer.thresholds_
    n_proven = sum(found.statuses.get(status, 0) for status in PROVEN)
    order = np.argsort(-kept.count, kind="stable")[:THRESHOLDS_SHOWN]
    table = plain_table(["Thresholds" if len(order) == len(kept) else f"Top {len(order)} of {len(kept)} thresholds"])
    share, low, high = kept.share, kept.share_low, kept.share_high
    if share is None or low is None or high is None:
        add_numbers(table, "crossings", "share of rows")
    else:
        add_numbers(table, "crossings", "share of rows", "95 % interval")
    names = kept.names()
    for at in order:
        count = kept.count[at]
        texts = [number(round(count)), percent(count / n_proven if share is None else share[at])]
        if low is not None and high is not None:
            texts.append(f"{percent(low[at])} – {percent(high[at])}")
        table.add_row(Text(printable(names[at])), *texts)
    return table


# --- tree ---------------------------------------------------------------------------------------------------------------


def tree_of_rules(found: Distillation) -> Tree:
    """Return the decision tree for the console, with one line per branch."""
    nodes, names = found.classifier.structure_, found.discretizer.thresholds_.feature_names
    first = branches_in_words(nodes, names, found.classes, found.shown_columns())

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

    title = Text(f"Decision tree, {size_in_words(nodes)}, {_proof(found)}", style="bold")
    if found.quality.is_useless:
        title.append(", and no better than the most frequent class", style=f"bold {AMBER}")
    note = "; each leaf shows how many of its training rows have the predicted class"
    root = Tree(title.append(note, style="not bold dim"))
    if first.branches:
        grow(root, first)
    else:
        root.add(leaf(first))
    return root


def _proof(found: Distillation) -> str:
    tree = found.classifier.tree_
    return proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)


def _certificate(found: Distillation) -> str:
    tree = found.classifier.tree_
    cost = f"on the training rows: {objective_in_words(tree)}."
    if tree.is_optimal_:
        return f"proven {cost} No {compared_trees(tree)} has a lower cost."
    if not tree.lower_bound_ > 0:
        return f"{_proof(found)}; {cost}"
    bound = amount_in_words(tree.criterion, tree.lower_bound_)
    return f"{_proof(found)} {cost} No {compared_trees(tree)} has a cost below {bound}."


# --- files --------------------------------------------------------------------------------------------------------------


def _written(paths: Sequence[Path]) -> Text:
    text = Text("Written to ", style="bold").append(printable(paths[0].parent), style="not bold")
    for path in paths:
        text.append(f"\n  {path.name}", style="not bold")
        if path.name == COUNTERFACTUALS:
            text.append("  (column `row`: row number in the input table, counted from 0)", style="not bold dim")
    return text


def _report_line(path: Path) -> Text:
    return Text("Report: ", style="bold", overflow="fold").append_text(file_link(path))


# --- JSON ----------------------------------------------------------------------------------------------------------------


def _document(found: Distillation) -> dict[str, Any]:
    kept, every = found.discretizer.thresholds_, found.discretizer.all_thresholds_
    classifier, statuses = found.classifier, found.statuses
    nodes = classifier.structure_
    return {
        "data": {"name": found.data.name, "label": found.data.label, "columns": found.data.n_columns},
        "streamed": found.streamed,
        "sample": found.sample,
        "rows": {
            "total": found.data.n_rows,
            "training": found.training.rows,
            "held_out": 0 if found.held_out is None else found.held_out.rows,
        },
        "classes": [{"class": label, "rows": count} for label, count in found.data.class_counts.items()],
        "model": {
            "description": described(found.target),
            "file": None if found.model_file is None else str(found.model_file),
        },
        "counterfactuals": {
            "asked": sum(statuses.values()),
            "statuses": statuses,
            "median_cost": found.median_cost,
            "sample": _sample_document(found),
        },
        "thresholds": {
            "Q": float(found.discretizer.Q),
            "found": len(every),
            "selection": _selection_document(found),
            "columns_used": kept.features_used,
            "kept": _kept_document(kept),
        },
        "commonest_class": found.quality.commonest_class,
        "rates": {
            "training": _rates(asdict(found.training)),
            "held_out": None if found.held_out is None else _rates(asdict(found.held_out)),
        },
        "tree": {
            "depth": nodes.depth,
            "leaves": nodes.n_leaves,
            "rules": nodes.rules(kept.feature_names, np.array(found.classes, dtype=object), found.shown_columns()),
        },
        "certificate": asdict(as_distilled(classifier).certificate),
    }


def _sample_document(found: Distillation) -> dict[str, Any] | None:
    sample = found.discretizer.row_sample_
    if sample is None:
        return None
    return {"rows_searched": sample.n_searched, "rows": sample.n_rows, "reason": sample.reason}


def _kept_document(kept: ThresholdTable) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [
        {"condition": name, "count": float(count)} for name, count in zip(kept.names(), kept.count, strict=True)
    ]
    for name in ("share", "share_low", "share_high") if kept.share is not None else ():
        for entry, share in zip(entries, getattr(kept, name).tolist(), strict=True):
            entry[name] = share
    return entries


def _selection_document(found: Distillation) -> dict[str, Any] | None:
    chosen = getattr(found.discretizer, "selection_", None)
    if chosen is None:
        return None
    names = ("n_thresholds", "inconsistency", "lower_bound", "is_optimal", "proof")
    return {"candidates": len(chosen.candidates)} | {name: getattr(chosen, name) for name in names}


def _rates(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in scores.items() if name != "rows"}
