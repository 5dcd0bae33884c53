"""
What can this person do to get a different decision?
====================================================

The cheapest change is of no use if nobody can make it. Rules state which changes are allowed. The result is then proven
to be the cheapest change that obeys the rules.
"""

# %%
# Made-up applicants for a loan, and a random forest that decides.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from fcca import CounterfactualExplainer
from fcca.constraints import Bounds, Cost, Decreasing, Grid, Immutable, Implies, Increasing, MaxChanges
from fcca.plots import CounterfactualMovesDisplay

random = np.random.default_rng(1)
n = 500
X = pd.DataFrame(
    {
        "age": random.integers(18, 70, n),
        "education": random.integers(8, 20, n),
        "income": random.normal(35, 10, n).round(1),
        "debt": random.gamma(2, 5, n).round(1),
        "months": random.choice([12, 24, 36, 48, 60], n),
    }
)
score = 0.05 * X["age"] + 0.2 * X["education"] + 0.1 * X["income"] - 0.15 * X["debt"] - 0.03 * X["months"]
y = np.where(score + random.normal(0, 0.5, n) > score.median(), "granted", "refused")
forest = RandomForestClassifier(50, max_depth=4, random_state=0).fit(X, y)
refused = X[forest.predict(X) == "refused"]

# %%
# Without rules, any change within the range of the data is allowed.
person = refused.iloc[[0]]
print(person.to_string())
free = CounterfactualExplainer(forest, X).explain(person, target="granted")
print(free.sentences()[0])

# %%
# With rules: the age does not change. The education may only rise, and a change of it costs twice as much as without the
# rule. The income may fall by at most 10 % or rise by at most 20 %. The debt may only fall, and the duration of the
# loan is in whole years. If the education rises, the income must rise, too. At most three columns may change.
rules = [
    Immutable("age"),
    Increasing("education"),
    Cost("education", 2),
    Bounds("income", low=-0.1, high=0.2, relative=True),
    Decreasing("debt"),
    Grid("months", step=12),
    Implies("education rises", "income rises"),
    MaxChanges(3),
]
explainer = CounterfactualExplainer(forest, X, constraints=rules)
found = explainer.explain(person, target="granted", n=3)
for sentence, cost, status in zip(found.sentences(), found.cost, found.status, strict=True):
    print(f"{sentence}\n    {status}" + (f", cost {cost:.3f}" if status == "optimal" else ""))

# %%
# The same changes as a picture, with one arrow per column, drawn in the range of the column.
CounterfactualMovesDisplay.from_explanations(found)
plt.show()

# %%
# For how many of the refused people is there an allowed change that leads to a loan? The status "infeasible" means that
# no such change exists, which is proven.
everybody = explainer.explain(refused, target="granted")
print(everybody.counts())
