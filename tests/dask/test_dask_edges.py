"""Invalid tables, labels and parameters: errors that name the problem, before any partition is read where possible."""

import numpy as np
import pandas as pd
import pytest
from dask_tables import assert_same, boosting, in_memory, in_parts, numbers
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.utils._param_validation import InvalidParameterError

from fcca import FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.selection import OptimalSelection
from real_data import imported

imported("dask")
imported("distributed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from fcca.dask import distill  # noqa: E402

# --- before any partition is read ----------------------------------------------------------------------------------------


def unreadable(frame):
    """The table in partitions that fail when they are read."""

    def read(part):
        raise AssertionError("a partition was read")

    return dd.from_map(read, [0, 1], meta=frame.iloc[:0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fit_to": "x"}, "'fit_to' parameter"),
        ({"n_thresholds": "auto"}, "n_thresholds='auto'.*Pass an integer"),
        ({"n_thresholds": -1}, "'n_thresholds' parameter"),
        ({"tree": 3}, "'tree' parameter"),
        ({"tree": OptimalTreeClassifier(max_depth=-1)}, "'max_depth' parameter"),
        ({"discretizer": FCCADiscretizer(p0=0.9, p1=0.1)}, "p0 must not be above p1"),
        ({"discretizer": FCCADiscretizer(Q=2)}, "'Q' parameter"),
        ({"discretizer": FCCADiscretizer(selection=OptimalSelection(n_thresholds=-1))}, "n_thresholds"),
        ({"discretizer": FCCADiscretizer(time_limit=1)}, "time_limit_per_row"),
        ({"discretizer": FCCADiscretizer(margin="10%")}, "margin=.10%.*Pass a number"),
        ({"discretizer": FCCADiscretizer(GradientBoostingClassifier())}, "Pass it as classifier instead"),
        ({"discretizer": 3}, "an FCCADiscretizer, got int"),
        ({"discretizer": OptimalTreeClassifier()}, "an FCCADiscretizer, got OptimalTreeClassifier"),
        ({"retries": "x"}, "retries must be an integer of at least 0, got 'x'"),
        ({"retries": -1}, "retries must be an integer of at least 0, got -1"),
        ({"sample": 2.5}, r"sample must be an integer of at least 2, got 2\.5"),
        ({"sample": 1}, "sample must be an integer of at least 2, got 1"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        ({"random_state": None}, "random_state must be an integer of at least 0, got None"),
        ({"client": "tcp://localhost"}, r"must be a dask\.distributed\.Client, got 'tcp"),
        ({"label": "y"}, "no column 'y'"),
        ({"sample_weight": "w"}, "no column 'w'"),
        ({"sample_weight": "label"}, "must be different columns, got 'label' for both"),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else "",
)
def test_parameters_are_checked_before_any_partition_is_read(given, message):
    arguments = {"ddf": unreadable(numbers(60).drop(columns="weight")), "label": "label"} | given
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        distill(**arguments)


def test_an_asynchronous_client_is_refused():
    from types import SimpleNamespace

    with pytest.raises(InvalidInputError, match="asynchronous=False"):
        distill(unreadable(numbers(60)), "label", client=SimpleNamespace(scatter=None, asynchronous=True))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (numbers(60), "must be a Dask DataFrame, got DataFrame"),
        (da.zeros((6, 2)), "must be a Dask DataFrame, got Array"),
        (unreadable(numbers(60)[["label"]]), "no features"),
        (unreadable(numbers(60).rename(columns={"x1": "x0"})), "Column names must be unique; repeated: 'x0'"),
    ],
    ids=["pandas", "array", "label alone", "repeated names"],
)
def test_tables_are_checked_before_any_partition_is_read(table, message):
    with pytest.raises(InvalidInputError, match=message):
        distill(table, "label")


def test_a_dict_that_xgboost_did_not_return_is_refused():
    with pytest.raises(UnsupportedModelError, match="Expected a classifier, or the result of"):
        distill(unreadable(numbers(60)), "label", {"history": []})


# --- in the partitions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", ["fitted", None])
@pytest.mark.parametrize(
    ("rows", "message"), [(0, "There are no rows to learn from"), (100, "at least two classes")], ids=["none", "one class"]
)
def test_a_table_without_rows_or_with_one_class_is_refused(rows, message, classifier):
    frame = numbers(100).drop(columns="weight")
    black_box = None if classifier is None else boosting(frame)
    ddf = in_parts(frame.assign(label=0), 3).loc[: rows - 1]
    with pytest.raises(InvalidInputError, match=message):
        distill(ddf, "label", black_box)


def test_weights_must_be_numbers():
    frame = numbers(60)
    black_box = boosting(frame)
    frame["weight"] = pd.Series(["heavy"] * len(frame), dtype=object)
    with pytest.raises(InvalidInputError, match="sample_weight must be a column of numbers"):
        distill(in_parts(frame, 2), "label", black_box, sample_weight="weight")


NO_CLASSES = {
    "continuous": (np.linspace(0, 1, 60), r"has values such as 0\.\d"),
    "infinite": (np.where(np.arange(60) == 50, np.inf, np.arange(60) % 2), "has values such as inf"),
    "missing number": (np.where(np.arange(60) == 50, np.nan, np.arange(60) % 2), "has a missing value in row 50"),
    "missing text": (np.array(["no", "yes"] * 25 + [None] + ["no"] * 9, dtype=object), "has a missing value in row 50"),
    "texts and numbers": (np.array(["no", 1] * 30, dtype=object), "has objects of type mixed-integer"),
    "lists": (np.array([[1], [1, 2]] * 30, dtype=object), "has objects of type mixed"),
    "bytes": (np.array([b"no", b"yes"] * 30), "has objects of type bytes"),
}


@pytest.mark.parametrize("labels", NO_CLASSES)
def test_labels_that_are_not_classes_are_refused(labels):
    y, message = NO_CLASSES[labels]
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        ddf = in_parts(numbers(60).assign(label=pd.Series(y)), 2)
        with pytest.raises(InvalidInputError, match=f"The label column 'label' {message}"):
            distill(ddf, "label")


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "boolean"])
def test_nullable_labels_are_those_of_numpy(kind):
    frame = numbers(200).drop(columns="weight")
    if kind == "boolean":
        frame["label"] = frame["label"] == 1
    black_box = boosting(frame)
    found = distill(in_parts(frame.astype({"label": kind}), 2), "label", black_box)
    assert found.classes_.dtype == frame["label"].dtype
    assert_same(found, in_memory(frame, black_box))
