"""XGBoost: labels, scores and probabilities to the last bit, and what is refused."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import read_model
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


def parameters(rng):
    chosen = {
        "max_depth": pick(rng, 1, 2, 3, 6),
        "learning_rate": pick(rng, 0.01, 0.1, 0.3, 1.0),
        "subsample": pick(rng, 0.5, 1.0),
        "tree_method": pick(rng, "hist", "exact", "approx"),
        "gamma": pick(rng, 0.0, 1.0),
        "max_bin": pick(rng, 8, 256),
        "num_parallel_tree": pick(rng, 1, 1, 3),
    }
    if rng.random() < 0.3:
        chosen |= {"booster": "dart", "rate_drop": 0.3, "normalize_type": pick(rng, "tree", "forest")}
    if rng.random() < 0.4:
        chosen["base_score"] = float(rng.uniform(0.05, 0.95))
    return chosen


def build(rng, X, y):
    """XGBClassifier takes the labels 0, 1, … only."""
    xgboost = imported("xgboost")
    y = np.unique(y, return_inverse=True)[1]
    stopping = rng.random() < 0.3
    kind = (
        pick(rng, xgboost.XGBClassifier, xgboost.XGBClassifier, xgboost.XGBRFClassifier)
        if not stopping
        else xgboost.XGBClassifier
    )
    chosen = parameters(rng)
    if kind is xgboost.XGBRFClassifier:
        chosen.pop("num_parallel_tree")
        chosen["tree_method"] = "hist"  # it samples columns by node, which the exact method does not
    if y.max() > 1:
        chosen["objective"] = pick(rng, "multi:softprob", "multi:softmax")
    model = kind(
        n_estimators=int(rng.integers(1, 40)),
        n_jobs=1,
        random_state=seed_of(rng),
        early_stopping_rounds=2 if stopping else None,
        **chosen,
    )
    if not stopping:
        return model.fit(X, y)
    return model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)


def build_native(rng, X, y):
    xgboost = imported("xgboost")
    y = np.unique(y, return_inverse=True)[1]
    chosen = parameters(rng)
    if y.max() > 1:
        chosen |= {"objective": pick(rng, "multi:softprob", "multi:softmax"), "num_class": int(y.max()) + 1}
    elif rng.random() < 0.2:
        chosen |= {"objective": "multi:softprob", "num_class": 2}
    else:
        chosen["objective"] = pick(rng, "binary:logistic", "binary:logitraw", "binary:hinge")
    rows, held_out = xgboost.DMatrix(X[::2], label=y[::2]), xgboost.DMatrix(X[1::2], label=y[1::2])
    stopping = {"evals": [(held_out, "held_out")], "early_stopping_rounds": 2} if rng.random() < 0.4 else {}
    chosen |= {"nthread": 1, "verbosity": 0, "seed": seed_of(rng)}
    return as_classifier(
        xgboost.train(chosen, rows, num_boost_round=int(rng.integers(1, 40)), verbose_eval=False, **stopping)
    )


FAMILIES = [Family("XGBClassifier", build), Family("Booster", build_native), decided_at_some_probability(build)]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", [*CI_SEEDS, 2, 3])
def test_labels_agree_on_the_cuts_and_beside_them(family, seed):
    check_family(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree(family):
    for seed in VERIFY_SEEDS:
        check_family(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_library_s_margins_to_the_last_bit(booster, n_classes):
    xgboost = imported("xgboost")
    X, y = random_table(5, n_classes)
    dart = {"rate_drop": 0.5, "one_drop": 1} if booster == "dart" else {}
    classifier = xgboost.XGBClassifier(n_estimators=30, booster=booster, n_jobs=1, **dart).fit(X, y)
    model = read_model(classifier)
    rows = rows_on_the_cuts(model, X, np.random.default_rng(0), 2_000)
    margins = classifier.predict(rows, output_margin=True).reshape(len(rows), -1)
    np.testing.assert_array_equal(model.scores(rows), margins)


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:logitraw", "binary:hinge"])
def test_the_boundary_is_the_last_score_of_the_first_class(objective):
    xgboost = imported("xgboost")
    X, y = random_table(0)
    classifier = xgboost.XGBClassifier(n_estimators=2, objective=objective, learning_rate=0.0, n_jobs=1).fit(X, y)
    boundary = np.float32(read_model(classifier).boundary)
    margins = np.array([boundary, np.nextafter(boundary, np.float32(np.inf))], dtype=np.float32)
    np.testing.assert_array_equal(classifier.predict(X[:2], base_margin=margins), [0, 1])


def test_scores_that_round_to_one_probability_are_equal():
    xgboost = imported("xgboost")
    X, y = random_table(0, 3)
    classifier = xgboost.XGBClassifier(n_estimators=1, learning_rate=0.0, n_jobs=1).fit(X, y)
    rng = np.random.default_rng(0)
    first = rng.normal(size=(5_000, 1)).astype(np.float32) * 10.0 ** rng.integers(-6, 1, (5_000, 1)).astype(np.float32)
    margins = np.hstack([first, np.nextafter(first, np.float32(np.inf)), first - np.float32(1e-7)]).astype(np.float32)
    rows = np.resize(X, (5_000, X.shape[1]))
    expected = classifier.predict(rows, base_margin=margins)
    assert len(np.unique(expected)) > 1
    model = read_model(classifier)
    np.testing.assert_array_equal(model.answers(margins.astype(np.float64)), expected)


def test_early_stopping_answers_by_the_best_iteration():
    xgboost = imported("xgboost")
    X, y = random_table(1)
    classifier = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=5, n_jobs=1, learning_rate=1.0)
    classifier.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    booster = classifier.get_booster()
    assert classifier.best_iteration + 1 < booster.num_boosted_rounds()
    assert len(read_model(classifier).roots) == classifier.best_iteration + 1
    np.testing.assert_array_equal(as_classifier(booster).predict(X), classifier.predict(X))


def test_nodes_that_pruning_left_behind_are_dropped():
    xgboost = imported("xgboost")
    X, y = random_table(3)
    classifier = xgboost.XGBClassifier(n_estimators=10, tree_method="exact", gamma=5, n_jobs=1).fit(X, y)
    model = read_model(classifier)
    inner = model.left >= 0
    children = np.sort(np.concatenate([model.roots, model.left[inner], model.right[inner]]))
    np.testing.assert_array_equal(children, np.arange(len(model.left)))


def test_scalers_and_frozen_models_are_read():
    xgboost = imported("xgboost")
    X, y = random_table(4)
    pipeline = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=10, n_jobs=1)).fit(X, y)
    rows = rows_on_the_cuts(read_model(pipeline), X, np.random.default_rng(0), 2_000)
    assert label_differences(FrozenEstimator(pipeline), rows) == 0


@pytest.mark.filterwarnings("ignore")
def test_unsupported_models_are_refused():
    xgboost = imported("xgboost")
    X, y = random_table(0, 3)
    rows = xgboost.DMatrix(X, label=y)

    def classifier(**parameters):
        return xgboost.XGBClassifier(n_estimators=2, n_jobs=1, **parameters)

    with pytest.raises(UnsupportedModelError, match="gblinear"):
        read_model(classifier(booster="gblinear").fit(X / X.std(axis=0), y > 0))
    with pytest.raises(UnsupportedModelError, match="one_output_per_tree"):
        read_model(classifier(multi_strategy="multi_output_tree").fit(X, y))
    with pytest.raises(UnsupportedModelError, match="missing"):
        read_model(classifier(missing=0.0).fit(X, y > 0))
    with pytest.raises(UnsupportedModelError, match="binary:logistic"):
        read_model(classifier(objective="multi:softprob", num_class=2).fit(X, y > 0))
    with pytest.raises(UnsupportedModelError, match="reg:squarederror"):
        as_classifier(xgboost.train({"objective": "reg:squarederror"}, rows, 1))
    with pytest.raises(UnsupportedModelError, match="no trees"):
        read_model(as_classifier(xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, label=y > 0), 0)))
