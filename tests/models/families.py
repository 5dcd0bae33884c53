"""Random classifiers, family by family: parameters differ from seed to seed, so that no two models are alike."""

import warnings

import numpy as np
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
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.models import decide_at
from fcca.tables import PowerOfTwoScaler
from models.fidelity import Family, table_for_linear_models

# Temperatures came with scikit-learn 1.8.
METHODS = next(iter(CalibratedClassifierCV._parameter_constraints["method"])).options
CALIBRATIONS = [method for method in ("sigmoid", "isotonic", "temperature") if method in METHODS]


def pick(rng, *options):
    return options[rng.integers(len(options))]


def seed_of(rng):
    return int(rng.integers(2**31))


def tree(rng):
    return pick(rng, DecisionTreeClassifier, ExtraTreeClassifier)(
        max_depth=pick(rng, None, 1, 2, 3, 5, 8),
        criterion=pick(rng, "gini", "entropy", "log_loss"),
        splitter=pick(rng, "best", "random"),
        min_samples_leaf=pick(rng, 1, 2, 7, 0.05),
        max_features=pick(rng, None, "sqrt", 2),
        max_leaf_nodes=pick(rng, None, None, 4, 11),
        class_weight=pick(rng, None, "balanced"),
        ccp_alpha=pick(rng, 0.0, 0.0, 0.01),
        random_state=seed_of(rng),
    )


def forest(rng, n_estimators=None):
    kind = pick(rng, RandomForestClassifier, ExtraTreesClassifier)
    bootstrap = bool(rng.integers(2))
    return kind(
        n_estimators=n_estimators or int(rng.integers(1, 25)),
        max_depth=pick(rng, None, 1, 2, 3, 5),
        criterion=pick(rng, "gini", "entropy"),
        min_samples_leaf=pick(rng, 1, 1, 3),
        max_features=pick(rng, "sqrt", None, 2),
        bootstrap=bootstrap,
        max_samples=pick(rng, None, 0.3) if bootstrap else None,
        class_weight=pick(rng, None, "balanced"),
        random_state=seed_of(rng),
    )


def of_class(kind, n_estimators=None):
    """A forest of one of the two classes with the parameters of ``forest``."""

    def build(rng):
        drawn = forest(rng, n_estimators)
        return kind(**drawn.get_params())

    return build


def forest_with_ties(rng):
    """Few trees, an even number, with pure leaves: many rows get as many votes for one class as for another."""
    return pick(rng, RandomForestClassifier, ExtraTreesClassifier)(
        n_estimators=pick(rng, 2, 4, 6), max_features=1, bootstrap=True, random_state=seed_of(rng)
    )


def boosting(rng, n_classes=2):
    return GradientBoostingClassifier(
        n_estimators=int(rng.integers(1, 40)),
        max_depth=pick(rng, 1, 2, 3, 5, None),
        max_leaf_nodes=pick(rng, None, 2, 6),
        learning_rate=pick(rng, 0.1, 0.5, 1.0, float(rng.random()) + 0.01),
        loss=pick(rng, "log_loss", "exponential") if n_classes == 2 else "log_loss",
        subsample=pick(rng, 1.0, 0.6),
        init=pick(rng, None, "zero"),
        n_iter_no_change=pick(rng, None, None, 3),
        max_features=pick(rng, None, 2),
        random_state=seed_of(rng),
    )


def hist_boosting(rng):
    return HistGradientBoostingClassifier(
        max_iter=int(rng.integers(1, 25)),
        max_leaf_nodes=pick(rng, 3, 8, 31),
        max_depth=pick(rng, None, 1, 3),
        learning_rate=pick(rng, 0.1, 0.7),
        min_samples_leaf=pick(rng, 2, 20),
        l2_regularization=pick(rng, 0.0, 1.0),
        max_bins=pick(rng, 5, 40, 255),
        max_features=pick(rng, 1.0, 0.5),
        early_stopping=pick(rng, False, False, True),
        random_state=seed_of(rng),
    )


def adaboost(rng):
    return AdaBoostClassifier(
        pick(
            rng,
            None,
            DecisionTreeClassifier(max_depth=int(rng.integers(1, 5)), max_features=2),
            ExtraTreeClassifier(max_depth=2),
        ),
        n_estimators=int(rng.integers(1, 40)),
        learning_rate=pick(rng, 1.0, 0.3),
        random_state=seed_of(rng),
    )


def bagging(rng, of=tree):
    return BaggingClassifier(
        of(rng),
        n_estimators=int(rng.integers(1, 15)),
        max_samples=pick(rng, 1.0, 0.3, 12),
        max_features=pick(rng, 1.0, 0.5, 2),
        bootstrap=pick(rng, True, False),
        bootstrap_features=pick(rng, True, False),
        random_state=seed_of(rng),
    )


def bagging_of_anything(rng):
    kind = rng.integers(4)
    if kind == 0:
        few_trees = forest(rng, n_estimators=int(rng.integers(1, 6))).set_params(class_weight=None)
        return bagging(rng, of=lambda rng: few_trees)
    if kind == 1:  # fitted on the drawn rows alone, so that a bag may miss whole classes
        return bagging(rng, of=lambda rng: scaled(rng, tree(rng))).set_params(
            max_samples=pick(rng, 3, 5, 0.5), max_features=1.0
        )
    return bagging(rng)


def voting(rng):
    voters = [pick(rng, tree, forest, bagging, lambda rng: scaled(rng, tree(rng)))(rng) for _ in range(rng.integers(2, 5))]
    named = [(f"v{i}", voter) for i, voter in enumerate(voters)]
    if rng.random() < 0.3:
        named.insert(int(rng.integers(len(named))), ("dropped", "drop"))
    weights = pick(rng, None, rng.random(len(named)) + 0.01, rng.integers(1, 4, len(named)))
    return VotingClassifier(named, voting="soft", weights=weights)


def hard_voting(rng):
    voters = [pick(rng, tree, lambda rng: scaled(rng, tree(rng)))(rng) for _ in range(rng.integers(2, 7))]
    named = [(f"v{i}", voter) for i, voter in enumerate(voters)]
    weights = pick(rng, None, rng.random(len(named)), rng.integers(0, 4, len(named)) + 1)
    return VotingClassifier(named, voting="hard", weights=weights)


def linear(rng):
    kind = pick(rng, LogisticRegression, LinearSVC, RidgeClassifier, Perceptron, SGDClassifier)
    chosen = {"alpha": 10.0 ** rng.integers(-4, 1)} if kind in (RidgeClassifier, Perceptron, SGDClassifier) else {}
    if kind is SGDClassifier:
        chosen["loss"] = pick(rng, "hinge", "log_loss", "modified_huber")
    return kind(fit_intercept=pick(rng, True, True, False), random_state=seed_of(rng), **chosen)


def scaled(rng, estimator):
    scalers = [StandardScaler(), MinMaxScaler((-3, 7)), RobustScaler(), MaxAbsScaler(), PowerOfTwoScaler(), "passthrough"]
    chosen = rng.permutation(len(scalers))[: rng.integers(1, 3)]
    return make_pipeline(*[scalers[i] for i in chosen], estimator)


def fitted(make):
    """A family's ``build`` from a function that returns an unfitted classifier."""

    def build(rng, X, y):
        return make(rng).fit(X, y)

    return build


def build_boosting(rng, X, y):
    weight = pick(rng, None, rng.random(len(y)))
    return boosting(rng, len(np.unique(y))).fit(X, y, sample_weight=weight)


def build_behind_scalers(rng, X, y):
    inside = [forest(rng), hist_boosting(rng), adaboost(rng), tree(rng), boosting(rng, len(np.unique(y)))]
    return scaled(rng, pick(rng, *inside)).fit(X, y)


def build_hist_boosting(rng, X, y):
    if rng.random() < 0.5:  # missing values in fit make splits for them
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    return hist_boosting(rng).fit(X, y)


def optimal_tree(rng):
    return OptimalTreeClassifier(max_depth=pick(rng, 1, 2), regularization=pick(rng, 0.0, 0.02), time_limit=60)


def build_optimal_tree(rng, X, y):
    fewer = X[:60]  # midpoints of all rows would make a slow search
    return optimal_tree(rng).fit(fewer, y[:60])


def build_fcca_tree(rng, X, y):
    return FCCAClassifier(FCCADiscretizer(tree(rng)), optimal_tree(rng)).fit(X, y)


def any_model(rng):
    return pick(rng, boosting, hist_boosting, adaboost, forest, forest_with_ties, tree, bagging, voting)(rng)


def response_of_some_row(rng, estimator, X, method, pos_label):
    """A value that the classifier really has, so that the threshold is met exactly."""
    positive = 1 if pos_label is None else int(np.flatnonzero(estimator.classes_ == pos_label)[0])
    rows = X[rng.integers(0, len(X), 20)]
    if method == "predict_proba":
        response = estimator.predict_proba(rows)[:, positive]
    else:
        response = estimator.decision_function(rows) * (1 if positive else -1)
    return float(pick(rng, *response))


def with_fixed_threshold(rng, inner, X, y):
    methods = [name for name in ("predict_proba", "decision_function") if hasattr(inner, name)]
    method = pick(rng, *methods)
    pos_label = pick(rng, None, *inner.classes_)
    threshold = pick(rng, "auto", response_of_some_row(rng, inner, X, method, pos_label), float(rng.random()))
    return FixedThresholdClassifier(
        FrozenEstimator(inner), threshold=threshold, pos_label=pos_label, response_method=method
    ).fit(X, y)


def build_fixed_threshold(rng, X, y):
    inner = any_model(rng)
    return with_fixed_threshold(rng, (scaled(rng, inner) if rng.random() < 0.2 else inner).fit(X, y), X, y)


def build_decided(rng, X, y):
    inner = any_model(rng).fit(X, y)
    threshold = response_of_some_row(rng, inner, X, "predict_proba", None)
    return decide_at(inner, threshold if 0 < threshold < 1 else 0.12)


def build_tuned_threshold(rng, X, y):
    y = (y == y[0]).astype(int) if y.dtype.kind == "U" else y
    inner = any_model(rng)
    tuned = TunedThresholdClassifierCV(inner, cv=2, thresholds=pick(rng, 7, 50), response_method="auto")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuned.fit(X, y)
    except ValueError as error:  # one that answers the same everywhere has no threshold to tune
        if "constant" not in str(error):
            raise
        return build_tuned_threshold(rng, X, y)


def calibrated_somehow(rng, X, y):
    inner, method = any_model(rng), pick(rng, *CALIBRATIONS)
    kind = rng.integers(3)
    if kind == 0:
        return CalibratedClassifierCV(inner, method=method, cv=3, ensemble=False).fit(X, y)
    half = rng.permutation(len(X)) < len(X) // 2
    frozen = FrozenEstimator(inner.fit(X[half], y[half]))
    # One calibration, or several of one model.
    return CalibratedClassifierCV(frozen, method=method, cv=3, ensemble=kind == 1).fit(X[~half], y[~half])


def build_calibrated(rng, X, y):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calibrated = calibrated_somehow(rng, X, y)
    except RuntimeError as error:  # scikit-learn's own search for a temperature may fail
        if "Temperature" not in str(error):
            raise
        return build_calibrated(rng, X, y)
    if any(getattr(one, "a_", -1) > 0 for each in calibrated.calibrated_classifiers_ for one in each.calibrators):
        return build_calibrated(rng, X, y)  # falls as the score rises, which is refused
    return with_fixed_threshold(rng, calibrated, X, y) if rng.random() < 0.3 else calibrated


FAMILIES = [
    Family("GradientBoosting", build_boosting),
    Family("HistGradientBoosting", build_hist_boosting),
    Family("RandomForest", fitted(of_class(RandomForestClassifier))),
    Family("ExtraTrees", fitted(of_class(ExtraTreesClassifier))),
    Family("ForestWithTies", fitted(forest_with_ties)),
    Family("SingleTree", fitted(tree)),
    Family("AdaBoost", fitted(adaboost)),
    Family("Bagging", fitted(bagging_of_anything)),
    Family("SoftVoting", fitted(voting)),
    Family("HardVoting", fitted(hard_voting)),
    Family("OptimalTree", build_optimal_tree),
    Family("FCCATree", build_fcca_tree),
    Family("Linear", fitted(linear), table=table_for_linear_models),
    Family("BehindScalers", build_behind_scalers),
    Family("FixedThreshold", build_fixed_threshold, classes=(2,)),
    Family("TunedThreshold", build_tuned_threshold, classes=(2,)),
    Family("DecidedAt", build_decided, classes=(2,)),
    Family("Calibrated", build_calibrated, classes=(2,)),
]
