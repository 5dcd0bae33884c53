"""Classifiers from files: round trips, and files that cannot be loaded."""

import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fcca import read_model
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import load_model
from fcca.models.files._catboost_file import check_steps
from fcca.models.files._sklearn_objects import check_sklearn_objects
from fcca.tables import PowerOfTwoScaler
from models.fidelity import label_differences, random_table, rows_on_the_cuts
from real_data import imported

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
QUIET_CATBOOST = {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


@pytest.fixture
def table():
    return random_table(0, 3)


def xgboost_model(X, y):
    return imported("xgboost").XGBClassifier(n_estimators=5, n_jobs=1).fit(X, y)


def lightgbm_model(X, y):
    return imported("lightgbm").LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(X, y)


def catboost_model(X, y):
    return imported("catboost").CatBoostClassifier(**QUIET_CATBOOST).fit(X, y)


def save_native(model, path):
    (model.booster_ if hasattr(model, "booster_") else model).save_model(
        str(path), **({"format": "json"} if path.name == "catboost.json" else {})
    )


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (xgboost_model, "model.json"),
        (xgboost_model, "model.ubj"),
        (xgboost_model, "MODEL.UBJ"),
        (lightgbm_model, "model.txt"),
        (catboost_model, "model.cbm"),
        (catboost_model, "catboost.json"),
    ],
)
def test_a_library_s_file_predicts_as_the_model_did(make, name, table, tmp_path):
    X, y = table
    model = make(X, y)
    save_native(model, tmp_path / name.lower())
    (tmp_path / name.lower()).rename(tmp_path / name)
    loaded = load_model(tmp_path / name)
    rows = rows_on_the_cuts(read_model(loaded), X, np.random.default_rng(0), 500)
    np.testing.assert_array_equal(loaded.predict(rows), np.ravel(model.predict(rows)))
    np.testing.assert_allclose(loaded.predict_proba(rows), model.predict_proba(rows), rtol=0, atol=1e-7)
    assert label_differences(loaded, rows) == 0


def test_what_a_file_is_called_does_not_matter(table, tmp_path):
    xgboost_model(*table).save_model(tmp_path / "model.json")
    lightgbm_model(*table).booster_.save_model(tmp_path / "model.txt")
    (tmp_path / "model.json").rename(tmp_path / "booster.model")
    (tmp_path / "model.txt").rename(tmp_path / "model.lgb")
    for name in ("booster.model", "model.lgb"):
        assert load_model(str(tmp_path / name)).n_features_in_ == 6


def test_windows_line_ends_do_no_harm(table, tmp_path):
    text = lightgbm_model(*table).booster_.model_to_string()
    (tmp_path / "model.txt").write_bytes(text.replace("\n", "\r\n").encode())
    assert load_model(tmp_path / "model.txt").n_features_in_ == 6


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: GradientBoostingClassifier(n_estimators=3).fit(X, y),
        lambda X, y: RandomForestClassifier(3).fit(X, y),
        lambda X, y: HistGradientBoostingClassifier(max_iter=3).fit(X, y),
        lambda X, y: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        lambda X, y: make_pipeline(PowerOfTwoScaler(), GradientBoostingClassifier(n_estimators=2)).fit(X, y),
        lambda X, y: GridSearchCV(GradientBoostingClassifier(n_estimators=2), {"max_depth": [1, 2]}, cv=2).fit(X, y),
        xgboost_model,
        lightgbm_model,
        catboost_model,
    ],
    ids=["boosting", "forest", "histogram", "linear", "scaled", "search", "xgboost", "lightgbm", "catboost"],
)
def test_skops_files_predict_as_the_model_did(make, table, tmp_path):
    X, y = table
    model = make(X, y)
    imported("skops.io").dump(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").predict(X), model.predict(X))


def test_skops_holds_explainable_boosting_too(table, tmp_path):
    X, y = table
    glassbox = imported("interpret.glassbox")
    model = glassbox.ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=5, n_jobs=1).fit(X, y)
    imported("skops.io").dump(model, tmp_path / "model.skops")
    assert label_differences(load_model(tmp_path / "model.skops"), X) == 0


def test_skops_files_with_code_or_unknown_types_are_refused(table, tmp_path):
    X, y = table
    model = make_pipeline(FunctionTransformer(np.frompyfunc(abs, 1, 1).__class__), LogisticRegression())
    model.steps[1][1].fit(X, y)
    imported("skops.io").dump(model, tmp_path / "model.skops")
    with pytest.raises(InvalidInputError, match=r"numpy\.ufunc"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "renamed.skops"])
def test_pickles_are_refused_unopened(name, tmp_path):
    (tmp_path / name).write_bytes(pickle.dumps(LogisticRegression()))
    with pytest.raises(InvalidInputError, match=r"skops\.io\.dump"):
        load_model(tmp_path / name)


def test_compressed_pickles_are_refused_unopened(tmp_path):
    joblib = imported("joblib")
    joblib.dump(LogisticRegression(), tmp_path / "model.bin", compress=("gzip", 3))
    with pytest.raises(InvalidInputError, match=r"skops\.io\.dump"):
        load_model(tmp_path / "model.bin")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"a,b,c\n1,2,3\n", "unknown format"),
        (b'{"a": 1}', "'a'"),
        (b'{"learner": {"attributes"', "damaged"),
        (b'{"learner": {}}', "XGBoost"),
        (b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{L", "XGBoost"),
        (b'{"learner": {}, "learner": {}}', "twice"),
        (b"CBM1 and no more", "CatBoost"),
        (b"tree\nversion=v4\n", "LightGBM"),
        (b"PK\x03\x04 and no more", "skops"),
    ],
)
def test_files_that_cannot_be_loaded_say_why(content, word, tmp_path, trial_load):
    for library in ("xgboost", "lightgbm", "catboost", "skops"):
        imported(library)
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=word) as raised:
        load_model(path)
    assert str(path) in str(raised.value)


@pytest.mark.slow
def test_files_that_were_cut_off_say_so(table, tmp_path, trial_load):
    models = {"m.json": xgboost_model, "m.ubj": xgboost_model, "m.txt": lightgbm_model, "m.cbm": catboost_model}
    for name, make in models.items():
        save_native(make(*table), tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for share in (0.1, 0.7):  # what follows LightGBM's trees is not needed
            (tmp_path / name).write_bytes(whole[: int(len(whole) * share)])
            with pytest.raises(InvalidInputError, match=name):
                load_model(tmp_path / name)


def test_a_zip_that_is_no_skops_file_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
        file.writestr("a.txt", "nothing")
    with pytest.raises(InvalidInputError, match="skops"):
        load_model(tmp_path / "model.zip")


def test_missing_files_and_directories_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match="no file"):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(InvalidInputError, match="directory"):
        load_model(tmp_path)


def test_other_objects_than_classifiers_are_refused(table, tmp_path):
    X, y = table
    imported("skops.io").dump(StandardScaler().fit(X), tmp_path / "scaler.skops")
    with pytest.raises(InvalidInputError, match="holds a StandardScaler, not a classifier"):
        load_model(tmp_path / "scaler.skops")
    imported("xgboost").XGBRegressor(n_estimators=1).fit(X, y).save_model(tmp_path / "regressor.json")
    imported("lightgbm").LGBMRegressor(n_estimators=1, verbose=-1).fit(X, y).booster_.save_model(tmp_path / "regressor.txt")
    imported("catboost").CatBoostRegressor(**QUIET_CATBOOST).fit(X, y).save_model(str(tmp_path / "regressor.cbm"))
    for name in ("regressor.json", "regressor.txt", "regressor.cbm"):
        with pytest.raises(UnsupportedModelError, match="Supported"):
            load_model(tmp_path / name)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RandomForestClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1]}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_unfitted_classifier_says_so(model, tmp_path):
    imported("skops.io").dump(model, tmp_path / "unfitted.skops")
    with pytest.raises(InvalidInputError, match=f"holds a {type(model).__name__} that is not fitted. Fit it before"):
        load_model(tmp_path / "unfitted.skops")


@pytest.mark.parametrize(
    ("library", "content"),
    [
        ("xgboost", json.dumps({"learner": {}}).encode()),
        ("lightgbm", b"tree\nversion=v4\n"),
        ("catboost", b"CBM1 and no more"),
        ("skops", b"PK\x03\x04"),
    ],
)
def test_a_library_that_is_not_there_is_named_with_its_extra(library, content, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.io", None)
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(UnsupportedModelError, match=rf"pip install 'fcca\[{library}\]'"):
        load_model(tmp_path / "model")


def test_trees_that_point_outside_of_themselves_are_refused(table, tmp_path):
    X, y = table
    forest = RandomForestClassifier(3).fit(X, y)
    check_sklearn_objects(forest, tmp_path)
    state = forest.estimators_[1].tree_.__getstate__()
    for field, number in (("left_child", 10**6), ("right_child", 0), ("feature", 6)):
        nodes = state["nodes"].copy()
        nodes[field][0] = number
        forest.estimators_[1].tree_.__setstate__(state | {"nodes": nodes})
        with pytest.raises(InvalidInputError, match="damaged"):
            check_sklearn_objects(forest, tmp_path)
    histogram = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    check_sklearn_objects(histogram, tmp_path)
    histogram._predictors[0][0].nodes["feature_idx"][0] = 6
    with pytest.raises(InvalidInputError, match="damaged"):
        check_sklearn_objects(histogram, tmp_path)


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_a_parent_outside_of_a_tree_is_damage(table, tmp_path, booster):
    """XGBoost reads outside its arrays for it, so that a trial may pass by chance."""
    X, y = table
    model = imported("xgboost").XGBClassifier(n_estimators=2, n_jobs=1, booster=booster).fit(X, y)
    model.save_model(tmp_path / "model.json")
    load_model(tmp_path / "model.json", trusted=True)
    document = json.loads((tmp_path / "model.json").read_text())
    held = document["learner"]["gradient_booster"]
    parents = held.get("gbtree", held)["model"]["trees"][1]["parents"]
    parents[-1] = len(parents)
    (tmp_path / "damaged.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="a parent that does not exist"):
        load_model(tmp_path / "damaged.json")


@pytest.mark.parametrize("policy", ["Depthwise", "Lossguide", "SymmetricTree"])
def test_a_step_outside_of_a_catboost_tree_is_damage(tmp_path, policy):
    """CatBoost reads outside its arrays for it, so that a trial may pass by chance."""
    X, y = load_iris(return_X_y=True)
    catboost = imported("catboost")
    model = catboost.CatBoostClassifier(2, depth=3, grow_policy=policy, verbose=0, allow_writing_files=False).fit(X, y)
    model.save_model(tmp_path / "model.cbm")
    np.testing.assert_array_equal(load_model(tmp_path / "model.cbm").predict(X), model.predict(X).ravel())
    content = (tmp_path / "model.cbm").read_bytes()
    damaged = {}
    for at in range(len(content) // 2, len(content)):
        other = content[:at] + bytes([content[at] ^ 0x39]) + content[at + 1 :]
        try:
            check_steps(other)
        except ValueError as error:
            damaged[str(error)] = other
    if policy == "SymmetricTree":  # no steps
        assert set(damaged) <= {"its table of trees is damaged"}
        return
    assert set(damaged) >= {
        "a node of a tree refers to a node outside of the tree",
        "its trees overlap",
        "a leaf has no value",
    }
    for problem, other in damaged.items():
        (tmp_path / "damaged.cbm").write_bytes(other)
        with pytest.raises(InvalidInputError, match=problem):
            load_model(tmp_path / "damaged.cbm", trusted=True)
