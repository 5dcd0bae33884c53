"""Rows in chunks give what rows at once give, to the last digit: values, labels, weights and parameters of all sorts."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.constraints import Bounds, Cost, Immutable, Increasing, Integer, MaxChanges, Rule
from fcca.discretizers import LocalChunks, Rows
from fcca.selection import OptimalSelection
from fcca.streaming import distilled
from fcca.utils import shown_on
from streaming.same import assert_same, at_once, cut_up, frame, in_chunks, numbers, ways_to_cut


def _stumps(X, y):
    return GradientBoostingClassifier(max_depth=1, n_estimators=15, random_state=0).fit(X, y)


def _check(X, y, model=None, weight=None, **parameters):
    model = _stumps(X, y) if model is None else model
    whole = at_once(X, y, model, weight, **parameters)
    for _, chunks in ways_to_cut(X, y, weight):
        assert_same(in_chunks(chunks, model, **parameters), whole, X)
    return whole


# --- values -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_other_types_of_numbers(dtype):
    X, y = numbers(100)
    X = X > 0 if dtype is bool else X.astype(dtype)
    _check(X, y)


@pytest.mark.parametrize("linear", [False, True])
def test_values_on_cuts_and_beside_them(linear):
    X, y = numbers(100)
    model = LogisticRegression().fit(X, y) if linear else _stumps(X, y)
    found = at_once(X, y, model).discretizer_.all_thresholds_
    for at, (j, cut) in enumerate(zip(found.feature, found.cut, strict=True)):
        X[3 * at : 3 * at + 3, j] = [np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)]
        if 3 * at > 90:
            break
    _check(X, y, model)


@pytest.mark.parametrize("linear", [False, True])
def test_there_is_one_zero(linear):
    rng = np.random.default_rng(0)
    X = rng.choice([-0.0, 0.0, 1.0, -1.0, 2.0], (120, 3))
    y = (X[:, 0] + X[:, 1] * 0.7 + rng.normal(0, 0.5, 120) > 0).astype(int)
    whole = _check(X, y, LogisticRegression().fit(X, y) if linear else _stumps(X, y))
    assert "-0.0" not in whole.discretizer_.all_thresholds_.to_json()


def test_constant_columns_and_columns_that_are_constant_in_a_chunk():
    X, y = numbers(90)
    X[:, 3] = 4.5
    X[:45, 2] = 0.0
    whole = _check(X, y)
    assert whole.discretizer_.constant_features_ == ["x3"]


# --- labels -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [("a", "much longer"), (False, True), (-1, 1), (2.0, 5.0), ("b", "a")],
    ids=["lengths", "booleans", "signs", "whole floats", "texts"],
)
@pytest.mark.parametrize("fit_to", ["mixture", "probability", "labels", "target"])
def test_labels_of_all_types(names, fit_to):
    X, y = numbers(90)
    labels = np.array(names)[y]
    model = _stumps(X, labels)
    whole = at_once(X, labels, model, fit_to=fit_to)
    chunks = [(X[y == k], np.array([names[k]] * int((y == k).sum()))) for k in (0, 1)]  # each text as long as it is
    assert_same(in_chunks(chunks, model, fit_to=fit_to), whole, X)
    as_column = [(X[:40], pd.Series(labels[:40])), (X[40:], pd.Series(labels[40:], index=range(7, 57)))]
    streamed = in_chunks(as_column, model, fit_to=fit_to)
    assert streamed.classes_.tolist() == whole.classes_.tolist()
    assert streamed.discretizer_.all_thresholds_ == whole.discretizer_.all_thresholds_


def test_mixtures_of_labels_and_probabilities():
    X, y = numbers(90)
    weight = np.full(90, 40.0)  # with little weight, the mixture consists of probabilities only
    model = _stumps(X, y)
    whole = at_once(X, y, model, weight, fit_to="mixture")
    assert whole.tree_.objective_ != at_once(X, y, model, weight, fit_to="probability").tree_.objective_
    chunks = [(X[:40], y[:40], weight[:40]), (X[40:], y[40:], weight[40:])]
    assert_same(in_chunks(chunks, model, fit_to="mixture"), whole, X)


# --- weights ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Q", [0.0, 0.6])
def test_whole_weights_and_weights_of_0(Q):
    X, y = numbers(100)
    weight = np.random.default_rng(1).integers(0, 4, 100)
    weight[:20] = 0  # a whole chunk of no weight
    model = _stumps(X, y)
    whole = at_once(X, y, model, weight, Q=Q)
    ways = [chunks for _, chunks in ways_to_cut(X, y, weight)]
    for chunks in (*ways, cut_up(X, y, weight, [20]), cut_up(X, y, weight.astype(float).tolist(), [20, 60])):
        assert_same(in_chunks(chunks, model, Q=Q), whole, X)


def test_weights_of_1_are_no_weights():
    X, y = numbers(90)
    model = _stumps(X, y)
    whole = at_once(X, y, model)
    mixed = [(X[:30], y[:30]), (X[30:60], y[30:60], np.ones(30)), (X[60:], y[60:], 1.0)]
    assert_same(in_chunks(mixed, model), whole, X)


def _assert_nearly_same(streamed, whole):
    one, other = (found.discretizer_.all_thresholds_ for found in (streamed, whole))
    assert one.names() == other.names()
    assert one.count == pytest.approx(other.count, rel=1e-12)
    assert streamed.structure_.feature.tolist() == whole.structure_.feature.tolist()
    for found in ("objective_", "lower_bound_", "regularization_"):
        assert getattr(streamed.tree_, found) == pytest.approx(getattr(whole.tree_, found), rel=1e-12)
    assert streamed.fidelity_ == pytest.approx(whole.fidelity_, rel=1e-12)


def test_weights_that_are_no_whole_numbers_differ_in_the_last_digits_at_most():
    X, y = numbers(100)
    weight = np.random.default_rng(1).random(100)
    model = _stumps(X, y)
    whole = at_once(X, y, model, weight)
    for _, chunks in ways_to_cut(X, y, weight):
        _assert_nearly_same(in_chunks(chunks, model), whole)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.3, 1: 1.7}], ids=["balanced", "given"])
def test_weights_of_classes_that_are_no_whole_numbers_differ_in_the_last_digits_at_most(class_weight):
    X, y = numbers(100)
    model, tree = _stumps(X, y), OptimalTreeClassifier(max_depth=2, class_weight=class_weight)
    whole = at_once(X, y, model, tree=tree)
    for _, chunks in ways_to_cut(X, y):
        _assert_nearly_same(in_chunks(chunks, model, tree=tree), whole)


def test_whole_weights_of_classes_are_exact():
    X, y = numbers(100)
    _check(X, y, tree=OptimalTreeClassifier(max_depth=3, class_weight={0: 1, 1: 3}))


# --- parameters ---------------------------------------------------------------------------------------------------------

PARAMETERS = {
    "granularity": {"Q": 0.7},
    "a number of thresholds": {"n_thresholds": 3},
    "a number against the target": {"n_thresholds": 3, "fit_to": "target"},
    "a selection against the target": {"selection": OptimalSelection(3, fit_to="target")},
    "the fewest": {"selection": OptimalSelection(max_inconsistency=0.2, forbid=["column 1"])},
    "kept ones": {"selection": OptimalSelection(3, keep=["column 2"], per_feature=2), "only": "keep"},
    "limits of n_thresholds": {"n_thresholds": 2, "selection": OptimalSelection(forbid=["column 2"], max_nodes=50)},
    "selection on some": {"Q": 0.4, "n_thresholds": 2},
    "answers": {"fit_to": "target"},
    "a band": {"p0": 0.6, "p1": 0.85},
    "no cost of a feature": {"lambda0": 0.0},
    "squares": {"lambda0": 0.3, "lambda1": 0.2, "lambda2": 0.5},
    "a margin": {"margin": 0.2},
    "merged": {"merge_tolerance": 0.1},
    "as they are": {"round_thresholds": False},
    "two threads": {"n_jobs": 2},
    "time enough": {"time_limit_per_row": 600.0, "time_limit": 6000.0},
    "fixed": {"constraints": [Immutable("column 1")]},
    "directions": {"constraints": [Increasing("column 0"), Bounds("column 1", -1, 2)]},
    "grids": {"constraints": [Integer("column 0"), Cost("column 1", 2.0)]},
    "few changes": {"constraints": [MaxChanges(1)]},
    "a deeper tree": {"tree": OptimalTreeClassifier(max_depth=3, regularization=0.01)},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    X, y = numbers(90)
    X = frame(X)
    model = _stumps(X, y)
    parameters = dict(PARAMETERS[name])
    if parameters.pop("only", None) == "keep":
        kept = at_once(X, y, model).discretizer_.thresholds_.names()[-1:]
        parameters["selection"] = OptimalSelection(3, keep=kept, per_feature=2)
    whole = at_once(X, y, model, **parameters)
    assert_same(in_chunks(cut_up(X, y, None, [20, 21, 60]), model, **parameters), whole, X)


@pytest.mark.parametrize("name", ["fixed", "directions", "few changes", "merged", "as they are", "a band", "squares"])
def test_parameters_of_linear_models(name):
    X, y = numbers(50)
    X = frame(X)
    _check(X, y, LogisticRegression().fit(X, y), **PARAMETERS[name])


def test_sums_under_linear_models():
    X, y = numbers(90)
    X = frame(X)
    _check(X, y, LogisticRegression().fit(X, y), constraints=[Rule("`column 0` <= `column 1` + 20")])


class _Display:
    """Notes what it is asked to show."""

    def __init__(self):
        self.done = {}

    @contextmanager
    def job(self, label, total):
        def update(done, total=None):
            self.done[label] = done

        yield update


def test_progress_is_shown_pass_by_pass():
    X, y = numbers(90)
    model, display = LogisticRegression().fit(X, y), _Display()
    with shown_on(display):
        shown = in_chunks(cut_up(X, y, None, [30, 60]), model, verbose=1)
    assert display.done == dict.fromkeys(("Ranges", "Counterfactuals", "Values", "Rows"), 90)
    assert_same(shown, at_once(X, y, model), X)


# --- rows held out --------------------------------------------------------------------------------------------------------


def test_nothing_is_learned_from_rows_held_out():
    X, y = numbers(120)
    held_out = np.random.default_rng(0).random(120) < 0.3
    X[held_out, 0] *= 50  # would widen the range
    y = np.where(held_out & (X[:, 1] > 2), 7, y)  # and bring a label of their own
    held_out[100:] = True  # a chunk of nothing else
    model = _stumps(X[~held_out], y[~held_out])
    whole = at_once(X[~held_out], y[~held_out], model)
    chunks = [Rows(X[part], y[part], None, held_out[part]) for part in (slice(50), slice(50, 100), slice(100, None))]
    classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(model)), OptimalTreeClassifier(max_depth=2))
    for order in (chunks, chunks[::-1]):
        found = distilled(LocalChunks(order, None), classifier)
        assert_same(found.classifier, whole, X[~held_out])
        assert found.training.n_rows.sum() == (~held_out).sum()
        counts = {label: int(found.held_out.n_rows[found.held_out.y == label].sum()) for label in (0, 1, 7)}
        assert counts == {label: int((y[held_out] == label).sum()) for label in (0, 1, 7)}
        right = found.classifier.tree_.predict(found.held_out.B) == found.held_out.y
        assert found.held_out.weight[right].sum() == (whole.predict(X[held_out]) == y[held_out]).sum()
