"""The map of thresholds has an axis by rank where values are skewed."""

import numpy as np
import pandas as pd
import pytest

from fcca import FCCAClassifier, FCCADiscretizer, report

from .fitted import stumps
from .test_page import read


@pytest.fixture(scope="module")
def skewed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": np.exp(rng.normal(0, 2.5, 400)).round(2), "age": rng.uniform(20, 70, 400).round()})
    X.loc[::7, "income"] = -9
    y = ((X["income"] > 2) ^ (X["age"] > 50) ^ (X["income"] == -9)).astype(int)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(30), special_values={"income": {-9}})).fit(X, y)
    return classifier, X


def test_only_skewed_columns_have_quartiles(skewed):
    classifier, X = skewed
    data, _ = read(report.page(classifier, Q=[0]))
    columns = {column["name"]: column for column in data["columns"]}
    assert columns["age"]["quartiles"] is None
    assert columns["income"]["quartiles"] == pytest.approx(X["income"].quantile([0.25, 0.5, 0.75]).tolist())
    assert columns["income"]["special"] == [-9]


def test_the_rank_of_a_threshold_is_the_share_of_rows_up_to_it(skewed):
    classifier, X = skewed
    data, _ = read(report.page(classifier, Q=[0]))
    for condition in data["conditions"]:
        values = X[data["columns"][condition["column"]]["name"]]
        if condition["kind"] == "cut":
            assert condition["rank"] == pytest.approx((values <= condition["threshold"]).mean(), abs=1e-4)
        else:
            assert condition["rank"] == pytest.approx((values == -9).mean() / 2, abs=1e-4)


def test_an_axis_by_rank_is_labelled_and_places_marks_by_rank(opened, skewed, tmp_path):
    reader = opened(report.write(skewed[0], tmp_path / "report.html", Q=[0]))
    conditions = reader.data()["conditions"]
    lines = {line.split("\n")[0]: line for line in reader.page.locator(".map-line").all_inner_texts()}
    assert "axis by rank" in lines["income"]
    assert "axis by rank" not in lines["age"]
    marks = reader.page.locator(".map-line", has_text="income").locator(".mark")
    places = {
        int(each.get_attribute("data-id")): float(each.get_attribute("x")) + float(each.get_attribute("width")) / 2
        for each in marks.all()
    }
    ranks = np.array([conditions[at]["rank"] for at in places])
    assert len(places) > 2
    assert np.corrcoef(ranks, list(places.values()))[0, 1] > 0.99999
