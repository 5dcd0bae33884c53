"""All combinations of cells, each built as a point and put to the real model."""

import numpy as np

from oracles import contract

MOST_COMBINATIONS = 200_000


def least_cost(estimator, X_train, x0, problem, *, target=None, margin=None, frozen=None):
    """Least cost at which the real model answers another class by the margin, infinity where no combination does.

    ``target`` is a position in ``classes_`` where one class is asked for, ``frozen`` says which features may not move.
    """
    margin = problem.margin if margin is None else margin
    cuts = contract.cuts_by_feature(estimator)
    offered = [contract.options(j, x0[j], mine, X_train, problem) for j, mine in enumerate(cuts)]
    if frozen is not None:
        offered = [[mine[0]] if still else mine for mine, still in zip(offered, frozen, strict=True)]
    sizes = [len(mine) for mine in offered]
    if np.prod(sizes) > MOST_COMBINATIONS:
        raise ValueError(f"{np.prod(sizes)} combinations of cells are too many to enumerate.")
    combinations = np.indices(sizes).reshape(len(sizes), -1)  # one line per feature
    landings = [np.array([option.landing for option in mine]) for mine in offered]
    prices = [np.array([option.cost for option in mine]) for mine in offered]
    points = np.column_stack([landing[at] for landing, at in zip(landings, combinations, strict=True)])
    costs = np.sum([price[at] for price, at in zip(prices, combinations, strict=True)], axis=0)
    scores, answers = contract.scores_of(estimator, points), estimator.predict(points)
    least = np.inf
    for target_class in contract.other_classes(estimator, x0) if target is None else [target]:
        # A lead that misses the margin by rounding reaches it.
        reached = (contract.leads(scores, target_class) >= margin - 1e-12).all(axis=1)
        reached &= answers == estimator.classes_[target_class]
        least = min(least, costs[reached].min(initial=np.inf))
    return float(least)
