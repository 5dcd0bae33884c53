"""Forgeries of what a tree is said to come from."""

from __future__ import annotations

from certificates.forgeries import forgery


@forgery("tree", "a search with another p0")
def another_band_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["p0"] = 0.9


@forgery("tree", "a search with another margin")
def a_margin_that_the_tree_says_nothing_of(d):
    del d["tree"]["provenance"]["discretizer"]["parameters"]["margin"]


@forgery("tree", "a search with another round_thresholds")
def rounding_that_is_a_number(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["round_thresholds"] = 1


@forgery("tree", "a tree with another max_depth")
def a_depth_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["tree"]["parameters"]["max_depth"] = 9


@forgery("tree", "a tree with another max_nodes")
def branches_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["tree"]["parameters"]["max_nodes"] = 5


@forgery("tree", "a tree with another class_weight", of="another tree")
def weights_of_classes_that_the_tree_is_silent_about(d):
    d["tree"]["provenance"]["tree"]["parameters"]["class_weight"] = None


@forgery("tree", "a selection with another n_thresholds", of="three thresholds")
def a_selection_that_the_tree_comes_from(d):
    d["tree"]["provenance"]["selection"]["parameters"]["n_thresholds"] = 9


@forgery("tree", "a selection with another", of="three thresholds")
def a_selection_that_the_tree_is_silent_about(d):
    d["tree"]["provenance"]["selection"] = None


@forgery("tree", "a selection with another")
def a_selection_that_nobody_made(d):
    d["tree"]["provenance"]["selection"] = {"class": "fcca.selection.OptimalSelection", "parameters": {"n_thresholds": 3}}
