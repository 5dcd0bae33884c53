"""Forgeries of the sample of rows that was searched."""

from __future__ import annotations

from certificates.forgeries import conditions, forgery, without

SHARES = ("share", "share_low", "share_high")


@forgery("rows searched", "the counterfactual is missing", of="a sample")
def a_row_of_the_sample_left_out(d):
    without(d, 3)


@forgery("rows searched", "the search cannot have ended after 59 rows", of="a sample")
def a_smaller_sample(d):
    d["sample"]["size"] = 59


@forgery("rows searched", "not in the sample", of="a sample")
def a_smaller_sample_and_limit(d):
    d["sample"]["size"] = d["parameters"]["max_rows"] = 50


@forgery("rows searched", "'settled'", of="a sample")
def a_limit_called_settled(d):
    d["sample"]["reason"] = "settled"


@forgery("rows searched", "'level'", of="a sample")
def another_level(d):
    d["sample"]["level"] = 0.2


@forgery("rows searched", "'conditions'", of="a sample")
def fewer_conditions(d):
    d["sample"]["conditions"] -= 1


@forgery("rows searched", "'rows'", of="a sample, mixed")
def a_smaller_table(d):
    d["sample"]["rows"] -= 1


@forgery("rows searched", "unfinished", of="a sample")
def unfinished_searches_made_up(d):
    d["sample"]["unfinished"] = 2


@forgery("rows searched", "the counterfactual is missing", of="a sample")
def a_sample_called_all_rows(d):
    d["sample"] = None
    d["parameters"]["max_rows"] = "all"
    d["thresholds"]["found"]["version"] = 1


@forgery("rows searched", "it would hold all rows", of="gb of depth 2")
def all_rows_called_a_sample(d):
    n = sum(d["statuses"].values())
    d["sample"] = {"size": n, "searched": n, "rows": n, "reason": "interrupted", "level": 0.05}
    d["sample"] |= {"conditions": 10, "unfinished": 0}


@forgery("thresholds found", "intervals differ", of="a sample")
def a_narrow_interval(d):
    conditions(d)[0]["share_high"] = (conditions(d)[0]["share_high"] + conditions(d)[0]["share"]) / 2


@forgery("thresholds found", "intervals differ", of="a settled sample")
def a_higher_limit(d):
    conditions(d)[0]["share_low"] = conditions(d)[0]["share"]


@forgery("thresholds found", "intervals differ", of="a sample of a linear model")
def another_share(d):
    conditions(d)[0]["share"] *= 0.9


@forgery("thresholds found", "without a sample", of="gb of depth 2")
def shares_of_all_rows(d):
    d["thresholds"]["found"]["version"] = 4
    for condition in conditions(d):
        condition |= dict.fromkeys(SHARES, 0.5)


@forgery("rows searched", "the counterfactual is missing", of="a settled sample")
def a_later_look(d):
    d["sample"]["size"] *= 2
