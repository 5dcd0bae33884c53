"""fcca.dask.distill: the same thresholds and the same tree, byte for byte, as FCCAClassifier.fit in one process."""

import importlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from dask_tables import assert_same, boosting, features, in_memory, in_parts, mixed, numbers
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fcca import FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection
from real_data import imported

dask = imported("dask")
imported("distributed")

import dask.dataframe as dd  # noqa: E402

from fcca.dask import distill  # noqa: E402
from fcca.dask._dask_chunks import DaskChunks  # noqa: E402
from fcca.dask._local_black_box import sampled  # noqa: E402
from fcca.dask._partitions import PartitionedTable  # noqa: E402


@pytest.mark.parametrize("n_partitions", [1, 3, 7])
def test_the_number_of_partitions_changes_nothing(n_partitions):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    found = distill(in_parts(frame, n_partitions), "label", model, discretizer=FCCADiscretizer(Q=0.5))
    assert_same(found, in_memory(frame, model, Q=0.5))


@pytest.mark.parametrize("n_partitions", [1, 3, 7])
def test_workers_change_nothing(client, n_partitions):
    frame = numbers()
    model = boosting(frame)
    found = distill(in_parts(frame, n_partitions), "label", model, sample_weight="weight", client=client)
    assert_same(found, in_memory(frame, model, weighted=True))


def test_empty_partitions_and_unknown_divisions_change_nothing(client):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    parts = [frame[:0], frame[:100], frame[100:100], frame[100:], frame[:0]]
    ddf = dd.from_map(lambda part: part, parts, meta=frame[:0])
    assert not ddf.known_divisions
    expected = in_memory(frame, model)
    assert_same(distill(ddf, "label", model), expected)
    assert_same(distill(ddf, "label", model, client=client), expected)


def test_a_partition_of_weight_zero_changes_nothing():
    frame = numbers()
    frame.loc[:199, "weight"] = 0
    model = boosting(frame)
    found = distill(in_parts(frame, 3), "label", model, sample_weight="weight")
    assert_same(found, in_memory(frame, model, weighted=True))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_local_schedulers_of_dask_change_nothing(scheduler):
    frame = numbers().drop(columns="weight")
    model = boosting(frame)
    discretizer = FCCADiscretizer(time_limit_per_row=60)
    with dask.config.set(scheduler=scheduler):
        assert_same(distill(in_parts(frame, 4), "label", model, discretizer=discretizer), in_memory(frame, model))


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(5, max_depth=3, random_state=0), LogisticRegression(C=0.1)],
    ids=["forest", "linear"],
)
def test_other_model_families_give_the_same(model):
    frame = numbers(200).drop(columns="weight")
    model.fit(features(frame), frame["label"])
    assert_same(distill(in_parts(frame, 3), "label", model), in_memory(frame, model))


def test_tree_and_selection_parameters_give_the_same(client):
    frame = numbers(300).drop(columns="weight")
    model, tree = boosting(frame), OptimalTreeClassifier(max_depth=2)
    chosen = {"tree": tree, "fit_to": "target", "n_thresholds": 4}
    found = distill(in_parts(frame, 3), "label", model, client=client, **chosen)
    assert_same(found, in_memory(frame, model, **chosen))
    assert found.n_thresholds_ == 4
    selection = OptimalSelection(n_thresholds=3)
    found = distill(in_parts(frame, 3), "label", model, discretizer=FCCADiscretizer(selection=selection))
    expected = in_memory(frame, model, selection=selection)
    assert_same(found, expected)
    assert found.discretizer_.selection_.proof == expected.discretizer_.selection_.proof


def test_partitions_that_dask_reads_as_one_give_the_same(tmp_path):
    frame = numbers(400)[["x0", "x1", "label", "x2", "x3", "x4"]]
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=40)
    ddf = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)[["x0", "x1", "label"]]
    table = PartitionedTable(ddf, "label", None)
    assert table.n_partitions < ddf.npartitions == 10
    rows = frame.iloc[np.sort(np.random.default_rng(0).choice(400, 50, replace=False))]
    drawn = sampled(DaskChunks(table), 50, random_state=0)
    assert np.array_equal(drawn.X.to_numpy(), rows[["x0", "x1"]].to_numpy())
    assert np.array_equal(drawn.y, rows["label"])
    two = frame[["x0", "x1", "label"]]
    model = boosting(two)
    assert_same(distill(ddf, "label", model), in_memory(two, model))


# --- categories and missing values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_partitions", [1, 5])
def test_categories_and_missing_values_give_the_same(client, n_partitions):
    frame = mixed()
    model = HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0, categorical_features="from_dtype")
    frame["purpose"] = pd.Categorical(frame["purpose"])
    model.fit(features(frame), frame["label"])
    assert_same(distill(in_parts(frame, n_partitions), "label", model, client=client), in_memory(frame, model))


@pytest.mark.parametrize("scale", ["rank", "mad", {"income": 0.7}], ids=str)
def test_distances_taken_from_the_data_are_the_same(client, scale):
    frame = mixed()
    model = HistGradientBoostingClassifier(max_iter=10, max_depth=1, random_state=0, categorical_features="from_dtype")
    frame["purpose"] = pd.Categorical(frame["purpose"])
    frame["weight"] = np.random.default_rng(0).integers(0, 4, len(frame))
    model.fit(features(frame), frame["label"])
    settings = FCCADiscretizer(scale=scale)
    found = distill(in_parts(frame, 5), "label", model, discretizer=settings, sample_weight="weight", client=client)
    assert_same(found, in_memory(frame, model, weighted=True, scale=scale))


def test_pyarrow_texts_and_unknown_categories_give_the_same():
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


def test_categories_that_the_black_box_does_not_store_are_collected_from_all_partitions():
    lightgbm = imported("lightgbm")
    frame = numbers(200).drop(columns="weight")
    frame["x0"] = np.sort(np.arange(200) % 5).astype(np.float64)  # no partition has them all
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1)
    model.fit(features(frame), frame["label"], categorical_feature=["x0"])
    expected = in_memory(frame, model)
    assert_same(distill(in_parts(frame, 3), "label", model), expected)
    as_categories = in_parts(frame, 3)
    as_categories["x0"] = as_categories["x0"].astype("category")
    with pytest.raises(InvalidInputError, match=r"codes of column 'x0'.*categorize\(columns=\['x0'\]\)"):
        distill(as_categories, "label", model)


# --- black boxes --------------------------------------------------------------------------------------------------------


def test_the_sample_depends_on_neither_partitions_nor_workers(client):
    frame = numbers(500)
    drawn = [
        sampled(DaskChunks(PartitionedTable(in_parts(frame, n), "label", "weight"), asked), 60, seed)
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
def test_an_unfitted_black_box_is_fitted_on_the_sample(model):
    frame = numbers(500).drop(columns="weight")
    rows = frame.iloc[np.sort(np.random.default_rng(3).choice(500, 100, replace=False))]
    fitted = FCCADiscretizer(model).fit(features(rows), rows["label"]).estimator_
    found = distill(in_parts(frame, 3), "label", model, sample=100, random_state=3)
    assert_same(found, in_memory(frame, fitted))
    assert model is None or not hasattr(model, "classes_")


@pytest.mark.parametrize("made", [numbers, mixed], ids=["numbers", "mixed"])
def test_a_table_smaller_than_the_sample_is_used_whole(made):
    frame = made(200).drop(columns="weight", errors="ignore")
    expected = FCCADiscretizer().fit(features(frame), frame["label"])
    found = distill(in_parts(frame, 3), "label")
    assert found.discretizer_.all_thresholds_.to_json() == expected.all_thresholds_.to_json()


def test_xgboost_trained_on_the_cluster_is_read(client):
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


def test_lightgbm_trained_on_the_cluster_is_read(client):
    lightgbm = imported("lightgbm")
    frame = numbers(300).drop(columns="weight")
    ddf = in_parts(frame, 2)
    model = lightgbm.DaskLGBMClassifier(n_estimators=8, max_depth=1, verbose=-1, client=client)
    with client.as_current():
        model.fit(ddf.drop(columns="label"), ddf["label"])
    assert_same(distill(ddf, "label", model, client=client), in_memory(frame, model.to_local()))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_an_untrained_model_of_a_cluster_is_refused(library):
    imported(library)
    if library == "xgboost":
        from xgboost.dask import DaskXGBClassifier as Model
    else:
        from lightgbm import DaskLGBMClassifier as Model
    with pytest.raises(InvalidInputError, match=r"is not fitted\. Call its fit\(X, y\) on the cluster first"):
        distill(in_parts(numbers(50), 2), "label", Model())


def test_an_unfitted_frozen_black_box_is_refused():
    with pytest.raises(InvalidInputError, match="GradientBoostingClassifier in the FrozenEstimator is not fitted"):
        distill(in_parts(numbers(50), 2), "label", FrozenEstimator(GradientBoostingClassifier()))


# --- errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [None, "cluster"])
def test_errors_on_workers_name_the_partition_and_leave_the_cluster_usable(asked, request):
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
    with pytest.raises(InvalidInputError, match="missing value in row 120"):
        distill(in_parts(broken, 3), "label", model, client=client, retries=0)
    assert_same(distill(in_parts(frame, 3), "label", model, client=client), in_memory(frame, model))


def test_too_many_distinct_rows_are_refused_with_advice(client):
    frame = numbers(600).drop(columns="weight")
    model = boosting(frame)
    for one in (client.run, lambda function, *given: function(*given)):
        one(_allow_bytes, 2**10)
    try:
        with pytest.raises(InvalidInputError, match="too many for the memory of the tree search"):
            distill(in_parts(frame, 3), "label", model, client=client, retries=0)
    finally:
        for one in (client.run, lambda function, *given: function(*given)):
            one(_allow_bytes, 2**29)


def _allow_bytes(n):
    from fcca.discretizers import _counted_rows

    _counted_rows.MOST_BYTES = n


def test_fcca_does_not_import_dask():
    code = "import sys, fcca.streaming; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_dask_the_import_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.delitem(sys.modules, "fcca.dask")
    with pytest.raises(ImportError, match=r'pip install "fcca\[dask\]"'):
        importlib.import_module("fcca.dask")
