"""Small models of every family on tables with categories, gaps and groups, and random rules for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from exactness.ensemble_instances import COSTS, MARGINS
from fcca import CounterfactualExplainer, read_model
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
    Linear,
    MaxChanges,
    OneHot,
    Rule,
)
from fcca.exceptions import InvalidInputError
from oracles.rules import Table
from rule_columns import COLUMNS, JOB

# Kinds of rules that are drawn here and that the oracle reads by itself. Other kinds have the tests that all rules share.
KINDS = (
    *(Allowed, Bounds, Cost, Decreasing, Fillable, Forbidden, Grid, Immutable, Implies, Increasing, Integer, Linear),
    *(MaxChanges, OneHot, Rule),
)
SCALES = ("range", "rank", "mad")
LABELS = (("car", "tv"), ("no", "yes", "later"), ("north", "east", "south", "west"))


@dataclass(frozen=True)
class Family:
    """One kind of model: how it is made from the number of trees, their depth, names of categories and a seed."""

    make: object
    depth: int
    n_classes: int = 2
    categories: int = 0
    gaps: bool = False
    group: bool = False
    most_trees: int = 6


def boosting(n, depth, categories, seed):
    return GradientBoostingClassifier(n_estimators=n, max_depth=depth, learning_rate=0.4, random_state=seed)


def forest(n, depth, categories, seed):
    return RandomForestClassifier(n, max_depth=depth, random_state=seed)


def single_tree(n, depth, categories, seed):
    return DecisionTreeClassifier(max_depth=depth, random_state=seed)


def histograms(n, depth, categories, seed):
    return HistGradientBoostingClassifier(
        max_iter=n,
        max_depth=depth,
        learning_rate=0.4,
        min_samples_leaf=2,
        early_stopping=False,
        random_state=seed,
        categorical_features="from_dtype",
    )


def encoded(make, encoder):
    """The same behind an encoder of the categories, the numbers passed through or scaled."""

    def pipeline(n, depth, categories, seed):
        numbers = "passthrough" if seed % 2 else StandardScaler()
        parts = [("labels", encoder(), categories), ("numbers", numbers, lambda X: [c for c in X if c not in categories])]
        return make_pipeline(ColumnTransformer(parts, sparse_threshold=0), make(n, depth, categories, seed))

    return pipeline


FAMILIES = {
    "stumps": Family(boosting, 1, group=True, most_trees=12),
    "boosting": Family(boosting, 2, group=True),
    "deep boosting": Family(boosting, 3, most_trees=4),
    "forest": Family(forest, 3, group=True),
    "forest with gaps": Family(forest, 3, gaps=True),
    "tree": Family(single_tree, 4, group=True),
    "tree with gaps": Family(single_tree, 4, gaps=True),
    "stumps of histograms": Family(histograms, 1, categories=2, gaps=True, most_trees=12),
    "histograms": Family(histograms, 3, categories=2, gaps=True, most_trees=5),
    "stumps, 3 classes": Family(boosting, 1, n_classes=3, group=True, most_trees=4),
    "boosting, 3 classes": Family(boosting, 2, n_classes=3, most_trees=3),
    "histograms, 3 classes": Family(histograms, 2, n_classes=3, categories=1, gaps=True, most_trees=3),
    "forest, 3 classes": Family(forest, 3, n_classes=3),
    "one-hot and stumps": Family(encoded(boosting, OneHotEncoder), 1, categories=2, most_trees=12),
    "one-hot and boosting": Family(encoded(boosting, OneHotEncoder), 2, categories=2),
    "one-hot and forest": Family(encoded(forest, OneHotEncoder), 3, categories=1),
    "ordinal and boosting": Family(encoded(boosting, OrdinalEncoder), 2, categories=2),
}


def number_column(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 7, n).astype(float)
    if kind == 1:
        return rng.integers(-4, 6, n) / 10
    if kind == 2:
        return np.round(rng.normal(size=n) * 3) * 1000.0
    return rng.normal(size=n)


def coded_table(rng, family, n):
    """Training rows by code: numbers first, then a group, then categories."""
    columns = [number_column(rng, n) for _ in range(int(rng.integers(2, 4)))]
    names = ["age", "my income", "rent"][: len(columns)]
    if family.group and rng.random() < 0.6:
        one = rng.integers(0, 3, n)
        columns += [(one == k).astype(float) for k in range(3)]
        names += ["red", "green", "blue"]
    labels = {}
    for k in range(family.categories):
        mine = LABELS[int(rng.integers(len(LABELS)))]
        code = rng.integers(0, len(mine), n).astype(float)
        code[: len(mine)] = np.arange(len(mine))
        labels[len(columns)] = mine
        columns.append(code)
        names.append(f"job {k}")
    X = np.ascontiguousarray(np.column_stack(columns))
    if family.gaps:
        holes = rng.random(X.shape) < 0.15 * (rng.random(X.shape[1]) < 0.7)
        holes[: 2 * max([4, *map(len, labels.values())])] = False
        X[holes] = np.nan
    return X, tuple(names), labels


def given_from(names, labels, as_category):
    """How rows of codes become what the classifier takes."""

    def as_given(rows):
        columns = {}
        for j, name in enumerate(names):
            if j not in labels:
                columns[name] = rows[:, j]
                continue
            code = np.where(np.isnan(rows[:, j]), -1, rows[:, j]).astype(int)
            if as_category:
                columns[name] = pd.Categorical.from_codes(code, categories=list(labels[j]))
            else:
                columns[name] = np.array([*labels[j], np.nan], dtype=object)[code]
        return pd.DataFrame(columns)

    return as_given


def labels_of_rows(rng, X, labels, n_classes):
    """Classes that hang on pairs of columns and on single categories."""
    Z = np.where(np.isnan(X), 0.5, X)
    Z = (Z - Z.mean(axis=0)) / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1)
    for j, mine in labels.items():
        effect = rng.normal(size=len(mine) + 1) * 2
        Z[:, j] = effect[np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(int)]
    pairs = np.column_stack([Z[:, i] * Z[:, j] for i in range(Z.shape[1]) for j in range(i)])
    score = Z @ rng.normal(size=(Z.shape[1], n_classes)) + pairs @ rng.normal(size=(pairs.shape[1], n_classes))
    y = score.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return y


@dataclass(frozen=True, eq=False)
class RuleInstance:
    """Rows of one model with one set of rules."""

    name: str
    family: str
    table: Table
    rows: np.ndarray  # by the table's codes
    rules: list

    @cached_property
    def explainer(self):
        given = self.table.as_given
        fixed, linear, square = self.table.lambdas
        return CounterfactualExplainer(
            self.table.estimator,
            given(self.table.X),
            lambda0=fixed,
            lambda1=linear,
            lambda2=square,
            margin=self.table.margin,
            scale=self.table.scale,
            category_distance=self.table.category_distance,
        )

    def solve(self, **settings):
        return self.explainer.explain(self.table.as_given(self.rows), constraints=self.rules, **settings)


def cuts_of(estimator, n_features):
    model = read_model(estimator)
    cuts = [set() for _ in range(n_features)]
    for node in np.flatnonzero(model.feature >= 0):
        if node not in model.categories and np.isfinite(model.threshold[node]):
            cuts[model.feature[node]].add(float(model.threshold[node]))
    return [np.array(sorted(mine)) for mine in cuts]


def fitted_table(rng, family, seed, random_scale=None):
    """A table and a model small enough for all combinations to be tried."""
    X, names, labels = coded_table(rng, family, int(rng.integers(30, 60)))
    y = labels_of_rows(rng, X, labels, family.n_classes)
    as_given = given_from(names, labels, family.make is histograms)
    n_trees = int(rng.integers(1, family.most_trees + 1))
    categories = [names[j] for j in labels]
    estimator = family.make(n_trees, family.depth, categories, seed).fit(as_given(X), y)
    costs, margin = COSTS[int(rng.integers(len(COSTS)))], float(rng.choice(MARGINS[:3]))
    table = Table(estimator, as_given, names, labels, X, cuts_of(estimator, X.shape[1]), costs, margin)
    return table if random_scale is None else replace(table, **random_scale(rng, table))


def random_scale(rng, table):
    """A scale and a category distance below, at or above a full range, or that of the data."""
    numbers = [j for j in range(len(table.names)) if j not in table.labels]
    named = [j for j in numbers if rng.random() < 0.7] or numbers[:1]
    units = {table.names[j]: float(table.unit(j) * rng.choice([0.01, 0.3, 2.0, 50.0])) for j in named}
    scale = [*SCALES, units][int(rng.integers(4))]
    return {"scale": scale, "category_distance": [0.07, 0.4, 1.0, 2.5, "auto", "auto"][int(rng.integers(6))]}


def instance_of_every_column(rule):
    """Rows of a table with the columns of the list of all rules, under one rule."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(18, 91, 80), rng.integers(-20, 201, 80) / 2, rng.integers(0, 3, 80)]).astype(float)
    red = rng.integers(0, 2, 80)
    X = np.column_stack([X, red, 1 - red, np.zeros(80)])
    X[rng.random(80) < 0.2, 1] = X[rng.random(80) < 0.2, 2] = np.nan
    names, labels = COLUMNS.names[:6], {JOB: COLUMNS[JOB].categories}
    as_given = given_from(names, labels, as_category=True)
    estimator = histograms(8, 3, ["job"], 0).fit(as_given(X), labels_of_rows(rng, X, labels, 2))
    table = Table(estimator, as_given, names, labels, X, cuts_of(estimator, 6), COSTS[0], MARGINS[0])
    return RuleInstance(repr(rule), "every column", table, X[:12], [rule])


def query_rows(rng, table, n, *, gaps):
    """Training rows, some values put on a cut, one float beside it, outside the range, or left out."""
    rows = table.X[rng.choice(len(table.X), n)].copy()
    binary = {j for j, name in enumerate(table.names) if name in ("red", "green", "blue")}
    for j in range(rows.shape[1]):
        if j in table.labels or j in binary:
            continue
        for i in range(n):
            kind = rng.random()
            if kind < 0.15 and len(table.cuts[j]):
                cut = rng.choice(table.cuts[j])
                rows[i, j] = rng.choice([cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)])
            elif kind < 0.22:
                rows[i, j] = rng.choice([table.seen(j)[0] - table.unit(j) / 3, table.seen(j)[-1] + table.unit(j) / 3])
            elif kind < 0.27:
                rows[i, j] = rng.uniform(table.seen(j)[0], table.seen(j)[-1])
    if gaps:
        for j in np.flatnonzero(np.isnan(table.X).any(axis=0)):
            rows[rng.random(n) < 0.25, j] = np.nan
    return rows


# --- rules --------------------------------------------------------------------------------------------------------------


def random_bounds(rng, table, j, rows):
    name, seen, unit = table.names[j], table.seen(j), table.unit(j)
    kind = rng.integers(5)
    if kind == 0:
        ends = np.sort(rng.choice(seen, 2))
        return Bounds(name, *ends)
    if kind == 1:
        ends = np.sort(rng.uniform(seen[0], seen[-1], 2))
        return Bounds(name, *(ends if rng.random() < 0.5 else (ends[0], None)))
    if kind == 2:
        return Bounds(name, high=float(rng.choice(seen)))
    if kind == 3:
        low, high = np.sort(rng.normal(size=2))
        return Bounds(name, float(low), float(high), relative=True)
    low, high = np.sort(rng.normal(size=2) * unit / 2)
    return Bounds(name, by=(float(low) if rng.random() < 0.7 else None, float(high)))


def random_sum(rng, table, numbers):
    chosen = rng.choice(numbers, size=int(rng.integers(1, min(3, len(numbers)) + 1)), replace=False)
    names = [table.names[j] for j in chosen]
    if len(chosen) == 2 and rng.random() < 0.4:
        return Rule(f"`{names[0]}` {rng.choice(['<=', '>='])} `{names[1]}`")
    factors = rng.choice([1.0, -1.0, 2.0, 0.5, -0.1], size=len(chosen))
    row = table.X[rng.integers(len(table.X)), chosen]
    upper = float(np.where(np.isnan(row), 0, row) @ factors)  # a row that just keeps it
    if rng.random() < 0.15:
        text = " + ".join(f"{a} * `{name}`" for a, name in zip(factors.tolist(), names, strict=True))
        return Rule(f"{text} == {upper!r}")
    return Linear(dict(zip(names, factors.tolist(), strict=True)), upper)


def random_rules(rng, table, rows):
    """One to five rules of different kinds."""
    binary = [j for j, name in enumerate(table.names) if name in ("red", "green", "blue")]
    numbers = [j for j in range(len(table.names)) if j not in table.labels and j not in binary]
    everything = list(range(len(table.names)))

    def name(of):
        return table.names[int(rng.choice(of))]

    def labels(j):
        return table.labels[j]

    kinds = ["immutable", "direction", "direction", "bounds", "bounds", "grid", "cost", "max", "sum", "sum", "implies"]
    kinds += ["group"] * 3 if binary else []
    kinds += ["forbidden", "allowed", "forbidden"] if table.labels else []
    kinds += ["fillable"] * 3 if np.isnan(table.X).any() else []
    rules = []
    for kind in rng.choice(kinds, size=int(rng.integers(1, 6))):
        if kind == "immutable":
            rules.append(Immutable(name(everything)))
        elif kind == "direction":
            rules.append((Increasing if rng.random() < 0.5 else Decreasing)(name(numbers + binary)))
        elif kind == "bounds":
            rules.append(random_bounds(rng, table, int(rng.choice(numbers)), rows))
        elif kind == "grid":
            j = int(rng.choice(numbers))
            step = float(rng.choice([table.unit(j) / 7, 1.0, 0.1, 0.25]))
            if table.unit(j) / step > 1e4:
                step = table.unit(j) / 9
            whole = step == 1 and rng.random() < 0.5
            rules.append(Integer(table.names[j]) if whole else Grid(table.names[j], step, float(rng.choice([0.0, 0.03]))))
        elif kind == "cost":
            rules.append(Cost(name([j for j in everything if j not in binary]), float(rng.choice([0.1, 2.0, 3.5]))))
        elif kind == "max":
            rules.append(MaxChanges(int(rng.integers(1, 4))))
        elif kind == "sum":
            rules.append(random_sum(rng, table, numbers))
        elif kind == "implies":
            one, other = (table.names[int(j)] for j in rng.choice(numbers, 2, replace=False))
            words = rng.choice(["rises", "falls"], 2)
            rules.append(Implies(f"{one} {words[0]}", f"{other} {words[1]}"))
        elif kind == "group":
            rules.append(OneHot(*(table.names[j] for j in binary)))
        elif kind == "fillable":
            rules.append(Fillable(name(everything)))
        else:
            j = int(rng.choice(list(table.labels)))
            start = str(rng.choice(labels(j)))
            ends = [label for label in labels(j) if label != start and rng.random() < 0.6]
            if kind == "forbidden" and ends:
                rules.append(Forbidden(table.names[j], [(start, end) for end in ends]))
            elif kind == "allowed":
                rules.append(Allowed(table.names[j], {start: ends, labels(j)[-1]: [labels(j)[0]]}))
    return rules


def instances(n_models, seed=0, rows_per_set=4, sets_per_model=3, scaled=False):
    """Every family in turn; rules that contradict each other are drawn again."""
    rng = np.random.default_rng(seed)
    for i in range(n_models):
        name = list(FAMILIES)[i % len(FAMILIES)]
        family = FAMILIES[name]
        table = fitted_table(rng, family, i, random_scale if scaled else None)
        explainer = None
        for k in range(sets_per_model):
            rows = query_rows(rng, table, rows_per_set, gaps=family.gaps)
            while True:
                instance = RuleInstance(f"{name} {i}.{k}", name, table, rows, random_rules(rng, table, rows))
                if explainer is not None:
                    instance.__dict__["explainer"] = explainer
                explainer = instance.explainer
                coded = explainer.engine.model.columns
                coded = rows if coded is None else coded.encode(table.as_given(rows))
                try:
                    explainer._limits(tuple(instance.rules), coded)
                except InvalidInputError:
                    continue
                yield instance
                break
