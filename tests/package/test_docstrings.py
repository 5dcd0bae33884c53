"""The examples in the docstrings run and print what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import fcca
from real_data import imported

#: Libraries that the examples of a module need besides the dependencies of fcca.
NEEDED = {
    "fcca.dask": "dask",
    "fcca.export._to_sql": "sqlglot",
    "fcca.export._to_onnx": "onnx",
    "fcca.export._save_and_load": "skops",
}


def modules_with_examples():
    package = Path(fcca.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(package).with_suffix("").parts
            yield ".".join(["fcca", *(part for part in parts if part != "__init__")])


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_the_examples_of_the_docstrings_are_true(name):
    for prefix, library in NEEDED.items():
        if name.startswith(prefix):
            imported(library)
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
