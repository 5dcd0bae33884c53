"""Linear models: every set of features that could move, each solved as a convex problem; and what an optimum must satisfy.

Moving feature j by d_j (in its unit) gains gain_j·d_j of score, 0 ≤ d_j ≤ room_j, and costs λ0 + λ1·d_j + λ2·d_j².
"""

import itertools

import numpy as np

from fcca import read_model
from oracles import contract, distances

MOST_FEATURES = 12


def movable(estimator, X_train, x0, problem):
    """Features that can move towards the other class, their gain and room, and the score needed.

    The slopes are the reader's; the score at x0 is the real model's.
    """
    (target,) = contract.other_classes(estimator, x0)
    coef = read_model(estimator).coef[0]
    slope = coef if target == 1 else -coef
    unit = units(X_train, problem)
    low, high = np.minimum(X_train.min(axis=0), x0), np.maximum(X_train.max(axis=0), x0)
    room = np.where(slope > 0, high - x0, x0 - low) / unit
    features = np.flatnonzero((slope != 0) & (room > 0))
    needed = problem.margin - contract.leads(contract.scores_of(estimator, x0[None, :]), target)[0, 0]
    return features, (np.abs(slope) * unit)[features], room[features], needed


def ranges(X_train):
    """Ranges of the features; a constant feature is moved in its own units."""
    width = X_train.max(axis=0) - X_train.min(axis=0)
    return np.where(width > 0, width, 1.0)


def units(X_train, problem):
    """What a distance of 1 is, by the scale of the problem."""
    if isinstance(problem.scale, str):
        return np.array([distances.unit(column, problem.scale) for column in X_train.T])
    return np.array([problem.scale.get(f"x{j}", width) for j, width in enumerate(ranges(X_train))])


def distances_at(multiplier, gain, room, problem):
    """Where every feature stops when a unit of score is worth the multiplier."""
    return np.clip((multiplier * gain - problem.lambda1) / (2 * problem.lambda2), 0, room)


def convex_costs(supports, gain, room, needed, problem):
    """Cost of each support (one per line, 0/1) without λ0; infinity where it cannot reach the score."""
    if problem.lambda2 == 0:
        # The steepest features first, each as far as it goes or as is needed.
        order = np.argsort(-gain)
        reach = supports[:, order] * (gain * room)[order]
        before = np.cumsum(reach, axis=1) - reach
        used = np.clip(needed - before, 0, reach) / gain[order]
        costs = problem.lambda1 * used.sum(axis=1)
    else:
        low = np.zeros(len(supports))
        high = np.full(len(supports), ((problem.lambda1 + 2 * problem.lambda2 * room) / gain).max())
        for _ in range(200):
            middle = (low + high) / 2
            moved = supports * distances_at(middle[:, None], gain, room, problem)
            enough = moved @ gain >= needed
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        moved = supports * distances_at(high[:, None], gain, room, problem)
        costs = (problem.lambda1 * moved + problem.lambda2 * moved**2).sum(axis=1)
    return np.where(supports @ (gain * room) >= needed, costs, np.inf)


def least_cost(gain, room, needed, problem):
    """Least cost over all supports, infinity where none reaches the score."""
    if len(gain) > MOST_FEATURES:
        raise ValueError(f"{len(gain)} features have too many supports to enumerate.")
    if len(gain) == 0:
        return np.inf if needed > 0 else 0.0
    supports = np.array(list(itertools.product([0.0, 1.0], repeat=len(gain))))
    costs = convex_costs(supports, gain, room, needed, problem) + problem.lambda0 * supports.sum(axis=1)
    return float(costs.min())


def broken_conditions(distance, rounding, gain, room, needed, problem, tolerance=1e-6):
    """Which optimality conditions of the moved features' convex problem do not hold, in words.

    One multiplier μ for all: features stopped inside the box have slope of cost per gain μ, those at the box would go on at
    μ, and no score is bought that is not needed. ``rounding`` is how exactly floating point can state each distance.
    """
    moved = distance > 0
    distance, rounding, gain, room = distance[moved], rounding[moved], gain[moved], room[moved]
    score = float(gain @ distance)
    slack = tolerance * max(1.0, abs(needed), float(gain @ room))
    broken = []
    if score < needed - slack:
        broken.append(f"the score {score} does not reach {needed}")
    if problem.lambda1 == problem.lambda2 == 0:
        return broken  # distance is free: any point that reaches the score is optimal for its support
    if score > needed + slack:
        broken.append(f"the score {score} exceeds {needed}: a shorter move would do")
    at_box = distance >= room - rounding
    multiplier = (problem.lambda1 + 2 * problem.lambda2 * distance) / gain
    error = tolerance * multiplier + 2 * problem.lambda2 * rounding / gain
    least, most = multiplier - error, multiplier + error
    if not at_box.all():
        shared = most[~at_box].min()
        if least[~at_box].max() > shared:
            broken.append(f"features inside the box have different multipliers: {multiplier[~at_box]}")
        if at_box.any() and least[at_box].max() > shared:
            broken.append("a feature at the box buys score at a higher price than one inside")
    return broken
