"""What Dask collections can hold that no table should: each is refused in words."""

import numpy as np
import pandas as pd
import pytest
from dask_tables import assert_same, boosting, features, in_memory, numbers
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import InvalidParameterError

import fcca
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from real_data import imported

imported("dask")
imported("distributed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from fcca.dask import (  # noqa: E402
    FCCAClassifier,
    FCCADiscretizer,
    OptimalTreeClassifier,
    _zeros_and_ones,
    distill,
)
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


@pytest.fixture(scope="module")
def scored():
    """A table and a classifier that was fitted on it."""
    frame = numbers(90)
    classifier = FCCAClassifier(fcca.FCCADiscretizer(FrozenEstimator(boosting(frame))))
    return frame, classifier.fit(*of_sizes(frame, 45, 45)[:2])


def of_sizes(frame, *sizes):
    """Columns, labels and weights, in partitions of these sizes."""
    return [in_sizes(part, *sizes) for part in (features(frame), frame["label"], frame["weight"])]


def in_sizes(part, *sizes):
    """In partitions of these sizes, of which Dask does not know."""
    ends = np.cumsum(sizes)
    return dd.from_map(lambda end, size: part.iloc[end - size : end], ends, sizes, meta=part.iloc[:0])


@pytest.mark.parametrize("sizes", [(50, 40), (40, 50), (0, 90)], ids=str)
@pytest.mark.parametrize("which", ["y", "sample_weight"])
def test_partitions_whose_labels_or_weights_are_more_or_fewer_than_their_rows(scored, sizes, which):
    frame, classifier = scored
    X, y, _ = of_sizes(frame, 45, 45)
    other = in_sizes(frame["label" if which == "y" else "weight"], *sizes)
    given = (X, other) if which == "y" else (X, y, other)
    said = f"X has 45 rows and {which} has ({sizes[0]}|{sizes[1]})"  # whichever partition is first
    tree = OptimalTreeClassifier()
    with dask.config.set(scheduler="synchronous"):
        for method in (classifier.score, FCCAClassifier().fit):
            with pytest.raises(InvalidInputError, match=said):
                method(*given)
        with pytest.raises(InvalidInputError, match=said):
            tree.fit((X > 0).astype(int), *given[1:])


@pytest.mark.parametrize("wrong", [np.nan, -1.0, np.inf])
def test_scores_of_weights_that_are_none(scored, wrong):
    frame, classifier = scored
    weight = pd.Series(np.where(frame.index < 60, wrong, 1.0), index=frame.index)
    with pytest.raises(InvalidInputError, match="sample_weight must be finite; negative values"):
        classifier.score(*of_sizes(frame, 45, 45)[:2], in_sizes(weight, 45, 45))


def test_scores_of_nothing(scored):
    frame, classifier = scored
    X, y, weight = of_sizes(frame, 45, 45)
    with pytest.raises(InvalidInputError, match="nothing to score"):
        classifier.score(X, y, weight * 0)
    with pytest.raises(InvalidInputError, match="nothing to score"):
        classifier.score(*of_sizes(frame, 0, 0)[:2])
    with pytest.raises(InvalidInputError, match="its sum overflows"):
        classifier.score(X, y, in_sizes(pd.Series(3e306, index=frame.index), 45, 45))


def test_scores_where_one_partition_weighs_nothing(scored):
    frame, classifier = scored
    weight = frame["weight"].where(frame.index >= 45, 0)
    found = classifier.score(*of_sizes(frame, 45, 45)[:2], in_sizes(weight, 45, 45))
    assert found == pytest.approx(classifier.to_local().score(features(frame), frame["label"], weight), abs=1e-12)


def test_more_distinct_rows_than_a_search_has_memory_for(monkeypatch):
    found = counted_bits(Rows(np.eye(3), np.array([0, 1, 0])))
    assert found.checked() is found
    monkeypatch.setattr(_zeros_and_ones, "MOST_BYTES", 3)
    with pytest.raises(InvalidInputError, match="The 3 columns tell more than 3 rows apart"):
        found.checked()


@pytest.mark.parametrize(
    ("n", "rows", "said"), [(1, 20, "at least 2 rows, a whole number, got 1"), (5, 0, "There are no rows")]
)
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


# --- labels that are no classes ------------------------------------------------------------------------------------------

NO_CLASSES = {
    "continuous": (np.linspace(0, 1, 60), "are numbers such as 0"),
    "infinite": (np.where(np.arange(60) == 50, np.inf, np.arange(60) % 2), "are numbers such as inf"),
    "gap among numbers": (np.where(np.arange(60) == 50, np.nan, np.arange(60) % 2), "have no value in row"),
    "gap among texts": (np.array(["no", "yes"] * 25 + [None] + ["no"] * 9, dtype=object), "have no value in row"),
    "texts and numbers": (np.array(["no", 1] * 30, dtype=object), "hold objects of type mixed-integer"),
    "lists": (np.array([[1], [1, 2]] * 30, dtype=object), "hold objects of type mixed"),
    "bytes": (np.array([b"no", b"yes"] * 30), "hold objects of type bytes"),
}


@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("labels", NO_CLASSES)
def test_labels_that_are_no_classes(labels, kind):
    frame = numbers(60)
    y, said = NO_CLASSES[labels]
    as_they_are = {"scheduler": "synchronous", "dataframe.convert-string": False}
    with dask.config.set(as_they_are):
        if kind == "frame":
            X, labels_ = in_sizes(features(frame), 40, 20), in_sizes(pd.Series(y), 40, 20)
        else:
            X, labels_ = da.from_array(features(frame).to_numpy(), chunks=(40, -1)), da.from_array(y, chunks=40)
        for estimator in (OptimalTreeClassifier(), FCCAClassifier(), FCCADiscretizer()):
            table = (X > 0).astype(int) if isinstance(estimator, OptimalTreeClassifier) else X
            with pytest.raises(InvalidInputError, match=f"The labels y {said}"):
                estimator.fit(table, labels_)
        if kind == "frame":
            with pytest.raises(InvalidInputError, match=f"The labels 'label' {said}"):
                distill(in_sizes(frame.assign(label=pd.Series(y)), 40, 20), "label")


# --- what is refused before any work -------------------------------------------------------------------------------------


def untouched(frame):
    """The table in partitions that nobody may read."""

    def read(part):
        raise AssertionError("a partition was read")

    return dd.from_map(read, [0, 1], meta=frame.iloc[:0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fit_to": "x"}, "'fit_to' parameter"),
        ({"n_thresholds": "auto"}, "Give a number"),
        ({"n_thresholds": -1}, "'n_thresholds' parameter"),
        ({"tree": 3}, "'tree' parameter"),
        ({"tree": fcca.OptimalTreeClassifier(max_depth=-1)}, "'max_depth' parameter"),
        ({"discretizer": fcca.FCCADiscretizer(p0=0.9, p1=0.1)}, "p0 must not be above p1"),
        ({"discretizer": fcca.FCCADiscretizer(Q=2)}, "'Q' parameter"),
        ({"discretizer": fcca.FCCADiscretizer(selection=OptimalSelection(n_thresholds=-1))}, "n_thresholds"),
        ({"discretizer": fcca.FCCADiscretizer(time_limit=1)}, "time_limit_per_point"),
        ({"discretizer": 3}, "an FCCADiscretizer, got int"),
        ({"discretizer": OptimalTreeClassifier()}, "an FCCADiscretizer, got OptimalTreeClassifier"),
        ({"retries": "x"}, "retries must be 0 or more, a whole number, got 'x'"),
        ({"sample": 2.5}, "sample must be at least 2 rows, a whole number, got 2.5"),
        ({"sample": 1}, "sample must be at least 2 rows"),
        ({"random_state": -1}, "random_state must be 0 or more, a whole number, got -1"),
        ({"random_state": None}, "got None: the same call draws the same sample every time"),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else "",
)
def test_parameters_are_refused_before_any_work(given, said):
    frame = numbers(60).drop(columns="weight")
    ddf = untouched(frame)
    with pytest.raises((InvalidInputError, InvalidParameterError), match=said):
        distill(ddf, "label", **given)
    with pytest.raises((InvalidInputError, InvalidParameterError), match=said):
        FCCAClassifier(**given).fit(ddf[list(features(frame))], ddf["label"])
    if isinstance(discretizer := given.get("discretizer"), fcca.FCCADiscretizer):
        with pytest.raises((InvalidInputError, InvalidParameterError), match=said):
            FCCADiscretizer(**discretizer.get_params(deep=False)).fit(ddf[list(features(frame))], ddf["label"])
    elif given.keys() <= {"retries", "sample", "random_state"}:
        with pytest.raises(InvalidInputError, match=said):
            FCCADiscretizer(**given).fit(ddf[list(features(frame))], ddf["label"])


def test_a_column_cannot_be_label_and_weight():
    with pytest.raises(InvalidInputError, match="'label' is named twice: as label and as sample_weight"):
        distill(untouched(numbers(60)), "label", sample_weight="label")


def test_columns_of_the_same_name():
    frame = numbers(60).drop(columns="weight").rename(columns={"x1": "x0"})
    ddf = untouched(frame)
    with pytest.raises(InvalidInputError, match="Column names must be unique; repeated: 'x0'"):
        distill(ddf, "label")
    y = untouched(numbers(60))["label"]
    for estimator in (FCCAClassifier(), FCCADiscretizer(), OptimalTreeClassifier()):
        with pytest.raises(InvalidInputError, match="Column names must be unique; repeated: 'x0'"):
            estimator.fit(ddf.drop(columns="label"), y)


def test_estimators_on_dask_tables_are_taken_as_parts():
    frame = numbers(200).drop(columns="weight")
    model = boosting(frame)
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    found = distill(ddf, "label", model, discretizer=FCCADiscretizer(Q=0.5), tree=OptimalTreeClassifier(max_depth=2))
    assert_same(found, in_memory(frame, model, Q=0.5, tree=fcca.OptimalTreeClassifier(max_depth=2)))
