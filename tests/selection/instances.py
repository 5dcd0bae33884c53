"""Tables of conditions with rows and labels, random and real, with their optimum by enumeration."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from fcca import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, ThresholdTable
from mixed_tables import holds, loans
from selection.oracles import NO_LIMITS, Limits, best_by_enumeration, cost_by_milp

ODD_WEIGHTS = np.array([0.1, 1 / 3, 0.2, 0.7, 1.0, 1e-3, np.pi])


@dataclass(frozen=True)
class Instance:
    """One problem: the best k conditions of a table on these rows. B has the binary columns, by numpy."""

    name: str
    table: ThresholdTable
    X: object
    y: np.ndarray
    weight: np.ndarray | None
    B: np.ndarray
    k: int
    limits: Limits = NO_LIMITS

    def __str__(self):
        return f"{self.name}: {len(self.y)} rows, {len(self.table)} conditions, k = {self.k}, {self.limits}"

    @property
    def total(self):
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def ties_are_exact(self):
        """Tolerance of costs: three thirds are not exactly 1 in the units of the search."""
        return self.weight is None or not np.isin(1 / 3, self.weight)

    def best(self, k=None):
        """By enumeration."""
        k = self.k if k is None else k
        return best_by_enumeration(self.B, self.y, self.weight, self.table.feature, self.table.count, k, self.limits)

    def milp_cost(self):
        return cost_by_milp(self.B, self.y, self.weight, self.table.feature, self.k, self.limits)

    def of_rows(self, rows, weight=None):
        """The same on other rows, given by their positions."""
        X = self.X.iloc[rows].reset_index(drop=True) if isinstance(self.X, pd.DataFrame) else self.X[rows]
        own = None if self.weight is None else self.weight[rows]
        return replace(self, X=X, y=self.y[rows], B=self.B[rows], weight=own if weight is None else weight)

    def options(self):
        """The limits as OptimalSelection takes them."""
        names, limits = self.table.feature_names, self.limits
        caps = None if limits.per_feature is None else dict(zip(names, limits.per_feature, strict=True))
        return {
            "keep": list(limits.keep) or None,
            "forbid": list(limits.forbid) or None,
            "per_feature": caps,
            "max_features": limits.max_features,
        }


# --- random ones ------------------------------------------------------------------------------------------------------


def scattered(random, cuts, n_rows):
    """Values independent of the cuts."""
    return random.normal(0, 2, n_rows)


def few_values(random, cuts, n_rows):
    """Ties: many rows have the same value, and some cuts have no row between them."""
    return random.choice(random.normal(0, 2, 4), n_rows)


def next_to_cuts(random, cuts, n_rows):
    """On a cut, or one float to either side."""
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
    return random.choice(near, n_rows)


def whole_numbers(random, cuts, n_rows):
    return random.integers(-3, 4, n_rows).astype(float)


VALUES = (scattered, few_values, next_to_cuts, whole_numbers)


def by_chance(random, B, n_classes):
    return random.integers(0, n_classes, len(B))


def exclusive_or(random, B, n_classes):
    """No condition helps alone, so plain greedy goes astray."""
    bits = B[:, random.choice(B.shape[1], min(B.shape[1], int(random.integers(2, 5))), replace=False)]
    return bits.sum(axis=1) % n_classes


def some_pattern(random, B, n_classes):
    """Every pattern of a few conditions has its own label."""
    bits = B[:, random.integers(0, B.shape[1], 4)]
    return random.integers(0, n_classes, 16)[bits @ [1, 2, 4, 8]]


LABELS = (by_chance, exclusive_or, some_pattern)


def some_weights(random, n_rows):
    """None, whole ones, ones that no float holds, ones of very different sizes, and some of 0."""
    weight = [
        None,
        None,
        random.integers(1, 5, n_rows).astype(float),
        random.choice(ODD_WEIGHTS, n_rows),
        random.exponential(size=n_rows) * 10.0 ** random.uniform(-6, 6),
        random.choice([0.0, 0.1, 1.0, 3.0], n_rows),
    ][random.integers(6)]
    if weight is not None and not weight.any():
        weight[0] = 1.0
    return weight


def some_counts(random, n):
    return [
        np.zeros(n),
        random.integers(0, 3, n).astype(float),
        random.integers(0, 200, n).astype(float),
        random.exponential(5, n),
    ][random.integers(4)]


def some_limits(random, feature, n_features, k):
    """A few limits, which some set of k conditions may keep or not."""
    n, keep, forbid, per_feature, max_features = len(feature), (), (), None, None
    if random.random() < 0.3:
        keep = tuple(sorted(random.choice(n, int(random.integers(1, min(k, 3) + 1)), replace=False).tolist()))
    if random.random() < 0.3:
        others = random.permutation(np.setdiff1d(np.arange(n), keep))
        forbid = tuple(sorted(others[: random.integers(1, 4)].tolist()))
    if random.random() < 0.4:
        per_feature = tuple(random.integers(0 if random.random() < 0.3 else 1, 4, n_features).tolist())
    if random.random() < 0.4:
        max_features = int(random.integers(1, n_features + 1))
    return Limits(keep, forbid, per_feature, max_features)


def random_table(random, n_conditions, n_features):
    """Nested cuts, whole or not, of several columns; some columns may carry none."""
    feature = random.integers(0, n_features, n_conditions)
    cuts = random.normal(0, 2, n_conditions)
    whole = (random.random(n_features) < 0.4) & (n_conditions <= 20)  # there are few whole ones
    cuts = np.where(whole[feature], np.floor(cuts), cuts)
    table, _ = ThresholdTable.from_counts([f"x{j}" for j in range(n_features)], feature, cuts, np.ones(n_conditions))
    return replace(table, count=some_counts(random, len(table)))


def random_instance(seed, n_conditions, n_rows, k=None, limited=False, n_features=None, most_classes=5, labels=None):
    """One table of at most so many conditions and rows."""
    random = np.random.default_rng(seed)
    n_features = n_features or int(random.integers(1, 7))
    table = random_table(random, n_conditions, n_features)
    n_classes = int(random.integers(2, most_classes + 1))
    X = np.empty((n_rows, n_features))
    for j in range(n_features):
        cuts = table.threshold[table.feature == j]
        value = VALUES[random.integers(len(VALUES))]
        X[:, j] = value(random, cuts if len(cuts) else np.zeros(1), n_rows)
    B = (X[:, table.feature] > table.threshold).astype(np.int64)
    label = (labels or LABELS[random.integers(len(LABELS))])(random, B, n_classes)
    noisy = random.random(n_rows) < random.choice([0.0, 0.1, 0.3])
    label = np.where(noisy, random.integers(0, n_classes, n_rows), label)
    k = min(k or int(random.integers(1, random.choice([5, 21]))), len(table))
    limits = some_limits(random, table.feature, n_features, k) if limited else NO_LIMITS
    y = np.array(["a", "b", "c", "d", "e"])[label]
    return Instance(f"random {seed}", table, X, y, some_weights(random, n_rows), B, k, limits)


def random_instances(n, most_conditions=12, most_rows=40, limited=False, seed=0, **given):
    """Of all sizes; now and then of one row or one condition."""
    for i in range(n):
        random = np.random.default_rng([seed, i, 1])
        n_conditions = int(random.integers(1, most_conditions + 1))
        n_rows = int(random.integers(1, most_rows + 1))
        yield random_instance([seed, i], n_conditions, n_rows, limited=limited, **given)


def with_categories(seed, k):
    """Cuts, sets of categories and missing values of a mixed table."""
    random = np.random.default_rng(seed)
    X, y = loans(int(random.integers(20, 60)), seed, int(random.integers(2, 4)))
    asked = [("income", None), ("purpose", None), ("purpose", {"car", "home"}), ("purpose", {"car", "tv"})]
    asked += [("purpose", {one}) for one in ("tv", "boat", "car")] + [("grade", {one}) for one in ("low", "mid", "top")]
    asked += [("income", cut) for cut in (1.5, 2.5, 4.0)] + [("age", cut) for cut in (30, 50)]
    X.loc[:3, "purpose"] = ["car", "tv", "boat", "home"]  # every category is there
    X.loc[:2, "grade"] = ["low", "mid", "top"]
    table = ThresholdTable.from_list(asked, X)
    table = replace(table, count=some_counts(random, len(table)))
    B = np.column_stack([holds(name, X) for name in table.names()]).astype(np.int64)
    limits = some_limits(random, table.feature, 4, k) if seed % 2 else NO_LIMITS
    return Instance(f"categories {seed}", table, X, y, some_weights(random, len(y)), B, k, limits)


# --- real ones --------------------------------------------------------------------------------------------------------

DATA_SETS = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
DISCRETIZERS = {
    "FCCA": FCCADiscretizer(),
    "GTRE": GTREDiscretizer(),
    "midpoints": MidpointDiscretizer(max_thresholds=3),
}


@lru_cache
def real_table(data_set, discretizer):
    """The rows, and the conditions that a discretizer finds in them."""
    X, y = DATA_SETS[data_set](return_X_y=True)
    return X, y, clone(DISCRETIZERS[discretizer]).fit(X, y).thresholds_


def real_instance(data_set, discretizer, k):
    X, y, table = real_table(data_set, discretizer)
    B = (X[:, table.feature] > table.threshold).astype(np.int64)
    return Instance(f"{data_set} by {discretizer}", table, X, y, None, B, min(k, len(table)))
