"""Drift of new rows: every figure by plain loops, with notes on few rows and unknown categories."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, MidpointDiscretizer, OptimalTreeClassifier, ThresholdTable
from fcca.exceptions import InvalidInputError, LightWeightsWarning
from fcca.stability import drift
from mixed_tables import holds, loans


def plain_psi(old, new):
    """Compute the index of two lists of weights by a loop."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a > 0 or b > 0]
    pairs = [(a or 0.5, b or 0.5) for a, b in pairs]
    n, m = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return sum((b / m - a / n) * math.log((b / m) / (a / n)) for a, b in pairs)


def table():
    X, _ = loans()
    return ThresholdTable.from_list(
        [
            ("income", 2.0),
            ("income", 3.5),
            ("income", None),
            ("age", 30),
            ("purpose", {"car", "tv"}),
            ("purpose", {"tv", "boat"}),
            ("grade", {"top"}),
        ],
        X,
    )


def bins_by_hand(X):
    """Find the bin of every row by pandas alone."""
    X = pd.DataFrame(X)
    income = np.select([X["income"].isna(), X["income"] <= 2, X["income"] <= 3.5], ["gap", "low", "mid"], "high")
    age = np.select([X["age"].isna(), X["age"] <= 30], ["gap", "young"], "old")
    known = ["car", "tv", "boat", "home"]
    purpose = np.where(X["purpose"].isna(), "gap", X["purpose"].where(X["purpose"].isin(known), "new"))
    grade = np.select([X["grade"].isna(), X["grade"] == "top"], ["gap", "top"], "other")
    return {"income": income, "age": age, "purpose": purpose, "grade": grade}


# --- the index ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_index_of_every_column_is_that_of_plain_loops(weighted):
    X, _ = loans(300)
    new, _ = loans(170, seed=1)
    new = new.assign(income=new["income"] * 1.3, purpose=new["purpose"].replace({"tv": "phone"}))
    rng = np.random.default_rng(0)
    w, v = rng.integers(0, 4, 300), rng.integers(0, 4, 170)
    weights = {"sample_weight": w, "sample_weight_new": v} if weighted else {}
    w, v = (w, v) if weighted else (np.ones(300), np.ones(170))
    found = drift(table(), X, new, **weights)
    old_bins, new_bins = bins_by_hand(X), bins_by_hand(new)
    assert [one.name for one in found.columns] == ["income", "purpose", "age", "grade"]
    for one in found.columns:
        labels = sorted(set(old_bins[one.name]) | set(new_bins[one.name]))
        before = {label: sum(w[old_bins[one.name] == label]) for label in labels}
        after = {label: sum(v[new_bins[one.name] == label]) for label in labels}
        used = [label for label in labels if before[label] or after[label]]
        a, b = [before[label] for label in used], [after[label] for label in used]
        assert one.psi == pytest.approx(plain_psi(a, b))
        assert sorted(zip(one.reference, one.new, strict=True)) == sorted(zip(a, b, strict=True))
        assert one.n_bins == len(used)
        assert one.expected == pytest.approx((len(used) - 1) * (1 / sum(w) + 1 / sum(v)))
        assert one.p_value == pytest.approx(chi2.sf(one.psi / (1 / sum(w) + 1 / sum(v)), len(used) - 1))
        assert one.by_chance == pytest.approx(chi2.isf(0.05, len(used) - 1) * (1 / sum(w) + 1 / sum(v)))
    unseen = {one.name: one.unseen_share for one in found.columns if one.unseen_share}
    assert unseen == {"purpose": pytest.approx(sum(v[new_bins["purpose"] == "new"]) / sum(v))}


def test_bins_are_called_by_what_holds_in_them():
    X, _ = loans(300)
    new = X.assign(purpose=X["purpose"].replace({"tv": "phone"}))
    found = drift(table(), X, new)
    assert {one.name: one.bins for one in found.columns} == {
        "income": ("income ≤ 2", "2 < income ≤ 3.5", "income > 3.5", "income is missing"),
        "purpose": (
            'purpose = "boat"',
            'purpose = "car"',
            'purpose = "home"',
            'purpose = "tv"',
            "purpose is missing",
            "purpose: not seen before",
        ),
        "age": ("age ≤ 30", "age > 30"),
        "grade": ('grade in {"low", "mid"}', 'grade = "top"'),
    }
    notes = found.bins_frame().set_index("bin")["note"]
    assert notes["purpose: not seen before"] == "not seen before"
    assert notes['purpose = "tv"'] == "empty now"
    assert notes["age > 30"] == ""


def test_an_empty_bin_counts_as_half_a_row_and_one_that_is_empty_in_both_not_at_all():
    cuts = ThresholdTable.from_list([("a", 1.0), ("a", 2.0), ("a", 3.0)], ["a"])
    old, new = np.array([[0.5]] * 6 + [[1.5]] * 4), np.array([[0.5]] * 3 + [[9.0]] * 2)
    found = drift(cuts, old, new).columns[0]
    p, q = np.array([6, 4, 0.5]) / 10.5, np.array([3, 0.5, 2]) / 5.5
    assert found.contribution == pytest.approx([*((q - p) * np.log(q / p))[:2], 0, ((q - p) * np.log(q / p))[2]])
    assert found.n_bins == 3
    assert found.reference_share.tolist() == [0.6, 0.4, 0, 0]  # shown as they are
    assert drift(cuts, old, new).bins_frame()["note"].tolist() == ["", "empty now", "empty", "empty before"]


def test_the_same_rows_have_not_drifted():
    X, _ = loans()
    found = drift(table(), X, X)
    assert [one.psi for one in found.columns] == [0] * 4
    assert set(found.to_frame()["reading"]) == {"stable"}
    assert (found.to_frame()["p_value"] == 1).all()


def test_old_and_new_may_be_exchanged():
    X, _ = loans(200)
    new, _ = loans(90, seed=3)
    there, back = drift(table(), X, new), drift(table(), new, X)
    assert [one.psi for one in there.columns] == pytest.approx([one.psi for one in back.columns])


def test_one_bin_cannot_drift():
    cuts = ThresholdTable.from_list([("a", 100.0), ("b", 0.0)], ["a", "b"])
    rng = np.random.default_rng(0)
    found = drift(cuts, rng.normal(size=(50, 2)), rng.normal(size=(20, 2)))
    constant = found.columns[0]
    assert (constant.n_bins, constant.psi, constant.expected, constant.by_chance) == (1, 0, 0, 0)
    assert np.isnan(constant.p_value)
    assert constant.reading == "stable"
    assert found.columns[1].n_bins == 2


def test_without_drift_the_index_is_on_average_what_is_expected_and_seldom_below_5_percent():
    cuts = ThresholdTable.from_list([("a", edge) for edge in (-1.0, 0.0, 1.0)], ["a"])
    rng = np.random.default_rng(0)
    found = [drift(cuts, rng.normal(size=(400, 1)), rng.normal(size=(250, 1))).columns[0] for _ in range(400)]
    psi = np.array([one.psi for one in found])
    assert psi.mean() == pytest.approx(found[0].expected, rel=0.1)
    assert np.mean([one.p_value < 0.05 for one in found]) == pytest.approx(0.05, abs=0.025)
    assert np.mean([one.psi <= one.by_chance for one in found]) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize(("shift", "word"), [(0.0, "stable"), (0.3, "stable"), (0.7, "look"), (1.5, "shifted")])
def test_the_usual_words(shift, word):
    cuts = ThresholdTable.from_list([("a", 0.0)], ["a"])
    grid = np.linspace(-2, 2, 2001)[:, None]
    one = drift(cuts, grid, grid + shift).columns[0]
    assert one.reading == word
    assert (one.psi < 0.1, 0.1 <= one.psi <= 0.25, one.psi > 0.25) == (word == "stable", word == "look", word == "shifted")


def test_a_large_index_of_few_rows_is_reported_as_chance():
    cuts = ThresholdTable.from_list([("a", edge) for edge in (-1.0, 0.0, 1.0)], ["a"])
    rng = np.random.default_rng(5)
    found = drift(cuts, rng.normal(size=(500, 1)), rng.normal(size=(12, 1)))
    assert found.columns[0].psi > 0.1
    assert "too few rows to distinguish drift from chance in a" in repr(found)
    moved = drift(cuts, rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 2)
    assert "too few" not in repr(moved)


# --- weights --------------------------------------------------------------------------------------------------------------


def test_weight_2_is_the_row_twice_and_weight_0_none():
    X, _ = loans(100)
    new, _ = loans(60, seed=1)
    rng = np.random.default_rng(0)
    w, v = rng.integers(0, 3, 100), rng.integers(0, 3, 60)
    weighted = drift(table(), X, new, sample_weight=w, sample_weight_new=v)
    repeated = drift(table(), X.loc[X.index.repeat(w)], new.loc[new.index.repeat(v)])
    pd.testing.assert_frame_equal(weighted.to_frame(), repeated.to_frame())
    pd.testing.assert_frame_equal(weighted.bins_frame(), repeated.bins_frame())
    pd.testing.assert_frame_equal(weighted.conditions_frame(), repeated.conditions_frame())


def test_small_weights_give_a_warning():
    X, _ = loans(100)
    with pytest.warns(LightWeightsWarning, match="sample_weight_new sums to 1, so the 100 rows count as only 1 rows"):
        drift(table(), X, X, sample_weight_new=np.full(100, 0.01))


# --- what thresholds may come in ------------------------------------------------------------------------------------------


def fitted():
    X, y = loans(200)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    return FCCAClassifier(FCCADiscretizer(model), OptimalTreeClassifier(regularization=0.005)).fit(X, y)


def test_a_table_a_discretizer_and_a_classifier_give_the_same_columns():
    X, _ = loans(200)
    new, _ = loans(80, seed=2)
    classifier = fitted()
    discretizer = classifier.discretizer_
    frames = [drift(one, X, new) for one in (discretizer.thresholds_, discretizer, classifier)]
    assert frames[0].leaves is None
    assert frames[1].leaves is None
    pd.testing.assert_frame_equal(frames[0].to_frame(), frames[1].to_frame())
    pd.testing.assert_frame_equal(frames[0].to_frame(), frames[2].to_frame().iloc[:-1])


def test_leaves_are_bins_of_a_classifier():
    X, _ = loans(200)
    new, _ = loans(80, seed=2)
    classifier = fitted()
    found = drift(classifier, X, new).leaves
    assert found.bins == tuple(classifier.rules())
    leaves = np.flatnonzero(classifier.structure_.feature < 0)
    before, after = ([int((classifier.apply(rows) == leaf).sum()) for leaf in leaves] for rows in (X, new))
    assert (found.reference.tolist(), found.new.tolist()) == (before, after)
    assert found.psi == pytest.approx(plain_psi(before, after))
    frame = drift(classifier, X, new).to_frame()
    assert frame["column"].iloc[-1] == "leaves of the tree"
    assert frame["psi"].iloc[:-1].is_monotonic_decreasing


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
def test_rows_with_unknown_values_are_in_the_bin_of_their_leaf():
    X, _ = loans(200)
    classifier = fitted()
    assert "purpose" in " ".join(classifier.rules())
    new = X.assign(
        purpose=X["purpose"].mask(np.arange(200) < 50, "phone"), grade=X["grade"].astype(str).mask(X.index < 5, "?")
    )
    found = drift(classifier, X, new).leaves
    leaves = np.flatnonzero(classifier.structure_.feature < 0)
    assert found.new.tolist() == [int((classifier.apply(new) == leaf).sum()) for leaf in leaves]


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
def test_a_missing_value_is_in_the_bin_of_its_leaf():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    classifier = FCCAClassifier().fit(X, X[:, 0] > 0)
    new = X.copy()
    new[:7, 0] = np.nan
    found = drift(classifier, X, new)
    leaves = np.flatnonzero(classifier.structure_.feature < 0)
    assert found.leaves.new.tolist() == [int((classifier.apply(new) == leaf).sum()) for leaf in leaves]
    assert found.columns[0].bins[-1] == "x0 is missing"


def test_a_tree_of_one_leaf_cannot_drift():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), np.arange(60) % 2
    classifier = FCCAClassifier(None, OptimalTreeClassifier(regularization=0.9)).fit(X, y)
    found = drift(classifier, X, X + 1).leaves
    assert (found.bins, found.psi, found.n_bins) == ((classifier.rules()[0],), 0, 1)


def test_conditions_have_two_bins():
    X, _ = loans(200)
    new, _ = loans(80, seed=2)
    new = new.assign(purpose=new["purpose"].replace({"car": "phone"}))
    frame = drift(table(), X, new).conditions_frame()
    assert frame["condition"].tolist() == table().names()
    for line in frame.itertuples():
        before, after = holds(line.condition, X), holds(line.condition, new)
        assert (line.reference, line.new) == (pytest.approx(before.mean()), pytest.approx(after.mean()))
        counts = [[int((~rows).sum()), int(rows.sum())] for rows in (before, after)]
        assert line.psi == pytest.approx(plain_psi(*counts))


def test_is_missing_does_not_hold_for_an_unknown_category():
    X = pd.DataFrame({"purpose": ["car", "tv", None, "car"]})
    found = drift(ThresholdTable.from_list([("purpose", None)], X), X, X.replace({"tv": "phone"}))
    assert found.conditions[0].new.tolist() == [3, 1]
    assert found.columns[0].bins == ("purpose is not missing", "purpose is missing", "purpose: not seen before")
    assert found.columns[0].new.tolist() == [2, 1, 1]


def test_a_column_with_only_a_missing_condition_has_two_bins():
    X = pd.DataFrame({"income": [1.0, None, 3.0]})
    found = drift(ThresholdTable.from_list([("income", None)], X), X, X.iloc[[0, 2]]).columns[0]
    assert found.bins == ("income is not missing", "income is missing")
    assert (found.reference.tolist(), found.new.tolist()) == ([2, 1], [2, 0])


def test_columns_without_a_condition_may_hold_anything():
    X, _ = loans(100)
    one = ThresholdTable.from_list([("income", 2.0)], X)
    new = X.assign(purpose="never seen", age=np.inf, grade="?")
    found = drift(one, X, new)
    assert [column.name for column in found.columns] == ["income"]
    assert found.columns[0].psi == 0


def test_rows_may_come_as_arrays_codes_lists_and_polars():
    polars = pytest.importorskip("polars")
    X, _ = loans(120)
    new, _ = loans(70, seed=4)
    new = new.assign(purpose=new["purpose"].replace({"tv": "phone"}))
    wanted = drift(table(), X, new).bins_frame()
    columns = table().columns
    codes = columns.encode(X)
    later = columns.encode(new.replace({"purpose": {"phone": "tv"}}))
    later[(new["purpose"] == "phone").to_numpy(), 1] = 4  # one more than there are
    as_polars = [polars.from_pandas(one.assign(grade=one["grade"].astype(str))) for one in (X, new)]
    as_objects = [one.assign(grade=one["grade"].astype(object)).to_numpy(dtype=object) for one in (X, new)]
    for old_rows, new_rows in ((codes, later), as_polars, as_objects, [one.tolist() for one in as_objects]):
        pd.testing.assert_frame_equal(drift(table(), old_rows, new_rows).bins_frame(), wanted)


# --- what cannot be compared ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda X: (table(), X, X.iloc[:0]), "X_new has no rows, so there is nothing to compare"),
        (lambda X: (table(), X.iloc[:0], X), "X_reference has no rows"),
        (lambda X: (table(), X, []), r"X_new must be a table of rows and columns, got shape \(0,\)"),
        (lambda X: (table(), X, X["age"]), r"X_new must be a table of rows and columns, got shape \(400,\)"),
        (lambda X: (table(), X, X.drop(columns="age")), "The thresholds are on different columns: X_new lacks 'age'"),
        (lambda X: (table(), X, X.assign(more=1)), "X_new also has 'more'"),
        (
            lambda X: (table(), X[["age", "income", "purpose", "grade"]], X),
            "X_reference has the right columns in another order",
        ),
        (lambda X: (table(), X, X.to_numpy()[:, :3]), r"X_new has 3 column\(s\), but the thresholds are on 4"),
        (lambda X: (table(), X, X.assign(income=np.inf)), "In X_new: X has infinite values: column 'income'"),
        (lambda X: (table(), X, X.assign(income="much")), "In X_new: X has values that are not numbers: column 'income'"),
        (lambda X: (DecisionTreeClassifier(), X, X), "Expected a ThresholdTable, .* got DecisionTreeClassifier"),
        (lambda X: (FCCAClassifier, X, X), "got the class FCCAClassifier"),
        (lambda X: (ThresholdTable.from_list([], ["a"]), X, X), "The table has no thresholds"),
    ],
)
def test_invalid_comparisons_are_refused(given, message):
    X, _ = loans()
    with pytest.raises(InvalidInputError, match=message):
        drift(*given(X))


def test_errors_name_the_wrong_weights():
    X, _ = loans(50)
    with pytest.raises(
        InvalidInputError, match=r"^sample_weight must be 1D with one entry per row, got shape \(3,\) for 50"
    ):
        drift(table(), X, X, sample_weight=[1, 2, 3])
    with pytest.raises(InvalidInputError, match=r"^sample_weight_new must have at least one non-zero entry"):
        drift(table(), X, X, sample_weight_new=np.zeros(50))


@pytest.mark.parametrize("estimator", [FCCAClassifier(), FCCADiscretizer(), MidpointDiscretizer()])
def test_unfitted_estimators_are_refused(estimator):
    X, _ = loans(50)
    with pytest.raises(NotFittedError):
        drift(estimator, X, X)


# --- shown ----------------------------------------------------------------------------------------------------------------


def test_notebooks_show_the_columns_with_every_name_escaped():
    cuts = ThresholdTable.from_list([(f"<b>{at}", 0.0) for at in range(31)], [f"<b>{at}" for at in range(31)])
    rng = np.random.default_rng(0)
    html = drift(cuts, rng.normal(size=(50, 31)), rng.normal(size=(50, 31)) + 1)._repr_html_()
    assert "&lt;b&gt;3" in html
    assert "<b>" not in html
    assert "… 1 more" in html


def test_sentences_name_unknown_categories_and_the_leaves():
    X, _ = loans(200)
    new = X.assign(purpose=X["purpose"].mask(X.index < 20, "phone"))
    text = repr(drift(fitted(), X, new))
    assert "200 new rows and 200 old rows" in text
    assert "Unknown categories: purpose in 10.0% of the new rows." in text
    assert "The leaves of the tree: " in text
