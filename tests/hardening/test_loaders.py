"""Damaged files of every kind that can be loaded: a typed error or success, never a crash, a hang or another exception."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from fcca.constraints import load_rules
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.models import load_model
from fcca.models.files._trial_load import ENVIRONMENT
from hardening.mutations import mutated
from hardening.seeds import KINDS
from real_data import imported

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of memory are POSIX's")

MOST_MEMORY = 3 * 2**30
NEEDED = {
    "skops": ("skops",),
    "skops of boosters": ("skops", "xgboost", "lightgbm", "catboost"),
    "XGBoost json": ("xgboost",),
    "XGBoost ubj": ("xgboost",),
    "LightGBM": ("lightgbm",),
    "CatBoost cbm": ("catboost",),
    "CatBoost json": ("catboost",),
}
# A trial in a fork takes part of a second, and CatBoost has to be imported again in each.
FEW = {"CatBoost cbm": 8, "CatBoost json": 8, "skops of boosters": 15} | dict.fromkeys(
    ("skops", "XGBoost json", "XGBoost ubj", "LightGBM"), 25
)


def outcomes(folder: Path, numbers: dict[str, tuple[int, int]]) -> tuple[dict[tuple[str, int], str], int]:
    """The outcome of each damaged file, and the most memory that one took: opened by another program, in a fork for each."""
    for kind in numbers:
        for at, content in enumerate(KINDS[kind][0]()):
            (folder / f"{kind}-{at}.seed").write_bytes(content)
    wanted = [str(part) for kind, (first, end) in numbers.items() for part in (kind, first, end)]
    command = [sys.executable, "-m", "hardening.opening", str(folder), *wanted]
    environment = os.environ | ENVIRONMENT  # as a child has it: trials are forks of the program
    folder_of_tests = Path(__file__).parents[1]
    ended = subprocess.run(command, cwd=folder_of_tests, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.split("|", 3) for line in ended.stdout.splitlines() if line.count("|") >= 3]
    found = {(kind, int(number)): what for kind, number, _, what in lines}
    return found, max(int(memory) for _, _, memory, _ in lines)


def check(folder: Path, numbers: dict[str, tuple[int, int]]) -> None:
    expected = sum(end - first for first, end in numbers.values())
    found, memory = outcomes(folder, dict(numbers))
    for kind in numbers:
        print(kind, dict(Counter(what.split()[0] for (of, _), what in found.items() if of == kind)))
    print(f"{memory / 2**20:.0f} MB")
    wrong = {file: what for file, what in found.items() if not what.startswith(("loaded", "refused"))}
    assert not wrong, wrong
    assert len(found) == expected
    assert memory < MOST_MEMORY
    for kind in numbers:  # the damage is such that both happen; else this would look at nothing
        if expected > 500:
            assert {what.split()[0] for (of, _), what in found.items() if of == kind} == {"loaded", "refused"}


def with_libraries(kinds: list[str]) -> list[str]:
    for kind in kinds:
        for library in NEEDED.get(kind, ()):
            imported(library)
    return kinds


@pytest.mark.slow
def test_damaged_files_are_refused_in_words(tmp_path):
    check(tmp_path, {kind: (0, FEW.get(kind, 100)) for kind in with_libraries(list(KINDS))})


@pytest.mark.verify
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_damaged_files_of_each_kind_are_refused_in_words(kind, tmp_path):
    check(tmp_path, dict.fromkeys(with_libraries([kind]), (1000, 2000)))


def test_the_program_that_opens_files_tells_a_crash_from_an_error(tmp_path, monkeypatch):
    """The suite relies on it: the end of a process is seen, and the other files are opened nevertheless."""
    crash = tmp_path / "sitecustomize.py"
    crash.write_text(
        "import os\nfrom pathlib import Path\nread, once = Path.read_bytes, Path(__file__ + '.once')\n"
        "def crashing(self):\n    if self.name == 'damaged.json' and once.exists():\n"
        "        once.unlink()\n        os.abort()\n    return read(self)\nPath.read_bytes = crashing\n"
    )
    Path(f"{crash}.once").touch()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(__file__).parents[1]}")
    found, _ = outcomes(tmp_path, {"tree.json": (0, 3)})
    assert found["tree.json", 0] == "ENDED the process with -6"
    assert sorted(number for _, number in found) == [0, 1, 2]


# --- bombs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(24)),
        "immutable: &a [*a]\n",
        "immutable: &a\n  - *a\n",
        "[" * 100_000,
        "immutable: " + "[" * 5_000 + "]" * 5_000,
        "bounds: &b {a: {low: 0}, <<: *b}\n",
        "one_hot:\n" + "- [a, b]\n" * 200_000,
    ],
    ids=["anchors that double", "in itself", "in itself, in lines", "open", "deep", "merge", "long"],
)
def test_rules_that_would_grow_without_end_are_refused_soon(text, tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    began = time.process_time()
    with suppress(FCCAError):
        load_rules(path)
    assert time.process_time() - began < 60


@pytest.mark.slow
def test_an_archive_that_would_unpack_to_gigabytes_is_refused(tmp_path):
    imported("skops")
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w", force_zip64=True) as member:
        for _ in range(1100):
            member.write(bytes(2**20))
    assert path.stat().st_size < 2**21
    with pytest.raises(InvalidInputError, match="after unpacking, which is too large"):
        load_model(path)


def test_a_small_archive_with_a_huge_schema_is_refused_before_it_is_parsed(tmp_path):
    imported("skops")
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b'{"a": [' + b"[]," * 30_000_000 + b"[]]}")
    assert path.stat().st_size < 2**20
    with pytest.raises(InvalidInputError, match=r"schema\.json has 90,0"):
        load_model(path)


def test_the_same_number_gives_the_same_damage():
    for kind, (_, structured, _) in KINDS.items():
        if kind in ("tree.json", "rules.yaml", "csv"):
            content = KINDS[kind][0]()[0]
            assert [mutated(content, n, structured=structured) for n in range(50)] == [
                mutated(content, n, structured=structured) for n in range(50)
            ]
            assert len({mutated(content, n, structured=structured) for n in range(50)}) > 40
