"""Run every comparison and summarize them: how many times faster fcca is, and in which cases it is not.

Run: python -m benchmarks [--quick] [--only NAME …] [--out DIR] [--list]

Writes one record per script and summary.json into benchmarks/results/ (--quick: results/quick/). Exits with 1 if a script
failed or was stopped by its time limit. The other scripts still run. A missed bar is a measurement, not a failure.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import _results  # noqa: E402
import _suite  # noqa: E402
import _summary  # noqa: E402


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    names = [script.name for script in _suite.SCRIPTS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="run a small part of every comparison, in two minutes")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, default=names, help="run only these scripts")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the records")
    parser.add_argument("--list", action="store_true", help="print the commands and their limits, run nothing")
    return parser.parse_args()


def say(text: str) -> None:
    """Print a line without buffering, because the next line may be a minute away."""
    print(text, flush=True)


def main() -> int:
    """Run the scripts and return the exit code."""
    options = arguments()
    scripts = [script for script in _suite.SCRIPTS if script.name in options.only]
    if options.list:
        for script in scripts:
            size = script.quick if options.quick else script.bench
            if size is not None:
                say(f"{_suite.clock(size.limit):>6}  python benchmarks/{script.path.name} {size.arguments}".rstrip())
        return 0
    folder = options.out or (HERE / "results" / "quick" if options.quick else HERE / "results")
    load = _results.load()
    if load > 0.5 * (os.cpu_count() or 1):
        say(f"Load average {load:.1f} on {os.cpu_count()} cores: others work here too. Trust ratios more than times.")
    outcomes = _suite.run_all(scripts, options.quick, folder, say)
    found = _suite.summarised(outcomes, options.quick, folder, load)
    say(f"\n{_summary.as_text(found)}\n\nWritten to {folder}.")
    return int(any(outcome.outcome in ("failed", "timeout") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
