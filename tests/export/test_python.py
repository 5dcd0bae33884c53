"""The module of plain Python refuses invalid values, and names never become code."""

from __future__ import annotations

import ast
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from export.trees import HOSTILE, N_TREES, fitted
from fcca import FCCAClassifier, FCCADiscretizer
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.export import DistilledTree, from_json, to_json, to_python
from mixed_tables import loans


def module_of(classifier):
    module: dict[str, object] = {}
    exec(to_python(classifier), module)
    return module


@pytest.fixture(scope="module")
def lender():
    X, y = loans()
    model = RandomForestClassifier(20, max_depth=3, random_state=0)
    return FCCAClassifier(FCCADiscretizer(model)).fit(X, y)


@pytest.fixture(scope="module")
def plain():
    X, y = loans()
    X = X[["income", "age"]].fillna(2.0)
    # Unlike a forest, boosting without gaps in its rows takes none later on.
    return FCCAClassifier(FCCADiscretizer(GradientBoostingClassifier(n_estimators=10, max_depth=1))).fit(X, y)


def test_refused_values_raise_a_value_error(lender):
    predict = module_of(lender)["predict"]
    good = {"income": 3.0, "purpose": "car", "age": 30, "grade": "top"}
    assert predict(good) == lender.predict(pd.DataFrame([good]))[0]
    for wrong in (
        {"income": "much"},
        {"income": "3.0"},
        {"income": float("inf")},
        {"purpose": ["car"]},
    ):
        row = good | wrong
        with pytest.raises(ValueError, match=next(iter(wrong))):
            predict(row)
        if wrong != {"income": "3.0"}:
            with pytest.raises(ValueError, match=next(iter(wrong))):
                lender.predict(pd.DataFrame([row]))
    with pytest.raises(ValueError, match="finite"):
        predict(good | {"income": 10**400})


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
def test_an_unknown_category_is_in_no_set(lender):
    row = {"income": 3.0, "purpose": "yacht", "age": 30, "grade": "top"}
    assert module_of(lender)["predict"](row) == lender.predict(pd.DataFrame([row]))[0]


def test_numbers_of_other_types_are_numbers(lender):
    predict = module_of(lender)["predict"]
    good = {"income": 3.0, "purpose": "car", "age": 30, "grade": "top"}
    for value in (3, np.float32(3), np.int64(3), Decimal(3), True):
        assert predict(good | {"income": value}) == predict(good | {"income": float(value)})
    assert predict(good | {"income": pd.NA, "purpose": pd.NA}) == predict(good | {"income": None, "purpose": None})
    assert predict(good | {"purpose": np.str_("car")}) == predict(good)


def test_a_row_without_a_tested_column_is_refused(lender):
    predict = module_of(lender)["predict"]
    for row in ({}, {"Income": 3.0, "purpose": "car", "age": 30, "grade": "top"}):
        with pytest.raises(ValueError, match="The row has no column '"):
            predict(row)


def test_missing_values_are_predicted_even_if_no_training_row_had_one(plain):
    predict = module_of(plain)["predict"]
    frame = pd.DataFrame({"income": [np.nan], "age": [30.0]})
    for tree in (plain, from_json(to_json(plain))):
        with pytest.warns(UnknownValuesWarning, match="1 missing value in column 'income'"):
            expected = tree.predict(frame)[0]
        for row in ({"income": None, "age": 30}, {"income": float("nan"), "age": 30}):
            assert predict(row) == expected


def test_nothing_of_a_name_becomes_code():
    allowed = {"CLASSES", "COLUMNS", "CLASS_OF_LEAF", "SHARES", "FCCA_VERSION", "row", "name", "known", "value", "number"}
    builtin = {"bool", "bytes", "dict", "float", "hash", "isinstance", "str", "type", "zip", "None"}
    builtin |= {
        "ValueError",
        "TypeError",
        "OverflowError",
        "_leaf",
        "_number",
        "_category",
        "_is_missing",
        "_value",
        "KeyError",
    }
    for seed in range(N_TREES):
        tree = ast.parse(to_python(fitted(seed)[0]))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert {name for name in names if not name.startswith(("x", "CATEGORIES_"))} <= allowed | builtin
        assert not any(isinstance(node, ast.Import | ast.ImportFrom | ast.Lambda) for node in ast.walk(tree))
        columns = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "COLUMNS")
        assert set(ast.literal_eval(columns)) <= set(HOSTILE)


def test_a_hostile_version_in_a_file_stays_a_text(plain):
    text = to_json(plain).replace('"fcca": "', '"fcca": "\\"\\"\\"\\nimport os\\n', 1)
    tree = from_json(text)
    assert tree.fcca_version.startswith('"""\nimport os')
    parsed = ast.parse(to_python(tree))
    assert not any(isinstance(node, ast.Import) for node in ast.walk(parsed))


def test_the_module_has_no_dependencies(plain, tmp_path):
    (tmp_path / "tree.py").write_text(to_python(plain), encoding="utf-8")
    code = "import tree; print(tree.predict({'income': 3.0, 'age': 30}))"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == plain.predict(pd.DataFrame({"income": [3.0], "age": [30.0]}))[0]


def test_other_objects_are_refused():
    for wrong in (None, "tree", RandomForestClassifier()):
        with pytest.raises(InvalidInputError, match=type(wrong).__name__):
            to_python(wrong)
    with pytest.raises(ValueError, match="not fitted"):
        to_python(FCCAClassifier())


def test_classes_that_no_file_can_hold_are_refused(plain):
    from copy import copy

    odd = copy(plain)
    odd.classes_ = np.array([("a",), None], dtype=object)[:2]
    with pytest.raises(InvalidInputError, match="class"):
        to_json(odd)


def test_trees_too_deep_for_python_are_refused():
    from export.documents import chain

    tree = from_json(chain(120))
    assert isinstance(tree, DistilledTree)
    with pytest.raises(InvalidInputError, match="120 levels"):
        to_python(tree)
    exec(to_python(from_json(chain(90))), {})
