"""The section of the report with a scorecard."""

import re

import pytest

from fcca import FCCAClassifier, FCCADiscretizer, FCCAScorecard, report
from fcca.exceptions import InvalidInputError
from scorecard.cards import SPECIAL, random_table

from .browser import PHONE
from .test_browser_safety import axe


@pytest.fixture(scope="module")
def fitted():
    X, y = random_table(0)
    X = X.rename(columns={"income": "<b>income</b>"})
    return FCCAClassifier(FCCADiscretizer()).fit(X, y), FCCAScorecard(FCCADiscretizer(special_values=SPECIAL)).fit(X, y)


@pytest.mark.filterwarnings("ignore::fcca.exceptions.SpecialValuesWarning")
def test_every_bin_is_on_the_page_and_without_a_scorecard_there_is_no_section(fitted):
    classifier, scorecard = fitted
    text = report.page(classifier, scorecard=scorecard, Q=[0.0], n_thresholds=False, time_limit=1)
    section = text.partition('data-test="scorecard"')[2].partition("</section>")[0]
    lines = re.findall(r"<tr><td>(.*?)</td>.*?([+-][\d.]+)</td></tr>", section)
    assert [points for _, points in lines] == [f"{points:+.6g}" for points in scorecard.table_["points"]]
    assert "&lt;b&gt;income&lt;/b&gt;" in section
    assert "<b>income" not in section
    assert 'data-test="scorecard"' not in report.page(classifier, Q=[0.0], n_thresholds=False, time_limit=1)


@pytest.mark.filterwarnings("ignore::fcca.exceptions.SpecialValuesWarning")
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
