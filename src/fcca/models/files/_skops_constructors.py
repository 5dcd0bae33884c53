"""Check which types the loaders in a skops file create.

A skops file names a type and a loader for each object. skops checks that the type is trusted, but not that the loader fits
the type. Most loaders call the type with arguments from the file. For example, the loader for lists could create a booster
from the name of any file. The booster would then read that file. So here, each loader may only create the types that it is
made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Loaders that call a type with arguments from the file, and the types they may create. A dot at the end marks a module.
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
#: Loaders that call no type from the file.
OTHERS = frozenset(
    {
        *("BytearrayNode", "BytesNode", "DTypeNode", "FunctionNode", "JsonNode", "MaskedArrayNode", "ObjectNode"),
        *("SliceNode", "SparseMatrixNode", "TypeNode"),
    }
)
#: Allowed types of dictionary keys.
KEYS = ("builtins.str", "builtins.int", "builtins.float", "builtins.bool", "numpy.")
#: Types that must be created by a call, because the call checks their arguments.
ALWAYS_CALLED = frozenset({"fcca.thresholds.ThresholdTable"})


def check_constructors(schema: Any) -> None:
    """Check that each loader in a skops file fits its object's type.

    Parameters
    ----------
    schema : object
        The JSON document in the skops file.

    Raises
    ------
    ValueError
        If a loader is unknown or does not fit the type of its object.
    """
    for state in _objects_in(schema):
        if "__loader__" not in state:
            continue
        loader, made = state["__loader__"], _name(state)
        if type(state.get("__id__", 0)) is not int:  # 1.0 and true would equal 1
            raise ValueError("it has an object whose __id__ is not a whole number")
        if loader in CALLED:
            if not _is_among(made, CALLED[loader]):
                raise ValueError(f"it would create a {made} with {loader}, which is not allowed")
        elif not isinstance(loader, str) or loader not in OTHERS or made in ALWAYS_CALLED:
            raise ValueError(f"it would create a {made} with {loader if isinstance(loader, str) else 'an unknown loader'}")
        if loader == "DictNode":
            _check_keys(state)


def _objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Iterate over all dictionaries in a JSON document, at any depth."""
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
        raise ValueError("it has a dictionary whose keys are neither strings nor numbers")


def _name(state: dict[str, Any]) -> str:
    module, name = state.get("__module__"), state.get("__class__")
    if not isinstance(module, str) or not isinstance(name, str):
        raise ValueError("it holds an object without a type")
    return f"{module}.{name}"


def _is_among(name: str, types: tuple[str, ...]) -> bool:
    return any(name == one or (one.endswith(".") and name.startswith(one)) for one in types)
