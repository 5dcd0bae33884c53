"""What a distance is, by the definition of every scale: loops over values, nothing of the package."""

from __future__ import annotations

import numpy as np


def repeated(column, weight):
    """The known values of a column, each as often as its whole weight says."""
    known = ~np.isnan(column)
    return np.repeat(column[known], np.ones(known.sum(), dtype=int) if weight is None else weight[known].astype(int))


def unit(column, scale, weight=None):
    """What a distance of 1 is, by the range, the deviation or a given number."""
    values = repeated(column, weight)
    width = values.max() - values.min()
    if not isinstance(scale, str):
        return scale
    if scale == "mad":
        away = np.abs(values - np.median(values))
        for found in (np.median(away), np.mean(away)):
            if found > 0:
                return float(found)
    return float(width) if width > 0 else 1.0


def rank(values, x):
    """Mid-rank of a value among repeated ones, linear between them, scaled to [0, 1]."""

    def middle(v):
        return np.sum(values < v) + np.sum(values == v) / 2

    low, high = values.min(), values.max()
    x = min(max(x, low), high)
    below, above = values[values <= x].max(), values[values >= x].min()
    part = (x - below) / (above - below) if above > below else 0.0
    at = middle(below) + part * (middle(above) - middle(below))
    return (at - middle(low)) / (middle(high) - middle(low))


def distance(column, scale, origin, landing, weight=None):
    """Distance of two values of a column of numbers."""
    values = repeated(column, weight)
    if isinstance(scale, str) and scale == "rank" and values.max() > values.min():
        return abs(rank(values, landing) - rank(values, origin))
    return abs(landing - origin) / unit(column, scale if scale != "rank" else "range", weight)


def mean_distance(columns, scales, weight=None):
    """Mean distance of all pairs of rows, over columns of numbers that are not constant, to two digits."""
    means = []
    for column, scale in zip(columns, scales, strict=True):
        values = repeated(column, weight)
        if len(values) == 0 or values.max() == values.min():
            continue
        if isinstance(scale, str) and scale == "rank":
            places = np.array([rank(values, x) for x in values])
        else:
            width = values.max() - values.min()
            bins = np.minimum(np.floor((values - values.min()) / width * 1024), 1023)
            places = bins / 1023 * width / unit(column, scale, weight)
        means.append(np.abs(places[:, None] - places[None, :]).mean())
    return float(f"{np.mean(means):.2g}") if means else 1.0
