"""The mixed-integer program of the package, put to a fitted classifier without the engine."""

import numpy as np

from fcca import read_model
from fcca.cells import Cells
from fcca.constraints import Limits
from fcca.milp import solve_milp


def cells_of(model, X_train):
    """The cells between all cuts of an ensemble, with the training values in them."""
    tests = (model.feature >= 0) & np.isfinite(model.threshold)
    by_feature = [np.unique(model.threshold[tests & (model.feature == j)]) for j in range(model.n_features)]
    return Cells.from_cuts(by_feature).observe(np.ascontiguousarray(X_train))


def solve(estimator, X_train, X, problem, *, points=None, margin=None, target=None, frozen=None, **settings):
    """What ``solve_milp`` says about every row of X; the class answered is the classifier's own."""
    model = read_model(estimator)
    n = len(X)
    own = np.array([np.flatnonzero(model.classes == label)[0] for label in estimator.predict(X)], dtype=np.int32)
    return solve_milp(
        model=model,
        cells=cells_of(model, X_train),
        rows=np.ascontiguousarray(X, dtype=np.float64),
        points=np.arange(n) if points is None else points,
        own_class=own,
        target=np.full(n, -1, dtype=np.int32) if target is None else np.asarray(target, dtype=np.int32),
        margin=np.full(n, problem.margin) if margin is None else np.asarray(margin, dtype=np.float64),
        limits=None if frozen is None else Limits(frozen=frozen),
        lambda0=problem.lambda0,
        lambda1=problem.lambda1,
        lambda2=problem.lambda2,
        **settings,
    )
