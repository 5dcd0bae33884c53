"""A table as people have them: numbers, categories of both kinds of columns, and gaps in both."""

import numpy as np
import pandas as pd

GOOD_PURPOSES = ["car", "home"]


def loans(n=400, seed=0, classes=2):
    """Loans, and whether they were paid back; with more than two classes, how late."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": np.round(rng.gamma(3, 1, n), 2),
            "purpose": rng.choice(["car", "tv", "boat", "home"], n),
            "age": rng.integers(18, 80, n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "top"], n), categories=["low", "mid", "top"]),
        }
    )
    score = 1.0 * (X["income"] > 2.5) + 1.2 * X["purpose"].isin(GOOD_PURPOSES) + 1.0 * (X["grade"] == "top")
    score = score.to_numpy() + rng.normal(0, 0.3, n)
    no_income, no_purpose = rng.random(n) < 0.15, rng.random(n) < 0.1
    X.loc[no_income, "income"] = np.nan
    X.loc[no_purpose, "purpose"] = None
    score[no_income] -= 0.8
    if classes == 2:
        return X, np.where(score > 1.5, "good", "bad")
    edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    return X, np.array([f"class {k}" for k in range(classes)])[np.searchsorted(edges, score)]


def holds(condition, X):
    """Which rows of a table a condition holds for, by pandas alone."""
    if condition.endswith(" is missing"):
        return X[condition.removesuffix(" is missing")].isna().to_numpy()
    if " > " in condition:
        column, threshold = condition.rsplit(" > ", 1)
        return (X[column] > float(threshold)).to_numpy()
    if " = " in condition:
        column, label = condition.split(" = ", 1)
        return X[column].isin([label.strip('"')]).to_numpy()
    column, labels = condition.split(" in ", 1)
    return X[column].isin([label.strip('"') for label in labels.strip("{}").split(", ")]).to_numpy()


def rule_holds(rule, X):
    """Which rows a line of ``rules()`` is about, by pandas alone."""
    rows = np.ones(len(X), dtype=bool)
    for part in rule.split(" → ")[0].split(" and "):
        rows &= _part_holds(part, X)
    return rows


def _part_holds(part, X):
    if part.startswith("("):
        part = part[1:-1]
    if part == "always":
        return np.ones(len(X), dtype=bool)
    if part.endswith(" is not missing"):
        return ~holds(part.replace(" is not missing", " is missing"), X)
    if " ≠ " in part:
        return ~holds(part.replace(" ≠ ", " = "), X)
    if " not in " in part:
        return ~holds(part.replace(" not in ", " in "), X)
    if " ≤ " in part:
        column, threshold = part.removesuffix(" or missing").rsplit(" ≤ ", 1)
        gaps = X[column].isna() if part.endswith(" or missing") else False
        return ((X[column] <= float(threshold)) | gaps).to_numpy()
    return holds(part, X)
