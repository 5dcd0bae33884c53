"""Documentation of several versions beside each other, and the list to choose from in the head of every page.

``make docs DOCS_VERSION=0.1.0`` builds into ``docs/_build/html/0.1.0/`` and then runs this file, which writes the list:
``switcher.json``, beside the versions, so that the pages of old ones see the new ones, too. Without ``DOCS_VERSION`` the
pages have no list and fetch nothing.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

#: Seen from the first page of a version, whichever it is.
LIST = "../switcher.json"
DEVELOPMENT = "dev"
NAME = re.compile(r"(\d+(?:\.\d+)+)([a-z]+\d+)?")


def theme_options(version: str | None) -> dict[str, Any]:
    """What the theme has to know of a version; nothing, where none is named."""
    if not version:
        return {}
    if version != DEVELOPMENT and not NAME.fullmatch(version):
        raise ValueError(f"DOCS_VERSION is {version!r}; it is {DEVELOPMENT!r} or a version such as '0.1.0'.")
    return {
        "switcher": {"json_url": LIST, "version_match": version},
        "check_switcher": False,  # the list is written when all versions are there
        "navbar_end": ["version-switcher", "theme-switcher"],
    }


def versions_in(html: Path) -> list[str]:
    """The versions that were built, newest first; what is not released yet comes before them."""
    found = [path.parent.name for path in html.glob("*/index.html")]
    released = [name for name in found if NAME.fullmatch(name)]
    newest_first = sorted(released, key=_age, reverse=True)
    return [name for name in found if name == DEVELOPMENT] + newest_first


def _age(name: str) -> tuple[list[int], bool, str]:
    """Orders versions; those on trial, such as 0.2.0rc1, come before the one that they are to become."""
    match = NAME.fullmatch(name)
    assert match is not None
    return [int(part) for part in match[1].split(".")], match[2] is None, match[2] or ""


def write_list(html: Path, base: str = "/") -> None:
    """Write the list of the versions that are there; base is where they will be found, as a path or an address."""
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
