"""What every answer must satisfy, whatever it cost to find."""

import numpy as np

from oracles import contract


def agree(ours, theirs, tolerance=1e-9):
    """Equal costs, or both without an answer; the promise is 1e-9, relative where costs are large."""
    return ours == theirs or abs(ours - theirs) <= tolerance * max(1.0, abs(theirs))


def assert_answers_hold(instance, found):
    """Flipped by the real model, unmoved features untouched, landings and costs as the contract says."""
    assert set(found.status) <= {"optimal", "infeasible"}, (instance.name, found.counts())
    answered = found.is_status("optimal")
    assert np.array_equal(found.bound[answered], found.cost[answered]), instance.name
    assert np.all(np.isinf(found.cost[~answered])), instance.name
    if not answered.any():
        return
    changed = found.apply(instance.X)
    before, after = instance.estimator.predict(instance.X), instance.estimator.predict(changed)
    assert np.all(after[answered] != before[answered]), instance.name
    assert np.array_equal(after[answered], found.target[answered]), instance.name
    moved = np.zeros(changed.shape, dtype=bool)
    moved[found.moves.point, found.moves.feature] = True
    assert np.array_equal(changed[~moved].view(np.int64), instance.X[~moved].view(np.int64)), instance.name
    assert np.all(changed[moved] != instance.X[moved]), instance.name
    assert np.all(answered[found.moves.point]), instance.name


def assert_lands_as_promised(instance, found):
    """Every move of a model with cuts stands where the contract puts it, next to the cut it names, and costs add up."""
    cuts = contract.cuts_by_feature(instance.estimator)
    cost = np.zeros(len(found))
    for point, j, origin, landing, cut in zip(*found.moves, strict=True):
        own, entered = np.searchsorted(cuts[j], [origin, landing])
        edges = np.concatenate([[-np.inf], cuts[j], [np.inf]])
        expected = contract.landing_in(edges[entered], edges[entered + 1], origin, instance.X_train[:, j])
        seen = np.isin(landing, instance.X_train[:, j])
        assert own != entered, instance.name
        assert landing == expected if seen else np.isclose(landing, expected, rtol=1e-15, atol=0), instance.name
        assert cut == (edges[entered] if entered > own else edges[entered + 1]), instance.name
        unit = contract.ranges(instance.X_train)[j]
        cost[point] += contract.price(abs(landing - origin) / unit, instance.problem)
    answered = found.is_status("optimal")
    assert np.allclose(cost[answered], found.cost[answered], rtol=1e-12, atol=1e-300), instance.name
