"""Forgeries of counterfactuals and of parameters."""

from __future__ import annotations

import math

import numpy as np

from certificates.certified import case
from certificates.forgeries import forgery, move_of, point_of, without

# --- counterfactuals ------------------------------------------------------------------------------------------------------


@forgery("costs", "the stated cost is", "but the moves cost")
def a_cost_lowered(d):
    d["counterfactuals"]["cost"][7] *= 0.9


@forgery("bounds", "bound is above the cost")
def a_bound_raised(d):
    d["counterfactuals"]["bound"][7] += 0.01


@forgery("bounds", "status is optimal", "below the cost")
def a_bound_lowered_of_what_is_called_optimal(d):
    d["counterfactuals"]["bound"][7] *= 0.5


@forgery("costs", "the stated cost is")
def cost_and_bound_lowered_together(d):
    for name in ("cost", "bound"):
        d["counterfactuals"][name][7] -= 1e-6


@forgery("landings", "nearest training value")
def a_landing_moved(d):
    found = d["counterfactuals"]
    k = move_of(d, 7)
    found["move_to"][k] += 1e-3 * (found["move_to"][k] - found["move_from"][k])


@forgery("costs", "the stated cost is")
def a_landing_moved_is_a_cost_changed(d):
    a_landing_moved(d)


@forgery("range and rules", "leaves the range")
def a_landing_outside_of_the_data(d):
    found = d["counterfactuals"]
    k = move_of(d, 7)
    found["move_to"][k] = 1e6 if found["move_to"][k] > found["move_from"][k] else -1e6


@forgery("answers", "does not predict the target")
def a_landing_pulled_back_before_the_cut(d):
    found = d["counterfactuals"]
    k = move_of(d, 7)
    found["move_to"][k] = math.nextafter(found["move_from"][k], found["move_to"][k])


@forgery("moves", "start at the value")
def a_start_moved(d):
    d["counterfactuals"]["move_from"][3] += 1e-9


@forgery("moves", "moves twice")
def a_move_written_twice(d):
    found = d["counterfactuals"]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name].insert(3, found[name][3])


@forgery("moves", "moves, but no counterfactual")
def a_move_of_a_row_without_a_counterfactual(d):
    found = d["counterfactuals"]
    row = next(row for row in range(10**6) if row not in set(found["row"]))
    for name, value in {"row": row, "feature": 0, "from": 1.0, "to": 2.0}.items():
        found[f"move_{name}"].append(value)


@forgery("moves", "does not end at another value")
def a_landing_beyond_all_floats(d):
    d["counterfactuals"]["move_to"][0] = 10**400


@forgery("moves", "nothing moves")
def moves_left_out(d):
    found = d["counterfactuals"]
    row = found["row"][7]
    kept = [k for k, of in enumerate(found["move_row"]) if of != row]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name] = [found[name][k] for k in kept]


@forgery("answers", "the target is the class of the unchanged row")
def a_target_changed(d):
    target = d["counterfactuals"]["target"]
    target[7] = 1 - target[7]


@forgery("answers", "does not predict the target", of="rf, three classes")
def a_target_of_three_changed(d):
    target = d["counterfactuals"]["target"]
    others = {"setosa", "versicolor", "virginica"} - {target[7]}
    target[7] = sorted(others)[1]


@forgery("answers", "not a class")
def a_target_that_is_no_class(d):
    d["counterfactuals"]["target"][7] = "maybe"


@forgery("rows searched", "the counterfactual is missing")
def a_point_dropped(d):
    without(d, 7)


@forgery("rows searched", "outside p0 and p1", of="a band")
def a_point_added(d):
    found = d["counterfactuals"]
    absent = next(row for row in range(d["data"]["rows"]) if row not in found["row"])
    row = found["row"][7]
    for name in ("row", "target", "status", "cost", "bound"):
        found[name].append(absent if name == "row" else found[name][7])
    for k in [k for k, of in enumerate(found["move_row"]) if of == row]:
        for name in ("move_row", "move_feature", "move_from", "move_to"):
            found[name].append(absent if name == "move_row" else found[name][k])
    d["statuses"]["optimal"] += 1


@forgery("rows searched", "more than one counterfactual")
def a_point_written_twice(d):
    found = d["counterfactuals"]
    for name in ("row", "target", "status", "cost", "bound"):
        found[name].append(found[name][7])
    d["statuses"]["optimal"] += 1


@forgery("rows searched", "not among the training rows")
def a_row_number_changed(d):
    found = d["counterfactuals"]
    row = found["row"][7]
    found["row"][7] = 99_999
    found["move_row"] = [99_999 if of == row else of for of in found["move_row"]]


@forgery("moves", "start at the value", of="a band")
def a_row_number_changed_for_another(d):
    found = d["counterfactuals"]
    absent = next(row for row in range(d["data"]["rows"]) if row not in found["row"])
    row = found["row"][7]
    found["row"][7] = absent
    found["move_row"] = [absent if of == row else of for of in found["move_row"]]


@forgery("rows searched", "counterfactuals have the statuses")
def statuses_miscounted(d):
    d["statuses"]["optimal"] += 1


@forgery("bounds", "status is optimal", of="searches cut short")
def a_status_flipped_to_optimal(d):
    at = point_of(d, "feasible")
    d["counterfactuals"]["status"][at] = "optimal"
    d["statuses"]["feasible"] -= 1
    d["statuses"]["optimal"] += 1


@forgery("moves", "nothing moves", of="lgbm, mixed")
def an_infeasible_one_called_optimal(d):
    at = point_of(d, "infeasible")
    d["counterfactuals"]["status"][at] = "optimal"
    d["statuses"]["infeasible"] -= 1
    d["statuses"]["optimal"] += 1


@forgery("optima", "status is infeasible", "flips the black box", sample=None, time_limit=3.0)
def an_optimal_one_called_infeasible(d):
    found = d["counterfactuals"]
    row = found["row"][7]
    found["status"][7], found["target"][7], found["cost"][7], found["bound"][7] = "infeasible", None, None, None
    kept = [k for k, of in enumerate(found["move_row"]) if of != row]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name] = [found[name][k] for k in kept]
    d["statuses"]["optimal"] -= 1
    d["statuses"]["infeasible"] = 1


@forgery("optima", "the bound is", "but a change costs", of="searches cut short", sample=None, time_limit=3.0)
def a_bound_of_an_unfinished_search_raised(d):
    """All feasible ones; a bound above the cheapest cost is wrong too."""
    found = d["counterfactuals"]
    for at, status in enumerate(found["status"]):
        if status == "optimal":  # as if its search had been cut short, with a bound that nobody proved
            found["status"][at] = "feasible"
            found["cost"][at] = dearer_cost(d, at)
            found["bound"][at] = found["cost"][at]
            break
    d["statuses"]["feasible"] += 1
    d["statuses"]["optimal"] -= 1


def dearer_cost(d, at):
    return d["counterfactuals"]["cost"][at] + 0.05


@forgery("moves", "but there are moves", of="gb")
def an_answer_called_unknown(d):
    d["counterfactuals"]["status"][7] = "unknown"
    d["statuses"]["optimal"] -= 1
    d["statuses"]["unknown"] = 1


@forgery("bounds", "status is infeasible or unknown, but there is a cost", of="lgbm, mixed")
def a_cost_of_nothing(d):
    at = point_of(d, "infeasible")
    d["counterfactuals"]["cost"][at] = 0.2


@forgery("bounds", "status is infeasible", of="lgbm, mixed")
def a_bound_of_nothing(d):
    d["counterfactuals"]["bound"][point_of(d, "infeasible")] = 0.2


@forgery("answers", "but there is a target", of="lgbm, mixed")
def a_target_of_nothing(d):
    d["counterfactuals"]["target"][point_of(d, "infeasible")] = "good"


@forgery("moves", "does not end at another value", of="hgb, mixed")
def a_category_that_there_is_not(d):
    found = d["counterfactuals"]
    k = next(k for k, value in enumerate(found["move_to"]) if isinstance(value, str))
    found["move_to"][k] = "yacht"


@forgery("range and rules", "missing value is filled in", of="hgb, mixed")
def a_missing_value_filled_in(d):
    found = d["counterfactuals"]
    kept = case("hgb, mixed").X
    for row in found["row"]:
        if np.isnan(kept["income"].iloc[row]) and found["status"][found["row"].index(row)] == "optimal":
            k = found["move_row"].index(row)
            for name, value in (("move_row", row), ("move_feature", 0), ("move_from", None), ("move_to", 3.0)):
                found[name].insert(k, value)
            return
    raise AssertionError("no row without income")


@forgery("range and rules", "a rule is broken", of="columns that stay")
def a_rule_added(d):
    d["parameters"]["rules"][0]["names"] = ["worst texture", "worst perimeter"]


@forgery("optima", "cheaper than", of="columns that stay", sample=8)
def a_rule_left_out(d):
    d["parameters"]["rules"] = []
    d["parameters"]["rules_in_words"] = []


@forgery("parameters", "column", of="columns that stay")
def a_rule_on_a_column_that_there_is_not(d):
    d["parameters"]["rules"][0]["names"] = ["height"]


# --- parameters -----------------------------------------------------------------------------------------------------------


@forgery("costs", "the stated cost is")
def lambda0_changed(d):
    d["parameters"]["lambda0"] = 0.2


@forgery("costs", "the stated cost is")
def lambda1_changed(d):
    d["parameters"]["lambda1"] = 0.99


@forgery("costs", "the stated cost is")
def lambda2_changed(d):
    d["parameters"]["lambda2"] = 1e-3


@forgery("rows searched", "p0 and p1")
def p1_changed(d):
    d["parameters"]["p1"] = 0.9


@forgery("rows searched", "the counterfactual is missing", of="a band")
def p0_changed(d):
    d["parameters"]["p0"] = 0.5


@forgery("answers", "does not lead by the margin")
def the_margin_raised(d):
    d["parameters"]["margin"] = 0.2


@forgery("optima", "cheaper than", sample=8, of="a margin of a share")
def the_margin_lowered(d):
    d["parameters"]["margin"] = 1e-4


@forgery("thresholds kept", "Q=")
def Q_changed(d):
    d["parameters"]["Q"] = 0.9


@forgery("thresholds found", "no counterfactual crosses")
def rounding_denied(d):
    d["parameters"]["round_thresholds"] = False


@forgery("thresholds found", "no counterfactual crosses")
def merging_claimed(d):
    d["parameters"]["merge_tolerance"] = 0.5


@forgery("tree", "gets a total weight per class of", of="thresholds against the target")
def the_tree_learned_something_else(d):
    d["parameters"]["fit_to"] = "labels"


@forgery("data", "fingerprint of the rows is missing")
def rows_of_which_nothing_is_said(d):
    d["data"] |= {"fingerprint": None, "rows": None}


@forgery("model", "fingerprint of the black box is missing")
def a_black_box_of_which_nothing_is_said(d):
    d["model"]["fingerprint"] = None


# --- what Python takes for the same, and documents do not -----------------------------------------------------------------


@forgery("answers", "the target is not a class of the black box")
def a_target_that_is_true_for_1(d):
    targets = d["counterfactuals"]["target"]
    targets[targets.index(1)] = True


@forgery("answers", "the target is not a class of the black box")
def a_target_with_a_point(d):
    targets = d["counterfactuals"]["target"]
    targets[targets.index(1)] = 1.0


@forgery("moves", "does not end at another value", of="categories that are numbers")
def a_category_that_is_true_for_1(d):
    found = d["counterfactuals"]
    code = d["data"]["columns"].index("code")
    k = next(k for k, j in enumerate(found["move_feature"]) if j == code and found["move_to"][k] == 1)
    found["move_to"][k] = True


@forgery("thresholds found", "categories or missing values", of="categories that are numbers")
def a_category_of_a_column_that_is_true_for_1(d):
    table = d["thresholds"]["found"]
    code = d["data"]["columns"].index("code")
    table["columns"][code]["categories"] = [True if one == 1 else one for one in table["columns"][code]["categories"]]


@forgery("tree", "classes of the data are [False, True]", "classes of the tree")
def classes_that_are_booleans(d):
    d["data"]["classes"] = d["tree"]["classes"] = [False, True]


@forgery("tree", "classes of the tree are [0, True]")
def a_class_that_is_a_boolean(d):
    d["data"]["classes"] = d["tree"]["classes"] = [0, True]


@forgery("tree", "classes of the data are [0.0, 1.0]")
def classes_with_points(d):
    d["data"]["classes"] = [0.0, 1.0]


@forgery("tree", "classes of the data are [1, 0]", "classes of the tree")
def classes_in_another_order_with_their_weights(d):
    d["data"]["classes"] = d["tree"]["classes"] = [1, 0]
    for node in d["tree"]["nodes"]:
        node["weight"].reverse()


@forgery("parameters", "a class weight names 'maybe'", of="weights of classes")
def a_weight_of_a_class_that_there_is_not(d):
    d["parameters"]["tree"]["class_weight"][1][0] = "maybe"


@forgery("parameters", "a class weight names True", of="weights of classes")
def a_weight_of_a_class_that_is_a_boolean(d):
    d["parameters"]["tree"]["class_weight"][1][0] = True


@forgery("model", "decision threshold of the black box is 0.3", "states 0.7", of="deciding elsewhere")
def a_decision_elsewhere(d):
    d["model"]["decision_threshold"] = 0.7


@forgery("model", "decision threshold of the black box is 0.3", "states none", of="deciding elsewhere")
def a_decision_that_is_not_told(d):
    d["model"]["decision_threshold"] = None
