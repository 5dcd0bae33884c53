"""A LightGBM model's text, checked before LightGBM gets to see it, which does not survive every damage."""

from __future__ import annotations

import json
import re

import numpy as np
from numpy.typing import NDArray

from fcca.models._lightgbm import refuse_linear_trees
from fcca.models._sound import MOST_CATEGORIES, is_tree

MOST_FEATURES = 2**24
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?", re.ASCII)
WHOLE = re.compile(r"-?\d{1,10}", re.ASCII)
OBJECTIVE = re.compile(r"[a-z_0-9]+( [a-z_]+(:[-+.\w]+)?)*", re.ASCII)
PARAMETER = re.compile(r"\[[a-z_0-9]+: .*\]", re.ASCII)
HEADER = ("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "feature_names", "tree_sizes")

# Of inner nodes and of leaves. What is not needed to answer may be left out, as older versions do.
OF_INNER = {"split_feature": True, "threshold": False, "decision_type": True, "left_child": True, "right_child": True}
OF_INNER_AT_WILL = ("split_gain", "internal_value", "internal_weight", "internal_count")
OF_LEAVES_AT_WILL = ("leaf_weight", "leaf_count")


def check_text(text: str) -> None:
    """Refuse a damaged text by a ValueError."""
    head, found, rest = text.partition("\n\nTree=")
    if not found:
        raise ValueError("it has no trees")
    header = _fields(head.removeprefix("tree\n"), flags=("average_output",))
    missing = [name for name in HEADER if name not in header]
    if missing:
        raise ValueError(f"it has no {missing[0]!r}")
    n_classes, per_iteration = _count(header, "num_class", 1), _count(header, "num_tree_per_iteration", 1)
    _count(header, "label_index", 0)
    n_features = _count(header, "max_feature_idx", 0, MOST_FEATURES) + 1
    if per_iteration not in (1, n_classes):
        raise ValueError(f"it has {per_iteration} trees at a time for {n_classes} classes")
    _check_objective(header.get("objective"), n_classes)
    for name in ("feature_names", "feature_infos", "monotone_constraints"):
        if name in header and len(header[name].split(" ")) != n_features:
            raise ValueError(f"its {name!r} are not those of {n_features} columns")
    if "feature_infos" in header:
        _check_infos(header["feature_infos"].split(" "))
    if "monotone_constraints" in header:
        _whole(header["monotone_constraints"], "monotone_constraints", n_features, least=-1, most=1)
    _check_trees(header, "Tree=" + rest, per_iteration, n_features)


def _fields(text: str, flags: tuple[str, ...] = ()) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if line == "" or line in flags:
            continue
        if not equals or name in fields or "\0" in line:
            raise ValueError(f"it has a line that cannot be understood: {line[:40]!r}")
        fields[name] = value
    return fields


def _count(fields: dict[str, str], name: str, least: int, most: int = 2**20) -> int:
    given = fields.get(name, "")
    if not WHOLE.fullmatch(given) or not least <= int(given) <= most:
        raise ValueError(f"its {name!r} is {given[:20]!r} and not a number between {least} and {most}")
    return int(given)


def _check_objective(objective: str | None, n_classes: int) -> None:
    if objective is None:
        return
    if not OBJECTIVE.fullmatch(objective):
        raise ValueError(f"its objective is {objective[:40]!r}")
    for word in objective.split(" ")[1:]:
        name, _, value = word.partition(":")
        if name == "num_class" and value != str(n_classes):
            raise ValueError(f"its objective has {value[:20]!r} classes, and it has {n_classes}")
        if name == "sigmoid" and not (NUMBER.fullmatch(value) and 0 < float(value) < np.inf):
            raise ValueError(f"its objective has the steepness {value[:20]!r}")


def _check_infos(infos: list[str]) -> None:
    """Ranges of numbers, or lists of categories."""
    for info in infos:
        if info == "none":
            continue
        if info.startswith("[") and info.endswith("]"):
            ends = info[1:-1].split(":")
            sound = len(ends) == 2 and all(NUMBER.fullmatch(end) or end in ("inf", "-inf") for end in ends)
        else:
            sound = all(WHOLE.fullmatch(code) and -1 <= int(code) <= MOST_CATEGORIES for code in info.split(":"))
        if not sound:
            raise ValueError(f"its 'feature_infos' has {info[:40]!r}")


def _check_trees(header: dict[str, str], text: str, per_iteration: int, n_features: int) -> None:
    """Trees are where the header says, which LightGBM goes by."""
    sizes = _whole(header["tree_sizes"], "tree_sizes", None, least=1)
    if len(sizes) == 0 or len(sizes) % per_iteration:
        raise ValueError(f"it has {len(sizes)} trees, {per_iteration} at a time")
    content = text.encode()
    begin = 0
    for number, size in enumerate(sizes.tolist()):
        tree = content[begin : begin + size]
        name = f"Tree={number}\n".encode()
        if len(tree) != size or not tree.startswith(name) or not tree.endswith(b"\n\n\n"):
            raise ValueError(f"it is cut off or changed: tree {number} of {len(sizes)} is not where it should be")
        try:
            _check_tree(_fields(tree[len(name) :].decode()), n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
        begin += size
    rest = content[begin:].decode()
    if not rest.startswith("end of trees\n"):
        raise ValueError("it is cut off after its trees")
    _check_rest(rest.removeprefix("end of trees\n"))


def _check_tree(tree: dict[str, str], n_features: int) -> None:
    n_leaves, n_sets = _count(tree, "num_leaves", 1, 2**24), _count(tree, "num_cat", 0, 2**24)
    n_inner = n_leaves - 1
    for name in ("is_linear", "shrinkage"):
        if name in tree and not NUMBER.fullmatch(tree[name]):
            raise ValueError(f"its {name!r} is {tree[name][:20]!r}")
    if tree.get("is_linear", "0") not in ("0", "1"):
        raise ValueError("its 'is_linear' is neither 0 nor 1")
    _floats(tree, "leaf_value", n_leaves)
    for name, n in [(name, n_inner) for name in OF_INNER_AT_WILL] + [(name, n_leaves) for name in OF_LEAVES_AT_WILL]:
        if tree.get(name):
            _floats(tree, name, n, finite=False)
    if tree.get("is_linear", "0") == "1":
        refuse_linear_trees()
    if n_inner == 0:
        return
    found = {
        name: _whole(tree.get(name, ""), name, n_inner) if are_whole else _floats(tree, name, n_inner)
        for name, are_whole in OF_INNER.items()
    }
    if np.any((found["split_feature"] < 0) | (found["split_feature"] >= n_features)):
        raise ValueError("it splits by a column that is not there")
    # A child below zero is the leaf of that number's complement; leaves are numbered after the inner nodes here.
    children = np.stack([found["left_child"], found["right_child"]]).astype(np.int64)
    numbered = np.where(children < 0, n_inner + ~children, children)
    left, right = np.pad(numbered, ((0, 0), (0, n_leaves)), constant_values=-1)
    inner = np.arange(n_inner + n_leaves) < n_inner
    if np.any(children >= n_inner) or np.sum(children < 0) != n_leaves or not is_tree(left, right, inner):
        raise ValueError("its nodes do not form a tree")
    decision = found["decision_type"]
    if np.any((decision < 0) | (decision > 15)):
        raise ValueError("it has a 'decision_type' that is not known")
    _check_sets(tree, n_sets, found["threshold"][decision % 2 == 1])


def _check_sets(tree: dict[str, str], n_sets: int, numbers: NDArray[np.float64]) -> None:
    """Sets of categories, as bits; a node's threshold is the number of its set."""
    if np.any((numbers < 0) | (numbers >= n_sets) | (numbers != np.floor(numbers))):
        raise ValueError("it splits by a set of categories that is not there")
    if n_sets == 0:
        return
    bounds = _whole(tree.get("cat_boundaries", ""), "cat_boundaries", n_sets + 1, least=0, most=MOST_CATEGORIES)
    if bounds[0] != 0 or np.any(np.diff(bounds) <= 0):
        raise ValueError("its sets of categories are not where they are said to be")
    _whole(tree.get("cat_threshold", ""), "cat_threshold", int(bounds[-1]), least=0, most=2**32 - 1)


def _check_rest(rest: str) -> None:
    """How often columns are used, the parameters of the training, and the labels of pandas' categories."""
    before, found, after = rest.partition("\nparameters:\n")
    lines = [line for line in before.split("\n") if line]
    if lines and lines[0] not in ("feature_importances:", "feature importances:"):
        lines = [line for line in lines if not line.startswith("pandas_categorical:")]
        if lines:
            raise ValueError(f"it has a line that cannot be understood: {lines[0][:40]!r}")
    if any(not WHOLE.fullmatch(line.rpartition("=")[2]) for line in lines[1:] if not line.startswith("pandas_categorical:")):
        raise ValueError("how often its columns are used are no numbers")
    if found:
        parameters, ended, after = after.partition("\nend of parameters\n")
        if not ended or not all(PARAMETER.fullmatch(line) for line in parameters.split("\n") if line):
            raise ValueError("its parameters are cut off or changed")
    labels = [line for line in rest.split("\n") if line.startswith("pandas_categorical:")]
    if labels and labels[-1] != "pandas_categorical:null":
        try:
            known = json.loads(labels[-1].partition(":")[2])
        except (ValueError, RecursionError) as error:
            raise ValueError("its labels of categories are changed") from error
        plain = str | int | float
        if not isinstance(known, list) or not all(
            isinstance(column, list) and all(isinstance(label, plain) for label in column) for column in known
        ):
            raise ValueError("its labels of categories are no lists of labels")


def _whole(text: str, name: str, size: int | None, *, least: int = -(2**31), most: int = 2**31 - 1) -> NDArray[np.int64]:
    words = text.split(" ") if text else []
    if (size is not None and len(words) != size) or not all(WHOLE.fullmatch(word) for word in words):
        raise ValueError(f"its {name!r} is not a list of {'' if size is None else f'{size} '}whole numbers")
    numbers = np.array([int(word) for word in words], dtype=np.int64)
    if np.any((numbers < least) | (numbers > most)):
        raise ValueError(f"its {name!r} has a number that is not between {least} and {most}")
    return numbers


def _floats(tree: dict[str, str], name: str, size: int, *, finite: bool = True) -> NDArray[np.float64]:
    words = tree.get(name, "").split(" ") if tree.get(name) else []
    allowed = () if finite else ("inf", "-inf", "nan", "-nan")
    if len(words) != size or not all(NUMBER.fullmatch(word) or word in allowed for word in words):
        raise ValueError(f"its {name!r} is not a list of {size} numbers")
    numbers = np.array([float(word) for word in words])
    if finite and not np.isfinite(numbers).all():
        raise ValueError(f"its {name!r} has a number that is too large")
    return numbers
