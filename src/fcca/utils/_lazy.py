"""Lazy imports: modules of a package are imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package with lazy imports.

    Parameters
    ----------
    package : str
    modules : mapping of str to str
        The module of each name, relative to the package. If both are equal, the name is the module.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{modules[name]}")
        return module if modules[name] == name else getattr(module, name)

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *modules})

    return get, names
