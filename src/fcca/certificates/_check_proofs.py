"""Prove again that counterfactuals are the cheapest, by an independent method where one exists."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np

from fcca.certificates._evidence import (
    NEAR,
    Bools,
    Evidence,
    Floats,
    Longs,
    NotChecked,
    is_near,
    named_rows,
    problem_of_rows,
)
from fcca.constraints import Limits, limits_for
from fcca.counterfactuals import PROVEN, STATUSES, CounterfactualEngine, Counterfactuals
from fcca.milp import ANY_OTHER_CLASS, LinearSearch, Task
from fcca.models import LinearModel
from fcca.utils import progress_bar

TOLERANCE = 1e-8  # both proofs are exact to 1e-9, relative for large costs
PROGRAM, SEARCH = "by a mixed-integer program on HiGHS", "by fcca's search"


@dataclass
class Proofs:
    """Results of proving counterfactuals again, with one entry per counterfactual.

    Attributes
    ----------
    cost, bound : ndarray
        Cost of the cheapest change found, and a lower bound on the cost of all changes. Infinite if no change flips the
        black box.
    proven : ndarray of bool
        True if it is proven that no change is cheaper than the stated bound, or that no change flips the black box.
    by_program : ndarray of bool
        True if the proof comes from a mixed-integer program, which is independent of the search.
    """

    cost: Floats
    bound: Floats
    proven: Bools
    by_program: Bools


def optima(given: Evidence) -> list[str] | str:
    """Prove again that a sample of the counterfactuals is optimal.

    Return the problems, or a sentence that says how many were proven by which method.
    """
    chosen, drawn = _chosen(given)
    if len(chosen) == 0:
        raise NotChecked("The sample is empty, so no counterfactual was re-proven.")
    searched, unverified = chosen[~given.unverified[chosen]], chosen[given.unverified[chosen]]
    proofs = _proofs(given, searched)
    problems, n_again = _unverified_again(given, unverified)
    problems += _contradictions(given, searched, proofs)
    n = len(chosen)
    by_program = int((proofs.by_program & proofs.proven).sum())
    by_search = int(proofs.proven.sum()) - by_program
    counted = ((by_program, PROGRAM), (by_search, SEARCH), (n_again, "unverified as before"))
    parts = [f"{count:,} {way}" for count, way in counted if count]
    left = n - by_program - by_search - n_again
    parts += [f"{left:,} not proven within the time limit, but no cheaper change was found"] if left else []
    words = f"{n:,} of {len(given.at):,} counterfactuals{drawn} checked again: {', '.join(parts)}"
    doubts = _describe_unproven(given, searched, proofs)
    if (left or doubts) and not problems:
        raise NotChecked(f"{words}.{doubts}")
    return problems or words


def _chosen(given: Evidence) -> tuple[Longs, str]:
    """Draw the counterfactuals to prove again, and describe the draw.

    Unverified counterfactuals that break a rule are always included, because no other check can detect a false claim about
    them.
    """
    n, sample, random_state = len(given.at), given.effort.sample, given.effort.random_state
    if sample is None or sample >= n:
        return np.arange(n), ""
    random_state = secrets.randbelow(2**32) if random_state is None else random_state
    drawn = np.random.default_rng(random_state).choice(n, sample, replace=False)
    chosen = np.union1d(drawn, np.flatnonzero(given.unverified & ~given.keeps_rules))
    return chosen, f", drawn with random_state {random_state},"


def _contradictions(given: Evidence, chosen: Longs, proofs: Proofs) -> list[str]:
    cost, bound, rows = given.points.cost[chosen], given.points.bound[chosen], given.points.row[chosen]
    status = given.status[chosen]
    with np.errstate(invalid="ignore"):
        room = TOLERANCE * np.maximum(1.0, np.where(np.isfinite(cost), cost, 1.0))
        little = NEAR * np.maximum(1.0, bound)
        cheaper = (status == "optimal") & (proofs.cost < cost - room)
        dearer = np.isin(status, (*PROVEN, "feasible")) & (proofs.bound > cost + room)
        flips = (status == "infeasible") & np.isfinite(proofs.cost)
        beyond = np.isin(status, ("within_gap", "feasible")) & (proofs.cost < bound - room)
        beyond_open = (status == "unknown") & (proofs.cost < bound - little)
    above_bound = "the bound is {bound:.12g}, but a change costs {proven:.12g}"
    problems = []
    for wrong, words in (
        (cheaper, "not optimal, because a change costs {proven:.12g}, cheaper than {cost:.12g}"),
        (
            dearer & np.isfinite(proofs.bound),
            "the stated cost is {cost:.12g}, but no change costs less than {proven_bound:.12g}",
        ),
        (dearer & np.isinf(proofs.bound), "the stated cost is {cost:.12g}, but no change flips the black box"),
        (flips, "the status is infeasible, but a change that costs {proven:.12g} flips the black box"),
        (beyond, above_bound),
        (beyond_open, above_bound),
    ):
        if wrong.any():
            k = int(wrong.argmax())
            numbers = {"cost": cost[k], "bound": bound[k], "proven": proofs.cost[k], "proven_bound": proofs.bound[k]}
            problems += problem_of_rows(rows[wrong], words.format(**numbers))
    return problems


# --- proofs ---------------------------------------------------------------------------------------------------------------


def _proofs(given: Evidence, chosen: Longs) -> Proofs:
    n = len(chosen)
    proofs = Proofs(np.full(n, np.inf), np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_))
    is_linear = isinstance(given.engine.model, LinearModel)
    if not (is_linear and given.engine.problem.lambda2 > 0):  # the linear programs have no squared costs
        limits = limits_for(given.limits, chosen)
        with progress_bar("Re-proving optima", n) as progress:
            report = (lambda done: None) if progress is None else progress
            (_by_linear_programs if is_linear else _by_tree_programs)(given, chosen, limits, proofs, report)
        proofs.by_program[:] = True
    if not proofs.proven.all():
        _by_search(given, chosen, proofs)
    return proofs


def _by_tree_programs(
    given: Evidence, chosen: Longs, limits: Limits | None, proofs: Proofs, report: Callable[[int], None]
) -> None:
    """Prove counterfactuals of a tree ensemble again by mixed-integer programs.

    The results are written into ``proofs``. ``chosen`` holds the positions of the counterfactuals to prove, and ``limits``
    the rules, compiled for the rows of these counterfactuals.
    """
    engine = CounterfactualEngine(
        given.estimator, given.engine.problem, method="milp", like=given.rows.X, special=given.special
    )
    engine.observe(given.table)
    engine.cells.distances = given.distances
    found = engine.solve(
        given.before[chosen],
        np.arange(len(chosen)),
        given.own_class[chosen],
        feature_names=given.stated.columns,
        limits=limits,
        time_limit=given.effort.time_limit,
        progress=report,
    )
    proofs.cost[:], proofs.bound[:] = _proven(found)
    proofs.proven[:] = _settled(given, chosen, found.is_status("optimal", "infeasible"), proofs.bound)


def _settled(given: Evidence, chosen: Longs, ended: Bools, bound: Floats) -> Bools:
    """Return which counterfactuals are settled: their search ended, or proved the bound of a status within_gap."""
    stated = given.points.bound[chosen]
    with np.errstate(invalid="ignore"):
        enough = bound >= stated - TOLERANCE * np.maximum(1.0, stated)
    settled: Bools = ended | ((given.status[chosen] == "within_gap") & enough)
    return settled


def _proven(found: Counterfactuals) -> tuple[Floats, Floats]:
    """Return the costs and lower bounds that a search has proven.

    An unverified counterfactual proves nothing, so its cost is infinite and its bound 0.
    """
    sure = ~found.is_status("unverified")
    cost, bound = np.where(sure, found.cost, np.inf), np.where(sure, found.bound, 0.0)
    return cost, np.where(found.is_status("infeasible"), np.inf, bound)


def _by_linear_programs(
    given: Evidence, chosen: Longs, limits: Limits | None, proofs: Proofs, report: Callable[[int], None]
) -> None:
    engine, time_limit = given.engine, given.effort.time_limit
    model, problem = engine.model, engine.problem
    assert isinstance(model, LinearModel)
    boundary = model.boundary if model.n_outputs == 1 else 0.0
    own = Limits() if limits is None else limits
    box = engine.cells.box_low, engine.cells.box_high
    task = Task(model, *box, given.distances, engine.training, own, problem.lambda0, problem.lambda1)
    search = LinearSearch(task, boundary)
    ends = np.inf if time_limit is None else monotonic() + time_limit
    for k, point in enumerate(chosen.tolist()):
        own_class = int(given.own_class[point])
        target = 1 - own_class if model.n_outputs == 1 else ANY_OTHER_CLASS
        outcome = search.solve(k, given.before[point], own_class, target, problem.margin, ends)
        proofs.cost[k], proofs.bound[k] = outcome.cost, outcome.bound
        proofs.proven[k] = STATUSES[outcome.status] in ("optimal", "infeasible")
        report(k + 1)


def _by_search(given: Evidence, chosen: Longs, proofs: Proofs) -> None:
    """Repeat the search for those counterfactuals in ``chosen`` that are not yet proven.

    The results are written into ``proofs``.
    """
    which = np.flatnonzero(~proofs.proven)
    found = given.solve(chosen[which], limits_for(given.limits, chosen[which]), given.effort.time_limit)
    cost, bound = _proven(found)
    proofs.cost[which] = np.minimum(proofs.cost[which], cost)
    proofs.bound[which] = np.maximum(proofs.bound[which], bound)
    ended = found.is_status("optimal", "infeasible")
    proofs.proven[which] = _settled(given, chosen[which], ended, proofs.bound[which])
    proofs.by_program[which] = False


# --- counterfactuals without a proof --------------------------------------------------------------------------------------

# Feasible, unknown and unverified counterfactuals cross no thresholds. A forger could hide a threshold by giving its
# counterfactuals one of these statuses. Nobody can check that a time limit stopped a search. Such a claim never counts as
# checked.


def _describe_unproven(given: Evidence, chosen: Longs, proofs: Proofs) -> str:
    """Describe the searches that, according to the certificate, ended without a proof.

    Nobody can check whether this is true. The text is empty if there are no such searches.
    """
    is_infeasible = np.zeros(len(given.at), dtype=np.bool_)
    is_infeasible[chosen] = proofs.proven & np.isinf(proofs.cost)
    left = np.flatnonzero(given.left_open & ~is_infeasible)
    if len(left) == 0:
        return ""
    counted = "1 search" if len(left) == 1 else f"{len(left):,} searches"
    words = (
        f" The certificate states that {counted} ended without a proof ({named_rows(given.points.row[left])}), which cannot "
        "be checked. The thresholds that they would cross are not counted"
    )
    unknown = given.status[chosen] == "unknown"
    if len(found := np.flatnonzero(unknown & np.isfinite(proofs.cost))):
        rows = named_rows(given.points.row[chosen[found]])
        words += f". The status unknown is wrong for {rows}: a change costs {proofs.cost[found[0]]:.6g}"
    return words


def _unverified_again(given: Evidence, chosen: Longs) -> tuple[list[str], int]:
    """Repeat the search for the unverified counterfactuals at the positions ``chosen``.

    The search should find a change with the same cost that is unverified again: the black box predicts another class, or a
    rule is broken. Return the problems, and the number of counterfactuals that are unverified again.
    """
    if len(chosen) == 0:
        return [], 0
    found = given.solve_and_check(chosen, limits_for(given.limits, chosen), given.effort.time_limit)
    cost, bound = given.points.cost[chosen], given.points.bound[chosen]
    again = found.is_status("unverified") & is_near(np.where(np.isfinite(found.cost), found.cost, -1.0), cost)
    problems: list[str] = []

    def wrong(which: Bools, words: str) -> None:
        problems.extend(problem_of_rows(given.points.row[chosen[which & ~again]], f"the status is unverified, but {words}"))

    room = NEAR * np.maximum(1.0, cost)
    wrong(is_near(bound, cost) & (found.cost < cost - room), "there is a cheaper change")
    none_below = np.where(found.is_status("infeasible"), np.inf, found.bound) > cost + room
    wrong(none_below, "every allowed change is proven to cost more")
    kept = found.is_proven & ~given.keeps_rules[chosen] & ~none_below
    wrong(kept, "a change with at most this cost obeys the rules that the stated change breaks")
    return problems, int(again.sum())
