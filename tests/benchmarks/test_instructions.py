"""The guard of the core's instruction counts fails where a kernel takes more of them, and nowhere else."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("instructions", ROOT / "benchmarks" / "instructions.py")
guard = importlib.util.module_from_spec(_spec)
sys.modules["instructions"] = guard
_spec.loader.exec_module(guard)

HERE = {
    "compiler": "gcc 12.2.0",
    "architecture": "x86_64",
    "C library": "glibc 2.36",
    "C++ library": "libstdc++ 20220819",
    "vectors": "avx2",
    "valgrind": "3.19.0",
    "flags": "-O3",
}


def count(instructions, nodes=10, answer=1.5):
    return guard.Count(instructions, nodes, answer)


RECORDED = {"search": count(100_000), "cells": count(50_000)}


class FakeCounter:
    """In place of callgrind; counts are taken one after the other, the last one again and again."""

    def __init__(self, counts, environment=HERE):
        self.counts = {kernel: list(values) for kernel, values in counts.items()}
        self.said = environment

    def kernels(self):
        return list(self.counts)

    def environment(self):
        return dict(self.said)

    def count(self, kernel):
        values = self.counts[kernel]
        return count(values.pop(0) if len(values) > 1 else values[0])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command with counts that are given, beside a record in a folder of its own."""
    path = tmp_path / "instructions.json"
    monkeypatch.setattr(guard, "ROOT", tmp_path)
    monkeypatch.setattr(guard, "BASELINES", path)
    monkeypatch.setattr(guard, "build", lambda folder: folder / "instructions")
    monkeypatch.setattr(guard, "_program", lambda name, hint: name)
    guard.write_baseline(path, guard.Baseline(HERE, RECORDED))

    def run(*arguments, environment=HERE, **counts):
        counts = counts or {"search": [100_000], "cells": [50_000]}
        monkeypatch.setattr(guard, "Counter", lambda program, valgrind: FakeCounter(counts, environment))
        code = guard.main(arguments)
        said = capsys.readouterr()
        return code, said.out + said.err

    run.path = path
    return run


def test_equal_counts_pass(run):
    code, said = run()
    assert code == 0
    assert "PASS: 2 kernels, none takes" in said


@pytest.mark.parametrize(("instructions", "code"), [(102_000, 0), (102_001, 1)])
def test_a_kernel_fails_from_just_above_two_percent(run, instructions, code):
    assert run(search=[instructions], cells=[50_000])[0] == code


def test_a_failure_names_kernel_counts_change_and_how_to_accept_it(run):
    _, said = run(search=[103_500], cells=[50_000])
    row = next(line for line in said.splitlines() if line.startswith("search"))
    assert re.split(r"\s{2,}", row) == ["search", "100,000", "103,500", "+3.50%", "over 2% more"]
    assert "FAIL: search (over 2% more)." in said
    assert "python benchmarks/instructions.py --accept" in said


def test_more_in_one_kernel_is_not_made_up_for_by_less_in_another(run):
    code, said = run(search=[103_000], cells=[10_000])
    assert code == 1
    assert "Fewer than recorded" in said


def test_fewer_instructions_pass_with_the_hint_to_record_them(run):
    code, said = run(search=[90_000], cells=[50_000])
    assert code == 0
    assert re.search(r"Fewer than recorded.*: search\. Keep it: .*--accept", said)


def test_small_steps_add_up_until_they_fail(run):
    assert [run(search=[n], cells=[50_000])[0] for n in (101_000, 102_000, 103_000)] == [0, 0, 1]


def test_a_kernel_that_is_not_recorded_fails(run):
    code, said = run(search=[100_000], cells=[50_000], trees=[7])
    assert code == 1
    assert "trees (not recorded)" in said


def test_a_recorded_kernel_that_is_gone_fails(run):
    code, said = run(search=[100_000])
    assert code == 1
    assert "cells (recorded, but no kernel any more)" in said


def test_another_answer_fails_however_fast(run):
    lines = guard.compare(RECORDED, RECORDED | {"cells": count(10, answer=1.6)})
    well, said = guard.verdict(lines)
    assert not well
    assert "cells (another answer: 1.6, not 1.5)" in said


def test_more_nodes_are_shown_beside_the_change(run):
    text = guard.table(guard.compare(RECORDED, RECORDED | {"search": count(101_000, nodes=1200)}))
    assert "+1.00%  10 → 1,200 nodes" in text


def test_only_the_kernels_asked_for_are_compared(run):
    code, said = run("search", search=[100_000], cells=[99_000_000])
    assert code == 0
    assert "cells" not in said


def test_an_unknown_kernel_is_refused_with_those_there_are(run):
    code, said = run("serach")
    assert code == 2
    assert "There is no kernel 'serach'. Choose from: search; cells." in said


@pytest.mark.parametrize(
    ("changed", "strict", "code"),
    [
        ({"compiler": "gcc 13.1.0"}, "never", 0),
        ({"compiler": "gcc 13.1.0"}, "recorded", 0),
        ({"compiler": "gcc 13.1.0"}, "always", 1),
        ({"architecture": "aarch64"}, "recorded", 0),
        ({"C library": "glibc 2.41"}, "never", 0),
        ({"C library": "glibc 2.41"}, "recorded", 1),
        ({"vectors": "sse2"}, "recorded", 1),
    ],
)
def test_counts_of_another_compiler_or_processor_are_not_compared(run, changed, strict, code):
    ended, said = run("--strict", strict, environment=HERE | changed, search=[900_000], cells=[50_000])
    assert ended == code
    assert "NOT COMPARED: no baseline for" in said
    assert "% more" not in said


def test_a_patch_release_of_the_compiler_or_another_valgrind_is_compared(run):
    environment = HERE | {"compiler": "gcc 12.4.1", "valgrind": "3.24.0"}
    assert run(environment=environment, search=[103_000], cells=[50_000])[0] == 1


def test_changed_flags_are_compared_and_named(run):
    code, said = run(environment=HERE | {"flags": "-O2"}, search=[150_000], cells=[50_000])
    assert code == 1
    assert "recorded were -O3" in said


def test_what_is_accepted_passes_from_then_on(run):
    assert run("--accept", search=[140_000], cells=[50_000])[0] == 0
    assert run(search=[140_000], cells=[50_000])[0] == 0


def test_accepting_leaves_the_counts_of_other_compilers(run):
    run("--accept", environment=HERE | {"compiler": "clang 16.0.6"}, search=[80_000], cells=[40_000])
    baselines = guard.read_baselines(run.path)
    assert baselines["gcc 12, x86_64"].kernels == RECORDED
    assert baselines["clang 16, x86_64"].kernels["search"].instructions == 80_000


def test_counts_that_vary_are_not_recorded(run):
    before = run.path.read_bytes()
    code, said = run("--accept", search=[100_000, 100_200], cells=[50_000])
    assert code == 2
    assert "“search” is not reproducible: 100,000, 100,200 instructions." in said
    assert run.path.read_bytes() == before


def test_a_record_keeps_one_line_per_kernel(run):
    kernels = [line for line in run.path.read_text(encoding="utf-8").splitlines() if '"instructions"' in line]
    assert len(kernels) == 2
    assert json.loads("{" + kernels[0].strip().rstrip(",") + "}") == {
        "search": {"instructions": 100_000, "nodes": 10, "answer": 1.5}
    }


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"baselines": {"gcc 12, x86_64": {}}}', '{"baselines": {"a": {"environment": {}, "kernels": {"b": 3}}}}'],
)
def test_a_broken_record_is_named_before_anything_is_built(run, monkeypatch, text):
    monkeypatch.setattr(guard, "build", lambda folder: pytest.fail("built"))
    run.path.write_text(text, encoding="utf-8")
    code, said = run()
    assert code == 2
    assert "instructions.json is not a record of instruction counts" in said


def test_without_valgrind_it_says_how_to_get_it_before_anything_is_built(monkeypatch, capsys):
    monkeypatch.setattr(guard, "build", lambda folder: pytest.fail("built"))
    monkeypatch.setattr(guard.shutil, "which", lambda *_, **__: None)
    assert guard.main([]) == 2
    assert "valgrind was not found. Install it (Debian: apt-get install valgrind)" in capsys.readouterr().err


def test_the_record_holds_every_kernel_of_the_program():
    kernels = set(
        re.findall(
            r'^ +\{"([^"]+)", \[\]', (ROOT / "benchmarks" / "instructions.cpp").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert len(kernels) > 10
    for baseline in guard.read_baselines(guard.BASELINES).values():
        assert set(baseline.kernels) == kernels


def test_a_baseline_is_recorded():
    assert guard.read_baselines(guard.BASELINES)
