"""Counterfactuals that a certificate does not claim to be proven: feasible, unknown and unverified ones.

Their moves cross no thresholds, so whoever wants a threshold gone could call its counterfactuals one of these. That time ran
out cannot be checked by anybody, and is never taken for checked.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fcca.constraints import limits_for
from fcca.verification._material import NEAR, Bools, Floats, Longs, Material, is_near, named_rows


class Proven(Protocol):
    """What was proven anew of some points; costs are infinite where nothing was found."""

    cost: Floats
    proven: Bools


def open_contradictions(given: Material, chosen: Longs, proofs: Proven) -> list[str]:
    """Unknown ones, among those chosen, of which a change is cheaper than the bound that is said to be proven.

    Parameters
    ----------
    given : Material
    chosen : ndarray of int
        Points.
    proofs : Proofs
        Of these.
    """
    unknown, bound = given.status[chosen] == "unknown", given.points.bound[chosen]
    with np.errstate(invalid="ignore"):
        beyond = np.flatnonzero(unknown & (proofs.cost < bound - NEAR * np.maximum(1.0, bound)))
    if len(beyond) == 0:
        return []
    first = beyond[0]
    found = f"a bound of {bound[first]:.12g}, but there is a change at {proofs.cost[first]:.12g}"
    return [f"{named_rows(given.points.row[chosen[beyond]])}: {found}"]


def words_on_open(given: Material, chosen: Longs, proofs: Proven) -> str:
    """What nobody can check of searches that are said to have been ended; nothing where it is proven that none is missing.

    Parameters
    ----------
    given : Material
    chosen : ndarray of int
        Points.
    proofs : Proofs
        Of these.
    """
    is_none = np.zeros(len(given.at), dtype=np.bool_)
    is_none[chosen] = proofs.proven & np.isinf(proofs.cost)
    left = np.flatnonzero(given.left_open & ~is_none)
    if len(left) == 0:
        return ""
    counted = "1 counterfactual is" if len(left) == 1 else f"{len(left):,} counterfactuals are"
    words = (
        f" {counted} said to have been ended before a proof, {named_rows(given.points.row[left])}, which nobody can check; "
        "what they cross is missing among the thresholds"
    )
    unknown = given.status[chosen] == "unknown"
    if len(found := np.flatnonzero(unknown & np.isfinite(proofs.cost))):
        rows = named_rows(given.points.row[chosen[found]])
        words += f". There is a change, called unknown, of {rows}: at {proofs.cost[found[0]]:.6g}"
    return words


def unverified_again(given: Material, chosen: Longs, time_limit: float | None) -> tuple[list[str], int]:
    """Unverified ones are searched again: the same change is to be found, and to be denied again.

    Parameters
    ----------
    given : Material
    chosen : ndarray of int
        Points, all of them unverified.
    time_limit : float or None
        Seconds.

    Returns
    -------
    list of str
        What is wrong.
    int
        How many are unverified again.
    """
    if len(chosen) == 0:
        return [], 0
    limits = limits_for(given.limits, chosen)
    found = given.engine.solve(
        given.table,
        given.at[chosen],
        given.own_class[chosen],
        feature_names=given.stated.columns,
        limits=limits,
        n_jobs=given.n_jobs,
        time_limit=time_limit,
    )
    if given.run.rules is not None and limits is not None:
        found = given.run.rules.checked(given.table, found, limits.fillable)
    cost, bound = given.points.cost[chosen], given.points.bound[chosen]
    again = found.is_status("unverified") & is_near(np.where(np.isfinite(found.cost), found.cost, -1.0), cost)
    problems: list[str] = []

    def wrong(which: Any, words: str) -> None:
        if len(at := np.flatnonzero(which & ~again)):
            problems.append(f"{named_rows(given.points.row[chosen[at]])}: called unverified, but {words}")

    room = NEAR * np.maximum(1.0, cost)
    wrong(is_near(bound, cost) & (found.cost < cost - room), "there is a cheaper change")
    none_below = np.where(found.is_status("infeasible"), np.inf, found.bound) > cost + room
    wrong(none_below, "it is proven that no change that is allowed costs so little")
    kept = found.is_status("optimal") & ~given.keeps_rules[chosen] & ~none_below
    wrong(kept, "there is a change that keeps the rules it breaks")
    return problems, int(again.sum())
