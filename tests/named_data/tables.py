"""Tables that the tests load: real ones, and one with the columns of a known one."""

from pathlib import Path

import numpy as np
import pandas as pd

from named_data.openml_server import write_arff
from real_data import FOLDER, absent


def real_table(name):
    if not FOLDER:
        absent(f"needs {name}.csv: set FCCA_DATA to the folder that has it")
    for suffix in (".csv", ".csv.gz"):
        if (path := Path(FOLDER) / f"{name}{suffix}").exists():
            return pd.read_csv(path)
    absent(f"{name}.csv is not in FCCA_DATA={FOLDER}")


def some_radar(n=40):
    """A table with ionosphere's columns: one binary, one constant, 32 continuous."""
    generator = np.random.default_rng(0)
    columns = [("a01", "numeric", [1, 0] * (n // 2)), ("a02", "numeric", [0] * n)]
    columns += [(f"a{j:02d}", "numeric", generator.random(n).round(5)) for j in range(3, 35)]
    return [*columns, ("class", ["b", "g"], ["b", "g"] * (n // 2))]


def offer_radar(server, **more):
    server.add(59, "ionosphere", write_arff(some_radar()), **more)
