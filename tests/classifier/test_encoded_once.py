"""FCCAClassifier.fit encodes each training row once, and has the black box predict it once."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier
from fcca.classifier import _classifier
from fcca.discretizers import _base, _validation
from fcca.selection import OptimalSelection
from fcca.tables import Columns


def _numbers(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))  # no two rows are equal
    return X, np.where(X["a"] + 0.5 * X["b"] > 0, "yes", "no")


def _mixed(n=120):
    X, y = _numbers(n)
    rng = np.random.default_rng(1)
    X["b"] = X["b"].where(rng.random(n) > 0.1)
    X["kind"] = rng.choice(["boat", "car", "tv"], n)
    X["size"] = pd.Categorical(rng.choice(["small", "large"], n), ["small", "medium", "large"])
    return X, np.where((X["kind"] == "car") | (y == "yes"), "yes", "no")


def _keys(X):
    return [tuple(None if pd.isna(value) else value for value in row) for row in pd.DataFrame(X).to_numpy(dtype=object)]


@pytest.fixture
def counts(monkeypatch):
    """How often each row was encoded outside of the black box, and predicted by it."""
    found = {"encoded": Counter(), "predicted": Counter()}
    inside = []  # calls of the black box, whose steps may encode for themselves

    def count_encoded(X):
        found["encoded"].update([] if inside else _keys(X))

    encode = Columns.encode

    def encoding(self, X, *args, **given):
        count_encoded(X)
        return encode(self, X, *args, **given)

    monkeypatch.setattr(Columns, "encode", encoding)
    for module in (_base, _validation, _classifier):
        validate = module.validate_data

        def validating(estimator, X, *args, validate=validate, **given):
            if not given.get("skip_check_array"):
                count_encoded(X)
            return validate(estimator, X, *args, **given)

        monkeypatch.setattr(module, "validate_data", validating)
    for method in ("fit", "predict", "predict_proba"):
        own = vars(Pipeline)[method]

        def called(self, X, *args, own=own, method=method, **given):
            if method == "predict" and not inside:
                found["predicted"].update(_keys(X))
            inside.append(method)
            try:
                return own.__get__(self, Pipeline)(X, *args, **given)
            finally:
                inside.pop()

        monkeypatch.setattr(Pipeline, method, called)
    return found


# The default reference of GTREDiscretizer is no Pipeline for tables of numbers; predictions are counted by Pipeline.predict.
PIPELINE = make_pipeline("passthrough", GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0))
CASES = {
    "numbers": {},
    "target": {"fit_to": "target"},
    "selection against the target": {"discretizer": FCCADiscretizer(selection=OptimalSelection(3, fit_to="target"))},
    "n_thresholds": {"n_thresholds": 3, "fit_to": "target"},
    "boosting": {"discretizer": GTREDiscretizer(PIPELINE)},
    "boosting, selection against the target": {
        "discretizer": GTREDiscretizer(PIPELINE, selection=OptimalSelection(3, fit_to="target"))
    },
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("table", [_numbers, _mixed], ids=["numbers", "categories"])
@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_each_row_is_encoded_and_predicted_once(counts, table, parameters, weighted):
    X, y = table()
    weight = np.random.default_rng(2).integers(0, 3, len(y)) if weighted else None
    FCCAClassifier(**parameters).fit(X, y, sample_weight=weight)
    kept = X if weight is None else X[weight > 0]
    for name in ("encoded", "predicted"):
        assert [counts[name][row] for row in _keys(kept)] == [1] * len(kept), name


def test_a_frozen_black_box_with_other_codes_encodes_once(counts):
    X, y = _mixed()
    X["size"] = X["size"].cat.set_categories(["large", "medium", "small"])
    model = FCCADiscretizer().fit(X.assign(size=X["size"].cat.set_categories(["small", "large"])), y).estimator_
    counts["encoded"].clear()
    whole = FCCAClassifier(FCCADiscretizer(FrozenEstimator(model))).fit(X, y)
    assert [counts["encoded"][row] for row in _keys(X)] == [1] * len(X)
    assert (whole.discretizer_.transform(X) == whole.discretizer_.binary_rows(X, y).B).all()


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_the_reference_on_distinct_rows_leaves_the_tree_all_rows(weighted):
    X, y = _numbers()
    X, y = pd.concat([X, X[:50]]), np.concatenate([y, y[:50]])
    weight = np.random.default_rng(2).integers(0, 3, len(y)) if weighted else None
    found = FCCAClassifier(GTREDiscretizer()).fit(X, y, sample_weight=weight)
    assert found.structure_.n_rows[0] == (len(y) if weight is None else (weight > 0).sum())
    assert found.fidelity_ == found.fidelity(X, weight)
    assert len(found.training_data().y) == found.structure_.n_rows[0]


class _Coarse(FCCADiscretizer):
    """A discretizer whose fit does more than that of FCCADiscretizer."""

    def fit(self, X, y):
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        return super().fit(X, y).set_granularity(0.9)


class _Unrelated(FCCADiscretizer):
    """A discretizer whose fit shares nothing with that of FCCADiscretizer."""

    def fit(self, X, y):
        self.__dict__ |= vars(FCCADiscretizer(Q=0.9).fit(X, y)) | self.get_params(deep=False)
        return self


@pytest.mark.parametrize("discretizer", [_Coarse(), _Unrelated()], ids=["extended", "replaced"])
def test_the_fit_of_a_subclass_is_called(discretizer):
    X, y = _numbers()
    found = FCCAClassifier(discretizer).fit(X, y)
    expected = FCCAClassifier(FCCADiscretizer(Q=0.9)).fit(X, y)
    assert found.discretizer_.thresholds_ == expected.discretizer_.thresholds_
    assert len(found.discretizer_.thresholds_) < len(found.discretizer_.all_thresholds_)
    assert found.rules() == expected.rules()
    assert getattr(found.discretizer_, "n_fits_", 1) == 1
    assert not any("training_rows" in name for name in vars(found.discretizer_))


class _Halves(BaseEstimator):
    """A discretizer of which fit, transform and predict_target are all that there is."""

    def fit(self, X, y):
        self.inner_ = FCCADiscretizer(Q=0.5).fit(X, y)
        self.thresholds_ = self.inner_.thresholds_
        return self

    def transform(self, X):
        return self.inner_.transform(X)

    def predict_target(self, X):
        return self.inner_.predict_target(X)

    def set_output(self, *, transform=None):
        return self


def test_a_discretizer_of_three_methods_will_do():
    X, y = _numbers()
    tree = OptimalTreeClassifier(max_depth=2)
    found = FCCAClassifier(_Halves(), tree, fit_to="target").fit(X, y)
    expected = FCCAClassifier(FCCADiscretizer(Q=0.5), tree, fit_to="target").fit(X, y)
    assert found.rules() == expected.rules()
    assert found.fidelity_ == expected.fidelity_
    assert (found.n_features_in_, list(found.feature_names_in_)) == (4, list("abcd"))
