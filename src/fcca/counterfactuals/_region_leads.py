"""The lead of another class that a certified region excludes."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._score_margins import DEFAULT_MARGIN
from fcca.models import Model, TreeEnsemble

Floats = NDArray[np.float64]
LARGEST_EXACT = 2**24  # whole numbers up to this are exact in single precision


class RegionLeads(NamedTuple):
    """Leads of another class over the class of each point.

    Attributes
    ----------
    excluded : ndarray of shape (n_points,)
        No row of the region has another class with this lead. So its class is certain, whatever the rounding.
    clear : ndarray of shape (n_points,)
        With this lead, another class is certain.
    """

    excluded: Floats
    clear: Floats


def region_leads(model: Model, own: NDArray[np.int32], margin: float) -> RegionLeads:
    """Choose the leads for points of the classes ``own``.

    Usually, the class of a region leads by at least half the margin, and at most by half of the default margin. Trees whose
    leaves are pure vote, and votes are counted without rounding. With two classes, the class of a region may then also tie
    with the other class if ``predict`` returns it. With more classes, it must lead by a vote: a search for a lead above 0
    misses points at which two other classes tie.

    Parameters
    ----------
    model : Model
    own : ndarray of shape (n_points,)
        The class of each point, as a position in ``model.classes``.
    margin : float
        Score margin by which the class of each point leads.
    """
    little = np.full(len(own), min(margin, DEFAULT_MARGIN) / 2)
    if not isinstance(model, TreeEnsemble) or not _is_vote(model):
        return RegionLeads(-little, little)
    half_vote = np.full(len(own), 0.5 / model.divisor)
    if model.n_outputs > 2:
        return RegionLeads(-half_vote, half_vote)
    if model.n_outputs == 2:  # ``predict`` returns the first class if both have equally many votes
        return RegionLeads(np.where(own == 1, -half_vote, half_vote), half_vote)
    n_votes = floor(model.boundary * model.divisor) + 1
    while n_votes / model.divisor > model.boundary:
        n_votes -= 1
    # The second class wins above the boundary, so with one vote more than this.
    between = (n_votes + 0.5) / model.divisor - model.boundary
    lead = np.where(own == 1, -between, between)
    return RegionLeads(lead, np.where(own == 1, half_vote, lead))


def _is_vote(model: TreeEnsemble) -> bool:
    """Return whether each leaf adds whole numbers of votes, which every classifier sums exactly."""
    leaves = model.feature < 0
    amounts = np.concatenate([model.value[leaves].ravel(), model.base])
    return bool(
        not model.parts
        and model.divisor.is_integer()
        and (amounts == np.round(amounts)).all()
        and np.abs(amounts).max(initial=0) * (len(model.roots) + 1) < LARGEST_EXACT
    )


def leads_over(model: Model, scores: Floats, own: NDArray[np.int32]) -> Floats:
    """Compute the largest lead of another class over the class ``own`` of each row of scores."""
    if model.n_outputs == 1:
        lead: Floats = np.where(own == 1, -1.0, 1.0) * (scores[:, 0] - model.boundary)
        return lead
    at, others = np.arange(len(own)), scores.copy()
    others[at, own] = -np.inf
    lead = others.max(axis=1) - scores[at, own]
    return lead
