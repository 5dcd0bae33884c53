"""The contract as a mixed-integer program on HiGHS: one binary per cell for additive models, one per moved feature for
linear ones.

HiGHS accepts rows that are violated by 1e-6 and stops at a gap of 1e-6, both absolute. Rows and objective are therefore
scaled up; and because that alone proves nothing, each answer is rounded and checked in float64, its cost is recomputed from
the cells chosen, and a choice that violates a row is forbidden and the program solved again.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack

from oracles import contract

OBJECTIVE_SCALE = 1e4
ROW_SCALE = 1e3


class SolverError(RuntimeError):
    """HiGHS ended without an answer."""


def cheapest_choice(costs, gains, needed):
    """Choose one option per feature at the least cost so that the gains reach what is needed.

    ``costs[j]`` has one entry per option of feature j, ``gains[j]`` one row per option and one column per row of
    ``needed``. Returns cost and chosen options, or infinity and None.
    """
    all_costs, all_gains = np.concatenate(costs), np.concatenate(gains)
    owner = np.repeat(np.arange(len(costs)), [len(c) for c in costs])
    first = np.searchsorted(owner, np.arange(len(costs)))
    one_each = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))))
    unit = ROW_SCALE / max(np.abs(all_gains).max(), 1e-300)
    constraints = [
        LinearConstraint(one_each, 1, 1),
        LinearConstraint(unit * all_gains.T, unit * np.asarray(needed), np.inf),
    ]
    for _ in range(100):
        answer = milp(
            OBJECTIVE_SCALE * all_costs,
            integrality=np.ones(len(owner)),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"mip_rel_gap": 0},
        )
        if answer.status == 2:
            return np.inf, None
        if answer.status != 0:
            raise SolverError(answer.message)
        chosen = np.flatnonzero(answer.x > 0.5)
        if np.all(all_gains[chosen].sum(axis=0) >= needed):
            return float(all_costs[chosen].sum()), chosen - first
        forbidden = np.zeros(len(owner))
        forbidden[chosen] = 1
        constraints.append(LinearConstraint(forbidden, -np.inf, len(chosen) - 1))
    raise SolverError("100 choices in a row violate the score rows by less than the tolerance")


def additive_cost(estimator, X_train, x0, problem):
    """Least cost to another class for an additive model, infinity where there is none.

    The gain of every cell is asked of the real model: its decision function with that one feature moved.
    """
    offered = [
        contract.options(j, x0[j], cuts, X_train, problem) for j, cuts in enumerate(contract.cuts_by_feature(estimator))
    ]
    flat = [option for mine in offered for option in mine]
    moved = np.repeat(x0[None, :], len(flat), axis=0)
    moved[np.arange(len(flat)), [option.feature for option in flat]] = [option.landing for option in flat]
    scores = contract.scores_of(estimator, np.vstack([x0[None, :], moved]))
    ends = np.cumsum([len(mine) for mine in offered])[:-1]
    costs = np.split(np.array([option.cost for option in flat]), ends)
    least = np.inf
    for target in contract.other_classes(estimator, x0):
        leads = contract.leads(scores, target)
        cost, _ = cheapest_choice(costs, np.split(leads[1:] - leads[0], ends), problem.margin - leads[0])
        least = min(least, cost)
    return least


def fill(gain, room, needed, lambda1):
    """Distance moved in all by the given features when the steepest is moved first: the cheapest way for λ2 = 0."""
    distance = 0.0
    for j in np.argsort(-gain):
        step = min(room[j], needed / gain[j])
        distance += step
        needed -= gain[j] * step
        if step < room[j]:
            return lambda1 * distance
    return lambda1 * distance if needed <= 1e-12 else np.inf


def linear_cost(gain, room, needed, problem):
    """Least cost for a linear model with λ2 = 0: λ0 per moved feature, λ1 per distance, gain·distance ≥ needed."""
    if problem.lambda2 != 0:
        raise ValueError("λ2 > 0 is not linear: use support_enumeration.")
    m = len(gain)
    if m == 0:
        return np.inf if needed > 0 else 0.0
    unit = ROW_SCALE / (gain * room).max()
    share = np.eye(m)  # distances are in shares of the room, so that all columns have one scale
    only_if_moved = LinearConstraint(hstack([csr_array(share), csr_array(-share)]), -np.inf, 0)
    reach = LinearConstraint(hstack([csr_array((unit * gain * room)[None, :]), csr_array((1, m))]), unit * needed, np.inf)
    answer = milp(
        OBJECTIVE_SCALE * np.concatenate([problem.lambda1 * room, np.full(m, problem.lambda0)]),
        integrality=np.repeat([0, 1], m),
        bounds=Bounds(0, 1),
        constraints=[only_if_moved, reach],
        options={"mip_rel_gap": 0},
    )
    if answer.status == 2:
        return np.inf
    if answer.status != 0:
        raise SolverError(answer.message)
    moved = answer.x[m:] > 0.5 if problem.lambda0 > 0 else np.ones(m, dtype=bool)
    return problem.lambda0 * moved.sum() * (problem.lambda0 > 0) + fill(gain[moved], room[moved], needed, problem.lambda1)
