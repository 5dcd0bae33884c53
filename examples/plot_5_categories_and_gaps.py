"""
What about categories and missing values?
=========================================

Tables may have text columns, which are treated as categories, and missing values. The tree can contain conditions on
both, such as ``purpose in {…}`` or ``income is missing``.
"""

# %%
# A made-up table with categories and missing values.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.plots import ThresholdHeatmapDisplay, TreeDisplay

random = np.random.default_rng(0)
n = 600
X = pd.DataFrame(
    {
        "income": random.normal(30, 8, n).round(1),
        "purpose": pd.Categorical(random.choice(["car", "kitchen", "tv", "travel"], n)),
        "age": random.integers(18, 80, n),
    }
)
granted = (X["income"] > 32) | (X["purpose"].isin(["car", "kitchen"]) & (X["income"] > 24))
y = np.where(granted ^ (random.random(n) < 0.05), "granted", "refused")
X.loc[random.random(n) < 0.15, "income"] = np.nan  # some applicants do not say

# %%
# scikit-learn's histogram boosting splits by category and sends missing values to one side of each split. ``fcca``
# supports both.
boosting = HistGradientBoostingClassifier(max_iter=40, max_depth=2, categorical_features="from_dtype", random_state=0)
classifier = FCCAClassifier(FCCADiscretizer(boosting), OptimalTreeClassifier(max_leaf_nodes=6)).fit(X, y)
print("\n".join(classifier.rules()))

# %%
TreeDisplay.from_estimator(classifier)
plt.show()

# %%
# The conditions crossed most often. ``kind`` is a cut, a set of categories, or "missing". ``count`` is the number of rows
# whose cheapest change crosses the condition.
classifier.discretizer_.all_thresholds_.to_frame()[["condition", "kind", "count"]].sort_values(
    "count", ascending=False
).head(8)

# %%
ThresholdHeatmapDisplay.from_estimator(classifier)
plt.show()

# %%
# The changes that some refused applicants would need. The income of one of them is missing. A missing value stays
# missing, unless a rule (``fcca.constraints.Fillable``) allows filling it in.
black_box = classifier.discretizer_.estimator_
refused = X[black_box.predict(X) == "refused"]
some = pd.concat([refused[refused["income"].isna()].head(1), refused[refused["income"].notna()].head(2)])
print(some.to_string())
print("\n".join(CounterfactualExplainer(black_box, X).explain(some, target="granted").sentences()))
