"""The result of ``fcca benchmark``: black box and trees side by side on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from fcca.cli._benchmark import Benchmark, chosen_methods
from fcca.cli._black_box import check_range, training_table
from fcca.cli._checks import chosen_levels
from fcca.cli._command import Result
from fcca.cli._data import Dataset
from fcca.cli._models import described, target_model
from fcca.cli._notes import collected_notes
from fcca.cli._options import TargetModel
from fcca.cli._words import (
    add_numbers,
    classes_in_words,
    number,
    panel,
    percent,
    plain_table,
    printable,
    seconds,
    written_to,
)
from fcca.discretizers import FCCADiscretizer, GTREDiscretizer
from fcca.exceptions import FCCAError, InvalidInputError, UnsupportedModelError
from fcca.metrics import fidelity
from fcca.models import prepared, read_model
from fcca.tables import Columns, heaviest_label, known_rows
from fcca.trees import OptimalTreeClassifier, TreeStructure
from fcca.utils import progress_bar, step

Labels = NDArray[np.generic]

BLACK_BOX = "black box"
BASELINE = "commonest class"  # what a method is worth that looks at no column
#: The columns of the table, in their order.
MEASURES = (
    "accuracy",
    "accuracy_se",
    "fidelity",
    "thresholds",
    "columns",
    "leaves",
    "optimal",
    "seconds",
)
HOW_GOOD = ("accuracy", "fidelity", "seconds")
HOW_LARGE = ("thresholds", "columns", "leaves", "proven")


@dataclass(frozen=True)
class Fold:
    """Rows to fit on, rows to judge on, and the black box between them."""

    X: pd.DataFrame
    y: Labels
    X_test: pd.DataFrame
    y_test: Labels
    black_box: Any
    answers: Labels  # of the black box, on the rows to judge on


@dataclass(frozen=True)
class Comparison(Result):
    """The result of ``fcca benchmark``.

    Attributes
    ----------
    data : Dataset
    settings : Benchmark
    model : str
        The black box in words.
    lines : DataFrame
        A line per method and fold.
    missing : dict of str to str
        Methods that do not go with the black box, and why.
    seconds : float
    notes : tuple of str
    """

    data: Dataset
    settings: Benchmark
    model: str
    lines: pd.DataFrame
    missing: dict[str, str]
    seconds: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """A line per method: means over the folds, and the standard error of the accuracy."""
        groups = self.lines.drop(columns="fold").groupby("method", sort=False)
        means = groups.mean()
        means["accuracy_se"] = groups["accuracy"].sem(ddof=1)
        return means.reset_index()[["method", "Q", *MEASURES]]

    def write(self, path: Path, name: str) -> None:
        """Write the table as CSV."""
        self.frame().to_csv(path, index=False, lineterminator="\n")

    def summary(self, written: Path | None) -> RenderableType:
        """A line per method, and the file that they were written to."""
        data, settings = self.data, self.settings
        leaves = "a leaf of FCCA's and GTRE's has to save ten rows, one of CART's costs nothing"
        facts = [
            ("Data", f"{printable(data.name)}: {number(len(data.y))} rows × {number(data.X.shape[1])} columns"),
            ("Classes", classes_in_words(data.class_counts())),
            ("Black box", self.model),
            ("Trees", f"depth {settings.depth}; {leaves}"),
            ("Folds", f"{settings.folds}; means over them, ± is the standard error"),
            ("Time", seconds(self.seconds)),
        ]
        parts: list[RenderableType] = [panel("fcca benchmark", facts), _Lines(self)]
        for name, reason in self.missing.items():
            parts += [Text(), Text(f"{name} is left out. {printable(reason)}")]
        return Group(*parts, *written_to(written))

    def document(self) -> dict[str, Any]:
        """The same as JSON has it; what a method does not have is null."""
        lines = self.frame().to_dict("records")
        return {
            "data": {"name": self.data.name, "label": self.data.label, "columns": self.data.X.shape[1]},
            "rows": len(self.data.y),
            "classes": [{"class": label, "rows": count} for label, count in self.data.class_counts().items()],
            "model": self.model,
            "folds": self.settings.folds,
            "depth": self.settings.depth,
            "methods": [{str(name): None if value != value else value for name, value in line.items()} for line in lines],
            "missing": self.missing,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def comparison(data: Dataset, settings: Benchmark) -> Comparison:
    """Fit and judge every method on every fold."""
    data = data.guessed(settings.categorical)
    check_range(data.X)
    _check_folds(data, settings.folds)
    began = perf_counter()
    lines: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    unknown = 0
    model = ""
    splits = StratifiedKFold(settings.folds, shuffle=True, random_state=settings.random_state).split(data.X, data.y)
    methods = chosen_methods(settings.methods)
    jobs = 1 + len(methods)
    with collected_notes() as notes, progress_bar("Folds and methods", settings.folds * jobs, shown=False) as progress:
        for at, (train, test) in enumerate(splits):
            fold, line, n_unknown = _fold(data, train, test, settings)
            model, unknown = described(fold.black_box), unknown + n_unknown
            lines += [line | {"fold": at}, _baseline(fold) | {"fold": at}]
            for done, name in enumerate(methods, start=1):
                if progress is not None:
                    progress(at * jobs + done)
                try:
                    with step(f"{TITLES[name]}, fold {at + 1} of {settings.folds}"):
                        lines += [line | {"fold": at} for line in METHOD[name](fold, settings)]
                except UnsupportedModelError as error:
                    missing[TITLES[name]] = str(error)
                except FCCAError as error:
                    raise type(error)(f"{TITLES[name]}, fold {at + 1}: {error}") from error
            if progress is not None:
                progress((at + 1) * jobs)
    if unknown:
        notes.append(
            f"{unknown:,} held-out row{'s have categories or gaps' if unknown > 1 else ' has a category or a gap'} that no "
            f"training row of its fold has in the column, and count{'' if unknown > 1 else 's'} for no method."
        )
    frame = pd.DataFrame(lines)
    return Comparison(data, settings, model, frame, missing, perf_counter() - began, (*data.notes, *notes))


def _check_folds(data: Dataset, folds: int) -> None:
    counts = data.class_counts()
    rarest = min(counts, key=lambda label: counts[label])
    if counts[rarest] < folds:
        raise InvalidInputError(
            f"Class {rarest!r} of {data.label!r} has {counts[rarest]} row(s), too few for {folds} folds with one in each. "
            "Use fewer --folds, or remove the class."
        )


def _fold(
    data: Dataset, train: NDArray[np.int64], test: NDArray[np.int64], settings: Benchmark
) -> tuple[Fold, dict[str, Any], int]:
    """A fold with its black box, the black box's line, and how many rows it cannot be asked about."""
    X, y = training_table(data.X.iloc[train]), data.y[train]
    columns = Columns.of_table(X)
    known = known_rows(columns, data.X.iloc[test])
    if not known.any():
        raise InvalidInputError("A fold has no row whose categories and gaps its training rows have. Use fewer --folds.")
    X_test, y_test = data.X.iloc[test[known]], data.y[test[known]]
    numbers = X.select_dtypes("float64")
    with step("The black box"):
        began = perf_counter()
        widths = (numbers.max() - numbers.min()).to_numpy()
        black_box = target_model(settings.model, settings.random_state, columns, widths).fit(X, y)
        seconds = perf_counter() - began
    answers = np.asarray(black_box.predict(X_test)).ravel()
    line = _line(BLACK_BOX, answers, y_test, answers, seconds=seconds)
    return Fold(X, y, X_test, y_test, black_box, answers), line, int((~known).sum())


def _line(
    method: str,
    predicted: Labels,
    y: Labels,
    answers: Labels,
    *,
    seconds: float,
    Q: float = np.nan,
    thresholds: float = np.nan,
    columns: float = np.nan,
    leaves: float = np.nan,
    optimal: float = np.nan,
) -> dict[str, Any]:
    return {
        "method": method,
        "Q": Q,
        "accuracy": float(np.mean(predicted == y)),
        "fidelity": fidelity(predicted, answers),
        "thresholds": float(thresholds),
        "columns": float(columns),
        "leaves": float(leaves),
        "optimal": float(optimal),
        "seconds": seconds,
    }


def _baseline(fold: Fold) -> dict[str, Any]:
    """The line of answering every row with the commonest class of the rows to fit on."""
    began = perf_counter()
    predicted = np.full(len(fold.y_test), heaviest_label(fold.y), dtype=fold.y_test.dtype)
    seconds = perf_counter() - began
    return _line(BASELINE, predicted, fold.y_test, fold.answers, thresholds=0, columns=0, leaves=1, seconds=seconds)


# --- methods ------------------------------------------------------------------------------------------------------------


def _with_best_tree(
    method: str, discretizer: Any, fold: Fold, settings: Benchmark, seconds: float, Q: float = np.nan
) -> dict[str, Any]:
    """The line of the best tree on a discretizer's 0/1 columns."""
    began = perf_counter()
    B = discretizer.transform(fold.X)
    tree = OptimalTreeClassifier(max_depth=settings.depth, time_limit=settings.time_limit).fit(B, fold.y)
    seconds += perf_counter() - began
    structure: TreeStructure = tree.tree_
    asked = discretizer.thresholds_.feature[structure.feature[structure.feature >= 0]]
    return _line(
        method,
        tree.predict(discretizer.transform(fold.X_test)),
        fold.y_test,
        fold.answers,
        Q=Q,
        thresholds=len(discretizer.thresholds_),
        columns=len(np.unique(asked)),
        leaves=tree.n_leaves_,
        optimal=tree.is_optimal_,
        seconds=seconds,
    )


def _fcca(fold: Fold, settings: Benchmark) -> Iterator[dict[str, Any]]:
    """The counterfactuals are computed once, and count for every level."""
    began = perf_counter()
    discretizer = FCCADiscretizer(FrozenEstimator(fold.black_box), time_limit=settings.time_limit, n_jobs=settings.jobs).fit(
        fold.X, fold.y
    )
    seconds = perf_counter() - began
    for Q in chosen_levels("--q", settings.q):
        discretizer.set_granularity(Q)
        yield _with_best_tree(f"FCCA Q={Q:g}", discretizer, fold, settings, seconds, Q)


def _gtre(fold: Fold, settings: Benchmark) -> Iterator[dict[str, Any]]:
    relearns = settings.model not in (TargetModel.xgb, TargetModel.catboost)
    if not relearns and Columns.of_table(fold.X).has_categories:
        raise UnsupportedModelError(
            f"GTRE fits the black box again on 0/1 columns, and {settings.model} was told which columns hold categories."
        )
    began = perf_counter()
    discretizer = GTREDiscretizer(FrozenEstimator(fold.black_box), random_state=settings.random_state).fit(fold.X, fold.y)
    yield _with_best_tree("GTRE", discretizer, fold, settings, perf_counter() - began)


def _cart(fold: Fold, settings: Benchmark) -> Iterator[dict[str, Any]]:
    began = perf_counter()
    tree = DecisionTreeClassifier(max_depth=settings.depth, random_state=settings.random_state)
    fitted = prepared(tree, Columns.of_table(fold.X)).fit(fold.X, fold.y)
    seconds = perf_counter() - began
    read: Any = read_model(fitted)
    asked = read.feature[read.feature >= 0]
    predicted = np.asarray(fitted.predict(fold.X_test)).ravel()
    yield _line(
        "CART",
        predicted,
        fold.y_test,
        fold.answers,
        columns=len(np.unique(asked)),
        leaves=int((read.feature < 0).sum()),
        seconds=seconds,
    )


METHOD: dict[str, Callable[[Fold, Benchmark], Iterator[dict[str, Any]]]] = {
    "fcca": _fcca,
    "gtre": _gtre,
    "cart": _cart,
}
TITLES = {"fcca": "FCCA", "gtre": "GTRE", "cart": "CART"}


# --- printed -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lines:
    """One table where it fits, else two below each other: nothing is cut off."""

    compared: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = _table(self.compared, (*HOW_GOOD, *HOW_LARGE))
        if console.measure(whole, options=options.update(width=1000)).maximum <= options.max_width:
            yield whole
        else:
            yield _table(self.compared, HOW_GOOD)
            yield Text()
            yield _table(self.compared, HOW_LARGE)


def _table(compared: Comparison, columns: tuple[str, ...]) -> Table:
    table = plain_table(padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    add_numbers(table, *columns)
    for line in compared.frame().to_dict("records"):
        cells = _cells({str(name): value for name, value in line.items()})
        style = "dim" if line["method"] in (BLACK_BOX, BASELINE) else ""
        table.add_row(Text(str(line["method"])), *(cells[name] for name in columns), style=style)
    return table


def _cells(line: dict[str, Any]) -> dict[str, str]:
    black_box = line["method"] == BLACK_BOX
    return {
        "accuracy": f"{percent(line['accuracy'])} ± {_or_dash(100 * line['accuracy_se'], '{:.1f}')}",
        "fidelity": "–" if black_box else percent(line["fidelity"]),
        "seconds": f"{line['seconds']:.2f}",
        "thresholds": "–" if black_box else _or_dash(line["thresholds"], "{:.1f}", "all"),
        "columns": _or_dash(line["columns"], "{:.1f}"),
        "leaves": _or_dash(line["leaves"], "{:.1f}"),
        "proven": "–" if line["optimal"] != line["optimal"] else percent(line["optimal"], 0),
    }


def _or_dash(value: Any, form: str, dash: str = "–") -> str:
    return dash if value != value else form.format(value)
