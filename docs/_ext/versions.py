"""Documentation of several versions, with a list of versions at the top of every page.

``make docs DOCS_VERSION=0.1.0`` builds into ``docs/_build/html/0.1.0/`` and then runs this file. It writes the list of
versions, ``switcher.json``, to the folder that contains all versions. So the pages of old versions also list the newer
versions. Without ``DOCS_VERSION``, the pages have no list and load nothing.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

#: Path of the list, relative to the first page of a version.
LIST = "../switcher.json"
DEVELOPMENT = "dev"
NAME = re.compile(r"(\d+(?:\.\d+)+)([a-z]+\d+)?")


def theme_options(version: str | None) -> dict[str, Any]:
    """Return the options of the theme for a version; no options without a version."""
    if not version:
        return {}
    if version != DEVELOPMENT and not NAME.fullmatch(version):
        raise ValueError(f"DOCS_VERSION is {version!r}; it must be {DEVELOPMENT!r} or a version such as '0.1.0'.")
    return {
        "switcher": {"json_url": LIST, "version_match": version},
        "check_switcher": False,  # the list is written after the build
        "navbar_end": ["version-switcher", "theme-switcher"],
    }


def versions_in(html: Path) -> list[str]:
    """List the versions that were built, newest first. The development version comes before all others."""
    found = [path.parent.name for path in html.glob("*/index.html")]
    released = [name for name in found if NAME.fullmatch(name)]
    newest_first = sorted(released, key=_age, reverse=True)
    return [name for name in found if name == DEVELOPMENT] + newest_first


def _age(name: str) -> tuple[list[int], bool, str]:
    """Return a key that sorts versions by age. Pre-releases such as 0.2.0rc1 come before their release."""
    match = NAME.fullmatch(name)
    assert match is not None
    return [int(part) for part in match[1].split(".")], match[2] is None, match[2] or ""


def write_list(html: Path, base: str = "/") -> None:
    """Write the list of the versions that were built.

    Parameters
    ----------
    html : Path
        Folder that contains one folder per version.
    base : str
        Path or address at which this folder will be published.
    """
    versions = versions_in(html)
    released = [name for name in versions if name != DEVELOPMENT and _age(name)[1]]
    entries = []
    for name in versions:
        entry: dict[str, Any] = {"version": name, "url": f"{base.rstrip('/')}/{name}/"}
        if released and name == released[0]:
            entry |= {"name": f"{name} (newest)", "preferred": True}
        entries.append(entry)
    (html / "switcher.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_list(Path(sys.argv[1]), *sys.argv[2:3])
