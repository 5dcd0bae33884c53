"""What Dask collections can hold that no table should: each is refused in words."""

import numpy as np
import pandas as pd
import pytest
from dask_tables import boosting, numbers

from fcca.exceptions import InvalidInputError
from real_data import imported

imported("dask")
imported("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from fcca.dask import _zeros_and_ones, distill  # noqa: E402
from fcca.dask._models import sampled  # noqa: E402
from fcca.dask._pieces import DaskPieces  # noqa: E402
from fcca.dask._tables import Table  # noqa: E402
from fcca.dask._zeros_and_ones import counted_bits  # noqa: E402
from fcca.streaming._stages import Rows  # noqa: E402


def test_only_collections_of_dask_have_parts():
    with pytest.raises(InvalidInputError, match=r"X must be a Dask DataFrame or a Dask array .* got ndarray"):
        Table.of_parts(np.zeros((3, 2)), np.zeros(3))


def test_arrays_of_different_lengths():
    X, y = da.zeros((6, 2), chunks=(3, 2)), da.zeros(5, chunks=3)
    with pytest.raises(InvalidInputError, match="X has 6 rows and y has 5"):
        Table.of_parts(X, y)


def test_chunks_may_end_elsewhere():
    table = Table.of_parts(da.zeros((6, 2), chunks=(3, 2)), da.zeros(6, chunks=2))
    assert table.parts[1].chunks == ((3, 3),)


def test_partitions_whose_labels_are_fewer_than_their_rows():
    with pytest.raises(InvalidInputError, match="X has 3 rows and y has 2"):
        counted_bits(Rows(np.zeros((3, 2)), np.array([0, 1])))


def test_more_distinct_rows_than_a_search_has_memory_for(monkeypatch):
    found = counted_bits(Rows(np.eye(3), np.array([0, 1, 0])))
    assert found.checked() is found
    monkeypatch.setattr(_zeros_and_ones, "MOST_BYTES", 3)
    with pytest.raises(InvalidInputError, match="The 3 columns tell more than 3 rows apart"):
        found.checked()


@pytest.mark.parametrize(("n", "rows", "said"), [(1, 20, "at least 2 rows, got 1"), (5, 0, "There are no rows")])
def test_samples_of_nothing(n, rows, said):
    frame = numbers().drop(columns="weight").iloc[:rows]
    parts = dd.from_pandas(frame, npartitions=1, sort=False)
    pieces = DaskPieces(Table.of_frame(parts, "label", None), None)
    with pytest.raises(InvalidInputError, match=said):
        sampled(pieces, n, seed=0)


def test_weights_that_are_no_numbers():
    frame = numbers()
    model = boosting(frame.drop(columns="weight"))
    frame["weight"] = pd.Series(["heavy"] * len(frame), dtype=object)
    with pytest.raises(InvalidInputError, match="sample_weight must be numbers"):
        distill(dd.from_pandas(frame, npartitions=2, sort=False), "label", model, sample_weight="weight")


def test_labels_of_pandas_own_truth_values_are_truth_values():
    frame = numbers().drop(columns="weight")
    frame["label"] = frame["label"] == frame["label"].iloc[0]
    model = boosting(frame)
    expected = distill(dd.from_pandas(frame, npartitions=2, sort=False), "label", model)
    nullable = frame.astype({"label": "boolean"})
    found = distill(dd.from_pandas(nullable, npartitions=2, sort=False), "label", model)
    assert found.classes_.dtype == np.bool_
    assert found.discretizer_.thresholds_ == expected.discretizer_.thresholds_
