"""A table of people with categories and missing values, and rows of it on the cuts of a model."""

import numpy as np
import pandas as pd

from fcca import read_model
from fcca.models import LinearModel, as_fitted_on
from models.fidelity import mostly_on_the_cuts

NUMBERS = ["age", "income", "debt"]
TEXTS = ["job", "town"]


def people_table(seed, *, gaps=True, none=False, n=400, n_classes=2):
    """Three columns of numbers, two of texts, one of whole numbers as categories, one without effect."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(),
            "job": rng.choice(["cook", "nurse", "clerk", "pilot", "judge"], n, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "income": rng.lognormal(3, 1, n) * 1e-6,
            "town": rng.choice(["A", "B", "C"], n),
            "debt": rng.normal(0, 1, n) + 2**20,
            "grade": rng.integers(1, 5, n),
            "note": rng.choice(["x", "y", "z", "w"], n),
        }
    )
    score = (X["age"] > 45) + 2 * (X["job"].isin(["cook", "pilot"])) + (X["town"] == "B") * (X["grade"] - 2)
    score += (X["income"] * 1e6 > 20) + (X["debt"] - 2**20) + rng.normal(0, 0.5, n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    if gaps:
        X = X.astype({"job": object, "town": object})
        for column in ("age", "income", *TEXTS):
            X.loc[rng.random(n) < 0.12, column] = None if none and column in TEXTS else np.nan
        y = np.where(X["income"].isna() & (rng.random(n) < 0.7), 1, y)
    return X, y


def people_rows(model, X, rng, n):
    """Encoded rows: any category, missing values where they are allowed, numbers on the cuts and one float beside them."""
    columns = model.columns
    rows = np.empty((n, len(columns)))
    for j, column in enumerate(columns):
        if column.categories is not None:
            rows[:, j] = rng.integers(0, len(column.categories), n)
        elif column.ignored:
            rows[:, j] = 0.0
        else:
            values = pd.DataFrame(X).iloc[:, j].astype(np.float64).to_numpy()
            values = values[~np.isnan(values)]
            rows[:, j] = values[rng.integers(0, len(values), n)]
            cuts = np.array([]) if isinstance(model, LinearModel) else np.unique(model.threshold[model.feature == j])
            cuts = cuts[np.isfinite(cuts) & (np.abs(cuts) < 1e300)]
            if len(cuts):
                rows[:, j] = mostly_on_the_cuts(rows[:, j], cuts, rng)
        if column.missing:
            rows[rng.random(n) < 0.2, j] = np.nan
    return rows


def people_differences(estimator, X, rng, n=3_000):
    """Count the rows on which the model and the classifier differ, in X and in rows on the cuts."""
    model = read_model(estimator)
    rows = people_rows(model, X, rng, n)
    answers = model.classes[model.answers(model.scores(rows))]
    found = np.asarray(estimator.predict(as_fitted_on(estimator, rows, columns=model.columns))).ravel()
    coded = model.columns.encode(X)
    own = model.classes[model.answers(model.scores(coded))]
    if hasattr(estimator, "predict_proba"):
        expected = estimator.predict_proba(as_fitted_on(estimator, rows, columns=model.columns))
        np.testing.assert_allclose(model.probabilities(model.scores(rows)), expected, rtol=0, atol=1e-9)
    return int(np.sum(answers != found) + np.sum(own != np.asarray(estimator.predict(X)).ravel()))
