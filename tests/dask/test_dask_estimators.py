"""The estimators on Dask collections: those of fcca, with the work where the rows are."""

import pickle

import numpy as np
import pandas as pd
import pytest
from dask_tables import assert_same, boosting, features, in_memory, mixed, numbers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

import fcca
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from real_data import imported

dask = imported("dask")
imported("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from fcca.dask import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier  # noqa: E402
from fcca.dask._models import sampled  # noqa: E402
from fcca.dask._pieces import DaskPieces  # noqa: E402
from fcca.dask._tables import Table  # noqa: E402

KINDS = ["frame", "array"]


def as_parts(frame, kind, n=3):
    """X, y and weight of Dask."""
    ddf = dd.from_pandas(frame, npartitions=n, sort=False)
    if kind == "frame":
        return ddf[list(features(frame))], ddf["label"], ddf["weight"]
    size = -(-len(frame) // n)
    X = da.from_array(features(frame).to_numpy(), chunks=(size, -1))
    return X, da.from_array(frame["label"].to_numpy(), chunks=size), da.from_array(frame["weight"].to_numpy(), chunks=size)


def unnamed(frame, kind):
    """The table as one process is given it."""
    return features(frame) if kind == "frame" else features(frame).to_numpy()


@pytest.fixture(scope="module")
def frame():
    return numbers(400)


@pytest.fixture(scope="module")
def model(frame):
    return boosting(frame)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_classifier_is_that_of_one_process(frame, kind, weighted):
    X, y, weight = as_parts(frame, kind)
    table = unnamed(frame, kind)
    box = FrozenEstimator(fcca.FCCADiscretizer().fit(table, frame["label"]).estimator_)
    expected = fcca.FCCAClassifier(fcca.FCCADiscretizer(box))
    expected.fit(table, frame["label"], frame["weight"] if weighted else None)
    found = FCCAClassifier(fcca.FCCADiscretizer(box)).fit(X, y, weight if weighted else None)
    assert_same(found.to_local(), expected)
    assert type(found.to_local()) is fcca.FCCAClassifier
    assert found.rules() == expected.rules()
    given = (X, y, weight) if weighted else (X, y)
    local = (table, frame["label"], frame["weight"]) if weighted else (table, frame["label"])
    assert found.score(*given) == pytest.approx(expected.score(*local), abs=1e-12)
    assert found.score(*local) == pytest.approx(expected.score(*local), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_lazy_and_those_of_one_process(frame, kind):
    X, y, _ = as_parts(frame, kind)
    table = unnamed(frame, kind)
    found = FCCAClassifier(random_state=1, sample=200).fit(X, y)
    local = found.to_local()
    for method in ("predict", "predict_proba"):
        lazy = getattr(found, method)(X)
        assert isinstance(lazy, da.Array) if kind == "array" else isinstance(lazy, dd.DataFrame | dd.Series)
        answers = lazy.compute()
        assert answers.dtype == lazy.dtype if method == "predict" else answers.shape == (400, 2)
        assert np.array_equal(np.asarray(answers), getattr(local, method)(table))
        assert np.array_equal(getattr(found, method)(table), getattr(local, method)(table))
    if kind == "frame":
        assert found.predict(X).compute().index.equals(frame.index)
        assert list(found.predict_proba(X).columns) == [0, 1]
    else:
        assert found.predict(X).chunks == (X.chunks[0],)
        assert found.predict_proba(X).chunks == (X.chunks[0], (2,))


@pytest.mark.parametrize("kind", KINDS)
def test_the_discretizer_is_that_of_one_process(frame, kind, client):
    X, y, weight = as_parts(frame, kind)
    table = unnamed(frame, kind)
    box = FrozenEstimator(fcca.FCCADiscretizer().fit(table, frame["label"]).estimator_)
    expected = fcca.FCCADiscretizer(box, Q=0.5).fit(table, frame["label"], frame["weight"])
    found = FCCADiscretizer(box, Q=0.5)
    found.client = client
    B = found.fit_transform(X, y, weight)
    for name in ("thresholds_", "all_thresholds_"):
        assert getattr(found, name).to_json() == getattr(expected, name).to_json()
    assert found.statuses_ == expected.statuses_
    assert found.n_features_in_ == 6
    assert np.array_equal(B.compute(scheduler="synchronous"), expected.transform(table))
    assert (
        B.compute(scheduler="synchronous").shape == B.shape
        if kind == "array"
        else list(B.columns) == list(expected.get_feature_names_out())
    )
    assert {kind.name for kind in np.atleast_1d(B.dtypes if kind == "frame" else B.dtype)} == {"int8"}
    assert np.array_equal(found.predict_target(X).compute(scheduler="synchronous"), expected.predict_target(table))
    assert type(found.to_local()) is fcca.FCCADiscretizer


def test_a_discretizer_with_a_selection_is_that_of_one_process(frame, model):
    X, y, _ = as_parts(frame, "frame")
    given = {"selection": OptimalSelection(n_thresholds=3), "Q": 0.2}
    expected = fcca.FCCADiscretizer(FrozenEstimator(model), **given).fit(features(frame), frame["label"])
    found = FCCADiscretizer(FrozenEstimator(model), **given).fit(X, y)
    assert found.thresholds_.to_json() == expected.thresholds_.to_json()
    assert found.selection_.proof == expected.selection_.proof


def test_a_discretizer_finds_the_medians_of_columns_with_gaps():
    table = mixed(300)
    box = fcca.FCCADiscretizer().fit(features(table), table["label"]).estimator_
    expected = fcca.FCCADiscretizer(FrozenEstimator(box)).fit(features(table), table["label"])
    ddf = dd.from_pandas(table, npartitions=3)
    found = FCCADiscretizer(FrozenEstimator(box)).fit(ddf[list(features(table))], ddf["label"])
    assert any("missing" in name for name in found.get_feature_names_out())
    assert found.all_thresholds_.to_json() == expected.all_thresholds_.to_json()
    assert np.array_equal(found.transform(ddf[list(features(table))]).compute(), expected.transform(features(table)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes", "perhaps"]], ids=["numbers", "texts"])
def test_the_tree_is_that_of_one_process(kind, labels):
    random = np.random.default_rng(0)
    B = random.integers(0, 2, (500, 70))  # more columns than a word has bits
    y = np.array(labels)[(B[:, 0] + B[:, 69] * (random.random(500) < 0.9)) % len(labels)]
    y[:400] = np.where(y[:400] == "perhaps", "no", y[:400])  # a class that most partitions lack
    weight = random.integers(0, 3, 500)
    table = pd.DataFrame(B, columns=[f"b{j}" for j in range(70)]) if kind == "frame" else B
    frame = pd.DataFrame(B, columns=[f"b{j}" for j in range(70)]).assign(label=y, weight=weight)
    expected = fcca.OptimalTreeClassifier(max_depth=2).fit(table, y, weight)
    X, labels_, weights = as_parts(frame, kind, 5)
    found = OptimalTreeClassifier(max_depth=2).fit(X, labels_, weights)
    for name in ("objective_", "lower_bound_", "is_optimal_", "n_leaves_", "regularization_", "n_features_in_"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("feature", "threshold", "left", "right", "weight", "n_rows"):
        assert np.array_equal(getattr(found.tree_, name), getattr(expected.tree_, name), equal_nan=name == "threshold")
    assert found.rules() == expected.rules()
    assert hasattr(found, "feature_names_in_") == (kind == "frame")
    assert np.array_equal(np.asarray(found.predict(X).compute()), expected.predict(table))


def test_discretizer_and_tree_one_after_the_other(frame, model):
    X, y, _ = as_parts(frame, "frame")
    B = FCCADiscretizer(FrozenEstimator(model), Q=0.5).fit_transform(X, y)
    tree = OptimalTreeClassifier().fit(B, y)
    assert tree.objective_ == in_memory(frame, model, Q=0.5).tree_.objective_


def test_tables_in_memory_are_taken(frame, model):
    X, y = features(frame), frame["label"]
    discretizer = FCCADiscretizer(FrozenEstimator(model), Q=0.5).fit(X, y)
    assert discretizer.thresholds_.to_json() == in_memory(frame, model, Q=0.5).discretizer_.thresholds_.to_json()
    B = discretizer.transform(X)
    assert isinstance(B, np.ndarray)
    assert OptimalTreeClassifier().fit(B, y).objective_ == fcca.OptimalTreeClassifier().fit(B, y).objective_
    classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(model)), OptimalTreeClassifier(max_depth=2)).fit(X, y)
    assert_same(classifier.to_local(), in_memory(frame, model, tree=fcca.OptimalTreeClassifier(max_depth=2)))


def test_empty_partitions_get_answers_too(frame, model):
    X, y, _ = as_parts(frame, "frame")
    found = FCCAClassifier(fcca.FCCADiscretizer(FrozenEstimator(model))).fit(X, y)
    some = X[X["x0"] > X["x0"].max().compute() - 1e-9]
    assert some.map_partitions(len).compute().tolist().count(0) == 2
    assert len(found.predict(some).compute()) == 1
    assert found.predict_proba(some).compute().shape == (1, 2)


def test_partitions_that_dask_reads_as_one_stay_together(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=40)
    ddf = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)
    two = frame[["x0", "x1", "label"]]
    X, y = ddf[["x0", "x1"]], ddf["label"]
    table = Table.of_parts(X, y)
    assert table.n_partitions < X.npartitions == 10
    drawn = sampled(DaskPieces(table), 50, seed=0)
    rows = two.iloc[np.sort(np.random.default_rng(0).choice(400, 50, replace=False))]
    assert np.array_equal(drawn.X.to_numpy(), features(rows).to_numpy())
    assert np.array_equal(drawn.y, rows["label"])
    model = boosting(two)
    found = FCCAClassifier(fcca.FCCADiscretizer(FrozenEstimator(model))).fit(X, y)
    assert_same(found.to_local(), in_memory(two, model))


def test_labels_of_other_types_and_arrays_of_unknown_length(frame, model):
    X, y, _ = as_parts(frame, "frame")
    box = fcca.FCCADiscretizer(FrozenEstimator(model))
    expected = in_memory(frame, model)
    arrays = X.to_dask_array(), y.to_dask_array()
    assert np.isnan(arrays[0].chunks[0][0])
    unnamed_box = FrozenEstimator(boosting(frame).fit(features(frame).to_numpy(), frame["label"]))
    found = FCCAClassifier(fcca.FCCADiscretizer(unnamed_box)).fit(*arrays)
    assert found.tree_.objective_ == expected.tree_.objective_
    for labels in (y.astype("Int64"), y.astype("int64[pyarrow]"), y.to_dask_array()):
        assert_same(FCCAClassifier(box).fit(X, labels).to_local(), expected)


@pytest.mark.parametrize("estimator", [FCCADiscretizer, FCCAClassifier, OptimalTreeClassifier])
def test_they_are_estimators_of_scikit_learn(estimator, frame, client):
    made = estimator(retries=5)
    made.client = client
    assert clone(made).get_params() == made.get_params()
    assert clone(made).client is None
    plain = getattr(fcca, estimator.__name__)
    assert set(plain().get_params()) <= set(made.get_params())
    assert all(made.get_params()[name] == value for name, value in plain().get_params().items())
    with pytest.raises(NotFittedError):
        made.to_local()
    X, y = features(frame), frame["label"]
    fitted = made.fit((X > 0).astype(int), y)
    assert pickle.loads(pickle.dumps(fitted)).client is None
    assert fitted.n_features_in_ == 6
    assert list(fitted.feature_names_in_) == list(X)


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [FCCADiscretizer(), FCCAClassifier(), OptimalTreeClassifier()], ids=lambda one: type(one).__name__
)
def test_tables_that_do_not_fit_together_are_refused(estimator, frame):
    X, y, _ = as_parts(frame, "frame")
    arrays = as_parts(frame, "array")
    for given, message in [
        ((arrays[0].rechunk((200, 2)), arrays[1]), r"X\.rechunk\({1: -1}\)"),
        ((X, frame["label"]), "y must be a Dask Series or a Dask array of one dimension, got Series"),
        ((X, y.repartition(npartitions=1)), "X has 3 partitions and y has 1"),
        ((arrays[0], arrays[1][:100]), "X has 400 rows and y has 100"),
        ((arrays[1], arrays[1]), "rows and columns"),
        ((X, None), "requires y"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            clone(estimator).fit(*given)


def test_what_needs_all_rows_in_one_place_is_refused(frame):
    X, y, _ = as_parts(frame, "frame")
    with pytest.raises(InvalidInputError, match="time_limit_per_point"):
        FCCADiscretizer(time_limit=1).fit(X, y)
    with pytest.raises(InvalidInputError, match="FCCADiscretizer, got GTREDiscretizer"):
        FCCAClassifier(fcca.GTREDiscretizer()).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"Column 'x0' holds .* columns of 0 and 1"):
        OptimalTreeClassifier().fit(X, y)
