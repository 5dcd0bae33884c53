"""
How coarse may the tree be?
===========================

``Q`` says how many thresholds to keep. Few make a small table and a small tree; too few lose what the black box
knows. Cross-validation shows where that begins.
"""

# %%
# The path fits the black box once per fold. Going from one ``Q`` to the next only grows another tree.
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
# Bars are one standard error of the accuracy. The mark is the choice of the rule "one standard error": the fewest
# thresholds that are as good as the best, as far as five folds can tell.
GranularityDisplay.from_path(path)
plt.show()

# %%
# Three rules to choose by.
for rule in ("best", "one_standard_error", "tradeoff"):
    print(f"{rule:<20}{choose_granularity(path, rule)}")

# %%
# Fit once more with the choice.
chosen = choose_granularity(path)["Q"]
classifier.set_params(discretizer__Q=chosen).fit(X, y)
TreeDisplay.from_estimator(classifier, class_names=["malignant", "benign"])
plt.show()
