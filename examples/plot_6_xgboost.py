"""
Can I read what my XGBoost model does?
======================================

``fcca`` reads a fitted XGBoost model. It finds the thresholds that the cheapest changes of the rows cross. On these
thresholds, it grows a small tree that agrees with the model on most rows.
"""

# %%
# Fit XGBoost as usual. The data is scikit-learn's wine data, with three growers as classes.
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer
from fcca.plots import CounterfactualMovesDisplay, TreeDisplay

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
xgboost = XGBClassifier(n_estimators=30, max_depth=2, random_state=0).fit(X_train, y_train)

# %%
# ``FrozenEstimator`` keeps the fitted model from being refitted. ``Q=0.5`` keeps the most frequently crossed half of the
# thresholds. The tree is meant to replace XGBoost. So ``fit_to="target"`` makes it learn the predictions of XGBoost instead
# of the labels.
classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(xgboost), Q=0.5), fit_to="target").fit(X_train, y_train)
growers = [f"grower {i}" for i in (1, 2, 3)]
TreeDisplay.from_estimator(classifier, class_names=growers)
plt.show()

# %%
# The accuracy of XGBoost and of the tree, and their agreement, on held-out rows.
print(f"accuracy of XGBoost             {xgboost.score(X_test, y_test):.3f}")
print(f"accuracy of the tree            {classifier.score(X_test, y_test):.3f}")
print(f"tree agrees with XGBoost on     {classifier.fidelity(X_test):.3f}")
print(f"proven the best tree of its size: {classifier.tree_.is_optimal_}")

# %%
# A single row: the cheapest change after which XGBoost predicts grower 2 for a wine of grower 1.
explainer = CounterfactualExplainer(xgboost, X_train)
found = explainer.explain(X_train[y_train == 0].iloc[[0]], target=1)
print(found.sentences(dict(enumerate(growers)))[0])
CounterfactualMovesDisplay.from_explanations(found, class_names=growers)
plt.show()
