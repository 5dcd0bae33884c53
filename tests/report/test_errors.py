"""The page shows where the tree errs: its leaves, and its largest differences from the black box."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import RidgeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, report

from .fitted import breast_cancer, first_level, fitted, levels_of
from .test_browser_safety import axe
from .test_page import read


def probabilities(classifier, X):
    """Class probabilities of the tree and of the black box, with the classes in the same order."""
    box = classifier.discretizer_
    theirs = np.asarray(box.estimator_.predict_proba(box.as_black_box_takes(box.encode(X))), dtype=np.float64)
    return classifier.predict_proba(X), theirs


def test_leaves_count_the_held_out_rows_of_each_class():
    X, y = breast_cancer()
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    classifier, _ = fitted("breast cancer")
    classifier = FCCAClassifier(classifier.discretizer, classifier.tree).fit(X.iloc[train], y[train])
    data, _ = read(report.page(classifier, X_test=X.iloc[test], y_test=y[test], Q=[0, 0.7]))
    for level in levels_of(data):
        other = classifier.at_granularity(level["value"])
        counts = pd.crosstab(other.apply(X.iloc[test]), y[test]).reindex(columns=data["classes"], fill_value=0)
        for leaf, line in counts.iterrows():
            assert level["judged"][leaf] == line.tolist()
        assert np.sum(level["judged"]) == len(test)


@pytest.mark.parametrize("name", ["breast cancer", "three classes"])
def test_a_held_out_label_that_no_training_row_has_is_a_class_of_the_page(name):
    classifier, (X, y) = fitted(name)
    later = np.append(np.asarray(y)[:9].astype(object), "new" if name == "breast cancer" else 99)
    data, _ = read(report.page(classifier, X_test=X.iloc[:10], y_test=later, Q=[0.5]))
    assert data["classes"] == sorted(map(str, {*np.asarray(y).tolist(), later[-1]}))
    for level in levels_of(data):
        judged = np.sum(level["judged"], axis=0)
        assert judged.tolist() == [sum(str(label) == shown for label in later) for shown in data["classes"]]
        assert level["held_out"]["accuracy"] <= 0.9


def test_without_held_out_rows_leaves_count_training_rows():
    data, _ = read(report.page(fitted("breast cancer")[0], Q=[0.7]))
    assert all(level["judged"] is None for level in levels_of(data))


@pytest.mark.parametrize("name", ["breast cancer", "three classes", "categories and missing values"])
def test_the_largest_differences_from_the_black_box_come_first(name):
    classifier, (X, y) = fitted(name)
    data, _ = read(report.page(classifier, Q=[0.5]))
    found = first_level(data)["disagreements"]
    ours, theirs = probabilities(classifier, X)
    gap = np.abs(ours - theirs).max(axis=1)
    np.testing.assert_allclose([gap[each["row"]] for each in found], np.sort(gap)[::-1][: len(found)], atol=1e-12)
    assert len(found) == 10
    for each in found:
        row = each["row"]
        assert data["classes"][each["label"]] == str(np.asarray(y)[row])
        assert each["tree"] == pytest.approx(ours[row, each["class"]], abs=1e-6)
        assert each["black_box"] == pytest.approx(theirs[row, each["class"]], abs=1e-6)
        assert abs(each["tree"] - each["black_box"]) == pytest.approx(gap[row], abs=2e-6)
        if len(data["classes"]) == 2:
            assert each["class"] == 1


def test_rows_with_large_differences_can_be_looked_up_even_in_a_sample():
    data, rows = read(report.page(fitted("breast cancer")[0], max_rows=60))
    assert {each["row"] for each in first_level(data)["disagreements"]} <= set(rows["number"])
    assert len(rows["number"]) == 60


def test_a_black_box_without_probabilities_has_no_differences(opened, tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    classifier = FCCAClassifier(FCCADiscretizer(RidgeClassifier()), fit_to="target").fit(X, y == 1)
    reader = opened(report.write(classifier, tmp_path / "report.html", Q=[0.5]))
    assert first_level(reader.data())["disagreements"] is None
    assert reader.part("disagreement").count() == 0
    assert "gives no probabilities" in reader.page.locator("#errors").inner_text()
    assert axe(reader) == []


def test_leaves_with_the_most_wrong_rows_are_first_at_every_level(opened, cancer):
    reader = opened(cancer.path)
    for index, level in enumerate(levels_of(reader.data())):
        reader.set_level(index)
        lines = reader.part("leaf-row").evaluate_all(
            "all => all.map(line => [Number(line.dataset.leaf), ...[...line.children].slice(1).map(td => td.textContent)])"
        )
        leaves = [node for node, condition in enumerate(level["tree"]["condition"]) if condition < 0]
        assert sorted(line[0] for line in lines) == leaves
        wrong = [int(line[4]) for line in lines]
        assert wrong == sorted(wrong, reverse=True)
        for leaf, _, benign, malignant, _, _ in lines:
            assert [int(benign), int(malignant)] == level["judged"][leaf]
        confusion = np.array(level["quality"]["confusion"])
        assert sum(wrong) == confusion.sum() - np.trace(confusion)


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_a_row_with_a_large_difference_leads_to_its_look_up(opened, mixed, how):
    reader = opened(mixed.path)
    each = first_level(reader.data())["disagreements"][2]
    button = reader.part("disagreement-row").nth(2)
    button.click() if how == "mouse" else button.press("Enter")
    assert reader.part("row").input_value() == str(each["row"])
    assert reader.row()["label"] == reader.data()["classes"][each["label"]]
    assert reader.page.evaluate("document.activeElement.id") == "row"
    assert reader.page.locator("#look-up h2").bounding_box()["y"] >= 0
    assert reader.page.locator("#look-up h2").bounding_box()["y"] < 400
