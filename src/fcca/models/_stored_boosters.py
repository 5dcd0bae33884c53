"""Boosters inside a skops file: their libraries read them while skops makes them, so they are checked before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fcca.models._stored_catboost import check_binary
from fcca.models._stored_lightgbm import check_text
from fcca.models._stored_trees import states_by_number, states_in
from fcca.models._stored_xgboost import check_ubjson

#: What a library reads by itself: in which attributes it is, and by what skops makes these.
READ_BY_LIBRARIES = {
    "xgboost.core.Booster": (("handle",), "BytearrayNode"),
    "lightgbm.basic.Booster": (("_handle", "handle"), "JsonNode"),
    "catboost.core.CatBoostClassifier": (("__model",), "BytesNode"),
}


def check_booster_states(schema: Any, member: Callable[[str], bytes]) -> None:
    """Refuse damaged boosters by a ValueError, whatever their members are called and wherever they stand.

    Parameters
    ----------
    schema : object
        The document in a skops file.
    member : callable
        What is in a member of the file.
    """
    by_number = states_by_number(schema)

    def only(state: Any, loader: str) -> dict[str, Any]:
        """The state; of states under one number, skops would take the first."""
        if not isinstance(state, dict) or state.get("__loader__") != loader:
            raise ValueError("it holds a booster that is none of its library's")
        if any(other != state for other in by_number[state.get("__id__")]):
            raise ValueError("it holds two different things under one number")
        return state

    for state in states_in(schema):
        library = f"{state.get('__module__')}.{state.get('__class__')}"
        if library not in READ_BY_LIBRARIES or state.get("__loader__") != "ObjectNode" or state.get("content") is None:
            continue
        names, loader = READ_BY_LIBRARIES[library]
        attributes = only(state["content"], "DictNode").get("content")
        if not isinstance(attributes, dict):
            raise ValueError("it holds a booster without attributes")
        for name in names:
            if name in attributes and not _is_nothing(attributes[name]):
                _check(library, only(attributes[name], loader), member)


def _is_nothing(state: Any) -> bool:
    return isinstance(state, dict) and state.get("__loader__") == "JsonNode" and state.get("content") == "null"


def _check(library: str, state: dict[str, Any], member: Callable[[str], bytes]) -> None:
    if library.startswith("lightgbm."):
        text = json.loads(state["content"])
        if not isinstance(text, str):
            raise ValueError("it holds a booster that is not a text")
        check_text(text.replace("\r\n", "\n"))
    elif library.startswith("xgboost."):
        check_ubjson(member(state["file"]))
    else:
        check_binary(member(state["file"]))
