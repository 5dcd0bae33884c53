"""Shared helpers of the tests of all boosting libraries."""

import numpy as np

from fcca.models import decide_at
from models.families import pick
from models.fidelity import Family


def decided_at_some_probability(build):
    """Classifiers of two classes with a decision threshold that some row meets exactly."""

    def decided(rng, X, y):
        classifier = build(rng, X, y)
        probability = float(pick(rng, *classifier.predict_proba(X[:20])[:, 1]))
        return decide_at(classifier, probability if 0 < probability < 1 else 0.4)

    return Family("DecidedAt", decided, classes=(2,))


def scores_with_missing_values(model, rows):
    """Scores where NaN goes where ``missing_left`` says."""
    scores = np.empty((len(rows), model.n_outputs))
    number = np.float32 if model.single_precision else np.float64
    for i, row in enumerate(rows):
        total = model.base.astype(number)
        for root in model.roots:
            node = root
            while model.feature[node] >= 0:
                x = row[model.feature[node]]
                goes_left = model.missing_left[node] if np.isnan(x) else x <= model.threshold[node]
                node = (model.left if goes_left else model.right)[node]
            total = total + model.value[node].astype(number)
        scores[i] = total
    return scores


def with_holes(X, seed, share=0.15):
    """X with missing values, the first column without."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    holes[:, 0] = False
    return np.where(holes, np.nan, X)
