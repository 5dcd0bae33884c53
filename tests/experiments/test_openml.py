"""Data sets of OpenML: how scikit-learn is asked, and what is done with its answers."""

from http.client import IncompleteRead
from urllib.error import HTTPError

import numpy as np
import pytest
from dataset_tables import some_radar

from experiments.datasets import DatasetNotFoundError, load
from fcca.exceptions import InvalidInputError


def test_scikit_learn_is_asked_by_id(openml):
    openml.offer(59, "ionosphere", some_radar())
    load("ionosphere")
    assert openml.calls == [{"data_id": 59, "as_frame": "auto", "parser": "liac-arff"}]


def test_a_download_is_prepared_as_the_papers_copy(openml):
    openml.offer(59, "ionosphere", some_radar())
    data = load("ionosphere")
    columns = {name: cells for name, _, cells in some_radar()}
    assert list(data.X.columns) == [f"X{j}" for j in range(32)]
    np.testing.assert_array_equal(data.X["X0"], columns["a03"])
    np.testing.assert_array_equal(data.y, [1, 0] * 20)
    assert (data.source, data.complete) == ("OpenML 59", True)
    assert "40 rows instead of the expected 351" in data.note


def test_without_downloads_openml_is_not_asked(openml):
    openml.offer(59, "ionosphere", some_radar())
    with pytest.raises(DatasetNotFoundError, match=r"downloads are switched off.*ionosphere\.csv"):
        load("ionosphere", download=False)
    assert openml.calls == []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (HTTPError("https://www.openml.org", 503, "Service Unavailable", None, None), "HTTP Error 503"),
        (TimeoutError("timed out"), "timed out"),
        (IncompleteRead(b"half"), "IncompleteRead"),
        (EOFError(), "EOFError"),
        (ValueError("md5 checksum of local file does not match description"), "md5 checksum"),
    ],
)
def test_a_failed_download_is_reported_with_the_file_to_put(openml, monkeypatch, error, expected):
    def fail(**_):
        raise error

    monkeypatch.setattr("experiments.datasets.openml.fetch_openml", fail)
    with pytest.raises(DatasetNotFoundError, match=rf"OpenML 59 could not be downloaded: .*{expected}") as caught:
        load("ionosphere")
    assert "ionosphere.csv" in str(caught.value)
    assert caught.value.__cause__.__cause__ is error


def test_a_data_set_of_another_name_is_refused(openml):
    openml.offer(59, "sonar", some_radar())
    with pytest.raises(DatasetNotFoundError, match="OpenML 59 is 'sonar', expected 'ionosphere'"):
        load("ionosphere")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (some_radar()[:-3] + some_radar()[-1:], "has 30 feature.*, expected 32"),
        ([*some_radar()[:-1], ("class", ["x", "g"], ["x", "g"] * 20)], "every label is .*0"),
        ([*some_radar()[:-1], ("class", ["b", "g"], [None, "g"] * 20)], "20 row.s. have no class"),
        ([("a01", ["red", "blue"], ["red", "blue"] * 20), *some_radar()[1:]], "features must be numbers"),
    ],
)
def test_a_table_with_other_columns_than_known_is_refused(openml, columns, expected):
    openml.offer(59, "ionosphere", columns)
    with pytest.raises(InvalidInputError, match=expected):
        load("ionosphere")
