"""Errors and notes on the given rows: missing numbers, values outside the range, column names."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import CounterfactualExplainer
from fcca.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def stumps(data):
    return GradientBoostingClassifier(max_depth=1, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def explainer(stumps, data):
    return CounterfactualExplainer(stumps, data[0])


@pytest.fixture(scope="module")
def few_columns(data):
    return data[0][["worst area", "worst texture", "worst concave points"]], data[1]


# --- what is missing --------------------------------------------------------------------------------------------------


def test_missing_numbers_are_named_by_column_and_row(stumps, data):
    X = data[0].iloc[:20].set_axis([f"patient {i}" for i in range(20)]).copy()
    X.iloc[3, 1] = X.iloc[9:17, 2] = np.nan
    places = "column 'mean texture' in row patient 3; column 'mean perimeter' in rows patient 9, patient 10, patient 11"
    explainer = CounterfactualExplainer(stumps, data[0], handle_unknown="error")
    for refused in (lambda: explainer.explain(X), lambda: CounterfactualExplainer(stumps, X)):
        with pytest.raises(InvalidInputError, match=re.escape(f"missing values (NaN): {places}")):
            refused()
    with pytest.raises(InvalidInputError, match=r"\(8 rows\)"):
        explainer.explain(X)
    with pytest.raises(InvalidInputError, match=re.escape("missing values (NaN): column 'mean texture' in row 3;")):
        explainer.explain(X.to_numpy())
    with pytest.raises(InvalidInputError, match="column 'mean texture' in row patient 3"):
        explainer.explain(X.iloc[3])
    with pytest.raises(InvalidInputError, match="column 'mean texture' in row patient 3"):
        explainer.explain(X.astype("Float64"))
    with pytest.raises(InvalidInputError, match="infinite values: column 'mean radius' in row patient 0"):
        explainer.explain(X.iloc[:1].assign(**{"mean radius": np.inf}))


def test_texts_and_no_rows_are_refused(explainer, stumps, data):
    with pytest.raises(InvalidInputError, match="not numbers: column 'mean radius' in row 0, such as 'a'"):
        explainer.explain(["a"] * 30)
    for refused in (lambda: explainer.explain(data[0].iloc[:0]), lambda: CounterfactualExplainer(stumps, data[0].iloc[:0])):
        with pytest.raises(InvalidInputError, match="no rows"):
            refused()


def test_limits_are_for_the_constructor(explainer, data):
    for name in ("time_limit", "time_limit_per_row"):
        with pytest.raises(TypeError, match=name):
            explainer.explain(data[0].iloc[:2], **{name: 1})


# --- what is outside the range of the data ----------------------------------------------------------------------------


def test_rows_outside_the_range_of_the_data_are_a_note(explainer, data):
    X = data[0].iloc[[3, 8, 11]].copy()
    assert explainer.explain(X).notes == ()
    assert explainer.explain(X).outside_range.empty
    X.iloc[0, 23], X.iloc[2, :5] = 9999.0, -1.0
    found = explainer.explain(X)
    assert len(found.notes) == 1
    for text in ("2 rows have", "row 3 in worst area (9,999 is above 4,254);", "row 11 in mean radius (-1 is below 6.981),"):
        assert text in found.notes[0]
    assert "and 2 more columns" in found.notes[0]
    assert f"Note: {found.notes[0]}" in repr(found)
    assert "Note: 2 rows have" in found._repr_html_()
    frame = found.outside_range
    assert frame["row"].tolist() == [3, *[11] * 5]
    assert frame["feature"].tolist() == ["worst area", *data[0].columns[:5]]
    assert frame["value"].tolist() == [9999.0, *[-1.0] * 5]
    assert frame["largest"][0] == data[0]["worst area"].max()
    assert frame["smallest"][1] == data[0]["mean radius"].min()
    assert "… 15 more rows" in explainer.explain(data[0].iloc[:20] + 1e6).notes[0]


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [[7, 2019, -3], [0, 1, 2]], ids=["given", "counted"])
def test_columns_that_are_called_by_numbers_keep_their_names(few_columns, names):
    X, y = few_columns
    X = X.set_axis(names, axis=1)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0).fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    found = explainer.explain(X.iloc[:5])
    assert found.feature_names == tuple(map(str, names))
    assert set(found.to_frame()["feature"]) <= set(map(str, names))
    assert re.search(rf"if column ({'|'.join(map(str, names))}) (rose|fell) from", found.sentences()[0])
    for form in (X.iloc[0], X.to_numpy()[0], X.iloc[[0]]):
        np.testing.assert_array_equal(explainer.explain(form).x[0], found.x[0])
    if names[0] == 7:
        with pytest.raises(InvalidInputError, match="another order"):
            explainer.explain(X[names[::-1]])


def test_names_that_are_neither_texts_nor_whole_numbers_are_refused(few_columns, stumps):
    X, y = few_columns
    model = GradientBoostingClassifier(max_depth=1, n_estimators=3).fit(X.to_numpy(), y)
    for names in ([1.5, 2.5, 3.5], ["a", 1, 2], [True, False, 2]):
        with pytest.raises(TypeError, match="must be strings"):
            CounterfactualExplainer(model, X.set_axis(names, axis=1))


def test_hostile_names_stay_on_one_line(few_columns):
    X, y = few_columns
    X = X.set_axis(["a\nb", "\x1b[31m", "c\u2028"], axis=1)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0).fit(X, np.where(y, "yes\n", "no"))
    found = CounterfactualExplainer(model, X).explain((X.iloc[:5] + 1e4).set_axis([f"r\n{i}" for i in range(5)]))
    assert len(repr(found).split("\n")) == 1 + 5 + len(found.notes)
    for text in (*found.sentences({"no": "n\no"}), *found.notes, *repr(found).split("\n")):
        assert not re.search(r"[\x00-\x1f\u2028]", text)
    assert set(found.to_frame()["feature"].dropna()) <= set(X.columns)


def test_a_row_so_far_away_that_costs_overflow_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y)
    row = X[:1].copy()
    row[0, 3] = 1e160
    with pytest.raises(InvalidInputError, match="Row 0 has x3 = 1e\\+160"):
        CounterfactualExplainer(classifier, X, lambda2=1.0).explain(row)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_rows_that_the_black_box_cannot_predict_are_a_typed_error():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    explainer = CounterfactualExplainer(pipeline, X)
    pipeline[0].scale_[3] = 1e-307  # overflows
    with pytest.raises(InvalidInputError, match=r"Pipeline cannot predict.*infinity"):
        explainer.explain(X[:3])


def test_special_values_are_not_outside_the_range(stumps, data):
    X, _ = data
    X = X.copy()
    X.iloc[:3, 0] = -9.0
    found = CounterfactualExplainer(stumps, X, special_values={-9}).explain(X.iloc[:5])
    assert found.outside_range.empty
    assert found.notes == ()
