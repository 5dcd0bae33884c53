"""Damaged files of every kind that can be loaded: a typed error or success, never a crash, a hang or another exception."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from fcca.constraints import load_rules
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.models import load_model
from hardening.mutations import mutated
from hardening.seeds import KINDS
from real_data import imported

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of memory are POSIX's")

SECONDS_PER_FILE = 150  # a hang; CatBoost's files are tried for a minute
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
# Those that CatBoost tries in a process of its own take a second each.
FEW = {"CatBoost cbm": 6, "skops of boosters": 12}


def outcomes(folder: Path, numbers: dict[str, tuple[int, int]]) -> tuple[dict[tuple[str, int], str], int]:
    """What came of each damaged file, and the memory that was used: opened by other processes, since some may end them."""
    found: dict[tuple[str, int], str] = {}
    memory = 0
    for kind in numbers:
        for at, content in enumerate(KINDS[kind][0]()):
            (folder / f"{kind}-{at}.seed").write_bytes(content)
    while numbers:
        wanted = [str(part) for kind, (first, end) in numbers.items() for part in (kind, first, end)]
        last, code = _run(folder, wanted, found)
        memory = max(memory, int(found.pop(("memory", 0), "0")))
        if code == 0:
            break
        assert last is not None, "the program that opens files does not start"
        kind, number = last
        found[kind, number] = f"ENDED the process with {code}"
        for earlier in list(numbers)[: list(numbers).index(kind)]:
            del numbers[earlier]
        numbers[kind] = (number + 1, numbers[kind][1])
    return found, memory


def _run(folder: Path, wanted: list[str], found: dict[tuple[str, int], str]) -> tuple[tuple[str, int] | None, int | str]:
    """One process, up to its end; the file that it opened last, and how it ended."""
    command = [sys.executable, "-m", "hardening.opening", str(folder), *wanted]
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
        last, hung = None, False
        while True:
            try:
                line = lines.get(timeout=SECONDS_PER_FILE)
            except queue.Empty:
                process.kill()
                hung = True
                continue
            if line is None:
                break
            kind, number, what = (*line.rstrip("\n").split("|", 2), "", "")[:3]
            if not number.isdigit():  # a library's own word
                continue
            if what == "begins":
                last = (kind, int(number))
            else:
                found[kind, int(number)] = what
    return last, "a hang" if hung else process.returncode


def _pass_on(stream: Iterable[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


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


def test_damaged_files_are_refused_in_words(tmp_path):
    check(tmp_path, {kind: (0, FEW.get(kind, 100)) for kind in with_libraries(list(KINDS))})


@pytest.mark.verify
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_damaged_files_of_each_kind_are_refused_in_words(kind, tmp_path):
    check(tmp_path, dict.fromkeys(with_libraries([kind]), (1000, 2000)))


def test_the_program_that_opens_files_tells_a_crash_from_an_error(tmp_path, monkeypatch):
    """What this suite stands on: an end of the process is seen, and the rest is opened nevertheless."""
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


def test_an_archive_that_would_unpack_to_gigabytes_is_refused(tmp_path):
    import zipfile

    imported("skops")
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w", force_zip64=True) as member:
        for _ in range(1100):
            member.write(bytes(2**20))
    assert path.stat().st_size < 2**21
    with pytest.raises(InvalidInputError, match="unpacked"):
        load_model(path)


def test_the_same_number_gives_the_same_damage():
    for kind, (_, structured, _) in KINDS.items():
        if kind in ("tree.json", "rules.yaml", "csv"):
            content = KINDS[kind][0]()[0]
            assert [mutated(content, n, structured=structured) for n in range(50)] == [
                mutated(content, n, structured=structured) for n in range(50)
            ]
            assert len({mutated(content, n, structured=structured) for n in range(50)}) > 40
