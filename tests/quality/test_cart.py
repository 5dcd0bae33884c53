"""CART is scikit-learn's tree, whatever number of leaves it is asked for."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fcca.quality import Cart
from fcca.tables import Columns


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("min_samples_leaf", [1, 9])
def test_one_fit_holds_the_trees_of_every_smaller_number_of_leaves(load, min_samples_leaf):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    n_classes = y.max() + 1
    cart = Cart(X, None, y, weight, n_classes, min_samples_leaf=min_samples_leaf)
    cart.grow(12)
    for n_leaves in range(1, 13):
        fitted = DecisionTreeClassifier(
            max_leaf_nodes=max(2, n_leaves), min_samples_leaf=min_samples_leaf, random_state=0
        ).fit(X, y, sample_weight=weight)
        leaf = fitted.apply(X)
        mass = np.array([[weight[(leaf == node) & (y == k)].sum() for k in range(n_classes)] for node in leaf])
        expected = (mass + 0.5) / (mass.sum(axis=1, keepdims=True) + 0.5 * n_classes)
        np.testing.assert_allclose(cart.probability(X, n_leaves), expected)
        assert cart.n_leaves(n_leaves) == fitted.get_n_leaves()


def test_a_larger_tree_than_the_one_at_hand_is_grown():
    X, y = load_breast_cancer(return_X_y=True)
    cart, other = (Cart(X, None, y, np.ones(len(y)), 2) for _ in range(2))
    cart.grow(2)
    np.testing.assert_array_equal(cart.probability(X, 7), other.probability(X, 7))


def test_categories_are_one_hot_and_missing_numbers_medians():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("abcdef"), 300)})
    y = ((X["x"] > 0.3) ^ X["c"].isin(["b", "e"])).astype(int).to_numpy()
    X.loc[::7, "x"] = np.nan
    X.loc[::11, "c"] = None
    columns = Columns.of_table(X)
    cart = Cart(columns.encode(X), columns, y, np.ones(300), 2)
    encoder = make_column_transformer(
        (SimpleImputer(strategy="median"), ["x"]), (OneHotEncoder(), ["c"]), sparse_threshold=0
    )
    tree = make_pipeline(encoder, DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)).fit(X, y)
    agree = tree.predict(X) == cart.probability(columns.encode(X), 6).argmax(axis=1)
    assert agree.mean() > 0.99  # equally good splits may be chosen otherwise


def test_many_categories_are_codes_and_large_numbers_are_scaled():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.normal(size=400) * 1e200, "c": [f"{k:03}" for k in rng.integers(0, 200, 400)]})
    y = (X["x"] > 0).astype(int).to_numpy()
    columns = Columns.of_table(X)
    table = columns.encode(X)
    cart = Cart(table, columns, y, np.ones(400), 2)
    assert (cart.probability(table, 2).argmax(axis=1) == y).all()
    assert cart.probability(np.array([[1e300, np.nan], [np.nan, 3.0]]), 2).argmax(axis=1)[0] == 1


def test_a_class_that_no_training_row_has_gets_no_probability():
    X, y = load_breast_cancer(return_X_y=True)
    probability = Cart(X, None, 2 * y, np.ones(len(y)), 3).probability(X, 4)
    assert (probability[:, 1] == 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
