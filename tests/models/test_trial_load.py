"""Untrusted model files are loaded in a child process first: a crash, a hang or a lack of memory there is a typed error."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fcca import MidpointDiscretizer, read_model
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export import load, save
from fcca.models import load_model
from fcca.models.files import _trial_load, try_in_child
from fcca.models.files._model_checks import check_trees
from hardening import seeds
from models import trials
from models.fidelity import random_table
from real_data import imported

FILE = Path("model.bin")


@pytest.mark.usefixtures("trial_load")
class TestChild:
    def test_success_is_silent(self, capfd):
        assert try_in_child(trials.succeed, FILE, b"content", "a model") is None
        assert capfd.readouterr() == ("", "")

    @pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
    def test_a_crash_names_its_signal(self):
        with pytest.raises(InvalidInputError, match=r"model\.bin looks like a model.*crashed \(SIGABRT\).*trusted=True"):
            try_in_child(trials.crash, FILE, b"", "a model")

    def test_an_early_end_is_a_crash(self):
        with pytest.raises(InvalidInputError, match=r"crashed \(exit code 7\)"):
            try_in_child(trials.leave, FILE, b"", "a model")

    def test_a_hang_ends_with_the_time(self, monkeypatch):
        monkeypatch.setattr(_trial_load, "LEAST_SECONDS", 0.2)
        with pytest.raises(InvalidInputError, match=r"did not finish within 0 seconds"):
            try_in_child(trials.hang, FILE, b"", "a model")

    @pytest.mark.skipif(_trial_load.resource is None, reason="limits of POSIX")
    def test_memory_is_limited(self):
        with pytest.raises(InvalidInputError, match=r"needed more than 4\.0 GiB of memory"):
            try_in_child(trials.take_all_memory, FILE, b"", "a model")

    @pytest.mark.parametrize(
        ("function", "error", "message"),
        [
            (trials.refuse, InvalidInputError, "model.bin is not as it should be."),
            (trials.not_support, UnsupportedModelError, "Such models — all of them — are not supported."),
        ],
    )
    def test_errors_keep_their_type_and_message(self, function, error, message):
        with pytest.raises(error) as raised:
            try_in_child(function, FILE, b"", "a model")
        assert str(raised.value) == message


def test_a_crash_counts_as_a_memory_error_if_memory_is_low(monkeypatch):
    monkeypatch.setattr(_trial_load, "_memory_limit", lambda: 2**29)
    monkeypatch.setattr(_trial_load, "_run", lambda *arguments: subprocess.CompletedProcess(arguments, -11, b""))
    with pytest.raises(MemoryError, match=r"model\.bin"):
        try_in_child(trials.succeed, FILE, b"content", "a model")


# --- files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["skops", "XGBoost json", "XGBoost ubj", "LightGBM", "CatBoost cbm", "CatBoost json"])
def test_files_of_every_format_pass_their_trial(kind, tmp_path, trial_load):
    imported("skops")
    imported(kind.split()[0].lower())
    make, _, suffix = seeds.KINDS[kind]
    path = tmp_path / f"model{suffix}"
    path.write_bytes(make()[0])
    assert read_model(load_model(path)).n_features == 4


def test_a_file_that_crashes_its_library_is_a_typed_error(tmp_path, trial_load):
    imported("lightgbm")
    text = seeds.lightgbm_text()[0].decode()
    path = tmp_path / "model.txt"
    path.write_text(text.replace("tree_sizes=", "tree_sizes=9"))
    with pytest.raises(InvalidInputError, match=r"model\.txt looks like a LightGBM model.*child process.*crashed"):
        load_model(path)


@pytest.mark.slow
def test_an_estimator_in_a_file_is_tried_too(tmp_path, trial_load, monkeypatch):
    imported("skops")
    save(MidpointDiscretizer(max_thresholds=2).fit(random_table(0, 2)[0]), tmp_path / "bins.skops")
    assert load(tmp_path / "bins.skops").n_features_in_ == 6
    monkeypatch.setattr(_trial_load, "_run", lambda *arguments: subprocess.CompletedProcess(arguments, -11, b""))
    with pytest.raises(InvalidInputError, match=r"bins\.skops.*crashed"):
        load(tmp_path / "bins.skops")
    assert load(tmp_path / "bins.skops", trusted=True).n_features_in_ == 6


def test_a_trusted_file_is_not_tried(tmp_path, monkeypatch):
    imported("xgboost")
    (tmp_path / "model.json").write_bytes(seeds.xgboost_json()[0])
    monkeypatch.setattr(_trial_load, "_run", None)
    assert load_model(tmp_path / "model.json", trusted=True).n_features_in_ == 4


# --- checks of what libraries load without a word -------------------------------------------------------------------------


def changed(array, position, value):
    array = array.copy()
    array[position] = value
    return array


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("left", 10**6, "a node of a tree has a child that does not exist"),
        ("right", -5, "a node of a tree has a child that does not exist"),
        ("left", 0, "do not form a tree"),
        ("feature", 6, "a column that does not exist, as there are 6 columns"),
        ("threshold", np.nan, "a threshold that is NaN"),
        ("value", np.inf, "a leaf value that is NaN or infinite"),
    ],
)
def test_trees_that_do_not_end_in_leaves_are_refused(name, value, words):
    model = read_model(RandomForestClassifier(2, max_depth=2, random_state=0).fit(*random_table(0, 2)))
    check_trees(model)
    with pytest.raises(ValueError, match=words):
        check_trees(replace(model, **{name: changed(getattr(model, name), 0, value)}))


def test_category_codes_below_zero_are_refused():
    model = read_model(RandomForestClassifier(2, max_depth=2, random_state=0).fit(*random_table(0, 2)))
    with pytest.raises(ValueError, match="code below 0"):
        check_trees(replace(model, categories={0: np.array([-1])}))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("threshold=0 ", "threshold=-1 ", "set of categories"), ("decision_type=1 ", "decision_type=99 ", "decision_type")],
)
def test_damage_that_lightgbm_does_not_notice_is_refused(old, new, words, tmp_path, trial_load):
    imported("lightgbm")
    text = seeds.lightgbm_text()[1].decode()
    assert old in text
    size = re.search(r"tree_sizes=(\d+)", text)
    text = text.replace(size[0], f"tree_sizes={int(size[1]) + len(new) - len(old)}").replace(old, new, 1)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(InvalidInputError, match=rf"model\.txt .*{words}"):
        load_model(tmp_path / "model.txt")


@pytest.mark.parametrize(
    ("way", "value", "words"),
    [(("tree_info", 0), -1, "outputs"), (("trees", 0, "left_children", 0), 99, "out of bounds")],
)
def test_damage_that_xgboost_does_not_notice_is_refused(way, value, words, tmp_path, trial_load):
    imported("xgboost")
    document = json.loads(seeds.xgboost_json()[0])
    at = document["learner"]["gradient_booster"]["model"]
    for step in way[:-1]:
        at = at[step]
    at[way[-1]] = value
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match=rf"model\.json .*{words}"):
        load_model(tmp_path / "model.json")
