"""Special values such as -9: from the black box to trees, exports, certificates and chunks."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from export.onnx_runner import answers_of
from export.rules_reader import apply_rules
from export.sql_engines import DuckDB
from export.trees import as_dictionaries
from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, ThresholdTable
from fcca.certificates import certificate, verify
from fcca.constraints import Implies
from fcca.exceptions import InvalidInputError, SpecialValuesWarning, UnsupportedModelError
from fcca.export import from_json, load, save, to_json, to_onnx, to_python, to_rules, to_sql
from fcca.selection import OptimalSelection
from fcca.streaming import distill
from real_data import data_file, imported
from special_tables import SPECIAL, people


def fitted(X, y, **parameters):
    black_box = GradientBoostingClassifier(max_depth=2, n_estimators=20, random_state=0)
    discretizer = FCCADiscretizer(black_box, **({"special_values": SPECIAL} | parameters))
    return FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=3)).fit(X, y)


@pytest.fixture(scope="module", params=[False, True], ids=["complete", "missing"])
def case(request):
    X, y = people(missing=request.param)
    return fitted(X, y), X, y


def rows_around(classifier, X):
    """Rows with special values, and with numbers on thresholds and one float beside them."""
    rows = X.copy()
    table = classifier.discretizer_.all_thresholds_
    for at, (j, number) in enumerate(zip(table.feature, table.threshold, strict=True)):
        if np.isfinite(number):
            for k, value in enumerate((number, np.nextafter(number, np.inf), np.nextafter(number, -np.inf))):
                rows.iloc[(3 * at + k) % len(rows), j] = value
    return rows


def test_no_counterfactual_lands_on_a_special_value(case):
    found = case[0].discretizer_.counterfactuals_
    assert set(found.counts()) == {"optimal"}
    names = case[1].columns
    for name, values in SPECIAL.items():
        mine = found.moves.feature == names.get_loc(name)
        assert not np.isin(found.moves.landing[mine], list(values)).any()
    assert "score is -9" in case[0].discretizer_.all_thresholds_.names()


def test_the_tree_asks_for_special_values(case):
    text = " ".join(case[0].rules())
    assert "months is 99" in text
    assert "months is not 99" in text


def admits(rule, name, value):
    """Read a rule as a person does: a comparison does not hold for a special value, unless it is named."""
    texts = [text.strip("()") for text in rule.split(" → ")[0].split(" and ")]
    for text in texts:
        column, relation, number, *named = text.replace(" is not ", " not ").replace(" or is ", " or ").split(" ")
        if column != name:
            continue
        if relation in ("is", "not"):
            holds = (float(number) == value) == (relation == "is")
        else:
            holds = value in [float(word) for word in named if word != "or"]
        if not holds:
            return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_rules_name_the_special_values_of_their_rows(seed):
    X, y = people(seed=seed)
    black_box = GradientBoostingClassifier(max_depth=3, random_state=0)
    tree = OptimalTreeClassifier(max_depth=4, regularization=0.001)
    classifier = FCCAClassifier(FCCADiscretizer(black_box, special_values=SPECIAL), tree).fit(X, y)
    rules, reached = classifier.rules(), classifier.apply(X)
    assert any(" or is " in rule for rule in rules)
    leaves = np.flatnonzero(classifier.structure_.feature < 0)
    for leaf, rule in zip(leaves, rules, strict=True):
        row = X[reached == leaf].head(1)
        for name, values in SPECIAL.items():
            for value in values:
                stays = classifier.apply(row.assign(**{name: value}))[0] == leaf
                assert stays == admits(rule, name, value), (rule, name, value)
    again = from_json(to_json(classifier))
    assert again.rules() == rules
    assert again.thresholds == classifier.discretizer_.thresholds_


@pytest.mark.parametrize("values", [[-8, -9], [], ["x"], [99, 100]])
def test_damaged_special_values_are_refused(case, values):
    document = json.loads(case[0].discretizer_.all_thresholds_.to_json())
    first = next(one for one in document["conditions"] if one.get("special") == [99.0])
    first["special"] = values
    with pytest.raises(InvalidInputError, match="special"):
        ThresholdTable.from_json(json.dumps(document))


def test_all_exports_agree(case):
    classifier, X, _ = case
    rows = rows_around(classifier, X)
    expected, probability = classifier.predict(rows).tolist(), classifier.predict_proba(rows)
    tree = from_json(to_json(classifier))
    assert tree.predict(rows).tolist() == expected
    assert (tree.transform(rows) == classifier.discretizer_.transform(rows)).all()
    assert to_json(tree) == to_json(classifier)
    module = {}
    exec(compile(to_python(classifier), "tree.py", "exec"), module)
    assert [module["predict"](row) for row in as_dictionaries(rows)] == expected
    rules, refused = apply_rules(to_rules(classifier), rows)
    assert not refused.any()
    assert [rule["class"] for rule in rules] == expected
    imported("onnx"), imported("onnxruntime")
    label, onnx_probability, _ = answers_of(to_onnx(classifier), rows)
    assert label.tolist() == expected
    assert (onnx_probability == probability).all()


def test_sql_agrees(case):
    imported("sqlglot"), imported("duckdb")
    classifier, X, _ = case
    rows = rows_around(classifier, X)
    database = DuckDB()
    database.load(pa.Table.from_pandas(rows, preserve_index=False))
    assert database.answers(to_sql(classifier))["prediction"] == classifier.predict(rows).tolist()
    database.close()


def test_thresholds_round_trip(case):
    table = case[0].discretizer_.all_thresholds_
    again = ThresholdTable.from_json(table.to_json())
    assert again == table
    assert again.names() == table.names()
    assert table + again == (again + table)


def test_files_round_trip(case, tmp_path):
    classifier, X, _ = case
    save(classifier, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.predict(X).tolist() == classifier.predict(X).tolist()


def test_the_certificate_is_verified(case):
    classifier, X, y = case
    document = certificate(classifier)
    found = verify(document, X, y, classifier.discretizer_.estimator_, sample=5, random_state=0)
    assert found.accepted, str(found)


@pytest.mark.parametrize("given", [{-9.0, -8.0}, [-8, -9]])
def test_the_certificate_of_a_set_is_verified(given):
    X, y = people()
    classifier = fitted(X, y, special_values=given)
    found = verify(certificate(classifier), X, y, classifier.discretizer_.estimator_, sample=2, random_state=0)
    assert found.accepted, str(found)


def test_a_forged_landing_is_refused(case):
    classifier, X, y = case
    document = json.loads(certificate(classifier))
    points = document["counterfactuals"]
    j = X.columns.get_loc("months")
    at = next(k for k, feature in enumerate(points["move_feature"]) if feature == j)
    points["move_to"][at] = 99.0
    found = verify(json.dumps(document), X, y, classifier.discretizer_.estimator_, sample=0)
    assert not found.accepted
    assert "special value" in str(found)


def test_a_set_applies_to_all_columns():
    X, y = people()
    same = fitted(X, y, special_values={name: {-9.0, -8.0} for name in X.columns})
    assert fitted(X, y, special_values={-8, -9}).discretizer_.all_thresholds_ == same.discretizer_.all_thresholds_


def test_chunks_give_the_same_thresholds():
    X, y = people()
    frozen = FrozenEstimator(fitted(X, y).discretizer_.estimator_)
    discretizer = FCCADiscretizer(frozen, special_values=SPECIAL)
    whole = FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=3)).fit(X, y)
    chunks = [(X.iloc[begin : begin + 150], y[begin : begin + 150]) for begin in range(0, len(X), 150)]
    streamed = distill(chunks, clone(discretizer), OptimalTreeClassifier(max_depth=3))
    assert streamed.discretizer_.all_thresholds_ == whole.discretizer_.all_thresholds_
    assert streamed.rules() == whole.rules()


def test_partial_fit_refuses_special_values():
    X, y = people()
    frozen = FrozenEstimator(fitted(X, y).discretizer_.estimator_)
    with pytest.raises(InvalidInputError, match="special values"):
        FCCADiscretizer(frozen, special_values=SPECIAL).partial_fit(X, y)


def test_selection_and_granularity_keep_special_values():
    X, y = people()
    classifier = fitted(X, y, selection=OptimalSelection(n_thresholds=4))
    names = classifier.discretizer_.thresholds_.names()
    assert len(names) <= 4
    assert any(" is " in name for name in names)
    coarse = classifier.discretizer_.set_granularity(0.9).thresholds_
    assert 0 < len(coarse) < len(classifier.discretizer_.all_thresholds_)


def test_explanations_replace_special_values():
    X, y = people()
    black_box = RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(X, y)
    explainer = CounterfactualExplainer(black_box, X, special_values=SPECIAL)
    found = explainer.explain(X.iloc[:60])
    origin, landing = found.moves.origin, found.moves.landing
    assert np.isin(origin[found.moves.feature == 0], (-9, -8)).any()
    assert not np.isin(landing[found.moves.feature == 0], (-9, -8)).any()
    texts = " ".join(found.sentences())
    assert "score changed from -9 to" in texts
    assert "from -9" not in texts.replace("changed from -9", "")
    cost = 0.1 + explainer.category_distance_
    alone = np.bincount(found.moves.point, minlength=len(found)) == 1
    replaced = np.isin(origin, (-9, -8)) & (found.moves.feature == 0) & alone[found.moves.point]
    np.testing.assert_allclose(found.cost[found.moves.point[replaced]], cost)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-9", "must be a set of numbers"),
        (5, "special_values"),
        ({-9, None}, "finite numbers"),
        ({float("nan")}, "finite numbers"),
        ({"income": {-9}}, "unknown column"),
        ({"score": {-9, -8, *range(61)}}, "are special or missing"),
    ],
)
def test_wrong_special_values_are_refused(given, message):
    X, y = people()
    with pytest.raises((InvalidInputError, ValueError), match=message):
        fitted(X, y, special_values=given)


def test_categories_are_refused():
    X, y = people()
    X["kind"] = np.where(X["age"] > 40, "a", "b")
    with pytest.raises(InvalidInputError, match="holds categories"):
        FCCADiscretizer(special_values={"kind": {-9}}).fit(X, y)


def test_linear_models_and_rules_between_columns_are_refused():
    X, y = people()
    with pytest.raises(UnsupportedModelError, match="classifiers made of trees"):
        FCCADiscretizer(LogisticRegression(), special_values=SPECIAL).fit(X, y)
    with pytest.raises(InvalidInputError, match="special values"):
        fitted(X, y, constraints=[Implies("score rises", "age rises")])


def test_likely_special_values_are_noted():
    X, y = people()
    with pytest.warns(SpecialValuesWarning, match=r": -9, -8 in 1 column \(.*special_values=\{-9, -8\}"):
        fitted(X, y, special_values=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpecialValuesWarning)
        fitted(X, y)
        fitted(X.assign(score=X["score"] - 30.5), y, special_values=None)  # ordinary negative numbers


def test_heloc():
    imported("duckdb")
    data = pd.read_csv(data_file("heloc"))
    X, y = data.drop(columns="label"), data["label"].to_numpy()
    classifier = FCCAClassifier(FCCADiscretizer(special_values={-7, -8, -9})).fit(X, y)
    discretizer = classifier.discretizer_
    found = discretizer.counterfactuals_
    assert set(found.counts()) == {"optimal"}
    assert not np.isin(found.moves.landing, (-7, -8, -9)).any()
    assert "ExternalRiskEstimate is -9" in discretizer.thresholds_.names()
    database = DuckDB()
    database.load(pa.Table.from_pandas(X.astype(float), preserve_index=False))
    assert database.answers(to_sql(classifier))["prediction"] == classifier.predict(X).tolist()
    database.close()
