"""Lazy imports of modules, at the first use of one of their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str], libraries: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package with lazy imports.

    Parameters
    ----------
    package : str
        Full name of the package.
    modules : mapping of str to str
        For each public name, the module that holds it, relative to the package. If the name equals the name of the module,
        it stands for the module itself.
    libraries : mapping of str to str, optional
        For each name that requires an optional library, the name of the library. ``__dir__`` leaves the name out if the
        library is not installed. Otherwise ``help(package)`` would fail.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules[name]}")
        return module if modules[name] == name else getattr(module, name)

    def names() -> list[str]:
        missing = {name for name, library in libraries.items() if find_spec(library) is None}
        return sorted({*vars(import_module(package)), *modules} - missing)

    return get, names
