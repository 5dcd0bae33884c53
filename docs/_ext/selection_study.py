"""The directive ``{selection-study}``, which shows figures and tables of the recorded run of ``benchmarks/selection.py``.

Its argument is ``summary``, one of the figures ``inconsistency`` and ``accuracy``, or the beginning of the title of a
recorded table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from benchmark_records import BENCHMARKS, paragraph, record_of, recorded_when, table, verdicts
from docutils import nodes
from docutils.parsers.rst import directives
from scipy import stats
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SCRIPT = BENCHMARKS / "selection.py"
#: Colour and marker of each way to choose thresholds, as in FrontierDisplay.
STYLE = {"frequency": ("#009E73", "s"), "greedy": ("#E69F00", "^"), "optimal": ("#0072B2", "o")}
WORDS = {"frequency": "most frequent", "greedy": "greedy", "optimal": "optimal"}
Folds = list[dict[str, Any]]


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the mean over the folds, and half of the width of its 95 % t-interval."""
    n = len(values)
    half = stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(values.shape[1])
    return values.mean(axis=0), half


def panels(folds: Folds, draw: Callable[[Any, Folds], None], xlabel: str, ylabel: str) -> Any:
    """Draw one panel per data set, with a common legend below."""
    from matplotlib import pyplot

    names = list(dict.fromkeys(line["data"] for line in folds))
    n_rows = -(-len(names) // 3)
    figure, axes = pyplot.subplots(n_rows, 3, figsize=(10, 2.9 * n_rows), sharex=True, squeeze=False, layout="constrained")
    for ax, name in zip(axes.flat, names, strict=False):
        draw(ax, [line for line in folds if line["data"] == name])
        ax.set_title(name, fontsize=10)
        ax.set_xticks([1, 4, 8, 12, 16])
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylabel(ylabel if ax in axes[:, 0] else "")
        ax.set_xlabel(xlabel if ax in axes[-1] else "")
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4, frameon=False)
    return figure


def draw_inconsistency(ax: Any, folds: Folds) -> None:
    """Draw the mean inconsistency by k for each way to choose thresholds.

    Bars are one standard error over the folds. The dotted line is the proven lower bound.
    """
    k = np.array(folds[0]["k"])
    for shift, (way, (color, mark)) in zip((-0.15, 0.0, 0.15), STYLE.items(), strict=True):
        values = 100 * np.array([line[way] for line in folds])
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
        ax.errorbar(
            k + shift, values.mean(axis=0), error, color=color, marker=mark, ms=3.5, lw=1.2, elinewidth=0.8, label=WORDS[way]
        )
    bound = 100 * np.array([line["bound"] for line in folds])
    ax.plot(k + 0.15, bound.mean(axis=0), color="#222222", lw=1, ls=":", label="proven bound", zorder=3)
    ax.set_ylim(bottom=0)


def draw_accuracy(ax: Any, folds: Folds) -> None:
    """Draw the accuracy of the optimal choice minus that of another choice, by k, with 95 % intervals."""
    k = np.array(folds[0]["k"])
    best = np.array([line["optimal: accuracy"] for line in folds])
    for shift, way in ((-0.15, "frequency"), (0.15, "greedy")):
        color, mark = STYLE[way]
        mean, half = interval(100 * (best - np.array([line[f"{way}: accuracy"] for line in folds])))
        ax.errorbar(
            k + shift, mean, half, color=color, marker=mark, ms=3.5, ls="", elinewidth=0.9, label=f"optimal − {WORDS[way]}"
        )
    ax.axhline(0, color="#666666", lw=0.8)


FIGURES: dict[str, tuple[Callable[[Any, Folds], None], str, str]] = {
    "inconsistency": (
        draw_inconsistency,
        "inconsistency, %",
        "Training inconsistency over the number of thresholds, by way of choosing them",
    ),
    "accuracy": (
        draw_accuracy,
        "points of accuracy",
        "Difference of held-out accuracies over the number of thresholds, with intervals",
    ),
}


class SelectionStudy(SphinxDirective):
    """Directive that shows one part of the recorded run."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"folded": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the part that the argument names."""
        self.env.note_dependency(str(BENCHMARKS / "results" / "selection.json"))
        record, asked = record_of(SCRIPT), self.arguments[0]
        if record is None:
            return [paragraph("Not recorded.", "fcca-miss")] if asked == "summary" else []
        if asked == "summary":
            command = record["command"]
            return [nodes.literal_block(command, command, language="sh"), recorded_when(record), *verdicts(record)]
        if asked in FIGURES:
            return [self.figure(record, asked)]
        titles = [title for title in record["tables"] if title.startswith(asked)]
        if not titles:
            raise self.error(f"The recorded run has no table that begins with {asked!r}; it has {list(record['tables'])}.")
        return [table(title, record["tables"][title]) for title in titles]

    def figure(self, record: dict[str, Any], asked: str) -> nodes.image:
        """Draw a figure from the folds of the record, and return its node."""
        from matplotlib import pyplot

        draw, ylabel, words = FIGURES[asked]
        path = Path(self.env.srcdir, "generated", "figures", f"selection-{asked}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        panels(record["tables"]["Folds"], draw, "thresholds", ylabel).savefig(path, dpi=144, facecolor="white")
        pyplot.close("all")
        return nodes.image(uri="/" + path.relative_to(self.env.srcdir).as_posix(), alt=words, classes=["fcca-figure"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive with Sphinx."""
    app.add_directive("selection-study", SelectionStudy)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
