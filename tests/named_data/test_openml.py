import hashlib
import json
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fcca.datasets import DatasetNotFoundError, load
from fcca.datasets import _openml as client
from fcca.exceptions import InvalidInputError
from named_data.openml_server import write_arff
from named_data.tables import offer_radar, some_radar


def cached_files(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_a_download_is_prepared_as_the_papers_copy(server):
    offer_radar(server)
    data = load("ionosphere")
    columns = {name: cells for name, _, cells in some_radar()}
    assert list(data.X.columns) == [f"X{j}" for j in range(32)]
    np.testing.assert_array_equal(data.X["X0"], columns["a03"])
    np.testing.assert_array_equal(data.y, [1, 0] * 20)
    assert (data.source, data.target_name, data.complete) == ("OpenML 59", "class", True)
    assert "40 rows where 351 were expected" in data.note


def test_the_second_time_needs_no_network(server, tmp_path):
    offer_radar(server)
    first = load("ionosphere")
    asked = len(server.requests)
    server.stop()
    second = load("ionosphere", download=False)
    pd.testing.assert_frame_equal(first.X, second.X)
    pd.testing.assert_series_equal(first.y, second.y)
    assert len(server.requests) == asked == 2
    assert cached_files(tmp_path) == ["data.arff", "description.json"]


def test_without_downloads_an_empty_cache_is_an_error(server):
    offer_radar(server)
    with pytest.raises(DatasetNotFoundError, match="downloads were not wanted"):
        load("ionosphere", download=False)
    assert server.requests == []


@pytest.mark.parametrize("damaged", ["data.arff", "description.json"])
def test_a_damaged_cache_is_downloaded_again(server, tmp_path, damaged):
    offer_radar(server)
    first = load("ionosphere")
    path = next((tmp_path / "cache").rglob(damaged))
    path.write_bytes(path.read_bytes()[:100])
    second = load("ionosphere")
    pd.testing.assert_frame_equal(first.X, second.X)
    assert server.count("file") == 2


def test_a_damaged_cache_without_network_is_an_error(server, tmp_path):
    offer_radar(server)
    load("ionosphere")
    path = next((tmp_path / "cache").rglob("data.arff"))
    path.write_text("[]")
    server.stop()
    with pytest.raises(DatasetNotFoundError, match=r"could not be reached.*is damaged"):
        load("ionosphere", timeout=1)


@pytest.mark.parametrize("content", ["[]", "null", "{}", "no json"])
def test_a_description_of_another_kind_in_the_cache_is_replaced(server, tmp_path, content):
    offer_radar(server)
    load("ionosphere")
    next((tmp_path / "cache").rglob("description.json")).write_text(content)
    assert load("ionosphere").rows == 40


@pytest.mark.parametrize("what", ["description", "file"])
@pytest.mark.parametrize("fault", ["truncated", "reset", 500, 503, 429])
def test_a_passing_fault_is_met_with_another_attempt(server, tmp_path, what, fault):
    offer_radar(server)
    server.fail(what, fault, times=2)
    assert load("ionosphere").rows == 40
    assert server.count(what) == 3
    assert cached_files(tmp_path) == ["data.arff", "description.json"]


@pytest.mark.parametrize(
    ("what", "fault", "attempts", "expected"),
    [
        ("file", "truncated", 3, "broke off after .* of .* bytes"),
        ("file", "reset", 3, "could not be reached"),
        ("file", "damaged", 3, "has the MD5 .* but OpenML promises"),
        ("file", 404, 1, "answered 404"),
        ("file", 503, 3, "answered 503"),
        ("file", "silent", 3, r"no answer within 0\.2 s"),
        ("file", "silent in the middle", 3, r"broke off after .* no answer within 0\.2 s"),
        ("description", "truncated", 3, "broke off"),
        ("description", "no json", 3, "something else than the description"),
        ("description", 404, 1, "answered 404"),
        ("description", "silent", 3, r"no answer within 0\.2 s"),
    ],
)
def test_a_lasting_fault_is_reported_and_leaves_nothing_behind(server, tmp_path, what, fault, attempts, expected):
    offer_radar(server)
    server.fail(what, fault)
    with pytest.raises(DatasetNotFoundError, match=expected) as caught:
        load("ionosphere", timeout=0.2)
    assert "ionosphere.csv" in str(caught.value)
    assert server.count(what) == attempts
    assert not (tmp_path / "cache").exists()
    server.faults[what] = []
    assert load("ionosphere").rows == 40


def test_a_file_that_only_trickles_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "PATIENCE", 0.2)
    offer_radar(server)
    server.fail("file", "trickle")
    with pytest.raises(DatasetNotFoundError, match="too slow"):
        load("ionosphere", timeout=5)
    assert cached_files(tmp_path) == []


def test_openmls_own_words_are_passed_on(server):
    with pytest.raises(DatasetNotFoundError, match=r"412.*\(Unknown dataset\)"):
        load("ionosphere")
    assert server.requests == ["description"]


def test_a_server_that_is_down_is_told(server):
    server.stop()
    with pytest.raises(DatasetNotFoundError, match="could not be reached"):
        load("ionosphere", timeout=1)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"name": "sonar"}, "describes 'sonar' with the id 59"),
        ({"id": "60"}, "with the id 60"),
        ({"format": "parquet"}, "only ARFF"),
        ({"default_target_attribute": None}, "lacks default_target_attribute"),
        ({"url": "file:///etc/hostname"}, "not an address of the web"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(server, tmp_path, more, expected):
    offer_radar(server)
    server.descriptions["59"].update(more)
    with pytest.raises(DatasetNotFoundError, match=expected):
        load("ionosphere")
    assert cached_files(tmp_path) == []


def test_a_file_without_a_promised_md5_is_still_watched_in_the_cache(server, tmp_path):
    offer_radar(server, md5_checksum=None)
    load("ionosphere")
    description = json.loads(next((tmp_path / "cache").rglob("description.json")).read_text())
    assert description["md5_checksum"] == hashlib.md5(server.files["59"]).hexdigest()
    assert load("ionosphere", download=False).rows == 40


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (some_radar()[:-3] + some_radar()[-1:], "gives 30 feature.* where 32 are expected"),
        ([*some_radar()[:-1], ("class", ["x", "g"], ["x", "g"] * 20)], "every label is .*0"),
        ([*some_radar()[:-1], ("class", ["b", "g"], [None, "g"] * 20)], "20 row.s. have no 'class'"),
        ([*some_radar()[:-1], ("kind", ["b", "g"], ["b", "g"] * 20)], "lacks the column 'class'"),
        ([("a01", ["red", "blue"], ["red", "blue"] * 20), *some_radar()[1:]], "features must be numbers"),
    ],
)
def test_a_file_with_other_columns_than_known_is_refused(server, columns, expected):
    server.add(59, "ionosphere", write_arff(columns))
    with pytest.raises(InvalidInputError, match=expected):
        load("ionosphere")


def test_a_cache_that_cannot_be_written_to_is_told_by_its_variable(server, monkeypatch, tmp_path):
    offer_radar(server)
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("FCCA_CACHE", str(tmp_path / "taken"))
    with pytest.raises(InvalidInputError, match="FCCA_CACHE"):
        load("ionosphere")


def test_two_at_once_do_not_disturb_each_other(server, tmp_path):
    offer_radar(server)
    found = []
    threads = [threading.Thread(target=lambda: found.append(load("ionosphere").rows)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [40] * 6
    assert cached_files(tmp_path) == ["data.arff", "description.json"]


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache/fcca"),
        ("linux", {"XDG_CACHE_HOME": "/somewhere"}, "/somewhere/fcca"),
        ("darwin", {}, "home/Library/Caches/fcca"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/fcca/Cache"),
        ("win32", {}, "home/AppData/Local/fcca/Cache"),
        ("linux", {"FCCA_CACHE": "/mine"}, "/mine"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, tmp_path, platform, variables, expected):
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "FCCA_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert client.cache_folder() == (tmp_path / expected if expected.startswith("home") else Path(expected))
