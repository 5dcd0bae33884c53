"""Tables with special values, for tests of several rooms."""

import numpy as np
import pandas as pd

SPECIAL = {"score": {-9.0, -8.0}, "months": {99.0}}


def people(n=600, seed=0, missing=False):
    """A table with the special values of ``SPECIAL``, whose labels depend on them."""
    random = np.random.default_rng(seed)
    score = np.round(random.uniform(0, 60, n))
    months = np.round(random.uniform(0, 120, n))
    months[months == 99] = 98
    score[random.random(n) < 0.25] = -9
    score[random.random(n) < 0.15] = -8
    months[random.random(n) < 0.25] = 99
    X = pd.DataFrame({"score": score, "months": months, "age": np.round(random.normal(40, 12, n))})
    y = np.where(score == -9, 1, np.where(score == -8, 0, score > 35)).astype(int)
    y = np.where(months == 99, 0, y)
    noise = random.random(n) < 0.05
    if missing:
        X.loc[random.random(n) < 0.1, "age"] = np.nan
    return X, np.where(noise, 1 - y, y)
