"""Run the core under GCC's sanitizers: AddressSanitizer with UndefinedBehaviorSanitizer, then ThreadSanitizer.

There are two separate builds. Each runs C++ programs and tests, which README.md lists. The first error that a sanitizer
finds ends its run, and the script fails.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from _builds import ROOT, Build, CannotWatchError, run

#: Tests of the searches and of the core.
TESTS = (
    "tests/core",
    "tests/exactness",
    "tests/trees/test_exactness.py",
    "tests/trees/test_criteria.py",
    "tests/trees/test_certificate.py",
    "tests/selection",
    "tests/counterfactuals/test_engine.py",
    "tests/counterfactuals/test_many_classes.py",
    "tests/counterfactuals/test_mixed_tables.py",
    "tests/counterfactuals/test_explainer_rules.py",
    "tests/constraints/test_rules_kept.py",
    # With sanitizers, this single search takes minutes.
    "--deselect=tests/trees/test_certificate.py::test_no_search_is_better_than_the_proven_tree",
)
#: The tests that are fast enough for CI. CI also runs the kernels and the failures.
QUICK_TESTS = (
    "tests/core",
    "tests/exactness/test_small_cases.py",
    "tests/exactness/test_additive.py",
    "tests/exactness/test_ensembles.py",
    "tests/trees/test_exactness.py",
    "tests/trees/test_criteria.py",
    "tests/selection/test_exactness.py",
)
THREADED_TESTS = ("tests/core/test_threads.py",)

#: A stack frame of the core in a leak report.
CORE_FRAME = re.compile(r"/core/\w+\.[ch]pp:\d+")


def memory(build: Build, *, quick: bool) -> None:
    """Check for reads and writes out of bounds, use after free, undefined behaviour and leaks."""
    _timed("build", lambda: build.make(["_core", "instructions", "failures"]))
    _timed("kernels", lambda: _kernels(build))
    _timed("failures", lambda: run([build.folder / "failures", "40" if quick else "400"]))
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "lost"
        options = {
            # Memory that Python keeps until it exits is not a leak of the core. The reports are filtered below.
            # Other libraries, used by some tests for comparison, free memory with a size other than the allocated one.
            "ASAN_OPTIONS": f"detect_leaks=1:allocator_may_return_null=1:new_delete_type_mismatch=0:log_path={reports}",
            "LSAN_OPTIONS": "exitcode=0:report_objects=0",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={reports}",
        }
        environment = build.environment(options, ["libasan.so", "libstdc++.so"])
        try:
            _timed("tests", lambda: _tests(QUICK_TESTS if quick else TESTS, environment, quick=quick))
        except CannotWatchError as error:
            raise CannotWatchError(f"{error}\n{_found(Path(folder))}") from None
        lost = [stack for report in Path(folder).iterdir() for stack in _lost(report.read_text(errors="replace"))]
    if lost:
        raise CannotWatchError("Memory leaks of the core:\n" + "\n\n".join(lost[:5]))


def threads(build: Build, *, quick: bool) -> None:
    """Check for data races in the core."""
    _timed("build", lambda: build.make(["_core", "failures"]))
    options = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66:second_deadlock_stack=1"}
    _timed("failures", lambda: run([build.folder / "failures", "10" if quick else "100"], env=build.environment(options)))
    environment = build.environment(options, ["libtsan.so"])
    _timed("tests", lambda: _tests(THREADED_TESTS, environment, quick=quick))


WATCHES: dict[str, Callable[..., None]] = {"memory": memory, "threads": threads}


def _kernels(build: Build) -> None:
    """Run the kernels of benchmarks/instructions.cpp. Their results must equal the recorded ones."""
    program = build.folder / "instructions"
    baselines = json.loads((ROOT / "benchmarks" / "instructions.json").read_text(encoding="utf-8"))["baselines"]
    recorded = next(iter(baselines.values()))["kernels"]
    for kernel in run([program]).stdout.splitlines():
        answer = float(run([program, kernel]).stdout.split()[1])
        expected = recorded[kernel]["answer"]
        if abs(answer - expected) > 1e-7 * abs(expected):
            raise CannotWatchError(
                f"The kernel “{kernel}” returned {answer:.9g}, but the recorded result is {expected:.9g}."
            )


def _tests(tests: Sequence[str], environment: dict[str, str], *, quick: bool) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "logical", "--maxprocesses", "8"]
    if quick:  # without the real tables, which take most of the time
        environment = {name: value for name, value in environment.items() if name not in ("FCCA_DATA", "FCCA_REQUIRE_ALL")}
    else:  # also the tests of the core with many seeds
        run([*command, "-m", "verify", "tests/core"], cwd=ROOT, env=environment)
    done = run([*command, *tests], cwd=ROOT, env=environment)
    print("   ", done.stdout.splitlines()[-1].strip("= "))


def _found(folder: Path) -> str:
    """Return the errors in the reports of the sanitizers, without leaks."""
    reports = [path.read_text(errors="replace") for path in folder.iterdir()]
    return "\n".join(report[:8000] for report in reports if "runtime error" in report or "ERROR: AddressSanitizer" in report)


def _lost(report: str) -> list[str]:
    """Return the stacks of a leak report that include the core."""
    stacks = re.split(r"\n\n", report)
    return [stack for stack in stacks if "leak of" in stack and CORE_FRAME.search(stack)]


def _timed(what: str, step: Callable[[], None]) -> None:
    start = time.perf_counter()
    step()
    print(f"  {what}: {time.perf_counter() - start:.0f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sanitizers one after the other, and return 1 if one of them finds an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("watch", nargs="*", help=f"{' or '.join(WATCHES)}; default: both")
    parser.add_argument("--quick", action="store_true", help="run only the tests that are fast enough for CI")
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build", metavar="FOLDER", help="folder for the builds, with one subfolder each"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.watch if name not in WATCHES]
    if unknown:
        parser.error(f"{unknown[0]!r} is unknown. Choose from {', '.join(WATCHES)}.")
    try:
        for name in options.watch or WATCHES:
            print(f"{name}:", flush=True)
            WATCHES[name](Build(name, options.build / name), quick=options.quick)
    except CannotWatchError as error:
        print(error, file=sys.stderr)
        return 1
    print("PASS: no sanitizer found an error.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
