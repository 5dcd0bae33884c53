"""Searching a random sample of the rows: its order, its intervals, and when it ends."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fcca import FCCADiscretizer, ThresholdTable
from fcca.discretizers._row_order import RowOrder
from fcca.discretizers._row_sample import ERROR, RowSample, level_of, looks_up_to
from fcca.discretizers._share_intervals import count_intervals
from fcca.exceptions import InvalidInputError, SampledRowsWarning
from fcca.streaming import distill


def table(n=1500, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(2)
    score = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + random.normal(0, 0.3, n)
    return pd.DataFrame(X, columns=list("abcd")), (score > 0.2).astype(int)


def boosting(X, y):
    return FrozenEstimator(GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y))


def sample_of(max_rows, X, y, model=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SampledRowsWarning)
        return FCCADiscretizer(boosting(X, y) if model is None else model, max_rows=max_rows, **options).fit(X, y)


# --- intervals ----------------------------------------------------------------------------------------------------------


def coverage(crossing, sampled, sizes, level):
    """The exact probability that the interval holds the number of crossing rows, given their number in each class."""
    chances = [hypergeom.pmf(np.arange(n + 1), N, K, n) for n, N, K in zip(sampled, sizes, crossing, strict=True)]
    total = chances[0]
    for other in chances[1:]:
        total = np.convolve(total, other)
    low, high = count_intervals(np.arange(len(total)), sampled, sizes, level)
    K = sum(crossing)
    return total[(low <= K) & (high >= K)].sum()


@pytest.mark.parametrize(
    ("size", "sizes"), [(5, (12,)), (7, (9, 5)), (4, (14, 2)), (10, (8, 6)), (6, (6, 5, 4)), (2, (9, 1, 1)), (30, (29, 11))]
)
@pytest.mark.parametrize("level", [0.3, 0.05, 0.004])
def test_intervals_hold_the_true_number_with_the_stated_probability(size, sizes, level):
    sizes = np.array(sizes)
    sampled = -(-size * sizes // sizes.sum())
    for crossing in itertools.product(*(range(N + 1) for N in sizes)):
        assert coverage(crossing, sampled, sizes, level) >= 1 - level - 1e-12


def test_an_interval_of_all_rows_is_a_single_number():
    sizes = np.array([5, 7])
    low, high = count_intervals(np.arange(13), sizes, sizes, 0.05)
    assert np.array_equal(low, np.arange(13))
    assert np.array_equal(high, np.arange(13))


def test_unfinished_searches_raise_only_the_upper_limits():
    sampled, sizes = np.array([50, 50]), np.array([500, 500])
    low, high = count_intervals(np.array([3, 10]), sampled, sizes, 0.01)
    lower, higher = count_intervals(np.array([3, 10]), sampled, sizes, 0.01, n_unfinished=5)
    assert np.array_equal(low, lower)
    assert (higher > high).all()


def test_intervals_of_rare_conditions_are_nearly_those_of_one_hypergeometric_variable():
    n, N, level = 1000, 10_000, 1e-5
    low, high = count_intervals(np.array([0, 5, 50]), np.array([n]), np.array([N]), level)
    K = np.arange(N + 1)
    for x, least, most in zip((0, 5, 50), low.tolist(), high.tolist(), strict=True):
        exact = K[(hypergeom.cdf(x, N, K, n) >= level / 2) & (hypergeom.sf(x - 1, N, K, n) >= level / 2)]
        assert least <= exact.min()
        assert exact.max() <= most <= 1.05 * exact.max()


def test_all_looks_together_have_the_level_of_the_whole():
    most = 250 * 2**20
    levels = [level_of(size, most, "settled", has_looks=True) for size in looks_up_to(most, most)]
    assert sum(levels) <= ERROR
    assert levels[:3] == [0.025, 0.0125, 0.00625]
    assert level_of(600, most, "interrupted", has_looks=True) == level_of(1000, most, "settled", has_looks=True)
    assert level_of(600, most, "max_rows", has_looks=False) == ERROR


def test_more_than_half_of_the_rows_is_never_a_sample():
    assert looks_up_to(10_000, 499) == []
    assert looks_up_to(10_000, 2000) == [250, 500, 1000]
    assert looks_up_to(600, 2000) == [250, 500]


# --- order --------------------------------------------------------------------------------------------------------------


def drawn(X, classes, n, weight=None):
    order = RowOrder.of(X, classes, weight)
    return sorted(map(tuple, np.repeat(X, order.weights(n, len(X)).astype(int), axis=0).tolist()))


def rows_and_classes(n=400, seed=1):
    random = np.random.default_rng(seed)
    return random.integers(0, 5, (n, 3)).astype(float), random.choice(3, n, p=[0.7, 0.28, 0.02]).astype(np.int32)


def test_the_order_of_the_table_does_not_matter():
    X, classes = rows_and_classes()
    shuffled = np.random.default_rng(2).permutation(len(X))
    for n in (1, 50, 399):
        assert drawn(X, classes, n) == drawn(X[shuffled], classes[shuffled], n)


def test_the_drawn_rows_of_another_order_of_the_table_are_found_among_equal_rows():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(2, 60))
        X, classes = rng.choice([0.0, 1.0, np.nan], (n, 2)), rng.integers(0, 2, n).astype(np.int32)
        weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.7 else None
        at = rng.permutation(n)
        first = RowOrder.of(X, classes, weight)
        other = RowOrder.of(X[at], classes[at], None if weight is None else weight[at])
        size = int(rng.integers(1, first.n_units + 1))
        drawn = first.rows(size)
        found = other.exchanged(X[at], classes[at], np.isin(at, drawn))
        assert np.sort(at[found.rows(size)]).tolist() == drawn.tolist()
        assert np.bincount(at[found.row], minlength=n).tolist() == np.bincount(first.row, minlength=n).tolist()
        smaller = [(order.rows(size // 2), columns) for order, columns in ((first, X), (found, X[at]))]
        a, b = (columns[rows][np.lexsort(columns[rows].T)] for rows, columns in smaller)
        np.testing.assert_array_equal(a, b)


def test_a_row_of_weight_2_is_drawn_like_two_rows():
    X, classes = rows_and_classes()
    weight = np.random.default_rng(3).integers(1, 4, len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    for n in (1, 50, 300):
        assert drawn(X, classes, n, weight.astype(float)) == drawn(X[twice], classes[twice], n)


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    X, classes = rows_and_classes()
    order = RowOrder.of(X, classes)
    before = set()
    for n in range(1, 401, 7):
        rows = set(order.rows(n).tolist())
        assert before <= rows
        assert rows - before == set(order.rows(n, after=n - 7).tolist() if n > 7 else rows)
        before = rows
    assert set(order.rows(400).tolist()) == set(range(400))


def test_each_class_has_its_share_of_every_sample():
    X, classes = rows_and_classes()
    order, sizes = RowOrder.of(X, classes), np.bincount(classes)
    for n in (1, 10, 137):
        found = np.bincount(classes[order.rows(n)], minlength=3)
        assert np.array_equal(found, order.sampled(n))
        assert np.array_equal(found, np.ceil(n * sizes / 400))


def test_weights_with_a_common_factor_draw_the_same_rows():
    X, classes = rows_and_classes()
    one, many = RowOrder.of(X, classes), RowOrder.of(X, classes, np.full(len(X), 1e8))
    assert np.array_equal(one.row, many.row)
    assert many.weight == 1e8


def test_fractional_weights_have_no_order():
    X, classes = rows_and_classes()
    assert RowOrder.of(X, classes, np.full(len(X), 1.5)) is None


# --- fit ----------------------------------------------------------------------------------------------------------------


def test_auto_stops_early_and_its_intervals_hold_the_shares_of_all_rows():
    X, y = table(6000)
    model = boosting(X, y)
    with pytest.warns(SampledRowsWarning, match=r"random sample of 1?,?\d+ of \d,\d+ rows"):
        some = FCCADiscretizer(model, max_rows="auto").fit(X, y)
    every = FCCADiscretizer(model, max_rows="all").fit(X, y)
    assert every.row_sample_ is None
    assert every.all_thresholds_.share is None
    sample = some.row_sample_
    assert sample.reason == "settled"
    assert sample.size in looks_up_to(sample.size, sample.n_rows)
    assert sample.n_rows == len(every.counterfactuals_)
    assert len(some.counterfactuals_) == sample.n_searched < sample.n_rows
    true = dict(zip(every.all_thresholds_.names(), every.all_thresholds_.count / sample.n_rows, strict=True))
    found = some.all_thresholds_
    for name, low, high in zip(found.names(), found.share_low, found.share_high, strict=True):
        assert low <= true[name] <= high
    left_out = sample.left_out(found, some.kept_at(0.0))
    assert max((share for name, share in true.items() if name not in found.names()), default=0.0) <= left_out


def test_a_number_of_rows_is_a_part_of_the_search_of_all_rows():
    X, y = table()
    every, some = sample_of("all", X, y), sample_of(300, X, y)
    assert some.row_sample_.reason == "max_rows"
    assert some.row_sample_.n_searched == len(some.counterfactuals_) in (300, 301)
    assert (np.diff(some.counterfactuals_.rows) > 0).all()
    place = np.searchsorted(every.counterfactuals_.rows, some.counterfactuals_.rows)
    assert np.array_equal(every.counterfactuals_.rows[place], some.counterfactuals_.rows)
    assert np.array_equal(every.counterfactuals_.cost[place], some.counterfactuals_.cost)


@pytest.mark.parametrize("max_rows", ["auto", "all", 100_000])
def test_a_search_of_all_rows_in_batches_gives_the_same_result(max_rows, monkeypatch):
    X, y = table(700)
    X.loc[::5, "a"] = np.nan
    X["b"] = np.where(X["b"] > 0.5, "high", np.where(X["b"] > -0.5, "middle", "low"))
    forest = RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0)
    at_once = sample_of(None, X, y, forest)
    monkeypatch.setattr("fcca.discretizers._threshold_search.SMALL_ENSEMBLE", 0)
    in_batches = sample_of(max_rows, X, y, forest)
    assert in_batches.row_sample_ is None
    assert in_batches.all_thresholds_ == at_once.all_thresholds_
    assert np.array_equal(in_batches.counterfactuals_.rows, at_once.counterfactuals_.rows)
    assert np.array_equal(in_batches.counterfactuals_.cost, at_once.counterfactuals_.cost)
    for one, other in zip(in_batches.crossings(), at_once.crossings(), strict=True):
        assert np.array_equal(np.sort(one), np.sort(other))


@pytest.mark.parametrize("max_rows", ["auto", 400])
def test_the_sample_does_not_depend_on_threads_or_the_order_of_the_table(max_rows):
    X, y = table(3000)
    model = boosting(X, y)
    one = sample_of(max_rows, X, y, model)
    shuffled = np.random.default_rng(0).permutation(len(X))
    for other in (
        sample_of(max_rows, X, y, model, n_jobs=2),
        sample_of(max_rows, X.iloc[shuffled], y[shuffled], model),
    ):
        assert other.all_thresholds_ == one.all_thresholds_
        assert other.row_sample_.n_searched == one.row_sample_.n_searched


def test_a_row_of_weight_2_counts_as_two_rows_of_the_sample():
    X, y = table(1500)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    model = boosting(X, y)
    weighted = FCCADiscretizer(model, max_rows=500).fit(X, y, sample_weight=weight)
    repeated = FCCADiscretizer(model, max_rows=500).fit(X.iloc[twice], y[twice])
    assert weighted.all_thresholds_ == repeated.all_thresholds_
    assert weighted.row_sample_.n_searched <= repeated.row_sample_.n_searched


def test_fractional_weights_search_all_rows_or_refuse_a_number():
    X, y = table(600)
    weight = np.full(len(X), 0.5)
    assert FCCADiscretizer(boosting(X, y), max_rows="auto").fit(X, y, sample_weight=weight).row_sample_ is None
    with pytest.raises(InvalidInputError, match="max_rows=100 requires weights that are whole numbers, of at most"):
        FCCADiscretizer(boosting(X, y), max_rows=100).fit(X, y, sample_weight=weight)


def test_small_and_additive_ensembles_and_linear_models_search_all_rows_by_default():
    X, y = table(3000)
    for model in (None, GradientBoostingClassifier(max_depth=1), LogisticRegression()):
        assert sample_of(None, X, y, model).row_sample_ is None
    forest = RandomForestClassifier(n_estimators=5, random_state=0)
    assert FCCADiscretizer(forest, preset="paper").fit(X[:600], y[:600]).row_sample_ is None


def test_large_ensembles_take_a_sample_by_default_and_say_so(monkeypatch):
    monkeypatch.setattr("fcca.discretizers._threshold_search.SMALL_ENSEMBLE", 0)
    X, y = table(6000)
    with pytest.warns(SampledRowsWarning, match="To search all rows, use max_rows='all'"):
        found = FCCADiscretizer(boosting(X, y)).fit(X, y)
    assert found.row_sample_.reason == "settled"


def test_a_number_of_rows_works_for_linear_models_and_merged_thresholds():
    X, y = table()
    linear = sample_of(300, X, y, LogisticRegression())
    assert (linear.all_thresholds_.share_low <= linear.all_thresholds_.share_high).all()
    merged = sample_of(300, X, y, merge_tolerance=0.1)
    assert merged.row_sample_.n_conditions > sample_of(300, X, y).row_sample_.n_conditions


@pytest.mark.parametrize("max_rows", [300, "auto"])
def test_rows_in_chunks_have_no_order(max_rows):
    X, y = table(600)
    discretizer = FCCADiscretizer(boosting(X, y), max_rows=max_rows)
    with pytest.raises(InvalidInputError, match="requires all rows in memory"):
        discretizer.partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="requires all rows in memory"):
        distill([(X, y)], discretizer)


@pytest.mark.parametrize("max_rows", [0, 2.5, "some"])
def test_a_wrong_number_of_rows_is_refused(max_rows):
    X, y = table(100)
    with pytest.raises(ValueError, match="max_rows"):
        FCCADiscretizer(boosting(X, y), max_rows=max_rows).fit(X, y)


def test_shares_survive_selection_and_json():
    X, y = table()
    found = sample_of(300, X, y).all_thresholds_
    assert ThresholdTable.from_json(found.to_json()) == found
    assert np.array_equal(found.select(found.count > 5).share_high, found.share_high[found.count > 5])
    assert list(found.to_frame().columns[-3:]) == ["share", "share_low", "share_high"]
    assert (found + found).share is None


def test_the_rule_needs_every_condition_on_its_side_of_the_cut():
    def sample(n, N):
        share = np.array([n]), np.array([N])
        return RowSample(n, n, N, "settled", 0.05, 100, *share, unit=1.0)

    counts = ThresholdTable.from_counts(["a"], [0, 0, 0], [1.0, 2.0, 3.0], [500, 400, 10])[0]
    kept = np.array([True, True, False])
    assert sample(1000, 10_000).is_settled(counts, kept)
    assert not sample(1000, 10_000).is_settled(counts, ~kept)
    assert not sample(60, 10_000).is_settled(ThresholdTable.from_counts(["a"], [0], [1.0], [3])[0], np.array([True]))
