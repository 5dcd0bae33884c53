"""Apply the rules of a document to rows, without fcca."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd


def holds(condition: dict, values: pd.Series) -> np.ndarray:
    gaps = values.isna().to_numpy()
    if condition["kind"] == "missing":
        return gaps if condition["operator"] == "is" else ~gaps
    if condition["kind"] == "cut":
        numbers = values.astype(object).where(~gaps, 0.0).to_numpy(dtype=np.float64)
        threshold = float(condition["threshold"])
        found = numbers > threshold if condition["operator"] == ">" else numbers <= threshold
    elif condition["kind"] == "special":
        found = (values == condition["value"]).to_numpy()
        found = found if condition["operator"] == "is" else ~found
    else:
        categories = set(condition["categories"])
        found = np.array([not gap and value in categories for value, gap in zip(values, gaps, strict=True)], dtype=bool)
        found = found if condition["operator"] == "in" else ~found
    return np.where(gaps, condition["missing"], found)


def refused(document: dict, X: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Rows with infinity in a column of a rule."""
    found = np.zeros(len(X), dtype=bool)
    asked = {condition["column"] for rule in document["rules"] for condition in rule["conditions"]}
    for j in asked:
        values, categories = X[names[j]], document["columns"][j]["categories"]
        if categories is None:
            found |= np.isinf(values.astype(object).where(values.notna(), 0.0).to_numpy(dtype=np.float64))
    return found


def apply_rules(text: str, X: pd.DataFrame) -> tuple[list[dict | None], np.ndarray]:
    """The rule that holds for each row, None for refused rows; and a mask of refused rows.

    Raises an AssertionError where more than one rule holds of a row, or none.
    """
    document = json.loads(text)
    names = [f"x{j}" if one["name"] is None else one["name"] for j, one in enumerate(document["columns"])]
    no_answer = refused(document, X, names)
    good = X[~no_answer]
    hits = np.ones((len(good), len(document["rules"])), dtype=bool)
    for at, rule in enumerate(document["rules"]):
        for condition in rule["conditions"]:
            hits[:, at] &= holds(condition, good[names[condition["column"]]])
    assert (hits.sum(axis=1) == 1).all(), "rules must be disjoint and exhaustive"
    which = np.full(len(X), -1)
    which[~no_answer] = hits.argmax(axis=1)
    return [None if at < 0 else document["rules"][at] for at in which], no_answer
