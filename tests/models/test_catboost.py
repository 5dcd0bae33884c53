"""CatBoost: labels, scores and probabilities to the last bit, and what is refused."""

import numpy as np
import pytest

from fcca import CounterfactualExplainer, read_model
from fcca.exceptions import UnsupportedModelError
from fcca.models import as_classifier
from models.boosters import decided_at_some_probability
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

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def parameters(rng, n_classes):
    chosen = {
        "iterations": int(rng.integers(1, 40)),
        "depth": int(rng.integers(1, 7)),
        "learning_rate": pick(rng, 0.01, 0.1, 0.3, 1.0),
        "border_count": pick(rng, 8, 254),
        "grow_policy": pick(rng, "SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"),
        "random_seed": seed_of(rng) % 2**30,
    }
    if n_classes > 2:
        chosen["loss_function"] = pick(rng, "MultiClass", "MultiClassOneVsAll")
    else:
        chosen |= {"loss_function": "Logloss", "boost_from_average": pick(rng, False, False, True)}
    return chosen | QUIET


def build(rng, X, y):
    catboost = imported("catboost")
    n_classes = len(np.unique(y))
    model = catboost.CatBoostClassifier(**parameters(rng, n_classes))
    if rng.random() < 0.3:
        model.fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]), early_stopping_rounds=2)
    else:
        model.fit(X, y)
    if n_classes == 2 and rng.random() < 0.3:
        model.set_probability_threshold(float(rng.uniform(0.2, 0.8)))
    if rng.random() < 0.2:
        bias = rng.normal(size=n_classes if n_classes > 2 else 1)
        model.set_scale_and_bias(float(rng.uniform(0.5, 2)), bias.tolist())
    return model


def build_native(rng, X, y):
    catboost = imported("catboost")
    return as_classifier(catboost.CatBoost(parameters(rng, len(np.unique(y)))).fit(X, y))


FAMILIES = [Family("CatBoostClassifier", build), Family("CatBoost", build_native), decided_at_some_probability(build)]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", [*CI_SEEDS, 2, 3])
def test_labels_agree_on_the_cuts_and_beside_them(family, seed):
    check_family(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree(family):
    for seed in VERIFY_SEEDS:
        check_family(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_library_s_raw_values_to_the_last_bit(policy, n_classes):
    catboost = imported("catboost")
    X, y = random_table(5, n_classes)
    X[:, 5] *= 1e-40  # numbers that float32 keeps with fewer digits
    classifier = catboost.CatBoostClassifier(iterations=20, grow_policy=policy, **QUIET).fit(X, y)
    model = read_model(classifier)
    rows = rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)
    rows[:20, 5], rows[20:40, 5] = 0.0, -0.0
    raw = classifier.predict(rows, prediction_type="RawFormulaVal").reshape(len(rows), -1)
    np.testing.assert_array_equal(model.scores(rows), raw)


@pytest.mark.parametrize("threshold", [None, 0.3, 0.77])
def test_the_boundary_is_the_last_score_of_the_first_class(threshold):
    catboost = imported("catboost")
    X, y = random_table(0)
    classifier = catboost.CatBoostClassifier(iterations=3, **QUIET).fit(X, np.where(y, "yes", "no"))
    if threshold is not None:
        classifier.set_probability_threshold(threshold)
    boundary = read_model(classifier).boundary
    for score, label in ((boundary, "no"), (float(np.nextafter(boundary, np.inf)), "yes")):
        classifier.set_scale_and_bias(0.0, [score])
        assert classifier.predict(X[:1])[0] == label


def test_columns_that_were_ignored_keep_their_place():
    catboost = imported("catboost")
    X, y = random_table(3)
    classifier = catboost.CatBoostClassifier(iterations=10, ignored_features=[0, 3], **QUIET).fit(X, y)
    model = read_model(classifier)
    assert model.n_features == 6
    assert not set(model.feature) & {0, 3}
    assert label_differences(classifier, rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)) == 0


def test_a_classifier_is_taken_as_it_is():
    fitted = imported("catboost").CatBoostClassifier(iterations=1, **QUIET).fit(*random_table(0))
    assert as_classifier(fitted) is fitted


def test_unsupported_models_are_refused():
    catboost = imported("catboost")
    pandas = imported("pandas")
    X, y = random_table(0)
    with pytest.raises(UnsupportedModelError, match="RMSE"):
        as_classifier(catboost.CatBoostRegressor(iterations=1, **QUIET).fit(X, y))
    frame = pandas.DataFrame(X[:, 1:3]).assign(c=np.where(X[:, 0] > 0, "a", "b") + y.astype(str).astype(object))
    with pytest.raises(UnsupportedModelError, match="one_hot_max_size=255"):
        read_model(catboost.CatBoostClassifier(iterations=2, cat_features=["c"], **QUIET).fit(frame, y))


def test_a_model_fitted_again_on_fewer_columns_is_read_by_its_last_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = imported("catboost").CatBoostClassifier(iterations=10, depth=2, **QUIET).fit(X, y)
    model.fit(X[:, :2], y)
    assert model.n_features_in_ == 5  # the library does not update it
    assert read_model(model).n_features == 2
    found = CounterfactualExplainer(model, X[:, :2]).explain(X[:20, :2])
    np.testing.assert_array_equal(model.predict(found.apply(X[:20, :2])), 1 - model.predict(X[:20, :2]))
