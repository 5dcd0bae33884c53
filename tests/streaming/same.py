"""Rows in chunks beside the same rows at once."""

import itertools
import warnings

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import ConstantFeatureWarning
from fcca.export import to_json
from fcca.streaming import distill


def cut_up(X, y, weight=None, ends=()):
    """The table in chunks that end at these rows; of equal ends one chunk is empty."""
    bounds = [0, *ends, len(y)]
    chunks = []
    for begin, end in itertools.pairwise(bounds):
        rows = np.arange(begin, end)
        chunk = (_safe_indexing(X, rows), _safe_indexing(y, rows))
        chunks.append(chunk if weight is None else (*chunk, np.asarray(weight)[rows]))
    return chunks


def ways_to_cut(X, y, weight=None, seed=0):
    """Chunks of many sizes: even ones, odd ones with empty ones and single rows among them, in another order, by label."""
    n = len(y)
    rng = np.random.default_rng(seed)
    odd = np.sort(np.append(rng.integers(0, n + 1, 5), [0, 1, 1, n // 2, n]))
    yield "thirds", cut_up(X, y, weight, [n // 3, 2 * n // 3])
    in_odd_chunks = cut_up(X, y, weight, odd)
    yield "odd chunks", in_odd_chunks
    yield "another order", [in_odd_chunks[at] for at in rng.permutation(len(in_odd_chunks))]
    by_label = np.argsort(np.asarray(y), kind="stable")
    labels = np.asarray(y)[by_label]
    ends = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    sorted_weight = None if weight is None else np.asarray(weight)[by_label]
    yield "one label a chunk", cut_up(_safe_indexing(X, by_label), _safe_indexing(y, by_label), sorted_weight, ends)


def single_rows(X, y, weight=None):
    """Every row for itself."""
    return cut_up(X, y, weight, range(1, len(y)))


def at_once(X, y, model, weight=None, tree=None, fit_to=None, n_thresholds=None, **parameters):
    """The classifier from all rows at once."""
    discretizer = FCCADiscretizer(FrozenEstimator(model), **parameters)
    tree = OptimalTreeClassifier(max_depth=2) if tree is None else tree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFeatureWarning)
        return FCCAClassifier(discretizer, tree, fit_to=fit_to, n_thresholds=n_thresholds).fit(X, y, sample_weight=weight)


def in_chunks(chunks, model, tree=None, fit_to=None, n_thresholds=None, verbose=0, **parameters):
    """The classifier from chunks."""
    discretizer = FCCADiscretizer(FrozenEstimator(model), **parameters)
    tree = OptimalTreeClassifier(max_depth=2) if tree is None else tree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFeatureWarning)
        return distill(chunks, discretizer, tree, fit_to=fit_to, n_thresholds=n_thresholds, verbose=verbose)


def assert_same(streamed, whole, X):
    """Every digit, and every type."""
    assert streamed.discretizer_.all_thresholds_ == whole.discretizer_.all_thresholds_
    assert streamed.discretizer_.thresholds_ == whole.discretizer_.thresholds_
    assert streamed.discretizer_.all_thresholds_.to_json() == whole.discretizer_.all_thresholds_.to_json()
    assert to_json(streamed) == to_json(whole)
    for name in ("fidelity_", "n_thresholds_", "n_features_in_"):
        assert getattr(streamed, name) == getattr(whole, name), name
    for name in ("objective_", "lower_bound_", "gap_", "is_optimal_", "n_leaves_", "depth_", "regularization_"):
        assert getattr(streamed.tree_, name) == getattr(whole.tree_, name), name
    assert list(streamed.discretizer_.statuses_.items()) == list(whole.discretizer_.statuses_.items())
    assert streamed.discretizer_.constant_features_ == whole.discretizer_.constant_features_
    assert streamed.discretizer_.category_distance_ == whole.discretizer_.category_distance_
    for one, other in ((streamed, whole), (streamed.discretizer_, whole.discretizer_)):
        assert one.classes_.tolist() == other.classes_.tolist()
        assert one.classes_.dtype == other.classes_.dtype
        assert list(getattr(one, "feature_names_in_", ())) == list(getattr(other, "feature_names_in_", ()))
    if hasattr(whole.discretizer_, "selection_"):
        one, other = streamed.discretizer_.selection_, whole.discretizer_.selection_
        assert (one.inconsistency, one.lower_bound, one.proof) == (other.inconsistency, other.lower_bound, other.proof)
    answers = streamed.predict(X)
    assert answers.dtype == whole.predict(X).dtype
    assert (answers == whole.predict(X)).all()
    assert (streamed.predict_proba(X) == whole.predict_proba(X)).all()


def numbers(n=150, n_features=5, seed=0, classes=2, decimals=1):
    """A table of rounded numbers with many ties, and labels that depend on some columns."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(0, 2, (n, n_features)), decimals) + 0.0
    score = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + rng.normal(0, 0.4, n)
    edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    return X, np.searchsorted(edges, score)


def frame(X):
    """The same with names."""
    return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
