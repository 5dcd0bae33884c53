"""Whoever upgrades is told what means something else than before."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def sections(text: str, level: int) -> dict[str, str]:
    """The text below every heading of a level."""
    parts = re.split(rf"^{'#' * level} (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def changes(changelog: str) -> dict[str, list[str]]:
    """By version, the names of the entries under Changed and Removed."""
    found = {}
    for heading, text in sections(changelog, 2).items():
        entries = []
        for kind, lines in sections(text, 3).items():
            assert kind in {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}, f"{heading}: {kind}"
            if kind in {"Changed", "Removed"}:
                for entry in re.findall(r"^- (.*)$", lines, flags=re.MULTILINE):
                    name = re.match(r"\*\*(.+?)\.\*\*", entry)
                    assert name, f"{heading}, {kind}: the entry needs a name in bold, which its note has too: {entry}"
                    entries.append(name[1])
        found[heading.split()[0]] = entries
    return found


def without_a_note(changelog: str, upgrading: str) -> list[str]:
    """What one of the two has and the other has not, or what has an empty note."""
    notes = {version: sections(text, 3) for version, text in sections(upgrading, 2).items()}
    found = []
    for version, names in changes(changelog).items():
        there = notes.pop(version, {})
        found += [f"{version}: no note on {name}" for name in names if not there.get(name, "").strip()]
        found += [f"{version}: a note on {name}, which the changelog does not have" for name in there.keys() - set(names)]
    return found + [f"{version} is not in the changelog" for version in notes]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_change_of_meaning_has_its_note():
    assert without_a_note(read("CHANGELOG.md"), read("UPGRADING.md")) == []
    assert changes(read("CHANGELOG.md"))["0.1.0"]


CHANGED = (
    "## 0.2.0 — 2027-01-01\n\n### Added\n- Much.\n\n### Changed\n- **A is B.** Now.\n\n### Removed\n- **No C.** Gone.\n"
)
NOTED = "# Upgrading\n\n## 0.2.0\n\n### A is B\n\nWrite B.\n\n### No C\n\nUse D.\n"


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        (NOTED, []),
        (NOTED.replace("### No C\n", ""), ["0.2.0: no note on No C"]),
        (NOTED.replace("Use D.", ""), ["0.2.0: no note on No C"]),
        (
            NOTED.replace("## 0.2.0", "## 0.1.9"),
            ["0.2.0: no note on A is B", "0.2.0: no note on No C", "0.1.9 is not in the changelog"],
        ),
        (NOTED + "\n### E\n\nFoo.\n", ["0.2.0: a note on E, which the changelog does not have"]),
    ],
)
def test_a_note_that_is_not_there_is_found(noted, found):
    assert without_a_note(CHANGED, noted) == found


def test_an_entry_without_a_name_is_found():
    with pytest.raises(AssertionError, match="needs a name in bold"):
        without_a_note(CHANGED.replace("**", ""), NOTED)


def test_one_version_everywhere():
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert next(iter(changes(read("CHANGELOG.md")))) == version
    assert str(yaml.safe_load(read("CITATION.cff"))["version"]) == version
