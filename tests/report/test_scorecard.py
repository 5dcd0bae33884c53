"""The section of the report with a scorecard."""

import re
from dataclasses import replace

import pytest

from fcca import FCCAClassifier, FCCADiscretizer, FCCAScorecard, report
from fcca.exceptions import InvalidInputError
from scorecard.cards import SPECIAL, random_table

from .browser import PHONE
from .test_browser_safety import axe

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.SpecialValuesWarning")


@pytest.fixture(scope="module")
def fitted():
    X, y = random_table(0)
    X = X.rename(columns={"income": "<b>income</b>", "age": "age\u202e"})
    return FCCAClassifier(FCCADiscretizer()).fit(X, y), FCCAScorecard(FCCADiscretizer(special_values=SPECIAL)).fit(X, y)


def section(classifier, scorecard, **options) -> str:
    text = report.page(classifier, scorecard=scorecard, Q=[0.0], n_thresholds=False, time_limit=1, **options)
    return text.partition('data-test="scorecard"')[2].partition("</section>")[0]


def cells(text: str) -> list[list[str]]:
    return [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in re.findall("<tr>(.*?)</tr>", text) if "<td>" in line]


def test_every_bin_is_on_the_page_and_without_a_scorecard_there_is_no_section(fitted):
    classifier, scorecard = fitted
    found = section(classifier, scorecard)
    assert [int(line[-1]) for line in cells(found)] == scorecard.table_["points"].tolist()
    assert [float(line[2].replace(",", "")) for line in cells(found)] == scorecard.table_["count"].tolist()
    assert not section(classifier, None)


def test_names_are_text_and_nothing_else(fitted):
    found = section(*fitted)
    assert "&lt;b&gt;income&lt;/b&gt;" in found
    assert "<b>income" not in found
    assert "age\\u202e" in found
    assert "\u202e" not in found


def test_classes_have_their_names(fitted):
    found = section(*fitted, class_names={"no": "repaid", "yes": "defaulted"})
    assert "the odds of repaid are" in found
    assert "rate of defaulted" in found


def test_counts_and_scores_above_a_million_have_all_digits(fitted):
    classifier, scorecard = fitted
    card = scorecard.scorecard_
    many = tuple(replace(column, weight=column.weight * 1_234_567) for column in card.used)
    found = section(classifier, replace(card, used=many, base_score=1_234_567.0))
    assert [int(line[2].replace(",", "")) for line in cells(found)] == (1_234_567 * scorecard.table_["count"]).tolist()
    assert "At 1,234,567 points" in found
    assert "e+0" not in found


def test_long_names_do_not_widen_the_page_and_axe_finds_nothing(opened, fitted, tmp_path):
    X, y = random_table(0)
    scorecard = FCCAScorecard(FCCADiscretizer(special_values=SPECIAL)).fit(X.rename(columns=lambda name: f"{name}X" * 8), y)
    path = report.write(fitted[0], tmp_path / "r.html", scorecard=scorecard, Q=[0.0], n_thresholds=False)
    for options in ({}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}):
        reader = opened(path, **options)
        assert reader.overflow() <= 0
        assert axe(reader) == []


def test_other_objects_are_refused(fitted):
    with pytest.raises(InvalidInputError, match="Expected a fitted FCCAScorecard or a Scorecard, got str"):
        report.page(fitted[0], scorecard="scorecard")
