"""Encoders, imputers and scalers before a classifier fold into a model of the raw columns, to the last bit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca.exceptions import UnsupportedModelError
from fcca.models import as_fitted_on, check_supported, weight_parameters
from models.families import pick, seed_of
from models.fidelity import CI_ROWS, VERIFY_ROWS, VERIFY_SEEDS
from models.people import NUMBERS, TEXTS, people_differences, people_table
from real_data import imported


def classifier(rng, *, missing=False):
    """One of any kind; ``missing``: one that takes missing values."""
    seed = seed_of(rng)
    takes = [
        RandomForestClassifier(9, max_depth=4, random_state=seed),
        DecisionTreeClassifier(max_depth=6, random_state=seed),
        ExtraTreesClassifier(8, max_depth=5, random_state=seed),
        HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, min_samples_leaf=4, random_state=seed),
    ]
    return pick(rng, *takes, *([] if missing else [GradientBoostingClassifier(n_estimators=12, random_state=seed)]))


def one_hot(rng):
    return OneHotEncoder(
        drop=pick(rng, None, "first", "if_binary"),
        sparse_output=bool(rng.integers(2)),
        handle_unknown=pick(rng, "error", "ignore", "infrequent_if_exist"),
        min_frequency=pick(rng, None, 20, 0.1),
        max_categories=pick(rng, None, 3),
        dtype=pick(rng, np.float64, np.float32),
    )


def ordinal(rng, *, missing=False):
    return OrdinalEncoder(
        encoded_missing_value=np.nan if missing else -7,
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        min_frequency=pick(rng, None, 15),
    )


def encoder(rng, *, missing=False):
    return pick(rng, one_hot(rng), ordinal(rng, missing=missing), TargetEncoder(cv=2, random_state=0), one_hot(rng))


def filled(rng, *, texts=False):
    strategy = pick(rng, "most_frequent", "constant") if texts else pick(rng, "mean", "median", "most_frequent", "constant")
    return SimpleImputer(
        strategy=strategy,
        fill_value=("gap" if texts else 0.37) if strategy == "constant" else None,
        add_indicator=bool(rng.integers(2)) and not texts,
        keep_empty_features=bool(rng.integers(2)),
    )


def scaler(rng):
    return pick(rng, StandardScaler(), MinMaxScaler((-2, 3)), RobustScaler(), MaxAbsScaler(), "passthrough")


def random_pipeline(rng, *, missing):
    numbers = pick(
        rng,
        make_pipeline(filled(rng), scaler(rng)),
        make_pipeline(filled(rng), scaler(rng)),
        *([scaler(rng), "passthrough"] if missing else []),
        make_union(filled(rng), MissingIndicator(features="all")),
    )
    texts = pick(rng, encoder(rng, missing=missing), make_pipeline(filled(rng, texts=True), one_hot(rng)))
    parts = [
        ("numbers", numbers, pick(rng, NUMBERS, [0, 2, 4], make_column_selector(pattern="age|income|debt"))),
        ("texts", texts, TEXTS),
        ("both", pick(rng, ordinal(rng), "drop"), pick(rng, ["job"], ["town", "job"])),
        (
            "grade",
            pick(rng, one_hot(rng), "passthrough", OrdinalEncoder(), make_pipeline(OrdinalEncoder(), one_hot(rng))),
            [5],
        ),
    ]
    table = ColumnTransformer([parts[i] for i in rng.permutation(4)], sparse_threshold=pick(rng, 0.3, 0.0))
    last = classifier(rng, missing=missing)
    dense = StandardScaler(with_mean=False)
    steps = [table, pick(rng, "passthrough", dense, make_pipeline(dense, None)), last]
    if isinstance(last, HistGradientBoostingClassifier):
        table.set_params(sparse_threshold=0.0)
    return make_pipeline(*steps)


def check_random_pipeline(seed, n_rows):
    rng = np.random.default_rng(seed)
    X, y = people_table(seed, none=seed % 3 == 0, n_classes=pick(rng, 2, 2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = random_pipeline(rng, missing=seed % 2 == 0).fit(X, y)
        assert people_differences(estimator, X, rng, n_rows) == 0


@pytest.mark.parametrize("seed", range(24))
def test_any_pipeline_answers_as_its_own_predict(seed):
    check_random_pipeline(seed, CI_ROWS)


@pytest.mark.verify
def test_very_many_pipelines_answer_as_their_own_predict():
    for seed in VERIFY_SEEDS:
        check_random_pipeline(seed, VERIFY_ROWS)


BOOSTING = GradientBoostingClassifier(n_estimators=10, random_state=0)
FOREST = RandomForestClassifier(7, max_depth=5, random_state=0)
HIST = HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=4, random_state=0)
TREE = DecisionTreeClassifier(max_depth=7, random_state=0)


def by_column(*, numbers="passthrough", texts=None, threshold=0.0, grade=False):
    texts = OneHotEncoder() if texts is None else texts
    chosen = [*TEXTS, *(["grade"] if grade else [])]
    return ColumnTransformer([("numbers", numbers, NUMBERS), ("texts", texts, chosen)], sparse_threshold=threshold)


def agrees(estimator, X, y, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = clone(estimator).fit(X, y)
        assert people_differences(estimator, X, np.random.default_rng(seed), 2_000) == 0
    return read_model(estimator)


WITHOUT_GAPS = [
    # Sparse tables are scaled by other roundings than dense ones.
    make_pipeline(by_column(threshold=1.0), StandardScaler(with_mean=False), BOOSTING),
    make_pipeline(by_column(threshold=1.0), MaxAbsScaler(), FOREST),
    make_pipeline(by_column(texts=make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False))), TREE),
    make_pipeline(by_column(numbers=StandardScaler()), MinMaxScaler(), RobustScaler(), FOREST),
    make_pipeline(
        by_column(texts=OneHotEncoder(sparse_output=False)).set_output(transform="pandas"), StandardScaler(), TREE
    ),
    make_pipeline(by_column(texts=TargetEncoder(random_state=0)), FOREST),
    make_pipeline(by_column(texts=OneHotEncoder(drop=["cook", "B"])), HIST),
    make_pipeline(
        by_column(texts=OneHotEncoder(categories=[["cook", "clerk", "judge", "nurse", "pilot"], list("CBA")])), TREE
    ),
    make_pipeline(by_column(texts=OrdinalEncoder()), HistGradientBoostingClassifier(categorical_features=[3, 4])),
    make_pipeline(FunctionTransformer(), make_pipeline(None, by_column()), FixedThresholdClassifier(FOREST, threshold=0.4)),
    make_pipeline(
        make_union(by_column(numbers="drop"), ColumnTransformer([("all", "passthrough", [0, 2])]), "drop"),
        BOOSTING,
    ),
    pytest.param(
        make_pipeline(
            make_column_transformer(
                (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)),
                (StandardScaler(), slice("income", "income")),
                remainder=MinMaxScaler(),
            ),
            FOREST,
        ),
        id="columns by selector and slice",  # a selector's own text has an address, which no two runs share
    ),
    make_pipeline(
        ColumnTransformer(
            [("a", OneHotEncoder(), [False, True, False, True, False, False, False]), ("b", "passthrough", [-2, 0])]
        ),
        BOOSTING,
    ),
]


@pytest.mark.parametrize("estimator", WITHOUT_GAPS, ids=str)
def test_pipelines_fold_to_the_last_bit(estimator):
    X, y = people_table(1, gaps=False)
    agrees(estimator, X, y)


def test_other_libraries_take_sparse_tables_in_their_own_ways():
    X, y = people_table(3)
    X["debt"] = np.where(X["debt"] > 2**20, X["debt"], 0.0)
    boosting = imported("lightgbm").LGBMClassifier(n_estimators=9, n_jobs=1, verbose=-1)
    model = agrees(make_pipeline(by_column(threshold=1.0), boosting), X, y)
    assert model.columns.may_miss[:5].all()
    boosting = imported("xgboost").XGBClassifier(n_estimators=4, n_jobs=1)
    agrees(make_pipeline(by_column(threshold=0.0), boosting), X, y)
    with pytest.raises(UnsupportedModelError, match="every 0 of a sparse table"):
        read_model(make_pipeline(by_column(threshold=1.0), boosting).fit(X, y))


def test_a_pipeline_fitted_on_an_array_of_objects_is_read():
    X, y = people_table(2, gaps=False)
    for encoder in (OneHotEncoder(), OrdinalEncoder()):
        # Numbers among objects are other categories to scikit-learn than numbers among numbers.
        table = ColumnTransformer([("n", StandardScaler(), [0, 2, 4]), ("t", encoder, [1, 3, 5])])
        estimator = make_pipeline(table, BOOSTING).fit(X.to_numpy(dtype=object), y)
        assert people_differences(estimator, X.to_numpy(dtype=object), np.random.default_rng(0), 2_000) == 0
        as_objects = make_pipeline(by_column(texts=encoder, grade=True), BOOSTING).fit(X.astype(object), y)
        assert people_differences(as_objects, X.astype(object), np.random.default_rng(0), 2_000) == 0


def test_a_pipeline_fitted_on_polars_is_read():
    polars = pytest.importorskip("polars")
    X, y = people_table(2, gaps=False)
    estimator = make_pipeline(by_column(), BOOSTING).fit(polars.from_pandas(X), y)
    assert people_differences(estimator, X, np.random.default_rng(0), 2_000) == 0


@pytest.mark.parametrize("seed", range(4))
def test_native_categories_behind_an_encoder_compose(seed):
    X, y = people_table(seed)
    codes = OrdinalEncoder(encoded_missing_value=np.nan)
    estimator = make_pipeline(
        by_column(texts=codes), HistGradientBoostingClassifier(categorical_features=[3, 4], max_iter=9)
    )
    model = agrees(estimator, X, y)
    assert {int(model.feature[node]) for node in model.categories} == {1, 3}
    as_frames = by_column(texts="passthrough").set_output(transform="pandas")
    typed = X.astype({"job": "category", "town": "category"})
    assert agrees(make_pipeline(as_frames, HIST), typed, y).columns[1].as_category


def test_linear_models_fold():
    X, y = people_table(4)
    X["debt"] -= 2**20
    X["income"] *= 1e6
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    for last in (LogisticRegression(), LinearSVC(), LogisticRegression(C=0.1)):
        model = agrees(make_pipeline(by_column(numbers=numbers), last), X, y)
        assert set(model.effects) == {1, 3}
        assert model.effects[1].shape == (5, 1)
        assert np.all(model.coef[:, [1, 3]] == 0)
    several = LogisticRegression(max_iter=1000)
    two = FeatureUnion([("a", by_column(numbers=numbers)), ("b", ColumnTransformer([("n", MinMaxScaler(), ["debt"])]))])
    assert agrees(make_pipeline(two, several), X, np.digitize(X["debt"], [-0.5, 0.5])).n_outputs == 3


@pytest.mark.slow
def test_pipelines_one_against_the_rest_are_joined():
    X, y = people_table(5, n_classes=3)
    X = X[[*NUMBERS, *TEXTS]].assign(debt=X["debt"] - 2**20, income=X["income"] * 1e6)
    numbers = SimpleImputer(add_indicator=True)
    scaled = make_pipeline(numbers, StandardScaler())
    for inner in (
        make_pipeline(by_column(numbers=numbers), BOOSTING),
        make_pipeline(by_column(numbers=numbers), StandardScaler(), FOREST),
        make_pipeline(by_column(numbers=scaled), LogisticRegression()),
    ):
        model = agrees(OneVsRestClassifier(inner), X, y)
        assert model.n_outputs == 3
        assert model.columns[3].categories == ("clerk", "cook", "judge", "nurse", "pilot")


def test_the_raw_columns_are_named_and_say_where_values_may_be_missing():
    X, y = people_table(5)
    encoder = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder())
    model = read_model(make_pipeline(by_column(numbers=SimpleImputer(), texts=encoder), BOOSTING).fit(X, y))
    assert model.columns.names == tuple(X.columns)
    assert model.columns.may_miss.tolist() == [True, True, True, True, True, False, False]
    assert [column.ignored for column in model.columns] == [False] * 5 + [True, True]
    assert model.columns[3].categories == ("?", "A", "B", "C")
    strict = read_model(make_pipeline(by_column(numbers=SimpleImputer(), texts=encoder), BOOSTING).fit(X, y))
    assert strict.columns == model.columns
    whole = X.fillna({"job": "cook", "town": "A", "age": 1, "income": 1})
    model = read_model(make_pipeline(by_column(), BOOSTING).fit(whole, y))
    assert not model.columns.may_miss.any()
    assert model.missing_left is None


def test_a_test_that_no_value_can_fail_is_left_out():
    X, y = people_table(6)
    numbers = SimpleImputer(add_indicator=True)
    estimator = make_pipeline(by_column(numbers=numbers), DecisionTreeClassifier(random_state=0)).fit(X, y)
    model = read_model(estimator)
    inner = model.feature >= 0
    flags = inner & ~np.isfinite(np.where(np.abs(model.threshold) < 1e300, model.threshold, np.inf))
    flags[list(model.categories)] = False
    # What asks only whether a value is missing sends all that are not to one side.
    assert set(model.feature[flags].tolist()) <= {0, 2}
    assert np.all(model.missing_left[flags] == (model.threshold[flags] < 0))
    for node, codes in model.categories.items():
        assert 0 < len(codes) < len(model.columns[model.feature[node]].categories) or model.missing_left[node] == (
            len(codes) == 0
        )


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PCA(), "PCA is not supported.*OneHotEncoder.*ColumnTransformer"),
        (PolynomialFeatures(), "PolynomialFeatures is not supported"),
        (FunctionTransformer(np.log1p), "'log1p', which cannot be inverted"),
        (make_column_transformer((PCA(), ["age"])), "PCA is not supported"),
        (make_column_transformer((OneHotEncoder(), ["job"]), remainder=PCA()), "PCA is not supported"),
        (make_pipeline(StandardScaler(), PCA()), "PCA is not supported"),
        (make_union(PCA()), "PCA is not supported"),
        (FeatureUnion([("a", StandardScaler())], transformer_weights={"a": 2.0}), "transformer_weights"),
        (ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2.0}), "transformer_weights"),
    ],
    ids=str,
)
def test_unsupported_steps_are_refused_before_fitting(step, message):
    with pytest.raises(UnsupportedModelError, match=message):
        check_supported(make_pipeline(step, TREE))


def test_unsupported_fitted_pipelines_are_refused():
    X, y = people_table(7, gaps=False)
    grades = X[["grade", "age"]]
    with pytest.raises(UnsupportedModelError, match="OneHotEncoder comes after a scaler"):
        read_model(make_pipeline(StandardScaler(), OneHotEncoder(), TREE).fit(grades, y))
    with pytest.raises(UnsupportedModelError, match="treats the number 1 of column 'grade' as a missing value"):
        read_model(make_pipeline(SimpleImputer(missing_values=1), TREE).fit(grades, y))
    scaled = make_pipeline(MinMaxScaler((0, 3)), HistGradientBoostingClassifier(categorical_features=[0])).fit(grades, y)
    with pytest.raises(UnsupportedModelError, match="scaled, but the classifier treats it as categories"):
        read_model(scaled)
    apart = make_pipeline(FrozenEstimator(StandardScaler().fit(grades)), TREE)
    apart.steps[-1] = ("tree", clone(TREE).fit(grades[["age"]], y))
    with pytest.raises(UnsupportedModelError, match=r"return 2 columns.*fitted on 1"):
        read_model(apart)
    with pytest.raises(NotFittedError):
        read_model(make_pipeline(by_column(), TREE))


def test_weights_reach_all_steps_that_take_them():
    X, y = people_table(8)
    weight = np.random.default_rng(0).random(len(y))
    filled_in = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    pipeline = make_pipeline(by_column(numbers=filled_in), StandardScaler(), FOREST)
    parameters = weight_parameters(pipeline, weight)
    assert set(parameters) == {"standardscaler__sample_weight", "randomforestclassifier__sample_weight"}
    assert people_differences(pipeline.fit(X, y, **parameters), X, np.random.default_rng(0), 1_000) == 0
    nested = make_pipeline(make_pipeline(MaxAbsScaler(), StandardScaler()), FOREST)
    assert set(weight_parameters(nested, weight)) == {
        "pipeline__standardscaler__sample_weight",
        "randomforestclassifier__sample_weight",
    }
    for step, message in (
        (by_column(numbers=StandardScaler()), "ColumnTransformer does not pass sample_weight to StandardScaler"),
        (by_column(texts=OneHotEncoder(min_frequency=3)), "min_frequency and max_categories count rows"),
        (by_column(texts=TargetEncoder()), "TargetEncoder does not support sample_weight"),
        (RobustScaler(), "RobustScaler does not support sample_weight"),
    ):
        with pytest.raises(UnsupportedModelError, match=message):
            weight_parameters(make_pipeline(step, FOREST), weight)


def test_rows_are_decoded_to_the_form_of_the_training_table():
    X, y = people_table(9)
    estimator = make_pipeline(by_column(numbers=SimpleImputer()), BOOSTING).fit(X, y)
    model = read_model(estimator)
    given = as_fitted_on(estimator, model.columns.encode(X), columns=model.columns)
    assert isinstance(given, pd.DataFrame)
    assert given.columns.tolist() == X.columns.tolist()
    pd.testing.assert_series_equal(given["job"], X["job"].astype(object))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(estimator.predict(given), estimator.predict(X))
