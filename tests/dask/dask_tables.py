"""Tables, black boxes, and the comparison with one process."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from fcca import FCCAClassifier, FCCADiscretizer
from fcca.export import as_distilled, to_json
from mixed_tables import loans


def numbers(n=600, seed=0):
    """A frame of six columns of numbers, labels in ``label`` and whole weights, some 0, in ``weight``."""
    X, y = make_classification(n, 6, n_informative=4, n_redundant=0, random_state=seed)
    frame = pd.DataFrame(np.round(X, 2), columns=[f"x{j}" for j in range(6)])
    weight = np.random.default_rng(seed).integers(0, 4, n)
    return frame.assign(label=y, weight=weight)


def mixed(n=400):
    """Numbers, texts, categories and missing values; the labels are texts."""
    X, y = loans(n)
    return X.assign(label=y)


def in_parts(frame, n):
    """In so many partitions, in the order of the rows."""
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=n, sort=False)


def boosting(frame):
    """Fitted on all columns but label and weight."""
    model = GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0)
    return model.fit(features(frame), frame["label"])


def features(frame):
    return frame.drop(columns=["label", "weight"], errors="ignore")


def in_memory(frame, model, *, weighted=False, tree=None, fit_to=None, n_thresholds=None, **parameters):
    """The classifier of one process."""
    classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(model), **parameters), tree, fit_to, n_thresholds)
    return clone(classifier).fit(features(frame), frame["label"], frame["weight"] if weighted else None)


def assert_same(found, expected, *, same_parameters=True):
    """Compare thresholds and tree byte for byte, and the provenance where the black box is the same object."""
    for name in ("all_thresholds_", "thresholds_"):
        one, other = getattr(found.discretizer_, name), getattr(expected.discretizer_, name)
        assert one.to_json() == other.to_json()
    trees = [as_distilled(one) for one in (found, expected)]
    assert len({to_json(tree if same_parameters else replace(tree, provenance=None)) for tree in trees}) == 1
    assert found.discretizer_.statuses_ == expected.discretizer_.statuses_
    assert found.discretizer_.category_distance_ == expected.discretizer_.category_distance_
    assert found.fidelity_ == expected.fidelity_
    assert found.n_features_in_ == expected.n_features_in_
