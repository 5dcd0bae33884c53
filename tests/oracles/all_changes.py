"""Every combination of cells with what it moves and costs, for questions that go beyond the cheapest one."""

import numpy as np

from oracles import contract


def all_changes(estimator, X_train, x0, problem):
    """Points, which features each moves (0/1) and what it costs."""
    cuts = contract.cuts_by_feature(estimator)
    offered = [contract.options(j, x0[j], mine, X_train, problem) for j, mine in enumerate(cuts)]
    combinations = np.indices([len(mine) for mine in offered]).reshape(len(offered), -1)

    def table(name):
        columns = [np.array([getattr(option, name) for option in mine]) for mine in offered]
        return np.column_stack([column[at] for column, at in zip(columns, combinations, strict=True)])

    return table("landing"), ~table("stays"), table("cost").sum(axis=1)


def cheapest_beside(moved, costs, reached, earlier):
    """Least cost of the changes that reach the target and contain none of the earlier sets of features."""
    allowed = reached.copy()
    for features in earlier:
        allowed &= ~moved[:, sorted(features)].all(axis=1)
    return float(costs[allowed].min(initial=np.inf))
