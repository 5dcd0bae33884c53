"""The what-if form predicts the same as Python, by the tree and by the black box."""

import json
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, read_model, report
from fcca.exceptions import UnknownValuesWarning
from fcca.models import TreeEnsemble
from fcca.report import _black_box
from mixed_tables import loans
from real_data import imported
from special_tables import SPECIAL, people

from .browser import PHONE, said_path
from .fitted import breast_cancer, first_level, fitted, stumps
from .test_browser_safety import axe
from .test_page import read

# Sets all fields at once, then tells the form once.
FILL = """(values) => {
  for (const [column, value] of Object.entries(values)) {
    document.querySelector(`[data-column="${column}"]`).value = value === null ? "" : String(value);
  }
  document.querySelector("form.what-if").dispatchEvent(new Event("input", {bubbles: true}));
}"""
SHOWN = """() => {
  const text = (name) => document.querySelector(`[data-test=${name}]`)?.textContent ?? null;
  const cells = (line) => [...line.querySelectorAll("td")].map((each) => Number(each.title));
  return {
    tree: text("what-if-tree"), black_box: text("what-if-black-box"),
    chances: Object.fromEntries([...document.querySelectorAll("[data-test=what-if-chances] tbody tr")]
      .map((line) => [line.querySelector("th").textContent, cells(line)])),
    printed: [...document.querySelectorAll("[data-test=what-if-chances] tbody td")].map((each) => each.textContent),
    lit: [...document.querySelectorAll("[data-test=what-if-node].lit")].map((each) => Number(each.dataset.node)),
    unseen: text("what-if-unseen"),
  };
}"""


def columns_of_form(data):
    """Position of each column of the form, by its name."""
    return {data["columns"][at]["name"]: at for at in data["form"]["columns"]}


def middle_row(X):
    """The row that the form shows first, of a table of numbers."""
    return X.quantile([0.5], interpolation="lower")


def unusual_rows(classifier, X, n=200, seed=0):
    """Training rows with some values replaced: cuts and their neighbours, missing and special values, unknown categories."""
    random, model = np.random.default_rng(seed), read_model(classifier.discretizer_.estimator_)
    rows = X.iloc[random.choice(len(X), n)].reset_index(drop=True).astype(object)
    table = classifier.discretizer_.all_thresholds_
    for i in range(n):
        for j in random.choice(X.shape[1], min(3, X.shape[1]), replace=False).tolist():
            name = X.columns[j]
            if isinstance(X[name].dropna().iloc[0], str):
                labels = sorted(set(X[name].dropna()))
                rows.loc[i, name] = [*labels, None, "never seen"][random.integers(len(labels) + 2)]
                continue
            cuts = table.threshold[(table.feature == j) & ~np.isnan(table.threshold)].tolist()
            if isinstance(model, TreeEnsemble):
                at = (model.feature == j) & (np.abs(model.threshold) < 1e30)  # others separate missing values
                cuts += model.threshold[at].tolist()
            cut = random.choice(cuts) if cuts else 0.0
            choices = [cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf), np.nan, -9.0, 99.0, cut * 3 + 1]
            rows.loc[i, name] = float(choices[random.integers(len(choices))])
    numeric = [name for name in X.columns if pd.api.types.is_numeric_dtype(X[name])]
    return rows.astype(dict.fromkeys(numeric, np.float64))


def chance_of(name, classifier, probabilities):
    """The probability of the class of this name; 0 if the classifier never saw it."""
    return dict(zip(map(str, classifier.classes_), probabilities, strict=True)).get(name, 0.0)


def fill_at_once(reader, values):
    reader.page.evaluate(FILL, values)


def fill_by_mouse(reader, values):
    """Click into each field, and type. Lists of options open outside of the page, where the mouse cannot reach them."""
    for column, value in values.items():
        field = reader.page.locator(f"[data-column='{column}']")
        field.click(click_count=3)
        if field.evaluate("field => field.localName") == "select":
            reader.page.keyboard.press("Escape")
            field.select_option("" if value is None else value)
        else:
            write(reader, value)


def fill_by_keyboard(reader, values):
    """Go from field to field with the tab key, and type or choose with the arrow keys."""
    keyboard, left = reader.page.keyboard, dict(values)
    reader.part("what-if-typical").focus()
    for _ in range(3 * len(values) + 10):
        keyboard.press("Tab")
        column, options = reader.page.evaluate(
            "(field => [field.dataset.column, [...(field.options || [])].map(each => each.value)])(document.activeElement)"
        )
        if column not in left:
            continue
        value = left.pop(column)
        if options:
            keyboard.press("Home")
            for _ in range(options.index("" if value is None else value)):
                keyboard.press("ArrowDown")
        else:
            keyboard.press("Control+A")
            write(reader, value)
        if not left:
            return
    raise AssertionError(f"the tab key does not reach {list(left)}")


def write(reader, value):
    reader.page.keyboard.press("Delete")
    reader.page.keyboard.type(value or "")


def check_parity(reader, classifier, rows, tolerance=1e-12, fill=fill_at_once):
    """Fill the form with each row, and compare everything that is shown with Python."""
    data, box = reader.data(), classifier.discretizer_
    form, classes = columns_of_form(data), data["classes"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValuesWarning)
        table = box.encode(rows)
        said, ours, leaves = classifier.predict(rows), classifier.predict_proba(rows), classifier.apply(rows)
        answers = box.predict_target(rows)
    theirs = None
    if hasattr(box.estimator_, "predict_proba"):
        theirs = np.asarray(box.estimator_.predict_proba(box.as_black_box_takes(table)), dtype=np.float64)
    names = list(box.all_thresholds_.feature_names)
    for i in range(len(rows)):
        values = {
            str(at): None if np.isnan(x := table[i, names.index(name)]) else repr(float(x)).removesuffix(".0")
            for name, at in form.items()
        }
        fill(reader, values)
        shown = reader.page.evaluate(SHOWN)
        assert (shown["tree"], shown["black_box"]) == (str(said[i]), str(answers[i])), values
        path = [node for node, _ in classifier.structure_.path_to(int(leaves[i]))]
        assert shown["lit"] == ([*path, int(leaves[i])] if path else [])
        for name, chances in shown["chances"].items():
            expected = [chance_of(name, classifier, ours[i])]
            if theirs is not None:
                expected.append(chance_of(name, box.estimator_, theirs[i]))
            np.testing.assert_allclose(chances, expected, rtol=0, atol=tolerance)
        assert len(shown["chances"]) == min(6, len(classes))


def written(folder, classifier, **options):
    return report.write(classifier, folder / "report.html", Q=[0.5], n_thresholds=False, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cancer", "mixed", "whole_numbers"])
def test_two_hundred_unusual_rows_are_as_in_python(opened, request, name):
    made = request.getfixturevalue(name)
    X = pd.DataFrame(made.X)
    check_parity(opened(made.path), made.classifier, unusual_rows(made.classifier, X))


@pytest.mark.parametrize("fill", [fill_by_mouse, fill_by_keyboard])
@pytest.mark.parametrize("n_rows", [pytest.param(4, id="few"), pytest.param(200, id="many", marks=pytest.mark.verify)])
def test_rows_entered_by_hand_are_as_in_python(opened, mixed, fill, n_rows):
    reader = opened(mixed.path)
    reader.page.evaluate("document.querySelectorAll('form.what-if details').forEach(each => { each.open = true; })")
    check_parity(reader, mixed.classifier, unusual_rows(mixed.classifier, mixed.X, n_rows, seed=2), fill=fill)


@pytest.mark.slow
def test_special_values_are_as_in_python(opened, tmp_path):
    X, y = people(missing=True)
    model = GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(model, special_values=SPECIAL)).fit(X, y)
    reader = opened(written(tmp_path, classifier))
    assert "special: -9, -8" in reader.text("what-if")
    own = classifier.at_granularity(first_level(reader.data())["value"]).rules()
    assert [said_path(rule) for rule in reader.level()["rules"]] == [said_path(rule) for rule in own]
    assert any(" or is " in rule for rule in own)
    check_parity(reader, classifier, unusual_rows(classifier, X))


def booster(name):
    return {
        "xgboost": lambda: imported("xgboost").XGBClassifier(n_estimators=20, max_depth=3),
        "lightgbm": lambda: imported("lightgbm").LGBMClassifier(n_estimators=20, num_leaves=7, verbose=-1),
        "one against all": lambda: imported("lightgbm").LGBMClassifier(
            objective="multiclassova", n_estimators=10, num_leaves=5, verbose=-1
        ),
        "catboost": lambda: imported("catboost").CatBoostClassifier(
            iterations=20, depth=3, verbose=0, allow_writing_files=False
        ),
    }[name]()


FAMILIES = {
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=20, random_state=0),
    "exponential loss": lambda: GradientBoostingClassifier(loss="exponential", n_estimators=20, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=7),
    "forest": lambda: RandomForestClassifier(10, max_depth=5, random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(n_estimators=15, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "voting": lambda: VotingClassifier(
        [("a", RandomForestClassifier(4, max_depth=3, random_state=0)), ("b", DecisionTreeClassifier(max_depth=3))],
        voting="soft",
        weights=[1, 2],
    ),
    "logistic": lambda: LogisticRegression(max_iter=5000),
    "modified huber": lambda: SGDClassifier(loss="modified_huber", random_state=0),
    "linear SVM": lambda: LinearSVC(random_state=0),
    "xgboost": lambda: booster("xgboost"),
    "lightgbm": lambda: booster("lightgbm"),
    "catboost": lambda: booster("catboost"),
}
# These libraries compute probabilities in single precision.
SINGLE = {"xgboost": 5e-7}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_computed_as_in_python(opened, tmp_path, family):
    X, y = loans(400)
    if family in ("exponential loss", "modified huber", "AdaBoost", "voting", "tree", "linear SVM"):
        X = X[["income", "age"]].fillna(0)
    y = (np.asarray(y) == "good").astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = FCCAClassifier(FCCADiscretizer(FAMILIES[family]())).fit(X, y)
        path = written(tmp_path, classifier)
        reader = opened(path)
        check_parity(reader, classifier, unusual_rows(classifier, X, 60), SINGLE.get(family, 1e-12))


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["gradient boosting", "forest", "histograms", "logistic", "xgboost", "lightgbm", "catboost", "one against all"]
)
def test_three_classes_are_computed_as_in_python(opened, tmp_path, family):
    X, y = load_iris(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = FCCAClassifier(FCCADiscretizer(FAMILIES.get(family, partial(booster, family))())).fit(X, y)
        reader = opened(written(tmp_path, classifier))
        check_parity(reader, classifier, unusual_rows(classifier, X, 60), SINGLE.get(family, 1e-12))


def test_a_few_rows_are_as_in_python(opened, mixed):
    check_parity(opened(mixed.path), mixed.classifier, unusual_rows(mixed.classifier, mixed.X, 15, seed=1))


@pytest.mark.parametrize("name", ["weights", "rare class", "three classes"])
def test_weights_and_rare_classes_are_as_in_python(opened, tmp_path, name):
    classifier, (X, *_) = fitted(name)
    X = pd.DataFrame(X) if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    reader = opened(written(tmp_path, classifier))
    check_parity(reader, classifier, unusual_rows(classifier, X, 15))


def test_the_form_starts_from_typical_values_and_from_a_row(opened, mixed):
    reader = opened(mixed.path)
    data = reader.data()
    form = columns_of_form(data)

    def value(name):
        return reader.page.locator(f"[data-column='{form[name]}']").input_value()

    middle = mixed.X["income"].quantile(0.5, interpolation="lower")
    assert float(value("income")) == middle
    commonest = mixed.X["purpose"].mode()[0]
    assert data["columns"][form["purpose"]]["categories"][int(value("purpose"))] == commonest
    assert reader.part("what-if-row").is_disabled()
    reader.look_up(1021)
    reader.part("what-if-row").click()
    row = mixed.X.iloc[7]
    assert value("income") == ("" if np.isnan(row["income"]) else repr(float(row["income"])).removesuffix(".0"))
    assert reader.text("what-if-from") == "The form started from row 1021."
    assert reader.text("what-if-tree") == reader.row()["tree"]
    assert reader.text("what-if-black-box") == reader.row()["black_box"]
    reader.part("what-if-typical").press("Enter")
    assert float(value("income")) == middle


def test_a_value_is_changed_by_keyboard_and_by_mouse(opened, mixed):
    reader = opened(mixed.path, "#row=1021")
    reader.part("change-values").press("Enter")
    assert reader.text("what-if-from") == "The form started from row 1021."
    first = reader.page.evaluate("document.activeElement.dataset.test")
    assert first == "what-if-value"
    form = columns_of_form(reader.data())
    income = reader.page.locator(f"[data-column='{form['income']}']")
    income.focus()
    reader.page.keyboard.press("Control+A")
    reader.page.keyboard.type("0.25")
    by_keyboard = reader.page.evaluate(SHOWN)
    assert "1\xa0value changed" in reader.text("what-if-from")
    row = mixed.X.iloc[[7]].assign(income=0.25)
    assert reader.part("what-if-said").text_content().startswith(f"Tree: {by_keyboard['tree']}, ")
    assert by_keyboard["tree"] == mixed.classifier.predict(row)[0]
    assert by_keyboard["black_box"] == mixed.classifier.discretizer_.predict_target(row)[0]
    purpose = reader.page.locator(f"[data-column='{form['purpose']}']")
    purpose.click()
    purpose.select_option("home")
    row = row.assign(purpose="home")
    shown = reader.page.evaluate(SHOWN)
    assert shown["tree"] == mixed.classifier.predict(row)[0]
    assert shown["black_box"] == mixed.classifier.discretizer_.predict_target(row)[0]
    assert reader.row()["lit"] != []  # the path of the row stays in the diagram above


def test_a_value_that_is_no_number_is_said(opened, cancer):
    reader = opened(cancer.path)
    field = reader.part("what-if-tree-columns").locator("input").first
    field.focus()
    reader.page.keyboard.press("Control+A")
    reader.page.keyboard.type("1e")
    assert field.get_attribute("aria-invalid") == "true"
    assert reader.text("what-if-answer") == "A value is not a number."
    reader.page.keyboard.type("1")
    assert field.get_attribute("aria-invalid") == "false"
    assert reader.text("what-if-tree") in ("benign", "malignant")


def test_the_form_follows_the_slider(opened, cancer):
    reader = opened(cancer.path)
    data = reader.data()
    for index in (0, 10):
        reader.set_level(index)
        tree = data["axes"][0]["levels"][index]["tree"]
        used = {data["conditions"][at]["column"] for at in tree["condition"] if at >= 0}
        fields = reader.part("what-if-tree-columns").locator("[data-column]")
        assert {int(at) for at in fields.evaluate_all("all => all.map(each => each.dataset.column)")} == used
        X = middle_row(cancer.X)
        level = cancer.classifier.at_granularity(data["axes"][0]["levels"][index]["value"])
        assert reader.text("what-if-tree") == level.predict(X)[0]


def test_unseen_values_are_said(opened, mixed):
    reader = opened(mixed.path)
    form = columns_of_form(reader.data())
    assert reader.part("what-if-unseen").count() == 0
    reader.page.evaluate(FILL, {str(form["grade"]): -1})
    assert "No training row has such a value of grade" in reader.text("what-if-unseen")


def test_a_black_box_that_is_too_large_is_left_out(opened, tmp_path, monkeypatch):
    classifier, (X, _) = fitted("breast cancer")
    monkeypatch.setattr(_black_box, "MOST_CHARACTERS", 1000)
    path = written(tmp_path, classifier)
    reader = opened(path)
    assert reader.data()["form"]["left_out"] == _black_box.TOO_LARGE
    assert _black_box.TOO_LARGE in reader.page.locator("#what-if").inner_text()
    assert reader.part("what-if-black-box").count() == 0
    assert reader.text("what-if-tree") == classifier.predict(middle_row(X))[0]
    assert axe(reader) == []


def test_a_black_box_without_a_formula_is_left_out():
    X, y = breast_cancer()
    model = CalibratedClassifierCV(FrozenEstimator(stumps().fit(X, y)))
    data, _ = read(report.page(FCCAClassifier(FCCADiscretizer(model)).fit(X, y), Q=[0.7], n_thresholds=False))
    assert data["form"]["left_out"] == _black_box.NO_FORMULA
    asked = {line["column"] for line in data["conditions"]}
    assert set(data["form"]["columns"]) <= asked


def test_the_document_of_a_black_box_is_small_and_exact():
    classifier, _ = fitted("breast cancer")
    data, _ = read(report.page(classifier, Q=[0.7]))
    model = read_model(classifier.discretizer_.estimator_)
    assert data["form"]["left_out"] is None
    used = {int(j) for j in np.unique(model.feature[model.feature >= 0])}
    assert {data["columns"][at]["feature"] for at in data["form"]["columns"]} >= used
    thresholds = _black_box._exact_list(model.threshold[model.feature >= 0])
    assert json.loads(json.dumps(thresholds)) == model.threshold[model.feature >= 0].tolist()
    assert _black_box._exact(np.inf) == "Infinity"
    assert _black_box._exact(-np.inf) == "-Infinity"


def test_the_form_is_accessible_and_fits_a_phone(opened, mixed):
    for options in ({}, {"color_scheme": "dark"}, {"viewport": PHONE}):
        reader = opened(mixed.path, "#row=1021", **options)
        reader.part("change-values").click()
        reader.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert axe(reader) == []
        assert reader.overflow() <= 0


def test_the_form_of_a_tree_with_one_leaf_is_about_the_black_box(opened, tmp_path):
    from .test_worth import expensive

    X, y = breast_cancer()
    classifier = expensive(X, y)
    reader = opened(written(tmp_path, classifier))
    assert len(first_level(reader.data())["tree"]["condition"]) == 1
    assert "single leaf" in reader.text("what-if-path")
    assert reader.text("what-if-black-box") == classifier.discretizer_.predict_target(middle_row(X))[0]
