"""One class against the rest: linear models and OneVsRestClassifier predict as the classifier."""

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca.exceptions import UnsupportedModelError
from fcca.models import check_supported
from models.fidelity import label_differences, random_table, rows_on_the_cuts, table_for_linear_models

LINEAR = [
    LogisticRegression(max_iter=1000),
    LogisticRegressionCV(Cs=2, cv=2, max_iter=500),
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer"),
    RidgeClassifier(),
    RidgeClassifierCV(),
    Perceptron(),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    OneVsRestClassifier(LogisticRegression(max_iter=1000)),
    OneVsRestClassifier(LinearSVC()),
    OneVsRestClassifier(SVC(kernel="linear")),
    OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
]
TREES = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(7, max_depth=3, random_state=0),
    RandomForestClassifier(2, max_features=1, random_state=0),
    GradientBoostingClassifier(n_estimators=9, random_state=0),
    HistGradientBoostingClassifier(max_iter=6, random_state=0),
    AdaBoostClassifier(n_estimators=6, random_state=0),
    BaggingClassifier(n_estimators=4, max_samples=0.3, random_state=0),
    VotingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=2)), ("forest", RandomForestClassifier(3, random_state=0))], voting="soft"
    ),
    FixedThresholdClassifier(RandomForestClassifier(3, max_depth=2, random_state=0), threshold=0.2),
    make_pipeline(MinMaxScaler((-3, 7)), GradientBoostingClassifier(n_estimators=5, random_state=0)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_linear_models_of_many_classes_agree(estimator, n_classes):
    X, y = table_for_linear_models(3, n_classes)
    y = np.array(["a", "b", "c", "d"])[y]
    estimator = estimator.fit(X, y)
    rows = np.random.default_rng(0).normal(size=(2_000, 6)) * X.std(axis=0)
    model = read_model(estimator)
    assert model.n_outputs == (1 if n_classes == 2 else n_classes)
    assert label_differences(estimator, rows, model) == 0
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(model.probabilities(model.scores(rows)), estimator.predict_proba(rows), atol=1e-9)
    elif n_classes > 2:
        np.testing.assert_allclose(model.scores(rows), estimator.decision_function(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("inner", TREES, ids=str)
def test_trees_one_against_the_rest_agree_on_the_cuts(inner, n_classes):
    X, y = random_table(n_classes, n_classes)
    estimator = OneVsRestClassifier(inner).fit(X, y)
    model = read_model(estimator)
    rows = np.concatenate([X, rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)])
    assert label_differences(estimator, rows, model) == 0
    expected = estimator.predict_proba(rows)
    shown = expected.sum(axis=1) > 0  # scikit-learn leaves a row at 0 where no class is likely at all
    np.testing.assert_allclose(model.probabilities(model.scores(rows))[shown], expected[shown], atol=1e-9)


def test_boosters_one_against_the_rest_agree():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    X, y = random_table(1, 3)
    for inner in (xgboost.XGBClassifier(n_estimators=5), lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)):
        estimator = OneVsRestClassifier(inner).fit(X, y)
        rows = rows_on_the_cuts(read_model(estimator), X, np.random.default_rng(0), 2_000)
        assert label_differences(estimator, rows) == 0


def test_voting_between_pairs_of_classes_is_refused():
    X, y = random_table(0, 3)
    with pytest.raises(UnsupportedModelError, match="votes between pairs of classes"):
        read_model(SVC(kernel="linear").fit(X / X.std(axis=0), y))
    with pytest.raises(UnsupportedModelError, match="OneVsOneClassifier is not supported"):
        check_supported(OneVsOneClassifier(LinearSVC()))
    with pytest.raises(UnsupportedModelError, match="is not linear, so its counterfactuals cannot be computed exactly"):
        check_supported(OneVsRestClassifier(SVC()))
    several = OneVsRestClassifier(DecisionTreeClassifier()).fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(UnsupportedModelError, match="several labels"):
        read_model(several)
