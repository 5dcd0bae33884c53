"""Prediction on Dask tables: ``map_partitions(classifier.predict)``, as the documentation of distill has it."""

import pickle

import dask_tables
import numpy as np
import pandas as pd
import pytest
from dask_tables import boosting, features, in_parts, numbers
from sklearn.ensemble import HistGradientBoostingClassifier

from fcca import FCCADiscretizer, OptimalTreeClassifier
from fcca.export import from_json, to_json
from real_data import imported

dask = imported("dask")
imported("distributed")

import dask.array as da  # noqa: E402

from fcca.dask import distill  # noqa: E402


def with_categories():
    """Sorted by category, so that no partition has all of them; the labels are texts."""
    frame = dask_tables.mixed(400).sort_values("purpose", ignore_index=True)
    return frame.assign(purpose=pd.Categorical(frame["purpose"]))


@pytest.fixture(scope="module", params=[numbers, with_categories], ids=["numbers", "categories"])
def fitted(request):
    """A table, and its classifier with conditions on several columns."""
    frame = request.param().drop(columns="weight", errors="ignore")
    black_box = HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0, categorical_features="from_dtype")
    black_box.fit(features(frame), frame["label"])
    tree = OptimalTreeClassifier(max_depth=3, regularization=1e-4)
    return frame, distill(in_parts(frame, 3), "label", black_box, discretizer=FCCADiscretizer(p0=0.0), tree=tree)


def predictions(classifier, ddf):
    """The documented line."""
    return ddf[list(classifier.feature_names_in_)].map_partitions(classifier.predict, meta=classifier.classes_[:0])


def computed(lazy, scheduler, request):
    if scheduler == "cluster":
        return request.getfixturevalue("client").compute(lazy).result()
    return lazy.compute(scheduler=scheduler)


@pytest.mark.parametrize("scheduler", ["threads", "cluster"])
def test_predictions_are_those_in_memory(fitted, scheduler, request):
    frame, classifier = fitted
    lazy = predictions(classifier, in_parts(frame, 4))
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == classifier.classes_.dtype
    found = computed(lazy, scheduler, request)
    assert found.dtype == lazy.dtype
    assert set(found) == set(classifier.classes_)
    assert np.array_equal(found, classifier.predict(features(frame)))


@pytest.mark.parametrize("scheduler", ["threads", "cluster"])
def test_probabilities_are_those_in_memory(fitted, scheduler, request):
    frame, classifier = fitted
    X = in_parts(features(frame), 4)
    lazy = X.map_partitions(classifier.predict_proba, meta=np.empty((0, len(classifier.classes_))))
    assert np.array_equal(computed(lazy, scheduler, request), classifier.predict_proba(features(frame)))


def test_predictions_are_a_column_beside_the_rows(fitted):
    frame, classifier = fitted
    ddf = in_parts(frame, 4)
    ddf["prediction"] = predictions(classifier, ddf)
    found = ddf.compute(scheduler="threads")
    assert found["prediction"].tolist() == classifier.predict(features(frame)).tolist()
    assert found.index.equals(frame.index)


def test_categories_that_dask_does_not_know_are_matched_by_label():
    frame = with_categories()
    black_box = HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0, categorical_features="from_dtype")
    black_box.fit(features(frame), frame["label"])
    tree = OptimalTreeClassifier(max_depth=3, regularization=1e-4)
    classifier = distill(in_parts(frame, 3), "label", black_box, discretizer=FCCADiscretizer(p0=0.0), tree=tree)
    assert any("purpose" in rule for rule in classifier.rules())
    ddf = in_parts(frame.astype({"purpose": object}), 4)
    ddf["purpose"] = ddf["purpose"].astype("category")
    assert not ddf["purpose"].cat.known
    assert np.array_equal(predictions(classifier, ddf).compute(scheduler="threads"), classifier.predict(features(frame)))


def test_empty_partitions_need_the_documented_function(fitted):
    frame, classifier = fitted
    some = in_parts(frame, 4).map_partitions(lambda rows: rows[rows.index < 50])

    def predict(rows):
        return classifier.predict(rows) if len(rows) else classifier.classes_[:0]

    X = some[list(classifier.feature_names_in_)]
    assert some.map_partitions(len).compute().tolist().count(0) == 3
    with pytest.raises(ValueError, match=r"X has no rows|0 sample"):
        predictions(classifier, some).compute(scheduler="synchronous")
    found = X.map_partitions(predict, meta=classifier.classes_[:0]).compute(scheduler="threads")
    assert np.array_equal(found, classifier.predict(features(frame)[:50]))


def test_a_pickled_classifier_does_not_grow_with_the_rows():
    few, many = numbers(500).drop(columns="weight"), numbers(20_000).drop(columns="weight")
    black_box = boosting(few)
    sizes = [len(pickle.dumps(distill(in_parts(frame, 2), "label", black_box).predict)) for frame in (few, many)]
    assert max(sizes) < len(pickle.dumps(black_box)) + 20_000
    assert sizes[1] < 1.2 * sizes[0]


def test_the_tree_alone_is_smaller_and_predicts_the_same(fitted):
    frame, classifier = fitted
    tree = from_json(to_json(classifier))
    assert len(pickle.dumps(tree.predict)) < 8_000
    X = in_parts(features(frame), 4)
    found = X.map_partitions(tree.predict, meta=classifier.classes_[:0]).compute(scheduler="threads")
    assert np.array_equal(found, classifier.predict(features(frame)))
