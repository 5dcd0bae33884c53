"""Tables that the tests load: real ones, and a stand-in for what OpenML has."""

from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from real_data import FOLDER, absent


def real_table(name):
    if not FOLDER:
        absent(f"needs {name}.csv: set FCCA_DATA to the folder that has it")
    for suffix in (".csv", ".csv.gz"):
        if (path := Path(FOLDER) / f"{name}{suffix}").exists():
            return pd.read_csv(path)
    absent(f"{name}.csv is not in FCCA_DATA={FOLDER}")


class StandIn:
    """Called like ``fetch_openml``; answers as that does with ``parser="liac-arff"``, or cannot reach OpenML."""

    def __init__(self):
        self.bunches = {}
        self.calls = []

    def __call__(self, **arguments):
        self.calls.append(arguments)
        if arguments["data_id"] not in self.bunches:
            raise URLError("no route to host")
        return self.bunches[arguments["data_id"]]

    def offer(self, data_id, name, columns, target="class", *, sparse=False):
        """Columns are (name, type, values); the type is ``numeric`` or a list of classes."""
        frame = pd.DataFrame({column: series(kind, values) for column, kind, values in columns})
        y = frame.pop(target)
        bunch = Bunch(data=frame, target=y, details={"name": name}, feature_names=list(frame.columns))
        if sparse:
            bunch.update(data=csr_matrix(frame.to_numpy(float)), target=y.to_numpy())
        self.bunches[data_id] = bunch


def series(kind, values):
    if kind == "numeric":
        return pd.Series(np.asarray(values, dtype=float))
    texts = pd.Series([None if value is None or value != value else str(value) for value in values], dtype=object)
    return texts.astype(pd.CategoricalDtype([str(value) for value in kind]))


def some_radar(n=40):
    """A table with ionosphere's columns: one binary, one constant, 32 continuous."""
    generator = np.random.default_rng(0)
    columns = [("a01", "numeric", [1, 0] * (n // 2)), ("a02", "numeric", [0] * n)]
    columns += [(f"a{j:02d}", "numeric", generator.random(n).round(5)) for j in range(3, 35)]
    return [*columns, ("class", ["b", "g"], ["b", "g"] * (n // 2))]
