"""LightGBM: labels, scores and probabilities to the last bit, and what is refused."""

import warnings

import numpy as np
import pytest

from fcca import read_model
from fcca.exceptions import UnsupportedModelError
from fcca.models import as_classifier, check_supported
from fcca.models.readers._lightgbm import ZERO
from models.boosters import decided_at_some_probability, with_holes
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

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]


def parameters(rng, n_classes):
    chosen = {
        "max_depth": int(rng.integers(1, 8)),
        "learning_rate": pick(rng, 0.01, 0.1, 0.3, 1.0),
        "min_child_samples": pick(rng, 1, 20),
        "max_bin": pick(rng, 8, 255),
        "sigmoid": pick(rng, 0.5, 1.0, 2.0),
        "boosting": pick(rng, "gbdt", "gbdt", "dart", "rf"),
        "verbose": -1,
        "seed": seed_of(rng),
        "num_threads": 1,
    }
    if chosen["boosting"] == "rf":
        chosen |= {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.7}
    if n_classes > 2:
        chosen["objective"] = pick(rng, "multiclass", "multiclassova")
    else:
        chosen |= {
            "objective": "binary",
            "is_unbalance": pick(rng, False, True),
            "boost_from_average": pick(rng, True, False),
        }
    return chosen


def build(rng, X, y):
    lightgbm = imported("lightgbm")
    chosen = parameters(rng, len(np.unique(y)))
    model = lightgbm.LGBMClassifier(
        boosting_type=chosen.pop("boosting"),
        random_state=chosen.pop("seed"),
        n_jobs=chosen.pop("num_threads"),
        subsample=chosen.pop("bagging_fraction", 1.0),
        subsample_freq=chosen.pop("bagging_freq", 0),
        colsample_bytree=chosen.pop("feature_fraction", 1.0),
        n_estimators=int(rng.integers(1, 40)),
        **chosen,
    )
    if model.boosting_type != "gbdt" or rng.random() < 0.5:
        return model.fit(X, y)
    return model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], callbacks=[lightgbm.early_stopping(2, verbose=False)])


def build_native(rng, X, y):
    lightgbm = imported("lightgbm")
    y = np.unique(y, return_inverse=True)[1]
    chosen = parameters(rng, y.max() + 1) | ({"num_class": int(y.max()) + 1} if y.max() > 1 else {})
    rows = lightgbm.Dataset(X[::2], label=y[::2])
    stopping = {}
    if chosen["boosting"] == "gbdt" and rng.random() < 0.5:
        held_out = lightgbm.Dataset(X[1::2], label=y[1::2], reference=rows)
        stopping = {"valid_sets": [held_out], "callbacks": [lightgbm.early_stopping(2, verbose=False)]}
    return as_classifier(lightgbm.train(chosen, rows, num_boost_round=int(rng.integers(1, 40)), **stopping))


FAMILIES = [Family("LGBMClassifier", build), Family("Booster", build_native), decided_at_some_probability(build)]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", [*CI_SEEDS, 2, 3])
def test_labels_agree_on_the_cuts_and_beside_them(family, seed):
    check_family(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree(family):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in VERIFY_SEEDS:
            check_family(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_library_s_raw_scores_to_the_last_bit(n_classes):
    lightgbm = imported("lightgbm")
    X, y = random_table(5, n_classes)
    classifier = lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1).fit(X, y)
    model = read_model(classifier)
    rows = rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)
    np.testing.assert_array_equal(model.scores(rows), classifier.predict(rows, raw_score=True).reshape(len(rows), -1))


def with_leaf_values(lightgbm, booster, values):
    """The booster with one tree of one leaf per class that answers these scores everywhere."""
    head = booster.model_to_string().partition("\nTree=")[0]
    trees = [
        f"Tree={i}\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\nleft_child=\nright_child=\n"
        f"leaf_value={value!r}\nleaf_weight=\nleaf_count=\ninternal_value=\ninternal_weight=\ninternal_count=\nis_linear=0\n"
        "shrinkage=1\n\n\n"
        for i, value in enumerate(values)
    ]
    kept = [line for line in head.splitlines() if not line.startswith("tree_sizes")]
    sizes = " ".join(str(len(tree)) for tree in trees)
    text = "\n".join([*kept, f"tree_sizes={sizes}", "", *["".join(trees)]]) + "end of trees\n\nend of parameters\n"
    return lightgbm.Booster(model_str=text)


@pytest.mark.parametrize("sigmoid", [0.3, 1.0, 2.0])
def test_the_boundary_is_the_last_score_of_the_first_class(sigmoid):
    lightgbm = imported("lightgbm")
    X, y = random_table(0)
    booster = lightgbm.train({"objective": "binary", "sigmoid": sigmoid, "verbose": -1}, lightgbm.Dataset(X, label=y), 1)
    boundary = read_model(as_classifier(booster)).boundary
    for score, label in ((boundary, 0), (float(np.nextafter(boundary, np.inf)), 1)):
        constant = with_leaf_values(lightgbm, booster, [score])
        assert constant.predict(X[:1], raw_score=True)[0] == score
        assert as_classifier(constant).predict(X[:1])[0] == label


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_scores_that_round_to_one_probability_are_equal(objective):
    lightgbm = imported("lightgbm")
    X, y = random_table(0, 3)
    parameters = {"objective": objective, "num_class": 3, "verbose": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, label=y), 1)
    for scores in ([0.1, float(np.nextafter(0.1, 1)), 0.0], [40.0, 41.0, 900.0], [-800.0, -900.0, -750.0], [3.0, 3.5, 3.5]):
        classifier = as_classifier(with_leaf_values(lightgbm, booster, scores))
        assert label_differences(classifier, X[:1]) == 0


def test_values_next_to_zero_are_zero():
    lightgbm = imported("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.choice([-2e-35, -ZERO, -5e-36, 0.0, 5e-36, ZERO, 2e-35, 1.0, -1.0], size=(400, 2))
    classifier = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=1, n_jobs=1, verbose=-1).fit(X, X.sum(axis=1) > 0)
    values = np.array(
        [-ZERO, ZERO, 0.0, -0.0, 5e-324, -5e-324, np.nextafter(ZERO, 1), np.nextafter(-ZERO, -1), 5e-36, 1e-34, -1e-34]
    )
    rows = rng.choice(values, size=(2_000, 2))
    assert label_differences(classifier, rows) == 0


def test_forests_average():
    lightgbm = imported("lightgbm")
    X, y = random_table(1)
    classifier = lightgbm.LGBMClassifier(
        boosting_type="rf", subsample=0.5, subsample_freq=1, n_estimators=9, verbose=-1
    ).fit(X, y)
    assert read_model(classifier).divisor == 9


def test_early_stopping_answers_by_the_best_iteration():
    lightgbm = imported("lightgbm")
    X, y = random_table(1)
    classifier = lightgbm.LGBMClassifier(n_estimators=200, learning_rate=1.0, verbose=-1, n_jobs=1)
    stop = lightgbm.early_stopping(5, verbose=False)
    classifier.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], callbacks=[stop])
    booster = classifier.booster_
    assert classifier.best_iteration_ < 200
    assert len(read_model(classifier).roots) == classifier.best_iteration_
    np.testing.assert_array_equal(as_classifier(booster).predict(X), classifier.predict(X))


@pytest.mark.parametrize("max_depth", [1, 2])
def test_zeros_that_count_as_missing_are_read_where_they_go_with_their_neighbours(max_depth):
    lightgbm = imported("lightgbm")
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(500, 3)))
    X[rng.random(X.shape) < 0.3] = 0
    parameters = {"n_estimators": 5, "max_depth": max_depth, "zero_as_missing": True, "verbose": -1, "n_jobs": 1}
    classifier = lightgbm.LGBMClassifier(**parameters)
    with pytest.raises(UnsupportedModelError, match="zero_as_missing"):
        check_supported(classifier)
    check_supported(classifier.fit(X, X.sum(axis=1) > 1))
    rows = np.concatenate([with_holes(X, 0), X[:50] - 1, np.full((1, 3), ZERO), np.full((1, 3), -ZERO)])
    np.testing.assert_array_equal(read_model(classifier).scores(rows)[:, 0], classifier.predict(rows, raw_score=True))


def test_unsupported_models_are_refused():
    lightgbm = imported("lightgbm")
    X, y = random_table(0)
    X[:, 3] -= X[:, 3].min()

    def booster(objective="binary", **parameters):
        rows = lightgbm.Dataset(X, label=y)
        return lightgbm.train({"objective": objective, "verbose": -1, **parameters}, rows, 3)

    with pytest.raises(UnsupportedModelError, match="regression"):
        as_classifier(booster(objective="regression"))
    with pytest.raises(UnsupportedModelError, match="linear_tree"):
        read_model(as_classifier(booster(linear_tree=True)))
    with pytest.raises(UnsupportedModelError, match="zero_as_missing"):
        read_model(as_classifier(booster(zero_as_missing=True)))
