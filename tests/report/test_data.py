"""The data of a report agree with the classifier."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import _safe_indexing

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.constraints import Cost, Immutable
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.report import _levels
from fcca.report._levels import certificate, numbers, shown_text
from fcca.report._page_data import data_document, listed_conditions
from fcca.report._report_input import checked_input
from fcca.report._rows_data import picked, rows_document, sample
from fcca.report._sliders import check_granularities, make_sliders
from mixed_tables import loans

from .fitted import CASES, answered, first_level, fitted, levels_of, stumps


def documents(classifier, given=(None, None, None), held_out=(None, None), Q=(0.0, 0.6, 0.9), time_limit=10.0, **more):
    X, y, weight = (*given, None)[:3]
    inputs = checked_input(classifier, X, y, weight, *held_out, more.pop("row_numbers", None))
    axes, first, notes = make_sliders(inputs, check_granularities(Q), more.pop("n_thresholds", ()), time_limit)
    listed = listed_conditions(inputs, axes, more.pop("most", None))
    data = data_document(inputs, axes, first, listed, notes=notes, **more)
    chosen = np.arange(len(inputs.training))
    return data, rows_document(inputs, data, chosen, listed)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    classifier, given_rows = fitted(request.param)
    return classifier, given_rows, *documents(classifier)


@pytest.fixture(scope="module", params=[name for name in CASES if name != "GTRE"])
def case_with_levels(request):
    classifier, given_rows = fitted(request.param)
    return classifier, given_rows, *documents(classifier)


def counted(given_rows):
    """Rows, labels and weights without those of weight 0, and their positions."""
    X, y, weight = (*given_rows, None)[:3]
    rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    return _safe_indexing(X, rows), np.asarray(y)[rows], None if weight is None else weight[rows], rows


# --- levels -------------------------------------------------------------------------------------------------------------


def test_the_page_predicts_every_row_as_the_classifier_at_that_granularity_does(case_with_levels):
    classifier, given_rows, data, rows = case_with_levels
    X, *_ = counted(given_rows)
    classes = sorted({*classifier.classes_.tolist(), *np.unique(given_rows[1]).tolist()})
    assert data["classes"] == [str(label) for label in classes]
    for level in levels_of(data):
        predicted = classifier.at_granularity(level["value"]).predict(X).tolist()
        assert [classes[answered(data, level, rows, i)] for i in range(len(X))] == predicted


def test_the_levels_are_those_asked_for_and_the_classifiers_own(case_with_levels):
    classifier, _, data, _ = case_with_levels
    assert [level["value"] for level in levels_of(data)] == sorted({0.0, 0.6, 0.9, classifier.discretizer_.Q})
    assert first_level(data)["value"] == classifier.discretizer_.Q


def test_thresholds_and_counts_are_those_of_the_discretizer(case_with_levels):
    classifier, _, data, _ = case_with_levels
    discretizer = classifier.discretizer_
    table = discretizer.all_thresholds_
    assert [line["count"] for line in data["conditions"]] == table.count.tolist()
    assert [data["columns"][line["column"]]["name"] for line in data["conditions"]] == [
        data_name(table.feature_names[j]) for j in table.feature
    ]
    assert data["n_conditions"] == len(table)
    for level in levels_of(data):
        kept = classifier.at_granularity(level["value"]).discretizer_.thresholds_
        assert [data["conditions"][at]["text"] for at in level["kept"]] == [data_name(name) for name in kept.names()]
        assert level["n_kept"] == len(kept)


def data_name(name):
    shown = name.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")
    return re.sub(r"(?<=[>≤] )\d{4,}", lambda digits: f"{int(digits[0]):,}", shown)


def baseline(y, weight=None):
    """The first of the most frequent labels, and its share."""
    share = {label: np.average(y == label, weights=weight) for label in np.unique(y).tolist()}
    most = max(share, key=share.get)
    return {"baseline": pytest.approx(share[most]), "commonest": str(most)}


def test_the_baseline_always_predicts_the_most_frequent_label_of_the_training_rows():
    X, y = fitted("breast cancer")[1]
    train = np.arange(300)
    test = np.concatenate([np.flatnonzero(y == "malignant")[:30], np.flatnonzero(y == "benign")[:10]])
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.7)).fit(X.iloc[train], y[train])
    level = documents(classifier, held_out=(X.iloc[test], y[test]))[0]["axes"][0]["levels"][0]
    assert {name: level["training"][name] for name in ("baseline", "commonest")} == baseline(y[train])
    commonest = level["training"]["commonest"]
    assert (level["held_out"]["baseline"], level["held_out"]["commonest"]) == ((y[test] == commonest).mean(), commonest)
    rare = {"malignant": "benign", "benign": "malignant"}[commonest]
    only_rare = np.flatnonzero(y == rare)[:20]
    level = documents(classifier, held_out=(X.iloc[only_rare], y[only_rare]))[0]["axes"][0]["levels"][0]
    assert (level["held_out"]["baseline"], level["held_out"]["commonest"]) == (0.0, commonest)


def test_rates_are_those_of_the_metrics_on_the_weighted_rows(case_with_levels):
    classifier, given_rows, data, _ = case_with_levels
    X, y, weight, _ = counted(given_rows)
    for level in levels_of(data):
        other = classifier.at_granularity(level["value"])
        B, black_box = other.discretizer_.transform(X), other.discretizer_.predict_target(X)
        assert level["training"] == {
            "rows": len(y),
            "accuracy": fidelity(other.predict(X), y, weight),
            "fidelity": other.fidelity_,
            "compression": compression_rate(B, weight),
            "inconsistency": inconsistency_rate(B, y, weight),
            **baseline(y, weight),
        }
        assert data["black_box"]["training"] == fidelity(black_box, y, weight)
        assert data["black_box"]["held_out"] is None
        assert level["held_out"] is None


def test_nodes_hold_the_weight_and_the_rows_that_reach_them(case):
    classifier, _, data, _ = case
    tree, structure = first_level(data)["tree"], classifier.structure_
    assert tree["rows"] == structure.n_rows.tolist()
    position = [data["classes"].index(str(label)) for label in classifier.classes_.tolist()]
    np.testing.assert_array_equal(np.array(tree["weight"])[:, position], structure.weight)
    assert np.array(tree["weight"]).sum() == structure.weight.sum()


def test_branches_are_worded_as_the_rules_are_where_nothing_is_missing():
    classifier, _ = fitted("breast cancer")
    tree = documents(classifier)[0]["axes"][0]["levels"]
    tree = next(level["tree"] for level in tree if level["value"] == 0.7)
    texts = {text for text in (*tree["said_left"], *tree["said_right"]) if text}
    said = {part for rule in classifier.rules() for part in rule.split(" → ")[0].split(" and ")}
    assert texts == said


def test_a_gap_is_said_to_be_among_the_rest_until_only_present_values_are_left():
    classifier, _ = fitted("categories and missing values")
    data, _ = documents(classifier, Q=[0.0])
    said = {text for level in levels_of(data) for text in level["tree"]["said_left"] if text}
    assert any(text.startswith("income ≤") and text.endswith("or missing") for text in said)
    assert not any(text.startswith("age") and "missing" in text for text in said)


def test_levels_that_keep_the_same_thresholds_share_one_tree(monkeypatch):
    classifier, _ = fitted("breast cancer")
    grown = []
    monkeypatch.setattr(
        _levels, "_grown", lambda tree, rows, *rest: grown.append(rows.B.shape[1]) or tree.fit(rows.B, rows.y)
    )
    data, _ = documents(classifier, Q=np.linspace(0, 1, 41))
    kept = {tuple(level["kept"]) for level in levels_of(data)}
    assert len(kept) < len(levels_of(data))
    assert sorted(grown) == sorted({len(one) for one in kept} - {len(classifier.discretizer_.thresholds_)})


def test_the_time_limit_is_for_the_other_levels_and_the_own_tree_stays_as_it_is():
    classifier = FCCAClassifier(
        FCCADiscretizer(stumps(60), Q=0.9), OptimalTreeClassifier(max_depth=4, max_leaf_nodes=None, criterion="error")
    )
    classifier.fit(*fitted("breast cancer")[1])
    data, _ = documents(classifier, Q=[0.0], time_limit=0.0)
    first, own = levels_of(data)
    assert own["certificate"]["text"] == "proven optimal"
    assert not first["certificate"]["optimal"]
    assert first["certificate"]["text"] != "proven optimal"


def test_a_level_with_more_thresholds_than_can_be_searched_is_left_out_and_said(monkeypatch):
    classifier, _ = fitted("breast cancer")
    monkeypatch.setattr("fcca.trees._columns.MOST_COLUMNS", len(classifier.discretizer_.thresholds_))
    data, _ = documents(classifier)
    assert [level["value"] for level in levels_of(data)] == [0.7, 0.9]
    assert data["axes"][0]["start"] == 0
    assert data["notes"][0].startswith("The slider leaves out Q = 0: ")


# --- certificates -------------------------------------------------------------------------------------------------------


def tree_with(objective, bound, optimal=False):
    gap = (objective - bound) / objective
    return SimpleNamespace(
        objective_=objective,
        lower_bound_=bound,
        gap_=gap,
        is_optimal_=optimal,
        regularization_=0.01,
        n_leaves_=2,
        depth_=1,
        criterion="error",
        max_depth=3,
        max_leaf_nodes=None,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
    )


@pytest.mark.parametrize(
    ("objective", "bound", "text"),
    [
        (0.1031, 0.1, "within 3.1 % of optimal"),
        (0.10311, 0.1, "within 3.2 % of optimal"),
        (0.2, 0.2 - 1e-15, "within 0.1 % of optimal"),
        (0.2, 0.1, "within 100 % of optimal"),
        (0.2001, 0.1, "at most 2.1 times the optimum"),
        (0.2, 0.0, "not proven: the search ended before it had a bound"),
    ],
)
def test_a_gap_is_said_plainly_and_rounded_up(objective, bound, text):
    assert certificate(tree_with(objective, bound))["text"] == text


@given(st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_a_certificate_never_promises_more_than_is_proven(one, other):
    objective, bound = max(one, other), min(one, other)
    found = certificate(tree_with(objective, bound))
    words = found["text"].split()
    factor = 1 + float(words[1]) / 100 if words[0] == "within" else float(words[2])
    assert factor * bound >= objective * (1 - 1e-9)
    said = float(found["detail"].rsplit("below ", 1)[1].removesuffix(" %."))
    assert said <= 100 * bound


def test_what_is_proven_is_told_in_full():
    found = certificate(tree_with(0.05, 0.05, optimal=True))
    assert found["text"] == "proven optimal"
    assert found["claim"] == "Proven: no tree on these thresholds with depth at most 3 has a lower cost on the training rows"
    assert found["detail"] == (
        "Wrong on 3 % of the training rows, plus 1 % for each of 2 leaves: 5 %. "
        "No tree on these thresholds with depth at most 3 has a smaller sum. Other trees may have the same sum."
    )
    target = certificate(tree_with(0.05, 0.05, optimal=True), "target")
    assert target["detail"].startswith("Different from the black box on 3 %")
    gap = certificate(tree_with(0.1031, 0.1))
    assert gap["claim"].startswith("Not proven to be the best tree on these thresholds with depth at most 3: within 3.1 %")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a > 10900", "a > 10,900"),
        ("a ≤ -1234567.25 or missing", "a ≤ -1,234,567.25 or missing"),
        ("a > 999.12345", "a > 999.12345"),
        ("a 2024 > 12", "a 2024 > 12"),
        ('a = "x > 10900"', 'a = "x > 10900"'),
        ("a > 1e+20", "a > 1e+20"),
    ],
)
def test_numbers_of_conditions_have_commas_between_thousands(text, shown):
    assert shown_text(text) == shown


# --- rows ---------------------------------------------------------------------------------------------------------------


def test_a_row_is_told_what_the_explainer_tells_it(case_with_levels):
    classifier, given_rows, data, rows = case_with_levels
    X, y, _, numbers_given = counted(given_rows)
    discretizer = classifier.discretizer_
    found = discretizer.counterfactuals_
    assert rows["number"] == numbers_given.tolist()
    explainer = CounterfactualExplainer(discretizer.estimator_, X)
    chosen = np.random.default_rng(0).choice(len(y), 25, replace=False)
    explained = explainer.explain(_safe_indexing(X, chosen))
    black_box = discretizer.predict_target(X)
    for i, at in enumerate(chosen.tolist()):
        assert data["classes"][rows["label"][at]] == str(y[at])
        assert data["classes"][rows["target"][at]] == str(black_box[at])
        answer = rows["answer"][at]
        if black_box[at] != y[at]:  # these are not asked for
            assert answer is None
            continue
        point = np.flatnonzero(found.rows == numbers_given[at])[0]
        assert answer["sentence"] == explained.sentences(subject="This row")[i]
        assert answer["status"] == explained.status[i] == found.status[point]
        assert answer["cost"] == pytest.approx(explained.cost[i], rel=1e-5)
        assert data["classes"][answer["to"]] == str(explained.target[i])
        assert [data["conditions"][c]["text"] for c in answer["crossed"]] == [
            data_name(name) for name in discretizer.crossed_by(int(numbers_given[at]))
        ]


def test_the_probability_is_the_black_boxs_own_of_its_answer():
    classifier, (X, _) = fitted("categories and missing values")
    rows = documents(classifier)[1]
    share = classifier.discretizer_.estimator_.predict_proba(X).max(axis=1)
    np.testing.assert_allclose(rows["probability"], share, atol=6e-5)


def test_values_are_exact_and_categories_are_codes():
    classifier, (X, _) = fitted("categories and missing values")
    data, rows = documents(classifier, Q=[0.0])
    for position, values in zip(rows["columns"], rows["values"], strict=True):
        column = data["columns"][position]
        given_values = X[column["name"]]
        if column["kind"] == "category":
            shown = [None if code is None else column["categories"][code] for code in values]
            assert shown == [None if pd.isna(value) else value for value in given_values]
        else:
            assert values == [None if math.isnan(value) else value for value in given_values]
            assert (column["low"], column["high"]) == (given_values.min(), given_values.max())
        assert column["missing"] == given_values.isna().any()


def test_rows_are_called_as_they_are_asked_to_be():
    classifier, given_rows = fitted("weights")
    weight = given_rows[2]
    of_all = np.arange(len(weight)) + 1000
    for names in (of_all, of_all[weight > 0]):
        rows = documents(classifier, row_numbers=names)[1]
        assert rows["number"] == of_all[weight > 0].tolist()
    texts = documents(classifier, row_numbers=[f"row\n{i}" for i in of_all])[1]["number"]
    assert texts == [f"row\\n{i}" for i in of_all[weight > 0]]


def test_rows_given_again_are_the_rows_in_memory():
    for name in ("weights", "categories and missing values"):
        classifier, given_rows = fitted(name)
        assert documents(classifier, given_rows) == documents(classifier)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 60))
def test_a_sample_has_every_class_in_its_share(codes, n):
    codes = np.array(codes)
    chosen = sample(codes, n)
    assert len(chosen) == min(n, len(codes)) == len(set(chosen.tolist()))
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, sample(codes, n))
    expected = np.bincount(codes) * len(chosen) / len(codes)
    assert (np.abs(np.bincount(codes[chosen], minlength=len(expected)) - expected) < 1).all()


def test_picked_rows_are_the_same_rows(case):
    rows = case[3]
    some = picked(rows, np.array([4, 7]))
    assert some["number"] == [rows["number"][4], rows["number"][7]]
    assert some["columns"] == rows["columns"]
    assert [column[1] for column in some["values"]] == [column[7] for column in rows["values"]]
    assert some["answer"][0] == rows["answer"][4]


def test_where_few_conditions_are_listed_the_trees_and_the_rows_still_agree():
    classifier, (X, _) = fitted("breast cancer")
    data, rows = documents(classifier, most=1)
    whole, all_rows = documents(classifier)
    assert len(data["conditions"]) < len(whole["conditions"]) == data["n_conditions"]
    for level, other in zip(levels_of(data), levels_of(whole), strict=True):
        assert [answered(data, level, rows, i) for i in range(len(X))] == [
            answered(whole, other, all_rows, i) for i in range(len(X))
        ]
        assert level["n_kept"] == other["n_kept"]
    listed = {line["text"] for line in data["conditions"]}
    for few, every in zip(rows["answer"], all_rows["answer"], strict=True):
        if few is not None:
            texts = [whole["conditions"][c]["text"] for c in every["crossed"]]
            assert [data["conditions"][c]["text"] for c in few["crossed"]] == [text for text in texts if text in listed]


def test_where_nothing_leads_to_another_class_no_class_is_reached():
    X, y = fitted("array")[1]
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), margin="50%")).fit(X, y)
    data, rows = documents(classifier)
    found = [answer for answer in rows["answer"] if answer is not None]
    statuses = {answer["status"] for answer in found}
    assert statuses == {"optimal", "infeasible"}
    for answer in found:
        assert (answer["to"] is None) == (answer["cost"] is None) == (answer["status"] == "infeasible")
    assert data["n_counterfactuals"] == sum(answer["status"] == "optimal" for answer in found)


# --- what else there is -------------------------------------------------------------------------------------------------


def test_a_discretizer_without_counterfactuals_has_one_level_and_no_counterfactuals():
    classifier, (X, _) = fitted("GTRE")
    data, rows = documents(classifier)
    assert len(levels_of(data)) == 1
    assert data["n_counterfactuals"] == 0
    assert set(rows["answer"]) == {None}
    assert any("GTREDiscretizer does not compute counterfactuals" in note for note in data["notes"])
    predicted = classifier.predict(X).tolist()
    assert [data["classes"][answered(data, first_level(data), rows, i)] for i in range(len(X))] == predicted


def test_counts_are_shares_of_the_weight_of_the_proven_counterfactuals():
    classifier, (_, _, weight) = fitted("weights")
    data, _ = documents(classifier)
    found = classifier.discretizer_.counterfactuals_
    assert data["n_counterfactuals"] == weight[found.rows[found.is_status("optimal")]].sum()
    assert any("weights" in note for note in data["notes"])


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_held_out_rows_with_values_that_training_did_not_have_are_counted_and_said(kind):
    X, y = loans(300)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5))
    form = {
        "pandas": lambda X: X,
        "polars": lambda X: pytest.importorskip("polars").from_pandas(X),
        "array": lambda X: X.astype(object).to_numpy(),
    }[kind]
    classifier.fit(form(X.iloc[:200]), y[:200])
    X_test, y_test = X.iloc[200:].copy(), y[200:]
    X_test["grade"] = X_test["grade"].astype(object)
    X_test.iloc[3, 1], X_test.iloc[5, 3] = "yacht", "best"
    if kind != "array":  # an array's columns of objects may have gaps everywhere
        X_test["age"] = X_test["age"].astype(float)
        X_test.iloc[7, 2] = np.nan
    n_odd = 2 if kind == "array" else 3
    data, _ = documents(classifier, held_out=(form(X_test), y_test))
    said = f"{n_odd} held-out rows have categories or missing values that no training row has in the same column."
    said += " An unknown category is in no set of categories. The black box gets the training median or"
    assert said in " ".join(data["notes"])
    own = first_level(data)
    assert own["held_out"]["rows"] == 100
    assert own["held_out"]["accuracy"] == fidelity(classifier.predict(form(X_test)), y_test)
    assert own["held_out"]["fidelity"] == classifier.fidelity(form(X_test))
    assert data["black_box"]["held_out"] == fidelity(classifier.discretizer_.predict_target(form(X_test)), y_test)


@pytest.mark.parametrize(
    ("later", "note"), [(["miss"] * 4, ""), (["miss", "miss", "yacht", "car"], " In 1 of these rows, the")]
)
def test_the_note_says_which_rows_the_black_box_gets_other_values_for(later, note):
    X, y = loans(200)
    X = X[["income", "purpose"]].assign(income=X["income"].fillna(1.0), purpose=X["purpose"].fillna("car"))
    black_box = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(black_box)).fit(X, y)
    X_test = X.head(4).copy()
    X_test["purpose"] = X_test["purpose"].astype(object)
    for at, what in enumerate(later):
        X_test.iloc[at, 0 if what == "miss" else 1] = np.nan if what == "miss" else what
    replaced = classifier.discretizer_.stand_ins_.replaced(classifier.discretizer_.encode(X_test))
    assert replaced.any(axis=1).sum() == later.count("yacht")  # this black box takes missing numbers
    found = " ".join(documents(classifier, held_out=(X_test, y[:4]))[0]["notes"])
    assert f"An unknown category is in no set of categories.{note}" in found
    assert ("black box gets" in found) == bool(note)


def test_what_a_change_is_comes_from_the_classifiers_own_parameters():
    X, y = fitted("breast cancer")[1]
    names = X.columns.tolist()
    rules = [Immutable(*names[:2]), Cost(names[2], 3)]
    discretizer = FCCADiscretizer(stumps(), lambda0=0.25, lambda1=2.0, constraints=rules, p1=0.9)
    change = documents(FCCAClassifier(discretizer).fit(X, y), Q=[0.9])[0]["change"]
    assert (change["lambda0"], change["lambda1"], change["lambda2"]) == (0.25, 2.0, 0.0)
    assert change["size"] == (
        "0.25 for each column changed + 2 × the distance moved, as a share of the column’s range; "
        "the given rules make changes of some columns more or less expensive"
    )
    assert (change["rules"], change["fixed"], change["band"]) == (2, names[:2], (0.5, 0.9))
    found = discretizer.fit(X, y).counterfactuals_
    assert (change["asked"], change["proven"]) == (len(found), found.is_status("optimal").sum())
    assert documents(fitted("GTRE")[0])[0]["change"] is None
    classifier = fitted("categories and missing values")[0]
    free = documents(classifier)[0]["change"]
    assert (free["rules"], free["band"]) == (0, None)
    distance = classifier.discretizer_.category_distance_
    assert free["size"].endswith(f"a change of category counts as a distance of {distance:g}")


def test_facts_that_are_given_take_the_place_of_the_reports_own():
    classifier, _ = fitted("breast cancer")
    facts = dict(documents(classifier, facts=[("File", "a.csv"), ("Data", "mine")])[0]["facts"])
    assert list(facts)[:2] == ["File", "Data"]
    assert facts["Data"] == "mine"
    assert facts["Black box"] == "GradientBoostingClassifier"
    assert facts["Classes"] == "benign (357), malignant (212)"


def test_numbers_are_written_as_json_has_them():
    assert numbers([1.0, 0.5, np.nan, -0.0, 1e300, np.inf]) == [1, 0.5, None, 0, 1e300, None]
    assert [type(x) for x in numbers([2.0, 1e300])] == [int, float]
