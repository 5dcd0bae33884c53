"""
Which four thresholds are enough?
=================================

The black box hangs on dozens of thresholds. The four that are crossed most often say much the same; the four that
tell the labels apart best can be found, with proof. Whether the tree on them answers better on new rows is another
question, which takes rows that were held out.
"""

# %%
# All thresholds of 100 boosted stumps.
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
# The best one, the best two, and so on. *Inconsistency* is the share of rows that no model can get right that sees
# these columns only.
frontier = OptimalSelection().frontier(table, X, y, k=range(1, 9))
print(frontier)

# %%
# Beside the best: always adding the one that helps most, and the most frequent.
FrontierDisplay.from_frontier(frontier)
plt.show()


# %%
# The four of either choice.
def most_frequent_of(table, k):
    """Keep the k conditions that are crossed most often."""
    return table.select(np.isin(np.arange(len(table)), np.argsort(-table.count, kind="stable")[:k]))


print("by frequency:", ", ".join(most_frequent_of(table, 4)))
print("optimal:     ", ", ".join(frontier.at(4).thresholds))


# %%
# Now six random splits: black box, thresholds, choice and tree from the training rows, the score from the others.
def tree_score(thresholds, X_train, y_train, X_test, y_test):
    """Accuracy on the test rows of the best small tree."""
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
# Split by split. Above the line the tree on the optimal choice is better, below it the other one.
figure, ax = plt.subplots(figsize=(5, 5))
ax.scatter(scores["by frequency"], scores["optimal"], color="#0072B2", alpha=0.8)
low, high = scores.to_numpy().min() - 0.01, scores.to_numpy().max() + 0.01
ax.plot([low, high], [low, high], color="gray", linewidth=1)
ax.set(xlabel="four by frequency, held-out accuracy", ylabel="four optimal, held-out accuracy", title="Six splits")
plt.show()

# %%
# What is proven is the inconsistency on the training rows. What that is worth on new rows has to be measured: the guide
# on few thresholds does so on six data sets, with error bars.
