"""
Which four thresholds are enough?
=================================

Counterfactuals find dozens of thresholds. The four that are crossed most often are often similar to each other.
``OptimalSelection`` finds the four that separate the labels of the training rows best, with proof. Held-out rows then
show whether the tree on these four thresholds is also more accurate on new rows.
"""

# %%
# The thresholds of the default black box.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fcca import FCCADiscretizer, OptimalTreeClassifier
from fcca.plots import FrontierDisplay
from fcca.selection import OptimalSelection

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
table = FCCADiscretizer().fit(X, y).thresholds_
print(len(table), "thresholds")

# %%
# The best threshold, the best two, and so on. Rows that agree on all chosen thresholds cannot be told apart.
# *Inconsistency* is the share of rows whose label differs from the most frequent label of their group. Every model that
# uses only these thresholds gets at least this share of the rows wrong.
frontier = OptimalSelection().frontier(table, X, y, k=range(1, 9))
print(frontier)

# %%
# The optimal choice compared with two other choices: a greedy choice, which always adds the threshold that lowers the
# inconsistency most, and the thresholds that are crossed most often.
FrontierDisplay.from_frontier(frontier)
plt.show()


# %%
# The four thresholds that are crossed most often, and the optimal four.
def most_frequent_of(table, k):
    """Keep the k conditions that are crossed most often."""
    return table.select(np.isin(np.arange(len(table)), np.argsort(-table.count, kind="stable")[:k]))


print("by frequency:", ", ".join(most_frequent_of(table, 4)))
print("optimal:     ", ", ".join(frontier.at(4).thresholds))


# %%
# Now six random splits. The black box, the thresholds, the choice and the tree come from the training rows. The accuracy
# is measured on the other rows.
def tree_score(thresholds, X_train, y_train, X_test, y_test):
    """Grow the optimal tree on the training rows, and compute its accuracy on the test rows."""
    tree = OptimalTreeClassifier().fit(thresholds.binarize(X_train), y_train)
    return tree.score(thresholds.binarize(X_test), y_test)


lines = []
for seed in range(6):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    found = FCCADiscretizer().fit(X_train, y_train).thresholds_
    best = OptimalSelection(n_thresholds=4).select(found, X_train, y_train).thresholds
    rows = (X_train, y_train, X_test, y_test)
    lines.append({"by frequency": tree_score(most_frequent_of(found, 4), *rows), "optimal": tree_score(best, *rows)})
scores = pd.DataFrame(lines)
print(scores.agg(["mean", "std"]).round(3).to_string())

# %%
# Each point is one split. Above the line, the tree on the optimal choice is better. Below it, the other tree is better.
figure, ax = plt.subplots(figsize=(5, 5))
ax.scatter(scores["by frequency"], scores["optimal"], color="#0072B2", alpha=0.8)
low, high = scores.to_numpy().min() - 0.01, scores.to_numpy().max() + 0.01
ax.plot([low, high], [low, high], color="gray", linewidth=1)
ax.set(xlabel="four by frequency, held-out accuracy", ylabel="four optimal, held-out accuracy", title="Six splits")
plt.show()

# %%
# The inconsistency on the training rows is proven. Its effect on new rows has to be measured. The guide on few thresholds
# does so on six data sets, with error bars.
