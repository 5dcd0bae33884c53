"""Every honest certificate is accepted: all families of models, all kinds of columns, rules, choices and limits."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from certificates.certified import CASES, Case, case, fitted, mixed, numbers, rf
from certificates.rebuilt import called, rebuilt, rows_of_a_column
from fcca import FCCAClassifier
from fcca.certificates import certificate, read_certificate, verify
from fcca.exceptions import InvalidInputError
from fcca.selection import OptimalSelection

LEFT_OPEN = ("searches cut short",)  # that time ran out, nobody can check


def check_accepted(result):
    assert result.accepted, f"\n{result!r}"


@pytest.mark.parametrize("name", CASES)
def test_an_honest_certificate_is_accepted(name):
    result = case(name).verified()
    check_accepted(result)
    made = {check.name for check in result.checks if check.outcome == "passed"}
    assert {check.name for check in result.checks} - made == ({"optima"} if name in LEFT_OPEN else set())


@pytest.mark.verify
@pytest.mark.parametrize("name", CASES)
def test_every_counterfactual_of_an_honest_certificate_is_proven_again(name):
    one = case(name)
    result = one.verified(sample=None, time_limit=120.0)
    check_accepted(result)
    n = len(one.classifier.discretizer_.counterfactuals_)
    assert f"{n:,} of {n:,} counterfactuals checked again" in result["optima"].words


@pytest.mark.slow
def test_honest_certificates_cover_the_special_cases():
    statuses = {name: case(name).classifier.discretizer_.statuses_ for name in CASES}
    assert statuses["searches cut short"]["feasible"] > 0
    assert statuses["lgbm, mixed"]["infeasible"] > 0
    assert not case("a tree cut short").classifier.tree_.is_optimal_
    assert len(json.loads(case("gb, mixed").document)["counterfactuals"]["gap_row"]) > 0
    weight = case("weights, mixed").weight
    assert (weight == 0).any()
    assert len(set(weight)) > 2


def test_linear_models_and_trees_are_proven_again_by_programs():
    for name in ("gb", "rf", "xgb", "lgbm", "catboost", "logistic", "svm", "logistic, mixed"):
        assert case(name).verified(sample=3)["optima"].words.endswith("3 by a mixed-integer program on HiGHS.")


def test_a_document_read_before_is_the_same_as_its_text():
    one = case("rf")
    check_accepted(verify(read_certificate(one.document.encode()), one.X, one.y, one.model, sample=1))


def test_a_classifier_that_was_loaded_is_given_its_rows_again():
    import pickle

    one = case("weights, mixed")
    loaded = pickle.loads(pickle.dumps(one.classifier))
    assert certificate(loaded, one.X, one.y, one.weight) == one.document


def test_the_type_of_equal_values_does_not_matter():
    one = case("rf")
    narrow = one.X.astype({name: np.float32 for name in one.X if (one.X[name] == one.X[name].astype(np.float32)).all()})
    for X in (narrow, one.X.convert_dtypes(), pd.DataFrame(np.asfortranarray(one.X), columns=one.X.columns)):
        check_accepted(verify(one.document, X, one.y.astype(np.int8), one.model, sample=1))


def test_rows_may_have_other_numbers():
    one = case("rf")
    X, y = one.X.iloc[::-1], one.y[::-1]
    check_accepted(verify(one.document, X, y, one.model, rows=np.arange(len(y))[::-1], sample=1))
    assert verify(one.document, X, y, one.model, sample=1).failed == ("data",)


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_rows_may_be_exchanged_in_a_sample(weighted):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 3, (300, 3)).astype(float), columns=["a", "b", "c"])
    y, weight = np.where(X.sum(axis=1) > 3, "yes", "no"), rng.integers(1, 3, 300).astype(float) if weighted else None
    one = fitted((X, y), rf(10, 3), max_rows=60, weight=weight)
    order = rng.permutation(300)
    weight = None if weight is None else weight[order]
    estimator = one.classifier.discretizer_.estimator_
    document = certificate(one.classifier, X, y, one.weight)
    result = verify(document, X.iloc[order], y[order], estimator, sample_weight=weight, rows=order)
    assert len(one.classifier.discretizer_.counterfactuals_) < 300
    check_accepted(result)


def test_the_model_may_be_another_object_with_the_same_predictions():
    from sklearn.base import clone

    one = case("rf")
    check_accepted(verify(one.document, one.X, one.y, clone(rf()).fit(one.X, one.y), sample=1))


def test_the_decision_threshold_is_in_the_certificate():
    one = case("deciding elsewhere")
    inner = one.model.estimator.estimator
    assert json.loads(one.document)["model"]["decision_threshold"] == 0.3
    check_accepted(verify(one.document, one.X, one.y, inner, sample=1))


def test_rows_in_chunks_have_counts_only_and_the_rest_is_checked():
    from sklearn.frozen import FrozenEstimator

    from fcca import FCCADiscretizer
    from fcca.streaming import distill

    X, y = numbers()
    model = rf().fit(X, y)
    streamed = distill([(X.iloc[:60], y[:60]), (X.iloc[60:], y[60:])], FCCADiscretizer(FrozenEstimator(model)))
    assert isinstance(streamed, FCCAClassifier)
    without, with_rows = certificate(streamed), certificate(streamed, X, y)
    document = json.loads(without)
    assert document["counterfactuals"] is None
    assert document["why_no_counterfactuals"].startswith("The rows came in chunks")
    assert document["statuses"] == dict(streamed.discretizer_.statuses_)
    for text, unknown in ((without, ["data"]), (with_rows, [])):
        result = verify(text, X, y, model)
        check_accepted(result)
        left = [check.name for check in result.checks if check.outcome == "not checked"]
        assert left == [
            *unknown,
            *("rows searched", "moves", "range and rules", "landings", "answers", "costs", "bounds"),
            *("missing values", "thresholds found", "optima"),
        ]
        assert "chunks" in result["costs"].words
    forged = json.loads(with_rows)
    forged["proof"]["objective"] += 0.01
    assert verify(json.dumps(forged), X, y, model).failed == ("objective", "best tree")


def test_a_certificate_needs_counterfactuals():
    from fcca import GTREDiscretizer

    X, y = numbers()
    with pytest.raises(InvalidInputError, match="Expected a fitted FCCAClassifier"):
        certificate(rf().fit(X, y))
    with pytest.raises(InvalidInputError, match="lists counterfactuals, but the discretizer, a GTREDiscretizer, does not"):
        certificate(FCCAClassifier(GTREDiscretizer(rf())).fit(X, y))


def test_unverified_counterfactuals_are_accepted_if_declared(monkeypatch):
    """A model whose predict contradicts its scores for some rows."""
    X, y = numbers(100, 4)
    model = rf().fit(X, y)

    class Stubborn(type(model)):
        def predict(self, X):
            answers = super().predict(X)
            return np.where(np.isin(np.asarray(X)[:, 0], kept), self.classes_[0], answers)

    found = fitted((X, y), rf()).classifier.discretizer_.counterfactuals_
    kept = np.setdiff1d(np.unique(found.moves.landing[found.moves.feature == 0]), X.iloc[:, 0])[:2]
    kept = kept if len(kept) else np.unique(found.moves.landing[found.moves.feature == 0])[:1]
    model.__class__ = Stubborn
    from sklearn.frozen import FrozenEstimator

    one = fitted((X, y), FrozenEstimator(model))
    assert one.classifier.discretizer_.statuses_["unverified"] > 0
    check_accepted(one.verified())
    forged = json.loads(one.document)
    at = forged["counterfactuals"]["status"].index("optimal")
    forged["counterfactuals"]["status"][at] = "unverified"
    forged["statuses"]["unverified"] += 1
    forged["statuses"]["optimal"] -= 1
    result = one.verified(json.dumps(forged))
    assert "answers" in result.failed
    assert "unverified" in result["answers"].words


@pytest.mark.slow
def test_an_unverified_counterfactual_without_moves_is_accepted():
    """By its scores the model already predicts the other class, so no change is needed."""
    from sklearn.frozen import FrozenEstimator

    X, y = numbers(100, 4)
    model = rf().fit(X, y)
    told = X.iloc[np.flatnonzero(model.predict(X) != model.classes_[0])[:2], 0].to_numpy()

    class Stubborn(type(model)):
        def predict(self, X):
            return np.where(np.isin(np.asarray(X)[:, 0], told), self.classes_[0], super().predict(X))

    model.__class__ = Stubborn
    one = fitted((X, np.where(np.isin(X.iloc[:, 0], told), 0, y)), FrozenEstimator(model))
    found = one.classifier.discretizer_.counterfactuals_
    assert (found.cost[found.is_status("unverified")] == 0).any()
    result = one.verified(sample=None)
    check_accepted(result)
    assert "unverified as before" in result["optima"].words
    assert result.complete


def test_unproven_searches_are_named():
    result = case("searches cut short").verified()
    words = result["optima"].words
    assert "which cannot be checked" in words
    assert "thresholds that they would cross are not counted" in words
    assert not result.complete
    assert result.in_words().startswith("Accepted as far as it was checked")


@pytest.mark.slow
@pytest.mark.parametrize("sample", [0, 3, None])
@pytest.mark.parametrize("status", ["unknown", "feasible"])
def test_a_forged_time_limit_never_counts_as_checked(status, sample):
    one = case("gb")
    document = json.loads(one.document)
    document["parameters"]["time_limit"] = 60.0
    called(document, rows_of_a_column(document), status)
    rebuilt(document, one)
    result = one.verified(json.dumps(document), sample=sample)
    assert result["optima"].outcome == "not checked"
    assert not result.complete
    if sample is None:
        assert "which cannot be checked" in result["optima"].words
        assert ("status unknown is wrong" in result["optima"].words) == (status == "unknown")


def test_missing_values_left_out_under_a_time_limit_never_count_as_checked():
    one = case("gb, mixed")
    document = json.loads(one.document)
    document["parameters"]["time_limit_per_row"] = 60.0
    document["counterfactuals"] |= {"gap_row": [], "gap_feature": []}
    rebuilt(document, one)
    result = one.verified(json.dumps(document))
    assert result["missing values"].outcome == "not checked"
    assert "decides the prediction, but is not listed" in result["missing values"].words


def test_an_empty_sample_is_not_complete():
    assert not case("rf").verified(sample=0).complete


def test_a_timeout_is_reported_and_does_not_reject():
    one = fitted(numbers(120, 10), rf(40, 5))
    result = one.verified(time_limit=0.0, sample=3)
    check_accepted(result)
    assert not result.complete
    assert "not proven within the time limit" in result["optima"].words
    assert isinstance(one, Case)
    gaps = fitted(mixed(100), rf(20, 4)).verified(time_limit=0.0, sample=1)
    check_accepted(gaps)
    assert gaps["missing values"].outcome == "not checked"
    assert "time limit" in gaps["missing values"].words


def test_a_selection_not_proven_in_time_is_not_checked(monkeypatch):
    """Also if the search ends before it has found an admissible selection."""
    best = OptimalSelection(8, max_features=2)
    table = fitted(numbers(150, 10), rf(10)).classifier.discretizer_.all_thresholds_
    few = OptimalSelection(max_inconsistency=best.select(table, *numbers(150, 10)).inconsistency, max_features=2)
    one = fitted(numbers(150, 10), rf(10), selection=few)
    assert one.verified(sample=0)["thresholds kept"].outcome == "passed"

    def ended(*given):
        raise InvalidInputError("The search ended before it had conditions that are good enough.")

    for select in (OptimalSelection.select, ended):
        monkeypatch.setattr(OptimalSelection, "select", select)
        result = one.verified(time_limit=0.0, sample=0)
        check_accepted(result)
        assert result["thresholds kept"].outcome == "not checked"
        assert "time limit" in result["thresholds kept"].words


def test_a_result_can_be_read(capsys):
    one = case("gb")
    good, bad = one.verified(sample=1), one.verified(one.document.replace('"Q": 0.0', '"Q": 0.5'), sample=1)
    assert repr(good).endswith("Accepted: 17 checks passed.")
    assert good.complete
    assert "✗ thresholds kept" in repr(bad)
    assert repr(bad).endswith("Rejected: thresholds kept failed, 16 checks passed.")
    assert "<table" in bad._repr_html_()
    assert json.loads(json.dumps(bad.to_dict()))["accepted"] is False
    shown = one.verified(sample=1, verbose=1)
    assert shown.accepted
