"""What the pages and the README show can be run, and the reference lists everything."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from page_runner import Page, blocks_of

from real_data import imported

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]
    if not {"_build", "auto_examples", "generated"} & set(path.relative_to(ROOT).parts)
)
RUN = [path for path in PAGES if any(blocks_of(path.read_text(encoding="utf-8")))]
NEEDS = {"xgboost", "lightgbm", "catboost", "skops", "interpret", "matplotlib", "dask"}


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_all_blocks_of_a_page_run(path):
    text = path.read_text(encoding="utf-8")
    for library in NEEDS & set(re.findall(r"^ *(?:from|import) (\w+)", text, flags=re.MULTILINE)):
        imported(library)
    page = Page()
    printed = []
    for block in blocks_of(text):
        if block.kind == "command":
            printed += [page.command(line) for line in filter(str.strip, block.source.splitlines())]
        else:
            printed.append(page.run(block.source, f"{path.name}:{block.line}"))
    assert len(printed) >= sum(1 for _ in blocks_of(text))
    # Pages show that a claim holds by printing True, often after the claim and a colon.
    assert not re.findall(r"^(?:.*: )?False$", "\n".join(printed), flags=re.MULTILINE)


def test_a_block_that_fails_or_warns_is_not_passed_over():
    page = Page()
    assert page.run("a = 1\na + 1") == "2\n"
    with pytest.raises(ZeroDivisionError):
        page.run("a / 0")
    with pytest.raises(UserWarning, match="careful"):
        page.run("import warnings\nwarnings.warn('careful')")
    with pytest.raises(RuntimeError, match="ended with 2"):
        page.command("fcca distill not-there.csv")


def test_blocks_are_found_wherever_they_stand():
    text = "```{run}\n:figure: A picture\nx = 1\n```\n\n1. a list\n\n   ```{run}\n   y = 2\n   ```\n\n"
    text += "```sh\nls\n```\n```python\nz = 3\n```\n"
    assert [(block.kind, block.source.strip()) for block in blocks_of(text)] == [
        ("run", "x = 1"),
        ("run", "y = 2"),
        ("python", "z = 3"),
    ]


MODULES = sorted(path.stem for path in (DOCS / "api").glob("*.rst"))


def test_there_is_a_page_for_every_public_module():
    assert {
        *("fcca", "constraints", "counterfactuals", "metrics", "selection", "plots", "report", "export", "fairness"),
        *("robustness", "models", "exceptions"),
    } <= set(MODULES)


def public_names(stem):
    """Classes and functions of a module."""
    module = importlib.import_module("fcca" if stem == "fcca" else f"fcca.{stem}")
    public = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return {name for name in public if inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))}


def listed(stem):
    """Names on a page of the reference: those in lists, and all members of a module with ``automodule``."""
    text = (DOCS / "api" / f"{stem}.rst").read_text(encoding="utf-8")
    found = set(re.findall(r"^   (\w+)$|^\.\. auto(?:class|function):: fcca\.\w+\.(\w+)$", text, flags=re.MULTILINE))
    names = {name for pair in found for name in pair if name}
    if f".. automodule:: fcca.{stem}\n   :members:\n   :imported-members:\n" in text:
        left_out = re.findall(r"^   :exclude-members: (.*)$", text, flags=re.MULTILINE)
        names |= public_names(stem) - set(", ".join(left_out).split(", "))
    return names


@pytest.mark.parametrize("stem", MODULES)
def test_the_reference_lists_every_public_name_and_no_other(stem):
    wanted = public_names(stem)
    assert listed(stem) <= wanted
    elsewhere = set().union(*(listed(other) for other in MODULES if other != stem))
    assert wanted - elsewhere <= listed(stem)
