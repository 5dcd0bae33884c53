"""The paper's figures, drawn from the tidy rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from experiments.other_targets import DATA, FCCA_METHODS
from experiments.rows import TENTHS, Cells, NotMeasuredError, Results, in_half_of_the_folds, standard_error

#: Okabe and Ito's colours, which colour-blind people can distinguish. The markers differ, too.
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#666666",
)
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "fcca",
    "savefig.dpi": 150,
}
WIDTH = 10.0  # inches; about the width of the figures on the page
MOST_FEATURES = 35  # with more features, a heat map leaves out those without thresholds
SHORT_NAME = 18


@dataclass(frozen=True)
class Drawing:
    """A figure with its name, its caption, and a text alternative for readers who cannot see it."""

    name: str
    caption: str
    alt: str
    figure: Figure

    def save(self, folder: Path) -> None:
        """Write the figure as PNG and SVG. The same rows give the same bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = self.name.replace(" ", "-")
        with mpl.rc_context(STYLE):
            for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                unfinished = folder / f".{stem}.{suffix}"
                self.figure.savefig(unfinished, format=suffix, metadata=metadata)
                unfinished.replace(folder / f"{stem}.{suffix}")
                self.figure.set_layout_engine("none")  # the layout is done, and computing it again would be slow


def draw(results: Results, names: Mapping[str, Sequence[str]]) -> Iterator[Drawing]:
    """Draw all figures for which there are rows. ``names`` has the feature names by data set."""
    drawers: list[Callable[[], Drawing]] = [
        lambda: accuracy(results),
        lambda: features_used(results),
        lambda: rate(results, "compression"),
        lambda: rate(results, "inconsistency"),
        *(lambda name=name: thresholds(results, name, names.get(name, ())) for name in results.datasets),
        lambda: other_targets(results),
        lambda: other_thresholds(results, names.get(DATA, ())),
        lambda: lambda0(results),
        lambda: peers(results),
    ]
    for drawer in drawers:
        try:
            with mpl.rc_context(STYLE):
                drawing = drawer()
        except NotMeasuredError:
            continue
        yield drawing


def notes(results: Results, datasets: Sequence[str] | None = None) -> str:
    """Return the notes on the data sets, as the end of a caption."""
    told = [f"{name}: {note}" for name, note in results.notes.items() if datasets is None or name in datasets]
    return f" Notes on the data – {'. '.join(told)}." if told else ""


def _folds(results: Results) -> str:
    n = results.rows["fold"].nunique()
    return f"Means over {n} folds, with bars of one standard error." if n > 1 else "One fold only."


# --- panels, one for each data set ----------------------------------------------------------------------------------------


def _panels(datasets: Sequence[str]) -> tuple[Figure, list[Axes]]:
    columns = min(3, len(datasets))
    lines = ceil(len(datasets) / columns)
    figure = Figure(figsize=(WIDTH if columns > 1 else WIDTH / 2, 0.7 + 2.7 * lines), layout="constrained")
    axes = [figure.add_subplot(lines, columns, i + 1) for i in range(len(datasets))]
    for ax, name in zip(axes, datasets, strict=True):
        ax.set_title(name, fontstyle="italic")
    return figure, axes


def _legend(figure: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """Add one legend for all panels, below the panels."""
    entries = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=min(columns, len(entries)))


def _tables(results: Results) -> list[tuple[str, str, float | None]]:
    """Return the tables on the horizontal axis, each with its label, method and Q."""
    fcca = [(f"{Q:g}", "fcca", Q) for Q in results.granularities]
    return [("cont.", "continuous", None), ("GTRE", "gtre", None), *fcca]


def _places(results: Results) -> NDArray[np.float64]:
    """Return the positions of the tables on the horizontal axis. The two tables with longer labels get more room."""
    return np.array([0.0, 1.6, *(3.0 + np.arange(len(results.granularities)))])


def _at_least(ax: Axes, span: float) -> None:
    """Extend the vertical axis to a minimum height, so that small differences look small."""
    low, high = ax.get_ylim()
    lack = max(span - (high - low), 0.0) / 2
    ax.set_ylim(low - lack, high + lack)
    ax.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.2f}"))


def _points(
    results: Results, ax: Axes, dataset: str, column: str, classifier: str, label: str, color: str, marker: str, shift: float
) -> None:
    """Draw a point with an error bar for every table, and join the points of FCCA."""
    means, errors = [], []
    for _, method, Q in _tables(results):
        values = results.select(method, Q, classifier, dataset)[column].astype(float)
        means.append(values.mean() if len(values) else np.nan)
        errors.append(standard_error(values))
    x = _places(results) + shift
    ax.errorbar(x, means, np.nan_to_num(errors), fmt=marker, color=color, ms=5, lw=0, elinewidth=1, capsize=2, label=label)
    ax.plot(x[2:], means[2:], color=color, lw=1.2)


def _table_axis(results: Results, ax: Axes) -> None:
    places = _places(results)
    ax.set_xticks(places, [label for label, _, _ in _tables(results)], fontsize=8)
    ax.axvline(places[1] + 0.7, color=GREY, lw=0.8, ls=":")
    ax.set_xlim(-0.7, places[-1] + 0.6)
    ax.set_xlabel("continuous, GTRE, and FCCA by its Q", fontsize=8)
    ax.grid(axis="x", visible=False)


def accuracy(results: Results) -> Drawing:
    """Draw the accuracy of CART and the optimal tree on every table."""
    figure, axes = _panels(results.datasets)
    for ax, dataset in zip(axes, results.datasets, strict=True):
        _points(results, ax, dataset, "accuracy", "cart", "CART", ORANGE, "o", -0.1)
        _points(results, ax, dataset, "accuracy", "optimal tree", "optimal tree", BLUE, "s", 0.1)
        continuous = results.select("continuous", None, "pycontree", dataset)["accuracy"]
        if len(continuous):
            ax.plot(
                0.3, continuous.mean(), "D", mfc="none", color=GREEN, ms=5, ls="", label="pycontree on continuous features"
            )
        target = results.select("fcca", 0.0, "cart", dataset)["target accuracy"].mean()
        if np.isfinite(target):
            ax.axhline(target, color=GREY, lw=1, ls="--", label="target model")
        _table_axis(results, ax)
        _at_least(ax, 0.1)
        ax.set_ylabel("accuracy (share of rows)")
    _legend(figure, axes)
    caption = f"Accuracy on the external rows, or on the held-out rows if there are none. {_folds(results)}{notes(results)}"
    alt = _in_words(results, "accuracy", "optimal tree", "Accuracy of the optimal tree")
    return Drawing("accuracy", caption, alt, figure)


def features_used(results: Results) -> Drawing:
    """Draw the number of features that the trees use."""
    figure, axes = _panels(results.datasets)
    for ax, dataset in zip(axes, results.datasets, strict=True):
        _points(results, ax, dataset, "classifier features", "cart", "CART", ORANGE, "o", -0.1)
        _points(results, ax, dataset, "classifier features", "optimal tree", "optimal tree", BLUE, "s", 0.1)
        _table_axis(results, ax)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel("features used by the tree")
    _legend(figure, axes)
    caption = f"Number of features that a tree of depth 3 uses. {_folds(results)}{notes(results)}"
    alt = _in_words(results, "classifier features", "optimal tree", "Features used by the optimal tree", ".1f")
    return Drawing("features", caption, alt, figure)


def rate(results: Results, what: str) -> Drawing:
    """Draw the compression or the inconsistency of every table."""
    figure, axes = _panels(results.datasets)
    for ax, dataset in zip(axes, results.datasets, strict=True):
        _points(results, ax, dataset, what, "cart", f"{what} rate", BLUE if what == "compression" else VERMILION, "o", 0.0)
        _table_axis(results, ax)
        ax.set_ylim(*((-0.03, 1.03) if what == "compression" else (-0.005, None)))
        ax.set_ylabel(f"{what} (share of rows)")
    meaning = {
        "compression": "share of the held-out rows that repeat an earlier row",
        "inconsistency": "share of the held-out rows whose label differs from the most frequent label of equal rows",
    }[what]
    caption = f"{what.capitalize()} rate: {meaning}. {_folds(results)}{notes(results)}"
    return Drawing(what, caption, _in_words(results, what, "cart", f"{what.capitalize()} rate"), figure)


def _in_words(results: Results, column: str, classifier: str, title: str, form: str = ".3f") -> str:
    tables = [table for table in _tables(results) if table[1] != "continuous" or classifier == "cart"]
    words = []
    for dataset in results.datasets:
        found = []
        for label, method, Q in tables:
            values = results.select(method, Q, classifier, dataset)[column]
            if len(values):
                found.append(f"{label if Q is None else f'Q={label}'} {values.mean():{form}}")
        words.append(f"{dataset}: {', '.join(found)}")
    return f"{title}, by table. {'; '.join(words)}."


# --- heat maps ------------------------------------------------------------------------------------------------------------


def thresholds(results: Results, dataset: str, names: Sequence[str]) -> Drawing:
    """Draw heat maps of the thresholds of GTRE and FCCA."""
    maps = {
        title: in_half_of_the_folds(results.heat_maps(method, dataset))
        for title, method in (("GTRE", "gtre"), ("FCCA", "fcca"))
    }
    n_features = int(results.select(dataset=dataset)["columns"].iloc[0])
    figure, left_out = _heat_maps(maps, n_features, names, granularities=results.granularities, plain=("GTRE",))
    caption = f"Thresholds on {dataset}. {_map_caption(results, left_out, n_features)}{notes(results, [dataset])}"
    return Drawing(f"thresholds {dataset}", caption, _maps_in_words(maps, dataset), figure)


def other_thresholds(results: Results, names: Sequence[str]) -> Drawing:
    """Draw heat maps of the thresholds of FCCA, one per target model."""
    maps = {
        f"FCCA of {name}": in_half_of_the_folds(results.heat_maps(method, DATA)) for name, method in FCCA_METHODS.items()
    }
    n_features = int(results.select(dataset=DATA)["columns"].iloc[0])
    figure, left_out = _heat_maps(maps, n_features, names, granularities=results.granularities)
    caption = f"Thresholds of three target models on {DATA}. {_map_caption(results, left_out, n_features)}"
    return Drawing("other thresholds", caption + notes(results, [DATA]), _maps_in_words(maps, DATA), figure)


def _map_caption(results: Results, left_out: int, n_features: int) -> str:
    n = results.rows["fold"].nunique()
    text = "A cell is a tenth of a feature's training range. It is coloured if it contains a threshold"
    text += f" in at least half of the {n} folds." if n > 1 else "."
    if left_out:
        text += f" {left_out} of {n_features} features have no thresholds and are left out."
    return text


def _maps_in_words(maps: Mapping[str, Cells], dataset: str) -> str:
    found = [
        f"{title} has thresholds in {len(cells)} cells of {len({f for f, _ in cells})} features"
        for title, cells in maps.items()
    ]
    return f"Heat maps of thresholds on {dataset}: {'; '.join(found)}."


def _heat_maps(
    maps: Mapping[str, Cells],
    n_features: int,
    names: Sequence[str],
    granularities: Sequence[float],
    plain: Sequence[str] = (),
) -> tuple[Figure, int]:
    """Draw heat maps side by side with one colour key, and return the number of features left out."""
    used = sorted({feature for cells in maps.values() for feature, _ in cells})
    features = used if n_features > MOST_FEATURES else list(range(n_features))
    labels = [_short(names[feature]) if feature < len(names) else str(feature + 1) for feature in features]
    edges = [*granularities, 1.0 + 1e-9]
    shades = ListedColormap([mpl.colormaps["cividis_r"](v) for v in np.linspace(0.1, 1.0, len(edges) - 1)])
    figure = Figure(
        figsize=(WIDTH if len(maps) > 2 else 8.0, 1.6 + 0.17 * len(features)), layout=ConstrainedLayoutEngine(wspace=0.05)
    )
    axes = [figure.add_subplot(1, len(maps), i + 1) for i in range(len(maps))]
    mesh = None
    for ax, (title, cells) in zip(axes, maps.items(), strict=True):
        grid = np.full((len(features), TENTHS), np.nan)
        for (feature, tenth), survives in cells.items():
            grid[features.index(feature), tenth] = survives
        x, y = np.arange(TENTHS + 1) / TENTHS, np.arange(len(features) + 1) - 0.5
        if title in plain:
            ax.pcolormesh(x, y, np.where(np.isnan(grid), np.nan, 1.0), cmap=ListedColormap([GREEN]), ec="white", lw=0.5)
        else:
            mesh = ax.pcolormesh(x, y, grid, cmap=shades, norm=BoundaryNorm(edges, shades.N), ec="white", lw=0.5)
        ax.set_title(f"{title} (green: thresholds)" if title in plain else title)
        ax.set_yticks(range(len(features)), labels if ax is axes[0] else [""] * len(features), fontsize=7.5)
        ax.set_ylim(len(features) - 0.5, -0.5)
        ax.set_xticks(np.arange(0, 1.01, 0.2))
        ax.set_xlabel("share of the feature's range")
        ax.tick_params(length=2)
    if mesh is not None:
        key = figure.colorbar(mesh, ax=axes, shrink=min(1.0, 2.2 / (0.17 * len(features) + 0.8)), aspect=14, pad=0.02)
        key.set_ticks(
            (np.array(edges[:-1]) + np.array(edges[1:])) / 2, labels=[f"{Q:g}" if Q else "0 only" for Q in granularities]
        )
        key.set_label("kept up to Q")
        key.ax.tick_params(length=0)
    return figure, n_features - len(features)


def _short(name: str) -> str:
    return name if len(name) <= SHORT_NAME else f"{name[: SHORT_NAME - 1]}…"


# --- other targets, the path of λ0, peers ---------------------------------------------------------------------------------


def other_targets(results: Results) -> Drawing:
    """Draw accuracy, features used, compression and inconsistency by target model."""
    for method in FCCA_METHODS.values():
        if results.select(method, dataset=DATA).empty:
            raise NotMeasuredError(f"no rows of {method} on {DATA}")
    panels = (
        ("accuracy", "optimal tree", "accuracy of the optimal tree\n(share of rows)"),
        ("classifier features", "optimal tree", "features used by\nthe optimal tree"),
        ("compression", "cart", "compression (share of rows)"),
        ("inconsistency", "cart", "inconsistency (share of rows)"),
    )
    figure = Figure(figsize=(8.0, 5.8), layout="constrained")
    axes = [figure.add_subplot(2, 2, i + 1) for i in range(4)]
    words = []
    for ax, (column, classifier, label) in zip(axes, panels, strict=True):
        for i, ((name, method), color, marker) in enumerate(
            zip(FCCA_METHODS.items(), (BLUE, GREEN, VERMILION), "so^", strict=True)
        ):
            folds = [results.select(method, Q, classifier, DATA)[column].astype(float) for Q in results.granularities]
            x = np.arange(len(folds)) + 0.08 * (i - 1)
            means, errors = [values.mean() for values in folds], [standard_error(values) for values in folds]
            ax.errorbar(x, means, np.nan_to_num(errors), color=color, marker=marker, ms=4.5, lw=1.2, capsize=2, label=name)
            words.append(f"{column} of {name}: {means[0]:.3f} at Q=0, {means[-1]:.3f} at Q={results.granularities[-1]:g}")
        ax.set_xticks(range(len(results.granularities)), [f"{Q:g}" for Q in results.granularities])
        ax.set_xlabel("Q")
        ax.set_ylabel(label)
        if column == "classifier features":
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_ylim(bottom=0)
    _legend(figure, axes)
    caption = (
        f"Target models on {DATA}: gradient boosting, random forest, linear SVM. {_folds(results)}{notes(results, [DATA])}"
    )
    return Drawing("other targets", caption, f"Four measures by target model and Q. {'; '.join(words)}.", figure)


def lambda0(results: Results) -> Drawing:
    """Draw the number of features and thresholds against λ0, the cost of each changed feature."""
    rows = results.select("lambda0-path", classifier="cart")
    if rows.empty:
        raise NotMeasuredError("no rows of lambda0-path")
    datasets = [name for name in results.datasets if name in set(rows["dataset"])]
    values = sorted(rows["lambda0"].unique())
    figure, axes = _panels(datasets)
    words = []
    for ax, dataset in zip(axes, datasets, strict=True):
        for column, label, color, marker in (
            ("thresholds", "thresholds", VERMILION, "^"),
            ("features", "features with thresholds", BLUE, "s"),
        ):
            folds = [
                rows[(rows["dataset"] == dataset) & (rows["lambda0"] == value)][column].astype(float) for value in values
            ]
            means, errors = [found.mean() for found in folds], [standard_error(found) for found in folds]
            ax.errorbar(
                range(len(values)),
                means,
                np.nan_to_num(errors),
                color=color,
                marker=marker,
                ms=4.5,
                lw=1.2,
                capsize=2,
                label=label,
            )
            words.append(f"{dataset}, {label}: {means[0]:.1f} at λ0={values[0]:g}, {means[-1]:.1f} at λ0={values[-1]:g}")
        ax.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        ax.set_xlabel("λ0 (cost of each changed feature)")
        ax.set_ylabel("number at Q = 0")
        ax.set_ylim(bottom=0)
    _legend(figure, axes)
    caption = f"Features and thresholds of FCCA at Q = 0 by λ0; λ1 = 1, λ2 = 0. {_folds(results)}{notes(results)}"
    return Drawing("lambda0", caption, f"Path of λ0. {'; '.join(words)}.", figure)


PEERS = (
    ("fcca", "FCCA, by Q", BLUE, "s"),
    ("gtre", "GTRE", GREY, "D"),
    ("kbins", "bins of equal width", ORANGE, "v"),
    ("mdlp", "MDLP", PURPLE, "P"),
    ("optimal-binning", "optimal binning", GREEN, "o"),
    ("midpoints", "all midpoints", SKY, "X"),
)


def peers(results: Results) -> Drawing:
    """Draw the accuracy against the number of thresholds, for all discretizers."""
    methods = set(results.rows["method"])
    if not methods & {"kbins", "mdlp", "optimal-binning", "midpoints"}:
        raise NotMeasuredError("no rows of other discretizers")
    figure, axes = _panels(results.datasets)
    words = []
    for ax, dataset in zip(axes, results.datasets, strict=True):
        for method, label, color, marker in PEERS:
            found = _peer(results, method, dataset)
            if found.empty:
                continue
            # Filled: an optimal tree. Hollow: CART, if there are too many columns for an optimal tree.
            for optimal, part in found.groupby("optimal"):
                face = color if optimal else "none"
                text = label if optimal else f"{label} (CART)"
                ax.plot(part["thresholds"], part["accuracy"], marker, color=color, mfc=face, ms=6, ls="", label=text)
            if method == "fcca":
                ax.plot(found["thresholds"], found["accuracy"], color=color, lw=0.9)
            best = found.iloc[0]
            words.append(f"{dataset}, {label}: {best['accuracy']:.3f} with {best['thresholds']:.0f} thresholds")
        continuous = results.select("continuous", None, "pycontree", dataset)["accuracy"]
        if len(continuous):
            ax.axhline(continuous.mean(), color=VERMILION, lw=1, ls="--", label="pycontree on continuous features")
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        _at_least(ax, 0.1)
        ax.set_xlabel("thresholds (logarithmic)")
        ax.set_ylabel("accuracy (share of rows)")
    _legend(figure, axes)
    caption = (
        "Accuracy of the optimal tree of depth 3 against the number of thresholds, for every discretizer. Hollow marks: "
        f"CART, because there are too many columns for an optimal tree. Means over folds.{notes(results)}"
    )
    return Drawing("peers", caption, f"Accuracy and number of thresholds. {'; '.join(words)}.", figure)


def _peer(results: Results, method: str, dataset: str) -> pd.DataFrame:
    """Return the mean accuracy and number of thresholds by granularity.

    The accuracy is that of the optimal tree, or of CART if there is no optimal tree. Without either, the result is empty.
    """
    rows = results.select(method, dataset=dataset)
    trees = rows[rows["classifier"] == "optimal tree"]
    rows = rows[rows["classifier"] == "cart"] if trees.empty else trees
    means = rows.groupby("Q", dropna=False)[["thresholds", "accuracy"]].mean()
    return means.assign(optimal=not trees.empty)
