"""The synthetic table of the benchmarks is the same however much of it is written, and the measuring around it measures."""

import gzip
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STATUS = Path("/proc/self/status")


def benchmark(name):
    """A module of the benchmarks, which import each other by name; a folder of tests may have the same name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))
        sys.modules.pop(name, None)


synthetic = benchmark("synthetic")
streaming = benchmark("streaming")


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks in few rows."""
    monkeypatch.setattr(synthetic, "BLOCK_ROWS", 1000)


def written(path, *args, **kwargs):
    synthetic.write_synthetic(path, *args, **kwargs)
    return pd.read_parquet(path)


def run_script(*args):
    command = [sys.executable, str(BENCHMARKS / "synthetic.py"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


# --- the synthetic table ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_rows", [1, 999, 1000, 1001, 2500])
def test_a_longer_table_begins_with_the_rows_of_a_shorter_one(tmp_path, n_rows):
    long = written(tmp_path / "long.parquet", 3456)
    assert len(long) == 3456
    short = written(tmp_path / "short.parquet", n_rows)
    pd.testing.assert_frame_equal(short, long.head(n_rows), check_exact=True)


def test_the_same_holds_across_the_blocks_that_are_drawn_at_once(tmp_path):
    n_rows = synthetic.BLOCK_ROWS
    long = written(tmp_path / "long.parquet", n_rows + 10)
    short = written(tmp_path / "short.parquet", n_rows)
    pd.testing.assert_frame_equal(short, long.head(n_rows), check_exact=True)


@pytest.mark.usefixtures("small_blocks")
def test_a_wider_table_begins_with_the_columns_of_a_narrower_one_and_has_its_labels(tmp_path):
    wide, narrow = (written(tmp_path / f"{n}.parquet", 1500, n) for n in (34, 10))
    pd.testing.assert_frame_equal(wide[narrow.columns], narrow, check_exact=True)
    assert wide.shape == (1500, 35)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("row_group", [7, 400, 1000, 2300, 10_000])
def test_row_groups_of_any_size_hold_the_same_rows(tmp_path, row_group):
    table = written(tmp_path / "grouped.parquet", 3456, 12, row_group=row_group)
    pd.testing.assert_frame_equal(table, written(tmp_path / "plain.parquet", 3456, 12), check_exact=True)
    found = pq.read_metadata(tmp_path / "grouped.parquet")
    sizes = [found.row_group(at).num_rows for at in range(found.num_row_groups)]
    assert set(sizes[:-1]) <= {row_group}
    assert 0 < sizes[-1] <= row_group
    assert sum(sizes) == 3456


@pytest.mark.usefixtures("small_blocks")
def test_a_seed_gives_one_file_and_another_seed_other_rows(tmp_path):
    first, again, other = (tmp_path / f"{name}.parquet" for name in ("first", "again", "other"))
    for path, seed in ((first, 3), (again, 3), (other, 4)):
        synthetic.write_synthetic(path, 2500, 12, seed)
    assert first.read_bytes() == again.read_bytes()
    one, two = pd.read_parquet(first), pd.read_parquet(other)
    assert not one["normal_00"].isin(two["normal_00"]).any()
    assert not one["normal_00"][:1000].isin(one["normal_00"][1000:]).any()  # nor does a block repeat another
    assert not one["normal_00"].isin(one["normal_10"]).any()


@pytest.fixture(scope="module")
def block():
    return synthetic.drawn_block(0, 0, 30)


def test_three_of_ten_labels_are_one_and_the_best_classifier_is_right_for_seven_of_eight_rows(block):
    features, labels = block
    chance = synthetic.probability(features)
    assert labels.mean() == pytest.approx(0.3, abs=0.01)
    assert np.maximum(chance, 1 - chance).mean() == pytest.approx(0.875, abs=0.02)
    assert ((chance > 0.5) == labels).mean() == pytest.approx(0.875, abs=0.02)


@pytest.mark.parametrize("at", range(10))
def test_each_of_the_first_ten_columns_matters_to_the_label(block, at):
    features, _ = block
    shuffled = [np.roll(column, 1) if position == at else column for position, column in enumerate(features)]
    assert np.abs(synthetic.probability(shuffled) - synthetic.probability(features)).mean() > 0.02


def test_columns_are_of_different_nature(tmp_path):
    table = written(tmp_path / "table.parquet", 20_000)
    kinds = {name.split("_")[0]: table[name] for name in reversed(table.columns)}
    assert {str(column.dtype) for column in kinds.values()} == {"float64", "float32", "int64", "int16", "int8"}
    for name in ("normal", "lognormal", "uniform"):
        assert kinds[name].is_unique
    for name in ("amount", "rate", "score"):
        values = kinds[name].to_numpy()
        np.testing.assert_array_equal(values, np.round(values, 2))
        assert kinds[name].nunique() < len(table) / 1.5
    assert kinds["rate"].nunique() == 101
    assert kinds["age"].between(18, 95).all()
    assert kinds["count"].min() == 0
    assert set(kinds["flag"]) == set(table["label"]) == {0, 1}
    assert not table.isna().any().any()


@pytest.mark.skipif(not STATUS.exists(), reason="reads the peak memory from /proc/self/status")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import synthetic; from pathlib import Path\n"
    code += "synthetic.write_synthetic(Path(sys.argv[2]), int(sys.argv[3]))\n"
    code += "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    command = [sys.executable, "-c", code, str(BENCHMARKS), str(tmp_path / "table.parquet")]
    sizes = ("100000", "800000")
    peaks = [int(subprocess.check_output([*command, size])) * 1024 / 1e6 for size in sizes]
    assert peaks[1] < 300
    assert peaks[1] - peaks[0] < 100  # the rows themselves would be 110 MB more


# --- a CSV file as Parquet ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_csv_file_becomes_the_same_table_in_row_groups(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(synthetic, "CSV_BLOCK_BYTES", 4096)  # several blocks
    table = synthetic.names(3)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 3)), columns=table)
    frame["label"] = (frame[table[0]] > 0).astype(int)
    csv = tmp_path / f"table{ending}"
    frame.to_csv(csv, index=False)
    synthetic.write_csv_as_parquet(csv, tmp_path / "table.parquet", 300)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), frame, check_exact=True)
    found = pq.read_metadata(tmp_path / "table.parquet")
    assert [found.row_group(at).num_rows for at in range(found.num_row_groups)] == [300, 300, 300, 100]


@pytest.mark.parametrize("text", ["", "a,label\n", "a,label\n1,0\n2,0,7\n"], ids=["empty", "header", "ragged"])
def test_a_csv_file_that_is_no_table_is_refused_and_the_old_file_stays(tmp_path, text):
    csv, out = tmp_path / "table.csv", tmp_path / "table.parquet"
    csv.write_text(text)
    out.write_text("old")
    result = run_script(out, "--csv", csv)
    assert result.returncode == 1
    assert result.stderr.startswith(f"Cannot write {csv} as table.parquet: ")
    assert len(result.stderr.splitlines()) == 1
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.parquet"]


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path):
    csv = tmp_path / "table.csv.gz"
    csv.write_bytes(gzip.compress(b"a,label\n" + b"1,0\n" * 100_000)[:-50])
    with pytest.raises(OSError, match=r".+"):
        synthetic.write_csv_as_parquet(csv, tmp_path / "table.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv.gz"]


# --- the command --------------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_wrote(tmp_path):
    result = run_script(tmp_path / "t.parquet", "--rows", 2500, "--features", 12, "--seed", 3, "--row-group", 1000)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("t.parquet: 2,500 rows, 13 columns, 3 row groups, ")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), written(tmp_path / "u.parquet", 2500, 12, 3))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--rows", 0), "--rows is 0. Expected a whole number of at least 1."),
        (("--features", 9), "--features is 9. Expected a whole number of at least 10."),
        (("--seed", -1), "--seed is -1. Expected a whole number of at least 0."),
        (("--row-group", 0), "--row-group is 0. Expected a whole number of at least 1."),
        (("--csv", "absent.csv"), "There is no file absent.csv."),
        (("--csv", "absent.csv", "--rows", 5), "--rows was given with --csv"),
    ],
    ids=["rows", "features", "seed", "row-group", "csv", "csv-and-rows"],
)
def test_what_cannot_be_written_is_refused_at_once(tmp_path, given, said):
    result = run_script(tmp_path / "t.parquet", *given)
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


# --- the benchmark over it ----------------------------------------------------------------------------------------------


def test_the_slope_is_the_power_of_the_rows():
    rows = [10**5, 3 * 10**5, 10**6]
    assert streaming.slope(rows, [2e-6 * n for n in rows]) == pytest.approx(1)
    assert streaming.slope(rows, [2e-6 * n**1.3 for n in rows]) == pytest.approx(1.3)


def test_processor_time_and_peak_memory_are_those_of_the_process_that_was_run():
    # In a process of its own, as the benchmark is: the system counts the memory of the one that starts another.
    code = "import sys; sys.path.insert(0, sys.argv[1]); import streaming\n"
    code += "found = streaming.run([sys.executable, '-c', sys.argv[2]])\n"
    code += "print(found.seconds, found.cpu_seconds, found.peak_megabytes, found.printed)"
    idle, busy = (
        subprocess.check_output([sys.executable, "-c", code, str(BENCHMARKS), what], text=True).split()
        for what in (
            "import time; time.sleep(0.5); print('slept')",
            "kept = b'1' * 300_000_000; print(sum(range(10_000_000)))",
        )
    )
    assert float(idle[0]) > 0.5 > float(idle[1])
    assert float(busy[1]) > float(idle[1])
    assert float(idle[2]) < 100
    assert 300 < float(busy[2]) < 400
    assert (idle[3], busy[3]) == ("slept", "49999995000000")


def test_a_command_that_fails_is_told_with_what_it_said():
    with pytest.raises(SystemExit, match="ended with 3: too large"):
        streaming.run([sys.executable, "-c", "import sys; print('too large', file=sys.stderr); sys.exit(3)"])


def distilled(seconds, tree, peak=500.0, rows=10**6):
    run = streaming.Run(seconds + 10, seconds + 8, peak, "")
    return streaming.Distilled(rows, run, seconds, dict.fromkeys(streaming.COMPARED, b"same") | {"tree.json": tree})


def judged(capsys, *cases):
    streaming.judge(list(cases), list(cases))
    return capsys.readouterr().out.splitlines()


def test_bars_are_met_by_linear_time_little_memory_and_the_same_files(capsys):
    cases = [streaming.Case(str(n), distilled(n / 1e5, b"a", rows=n), distilled(n, b"a")) for n in (10**5, 10**6)]
    lines = judged(capsys, *cases)
    assert [line[:4] for line in lines] == ["PASS"] * 3
    assert "100,000 to 1,000,000 rows: 1.00 (" in lines[1]


def test_each_bar_can_be_missed(capsys):
    small = streaming.Case("small", distilled(1, b"a", rows=10**5), distilled(1, b"a"))
    large = streaming.Case("large", distilled(20, b"a", peak=1500.0), distilled(1, b"b"))
    lines = judged(capsys, small, large)
    assert [line[:4] for line in lines] == ["MISS", "MISS", "MISS", "    "]
    assert "1,500 MB (large)" in lines[0]
    assert lines[3].strip() == "large differs in tree.json"


def test_a_short_range_is_not_judged(capsys):
    cases = [streaming.Case(str(n), distilled(n, b"a", rows=n), None) for n in (10**5, 3 * 10**5)]
    lines = judged(capsys, *cases)
    assert lines[1].startswith("Too short a range to judge: ")
    assert lines[2] == "No table was run in memory: nothing to compare the files with."


def test_a_billion_rows_are_divided_among_the_cores(capsys):
    streaming.extrapolate(distilled(100.0, b"a", rows=10**6))  # 10,000 rows per second
    assert "27.78 hours on 1 core, 1.74 hours on 16 cores, 0.22 hours on 128 cores" in capsys.readouterr().out
