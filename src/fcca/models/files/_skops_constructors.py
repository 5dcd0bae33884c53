"""The loaders by which a skops file makes its objects, checked before it makes any.

skops asks whether a type is trusted, not how it is made: most of its loaders would call any trusted type with arguments from
the file. A booster that is made as a list would so read a file of somebody else's choice. Here every loader that calls
something is held to the types that it is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Loaders that call a type with arguments from the file, and the types that they are for; with a dot at the end, modules.
CALLED = {
    "ConstructorFromReduceNode": ("builtins.frozenset", "fcca.thresholds.ThresholdTable"),
    "DefaultDictNode": ("collections.defaultdict",),
    "DictNode": ("builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"),
    "ListNode": ("builtins.list",),
    "LossNode": ("sklearn._loss._loss.", "sklearn.linear_model._sgd_fast."),
    "NdArrayNode": ("numpy.",),
    "PartialNode": ("functools.partial",),
    "RandomGeneratorNode": ("numpy.random._generator.Generator",),
    "RandomStateNode": ("numpy.random.mtrand.RandomState",),
    "SetNode": ("builtins.set",),
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "TupleNode": ("builtins.tuple", "fcca.counterfactuals._result.Moves"),
}
#: Loaders that call nothing, or nothing that the file names.
OTHERS = frozenset(
    {
        *("BytearrayNode", "BytesNode", "DTypeNode", "FunctionNode", "JsonNode", "MaskedArrayNode", "ObjectNode"),
        *("SliceNode", "SparseMatrixNode", "TypeNode"),
    }
)
#: Types of the keys of a dictionary.
KEYS = ("builtins.str", "builtins.int", "builtins.float", "builtins.bool", "numpy.")
#: Types that check their arguments when they are called, and so have to be called.
ALWAYS_CALLED = frozenset({"fcca.thresholds.ThresholdTable"})


def check_constructors(schema: Any) -> None:
    """Raise a ValueError for an object that is made otherwise than skops makes it.

    Parameters
    ----------
    schema : object
        The document in a skops file.
    """
    for state in _objects_in(schema):
        if "__loader__" not in state:
            continue
        loader, made = state["__loader__"], _name(state)
        if type(state.get("__id__", 0)) is not int:  # 1.0 and true would be the same number as 1
            raise ValueError("it numbers an object by something else than a whole number")
        if loader in CALLED:
            if not _is_among(made, CALLED[loader]):
                raise ValueError(f"it would make a {made} by {loader}, which is not for that")
        elif not isinstance(loader, str) or loader not in OTHERS or made in ALWAYS_CALLED:
            raise ValueError(f"it would make a {made} by {loader if isinstance(loader, str) else 'something else'}")
        if loader == "DictNode":
            _check_keys(state)


def _objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """All JSON objects anywhere in a document."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _check_keys(state: dict[str, Any]) -> None:
    types = state.get("key_types")
    content = types.get("content") if isinstance(types, dict) else None
    if not isinstance(content, list) or not all(
        isinstance(one, dict) and one.get("__loader__") == "TypeNode" and _is_among(_name(one), KEYS) for one in content
    ):
        raise ValueError("it has a dictionary whose keys are neither texts nor numbers")


def _name(state: dict[str, Any]) -> str:
    module, name = state.get("__module__"), state.get("__class__")
    if not isinstance(module, str) or not isinstance(name, str):
        raise ValueError("it holds an object without a type")
    return f"{module}.{name}"


def _is_among(name: str, types: tuple[str, ...]) -> bool:
    return any(name == one or (one.endswith(".") and name.startswith(one)) for one in types)
