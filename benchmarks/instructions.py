"""Count the instructions of the core's kernels under callgrind, and compare them with instructions.json.

The counted program has no Python. It is built from the package's object files and instructions.cpp. Other work on the
machine, its clock and its caches do not change the counts, so an increase of 2 % is visible. ``--accept`` records new
counts. It runs on Linux and needs valgrind. See INSTRUCTIONS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BASELINES = Path(__file__).with_suffix(".json")

#: The share of its count by which a kernel may grow. Counts do not vary, so this allows not for noise, but for changes of
#: inlining caused by a change elsewhere. Many small steps fail together, because all are compared with the same record.
TOLERANCE = 0.02

#: Of two runs of the same program, when counts are recorded.
REPRODUCIBLE = 0.001

#: What must agree for counts to be comparable, besides the compiler and the architecture.
CONDITIONS = ("C library", "vectors")

ACCEPT = "python benchmarks/instructions.py --accept"


class CannotCountError(Exception):
    """Raised if a program that is needed for counting is missing or fails."""


@dataclass(frozen=True)
class Count:
    """One kernel: its instructions, its result and its number of nodes."""

    instructions: int
    nodes: int
    answer: float


# Comparing


@dataclass(frozen=True)
class Line:
    """One kernel and its record. ``wrong`` is the reason for a failure, or empty."""

    kernel: str
    baseline: Count | None
    now: Count | None
    wrong: str = ""

    @property
    def change(self) -> float | None:
        """Change of the count, as a share of the recorded count."""
        if self.baseline is None or self.now is None:
            return None
        return self.now.instructions / self.baseline.instructions - 1


def compare(baseline: dict[str, Count], now: dict[str, Count], tolerance: float = TOLERANCE) -> list[Line]:
    """Return one line per kernel that is recorded or was counted."""
    lines = []
    for kernel in [*now, *(kernel for kernel in baseline if kernel not in now)]:
        line = Line(kernel, baseline.get(kernel), now.get(kernel))
        lines.append(Line(kernel, line.baseline, line.now, _wrong(line, tolerance)))
    return lines


def _wrong(line: Line, tolerance: float) -> str:
    if line.baseline is None:
        return "not recorded"
    if line.now is None:
        return "recorded, but no kernel any more"
    if abs(line.now.answer - line.baseline.answer) > 1e-7 * abs(line.baseline.answer):
        return f"another answer: {line.now.answer:.9g}, not {line.baseline.answer:.9g}"
    is_over = line.now.instructions > line.baseline.instructions * (1 + tolerance)
    return f"over {tolerance:.0%} more" if is_over else ""


def table(lines: Iterable[Line], tolerance: float = TOLERANCE) -> str:
    """Format the table: kernel, recorded count, new count, change and remarks."""
    rows = [("kernel", "baseline", "now", "change", "")]
    for line in lines:
        change = line.change
        said = [line.wrong] if line.wrong else []
        if not line.wrong and change is not None and change < -tolerance:
            said.append("fewer")
        if line.baseline and line.now and line.baseline.nodes != line.now.nodes:
            said.append(f"{line.baseline.nodes:,} → {line.now.nodes:,} nodes")
        percent = "" if change is None else _percent(change)
        rows.append((line.kernel, _count(line.baseline), _count(line.now), percent, "; ".join(said)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    padded = [[row[0].ljust(widths[0]), *(row[c].rjust(widths[c]) for c in (1, 2, 3)), row[4]] for row in rows]
    return "\n".join("  ".join(row).rstrip() for row in padded)


def _count(count: Count | None) -> str:
    return "" if count is None else f"{count.instructions:,}"


def _percent(change: float) -> str:
    return "=" if change == 0 else f"{change:+.2%}"


def verdict(lines: Sequence[Line], tolerance: float = TOLERANCE) -> tuple[bool, str]:
    """Return whether all kernels pass, and lines with the result and advice."""
    failed = [line for line in lines if line.wrong]
    fewer = [line for line in lines if not line.wrong and (line.change or 0) < -tolerance]
    said = []
    if failed:
        said.append(f"FAIL: {', '.join(f'{line.kernel} ({line.wrong})' for line in failed)}.")
        said.append(f"If the change is meant, record it: {ACCEPT}")
    else:
        said.append(f"PASS: {len(lines)} kernels, none takes over {tolerance:.0%} more instructions than recorded.")
    if fewer:
        names = ", ".join(line.kernel for line in fewer)
        said.append(f"Fewer than recorded, so that they could grow back unseen: {names}. Keep it: {ACCEPT}")
    return not failed, "\n".join(said)


# The record


def key_of(environment: dict[str, str]) -> str:
    """Return the key of a baseline: the compiler with its major version, and the architecture."""
    return f"{environment['compiler'].split('.')[0]}, {environment['architecture']}"


def incomparable(recorded: dict[str, str], environment: dict[str, str]) -> str:
    """Return the reason why counts of the same compiler are not comparable; empty if they are."""
    differ = [name for name in CONDITIONS if recorded.get(name) != environment.get(name)]
    return "; ".join(f"{name} is {environment.get(name)}, recorded was {recorded.get(name)}" for name in differ)


@dataclass(frozen=True)
class Baseline:
    """Recorded counts, and the environment in which they were counted."""

    environment: dict[str, str]
    kernels: dict[str, Count]


def read_baselines(path: Path) -> dict[str, Baseline]:
    """Read all baselines by key; none if there is no file yet."""
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["baselines"]
        return {
            key: Baseline(entry["environment"], {kernel: Count(**count) for kernel, count in entry["kernels"].items()})
            for key, entry in entries.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotCountError(
            f"{path} is not a record of instruction counts ({error}). Restore it, or remove it and run {ACCEPT}."
        ) from error


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write the counts of one compiler and architecture. The other counts are kept."""
    baselines = read_baselines(path) | {key_of(baseline.environment): baseline}
    entries = {key: asdict(baselines[key]) for key in sorted(baselines)}
    text = json.dumps({"version": 1, "baselines": entries}, indent=2, ensure_ascii=False)
    # One line per kernel, so that a change of one is a change of one line.
    text = re.sub(r"\{\s+(\"instructions\": \d+),\s+(\"nodes\": \d+),\s+(\"answer\": [^\s}]+)\s+\}", r"{\1, \2, \3}", text)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text + "\n", encoding="utf-8")
    os.replace(beside, path)


# Counting


def _run(command: Sequence[str | Path], **options: Any) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise CannotCountError(
            f"{' '.join(str(part) for part in command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return str(done.stdout)


def _program(name: str, hint: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise CannotCountError(f"{name} was not found. {hint}")
    return found


def build(folder: Path) -> Path:
    """Build the program of the kernels with the package's flags, and return its path."""
    try:
        import nanobind
    except ImportError as error:
        raise CannotCountError(
            "nanobind, with which the package is built, was not found. Run `make instructions`, or pip install nanobind."
        ) from error
    cmake = _program("cmake", "Run `make instructions`, or pip install cmake ninja.")
    ninja = _program("ninja", "Run `make instructions`, or pip install cmake ninja.")
    # Flags of the surroundings would be counted as changes of the core.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("CXXFLAGS", "CPPFLAGS", "LDFLAGS")}
    settings = {
        "FCCA_INSTRUCTIONS": "ON",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
        "CMAKE_MAKE_PROGRAM": ninja,
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind.cmake_dir(),
    }
    if "CXX" in surroundings:  # else a folder that was built in before keeps its compiler
        settings["CMAKE_CXX_COMPILER"] = surroundings["CXX"]
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    _run([cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", *defined], env=surroundings)
    _run([cmake, "--build", folder, "--target", "instructions"], env=surroundings)
    return folder / "instructions"


def flags_of(folder: Path) -> str:
    """Return the compiler flags of the core, without paths."""
    commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    command = next(entry["command"] for entry in commands if entry["file"].endswith("core/cells.cpp"))
    words = command.split()[1:]
    return " ".join(word for word in words if word.startswith(("-O", "-f", "-m", "-std", "-g")))


class Counter:
    """Run kernels under callgrind, each in a separate process with a fresh heap."""

    def __init__(self, program: Path, valgrind: str) -> None:
        self.program, self.valgrind = program, valgrind

    def _valgrind(self, options: Sequence[str], argument: str) -> str:
        # Neither the environment nor the path is on the stack, and symbols are bound before anything is counted.
        command = [self.valgrind, "--quiet", "--vgdb=no", *options, f"./{self.program.name}", argument]
        return _run(command, cwd=self.program.parent, env={"LD_BIND_NOW": "1"})

    def kernels(self) -> list[str]:
        return _run([self.program]).splitlines()

    def environment(self) -> dict[str, str]:
        """Return the properties of the environment on which counts depend.

        The program runs under valgrind, because valgrind simulates a processor that differs from the machine's.
        """
        said = dict(line.split("\t") for line in self._valgrind(["--tool=none"], "--environment").splitlines())
        version = _run([self.valgrind, "--version"]).strip().removeprefix("valgrind-")
        return {**said, "architecture": platform.machine(), "valgrind": version, "flags": flags_of(self.program.parent)}

    def count(self, kernel: str) -> Count:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "callgrind.out"
            options = ["--tool=callgrind", "--toggle-collect=measured", f"--callgrind-out-file={out}"]
            nodes, answer = self._valgrind(options, kernel).split()
            found = re.search(r"^summary: (\d+)$", out.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        if found is None or int(found[1]) == 0:
            raise CannotCountError(
                f"callgrind counted nothing for “{kernel}”: the function measured() of instructions.cpp was not found."
            )
        return Count(int(found[1]), int(nodes), float(answer))


def counted(counter: Counter, kernels: Sequence[str], repeat: int) -> dict[str, Count]:
    """Return the first count of each kernel. Raise an error if further counts differ."""
    counts = {}
    widest = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process; parallel work does not change a count
        all_runs = list(pool.map(lambda kernel: [counter.count(kernel) for _ in range(repeat)], kernels))
    for kernel, runs in zip(kernels, all_runs, strict=True):
        instructions = [run.instructions for run in runs]
        most, fewest = max(instructions), min(instructions)
        if most > fewest * (1 + REPRODUCIBLE):
            listed = ", ".join(f"{count:,}" for count in instructions)
            raise CannotCountError(f"“{kernel}” is not reproducible: {listed} instructions.")
        widest = max(widest, most - fewest)
        counts[kernel] = runs[0]
    if repeat > 1:
        agree = "agree to the last instruction" if widest == 0 else f"differ by {widest:,} instructions at most"
        print(f"{repeat} runs of each kernel {agree}.")
    return counts


# The command


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="*", help="names of the kernels to count, as in the table; default: all")
    parser.add_argument("--accept", action="store_true", help="record the counts for this compiler; each is measured twice")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="count N times, and fail if the counts differ")
    parser.add_argument(
        "--strict",
        choices=("never", "recorded", "always"),
        default="never",
        help="fail if there is no comparable record: always, or only if this compiler has a record",
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "instructions", metavar="FOLDER", help="folder for the build"
    )
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error(f"--repeat is {options.repeat}; it must be 1 or more.")
    if options.accept and options.kernel:
        parser.error("--accept records all kernels; leave the names out.")
    try:
        return _guard(options)
    except CannotCountError as error:
        print(error, file=sys.stderr)
        return 2


def _guard(options: argparse.Namespace) -> int:
    baselines = read_baselines(BASELINES)
    valgrind = _program("valgrind", "Install it (Debian: apt-get install valgrind); newer macOS and Windows have none.")
    counter = Counter(build(options.build), valgrind)
    kernels = counter.kernels()
    unknown = [kernel for kernel in options.kernel if kernel not in kernels]
    if unknown:
        raise CannotCountError(f"There is no kernel {unknown[0]!r}. Choose from: {'; '.join(kernels)}.")
    environment = counter.environment()
    print("; ".join(f"{name}: {value}" for name, value in environment.items()))
    baseline = baselines.get(key_of(environment))
    why_not = "there is none" if baseline is None else incomparable(baseline.environment, environment)
    if why_not and not options.accept:
        print(f"NOT COMPARED: no baseline for {key_of(environment)} on this machine ({why_not}). To record one: {ACCEPT}")
        return int(options.strict == "always" or (options.strict == "recorded" and baseline is not None))

    counts = counted(counter, options.kernel or kernels, max(options.repeat, 2) if options.accept else options.repeat)
    recorded = {} if baseline is None or why_not else baseline.kernels
    if options.kernel:
        recorded = {kernel: count for kernel, count in recorded.items() if kernel in counts}
    lines = compare(recorded, counts)
    print(table(lines))
    if options.accept:
        write_baseline(BASELINES, Baseline(environment, counts))
        print(f"Recorded in {BASELINES.relative_to(ROOT)}. Commit it with the change that it belongs to, and say there why.")
        return 0
    if baseline is not None and baseline.environment.get("flags") != environment["flags"]:
        print(f"The compiler's flags changed too; recorded were {baseline.environment.get('flags')}")
    well, said = verdict(lines)
    print(said)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
