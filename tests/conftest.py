"""What tests share: real data where it is at hand, and how to do without it."""

import os
from pathlib import Path

import pandas as pd
import pytest

DATA = Path(os.environ.get("FCCA_DATA") or Path(__file__).parents[2] / "shared" / "data")


def absent(what):
    """Skip, or fail where the environment promised that everything is there."""
    if os.environ.get("FCCA_REQUIRE_ALL"):
        pytest.fail(f"{what} is required here (FCCA_REQUIRE_ALL is set)")
    pytest.skip(what)


@pytest.fixture(scope="session")
def load_data():
    """A function from the name of a data set to (X, y); skips where the file is absent."""

    def load(name):
        path = DATA / f"{name}.csv"
        if not path.exists():
            absent(f"{name}.csv is not in {DATA}; set FCCA_DATA to the folder that has it")
        frame = pd.read_csv(path)
        return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()

    return load
