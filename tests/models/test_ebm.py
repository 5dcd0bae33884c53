"""interpret's ExplainableBoostingClassifier: labels, scores and probabilities to the last bit, and what is refused."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fcca import read_model
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import check_supported, labelled
from models.boosters import decided_at_some_probability
from models.category_tables import MixedFamily, as_numbers, check_mixed, mixed_table
from models.families import pick, seed_of
from models.fidelity import (
    CI_ROWS,
    CI_SEEDS,
    VERIFY_ROWS,
    VERIFY_SEEDS,
    Family,
    check_family,
    label_differences,
    random_table,
    rows_on_the_cuts,
)
from real_data import imported


def fitted(X, y, **parameters):
    glassbox = imported("interpret.glassbox")
    chosen = {"interactions": 0, "n_jobs": 1, "outer_bags": 2, "max_rounds": 50} | parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return glassbox.ExplainableBoostingClassifier(**chosen).fit(X, y)


def build(rng, X, y):
    return fitted(
        X,
        y,
        max_rounds=int(rng.integers(1, 100)),
        outer_bags=pick(rng, 1, 3),
        max_bins=pick(rng, 8, 1024),
        learning_rate=pick(rng, 0.01, 0.1, 0.5),
        max_leaves=pick(rng, 2, 3, 5),
        random_state=seed_of(rng),
    )


def build_with_categories(rng, X, y):
    types = None
    if not isinstance(X, pd.DataFrame):
        types = ["continuous", "nominal", "continuous", "nominal", "continuous", "nominal"]
    return fitted(
        X,
        y,
        max_rounds=int(rng.integers(1, 60)),
        outer_bags=1,
        max_bins=pick(rng, 8, 1024),
        learning_rate=pick(rng, 0.1, 0.5),
        feature_types=types,
        random_state=seed_of(rng),
    )


def ordered(rng, frame):
    """Some categories in an order of their own."""
    return frame.assign(text=frame["text"].cat.as_ordered())


def own_scores(classifier, X):
    return classifier.decision_function(X)


# interpret's exponential function is not monotone in the last bits, and the threshold is the probability of a row.
FAMILIES = [Family("ExplainableBoosting", build), replace(decided_at_some_probability(build), floats_around_boundary=64)]
MIXED_FAMILIES = [
    MixedFamily("ExplainableBoosting", build_with_categories, own_scores),
    MixedFamily("OfOrderedCategories", build_with_categories, own_scores, ordered),
    MixedFamily("OfNumbers", build_with_categories, own_scores, as_numbers),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", MIXED_FAMILIES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_labels_and_scores_agree_with_categories_and_missing_values(family, seed):
    check_mixed(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", MIXED_FAMILIES, ids=str)
def test_labels_and_scores_of_many_models_agree_with_categories_and_missing_values(family):
    for seed in VERIFY_SEEDS:
        check_mixed(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", [*CI_SEEDS, 2, 3])
def test_labels_agree_on_the_cuts_and_beside_them(family, seed):
    check_family(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree(family):
    for seed in VERIFY_SEEDS:
        check_family(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_library_s_to_the_last_bit(n_classes):
    X, y = random_table(5, n_classes)
    classifier = fitted(X, y)
    model = read_model(classifier)
    rows = rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)
    rows[:20, 3], rows[20:40, 3] = 0.0, -0.0
    np.testing.assert_array_equal(model.scores(rows), classifier.decision_function(rows).reshape(len(rows), -1))


def test_each_tree_tests_one_feature_so_that_the_additive_search_takes_it():
    X, y = random_table(0)
    classifier = fitted(X, y)
    model = read_model(classifier)
    tree = np.searchsorted(model.roots, np.arange(len(model.feature)), side="right") - 1
    for i in range(len(model.roots)):
        assert len(set(model.feature[tree == i]) - {-1}) <= 1
    CounterfactualEngine(classifier, CounterfactualProblem())


def test_steps_of_height_zero_are_no_cuts():
    X, y = random_table(0)
    model = read_model(fitted(X, y, max_rounds=1, outer_bags=1))
    for j in range(6):
        assert np.sum(model.feature == j) <= 3


@pytest.mark.filterwarnings("ignore")
def test_unknown_numeric_categories_are_named():
    rng = np.random.default_rng(0)
    X = as_numbers(rng, mixed_table(0)[0])
    model = read_model(build_with_categories(rng, X, mixed_table(0)[1]))
    X[0, 1] = 98.5
    with pytest.raises(InvalidInputError, match=r"The category 98\.5 in column 1 is unknown"):
        labelled(model, X)


@pytest.mark.parametrize("interactions", [3, "3x", [(0, 1)]])
def test_pairs_are_refused_before_fitting(interactions):
    glassbox = imported("interpret.glassbox")
    with pytest.raises(UnsupportedModelError, match="interactions=0"):
        check_supported(glassbox.ExplainableBoostingClassifier(interactions=interactions))


@pytest.mark.parametrize("interactions", [0, []])
def test_a_model_without_pairs_is_accepted_before_fitting_and_read_after_it(interactions):
    glassbox = imported("interpret.glassbox")
    check_supported(glassbox.ExplainableBoostingClassifier(interactions=interactions))
    X, y = random_table(0)
    assert label_differences(fitted(X, y, interactions=interactions), X) == 0


def test_unsupported_models_are_refused():
    X, y = random_table(0)
    with pytest.raises(UnsupportedModelError, match="interactions=0"):
        read_model(fitted(X, y, interactions=2))
