"""Reads coverage's JSON and ends with 1 below 95 %: of lines and branches together, and of branches alone."""

import json
import sys
from pathlib import Path

LEAST = 95.0


def verdict(report: dict) -> tuple[int, list[str]]:
    """How to end and what to say: the modules with most missed branches last, with the totals below them."""
    totals = report["totals"]
    missed = sorted((entry["summary"]["missing_branches"], name) for name, entry in report["files"].items())
    lines = [f"{count:4d} branches missed in {name}" for count, name in missed[-15:] if count]
    branches = 100 * totals["covered_branches"] / totals["num_branches"]
    lines.append(
        f"{totals['percent_covered']:.2f} % of lines and branches; {branches:.2f} % of branches alone "
        f"({totals['covered_branches']} of {totals['num_branches']}); at least {LEAST:g} % are asked for of both."
    )
    return int(min(totals["percent_covered"], branches) < LEAST), lines


if __name__ == "__main__":
    code, lines = verdict(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(*lines, sep="\n")
    sys.exit(code)
