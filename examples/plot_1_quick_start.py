"""
How do I turn a black box into a small tree?
============================================

Boosting is accurate and unreadable. Here 100 boosted trees become a tree of a few leaves, which is proven to be
the best one on the thresholds that matter to the boosting.
"""

# %%
# Data that comes with scikit-learn: 569 tumours, 30 measurements each. A quarter of the rows is held out.
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
# The classifier has two parts: a discretizer, which finds the thresholds of the black box, and a tree on them.
# ``Q=0.7`` keeps the most crossed third of the thresholds; ``max_leaf_nodes`` is the most leaves of the tree.
black_box = GradientBoostingClassifier(max_depth=2, random_state=0)
classifier = FCCAClassifier(FCCADiscretizer(black_box, Q=0.7), OptimalTreeClassifier(max_leaf_nodes=6)).fit(X_train, y_train)

TreeDisplay.from_estimator(classifier)
plt.show()

# %%
# The same in words, and how good it is on the rows held out.
print("\n".join(classifier.rules()))
print(f"black box {classifier.discretizer_.estimator_.score(X_test, y_test):.3f}")
print(f"tree      {classifier.score(X_test, y_test):.3f}")
print(f"the tree answers as the black box does on {classifier.fidelity(X_test):.1%} of the rows")

# %%
# The certificate: what the tree costs, and what any other tree with as few leaves on these columns must cost at least.
tree = classifier.tree_
print(f"objective {tree.objective_:.5f}, lower bound {tree.lower_bound_:.5f}, proven optimal: {tree.is_optimal_}")

# %%
# Where the thresholds are, and which are crossed most: the darker, the more rows. The kept ones are marked.
ThresholdHeatmapDisplay.from_estimator(classifier)
plt.show()

# %%
# For how many rows the smallest change uses a column.
CounterfactualImportanceDisplay.from_estimator(classifier, max_features=10)
plt.show()
