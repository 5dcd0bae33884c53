"""Figures by group: by hand, against scikit-learn's metrics, and on real tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import real_data
from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier
from fcca.constraints import Immutable
from fcca.exceptions import InvalidInputError
from fcca.fairness import distill_without, gaps, group_metrics, recourse_by_group
from fcca.models import prepared
from fcca.tables import Columns

INCOME = [0, 2, 8, 4, 5, 10, 6]
WOMEN, MEN = "woman", "man"


def people():
    """Three women and four men. A model of income cuts at 5.5, and a change lands on 6."""
    return pd.DataFrame({"male": [0, 0, 0, 1, 1, 1, 1], "income": INCOME})


def explainer_of(labels, X=None, **options):
    X = people() if X is None else X
    return CounterfactualExplainer(DecisionTreeClassifier(random_state=0).fit(X, labels), X, **options)


def by_income():
    return explainer_of(np.where(people()["income"] > 5.5, "yes", "no"))


def by_sex():
    return explainer_of(np.where(people()["male"] == 1, "yes", "no"))


# --- recourse by hand -----------------------------------------------------------------------------------------------------


def test_costs_by_hand_of_a_model_that_does_not_use_the_sensitive_column():
    found = recourse_by_group(by_income(), people(), "male", favourable="yes")
    women, men = found.groups.loc[0], found.groups.loc[1]
    assert women[["rows", "favourable", "unfavourable", "asked", "optimal"]].tolist() == [3, 1, 2, 2, 2]
    assert men[["rows", "favourable", "unfavourable", "asked", "optimal"]].tolist() == [4, 2, 2, 2, 2]
    assert women["mean_cost"] == pytest.approx((0.7 + 0.5) / 2)  # 0.1 per column and (6 - income) / 10
    assert men["mean_cost"] == pytest.approx((0.3 + 0.2) / 2)
    assert found.cost_ratio == pytest.approx(0.6 / 0.25)
    assert found.overall["mean_cost"] == pytest.approx((0.7 + 0.5 + 0.3 + 0.2) / 4)
    assert found.overall["median_cost"] == pytest.approx((0.5 + 0.3) / 2)
    assert found.overall["mean_changes"] == 1
    assert found.overall[["sensitive_changed", "sensitive_share", "sensitive_enough"]].tolist() == [0, 0.0, 0]
    assert found.moves.to_dict("list") == {
        "group": [0, 1],
        "column": ["income", "income"],
        "rows": [2, 2],
        "share": [1.0, 1.0],
    }
    assert "(ratio 2.40)" in repr(found)
    assert "biased" not in repr(found)


def test_a_model_of_the_sensitive_column_alone_is_detected():
    found = recourse_by_group(by_sex(), people(), "male", favourable="yes")
    assert found.groups.loc[0, ["favourable_share", "mean_cost", "sensitive_share"]].tolist() == [0.0, 1.1, 1.0]
    assert found.groups.loc[0, ["free_optimal", "sensitive_changed", "sensitive_enough"]].tolist() == [3, 3, 3]
    assert found.groups.loc[1, ["favourable_share", "asked"]].tolist() == [1.0, 0]
    assert found.groups.loc[1, ["mean_cost", "median_cost", "mean_changes", "sensitive_share"]].isna().all()
    assert np.isnan(found.cost_ratio)
    assert "the cheapest change includes male itself for 3 of 3 rows (0 3 of 3)" in repr(found)
    assert "biased" in repr(found)


def test_rules_count_for_costs_but_not_for_the_sign_of_bias():
    rules = [Immutable("male")]
    given_here = recourse_by_group(by_sex(), people(), "male", favourable="yes", constraints=rules)
    explainer = explainer_of(np.where(people()["male"] == 1, "yes", "no"), constraints=rules)
    own = recourse_by_group(explainer, people(), "male", favourable="yes")
    for found in (given_here, own):
        assert found.groups.loc[0, ["optimal", "infeasible", "sensitive_changed"]].tolist() == [0, 3, 3]
        assert np.isnan(found.groups.loc[0, "mean_cost"])
        assert found.constraints == tuple(rules)
        assert "3 proven to have none" in repr(found)
        assert "Rows for which no change leads to yes: 0 3 of 3 (100%). The costs are for the other rows only." in repr(
            found
        )
        assert found.groups["infeasible_share"].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    assert explainer.constraints == tuple(rules)  # as they were


def test_the_sensitive_column_alone_is_enough_even_if_another_is_cheaper():
    X = pd.DataFrame({"sex": [WOMEN, MEN] * 6, "income": np.repeat(np.arange(6), 2)})
    labels = np.where((X["income"] >= 4) | ((X["sex"] == MEN) & (X["income"] >= 2)), "yes", "no")
    classifier = prepared(DecisionTreeClassifier(random_state=0), Columns.of_table(X)).fit(X, labels)
    explainer = CounterfactualExplainer(classifier, X, category_distance=1)
    found = recourse_by_group(explainer, X, "sex", favourable="yes")
    # A woman with 3 needs 1 more, at a cost of 0.3; as a man she would get it as she is, at a cost of 1.1.
    assert found.groups.loc[WOMEN, ["unfavourable", "sensitive_changed", "sensitive_enough"]].tolist() == [4, 0, 2]
    assert found.groups.loc[MEN, ["unfavourable", "sensitive_changed", "sensitive_enough"]].tolist() == [2, 0, 0]
    assert "enough for 2 of 6 (man 0 of 2, woman 2 of 4)" in repr(found)


def test_rows_are_sampled_per_group_and_stand_for_all():
    X = pd.DataFrame({"group": [0] * 5 + [1] * 2, "income": [1, 2, 3, 4, 10, 3, 9]})
    explainer = explainer_of(np.where(X["income"] > 5, 1, 0), X)
    everyone = recourse_by_group(explainer, X, "group", favourable=1)
    assert "drawn at random" not in repr(everyone)
    found = recourse_by_group(explainer, X, "group", favourable=1, max_rows=2, random_state=3)
    assert found.groups["asked"].tolist() == [2, 1]
    assert found.overall["asked"] == 3
    first, second = found.groups["mean_cost"]
    assert found.overall["mean_cost"] == pytest.approx((4 * first + 1 * second) / 5)
    assert "3 of 5" in found.sentences()[-1]
    again = recourse_by_group(explainer, X, "group", favourable=1, max_rows=2, random_state=3)
    pd.testing.assert_frame_equal(found.to_frame(), again.to_frame())
    whole = recourse_by_group(explainer, X, "group", favourable=1, max_rows=4)
    pd.testing.assert_frame_equal(whole.groups, everyone.groups)


def test_groups_may_be_binned_or_given_by_row():
    explainer, X = by_income(), people()
    cut = recourse_by_group(explainer, X, "income", favourable="yes", groups=lambda income: pd.cut(income, [-1, 3, 6, 10]))
    assert [str(label) for label in cut.groups.index] == ["(-1, 3]", "(3, 6]", "(6, 10]"]
    assert cut.groups["sensitive_changed"].tolist() == [2, 2, 0]
    by_row = recourse_by_group(explainer, X, "male", favourable="yes", groups=np.where(X["male"], MEN, WOMEN))
    assert by_row.groups["mean_cost"].to_dict() == pytest.approx({MEN: 0.25, WOMEN: 0.6})
    outside = recourse_by_group(explainer, X, pd.Series(["a", "b"] * 3 + ["a"], name="town"), favourable="yes")
    assert outside.sensitive == "town"
    assert outside.groups[["sensitive_changed", "sensitive_share", "sensitive_enough"]].isna().all(axis=None)
    assert "itself" not in repr(outside)
    array = explainer_of(np.where(X["male"] == 1, "yes", "no"), X.to_numpy())
    assert recourse_by_group(array, X.to_numpy(), "x0", favourable="yes").overall["sensitive_changed"] == 3


def test_rows_without_a_value_are_a_group():
    X = pd.DataFrame({"sex": [WOMEN, MEN, None] * 20, "income": np.arange(60.0)})
    classifier = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, random_state=0)
    classifier = prepared(classifier, Columns.of_table(X)).fit(X, X["income"] > 30)
    found = recourse_by_group(CounterfactualExplainer(classifier, X), X, "sex", favourable=True)
    assert found.groups.index.tolist() == [MEN, WOMEN, "(missing)"]
    assert found.groups["rows"].tolist() == [20, 20, 20]


def test_one_of_many_classes_can_be_the_favourable_one():
    X = pd.DataFrame({"male": [0, 1] * 15, "income": np.arange(30)})
    explainer = explainer_of(np.repeat(["low", "mid", "top"], 10), X)
    found = recourse_by_group(explainer, X, "male", favourable="top")
    assert found.groups["unfavourable"].tolist() == [10, 10]
    assert found.groups["optimal"].tolist() == [10, 10]
    assert set(found.explanations.target) == {"top"}


def test_linear_models_are_supported():
    X = people().astype(float)
    classifier = LogisticRegression().fit(X, X["income"] > 5.5)
    found = recourse_by_group(CounterfactualExplainer(classifier, X), X, "male", favourable=True)
    assert found.groups["optimal"].sum() == found.overall["asked"]


def test_polars_tables_are_taken():
    polars = real_data.imported("polars")
    found = recourse_by_group(by_sex(), polars.from_pandas(people()), "male", favourable="yes")
    assert found.overall["sensitive_changed"] == 3


def test_the_frame_ends_with_all_groups():
    found = recourse_by_group(by_income(), people(), "male", favourable="yes")
    assert found.to_frame().index.tolist() == [0, 1, "all groups"]
    assert found.to_frame()["rows"].tolist() == [3, 4, 7]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive": "mal"}, "Unknown column 'mal'. Did you mean 'male'"),
        ({"favourable": "maybe"}, "favourable='maybe' must be one of the classes: \\['no', 'yes'\\]"),
        ({"max_rows": 0}, "max_rows must be a whole number of at least 1, got 0"),
        ({"groups": [0, 1]}, "7 rows\\), got 2"),
        ({"groups": ["a"] * 7}, "only one value, 'a'"),
        ({"sensitive": ["a"] * 6 + ["b"], "groups": ["a"] * 7}, "only if 'sensitive' is the name of a column"),
        ({"sensitive": 3}, "one value per row, got 3"),
        ({"X": pd.DataFrame({"male": [0, 1], "income": [9, 10]})}, "All 2 rows are already predicted as 'yes'"),
        ({"X": pd.DataFrame({"male": [0, 0], "income": [1, 10]})}, "only one value, 0"),
        ({"constraints": ["male"]}, "constraints must be rules"),
    ],
)
def test_invalid_comparisons_are_refused(changes, message):
    arguments = {"X": people(), "sensitive": "male", "favourable": "yes"} | changes
    X, sensitive = arguments.pop("X"), arguments.pop("sensitive")
    with pytest.raises(InvalidInputError, match=message):
        recourse_by_group(by_income(), X, sensitive, **arguments)


def test_a_column_of_many_numbers_must_be_cut():
    X = pd.DataFrame({"male": [0, 1] * 10, "income": np.arange(20)})
    with pytest.raises(InvalidInputError, match=r"20 different numbers.*pd\.cut"):
        recourse_by_group(explainer_of(X["income"] > 5, X), X, "income", favourable=True)


# --- metrics --------------------------------------------------------------------------------------------------------------


def answered(seed=0, n=500):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    truth = rng.choice(["good", "bad"], n)
    return truth, np.where(rng.random(n) < 0.3, rng.choice(["good", "bad"], n), truth), groups, rng.integers(0, 4, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_those_of_sklearn_group_by_group(weighted):
    truth, answer, groups, weight = answered()
    weights = weight.astype(float) if weighted else None
    found = group_metrics(truth, answer, groups, "good", weights)
    for group in "abc":
        here = groups == group
        given = {} if weights is None else {"sample_weight": weights[here]}
        line, y, p = found.loc[group], truth[here], answer[here]
        assert line["rows"] == here.sum()
        assert line["base_rate"] == pytest.approx(np.average(y == "good", weights=given.get("sample_weight")))
        assert line["selection_rate"] == pytest.approx(np.average(p == "good", weights=given.get("sample_weight")))
        assert line["accuracy"] == pytest.approx(accuracy_score(y, p, **given))
        assert line["tpr"] == pytest.approx(recall_score(y, p, pos_label="good", **given))
        assert line["fpr"] == pytest.approx(1 - recall_score(y, p, pos_label="bad", **given))
        assert line["precision"] == pytest.approx(precision_score(y, p, pos_label="good", **given))
    distance = gaps(truth, answer, groups, "good", weights)
    spread = found.max(numeric_only=True) - found.min(numeric_only=True)
    assert distance.demographic_parity_difference == pytest.approx(spread["selection_rate"])
    assert distance.disparate_impact == pytest.approx(found["selection_rate"].min() / found["selection_rate"].max())
    assert distance.equal_opportunity_difference == pytest.approx(spread["tpr"])
    assert distance.equalized_odds_difference == pytest.approx(max(spread["tpr"], spread["fpr"]))
    assert distance.accuracy_difference == pytest.approx(spread["accuracy"])


def test_weight_two_is_the_row_twice():
    truth, answer, groups, weight = answered()
    twice = np.repeat(np.arange(len(truth)), weight)
    once = group_metrics(truth, answer, groups, "good", weight).drop(columns="rows")
    repeated = group_metrics(truth[twice], answer[twice], groups[twice], "good").drop(columns="rows")
    pd.testing.assert_frame_equal(once, repeated)


def test_a_group_without_favourable_rows_has_no_rate_and_says_so():
    found = group_metrics([1, 0, 0, 0], [1, 0, 0, 0], ["a", "a", "b", "b"], 1)
    assert found.loc["b", ["tpr", "precision"]].isna().all()
    assert (
        found.loc["b", "note"] == "tpr is undefined: no favourable label; precision is undefined: no favourable prediction"
    )
    assert found.loc["a", "note"] == ""
    distance = gaps([1, 0, 0, 0], [1, 0, 0, 0], ["a", "a", "b", "b"], 1)
    assert np.isnan(distance.equal_opportunity_difference)
    assert np.isnan(distance.equalized_odds_difference)
    assert distance.disparate_impact == 0
    assert distance.notes == ("b is left out of comparisons of tpr",)
    nobody = gaps([1, 0, 1, 0], [0, 0, 0, 0], ["a", "a", "b", "b"], 1)
    assert np.isnan(nobody.disparate_impact)
    assert nobody.passes_four_fifths is None
    assert "no row of any group" in nobody.notes[0]


def test_weights_may_be_fractions_and_may_leave_a_group_out():
    found = group_metrics([1, 0, 1, 1], [1, 0, 0, 1], ["a", "a", "b", "c"], 1, [0.5, 1.0, 0.25, 0])
    assert found["positives"].tolist() == [0.5, 0.25, 0.0]
    assert found.loc["a", "selection_rate"] == pytest.approx(1 / 3)
    assert found.loc["c", "note"] == "all rows have weight 0"
    distance = gaps([1, 0, 1, 1], [1, 0, 0, 1], ["a", "a", "b", "c"], 1, [0.5, 1.0, 0.25, 0])
    assert distance.demographic_parity_difference == pytest.approx(1 / 3)
    assert "c is left out of comparisons of selection_rate" in distance.notes


@pytest.mark.parametrize(("selected", "passes"), [(8, True), (7, False), (10, True)])
def test_four_fifths_is_four_fifths(selected, passes):
    answer = np.r_[np.ones(10), np.zeros(5), np.arange(15) < selected].astype(int)
    found = gaps(np.ones(30), answer, ["a"] * 15 + ["b"] * 15, 1)
    assert found.passes_four_fifths is passes
    assert found.to_series()["disparate_impact"] == pytest.approx(selected / 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1, 0], ["a", "b"], 2), "favourable=2 must be one of the labels"),
        (([1, 0], [1, 0], ["a", "a"], 1), "only one value"),
        (([1, 0], [1], ["a", "b"], 1), r"y_true and y_pred must have the same number of rows \(2 and 1\)"),
        (([1, 0], [1, 0], ["a"], 1), "2 rows\\), got 1"),
        (([1, 0], [1, 0], "ab", 1), "one value per row"),
    ],
)
def test_metrics_of_inconsistent_input_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        group_metrics(*arguments)


# --- the tree without the column ------------------------------------------------------------------------------------------


def biased(n=400, seed=0, gaps=False):
    """Only men with an income above 4 are paid; sex and income are independent."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"sex": rng.choice([WOMEN, MEN], n, p=[0.4, 0.6]), "income": rng.integers(0, 20, n), "age": rng.integers(20, 70, n)}
    )
    y = np.where((X["sex"] == MEN) & (X["income"] > 4), "paid", "not")
    if gaps:
        X.loc[rng.random(n) < 0.2, "sex"] = None
    return X, y


@pytest.mark.parametrize("gaps", [False, True])
def test_the_second_tree_never_uses_the_sensitive_column(gaps):
    X, y = biased(gaps=gaps)
    black_box = HistGradientBoostingClassifier(max_iter=20, max_depth=3, random_state=0)
    tree = OptimalTreeClassifier(max_depth=3, regularization=0.001)
    classifier = FCCAClassifier(FCCADiscretizer(black_box), tree)
    found = distill_without(classifier, X, y, "sex", favourable="paid")
    assert found.models["uses_sensitive"].tolist()[1:] == [True, False]
    assert found.models["sensitive_conditions"].tolist()[2] == 0
    assert not any(name.startswith("sex") for name in found.without.discretizer_.all_thresholds_.names())
    assert any(name.startswith("sex") for name in found.everything.discretizer_.all_thresholds_.names())
    # The second tree answers all of the same income and age alike, so groups get what their incomes are worth.
    distance = found.gaps["demographic_parity_difference"]
    assert distance["tree"] > 0.3
    assert distance["tree without sex"] < 0.15
    assert found.judged_on == "training rows"
    assert classifier.discretizer.constraints is None  # as it was
    expected = group_metrics(y, found.everything.predict(X), X["sex"], "paid")
    pd.testing.assert_frame_equal(found.metrics.xs("tree"), expected)
    # Both are about the very same black box.
    assert (
        found.without.discretizer_.estimator_.predict(X).tolist() == found.everything.discretizer_.predict_target(X).tolist()
    )


def test_held_out_rows_judge_where_given():
    X, y = biased()
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    tree = OptimalTreeClassifier(max_depth=2, regularization=0.001)
    found = distill_without(
        FCCAClassifier(tree=tree), X_train, y_train, "sex", favourable="paid", X_test=X_test, y_test=y_test
    )
    assert found.judged_on == "held-out rows"
    assert found.metrics.xs("black box")["rows"].sum() == len(X_test)
    assert found.models.loc["tree", "accuracy"] == pytest.approx(found.everything.score(X_test, y_test))
    assert found.models.loc["tree without sex", "fidelity"] == pytest.approx(found.without.fidelity(X_test))
    assert f"on {len(X_test)} held-out rows" in repr(found)


def test_a_number_column_is_cut_into_groups_and_weights_count():
    X, y = biased()
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    found = distill_without(
        FCCAClassifier(), X, y, "income", favourable="paid", groups=lambda x: pd.cut(x, [-1, 9, 20]), sample_weight=weight
    )
    expected = group_metrics(y, found.without.predict(X), pd.cut(X["income"], [-1, 9, 20]), "paid", weight)
    pd.testing.assert_frame_equal(found.metrics.xs("tree without income"), expected)


def test_an_array_has_columns_by_number():
    X, y = biased()
    table = np.column_stack([X["sex"] == MEN, X["income"]]).astype(float)
    found = distill_without(FCCAClassifier(), table, y, "x0", favourable="paid")
    assert found.metrics.xs("tree").index.tolist() == [0, 1]
    assert found.models.loc["tree without x0", "sensitive_conditions"] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive": "gender"}, "Unknown column 'gender'"),
        ({"sensitive": 0}, "must be the name of a column"),
        ({"favourable": "yes"}, "favourable='yes' must be one of the classes"),
        ({"X_test": biased()[0]}, "both X_test and y_test"),
        ({"classifier": GradientBoostingClassifier()}, "must be an FCCAClassifier"),
        ({"classifier": FCCAClassifier(GTREDiscretizer())}, "GTREDiscretizer has no parameter 'constraints'"),
        ({"sensitive": "income"}, "20 different numbers"),
    ],
)
def test_invalid_distillations_are_refused(changes, message):
    X, y = biased()
    arguments = {"classifier": FCCAClassifier(), "X": X, "y": y, "sensitive": "sex", "favourable": "paid"} | changes
    with pytest.raises(InvalidInputError, match=message):
        distill_without(**arguments)


# --- real tables ----------------------------------------------------------------------------------------------------------


def zipped(name):
    """A table that is kept as .csv.gz."""
    path = real_data.data_file(name) if not real_data.FOLDER else f"{real_data.FOLDER}/{name}.csv.gz"
    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        real_data.absent(f"{name}.csv.gz is not in FCCA_DATA={real_data.FOLDER}")


def real_table(name):
    table = zipped(name) if name == "adult" else pd.read_csv(real_data.data_file(name))
    return table.drop(columns="label"), table["label"]


def fitted_on(X, y):
    return prepared(HistGradientBoostingClassifier(max_iter=30, max_depth=3, random_state=0), Columns.of_table(X)).fit(X, y)


@pytest.mark.parametrize(
    ("name", "sensitive", "favourable"),
    [("compas", "sex", 0), ("compas", "race", 0), ("german_credit", "personal_status", 0), ("adult", "sex", 1)],
)
def test_recourse_on_real_tables(name, sensitive, favourable):
    X, y = real_table(name)
    classifier = fitted_on(X, y)
    some = X.sample(min(len(X), 2000), random_state=0)
    explainer = CounterfactualExplainer(classifier, X, n_jobs=2, time_limit_per_row=5)
    found = recourse_by_group(
        explainer, some, sensitive, favourable=favourable, constraints=[Immutable(sensitive)], max_rows=60
    )
    answers = classifier.predict(some)
    expected = group_metrics(y[some.index], answers, some[sensitive], favourable)
    assert found.groups["rows"].tolist() == expected["rows"].tolist()
    assert found.groups["favourable"].tolist() == expected["selected"].tolist()
    statuses = found.groups[["optimal", "infeasible", "unfinished", "unverified"]].sum(axis=1)
    assert statuses.tolist() == found.groups["asked"].tolist()
    assert (found.groups["unverified"] == 0).all()
    # Every change keeps the rule, and the classifier itself answers it favourably.
    optimal = found.explanations.is_status("optimal")
    changed = explainer.engine.given(found.explanations.points[optimal])
    assert (classifier.predict(changed) == favourable).all()
    assert sensitive not in set(found.moves["column"])
    # A rule never makes a change cheaper.
    both = optimal & found.free_explanations.is_status("optimal")
    assert (found.explanations.cost[both] >= found.free_explanations.cost[both] - 1e-9).all()


def test_sensitive_enough_agrees_with_predict_on_compas():
    X, y = real_table("compas")
    classifier = fitted_on(X, y)
    found = recourse_by_group(CounterfactualExplainer(classifier, X, n_jobs=2), X, "sex", favourable=0)
    flipped = X.assign(sex=np.where(X["sex"] == "Male", "Female", "Male"))
    helped = (classifier.predict(X) == 1) & (classifier.predict(flipped) == 0)
    assert found.groups["sensitive_enough"].to_dict() == {sex: helped[X["sex"] == sex].sum() for sex in ("Female", "Male")}


def test_distillation_of_compas_without_race():
    X, y = real_table("compas")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    classifier = FCCAClassifier(tree=OptimalTreeClassifier(max_depth=3, regularization=0.001))
    found = distill_without(classifier, X_train, y_train, "race", favourable=0, X_test=X_test, y_test=y_test)
    assert found.models.loc["tree without race", "sensitive_conditions"] == 0
    assert found.models["accuracy"].min() > 0.6
    assert found.gaps["disparate_impact"].between(0, 1).all()
