"""observe and partial_fit: the thresholds of fit, one chunk after the other."""

import pickle
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fcca import FCCADiscretizer
from fcca.counterfactuals import CounterfactualEngine
from fcca.discretizers import ThresholdSearch
from fcca.exceptions import (
    ConstantFeatureWarning,
    InvalidInputError,
    NoCounterfactualError,
    UnfinishedSearchWarning,
    UnverifiedCounterfactualWarning,
)
from fcca.selection import OptimalSelection
from mixed_tables import loans
from streaming.same import cut_up, frame, in_chunks, numbers, ways_to_cut

OF_CHUNKS = {"_partial_fit"}


def _fitted(model, chunks, **parameters):
    discretizer = FCCADiscretizer(FrozenEstimator(model), **parameters)
    for chunk in chunks:
        discretizer.observe(*chunk)
    for chunk in chunks:
        discretizer.partial_fit(*chunk)
    return discretizer


def _table(linear=False):
    X, y = numbers(90)
    model = LogisticRegression() if linear else GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0)
    return X, y, model.fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0),
        RandomForestClassifier(5, max_depth=3, random_state=0),
    ],
    ids=["stumps", "forest"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_that_were_observed_give_the_thresholds_of_fit(model, weighted):
    X, y = numbers(90)
    model.fit(X, y)
    weight = np.random.default_rng(0).integers(0, 3, 90) if weighted else None
    whole = FCCADiscretizer(FrozenEstimator(model), Q=0.3).fit(X, y, sample_weight=weight)
    for _, chunks in ways_to_cut(X, y, weight):
        found = _fitted(model, chunks, Q=0.3)
        assert found.all_thresholds_ == whole.all_thresholds_
        assert found.thresholds_ == whole.thresholds_
        assert found.statuses_ == whole.statuses_
        assert found.constant_features_ == whole.constant_features_
        assert (found.transform(X) == whole.transform(X)).all()


def test_linear_thresholds_are_those_of_fit_before_rounding():
    X, y, model = _table(linear=True)
    whole = FCCADiscretizer(FrozenEstimator(model), round_thresholds=False).fit(X, y)
    for _, chunks in ways_to_cut(X, y):
        found = _fitted(model, chunks)
        assert found.all_thresholds_.names() == whole.all_thresholds_.names()
        assert np.array_equal(found.all_thresholds_.count, whole.all_thresholds_.count)


def test_without_observing_each_chunk_is_searched_by_the_rows_so_far():
    X, y, model = _table()
    found = FCCADiscretizer(FrozenEstimator(model))
    found.partial_fit(X[:40], y[:40])
    assert found.all_thresholds_ == FCCADiscretizer(FrozenEstimator(model)).fit(X[:40], y[:40]).all_thresholds_
    found.partial_fit(X[40:], y[40:])
    assert sum(found.statuses_.values()) == (model.predict(X) == y).sum()


def test_chunks_without_rows_change_nothing():
    X, y, model = _table()
    found = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X[:0], y[:0])
    with pytest.raises(NotFittedError):
        found.transform(X)
    found.partial_fit(X, y).partial_fit(X[:0], y[:0]).partial_fit(X[:9], y[:9], np.zeros(9))
    assert found.all_thresholds_ == FCCADiscretizer(FrozenEstimator(model)).fit(X, y).all_thresholds_


def test_a_discretizer_can_be_pickled_between_two_chunks():
    X, y, model = _table()
    found = FCCADiscretizer(FrozenEstimator(model)).observe(X[:40]).observe(X[40:])
    found = pickle.loads(pickle.dumps(found)).partial_fit(X[:40], y[:40])
    found = pickle.loads(pickle.dumps(found)).partial_fit(X[40:], y[40:])
    assert found.all_thresholds_ == FCCADiscretizer(FrozenEstimator(model)).fit(X, y).all_thresholds_


def test_fit_and_partial_fit_start_again():
    X, y, model = _table()
    new = FCCADiscretizer(FrozenEstimator(model))
    fitted = clone(new).fit(X, y)
    in_turn = clone(new).partial_fit(X[:40], y[:40])
    in_turn.fit(X, y)
    assert vars(in_turn).keys() == vars(fitted).keys()
    assert in_turn.all_thresholds_ == fitted.all_thresholds_
    first = clone(new).partial_fit(X[:40], y[:40])
    again = clone(new).fit(X, y).partial_fit(X[:40], y[:40])
    assert vars(again).keys() == vars(first).keys()
    assert again.all_thresholds_ == first.all_thresholds_
    assert again.statuses_ == first.statuses_
    observed = clone(new).fit(X, y).observe(X)
    with pytest.raises(NotFittedError):
        observed.transform(X)
    assert not OF_CHUNKS & vars(clone(again)).keys()


def test_other_names_after_another_start():
    X, y, model = _table()
    found = FCCADiscretizer(FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=12).fit(frame(X), y)))
    found.fit(frame(X), y)
    assert list(found.feature_names_in_) == list(frame(X).columns)
    other = FCCADiscretizer(FrozenEstimator(model)).fit(X, y).partial_fit(X, y)
    assert not hasattr(other, "feature_names_in_")


def test_errors_of_partial_fit():
    X, y, model = _table()
    new = FCCADiscretizer(FrozenEstimator(model))
    with pytest.raises(InvalidInputError, match="observe was called after partial_fit"):
        clone(new).partial_fit(X, y).observe(X)
    with pytest.raises(InvalidInputError, match="A selection is computed from all rows"):
        clone(new).set_params(selection=OptimalSelection(2)).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="y is None"):
        clone(new).partial_fit(X, None)
    with pytest.raises(InvalidInputError, match="Pass margin as a number"):
        clone(new).set_params(margin="10%").partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        FCCADiscretizer().partial_fit(X, y)
    assert "requires a fitted classifier" in str(refused.value.__cause__)
    for wrong in ({"Q": 2}, {"p0": "a"}, {"n_jobs": 0}, {"p0": 0.9, "p1": 0.6}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(new).set_params(**wrong).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match=r"X has 4 column\(s\)"):
        clone(new).partial_fit(X, y).partial_fit(X[:, :4], y)


def test_missing_numbers_need_a_median():
    X, y = loans(90)
    X = X[["age", "income"]]
    model = HistGradientBoostingClassifier(max_iter=5, max_depth=1, min_samples_leaf=5).fit(X, y)
    with pytest.raises(InvalidInputError, match="'income' has missing values"):
        FCCADiscretizer(FrozenEstimator(model)).observe(X).partial_fit(X, y)


# --- memory -------------------------------------------------------------------------------------------------------------


class _Made:
    """Chunks that are made when they are asked for, and how many of them were alive at once."""

    def __init__(self, X, y, n_chunks):
        self.parts = np.array_split(np.arange(len(y)), n_chunks)
        self.X, self.y, self.alive, self.most = X, y, set(), 0

    def __iter__(self):
        for at, part in enumerate(self.parts):
            X = self.X[part].copy()
            self.alive.add((at, id(X)))
            weakref.finalize(X, self.alive.discard, (at, id(X)))
            self.most = max(self.most, len(self.alive))
            yield X, self.y[part]


@pytest.mark.parametrize("linear", [False, True])
def test_at_most_two_chunks_are_alive_at_once(linear):
    X, y, model = _table(linear)
    chunks = _Made(X, y, 15)
    in_chunks(chunks, model)
    assert chunks.most <= 2
    assert not chunks.alive


def test_partial_fit_keeps_no_chunk():
    X, y, model = _table()
    chunks = _Made(X, y, 9)
    found = FCCADiscretizer(FrozenEstimator(model))
    for X_chunk, _ in chunks:
        found.observe(X_chunk)
    del X_chunk
    for chunk in chunks:
        found.partial_fit(*chunk)
    del chunk
    assert chunks.most <= 2
    assert not chunks.alive


def test_a_pickled_discretizer_does_not_grow_with_the_chunks():
    X, y, model = _table()
    few, many = (_fitted(model, cut_up(X, y, None, ends)) for ends in ([45], range(3, 90, 3)))
    assert len(pickle.dumps(many)) == len(pickle.dumps(few))


def test_an_invalid_chunk_leaves_the_state_unchanged():
    X, y = loans(90)
    X = X[["age", "income"]].assign(income=lambda table: table["income"].fillna(3.0))
    model = HistGradientBoostingClassifier(max_iter=5, max_depth=1, min_samples_leaf=5).fit(X, y)
    discretizer = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X[:40], y[:40])
    broken = X[40:].copy()
    broken.iloc[3, 1], broken.iloc[4, 0] = np.nan, 1e6
    with pytest.raises(InvalidInputError, match="'income' has missing values"):
        discretizer.partial_fit(broken, y[40:])
    discretizer.partial_fit(X[40:], y[40:])
    untroubled = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert discretizer.thresholds_ == untroubled.thresholds_


def test_parameters_that_change_between_chunks_are_refused():
    X, y, model = _table()
    begun = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X, y)
    begun.set_params(Q=0.5, n_jobs=2).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="p0 was changed after the first chunk"):
        begun.set_params(p0=0.9).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="estimator was changed"):
        begun.set_params(p0=0.5, estimator=FrozenEstimator(model)).partial_fit(X, y)


def test_limits_and_threads_set_between_chunks_count_from_then_on(monkeypatch):
    X, y, model = _table()
    begun = FCCADiscretizer(FrozenEstimator(model), time_limit=0.0).observe(X)
    with pytest.warns(UnfinishedSearchWarning):
        begun.partial_fit(X[:40], y[:40])
    begun.set_params(time_limit=None).partial_fit(X[40:], y[40:])
    proven = begun.statuses_["optimal"]
    assert proven == (model.predict(X[40:]) == y[40:]).sum()
    with pytest.warns(UnfinishedSearchWarning):
        begun.set_params(time_limit=0.0).partial_fit(X[:40], y[:40])
    assert begun.statuses_["optimal"] == proven
    seen, solve = [], CounterfactualEngine.solve

    def solved(*args, **given):
        seen.append((given["n_jobs"], given["time_limit_per_row"]))
        return solve(*args, **given)

    monkeypatch.setattr(CounterfactualEngine, "solve", solved)
    begun.set_params(time_limit=None, time_limit_per_row=60.0, n_jobs=2).partial_fit(X[:40], y[:40])
    assert set(seen) == {(2, 60.0)}


def test_parameters_set_between_chunks_are_judged():
    X, y, model = _table()
    begun = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X, y)
    for wrong in ({"Q": 2}, {"n_jobs": 0}, {"time_limit": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(begun).partial_fit(X, y).set_params(**wrong).partial_fit(X, y)
    assert begun.set_params(Q=0.5).partial_fit(X, y).Q == 0.5


def test_a_selection_made_between_chunks_is_refused():
    X, y, model = _table()
    chosen = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X, y).set_selection(OptimalSelection(2), X, y)
    for more in (
        lambda: chosen.partial_fit(X, y),
        lambda: FCCADiscretizer(FrozenEstimator(model)).observe(X).set_params(selection=OptimalSelection(2)).observe(X),
    ):
        with pytest.raises(InvalidInputError, match="after the last chunk"):
            more()
    assert hasattr(chosen, "selection_")
    chosen.set_params(selection=None).partial_fit(X, y)
    assert not hasattr(chosen, "selection_")


# --- what is left out of all counts ---------------------------------------------------------------------------------------


def test_unverified_counterfactuals_are_counted_with_a_warning():
    X, y, model = _table()
    found = FCCADiscretizer(FrozenEstimator(model), time_limit=0.0).observe(X)
    n = int((model.predict(X) == y).sum())
    with pytest.warns(UnfinishedSearchWarning, match="were stopped by a time limit") as caught:
        found.partial_fit(X, y)
    assert caught[0].filename == __file__
    assert found.statuses_ == {"unknown": n}
    with pytest.raises(NoCounterfactualError, match=r"No threshold was found in the chunks so far.*Raise time_limit\."):
        found.transform(X)
    with pytest.raises(NoCounterfactualError, match="No threshold was found in the chunks so far"):
        found.predict_target(X)
    with pytest.raises(NoCounterfactualError, match="No threshold was found in the chunks so far"):
        found.set_granularity(0.5)
    found.set_params(time_limit=None).partial_fit(X, y)
    assert found.statuses_ == {"optimal": n, "unknown": n}
    assert len(found.transform(X)) == len(X)


def test_unverified_counterfactuals_are_warned_of(monkeypatch):
    X, y, model = _table()
    monkeypatch.setattr(ThresholdSearch, "search", unverified(ThresholdSearch.search))
    with pytest.warns(UnverifiedCounterfactualWarning, match="of 4[0-9] counterfactuals do not flip"):
        found = FCCADiscretizer(FrozenEstimator(model)).partial_fit(X[:50], y[:50])
    assert set(found.statuses_) == {"unverified"}


def unverified(search):
    """Mark all counterfactuals as unverified."""

    def searched(*args, **given):
        result = search(*args, **given)
        statuses = {"unverified": result.counts.n_counterfactuals}
        return result._replace(counts=replace(result.counts, statuses=statuses))

    return searched


def test_columns_of_one_value_are_warned_of_once_they_are_known():
    X, y, _ = _table()
    X = np.column_stack([X, np.ones(len(X))])
    model = GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0).fit(X, y)
    found = FCCADiscretizer(FrozenEstimator(model)).observe(X)
    with pytest.warns(ConstantFeatureWarning, match="x5"):
        found.partial_fit(X[:40], y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.partial_fit(X[40:], y[40:])


def test_the_error_gives_the_reason_if_there_is_no_threshold():
    X, y, model = _table()
    new = FCCADiscretizer(FrozenEstimator(model))
    with pytest.raises(NotFittedError, match="no counterfactuals yet, because no rows were given to partial_fit"):
        clone(new).observe(X).transform(X)
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        clone(new).transform(X)
    wrong = clone(new).partial_fit(X[:9], 1 - model.predict(X[:9]))
    assert wrong.statuses_ == {}
    with pytest.raises(NoCounterfactualError, match="predicts none of the 9 rows correctly") as refused:
        wrong.transform(X)
    assert "the classes of y" not in str(refused.value)
    assert clone(new).set_output(transform="pandas").partial_fit(X, y).transform(frame(X).to_numpy()).shape[0] == len(X)
