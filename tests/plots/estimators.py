"""Small fitted estimators to draw, each made once."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from fcca import (
    CounterfactualExplainer,
    FCCAClassifier,
    FCCADiscretizer,
    FCCAScorecard,
    GTREDiscretizer,
    MidpointDiscretizer,
    OptimalTreeClassifier,
)
from fcca.fairness import distill_without, group_metrics, recourse_by_group
from fcca.robustness import margin_effect
from fcca.selection import OptimalSelection
from fcca.stability import bootstrap, drift

HOSTILE = [
    "$x_1$ & $y$ <script>alert(1)</script>",
    "a" * 300,
    "_under\nscore",
    "{curly} %s \\frac " + "and on " * 50,
    "<b>",
    "$",
]


@cache
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:200], y.iloc[:200]


@cache
def numbers():
    return FCCAClassifier(FCCADiscretizer(Q=0.5), preset="paper").fit(*cancer())


@cache
def forest_explanations():
    X, y = cancer()
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    return CounterfactualExplainer(forest, X).explain(X.iloc[[5, 12]], n=3)


@cache
def path():
    X, y = cancer()
    return FCCAClassifier().granularity_path(X, y, Q=(0.0, 0.5, 0.9, 0.95), lambda0=(0.1, 1.0), cv=2)


@cache
def loans():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "income": rng.normal(3, 1, n).round(1),
            "purpose": rng.choice(["car", "tv", "boat", "a house by the sea and a garden"], n),
            "sex": rng.choice(["woman", "man"], n),
        }
    )
    y = np.where((X["income"] > 3) ^ (X["purpose"] == "car"), "yes", "no")
    X.loc[::9, "income"] = np.nan
    X.loc[::50, "purpose"] = None
    return X, y


@cache
def mixed():
    box = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    return FCCAClassifier(FCCADiscretizer(box, Q=0.3)).fit(*loans())


@cache
def two_mixed():
    X, y = loans()
    return FCCAClassifier(FCCADiscretizer(HistGradientBoostingClassifier(max_iter=20, random_state=0))).fit(X.iloc[:, :2], y)


@cache
def hostile():
    X, y = cancer()
    X = X.iloc[:, [20, 21, 22, 23, 27, 7]].set_axis(HOSTILE, axis=1)
    labels = np.where(y == 0, "$bad$_<b>", "_" + "good " * 60)
    return FCCAClassifier(FCCADiscretizer(RandomForestClassifier(5, max_depth=2, random_state=0))).fit(X, labels)


@cache
def scorecard():
    return FCCAScorecard(n_thresholds=8).fit(*loans())


@cache
def hostile_scorecard():
    X, y = cancer()
    return FCCAScorecard(n_thresholds=12).fit(X.iloc[:, [20, 21, 22, 23, 27, 7]].set_axis(HOSTILE, axis=1), y)


@cache
def hostile_pair():
    X, y = cancer()
    X = X.iloc[:, [20, 21]].set_axis(HOSTILE[:2], axis=1)
    return FCCAClassifier().fit(X, np.where(y == 0, "$bad$_<b>", "_" + "good " * 60))


@cache
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    box = RandomForestClassifier(8, max_depth=3, random_state=0)
    return FCCAClassifier(FCCADiscretizer(box, Q=0.5)).fit(X.iloc[:, 2:], y)


@cache
def linear():
    X, y = cancer()
    return FCCAClassifier(FCCADiscretizer(LogisticRegression(), Q=0.9)).fit(X[["worst radius", "worst texture"]], y)


@cache
def ten_classes():
    X, y = load_digits(return_X_y=True, as_frame=True)
    return OptimalTreeClassifier(max_depth=2, criterion="error").fit((X.iloc[:300] > 7).astype(np.uint8), y[:300])


@cache
def deep():
    X, y = cancer()
    halves = (X.iloc[:, :12] > X.iloc[:, :12].median()).astype(np.uint8)
    return OptimalTreeClassifier(max_depth=5, regularization=0.0, max_leaf_nodes=None, criterion="error").fit(
        halves, y
    ), halves


@cache
def leaf():
    X, y = cancer()
    return OptimalTreeClassifier(max_depth=1, regularization=0.9, criterion="error").fit(
        (X.median() < X).astype(np.uint8), y
    )


@cache
def one_threshold():
    X = pd.DataFrame({"only": [1.0, 2.0, 3.0, 4.0] * 10})
    return FCCAClassifier().fit(X, (X["only"] > 2).astype(int))


@cache
def many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 166))
    return FCCADiscretizer(RandomForestClassifier(60, max_depth=3, random_state=0)).fit(X, X[:, :6].sum(axis=1) > 0)


@cache
def guessed():
    X, y = cancer()
    return FCCAClassifier(GTREDiscretizer()).fit(X.iloc[:, :4], y)


@cache
def distilled():
    X, y = loans()
    return distill_without(FCCAClassifier(mixed().discretizer), X, y, "sex", favourable="yes")


@cache
def metrics():
    X, y = loans()
    return group_metrics(y, mixed().predict(X), X["purpose"].fillna("none given"), "yes")


@cache
def recourse():
    X, _ = loans()
    explainer = CounterfactualExplainer(mixed().discretizer_.estimator_, X)
    return recourse_by_group(explainer, X, "sex", favourable="yes", max_rows=10)


@cache
def effect():
    X, y = cancer()
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    return margin_effect(forest, X, X[:5], y=y, n_refits=1, margins=(1e-4, "10%", "20%"))


@cache
def frontier():
    X, y = cancer()
    table = MidpointDiscretizer(max_thresholds=2).fit(X.iloc[:, :8]).thresholds_
    return OptimalSelection().frontier(table, X.iloc[:, :8], y, k=range(1, 7))


@cache
def unproven_frontier():
    """Frontier as after a time limit: 3 to 5 not proven, and simpler selections that break the rules."""
    found = frontier()
    selections = [
        replace(one, lower_bound=0.6 * one.inconsistency, is_optimal=False) if 3 <= one.n_thresholds <= 5 else one
        for one in found
    ]
    return replace(found, selections=tuple(selections), greedy=tuple(0.5 * rate for rate in found.greedy))


@cache
def stability():
    X, y = cancer()
    return bootstrap(MidpointDiscretizer(max_thresholds=2, boundary_only=True), X.iloc[:, :6], y, n_samples=12)


@cache
def mixed_stability():
    X, y = loans()
    found = bootstrap(MidpointDiscretizer(max_thresholds=3), X, y, n_samples=6)
    return replace(found, failures={6: "NoCounterfactualError: nothing"}, n_samples=7)


@cache
def hostile_stability():
    X, y = cancer()
    X = X.iloc[:, :6].set_axis(HOSTILE, axis=1)
    return bootstrap(MidpointDiscretizer(max_thresholds=5), X, y, n_samples=3)


@cache
def drifted():
    X, _ = loans()
    new = X.iloc[::3].assign(income=X["income"] * 1.4, purpose=X["purpose"].replace({"tv": "phone"}))
    return drift(mixed(), X, new)


@cache
def many_drifted():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(2, 400, 166))
    return drift(many_columns(), old, new * np.linspace(1, 2, 166))


@cache
def hostile_drifted():
    X, _ = cancer()
    X = X.iloc[:, [20, 21, 22, 23, 27, 7]].set_axis(HOSTILE, axis=1)
    return drift(hostile(), X, 1.3 * X.iloc[:60])


@cache
def undrifted():
    X = pd.DataFrame({"only": [1.0, 2.0, 3.0, 4.0] * 10})
    return drift(one_threshold().discretizer_, X, X)
