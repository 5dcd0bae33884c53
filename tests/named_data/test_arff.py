import numpy as np
import pandas as pd
import pytest

from fcca.datasets import _arff
from fcca.datasets._arff import read_arff
from fcca.exceptions import InvalidInputError
from named_data.openml_server import write_arff


def test_quotes_comments_and_missing_cells_of_arff(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text(
        "% a comment\n@Relation 'a b'\n@attribute 'the width' REAL\n@attribute \"it's\" {'a, b', 'c\\'d',e}\n"
        "@attribute note string\n@attribute k{x,y}\n@DATA\n% another\n1e3, 'a, b', 'said %', x\n\n?,'c\\'d',?,y\n%\n"
    )
    table = read_arff(path)
    assert list(table.columns) == ["the width", "it's", "note", "k"]
    assert table["the width"].tolist()[0] == 1000
    assert table.isna().sum().tolist() == [1, 0, 1, 0]
    assert table["it's"].tolist() == ["a, b", "c'd"]
    assert table["note"][0] == "said %"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello\n", "no @data"),
        ("@data\n1\n", "no @attribute"),
        ("@attribute a\n@data\n1\n", "names no attribute and its type"),
        ("@attribute a numeric\n@data\n", "no rows"),
        ("@attribute a numeric\n@data\nred\n", "damaged"),
        ("@attribute a numeric\n@attribute b numeric\n@data\n1,2\n1\n", "row 2 is too short"),
        ("@attribute a numeric\n@data\n1,2\n", "damaged"),
        ("@attribute a numeric\n@data\n{0 1}\n0 1\n", "not between braces"),
        ("@attribute a numeric\n@data\n{1 1}\n", "names attribute 1"),
        ("@attribute a numeric\n@data\n{0}\n", "damaged"),
        ("@attribute a numeric\n@data\n{0 red}\n", "damaged"),
        (b"@attribute a numeric\n@data\n\xff\n", "not UTF-8"),
    ],
)
def test_an_arff_file_that_is_none_is_refused(tmp_path, text, expected):
    path = tmp_path / "table.arff"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInputError, match=expected) as caught:
        read_arff(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("block", [1, 7, 5_000])
@pytest.mark.parametrize("classes", [["-1", "1"], ["low", "high"], ["a, b", "c"]])
@pytest.mark.parametrize("missing", [False, True])
def test_a_sparse_file_says_the_same_as_a_dense_one(tmp_path, monkeypatch, block, classes, missing):
    monkeypatch.setattr(_arff, "BLOCK", block)
    generator = np.random.default_rng(4)
    X = generator.normal(size=(20, 3)).round(3) * (generator.random((20, 3)) < 0.4)
    X[5] = 0.0
    X[19, 2] = np.nan if missing else 1.0
    kinds = [classes[0] if i == 5 else classes[i % 2] for i in range(20)]
    columns = [("k", classes, kinds), *((f"x{j}", "numeric", X[:, j]) for j in range(3))]
    tables = []
    for sparse in (False, True):
        path = tmp_path / f"{sparse}.arff"
        path.write_text(write_arff(columns, sparse=sparse))
        tables.append(read_arff(path))
    assert "{}" in path.read_text()
    pd.testing.assert_frame_equal(*tables)
    np.testing.assert_array_equal(tables[1][["x0", "x1", "x2"]], X)


def test_both_kinds_of_quotes_in_one_sparse_file(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text('@attribute a {"x, y", z}\n@attribute b numeric\n@data\n{0 "x, y", 1 2}\n{0 z}\n{}\n')
    table = read_arff(path)
    assert table["a"].tolist() == ["x, y", "z", "x, y"]
    assert table["b"].tolist() == [2, 0, 0]


@pytest.mark.parametrize("classes", ["{low,high}", "{0,1}", "{-1,+1}", "{1,1.0}"])
def test_a_class_that_every_sparse_row_leaves_out_is_the_first(tmp_path, classes):
    path = tmp_path / "table.arff"
    path.write_text(f"@attribute a {classes}\n@attribute b numeric\n@data\n{{1 2}}\n{{}}\n")
    assert read_arff(path)["a"].tolist() == [classes[1:].split(",")[0]] * 2


def test_a_class_that_was_not_declared_is_kept(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text("@attribute a {0,1}\n@attribute b numeric\n@data\n{0 2, 1 2}\n{0 1}\n")
    assert read_arff(path)["a"].tolist() == ["2", "1"]
