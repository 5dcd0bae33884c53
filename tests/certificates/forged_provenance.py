"""Forgeries of the provenance of a tree."""

from __future__ import annotations

from certificates.forgeries import forgery


@forgery("tree", "different p0 of the search")
def another_band_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["p0"] = 0.9


@forgery("tree", "different margin of the search")
def a_margin_that_the_tree_says_nothing_of(d):
    del d["tree"]["provenance"]["discretizer"]["parameters"]["margin"]


@forgery("tree", "different round_thresholds of the search")
def rounding_that_is_a_number(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["round_thresholds"] = 1


@forgery("tree", "different max_depth of the tree")
def a_depth_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["tree"]["parameters"]["max_depth"] = 9


@forgery("tree", "different max_nodes of the tree")
def branches_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["tree"]["parameters"]["max_nodes"] = 5


@forgery("tree", "different class_weight of the tree", of="another tree")
def weights_of_classes_that_the_tree_is_silent_about(d):
    d["tree"]["provenance"]["tree"]["parameters"]["class_weight"] = None


@forgery("tree", "different n_thresholds of the selection", of="three thresholds")
def a_selection_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["selection"]["parameters"]["n_thresholds"] = 9


@forgery("tree", "different fit_to of the selection", of="three thresholds")
def a_selection_that_the_tree_is_silent_about(d):
    d["tree"]["provenance"]["selection"] = None


@forgery("tree", "different selection of the selection")
def a_selection_that_nobody_made(d):
    d["tree"]["provenance"]["selection"] = {"class": "fcca.selection.OptimalSelection", "parameters": {"n_thresholds": 3}}
