"""scikit-learn's tree: every training row that 32-bit floats can separate goes to the right side."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from export.random_documents import random_document, random_tree
from export.trees import N_TREES, fitted
from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.export import from_json, to_json, to_sklearn

LARGEST, SMALLEST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).smallest_subnormal)
ODD_CUTS = [
    0.1,
    0.3,
    1 / 3,
    16777217.0,
    1e-46,
    -1e-46,
    0.0,
    -0.0,
    1e38,
    -1e38,
    LARGEST,
    -LARGEST,
    1e300,
    -1e300,
    SMALLEST,
    2.5,
]


def numbers_only(seed: int):
    """A random tree of cuts that few 32-bit floats are among."""
    rng = np.random.default_rng(seed)
    document = random_document(seed, depth=6)
    document |= {
        "missing_values": False,
        "columns": [{"name": f"x{j}", "categories": None, "missing": False} for j in range(3)],
    }
    for condition in document["conditions"]:
        cut = rng.choice(ODD_CUTS) if rng.random() < 0.7 else rng.normal() * 10.0 ** rng.integers(-5, 8)
        condition.clear()
        condition |= {"kind": "cut", "column": int(rng.integers(3)), "threshold": float(cut)}
    return from_json(json.dumps(document))


def narrow_rows(tree, n: int, seed: int) -> pd.DataFrame:
    """32-bit floats: those around the cuts, and others."""
    rng = np.random.default_rng(seed)
    nodes, columns = tree.structure, {}
    for j, name in enumerate(tree.columns.names):
        cuts = nodes.threshold[(nodes.feature == j)]
        with np.errstate(over="ignore"):
            near = rng.choice(cuts if len(cuts) else [0.0], n).astype(np.float32)
            beside = [np.nextafter(near, np.float32(far)) for far in (np.inf, -np.inf)]
        values = np.choose(rng.integers(0, 4, n), [near, *beside, rng.normal(0, 9, n)])
        columns[name] = np.clip(values.astype(np.float32), -np.float32(LARGEST), np.float32(LARGEST))
    return pd.DataFrame(columns)


# scikit-learn adds up a column to see whether it is finite.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
@pytest.mark.parametrize(("n_trees", "n_rows"), [(40, 1000), pytest.param(200, 10_000, marks=pytest.mark.verify)])
def test_no_32_bit_float_goes_to_the_wrong_side(n_trees, n_rows):
    for seed in range(n_trees):
        tree = numbers_only(seed)
        theirs = to_sklearn(tree)
        rows = narrow_rows(tree, n_rows, seed)
        for given in (rows, rows.astype(np.float64)):
            assert theirs.apply(given).tolist() == tree.apply(rows).tolist()
            assert theirs.predict(given).tolist() == tree.predict(rows).tolist()
            assert theirs.predict_proba(given).tolist() == tree.predict_proba(rows).tolist()


def decimals(seed: int, dtype: type) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of one or two decimals, which few floats are; in the last column some that are one 32-bit float."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 25, (300, 3)) / np.array([10, 100, 3]), columns=["tenths", "hundredths", "thirds"])
    close = 16777216 + rng.integers(0, 12, 300)  # every second one is a 32-bit float
    X["close"] = close.astype(np.float64)
    y = (
        X["tenths"] + 8 * X["hundredths"] + X["thirds"] / 3 + (close - 16777216) / 4 + rng.normal(0, 0.5, 300) > 6
    ).to_numpy()
    return X.astype(dtype), y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [10, pytest.param(200, marks=pytest.mark.verify)])
def test_training_rows_end_in_their_leaves(dtype, n_trees):
    unmoved = 0
    for seed in range(n_trees):
        X, y = decimals(seed, dtype)
        discretizer = FCCADiscretizer(GradientBoostingClassifier(n_estimators=20, random_state=0))
        classifier = FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=3, regularization=0.0)).fit(X, y)
        leaves = classifier.apply(X)
        unmoved += int(
            (classifier.structure_.to_sklearn(classifier.classes_, X.shape[1]).apply(X.to_numpy()) != leaves).sum()
        )
        # Rows that 32-bit floats tell apart: no other row ends elsewhere and is the same to scikit-learn.
        same = X.astype(np.float32).assign(leaf=leaves).groupby(list(X.columns))["leaf"].transform("nunique").to_numpy()
        told_apart = same == 1
        for theirs in (to_sklearn(classifier), to_sklearn(from_json(to_json(classifier))), classifier.to_sklearn()):
            assert theirs.apply(X)[told_apart].tolist() == leaves[told_apart].tolist()
    assert unmoved > 0 or dtype is np.float32  # it mattered


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_training_rows_of_known_tables_end_in_their_leaves(load):
    X, y = load(return_X_y=True, as_frame=True)
    tree = OptimalTreeClassifier(max_depth=4, regularization=0.0)
    classifier = FCCAClassifier(FCCADiscretizer(GradientBoostingClassifier(n_estimators=20)), tree).fit(X, y)
    for theirs in (to_sklearn(classifier), classifier.to_sklearn()):
        assert theirs.apply(X).tolist() == classifier.apply(X).tolist()


def test_predictions_are_equal_with_categories_and_missing_values():
    on_conditions = 0
    for seed in range(N_TREES):
        classifier, X = fitted(seed)
        theirs, ours = to_sklearn(classifier), classifier.to_sklearn()
        read = to_sklearn(from_json(to_json(classifier)))
        assert isinstance(theirs, DecisionTreeClassifier)
        assert theirs.feature_names_in_.tolist() == ours.feature_names_in_.tolist() == read.feature_names_in_.tolist()
        raw = theirs.n_features_in_ == X.shape[1] and theirs.feature_names_in_.tolist() == X.columns.tolist()
        on_conditions += not raw
        given = X if raw else pd.DataFrame(classifier.discretizer_.transform(X), columns=ours.feature_names_in_)
        expected = classifier.apply(X).tolist()
        assert theirs.apply(given).tolist() == read.apply(given).tolist() == expected
        assert theirs.predict(given).tolist() == read.predict(given).tolist()
        assert theirs.classes_.tolist() == classifier.classes_.tolist()
    assert 0 < on_conditions < N_TREES


def test_columns_without_names_stay_unnamed():
    X, y = load_iris(return_X_y=True)
    classifier = FCCAClassifier(FCCADiscretizer(GradientBoostingClassifier(n_estimators=5))).fit(X, y)
    theirs = to_sklearn(classifier)
    assert not hasattr(theirs, "feature_names_in_")
    assert theirs.predict(X).tolist() == classifier.predict(X).tolist()


def test_other_objects_and_old_documents_are_refused():
    with pytest.raises(InvalidInputError, match="version 1"):
        to_sklearn(next(tree for seed in range(50) if not (tree := random_tree(seed)).structure.has_cuts_only))
    with pytest.raises(InvalidInputError, match="str"):
        to_sklearn("tree")
