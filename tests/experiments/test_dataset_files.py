"""Data sets that are files in a folder, and what is said where there is none."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dataset_tables import real_table, some_radar

from experiments.datasets import DatasetNotFoundError, load, names
from experiments.datasets.catalog import CATALOG
from fcca.exceptions import FCCAError, InvalidInputError
from real_data import FOLDER

pytestmark = pytest.mark.usefixtures("openml")  # no test reads the user's folder or asks the real OpenML
PARTS = {"particle": 5027, "vehicle": 1860}


@pytest.mark.parametrize("name", CATALOG)
def test_a_file_is_read_as_it_is_and_knows_its_size(monkeypatch, name):
    table = real_table(name)
    monkeypatch.setenv("FCCA_DATA", FOLDER)
    data = load(name)
    entry = CATALOG[name]
    expected = PARTS.get(name, entry.rows)
    assert (data.rows, data.features) == (len(table), entry.features) == (expected, table.shape[1] - 1)
    assert data.complete == (name not in PARTS)
    assert list(data.X.columns) == list(table.columns[:-1])
    assert data.categorical == [column for column in data.X if column in entry.categorical]
    numbers = [column for column in data.X if column not in data.categorical]
    pd.testing.assert_frame_equal(data.X[numbers], table[numbers])
    np.testing.assert_array_equal(data.y, table["label"])
    assert data.y.dtype == np.int64
    assert Path(data.source).parent == Path(FOLDER)
    assert name in names()


@pytest.mark.parametrize(("name", "printed"), [("particle", "n = 86,209, m = 50"), ("vehicle", "n = 98,928, m = 100")])
def test_a_part_says_how_large_a_part_and_what_the_paper_prints(monkeypatch, name, printed):
    real_table(name)
    monkeypatch.setenv("FCCA_DATA", FOLDER)
    data = load(name)
    assert not data.complete
    assert f"{data.rows:,} of the original's {CATALOG[name].rows:,} rows" in data.note
    assert f"Table 1 prints {printed}" in data.note
    assert data.note in repr(data)


def test_a_smaller_file_than_the_original_is_a_part(folder):
    pd.DataFrame({"CRIM": np.arange(10.0), "label": [0, 1] * 5}).to_csv(folder / "boston.csv", index=False)
    data = load("boston")
    assert not data.complete
    assert data.note == "10 of the original's 506 rows; the paper's Table 1 prints n = 506, m = 14"


def test_any_table_of_the_folder_is_loaded_by_its_name(folder):
    pd.DataFrame({"a": [1.5, None, 2.0], "label": ["no", "yes", "no"]}).to_csv(folder / "mine.v2.csv.gz", index=False)
    data = load("mine.v2")
    assert (data.rows, data.complete, data.note, data.paper) == (3, True, "", None)
    assert data.X["a"].isna().tolist() == [False, True, False]
    assert data.y.tolist() == ["no", "yes", "no"]
    assert "mine.v2" in names()


def test_a_file_goes_before_the_bundled_data_and_before_openml(openml, folder):
    openml.offer(59, "ionosphere", some_radar())
    for name in ("iris", "ionosphere"):
        pd.DataFrame({"a": [1, 2], "label": [0.0, 1.0]}).to_csv(folder / f"{name}.csv", index=False)
        data = load(name)
        assert (data.rows, data.y.tolist(), data.y.dtype) == (2, [0, 1], np.int64)
    assert openml.calls == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe\x00\x01,label\n\x80,1\n", "cannot be read"),
        (b"a,label\n1,0\n1,2,3,4\n", "cannot be read"),
        (b"a,label\n1,2,0\n3,4,1\n", "more cells than the header"),
        (b"a,b\n1,0\n2,1\n", "last column must be named label, but it is 'b'"),
        (b"label,b\n1,0\n2,1\n", "last column must be named label"),
        (b"a,label\n", "0 row.s. and 1 feature"),
        (b"label\n0\n1\n", "0 feature"),
        (b"a,b,label\n1,red,0\n2,4,1\n", r"columns contain text: b \(with 'red'\)"),
        (b"a,label\n1,0\n2,\n", "1 row.s. have no label"),
        (b"a,label\n1,0\n2,0\n", "At least two classes"),
        (b"a,label\n1,0.5\n2,0.25\n", "must contain classes, but it contains .*0.5"),
        (b"a,label\n1,0\ninf,1\n", "infinite values in a"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_path_and_the_reason(folder, content, expected):
    (folder / "broken.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load("broken")
    assert str(folder / "broken.csv") in str(caught.value)


@pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda content: b"no gzip at all", lambda _: b""])
def test_a_damaged_archive_is_refused(folder, damage):
    content = gzip.compress(b"a,label\n" + b"1.25,0\n2.5,1\n" * 500)
    (folder / "broken.csv.gz").write_bytes(damage(content))
    with pytest.raises(InvalidInputError, match=r"broken\.csv\.gz"):
        load("broken")


def test_a_mistyped_folder_is_an_error_and_not_a_download(monkeypatch, tmp_path, openml):
    openml.offer(59, "ionosphere", some_radar())
    monkeypatch.setenv("FCCA_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInputError, match=r"FCCA_DATA=.*nowhere is not a folder"):
        load("ionosphere")
    with pytest.raises(InvalidInputError, match="not a folder"):
        names()
    assert openml.calls == []


@pytest.mark.parametrize("name", ["../boston", "a/b", "", ".hidden", None, 3])
def test_a_name_is_no_path(name):
    with pytest.raises(InvalidInputError, match="FCCA_DATA"):
        load(name)


def test_what_is_nowhere_is_told_with_the_file_to_put_and_where():
    with pytest.raises(DatasetNotFoundError) as caught:
        load("boston")
    message = str(caught.value)
    for words in ("OpenML", "no route to host", "boston.csv", "FCCA_DATA", "506 rows, 13 features", "label", "median"):
        assert words in message
    assert isinstance(caught.value, FCCAError)
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.__cause__ is not None


def test_what_openml_does_not_have_is_asked_for_as_a_file(folder):
    with pytest.raises(DatasetNotFoundError, match=r"not on OpenML.*heloc\.csv") as caught:
        load("heloc")
    assert str(folder) in str(caught.value)
    assert "heloc" not in names()


def test_an_unknown_name_is_answered_with_the_nearest_known_one():
    with pytest.raises(DatasetNotFoundError, match=r"Did you mean 'boston'\?.*bostn\.csv"):
        load("bostn")


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "wine"])
def test_bundled_data_needs_no_network(name):
    data = load(name, download=False)
    assert data.source == "scikit-learn"
    assert data.rows == len(data.y) > 100
    assert name in names()


def test_classes_that_are_true_and_false_are_one_and_zero(folder):
    (folder / "mine.csv").write_text("a,label\n1,True\n2,False\n")
    data = load("mine")
    assert (data.y.tolist(), data.y.dtype) == ([1, 0], np.int64)
