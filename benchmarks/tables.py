"""Compare the tree from a raw table with categories and missing values with the tree from a table encoded by hand.

Run: python benchmarks/tables.py [--data NAME …] [--models NAME …] [--seeds N] [--rows N] [--quick] [--json FILE]

Splits are stratified 70/30, and the same for both. *raw* are the columns of the file, as `fcca distill` reads them. *hand*
is the encoding of a careful user. It has a 0/1 column per category (missing is one of them). Missing numbers are replaced
with the median of the training rows and marked in another 0/1 column. Both trees use the same family of black boxes, the
same discretizer and the same settings, with one thread.
Held-out accuracy is measured. A data set passes if the tree from the raw table is at most one point worse, on average over
its seeds.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

import _results
from _data import at_hand, load_frame
from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.cli._models import target_model
from fcca.cli._options import TargetModel
from fcca.tables import Columns, known_rows

DATA = ("german_credit", "adult", "titanic", "compas", "pima", "bank_marketing")
MODELS = ("gb", "hgb", "lgbm", "xgb", "catboost")
LIBRARY = {"lgbm": "lightgbm", "xgb": "xgboost", "catboost": "catboost"}
TEST_SIZE = 0.3
BAR = 0.01


@dataclass(frozen=True)
class Outcome:
    """The results of one black box and its tree."""

    black_box: float
    tree: float
    conditions: int
    fit_seconds: float
    fcca_seconds: float
    unfinished: int


def main() -> None:
    """Print one line per data set, model and seed, and one verdict per data set and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--seeds", type=int, default=1, help="number of splits")
    parser.add_argument("--rows", type=int, default=None, help="maximum number of training rows, drawn at random")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="two small data sets, two models, one split")
    options = parser.parse_args()
    if options.quick:
        options.data, options.models, options.seeds = ("german_credit", "titanic"), ("gb", "hgb"), 1
    names = at_hand(options.data, instead=())
    if not names:
        return
    head = "".join(f"{side + ' ' + what:>11}" for side in ("raw", "hand") for what in ("box", "tree", "cond.", "s"))
    print(f"{'data':<16}{'model':<10}{'seed':>4}{head}{'points':>9}")
    missed = 0
    with threadpool_limits(1):
        models = [model for model in options.models if _results.is_installed(LIBRARY.get(model, "sklearn"))]
        for data in names:
            frame = load_frame(data)
            for model in models:
                differences = [
                    compared(data, frame, TargetModel(model), seed, options.rows, options.depth)
                    for seed in range(options.seeds)
                ]
                passed = float(np.mean(differences)) >= -BAR
                missed += not passed
                print(
                    f"{'PASS' if passed else 'MISS'}: {data}, {model}: {100 * np.mean(differences):+.2f} points", flush=True
                )
    print(f"{'MISS' if missed else 'PASS'}: {missed} data set(s) and models more than a point worse from the raw table")


def compared(data: str, frame: pd.DataFrame, model: TargetModel, seed: int, most_rows: int | None, depth: int) -> float:
    """Print one line, and return by how much the tree from the raw table is more accurate."""
    X, y = _as_read(frame.drop(columns="label")), frame["label"].to_numpy()
    training, held_out = train_test_split(np.arange(len(y)), test_size=TEST_SIZE, stratify=y, random_state=seed)
    if most_rows is not None and len(training) > most_rows:
        training, _ = train_test_split(training, train_size=most_rows, stratify=y[training], random_state=seed)
    held_out = held_out[known_rows(Columns.of_table(X.iloc[training]), X.iloc[held_out])]  # the same rows for both
    raw = measured(X, y, training, held_out, model, seed, depth)
    encoder = by_hand(X.iloc[training])
    encoded = pd.DataFrame(encoder.transform(X), columns=encoder.get_feature_names_out())
    hand = measured(encoded, y, training, held_out, model, seed, depth)
    cells = "".join(
        f"{outcome.black_box:>11.4f}{outcome.tree:>11.4f}{outcome.conditions:>11}"
        f"{outcome.fit_seconds + outcome.fcca_seconds:>11.1f}"
        for outcome in (raw, hand)
    )
    unfinished = (
        f"  ({raw.unfinished} and {hand.unfinished} searches unfinished)" if raw.unfinished + hand.unfinished else ""
    )
    difference = raw.tree - hand.tree
    figures = {
        f"{side} {what}": value
        for side, one in (("raw", raw), ("hand", hand))
        for what, value in (("box", one.black_box), ("tree", one.tree), ("conditions", one.conditions))
    }
    seconds = {"raw s": raw.fit_seconds + raw.fcca_seconds, "hand s": hand.fit_seconds + hand.fcca_seconds}
    _results.row("Held-out accuracy", data=data, model=model.value, seed=seed, **figures, **seconds, points=100 * difference)
    print(f"{data:<16}{model:<10}{seed:>4}{cells}{100 * difference:>+9.2f}{unfinished}", flush=True)
    return difference


def _as_read(X: pd.DataFrame) -> pd.DataFrame:
    """Convert numbers to float64 and strings to objects, as the command line does."""
    numbers = {name: X[name].astype(np.float64) for name in X.columns if pd.api.types.is_numeric_dtype(X[name].dtype)}
    texts = {name: X[name].astype(object) for name in X.columns if name not in numbers}
    return pd.DataFrame({name: numbers.get(name, texts.get(name)) for name in X.columns})


def by_hand(X: pd.DataFrame) -> Any:
    """Create the transformer that encodes a table as numbers without missing values."""
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), make_column_selector(dtype_include=object)),
        (SimpleImputer(strategy="median", add_indicator=True), make_column_selector(dtype_include=np.number)),
        verbose_feature_names_out=False,
    )
    return encoder.fit(X)


def measured(X: pd.DataFrame, y: Any, training: Any, held_out: Any, model: TargetModel, seed: int, depth: int) -> Outcome:
    """Fit the black box, find its conditions and the tree, and score both on the held-out rows."""
    rows = X.iloc[training]
    numbers = rows.select_dtypes("float64")
    widths = (numbers.max() - numbers.min()).to_numpy()
    began = perf_counter()
    target = target_model(model, seed, Columns.of_table(rows), widths).fit(rows, y[training])
    fitted = perf_counter()
    classifier = FCCAClassifier(
        FCCADiscretizer(FrozenEstimator(target), preset="paper"),
        OptimalTreeClassifier(max_depth=depth, max_leaf_nodes=None, criterion="error"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(rows, y[training])
    done = perf_counter()
    found = classifier.discretizer_.counterfactuals_
    answers = classifier.discretizer_.predict_target(X.iloc[held_out])
    return Outcome(
        black_box=float(np.mean(answers == y[held_out])),
        tree=float(np.mean(classifier.predict(X.iloc[held_out]) == y[held_out])),
        conditions=len(classifier.discretizer_.thresholds_),
        fit_seconds=fitted - began,
        fcca_seconds=done - fitted,
        unfinished=int(found.is_status("feasible", "unknown", "unverified").sum()),
    )


if __name__ == "__main__":
    _results.recorded(main)
