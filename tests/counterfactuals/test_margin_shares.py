"""A margin given as a share of the votes or of the range of scores."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from fcca import CounterfactualExplainer, FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.robustness import share_margin


@pytest.fixture(scope="module")
def tumours():
    return load_breast_cancer(return_X_y=True)


def test_a_tenth_of_a_forests_votes_is_a_lead_of_a_tenth(tumours):
    X, y = tumours
    forest = RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0).fit(X, y)
    found = CounterfactualExplainer(forest, X, margin="10%").explain(X[:20])
    shares = np.sort(forest.predict_proba(found.x), axis=1)
    assert (shares[:, 1] - shares[:, 0] >= 0.1 - 1e-12).all()
    near = CounterfactualExplainer(forest, X).explain(X[:20])
    assert (near.cost <= found.cost + 1e-12).all()
    assert (near.cost < found.cost).any()


def test_a_share_of_boostings_scores_is_of_their_spread(tumours):
    X, y = tumours
    boosting = GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0).fit(X, y)
    scores = boosting.decision_function(X)
    wanted = 0.2 * (np.percentile(scores, 95) - np.percentile(scores, 5))
    explainer = CounterfactualExplainer(boosting, X, margin="20 %")
    assert explainer.engine.problem.margin == pytest.approx(wanted)
    assert share_margin(boosting, X, 0.2) == pytest.approx(wanted)
    found = explainer.explain(X[:20])
    assert (np.abs(boosting.decision_function(found.x)) >= wanted - 1e-9)[found.status == "optimal"].all()


def test_the_discretizer_takes_a_share_too(tumours):
    X, y = tumours
    boosting = GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0)
    farther = FCCADiscretizer(boosting, margin="20%").fit(X, y)
    nearer = FCCADiscretizer(boosting).fit(X, y)
    assert farther.counterfactuals_.cost.mean() > nearer.counterfactuals_.cost.mean()


@pytest.mark.parametrize("margin", ["10", "-5%", "0%", "200%", "a lot"])
def test_invalid_shares_are_refused(margin, tumours):
    X, y = tumours
    with pytest.raises(InvalidInputError, match="A share must be above 0"):
        CounterfactualExplainer(RandomForestClassifier(n_estimators=2).fit(X, y), X, margin=margin)
    with pytest.raises(InvalidInputError, match="A share must be above 0"):
        FCCADiscretizer(margin=margin).fit(X, y)
