"""Results, files, messages and exit codes of ``fcca distill``."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

import fcca.cli._distill_steps
import fcca.cli._read_table
from command_line import FILES, distill, files_in, run, run_process, table
from fcca import FCCADiscretizer, ThresholdTable
from fcca.cli._console_text import printable
from fcca.cli._models import target_model
from fcca.cli._options import TargetModel
from fcca.cli._read_table import read_data
from fcca.counterfactuals import STATUSES, CounterfactualEngine

# --- answers ------------------------------------------------------------------------------------------------------------


def test_without_data_it_runs_on_the_bundled_table(out):
    result = distill("--q", 0.7, "--out", out)
    assert result.exit_code == 0
    assert result.stderr == ""
    for text in (
        "569 rows × 30 columns",
        "malignant",
        "benign",
        "455 for training, 114 held out",
        "proven optimal",
        "thresholds kept",
    ):
        assert text in result.stdout
    assert re.search(r"≤ [\d.]+  → (benign|malignant)", result.stdout)
    assert files_in(out) == FILES


def test_the_thresholds_are_those_of_the_library(out):
    distill("--q", 0.7, "--out", out)
    bunch = load_breast_cancer(as_frame=True)
    y = bunch.target_names[bunch.target]
    X, _, y, _ = train_test_split(bunch.data, y, test_size=0.2, stratify=y, random_state=0)
    expected = FCCADiscretizer(target_model(TargetModel.gb, 0, X), Q=0.7).fit(X, y).thresholds_
    assert ThresholdTable.from_json((out / "thresholds.json").read_text(encoding="utf-8")) == expected
    written = pd.read_csv(out / "thresholds.csv")
    assert list(written.columns) == list(expected.to_frame().columns)
    assert written["categories"].isna().all()
    without = [frame.drop(columns="categories") for frame in (written, expected.to_frame())]
    pd.testing.assert_frame_equal(*without, check_dtype=False, rtol=1e-15)


@pytest.mark.parametrize("model", ["gb", "svm", "logistic"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV", ".parquet"])
def test_every_format_gives_the_same_files(tmp_path, out, suffix, model):
    frame = table()
    path = tmp_path / f"people{suffix}"
    if suffix == ".parquet":
        frame.set_index(pd.RangeIndex(1000, 1000 + len(frame))).to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    reference = tmp_path / "reference.csv"
    frame.to_csv(reference, index=False)
    for source, directory in ((path, out), (reference, tmp_path / "expected")):
        result = distill(source, "--out", directory, "--model", model)
        assert result.exit_code == 0, result.stderr
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()


def test_counterfactual_rows_are_rows_of_the_file(csv, out):
    assert distill(csv, "--out", out).exit_code == 0
    found = pd.read_parquet(out / "counterfactuals.parquet")
    frame = pd.read_csv(csv)
    assert found["row"].is_monotonic_increasing
    assert found["row"].max() > 0.8 * len(frame)  # rows of the file, not positions among the training rows
    for _, move in found.iterrows():
        assert frame.loc[move["row"], move["feature"]] == move["from"]
        assert frame.loc[move["row"], "label"] != move["target"]


def test_all_rows_can_be_trained_on(csv, out):
    result = distill(csv, "--out", out, "--test-size", 0)
    assert result.exit_code == 0
    assert "80 for training, none held out" in result.stdout
    assert "–" in result.stdout


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ([0, 1], {"0", "1"}),
        ([0.0, 1.0], {"0", "1"}),
        ([True, False], {"True", "False"}),
        (["a [b]", "ça 🚀"], {"a [b]", "ça 🚀"}),
    ],
)
def test_labels_may_be_texts_or_numbers(tmp_path, out, labels, shown):
    frame = table()
    frame["label"] = [labels[int(label == "yes")] for label in frame["label"]]
    for path, write in ((tmp_path / "t.csv", frame.to_csv), (tmp_path / "t.parquet", frame.to_parquet)):
        write(path, index=False)
        result = distill(path, "--out", out)
        assert result.exit_code == 0, result.stderr
        assert set(pd.read_parquet(out / "counterfactuals.parquet")["target"].astype(str)) == shown
        assert all(f"→ {name}" in result.stdout for name in shown)


@pytest.mark.parametrize("model", ["gb", "svm", "logistic"])
def test_three_classes(tmp_path, out, model):
    iris = load_iris(as_frame=True)
    iris.frame.to_csv(tmp_path / "iris.csv", index=False)
    assert distill(tmp_path / "iris.csv", "--out", out, "--model", model).exit_code == 0
    assert set(pd.read_parquet(out / "counterfactuals.parquet")["target"]) == {0, 1, 2}
    result = distill(tmp_path / "iris.csv", "--out", tmp_path / "other", "--decision-threshold", 0.3)
    _check_refused(tmp_path, result, ["3 classes", "--decision-threshold"], ["iris.csv", "out"])


@pytest.mark.parametrize("name", ["Label", "TARGET", "class", " y "])
def test_the_label_is_found_by_its_usual_names(tmp_path, out, name):
    table().rename(columns={"label": name}).to_csv(tmp_path / "t.csv", index=False)
    assert distill(tmp_path / "t.csv", "--out", out).exit_code == 0


def test_hostile_column_names_are_shown_and_written_as_they_are(tmp_path, out):
    names = ["[red]x[/red]", 'say "hi", you > 1', ":smile: 🚀\x1b[31m"]
    frame = table()
    frame["weight"] = np.where(frame["height"] > 0.5, 1, -1) + frame["weight"] / 9
    frame.columns = [*names, "label"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out)
    assert result.exit_code == 0
    assert "[red]x[/red] ≤ " in result.stdout
    assert "\x1b" not in result.stdout
    assert ThresholdTable.from_json((out / "thresholds.json").read_text(encoding="utf-8")).feature_names == tuple(names)
    assert set(pd.read_csv(out / "thresholds.csv")["feature"]) <= set(names)


def test_control_characters_are_written_as_escapes():
    assert printable("a\x1b[2J\nb\u2028[red]é🚀") == "a\\x1b[2J\\nb\\u2028[red]é🚀"
    assert printable("\u202eevil\ud800") == "\\u202eevil\\ud800"
    assert printable("👩\u200d🔬 \u00adsoft") == "👩\u200d🔬 \u00adsoft"


def test_decimals_are_read_as_the_nearest_number(tmp_path):
    frame = table()
    frame["height"] = np.random.default_rng(1).normal(size=len(frame)) * 1e-7
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert read_data(tmp_path / "t.csv", None).X["height"].tolist() == frame["height"].tolist()


def test_a_mark_of_excel_at_the_beginning_is_not_part_of_the_first_name(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False, encoding="utf-8-sig")
    assert list(read_data(tmp_path / "t.csv", None).X.columns) == ["height", "weight", "member"]


def test_constant_columns_are_a_note(tmp_path, out):
    table().assign(year=2024).to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out)
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: ")
    assert "year" in result.stderr
    assert "Warning" not in result.stderr


def test_options_reach_the_discretizer(csv, out):
    result = distill(
        *(csv, "--out", out, "--no-round", "--p0", 0.55, "--p1", 0.99, "--lambda0", 0, "--lambda1", 0.5, "--lambda2", 0.1),
        *(
            "--margin",
            0.001,
            "--merge-tolerance",
            0.05,
            "--jobs",
            2,
            "--time-limit",
            60,
            "--max-depth",
            1,
            "--random-state",
            7,
        ),
    )
    assert result.exit_code == 0, result.stderr
    frame = pd.read_csv(out / "thresholds.csv")
    assert (frame["threshold"] - frame["cut"]).abs().max() < 1e-6
    assert "depth 1, 2 leaves" in result.stdout


# --- data that cannot be used -------------------------------------------------------------------------------------------


def _with(column: str, row: int, value: object) -> pd.DataFrame:
    frame = table().astype({column: object})
    frame.loc[row, column] = value
    return frame


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


BAD_DATA = {
    "a text among numbers": (_csv(_with("weight", 7, "heavy")), ["'weight'", "'heavy'", "row 7", "--categorical 'weight'"]),
    "nothing in a column": (_csv(table().assign(city=None)), ["'city'", "only missing values", "Remove"]),
    "question marks only": (_csv(table().assign(city="?")), ["'city'", "only missing values"]),
    "names only": (
        _csv(table()[["label"]].assign(name=[f"n{i}" for i in range(80)])),
        ["no feature columns", "'name'", "80 different strings", "--keep 'name'"],
    ),
    "infinite": (_csv(_with("height", 4, "-inf")), ["'height'", "infinite", "-inf", "row 4"]),
    "too large": (_csv(_with("height", 4, "1e999")), ["'height'", "infinite", "row 4"]),
    "too large to subtract": (_csv(_with("height", 4, "-1e305")), ["'height'", "1e+305", "Rescale"]),
    "repeated": (b"a,b,a,label\n1,2,3,x\n2,3,4,y\n", ["repeated", "'a'"]),
    "repeated label": (b"a,label,label\n1,x,x\n2,y,y\n", ["repeated", "'label'"]),
    "nameless": (table().to_csv().encode(), ["Column 1 of 5 has no name", "index=False"]),
    "no label": (_csv(table().rename(columns={"label": "grade"})), ["--label", "'height'", "'grade'"]),
    "two labels": (_csv(table().assign(y=1)), ["'label'", "'y'", "--label"]),
    "missing label": (_csv(_with("label", 3, None)), ["'label'", "1 missing", "row 3"]),
    "fractional label": (_csv(table().assign(label=np.arange(80) / 7)), ["'label'", "0.142857", "classes"]),
    "one class": (_csv(table().assign(label="same")), ["'label'", "one class", "'same'"]),
    "one row each": (_csv(table().assign(label=np.arange(80))), ["Too few rows", "80 rows of 80 classes"]),
    "rare class": (_csv(_with("label", 3, "rare")), ["'rare'", "--test-size 0"]),
    "few rows": (b"a,label\n1,x\n2,y\n3,x\n4,y\n", ["Too few rows", "1 of 4", "--test-size 0"]),
    "no rows": (b"a,b,label\n", ["no rows"]),
    "only labels": (b"label\nx\ny\nx\ny\n", ["only the label column", "'label'"]),
    "empty": (b"", ["empty"]),
    "blank": (b"\n\n  \n", ["empty"]),
    "semicolons": (b"a;b;label\n1;2;x\n", ["commas", "semicolons"]),
    "no header": (b"5.1,3.5,setosa\n4.9,3.0,setosa\n", ["first line", "column names"]),
    "surplus fields": (b"a,label\n1,x,9\n2,y,9\n", ["Line 2 of", "has 3 fields", "2 column names", "1 more line has"]),
    "semicolons and decimal commas": (b"a;label\n1,5;x\n2,5;y\n", ["semicolons", "sep=';'"]),
    "tabs": (b"a\tlabel\n1\tx\n2\ty\n", ["tabs", "Expected commas"]),
    "a surplus field": (b"a,label\n1,x\n2,y,9\n", ["Line 3 of t.csv has 3 fields", "2 column names", "needs quotes"]),
    "a short line": (b"a,b,label\n1,2,x\n\n3,y\n4,5,x\n", ["Line 4 of t.csv has 2 fields", "3 column names", "empty field"]),
    "short after quotes": (b'a,b,label\r\n"1\r\n\r\n",2,x\r\n3\r\n', ["Line 5 of t.csv has 1 field,", "Expected 3"]),
    "latin-1": ("größe,label\n1,x\n".encode("latin-1"), ["UTF-8"]),
    "zeros": (b"\0\0\0\0\0\0", []),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_named_and_nothing_is_written(tmp_path, kind):
    content, mentioned = BAD_DATA[kind]
    (tmp_path / "t.csv").write_bytes(content)
    _check_refused(tmp_path, distill(tmp_path / "t.csv", "--out", tmp_path / "out"), mentioned, ["t.csv"])


BAD_FILES = {
    "t.csv.gz": (b"not compressed", ["t.csv.gz", "gzip"]),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", ["cut.csv.gz"]),
    "t.parquet": (b"not parquet at all", ["t.parquet"]),
    "t.xlsx": (b"x", ["t.xlsx", ".csv, .csv.gz, .parquet"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_named_and_nothing_is_written(tmp_path, name):
    content, mentioned = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    _check_refused(tmp_path, distill(tmp_path / name, "--out", tmp_path / "out"), mentioned, [name])


def test_bad_columns_of_parquet_are_named(tmp_path):
    for name, value in (("day", pd.Timestamp("2024-02-29")), ("tags", [["x"]] * 80)):
        table().assign(**{name: value}).to_parquet(tmp_path / "t.parquet")
        mentioned = [f"'{name}'", "neither numbers nor strings", "2024-02-29" if name == "day" else "x", "row 0"]
        _check_refused(tmp_path, distill(tmp_path / "t.parquet", "--out", tmp_path / "out"), mentioned, ["t.parquet"])


def test_a_file_that_is_absent_or_a_directory_is_named(tmp_path):
    _check_refused(tmp_path, distill(tmp_path / "t.csv", "--out", tmp_path / "out"), ["no file", "t.csv"], [])
    (tmp_path / "t.csv").mkdir()
    _check_refused(tmp_path, distill(tmp_path / "t.csv", "--out", tmp_path / "out"), ["not a file", "t.csv"], ["t.csv"])


def test_a_label_that_is_not_there_lists_the_columns(tmp_path, csv):
    result = distill(csv, "--label", "grade", "--out", tmp_path / "out")
    _check_refused(tmp_path, result, ["'grade'", "'height', 'weight', 'member', 'label'"], ["people.csv"])
    result = distill("--label", "grade", "--out", tmp_path / "out")
    _check_refused(tmp_path, result, ["--label grade", "without a file"], ["people.csv"])


def _check_refused(directory: Path, result, mentioned: list[str], remaining: list[str]) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") <= 2
    assert "Traceback" not in result.stderr
    for text in mentioned:
        assert text in result.stderr
    assert files_in(directory) == remaining


# --- options that cannot be used ----------------------------------------------------------------------------------------

BAD_OPTIONS = [
    ("--q", "1.5"),
    ("--q", "nan"),
    ("--p0", "-0.1"),
    ("--p1", "2"),
    ("--lambda0", "-1"),
    ("--lambda1", "inf"),
    ("--lambda2", "nan"),
    ("--margin", "0"),
    ("--merge-tolerance", "some"),
    ("--merge-tolerance", "nan"),
    ("--merge-tolerance", "2"),
    ("--test-size", "1"),
    ("--test-size", "-0.2"),
    ("--random-state", "-1"),
    ("--max-depth", "0"),
    ("--jobs", "0"),
    ("--time-limit", "-1"),
    ("--time-limit", "nan"),
]


@pytest.mark.parametrize(("option", "value"), BAD_OPTIONS)
def test_bad_options_are_refused_before_any_work(tmp_path, monkeypatch, option, value):
    monkeypatch.setattr(fcca.cli._distill_steps, "distillation", lambda *args, **kwargs: pytest.fail("work has begun"))
    _check_refused(tmp_path, distill(option, value, "--out", tmp_path / "out"), [f"{option} is ", "Expected"], [])


def test_p0_above_p1_raises_an_error(tmp_path):
    result = distill("--p0", 0.9, "--p1", 0.6, "--out", tmp_path / "out")
    _check_refused(tmp_path, result, ["--p0 (0.9)", "--p1 (0.6)"], [])


def test_an_unknown_model_or_a_text_for_a_number_is_refused(tmp_path):
    for option, value in (("--model", "forest"), ("--q", "many")):
        result = distill(option, value, "--out", tmp_path / "out")
        assert result.exit_code == 2
        assert option in result.stderr
        assert not (tmp_path / "out").exists()


def test_errors_of_the_library_are_shown(tmp_path):
    result = distill("--p0", 0.51, "--p1", 0.5100001, "--out", tmp_path / "out")
    _check_refused(tmp_path, result, ["Lower p0 or raise p1"], [])


# --- files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["file", "file/sub", "taken"])
def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, monkeypatch, place):
    (tmp_path / "file").write_text("x")
    (tmp_path / "taken" / "thresholds.json").mkdir(parents=True)
    monkeypatch.setattr(fcca.cli._read_table, "bundled_data", lambda: pytest.fail("work has begun"))
    result = distill("--out", tmp_path / place)
    _check_refused(tmp_path, result, [str(tmp_path / place)], ["file", "taken"])
    assert (tmp_path / "file").read_text() == "x"


def test_a_failure_while_writing_leaves_the_old_files(csv, out, monkeypatch):
    assert distill(csv, "--out", out).exit_code == 0
    before = {name: (out / name).read_bytes() for name in FILES}

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = distill(csv, "--out", out, "--random-state", 1)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "proven optimal" in result.stdout  # what was computed is not lost
    assert "Written" not in result.stdout
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_full_disk_is_reported_and_leaves_the_old_files(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if mounted.returncode:
        pytest.skip("mounting is not permitted")
    try:
        (disk / "thresholds.csv").write_text("old")
        result = run_process("distill", "--out", disk)
        assert result.returncode == 1
        assert "No space left on device" in result.stderr
        assert "Traceback" not in result.stderr
        assert files_in(disk) == ["thresholds.csv"]
        assert (disk / "thresholds.csv").read_text() == "old"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_interrupt_while_writing_leaves_the_old_files(csv, out, monkeypatch):
    assert distill(csv, "--out", out).exit_code == 0
    before = {name: (out / name).read_bytes() for name in FILES}

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_parquet", interrupted)
    result = distill(csv, "--out", out, "--random-state", 1)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")  # that it was interrupted, main says
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_counterfactuals_within_a_gap_are_counted_and_certified(csv, out):
    result = distill(csv, "--out", out, "--relative-gap", 0.1)
    assert result.exit_code == 0
    assert " within the gap" in result.stdout
    lines = pd.read_parquet(out / "counterfactuals.parquet")
    assert set(lines["status"]) == {"within_gap"}
    assert len(pd.read_csv(out / "thresholds.csv")) > 0
    document = json.loads((out / "certificate.json").read_text())
    assert document["parameters"]["relative_gap"] == 0.1
    assert set(document["statuses"]) == {"within_gap"}


def test_unverified_counterfactuals_are_an_error_after_the_files_are_written(csv, out, monkeypatch):
    verified = CounterfactualEngine._verified

    def one_fails(self, X, found):
        found = verified(self, X, found)
        found.status_code[0] = STATUSES.index("unverified")
        return found

    monkeypatch.setattr(CounterfactualEngine, "_verified", one_fails)
    result = distill(csv, "--out", out)
    assert result.exit_code == 3
    assert ", 1 unverified" in result.stdout
    assert result.stderr.startswith("Error: 1 of ")
    assert result.stderr.count("\n") == 1
    assert (pd.read_parquet(out / "counterfactuals.parquet")["status"] == "unverified").any()
    assert files_in(out) == FILES


# --- what is printed ----------------------------------------------------------------------------------------------------


def test_quiet_prints_nothing(tmp_path, out):
    table().assign(year=2024).to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert files_in(out) == FILES


@pytest.mark.slow
def test_without_a_terminal_there_are_no_control_characters_and_80_columns_suffice(tmp_path):
    result = run_process("distill", "--out", tmp_path / "out", env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0
    assert re.fullmatch(r"([\w ,]+: .* (left|so far)\n)*", result.stderr)  # on a slow machine, how far it is
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", result.stdout)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "…" not in result.stdout  # nothing is cut off


@pytest.mark.slow
def test_a_terminal_without_the_characters_gets_question_marks(tmp_path):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run_process("distill", "--out", tmp_path / "out", env=env)
    assert result.returncode == 0
    assert "?" in result.stdout


def test_version_and_help():
    version = run("--version")
    assert version.exit_code == 0
    assert version.stdout == f"fcca {fcca.__version__}\n"
    for text in (run("--help").stdout, run().output):
        assert all(
            re.search(rf"│ {name} +\w", text)
            for name in ("distill", "scorecard", "explain", "report", "export", "benchmark")
        )
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", run("distill", "--help").stdout).split())
    for mentioned in (
        "fcca distill loans.csv --label default",
        "100 boosted trees of depth 2 (gb, the default)",
        "a random forest of 100 trees of depth 4 (rf)",
        "counterfactuals.parquet",
        "starting at 0",
        "--merge-tolerance",
    ):
        assert mentioned in text


@pytest.mark.parametrize("command", ["distill", "scorecard", "explain", "report", "export", "benchmark"])
def test_every_command_has_examples_and_exit_codes(command):
    text = " ".join(run(command, "--help", columns=100).stdout.split())
    assert f"fcca {command} " in text.partition("Examples")[2]
    assert "Exit codes: 0 done; 1 " in text
    narrow = run(command, "--help", columns=60).stdout
    assert max(len(line) for line in narrow.splitlines()) <= 60


def test_wrong_commands_and_options_are_answered_with_the_right_ones():
    for arguments, meant in ((["distil"], "distill"), (["distill", "--modle", "gb"], "--model")):
        result = run(*arguments)
        assert result.exit_code == 2
        assert meant in result.stderr
