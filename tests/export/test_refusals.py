"""Exports predict and refuse row by row as the classifier does: on the cuts, one float beside them, with missing values,
unknown categories, infinities and 32-bit floats."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from export.onnx_runner import answers_of
from export.random_documents import HOSTILE_NAMES, bad_values, good_rows, random_tree, with_bad_values
from export.rules_reader import apply_rules
from export.trees import N_TREES, as_dictionaries, fitted, random_table
from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.export import as_distilled, to_onnx, to_python, to_rules
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
SIZES = [pytest.param(30, 300, id="small"), pytest.param(120, 10_000, id="full", marks=pytest.mark.verify)]


def run_onnx(tree, rows):
    imported("onnx")
    label, probabilities, leaf = answers_of(to_onnx(tree), rows)
    no_answer = leaf < 0
    assert np.isnan(probabilities[no_answer]).all()
    return label[~no_answer].tolist(), probabilities[~no_answer].tolist(), no_answer


def run_python(tree, rows):
    module: dict[str, object] = {}
    exec(compile(to_python(tree), "tree.py", "exec"), module)
    answers, shares, no_answer = [], [], np.zeros(len(rows), dtype=bool)
    for at, row in enumerate(as_dictionaries(rows)):
        try:
            share = module["predict_proba"](row)
        except ValueError:
            no_answer[at] = True
            with pytest.raises(ValueError, match="Column"):
                module["predict"](row)
        else:
            shares.append(list(share.values()))
            answers.append(module["predict"](row))
    return answers, shares, no_answer


def run_rules(tree, rows):
    found, no_answer = apply_rules(to_rules(tree), rows)
    found = [rule for rule in found if rule is not None]
    return [rule["class"] for rule in found], [rule["probabilities"] for rule in found], no_answer


RUNNERS = {"onnx": run_onnx, "python": run_python, "rules": run_rules}


@cache
def fitted_without_gaps(seed: int) -> FCCAClassifier:
    """A classifier fitted without missing values; some columns are 32-bit floats."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, 150, gaps=False, categories=False)
    X = X.astype(dict.fromkeys(X.columns[::2], np.float32))
    y = np.where(X.iloc[:, 1] + np.sin(X.iloc[:, 2]) + rng.normal(0, 0.5, 150) > 2, "high", "low")
    model = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=seed)
    return FCCAClassifier(FCCADiscretizer(model), OptimalTreeClassifier(max_depth=3, regularization=0.0)).fit(X, y)


def random_trees(n: int) -> list:
    """Trees of classifiers, with and without missing values, and random trees."""
    found = []
    for seed in range(n):
        kind = seed % 4
        if kind == 0:
            found.append(fitted(seed % N_TREES if n <= N_TREES else seed)[0])
        else:
            found.append(fitted_without_gaps(seed) if kind == 1 else random_tree(seed))
    return found


def check(name: str, tree, n_rows: int, seed: int) -> tuple[int, int]:
    """Count predicted and refused rows; all must equal the tree's."""
    distilled = as_distilled(tree)
    rows, bad = with_bad_values(distilled, good_rows(distilled, n_rows, seed), seed)
    answers, shares, no_answer = RUNNERS[name](tree, rows)
    assert no_answer.tolist() == bad.tolist()
    assert answers == tree.predict(rows[~bad]).tolist()
    assert shares == tree.predict_proba(rows[~bad]).tolist()
    return int((~bad).sum()), int(bad.sum())


@pytest.mark.parametrize(("n_trees", "n_rows"), SIZES)
@pytest.mark.parametrize("name", RUNNERS)
def test_all_predictions_and_refusals_are_equal(name, n_trees, n_rows):
    done = [check(name, tree, n_rows, seed) for seed, tree in enumerate(random_trees(n_trees))]
    answered, refused = map(sum, zip(*done, strict=True))
    assert answered + refused == n_trees * n_rows
    assert refused > 0.05 * n_trees * n_rows


def test_the_tree_refuses_the_same_rows():
    n_values = 0
    for tree in random_trees(30):
        distilled = as_distilled(tree)
        good = good_rows(distilled, 1, 0)
        tree.predict(good)
        for j in distilled.asked:
            for value in bad_values(distilled, j):
                column = pd.Series([value], dtype=np.float64 if distilled.columns[j].categories is None else object)
                with pytest.raises((InvalidInputError, ValueError)):
                    tree.predict(good.assign(**{distilled.columns.names[j]: column}))
                n_values += 1
    assert n_values > 50


@pytest.mark.parametrize(("n_trees", "n_rows"), [(5, 300), pytest.param(20, 10_000, marks=pytest.mark.verify)])
@pytest.mark.parametrize("name", RUNNERS)
def test_hostile_names_change_nothing(name, n_trees, n_rows):
    for seed in range(n_trees):
        tree = random_tree(seed, hostile=True)
        asked = {tree.columns.names[j] for j in tree.asked}
        assert asked == set(HOSTILE_NAMES)
        assert tree.classes == tuple(HOSTILE_NAMES)
        assert any(column.categories == tuple(HOSTILE_NAMES) for column in tree.columns)
        answered, refused = check(name, tree, n_rows, seed)
        assert min(answered, refused) > 0


def test_every_kind_of_test_and_value_was_among_them():
    trees = [as_distilled(tree) for tree in random_trees(30)]
    kinds = {"cut": 0, "set": 0, "missing": 0}
    for tree in trees:
        nodes = tree.structure
        kinds["set"] += len(nodes.categories)
        kinds["missing"] += len(nodes.asks_missing)
        kinds["cut"] += int(np.isfinite(nodes.threshold).sum())
    assert min(kinds.values()) > 10
    assert {tree.takes_missing for tree in trees} == {True, False}
    asked = {type(label) for tree in trees for j in tree.asked for label in tree.columns[j].categories or ()}
    assert asked == {str, int, float, bool}
