"""Plausible counterfactuals, by the parameter of the explainer."""

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fcca import CounterfactualExplainer
from fcca.constraints import Increasing
from fcca.exceptions import InvalidInputError, UnsupportedModelError


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)


def test_plausible_counterfactuals_are_plausible_enough_and_cost_no_less(flowers):
    X, _, forest = flowers
    free = CounterfactualExplainer(forest, X).explain(X.iloc[::15])
    explainer = CounterfactualExplainer(forest, X, plausibility=0.3)
    found = explainer.explain(X.iloc[::15])
    solved = found.status == "optimal"
    assert solved.sum() >= 8
    depth = explainer._plausibility.depths(found.points[solved])
    assert (depth >= explainer._plausibility.least - 1e-9).all()
    assert (explainer._plausibility.depths(free.points) < explainer._plausibility.least).any()
    assert (found.cost >= free.cost - 1e-12).all()
    assert (
        forest.predict(pd.DataFrame(found.points, columns=X.columns))[solved] != forest.predict(X.iloc[::15])[solved]
    ).all()


def test_plausibility_and_rules_hold_together(flowers):
    X, _, forest = flowers
    name = X.columns[3]
    explainer = CounterfactualExplainer(forest, X, plausibility=0.2, constraints=[Increasing(name)])
    found = explainer.explain(X.iloc[:60:6], n=2)
    solved = found.status == "optimal"
    assert solved.any()
    assert (found.points[solved][:, 3] >= X.iloc[found.rows[solved], 3]).all()
    depth = explainer._plausibility.depths(found.points[solved])
    assert (depth >= explainer._plausibility.least - 1e-9).all()


def test_plausibility_of_linear_models_is_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(
        UnsupportedModelError, match="plausibility is supported only for tree ensembles, but LogisticRegression is linear"
    ):
        CounterfactualExplainer(LogisticRegression(max_iter=1000).fit(X, y), X, plausibility=0.1)
    with pytest.raises(InvalidInputError, match="plausibility must be None or a share"):
        CounterfactualExplainer(DecisionTreeClassifier().fit(X, y), X, plausibility=1.5)
