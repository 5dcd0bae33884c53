"""
Credit scoring, from the table to the report
============================================

A bank wants to know whom it can lend to. A risk officer has to approve the model, and applicants who are declined may
ask why. The German credit data has 1,000 applications, 20 columns, and the outcome of each loan.

This example needs the file ``german_credit.csv`` in the folder that the environment variable ``FCCA_DATA`` names. If
this page was built without the file, the output of the code is left out.
"""

# %%
# The table, with readable names instead of codes for the columns that appear below.
import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import fcca.report
from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.constraints import Bounds, Grid, Immutable, MaxChanges
from fcca.fairness import gaps, group_metrics, recourse_by_group
from fcca.plots import CounterfactualImportanceDisplay, RecourseDisplay, TreeDisplay

X = pd.read_csv(Path(os.environ["FCCA_DATA"], "german_credit.csv"))
y = X.pop("label").map({0: "good", 1: "bad"})
X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
words = {
    "checking_status": {"A11": "overdrawn", "A12": "below 200", "A13": "200 or more", "A14": "no account"},
    "savings": {"A61": "below 100", "A62": "below 500", "A63": "below 1000", "A64": "1000 or more", "A65": "unknown"},
    "credit_history": {"A30": "none", "A31": "paid here", "A32": "paid so far", "A33": "delays", "A34": "critical"},
}
for column, names in words.items():
    X[column] = X[column].cat.rename_categories(names)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# **How fine should the tree be?** ``Q`` and the maximum number of leaves are chosen by cross-validation on the training
# rows. The held-out rows are not used for this. Histogram boosting supports categories directly.
boosting = HistGradientBoostingClassifier(max_iter=60, max_depth=2, categorical_features="from_dtype", random_state=0)
paths = []
for leaves in (4, 6, 8):
    tree = OptimalTreeClassifier(max_leaf_nodes=leaves)
    path = FCCAClassifier(FCCADiscretizer(boosting, n_jobs=-1), tree).granularity_path(
        X_train, y_train, Q=[0, 0.3, 0.5, 0.7]
    )
    paths.append(path.assign(max_leaves=leaves))
path = pd.concat(paths, ignore_index=True)
print(path[["max_leaves", "Q", "thresholds", "leaves", "accuracy", "log_loss", "fidelity"]].round(3).to_string(index=False))
best = path.loc[path["log_loss"].idxmin()]

# %%
# **The black box**, **the thresholds** and **the proven tree** in one call.
tree = OptimalTreeClassifier(max_leaf_nodes=int(best["max_leaves"]))
classifier = FCCAClassifier(FCCADiscretizer(boosting, Q=best["Q"], n_jobs=-1), tree).fit(X_train, y_train)
black_box = classifier.discretizer_.estimator_
TreeDisplay.from_estimator(classifier)
plt.show()

# %%
# **How much accuracy is lost?** The tree is easier to read than the black box, but usually less accurate. People have to
# decide whether this is worth it. These are the figures on the 300 held-out applications. Note that predicting "good" for
# everybody is also correct for most of them.
print(f"black box                       {black_box.score(X_test, y_test):.3f}")
print(f"tree                            {classifier.score(X_test, y_test):.3f}")
print(f"everybody is good               {(y_test == 'good').mean():.3f}")
print(f"tree agrees with the black box  {classifier.fidelity(X_test):.3f}")
print(f"proven the best tree of its size: {classifier.tree_.is_optimal_}")

# %%
# **What the black box depends on**: for each column, the number of training rows whose cheapest change changes it.
CounterfactualImportanceDisplay.from_estimator(classifier, max_features=10)
plt.show()

# %%
# **Recourse.** What could declined applicants do? They cannot change who they are or their past. They can ask for a
# smaller loan, or for a different duration in steps of three months.
fixed = ["age", "personal_status", "foreign_worker", "credit_history", "purpose", "employment", "residence_since"]
rules = [
    Immutable(*fixed, "property", "job", "housing", "existing_credits", "num_dependents", "telephone"),
    Grid("duration", step=3),
    Bounds("credit_amount", low=-0.5, high=0, relative=True),
    MaxChanges(3),
]
explainer = CounterfactualExplainer(black_box, X_train, constraints=rules)
declined = X_test[black_box.predict(X_test) == "bad"]
found = explainer.explain(declined, target="good")
print(f"{len(declined)} declined: {found.counts()}")
for row, sentence in zip(declined.index[:4], found.sentences()[:4], strict=True):
    print(f"application {row}: {sentence}")

# %%
# **Fairness by sex and by age.** The table has sex only inside ``personal_status``: A92 is a woman.
groups = {
    "sex": X_test["personal_status"].eq("A92").map({True: "woman", False: "man"}),
    "age": pd.cut(X_test["age"], [0, 25, 120], labels=["25 or younger", "older"]).astype(str),
}
for name, group in groups.items():
    for model, answers in (("black box", black_box.predict(X_test)), ("tree", classifier.predict(X_test))):
        shares = group_metrics(y_test, answers, group, favourable="good")["selection_rate"]
        apart = gaps(y_test, answers, group, favourable="good")
        print(f"{model}, good by {name}: {shares.round(3).to_dict()}, smallest over largest {apart.disparate_impact:.3f}")

# %%
# Which group needs larger changes? The rules are the same for everybody.
recourse = recourse_by_group(explainer, X_test, groups["age"], favourable="good")
RecourseDisplay.from_recourse(recourse)
plt.show()

# %%
# **The report** for the risk officer: one file, with the trees for several ``Q``, every threshold, and the training rows
# with their counterfactuals.
path = Path(mkdtemp()) / "credit.html"
fcca.report.write(classifier, path, X_test=X_test, y_test=y_test, title="German credit", Q=[0, 0.5], time_limit=2)
print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
