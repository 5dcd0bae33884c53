"""Every sentence can hold and can fail, and which it is follows from the rows."""

import numpy as np
import pandas as pd
import pytest
from made_rows import made_other_targets, made_rows

from experiments import claims, other_targets
from experiments.rows import Results, in_half_of_the_folds, shared_cells, standard_error
from experiments.sentences import CLAIMS
from experiments.verdicts import FAILS, HOLDS, NOT_MEASURED, SETTING, judge


def where(rows, **wanted):
    """Rows with these values; a tuple: with any of them."""
    mask = pd.Series(True, index=rows.index)
    for column, value in wanted.items():
        mask &= rows[column].isin(value if isinstance(value, tuple) else (value,))
    return mask


def put(column, value, **wanted):
    """A change: this value, or what a function makes of the old one, where the rows are such."""

    def change(rows):
        mask = where(rows, **wanted)
        assert mask.any()
        rows.loc[mask, column] = rows.loc[mask, column].map(value) if callable(value) else value

    return change


def add(amount):
    return lambda old: old + amount


def put_lists(column, values, **wanted):
    def change(rows):
        chosen = where(rows, **wanted) & rows["threshold feature"].notna()
        assert chosen.any()
        rows[column] = [values if new else old for old, new in zip(rows[column], chosen, strict=True)]

    return change


OPTIMAL = {"classifier": "optimal tree"}
#: For each predicate, a change of the rows that makes it fail.
BREAKING = {
    claims.midpoints_are_not_affordable: put("proven", True, method="midpoints", **OPTIMAL),
    claims.trees_are_proven: put("proven", False, method="gtre", fold=0, dataset="magic", **OPTIMAL),
    claims.optimal_is_more_robust: put("accuracy", add(0.1), method="gtre", dataset="magic", fold=1, **OPTIMAL),
    claims.optimal_is_more_accurate: put("accuracy", add(0.1), method="gtre", dataset="magic", classifier="cart"),
    claims.optimal_is_sparser: put("classifier features", 6.0, method="fcca", dataset="boston", **OPTIMAL),
    claims.gtre_and_fcca_are_as_accurate: put("accuracy", add(0.05), method="gtre", dataset="vehicle", **OPTIMAL),
    claims.accuracy_is_kept: put("accuracy", add(-0.05), method="fcca", Q=0.7, dataset=("boston", "vehicle"), **OPTIMAL),
    claims.exception_loses_accuracy: put("accuracy", add(0.02), method="fcca", Q=0.7, dataset="magic", **OPTIMAL),
    claims.continuous_has_zero_rates: put("compression", 0.01, method="continuous", dataset="boston"),
    claims.compression_is_significant: put("compression", 0.04, method="gtre", dataset="boston"),
    claims.inconsistency_is_not_zero: put("inconsistency", 0.0, method="gtre", dataset="boston"),
    claims.rates_are_similar: put("inconsistency", add(0.06), method="gtre", dataset="boston"),
    claims.rates_rise_with_granularity: put("inconsistency", 0.0, method="fcca", Q=0.8, dataset="boston"),
    claims.compression_tends_to_one: put("compression", 0.89, method="fcca", Q=(0.9, 0.95), dataset="boston"),
    claims.trees_get_easier: put("leaves", 6.0, method="fcca", Q=0.7, dataset="boston", **OPTIMAL),
    claims.inconsistency_rises: put("inconsistency", 0.02, method="fcca", Q=0.95, dataset="boston"),
    claims.inconsistency_tells_lost_accuracy: put("accuracy", 0.8, method="fcca", **OPTIMAL),
    claims.inconsistency_is_acceptable: put("inconsistency", 0.3, method="fcca", Q=0.7, dataset="boston"),
    claims.exception_is_inconsistent_at_once: put("inconsistency", 0.2, method="fcca", Q=0.0, dataset="boston"),
    claims.exception_reaches_20_percent: put("inconsistency", 0.1, method="fcca", Q=0.7, dataset="magic"),
    claims.exception_decreases: put("accuracy", 0.9, method="fcca", Q=0.7, dataset="magic", **OPTIMAL),
    claims.thresholds_shrink: put("thresholds", 30.0, method="fcca", Q=0.6, dataset="boston"),
    claims.too_high_granularity_hurts: put("accuracy", 0.9, method="fcca", Q=0.95, **OPTIMAL),
    claims.raised_granularity_is_good: put("inconsistency", 0.3, method="fcca", Q=0.7, dataset=("boston", "vehicle")),
    claims.granularities_are_nested: put("thresholds", 7.0, method="fcca", Q=0.7, dataset="boston", fold=0),
    claims.heat_maps_are_similar: put_lists("threshold feature", [9] * 20, method="gtre", dataset="boston"),
    claims.sets_get_much_smaller: put("thresholds", 11.0, method="fcca", Q=0.7, dataset="boston"),
    claims.inconsistency_bounds_accuracy: put("accuracy", 1.0, method="kbins", dataset="boston", fold=3, **OPTIMAL),
    claims.lambda0_selects_features: put("features", 9.0, method="lambda0-path", lambda0=2.0, dataset="boston"),
    claims.lambda0_moves_features_and_granularity_thresholds: put("features", 5.0, method="lambda0-path", dataset="magic"),
    claims.other_models_can_be_trained: put("accuracy", 0.7, method="fcca", Q=0.0, classifier="naive Bayes"),
    claims.counterfactuals_are_fast: put("seconds", 20.0, method="fcca", dataset="magic"),
    other_targets.accuracies_are_similar: put("accuracy", 0.7, method="fcca-svm", Q=0.0, **OPTIMAL),
    other_targets.ensembles_are_similar: put_lists("threshold feature", [9] * 20, method="fcca-forest"),
    other_targets.svm_covers_the_interval: put_lists("threshold value", [0.5] * 20, method="fcca-svm"),
    other_targets.svm_selects_features: put("features", 7.0, method="fcca-svm", Q=0.0),
}
# For the SVM's thresholds to be those of boosting, both lists have to be.
BREAKING[other_targets.sets_are_different] = lambda rows: [
    put_lists("threshold feature", [i % 5 for i in range(20)], method="fcca-svm")(rows),
    put_lists("threshold value", [i / 20 + 0.01 for i in range(20)], method="fcca-svm")(rows),
]


@pytest.fixture(scope="module")
def holding():
    return made_rows()


def test_all_sentences_hold_on_rows_that_were_made_for_it(holding):
    judged = judge(CLAIMS, Results(holding, made_other_targets()))
    assert {(j.claim.sentence, j.numbers) for j in judged if j.word not in (HOLDS, SETTING)} == set()
    assert all(j.numbers for j in judged)


@pytest.mark.parametrize("predicate", BREAKING, ids=lambda predicate: predicate.__name__)
def test_a_sentence_fails_where_the_rows_speak_against_it(holding, predicate):
    rows = holding.copy(deep=True)
    BREAKING[predicate](rows)
    assert predicate(Results(holding)).holds is True
    assert predicate(Results(rows)).holds is False


@pytest.mark.parametrize(
    ("predicate", "what", "target", "parameter"),
    [
        (other_targets.cross_validation_agrees, "accuracy by parameter", "forest", 6.0),
        (other_targets.svm_is_continuous, "distinct thresholds per crossing", "forest", None),
    ],
)
def test_a_sentence_on_what_is_measured_besides_fails_too(holding, predicate, what, target, parameter):
    more = made_other_targets()
    assert predicate(Results(holding, more)).holds is True
    chosen = (more["what"] == what) & (more["target"] == target)
    more.loc[chosen & (more["parameter"] == parameter) if parameter else chosen, "value"] = 0.95
    assert predicate(Results(holding, more)).holds is False


@pytest.mark.parametrize("method", ["fcca", "fcca-forest", "fcca-svm"])
def test_an_answer_that_the_target_denies_breaks_that_problems_can_be_solved(holding, method):
    rows = holding.copy()
    put("points unverified", 1, method=method)(rows)
    about_solving = [claim for claim in CLAIMS if "Counterfactual Explanations analogously" in claim.sentence]
    about_solving += [claim for claim in CLAIMS if "leads to the following formulation" in claim.sentence]
    assert [j.word for j in judge(about_solving, Results(holding))] == [HOLDS, HOLDS]
    assert FAILS in [j.word for j in judge(about_solving, Results(rows))]


def test_every_predicate_of_the_sentences_was_made_to_fail():
    elsewhere = {other_targets.cross_validation_agrees, other_targets.svm_is_continuous}
    named = {claim.decide for claim in CLAIMS if not claim.decide.__qualname__.startswith(("setting", "_solved"))}
    assert named == set(BREAKING) | elsewhere


def test_what_the_rows_lack_is_not_judged(holding):
    rows = holding[(holding["dataset"] == "boston") & (holding["fold"] == 0) & (holding["method"] != "lambda0-path")]
    judged = {j.claim.decide: j for j in judge(CLAIMS, Results(rows))}
    for predicate in (
        claims.exception_loses_accuracy,
        claims.optimal_is_more_robust,
        claims.lambda0_selects_features,
        other_targets.svm_is_continuous,
    ):
        assert judged[predicate].word == NOT_MEASURED
        assert judged[predicate].numbers
    assert judged[claims.trees_are_proven].word == HOLDS


def test_untried_trees_on_midpoints_do_not_speak_for_the_paper(holding):
    rows = holding[~where(holding, method="midpoints", classifier="optimal tree")]
    (judged,) = judge([claim for claim in CLAIMS if claim.decide is claims.midpoints_are_not_affordable], Results(rows))
    assert judged.word == NOT_MEASURED


def test_a_heat_map_shows_what_half_of_the_folds_have():
    folds = [{(0, 1): 0.9, (1, 1): 0.5}, {(0, 1): 0.4}, {(0, 1): 0.6, (2, 2): 0.1}]
    assert in_half_of_the_folds(folds) == {(0, 1): 0.6}
    assert in_half_of_the_folds(folds[:2]) == {(0, 1): 0.9, (1, 1): 0.5}
    assert shared_cells(folds, folds) == 1.0
    assert shared_cells([{(0, 0): 1.0}], [{(1, 0): 1.0}]) == 0.0


def test_the_standard_error_needs_two_values():
    assert np.isnan(standard_error(pd.Series([1.0])))
    assert standard_error(pd.Series([1.0, 3.0])) == pytest.approx(1.0)
