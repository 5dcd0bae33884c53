"""
What does the method do, in a picture?
======================================

With two columns, everything can be drawn: the regions of the black box, the rows, some counterfactuals as arrows,
the thresholds that they cross, and the tree on these thresholds.
"""

# %%
# Made-up loans: income and debt in thousands, and whether the loan was paid back.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.plots import DecisionRegionsDisplay

random = np.random.default_rng(0)
X = pd.DataFrame({"income": random.uniform(10, 60, 150).round(), "debt": random.uniform(0, 30, 150).round()})
y = np.where(X["income"] - X["debt"] + random.normal(0, 4, 150) > 18, "yes", "no")


def distilled(black_box, Q):
    """Fit the black box, and a small tree on its thresholds."""
    tree = OptimalTreeClassifier(regularization=0.01)
    return FCCAClassifier(FCCADiscretizer(black_box, Q=Q), tree).fit(X, y)


# %%
# A gradient boosting model with 60 small trees. Each arrow is a counterfactual: the cheapest change to one row that flips
# the prediction of the boosting model. The lines are the kept thresholds.
boosting = GradientBoostingClassifier(n_estimators=60, max_depth=2, random_state=0)
fine = distilled(boosting, Q=0.3)
DecisionRegionsDisplay.from_estimator(fine)
plt.show()

# %%
# ``Q = 0.8`` keeps only the most frequently crossed fifth of the thresholds, so the tree becomes coarser.
coarse = distilled(boosting, Q=0.8)
DecisionRegionsDisplay.from_estimator(coarse, n_arrows=0)
plt.show()
for name, classifier in (("Q = 0.3", fine), ("Q = 0.8", coarse)):
    n = len(classifier.discretizer_.thresholds_)
    print(f"{name}: {n} thresholds, {classifier.tree_.n_leaves_} leaves, fidelity {classifier.fidelity_:.3f}")

# %%
# A different black box has different cuts, and therefore different thresholds. This one is a random forest.
forest = distilled(RandomForestClassifier(30, max_depth=4, random_state=0), Q=0.6)
DecisionRegionsDisplay.from_estimator(forest)
plt.show()
