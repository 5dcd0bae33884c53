"""The levels of the slider: for each, the thresholds kept, the best tree on them, its certificate and its rates."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fcca._decimals import plain
from fcca._text import printable
from fcca.exceptions import InvalidInputError, LightWeightsWarning, UnfinishedSearchWarning
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.report._material import Material, Rows
from fcca.selection import most_frequent
from fcca.thresholds import ThresholdTable
from fcca.trees import TreeStructure, proof_in_words

Progress = Callable[[int, int], None]

LONGEST_TEXT = 2000
# The whole part of the number that a condition ends in.
LAST_NUMBER = re.compile(r"(?<=[>≤] )(-?)(\d{4,})(?=(\.\d+)?( or missing)?$)")
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Level:
    """One granularity.

    Attributes
    ----------
    Q : float
    kept : ndarray of int
        Positions among all conditions.
    tree : OptimalTreeClassifier
        Fitted on the 0/1 columns of those.
    training : dict
        Rates on the training rows; ``baseline`` is the accuracy of always answering ``commonest``, the commonest class of
        the training rows.
    held_out : dict or None
        The same on the rows that were held out.
    """

    Q: float
    kept: NDArray[np.int64]
    tree: Any
    training: dict[str, Any]
    held_out: dict[str, Any] | None


def check_levels(Q: Any) -> tuple[float, ...]:
    """The levels asked for, without repetition; the default ones for None."""
    if Q is None:
        return LEVELS
    given = [Q] if np.ndim(Q) == 0 else list(Q)
    for level in given:
        number = isinstance(level, int | float | np.integer | np.floating) and not isinstance(level, bool)
        if not number or not 0 <= level <= 1:
            raise InvalidInputError(f"Q must hold numbers between 0 and 1, got {level!r}.")
    return tuple(sorted({round(float(level), 9) for level in given}))  # 0.1 + 0.2 is not another level than 0.3


def grown_levels(
    material: Material, levels: Sequence[float], time_limit: float | None, progress: Progress | None = None
) -> tuple[list[Level], int, list[str]]:
    """All levels in order, which of them the classifier has, and notes on those that there are not.

    Levels that keep the same thresholds share a tree; the classifier's own is taken as it is.
    """
    conditions, notes = material.conditions, []
    start = float(getattr(material.discretizer, "Q", 0.0))
    kept_at = {start: _own_kept(material)}
    if hasattr(material.discretizer, "set_granularity"):
        kept_at |= {Q: np.flatnonzero(most_frequent(conditions, Q)) for Q in levels if abs(Q - start) > 1e-9}
    grown: dict[bytes, Level] = {}
    found = []
    for done, (Q, kept) in enumerate(kept_at.items()):  # the classifier's own level first: it has its tree
        key = kept.tobytes()
        if key not in grown:
            try:
                grown[key] = _level(material, Q, kept, time_limit)
            except InvalidInputError as error:  # more thresholds than a tree can be searched on
                notes.append(f"There is no level Q = {Q:g}: {error}")
        if key in grown:
            found.append(replace(grown[key], Q=Q))
        if progress is not None:
            progress(done + 1, len(kept_at))
    found.sort(key=lambda level: level.Q)
    return found, [level.Q for level in found].index(start), notes


def _own_kept(material: Material) -> NDArray[np.int64]:
    """Positions of the classifier's own thresholds among all conditions."""
    position = {name: at for at, name in enumerate(material.conditions.names())}
    return np.array([position[name] for name in material.discretizer.thresholds_.names()], dtype=np.int64)


def _level(material: Material, Q: float, kept: NDArray[np.int64], time_limit: float | None) -> Level:
    classifier = material.classifier
    table = material.conditions.select(np.isin(np.arange(len(material.conditions)), kept))
    B = table.binarize(material.training.table)
    tree = classifier.tree_
    if not np.array_equal(kept, _own_kept(material)):
        learned = material.training.y if classifier.fit_to == "labels" else material.training.answers
        tree = _grown(clone(classifier.tree_), B, learned, material.training.weight, time_limit)
    held_out = None
    if material.held_out is not None:
        held_out = _rates(tree, table.binarize(material.held_out.table), material.held_out, material.training.commonest)
    return Level(Q, kept, tree, _rates(tree, B, material.training, material.training.commonest), held_out)


def _grown(tree: Any, B: Any, y: Any, weight: Any, time_limit: float | None) -> Any:
    own_limit = tree.get_params().get("time_limit")
    limits = [limit for limit in (own_limit, time_limit) if limit is not None]
    tree.set_params(time_limit=min(limits) if limits else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the certificate says so
        warnings.simplefilter("ignore", LightWeightsWarning)  # it came when the classifier was fitted
        return tree.fit(B, y, **({} if weight is None else {"sample_weight": weight}))


def _rates(tree: Any, B: NDArray[np.int8], rows: Rows, commonest: Any) -> dict[str, Any]:
    predicted = tree.predict(B)
    return {
        "rows": len(rows),
        "accuracy": fidelity(predicted, rows.y, rows.weight),
        "fidelity": fidelity(predicted, rows.answers, rows.weight),
        "compression": compression_rate(B, rows.weight),
        "inconsistency": inconsistency_rate(B, rows.y, rows.weight),
        "baseline": fidelity(np.full(len(rows), commonest, dtype=rows.y.dtype), rows.y, rows.weight),
        "commonest": printable(commonest),
    }


# --- as documents -------------------------------------------------------------------------------------------------------


def tree_document(
    level: Level,
    conditions: ThresholdTable,
    listed: NDArray[np.int64],
    class_codes: NDArray[np.int64],
    n_classes: int,
) -> dict[str, Any]:
    """The nodes of a level's tree.

    Parameters
    ----------
    level : Level
    conditions : ThresholdTable
        All conditions.
    listed : ndarray of int
        Positions of those that the document lists, all that the tree asks among them.
    class_codes : ndarray of int
        Positions of the tree's classes among those of the document.
    n_classes : int
        How many the document has.
    """
    table = conditions.select(np.isin(np.arange(len(conditions)), level.kept))
    nodes: TreeStructure = level.tree.tree_
    inner = nodes.feature >= 0
    condition = np.full(len(nodes.feature), -1)
    condition[inner] = np.searchsorted(listed, level.kept[nodes.feature[inner]])
    weight = np.zeros((len(condition), n_classes))
    weight[:, class_codes] = nodes.weight
    branches = nodes.with_conditions(table).branches_in_words(table.feature_names, table.columns)
    said_left, said_right = ([None if said is None else shown_text(said[side]) for said in branches] for side in (0, 1))
    return {
        "condition": condition.tolist(),
        "left": nodes.left.tolist(),
        "right": nodes.right.tolist(),
        "weight": [numbers(line) for line in weight],
        "rows": nodes.n_rows.tolist(),
        "said_left": said_left,
        "said_right": said_right,
    }


def certificate(tree: Any, fit_to: str = "labels") -> dict[str, Any]:
    """What is proven about a tree, in words and in numbers.

    ``text`` is the short form that other outputs have, ``claim`` says it with all that it is about, ``detail`` with numbers.
    """
    leaves = "1 leaf" if tree.n_leaves_ == 1 else f"each of {tree.n_leaves_} leaves"
    error = max(0.0, tree.objective_ - tree.regularization_ * tree.n_leaves_)
    among = "on these thresholds" if tree.max_depth is None else f"of depth at most {tree.max_depth} on these thresholds"
    wrong = "Wrong on" if fit_to == "labels" else "Unlike the black box on"
    price = (
        f"{wrong} {_percent(error)} of the training rows, plus {_percent(tree.regularization_)} for {leaves}: "
        f"{_percent(tree.objective_)}."
    )
    text = proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)
    if tree.is_optimal_:
        claim = f"Proven: no tree {among} is better on the training rows"
        proof = f"No tree {among} has a smaller sum; equally good ones may exist."
    elif tree.lower_bound_ > 0:
        claim = f"Not proven to be the best tree {among}: {text} on the training rows"
        proof = f"Time ran out; no tree {among} has a sum below {_rounded_down(100 * tree.lower_bound_)} %."
    else:
        claim = f"Not proven to be the best tree {among}"
        proof = "Time ran out before anything was proven."
    return {
        "text": text,
        "claim": claim,
        "detail": f"{price} {proof}",
        "optimal": bool(tree.is_optimal_),
        "gap": float(tree.gap_),
        "objective": float(tree.objective_),
        "lower_bound": float(tree.lower_bound_),
        "regularization": float(tree.regularization_),
        "leaves": int(tree.n_leaves_),
        "depth": int(tree.depth_),
    }


def _percent(share: float) -> str:
    """A share in four digits."""
    return f"{plain(float(f'{100 * share:.4g}'))} %"


def _rounded_down(x: float) -> str:
    """Four digits, never more than the number itself."""
    exact = Decimal(x)
    return plain(float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_FLOOR)))


def numbers(values: Any) -> list[float | int | None]:
    """Numbers for JSON: whole ones without a point, null for what is missing."""
    return [
        None if not math.isfinite(x) else int(x) if x.is_integer() and abs(x) < 1e15 else x
        for x in np.asarray(values, dtype=np.float64).tolist()
    ]


def shown_text(text: str) -> str:
    """A condition, made safe to show, its number with commas between thousands."""
    return safe_text(LAST_NUMBER.sub(lambda found: f"{found[1]}{int(found[2]):,}", printable(text)))


def safe_text(given: object) -> str:
    """A text made safe to show; the middle of a very long one is left out."""
    shown = printable(given)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[: LONGEST_TEXT // 2]} … {shown[-LONGEST_TEXT // 2 :]}"
