"""
Is the model harder on some people than on others?
==================================================

Made-up loans, decided by a model that has learned to give women less. Who gets a loan, who has to go how far for
one, and what becomes of the small tree without the column?
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
# Who is answered how: the share granted, and the shares of right and wrong grants.
metrics = group_metrics(y, black_box.predict(X), X["sex"], favourable="granted")
GroupMetricsDisplay.from_metrics(metrics)
plt.show()

# %%
# Who has to go how far, if nobody can change sex.
explainer = CounterfactualExplainer(black_box, X)
recourse = recourse_by_group(explainer, X, "sex", favourable="granted", constraints=[Immutable("sex")])
for sentence in recourse.sentences():
    print(textwrap.fill(sentence, 100, subsequent_indent="  "))
RecourseDisplay.from_recourse(recourse)
plt.show()

# %%
# The tree with and without the column. Where a change of sex counts for a tenth, sex shows up among the thresholds
# if the black box depends on it.
classifier = FCCAClassifier(FCCADiscretizer(black_box, constraints=[Cost("sex", 0.1)]))
found = distill_without(classifier, X, y, "sex", favourable="granted")
print(found.models[["accuracy", "fidelity", "leaves", "uses_sensitive"]])
GroupMetricsDisplay.from_distillation(found)
plt.show()

# %%
# None of these figures proves that a model is fair. They count what it does to the rows it was given, and another
# column may stand in for the one left out.
