"""Splits by category: labels and scores as the libraries' own, for every category, missing values and values on cuts."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import OpenColumn, as_classifier, check_supported, decide_at, labelled, load_model
from fcca.models._labels import OTHER, aligned
from models.category_tables import (
    MixedFamily,
    as_numbers,
    check_mixed,
    differences,
    mixed_table,
    rows_of_every_kind,
)
from models.families import hist_boosting, pick, seed_of
from models.fidelity import CI_ROWS, VERIFY_ROWS, VERIFY_SEEDS
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
CATEGORIES = ["text", "whole", "many"]


def xgboost_parameters(rng):
    return {
        "max_depth": pick(rng, 1, 3, 6),
        "learning_rate": pick(rng, 0.1, 0.3, 1.0),
        "tree_method": pick(rng, "hist", "approx"),
        "max_cat_to_onehot": pick(rng, 1, 5, 100),
        "max_cat_threshold": pick(rng, 3, 64),
        "gamma": pick(rng, 0.0, 1.0),
    }


def build_xgboost(rng, X, y):
    kind = imported("xgboost").XGBClassifier
    types = None if isinstance(X, pd.DataFrame) else ["q", "c", "q", "c", "q", "c"]
    return kind(
        n_estimators=int(rng.integers(1, 30)),
        enable_categorical=True,
        feature_types=types,
        n_jobs=1,
        random_state=seed_of(rng),
        **xgboost_parameters(rng),
    ).fit(X, y)


def build_xgboost_native(rng, X, y):
    xgboost = imported("xgboost")
    n_classes = int(y.max()) + 1
    objective = (
        {"objective": "multi:softprob", "num_class": n_classes} if n_classes > 2 else {"objective": "binary:logistic"}
    )
    types = None if isinstance(X, pd.DataFrame) else ["q", "c", "q", "c", "q", "c"]
    rows = xgboost.DMatrix(X, label=y, enable_categorical=True, feature_types=types)
    return as_classifier(xgboost.train(xgboost_parameters(rng) | objective | {"nthread": 1}, rows, int(rng.integers(1, 30))))


def lightgbm_parameters(rng):
    return {
        "max_depth": int(rng.integers(1, 8)),
        "learning_rate": pick(rng, 0.1, 0.3),
        "min_child_samples": pick(rng, 1, 20),
        "min_data_per_group": pick(rng, 1, 20),
        "cat_smooth": pick(rng, 0.1, 10.0),
        "max_cat_to_onehot": pick(rng, 1, 4, 50),
        "max_cat_threshold": pick(rng, 2, 32),
        "use_missing": pick(rng, True, True, False),
        "verbose": -1,
    }


def build_lightgbm(rng, X, y):
    model = imported("lightgbm").LGBMClassifier(
        n_estimators=int(rng.integers(1, 30)), n_jobs=1, random_state=seed_of(rng), **lightgbm_parameters(rng)
    )
    return model.fit(X, y, categorical_feature="auto" if isinstance(X, pd.DataFrame) else [1, 3, 5])


def build_lightgbm_native(rng, X, y):
    lightgbm = imported("lightgbm")
    n_classes = int(y.max()) + 1
    objective = {"objective": "multiclass", "num_class": n_classes} if n_classes > 2 else {"objective": "binary"}
    rows = lightgbm.Dataset(X, label=y, categorical_feature="auto" if isinstance(X, pd.DataFrame) else [1, 3, 5])
    chosen = lightgbm_parameters(rng) | objective | {"num_threads": 1}
    return as_classifier(lightgbm.train(chosen, rows, num_boost_round=int(rng.integers(1, 30))))


def catboost_parameters(rng, X, y):
    return QUIET | {
        "loss_function": "Logloss" if y.max() == 1 else pick(rng, "MultiClass", "MultiClassOneVsAll"),
        "iterations": int(rng.integers(1, 30)),
        "depth": int(rng.integers(1, 7)),
        "learning_rate": pick(rng, 0.1, 0.5),
        "grow_policy": pick(rng, "SymmetricTree", "Depthwise", "Lossguide"),
        "nan_mode": pick(rng, "Min", "Max"),
        "one_hot_max_size": 255,
        "random_seed": seed_of(rng) % 2**30,
        "cat_features": CATEGORIES if isinstance(X, pd.DataFrame) else [1, 3, 5],
    }


def build_catboost(rng, X, y):
    model = imported("catboost").CatBoostClassifier(**catboost_parameters(rng, X, y)).fit(X, y)
    if y.max() == 1 and rng.random() < 0.3:
        model.set_probability_threshold(float(rng.uniform(0.2, 0.8)))
    return model


def build_catboost_native(rng, X, y):
    return as_classifier(imported("catboost").CatBoost(catboost_parameters(rng, X, y)).fit(X, y))


def build_hist_boosting(rng, X, y):
    chosen = "from_dtype"
    if not isinstance(X, pd.DataFrame):
        chosen = pick(rng, [1, 3, 5], [False, True, False, True, False, True])
    elif X["text"].dtype == object:
        chosen = CATEGORIES
    return hist_boosting(rng).set_params(categorical_features=chosen, max_bins=pick(rng, 45, 255)).fit(X, y)


def as_objects(rng, frame):
    """Labels as plain objects, whole numbers as numbers."""
    return frame.astype({"text": object, "many": object, "whole": np.int64})


def as_object_array(rng, frame):
    """Numbers and labels in one array."""
    return as_objects(rng, frame).to_numpy(dtype=object)


def with_none(rng, frame):
    """Missing labels as None."""
    objects = as_objects(rng, frame)
    for name in ("text", "many"):
        objects[name] = objects[name].where(objects[name].notna(), None)
    return objects


def from_codes(rng, frame):
    """XGBoost's codes without labels: 0, 1, …"""
    numbers = as_numbers(rng, frame)
    numbers[:, [1, 3, 5]] = (numbers[:, [1, 3, 5]] - 1) / 2
    return numbers


def xgboost_margins(classifier, X):
    return classifier.predict(X, output_margin=True)


def xgboost_native_margins(classifier, X):
    return classifier._outputs(X, margin=True)


def lightgbm_scores(classifier, X):
    return classifier.predict(X, raw_score=True)


def lightgbm_native_scores(classifier, X):
    return classifier.booster.predict(X, raw_score=True)


def catboost_values(classifier, X):
    return getattr(classifier, "booster", classifier).predict(X, prediction_type="RawFormulaVal")


def hist_boosting_values(classifier, X):
    return classifier.decision_function(X)


def decided(rng, X, y):
    classifier = build_lightgbm(rng, X, y)
    probability = float(pick(rng, *classifier.predict_proba(X[:20])[:, 1]))
    return decide_at(classifier, probability)


FAMILIES = [
    MixedFamily("XGBClassifier", build_xgboost, xgboost_margins),
    MixedFamily("XGBClassifierOfCodes", build_xgboost, xgboost_margins, from_codes),
    MixedFamily("XGBoostBooster", build_xgboost_native, xgboost_native_margins),
    MixedFamily("XGBoostBoosterOfCodes", build_xgboost_native, xgboost_native_margins, from_codes),
    MixedFamily("LGBMClassifier", build_lightgbm, lightgbm_scores),
    MixedFamily("LGBMClassifierOfNumbers", build_lightgbm, lightgbm_scores, as_numbers),
    MixedFamily("LightGBMBooster", build_lightgbm_native, lightgbm_native_scores),
    MixedFamily("LightGBMBoosterOfNumbers", build_lightgbm_native, lightgbm_native_scores, as_numbers),
    MixedFamily("CatBoostClassifier", build_catboost, catboost_values, missing_labels=False),
    MixedFamily("CatBoostClassifierOfObjects", build_catboost, catboost_values, as_object_array, missing_labels=False),
    MixedFamily("CatBoost", build_catboost_native, catboost_values, as_objects, missing_labels=False),
    MixedFamily("HistGradientBoosting", build_hist_boosting, hist_boosting_values),
    MixedFamily("HistGradientBoostingOfNumbers", build_hist_boosting, hist_boosting_values, as_numbers),
    MixedFamily("HistGradientBoostingOfObjects", build_hist_boosting, hist_boosting_values, as_objects),
    MixedFamily("HistGradientBoostingOfNone", build_hist_boosting, hist_boosting_values, with_none),
    MixedFamily("DecidedAt", decided, classes=(2,)),
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_labels_and_scores_agree(family, seed):
    check_mixed(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_and_scores_of_many_models_agree(family):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in VERIFY_SEEDS:
            check_mixed(family, seed, VERIFY_ROWS)


@pytest.fixture
def table():
    return mixed_table(0)


def saved(model, path):
    native = getattr(model, "booster_", model)
    native.save_model(str(path), **({"format": "json"} if path.name == "catboost.json" else {}))
    return load_model(path)


@pytest.mark.parametrize(
    ("build", "form", "name"),
    [
        (build_xgboost, None, "model.json"),
        (build_xgboost, None, "model.ubj"),
        (build_xgboost, from_codes, "model.json"),
        (build_lightgbm, None, "model.txt"),
        (build_lightgbm, as_numbers, "model.txt"),
        (build_catboost, None, "model.cbm"),
        (build_catboost, None, "catboost.json"),
        (build_catboost, as_object_array, "catboost.json"),
    ],
)
def test_files_keep_the_categories(build, form, name, table, tmp_path):
    X, y = table
    rng = np.random.default_rng(0)
    X = X if form is None else form(rng, X)
    classifier = build(rng, X, y)
    loaded = saved(classifier, tmp_path / name)
    model = labelled(read_model(loaded), X)
    rows = rows_of_every_kind(model, model.columns.encode(X), rng, 1_000)
    assert model.categories
    assert differences(loaded, model, rows) == 0
    assert differences(classifier, model, rows) == 0


@pytest.mark.parametrize("build", [build_xgboost, build_lightgbm, build_catboost, build_hist_boosting])
def test_skops_files_keep_the_categories(build, table, tmp_path):
    X, y = table
    rng = np.random.default_rng(0)
    imported("skops.io").dump(build(rng, X, y), tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    model = labelled(read_model(loaded), X)
    assert differences(loaded, model, rows_of_every_kind(model, model.columns.encode(X), rng, 1_000)) == 0


def test_functions_that_a_file_calls_must_be_known(table, tmp_path):
    X, y = table
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features="from_dtype").fit(X, y)
    model._preprocessor.named_transformers_["numerical"].func.keywords["estimator"] = print
    imported("skops.io").dump(model, tmp_path / "model.skops")
    with pytest.raises(InvalidInputError, match="print"):
        load_model(tmp_path / "model.skops")


def test_a_model_that_has_kept_all_labels_needs_no_table(table):
    X, y = table
    rng = np.random.default_rng(0)
    for build in (build_xgboost, build_lightgbm, build_hist_boosting):
        model = read_model(build(rng, X, y))
        assert labelled(model, X) is model
        assert set(model.columns[1].categories) == set(X["text"].cat.categories)


def test_labels_that_were_not_kept_come_from_the_table(table):
    X, y = table
    rng = np.random.default_rng(0)
    for classifier, given in (
        (build_catboost(rng, X, y), X),
        (build_lightgbm(rng, as_numbers(rng, X), y), as_numbers(rng, X)),
        (build_xgboost(rng, from_codes(rng, X), y), from_codes(rng, X)),
    ):
        read = read_model(classifier)
        assert isinstance(read.columns[1], OpenColumn)
        assert read.columns[1].categories[-1] is OTHER
        model = labelled(read, given)
        assert len(model.columns[1].categories) == 7
        assert not any(isinstance(column, OpenColumn) for column in model.columns)
        if given is not X:
            listed = labelled(read, given.tolist())
            assert listed.columns[1].categories == model.columns[1].categories


def test_unknown_labels_are_predicted_as_by_the_library(table):
    X, y = table
    rng = np.random.default_rng(0)
    numbers = as_numbers(rng, X)
    more = numbers.copy()
    more[:30, 1] = 99
    objects = as_objects(rng, X)
    others = objects.copy()
    others.loc[:30, "text"] = "never seen"
    for classifier, given in (
        (build_lightgbm(rng, numbers, y), more),
        (build_xgboost(rng, numbers, y), more),
        (build_catboost(rng, objects, y), others),
    ):
        model = labelled(read_model(classifier), given)
        assert len(model.columns[1].categories) == 8
        assert differences(classifier, model, model.columns.encode(given)) == 0


def test_tables_of_polars_tell_their_labels_too(table):
    polars = imported("polars")
    X, y = table
    texts, numbers = X["text"].astype(object), X["steady"].to_numpy()
    frame = polars.DataFrame({"text": texts.tolist(), "steady": numbers})
    by_order = frame.with_columns(polars.col("text").cast(polars.Enum(list(X["text"].cat.categories))))
    classifier = imported("catboost").CatBoostClassifier(iterations=5, cat_features=["text"], one_hot_max_size=9, **QUIET)
    read = read_model(classifier.fit(pd.DataFrame({"text": texts, "steady": numbers}), y))
    for given, labels in ((frame, sorted(set(texts))), (by_order, X["text"].cat.categories)):
        model = labelled(read, given)
        assert model.columns[0].categories == tuple(labels)
        assert differences(classifier, model, model.columns.encode(given)) == 0


def test_whole_numbers_stand_for_categories_in_frames_and_arrays_alike(table):
    X, y = table
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"whole": X["whole"].astype(np.int64), "large": rng.integers(0, 99, len(X))})
    lightgbm, xgboost, catboost = imported("lightgbm"), imported("xgboost"), imported("catboost")
    for given in (numbers, numbers.to_numpy()):
        first = "whole" if given is numbers else 0
        for classifier in (
            lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, min_data_per_group=1).fit(
                given, y, categorical_feature=[first]
            ),
            xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, feature_types=["c", "q"]).fit(given, y),
            catboost.CatBoostClassifier(iterations=5, cat_features=[first], one_hot_max_size=9, **QUIET).fit(given, y),
            HistGradientBoostingClassifier(max_iter=5, categorical_features=[first]).fit(given, y),
        ):
            model = labelled(read_model(classifier), given)
            assert model.categories
            assert differences(classifier, model, model.columns.encode(given)) == 0


def test_xgboost_labels_beyond_ascii_are_recognised_in_the_table(table):
    X, y = table
    words = ["Grün", "Rot", "Été", "naïve", "日本", "z"]
    X = X.assign(text=pd.Categorical.from_codes(X["text"].cat.codes % 6, categories=words))
    classifier = build_xgboost(np.random.default_rng(0), X, y)
    model = labelled(read_model(classifier), X)
    assert model.columns[1].categories == tuple(words)
    assert differences(classifier, model, model.columns.encode(X)) == 0
    other_order = X.assign(text=X["text"].cat.reorder_categories(words[::-1]))
    for other in (other_order, X.astype({"text": object})):
        with pytest.raises(InvalidInputError, match="same order"):
            labelled(read_model(classifier), other)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_xgboost_gets_back_the_type_of_whole_numbers_it_was_trained_on(dtype, table):
    X, y = table
    X = X.assign(whole=pd.Categorical(X["whole"].astype(dtype)))
    classifier = build_xgboost(np.random.default_rng(0), X, y)
    model = read_model(classifier)
    assert differences(classifier, model, model.columns.encode(X)) == 0


def test_numbers_that_stand_for_categories_are_not_texts(table):
    X, y = table
    rng = np.random.default_rng(0)
    classifier = build_lightgbm(rng, as_numbers(rng, X), y)
    with pytest.raises(InvalidInputError, match="whole numbers"):
        labelled(read_model(classifier), as_objects(rng, X))


def test_unsupported_models_are_refused(table):
    X, y = table
    catboost, lightgbm = imported("catboost"), imported("lightgbm")
    by_statistics = catboost.CatBoostClassifier(iterations=5, cat_features=CATEGORIES, one_hot_max_size=2, **QUIET)
    check_supported(by_statistics)
    with pytest.raises(UnsupportedModelError, match="one_hot_max_size=255"):
        read_model(by_statistics.fit(X, y))
    ordered = X.assign(text=X["text"].cat.as_ordered())
    with pytest.raises(UnsupportedModelError, match="as_unordered"):
        read_model(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(ordered, y))
    both = as_objects(None, X)
    both.loc[:20, "text"] = None
    both.loc[21:40, "text"] = np.nan
    by_name = HistGradientBoostingClassifier(max_iter=2, categorical_features=["text"])
    with pytest.raises(UnsupportedModelError, match="None and NaN"):
        read_model(by_name.fit(both.drop(columns=["many"]), y))
    numbers = X[["steady"]].assign(text=X["whole"].astype(object))
    with pytest.raises(UnsupportedModelError, match="numeric dtype"):
        read_model(by_name.fit(numbers, y))


def test_categories_that_catboost_does_not_take_are_refused(table):
    X, y = table
    classifier = build_catboost(np.random.default_rng(0), X, y)
    with pytest.raises(InvalidInputError, match="CatBoost"):
        labelled(read_model(classifier), X.assign(whole=X["whole"].astype(np.float64) + 0.5))


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_voters_with_encoders_of_their_own_get_the_same_codes(voting, table):
    X, y = table
    X = X[["steady", "text", "many"]]
    backwards = [X[name].cat.categories.tolist()[::-1] for name in ("text", "many")]
    voters = [
        make_pipeline(
            make_column_transformer((encoder, ["text", "many"]), remainder="passthrough"),
            DecisionTreeClassifier(max_depth=depth, random_state=0),
        )
        for encoder, depth in ((OneHotEncoder(), 6), (OrdinalEncoder(categories=backwards), 4), (OrdinalEncoder(), 5))
    ]
    classifier = VotingClassifier([(f"v{i}", voter) for i, voter in enumerate(voters)], voting=voting).fit(X, y)
    model = read_model(classifier)
    assert model.columns.names == ("steady", "text", "many")
    rows = rows_of_every_kind(model, model.columns.encode(X), np.random.default_rng(0), 2_000)
    assert differences(classifier, model, rows) == 0


def test_models_of_one_table_get_the_same_codes(table):
    X, y = table
    rng = np.random.default_rng(0)
    one = read_model(build_hist_boosting(rng, X, y))
    other = read_model(build_lightgbm(rng, X, y))
    assert one.columns[1].categories != other.columns[1].categories
    (_, renumbered), columns = aligned([one, other])
    assert columns[1].categories == one.columns[1].categories == renumbered.columns[1].categories
    np.testing.assert_array_equal(renumbered.scores(columns.encode(X)), other.scores(other.columns.encode(X)))
    fewer = X.assign(text=X["text"].where(X["text"] != "red", "blue"))
    with pytest.raises(UnsupportedModelError, match="different categories"):
        aligned([one, read_model(build_hist_boosting(rng, fewer, y))])
    plain = replace(one, columns=None, categories={})
    assert aligned([plain, plain])[1] is None
