"""The regression of a scorecard agrees with a general optimizer, and its penalty with a plain cross-validation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from fcca.scorecard._logistic import STRENGTHS, Fold, LogisticProblem, choose_coefficients, fit_lasso


def random_problem(seed: int, n: int = 120) -> LogisticProblem:
    """Binary columns, shares as labels, weights, and bounds on the signs of some slopes."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 8))
    Z = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    p = expit(Z @ rng.normal(0, 2, d) + rng.normal())
    y = np.where(rng.random(n) < 0.5, p, rng.random(n) < p)
    low = np.where(rng.random(d) < 0.2, 0.0, -np.inf)
    high = np.where((low < 0) & (rng.random(d) < 0.2), 0.0, np.inf)
    return LogisticProblem(Z - Z.mean(axis=0), y, p, rng.integers(1, 4, n).astype(float), low, high)


def objective(problem: LogisticProblem, penalty: float, intercept: float, slopes: np.ndarray) -> float:
    p = expit(intercept + problem.Z @ slopes)
    loss = -(problem.weight * (problem.y * np.log(p) + (1 - problem.y) * np.log1p(-p))).sum()
    return loss + penalty * np.abs(slopes).sum()


def optimum(problem: LogisticProblem, penalty: float) -> tuple[float, np.ndarray]:
    """Minimize with scipy: every slope is a positive minus a negative part, so that the problem is smooth."""
    d = problem.Z.shape[1]

    def value(x):
        intercept, up, down = x[0], x[1 : d + 1], x[d + 1 :]
        log_odds = intercept + problem.Z @ (up - down)
        loss = (problem.weight * (np.logaddexp(0, log_odds) - problem.y * log_odds)).sum()
        slope = problem.Z.T @ (residual := problem.weight * (expit(log_odds) - problem.y))
        gradient = np.concatenate([[residual.sum()], penalty + slope, penalty - slope])
        return loss + penalty * (up.sum() + down.sum()), gradient

    bounds = [(None, None), *((0, high) for high in problem.high), *((0, -low) for low in problem.low)]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxfun": 50_000}
    found = minimize(value, np.zeros(1 + 2 * d), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return float(found[0]), found[1 : d + 1] - found[d + 1 :]


@pytest.mark.parametrize("strength", [0.9, 0.3, 0.05, 0.004])
def test_the_penalized_log_loss_is_minimal(strength):
    for seed in range(20):
        problem = random_problem(seed)
        penalty = strength * problem.strongest
        found, best = fit_lasso(problem, penalty, problem.start), optimum(problem, penalty)
        assert (found.slopes >= problem.low).all()
        assert (found.slopes <= problem.high).all()
        assert objective(problem, penalty, *found) <= objective(problem, penalty, *best) * (1 + 1e-6)
        np.testing.assert_allclose(found.slopes, best[1], rtol=2e-3, atol=2e-3)


def random_folds(problem: LogisticProblem, seed: int) -> list[Fold]:
    fold = np.random.default_rng([seed, 1]).integers(0, 5, len(problem.y))
    parts = [[replace(problem, weight=problem.weight * part) for part in (fold != k, fold == k)] for k in range(5)]
    return [Fold(*part) for part in parts]


def cross_validated(problem: LogisticProblem, folds: list[Fold]) -> tuple[np.ndarray, list[tuple[float, np.ndarray]]]:
    """The held-out loss and the optimum on all rows, for each strength."""
    losses, path = [], []
    for strength in STRENGTHS:
        total = 0.0
        for train, test in folds:
            share = train.weight.sum() / problem.weight.sum()
            fitted = optimum(train, strength * problem.strongest * share)
            total += objective(replace(test, y=test.judged_by), 0.0, *fitted)
        losses.append(total)
        path.append(optimum(problem, strength * problem.strongest))
    return np.array(losses), path


@pytest.mark.parametrize("seed", range(6))
def test_the_penalty_has_the_smallest_held_out_loss(seed):
    problem = random_problem(seed)
    folds = random_folds(problem, seed)
    losses, path = cross_validated(problem, folds)
    found = choose_coefficients(problem, folds, None)
    chosen = int(np.argmin([np.abs(slopes - found.slopes).max() for _, slopes in path]))
    np.testing.assert_allclose(found.slopes, path[chosen][1], rtol=2e-3, atol=2e-3)
    assert losses[chosen] <= losses.min() * (1 + 1e-4)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_limit_keeps_the_largest_slopes_of_the_first_larger_model(seed, most):
    problem = random_problem(seed)
    problem = replace(problem, low=np.full_like(problem.low, -np.inf), high=np.full_like(problem.high, np.inf))
    folds = random_folds(problem, seed)
    path = [optimum(problem, strength * problem.strongest)[1] for strength in STRENGTHS]
    larger = next(slopes for slopes in path if (np.abs(slopes) > 1e-4).sum() > most)
    kept = np.isin(np.arange(len(larger)), np.argsort(-np.abs(larger))[:most])
    found = choose_coefficients(problem, folds, most)
    assert (found.slopes[~kept] == 0).all()
    alone = choose_coefficients(
        problem.columns(kept), [Fold(*(part.columns(kept) for part in fold)) for fold in folds], None
    )
    np.testing.assert_array_equal(found.slopes[kept], alone.slopes)
