"""Run ``fcca benchmark``: cross-validation, printed summary and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

from fcca.cli._benchmark_command import Benchmark, chosen_methods
from fcca.cli._black_box import check_range, training_table
from fcca.cli._checks import chosen_levels
from fcca.cli._column_types import ColumnOptions
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
    written_to,
)
from fcca.cli._models import described, target_model
from fcca.cli._notes import collected_notes
from fcca.cli._options import TargetModel
from fcca.cli._read_table import Dataset
from fcca.discretizers import FCCADiscretizer, GTREDiscretizer
from fcca.exceptions import FCCAError, InvalidInputError, UnsupportedModelError
from fcca.metrics import fidelity
from fcca.models import as_fitted_on, prepared, read_model
from fcca.tables import Columns, StandIns, heaviest_label
from fcca.trees import OptimalTreeClassifier, TreeStructure
from fcca.utils import AtomicOutputs, progress_bar, step

Labels = NDArray[np.generic]
Line = dict[str, Any]  # figures of a method on a fold

BLACK_BOX = "black box"
BASELINE = "most frequent class"  # always predicted, as a baseline
TITLES = {"fcca": "FCCA", "gtre": "GTRE", "cart": "CART"}
#: Columns of the output file.
COLUMNS = ("method", "Q", "accuracy", "accuracy_se", "fidelity", "thresholds", "columns", "leaves", "optimal", "seconds")
HOW_GOOD = ("accuracy", "fidelity", "seconds")
HOW_LARGE = ("thresholds", "columns", "leaves", "proven")


@dataclass(frozen=True)
class BenchmarkFold:
    """One fold of the cross-validation: training rows, held-out rows and black box.

    The black box was fitted on the training rows.
    """

    X: pd.DataFrame
    y: Labels
    X_test: pd.DataFrame
    y_test: Labels
    n_unknown: int  # held-out rows with values that no training row has in the same column
    black_box: Any
    predictions: Labels  # of the black box, on the held-out rows
    seconds: float  # for fitting the black box

    def line(self, method: str, predicted: Labels, **measures: float) -> Line:
        """Return the accuracy, fidelity and further metrics of a method on this fold.

        Parameters
        ----------
        method : str
            Name of the method in the table.
        predicted : ndarray
            Predictions of the method for the held-out rows.
        **measures : float
            Further metrics, such as the number of leaves.
        """
        accuracy = float(np.mean(predicted == self.y_test))
        return {"method": method, "accuracy": accuracy, "fidelity": fidelity(predicted, self.predictions), **measures}


@dataclass(frozen=True)
class BenchmarkResult(Result):
    """The result of ``fcca benchmark``.

    Attributes
    ----------
    data : Dataset
    settings : Benchmark
    model : str
        Description of the black box.
    lines : list of dict
        One per method and fold, with the metrics of the method on the held-out rows of the fold.
    missing : dict of str to str
        Methods that do not support this black box, each with the reason.
    seconds : float
        Duration of the whole benchmark.
    notes : tuple of str
    """

    data: Dataset
    settings: Benchmark
    model: str
    lines: list[Line]
    missing: dict[str, str]
    seconds: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return the means over the folds, with one line per method.

        ``accuracy_se`` is the standard error of the accuracy.
        """
        groups = pd.DataFrame(self.lines).groupby("method", sort=False)
        means = groups.mean().assign(accuracy_se=groups["accuracy"].sem(ddof=1))
        return means.reset_index().reindex(columns=list(COLUMNS))

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the table of :meth:`frame` to the CSV file of ``--out``."""
        assert self.settings.out is not None
        self.frame().to_csv(outputs.path(self.settings.out.name), index=False, lineterminator="\n")

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the printed summary, with the written file at the end."""
        data, settings = self.data, self.settings
        leaves = "FCCA and GTRE have at most 8 leaves and a cost per leaf; CART has neither"
        facts = [
            ("Data", f"{printable(data.name)}: {number(len(data.y))} rows × {number(data.X.shape[1])} columns"),
            ("Classes", classes_in_words(data.class_counts())),
            ("Black box", self.model),
            ("Trees", f"depth {settings.max_depth}; {leaves}"),
            ("Folds", f"{settings.folds}; figures are means, ± is the standard error"),
            ("Time", seconds(self.seconds)),
        ]
        parts: list[RenderableType] = [panel("fcca benchmark", facts), _Lines(self.frame())]
        for name, reason in self.missing.items():
            parts += [Text(), Text(f"{name} is left out. {printable(reason)}")]
        return Group(*parts, *written_to(written))

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the result as a dictionary, for ``--json``.

        Metrics that a method does not have are None.
        """
        return {
            "data": {"name": self.data.name, "label": self.data.label, "columns": self.data.X.shape[1]},
            "rows": len(self.data.y),
            "classes": [{"class": label, "rows": count} for label, count in self.data.class_counts().items()],
            "model": self.model,
            "folds": self.settings.folds,
            "max_depth": self.settings.max_depth,
            "methods": self.frame().astype(object).where(self.frame().notna(), None).to_dict("records"),
            "missing": self.missing,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def run_benchmark(data: Dataset, settings: Benchmark) -> BenchmarkResult:
    """Cross-validate the black box and every method."""
    data = data.guessed(ColumnOptions(settings.categorical, settings.drop, settings.keep))
    check_range(data.X)
    _check_folds(data, settings.folds)
    began = perf_counter()
    lines: list[Line] = []
    missing: dict[str, str] = {}
    n_unknown, model = 0, ""
    splits = StratifiedKFold(settings.folds, shuffle=True, random_state=settings.random_state).split(data.X, data.y)
    methods = chosen_methods(settings.methods)
    n_steps = 1 + len(methods)  # of a fold: the black box and the methods
    with collected_notes() as notes, progress_bar("Folds and methods", settings.folds * n_steps) as progress:
        for at, (train, test) in enumerate(splits):
            fold = _fold(data, train, test, settings)
            model, n_unknown = described(fold.black_box), n_unknown + fold.n_unknown
            lines += _references(fold)
            for done, name in enumerate(methods, at * n_steps + 1):
                if progress is not None:
                    progress(done)
                try:
                    with step(f"{TITLES[name]}, fold {at + 1} of {settings.folds}"):
                        lines += METHOD[name](fold, settings)
                except UnsupportedModelError as error:
                    missing[TITLES[name]] = str(error)
                except FCCAError as error:
                    raise type(error)(f"{TITLES[name]}, fold {at + 1}: {error}") from error
            if progress is not None:
                progress((at + 1) * n_steps)
    if n_unknown:
        several = n_unknown > 1
        notes.append(
            f"{n_unknown:,} held-out "
            f"{'rows have categories or missing values' if several else 'row has a category or a missing value'} that no "
            "training row of the fold has in the same column. No condition holds for such a value."
        )
    return BenchmarkResult(data, settings, model, lines, missing, perf_counter() - began, (*data.notes, *notes))


def _check_folds(data: Dataset, folds: int) -> None:
    counts = data.class_counts()
    rarest = min(counts, key=lambda label: counts[label])
    if counts[rarest] < folds:
        raise InvalidInputError(
            f"Class {rarest!r} of {data.label!r} has {counts[rarest]} row(s), but {folds} folds require at least {folds}. "
            "Use fewer --folds, or remove the class."
        )


def _fold(data: Dataset, train: NDArray[np.int64], test: NDArray[np.int64], settings: Benchmark) -> BenchmarkFold:
    """Fit the black box of a fold, and predict the held-out rows."""
    X, y = training_table(data.X.iloc[train]), data.y[train]
    X_test, y_test = data.X.iloc[test], data.y[test]
    columns = Columns.of_table(X)
    n_unknown = int(columns.is_unknown(columns.encode(X_test, handle_unknown="ignore")).any(axis=1).sum())
    with step("The black box"):
        began = perf_counter()
        black_box = target_model(settings.model, settings.random_state, X).fit(X, y)
        seconds = perf_counter() - began
    return BenchmarkFold(X, y, X_test, y_test, n_unknown, black_box, _predicted(black_box, X, X_test), seconds)


def _predicted(classifier: Any, X: pd.DataFrame, X_test: pd.DataFrame) -> Labels:
    """Predict held-out rows, after replacing the values that the classifier cannot take.

    ``X`` are the rows that the classifier was fitted on.
    """
    columns = Columns.of_table(X)
    stand_ins = StandIns.of(columns.encode(X), read_model(classifier).columns)
    given = as_fitted_on(classifier, stand_ins.fill(columns.encode(X_test, handle_unknown="ignore")), columns=columns)
    return np.asarray(classifier.predict(given)).ravel()


# --- methods ------------------------------------------------------------------------------------------------------------


def _references(fold: BenchmarkFold) -> Iterator[Line]:
    """Yield the metrics of the black box and of the most frequent class."""
    yield fold.line(BLACK_BOX, fold.predictions, seconds=fold.seconds)
    began = perf_counter()
    predicted = np.full(len(fold.y_test), heaviest_label(fold.y), dtype=fold.y_test.dtype)
    yield fold.line(BASELINE, predicted, thresholds=0, columns=0, leaves=1, seconds=perf_counter() - began)


def _with_best_tree(
    method: str, discretizer: Any, fold: BenchmarkFold, settings: Benchmark, seconds: float, **measures: float
) -> Line:
    """Fit the best tree on a discretizer's binary columns, and return its metrics.

    ``seconds`` is the time for fitting the discretizer. The time for the tree is added to it.
    """
    began = perf_counter()
    B = discretizer.transform(fold.X)
    tree = OptimalTreeClassifier(max_depth=settings.max_depth, time_limit=settings.time_limit).fit(B, fold.y)
    seconds += perf_counter() - began
    structure: TreeStructure = tree.tree_
    used = discretizer.thresholds_.feature[structure.feature[structure.feature >= 0]]
    return fold.line(
        method,
        tree.predict(discretizer.transform(fold.X_test)),
        thresholds=len(discretizer.thresholds_),
        columns=len(np.unique(used)),
        leaves=tree.n_leaves_,
        optimal=float(tree.is_optimal_),
        seconds=seconds,
        **measures,
    )


def _fcca(fold: BenchmarkFold, settings: Benchmark) -> Iterator[Line]:
    """Yield the metrics of FCCA for every quantile of ``--q``.

    The counterfactuals are computed only once, because the quantile only decides which thresholds are kept.
    """
    began = perf_counter()
    black_box = FrozenEstimator(fold.black_box)
    discretizer = FCCADiscretizer(
        black_box, time_limit=settings.time_limit, n_jobs=settings.jobs, handle_unknown="ignore"
    ).fit(fold.X, fold.y)
    seconds = perf_counter() - began
    for Q in chosen_levels("--q", settings.q):
        yield _with_best_tree(f"FCCA Q={Q:g}", discretizer.set_granularity(Q), fold, settings, seconds, Q=Q)


def _gtre(fold: BenchmarkFold, settings: Benchmark) -> Iterator[Line]:
    relearns = settings.model not in (TargetModel.xgb, TargetModel.catboost)
    if not relearns and Columns.of_table(fold.X).has_categories:
        raise UnsupportedModelError(
            f"GTRE refits the black box on binary columns, but {settings.model} is configured for the "
            "categorical columns of this table. To include GTRE, use another --model."
        )
    began = perf_counter()
    discretizer = GTREDiscretizer(
        FrozenEstimator(fold.black_box), random_state=settings.random_state, handle_unknown="ignore"
    ).fit(fold.X, fold.y)
    yield _with_best_tree("GTRE", discretizer, fold, settings, perf_counter() - began)


def _cart(fold: BenchmarkFold, settings: Benchmark) -> Iterator[Line]:
    began = perf_counter()
    tree = DecisionTreeClassifier(max_depth=settings.max_depth, random_state=settings.random_state)
    fitted = prepared(tree, Columns.of_table(fold.X)).fit(fold.X, fold.y)
    seconds = perf_counter() - began
    model: Any = read_model(fitted)
    feature = model.feature
    n_columns, n_leaves = len(np.unique(feature[feature >= 0])), int((feature < 0).sum())
    yield fold.line("CART", _predicted(fitted, fold.X, fold.X_test), columns=n_columns, leaves=n_leaves, seconds=seconds)


METHOD: dict[str, Callable[[BenchmarkFold, Benchmark], Iterator[Line]]] = {"fcca": _fcca, "gtre": _gtre, "cart": _cart}


# --- console -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lines:
    """The printed metrics of all methods.

    They are printed as one table, or as two tables if one table is too wide for the console.
    """

    frame: pd.DataFrame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = _table(self.frame, (*HOW_GOOD, *HOW_LARGE))
        if console.measure(whole, options=options.update(width=1000)).maximum <= options.max_width:
            yield whole
        else:
            yield from (_table(self.frame, HOW_GOOD), Text(), _table(self.frame, HOW_LARGE))


def _table(frame: pd.DataFrame, columns: tuple[str, ...]) -> Table:
    table = plain_table(padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    add_numbers(table, *columns)
    for _, line in frame.iterrows():
        cells = _cells(line)
        style = "dim" if line["method"] in (BLACK_BOX, BASELINE) else ""
        table.add_row(Text(str(line["method"])), *(cells[name] for name in columns), style=style)
    return table


def _cells(line: pd.Series[Any]) -> dict[str, str]:
    def shown(value: float, form: str = "{:.1f}", missing: str = "–") -> str:
        return missing if np.isnan(value) else form.format(value)

    is_black_box = line["method"] == BLACK_BOX
    return {
        "accuracy": f"{percent(line['accuracy'])} ± {shown(100 * line['accuracy_se'])}",
        "fidelity": "–" if is_black_box else percent(line["fidelity"]),
        "seconds": f"{line['seconds']:.2f}",
        "thresholds": "–" if is_black_box else shown(line["thresholds"], missing="all"),
        "columns": shown(line["columns"]),
        "leaves": shown(line["leaves"]),
        "proven": "–" if np.isnan(line["optimal"]) else percent(line["optimal"], 0),
    }
