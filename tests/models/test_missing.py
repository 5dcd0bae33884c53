"""Missing values in scikit-learn's trees go to the same side as in predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fcca import read_model
from fcca.models._precision import largest_float64_below_float32_cut
from models.boosters import with_holes
from models.families import bagging, forest, hist_boosting, pick, seed_of, tree
from models.fidelity import CI_ROWS, VERIFY_ROWS, VERIFY_SEEDS, Family, random_table, rows_on_the_cuts


def random_tree(rng):
    """An ExtraTreeClassifier takes missing values only where it splits at random."""
    drawn = tree(rng)
    return drawn.set_params(splitter="random") if isinstance(drawn, ExtraTreeClassifier) else drawn


def few_trees(rng):
    return forest(rng, n_estimators=int(rng.integers(1, 6))).set_params(class_weight=None)


def bags(rng):
    return bagging(rng, of=pick(rng, random_tree, few_trees))


def soft_votes(rng):
    voters = [
        (f"v{i}", pick(rng, random_tree, forest, lambda rng: bagging(rng, of=random_tree))(rng))
        for i in range(rng.integers(2, 4))
    ]
    return VotingClassifier(voters, voting="soft", weights=pick(rng, None, rng.random(len(voters)) + 0.01))


def hard_votes(rng):
    return VotingClassifier([(f"v{i}", random_tree(rng)) for i in range(rng.integers(2, 6))], voting="hard")


def decided(rng):
    return FixedThresholdClassifier(forest(rng), threshold=float(rng.uniform(0.2, 0.8)))


def calibrated(rng):
    return CalibratedClassifierCV(forest(rng), method="isotonic", cv=2, ensemble=False)


def fitted(make):
    def build(rng, X, y):
        return make(rng).fit(X, y)

    return build


FAMILIES = [
    Family("SingleTree", fitted(random_tree)),
    Family("Forest", fitted(forest)),
    Family("Bagging", fitted(bags)),
    Family("SoftVoting", fitted(soft_votes)),
    Family("HardVoting", fitted(hard_votes)),
    Family("HistGradientBoosting", fitted(hist_boosting)),
    Family("FixedThreshold", fitted(decided), classes=(2,)),
    Family("Calibrated", fitted(calibrated), classes=(2,)),
]


def check_missing(family, seed, n_rows):
    """One random classifier, fitted with or without missing values, on rows with missing values anywhere."""
    rng = np.random.default_rng(seed)
    n_classes = family.classes[seed % len(family.classes)]
    X, y = random_table(seed, n_classes)
    if rng.random() < 0.7:
        X = with_holes(X, seed, pick(rng, 0.02, 0.15, 0.5))
    given = pick(rng, lambda rows: rows, lambda rows: pd.DataFrame(rows, columns=list("abcdef")))
    estimator = family.build(rng, given(X), y)
    model = read_model(estimator)
    assert model.columns.may_miss.all()
    assert model.columns.named == isinstance(given(X), pd.DataFrame)
    rows = np.concatenate([X, rows_on_the_cuts(model, X, rng, n_rows - len(X))])
    rows[rng.random(rows.shape) < 0.15] = np.nan
    answers = model.classes[model.answers(model.scores(rows))]
    np.testing.assert_array_equal(answers, estimator.predict(model.columns.decode(rows)))
    if hasattr(estimator, "predict_proba"):
        expected = estimator.predict_proba(model.columns.decode(rows))
        np.testing.assert_allclose(model.probabilities(model.scores(rows)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_labels_agree_where_values_are_missing(family, seed):
    check_missing(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree_where_values_are_missing(family):
    for seed in VERIFY_SEEDS:
        check_missing(family, seed, VERIFY_ROWS)


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingClassifier(n_estimators=3),
        AdaBoostClassifier(n_estimators=3),
        AdaBoostClassifier(ExtraTreeClassifier(max_depth=2), n_estimators=3),
        ExtraTreeClassifier(splitter="best"),
        BaggingClassifier(ExtraTreeClassifier(splitter="best"), 3),
        VotingClassifier([("a", DecisionTreeClassifier()), ("b", ExtraTreeClassifier(splitter="best"))]),
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0, 0, 0]),
        RandomForestClassifier(3, monotonic_cst=[1, 0, 0, 0, 0, 0]),
        ExtraTreesClassifier(3),
        HistGradientBoostingClassifier(max_iter=2),
        CalibratedClassifierCV(FrozenEstimator(GradientBoostingClassifier(n_estimators=3))),
    ],
    ids=str,
)
def test_a_model_takes_missing_values_where_predict_does(estimator):
    X, y = random_table(0)
    if isinstance(estimator, CalibratedClassifierCV):
        estimator.estimator.estimator.fit(X, y)
    model = read_model(estimator.fit(X, y))
    holes = with_holes(X, 0)
    if model.missing_left is None:
        assert model.columns is None or not model.columns.may_miss.any()
        with pytest.raises(ValueError, match="NaN"):
            estimator.predict(holes)
    else:
        assert model.columns.may_miss.all()
        np.testing.assert_array_equal(model.classes[model.answers(model.scores(holes))], estimator.predict(holes))


def test_a_cut_that_only_separates_missing_values_is_infinite():
    X = np.where(np.random.default_rng(0).random((200, 1)) < 0.5, np.nan, 1.0)
    y = np.isnan(X[:, 0]).astype(int)
    for estimator in (DecisionTreeClassifier(), RandomForestClassifier(3), HistGradientBoostingClassifier(max_iter=2)):
        model = read_model(estimator.fit(X, y))
        assert np.inf in model.threshold[model.feature >= 0]
        rows = np.array([[np.nan], [1.0], [-3e38], [3e38]])
        np.testing.assert_array_equal(model.answers(model.scores(rows)), [1, 0, 0, 0])
        np.testing.assert_array_equal(estimator.predict(rows), [1, 0, 0, 0])


@pytest.mark.filterwarnings("error")
def test_cuts_at_the_ends_of_single_precision_are_sharp():
    largest = float(np.finfo(np.float32).max)
    cut = largest_float64_below_float32_cut(np.array([largest, -largest, np.inf, -1e300, -np.inf]))
    with np.errstate(over="ignore"):
        assert np.all(cut[:2].astype(np.float32) <= [largest, -largest])
        assert np.all(np.nextafter(cut[:2], np.inf).astype(np.float32) > [largest, -largest])
        assert cut[2] == np.inf
        assert np.all(cut[3:].astype(np.float32) == -np.inf)
        assert np.all(np.nextafter(cut[3:], np.inf).astype(np.float32) > -np.inf)


def test_names_of_columns_are_kept():
    X, y = random_table(0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for estimator in (
        GradientBoostingClassifier(n_estimators=2),
        AdaBoostClassifier(n_estimators=2),
        bagging(np.random.default_rng(seed_of(np.random.default_rng(0)))),
    ):
        assert read_model(estimator.fit(frame, y)).columns.names == tuple("abcdef")
    assert read_model(GradientBoostingClassifier(n_estimators=2).fit(X, y)).columns is None
