"""FCCAClassifier: the tree in raw units, its certificate, its fidelity and the path over granularities."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import export_text
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.classifier import choose_granularity
from fcca.exceptions import InvalidInputError
from fcca.metrics import compression_rate, inconsistency_rate


@parametrize_with_checks([FCCAClassifier()])
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :15], np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def frozen(data):
    return FrozenEstimator(GradientBoostingClassifier(max_depth=1, random_state=0).fit(*data))


@pytest.fixture(scope="module")
def fitted(frozen, data):
    return FCCAClassifier(
        FCCADiscretizer(frozen), OptimalTreeClassifier(max_depth=3, regularization=0.005, criterion="error")
    ).fit(*data)


def test_answers_in_raw_units_as_the_tree_on_binary_rows_does(fitted, data):
    X, _ = data
    B = fitted.discretizer_.transform(X)
    np.testing.assert_array_equal(fitted.predict(X), fitted.tree_.predict(B))
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.tree_.predict_proba(B))


def test_rules_hold_on_the_rows_that_they_answer(fitted, data):
    X, _ = data
    answered = np.zeros(len(X), dtype=int)
    for rule in fitted.rules():
        conditions, answer = rule.split(" → ")
        holds = np.ones(len(X), dtype=bool)
        for condition in conditions.split(" and "):
            column, sign, threshold = condition.rsplit(" ", 2)
            holds &= (X[column] > float(threshold)) == (sign == ">")
        answered += holds
        assert set(fitted.predict(X)[holds]) == {answer.split(" (")[0]}
    assert np.all(answered == 1)
    assert len(fitted.rules()) == fitted.tree_.n_leaves_


def test_carries_the_certificate(fitted, data):
    X, y = data
    tree = fitted.tree_
    assert tree.is_optimal_
    assert tree.gap_ == 0
    error = np.mean(fitted.predict(X) != y)
    assert tree.objective_ == pytest.approx(error + 0.005 * tree.n_leaves_)
    assert tree.lower_bound_ == tree.objective_


def test_fidelity_is_agreement_with_the_black_box(fitted, frozen, data):
    X, _ = data
    agreement = np.mean(fitted.predict(X) == frozen.predict(X))
    assert fitted.fidelity_ == pytest.approx(agreement)
    assert fitted.fidelity(X) == pytest.approx(agreement)


def test_fitting_to_the_target_is_the_best_trade_of_fidelity_for_leaves(fitted, data):
    faithful = clone(fitted).set_params(fit_to="target").fit(*data)
    assert faithful.tree_.objective_ == pytest.approx(1 - faithful.fidelity_ + 0.005 * faithful.tree_.n_leaves_)
    assert faithful.tree_.objective_ <= 1 - fitted.fidelity_ + 0.005 * fitted.tree_.n_leaves_


def test_to_sklearn_is_the_same_tree_in_raw_units(fitted, data):
    X, _ = data
    other = fitted.to_sklearn()
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    assert X.columns[fitted.structure_.feature[0]] in export_text(other, feature_names=list(X.columns))


def test_pickle_and_many_classes():
    X, y = load_iris(return_X_y=True)
    classifier = FCCAClassifier(tree=OptimalTreeClassifier(3, regularization=0.01, criterion="error")).fit(X, y)
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(copy.predict(X), classifier.predict(X))
    assert classifier.score(X, y) > 0.9
    assert classifier.predict_proba(X).shape == (150, 3)


def test_granularity_path_is_what_refitting_gives(fitted, data):
    X, y = data
    cv = StratifiedKFold(3)
    path = fitted.granularity_path(X, y, Q=[0.0, 0.8], lambda0=[0.1, 0.5], cv=cv, per_fold=True)
    assert len(path) == 2 * 2 * 3
    for line in path.itertuples():
        train, test = list(cv.split(X, y))[line.fold]
        refitted = clone(fitted).set_params(discretizer__Q=line.Q, discretizer__lambda0=line.lambda0)
        refitted.fit(X.iloc[train], y[train])
        B = refitted.discretizer_.transform(X.iloc[train])
        assert line.thresholds == len(refitted.discretizer_.thresholds_)
        assert line.features == len(refitted.discretizer_.thresholds_.features_used)
        assert line.accuracy == pytest.approx(refitted.score(X.iloc[test], y[test]))
        assert line.fidelity == pytest.approx(refitted.fidelity(X.iloc[test]))
        assert line.compression == pytest.approx(compression_rate(B))
        assert line.inconsistency == pytest.approx(inconsistency_rate(B, y[train]))
        assert line.leaves == refitted.tree_.n_leaves_
        assert line.optimal == 1
    means = fitted.granularity_path(X, y, Q=[0.0, 0.8], lambda0=[0.1, 0.5], cv=cv)
    assert len(means) == 4
    first = path[(path["lambda0"] == 0.1) & (path["Q"] == 0.8)]["accuracy"]
    line = means[(means["lambda0"] == 0.1) & (means["Q"] == 0.8)].iloc[0]
    assert line["accuracy"] == pytest.approx(first.mean())
    assert line["accuracy_se"] == pytest.approx(first.std(ddof=1) / np.sqrt(3))


def test_ways_to_choose_from_a_path():
    path = pd.DataFrame(
        {
            "lambda0": 0.1,
            "Q": [0.0, 0.5, 0.9],
            "thresholds": [30.0, 15.0, 3.0],
            "accuracy": [0.90, 0.89, 0.80],
            "accuracy_se": [0.02, 0.02, 0.02],
            "compression": [0.2, 0.6, 0.95],
            "inconsistency": [0.01, 0.05, 0.30],
        }
    )
    assert choose_granularity(path, "best")["Q"] == 0.0
    assert choose_granularity(path)["Q"] == 0.5
    assert choose_granularity(path, "tradeoff")["Q"] == 0.5
    assert choose_granularity(path, "tradeoff", tradeoff=0.1)["Q"] == 0.9
    with pytest.raises(InvalidInputError, match="tradeoff"):
        choose_granularity(path, "cheapest")


def test_bad_parameters_are_named(data):
    with pytest.raises(ValueError, match="fit_to"):
        FCCAClassifier(fit_to="both").fit(*data)
    with pytest.raises(InvalidInputError, match="at least one level"):
        FCCAClassifier().granularity_path(*data, Q=[])
    with pytest.raises(InvalidInputError, match="1 class"):
        FCCAClassifier().fit(data[0], np.ones(len(data[0])))
