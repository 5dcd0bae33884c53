"""Forgeries of thresholds, of their choice and of the tree on them."""

from __future__ import annotations

import json
import math

import numpy as np

from certificates.certified import case
from certificates.forgeries import conditions, forgery, leaves
from certificates.rebuilt import rebuilt
from fcca.metrics import inconsistency_rate
from fcca.selection import most_frequent
from fcca.thresholds import ThresholdTable

# --- thresholds -----------------------------------------------------------------------------------------------------------


@forgery("thresholds found", "stated count")
def a_count_raised(d):
    conditions(d)[0]["count"] += 1


@forgery("thresholds found", "is stated, but no counterfactual crosses it", "but it is not stated")
def a_threshold_moved_by_one_float(d):
    condition = conditions(d)[1]
    condition["threshold"] = math.nextafter(condition["threshold"], condition["above"])


@forgery("thresholds found", "but it is not stated")
def a_threshold_dropped(d):
    del conditions(d)[2]
    d["thresholds"]["kept"] = d["thresholds"]["kept"][:-1]


@forgery("thresholds found", "is stated, but no counterfactual crosses it")
def a_threshold_added(d):
    conditions(d).append(conditions(d)[-1] | {"threshold": conditions(d)[-1]["above"] * 0.999999})
    d["thresholds"]["kept"].append(len(d["thresholds"]["kept"]))


@forgery("thresholds found", "cuts of the black box")
def the_models_own_cut_changed(d):
    conditions(d)[0]["cut"] *= 1.01


@forgery("thresholds kept", "different ones", "max_thresholds")
def one_threshold_fewer_kept(d):
    d["thresholds"]["kept"].pop()


@forgery("missing values", "but does not decide", of="gb, mixed")
def a_gap_that_does_not_decide(d):
    found = d["counterfactuals"]
    at = next(row for row in found["row"] if row not in found["gap_row"])
    found["gap_row"].append(at)
    found["gap_feature"].append(found["gap_feature"][0])


@forgery("missing values", "there is no counterfactual", of="gb, mixed")
def a_gap_of_a_row_without_a_counterfactual(d):
    found = d["counterfactuals"]
    found["gap_row"].append(next(row for row in range(10**6) if row not in set(found["row"])))
    found["gap_feature"].append(0)


@forgery("missing values", "is not listed", of="gb, mixed")
def a_gap_that_decides_left_out(d):
    d["counterfactuals"]["gap_row"].pop()
    d["counterfactuals"]["gap_feature"].pop()


@forgery("missing values", "more than once", of="gb, mixed")
def a_gap_that_decides_twice(d):
    found = d["counterfactuals"]
    for name in ("gap_row", "gap_feature"):
        found[name].append(found[name][-1])
    rebuilt(d, case("gb, mixed"))


@forgery("missing values", "is not listed", of="logistic, mixed")
def a_gap_that_decides_left_out_of_a_linear_model(d):
    d["counterfactuals"]["gap_row"].pop()
    d["counterfactuals"]["gap_feature"].pop()
    rebuilt(d, case("logistic, mixed"))


@forgery("missing values", "are listed, but the rows have none")
def gaps_where_there_are_none(d):
    d["counterfactuals"]["gap_row"].append(d["counterfactuals"]["row"][0])
    d["counterfactuals"]["gap_feature"].append(0)


@forgery("thresholds kept", "inconsistency of", of="three thresholds")
def an_inconsistency_lowered(d):
    d["thresholds"]["selection"]["inconsistency"] *= 0.5
    d["thresholds"]["selection"]["lower_bound"] *= 0.5


@forgery("thresholds kept", "above its inconsistency", of="three thresholds")
def a_bound_of_a_selection_raised(d):
    d["thresholds"]["selection"]["lower_bound"] += 0.1


@forgery("thresholds kept", "below its inconsistency", of="three thresholds")
def a_bound_of_a_selection_lowered(d):
    d["thresholds"]["selection"]["lower_bound"] -= 0.01


@forgery("thresholds kept", "the parameters have no selection", of="three thresholds")
def a_selection_denied(d):
    d["parameters"]["selection"] = None


@forgery("thresholds kept", "its proof is not stated", of="three thresholds")
def a_proof_of_a_selection_left_out(d):
    d["thresholds"]["selection"] = None


@forgery("thresholds kept", "n_thresholds is", of="three thresholds")
def another_number_asked_for(d):
    d["parameters"]["selection"]["n_thresholds"] = 2


def others_kept(d):
    """The first thresholds instead of the best, with consistent figures."""
    table = ThresholdTable.from_json(json.dumps(d["thresholds"]["found"]))
    one = case("three thresholds")
    n = len(d["thresholds"]["kept"])
    frequent = np.flatnonzero(most_frequent(table, d["parameters"]["Q"]))[:n]
    d["thresholds"]["kept"] = frequent.tolist()
    B = table.select(np.isin(np.arange(len(table)), frequent)).binarize(one.X)
    rate = float(inconsistency_rate(B, one.y))
    assert rate > d["thresholds"]["selection"]["inconsistency"] + 1e-6
    d["thresholds"]["selection"] = {"inconsistency": rate, "lower_bound": rate, "optimal": True}


@forgery("thresholds kept", "so these are not the best", of="three thresholds")
def a_selection_that_is_not_the_best(d):
    others_kept(d)


@forgery("thresholds kept", "below the stated lower bound", of="three thresholds")
def a_bound_of_a_selection_that_nobody_proved(d):
    others_kept(d)
    d["thresholds"]["selection"]["optimal"] = False


@forgery("thresholds kept", "without a limit the search ends with a proof", of="three thresholds")
def a_selection_that_is_not_called_optimal(d):
    others_kept(d)
    d["thresholds"]["selection"] |= {"optimal": False, "lower_bound": 0.0}


@forgery("thresholds kept", "not the fewest", of="few thresholds of those allowed")
def more_thresholds_than_needed(d):
    table = ThresholdTable.from_json(json.dumps(d["thresholds"]["found"]))
    one = case("few thresholds of those allowed")
    limited = [table.feature_names.index(name) for name in ("car", "rent")]
    free = set(np.flatnonzero(~np.isin(table.feature, limited)).tolist())
    kept = sorted({*d["thresholds"]["kept"], *free})
    assert len(kept) > len(d["thresholds"]["kept"])
    d["thresholds"]["kept"] = kept
    rate = float(inconsistency_rate(table.select(np.isin(np.arange(len(table)), kept)).binarize(one.X), one.y))
    d["thresholds"]["selection"] |= {"inconsistency": rate, "lower_bound": rate}


@forgery("thresholds kept", "was forbidden, but is kept", of="three thresholds")
def a_threshold_kept_that_was_forbidden(d):
    d["parameters"]["selection"]["forbid"] = [positions_among_frequent(d)[0]]


@forgery("thresholds kept", "had to be kept, but is not", of="three thresholds")
def a_threshold_left_out_that_had_to_be_kept(d):
    taken = positions_among_frequent(d)
    d["parameters"]["selection"]["keep"] = [next(at for at in range(100) if at not in taken)]


@forgery("thresholds kept", "are allowed", of="three thresholds")
def more_thresholds_of_a_column_than_allowed(d):
    name = d["data"]["columns"][conditions(d)[d["thresholds"]["kept"][0]]["feature"]]
    d["parameters"]["selection"]["per_feature"] = {name: 0}


@forgery("thresholds kept", "columns are kept, but at most 1", of="three thresholds")
def more_columns_than_allowed(d):
    assert len({conditions(d)[at]["feature"] for at in d["thresholds"]["kept"]}) > 1
    d["parameters"]["selection"]["max_features"] = 1


@forgery("thresholds kept", "above max_inconsistency=0.01", of="few thresholds of those allowed")
def more_inconsistency_than_allowed(d):
    assert d["thresholds"]["selection"]["inconsistency"] > 0.01
    d["parameters"]["selection"]["max_inconsistency"] = 0.01


@forgery("thresholds kept", "parameters of the selection cannot be used", of="three thresholds")
def a_selection_of_nothing(d):
    d["parameters"]["selection"]["n_thresholds"] = None


def positions_among_frequent(d):
    """Positions of the thresholds kept among those that Q keeps."""
    table = ThresholdTable.from_json(json.dumps(d["thresholds"]["found"]))
    frequent = np.flatnonzero(most_frequent(table, d["parameters"]["Q"])).tolist()
    return [frequent.index(at) for at in d["thresholds"]["kept"]]


@forgery("thresholds found", "None of the", "searches gave a threshold")
def all_searches_called_unfinished(d):
    n = len(d["counterfactuals"]["row"])
    d["counterfactuals"]["status"] = ["feasible"] * n
    d["statuses"] = {"feasible": n}


@forgery("thresholds kept", "Q=", of="three thresholds")
def a_selection_beyond_Q(d):
    d["parameters"]["Q"] = 1.0


# --- tree -----------------------------------------------------------------------------------------------------------------


@forgery("tree", "objective is", "leaves give")
def the_weights_of_a_leaf_swapped(d):
    """Two leaves of one node, so that their sum does not change."""
    nodes = d["tree"]["nodes"]
    for node in nodes:
        sides = [nodes[node[side]] for side in ("left", "right")] if node.get("condition") is not None else []
        if sides and all(side.get("condition") is None for side in sides):
            weights = [side["soft_weight"] for side in sides]
            moved = min(weights[0][0], weights[1][1]) / 2
            if moved > 0:
                for weight, by in zip(weights, (-moved, moved), strict=True):
                    weight[0] += by
                    weight[1] -= by
                return
    raise AssertionError("no two leaves to change")


@forgery("objective", "soft labels in the leaves")
def the_probabilities_of_the_classes_exchanged(d):
    """The log-loss of two classes stays the same."""
    for node in d["tree"]["nodes"]:
        node["soft_weight"].reverse()


@forgery("objective", "soft labels in the leaves", of="half labels, half probabilities")
def a_mixture_called_probabilities(d):
    d["parameters"]["fit_to"] = d["tree"]["provenance"]["fit_to"] = "probability"


@forgery("tree", "leaf", "gets a total weight per class of", of="the paper")
def the_class_of_a_leaf_changed(d):
    nodes = d["tree"]["nodes"]
    node = next(
        node
        for node in nodes
        if node.get("condition") is not None
        and all(nodes[node[side]].get("condition") is None for side in ("left", "right"))
    )
    for side in ("left", "right"):
        nodes[node[side]]["weight"].reverse()
    node["weight"].reverse()
    if node is not nodes[0]:
        raise AssertionError("the tree is larger than it was thought to be")


@forgery("tree", "leaf", "rows, but", "are stated")
def the_rows_of_two_leaves_changed(d):
    nodes = d["tree"]["nodes"]
    node = next(
        node
        for node in nodes
        if node.get("condition") is not None
        and all(nodes[node[side]].get("condition") is None for side in ("left", "right"))
    )
    nodes[node["left"]]["rows"] += 1
    nodes[node["right"]]["rows"] -= 1


@forgery("tree", "not one of the thresholds kept")
def a_condition_of_the_tree_moved(d):
    condition = d["tree"]["conditions"][d["tree"]["nodes"][0]["condition"]]
    condition["threshold"] = math.nextafter(condition["threshold"], math.inf)


@forgery("tree", "conditions of the tree differ")
def a_condition_that_the_tree_did_not_take_moved(d):
    asked = {node["condition"] for node in d["tree"]["nodes"]}
    condition = next(condition for at, condition in enumerate(d["tree"]["conditions"]) if at not in asked)
    condition["count"] += 1


@forgery("tree", "states the counterfactuals")
def the_statuses_of_the_tree_changed(d):
    d["tree"]["provenance"]["counterfactuals"] = {"optimal": 10_000}


@forgery("tree", "fidelity")
def the_fidelity_changed(d):
    d["tree"]["provenance"]["fidelity"] = 1.0
    d["tree"]["provenance"]["accuracy"] = 1.0


@forgery("tree", "fidelity", of="weights of classes")
def the_fidelity_changed_where_classes_have_weights(d):
    d["tree"]["provenance"]["fidelity"] = 1.0


@forgery("tree", "fit_to='target'", of="gb")
def a_tree_that_is_said_to_have_learned_something_else(d):
    d["tree"]["provenance"]["fit_to"] = "target"


@forgery("parameters", "class weights are below 0", of="weights of classes")
def classes_without_any_weight(d):
    d["parameters"]["tree"]["class_weight"] = [[0, 0.0], [1, 0.0]]


# --- what the tree takes and refuses --------------------------------------------------------------------------------------


@forgery("tree", "column 'purpose' of the tree", "categories", of="rf, mixed")
def a_category_that_the_tree_would_take(d):
    column_of(d["tree"], "purpose")["categories"].append("yacht")


@forgery("tree", "must be sorted", of="rf, mixed")
def categories_that_the_tree_takes_in_another_order(d):
    column_of(d["tree"], "purpose")["categories"].reverse()


@forgery("tree", "accepts missing values", of="gb")
def missing_values_that_the_tree_would_take(d):
    d["tree"]["missing_values"] = True


@forgery("tree", "column 'worst radius' of the tree", "missing values", of="rf")
def missing_values_that_a_column_of_the_tree_would_take(d):
    d["tree"]["missing_values"] = True
    for column in d["tree"]["columns"]:
        column["missing"] = True


@forgery("tree", "missing values", of="rf, mixed")
def a_gap_that_no_row_has(d):
    column_of(d["tree"], "age")["missing"] = True


@forgery("tree", "differs from the rows and the black box in its name", of="columns without names")
def names_that_nobody_gave(d):
    for j, column in enumerate(d["tree"]["columns"]):
        column["name"] = f"x{j}"


@forgery("thresholds found", "there is no column named 'height'", of="rf, mixed")
def a_column_of_the_thresholds_by_another_name(d):
    column_of(d["thresholds"]["found"], "age")["name"] = "height"


@forgery("thresholds found", "categories or missing values", of="rf, mixed")
def a_column_of_the_thresholds_with_gaps(d):
    column_of(d["thresholds"]["found"], "age")["missing"] = True


@forgery("thresholds found", "categories or missing values", of="rf, mixed")
def a_column_of_the_thresholds_that_is_ignored(d):
    column_of(d["thresholds"]["found"], "age")["ignored"] = True


@forgery("thresholds found", "there is no column named", of="rf, mixed")
def a_column_of_the_thresholds_without_its_name(d):
    column_of(d["thresholds"]["found"], "age")["name"] = None


def column_of(table, name):
    return next(column for column in table["columns"] if column["name"] == name)


@forgery("tree", "accuracy of the tree is missing")
def an_accuracy_left_out(d):
    d["tree"]["provenance"]["accuracy"] = None


@forgery("tree", "an accuracy is stated", of="another tree")
def an_accuracy_of_a_tree_that_did_not_learn_labels(d):
    d["tree"]["provenance"]["accuracy"] = 1.0


@forgery("tree", "states the counterfactuals by status as None")
def statuses_of_the_tree_left_out(d):
    d["tree"]["provenance"]["counterfactuals"] = None


@forgery("tree", "classes of the tree")
def the_classes_of_the_tree_swapped(d):
    d["tree"]["classes"].reverse()


@forgery("objective", "objective, bound, gap or optimality of the tree differ")
def the_objective_lowered_in_one_place(d):
    d["proof"]["objective"] -= 0.01


@forgery("objective", "is above the objective")
def a_lower_bound_raised_in_one_place(d):
    d["proof"]["lower_bound"] += 0.01


@forgery("objective", "called optimal, but its lower bound")
def a_lower_bound_lowered_in_one_place(d):
    d["proof"]["lower_bound"] *= 0.5


@forgery("objective", "a gap of")
def a_gap_changed_in_one_place(d):
    d["proof"]["gap"] = 0.1


@forgery("objective", "objective, bound, gap or optimality of the tree differ")
def an_optimal_flag_taken_away(d):
    d["proof"]["optimal"] = False


@forgery("tree", "objective is", "leaves give")
def the_objective_lowered(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["objective"] -= 0.01
        claim["lower_bound"] -= 0.01


@forgery("tree", "lower bound does not fit its objective")
def the_lower_bound_raised(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["lower_bound"] += 0.01


@forgery("tree", "lower bound does not fit")
def the_lower_bound_lowered(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["lower_bound"] *= 0.5
        claim["gap"] = 0.5


@forgery("tree", "gap is 0.1")
def the_gap_changed(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["gap"] = 0.1


@forgery("objective", "the regularization is")
def the_regularization_changed(d):
    d["parameters"]["tree"]["regularization"] = 0.001


@forgery("best tree", "better than the one called optimal", of="the paper")
def the_regularization_changed_everywhere(d):
    cheap = 1e-6
    d["parameters"]["tree"]["regularization"] = d["tree"]["certificate"]["regularization"] = cheap
    dear = 10 / d["data"]["rows"]
    n = len(leaves(d))
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["objective"] += n * (cheap - dear)
        claim["lower_bound"] = claim["objective"]


@forgery("objective", "max_depth is 2")
def the_depth_changed(d):
    d["parameters"]["tree"]["max_depth"] = 2


@forgery("tree", "max_depth of 1", of="another tree")
def a_depth_that_the_tree_does_not_have(d):
    d["parameters"]["tree"]["max_depth"] = d["tree"]["certificate"]["max_depth"] = 1


@forgery("tree", "lower bound does not fit", of="a tree cut short")
def an_optimal_flag_set(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["optimal"] = True


@forgery("best tree", "better than the one called optimal", of="a tree cut short")
def an_unfinished_tree_called_optimal(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["optimal"], claim["gap"], claim["lower_bound"] = True, 0.0, claim["objective"]


@forgery("best tree", "below the stated lower bound", of="a tree cut short")
def a_bound_of_an_unfinished_tree_raised(d):
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["gap"], claim["lower_bound"] = 0.0, claim["objective"]


@forgery("objective", "without a limit")
def another_tree_that_is_not_called_optimal(d):
    """A worse tree with consistent figures, without a limit that would explain it."""
    for claim in (d["proof"], d["tree"]["certificate"]):
        claim["optimal"], claim["lower_bound"], claim["gap"] = False, 0.0, 1.0
