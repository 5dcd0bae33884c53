"""Tables and splits of the quality benchmark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

import _results
from _data import load_frame
from experiments.datasets.csv_tables import SUFFIXES
from experiments.datasets.loading import BUNDLED
from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONTREE, CONTREE_SUFFIX = "contree", ".txt.gz"
MOST_ROWS = 9_000
SAMPLE_SEED = 0
LEAST_ROWS_OF_A_CLASS = 10
TEST_SIZE = 0.3
HALVES = ("odd", "even")


def find_data_folder() -> Path | None:
    """Find the folder of the tables: FCCA_DATA, or shared/data next to the repository, as in the Makefile."""
    if not os.environ.get("FCCA_DATA"):
        beside = Path(__file__).resolve().parents[2] / "shared" / "data"
        if not beside.is_dir():
            return None
        os.environ["FCCA_DATA"] = str(beside)
    folder = Path(os.environ["FCCA_DATA"]).expanduser()
    return folder if folder.is_dir() else None


def table_names(folder: Path | None) -> list[str]:
    """List all tables of the folder in alphabetical order. Without a folder, list the tables of scikit-learn."""
    if folder is None:
        return sorted(BUNDLED)
    paths = [(path.name, suffix) for suffix in SUFFIXES for path in folder.glob(f"*{suffix}")]
    paths += [(path.name, CONTREE_SUFFIX) for path in (folder / CONTREE).glob(f"*{CONTREE_SUFFIX}")]
    return sorted({name.removesuffix(suffix) for name, suffix in paths})


def half_of(name: str, names: Sequence[str]) -> str:
    """Return "odd" for the first, third, … table of the folder, and "even" for all other tables."""
    return HALVES[list(names).index(name) % 2] if name in names else "even"


def chosen_tables(asked: Sequence[str], names: Sequence[str]) -> list[str]:
    """List the tables requested by half or by name, in alphabetical order."""
    known = {*names, *BUNDLED}
    wanted: set[str] = set()
    for word in asked:
        if word == "all":
            wanted |= set(names)
        elif word in HALVES:
            wanted |= {name for name in names if half_of(name, names) == word}
        elif word in known:
            wanted.add(word)
        else:
            raise SystemExit(f"Unknown table {word!r}. Give all, odd, even, or some of: {', '.join(sorted(known))}.")
    return sorted(wanted)


def load_table(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Load a table with numbers as float64 and categories as strings.

    At most 9,000 rows are kept, and no class with fewer than ten rows.
    """
    folder = find_data_folder()
    path = None if folder is None else folder / CONTREE / f"{name}{CONTREE_SUFFIX}"
    if path is not None and path.is_file():
        X = pd.read_csv(path, sep=" ", header=None)
        y = X.pop(0).to_numpy()
        X.columns = [f"x{number}" for number in range(1, X.shape[1] + 1)]
    else:
        frame = load_frame(name)
        X, y = frame.drop(columns="label"), frame["label"].to_numpy()
    if len(X) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(SAMPLE_SEED).choice(len(X), MOST_ROWS, replace=False))
        X, y = X.iloc[rows], y[rows]
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts >= LEAST_ROWS_OF_A_CLASS])
    X = pd.DataFrame({str(column): _as_read(X[column][kept]) for column in X.columns})
    return X.reset_index(drop=True), y[kept]


def _as_read(column: pd.Series) -> pd.Series:
    """Convert a column of numbers to float64, and any other to strings with None for missing values."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(np.float64)
    texts = column.astype(object)
    return texts.map(str, na_action="ignore").astype(object).where(texts.notna(), None)


def readable(names: Sequence[str]) -> list[str]:
    """List the tables with class labels, and print which tables are left out."""
    found = []
    for name in names:
        try:
            load_table(name)
        except InvalidInputError as error:
            _results.skipped(f"{name}: {error}")
        else:
            found.append(name)
    return found


@dataclass(frozen=True)
class Split:
    """Training and held-out rows of one table, with classes as codes 0, 1, …"""

    table: str
    seed: int
    X: pd.DataFrame
    y: Integers
    X_test: pd.DataFrame
    y_test: Integers
    n_classes: int

    @cached_property
    def encoded(self) -> tuple[Floats, Floats]:
        """Training and held-out rows as numbers, with a 0/1 column per category and medians for missing numbers."""
        encoder = make_column_transformer(
            (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), make_column_selector(dtype_include=object)),
            (SimpleImputer(strategy="median"), make_column_selector(dtype_include=np.number)),
        ).fit(self.X)
        return np.asarray(encoder.transform(self.X)), np.asarray(encoder.transform(self.X_test))


@lru_cache(maxsize=1)
def split_of(name: str, seed: int) -> Split:
    """Make a stratified 70/30 split."""
    X, y = load_table(name)
    classes, codes = np.unique(y, return_inverse=True)
    training, held_out = train_test_split(np.arange(len(y)), test_size=TEST_SIZE, stratify=codes, random_state=seed)
    rows = X.iloc[training].reset_index(drop=True)
    others = X.iloc[held_out].reset_index(drop=True)
    return Split(name, seed, rows, codes[training], others, codes[held_out], len(classes))
