"""Rows for databases that classifiers predict or refuse, in columns of several types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from export.trees import hard_rows
from fcca import FCCAClassifier
from fcca.export import DistilledTree, as_distilled


@dataclass
class Rows:
    """A table for a database, and the predictions for its rows.

    Attributes
    ----------
    tree : DistilledTree
    table : pyarrow.Table
        With NULL and NaN for missing values, infinite numbers, and unknown categories.
    clean : DataFrame
        The same rows with a good value in the place of every one that is refused.
    bad : ndarray of shape (n_rows, n_columns)
        Which values are refused.
    on_cuts : int
        How many values lie on a cut of the tree.
    """

    tree: DistilledTree
    table: pa.Table
    clean: pd.DataFrame
    bad: NDArray[np.bool_]
    on_cuts: int

    def refused(self, columns) -> NDArray[np.bool_]:
        """Rows with a refused value in one of these columns."""
        return self.bad[:, list(columns)].any(axis=1)


def table_rows(classifier: FCCAClassifier, X: pd.DataFrame, n: int, seed: int) -> Rows:
    """Rows on the cuts and one float beside them, in columns of 64 and 32 bits and of whole numbers, some of them bad."""
    rng = np.random.default_rng([seed, 1])
    tree = as_distilled(classifier)
    given = hard_rows(classifier, X, n, seed)
    arrays, clean, bad, on_cuts = {}, {}, np.zeros((n, len(X.columns)), dtype=bool), 0
    for j, name in enumerate(X.columns):
        good = X[name].dropna()
        good = good.iloc[rng.integers(0, len(good), n)].to_numpy(dtype=object)
        gap = given[name].isna().to_numpy() | (rng.random(n) < 0.02)
        make = _numbers if tree.columns[j].categories is None else _labels
        values, odd, arrays[name] = make(given[name], good, gap, tree, j, rng)
        bad[:, j] = odd
        seen = np.where(gap, None, values)
        clean[name] = np.where(bad[:, j], good, seen)
        if tree.columns[j].categories is None:
            clean[name] = clean[name].astype(float)
            nodes = tree.structure
            cuts = nodes.threshold[(nodes.feature == j) & ~np.isnan(nodes.threshold)]
            on_cuts += int(np.isin(clean[name], cuts).sum())
    return Rows(tree, pa.table(arrays), pd.DataFrame(clean), bad, on_cuts)


def _numbers(given, good, gap, tree, j, rng):
    """Numbers, a mask of infinite ones, and the same with NULL and NaN for missing values."""
    values = np.where(gap, 0.0, given.to_numpy(dtype=float))
    kind = ("float64", "float64", "float32", "int64", "int32")[rng.integers(5)]
    n = len(values)
    if kind.startswith("int"):
        whole = np.where(rng.random(n) < 0.5, np.floor(values), np.ceil(values)).astype(kind)
        if kind == "int64":
            whole = np.where(rng.random(n) < 0.01, 2**53 + 1, whole)
        return whole.astype(float), np.zeros(n, dtype=bool), pa.array(whole, mask=gap)
    if kind == "float32":
        near = values.astype(np.float32)
        beside = np.nextafter(near, np.float32(np.inf) * rng.choice([-1, 1], n).astype(np.float32))
        values = np.where(rng.random(n) < 0.5, near, beside)
    infinite = (rng.random(n) < 0.03) & ~gap
    values = np.where(infinite, rng.choice([-np.inf, np.inf], n), values).astype(kind)
    is_null = gap & (rng.random(n) < 0.5)
    written = np.where(gap, np.nan, values).astype(kind)
    return values.astype(float), infinite, pa.array(written, mask=is_null, from_pandas=False)


def _labels(given, good, gap, tree, j, rng):
    """Categories, some of them unknown, a mask of refused ones (none), and the same with NULL for missing values."""
    known = tree.columns[j].categories
    unseen = (rng.random(len(given)) < 0.05) & ~gap
    if isinstance(known[0], str):
        odd = [f"{label}{more}" for label in known for more in (" ", "\u0301", ".")]
        odd += (
            [label.swapcase() for label in known]
            + [f" {label}" for label in known]
            + ["", "unseen", "true", "1", "nan", "inf"]
        )
        odd = [label for label in odd if label not in known]
        kind = pa.string()
    else:
        odd = [-1, 99, 2**53, 2**40]
        kind = (pa.int64(), pa.float64(), pa.float32())[rng.integers(3)]
        if pa.types.is_floating(kind):
            odd = [float(label) for label in odd]
    strange = np.array(odd, dtype=object)[rng.integers(0, len(odd), len(given))]
    values = np.where(unseen, strange, np.where(gap, good, given.to_numpy(dtype=object)))
    is_nan = gap & pa.types.is_floating(kind) & (rng.random(len(given)) < 0.5)
    written = np.where(is_nan, np.nan, values) if pa.types.is_floating(kind) else values
    return (
        values,
        np.zeros(len(given), dtype=bool),
        pa.array([None if no else one for one, no in zip(written, gap & ~is_nan, strict=True)], kind, from_pandas=False),
    )
