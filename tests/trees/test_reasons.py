"""Reason codes are the conditions that lowered the probability of a class, as computed by hand."""

import numpy as np
import pandas as pd
import pytest

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.export import Certificate, DistilledTree, from_json, to_json
from fcca.tables import Column, Columns
from fcca.trees import TreeStructure

PROOF = Certificate(False, 0.5, 0.2, 0.6, 0.01, "error", None, None, 1, 0.0)
COLUMNS = Columns((Column("income", missing=True), Column("purpose", ("car", "tv"))))


@pytest.fixture
def tree():
    """Approved and refused rows in each node: root 60:39, income > 5: 50:9, else 10:30; and two more tests below that.

    With half a row of each class, the probabilities of "approved" are .605, .85 and .256. Below income ≤ 5, purpose = "tv"
    has 1:25 (.056), other purposes 9:5 (.633), and there income ≤ 2 has 0:5 (.083) and income > 2 has 9:0 (.95).
    """
    weight = [[60, 39], [10, 30], [9, 5], [0, 5], [9, 0], [1, 25], [50, 9]]
    nodes = TreeStructure(
        feature=np.array([0, 1, 0, -1, -1, -1, -1], dtype=np.int32),
        threshold=np.array([5.0, np.nan, 2.0, np.nan, np.nan, np.nan, np.nan]),
        left=np.array([1, 2, 3, -1, -1, -1, -1], dtype=np.int32),
        right=np.array([6, 5, 4, -1, -1, -1, -1], dtype=np.int32),
        weight=np.array(weight, dtype=np.float64),
        n_rows=np.sum(weight, axis=1),
        categories={1: (1,)},
    )
    return DistilledTree(nodes, COLUMNS, ("approved", "refused"), PROOF, True, "0.1.0")


def rows(*values):
    return pd.DataFrame(values, columns=["income", "purpose"], index=[f"person {i}" for i in range(len(values))])


def test_the_reasons_are_those_computed_by_hand(tree):
    found = tree.reasons(rows((1.0, "car"), (3.0, "tv"), (9.0, "tv"), (3.0, "car")), wanted="approved")
    root, poor, other, low, high, tv = 60.5 / 100, 10.5 / 41, 9.5 / 15, 0.5 / 6, 9.5 / 10, 1.5 / 27
    expected = [
        ("person 0", "refused", "approved", 1, "income", "income ≤ 2 or missing", other, low, other - low),
        ("person 0", "refused", "approved", 2, "income", "income ≤ 5 or missing", root, poor, root - poor),
        ("person 1", "refused", "approved", 1, "income", "income ≤ 5 or missing", root, poor, root - poor),
        ("person 1", "refused", "approved", 2, "purpose", 'purpose = "tv"', poor, tv, poor - tv),
        ("person 3", "approved", "approved", 1, "income", "income ≤ 5 or missing", root, poor, root - poor),
    ]
    assert list(found.columns) == ["row", "label", "wanted", "number", "feature", "condition", "before", "after", "drop"]
    assert found.iloc[:, :6].values.tolist() == [list(line[:6]) for line in expected]
    np.testing.assert_allclose(found[["before", "after", "drop"]], [line[6:] for line in expected], rtol=1e-12)
    assert high > low


def test_without_a_wanted_class_it_is_the_next_best_one(tree):
    found = tree.reasons(rows((1.0, "car"), (9.0, "tv")))
    assert found[["row", "wanted", "condition"]].values.tolist() == [
        ["person 0", "approved", "income ≤ 2 or missing"],
        ["person 0", "approved", "income ≤ 5 or missing"],
        ["person 1", "refused", "income > 5"],
    ]


def test_a_leaf_has_its_path_and_its_probabilities(tree):
    leaf = tree.leaf_reasons("approved")[4]
    assert (leaf.label, leaf.wanted) == ("approved", "approved")
    assert leaf.path == ("income ≤ 5", 'purpose ≠ "tv"', "income > 2")
    assert leaf.probability == pytest.approx((9.5 / 10, 0.5 / 10))
    assert [reason.condition for reason in leaf.reasons] == ["income ≤ 5 or missing"]


def test_strange_values_are_one_warning_and_a_wrong_class_is_refused(tree):
    with pytest.warns(UnknownValuesWarning) as warned:
        found = tree.reasons(rows((np.nan, "boat"), (1.0, "yacht")), wanted="approved")
    assert len(warned) == 1
    assert set(found["row"]) == {"person 0", "person 1"}
    with pytest.raises(InvalidInputError, match=r"wanted is 'aproved', which is not a class\. Did you mean 'approved'"):
        tree.reasons(rows((1.0, "car")), wanted="aproved")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_reason_lowers_the_probability_and_every_other_condition_does_not(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(300, 4)).round(1)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0, -1, 1][: n_classes - 1]) if n_classes == 2 else rng.integers(0, 4, 300)
    classifier = FCCAClassifier(FCCADiscretizer(), OptimalTreeClassifier(regularization=0.0, max_depth=4)).fit(X, y)
    again = from_json(to_json(classifier))
    for wanted in classifier.classes_:
        known = classifier.leaf_reasons(wanted)
        nodes = classifier.structure_
        at = list(classifier.classes_).index(wanted)
        for leaf, described in known.items():
            path = [node for node, _ in nodes.path_to(leaf)] + [leaf]
            drops = -np.diff(nodes.probability[path, at])
            assert [reason.drop for reason in described.reasons] == sorted(drops[drops > 0].tolist(), reverse=True)
        pd.testing.assert_frame_equal(again.reasons(X, wanted), classifier.reasons(X, wanted))
    np.testing.assert_array_equal([known[leaf].label for leaf in classifier.apply(X)], classifier.predict(X))


def test_an_optimal_tree_names_its_columns():
    X = pd.DataFrame({"old": [0, 0, 1, 1] * 20, "rich": [0, 1, 0, 1] * 20})
    tree = OptimalTreeClassifier(regularization=0.0).fit(X, (X["old"] & X["rich"]).to_numpy())
    assert tree.reasons(X.iloc[:1], wanted=1)["condition"].tolist()[0].startswith(("old", "rich"))
