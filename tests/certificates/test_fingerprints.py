"""Fingerprints are reproducible, independent of the form of the data, and change with any value."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris

from certificates.certified import catboost, codes, lgbm, mixed, numbers, rf, xgb
from fcca import read_model
from fcca.certificates import data_fingerprint, model_fingerprint
from fcca.exceptions import InvalidInputError
from fcca.models import Model, as_classifier, labelled, load_model
from real_data import imported


def by_the_book(columns, labels, weights, rows):
    """The fingerprint by the standard library alone, as the documentation describes it."""
    digest = hashlib.sha256()

    def part(content):
        digest.update(struct.pack("<Q", len(content)) + content)

    def listed(values):
        distinct = sorted({json.dumps(value) for value in values if value is not None})
        part(("[" + ",".join(distinct) + "]").encode("ascii"))
        places = [-1 if value is None else distinct.index(json.dumps(value)) for value in values]
        part(b"".join(struct.pack("<q", place) for place in places))

    part(b"fcca-data-1")
    part(b"".join(struct.pack("<q", row) for row in rows))
    part(b"".join(struct.pack("<d", weight) for weight in weights))
    for name, kind, values in columns:
        part(name.encode())
        part(kind.encode())
        if kind == "numbers":
            part(b"".join(struct.pack("<d", math.nan if value is None else value + 0.0) for value in values))
        else:
            listed(values)
    part(b"labels")
    listed(labels)
    return digest.hexdigest()


def table():
    X = pd.DataFrame({"größe": [1.5, -0.0, np.nan, 3], "art": ["b", None, 'a"', "é"], "code": pd.Categorical([3, 1, 3, 2])})
    columns = [
        ("größe", "numbers", [1.5, 0.0, None, 3.0]),
        ("art", "categories", ["b", None, 'a"', "é"]),
        ("code", "categories", [3, 1, 3, 2]),
    ]
    return X, columns


def test_the_fingerprint_of_data_is_what_the_documentation_says():
    X, columns = table()
    expected = by_the_book(columns, ["no", "yes", "no", "no"], [1, 1, 0.5, 2], [0, 1, 2, 3])
    assert data_fingerprint(X, ["no", "yes", "no", "no"], [1, 1, 0.5, 2]) == expected
    unnamed = by_the_book([("", "numbers", [1.0, 3.0]), ("", "numbers", [2.0, 4.0])], [0, 1], [1, 1], [7, 9])
    assert data_fingerprint([[3, 4], [1, 2]], [1, 0], rows=[9, 7]) == unnamed


def test_the_same_values_have_the_same_fingerprint_in_any_form(tmp_path):
    X, y = mixed(60)
    expected = data_fingerprint(X, y)
    X.to_csv(tmp_path / "t.csv", index=False)
    X.to_parquet(tmp_path / "t.parquet")
    read = pd.read_csv(tmp_path / "t.csv")
    forms = {
        "csv": read,
        "parquet": pd.read_parquet(tmp_path / "t.parquet"),
        "categories in another order": X.assign(grade=X["grade"].cat.reorder_categories(["top", "low", "mid"])),
        "categories that nobody has": X.assign(grade=X["grade"].cat.add_categories(["none"])),
        "narrow": X.astype({"age": np.int8}),
        "objects": X.astype(object),
        "polars": imported("polars").from_pandas(X.astype({"grade": str})),
    }
    for name, form in forms.items():
        assert data_fingerprint(form, y) == expected, name
    assert data_fingerprint(X, pd.Series(y).astype("category")) == expected
    assert data_fingerprint(X, y, np.ones(60)) == expected
    coded = X.assign(age=X["age"].astype("category"))
    assert data_fingerprint(coded, y) == data_fingerprint(X, y, categories={2}) == data_fingerprint(coded, y, categories={2})
    assert data_fingerprint(coded, y) != expected
    whole = np.arange(60) % 3
    assert data_fingerprint(X, whole) == data_fingerprint(X, whole.astype(np.float32)) == data_fingerprint(X, whole.tolist())


def test_anything_else_has_another_fingerprint():
    X, columns = table()
    y, weight = ["no", "yes", "no", "no"], [1, 1, 0.5, 2]
    different = [
        (X, y, weight, None),
        (X.rename(columns={"art": "kind"}), y, weight, None),
        (X.assign(art=["b", None, "a", "é"]), y, weight, None),
        (X.assign(art=["b", "b", 'a"', "é"]), y, weight, None),
        (X.assign(größe=[1.5, 0.0, 0.0, 3]), y, weight, None),
        (X.assign(größe=[1.5, 5e-324, np.nan, 3]), y, weight, None),
        (X.assign(code=[3, 1, 3, 2]), y, weight, None),
        (X.assign(code=pd.Categorical(["3", "1", "3", "2"])), y, weight, None),
        (X, ["yes", "no", "no", "no"], weight, None),
        (X, y, [1, 1, 0.5, 1], None),
        (X, y, weight, [0, 1, 2, 4]),
        (X.iloc[::-1], y[::-1], weight[::-1], None),
        (X[["art", "größe", "code"]], y, weight, None),
        (X.iloc[:3], y[:3], weight[:3], None),
    ]
    found = [data_fingerprint(*one) for one in different]
    assert len(set(found)) == len(found)
    assert data_fingerprint(X.iloc[::-1], y[::-1], weight[::-1], [3, 2, 1, 0]) == found[0]
    assert len(columns) == 3


def test_labels_that_no_document_can_hold_are_refused():
    for label in (pd.Timestamp("2020-01-01"), np.inf):
        with pytest.raises(InvalidInputError, match="cannot be written"):
            data_fingerprint([[1.0], [2.0]], np.array([label, label], dtype=object))


# --- models ---------------------------------------------------------------------------------------------------------------


def fingerprint(model, X):
    return model_fingerprint(labelled(read_model(model), X))


def saved_forms(model, kind, folder):
    yield folder / "m.skops"
    imported("skops.io").dump(model, folder / "m.skops")
    if kind == "xgb":
        for suffix in (".json", ".ubj"):
            model.save_model(folder / f"m{suffix}")
            yield folder / f"m{suffix}"
    elif kind == "lgbm":
        model.booster_.save_model(folder / "m.txt")
        yield folder / "m.txt"
    elif kind == "catboost":
        model.save_model(str(folder / "m.cbm"))  # its JSON has other numbers in the leaves, in the last digit
        yield folder / "m.cbm"


@pytest.mark.parametrize("data", [numbers, codes], ids=["numbers", "mixed"])
@pytest.mark.parametrize("kind", ["xgb", "lgbm", "catboost"])
def test_a_model_has_the_same_fingerprint_from_any_file(tmp_path, kind, data):
    X, y = data()
    if kind == "catboost" and data is codes:
        X = X.assign(**{name: X[name].astype(object).where(X[name].notna(), "none") for name in ("purpose", "grade")})
    made = {"xgb": lambda: xgb(enable_categorical=True), "lgbm": lgbm, "catboost": catboost}[kind]()
    if kind == "catboost" and data is codes:
        made.set_params(cat_features=["purpose", "grade"])
    model = made.fit(X, y)
    expected = fingerprint(model, X)
    paths = saved_forms(model, kind, tmp_path)
    next(paths)
    for path in [*paths, tmp_path / "m.skops"]:
        assert fingerprint(load_model(path), X) == expected, path.name
    assert fingerprint(as_classifier(load_model(tmp_path / "m.skops")), X) == expected


def test_models_with_other_predictions_have_another_fingerprint():
    X, y = numbers()
    flowers, kinds = load_iris(return_X_y=True)
    models = [
        rf().fit(X, y),
        rf(trees=7).fit(X, y),
        rf().fit(X, np.where(y == 1, "good", "bad")),
        CalibratedClassifierCV(rf(), ensemble=False, cv=3).fit(X, y),
        CalibratedClassifierCV(rf(), ensemble=False, cv=4).fit(X, y),
        xgb().fit(X, y),
    ]
    found = [fingerprint(model, X) for model in models] + [fingerprint(rf().fit(flowers, kinds), flowers)]
    assert len(set(found)) == len(found)
    assert fingerprint(rf().fit(X, y), X) == found[0]


def test_an_unknown_kind_of_model_has_no_fingerprint():
    model = read_model(rf().fit(*numbers()))
    with pytest.raises(InvalidInputError, match="no fingerprint"):
        model_fingerprint(Model(classes=model.classes, n_features=1, link=model.link))
