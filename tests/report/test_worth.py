"""The page begins with the quality of the tree, and warns if the tree is useless."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, log_loss, roc_auc_score

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, report
from fcca.exceptions import InvalidInputError

from .browser import PHONE
from .fitted import breast_cancer, first_level, fitted, levels_of, stumps
from .test_page import read

VERDICT = "This tree is no better than always predicting “benign”: it has a single leaf."


def expensive(X, y):
    """A classifier whose tree has a single leaf: more leaves cost too much."""
    tree = OptimalTreeClassifier(criterion="error", regularization=0.4)
    return FCCAClassifier(FCCADiscretizer(stumps(), Q=0.7), tree).fit(X, y)


@pytest.fixture(scope="module")
def useless(tmp_path_factory):
    X, y = breast_cancer()
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    classifier = expensive(X.iloc[train], y[train])
    file = tmp_path_factory.mktemp("useless") / "report.html"
    return report.write(classifier, file, X_test=X.iloc[test], y_test=y[test], Q=[0, 0.9])


def test_figures_of_every_level_are_those_of_its_own_tree():
    X, y = breast_cancer()
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.7)).fit(X.iloc[train], y[train])
    data = read(report.page(classifier, X_test=X.iloc[test], y_test=y[test], Q=[0, 0.9], n_thresholds=False))[0]
    assert data["quality"]["held_out"]
    assert data["quality"]["rows"] == len(test)
    for level in levels_of(data):
        other = classifier.at_granularity(level["value"])
        probability, predicted = other.predict_proba(X.iloc[test]), other.predict(X.iloc[test])
        figures = level["quality"]["tree"]
        assert figures["accuracy"] == level["held_out"]["accuracy"]
        assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y[test], predicted))
        assert figures["auc"] == pytest.approx(roc_auc_score(y[test], probability[:, 1]))
        assert figures["log_loss"] == pytest.approx(log_loss(y[test], probability))
        assert level["quality"]["confusion"] == confusion_matrix(y[test], predicted).tolist()
        assert level["quality"]["cart_leaves"] == max(2, other.tree_.n_leaves_)


def test_without_held_out_rows_the_figures_are_of_weighted_training_rows():
    classifier, (X, y, weight) = fitted("weights")
    data = read(report.page(classifier, Q=[0.4]))[0]
    assert not data["quality"]["held_out"]
    assert data["quality"]["rows"] == weight.sum()
    expected = log_loss(y, classifier.predict_proba(X), sample_weight=weight)
    assert first_level(data)["quality"]["tree"]["log_loss"] == pytest.approx(expected)


def test_advice_is_tried_unless_it_is_given():
    X, y = breast_cancer()
    classifier = expensive(X, y)
    found = read(report.page(classifier, Q=[0.7]))[0]
    assert first_level(found)["quality"]["verdict"] == VERDICT
    assert any(line.startswith("regularization=0.1 gives ") for line in found["advice"])
    given = read(report.page(classifier, Q=[0.7], advice=["Try <b>this</b>."]))[0]
    assert given["advice"] == ["Try <b>this</b>."]
    with pytest.raises(InvalidInputError, match="advice must be a list of strings"):
        report.page(classifier, advice="this")


def test_the_first_sentence_has_the_accuracies_of_tree_black_box_and_guessing_at_every_level(opened, useless):
    reader = opened(useless)
    data = reader.data()
    for index, level in enumerate(levels_of(data)):
        reader.set_level(index)
        tree, black_box, guessing = (
            f"{100 * figures['accuracy']:.1f} %"
            for figures in (level["quality"]["tree"], data["quality"]["black_box"], data["quality"]["commonest"])
        )
        assert reader.text("sentence") == f"{tree} right on rows held out; black box {black_box}, guessing {guessing}."
    assert reader.part("sentence").bounding_box()["y"] < reader.part("glance").bounding_box()["y"]


def test_a_tree_that_is_worth_something_gets_no_advice():
    data = read(report.page(fitted("breast cancer")[0], Q=[0.7]))[0]
    assert data["advice"] == []
    assert first_level(data)["quality"]["verdict"] is None


def test_a_useless_tree_says_so_in_amber_and_never_in_green_alone(opened, useless):
    reader = opened(useless)
    assert reader.level()["verdict"] == VERDICT
    assert "regularization=0.1" in reader.text("advice")
    badge = reader.part("certificate")
    assert badge.inner_text().endswith(", and no better than the most frequent class")
    colours = {
        name: reader.page.evaluate(
            "(name) => getComputedStyle(document.documentElement).getPropertyValue(name)", f"--{name}"
        ).strip()
        for name in ("open", "good")
    }
    shown = badge.evaluate("(each) => getComputedStyle(each).color")
    assert shown == "rgb({}, {}, {})".format(*(int(colours["open"][at : at + 2], 16) for at in (1, 3, 5)))
    assert colours["open"] != colours["good"]


def test_the_page_begins_with_accuracy_size_and_the_next_step(opened, useless):
    reader = opened(useless)
    data = reader.data()
    box = reader.part("glance").bounding_box()
    assert box["y"] + box["height"] < 0.6 * reader.page.viewport_size["height"]
    for index, level in enumerate(levels_of(data)):
        reader.set_level(index)
        parts = reader.page.locator("[data-test=glance] > div").all_inner_texts()
        assert [part.split("\n")[0] for part in parts] == ["Held-out rows", "Size", "Next"]
        assert f"{100 * level['quality']['tree']['accuracy']:.1f}\xa0%" in parts[0]
        assert f"{data['quality']['rows']}\xa0held-out rows" in parts[0]
        assert ("no better than the most frequent class" in parts[0]) == (level["quality"]["verdict"] is not None)
        leaves = level["certificate"]["leaves"]
        assert f"{leaves}\xa0{'leaf' if leaves == 1 else 'leaves'}" in parts[1]
    for link in reader.page.locator("[data-test=glance] a").all():
        assert reader.page.locator(link.get_attribute("href")).is_visible()


def test_advice_stands_next_to_the_tree_that_it_is_about(opened, useless):
    reader = opened(useless)
    levels = levels_of(reader.data())
    assert [level["is_own"] for level in levels].count(True) == 1
    for index, level in enumerate(levels):
        reader.set_level(index)
        assert reader.page.locator("[data-test=advice] li").count() == (
            len(reader.data()["advice"]) if level["is_own"] else 0
        )
        assert reader.part("verdict").is_visible() == (level["quality"]["verdict"] is not None)


def test_the_tables_fit_a_phone(opened, useless, digits):
    for file in (useless, digits.path):
        page = opened(file, viewport=PHONE).page
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        # The figures are seen whole, without scrolling inside the table.
        frame = page.locator("[data-test=figures]").locator("..")
        assert frame.evaluate("(each) => each.scrollWidth <= each.clientWidth")


def test_ten_classes_have_a_matrix_of_ten_columns(opened, digits):
    shown = opened(digits.path).level("k")
    assert [len(line) for line in shown["confusion"]] == [10] * 10
    assert len(shown["figures"]) == 4
