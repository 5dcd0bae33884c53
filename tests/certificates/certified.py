"""Honest certificates of many kinds, each with its rows and its black box."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.certificates import Verification, certificate, verify
from fcca.constraints import (
    Allowed,
    Bounds,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    MaxChanges,
    OneHot,
    Rule,
)
from fcca.models import decide_at
from fcca.selection import OptimalSelection
from mixed_tables import loans
from real_data import imported


@dataclass(frozen=True)
class Case:
    """A fitted classifier, and the rows it was fitted on."""

    classifier: FCCAClassifier
    X: Any
    y: Any
    weight: Any = None

    @property
    def model(self) -> Any:
        return self.classifier.discretizer_.estimator_

    @property
    def document(self) -> str:
        return certificate(self.classifier)

    def verified(self, document: str | None = None, **options: Any) -> Verification:
        options = {"sample": 5, "random_state": 0, "time_limit": 20.0} | options
        return verify(self.document if document is None else document, self.X, self.y, self.model, self.weight, **options)


def numbers(n: int = 150, columns: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:n, 20 : 20 + columns], y.to_numpy()[:n]


def iris() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def mixed(n: int = 150, classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    return loans(n, seed=3, classes=classes)


def switches(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, and three one-hot columns."""
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 3, n)
    X = pd.DataFrame({"rent": rng.integers(2, 20, n), "income": rng.integers(5, 40, n), "years": rng.integers(0, 12, n)})
    X[["car", "tv", "boat"]] = np.eye(3, dtype=int)[kind]
    score = X["income"] - X["rent"] + 6 * (kind == 0) + X["years"] / 3
    return X.astype(float), (score + rng.normal(0, 2, n) > 12).to_numpy().astype(int)


def fitted(
    data: tuple[Any, Any],
    estimator: Any = None,
    *,
    weight: Any = None,
    tree: Any = None,
    classifier: dict[str, Any] | None = None,
    **search: Any,
) -> Case:
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = FCCAClassifier(FCCADiscretizer(estimator, **search), tree, **(classifier or {})).fit(X, y, weight)
    return Case(clf, X, y, weight)


def some_weights(n: int) -> np.ndarray:
    weight = np.random.default_rng(7).choice([0.0, 0.5, 1.0, 2.25], n, p=[0.1, 0.3, 0.4, 0.2])
    return weight


def xgb(**options: Any) -> Any:
    return imported("xgboost").XGBClassifier(n_estimators=15, max_depth=2, random_state=0, n_jobs=1, **options)


def lgbm() -> Any:
    return imported("lightgbm").LGBMClassifier(
        n_estimators=15, max_depth=2, random_state=0, n_jobs=1, verbosity=-1, min_child_samples=5
    )


def catboost() -> Any:
    return imported("catboost").CatBoostClassifier(
        iterations=15, depth=2, random_seed=0, verbose=False, allow_writing_files=False, one_hot_max_size=100
    )


def hgb() -> Any:
    return HistGradientBoostingClassifier(max_iter=15, max_depth=2, random_state=0, early_stopping=False)


def rf(trees: int = 8, depth: int = 3) -> Any:
    return RandomForestClassifier(trees, max_depth=depth, random_state=0)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


def decided() -> Any:
    X, y = numbers()
    return FrozenEstimator(decide_at(RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y), 0.3))


def codes(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """The mixed table as XGBoost takes it."""
    X, y = mixed(n)
    return X.astype({"purpose": "category"}), (y == "good").astype(int)


def numbered(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, and a column of categories that are numbers themselves."""
    X, y = numbers(n, 3)
    code = 1 + (np.arange(n) + 2 * y) % 3
    return X.assign(code=pd.Categorical(code)), (y + (code == 1) > 1).astype(int)


def many(n: int = 2500) -> tuple[pd.DataFrame, np.ndarray]:
    """Enough rows for a sample that settles the choice of the thresholds."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).round(2)
    return pd.DataFrame(X, columns=list("abc")), (X[:, 0] + X[:, 1] * X[:, 2] / 2 + random.normal(0, 0.2, n) > 0).astype(int)


def whole_weights(n: int) -> np.ndarray:
    return np.random.default_rng(7).choice([0.0, 2.0, 4.0, 6.0], n, p=[0.1, 0.3, 0.4, 0.2])


CASES = {
    "gb": lambda: fitted(numbers()),
    "gb of depth 2": lambda: fitted(numbers(), GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0)),
    "rf": lambda: fitted(numbers(), rf()),
    "hgb": lambda: fitted(numbers(), hgb()),
    "xgb": lambda: fitted(numbers(), xgb()),
    "lgbm": lambda: fitted(numbers(), lgbm()),
    "catboost": lambda: fitted(numbers(), catboost()),
    "logistic": lambda: fitted(numbers(), logistic()),
    "svm": lambda: fitted(numbers(), make_pipeline(StandardScaler(), LinearSVC(random_state=0)), margin=1.0),
    "columns without names": lambda: fitted(tuple(np.asarray(part) for part in numbers()), rf()),
    "gb, mixed": lambda: fitted(mixed()),
    "hgb, mixed": lambda: fitted(mixed(), hgb()),
    "xgb, mixed": lambda: fitted(codes(), xgb(enable_categorical=True)),
    "lgbm, mixed": lambda: fitted(mixed(), lgbm()),
    "catboost, mixed": lambda: fitted(mixed(), catboost()),
    "rf, mixed": lambda: fitted(mixed(), rf()),
    "logistic, mixed": lambda: fitted(mixed(), LogisticRegression(max_iter=500)),
    "svm, mixed": lambda: fitted(mixed(), LinearSVC(random_state=0)),
    "categories that are numbers": lambda: fitted(numbered(), hgb()),
    "labels that are booleans": lambda: fitted((numbers()[0], numbers()[1] == 1), rf()),
    "labels with points": lambda: fitted((numbers()[0], numbers()[1] * 1.0), rf()),
    "names of a library's own": lambda: fitted(tuple(np.asarray(part) for part in numbers()), lgbm()),
    "gb, three classes": lambda: fitted(mixed(classes=3)),
    "rf, three classes": lambda: fitted(iris(), rf()),
    "lgbm, three classes": lambda: fitted(iris(), lgbm()),
    "logistic, three classes": lambda: fitted(iris(), logistic()),
    "weights": lambda: fitted(numbers(), weight=some_weights(150)),
    "weights, mixed": lambda: fitted(mixed(), hgb(), weight=some_weights(150)),
    "weights, logistic": lambda: fitted(numbers(), LogisticRegression(max_iter=5000), weight=some_weights(150)),
    "columns that stay": lambda: fitted(numbers(), rf(), constraints=[Immutable("worst radius", "worst area")]),
    "bounds, costs and directions": lambda: fitted(
        switches(),
        constraints=[
            Immutable("car", "tv", "boat"),
            Increasing("years"),
            Decreasing("rent"),
            Bounds("income", low=6, high=35),
            Cost("income", 2.5),
            MaxChanges(2),
        ],
    ),
    "grids": lambda: fitted(switches(), rf(), constraints=[Integer("income", "years"), Grid("rent", 0.5)]),
    "one of several": lambda: fitted(switches(), rf(), constraints=[OneHot("car", "tv", "boat"), Cost("rent", 0.5)]),
    "sums and implications": lambda: fitted(
        switches(), constraints=[Rule("rent <= income"), Implies("income rises", "years rises"), OneHot("car", "tv", "boat")]
    ),
    "bounds of a linear model": lambda: fitted(
        switches(), logistic(), constraints=[Bounds("rent", by=(-6, 2)), Increasing("years"), Rule("rent <= income")]
    ),
    "moves between categories": lambda: fitted(
        mixed(),
        hgb(),
        constraints=[Forbidden("purpose", [("tv", "car")]), Allowed("grade", {"low": ["mid"], "mid": ["low", "top"]})],
    ),
    "gaps that may be filled": lambda: fitted(
        mixed(), hgb(), constraints=[Fillable("income", "purpose"), Cost("income", 3)]
    ),
    "gaps of a linear model": lambda: fitted(
        mixed(), LogisticRegression(max_iter=500), constraints=[Fillable("income"), Immutable("grade")]
    ),
    "Q": lambda: fitted(numbers(), Q=0.7),
    "three thresholds": lambda: fitted(numbers(), Q=0.3, selection=OptimalSelection(3)),
    "few thresholds of those allowed": lambda: fitted(
        switches(), rf(), selection=OptimalSelection(max_inconsistency=0.2, forbid=["car"], per_feature={"rent": 2})
    ),
    "thresholds against the target": lambda: fitted(
        mixed(),
        selection=OptimalSelection(4, fit_to="target", per_feature=2, max_features=3),
        classifier={"fit_to": "target"},
    ),
    "as many as will do": lambda: fitted(numbers(100, 3), rf(3, 2), classifier={"n_thresholds": "auto"}),
    "searches cut short": lambda: fitted(numbers(60, 8), rf(25, 4), time_limit_per_row=0.0003),
    "searches within a gap": lambda: fitted(numbers(60, 6), rf(25, 4), relative_gap=0.2),
    "another tree": lambda: fitted(
        mixed(classes=3),
        rf(),
        tree=OptimalTreeClassifier(max_depth=2, regularization=0.002, class_weight="balanced"),
        classifier={"fit_to": "target"},
    ),
    "weights of classes": lambda: fitted(
        numbers(), tree=OptimalTreeClassifier(max_depth=None, class_weight={0: 2.0, 1: 0.5}), weight=some_weights(150)
    ),
    "a tree cut short": lambda: fitted(
        iris(), rf(), tree=OptimalTreeClassifier(max_depth=4, regularization=0.0001, time_limit=0)
    ),
    "a tree of few branches": lambda: fitted(
        iris(), rf(), tree=OptimalTreeClassifier(max_depth=4, regularization=0.0001, max_nodes=2)
    ),
    "half labels, half probabilities": lambda: fitted(numbers(), weight=np.full(150, 30.0)),
    "a weight of one class": lambda: fitted(numbers(), tree=OptimalTreeClassifier(class_weight={0: 2.0})),
    "weights of more classes than there are": lambda: fitted(
        numbers(), tree=OptimalTreeClassifier(class_weight={0: 2.0, 1: 1.0, 7: 3.0})
    ),
    "deciding elsewhere": lambda: fitted(numbers(), decided()),
    "calibrated": lambda: fitted(numbers(), CalibratedClassifierCV(rf(), ensemble=False, cv=3)),
    "a margin of a share": lambda: fitted(numbers(), rf(), margin="10%"),
    "squares, not rounded, merged": lambda: fitted(
        numbers(), lambda2=0.5, lambda0=0.02, round_thresholds=False, merge_tolerance=0.05
    ),
    "squares of a linear model": lambda: fitted(numbers(), logistic(), lambda2=0.5),
    "the paper": lambda: fitted(numbers(), preset="paper", classifier={"preset": "paper"}),
    "a sample": lambda: fitted(numbers(), GradientBoostingClassifier(n_estimators=12, max_depth=2), max_rows=60),
    "a sample, mixed": lambda: fitted(mixed(), hgb(), max_rows=100, weight=whole_weights(150)),
    "a sample of a linear model": lambda: fitted(numbers(), logistic(), max_rows=60),
    "a settled sample": lambda: fitted(
        many(), GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0), max_rows="auto"
    ),
    "a band": lambda: fitted(numbers(), preset="paper", p0=0.6, p1=0.95),
    "the paper's distances, mixed": lambda: fitted(mixed(), hgb(), scale="range", category_distance=1.0),
    "ranks, mixed": lambda: fitted(mixed(), hgb(), scale="rank", weight=some_weights(150)),
    "ranks and grids": lambda: fitted(
        switches(), rf(), scale="rank", category_distance=0.3, constraints=[Grid("rent", 0.5), OneHot("car", "tv", "boat")]
    ),
    "deviations, mixed": lambda: fitted(
        mixed(), scale="mad", weight=some_weights(150), constraints=[Fillable("income", "purpose"), Cost("grade", 3)]
    ),
    "deviations, logistic": lambda: fitted(mixed(), LogisticRegression(max_iter=500), scale="mad"),
    "units, mixed": lambda: fitted(mixed(), rf(), scale={"income": 0.5, "age": 10}, category_distance=2.5),
    "units of a linear model": lambda: fitted(
        switches(), logistic(), scale={"rent": 3.0}, constraints=[Bounds("rent", by=(-6, 2)), Rule("rent <= income")]
    ),
}


@cache
def case(name: str) -> Case:
    """Fitted once for all tests."""
    return CASES[name]()
