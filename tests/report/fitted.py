"""Small classifiers to report on, and the page's own way to answer a row."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer
from mixed_tables import loans

HOSTILE = ("<script>alert(1)</script>", '"quotes" \' & </script><!--', "🦊 \u2028 \u202e", "n" * 300)


def stumps(n=20):
    return GradientBoostingClassifier(max_depth=1, n_estimators=n, random_state=0)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], np.where(y == 1, "benign", "malignant")


def hostile():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=200).round(2) for name in HOSTILE})
    X[HOSTILE[2]] = rng.choice(["</script><script>alert(2)</script>", "🐙", "c" * 300], 200)
    X.iloc[::9, 1] = np.nan
    score = X.iloc[:, 0] + X.iloc[:, 1].fillna(0.5) + 4 * (X.iloc[:, 2] == "🐙") + X.iloc[:, 3]
    return X, np.where(score > 1.5, "<img src=x onerror=alert(3)>", "</script>&amp;")


def weighted():
    X, y = breast_cancer()
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    return X, y, weight


def _rare_class():
    """Three classes; the black box never predicts one of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, 2, 0)
    y[:3] = 1
    return X, y


CASES = {
    "breast cancer": (breast_cancer, FCCAClassifier(FCCADiscretizer(stumps(), Q=0.7))),
    "array": (lambda: (breast_cancer()[0].to_numpy(), breast_cancer()[1]), FCCAClassifier(FCCADiscretizer(stumps()))),
    "three classes": (
        lambda: load_wine(return_X_y=True, as_frame=True),
        FCCAClassifier(FCCADiscretizer(RandomForestClassifier(8, max_depth=2, random_state=0), Q=0.33), fit_to="target"),
    ),
    "categories and missing values": (loans, FCCAClassifier(FCCADiscretizer(stumps(40), Q=0.5))),
    "weights": (weighted, FCCAClassifier(FCCADiscretizer(stumps(), Q=0.4))),
    "linear": (breast_cancer, FCCAClassifier(FCCADiscretizer(LogisticRegression(max_iter=5000), Q=0.8))),
    "rare class": (_rare_class, FCCAClassifier(FCCADiscretizer(stumps(30)), fit_to="target")),
    "hostile": (hostile, FCCAClassifier(FCCADiscretizer(stumps(40), Q=0.5))),
    "GTRE": (breast_cancer, FCCAClassifier(GTREDiscretizer(stumps(5), random_state=0))),
}


@cache
def fitted(name):
    """A fitted classifier, and what it was fitted on."""
    make, classifier = CASES[name]
    given = make()
    return classifier.fit(*given), given


def axis_of(data, key):
    """The slider of a key; None where there is none."""
    return next((axis for axis in data["axes"] if axis["key"] == key), None)


def levels_of(data, key="q"):
    """All levels of a slider."""
    return axis_of(data, key)["levels"]


def first_level(data):
    """The level that the page shows at first."""
    axis = data["axes"][data["axis"]]
    return axis["levels"][axis["start"]]


def answered(data, level, rows, at):
    """Return the class that the page computes for a row with the tree of a level."""
    tree, node = level["tree"], 0
    while tree["condition"][node] >= 0:
        asked = data["conditions"][tree["condition"][node]]
        value = rows["values"][rows["columns"].index(asked["column"])][at]
        if asked["kind"] == "missing":
            true = value is None
        elif asked["kind"] == "set":
            true = value in asked["codes"]
        else:
            true = value is not None and value > asked["threshold"]
        node = tree["right" if true else "left"][node]
    return int(np.argmax(tree["weight"][node]))
