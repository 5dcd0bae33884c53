"""The paper's own program brackets the engine's cost, though it lands elsewhere and keeps features off the cuts."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.preprocessing import MinMaxScaler

from exactness.instances import Instance, load
from fcca.counterfactuals import CounterfactualProblem
from oracles import big_m_milp, contract

SOLVER_TOLERANCE = 1e-5  # of HiGHS, through a big M of 1
NEXT_TO_THE_CUT = 2e-5  # in place of ε_j: far enough for the solver to see, too near to keep a training value off a cut


def cost_of_cells(x0, x, cuts, X_train, problem):
    """Point and cost of our contract for the cells that x is in."""
    point, cost = x0.copy(), 0.0
    for j, mine in enumerate(cuts):
        entered = np.searchsorted(mine, x[j])
        (option,) = [o for o in contract.options(j, x0[j], mine, X_train, problem) if o.cell == entered]
        point[j], cost = option.landing, cost + option.cost
    return point, cost


@pytest.mark.parametrize("data_set", ["breast_cancer", "boston", "ionosphere"])
@pytest.mark.parametrize("n_rows", [pytest.param(5, id="quick"), pytest.param(40, id="full", marks=pytest.mark.verify)])
def test_paper_milp_brackets_the_cost(data_set, n_rows):
    """Its optimum without ε_j, right beside the cuts, is never dearer; its cells at our landings are never cheaper."""
    X, y = load(data_set)
    X = np.ascontiguousarray(MinMaxScaler(clip=True).fit_transform(X))
    estimator = GradientBoostingClassifier(n_estimators=100, max_depth=1, random_state=100).fit(X, y)
    problem = CounterfactualProblem(0.1, 1.0, 0.0, margin=big_m_milp.SCORE_EPSILON)
    rows = X[np.random.default_rng(0).choice(len(X), n_rows, replace=False)]
    found = Instance(data_set, estimator, X, rows, problem).solve()
    cuts = contract.cuts_by_feature(estimator)
    gaps = np.minimum(NEXT_TO_THE_CUT, 0.49 * big_m_milp.smallest_gaps(X))
    prior = float(np.diff(np.log(estimator.init_.class_prior_))[0])
    for x0, cost in zip(rows, found.cost, strict=True):
        (target,) = contract.other_classes(estimator, x0)
        optimum, x = big_m_milp.solve(big_m_milp.build(estimator, x0, target, gaps, 0.1, 1.0, prior))
        assert optimum <= cost + SOLVER_TOLERANCE
        point, price = cost_of_cells(x0, x, cuts, X, problem)
        if contract.leads(contract.scores_of(estimator, point[None, :]), target)[0, 0] >= problem.margin:
            assert cost <= price + 1e-9
