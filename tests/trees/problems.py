"""Random optimal-tree problems from fixed seeds, and the objective as a stranger would compute it."""

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Problem:
    """A 0/1 table, labels, weights, and what the tree may cost."""

    name: str
    table: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    max_depth: int
    regularization: float

    def repeated(self):
        """Every row as many times as its (whole) weight says."""
        times = self.weight.astype(int)
        return self.table.repeat(times, axis=0), self.label.repeat(times)


def chains(random, n_rows, n_columns):
    """Thresholds of a few features: columns that nest."""
    owner = random.integers(0, max(1, n_columns // 3) + 1, size=n_columns)
    values = random.normal(size=(n_rows, owner.max() + 1))
    return (values[:, owner] > random.normal(size=n_columns)).astype(np.uint8)


def coins(random, n_rows, n_columns):
    """Columns that have nothing to do with each other."""
    return (random.random((n_rows, n_columns)) < random.uniform(0.1, 0.9, size=n_columns)).astype(np.uint8)


def one_hot(random, n_rows, n_columns):
    """One column per category: none within another."""
    return np.eye(n_columns, dtype=np.uint8)[random.integers(0, n_columns, size=n_rows)]


def twins(random, n_rows, n_columns):
    """Columns that come again, as they are or as their opposite."""
    few = coins(random, n_rows, max(1, n_columns // 2))
    chosen = few[:, random.integers(0, few.shape[1], size=n_columns)]
    return chosen ^ random.integers(0, 2, size=n_columns, dtype=np.uint8)


def mixed(random, n_rows, n_columns):
    """Half nested, half not."""
    half = n_columns // 2
    return np.hstack([chains(random, n_rows, max(1, half)), coins(random, n_rows, n_columns - half)])


TABLES = (chains, coins, one_hot, twins, mixed)


def labels(random, table, n_classes):
    """A hidden tree's answers, some of them replaced: rows contradict each other now and then."""
    n_rows, n_columns = table.shape
    bits = table[:, random.integers(0, n_columns, size=3)]
    label = random.permutation(8)[bits @ [1, 2, 4]] % n_classes
    noisy = random.random(n_rows) < random.choice([0.0, 0.1, 0.3, 1.0])
    return np.where(noisy, random.integers(0, n_classes, size=n_rows), label)


def random_problems(n, most_columns, depths, most_classes=4, most_rows=60, least_rows=1, whole_weights=True, seed=0):
    """``n`` problems; regularization from none to more than any split is worth."""
    for i in range(n):
        random = np.random.default_rng([seed, i])
        n_rows, n_columns = int(random.integers(least_rows, most_rows + 1)), int(random.integers(1, most_columns + 1))
        make = TABLES[i % len(TABLES)]
        table = make(random, n_rows, n_columns)
        label = labels(random, table, int(random.integers(2, most_classes + 1)))
        if whole_weights:
            weight = random.integers(1, random.choice([2, 6]), size=n_rows).astype(float)
        else:
            weight = random.exponential(size=n_rows) * 10.0 ** random.uniform(-6, 6)
        regularization = float(random.choice([0.0, 10.0 ** random.uniform(-3, -0.5)], p=[0.1, 0.9]))
        name = f"{make.__name__} {i} (seed {seed}): {n_rows}×{table.shape[1]}"
        yield Problem(name, table, label, weight, int(random.choice(depths)), regularization)


def objective(tree, X, y, weight=None):
    """Error share + regularization · leaves, from the tree's public answers only: leaves are the ones rows end in."""
    weight = np.ones(len(y)) if weight is None else weight
    wrong = weight[tree.predict(X) != y].sum()
    return float(wrong / weight.sum() + tree.regularization_ * len(np.unique(tree.apply(X))))


def assert_same(found, expected, *context):
    assert abs(found - expected) <= TOLERANCE * max(1.0, abs(expected)), (found, expected, *context)


def noisy_parity(n_rows=600, n_columns=22, noise=0.05, seed=0):
    """Hard for its size: no column helps alone, and the best tree of depth 4 is far from that of depth 5."""
    random = np.random.default_rng(seed)
    table = random.integers(0, 2, size=(n_rows, n_columns))
    label = table[:, :5].sum(axis=1) % 2
    return table, np.where(random.random(n_rows) < noise, 1 - label, label)
