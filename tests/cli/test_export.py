"""``fcca export``: the tree that distill wrote, in other forms."""

from __future__ import annotations

import os
import subprocess

import pandas as pd
import pytest

from command_line import COMMAND, check_refused, distill, files_in, loans, run
from export.test_parity import LIBRARIES
from fcca.export import EXPORTERS, from_json
from real_data import imported


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tree")
    loans().to_csv(directory / "loans.csv", index=False)
    assert distill(directory / "loans.csv", "--out", directory, "--model", "rf").exit_code == 0
    return directory / "tree.json"


@pytest.mark.parametrize("form", EXPORTERS)
def test_every_exporter_is_there_without_more_being_done(tree, tmp_path, form):
    for library in LIBRARIES.get(form, ()):
        imported(library)
    written = EXPORTERS[form].write(from_json(tree.read_text(encoding="utf-8")))
    expected = written if EXPORTERS[form].binary else written.encode()
    result = run("export", tree, "--to", form)
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, expected, "")
    out = tmp_path / f"new/tree{EXPORTERS[form].suffix}"
    result = run("export", tree, "--out", out)  # the ending tells the form
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert out.read_bytes() == expected
    assert form in run("export", "--help").stdout


@pytest.mark.skipif(os.name == "nt", reason="a terminal of its own is for a test on POSIX only")
def test_bytes_are_not_shown_on_a_terminal(tree):
    terminal, its_end = os.openpty()
    command = [*COMMAND, "export", str(tree), "--to", "onnx"]
    result = subprocess.run(command, stdout=its_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(its_end)
    os.close(terminal)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert "--out" in result.stderr


def test_text_is_what_people_get_without_asking(tree):
    assert run("export", tree).stdout == run("export", tree, "--to", "text").stdout


def test_the_python_code_predicts_like_the_tree(tree, tmp_path):
    out = tmp_path / "tree.py"
    assert run("export", tree, "--out", out).exit_code == 0
    module: dict[str, object] = {}
    exec(out.read_text(encoding="utf-8"), module)
    frame = loans().drop(columns="label")
    expected = from_json(tree.read_bytes()).predict(frame).tolist()
    assert [module["predict"](row) for row in frame.astype(object).to_dict("records")] == expected


def test_invalid_trees_raise_errors_and_nothing_is_written(tree, tmp_path):
    thresholds = tree.parent / "thresholds.json"
    broken, empty = tmp_path / "broken.json", tmp_path / "empty.json"
    broken.write_bytes(tree.read_bytes()[:100])
    empty.touch()
    before = files_in(tmp_path)
    for given, mentioned in (
        (thresholds, ["thresholds.json", "fcca-tree", "tree.json"]),
        (broken, ["broken.json", "Not a JSON document"]),
        (empty, ["empty.json is empty"]),
        (tmp_path, ["is not a file"]),
        (tmp_path / "absent.json", ["no file", "absent.json"]),
    ):
        check_refused(run("export", given, "--out", tmp_path / "new" / "tree.py"), *mentioned)
    check_refused(run("export", tree, "--out", tmp_path / "tree.docx"), "tree.docx", "--to", ".py")
    assert files_in(tmp_path) == before
    assert run("export", tree, "--to", "stone").exit_code == 2


def test_a_failure_while_writing_leaves_the_old_file(tree, tmp_path, monkeypatch):
    out = tmp_path / "tree.py"
    out.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = run("export", tree, "--out", out)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert out.read_text() == "old"
    assert files_in(tmp_path) == ["tree.py"]


def test_the_tree_is_that_of_the_classifier(tree):
    frame = pd.read_csv(tree.parent / "loans.csv")
    read = from_json(tree.read_bytes())
    assert read.columns.names == ("income", "purpose", "children")
    assert read.columns[1].categories == ("a new kitchen, fitted", "car", "tv")
    assert set(read.predict(frame.drop(columns="label"))) <= {"granted", "refused"}
