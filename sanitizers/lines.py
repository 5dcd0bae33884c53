"""Measure with gcov which lines of core/ the tests reach, and print the share of each file.

The script fails if the share of all lines is too low. ``--lines`` lists the lines that no test reaches.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from _builds import ROOT, Build, CannotWatchError, compiler, program, run
from run import TESTS

#: Minimum share of reached lines, among all lines of core/ with compiled code.
BAR = 0.95

#: By file and line number, how often the line was run.
Counts = dict[str, dict[int, int]]


def counted(build: Build) -> Counts:
    """Return the counts of gcov for the files of core/.

    The counts of a header are summed over all files that include it.
    """
    found: Counts = defaultdict(lambda: defaultdict(int))
    version = run([compiler(), "-dumpversion"]).stdout.strip().split(".")[0]
    try:
        gcov = program(f"gcov-{version}", "")
    except CannotWatchError:
        gcov = program("gcov", "It comes with GCC.")
    made = build.folder / "CMakeFiles"
    objects = sorted([*(made / "_core.dir" / "core").glob("*.gcno"), *(made / "failures.dir").rglob("*.gcno")])
    for notes in objects:
        said = run([gcov, "--json-format", "--stdout", notes], cwd=build.folder).stdout
        for document in filter(None, said.splitlines()):
            for file in json.loads(document)["files"]:
                path = (build.folder / file["file"]).resolve()
                if path.parent != ROOT / "core":
                    continue
                for line in file["lines"]:
                    found[path.name][line["line_number"]] += line["count"]
    if not found:
        raise CannotWatchError(f"gcov found no data in {build.folder}.")
    return found


def table(counts: Counts) -> tuple[str, float]:
    """Return a table with one row per file and a total, and the total share."""
    rows = [("file", "lines", "reached", "share")]
    reached_of = {name: sum(count > 0 for count in lines.values()) for name, lines in counts.items()}
    rows += [
        (name, f"{len(lines)}", f"{reached_of[name]}", f"{reached_of[name] / len(lines):.1%}")
        for name, lines in sorted(counts.items())
    ]
    n_lines, n_reached = sum(map(len, counts.values())), sum(reached_of.values())
    rows.append(("all", f"{n_lines}", f"{n_reached}", f"{n_reached / n_lines:.2%}"))
    width = max(len(row[0]) for row in rows)
    text = "\n".join(f"{row[0].ljust(width)} {row[1]:>6} {row[2]:>8} {row[3]:>7}" for row in rows)
    return text, n_reached / n_lines


def not_reached(counts: Counts) -> str:
    """List the source lines that no test reached."""
    said = []
    for name in sorted(counts):
        source = (ROOT / "core" / name).read_text(encoding="utf-8").splitlines()
        said += [f"core/{name}:{at}: {source[at - 1].strip()}" for at, count in sorted(counts[name].items()) if count == 0]
    return "\n".join(said)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run the tests and count. Return 1 if the share is too low, and 2 if the build or the tests fail."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", action="store_true", help="list the lines that no test reached")
    parser.add_argument(
        "--tests",
        nargs="+",
        default=TESTS,
        metavar="PATH",
        help="tests to run; default: the tests of the core and its searches",
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER", help="folder for the build")
    options = parser.parse_args(arguments)
    build = Build("lines", (options.build / "lines").resolve())
    try:
        build.make(["_core", "failures"])
        for old in build.folder.rglob("*.gcda"):
            old.unlink()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "logical", "--maxprocesses", "8"]
        done = run([*command, *options.tests], cwd=ROOT, env=build.environment({}))
        print(done.stdout.splitlines()[-1].strip("= "))
        run([build.folder / "failures", "40"])  # built from the same object files as the module
        counts = counted(build)
    except CannotWatchError as error:
        print(error, file=sys.stderr)
        return 2
    text, share = table(counts)
    print(text)
    if options.lines:
        print(not_reached(counts))
    if share < BAR:
        print(f"FAIL: {share:.2%} of the lines of core/ are reached, less than {BAR:.0%}. --lines lists the other lines.")
        return 1
    print(f"PASS: {share:.2%} of the lines of core/ are reached, at least {BAR:.0%} are required.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
