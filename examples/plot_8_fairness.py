"""
Is the model harder on some people than on others?
==================================================

The loans are made up, and the model has learned to grant fewer loans to women than to men. Who gets a loan? How much
would people who are refused have to change to get one? And how does the small tree look without the sensitive column?
"""

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer
from fcca.constraints import Cost, Immutable
from fcca.fairness import distill_without, group_metrics, recourse_by_group
from fcca.plots import GroupMetricsDisplay, RecourseDisplay

random = np.random.default_rng(0)
n = 600
woman = random.random(n) < 0.5
X = pd.DataFrame(
    {
        "sex": pd.Categorical(np.where(woman, "woman", "man")),
        "income": (random.normal(35, 8, n) - 2 * woman).round(1),
        "years": random.integers(0, 30, n),
    }
)
score = 0.08 * X["income"] + 0.05 * X["years"] - 0.6 * woman + random.normal(0, 0.4, n)
y = np.where(score > score.median(), "granted", "refused")
black_box = HistGradientBoostingClassifier(max_iter=40, max_depth=2, categorical_features="from_dtype", random_state=0)
black_box = black_box.fit(X, y)

# %%
# Predictions by group: the share of granted loans, and the true and false positive rates.
metrics = group_metrics(y, black_box.predict(X), X["sex"], favourable="granted")
GroupMetricsDisplay.from_metrics(metrics)
plt.show()

# %%
# The changes that each group would need, if nobody can change sex.
explainer = CounterfactualExplainer(black_box, X)
recourse = recourse_by_group(explainer, X, "sex", favourable="granted", constraints=[Immutable("sex")])
for sentence in recourse.sentences():
    print(textwrap.fill(sentence, 100, subsequent_indent="  "))
RecourseDisplay.from_recourse(recourse)
plt.show()

# %%
# The tree with and without conditions on sex. Here, a change of sex costs only a tenth of what it costs by default. So if
# the black box depends on sex, there is probably a condition on sex.
classifier = FCCAClassifier(FCCADiscretizer(black_box, constraints=[Cost("sex", 0.1)]))
found = distill_without(classifier, X, y, "sex", favourable="granted")
print(found.models[["accuracy", "fidelity", "leaves", "uses_sensitive"]])
GroupMetricsDisplay.from_distillation(found)
plt.show()

# %%
# None of these figures proves that a model is fair. They describe its predictions for the given rows only, and another
# column may act as a substitute for the column left out.
