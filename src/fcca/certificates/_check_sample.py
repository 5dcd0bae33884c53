"""Check which rows were searched, if a certificate states that these are a random sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from fcca.certificates._evidence import Bools, Evidence, Floats, NotChecked, is_near
from fcca.discretizers import RowSample, looks_up_to, rows_to_search, sample_of
from fcca.exceptions import NoCounterfactualError
from fcca.thresholds import ThresholdTable


def rows_asked(given: Evidence) -> int | str:
    """Return the stated ``max_rows``, or its default for the black box: a number, "auto" or "all"."""
    stated = given.stated.parameters.search
    return rows_to_search(stated["preset"], stated["max_rows"], searches_fast=given.search.searches_fast)


def sample_problems(given: Evidence) -> list[str]:
    """Check that the stated sample has the size that ``max_rows`` asks for, and recompute its other numbers."""
    stated, asked, order = given.stated.sample, rows_asked(given), given.order
    if stated is None:
        if isinstance(asked, int) and order is not None and asked < order.n_units:
            return [f"no sample of rows is stated, but max_rows={asked} asks for one"]
        return []
    if order is None or not stated.size < order.n_units:
        return ["a sample of the rows is stated, but it would hold all rows, or the weights do not allow a sample"]
    fits = {
        "settled": asked == "auto" and stated.size in looks_up_to(stated.size, order.n_units),
        "max_rows": asked == stated.size,
        "interrupted": not isinstance(asked, int) or stated.size < asked,
    }
    if not fits[stated.reason]:
        return [f"the search cannot have ended after {stated.size} rows with the reason {stated.reason!r}"]
    true = recomputed_sample(given)
    names = {"searched": true.n_searched, "rows": true.n_rows, "level": true.level, "conditions": true.n_conditions}
    said = asdict(stated)
    problems = [
        f"the sample states {said[name]:g} for {name!r}, not {value:g}"
        for name, value in names.items()
        if not is_near(said[name], value)
    ]
    unfinished = given.sampled_weight[given.at[given.left_open]].sum() / order.weight
    if stated.unfinished < unfinished or (stated.unfinished > unfinished and not given.may_end_open):
        problems.append(f"the sample states {stated.unfinished} unfinished searches, not {unfinished:g}")
    return problems


def recomputed_sample(given: Evidence) -> RowSample:
    """Compute the sample of the stated size from the rows and the black box."""
    stated = given.stated.sample
    assert stated is not None
    return _sample_of_size(given, stated.size, stated.reason, stated.unfinished)


def _sample_of_size(given: Evidence, size: int, reason: str, n_unfinished: int = 0) -> RowSample:
    order = given.order
    if order is None:
        raise NotChecked("The weights do not allow a sample of the rows.")
    n_rows = len(order.rows(size)), int(given.should_be_searched.sum())
    return sample_of(given.search, order, size, reason, n_rows, n_unfinished)  # type: ignore[arg-type]


def looks_problems(given: Evidence, thresholds_of: Callable[[Floats], tuple[ThresholdTable, Bools]]) -> list[str]:
    """Check that ``max_rows="auto"`` ended the search as soon as the choice of the thresholds was settled, and not before.

    Parameters
    ----------
    given : Evidence
    thresholds_of : callable
        Counts the stated counterfactuals with given weights of the rows. It returns the thresholds and a mask of those that
        are kept, and raises NoCounterfactualError if there are none.
    """
    order, stated = given.order, given.stated.sample
    if rows_asked(given) != "auto" or order is None or given.stated.parameters.search_is_limited:
        return []  # how many searches had been stopped at an earlier look is not known
    size = order.n_units if stated is None else stated.size
    points = np.flatnonzero(given.should_be_searched)
    for look in looks_up_to(size, order.n_units):
        weight = np.zeros(len(given.weight))
        weight[points] = order.weights(look, len(points))
        try:
            settled = _sample_of_size(given, look, "settled").is_settled(*thresholds_of(weight))
        except NoCounterfactualError:
            settled = False
        is_end = stated is not None and stated.reason == "settled" and look == size
        if settled != is_end:
            return [f"the choice of the thresholds is {'' if settled else 'not '}settled after {look} rows"]
    return []
