"""
Is it better than an ordinary decision tree?
============================================

CART, scikit-learn's ``DecisionTreeClassifier``, is grown greedily from the data. The thresholds of ``fcca`` come from a
black box, and its tree is optimal on these thresholds and the training rows. Both trees have the same number of leaves,
and both are scored on held-out rows. The answer is not always yes, and the table shows the difference.
"""

# %%
# Ten random splits of two data sets that come with scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCAClassifier

lines = []
for name, loader in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
    X, y = loader(return_X_y=True, as_frame=True)
    for seed in range(10):
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=seed)
        classifier = FCCAClassifier().fit(X_train, y_train)
        leaves = classifier.tree_.n_leaves_
        cart = DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=0).fit(X_train, y_train)
        lines.append(
            {
                "data": name,
                "black box": classifier.discretizer_.estimator_.score(X_test, y_test),
                "fcca": classifier.score(X_test, y_test),
                "CART": cart.score(X_test, y_test),
                "leaves": leaves,
                "thresholds for fcca": len(classifier.discretizer_.thresholds_),
                "thresholds for CART": sum(X_train[column].nunique() - 1 for column in X_train),
            }
        )
scores = pd.DataFrame(lines)
scores.groupby("data").mean().round(3).transpose()

# %%
# Each point is one split. Above the line, fcca is better. Below it, CART is better.
figure, ax = plt.subplots(figsize=(5, 5))
for (name, part), mark, color in zip(scores.groupby("data"), ("o", "s"), ("#0072B2", "#D55E00"), strict=True):
    ax.scatter(part["CART"], part["fcca"], marker=mark, color=color, label=name, alpha=0.8)
low, high = scores[["CART", "fcca"]].to_numpy().min() - 0.01, 1.0
ax.plot([low, high], [low, high], color="gray", linewidth=1)
ax.set(xlabel="CART, held-out accuracy", ylabel="fcca, held-out accuracy", title="Ten splits of each data set")
ax.legend()
plt.show()
better = np.sign((scores["fcca"] - scores["CART"]).round(6)).map({1: "fcca better", 0: "the same", -1: "CART better"})
print(better.groupby(scores["data"]).value_counts().to_string())

# %%
# CART may split at all values of all columns, fcca only at the thresholds that counterfactuals cross. The tree is proven to
# be the best one for these thresholds, the limits on its size and the training rows, but not for new rows. An advantage of
# fcca is that the same thresholds also explain the black box.
