"""What notebooks show of results."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, ThresholdTable
from fcca.fairness import distill_without, gaps, recourse_by_group

NAME = "<script>alert('x')</script> & \"$y$\""


class Cells(HTMLParser):
    """Tags, and the texts of the cells of each line."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.lines, self.depth = [], [], []
        self.feed(text)
        self.close()
        assert self.depth == []  # all that was opened was closed

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.depth.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")

    def handle_endtag(self, tag):
        assert self.depth.pop() == tag

    def handle_data(self, data):
        if self.depth and self.depth[-1] in ("td", "th"):
            self.lines[-1][-1] += data


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({NAME: rng.choice(["<b>woman</b>", "man"], 200), "income": rng.normal(3, 1, 200).round(1)})
    return X, np.where((X["income"] > 3) | (X[NAME] == "man") & (X["income"] > 2), "<yes>", "no")


@pytest.fixture(scope="module")
def classifier(people):
    return FCCAClassifier().fit(*people)


@pytest.fixture(scope="module")
def results(people, classifier):
    X, y = people
    explainer = CounterfactualExplainer(classifier.discretizer_.estimator_, X)
    return {
        "thresholds": classifier.discretizer_.thresholds_,
        "recourse": recourse_by_group(explainer, X, NAME, favourable="<yes>", max_rows=5),
        "distillation": distill_without(FCCAClassifier(), X, y, NAME, favourable="<yes>"),
        "gaps": gaps(y, classifier.predict(X), X[NAME], "<yes>"),
    }


@pytest.mark.parametrize("name", ["thresholds", "recourse", "distillation", "gaps"])
def test_nothing_in_a_name_becomes_html_and_no_colour_is_set(results, name):
    page = results[name]._repr_html_()
    parsed = Cells(page)
    assert set(parsed.tags) <= {"p", "table", "thead", "tbody", "tr", "th", "td", "div", "ul", "li"}
    assert len({len(line) for line in parsed.lines}) == 1
    styles = " ".join(re.findall(r'style="([^"]*)"', page))
    assert not re.search("color|background", styles.replace("background:currentColor", ""))


def test_thresholds_are_listed_the_most_crossed_first(classifier):
    table = classifier.discretizer_.all_thresholds_
    lines = Cells(table._repr_html_()).lines[1:]
    frame = table.to_frame().sort_values("count", ascending=False, kind="stable").head(30)
    assert [line[0] for line in lines] == frame["condition"].tolist()
    assert [float(line[1].replace(",", "")) for line in lines] == frame["count"].tolist()


def test_thirty_thresholds_are_shown_and_the_others_counted():
    table = ThresholdTable.from_list([("x", float(at)) for at in range(1234)], ["x", "y"])
    page = table._repr_html_()
    assert len(Cells(page).lines) == 31
    assert "1,204 more" in page
    assert "1,234 conditions on 1 of 2 columns" in page


def test_a_table_without_conditions_is_shown_too():
    table = ThresholdTable.from_list([], ["x"])
    assert Cells(table._repr_html_()).lines == [["condition", "crossed", ""]]


def test_groups_are_shown_with_their_figures(results):
    recourse, distillation = results["recourse"], results["distillation"]
    lines = Cells(recourse._repr_html_()).lines
    assert [line[0] for line in lines[1:]] == [str(group) for group in recourse.to_frame().index]
    assert [line[6] for line in lines[1:-1]] == [f"{cost:.3f}" for cost in recourse.groups["mean_cost"]]
    lines = Cells(distillation._repr_html_()).lines
    assert [line[0] for line in lines[1:]] == list(distillation.models.index)
    assert [line[1] for line in lines[1:]] == [f"{accuracy:.3f}" for accuracy in distillation.models["accuracy"]]
    assert lines[1][3:5] == ["–", "–"]
    assert lines[3][4] == "no"


def test_estimators_keep_scikit_learn_s_own_page(classifier):
    assert "sk-container" in classifier._repr_html_()
    assert "sk-container" in FCCADiscretizer()._repr_html_()
