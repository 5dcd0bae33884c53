"""The check of every reader: the neutral model predicts as the classifier, on the cuts and next to them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_classification

from fcca import read_model
from fcca.models import LinearModel, as_fitted_on

UNITS = np.array([1.0, 1e-6, 1e6, 1.0, 1e-30, 7.0])
CI_ROWS, CI_SEEDS = 2_000, (0, 1)
VERIFY_ROWS, VERIFY_SEEDS = 10_000, range(200)


def random_table(seed, n_classes=2):
    """Rows in very different units, some of them with many ties, some with values that float32 cannot tell apart."""
    X, y = make_classification(300, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=seed)
    X = X * UNITS
    X[:, 3] = np.round(X[:, 3] * 3)  # few values, many ties
    X[:, 2] = np.round(X[:, 2]) + 2**25  # integers that float32 cannot tell apart
    return X, y


def table_for_linear_models(seed, n_classes=2):
    """The same in units that solvers without scaling can take."""
    X, y = random_table(seed, n_classes)
    return (X - X.mean(axis=0)) / UNITS, y


@dataclass(frozen=True)
class Family:
    """One entry of the suite: classifiers that differ from seed to seed.

    ``build`` takes a random generator, X and y and returns a fitted classifier; ``table`` takes a seed and a number of
    classes and returns X and y. ``floats_around_boundary``: how many floats from the boundary of its scores the classifier's
    probability may rise and fall again, so that no single boundary describes it there.
    """

    name: str
    build: Callable
    classes: tuple = (2, 3, 2, 4)
    table: Callable = random_table
    floats_around_boundary: int = 0

    def __str__(self):
        return self.name


def rows_on_the_cuts(model, X, rng, n):
    """Rows whose values lie on the cuts and one float to either side of them; for a linear model, anywhere around X."""
    rows = X[rng.integers(0, len(X), n)].copy()
    if isinstance(model, LinearModel):
        return rows + rng.normal(size=rows.shape) * X.std(axis=0)
    for j in range(X.shape[1]):
        cuts = np.unique(model.threshold[model.feature == j])
        cuts = cuts[np.isfinite(cuts)]
        if len(cuts) == 0:
            continue
        rows[:, j] = mostly_on_the_cuts(rows[:, j], cuts, rng)
    return rows


def mostly_on_the_cuts(values, cuts, rng):
    """Most of the values replaced by cuts and the floats next to them."""
    n = len(values)
    at = cuts[rng.integers(0, len(cuts), n)]
    beside = np.choose(rng.integers(0, 3, n), [at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
    return np.where(rng.random(n) < 0.8, beside, values)


def label_differences(estimator, rows, model=None):
    """Count the rows on which the neutral model and the classifier's predict differ."""
    model = read_model(estimator) if model is None else model
    answers = model.classes[model.answers(model.scores(rows))]
    return int(np.sum(answers != np.asarray(estimator.predict(as_fitted_on(estimator, rows))).ravel()))


def check_trees(estimator, seed, n_rows, n_classes=2):
    """Fit on a random table and compare all labels on and beside the cuts; returns the estimator, its model and the rows."""
    X, y = random_table(seed, n_classes)
    estimator = estimator.fit(X, y)
    model = read_model(estimator)
    rows = rows_on_the_cuts(model, X, np.random.default_rng(seed), n_rows)
    assert label_differences(estimator, rows, model) == 0
    return estimator, model, rows


def check_family(family, seed, n_rows):
    """One random classifier of a family: labels on and beside the cuts and of the training rows, and its probabilities."""
    rng = np.random.default_rng(seed)
    n_classes = family.classes[seed % len(family.classes)]
    X, y = family.table(seed, n_classes)
    names = [np.arange(n_classes), np.array(["no", "on", "up", "yes"])[:n_classes], np.arange(n_classes) * 3 - 2]
    estimator = family.build(rng, X, names[rng.integers(len(names))][y])
    model = read_model(estimator)
    rows = np.concatenate([X, rows_on_the_cuts(model, X, rng, n_rows - len(X))])
    if family.floats_around_boundary:
        boundary = model.boundary
        is_far = np.abs(model.scores(rows).ravel() - boundary) > family.floats_around_boundary * np.spacing(np.abs(boundary))
        assert is_far.mean() > 0.5
        rows = rows[is_far]
    assert label_differences(estimator, rows, model) == 0
    if hasattr(estimator, "predict_proba"):
        expected = estimator.predict_proba(as_fitted_on(estimator, rows))
        np.testing.assert_allclose(model.probabilities(model.scores(rows)), expected, rtol=0, atol=1e-9)
