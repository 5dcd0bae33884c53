"""What CatBoost saves, checked before its answers are used; its binary files are tried in a process of their own first.

CatBoost checks how a binary file is laid out, but not the numbers in it, and follows them out of its memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from fcca.models._catboost import OTHER_FEATURES, refuse_features, split_number
from fcca.models._sound import count, entry, floats

DEEPEST = 64
MOST_COLUMNS = 2**24
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 60.0, 10.0

# Run by another Python: reads a binary file from standard input and writes it as JSON.
TRIAL = """
import json, os, sys, tempfile
sys.path[:] = json.loads(sys.argv[1])
content = sys.stdin.buffer.read()
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30 + 64 * len(content),) * 2)
except (ImportError, ValueError, OSError):
    pass
import catboost
try:
    model = catboost.CatBoost()
    model.load_model(blob=content)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, "rb") as file:
            text = file.read()
except (catboost.CatBoostError, ValueError, MemoryError) as error:
    sys.exit("refused: " + " ".join(str(error).split()))
sys.stdout.buffer.write(text)
"""


def check_binary(content: bytes) -> None:
    """Refuse a damaged .cbm file by a ValueError; the process that tries it may end of it, this one goes on."""
    megabytes = len(content) / 2**20
    try:
        tried = subprocess.run(
            [sys.executable, "-c", TRIAL, json.dumps(sys.path)],
            input=content,
            capture_output=True,
            timeout=LEAST_SECONDS + SECONDS_PER_MEGABYTE * megabytes,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"CatBoost has not loaded it within {error.timeout:.0f} seconds") from error
    if tried.returncode != 0:
        said = tried.stderr.decode(errors="replace").strip().rpartition("refused: ")
        raise ValueError(said[2] if said[1] else "CatBoost ends with an error of its own when it loads it")
    try:
        document = json.loads(tried.stdout)
    except (ValueError, RecursionError) as error:
        raise ValueError("it holds what CatBoost cannot write again") from error
    check_document(document)


def check_document(document: Any, constants: Sequence[str] = ()) -> None:
    """Refuse a damaged document by a ValueError, and features that cannot be read by an UnsupportedModelError.

    Parameters
    ----------
    document : object
    constants : sequence of str
        What stands in it that is no number of JSON, such as NaN: CatBoost's own reader does not survive all of these.
    """
    if constants:
        raise ValueError(f"{constants[0]} is not a number of JSON")
    trees = document.get("oblivious_trees", document.get("trees")) if isinstance(document, dict) else None
    if not isinstance(trees, list) or not trees:
        raise ValueError("it has no trees")
    features = entry(document, "features_info", dict)
    for key, kind in OTHER_FEATURES.items():
        if features.get(key):
            refuse_features(kind)
    known = [_features(features, "float_features"), _features(features, "categorical_features")]
    columns = [column for kind in known for column in kind.values()]
    if len(set(columns)) < len(columns):
        raise ValueError("two of its features are the same column")
    information = entry(document, "model_info", dict)
    _check_training(information)
    scale_and_bias = entry(document, "scale_and_bias", list)
    if len(scale_and_bias) != 2 or not isinstance(scale_and_bias[1], list) or not scale_and_bias[1]:
        raise ValueError("its 'scale_and_bias' are not two entries")
    floats(scale_and_bias[:1], "scale_and_bias", 1)
    floats(scale_and_bias[1], "scale_and_bias", len(scale_and_bias[1]))
    sizes = set()
    for number, tree in enumerate(trees):
        try:
            sizes.add(_n_outputs(tree, known) if "oblivious_trees" in document else _n_outputs_of_branches(tree, known))
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
    if len(sizes) != 1 or len(scale_and_bias[1]) not in (1, *sizes):
        raise ValueError("its trees have leaves of different sizes")
    _check_classes(information, sizes.pop())


def _features(features: dict[str, Any], name: str) -> dict[int, int]:
    """Columns of features by their numbers."""
    found: dict[int, int] = {}
    for feature in entry(features, name, list) if features.get(name) is not None else []:
        number = count(feature, "feature_index", most=MOST_COLUMNS)
        if number in found:
            raise ValueError(f"it has feature {number} twice")
        found[number] = count(feature, "flat_feature_index", most=MOST_COLUMNS)
        if not isinstance(feature.get("feature_id", ""), str):
            raise ValueError("the name of a feature is not a text")
        borders = feature.get("borders")
        if borders is not None:
            floats(borders, "borders", len(borders) if isinstance(borders, list) else 0)
        if feature.get("nan_value_treatment", "AsIs") not in ("AsIs", "AsFalse", "AsTrue"):
            raise ValueError("it does not say where missing values go")
    return found


def _check_training(information: dict[str, Any]) -> None:
    """How it was trained stands in it as JSON within JSON."""
    given = information.get("params")
    try:
        parameters = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError) as error:
        raise ValueError("it does not say how it was trained") from error
    if not isinstance(parameters, dict) or not parameters:
        raise ValueError("it does not say how it was trained")
    loss = parameters.get("loss_function")
    if loss is not None:
        entry(loss, "type", str)


def _check_classes(information: dict[str, Any], n_outputs: int) -> None:
    given = information.get("class_params")
    try:
        classes = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError) as error:
        raise ValueError("its classes are damaged") from error
    if classes is None:
        return
    names = classes.get("class_names") if isinstance(classes, dict) else None
    if names is None:
        return
    plain = isinstance(names, list) and all(isinstance(name, str | int | float) for name in names)
    if not plain or len(set(names)) != len(names) or len(names) not in ((n_outputs,) if n_outputs > 1 else (1, 2)):
        raise ValueError("its classes are not those of its leaves")


def _check_split(split: Any, known: list[dict[int, int]]) -> None:
    kind = entry(split, "split_type", str)
    if kind == "FloatFeature":
        at = count(split, "float_feature_index", most=MOST_COLUMNS)
        floats([split.get("border")], "border", 1)
        sound = at in known[0]
    elif kind == "OneHotFeature":
        at = count(split, "cat_feature_index", most=MOST_COLUMNS)
        count(split, "value", least=-(2**31), most=2**32 - 1)
        sound = at in known[1]
    else:
        split_number(split, {})  # refuses it, with words on what to do
        sound = False
    if not sound:
        raise ValueError("it splits by a feature that is not there")


def _n_outputs(tree: Any, known: list[dict[int, int]]) -> int:
    """How many numbers a leaf of a tree with one split per level has."""
    splits = tree.get("splits") if isinstance(tree, dict) else None
    splits = [] if splits is None else splits
    if not isinstance(splits, list) or len(splits) > DEEPEST:
        raise ValueError("its splits are no list")
    for split in splits:
        _check_split(split, known)
    values = entry(tree, "leaf_values", list)
    floats(values, "leaf_values", len(values))
    if len(values) == 0 or len(values) % 2 ** len(splits):
        raise ValueError(f"it has {len(values)} values for {2 ** len(splits)} leaves")
    weights = tree.get("leaf_weights")
    if weights is not None:
        floats(weights, "leaf_weights", 2 ** len(splits))
    return int(len(values) // 2 ** len(splits))


def _n_outputs_of_branches(tree: Any, known: list[dict[int, int]]) -> int:
    """How many numbers a leaf of any other tree has."""
    sizes = set()
    level = [tree]
    for _ in range(2**10):
        below = []
        for node in level:
            if not isinstance(node, dict) or ("split" in node) == ("value" in node):
                raise ValueError("it has a node that is neither a split nor a leaf")
            if "split" in node:
                _check_split(node["split"], known)
                below += [node.get("left"), node.get("right")]
            else:
                values = node["value"] if isinstance(node["value"], list) else [node["value"]]
                floats(values, "value", len(values))
                sizes.add(np.size(values))
        level = below
        if not level:
            break
    if level or len(sizes) != 1 or 0 in sizes:
        raise ValueError("its leaves are of different sizes, or too deep")
    return int(sizes.pop())
