"""``fcca distill`` over a Parquet file that is read in chunks: the same results, whatever the chunks."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import fcca.cli._split
from command_line import check_refused, distill, files_in, run
from fcca.cli._split import BLOCK, Split
from fcca.streaming import ParquetTable
from real_data import imported
from streamed_tables import SAME_FILES, both, categories, people, with_gaps


@pytest.fixture(autouse=True)
def _small_chunks_and_models(monkeypatch):
    monkeypatch.setattr("fcca.cli._models.ROUNDS", 40)
    monkeypatch.setitem(ParquetTable.__init__.__kwdefaults__, "rows_at_a_time", 70)


# --- the same results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row_group_size", [1, 7, 1000])
@pytest.mark.parametrize("test_size", [0, pytest.param(0.3, marks=pytest.mark.verify)])
def test_numbers_give_the_same_whatever_the_row_groups(tmp_path, row_group_size, test_size):
    found, _ = both(tmp_path, people(), "--test-size", test_size, row_group_size=row_group_size)
    assert found["sample"] is None  # so few rows are all fitted on
    assert (found["rates"]["held_out"] is None) == (test_size == 0)


@pytest.mark.parametrize("row_group_size", [1, 1000])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--sample", 80),
        pytest.param(("--sample", 80, "--test-size", 0, "--categorical", "region"), marks=pytest.mark.verify),
        ("--model", "hgb", "--sample", 80, "--categorical", "region"),
    ],
    ids=lambda options: " ".join(map(str, options)) or "default",
)
def test_categories_and_missing_values_give_the_same(tmp_path, options, row_group_size):
    found, _ = both(tmp_path, categories(), *options, row_group_size=row_group_size)
    assert found["sample"] == (80 if "--sample" in options else None)
    assert any("counts as a missing value" in note for note in found["notes"])


@pytest.mark.verify
@pytest.mark.parametrize(("model", "library"), [("catboost", "catboost"), ("xgb", "xgboost"), ("lgbm", "lightgbm")])
def test_libraries_that_keep_no_labels_give_the_same(tmp_path, model, library):
    imported(library)
    both(tmp_path, categories(), "--model", model, "--sample", 80)


@pytest.mark.parametrize("options", [(), ("--sample", 60)], ids=["all", "sample"])
@pytest.mark.parametrize("model", ["gb", pytest.param("logistic", marks=pytest.mark.verify)])
def test_missing_numbers_and_booleans_give_the_same(tmp_path, model, options):
    both(tmp_path, with_gaps(), "--model", model, *options)


@pytest.mark.parametrize(
    "options",
    [("--thresholds", 3), ("--fit-to", "target", "--q", 0.5), ("--no-counterfactuals",), ("--decision-threshold", 0.3)],
    ids=lambda options: options[0][2:],
)
def test_options_give_the_same(tmp_path, options):
    both(tmp_path, people(), "--sample", 60, *options)


def test_rules_give_the_same_and_are_checked_before_anything_is_fitted(tmp_path, monkeypatch):
    (tmp_path / "rules.yaml").write_text("immutable: [weight]\nmax_changes: 2\n")
    both(tmp_path, people(), "--sample", 60, "--rules", tmp_path / "rules.yaml")
    (tmp_path / "rules.yaml").write_text("immutable: [wait]\n")
    monkeypatch.setattr("fcca.cli._black_box.target_model", lambda *args: pytest.fail("work has begun"))
    check_refused(distill(tmp_path / "t.parquet", "--stream", "--rules", tmp_path / "rules.yaml"), "wait")


@pytest.mark.parametrize("rule", ['rules: ["height <= weight + 500"]', "one_hot: [[height, weight]]"])
@pytest.mark.parametrize("from_file", [False, True])
def test_rules_that_need_all_rows_raise_errors_with_advice_before_a_pass(tmp_path, monkeypatch, rule, from_file):
    frame = people().astype({"member": float})
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "rules.yaml").write_text(f"{rule}\n")
    file = tmp_path / "model.skops"
    model = GradientBoostingClassifier(max_depth=1, n_estimators=5).fit(frame.drop(columns="label"), frame["label"])
    imported("skops.io").dump(model, file)
    options = ("--model-file", file) if from_file else ()
    monkeypatch.setattr("fcca.cli._row_sources._labels", lambda *args: pytest.fail("a pass has begun"))
    refused = distill(tmp_path / "t.parquet", "--stream", "--rules", tmp_path / "rules.yaml", *options)
    check_refused(refused, "requires all rows at once", "read all rows with --no-stream.")


@pytest.mark.parametrize("from_file", [False, True])
def test_linear_black_boxes_keep_rules_between_columns_in_chunks_too(tmp_path, from_file):
    frame = people().astype({"member": float})
    (tmp_path / "rules.yaml").write_text('rules: ["height <= weight + 500"]\n')
    model = LogisticRegression(max_iter=1000).fit(frame.drop(columns="label"), frame["label"])
    file = tmp_path / "model.skops"
    imported("skops.io").dump(model, file)
    options = ("--model-file", file) if from_file else ("--model", "logistic")
    both(tmp_path, frame, "--rules", tmp_path / "rules.yaml", *options)


def test_three_classes_and_whole_numbers_as_labels_give_the_same(tmp_path):
    frame = people(240)
    frame["label"] = np.digitize(frame["height"] + frame["age"] / 40, [1, 1.7])
    found, _ = both(tmp_path, frame, "--sample", 100)
    assert [one["class"] for one in found["classes"]] == [0, 1, 2]


def test_decimals_are_numbers(tmp_path):
    frame = people()
    decimals = [None if at == 3 else Decimal(f"{height:.4f}") for at, height in enumerate(frame["height"])]
    as_numbers = frame.assign(height=[np.nan if value is None else float(value) for value in decimals])
    found, _ = both(tmp_path, frame.assign(height=decimals), "--sample", 100)
    (tmp_path / "numbers").mkdir()
    expected, _ = both(tmp_path / "numbers", as_numbers, "--sample", 100)
    assert found["thresholds"] == expected["thresholds"]


def test_an_index_that_pandas_has_kept_is_no_column(tmp_path):
    frame = people()
    frame.index = pd.Index([f"person {row}" for row in range(len(frame))], name="who")
    found, _ = both(tmp_path, frame)
    assert found["data"]["columns"] == 5


def test_texts_that_name_rows_are_left_out_by_what_the_sample_has_of_them(tmp_path):
    frame = people().assign(name=[f"person {row}" for row in range(150)])
    for options, seen in (((), 150), (("--sample", 60), 60)):
        found, _ = both(tmp_path, frame, *options)
        (note,) = (note for note in found["notes"] if "'name'" in note)
        assert f"{seen} different strings in {seen} rows" in note
        assert ("of the sample" in note) == bool(options)


def test_rows_with_categories_missing_in_the_sample_are_left_out_with_a_note(tmp_path):
    frame = categories(300)
    training = Split.of(frame["label"].to_numpy(), frame["label"].value_counts().to_dict(), "label", 0.2, 0)
    sample = training.sample(100)
    drawn = np.sort(training.training_rows())
    strange = np.setdiff1d(drawn, sample)[:7]
    held_out = training.held_out_rows()[:1]
    frame.loc[[*strange[:6], *held_out], "purpose"] = "a boat"
    frame["children"] = frame["children"].astype(float)
    frame.loc[strange[6], "children"] = np.nan
    found, _ = both(tmp_path, frame, "--sample", 100)
    assert found["rows"] == {"total": 300, "training": 240 - 7, "held_out": 60}
    first = ", ".join(map(str, np.sort(strange)[:5]))
    assert (
        "7 training rows have categories or missing values that the black box does not know, and are left out: "
        f"rows {first}, … (7 rows) (counted from 0)." in found["notes"]
    )
    assert (
        "1 held-out row has a category or a missing value that the black box does not know: "
        f"row {held_out[0]} (counted from 0). No condition holds for such a value." in found["notes"]
    )


@pytest.mark.parametrize("test_size", [0, pytest.param(0.25, marks=pytest.mark.verify)])
def test_a_model_from_a_file_gives_the_same(tmp_path, test_size):
    frame = people().astype({"member": float})
    model = GradientBoostingClassifier(max_depth=1, n_estimators=30, random_state=0)
    file = tmp_path / "model.skops"
    imported("skops.io").dump(model.fit(frame.drop(columns="label"), frame["label"]), file)
    found, _ = both(tmp_path, frame, "--model-file", file, "--test-size", test_size)
    assert found["sample"] is None
    frame.loc[3, "height"] = np.nan  # which that model cannot answer
    found, _ = both(tmp_path, frame, "--model-file", file, "--test-size", 0)
    assert (
        "1 training row has a category or a missing value that the black box does not know, and is left out: row 3"
        in found["notes"][0]
    )


@pytest.mark.parametrize("model", ["hgb", pytest.param("gb", marks=pytest.mark.verify)])
def test_rows_unknown_to_a_model_from_a_file_are_left_out_with_a_note(tmp_path, model):
    imported("skops")
    frame = categories(300)
    frame.to_parquet(tmp_path / "t.parquet")
    result = distill(tmp_path / "t.parquet", "--model", model, "--save-model", "--out", tmp_path / "model")
    assert result.exit_code == 0, result.output
    split = Split.of(frame["label"].to_numpy(), frame["label"].value_counts().to_dict(), "label", 0.2, 0)
    strange, held_out = np.sort(split.training_rows())[[20, 90, 91, 150, 151, 152]], split.held_out_rows()[:2]
    frame.loc[[*strange[:4], held_out[0]], "purpose"] = "a boat"
    frame["grade"] = frame["grade"].cat.add_categories("none")
    frame.loc[[*strange[4:], held_out[1]], "grade"] = "none"
    found, _ = both(tmp_path, frame, "--model-file", tmp_path / "model" / "model.skops")
    assert found["rows"] == {"total": 300, "training": 240 - 6, "held_out": 60}
    first = ", ".join(map(str, strange[:5]))
    assert found["notes"] == [
        "6 training rows have categories or missing values that the black box does not know, and are left out: "
        f"rows {first}, … (6 rows) (counted from 0).",
        "2 held-out rows have categories or missing values that the black box does not know: "
        f"rows {held_out[0]}, {held_out[1]} (counted from 0). No condition holds for such a value.",
    ]
    lines = pd.read_parquet(tmp_path / "no-stream" / "counterfactuals.parquet")
    assert not np.isin(lines["row"], [*strange, *held_out]).any()
    frame["purpose"] = "a boat"
    frame.to_parquet(tmp_path / "t.parquet")
    for mode in ("--stream", "--no-stream"):
        refused = distill(tmp_path / "t.parquet", mode, "--model-file", tmp_path / "model" / "model.skops")
        check_refused(refused, "Every training row has an unknown category or an unexpected missing value")


def test_the_sample_is_the_same_for_csv(tmp_path):
    frame = categories()
    both(tmp_path, frame, "--sample", 80, "--categorical", "region")
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = distill(
        tmp_path / "t.csv", "--sample", 80, "--categorical", "region", "--categorical", "grade", "--out", tmp_path
    )
    assert result.exit_code == 0, result.output
    assert "sample of 80 of 160 rows" in result.stdout
    rows = [pd.read_parquet(folder / "counterfactuals.parquet")["row"] for folder in (tmp_path, tmp_path / "stream")]
    assert set(rows[0]) == set(rows[1])


# --- rows held out, rows drawn ------------------------------------------------------------------------------------------


def test_beyond_a_million_rows_the_hold_out_needs_no_labels():
    n = 3 * BLOCK + 17
    counts = {"a": n, "b": fcca.cli._split.MOST_STRATIFIED}
    split = Split.of(None, counts, "label", 0.2, random_state=5)
    training, held_out = split.training_rows(), split.held_out_rows()
    assert np.array_equal(np.sort(np.concatenate([training, held_out])), np.arange(sum(counts.values())))
    assert abs(len(held_out) / split.n_rows - 0.2) < 0.002
    assert split.n_training == len(training)
    is_held_out = np.zeros(split.n_rows, dtype=bool)
    is_held_out[held_out] = True
    for begin, end in ((0, 1), (BLOCK - 3, BLOCK + 5), (17, 3 * BLOCK), (split.n_rows - 1, split.n_rows)):
        assert np.array_equal(split.held_out(begin, end), is_held_out[begin:end])
    assert not np.array_equal(held_out[:1000], Split.of(None, counts, "label", 0.2, random_state=6).held_out_rows()[:1000])


def test_beyond_that_both_ways_of_reading_hold_out_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(fcca.cli._split, "MOST_STRATIFIED", 100)
    monkeypatch.setattr("fcca.cli._row_sources.MOST_STRATIFIED", 100)
    monkeypatch.setattr(fcca.cli._split, "BLOCK", 64)
    fcca.cli._split._numbers.cache_clear()
    found, _ = both(tmp_path, people(), "--sample", 60)
    fcca.cli._split._numbers.cache_clear()
    assert 10 < found["rows"]["held_out"] < 50
    assert found["rows"]["training"] + found["rows"]["held_out"] == 150


@pytest.mark.parametrize("stratified", [True, False])
def test_the_sample_is_of_the_rows_to_learn_from_each_as_likely(monkeypatch, stratified):
    monkeypatch.setattr(fcca.cli._split, "MOST_STRATIFIED", 1000 if stratified else 10)
    y = np.repeat(["a", "b"], 30)
    drawn = np.zeros(60)
    for seed in range(200):
        split = Split.of(y, {"a": 30, "b": 30}, "label", 0.5, seed)
        sample = split.sample(10)
        assert len(np.unique(sample)) == 10
        assert np.isin(sample, split.training_rows()).all()
        assert np.array_equal(sample, np.sort(sample))
        drawn[sample] += 1
    assert split.sample(None) is None
    assert split.sample(split.n_training) is None
    assert split.sample(split.n_training - 1) is not None
    assert drawn.min() > 10  # 33 expected, with a standard deviation of 5
    assert drawn.max() < 60


# --- what is said -------------------------------------------------------------------------------------------------------


def test_the_summary_says_how_the_table_was_read_and_what_the_black_box_was_fitted_on(tmp_path, monkeypatch):
    monkeypatch.setattr("fcca.cli._row_sources.LARGEST_SAMPLE", 70)
    path = tmp_path / "t.parquet"
    people().to_parquet(path)
    result = distill(path, "--stream", "--out", tmp_path / "out")
    assert "150 rows × 5 columns, read in chunks" in result.stdout
    assert "fitted on a sample of 70 of 120 rows" in result.stdout
    result = distill(path, "--out", tmp_path / "out")
    assert "150 rows × 5 columns" in result.stdout
    assert "read in chunks" not in result.stdout
    assert "sample" not in result.stdout


def test_large_parquet_files_are_streamed_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr("fcca.cli._distill_command.STREAMED_FROM", 900)
    path, small = tmp_path / "t.parquet", tmp_path / "small.parquet"
    people().to_parquet(path)
    people(149).to_parquet(small)
    people().to_csv(tmp_path / "t.csv", index=False)
    for file, options, streamed in (
        (path, (), True),
        (path, ("--no-stream",), False),
        (small, (), False),
        (tmp_path / "t.csv", (), False),
    ):
        result = distill(file, *options, "--json", "--out", tmp_path / "out")
        assert json.loads(result.stdout)["streamed"] is streamed
    for option, words in ((("--thresholds", "auto"), "--thresholds auto"), (("--open",), "--open")):
        result = distill(path, *option, "--out", tmp_path / "other", report=True)
        check_refused(result, f"{words} was given for t.parquet, which is so large that it is read in chunks", "--no-stream")
    assert not (tmp_path / "other").exists()


def test_every_step_has_its_seconds(tmp_path):
    found, in_memory = both(tmp_path, with_gaps(), "--sample", 60)
    passes = ["ranges", "medians", "distances", "counterfactuals", "rows", "tree"]
    steps = ["labels", "sample", "target", *passes, "fcca", "rates", "files"]
    assert list(found["seconds"]) == [*steps, "report"]
    parts = [found["seconds"][step] for step in passes]
    assert sum(parts) == pytest.approx(found["seconds"]["fcca"])
    assert min(parts) >= 0
    assert list(in_memory["seconds"]) == ["target", "fcca", "rates", "files", "report"]


def test_there_is_no_report_and_a_note_mentions_an_older_one(tmp_path, out):
    path = tmp_path / "t.parquet"
    people().to_parquet(path)
    result = distill(path, "--stream", "--out", out, report=True)
    assert "report.html and certificate.json are not written" in result.stderr
    assert "--no-stream" in result.stderr
    assert "earlier run" not in result.stderr
    assert files_in(out) == ["counterfactuals.parquet", *SAME_FILES]
    (out / "report.html").write_text("old")
    result = distill(path, "--stream", "--out", out, report=True)
    assert "report.html is from an earlier run" in re.sub(r"\s+", " ", result.stderr)
    assert (out / "report.html").read_text() == "old"


@pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
def test_counterfactuals_are_left_out_where_nobody_wants_them(tmp_path, out, mode):
    path = tmp_path / "t.parquet"
    people().to_parquet(path)
    result = distill(path, mode, "--no-counterfactuals", "--out", out)
    assert files_in(out) == list(SAME_FILES)
    assert "counterfactuals.parquet" not in result.output
    distill(path, mode, "--out", out)
    result = distill(path, mode, "--no-counterfactuals", "--out", out)
    assert "counterfactuals.parquet is from an earlier run" in result.stderr


def test_the_help_has_a_panel_for_large_tables():
    text = run("distill", "--help", columns=120).stdout
    panel = text[text.index("Large tables") :]
    for option in ("--stream", "--no-stream", "--sample", "--no-counterfactuals"):
        assert option in panel


def test_a_report_on_a_huge_table_says_that_a_sample_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr("fcca.cli._report_command.STREAMED_FROM", 500)
    frame = people(100).astype({"member": float})
    frame.to_parquet(tmp_path / "t.parquet")
    model = GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0)
    imported("skops.io").dump(model.fit(frame.drop(columns="label"), frame["label"]), tmp_path / "model.skops")
    result = run("report", tmp_path / "model.skops", tmp_path / "t.parquet", "--out", tmp_path / "r.html", "--levels", "0.5")
    assert result.exit_code == 0, result.output
    assert "reads all of t.parquet into memory" in result.stderr
    assert "a sample of the rows" in result.stderr
