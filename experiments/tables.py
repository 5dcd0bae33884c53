"""Tables of the page: the paper's two tables next to our results, and a table of all methods."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from experiments.rows import Results, standard_error
from experiments.study import N_FOLDS


@dataclass(frozen=True)
class Printed:
    """Numbers that the paper prints for a data set in its Tables 1 and 2, including misprints."""

    n: int
    m: int
    training: int
    external: int
    p1: float
    accuracy: float
    seconds: float


PAPER = {
    "boston": Printed(506, 14, 506, 0, 1.0, 0.8281, 7.73),
    "arrhythmia": Printed(453, 191, 453, 0, 1.0, 0.7944, 21.54),
    "ionosphere": Printed(351, 32, 351, 0, 1.0, 0.9146, 8.15),
    "magic": Printed(19020, 10, 5000, 14020, 0.7, 0.8313, 23.81),
    "particle": Printed(86209, 50, 5000, 81209, 0.7, 0.8894, 16.80),
    "vehicle": Printed(98928, 100, 5000, 93928, 0.7, 0.8543, 25.23),
}
UNEVEN = 0.02  # a held-out fold may differ from a fifth of the rows by this share
CLASSIFIERS = {
    "cart": "CART",
    "optimal tree": "optimal tree",
    "pycontree": "pycontree",
    "naive Bayes": "naive Bayes",
    "logistic regression": "logistic regression",
}
#: Columns of the table of all methods that describe a discretization, with titles and numbers of digits.
OF_TABLE = {
    "thresholds": ("thresholds", 1),
    "features": ("features", 1),
    "compression": ("compression", 3),
    "inconsistency": ("inconsistency", 3),
    "seconds": ("seconds", 2),
}


def _sizes(results: Results, dataset: str) -> tuple[int, int, int]:
    """Return the number of rows in all folds, of external rows, and of features."""
    folds = results.select(dataset=dataset).groupby("fold")[["rows", "test rows", "columns"]].first()
    rows, test, features = (int(value) for value in folds.iloc[0])
    held_out = rows / (N_FOLDS - 1)
    # Without external rows, the test rows are the held-out fold. The sizes of folds differ by up to one row per class.
    if abs(test - held_out) <= 2 + UNEVEN * held_out:
        return rows + test, 0, features
    # Every row is a training row in all folds except one.
    return round(folds["rows"].mean() * N_FOLDS / (N_FOLDS - 1)), test, features


def table_1(results: Results) -> pd.DataFrame:
    """Build Table 1: sizes of the data sets in the paper and here."""
    rows = []
    for name in results.datasets:
        in_folds, external, features = _sizes(results, name)
        paper = PAPER.get(name)
        rows.append(
            {
                ("data set", ""): name,
                ("n", "paper"): _number(None if paper is None else paper.n),
                ("n", "here"): _number(in_folds + external),
                ("m", "paper"): _number(None if paper is None else paper.m),
                ("m", "here"): _number(features),
                ("rows for the folds", "paper"): _number(None if paper is None else paper.training),
                ("rows for the folds", "here"): _number(in_folds),
                ("external test rows", "paper"): _number(None if paper is None else paper.external),
                ("external test rows", "here"): _number(external),
                ("note", ""): results.notes.get(name, ""),
            }
        )
    return _frame(rows)


def table_2(results: Results) -> pd.DataFrame:
    """Build Table 2: accuracy of the target model and seconds per fold, in the paper and here."""
    rows = []
    for name in results.datasets:
        found = results.select("fcca", 0.0, "cart", name)
        paper = PAPER.get(name)
        accuracy = found["target accuracy"]
        rows.append(
            {
                ("data set", ""): name,
                ("p1", ""): "–" if paper is None else f"{paper.p1:g}",
                ("accuracy of the target (%)", "paper"): "–" if paper is None else f"{100 * paper.accuracy:.2f}",
                ("accuracy of the target (%)", "here"): plus_minus(100 * accuracy, 2),
                ("FCCA, seconds a fold", "paper"): "–" if paper is None else f"{paper.seconds:.2f}",
                ("FCCA, seconds a fold", "here"): plus_minus(found["seconds"], 3),
                ("paper ÷ here", ""): (
                    "–" if paper is None or found.empty else f"{paper.seconds / found['seconds'].mean():.0f}"
                ),
                ("note", ""): results.notes.get(name, ""),
            }
        )
    return _frame(rows)


def all_methods(results: Results) -> pd.DataFrame:
    """Build the table of all methods and granularities: mean ± standard error over folds."""
    rows = []
    keys = ["dataset", "method", "Q", "lambda0"]
    order = {name: i for i, name in enumerate(results.datasets)}
    for (dataset, method, Q, lambda0), group in sorted(
        results.rows.groupby(keys, dropna=False, sort=False), key=lambda item: order[item[0][0]]
    ):
        once = group.drop_duplicates("fold")
        row = {
            ("data set", ""): dataset,
            ("method", ""): method,
            ("Q", ""): _or_dash(Q),
            ("λ0", ""): _or_dash(lambda0),
        }
        row |= {(title, ""): plus_minus(once[column], digits) for column, (title, digits) in OF_TABLE.items()}
        for classifier, title in CLASSIFIERS.items():
            row["accuracy", title] = plus_minus(group[group["classifier"] == classifier]["accuracy"], 3)
        for classifier in ("cart", "optimal tree"):
            asked = group[group["classifier"] == classifier]["classifier features"]
            row["features used", CLASSIFIERS[classifier]] = plus_minus(asked, 1)
        proven = group[group["classifier"] == "optimal tree"]["proven"]
        row["optimal tree proven", ""] = f"{int(proven.astype(bool).sum())} of {len(proven)}" if len(proven) else "–"
        rows.append(row)
    return _frame(rows)


def plus_minus(values: pd.Series, digits: int) -> str:
    """Format mean ± standard error; a dash if there are no values."""
    values = values.astype(float).dropna()
    if values.empty:
        return "–"
    mean = f"{values.mean():,.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {standard_error(values):.{digits}f}"


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _or_dash(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:g}"


def _frame(rows: list[dict[tuple[str, str], str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    return frame
