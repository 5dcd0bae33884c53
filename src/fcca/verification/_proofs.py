"""Optima proven anew, where there is a way to do so by another way than the search that found them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np

from fcca._progress import progress_bar
from fcca.constraints import Limits, limits_for
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals
from fcca.counterfactuals._linear_program import Task
from fcca.counterfactuals._linear_search import LinearSearch
from fcca.models import LinearModel
from fcca.verification._material import Bools, Floats, Longs, Material, NotChecked, named_rows
from fcca.verification._open_ends import open_contradictions, unverified_again, words_on_open

TOLERANCE = 1e-8  # both proofs are exact to 1e-9, relative where costs are large
ANY_OTHER_CLASS = -1
PROGRAM, SEARCH = "by a mixed-integer program on HiGHS", "by fcca's own search"


@dataclass
class Proofs:
    """What was proven anew of some points; costs and bounds are infinite where nothing flips the black box.

    Attributes
    ----------
    cost, bound : ndarray
    proven : ndarray of bool
        Whether the cost is proven to be the least, or that there is none.
    by_program : ndarray of bool
        Whether a program proved it that shares nothing with the search.
    """

    cost: Floats
    bound: Floats
    proven: Bools
    by_program: Bools


def proven_anew(
    given: Material, sample: int | None, seed: int | None, time_limit: float | None, *, shown: bool
) -> tuple[list[str], str]:
    """Some of the counterfactuals are proven anew; also says how many, and how.

    Parameters
    ----------
    given : Material
    sample : int or None
        How many of them, drawn by the seed; None for all.
    seed : int or None
        None draws one.
    time_limit : float or None
        Seconds for the programs, and as many for the searches of those that they leave open.
    shown : bool
        Whether to show a bar where nobody has opened a display.
    """
    chosen, drawn = _chosen(given, sample, seed)
    if len(chosen) == 0:
        raise NotChecked("No counterfactual was to be proven anew.")
    searched, unverified = chosen[~given.unverified[chosen]], chosen[given.unverified[chosen]]
    proofs = _proofs(given, searched, time_limit, shown)
    problems, n_again = unverified_again(given, unverified, time_limit)
    problems += _contradictions(given, searched, proofs) + open_contradictions(given, searched, proofs)
    n = len(chosen)
    by_program = int((proofs.by_program & proofs.proven).sum())
    by_search = int(proofs.proven.sum()) - by_program
    counted = ((by_program, PROGRAM), (by_search, SEARCH), (n_again, "unverified as before"))
    parts = [f"{count:,} {way}" for count, way in counted if count]
    left = n - by_program - by_search - n_again
    parts += [f"{left:,} not within the time limit, and nothing cheaper was found"] if left else []
    words = f"{n:,} of {len(given.at):,} counterfactuals{drawn} proven anew: {', '.join(parts)}"
    doubts = words_on_open(given, searched, proofs)
    if (left or doubts) and not problems:
        raise NotChecked(f"{words}.{doubts}")
    return problems, words


def _chosen(given: Material, sample: int | None, seed: int | None) -> tuple[Longs, str]:
    """Which counterfactuals are proven anew, of any status; and in words how they were drawn.

    Unverified ones that break a rule are always among them: no other check tells them from honest ones.
    """
    n = len(given.at)
    if sample is None or sample >= n:
        return np.arange(n), ""
    seed = secrets.randbelow(2**32) if seed is None else seed
    chosen = np.random.default_rng(seed).choice(n, sample, replace=False)
    return np.union1d(chosen, np.flatnonzero(given.unverified & ~given.keeps_rules)), f", drawn with seed {seed},"


def _contradictions(given: Material, chosen: Longs, proofs: Proofs) -> list[str]:
    cost, bound, rows = given.points.cost[chosen], given.points.bound[chosen], given.points.row[chosen]
    status = given.status[chosen]
    problems = []

    def found(wrong: Bools, words: Callable[[int], str]) -> None:
        at = np.flatnonzero(wrong)
        if len(at):
            problems.append(f"{named_rows(rows[at])}: {words(int(at[0]))}")

    with np.errstate(invalid="ignore"):
        room = TOLERANCE * np.maximum(1.0, np.where(np.isfinite(cost), cost, 1.0))
        cheaper = (status == "optimal") & (proofs.cost < cost - room)
        found(cheaper, lambda k: f"not optimal, there is a change at {proofs.cost[k]:.12g}, cheaper than {cost[k]:.12g}")
        dearer = np.isin(status, ("optimal", "feasible")) & (proofs.bound > cost + room)
        found(
            dearer,
            lambda k: f"a cost of {cost[k]:.12g}, but it is proven that nothing is below {proofs.bound[k]:.12g}",
        )
        flips = (status == "infeasible") & np.isfinite(proofs.cost)
        found(flips, lambda k: f"called infeasible, but a change at {proofs.cost[k]:.12g} flips the black box")
        beyond = (status == "feasible") & (proofs.cost < bound - room)
        found(beyond, lambda k: f"a bound of {bound[k]:.12g}, but there is a change at {proofs.cost[k]:.12g}")
    return problems


# --- ways to prove --------------------------------------------------------------------------------------------------------


def _proofs(given: Material, chosen: Longs, time_limit: float | None, shown: bool) -> Proofs:
    n = len(chosen)
    proofs = Proofs(np.full(n, np.inf), np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_))
    limits = limits_for(given.limits, chosen)
    with progress_bar("Proving optima anew", n, shown) as progress:
        told = (lambda done: None) if progress is None else progress
        if isinstance(given.engine.model, LinearModel):
            if given.engine.problem.lambda2 == 0:
                _by_linear_programs(given, chosen, limits, time_limit, proofs, told)
        else:
            _by_tree_programs(given, chosen, limits, time_limit, proofs, told)
    if not proofs.proven.all():
        _by_search(given, chosen, time_limit, proofs)
    return proofs


def _by_tree_programs(
    given: Material,
    chosen: Longs,
    limits: Limits | None,
    time_limit: float | None,
    proofs: Proofs,
    told: Callable[[int], None],
) -> None:
    """Trees, with all rules that there are."""
    engine = CounterfactualEngine(given.estimator, given.engine.problem, method="milp", like=given.rows.X)
    engine.observe(given.table)
    found = engine.solve(
        given.before[chosen],
        np.arange(len(chosen)),
        given.own_class[chosen],
        feature_names=given.stated.columns,
        limits=limits,
        time_limit=time_limit,
        progress=told,
    )
    proofs.cost[:], proofs.bound[:] = _shown(found)
    proofs.proven[:] = found.is_status("optimal", "infeasible")
    proofs.by_program[:] = True


def _shown(found: Counterfactuals) -> tuple[Floats, Floats]:
    """Costs and bounds that answers show; one that does not flip the black box itself shows none."""
    sure = ~found.is_status("unverified")
    cost, bound = np.where(sure, found.cost, np.inf), np.where(sure, found.bound, 0.0)
    return cost, np.where(found.is_status("infeasible"), np.inf, bound)


def _by_linear_programs(
    given: Material,
    chosen: Longs,
    limits: Limits | None,
    time_limit: float | None,
    proofs: Proofs,
    told: Callable[[int], None],
) -> None:
    engine = given.engine
    model, problem = engine.model, engine.problem
    assert isinstance(model, LinearModel)
    boundary = model.boundary if model.n_outputs == 1 else 0.0
    own = Limits() if limits is None else limits
    box = engine.cells.box_low, engine.cells.box_high
    search = LinearSearch(Task(model, *box, engine.training, own, problem.lambda0, problem.lambda1), boundary)
    ends = np.inf if time_limit is None else monotonic() + time_limit
    for k, point in enumerate(chosen.tolist()):
        own_class = int(given.own_class[point])
        target = 1 - own_class if model.n_outputs == 1 else ANY_OTHER_CLASS
        outcome = search.solve(k, given.before[point], own_class, target, problem.margin, ends)
        proofs.cost[k], proofs.bound[k] = outcome.cost, outcome.bound
        proofs.proven[k] = STATUSES[outcome.status] in ("optimal", "infeasible")
        proofs.by_program[k] = True
        told(k + 1)


def _by_search(given: Material, chosen: Longs, time_limit: float | None, proofs: Proofs) -> None:
    """What no program has proven, by the search that is meant for the model, anew."""
    which = np.flatnonzero(~proofs.proven)
    found = given.engine.solve(
        given.table,
        given.at[chosen[which]],
        given.own_class[chosen[which]],
        feature_names=given.stated.columns,
        limits=limits_for(given.limits, chosen[which]),
        n_jobs=given.n_jobs,
        time_limit=time_limit,
    )
    cost, bound = _shown(found)
    proofs.cost[which] = np.minimum(proofs.cost[which], cost)
    proofs.bound[which] = np.maximum(proofs.bound[which], bound)
    proofs.proven[which] = found.is_status("optimal", "infeasible")
    proofs.by_program[which] = False
