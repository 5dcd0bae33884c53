"""Save and load: the same predictions, and only objects that fcca could have made."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import warnings
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import joblib
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from export.trees import fitted as random_tree
from fcca import (
    FCCAClassifier,
    FCCADiscretizer,
    GTREDiscretizer,
    MidpointDiscretizer,
    OptimalTreeClassifier,
    ThresholdTable,
    report,
)
from fcca.constraints import Bounds, Immutable, MaxChanges, OneHot, Rule
from fcca.exceptions import FCCAError, InvalidInputError, UnsupportedModelError
from fcca.export import DistilledTree, from_json, load, save, to_json, trusted_types
from fcca.models import as_classifier, decide_at, load_model
from fcca.selection import OptimalSelection
from fcca.streaming import distill
from mixed_tables import loans
from real_data import imported


def xgb(**more):
    return imported("xgboost").XGBClassifier(n_estimators=6, max_depth=2, n_jobs=1, random_state=0, **more)


def lgbm():
    return imported("lightgbm").LGBMClassifier(n_estimators=6, max_depth=2, n_jobs=1, random_state=0, verbosity=-1)


def catboost():
    parameters = {"iterations": 6, "depth": 2, "thread_count": 1, "random_seed": 0, "allow_writing_files": False}
    return imported("catboost").CatBoostClassifier(**parameters, verbose=False)


def ebm():
    glassbox = imported("interpret.glassbox")
    return glassbox.ExplainableBoostingClassifier(interactions=0, outer_bags=2, max_rounds=40, n_jobs=1, random_state=0)


def encoded():
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["purpose", "grade"]), remainder="passthrough"
    )
    return make_pipeline(encoder, RandomForestClassifier(5, max_depth=3, random_state=0))


#: By name: the black box, and whether the table has categories and gaps.
BLACK_BOXES = {
    "default": (lambda: None, False),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0), False),
    "forest": (lambda: RandomForestClassifier(5, max_depth=3, random_state=0), False),
    "histograms": (lambda: HistGradientBoostingClassifier(max_iter=8, max_depth=2, random_state=0), False),
    "logistic": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), False),
    "svm": (lambda: make_pipeline(StandardScaler(), LinearSVC(random_state=0)), False),
    "kernel svm": (lambda: make_pipeline(StandardScaler(), SVC(kernel="linear")), False),
    "xgboost": (xgb, False),
    "lightgbm": (lgbm, False),
    "catboost": (catboost, False),
    "ebm": (ebm, False),
    "calibrated": (lambda: CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3), ensemble=False, cv=3), False),
    "vote": (
        lambda: VotingClassifier([("a", DecisionTreeClassifier(max_depth=2)), ("b", DecisionTreeClassifier(max_depth=3))]),
        False,
    ),
    "boosting of labels": (lambda: GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0), True),
    "histograms of labels": (
        lambda: HistGradientBoostingClassifier(max_iter=8, max_depth=2, categorical_features="from_dtype", random_state=0),
        True,
    ),
    "logistic of labels": (lambda: LogisticRegression(max_iter=2000), True),
    "lightgbm of labels": (lgbm, True),
    "xgboost of labels": (lambda: xgb(enable_categorical=True), True),
    "catboost of labels": (catboost, True),
    "encoded": (encoded, True),
}


def table(mixed):
    X, y = loans(200)
    target = (y == "good").astype(int)
    if not mixed:
        return X[["income", "age"]].fillna(2.0), target
    return X.assign(purpose=pd.Categorical(X["purpose"])), target


@cache
def fitted(name):
    make, mixed = BLACK_BOXES[name]
    X, y = table(mixed)
    if name == "encoded":
        X = X.assign(income=X["income"].fillna(0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = FCCAClassifier(FCCADiscretizer(make()), OptimalTreeClassifier(max_depth=2)).fit(X, y)
    return classifier, X, y


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_a_loaded_classifier_has_all_methods(name, tmp_path):
    imported("skops.io")
    classifier, X, y = fitted(name)
    save(classifier, tmp_path / "classifier.skops")
    loaded = load(tmp_path / "classifier.skops")
    assert to_json(loaded) == to_json(classifier)
    assert loaded.predict_proba(X).tolist() == classifier.predict_proba(X).tolist()
    assert loaded.discretizer_.transform(X).tolist() == classifier.discretizer_.transform(X).tolist()
    assert loaded.discretizer_.predict_target(X).tolist() == classifier.discretizer_.predict_target(X).tolist()
    assert loaded.fidelity(X) == classifier.fidelity(X)
    assert loaded.rules() == classifier.rules()
    other, expected = loaded.at_granularity(0.6, X, y), classifier.at_granularity(0.6)
    assert to_json(other) == to_json(expected)
    assert loaded.discretizer_.crossings()[0].tolist() == classifier.discretizer_.crossings()[0].tolist()
    assert loaded.discretizer_.counterfactuals_.sentences() == classifier.discretizer_.counterfactuals_.sentences()
    granular = loaded.discretizer_.set_granularity(0.8).thresholds_
    assert granular == clone_of(classifier.discretizer_).set_granularity(0.8).thresholds_


def clone_of(discretizer):
    return pickle.loads(pickle.dumps(discretizer))


@pytest.mark.parametrize("name", ["boosting", "boosting of labels"])
def test_a_loaded_classifier_can_be_shown_and_fitted_again(name, tmp_path):
    imported("skops.io")
    classifier, X, y = fitted(name)
    save(classifier, tmp_path / "classifier.skops")
    loaded = load(tmp_path / "classifier.skops")
    for one in (classifier, loaded):
        report.write(one, tmp_path / f"{one is loaded}.html", X=X, y=y, Q=[0.5], title="The same")
    assert (tmp_path / "True.html").read_bytes() == (tmp_path / "False.html").read_bytes()
    assert to_json(clone(loaded).fit(X, y)) == to_json(classifier)
    tree = FCCADiscretizer(FrozenEstimator(loaded.discretizer_.estimator_)).fit(X, y)
    assert tree.all_thresholds_ == classifier.discretizer_.all_thresholds_


def others():
    X, y = table(False)
    model = GradientBoostingClassifier(n_estimators=8, max_depth=1, random_state=0).fit(X, y)
    frozen = FrozenEstimator(model)
    rules = [Immutable("age"), Bounds("income", low=0, high=90), MaxChanges(2), Rule("income <= age + 50")]
    yield "rules", FCCADiscretizer(model, constraints=rules).fit(X, y), X
    yield "selection", FCCAClassifier(FCCADiscretizer(model), n_thresholds=2).fit(X, y), X
    chosen = OptimalSelection(max_inconsistency=0.4, forbid=["age"], per_feature={"income": 3})
    yield "chosen", FCCADiscretizer(model, selection=chosen).fit(X, y), X
    yield "path", FCCAClassifier(FCCADiscretizer(model), n_thresholds="auto").fit(X, y), X
    yield "gtre", GTREDiscretizer(model).fit(X, y), X
    yield "in gtre", FCCAClassifier(GTREDiscretizer(model), fit_to="target").fit(X, y), X
    yield "midpoints", MidpointDiscretizer(max_thresholds=5).fit(X), X
    yield "tree", OptimalTreeClassifier(max_depth=2, class_weight={0: 1, 1: 3}).fit(X, y), X
    gaps = X.where(X.gt(X.quantile(0.3)))
    yield "raw", OptimalTreeClassifier(max_depth=3, regularization=0.0, criterion="error").fit(gaps, y), gaps
    yield "chunks", FCCADiscretizer(frozen).partial_fit(X, y), X
    yield "streamed", distill([(X, y)], FCCADiscretizer(frozen)), X
    yield "decided", FCCAClassifier(FCCADiscretizer(FrozenEstimator(decide_at(model, 0.3)))).fit(X, y), X
    yield "pipeline", make_pipeline(FCCADiscretizer(model), OptimalTreeClassifier(max_depth=2)).fit(X, y), X
    yield "unfitted", FCCAClassifier(FCCADiscretizer(model, constraints=[OneHot("income", "age")])), None
    yield "array", FCCAClassifier(FCCADiscretizer(model)).fit(X.to_numpy(), y), X.to_numpy()
    if find_spec("xgboost"):
        xgboost = imported("xgboost")
        booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, y), 5)
        yield "native", FCCADiscretizer(FrozenEstimator(as_classifier(booster))).fit(X, y), X


@pytest.mark.filterwarnings("ignore")
def test_every_other_estimator_comes_back_as_it_was(tmp_path):
    imported("skops.io")
    for name, estimator, X in others():
        save(estimator, tmp_path / f"{name}.skops")
        loaded = load(tmp_path / f"{name}.skops")
        assert type(loaded) is type(estimator), name
        assert name == "native" or repr(loaded) == repr(estimator)  # a booster prints its address
        assert set(vars(loaded)) == set(vars(estimator)) - {"_training", "_partial_fit"}, name
        for method in ("predict_proba", "transform", "predict_target"):
            if X is not None and hasattr(estimator, method) and not (name == "pipeline" and method == "transform"):
                assert getattr(loaded, method)(X).tolist() == getattr(estimator, method)(X).tolist(), name
        for attribute in ("thresholds_", "all_thresholds_", "statuses_", "constraints"):
            assert getattr(loaded, attribute, None) == getattr(estimator, attribute, None)
        if hasattr(estimator, "selection_path_"):
            pd.testing.assert_frame_equal(loaded.selection_path_, estimator.selection_path_)
            assert isinstance(estimator.selection_path_, pd.DataFrame)
        if name == "chunks":
            assert loaded.partial_fit(*table(False)).thresholds_ == estimator.thresholds_
            assert hasattr(estimator, "_partial_fit")  # what was saved stays as it is


def test_the_document_and_the_table_come_back_as_they_were(tmp_path):
    for seed in range(12):
        classifier, X = random_tree(seed)
        save(classifier, tmp_path / "tree.json")
        tree = load(tmp_path / "tree.json")
        assert isinstance(tree, DistilledTree)
        assert (tmp_path / "tree.json").read_bytes() == to_json(classifier).encode()
        assert tree.predict(X).tolist() == classifier.predict(X).tolist()
        save(tree, str(tmp_path / "again.json"))
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tree.json").read_bytes()
        thresholds = classifier.discretizer_.thresholds_
        save(thresholds, tmp_path / "thresholds.json")
        assert load(tmp_path / "thresholds.json") == thresholds


def test_a_table_of_thresholds_in_skops(tmp_path):
    imported("skops.io")
    thresholds = random_tree(5)[0].discretizer_.all_thresholds_
    save(thresholds, tmp_path / "thresholds.SKOPS")
    loaded = load(tmp_path / "thresholds.SKOPS")
    assert loaded == thresholds
    assert not loaded.count.flags.writeable


def test_the_name_of_a_file_does_not_matter(tmp_path):
    imported("skops.io")
    classifier, *_ = fitted("boosting")
    save(classifier, tmp_path / "a.skops")
    save(classifier, tmp_path / "b.json")
    (tmp_path / "a.skops").rename(tmp_path / "tree.json")
    (tmp_path / "b.json").rename(tmp_path / "classifier.skops")
    assert isinstance(load(tmp_path / "tree.json"), FCCAClassifier)
    assert isinstance(load(tmp_path / "classifier.skops"), DistilledTree)


def test_skops_itself_loads_with_the_trusted_types(tmp_path):
    skops = imported("skops.io")
    classifier, X, _ = fitted("histograms of labels")
    save(classifier, tmp_path / "classifier.skops")
    loaded = skops.load(tmp_path / "classifier.skops", trusted=trusted_types())
    assert loaded.predict(X).tolist() == classifier.predict(X).tolist()
    assert trusted_types() == sorted(set(trusted_types()))


@pytest.mark.parametrize("dump", [pickle.dump, joblib.dump], ids=["pickle", "joblib"])
@pytest.mark.parametrize("name", ["c.pkl", "c.skops", "c.json"])
def test_pickles_are_refused_without_opening_them(dump, name, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    with open(tmp_path / name, "wb") as file:
        dump(Bomb(), file)
    with pytest.raises(InvalidInputError, match=r"is a pickle.*fcca\.export\.save"):
        load(tmp_path / name)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There is no file"),
        (b"", "is empty"),
        (b"hello", "Unknown format: the file begins with b'hello'"),
        (b"{", "Not a JSON document"),
        (b"\xff\xfe{", "Unknown format"),
        (b"[1]", "Unknown format"),
        (b'{"learner": {}}', "keys 'learner'.*--model-file"),
        (b"{}", "keys nothing"),
        (b'{"format": ["fcca-tree"]}', "neither a tree, a scorecard nor a threshold table"),
        (b'{"format": "fcca-tree"}', "version None"),
        (b'{"format": "fcca.thresholds"}', "version None"),
        (b"PK\x03\x04 and no more", "skops"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_files_of_other_formats_are_refused_with_the_reason(content, words, tmp_path):
    if content is not None and content.startswith(b"PK"):
        imported("skops.io")
    if content is not None:
        (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(InvalidInputError, match=words) as refused:
        load(tmp_path / "file.json")
    assert "file.json" in str(refused.value)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(InvalidInputError, match="is a directory"):
        load(tmp_path)


READERS = pytest.mark.parametrize("read", [load, load_model])


@READERS
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="pipes and devices of POSIX")
def test_pipes_and_devices_are_not_waited_for(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe.json", tmp_path / "zero.json", "/dev/zero", "/dev/null"):
        with pytest.raises(InvalidInputError, match="is a device or a pipe"):
            read(path)


@READERS
def test_a_file_replaced_by_a_pipe_is_not_waited_for(read, tmp_path, monkeypatch):
    """The type of the opened file counts, not of the file that was there before."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("pipes of POSIX")
    (tmp_path / "a.json").write_text("{}")
    real, path = os.open, tmp_path / "a.json"

    def swapped(*args, **kwargs):
        path.unlink()
        os.mkfifo(path)
        monkeypatch.setattr(os, "open", real)
        return real(*args, **kwargs)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(InvalidInputError, match="is a device or a pipe"):
        read(path)


@READERS
def test_large_files_are_refused_before_reading(read, tmp_path):
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(4 * 2**30 + 1)  # takes no place on the disk
    with pytest.raises(
        InvalidInputError, match=r"large\.json has 4,294,967,297 bytes, more than the limit of 4,294,967,296"
    ):
        read(tmp_path / "large.json")


@READERS
@pytest.mark.parametrize(
    ("path", "words"),
    [("a\0b", "cannot be read: embedded null"), ("x" * 5000, "too long"), (5, "got int"), (None, "got NoneType")],
    ids=["nul", "long", "number", "none"],
)
def test_invalid_paths_are_refused_with_the_reason(read, path, words):
    with pytest.raises(InvalidInputError, match=words):
        read(path)


@READERS
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zlib.compress])
def test_a_compressed_document_is_called_compressed(read, pack, tmp_path):
    (tmp_path / "tree.json.gz").write_bytes(pack(to_json(random_tree(1)[0]).encode()))
    with pytest.raises(InvalidInputError, match=r"is compressed\. Unpack it") as refused:
        read(tmp_path / "tree.json.gz")
    assert "is a pickle" not in str(refused.value)


def test_the_length_of_file_names_is_limited(tmp_path):
    tree = from_json(to_json(random_tree(1)[0]))
    path = tmp_path / ("x" * 245 + ".json")
    for _ in range(2):
        save(tree, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert load(path).rules() == tree.rules()
    for wrong, words in (
        (tmp_path / ("x" * 260 + ".json"), "No file can be called"),
        (tmp_path / "a\0.json", "No file can be called"),
        (tmp_path / "a\0" / "b.json", "Cannot write to the directory"),
        (5, "got int"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            save(tree, wrong)
    assert len(list(tmp_path.iterdir())) == 1


def test_names_that_utf_8_cannot_encode_are_refused(tmp_path):
    table = ThresholdTable.from_list([("a\ud800", 1.0)], ["a\ud800"])
    with pytest.raises(InvalidInputError, match="UTF-8 cannot encode"):
        save(table, tmp_path / "table.json")
    assert not list(tmp_path.iterdir())


def test_objects_that_cannot_be_saved_are_refused_and_leave_no_file(tmp_path):
    classifier, *_ = fitted("boosting")
    tree = from_json(to_json(classifier))
    for wrong, name, words in [
        (classifier, "c.pkl", r"\.json or \.skops, got 'c"),
        (classifier, "c", r"\.json or \.skops, got 'c"),
        (classifier.discretizer_, "d.json", "FCCADiscretizer cannot be saved as .json"),
        ("text", "d.json", "str cannot be saved"),
        (tree, "tree.skops", r"got DistilledTree\. Save it as \.json"),
        ({}, "dict.skops", "got dict"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            save(wrong, tmp_path / name)
    with pytest.raises(ValueError, match="not fitted"):
        save(FCCAClassifier(), tmp_path / "c.json")
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(InvalidInputError, match="is a directory"):
        save(classifier, tmp_path / "taken.json")
    assert [file.name for file in tmp_path.iterdir()] == ["taken.json"]


class OwnBoosting(GradientBoostingClassifier):
    """A type that only this module knows."""


def test_unknown_types_are_refused_when_saving(tmp_path):
    imported("skops.io")
    X, y = table(False)
    mine = FCCAClassifier(FCCADiscretizer(OwnBoosting(n_estimators=3, random_state=0))).fit(X, y)
    (tmp_path / "mine.skops").write_text("what was there before")
    with pytest.raises(InvalidInputError, match=r"OwnBoosting.*skops\.io\.dump"):
        save(mine, tmp_path / "mine.skops")
    assert (tmp_path / "mine.skops").read_text() == "what was there before"
    holding = FCCADiscretizer(GradientBoostingClassifier(n_estimators=3)).fit(X, y)
    holding.opened_ = open(os.devnull)  # noqa: SIM115
    with pytest.raises(InvalidInputError, match="skops cannot write"):
        save(holding, tmp_path / "mine.skops")
    holding.opened_.close()


def test_without_skops_the_error_names_the_extra(tmp_path, monkeypatch):
    from fcca.models.files import _skops

    def absent(name):
        raise ImportError(name=name)

    monkeypatch.setattr(_skops, "import_module", absent)
    classifier, *_ = fitted("boosting")
    with pytest.raises(UnsupportedModelError, match=r"pip install 'fcca\[skops\]'"):
        save(classifier, tmp_path / "c.skops")
    save(classifier, tmp_path / "c.json")  # needs none
    assert issubclass(UnsupportedModelError, FCCAError)
