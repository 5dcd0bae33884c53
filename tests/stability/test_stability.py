"""Thresholds of bootstrap samples: matches and distances against plain loops."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, ThresholdTable
from fcca.exceptions import InvalidInputError, NoCounterfactualError, UnfinishedSearchWarning, UnsupportedModelError
from fcca.selection import OptimalSelection
from fcca.stability import bootstrap
from fcca.stability._agreement import agreement, interval, mean_jaccard
from fcca.stability._bootstrap import drawn
from fcca.stability._matching import Matcher
from mixed_tables import loans


def flowers():
    return load_iris(return_X_y=True, as_frame=True)


def differing(one, other, weight):
    """Weight of the rows on which two 0/1 columns differ, by a plain loop."""
    return sum(w for a, b, w in zip(one, other, weight, strict=True) if a != b)


# --- samples --------------------------------------------------------------------------------------------------------------


def test_a_sample_has_as_many_rows_of_every_class_as_there_are():
    code = np.array([0, 1, 1, 2, 2, 2, 0, 2, 1, 1])
    times = drawn(code, (5, 3))
    assert np.bincount(code, weights=times).tolist() == np.bincount(code).tolist()
    assert times.tolist() == drawn(code, (5, 3)).tolist()
    others = [drawn(code, seed).tolist() for seed in ((5, 4), (6, 3))]
    assert times.tolist() not in others
    assert max(times) > 1


def test_every_sample_is_a_fit_on_the_rows_weighted_by_how_often_they_are_drawn():
    X, y = flowers()
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    found = bootstrap(MidpointDiscretizer(max_thresholds=2), X, y, n_samples=4, sample_weight=weight, random_state=7)
    rows = np.flatnonzero(weight)
    for at, table in enumerate(found.tables):
        w = weight[rows] * drawn(y.to_numpy()[rows], (7, at))
        assert table == MidpointDiscretizer(max_thresholds=2).fit(X.iloc[rows], sample_weight=w).thresholds_
    assert found.thresholds == MidpointDiscretizer(max_thresholds=2).fit(X, sample_weight=weight).thresholds_


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.verify)])
def test_jobs_change_nothing_and_more_samples_leave_the_first_ones_as_they_are(backend):
    X, y = flowers()
    discretizer = GTREDiscretizer(DecisionTreeClassifier(max_depth=2, random_state=0))
    one = bootstrap(discretizer, X, y, n_samples=9)
    with parallel_config(backend=backend):
        two = bootstrap(discretizer, X, y, n_samples=9, n_jobs=2)
    assert one.tables == two.tables
    np.testing.assert_array_equal(one.rows_between, two.rows_between)
    assert bootstrap(discretizer, X, y, n_samples=3).tables == one.tables[:3]
    assert bootstrap(discretizer, X, y, n_samples=3, random_state=1).tables != one.tables[:3]


def test_the_given_discretizer_is_not_changed():
    X, y = flowers()
    fitted = MidpointDiscretizer(max_thresholds=1).fit(X)
    before = fitted.thresholds_
    found = bootstrap(fitted, X.iloc[50:], y.iloc[50:], n_samples=2)
    assert fitted.thresholds_ is before
    assert found.thresholds != before


def test_rows_of_weight_0_do_not_count():
    X, y = loans(120)
    weight = np.ones(120)
    weight[::4] = 0
    light = bootstrap(MidpointDiscretizer(max_thresholds=2), X, y, n_samples=3, sample_weight=weight)
    kept = np.flatnonzero(weight)
    without = bootstrap(MidpointDiscretizer(max_thresholds=2), X.iloc[kept], y[kept], n_samples=3)
    assert light.tables == without.tables
    pd.testing.assert_frame_equal(light.to_frame(), without.to_frame())


def test_without_labels_all_rows_are_drawn_alike():
    X, _ = flowers()
    found = bootstrap(MidpointDiscretizer(max_thresholds=1), X, None, n_samples=2)
    times = drawn(np.zeros(len(X), dtype=int), (0, 1))
    assert found.tables[1] == MidpointDiscretizer(max_thresholds=1).fit(X, sample_weight=times).thresholds_


@pytest.mark.parametrize("fit_to", ["labels", "target"])
def test_every_sample_chooses_its_own_best_thresholds(fit_to):
    X, y = flowers()
    selection = OptimalSelection(n_thresholds=2, fit_to=fit_to)
    discretizer = GTREDiscretizer(DecisionTreeClassifier(max_depth=3, random_state=0), selection=selection)
    found = bootstrap(discretizer, X, y, n_samples=3)
    assert [len(table) for table in found.tables] == [2, 2, 2]
    assert len(clone(discretizer).set_params(selection=None).fit(X, y).thresholds_) > 2
    for at, table in enumerate(found.tables):
        assert table == clone(discretizer).fit(X, y, sample_weight=drawn(y.to_numpy(), (0, at))).thresholds_


def test_a_classifier_and_counterfactuals_are_taken_too():
    X, y = flowers()
    X, y = X.iloc[40:110, 2:], y.iloc[40:110] > 0
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    found = bootstrap(FCCAClassifier(FCCADiscretizer(model)), X, y, n_samples=3)
    assert found.thresholds == FCCADiscretizer(model).fit(X, y).thresholds_
    assert found.tables == bootstrap(FCCADiscretizer(model), X, y, n_samples=3).tables


# --- finding thresholds again ---------------------------------------------------------------------------------------------


def recomputed(full, tables, tolerance, X, weight):
    """The frame's figures by plain loops over rows, from the tables alone."""
    lines, B, n = [], full.binarize(X), len(tables)
    for at, (name, kind) in enumerate(zip(full.feature, full.kind, strict=True)):
        chosen, exact, column, moved, rows = 0, 0, 0, [], []
        for table in tables:
            mine = [i for i in range(len(table)) if table.feature[i] == name]
            column += bool(mine)
            asked = [table.threshold[i] if kind == "cut" else table.labels[i] for i in mine if table.kind[i] == kind]
            if not asked:
                continue
            theirs = [
                ThresholdTable.from_list([(full.feature_names[name], one)], full.columns or list(full.feature_names))
                for one in asked
            ]
            differ = [differing(B[:, at], one.binarize(X)[:, 0], weight) for one in theirs]
            if kind == "cut":
                least, near = min(zip(differ, [abs(one - full.threshold[at]) for one in asked], strict=True))
                moved.append(near)
                rows.append(least / sum(weight))
                chosen += rows[-1] <= tolerance + 1e-12
            else:
                chosen += min(differ) == 0
            exact += min(differ) == 0
        far = [np.nan if not values else q(values) for values in (moved, rows) for q in QUANTILES]
        lines.append((chosen / n, exact / n, column / n, *far))
    return np.array(lines)


QUANTILES = (np.median, lambda values: np.quantile(values, 0.9))


@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.1])
def test_the_figures_are_those_of_plain_loops_over_rows(tolerance):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=60).round(1), "b": rng.integers(0, 4, 60), "c": rng.normal(size=60)})
    y = rng.integers(0, 2, 60)
    weight = rng.integers(1, 5, 60).astype(float)
    found = bootstrap(
        MidpointDiscretizer(max_thresholds=2), X, y, n_samples=9, sample_weight=weight, tolerance=tolerance, random_state=2
    )
    figures = found.to_frame().drop(columns=["condition", "feature", "kind"]).to_numpy()
    np.testing.assert_allclose(figures, recomputed(found.thresholds, found.tables, tolerance, X, weight), atol=1e-12)
    assert found.exact.max() > 0
    assert (found.exact <= found.chosen).all()
    assert (found.chosen <= found.column).all()


def test_figures_of_categories_and_missing_values_are_those_of_plain_loops():
    X, y = loans(150)
    X = X.assign(purpose=pd.Categorical(X["purpose"]))  # a sample without one of them still knows it
    found = bootstrap(MidpointDiscretizer(max_thresholds=2), X, y, n_samples=5)
    frame = found.to_frame()
    cuts = frame["kind"] != "missing"
    got = frame.loc[cuts].drop(columns=["condition", "feature", "kind"]).to_numpy()
    kept = found.thresholds.select(cuts.to_numpy())
    np.testing.assert_allclose(got, recomputed(kept, found.tables, found.tolerance, X, np.ones(len(X))), atol=1e-12)
    gaps = frame[frame["kind"] == "missing"]
    assert gaps["feature"].tolist() == ["income", "purpose"]
    assert (gaps["chosen"] == 1).all()
    assert gaps["rows_median"].isna().all()


def conditions(entries, X):
    return ThresholdTable.from_list(entries, X)


def test_the_nearest_cut_is_the_one_with_the_fewest_rows_between():
    X = pd.DataFrame({"a": [0.0, 1.0, 1.1, 1.2, 1.3, 9.0]})
    match = Matcher(conditions([("a", 1.05)], X), X, np.ones(6))(conditions([("a", 0.5), ("a", 8.0)], X))
    # 0.5 is nearer in units, and has one row between; 8 has three.
    assert (match.same[0], match.rows[0], match.distance[0]) == (False, 1 / 6, pytest.approx(0.55))
    match = Matcher(conditions([("a", 5.0)], X), X, np.ones(6))(conditions([("a", 1.25), ("a", 8.0)], X))
    assert (match.same[0], match.rows[0], match.distance[0]) == (True, 0, 3)


@pytest.mark.parametrize("cuts", [(0.9, 2.2), (0.5, 2.1)])
def test_of_two_cuts_with_as_many_rows_between_the_closer_one_is_the_nearest(cuts):
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    match = Matcher(conditions([("a", 1.5)], X), X, np.ones(4))(conditions([("a", cut) for cut in cuts], X))
    assert (match.rows[0], match.distance[0]) == (0.25, pytest.approx(0.6))


def test_rows_without_a_value_lie_between_no_two_cuts_but_count_among_all():
    X = pd.DataFrame({"a": [0.0, 1.0, None, None]})
    match = Matcher(conditions([("a", 0.5)], X), X, np.ones(4))(conditions([("a", 1.5)], X))
    assert match.rows[0] == 0.25


def test_a_column_without_a_cut_has_no_distance():
    X = pd.DataFrame({"a": [0.0, 1.0, None], "b": [1.0, 2.0, 3.0]})
    match = Matcher(conditions([("a", 0.5)], X), X, np.ones(3))(conditions([("b", 1.5), ("a", None)], X))
    assert not match.same[0]
    assert np.isnan([match.rows[0], match.distance[0]]).all()


@pytest.mark.parametrize(
    ("theirs", "categories", "same"),
    [
        ({"car"}, ["boat", "car", "home", "tv"], True),
        ({"boat", "home", "tv"}, ["boat", "car", "home", "tv"], True),  # the other side of the same split
        ({"tv"}, ["boat", "car", "home", "tv"], False),
        ({"car"}, ["boat", "car", "home"], True),  # a sample without tv
        ({"boat"}, ["boat", "car"], True),  # there, this is all that is not a car
        ({"boat"}, ["boat", "home", "tv"], False),  # no car in it
    ],
)
def test_a_set_is_the_same_where_it_splits_the_categories_that_the_sample_has_alike(theirs, categories, same):
    X = pd.DataFrame({"purpose": ["boat", "car", "home", "tv"]})
    match = Matcher(conditions([("purpose", {"car"})], X), X, np.ones(4))
    assert match(conditions([("purpose", theirs)], pd.DataFrame({"purpose": categories}))).same.tolist() == [same]


def test_is_missing_is_not_a_set():
    X = pd.DataFrame({"purpose": ["boat", "car", None]})
    match = Matcher(conditions([("purpose", {"car"}), ("purpose", None)], X), X, np.ones(3))
    assert match(conditions([("purpose", None)], X)).same.tolist() == [False, True]


def test_a_column_that_only_samples_use_is_listed_with_0_conditions():
    X, y = flowers()
    noisy = X.iloc[:, :2] + np.random.default_rng(0).normal(0, 1.5, (len(X), 2))
    found = bootstrap(GTREDiscretizer(DecisionTreeClassifier(max_depth=1, random_state=0)), noisy, y, n_samples=12)
    frame = found.columns_frame()
    used = {name: sum(name in table.features_used for table in found.tables) / 12 for name in noisy}
    assert dict(zip(frame["column"], frame["share"], strict=True)) == used
    assert frame.loc[frame["conditions"] == 0, "column"].tolist() == [
        name for name in noisy if name not in found.thresholds.features_used
    ]
    assert frame["conditions"].tolist() == [1, 0]
    assert frame["share"].is_monotonic_decreasing
    assert (frame["mean_conditions"] == 1).all()
    assert "1 column without a threshold in the fit on all rows has one in some samples" in repr(found)


def test_a_constant_column_has_no_condition():
    X, y = flowers()
    X = X.iloc[:, :2].assign(same=1.0)
    with pytest.warns(UserWarning, match=r"1 column\(s\) have only one value") as warned:
        found = bootstrap(MidpointDiscretizer(max_thresholds=1), X, y, n_samples=3)
    assert len(warned) == 1  # of the fit on all rows, not of every sample
    assert "same" not in found.columns_frame()["column"].tolist()


# --- agreement ------------------------------------------------------------------------------------------------------------


def test_agreement_of_choices_of_one_size_is_the_mean_of_kuncheva_s_index():
    rng = np.random.default_rng(0)
    chosen = np.array([np.isin(np.arange(9), rng.choice(9, 4, replace=False)) for _ in range(11)])
    pairs = [((a & b).sum() * 9 - 16) / (4 * 5) for a, b in combinations(chosen, 2)]
    assert agreement(chosen)[0] == pytest.approx(np.mean(pairs))


def test_agreement_and_its_variance_are_the_paper_s_formulas():
    rng = np.random.default_rng(1)
    z = rng.random((8, 5)) < [0.9, 0.8, 0.3, 0.2, 0.1]
    m, d = z.shape
    p = [sum(z[i][f] for i in range(m)) / m for f in range(d)]
    k = [sum(z[i]) for i in range(m)]
    mean_k = sum(k) / m
    below = mean_k / d * (1 - mean_k / d)
    value = 1 - sum(m / (m - 1) * q * (1 - q) for q in p) / d / below
    parts = [
        (
            sum(z[i][f] * p[f] for f in range(d)) / d
            - k[i] * mean_k / d**2
            + value / 2 * (2 * mean_k * k[i] / d**2 - k[i] / d - mean_k / d + 1)
        )
        / below
        for i in range(m)
    ]
    variance = 4 / m**2 * sum((part - sum(parts) / m) ** 2 for part in parts)
    assert agreement(z) == (pytest.approx(value), pytest.approx(variance))
    low, high = interval(value, variance, 0.95)
    assert (low, high) == (pytest.approx(value - 1.959964 * variance**0.5), pytest.approx(value + 1.959964 * variance**0.5))


def test_agreement_is_nan_if_everything_or_nothing_is_chosen():
    same = np.tile([True, False, False], (6, 1))
    assert agreement(same) == (1, 0)
    assert interval(1.0, 0.0, 0.95) == (1, 1)
    for nothing in (np.ones((4, 3), dtype=bool), np.zeros((4, 3), dtype=bool), same[:1]):
        assert np.isnan(agreement(nothing)).all()


def test_random_choices_have_an_agreement_of_about_0():
    chosen = np.random.default_rng(0).random((400, 30)) < 0.3
    value, variance = agreement(chosen)
    assert abs(value) < 4 * variance**0.5 + 0.01


def test_jaccard_is_the_mean_over_all_pairs():
    z = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    pairs = [1.0 if not (a | b).any() else (a & b).sum() / (a | b).sum() for a, b in combinations(z, 2)]
    assert mean_jaccard(z) == pytest.approx(np.mean(pairs))
    assert np.isnan(mean_jaccard(z[:1]))


def test_the_result_measures_the_columns_that_samples_use():
    X, y = flowers()
    found = bootstrap(GTREDiscretizer(DecisionTreeClassifier(max_depth=2, random_state=0)), X, y, n_samples=8)
    used = np.array([[name in table.features_used for name in X] for table in found.tables])
    assert found.stability == agreement(used)[0]
    assert found.jaccard == mean_jaccard(used)
    low, high = found.stability_interval
    assert low <= found.stability <= high


# --- what goes wrong ------------------------------------------------------------------------------------------------------


class Moody(MidpointDiscretizer):
    """Rejects samples without the first row with a given error."""

    def __init__(self, error=None, *, max_thresholds=None):
        super().__init__(max_thresholds=max_thresholds)
        self.error = error

    def fit(self, X, y=None, sample_weight=None):
        if sample_weight is not None and sample_weight[0] == 0:
            if self.error is None:
                import warnings

                warnings.warn("three searches", UnfinishedSearchWarning, stacklevel=1)
            else:
                raise self.error("no first row")
        return super().fit(X, y, sample_weight)


def moody_samples(n):
    y = flowers()[1].to_numpy()
    return [at for at in range(n) if drawn(y, (0, at))[0] == 0]


@pytest.mark.parametrize("error", [NoCounterfactualError, InvalidInputError])
def test_samples_that_cannot_be_fitted_are_counted_and_named(error):
    X, y = flowers()
    failing = moody_samples(9)
    assert 0 < len(failing) < 9
    found = bootstrap(Moody(error, max_thresholds=1), X, y, n_samples=9)
    assert found.failures == dict.fromkeys(failing, f"{error.__name__}: no first row")
    assert len(found.tables) == len(found.same) == 9 - len(failing)
    assert found.chosen == pytest.approx(found.near.sum(axis=0) / (9 - len(failing)))
    message = f"{len(failing)} of 9 samples could not be fitted and do not count. Sample {failing[0]}: {error.__name__}: no"
    assert message in repr(found)


def test_an_error_gives_the_reason_if_no_sample_can_be_fitted():
    X, y = flowers()
    seed = next(seed for seed in range(50) if drawn(y.to_numpy(), (seed, 0))[0] == 0)
    with pytest.raises(NoCounterfactualError, match=r"None of the 1 samples .* NoCounterfactualError: no first row"):
        bootstrap(Moody(NoCounterfactualError, max_thresholds=1), X, y, n_samples=1, random_state=seed)


def test_other_errors_are_passed_on():
    X, y = flowers()
    with pytest.raises(RuntimeError, match="no first row"):
        bootstrap(Moody(RuntimeError, max_thresholds=1), X, y, n_samples=9)


def test_warnings_of_samples_are_repeated_once():
    X, y = flowers()
    n = len(moody_samples(9))
    with pytest.warns(UnfinishedSearchWarning, match=f"In {n} of 9 samples: three searches") as warned:
        bootstrap(Moody(max_thresholds=1), X, y, n_samples=9)
    assert len(warned) == 1


def test_a_classifier_without_weights_is_refused():
    from sklearn.neural_network import MLPClassifier

    X, y = flowers()
    with pytest.raises(UnsupportedModelError):
        bootstrap(FCCADiscretizer(MLPClassifier()), X, y, n_samples=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1, got 0"),
        ({"n_samples": 2.0}, "n_samples must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, got -1"),
        ({"random_state": True}, "random_state must be a whole number"),
        ({"tolerance": 1}, "tolerance must be a share of the rows, from 0 to below 1, got 1"),
        ({"tolerance": "5%"}, "tolerance must be a share"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        ({"discretizer": DecisionTreeClassifier()}, "Expected a discretizer such as .*, got DecisionTreeClassifier"),
        ({"discretizer": MidpointDiscretizer}, "Expected a discretizer .*, got the class MidpointDiscretizer"),
        ({"y": [0, 1]}, r"X and y must have the same number of rows \(150 and 2\)"),
        ({"sample_weight": [1, 2]}, "sample_weight must be 1D with one entry per row"),
        ({"discretizer": FCCADiscretizer(), "y": np.zeros(150)}, "at least two classes"),
    ],
)
def test_bad_input_is_refused_before_any_sample_is_drawn(change, message):
    X, y = flowers()
    given = {"discretizer": MidpointDiscretizer(max_thresholds=1), "X": X, "y": y, "n_samples": 2} | change
    with pytest.raises(InvalidInputError, match=message):
        bootstrap(given.pop("discretizer"), given.pop("X"), given.pop("y"), **given)


# --- shown ----------------------------------------------------------------------------------------------------------------


def test_notebooks_show_the_thresholds_with_every_name_escaped():
    X, y = flowers()
    X = X.set_axis(["<script>", "b", "c", "d"], axis=1)
    found = bootstrap(MidpointDiscretizer(max_thresholds=10), X, y, n_samples=2)
    html = found._repr_html_()
    assert "&lt;script&gt; &gt; " in html
    assert "<script>" not in html
    assert f"… {len(found.thresholds) - 30:,} more" in html


def test_sentences_name_the_shares_of_the_samples():
    X, y = flowers()
    found = bootstrap(MidpointDiscretizer(max_thresholds=1), X[["petal length (cm)"]], y, n_samples=4)
    assert (
        "1 threshold, found again in 100% of 4 bootstrap samples (at most 5.0% of the rows between the two thresholds)."
        in repr(found)
    )
    several = repr(bootstrap(MidpointDiscretizer(max_thresholds=1), X, y, n_samples=20))
    assert "4 thresholds, found again in 70% to 100% of 20 bootstrap samples" in several


def test_progress_is_updated_sample_by_sample():
    from fcca.utils import shown_on

    told = []

    class Told:
        def job(self, label, total):
            from contextlib import nullcontext

            told.append((label, total))
            return nullcontext(lambda done, of=None: told.append(done))

    X, y = flowers()
    with shown_on(Told()):
        bootstrap(MidpointDiscretizer(max_thresholds=1), X, y, n_samples=3)
    assert told == [("Bootstrap samples", 3), 1, 2, 3]
