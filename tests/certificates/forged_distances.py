"""Forgeries of the units of distance."""

from __future__ import annotations

from certificates.forgeries import forgery


def _asked(document, scale=None, category_distance=None):
    """Change the parameters, also in the tree's provenance."""
    for name, value in {"scale": scale, "category_distance": category_distance}.items():
        if value is not None:
            document["parameters"][name] = value
            told = document["tree"]["provenance"]["discretizer"]["parameters"]
            told[name] = repr(value) if isinstance(value, dict) else value


@forgery("costs", "the stated cost is", of="ranks, mixed")
def ranks_called_ranges(d):
    _asked(d, scale="range")


@forgery("costs", "the stated cost is", of="gb")
def ranges_called_ranks(d):
    _asked(d, scale="rank")


@forgery("costs", "the stated cost is", of="deviations, mixed")
def deviations_called_ranges(d):
    _asked(d, scale="range")


@forgery("costs", "the stated cost is", of="units, mixed")
def another_unit(d):
    _asked(d, scale={"income": 0.5, "age": 10.000001})


@forgery("costs", "the stated cost is", of="units, mixed")
def a_unit_left_out(d):
    _asked(d, scale={"income": 0.5})


@forgery("parameters", "'wage'", of="units, mixed")
def a_unit_of_an_unknown_column(d):
    _asked(d, scale={"income": 0.5, "wage": 10.0})


@forgery("parameters", "column holds categories", of="units, mixed")
def a_unit_of_categories(d):
    _asked(d, scale={"income": 0.5, "grade": 10.0})


@forgery("parameters", "rank", of="logistic, mixed")
def ranks_of_a_linear_model(d):
    _asked(d, scale="rank")


@forgery("costs", "the stated cost is", of="gb, mixed")
def the_distance_of_the_data_called_a_full_range(d):
    _asked(d, category_distance=1.0)


@forgery("costs", "the stated cost is", of="the paper's distances, mixed")
def a_full_range_called_the_distance_of_the_data(d):
    _asked(d, category_distance="auto")


@forgery("costs", "the stated cost is", of="units, mixed")
def another_category_distance(d):
    _asked(d, category_distance=2.4999)


@forgery("tree", "different scale", of="ranks, mixed")
def a_scale_changed_in_the_tree_alone(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["scale"] = "range"


@forgery("tree", "different category_distance", of="gb, mixed")
def a_category_distance_changed_in_the_tree_alone(d):
    d["tree"]["provenance"]["discretizer"]["parameters"]["category_distance"] = 0.5


@forgery("costs", "the stated cost is", of="gb, mixed")
def distances_left_out_are_the_papers(d):
    for name in ("scale", "category_distance"):
        del d["parameters"][name]
        del d["tree"]["provenance"]["discretizer"]["parameters"][name]
