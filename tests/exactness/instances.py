"""Models, rows and costs that the suite puts to the engine and to the oracles; the same ones for the same seed."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from oracles import contract
from real_data import data_file

# (λ0, λ1, λ2): the paper's, no fixed charge, only the fixed charge, with a square, only the square.
COSTS = [(0.1, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.1, 1.0, 0.5), (0.0, 0.0, 1.0), (0.01, 0.3, 2.0)]
LINEAR_COSTS = [costs for costs in COSTS if costs[2] == 0]


@dataclass(frozen=True)
class Instance:
    """Rows of one model at one cost, and what the engine says about them."""

    name: str
    estimator: object
    X_train: np.ndarray
    X: np.ndarray
    problem: CounterfactualProblem

    @cached_property
    def engine(self):
        engine = CounterfactualEngine(self.estimator, self.problem)
        engine.observe(self.X_train)
        return engine

    def solve(self, n_jobs=1, points=None, **settings):
        """Answers for the rows of these numbers; all unless told."""
        points = np.arange(len(self.X)) if points is None else np.asarray(points)
        names = [f"x{j}" for j in range(self.X.shape[1])]
        answers = self.engine.class_index(self.estimator.predict(self.X[points]))
        return self.engine.solve(self.X, points, answers, feature_names=names, n_jobs=n_jobs, **settings)


def load(name):
    """X and y of a real data set by name."""
    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    frame = pd.read_csv(data_file(name))
    return np.ascontiguousarray(frame.drop(columns="label"), dtype=np.float64), frame["label"].to_numpy()


def awkward_table(rng, n, m):
    """Random columns of the kinds that data has: continuous, integer, heavily tied, doubled, constant."""
    columns = []
    for _ in range(m):
        kind = rng.choice(
            ["continuous", "skewed", "integer", "binary", "tied", "copy", "constant"],
            p=[0.3, 0.15, 0.15, 0.1, 0.1, 0.1, 0.1],
        )
        if kind == "copy" and columns:
            columns.append(columns[rng.integers(len(columns))].copy())
        elif kind == "skewed":
            columns.append(rng.lognormal(0, 2, n))
        elif kind == "integer":
            columns.append(rng.integers(-5, 20, n).astype(float))
        elif kind == "binary":
            columns.append(rng.integers(0, 2, n).astype(float))
        elif kind == "tied":
            columns.append(rng.choice(rng.normal(size=4), n))
        elif kind == "constant":
            columns.append(np.full(n, rng.normal()))
        else:
            columns.append(rng.normal(rng.normal(), rng.lognormal(), n))
    return np.ascontiguousarray(np.column_stack(columns))


def labels_for(rng, X, n_classes=2):
    """Labels that depend on some of the columns, with noise; every class occurs."""
    weight = rng.normal(size=(X.shape[1], n_classes)) * rng.integers(0, 2, (X.shape[1], 1))
    unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    score = (X - X.mean(axis=0)) / unit @ weight + 0.7 * rng.normal(size=(len(X), n_classes))
    y = score.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return y


def boosted(rng, n_trees, depth=1, **settings):
    return GradientBoostingClassifier(
        n_estimators=n_trees,
        max_depth=depth,
        learning_rate=float(rng.choice([0.05, 0.1, 0.5])),
        subsample=float(rng.choice([0.7, 1.0])),
        random_state=int(rng.integers(2**31)),
        **settings,
    )


def pick_costs(rng, costs=COSTS):
    return costs[rng.integers(len(costs))]


@cache
def random_additive(n_instances, seed=0):
    """Boosted stumps on awkward tables, one row each; every fifth has three classes."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n_instances):
        n, m = int(rng.integers(30, 200)), int(rng.integers(2, 15))
        n_classes = 3 if i % 5 == 4 else 2
        X = awkward_table(rng, n, m)
        n_trees = int(rng.choice([3, 10, 30, 100])) if n_classes == 2 else int(rng.choice([3, 10, 20]))
        estimator = boosted(rng, n_trees).fit(X, labels_for(rng, X, n_classes))
        row = X[[rng.integers(n)]]
        problem = CounterfactualProblem(*COSTS[i % len(COSTS)], margin=float(rng.choice([1e-4, 1e-2])))
        found.append(Instance(f"random {i}", estimator, X, row, problem))
    return found


@cache
def real_additive(name, n_rows, n_trees=100, seed=0):
    """The paper's boosting on a real data set at every cost; fewer trees where there are more classes."""
    X, y = load(name)
    rng = np.random.default_rng(seed)
    if len(X) > 5000:
        chosen = rng.choice(len(X), 5000, replace=False)
        X, y = X[chosen], y[chosen]
    if len(np.unique(y)) > 2:
        n_trees //= 3
    estimator = GradientBoostingClassifier(n_estimators=n_trees, max_depth=1, random_state=100).fit(X, y)
    rows = X[rng.choice(len(X), n_rows * len(COSTS), replace=False)]
    return [
        Instance(f"{name} {costs}", estimator, X, rows[c :: len(COSTS)].copy(), CounterfactualProblem(*costs, margin=1e-4))
        for c, costs in enumerate(COSTS)
    ]


LINEAR_MODELS = {
    "LinearSVC": lambda: LinearSVC(random_state=0),
    "SVC": lambda: SVC(kernel="linear"),
    "LogisticRegression": lambda: LogisticRegression(),
    "SGDClassifier": lambda: SGDClassifier(random_state=0),
    "RidgeClassifier": lambda: RidgeClassifier(),
}
SCALERS = {"StandardScaler": StandardScaler, "MinMaxScaler": MinMaxScaler}


@cache
def random_linear(n_instances, costs, most_features, seed=0):
    """Every linear family, alone and behind scalers, on random tables; three rows each, one of them out of range."""
    rng = np.random.default_rng(seed)
    found = []
    families = [(model, scaler) for model in LINEAR_MODELS for scaler in (None, *SCALERS)]
    for i in range(n_instances):
        family, scaler = families[i % len(families)]
        n, m = int(rng.integers(20, 120)), int(rng.integers(1, most_features + 1))
        X = awkward_table(rng, n, m) if scaler else rng.normal(size=(n, m))
        y = labels_for(rng, X)
        model = LINEAR_MODELS[family]()
        estimator = (make_pipeline(SCALERS[scaler](), model) if scaler else model).fit(X, y)
        rows = X[rng.integers(n, size=3)]
        spread = X.max(axis=0) - X.min(axis=0)
        rows[2] += rng.normal(size=m) * spread * 0.7
        problem = CounterfactualProblem(*costs[i % len(costs)], margin=float(rng.choice([1e-4, 1e-2, 1.0])))
        found.append(Instance(f"{family} {scaler} {i}", estimator, X, rows, problem))
    return found


def hostile_column(rng, n):
    """Values at which float32 and float64 part ways, or few enough to be enumerated."""
    kind = rng.choice(["few", "continuous", "large integers", "close floats", "tiny", "huge"])
    if kind == "few":
        return rng.integers(0, 4, n).astype(float)
    if kind == "large integers":
        return (2**24 + rng.integers(0, 40, n)).astype(float)  # float32 keeps every second one
    if kind == "close floats":
        return 1 + rng.integers(0, 30, n) * 2.0**-26  # an eighth of float32's spacing
    if kind == "tiny":
        return rng.normal(size=n) * 1e-30
    if kind == "huge":
        return rng.normal(size=n) * 1e30
    return rng.normal(size=n)


def rows_around_cuts(rng, estimator, X, n_rows):
    """Training rows, some features of which are put on a cut, one float beside it, or out of range."""
    cuts = contract.cuts_by_feature(estimator)
    rows = X[rng.integers(len(X), size=n_rows)]
    for row in rows:
        for j in range(X.shape[1]):
            what = rng.choice(["as it is", "on", "above", "below", "outside"], p=[0.5, 0.15, 0.15, 0.1, 0.1])
            if what == "outside":
                spread = X[:, j].max() - X[:, j].min()
                row[j] += rng.choice([-1, 1]) * (1.5 * spread if spread > 0 else 1.0)
            elif what != "as it is" and len(cuts[j]):
                cut = rng.choice(cuts[j])
                row[j] = {"on": cut, "above": np.nextafter(cut, np.inf), "below": np.nextafter(cut, -np.inf)}[what]
    return rows


@cache
def small_cases(n_cases, seed=0, rows_per_model=6):
    """Models of at most four features and few cuts: two and three classes, with and without a scaler before the trees."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(-(-n_cases // rows_per_model)):
        n, m = int(rng.integers(12, 60)), int(rng.integers(1, 5))
        n_classes = 3 if i % 3 == 2 else 2
        X = np.ascontiguousarray(np.column_stack([hostile_column(rng, n) for _ in range(m)]))
        y = labels_for(rng, X, n_classes)
        trees = boosted(rng, int(rng.integers(1, 9 if n_classes == 2 else 4)), depth=1 if m > 1 else 2)
        scaler = [None, MinMaxScaler, StandardScaler][i % 3 if i % 2 else 0]
        estimator = (make_pipeline(scaler(), trees) if scaler else trees).fit(X, y)
        rows = rows_around_cuts(rng, estimator, X, rows_per_model)
        problem = CounterfactualProblem(*pick_costs(rng), margin=float(rng.choice([1e-4, 1e-2, 0.3])))
        found.append(Instance(f"small {i}", estimator, X, rows, problem))
    return found
