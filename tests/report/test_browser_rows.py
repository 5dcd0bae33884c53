"""The row look-up shows the same as the Python API."""

import math

import numpy as np
import pytest

from fcca import FCCAClassifier, FCCADiscretizer, report

from .browser import said_path
from .fitted import breast_cancer, levels_of, stumps

LEVELS = (0, 5, 10)


def values_agree(shown, X, at):
    """Check that the shown values are those of the row, with missing values marked."""
    for column, (text, exact) in shown.items():
        value = X[column].iloc[at]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            assert text == "missing"
        elif isinstance(value, str):
            assert text == value
        else:
            assert float(exact) == value


@pytest.mark.parametrize("name", ["cancer", "mixed"])
def test_fifty_random_rows_are_as_in_python(opened, request, name):
    report = request.getfixturevalue(name)
    reader = opened(report.path)
    data, box, X = reader.data(), report.classifier.discretizer_, report.X
    answers, found = box.predict_target(X), box.counterfactuals_
    sentences = dict(zip(found.rows.tolist(), found.sentences(subject="This row"), strict=True))
    statuses = dict(zip(found.rows.tolist(), found.status.tolist(), strict=True))
    crossing_rows, crossed = box.crossings()
    texts = box.all_thresholds_.names()
    first, step = (1000, 3) if name == "mixed" else (0, 1)
    rows = np.random.default_rng(0).choice(len(report.y), 50, replace=False)
    for part, index in zip(np.array_split(rows, len(LEVELS)), LEVELS, strict=True):
        level = levels_of(data)[index]
        tree = report.classifier.at_granularity(level["value"])
        leaves, said, kept = tree.apply(X), tree.predict(X), set(tree.discretizer_.thresholds_.names())
        rules = dict(zip(np.flatnonzero(tree.structure_.feature < 0).tolist(), tree.rules(), strict=True))
        reader.set_level(index)
        for at in part.tolist():
            reader.look_up(first + step * at)
            shown = reader.row()
            assert (shown["label"], shown["black_box"], shown["tree"]) == (report.y[at], answers[at], said[at])
            assert said_path(shown["rule"]) == said_path(rules[leaves[at]])
            path = [node for node, _ in tree.structure_.path_to(int(leaves[at]))]
            assert shown["lit"] == [*path, leaves[at]]
            assert len(shown["steps"]) == len(path)
            if at in sentences:
                assert shown["sentence"] == sentences[at]
                assert statuses[at] == "optimal"
                assert shown["status"].startswith("Proven: no cheaper change flips the prediction (cost ")
                crosses = {texts[i] for i in crossed[crossing_rows == at]}
                assert {said_path(data["conditions"][int(i)]["text"]) for i in shown["crossed"]} == crosses
                for i, marked in shown["crossed"].items():
                    assert marked == ("kept" if said_path(data["conditions"][int(i)]["text"]) in kept else "dropped")
            else:
                assert shown["sentence"].startswith("No counterfactual was computed for this row")
                assert ("gets it wrong" in shown["sentence"]) == (answers[at] != report.y[at])
            values_agree(shown["values"], X, at)
        assert reader.fragment == f"#q={level['value']:g}&row={first + step * int(part[-1])}"


@pytest.mark.parametrize("name", ["mixed", "whole_numbers"])
def test_every_row_ends_in_the_same_leaf_as_in_python(opened, request, name):
    report = request.getfixturevalue(name)
    reader = opened(report.path)
    levels = levels_of(reader.data())
    asked = [[condition for condition in level["tree"]["condition"] if condition >= 0] for level in levels]
    assert any(asked)
    ends = reader.page.evaluate(
        """() => fcca.readRows().then((rows) =>
            fcca.state.axes[0].levels.map(({ tree }) => rows.number.map((_, i) => rows.walk(tree, i).leaf)))"""
    )
    for level, leaves in zip(levels, ends, strict=True):
        assert leaves == report.classifier.at_granularity(level["value"]).apply(report.X).tolist()


def test_a_tie_goes_to_the_first_class(opened, mixed):
    reader = opened(mixed.path)
    assert reader.page.evaluate("[[1, 3, 3], [2, 2], [0, 0, 5]].map(fcca.heaviest)") == [1, 0, 2]


def test_the_path_is_marked_by_more_than_colour(opened, cancer):
    reader = opened(cancer.path, "#row=5")
    lit = reader.page.locator("[data-test=tree] svg.tree .card.lit")
    assert lit.count() == reader.page.locator("[data-test=tree] svg.tree .stop").count() == len(reader.row()["lit"])
    assert reader.page.locator("[data-test=tree] svg.tree .link.lit").count() == lit.count() - 1

    def width(selector):
        return reader.page.locator(selector).first.evaluate("link => parseFloat(getComputedStyle(link).strokeWidth)")

    assert width("[data-test=tree] svg.tree .link.lit") > 2 * width("[data-test=tree] svg.tree .link:not(.lit)")
    reader.part("clear").click()
    assert lit.count() == 0
    assert "row" not in reader.fragment


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("1", lambda said, answers, y: said != y),
        ("2", lambda said, answers, y: said != answers),
        ("3", lambda said, answers, y: answers != y),
    ],
)
def test_a_filter_steps_through_the_rows_it_names(opened, mixed, choice, wanted):
    reader = opened(mixed.path, "#q=0.9")
    tree = mixed.classifier.at_granularity(0.9)
    answers = mixed.classifier.discretizer_.predict_target(mixed.X)
    rows = np.flatnonzero(wanted(tree.predict(mixed.X), answers, mixed.y))
    reader.part("filter").select_option(choice)
    assert reader.text("row-message").startswith(f"{len(rows)} of 500\xa0rows")
    reader.part("next").click()
    assert reader.part("row").input_value() == str(1000 + 3 * rows[0])
    reader.part("next").click()
    assert reader.part("row").input_value() == str(1000 + 3 * rows[1])
    reader.part("previous").click()
    reader.part("previous").click()
    assert reader.part("row").input_value() == str(1000 + 3 * rows[-1])
    for _ in range(5):
        reader.part("random").click()
        assert (int(reader.part("row").input_value()) - 1000) // 3 in rows


def test_rows_are_listed_by_the_class_that_the_black_box_or_the_tree_says(opened, mixed):
    reader = opened(mixed.path)
    answers = mixed.classifier.discretizer_.predict_target(mixed.X)
    for who, said in (("black box", answers), ("tree", mixed.classifier.predict(mixed.X))):
        for name in np.unique(mixed.y).tolist():
            rows = np.flatnonzero(said == name)
            reader.part("filter").select_option(f"rows where the {who} predicts “{name}”")
            reader.part("clear").click()
            assert reader.text("row-message").startswith(f"{len(rows)} of 500\xa0rows")
            reader.part("next").click()
            assert reader.part("row").input_value() == str(1000 + 3 * rows[0])


def test_what_is_said_to_change_the_trees_answer_does(opened, mixed):
    reader = opened(mixed.path)
    wrong = reader.page.evaluate(
        """() => fcca.readRows().then((rows) =>
          fcca.state.axes.flatMap((axis) => axis.levels).flatMap(({ tree }) => rows.number.map((_, i) => {
            const own = fcca.heaviest(tree.weight[rows.walk(tree, i).leaf]), found = fcca.rows.nearestOther(tree, rows, i);
            if (!found) return null;
            const fails = (step) => {
              const condition = fcca.data.conditions[tree.condition[step.node]];
              return fcca.holds(condition, rows.value(i, condition.column)) !== step.right;
            };
            const least = Math.min(...fcca.leaves(tree).filter((each) => fcca.heaviest(tree.weight[each.leaf]) !== own)
              .map((each) => each.steps.filter(fails).length));
            return found.broken.length === least && least > 0 && fcca.heaviest(tree.weight[found.leaf]) !== own ? null : i;
        }))).then((all) => all.filter((i) => i !== null))"""
    )
    assert wrong == []
    reader.look_up(1021)
    assert reader.row()["other"].startswith("The tree would predict ")


def test_a_change_is_said_to_be_no_advice_and_what_it_may_do(opened, cancer):
    reader = opened(cancer.path, "#row=5")
    text = reader.text("caveat")
    assert "It is not advice" in text
    assert "No rules were given: every column was allowed to change" in text
    assert f"Cost of a change: {reader.data()['change']['size']}." in text


def test_a_row_that_is_not_here_may_have_been_held_out(opened, cancer):
    reader = opened(cancer.path)
    reader.look_up(500)
    assert "The page has only the 400\xa0training rows. The row may have been held out." in reader.text("row-message")
    assert reader.page.locator("label[for=row]").inner_text() == "Row number (0 to 399)"
    reader.look_up(9999)
    assert "There is no row 9999" in reader.text("row-message")
    assert "held out" not in reader.text("row-message")


def test_an_unknown_row_is_answered_with_the_nearest(opened, mixed):
    reader = opened(mixed.path)
    reader.look_up(1004)
    assert reader.text("row-message").startswith("There is no row 1004 on this page.")
    nearest = reader.part("row-message").locator("button")
    assert nearest.all_inner_texts()[:2] == ["1,000", "1,003"]
    nearest.nth(1).click()
    assert reader.row()["label"] == mixed.y[1]
    assert reader.part("row").input_value() == "1003"


def test_the_look_up_follows_the_slider(opened, cancer):
    reader = opened(cancer.path, "#row=11")
    data = reader.data()
    answers = {}
    for index in LEVELS:
        reader.set_level(index)
        answers[index] = (reader.row()["tree"], reader.row()["rule"])
        tree = cancer.classifier.at_granularity(levels_of(data)[index]["value"])
        assert answers[index][0] == tree.predict(cancer.X)[11]
    assert len(set(answers.values())) > 1


def test_rows_outside_the_sample_are_named_so(opened, tmp_path):
    X, y = breast_cancer()
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), max_rows=60)).fit(X, y)
    path = report.write(classifier, tmp_path / "report.html")
    predicted = classifier.discretizer_.predict_target(X)
    searched = classifier.discretizer_.counterfactuals_.rows
    others = np.setdiff1d(np.flatnonzero(predicted == y), searched)
    reader = opened(path)
    reader.look_up(int(others[0]))
    assert "not in the random sample of rows" in reader.row()["sentence"]
    reader.look_up(int(searched[0]))
    assert "sample" not in reader.row()["sentence"]
