"""Ensembles of deeper trees: small enough to try every combination of cells, and on real data."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from exactness.instances import hostile_column, load, rows_around_cuts
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from oracles import brute_force, contract

# (λ0, λ1, λ2): the paper's, no fixed charge, only the fixed charge, all three, only the square, square and fixed charge.
COSTS = [(0.1, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.05, 0.5, 0.5), (0.0, 0.0, 1.0), (0.1, 0.0, 1.0)]
# No average of leaves of small tables comes to exactly one of these, which rounding would decide.
MARGINS = [1e-4, 0.0113, 0.2871, 0.7137]
MOST_COMBINATIONS = 12_000


@dataclass(frozen=True)
class Family:
    """One kind of ensemble, by its number of trees, their depth and a seed."""

    make: object
    n_classes: int = 2
    most_trees: int = 9


FAMILIES = {
    "GradientBoosting": Family(
        lambda n, depth, seed: GradientBoostingClassifier(
            n_estimators=n, max_depth=depth, learning_rate=0.3, random_state=seed
        )
    ),
    "RandomForest": Family(lambda n, depth, seed: RandomForestClassifier(n, max_depth=depth, random_state=seed)),
    "ExtraTrees": Family(lambda n, depth, seed: ExtraTreesClassifier(n, max_depth=depth, random_state=seed)),
    "DecisionTree": Family(lambda n, depth, seed: DecisionTreeClassifier(max_depth=depth + 2, random_state=seed)),
    "HistGradientBoosting": Family(
        lambda n, depth, seed: HistGradientBoostingClassifier(
            max_iter=n, max_depth=depth, learning_rate=0.3, min_samples_leaf=2, early_stopping=False, random_state=seed
        )
    ),
    "AdaBoost": Family(
        lambda n, depth, seed: AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=n, random_state=seed)
    ),
}
FAMILIES |= {
    "GradientBoosting, 3 classes": Family(FAMILIES["GradientBoosting"].make, 3, 4),
    "RandomForest, 3 classes": Family(FAMILIES["RandomForest"].make, 3),
}


@dataclass(frozen=True, eq=False)
class EnsembleInstance:
    """Rows of one ensemble at one cost, each with its own margin, and what engine and enumeration say about them."""

    name: str
    family: str
    estimator: object
    X_train: np.ndarray
    X: np.ndarray
    problem: CounterfactualProblem
    margin: np.ndarray
    seed: int = 0

    def solve(self, method="search", **settings):
        engine = CounterfactualEngine(self.estimator, self.problem, method=method)
        engine.observe(self.X_train)
        names = [f"x{j}" for j in range(self.X.shape[1])]
        answers = engine.class_index(self.estimator.predict(self.X))
        settings = {"n_jobs": 1, "margin": self.margin} | settings
        return engine.solve(self.X, np.arange(len(self.X)), answers, feature_names=names, **settings)

    def enumerated(self, *, frozen=None, target=None):
        """Least cost of every row, by all combinations of cells and the real predict."""
        return np.array(
            [
                brute_force.least_cost(
                    self.estimator,
                    self.X_train,
                    x0,
                    self.problem,
                    margin=self.margin[i],
                    frozen=None if frozen is None else frozen[i],
                    target=None if target is None else target[i],
                )
                for i, x0 in enumerate(self.X)
            ]
        )

    @cached_property
    def least_costs(self):
        return self.enumerated()

    @cached_property
    def frozen(self):
        """Some features of every row, one that the cheapest answer moves among them wherever it can be."""
        rng = np.random.default_rng(self.seed)
        return rng.random(self.X.shape) < 0.4

    @cached_property
    def targets(self):
        """For every row one class, not its own."""
        rng = np.random.default_rng(self.seed)
        return np.array([rng.choice(contract.other_classes(self.estimator, x0)) for x0 in self.X], dtype=np.int32)


def n_combinations(estimator):
    """Number of combinations of cells."""
    return int(np.prod([len(cuts) + 1.0 for cuts in contract.cuts_by_feature(estimator)]))


def small_ensemble(rng, family, X, y):
    """As many trees of one family as can be enumerated."""
    depth, seed = int(rng.integers(2, 4)), int(rng.integers(2**31))
    n_trees = int(rng.integers(2, family.most_trees + 1))
    while True:
        estimator = family.make(n_trees, depth, seed).fit(X, y)
        if n_combinations(estimator) <= MOST_COMBINATIONS or n_trees == 1:
            return estimator
        n_trees = n_trees * 2 // 3


def column(rng, n):
    """Half of the columns plain, half difficult for floating point."""
    kind = rng.integers(4)
    return rng.normal(size=n) if kind == 0 else rng.integers(0, 9, n).astype(float) if kind == 1 else hostile_column(rng, n)


def interacting_labels(rng, X, n_classes):
    """Labels that hang on pairs of columns, so that one move alone is often not enough."""
    unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    Z = (X - X.mean(axis=0)) / unit
    pairs = np.column_stack([Z[:, i] * Z[:, j] for i in range(Z.shape[1]) for j in range(i)])
    score = Z @ rng.normal(size=(Z.shape[1], n_classes)) + pairs @ rng.normal(size=(pairs.shape[1], n_classes))
    y = (score + 0.5 * rng.normal(size=score.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return y


@cache
def small_ensembles(n_cases, seed=0, rows_per_model=6):
    """Every family in turn, on two to five columns, half of them difficult for floating point."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(-(-n_cases // rows_per_model)):
        name = list(FAMILIES)[i % len(FAMILIES)]
        family = FAMILIES[name]
        n, m = int(rng.integers(40, 120)), int(rng.integers(2, 6))
        X = np.ascontiguousarray(np.column_stack([column(rng, n) for _ in range(m)]))
        y = interacting_labels(rng, X, family.n_classes)
        estimator = small_ensemble(rng, family, X, y)
        rows = rows_around_cuts(rng, estimator, X, rows_per_model)
        problem = CounterfactualProblem(*COSTS[(i + i // len(FAMILIES)) % len(COSTS)])
        margin = rng.choice(MARGINS, size=len(rows))
        found.append(EnsembleInstance(f"{name} {i}", name, estimator, X, rows, problem, margin, seed=i))
    return found


@cache
def fitted_with_missing_values(n_models, depth, seed=0):
    """Boosting that tests for missing values: splits whose threshold is infinite, put to rows that have none missing."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n_models):
        X = rng.normal(size=(80, 3))
        y = interacting_labels(rng, X, 2)
        holes = rng.random(X.shape) < 0.3
        y[rng.random(len(y)) < 0.4] = 0
        y[holes[:, 0]] = 1
        family = FAMILIES["HistGradientBoosting"]
        estimator = family.make(4, depth, i).fit(np.where(holes, np.nan, X), y)
        problem = CounterfactualProblem(*COSTS[i % len(COSTS)])
        found.append(EnsembleInstance(f"missing {i}", "missing", estimator, X, X[:12].copy(), problem, np.full(12, 1e-4)))
    return found


REAL_MODELS = {
    "boosting of depth 2": lambda n: GradientBoostingClassifier(n_estimators=n, max_depth=2, random_state=0),
    "boosting of depth 3": lambda n: GradientBoostingClassifier(n_estimators=n, max_depth=3, random_state=0),
    "forest of depth 4": lambda n: RandomForestClassifier(n_estimators=n // 2, max_depth=4, random_state=0),
}


@cache
def fitted(data_set, model, n_trees):
    """A real table of at most 5,000 rows and an ensemble fitted on it."""
    X, y = load(data_set)
    if len(X) > 5000:
        chosen = np.random.default_rng(0).choice(len(X), 5000, replace=False)
        X, y = np.ascontiguousarray(X[chosen]), y[chosen]
    return X, REAL_MODELS[model](n_trees).fit(X, y)


@cache
def real_ensembles(data_set, model, n_trees, n_rows, seed=0):
    """A real table and ensemble, rows dealt to the costs in turn."""
    X, estimator = fitted(data_set, model, n_trees)
    rows = X[np.random.default_rng(seed).choice(len(X), n_rows, replace=False)]
    parts = [rows[c :: len(COSTS)].copy() for c in range(len(COSTS))]
    found = []
    for costs, mine in zip(COSTS, parts, strict=True):
        name, problem, margin = f"{data_set}, {model}, {costs}", CounterfactualProblem(*costs), np.full(len(mine), 1e-4)
        if len(mine):
            found.append(EnsembleInstance(name, model, estimator, X, mine, problem, margin))
    return found
