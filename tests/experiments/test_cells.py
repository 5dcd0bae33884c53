"""Cells: what makes them stale, what is refused, and how a failing one is named."""

import numpy as np
import pandas as pd
import pytest

from experiments import data, runner, study
from experiments.rows import NotMeasuredError
from experiments.verdicts import almost_everywhere
from fcca.exceptions import InvalidInputError


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """A folder for data sets of one's own; what was cached of others is forgotten."""
    monkeypatch.setenv("FCCA_DATA", str(tmp_path))
    for cached in (data._dataset, data.data_digest):
        cached.cache_clear()
    yield tmp_path
    for cached in (data._dataset, data.data_digest):
        cached.cache_clear()


def write(folder, seed, n=60, **columns):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), **columns})
    frame.assign(label=np.arange(n) % 2).to_csv(folder / "mine.csv", index=False)


def test_other_data_makes_a_cell_stale(own_data):
    cell = study.Cell("mine", 0, "kbins")
    write(own_data, 0)
    first = study.fingerprint(cell)
    assert study.fingerprint(cell) == first
    write(own_data, 1)
    data._dataset.cache_clear()
    data.data_digest.cache_clear()
    assert study.fingerprint(cell) != first


def test_data_with_gaps_is_refused_before_work_starts(own_data):
    write(own_data, 0, c=np.where(np.arange(60) == 7, np.nan, 1.0))
    with pytest.raises(InvalidInputError, match="mine has missing values in c"):
        data.load_fold("mine", 0)


def test_a_failing_cell_is_named(own_data, tmp_path):
    write(own_data, 0)
    with pytest.raises(runner.CellFailedError, match="mine-0-no-such-method failed: KeyError"):
        runner.run([study.Cell("mine", 0, "no-such-method")], tmp_path / "out", 1)


def test_almost_all_of_two_data_sets_says_nothing():
    with pytest.raises(NotMeasuredError, match="almost all"):
        almost_everywhere(pd.Series({"boston": True, "magic": False}), 1, "")
    assert almost_everywhere(pd.Series({"boston": True, "magic": False, "vehicle": True}), 1, "").holds
