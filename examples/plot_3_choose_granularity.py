"""
How coarse may the tree be?
===========================

``Q`` sets how many thresholds are kept: ``Q = 0.5`` keeps the most frequently crossed half of the thresholds.
Fewer thresholds give a simpler table and a simpler tree. With too few thresholds, the tree becomes less accurate.
Cross-validation shows for which ``Q`` this begins.
"""

# %%
# ``granularity_path`` fits the black box and finds the thresholds once per fold. For each ``Q``, only the tree is fitted
# again.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.classifier import choose_granularity
from fcca.plots import GranularityDisplay, TreeDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
classifier = FCCAClassifier(
    FCCADiscretizer(GradientBoostingClassifier(max_depth=1, random_state=0)),
    OptimalTreeClassifier(max_leaf_nodes=6),
)
path = classifier.granularity_path(X, y, cv=5)
path.round(3)

# %%
# The bars show one standard error of the accuracy. The mark shows the choice of the rule "one standard error": the
# largest ``Q`` whose accuracy is within one standard error of the highest accuracy.
GranularityDisplay.from_path(path)
plt.show()

# %%
# The choices of the three rules: the highest accuracy, the rule above, and a compromise between compression and
# inconsistency.
for rule in ("best", "one_standard_error", "tradeoff"):
    print(f"{rule:<20}{choose_granularity(path, rule)}")

# %%
# Fit the classifier with the chosen ``Q``.
chosen = choose_granularity(path)["Q"]
classifier.set_params(discretizer__Q=chosen).fit(X, y)
TreeDisplay.from_estimator(classifier, class_names=["malignant", "benign"])
plt.show()
