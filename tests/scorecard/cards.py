"""Scorecards on random tables with numbers, categories, missing and special values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier

from fcca import FCCADiscretizer, FCCAScorecard

SPECIAL = {-9.0, -8.0}


def random_table(seed: int, n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with special and missing values, categories with missing values, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    income, age = rng.normal(30, 8, n).round(1), rng.integers(18, 80, n).astype(float)
    purpose = rng.choice(["car", 'tv "new"', "kitchen", "boat", "other"], n).astype(object)
    score = np.sin(income / 4) + (purpose == "car") - (age > 50) + rng.normal(0, 0.5, n)
    income[rng.random(n) < 0.1], income[rng.random(n) < 0.1] = -9.0, -8.0
    age[rng.random(n) < 0.1] = np.nan
    purpose[rng.random(n) < 0.1] = None
    score += 2.0 * (income == -9.0) + np.isnan(age)
    return pd.DataFrame({"income": income, "age": age, "purpose": purpose}), np.where(score > 0.5, "yes", "no")


@cache
def fitted(seed: int, **parameters) -> tuple[FCCAScorecard, pd.DataFrame, np.ndarray]:
    """A scorecard on a random table."""
    X, y = random_table(seed)
    box = GradientBoostingClassifier(n_estimators=25, max_depth=2, random_state=0)
    return FCCAScorecard(FCCADiscretizer(box, special_values=SPECIAL), **parameters).fit(X, y), X, y


def hard_rows(card: FCCAScorecard, seed: int, n: int = 600) -> pd.DataFrame:
    """Rows on the cuts and one float beside them, with missing, special and unknown values."""
    rng = np.random.default_rng([seed, 1])
    rows = random_table(seed + 1000, n)[0]
    for column in card.scorecard_.used:
        if column.cuts:
            name = rows.columns[column.feature]
            cut = rng.choice(column.cuts, n)
            near = np.choose(rng.integers(0, 3, n), [cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)])
            rows[name] = np.where(rng.random(n) < 0.5, near, rows[name])
    rows.loc[rng.random(n) < 0.05, "purpose"] = "unknown"
    rows.loc[rng.random(n) < 0.05, "income"] = np.nan  # not missing in training
    rows.loc[rng.random(n) < 0.05, "age"] = -8.0  # not special in training
    return rows
