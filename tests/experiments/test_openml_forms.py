"""Tables in the form of OpenML become the tables of the CSV files."""

import numpy as np
import pandas as pd
import pytest
from dataset_tables import real_table

from experiments.datasets import load
from experiments.datasets.catalog import CATALOG
from real_data import FOLDER


def numeric(table, names=None):
    columns = [column for column in table if column != "label"]
    return [(new, "numeric", table[old]) for new, old in zip(names or columns, columns, strict=True)]


def boston(table):
    cells = numeric(table)
    for name in ("CHAS", "RAD"):
        j = list(table.columns).index(name)
        texts = [f"{value:g}" for value in table[name]]
        cells[j] = (name, sorted(set(texts)), texts)
    # As in the original, several houses have the very median for their price.
    prices = 20 + 10 * table["label"] + np.arange(len(table)) % 4 / 4
    return [*cells, ("MEDV", "numeric", prices)], "MEDV"


def arrhythmia(table):
    cells = numeric(table, [f"column{j}" for j in range(191)])
    n = len(table)
    extra = [("sex", ["0", "1"], [str(i % 2) for i in range(n)]), ("nothing", "numeric", [0.0] * n)]
    extra += [("J", "numeric", [None if i % 3 else float(i) for i in range(n)])]
    kinds = [str(1 if not label else 2 + i % 15) for i, label in enumerate(table["label"])]
    classes = ("class", [str(k) for k in range(1, 17)], kinds)
    return [cells[0], extra[0], *cells[1:100], extra[1], *cells[100:], extra[2], classes], "class"


def ionosphere(table):
    n = len(table)
    binary = [("a01", "numeric", [i % 2 for i in range(n)]), ("a02", "numeric", [0] * n)]
    return [*binary, *numeric(table), ("class", ["b", "g"], ["gb"[label] for label in table["label"]])], "class"


def magic(table):
    cells = [("ID", "numeric", range(len(table))), *numeric(table, [f"f{j}:" for j in range(10)])]
    return [*cells, ("class:", ["g", "h"], ["gh"[label] for label in table["label"]])], "class:"


def bank_marketing(table):
    cells = [
        (
            f"V{j + 1}",
            "numeric" if pd.api.types.is_numeric_dtype(table[column]) else sorted(set(table[column])),
            table[column],
        )
        for j, column in enumerate(table.columns[:-1])
    ]
    return [*cells, ("Class", ["1", "2"], [str(1 + label) for label in table["label"]])], "Class"


def adult(table):
    cells = []
    for column in table.columns[:-1]:
        nominal = not pd.api.types.is_numeric_dtype(table[column])
        kind = sorted(set(table[column].dropna())) if nominal else "numeric"
        cells.append((column.replace("_", "-"), kind, table[column].astype(object).where(table[column].notna(), None)))
    return [*cells, ("class", [">50K", "<=50K"], ["<=50K" if not label else ">50K" for label in table["label"]])], "class"


def pima(table):
    cells = [(str(j), "numeric", table[column].fillna(0)) for j, column in enumerate(table.columns[:-1])]
    classes = ["tested_negative", "tested_positive"]
    return [*cells, ("class", classes, [classes[label] for label in table["label"]])], "class"


def spambase(table):
    cells = numeric(table, [f"word_freq_{j}" for j in range(54)] + [f"capital_run_{j}" for j in range(3)])
    return [*cells, ("class", ["0", "1"], [str(label) for label in table["label"]])], "class"


@pytest.mark.parametrize("form", [boston, arrhythmia, ionosphere, magic, bank_marketing, adult, pima, spambase])
def test_openmls_form_becomes_the_table_of_the_file(monkeypatch, openml, form):
    name = form.__name__
    table = real_table(name).head(3000) if name in ("adult", "bank_marketing") else real_table(name)
    columns, target = form(table)
    entry = CATALOG[name]
    openml.offer(entry.openml.id, entry.openml.name, columns, target)
    online = load(name)
    np.testing.assert_array_equal(online.y, table["label"])
    assert list(online.X.columns) == list(table.columns[:-1])
    for column in online.X:
        if column in online.categorical:
            assert online.X[column].astype(object).where(online.X[column].notna(), None).tolist() == (
                table[column].astype(object).where(table[column].notna(), None).tolist()
            )
        else:
            np.testing.assert_array_equal(online.X[column].to_numpy(float), table[column].to_numpy(float))
    if len(table) == entry.rows:
        monkeypatch.setenv("FCCA_DATA", FOLDER)
        assert load(name).note == online.note


def test_rows_where_miniboone_failed_are_left_out(openml):
    generator = np.random.default_rng(1)
    X = generator.random((60, 50)).round(4)
    X[[3, 17]] = -999.0
    columns = [("signal", ["True", "False"], ["True"] * 20 + ["False"] * 40)]
    columns += [(f"ParticleID_{j}", "numeric", X[:, j]) for j in range(50)]
    openml.offer(41150, "MiniBooNE", columns, "signal")
    data = load("particle")
    assert (data.rows, int(data.y.sum())) == (58, 18)
    np.testing.assert_array_equal(data.X, np.delete(X, [3, 17], axis=0))
    assert list(data.X.index) == list(data.y.index) == list(range(58))
    assert "-999 left out" in data.note


@pytest.mark.parametrize("kind", ["numeric", ["-1", "1"]])
def test_a_sparse_table_is_read(openml, kind):
    generator = np.random.default_rng(2)
    X = generator.random((30, 100)).round(3) * (generator.random((30, 100)) < 0.3)
    labels = np.where(generator.random(30) < 0.5, 1, -1)
    columns = [("Y", kind, labels)] + [(f"X{j}", "numeric", X[:, j]) for j in range(100)]
    openml.offer(357, "vehicle_sensIT", columns, "Y", sparse=True)
    data = load("vehicle")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, labels == 1)
