"""Thresholds on categories, with a category distance of 1 and of "auto". One thread.

Run: python benchmarks/categories.py [--data NAME …] [--rows N] [--trees] [--json FILE]

The black box is the paper's, 100 boosted stumps, on at most --rows rows, which are drawn with a fixed seed. The scale is
"range". For each table and distance, the script prints the distance, the number of thresholds on categorical columns and of
all thresholds, the share of crossings on categories, and the number of categorical columns with a threshold. At a distance
of 1, a change of category costs as much as a move over the whole range of a numeric column. So it is the cheapest change for
few rows only. --trees also prints the trees of the paper's preset and of the defaults.
"""

from __future__ import annotations

import argparse
import warnings

import pandas as pd
from threadpoolctl import threadpool_limits

import _results
from _data import at_hand, load_frame
from fcca import FCCAClassifier, FCCADiscretizer

SEED = 0
DATA = ("adult", "bank_marketing", "german_credit", "titanic")
DISTANCES: tuple[float | str, ...] = (1.0, "auto")
WIDTHS = {"asked": 8, "distance": 10, "thresholds": 12, "on categories": 15, "of the crossings": 18, "columns": 10}


def main() -> None:
    """Print one line per table and distance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--rows", type=int, default=9000, help="maximum number of rows")
    parser.add_argument("--trees", action="store_true", help="print the trees of the paper's preset and of the defaults")
    options = parser.parse_args()
    print(f"{'data':<16}" + "".join(f"{title:>{width}}" for title, width in WIDTHS.items()))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in at_hand(options.data, instead=()):
            frame = load_frame(data)
            frame = frame.sample(min(options.rows, len(frame)), random_state=SEED)
            for distance in DISTANCES:
                measure(data, frame, distance)
            if options.trees:
                show_trees(frame)


def measure(data: str, frame: pd.DataFrame, distance: float | str) -> None:
    """Fit the black box, count its thresholds, and print one line."""
    X, y = frame.drop(columns="label"), frame["label"]
    discretizer = FCCADiscretizer(preset="paper", category_distance=distance).fit(X, y)
    table = discretizer.all_thresholds_
    categories = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    on_categories = table.kind == "set"
    share = float(table.count[on_categories].sum() / table.count.sum())
    n_columns = len(set(table.feature[on_categories].tolist()))
    figures = {
        "asked": str(distance),
        "distance": discretizer.category_distance_,
        "thresholds": len(table),
        "on categories": int(on_categories.sum()),
        "of the crossings": share,
        "columns": f"{n_columns} of {len(categories)}",
    }
    shown = figures | {"of the crossings": f"{100 * share:.0f} %"}
    print(f"{data:<16}" + "".join(f"{shown[title]!s:>{width}}" for title, width in WIDTHS.items()), flush=True)
    _results.row("Categories", data=data, **figures)


def show_trees(frame: pd.DataFrame) -> None:
    """Print the trees of the paper's preset and of the defaults."""
    X, y = frame.drop(columns="label"), frame["label"]
    for name, preset in (("the paper's preset", "paper"), ("the defaults", None)):
        classifier = FCCAClassifier(preset=preset).fit(X, y)
        print(f"  tree of {name}:")
        print("\n".join(f"    {rule}" for rule in classifier.rules()), flush=True)


if __name__ == "__main__":
    _results.recorded(main)
