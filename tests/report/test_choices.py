"""The slider of the number of thresholds has choices of least inconsistency, counted independently."""

import itertools
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier, report
from fcca.exceptions import InvalidInputError
from fcca.report import _levels, _page
from fcca.report._choices import ALL, _proof, check_numbers
from fcca.report._report_input import checked_input
from fcca.selection import OptimalSelection
from fcca.tables import SoftLabels

from .fitted import CASES, answered, axis_of, first_level, fitted, levels_of, stumps
from .test_data import documents

NUMBERS = (1, 2, 3, 5, 8)


def counted(B, y, weight):
    """Count the inconsistency: in every group of equal rows, the weight beside the heaviest label."""
    groups = defaultdict(Counter)
    for row, label, w in zip(B.tolist(), y.tolist(), weight.tolist(), strict=True):
        groups[tuple(row)][label] += w
    left = sum(sum(held.values()) - max(held.values()) for held in groups.values())
    return left / weight.sum()


def learned_from(classifier):
    """Return the binary columns of all conditions, the target of the tree, and the weights."""
    inputs = checked_input(classifier, None, None, None, None, None, None)
    B = inputs.conditions.binarize(inputs.training.table)
    y = inputs.training.predictions if classifier.fit_to_ == "target" else inputs.training.y
    return B, y, inputs.weight, inputs.conditions


@pytest.fixture(scope="module", params=CASES)
def case(request):
    classifier, _ = fitted(request.param)
    return classifier, *documents(classifier, Q=[0.5], n_thresholds=NUMBERS, time_limit=None)


def test_every_number_asked_for_has_its_level(case):
    classifier, data, _ = case
    n = data["n_conditions"]
    own = () if hasattr(classifier.discretizer_, "set_granularity") else (n,)
    asked = sorted({*(min(k, n) for k in NUMBERS), *own})
    assert [level["value"] for level in levels_of(data, "k")] == asked
    assert [level["n_kept"] for level in levels_of(data, "k")] == asked


def test_inconsistencies_are_those_counted_row_by_row(case):
    classifier, data, _ = case
    B, y, weight, conditions = learned_from(classifier)
    by_count = np.argsort(-conditions.count, kind="stable")
    for level in levels_of(data, "k"):
        proof, k = level["proof"], level["value"]
        assert proof["inconsistency"] == pytest.approx(counted(B[:, level["kept"]], y, weight), abs=1e-12)
        assert proof["frequency"] == pytest.approx(counted(B[:, by_count[:k]], y, weight), abs=1e-12)
        assert proof["inconsistency"] <= min(proof["frequency"], proof["greedy"]) + 1e-12
        assert proof["lower_bound"] <= proof["inconsistency"] + 1e-12
    assert axis_of(data, "k")["least"] == pytest.approx(counted(B, y, weight), abs=1e-12)


def test_no_other_pair_of_thresholds_has_less(case):
    classifier, data, _ = case
    B, y, weight, _ = learned_from(classifier)
    for level in levels_of(data, "k")[:2]:
        sets = list(itertools.combinations(range(B.shape[1]), level["value"]))
        if len(sets) > 2000:  # enough of them
            sets = sets[:: len(sets) // 2000]
        assert level["proof"]["is_optimal"]
        assert level["proof"]["inconsistency"] <= min(counted(B[:, chosen], y, weight) for chosen in sets) + 1e-12


def test_the_tree_of_a_choice_is_the_one_that_a_fresh_fit_grows(case):
    classifier, data, rows = case
    B, y, weight, _ = learned_from(classifier)
    inputs = checked_input(classifier, None, None, None, None, None, None)
    labels, answers = inputs.training.y.tolist(), inputs.training.predictions.tolist()
    soft = None
    if classifier.fit_to_ == "mixture":
        probability = classifier.discretizer_.estimator_.predict_proba(classifier.training_data().X)
        soft = SoftLabels.of(probability, weight).mixed(np.unique(y, return_inverse=True)[1], weight)
    for level in levels_of(data, "k"):
        tree = clone(classifier.tree_).fit_counted(B[:, level["kept"]], y, weight, soft=soft)
        predicted = tree.predict(B[:, level["kept"]]).tolist()
        shown = [answered(data, level, rows, i) for i in range(len(rows["number"]))]
        assert [data["classes"][code] for code in shown] == list(map(str, predicted))
        assert level["certificate"]["objective"] == pytest.approx(tree.objective_, abs=1e-12)
        for name, truth in (("accuracy", labels), ("fidelity", answers)):
            right = sum(w for w, a, b in zip(weight.tolist(), predicted, truth, strict=True) if a == b)
            assert level["training"][name] == pytest.approx(right / weight.sum())


def test_the_same_thresholds_share_one_tree_on_both_sliders(monkeypatch):
    classifier = FCCAClassifier(FCCADiscretizer(stumps())).fit(*fitted("breast cancer")[1])
    n = len(classifier.discretizer_.thresholds_)
    grown = []
    monkeypatch.setattr(
        _levels, "_grown", lambda tree, rows, *rest: grown.append(rows.B.shape[1]) or tree.fit(rows.B, rows.y)
    )
    data, _ = documents(classifier, Q=np.linspace(0, 1, 21), n_thresholds=range(1, n + 1))
    kept = {tuple(level["kept"]) for axis in data["axes"] for level in axis["levels"]}
    both = {tuple(level["kept"]) for level in levels_of(data)} & {tuple(level["kept"]) for level in levels_of(data, "k")}
    assert both
    assert len(grown) == len(kept) - 1  # the classifier's own is taken as it is


# --- where the page starts ----------------------------------------------------------------------------------------------


def test_a_classifier_by_granularity_starts_there_and_the_other_slider_near_it():
    classifier, _ = fitted("breast cancer")
    data, _ = documents(classifier, n_thresholds=range(1, 9))
    assert data["axes"][data["axis"]]["key"] == "q"
    assert first_level(data)["value"] == 0.7
    other = axis_of(data, "k")
    assert other["levels"][other["start"]]["value"] == len(classifier.discretizer_.thresholds_)


@pytest.mark.parametrize("fit_to", ["labels", "target"])
def test_a_classifier_with_a_choice_of_its_own_starts_there(fit_to):
    X, y = fitted("breast cancer")[1]
    selection = OptimalSelection(4, fit_to=fit_to)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(40), selection=selection), fit_to=fit_to).fit(X, y)
    own = classifier.discretizer_.selection_
    for numbers in ((), (2, 3), (4, 6)):
        data, rows = documents(classifier, n_thresholds=numbers)
        assert data["axes"][data["axis"]]["key"] == "k"
        level = first_level(data)
        assert [data["conditions"][i]["text"] for i in level["kept"]] == own.thresholds.names()
        assert level["proof"]["inconsistency"] == own.inconsistency
        assert [each["value"] for each in levels_of(data, "k")] == sorted({4, *numbers})
        assert axis_of(data, "k")["fit_to"] == fit_to
        predicted = classifier.predict(X).tolist()
        assert [data["classes"][answered(data, level, rows, i)] for i in range(len(X))] == predicted
        start = axis_of(data, "q")
        assert start["levels"][start["start"]]["value"] == 0
        assert start["levels"][start["start"]]["n_kept"] == data["n_conditions"]


def test_the_rules_of_the_own_choice_hold_for_all_and_are_said():
    X, y = fitted("breast cancer")[1]
    names = FCCADiscretizer(stumps(40)).fit(X, y).thresholds_.names()
    selection = OptimalSelection(3, forbid=names[:2], keep=[names[4]])
    classifier = FCCAClassifier(FCCADiscretizer(stumps(40), selection=selection)).fit(X, y)
    data, _ = documents(classifier, n_thresholds=range(1, 6))
    for level in levels_of(data, "k"):
        assert 4 in level["kept"]
        assert not {0, 1} & set(level["kept"])
    assert axis_of(data, "k")["among"] == f"the {len(names)} thresholds under the given rules"
    assert first_level(data)["proof"]["claim"] == f"proven to be the smallest for any 3 of {axis_of(data, 'k')['among']}"


def test_a_choice_among_what_a_granularity_keeps_says_so():
    X, y = fitted("breast cancer")[1]
    classifier = FCCAClassifier(FCCADiscretizer(stumps(40), Q=0.5, selection=OptimalSelection(2))).fit(X, y)
    kept = set(FCCADiscretizer(stumps(40), Q=0.5).fit(X, y).thresholds_.names())
    data, _ = documents(classifier, n_thresholds=range(1, 6))
    for level in levels_of(data, "k"):
        assert {data["conditions"][i]["text"] for i in level["kept"]} <= kept
    assert axis_of(data, "k")["among"] == f"the {len(kept)} thresholds that Q = 0.5 keeps"


def test_without_granularity_there_is_one_slider_that_starts_at_all_thresholds():
    classifier, _ = fitted("GTRE")
    n = len(classifier.discretizer_.thresholds_)
    data, _ = documents(classifier, n_thresholds=range(1, min(n, 3)))
    assert [axis["key"] for axis in data["axes"]] == ["k"]
    assert first_level(data)["value"] == n
    assert first_level(data)["proof"]["claim"] == ALL
    chosen = FCCAClassifier(GTREDiscretizer(stumps(5), random_state=0, selection=OptimalSelection(2)))
    data, _ = documents(chosen.fit(*fitted("breast cancer")[1]), n_thresholds=[1])
    assert first_level(data)["value"] == 2


def test_false_leaves_one_slider():
    for name in ("breast cancer", "GTRE"):
        text = report.page(fitted(name)[0], Q=[0.5], n_thresholds=False)
        assert 'data-test="slider-q"' in text
        assert 'data-test="slider-k"' not in text
        assert "How few thresholds suffice" not in text


# --- words --------------------------------------------------------------------------------------------------------------


def found(k, inconsistency, bound, optimal=False, n=52):
    return SimpleNamespace(
        n_thresholds=k, inconsistency=inconsistency, lower_bound=bound, is_optimal=optimal, candidates=range(n)
    )


@pytest.mark.parametrize(
    ("chosen", "claim"),
    [
        (found(5, 0.18, 0.18, optimal=True), "proven to be the smallest for any 5 of the 52"),
        (found(5, 0.1031, 0.1), "not proven to be the smallest for any 5 of the 52; no choice is below 10 %"),
        (found(5, 0.013, 3 / 455), "not proven to be the smallest for any 5 of the 52; no choice is below 0.659 %"),
        (found(5, 0.18, 0.0), "not proven to be the smallest for any 5 of the 52"),
        (found(5, 0.18, 0.18), "proven to be the smallest for any 5 of the 52"),
        (found(5, 0.0, 0.0), "proven to be the smallest for any 5 of the 52"),
        (found(52, 0.02, 0.02, optimal=True), "with all thresholds"),
    ],
)
def test_what_is_proven_is_said_and_no_more(chosen, claim):
    proof = _proof(chosen, 0.31, 0.2, "the 52")
    assert proof.claim == claim
    is_optimal = chosen.is_optimal or chosen.inconsistency == chosen.lower_bound
    assert (proof.frequency, proof.greedy, proof.is_optimal) == (0.31, 0.2, is_optimal)
    assert (proof.words == "proven optimal") == is_optimal


def test_without_time_nothing_is_said_to_be_proven():
    classifier, _ = fitted("categories and missing values")
    data, _ = documents(classifier, n_thresholds=[6], time_limit=0.0)
    (level,) = levels_of(data, "k")
    assert not level["proof"]["is_optimal"]
    assert level["proof"]["claim"].startswith(f"not proven to be the smallest for any 6 of the {data['n_conditions']}")
    assert level["proof"]["lower_bound"] <= level["proof"]["inconsistency"] <= level["proof"]["frequency"]


# --- what is given ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "n", "numbers"),
    [
        (None, 52, tuple(range(1, 17))),
        (None, 3, (1, 2, 3)),
        (None, 0, ()),
        (False, 52, ()),
        ((), 52, ()),
        ([5, 2, 5, 99], 52, (2, 5)),
        (range(3, 6), 52, (3, 4, 5)),
        (np.array([4, 2]), 52, (2, 4)),
        (7, 52, (7,)),
    ],
)
def test_the_numbers_are_those_asked_for_that_there_are(given, n, numbers):
    assert check_numbers(given, n) == numbers


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0], "whole numbers of at least 1, such as range"),
        ([1.5], r"got 1\.5"),
        (True, "got True"),
        ("12", "got '12'"),
        ([True], "got True"),
        ([700], r"must be at most \d+, the number of thresholds found, got 700"),
    ],
)
def test_other_numbers_are_refused_before_any_work(given, message, tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "make_sliders", lambda *_: pytest.fail("work was done"))
    with pytest.raises(InvalidInputError, match=message):
        report.write(fitted("array")[0], tmp_path / "report.html", n_thresholds=given)
    assert not list(tmp_path.iterdir())


def test_a_tree_on_other_thresholds_than_the_discretizers_is_refused():
    X, y = fitted("breast cancer")[1]
    tree = OptimalTreeClassifier(max_depth=2)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(40), selection=OptimalSelection(3)), tree).fit(X, y)
    own = classifier.discretizer_.selection_.thresholds.names()
    classifier.discretizer_.set_selection(OptimalSelection(3, forbid=own), X, y)
    with pytest.raises(InvalidInputError, match="at_selection"):
        report.page(classifier)
