"""The provenance of a tree: versions, parameters and counts.

It documents how the tree was made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from fcca.classifier import FCCAClassifier
from fcca.constraints import Constraint
from fcca.discretizers import FCCADiscretizer, asked_distances

__all__ = ["Part", "Provenance", "cut_off", "provenance_of"]

Plain = str | int | float | bool | None

LONGEST_TEXT = 200
MOST_ENTRIES = 200
LARGEST_WHOLE = 2**63
ITEMS_SHOWN, DEPTH_SHOWN, LARGEST_SET = 20, 3, 1000

# Parameters without effect on the results. Documents do not contain them, and some are paths. The statuses and the
# certificate show which searches were stopped by a time limit.
WITHOUT_EFFECT = frozenset({"memory", "n_jobs", "time_limit", "time_limit_per_row", "train_dir", "verbose"})
# Parameters of a discretizer that have their own entries.
SEPARATE_ENTRIES = frozenset({"estimator", "decision_threshold", "selection", "constraints"})
NOT_LIBRARIES = frozenset({"fcca", "__main__"})
CALLED = {"sklearn": "scikit-learn"}


@dataclass(frozen=True)
class Part:
    """Class name and parameters of one part: black box, discretizer, tree or selection.

    Attributes
    ----------
    name : str
        Name of the class, such as ``sklearn.ensemble.RandomForestClassifier``.
    parameters : dict of str to (str, int, float, bool or None)
        Nested parameters have scikit-learn's names, ``step__parameter``. Values other than strings and numbers are
        described by a string. Long strings are cut off.
    """

    name: str
    parameters: dict[str, Plain]


@dataclass(frozen=True)
class Provenance:
    """How a tree was made: library versions, parameters and training statistics.

    Attributes
    ----------
    libraries : dict of str to str
        Versions of numpy, scikit-learn and the libraries of the black box.
    black_box, discretizer, tree : Part
        Class names and parameters.
    selection : Part or None
        The method that selected some of the thresholds. None if they were selected only by their counts (``Q``).
    rules : tuple of str
        The rules that the counterfactuals had to follow.
    fit_to : {"mixture", "probability", "labels", "target"}
        What the tree learned: the class probabilities of the black box, the given labels, a mixture of both, or the
        predictions of the black box ("target").
    n_rows : int
        Number of training rows.
    weight : float
        Total weight of the training rows.
    statuses : dict of str to int, or None
        Number of counterfactuals with each status. None if the thresholds do not come from counterfactuals.
    fidelity : float
        Share of the training weight on which the tree and the black box predict the same class.
    accuracy : float or None
        Share of the training weight that the tree predicts correctly. None for a tree that was fitted to the predictions of
        the black box or with class weights.
    """

    libraries: dict[str, str]
    black_box: Part
    discretizer: Part
    tree: Part
    selection: Part | None
    rules: tuple[str, ...]
    fit_to: str
    n_rows: int
    weight: float
    statuses: dict[str, int] | None
    fidelity: float
    accuracy: float | None


def provenance_of(classifier: FCCAClassifier) -> Provenance:
    """Collect the provenance of the tree of a fitted classifier.

    Parameters
    ----------
    classifier : FCCAClassifier
        A fitted classifier.
    """
    discretizer, grown, nodes = classifier.discretizer_, classifier.tree_, classifier.structure_
    black_box = discretizer.estimator_
    while isinstance(black_box, FrozenEstimator):
        black_box = black_box.estimator
    own = _parameters(discretizer, deep=False)
    if isinstance(discretizer, FCCADiscretizer):  # store the values that None stands for
        own |= asked_distances(discretizer)
    selection = own.get("selection")
    learned_labels = classifier.fit_to_ != "target" and getattr(grown, "class_weight", None) is None
    leaves, total = nodes.weight[nodes.feature < 0], float(nodes.weight[0].sum())
    statuses = getattr(discretizer, "statuses_", None)
    return Provenance(
        libraries=_libraries(black_box),
        black_box=_part(black_box, _parameters(black_box, deep=True)),
        discretizer=_part(discretizer, {name: value for name, value in own.items() if name not in SEPARATE_ENTRIES}),
        tree=_part(grown, _parameters(grown, deep=False)),
        selection=None if selection is None else _part(selection, _parameters(selection, deep=False)),
        rules=tuple(_in_text(rule) for rule in islice(own.get("constraints") or (), MOST_ENTRIES)),
        fit_to=str(classifier.fit_to_),
        n_rows=int(nodes.n_rows[0]),
        weight=total,
        statuses=None if statuses is None else {str(name): int(n) for name, n in statuses.items()},
        fidelity=float(classifier.fidelity_),
        accuracy=float(leaves.max(axis=1).sum() / total) if learned_labels else None,
    )


def _parameters(part: Any, *, deep: bool) -> dict[str, Any]:
    return {str(name): value for name, value in part.get_params(deep=deep).items()}


def _part(part: Any, parameters: Mapping[str, Any]) -> Part:
    names = sorted(name for name in parameters if name.rpartition("__")[2] not in WITHOUT_EFFECT)
    plain = {cut_off(name): plain_parameter(parameters[name]) for name in names[:MOST_ENTRIES]}
    return Part(_class_name(type(part)), plain)


def _libraries(black_box: Any) -> dict[str, str]:
    """Return the versions of numpy, scikit-learn and the libraries of the black box."""
    found = {"numpy", "sklearn"}
    for part in (black_box, *_parameters(black_box, deep=True).values()):
        found |= {base.__module__.partition(".")[0] for base in type(part).__mro__}
    versions = {}
    for name in sorted(found - NOT_LIBRARIES):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            versions[cut_off(CALLED.get(name, name))] = cut_off(version)
    return dict(sorted(versions.items())[:MOST_ENTRIES])


# --- strings -------------------------------------------------------------------------------------------------------------


def _class_name(kind: type) -> str:
    """Return the name of a class with its modules, such as ``sklearn.svm.LinearSVC``.

    Private modules, whose names begin with an underscore, are left out.
    """
    modules = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    return cut_off(".".join([*modules, kind.__qualname__]))


def cut_off(text: str) -> str:
    """Shorten a string to at most LONGEST_TEXT characters."""
    return str(text) if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def plain_parameter(value: Any) -> Plain:
    """Convert a parameter to a value that JSON can represent."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < LARGEST_WHOLE:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return cut_off(value) if isinstance(value, str) else _in_text(value)


def _in_text(value: Any, depth: int = 0) -> str:
    """Describe any value by a string that is the same in every run.

    Memory addresses are left out and sets are sorted, because both can differ between runs. ``depth`` is the number of
    lists and dictionaries around the value. Beyond a certain depth, only the type and the length of a list are given.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bytes):
        return cut_off(repr(value[:LONGEST_TEXT]))
    if isinstance(value, int) and abs(value) >= LARGEST_WHOLE:
        return f"a whole number of {value.bit_length():,} bits"
    if value is None or isinstance(value, int | float | complex):
        return repr(value)
    if isinstance(value, Constraint):
        return cut_off(repr(value))
    if isinstance(value, np.ndarray):
        return f"ndarray of shape {value.shape}"
    if isinstance(value, type):
        return _class_name(value)
    if isinstance(value, list | tuple | dict | set | frozenset):
        return cut_off(_items_in_text(value, depth))
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):  # a function
        return cut_off(f"{getattr(value, '__module__', '')}.{name}")
    return _class_name(type(value))


def _items_in_text(value: Any, depth: int) -> str:
    if depth == DEPTH_SHOWN or (isinstance(value, set | frozenset) and len(value) > LARGEST_SET):
        return f"{type(value).__name__} of {len(value):,}"
    texts: Iterable[str] = (_in_text(item, depth + 1) for item in value)
    if isinstance(value, dict):
        texts = (f"{_in_text(key, depth + 1)}: {_in_text(item, depth + 1)}" for key, item in value.items())
    elif isinstance(value, set | frozenset):
        texts = sorted(texts)
    begin, end = "[]" if isinstance(value, list) else "()" if isinstance(value, tuple) else "{}"
    return begin + ", ".join(_first(iter(texts), len(value))) + end


def _first(texts: Iterator[str], n: int) -> Iterator[str]:
    yield from islice(texts, ITEMS_SHOWN)
    if n > ITEMS_SHOWN:
        yield "…"
