"""
How do I turn a black box into a small tree?
============================================

Gradient boosting is accurate, but nobody can read it. Here, 100 boosted trees become a tree with a few leaves. It is
proven that no tree on the same thresholds, within the same limits, is better on the training rows.
"""

# %%
# The data comes with scikit-learn: 569 tumours with 30 measurements each. A quarter of the rows is held out.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.plots import CounterfactualImportanceDisplay, ThresholdHeatmapDisplay, TreeDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# The classifier has two parts: a discretizer, which finds the thresholds of the black box, and a tree on these thresholds.
# ``Q=0.7`` keeps the 30 % of the thresholds that are crossed most often. ``max_leaf_nodes`` is the maximum number of leaves.
black_box = GradientBoostingClassifier(max_depth=2, random_state=0)
classifier = FCCAClassifier(FCCADiscretizer(black_box, Q=0.7), OptimalTreeClassifier(max_leaf_nodes=6)).fit(X_train, y_train)

TreeDisplay.from_estimator(classifier)
plt.show()

# %%
# The same tree as rules, and its accuracy on the held-out rows.
print("\n".join(classifier.rules()))
print(f"black box {classifier.discretizer_.estimator_.score(X_test, y_test):.3f}")
print(f"tree      {classifier.score(X_test, y_test):.3f}")
print(f"the tree and the black box agree on {classifier.fidelity(X_test):.1%} of the rows")

# %%
# The certificate: the cost of the tree, and a lower bound on the cost of any tree on these columns within the same limits.
tree = classifier.tree_
print(f"objective {tree.objective_:.5f}, lower bound {tree.lower_bound_:.5f}, proven optimal: {tree.is_optimal_}")

# %%
# The thresholds of each column. The darker a threshold, the more rows cross it with their cheapest change. The kept
# thresholds are marked.
ThresholdHeatmapDisplay.from_estimator(classifier)
plt.show()

# %%
# For each column, the number of training rows whose cheapest change changes this column.
CounterfactualImportanceDisplay.from_estimator(classifier, max_features=10)
plt.show()
