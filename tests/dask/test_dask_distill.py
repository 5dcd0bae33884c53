"""fcca.dask.distill: the same thresholds and the same tree, byte for byte, as one process finds."""

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from dask_tables import assert_same, boosting, features, in_memory, mixed, numbers
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fcca import FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.selection import OptimalSelection
from real_data import imported

dask = imported("dask")
imported("distributed")

import dask.dataframe as dd  # noqa: E402

from fcca.dask import distill  # noqa: E402
from fcca.dask._models import sampled  # noqa: E402
from fcca.dask._pieces import DaskPieces  # noqa: E402
from fcca.dask._tables import Table  # noqa: E402


def in_parts(frame, n):
    return dd.from_pandas(frame, npartitions=n, sort=False)


@pytest.mark.parametrize("n_partitions", [1, 3, 7])
def test_partitions_do_not_matter(n_partitions):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    found = distill(in_parts(frame, n_partitions), "label", model, discretizer=FCCADiscretizer(Q=0.5))
    assert_same(found, in_memory(frame, model, Q=0.5))


@pytest.mark.parametrize("n_partitions", [1, 3, 7])
def test_workers_do_not_matter(client, n_partitions):
    frame = numbers()
    model = boosting(frame)
    found = distill(in_parts(frame, n_partitions), "label", model, sample_weight="weight", client=client)
    assert_same(found, in_memory(frame, model, weighted=True))


def test_empty_partitions_and_unknown_divisions_do_not_matter(client):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    parts = [frame[:0], frame[:100], frame[100:100], frame[100:], frame[:0]]
    ddf = dd.from_map(lambda part: part, parts, meta=frame[:0])
    assert not ddf.known_divisions
    expected = in_memory(frame, model)
    assert_same(distill(ddf, "label", model), expected)
    assert_same(distill(ddf, "label", model, client=client), expected)


def test_a_partition_of_weight_zero_does_not_matter():
    frame = numbers()
    frame.loc[:199, "weight"] = 0
    model = boosting(frame)
    found = distill(in_parts(frame, 3), "label", model, sample_weight="weight")
    assert_same(found, in_memory(frame, model, weighted=True))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_of_dask_itself_do_not_matter(scheduler):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    discretizer = FCCADiscretizer(time_limit_per_point=60)
    with dask.config.set(scheduler=scheduler):
        assert_same(distill(in_parts(frame, 4), "label", model, discretizer=discretizer), in_memory(frame, model))


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(5, max_depth=3, random_state=0), LogisticRegression(C=0.1)],
    ids=["forest", "linear"],
)
def test_other_searches_give_the_same(model):
    frame = numbers(200).drop(columns="weight")
    model.fit(features(frame), frame["label"])
    assert_same(distill(in_parts(frame, 3), "label", model), in_memory(frame, model))


def test_what_the_tree_is_given_can_be_chosen(client):
    frame = numbers(300).drop(columns="weight")
    model, tree = boosting(frame), OptimalTreeClassifier(max_depth=2)
    chosen = {"tree": tree, "fit_to": "target", "n_thresholds": 4}
    found = distill(in_parts(frame, 3), "label", model, client=client, **chosen)
    assert_same(found, in_memory(frame, model, **chosen))
    assert found.n_thresholds_ == 4
    selection = OptimalSelection(n_thresholds=3)
    found = distill(in_parts(frame, 3), "label", model, discretizer=FCCADiscretizer(selection=selection))
    assert_same(found, in_memory(frame, model, selection=selection))


# --- categories and gaps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_partitions", [1, 5])
def test_categories_and_gaps(client, n_partitions):
    frame = mixed()
    model = HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0, categorical_features="from_dtype")
    frame["purpose"] = pd.Categorical(frame["purpose"])
    model.fit(features(frame), frame["label"])
    assert_same(distill(in_parts(frame, n_partitions), "label", model, client=client), in_memory(frame, model))


def test_texts_of_pyarrow_and_categories_that_dask_does_not_know():
    frame = mixed()
    encoder = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
            ["purpose", "grade"],
        ),
        remainder="passthrough",
    )
    model = make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0))
    expected_from = frame.assign(grade=frame["grade"].astype(object), purpose=frame["purpose"].astype(object))
    model.fit(features(expected_from), frame["label"])
    expected = in_memory(expected_from, model)
    arrow = expected_from.astype({"purpose": "string[pyarrow]", "label": "string[pyarrow]"})
    ddf = in_parts(arrow, 3)
    ddf["grade"] = ddf["grade"].astype("category")
    assert not ddf["grade"].cat.known
    assert_same(distill(ddf, "label", model), expected)


def test_categories_that_the_classifier_has_not_kept_are_those_of_all_partitions():
    lightgbm = imported("lightgbm")
    frame = numbers(200).drop(columns="weight")
    frame["x0"] = np.sort(np.arange(200) % 5).astype(np.float64)  # no partition has them all
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1)
    model.fit(features(frame), frame["label"], categorical_feature=["x0"])
    expected = in_memory(frame, model)
    assert_same(distill(in_parts(frame, 3), "label", model), expected)
    as_categories = in_parts(frame, 3)
    as_categories["x0"] = as_categories["x0"].astype("category")
    with pytest.raises(InvalidInputError, match=r"column 'x0' by their positions.*categorize\(columns=\['x0'\]\)"):
        distill(as_categories, "label", model)


# --- black boxes --------------------------------------------------------------------------------------------------------


def test_the_sample_depends_on_neither_partitions_nor_workers(client):
    frame = numbers(500)
    drawn = [
        sampled(DaskPieces(Table.of_frame(in_parts(frame, n), "label", "weight"), asked), 60, seed)
        for n, asked, seed in [(1, None, 0), (4, client, 0), (7, None, 0), (4, None, 1)]
    ]
    for other in drawn[1:3]:
        pd.testing.assert_frame_equal(drawn[0].X, other.X)
        assert np.array_equal(drawn[0].y, other.y)
        assert np.array_equal(drawn[0].sample_weight, other.sample_weight)
    assert not drawn[0].X.equals(drawn[3].X)
    rows = frame.iloc[np.sort(np.random.default_rng(0).choice(500, 60, replace=False))]
    assert np.array_equal(drawn[0].X.to_numpy(), features(rows).to_numpy())


@pytest.mark.parametrize("model", [None, GradientBoostingClassifier(n_estimators=20, max_depth=1)], ids=["default", "given"])
def test_a_black_box_that_is_not_fitted_is_fitted_on_the_sample(model):
    frame = numbers(500).drop(columns="weight")
    rows = frame.iloc[np.sort(np.random.default_rng(3).choice(500, 100, replace=False))]
    fitted = FCCADiscretizer(model).fit(features(rows), rows["label"]).estimator_
    found = distill(in_parts(frame, 3), "label", model, sample=100, random_state=3)
    assert_same(found, in_memory(frame, fitted))
    assert model is None or not hasattr(model, "classes_")


def test_a_table_smaller_than_the_sample_is_all_sample():
    frame = numbers(200).drop(columns="weight")
    expected = FCCADiscretizer().fit(features(frame), frame["label"])
    found = distill(in_parts(frame, 3), "label")
    assert found.discretizer_.all_thresholds_.to_json() == expected.all_thresholds_.to_json()


def test_xgboost_trained_on_the_cluster(client):
    imported("xgboost")
    from xgboost import dask as xgboost_dask

    frame = numbers(300).drop(columns="weight")
    ddf = in_parts(frame, 2)
    X, y = ddf.drop(columns="label"), ddf["label"]
    model = xgboost_dask.DaskXGBClassifier(n_estimators=8, max_depth=1, n_jobs=1)
    with client.as_current():
        model.fit(X, y)
    import xgboost

    local = xgboost.XGBClassifier()
    local.load_model(bytearray(model.get_booster().save_raw("ubj")))
    expected = in_memory(frame, local)
    assert_same(distill(ddf, "label", model, client=client), expected, same_parameters=False)
    assert_same(distill(ddf, "label", FrozenEstimator(model), client=client), expected, same_parameters=False)
    with client.as_current():
        parameters = {"objective": "binary:logistic", "max_depth": 1, "nthread": 1}
        trained = xgboost_dask.train(client, parameters, xgboost_dask.DaskDMatrix(client, X, y), num_boost_round=8)
    found = distill(ddf, "label", trained, client=client)
    assert_same(distill(ddf, "label", trained["booster"]), found)
    assert found.discretizer_.all_thresholds_.to_json() == expected.discretizer_.all_thresholds_.to_json()


def test_lightgbm_trained_on_the_cluster(client):
    lightgbm = imported("lightgbm")
    frame = numbers(300).drop(columns="weight")
    ddf = in_parts(frame, 2)
    model = lightgbm.DaskLGBMClassifier(n_estimators=8, max_depth=1, verbose=-1, client=client)
    with client.as_current():
        model.fit(ddf.drop(columns="label"), ddf["label"])
    assert_same(distill(ddf, "label", model, client=client), in_memory(frame, model.to_local()))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_cluster_s_model_that_is_not_trained_is_refused(library):
    imported(library)
    if library == "xgboost":
        from xgboost.dask import DaskXGBClassifier as Model
    else:
        from lightgbm import DaskLGBMClassifier as Model
    with pytest.raises(InvalidInputError, match=r"is not fitted\. Fit it on the cluster first"):
        distill(in_parts(numbers(50), 2), "label", Model())


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"discretizer": FCCADiscretizer(time_limit=1.0)}, "time_limit_per_point"),
        ({"discretizer": FCCADiscretizer(margin="10%")}, "Give it as a number"),
        ({"discretizer": FCCADiscretizer(GradientBoostingClassifier())}, "as model instead"),
        ({"discretizer": OptimalTreeClassifier()}, "must be an FCCADiscretizer, got OptimalTreeClassifier"),
        ({"label": "y"}, "no column 'y'"),
        ({"sample_weight": "w"}, "no column 'w'"),
        ({"retries": -1}, "retries must be 0 or more"),
        ({"n_thresholds": "auto"}, "Give a number"),
        ({"client": "tcp://localhost"}, r"must be a dask\.distributed\.Client"),
        ({"client": SimpleNamespace(scatter=None, asynchronous=True)}, "asynchronous=False"),
        ({"model": None, "sample": 1}, "at least 2 rows"),
        ({"model": FrozenEstimator(GradientBoostingClassifier())}, "not fitted"),
    ],
    ids=lambda given: "-".join([*given]) if isinstance(given, dict) else "",
)
def test_what_cannot_be_done_is_refused(given, message):
    frame = numbers(100)
    arguments = {"ddf": in_parts(frame, 2), "label": "label", "model": boosting(frame.drop(columns="weight"))} | given
    with pytest.raises(InvalidInputError, match=message):
        distill(**arguments)


def test_tables_that_are_not_of_dask_are_refused():
    with pytest.raises(InvalidInputError, match="takes a Dask DataFrame, got DataFrame"):
        distill(numbers(50), "label")
    with pytest.raises(InvalidInputError, match="no column to learn from"):
        distill(in_parts(numbers(50)[["label"]], 1), "label")
    with pytest.raises(UnsupportedModelError, match="Expected a classifier, or what"):
        distill(in_parts(numbers(50), 1), "label", {"history": []})


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 100)], ids=["none", "one class"])
def test_a_table_without_rows_or_with_one_class_is_refused(rows):
    frame = numbers(100).drop(columns="weight")
    model = boosting(frame)
    ddf = in_parts(frame.assign(label=0), 3).loc[rows.start : rows.stop - 1]
    with pytest.raises(InvalidInputError, match=r"There are no rows to learn from|at least two classes"):
        distill(ddf, "label", model)


@pytest.mark.parametrize("asked", [None, "cluster"])
def test_errors_of_workers_come_back_as_they_are(asked, request):
    client = None if asked is None else request.getfixturevalue("client")
    frame = numbers(300).drop(columns="weight")
    model = boosting(frame)
    broken = frame.astype({"x1": "float64"})
    broken.loc[250, "x1"] = np.inf
    with pytest.raises(InvalidInputError, match="infinite values: column 'x1' in row 50") as caught:
        distill(in_parts(broken, 3), "label", model, client=client, retries=0)
    assert "partition 2" in caught.value.__notes__[0]
    broken = frame.astype({"label": "Int64"})
    broken.loc[120, "label"] = pd.NA
    with pytest.raises(InvalidInputError, match="no value in row 120"):
        distill(in_parts(broken, 3), "label", model, client=client, retries=0)
    assert_same(distill(in_parts(frame, 3), "label", model, client=client), in_memory(frame, model))


def test_too_many_distinct_rows_are_refused_with_advice(client):
    frame = numbers(600).drop(columns="weight")
    model = boosting(frame)
    for one in (client.run, lambda function, *given: function(*given)):
        one(_allow_bytes, 2**10)
    try:
        with pytest.raises(InvalidInputError, match="more than a tree's search has memory for"):
            distill(in_parts(frame, 3), "label", model, client=client, retries=0)
    finally:
        for one in (client.run, lambda function, *given: function(*given)):
            one(_allow_bytes, 2**29)


def _allow_bytes(n):
    from fcca.streaming import _stages

    _stages.MOST_BYTES = n


def test_fcca_itself_does_without_dask():
    code = "import sys, fcca.streaming; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_dask_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.delitem(sys.modules, "fcca.dask")
    with pytest.raises(ImportError, match=r'pip install "fcca\[dask\]"'):
        importlib.import_module("fcca.dask")
