"""Promises that hold for all boosting libraries: missing values, the methods of a classifier, checks before fitting."""

import numpy as np
import pandas as pd
import pytest

from fcca import read_model
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import as_classifier, check_supported
from models.boosters import scores_with_missing_values, with_holes
from models.fidelity import random_table
from real_data import imported

NAMES = [f"x{j}" for j in range(6)]
QUIET_CATBOOST = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def xgboost_booster(X, y, names=None):
    xgboost = imported("xgboost")
    return xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, label=y, feature_names=names), 3)


def lightgbm_booster(X, y, names=None):
    lightgbm = imported("lightgbm")
    named = {} if names is None else {"feature_name": names}
    return lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, label=y, **named), 3)


def catboost_model(X, y, names=None):
    parameters = {"loss_function": "Logloss", "iterations": 3, **QUIET_CATBOOST}
    return imported("catboost").CatBoost(parameters).fit(X if names is None else pd.DataFrame(X, columns=names), y)


@pytest.mark.parametrize("train", [xgboost_booster, lightgbm_booster, catboost_model])
def test_a_booster_has_the_names_and_methods_of_a_classifier(train):
    X, y = random_table(0)
    classifier = as_classifier(train(X, y, NAMES))
    assert (classifier.n_features_in_, list(classifier.feature_names_in_), list(classifier.classes_)) == (6, NAMES, [0, 1])
    assert classifier.fit(X, y) is classifier is as_classifier(classifier)
    assert read_model(classifier).n_features == 6
    assert not hasattr(as_classifier(train(X, y)), "feature_names_in_")
    with pytest.raises(InvalidInputError, match="6 columns"):
        classifier.predict(X[:, :5])


def xgboost_scores(X, y, rows):
    classifier = imported("xgboost").XGBClassifier(n_estimators=10, max_depth=4, n_jobs=1).fit(X, y)
    return classifier, classifier.predict(rows, output_margin=True)


def lightgbm_scores(X, y, rows):
    classifier = imported("lightgbm").LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1).fit(X, y)
    return classifier, classifier.predict(rows, raw_score=True)


def catboost_scores(X, y, rows, nan_mode):
    parameters = {"iterations": 10, "depth": 3, "nan_mode": nan_mode, **QUIET_CATBOOST}
    classifier = imported("catboost").CatBoostClassifier(**parameters).fit(X, y)
    return classifier, classifier.predict(rows, prediction_type="RawFormulaVal")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("fit", "holes_in_fit", "parameters"),
    [
        (xgboost_scores, True, {}),
        (lightgbm_scores, True, {}),
        (lightgbm_scores, False, {}),
        (catboost_scores, True, {"nan_mode": "Min"}),
        (catboost_scores, True, {"nan_mode": "Max"}),
    ],
)
def test_missing_values_go_where_the_library_sends_them(fit, holes_in_fit, parameters):
    X, y = random_table(2)
    holes = with_holes(X, 0)
    classifier, expected = fit(holes if holes_in_fit else X, y, holes, **parameters)
    np.testing.assert_array_equal(scores_with_missing_values(read_model(classifier), holes)[:, 0], expected)


@pytest.mark.parametrize(
    ("name", "parameters", "word"),
    [
        ("xgboost.XGBClassifier", {"booster": "gblinear"}, "gbtree"),
        ("xgboost.XGBClassifier", {"objective": "binary:gamma"}, "binary:logistic"),
        ("xgboost.XGBClassifier", {"multi_strategy": "multi_output_tree"}, "one_output_per_tree"),
        ("xgboost.XGBClassifier", {"missing": -1.0}, "NaN"),
        ("lightgbm.LGBMClassifier", {"linear_tree": True}, "linear_tree=False"),
        ("lightgbm.LGBMClassifier", {"zero_as_missing": True}, "zero_as_missing=False"),
        ("lightgbm.LGBMClassifier", {"objective": lambda y, p: (p - y, p)}, "multiclassova"),
        ("lightgbm.LGBMClassifier", {"pred_early_stop": True}, "pred_early_stop"),
        ("catboost.CatBoostClassifier", {"loss_function": "Focal:focal_alpha=0.5;focal_gamma=2"}, "Logloss"),
        ("catboost.CatBoostClassifier", {"text_features": [0]}, "text"),
    ],
)
def test_unsupported_parameters_are_refused_before_fitting(name, parameters, word):
    library, _, kind = name.partition(".")
    with pytest.raises(UnsupportedModelError, match=word):
        check_supported(getattr(imported(library), kind)(**parameters))
