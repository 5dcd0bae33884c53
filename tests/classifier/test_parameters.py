"""Parameters and metadata reach the parts of the classifier, whether they are given or the default ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import FCCAClassifier, FCCADiscretizer, FCCAScorecard, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.models import decide_at
from real_data import imported


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(200, 5, random_state=0)
    return pd.DataFrame(X, columns=list("abcde")), y


# --- parameters of the default parts -------------------------------------------------------------------------------------


def test_a_grid_search_sets_parameters_of_the_default_parts(table):
    grid = {"discretizer__Q": [0.0, 0.9], "tree__max_depth": [1, 2]}
    search = GridSearchCV(FCCAClassifier(), grid, cv=3).fit(*table)
    assert search.best_params_.keys() == grid.keys()
    best = search.best_estimator_
    assert search.best_params_["discretizer__Q"] == best.discretizer_.Q
    assert best.tree_.max_depth == search.best_params_["tree__max_depth"]


def test_the_parameters_of_the_default_parts_are_listed():
    parameters = FCCAClassifier().get_params()
    for name, part in (("discretizer", FCCADiscretizer()), ("tree", OptimalTreeClassifier())):
        assert {key: parameters[f"{name}__{key}"] for key in part.get_params()} == part.get_params()
    assert parameters["discretizer"] is parameters["tree"] is None


def test_a_parameter_of_a_default_part_makes_the_part():
    classifier = FCCAClassifier().set_params(discretizer__Q=0.7)
    assert classifier.discretizer.Q == 0.7
    assert classifier.tree is None
    assert clone(classifier).discretizer.Q == 0.7


def test_an_unknown_parameter_of_a_default_part_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'q' for estimator FCCADiscretizer"):
        FCCAClassifier().set_params(discretizer__q=0.7)


# --- the decision threshold ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frozen", [False, True])
def test_the_black_box_decides_at_the_threshold(table, frozen):
    X, y = table
    model = RandomForestClassifier(10, max_depth=3, random_state=0)
    fitted = clone(model).fit(X, y)
    given = FrozenEstimator(fitted) if frozen else model
    found = FCCADiscretizer(given, decision_threshold=0.2).fit(X, y)
    np.testing.assert_array_equal(found.predict_target(X), fitted.predict_proba(X)[:, 1] >= 0.2)
    assert found.thresholds_ == FCCADiscretizer(FrozenEstimator(decide_at(fitted, 0.2))).fit(X, y).thresholds_
    assert found.thresholds_ != FCCADiscretizer(given).fit(X, y).thresholds_


def test_chunks_and_paths_know_the_threshold(table):
    X, y = table
    frozen = FrozenEstimator(RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y))
    discretizer = FCCADiscretizer(frozen, decision_threshold=0.2)
    chunks = clone(discretizer).observe(X, y).partial_fit(X, y).partial_fit(X[:0], y[:0])
    assert chunks.thresholds_ == clone(discretizer).fit(X, y).thresholds_
    path = FCCAClassifier(discretizer).granularity_path(X, y, Q=[0.5], lambda0=[0.1, 1.0], cv=2)
    assert len(path) == 2


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1, "a"])
def test_a_threshold_that_is_no_probability_is_refused(table, threshold):
    with pytest.raises(ValueError, match="decision_threshold"):
        FCCADiscretizer(decision_threshold=threshold).fit(*table)


# --- metadata ------------------------------------------------------------------------------------------------------------


class Grouped(GradientBoostingClassifier):
    """Records the metadata of its last fit."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.groups_, self.weight_ = groups, sample_weight
        return super().fit(X, y, sample_weight)


def test_metadata_reaches_the_black_box_without_the_rows_of_weight_0(table):
    X, y = table
    groups, weight = np.arange(len(y)), np.ones(len(y))
    weight[:7] = 0
    with config_context(enable_metadata_routing=True):
        black_box = Grouped(n_estimators=5, max_depth=1).set_fit_request(groups=True, sample_weight=True)
        classifier = FCCAClassifier(FCCADiscretizer(black_box)).fit(X, y, sample_weight=weight, groups=groups)
    fitted = classifier.discretizer_.estimator_
    np.testing.assert_array_equal(fitted.groups_, groups[7:])
    np.testing.assert_array_equal(fitted.weight_, weight[7:])


def test_metadata_and_weights_reach_a_black_box_behind_encoders(table):
    X, y = table
    X = pd.DataFrame(X).assign(kind=np.where(np.arange(len(y)) % 3, "a", "b"))
    groups, weight = np.arange(len(y)), np.full(len(y), 2.0)
    with config_context(enable_metadata_routing=True):
        black_box = Grouped(n_estimators=5, max_depth=1).set_fit_request(groups=True)
        classifier = FCCAClassifier(FCCADiscretizer(black_box)).fit(X, y, sample_weight=weight, groups=groups)
    fitted = classifier.discretizer_.estimator_[-1]
    np.testing.assert_array_equal(fitted.groups_, groups)
    np.testing.assert_array_equal(fitted.weight_, weight)


def test_cross_validation_without_the_metadata_is_refused(table):
    X, y = table
    with config_context(enable_metadata_routing=True):
        black_box = Grouped(n_estimators=5, max_depth=1).set_fit_request(groups=True)
        classifier = FCCAClassifier(FCCADiscretizer(black_box), n_thresholds="auto")
        with pytest.raises(InvalidInputError, match="cannot be combined with groups"):
            classifier.fit(X, y, groups=np.arange(len(y)))


def test_metadata_goes_through_the_steps_of_a_pipeline(table):
    X, y = table
    groups = np.arange(len(y))
    with config_context(enable_metadata_routing=True):
        black_box = Grouped(n_estimators=5, max_depth=1).set_fit_request(groups=True)
        classifier = FCCAClassifier(FCCADiscretizer(make_pipeline(StandardScaler(), black_box))).fit(X, y, groups=groups)
    np.testing.assert_array_equal(classifier.discretizer_.estimator_[-1].groups_, groups)


def test_metadata_reaches_a_search_for_the_black_box(table):
    X, y = table
    groups = np.repeat(np.arange(10), 20)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            GradientBoostingClassifier(n_estimators=5),
            {"max_depth": [1, 2]},
            cv=GroupKFold(2).set_split_request(groups=True),
        )
        classifier = FCCAClassifier(FCCADiscretizer(search)).fit(X, y, groups=groups)
    assert classifier.discretizer_.estimator_.best_params_["max_depth"] in (1, 2)


def test_metadata_reaches_the_tree(table):
    X, y = table
    groups, weight = np.arange(len(y)), np.ones(len(y))
    weight[-3:] = 0
    seen = []

    class Tree(OptimalTreeClassifier):
        def fit(self, X, y, sample_weight=None, groups=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight)

    with config_context(enable_metadata_routing=True):
        FCCAClassifier(tree=Tree().set_fit_request(groups=True)).fit(X, y, sample_weight=weight, groups=groups)
    np.testing.assert_array_equal(seen[-1], groups[:-3])


def test_metadata_that_nobody_requested_is_refused(table):
    X, y = table
    with config_context(enable_metadata_routing=True):
        with pytest.raises(TypeError, match="unexpected argument"):
            FCCAClassifier().fit(X, y, colour=np.arange(len(y)))
        with pytest.raises(UnsetMetadataPassedError, match="groups"):
            FCCAClassifier(FCCADiscretizer(Grouped())).fit(X, y, groups=np.arange(len(y)))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        FCCAClassifier().fit(X, y, groups=np.arange(len(y)))


def test_weights_need_no_request(table):
    X, y = table
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    plain = FCCAClassifier().fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        routed = FCCAClassifier().fit(X, y, sample_weight=weight)
    assert routed.discretizer_.thresholds_ == plain.discretizer_.thresholds_
    assert routed.rules() == plain.rules()


def test_tables_without_values_or_with_repeated_names_are_refused(table):
    X, y = table
    polars = imported("polars")
    with pytest.raises(InvalidInputError, match=r"LazyFrame.*collect\(\)"):
        FCCAClassifier().fit(polars.from_pandas(pd.DataFrame(X)).lazy(), y)
    repeated = pd.DataFrame(X).set_axis(["a"] * X.shape[1], axis=1)
    with pytest.raises(InvalidInputError, match="repeated: 'a'"):
        FCCAClassifier().fit(repeated, y)


@pytest.mark.parametrize("estimator", [FCCAClassifier, FCCAScorecard])
def test_a_frozen_discretizer_is_refused_and_not_refitted(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    fitted = FCCADiscretizer(max_thresholds=3).fit(X, y)
    names = fitted.get_feature_names_out().tolist()
    with pytest.raises(InvalidInputError, match="discretizer is a FrozenEstimator"):
        estimator(FrozenEstimator(fitted)).fit(X[::2], y[::2])
    assert fitted.get_feature_names_out().tolist() == names
