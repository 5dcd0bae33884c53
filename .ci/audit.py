"""Asks the Python Packaging Advisory Database about everything that fcca and its extras need: ``make audit``.

Ends with 0 where every package was looked up and none has a known vulnerability, with 1 where one has, and with 2 where some
could not be looked up: pip-audit itself calls that "no known vulnerabilities".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: These stay on the machines of those who work on fcca; users install the others.
NOT_FOR_USERS = {"test", "dev", "docs", "experiments", "bench", "release"}


def installed_needs(name: str, extras: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The versions here of all that a distribution needs, directly or not, and what of it is not installed."""
    versions: dict[str, str] = {}
    absent: set[str] = set()
    seen: set[tuple[str, str]] = set()
    open_ends = [(canonicalize_name(name), extra) for extra in ("", *extras)]
    while open_ends:
        name, extra = open_ends.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            absent.add(name)
            continue
        versions[name] = found.version
        for line in found.requires or ():
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                open_ends += [(canonicalize_name(need.name), wanted) for wanted in ("", *need.extras)]
    return versions, sorted(absent)


def verdict(asked: Mapping[str, str], report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How to end and what to say, from what was asked and what pip-audit answered."""
    answered = {canonicalize_name(entry["name"]): entry for entry in report.get("dependencies", ())}
    unknown = sorted(name for name in asked if "skip_reason" in answered.get(name, {"skip_reason": ""}))
    vulnerable = [
        f"{name} {asked[name]}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version yet'}"
        for name, entry in sorted(answered.items())
        for found in entry.get("vulns", ())
    ]
    if unknown:
        some = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        unasked = (
            f"The advisory service could not be asked about {len(unknown)} of {len(asked)} packages ({some}), so nothing is "
            "known of them. It is PyPI's: can it be reached from here?"
        )
        return 1 if vulnerable else 2, [*vulnerable, unasked]
    return (1, vulnerable) if vulnerable else (0, [f"{len(asked)} packages, none with a known vulnerability."])


def audit(asked: Mapping[str, str]) -> tuple[int, list[str]]:
    """pip-audit over exactly these versions, without resolving anything anew."""
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "pinned.txt"
        pinned.write_text("".join(f"{name}=={re.sub('[+].*', '', version)}\n" for name, version in sorted(asked.items())))
        options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "-r", str(pinned)]
        done = subprocess.run([sys.executable, "-m", "pip_audit", *options], capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return 2, [f"pip-audit could not ask the advisory service, so nothing is known: {last}"]
    return verdict(asked, report)


def main() -> int:
    """Audit, and say what came of it."""
    extras = set(distribution("fcca").metadata.get_all("Provides-Extra", [])) - NOT_FOR_USERS
    needs, absent = installed_needs("fcca", sorted(extras))
    del needs["fcca"]
    code, lines = audit(needs)
    if absent:
        lines.append(f"Not installed here, so not looked up: {', '.join(absent)}. `make audit` installs them.")
        code = code or 2
    print(*lines, sep="\n", file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
