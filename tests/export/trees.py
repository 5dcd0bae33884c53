"""Random classifiers for the exporters, and difficult rows: on the cuts, one float beside, with missing values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier

HOSTILE = ['"""', "x\n; import os", "{y!r} {0} %s", "'; DROP TABLE rows; --", "</script><b>|`", "é 🚀 \u202e", "a\\"]
LABELS = (["no", "yes"], [0, 1], [True, False], ["'a", '"b"\n', "c`|"], [1.0, 2.0, -3.0, 7.0], ["x", "y", "z", "w"])
CATEGORIES = (["car", "tv", "boat"], [3, 1, 2, 10], ["it's", 'say "hi"', "</b>", "{x}", "\n"], ["a", "b"])
N_TREES = 36


def random_table(rng: np.random.Generator, n: int, *, gaps: bool, categories: bool) -> pd.DataFrame:
    names = rng.permutation(HOSTILE)[:5].tolist()
    table = {
        names[0]: rng.normal(0, 10.0 ** rng.integers(-3, 4), n),
        names[1]: rng.integers(0, 6, n).astype(float),
        names[2]: np.round(rng.gamma(2, 2, n), 1),
    }
    if categories:
        for name in names[3:]:
            labels = CATEGORIES[rng.integers(len(CATEGORIES))]
            table[name] = pd.Categorical(np.array(labels, dtype=object)[rng.integers(0, len(labels), n)], categories=labels)
    frame = pd.DataFrame(table)
    if gaps:
        for name in frame.columns[::2]:
            frame.loc[rng.random(n) < 0.2, name] = np.nan
    return frame


@cache
def fitted(seed: int) -> tuple[FCCAClassifier, pd.DataFrame]:
    """A classifier on a random table, and the table."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, 150, gaps=seed % 3 > 0, categories=seed % 2 > 0)
    labels = LABELS[seed % len(LABELS)]
    numbers = X.iloc[:, [1, 2]].fillna(-1).to_numpy()
    score = numbers[:, 0] + np.sin(numbers[:, 1]) * 3 + rng.normal(0, 0.5, len(X))
    for name in X.columns[3:]:
        score = score + 2 * (X[name] == X[name].cat.categories[0]).to_numpy()
    score = score - 2 * X.iloc[:, 0].isna().to_numpy()
    edges = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = np.array(labels)[np.searchsorted(edges, score)]
    model = RandomForestClassifier(6, max_depth=3, random_state=seed)
    tree = OptimalTreeClassifier(max_depth=1 + seed % 4, regularization=0.0 if seed % 5 else 0.5)
    return FCCAClassifier(FCCADiscretizer(model), tree).fit(X, y), X


def hard_rows(classifier: FCCAClassifier, X: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Rows of values from the table, most numbers on a cut of the tree or one float beside it.

    Some values are missing, and some categories unknown, even where the table has no such value.
    """
    rng = np.random.default_rng(seed)
    nodes = classifier.structure_
    columns = {}
    for j, name in enumerate(X.columns):
        values = X[name].iloc[rng.integers(0, len(X), n)].reset_index(drop=True)
        cuts = nodes.threshold[(nodes.feature == j) & ~np.isnan(nodes.threshold)]
        if len(cuts):
            cut = rng.choice(cuts, n)
            near = np.select(
                [rng.random(n) < 1 / 3, rng.random(n) < 0.5], [cut, np.nextafter(cut, np.inf)], np.nextafter(cut, -np.inf)
            )
            values = values.where((rng.random(n) < 0.3) | values.isna(), near)
        if isinstance(values.dtype, pd.CategoricalDtype):
            strange = "never seen" if isinstance(values.cat.categories[0], str) else 99
            values = values.astype(object).where(rng.random(n) >= 0.05, strange)
        columns[name] = values.where(rng.random(n) >= 0.03, np.nan)
    return pd.DataFrame(columns)


def as_dictionaries(X: pd.DataFrame, seed: int = 0) -> list[dict[str, object]]:
    """Rows as dictionaries; a missing value is None or NaN."""
    rng = np.random.default_rng(seed)
    rows = []
    for values in X.astype(object).itertuples(index=False, name=None):
        row = {}
        for name, value in zip(X.columns, values, strict=True):
            row[name] = [None, float("nan")][rng.integers(2)] if pd.isna(value) else value
        rows.append(row)
    return rows
