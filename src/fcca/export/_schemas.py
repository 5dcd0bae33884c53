"""The JSON Schemas of the JSON documents that the exporters write."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from fcca.exceptions import InvalidInputError
from fcca.utils import is_whole

#: Versions of each document; the last one is the current one.
VERSIONS = {"rules": (1,), "tree": (1, 2)}


def schema(name: str, version: int | None = None) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an exported document.

    With the schema, other programs can check the JSON that fcca writes.

    Parameters
    ----------
    name : {"rules", "tree"}
        The document written by :func:`fcca.export.to_rules` or :func:`fcca.export.to_json`.
    version : int, optional
        The entry ``version`` of the document. None stands for the current version.

    Returns
    -------
    dict

    Raises
    ------
    InvalidInputError
        If the name or the version is unknown.

    Examples
    --------
    >>> from fcca.export import schema
    >>> schema("rules")["properties"]["format"]
    {'const': 'fcca-rules'}
    """
    if not isinstance(name, str) or name not in VERSIONS:
        raise InvalidInputError(f"The name of the schema must be one of {', '.join(VERSIONS)}, got {name!r}.")
    versions = VERSIONS[name]
    version = versions[-1] if version is None else version
    if not is_whole(version) or version not in versions:
        known = ", ".join(map(str, versions))
        raise InvalidInputError(f"The version of the schema {name!r} must be one of {known}, got {version!r}.")
    path = files("fcca.export").joinpath("schemas", f"{name}-{version}.schema.json")
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
