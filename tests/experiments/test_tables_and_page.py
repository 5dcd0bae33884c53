"""Tables, figures and the page, from rows that were made up."""

import json
import re

import pandas as pd
import pytest
from made_rows import DATASETS, made_other_targets, made_rows

from experiments import figures, page, tables
from experiments.rows import Results
from real_data import imported


@pytest.fixture(scope="module")
def results():
    return Results(made_rows(folds=(0, 1)))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    imported("matplotlib")
    folder = tmp_path_factory.mktemp("study")
    rows = made_rows(folds=(0, 1))
    rows.to_parquet(folder / page.RESULTS)
    made_other_targets().to_parquet(folder / page.OTHER_TARGETS)
    about = {"study": "made up", "machine": "none <b>", "runs": [{"begun": "now", "seconds": 1.0, "cells": 2, "jobs": 1}]}
    (folder / page.ABOUT).write_text(json.dumps(about | {"feature names": {"boston": ["<script>alert(1)</script>"]}}))
    page.build(folder)
    return folder


def test_tables_1_and_2_stand_beside_the_paper(results):
    sizes, targets = tables.table_1(results), tables.table_2(results)
    assert {second for _, second in sizes.columns} == {second for _, second in targets.columns} == {"paper", "here", ""}
    first = sizes.iloc[0]
    assert (first["data set", ""], first["n", "paper"], first["n", "here"]) == ("boston", "506", "500")
    magic = sizes[sizes["data set", ""] == "magic"].iloc[0]
    assert (magic["external test rows", "paper"], magic["external test rows", "here"]) == ("14,020", "900")
    assert targets.iloc[0]["accuracy of the target (%)", "paper"] == "82.81"
    assert targets.iloc[0]["accuracy of the target (%)", "here"] == "85.00 ± 0.00"
    assert "9,999" in sizes[sizes["data set", ""] == "vehicle"].iloc[0]["note", ""]


def test_the_table_of_all_methods_has_every_method_granularity_and_cost(results):
    table = tables.all_methods(results)
    assert len(table) == results.rows.groupby(["dataset", "method", "Q", "lambda0"], dropna=False).ngroups
    row = table[(table["method", ""] == "fcca") & (table["Q", ""] == "0.7") & (table["data set", ""] == "boston")].iloc[0]
    assert row["thresholds", ""] == "6.0 ± 0.0"
    assert row["accuracy", "optimal tree"] == "0.793 ± 0.010"
    assert row["accuracy", "pycontree"] == "–"
    assert row["optimal tree proven", ""] == "2 of 2"
    row = table[(table["method", ""] == "midpoints") & (table["data set", ""] == "vehicle")].iloc[0]
    assert (row["thresholds", ""], row["accuracy", "CART"], row["optimal tree proven", ""]) == ("9,999.0 ± 0.0", "–", "–")


def test_a_data_set_that_is_not_the_papers_gets_dashes():
    rows = made_rows(folds=(0,)).query("dataset == 'boston'").assign(dataset="breast_cancer")
    assert tables.table_1(Results(rows)).iloc[0]["n", "paper"] == "–"
    assert tables.table_2(Results(rows)).iloc[0]["paper ÷ here", ""] == "–"


def test_every_figure_is_there_as_png_and_svg(built):
    names = {path.stem for path in (built / "figures").glob("*.png")}
    assert names == {path.stem for path in (built / "figures").glob("*.svg")}
    assert names == {
        *("accuracy", "features", "compression", "inconsistency", "other-targets", "other-thresholds", "lambda0", "peers"),
        *(f"thresholds-{name}" for name in DATASETS),
    }


def test_figures_of_the_same_rows_are_the_same_bytes(built, results, tmp_path):
    drawing = next(drawing for drawing in figures.draw(results, {}) if drawing.name == "compression")
    drawing.save(tmp_path)
    assert (tmp_path / "compression.svg").read_bytes() == (built / "figures" / "compression.svg").read_bytes()


def test_captions_say_where_only_a_part_of_the_data_is_at_hand(results):
    drawings = {drawing.name: drawing for drawing in figures.draw(results, {})}
    assert all("9,999" in drawings[name].caption for name in ("accuracy", "compression", "lambda0", "thresholds vehicle"))
    assert "9,999" not in drawings["thresholds boston"].caption
    assert all(len(drawing.alt) > 40 for drawing in drawings.values())


def test_the_page_needs_nothing_else(built):
    text = (built / page.PAGE).read_text(encoding="utf-8")
    assert len(text) < 5_000_000
    addresses = re.findall(r"""(?:src|href|url|action|data)\s*[=(]\s*["']?([^"')\s>]+)""", text)
    assert addresses
    assert {address.partition(":")[0] if not address.startswith("#") else "#" for address in addresses} == {"#", "data"}
    assert not re.search(r"<script|<iframe|<link|@import|javascript:", text)


def test_the_page_can_be_read_without_seeing_it(built):
    text = (built / page.PAGE).read_text(encoding="utf-8")
    assert len(re.findall(r"<h1", text)) == 1
    images, alternatives = re.findall(r"<img ", text), re.findall(r'<img [^>]*alt="[^"]{20,}"', text)
    assert len(images) == len(alternatives) == len(list((built / "figures").glob("*.svg")))
    assert '<html lang="en">' in text
    assert all("<th scope=" in table for table in re.findall(r"<table.*?</table>", text, re.DOTALL))
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets == targets & set(re.findall(r'id="([^"]+)"', text))


def test_what_the_data_says_is_escaped(built):
    text = (built / page.PAGE).read_text(encoding="utf-8")
    assert "none &lt;b&gt;" in text
    assert "alert(1)" not in text


def test_the_page_tells_every_sentence_with_its_verdict(built):
    claims = pd.read_csv(built / page.CLAIMS_FILE)
    assert list(claims.columns) == ["section", "sentence", "verdict", "numbers"]
    text = (built / page.PAGE).read_text(encoding="utf-8")
    assert all(word in text for word in claims["verdict"].unique())
    assert "Combining GOSDT with the two discretization techniques" in text


def test_without_results_there_is_no_page(tmp_path):
    with pytest.raises(page.NoResultsError, match="python -m experiments run"):
        page.build(tmp_path)
