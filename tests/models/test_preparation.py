"""Classifiers prepared for raw tables with categories and missing values are read exactly."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca.exceptions import InvalidInputError
from fcca.models import check_supported, decide_at, prepared, weight_parameters
from fcca.tables import Columns, PowerOfTwoScaler
from models.people import people_differences, people_table
from real_data import imported

BOOSTING = GradientBoostingClassifier(n_estimators=12, random_state=0)
HIST = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=4, random_state=0)
CLASSIFIERS = [
    BOOSTING,
    HIST,
    make_pipeline(PowerOfTwoScaler(), BOOSTING),
    make_pipeline(StandardScaler(), HIST),
    RandomForestClassifier(8, max_depth=4, random_state=0),
    ExtraTreesClassifier(8, max_depth=4, random_state=0),
    DecisionTreeClassifier(max_depth=6, random_state=0),
    AdaBoostClassifier(n_estimators=9, random_state=0),
    BaggingClassifier(n_estimators=4, random_state=0),
    FixedThresholdClassifier(HIST, threshold=0.3),
    CalibratedClassifierCV(BOOSTING, cv=2, ensemble=False),
    GridSearchCV(HIST, {"max_depth": [2, 3]}, cv=2),
    OneVsRestClassifier(HIST),
]
LINEAR = [
    LogisticRegression(max_iter=500),
    make_pipeline(StandardScaler(), LinearSVC()),
    make_pipeline(StandardScaler(), LogisticRegression()),
    RidgeClassifier(),
]
FOR_TWO = (FixedThresholdClassifier, CalibratedClassifierCV)
CHECKED = [(each, classes) for each in CLASSIFIERS for classes in (2, 3) if classes == 2 or not isinstance(each, FOR_TWO)]


def boosters():
    xgboost, lightgbm, catboost = imported("xgboost"), imported("lightgbm"), imported("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return [
        xgboost.XGBClassifier(n_estimators=9, max_depth=4, n_jobs=1),
        xgboost.XGBClassifier(n_estimators=9, max_depth=4, max_cat_to_onehot=1, tree_method="approx", n_jobs=1),
        lightgbm.LGBMClassifier(n_estimators=9, min_child_samples=5, min_data_per_group=5, n_jobs=1, verbose=-1),
        catboost.CatBoostClassifier(iterations=9, depth=4, **quiet),
    ]


def agree(estimator, seed, X, y, rows=2_000):
    pipeline = prepared(estimator, Columns.of_table(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_supported(pipeline)
        pipeline = clone(pipeline).fit(X, y)
        assert people_differences(pickle.loads(pickle.dumps(pipeline)), X, np.random.default_rng(seed), rows) == 0
    return pipeline


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize(("estimator", "n_classes"), CHECKED, ids=str)
def test_prepared_classifiers_answer_as_their_own_predict(estimator, n_classes, gaps):
    X, y = people_table(n_classes, gaps=gaps, none=True, n_classes=n_classes)
    columns = read_model(agree(estimator, 0, X, y)).columns
    assert columns[1].categories == ("clerk", "cook", "judge", "nurse", "pilot")
    assert columns.names == tuple(X.columns)
    if gaps:
        assert columns.may_miss[[0, 1, 2, 3]].all()


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_prepared_linear_models_agree(estimator, gaps):
    X, y = people_table(3, gaps=gaps)
    X["debt"] -= 2**20
    X["income"] *= 1e6
    model = read_model(agree(estimator, 1, X, y))
    assert set(model.effects) == {1, 3, 6}
    assert (model.missing is not None) == gaps


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("which", range(4))
def test_prepared_boosters_split_by_category(which, n_classes, gaps):
    X, y = people_table(5, gaps=gaps, n_classes=n_classes)
    model = read_model(agree(boosters()[which], 2, X, y))
    assert any(model.feature[node] == 1 for node in model.categories)
    assert model.columns[1].categories == ("clerk", "cook", "judge", "nurse", "pilot")


def test_classifiers_that_need_no_preparation_are_unchanged():
    X, y = people_table(0)
    columns = Columns.of_table(X)
    numbers = Columns.of_table(X[["debt", "grade"]])
    gaps = Columns.of_table(X[["age", "debt"]])
    own = make_pipeline(OneHotEncoder(), BOOSTING)
    fitted = prepared(BOOSTING, columns).fit(X, y)
    cases = [
        (BOOSTING, numbers),
        (HIST, gaps),
        (make_pipeline(StandardScaler(), HIST), gaps),
        (own, columns),
        (GridSearchCV(own, {}), columns),
        (FrozenEstimator(fitted), columns),
        (FixedThresholdClassifier(FrozenEstimator(fitted)), columns),
        (decide_at(fitted, 0.3), columns),
        (HistGradientBoostingClassifier(categorical_features=[1]), columns),
    ]
    for estimator, table in cases:
        assert prepared(estimator, table) is estimator


def test_missing_values_are_filled_in_if_the_classifier_does_not_support_them():
    X, y = people_table(0)
    numbers = X[["age", "debt", "income"]]
    for estimator in (BOOSTING, make_pipeline(PowerOfTwoScaler(), BOOSTING), HIST, make_pipeline(PowerOfTwoScaler(), HIST)):
        model = read_model(agree(estimator, 0, numbers, y))
        assert model.columns.may_miss[[0, 2]].all()


def test_the_estimator_itself_is_left_alone():
    X, _ = people_table(0)
    estimator = GridSearchCV(HistGradientBoostingClassifier(), {"max_depth": [2]}, cv=2)
    pipeline = prepared(estimator, Columns.of_table(X))
    assert estimator.estimator.categorical_features == "from_dtype"
    assert pipeline.named_steps["classifier"].estimator.categorical_features == [1, 3, 6]


def test_too_many_categories_to_split_by_get_a_column_each():
    X, y = people_table(1)
    X["code"] = [f"c{i % 300}" for i in range(len(X))]
    catboost = imported("catboost").CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False, thread_count=1)
    for estimator in (HIST, catboost):
        pipeline = agree(estimator, 0, X, y, rows=300)
        assert "columns" in pipeline.named_steps
    assert "columns" not in prepared(HIST, Columns.of_table(X.drop(columns="code"))).named_steps


def test_weights_reach_the_classifier_behind_the_added_steps():
    X, y = people_table(2)
    weight = np.random.default_rng(0).random(len(y))
    for estimator in (BOOSTING, make_pipeline(PowerOfTwoScaler(), BOOSTING), HIST, LogisticRegression(max_iter=500)):
        pipeline = prepared(estimator, Columns.of_table(X))
        parameters = weight_parameters(pipeline, weight)
        assert len(parameters) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weighted, plain = clone(pipeline).fit(X, y, **parameters), clone(pipeline).fit(X, y)
        assert not np.array_equal(weighted.predict_proba(X), plain.predict_proba(X))


def test_tables_of_any_kind_are_taken():
    X, y = people_table(3, none=True)
    pipeline = prepared(HIST, Columns.of_table(X)).fit(X, y)
    expected = pipeline.predict(X)
    polars = pytest.importorskip("polars")
    others = [
        X.convert_dtypes(),
        X.astype({"job": "category"}),
        polars.from_pandas(X),
        read_model(pipeline).columns.decode(read_model(pipeline).columns.encode(X)),
    ]
    for other in others:
        np.testing.assert_array_equal(pipeline.predict(other), expected)
    with pytest.raises(InvalidInputError, match=r"column 'job' in rows 0, 1.*'king'"):
        pipeline.predict(X.assign(job="king"))
    unused = X.astype({"job": pd.CategoricalDtype(["king", "cook", "nurse", "clerk", "pilot", "judge"])})
    model = read_model(prepared(BOOSTING, Columns.of_table(unused)).fit(unused, y))
    assert model.columns[1].categories == ("cook", "nurse", "clerk", "pilot", "judge")


def test_added_steps_name_their_outputs():
    X, y = people_table(3)
    pipeline = prepared(BOOSTING, Columns.of_table(X)).fit(X, y)
    assert pipeline[0].get_feature_names_out().tolist() == X.columns.tolist()
    boosting = imported("lightgbm").LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)
    pipeline = prepared(boosting, Columns.of_table(X)).fit(X, y)
    assert pipeline[0].get_feature_names_out()[0] == "x0"
