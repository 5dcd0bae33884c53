"""Forgeries that call counterfactuals unproven, which would hide thresholds, or claim a better bound than was proven."""

from __future__ import annotations

import numpy as np

from certificates.certified import case
from certificates.forgeries import forgery, point_of
from certificates.rebuilt import called, rebuilt, rows_of_a_column, without_moves
from fcca import CounterfactualExplainer

OF_ALL = {"sample": None, "time_limit": 10.0}


@forgery("rows searched", "status is feasible or unknown", "without a time limit")
def a_column_made_to_go_away_by_searches_called_unknown(d):
    called(d, rows_of_a_column(d), "unknown")
    rebuilt(d, case("gb"))


@forgery("rows searched", "status is feasible or unknown", of="logistic")
def a_column_of_a_linear_model_made_to_go_away(d):
    called(d, rows_of_a_column(d), "unknown")
    rebuilt(d, case("logistic"))


@forgery("rows searched", "status is feasible or unknown", of="rf")
def searches_called_feasible_with_a_bound_of_0(d):
    called(d, rows_of_a_column(d), "feasible")
    rebuilt(d, case("rf"))


@forgery("answers", "status is unverified, but the score of the target does not lead", of="rf")
def answers_called_unverified_without_moves(d):
    rows = rows_of_a_column(d)
    called(d, rows, "unverified")
    without_moves(d, rows)
    rebuilt(d, case("rf"))


@forgery("answers", "status is unverified, but the change flips the black box", of="rf")
def answers_called_unverified_with_their_moves(d):
    called(d, rows_of_a_column(d), "unverified")
    rebuilt(d, case("rf"))


@forgery("answers", "status is unverified, but the score of the target does not lead", of="rf")
def an_unverified_one_that_moves_too_little(d):
    found = d["counterfactuals"]
    row = found["row"][7]
    called(d, {row}, "unverified")
    k = found["move_row"].index(row)
    found["move_to"][k] = float(np.nextafter(found["move_from"][k], found["move_to"][k]))
    d["statuses"] = {"optimal": len(found["row"]) - 1, "unverified": 1}


@forgery("answers", "not a class of the black box", of="rf")
def an_unverified_one_without_a_target(d):
    row = d["counterfactuals"]["row"][7]
    called(d, {row}, "unverified")
    d["counterfactuals"]["target"][7] = None
    d["statuses"] = {"optimal": len(d["counterfactuals"]["row"]) - 1, "unverified": 1}


@forgery("costs", "the stated cost is", of="rf")
def an_unverified_one_of_another_cost(d):
    called(d, {d["counterfactuals"]["row"][7]}, "unverified")
    for name in ("cost", "bound"):
        d["counterfactuals"][name][7] *= 0.5
    d["statuses"] = {"optimal": len(d["counterfactuals"]["row"]) - 1, "unverified": 1}


@forgery("bounds", "without a time limit", of="rf")
def an_unverified_one_with_a_bound_of_0(d):
    called(d, {d["counterfactuals"]["row"][7]}, "unverified")
    d["counterfactuals"]["bound"][7] = 0.0
    d["statuses"] = {"optimal": len(d["counterfactuals"]["row"]) - 1, "unverified": 1}


@forgery("optima", "status is unverified, but", of="columns that stay", sample=1)
def answers_that_break_a_rule_called_unverified(d):
    """The cheapest changes without the rule; every sample includes them."""
    free, found = case("rf").classifier.discretizer_.counterfactuals_, d["counterfactuals"]
    columns = d["data"]["columns"]
    for at, row in enumerate(found["row"]):
        own = int(np.flatnonzero(free.rows == row)[0])
        mine = free.moves.point == own
        if {columns[j] for j in free.moves.feature[mine].tolist()} & {"worst radius", "worst area"}:
            called(d, {row}, "unverified")
            without_moves(d, {row})
            for name in ("cost", "bound"):
                found[name][at] = float(free.cost[own])
            found["target"][at] = int(free.target[own])
            found["move_row"] += [row] * int(mine.sum())
            found["move_feature"] += free.moves.feature[mine].tolist()
            found["move_from"] += free.moves.origin[mine].tolist()
            found["move_to"] += free.moves.landing[mine].tolist()
    assert "unverified" in found["status"]
    rebuilt(d, case("columns that stay"))


@forgery("optima", "status is unverified, but", of="moves between categories", sample=0)
def an_answer_that_breaks_a_rule_at_the_same_cost_called_unverified(d):
    """A forbidden move between categories costs as much as any other."""
    found, X = d["counterfactuals"], case("moves between categories").X
    for k, (row, j, origin) in enumerate(zip(found["move_row"], found["move_feature"], found["move_from"], strict=True)):
        if d["data"]["columns"][j] == "purpose" and origin != "car" and found["move_row"].count(row) == 1:
            assert origin == X["purpose"].iloc[row]
            found["move_to"][k] = "car"
            d["parameters"]["rules"][0]["pairs"] = [[origin, "car"]]
            called(d, {row}, "unverified")
            return rebuilt(d, case("moves between categories"))
    raise AssertionError("no move of a category alone")


@forgery("bounds", "status is unknown, but there is no bound", of="searches cut short")
def an_unknown_one_of_which_everything_is_proven(d):
    at = point_of(d, "feasible")
    called(d, {d["counterfactuals"]["row"][at]}, "unknown")
    d["counterfactuals"]["bound"][at] = None
    rebuilt(d, case("searches cut short"))


@forgery("optima", "the bound is", "but a change costs", of="searches cut short", **OF_ALL)
def an_unknown_one_with_a_bound_that_nobody_proved(d):
    at = point_of(d, "optimal")
    called(d, {d["counterfactuals"]["row"][at]}, "unknown")
    d["counterfactuals"]["bound"][at] = 9.0
    rebuilt(d, case("searches cut short"))


# --- within a relative gap ------------------------------------------------------------------------------------------------

WITHIN = "searches within a gap"


def dearer_than_the_cheapest(document):
    """Position of a counterfactual within the gap that is not the cheapest, and the cheapest cost."""
    one, found = case(WITHIN), document["counterfactuals"]
    explainer = CounterfactualExplainer(one.model, one.X)
    exact = explainer.explain(one.X.iloc[found["row"]])
    at = int((np.array(found["cost"]) - exact.cost).argmax())
    assert found["status"][at] == "within_gap"
    assert found["cost"][at] > 1.001 * exact.cost[at]
    return at, float(exact.cost[at])


@forgery("optima", "the bound is", "but a change costs", of=WITHIN, **OF_ALL)
def a_bound_above_the_cheapest_cost(d):
    at, least = dearer_than_the_cheapest(d)
    d["counterfactuals"]["bound"][at] = (d["counterfactuals"]["cost"][at] + least) / 2


@forgery("optima", "not optimal, because a change costs", of=WITHIN, **OF_ALL)
def one_within_the_gap_called_optimal(d):
    at, _ = dearer_than_the_cheapest(d)
    d["counterfactuals"]["status"][at], d["counterfactuals"]["bound"][at] = "optimal", d["counterfactuals"]["cost"][at]
    rebuilt(d, case(WITHIN))


@forgery("bounds", "status is within_gap, but the bound is below 0.8 of the cost", of=WITHIN)
def a_bound_outside_of_the_gap(d):
    d["counterfactuals"]["bound"][point_of(d, "within_gap")] *= 0.99


@forgery("bounds", "status is within_gap, but the searches had no relative gap", of="rf")
def one_within_a_gap_that_was_not_asked_for(d):
    called(d, {d["counterfactuals"]["row"][7]}, "within_gap")
    rebuilt(d, case("rf"))
