"""The levels of a slider: for each, the thresholds kept, the best tree on them, its certificate and its rates."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fcca.discretizers import BinaryRows
from fcca.exceptions import LightWeightsWarning, UnfinishedSearchWarning
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.quality import Quality, advice_sentence, tried_trees, verdict_sentence
from fcca.report._material import Material, Positions, Rows
from fcca.thresholds import ThresholdTable
from fcca.trees import CRITERION_NAMES, TreeStructure, amount_in_words, compared_trees
from fcca.utils import printable, proof_in_words

LONGEST_TEXT = 2000
# The whole part of the number that a condition ends in.
LAST_NUMBER = re.compile(r"(?<=[>≤] )(-?)(\d{4,})(?=(\.\d+)?( or missing)?$)")


@dataclass(frozen=True)
class Level:
    """Some of the thresholds, and the best tree on them.

    Attributes
    ----------
    kept : ndarray of int
        Positions among all conditions.
    tree : OptimalTreeClassifier
        Fitted on the 0/1 columns of those.
    training : dict
        Rates on the training rows; ``baseline`` is the accuracy of always answering ``commonest``, the commonest class of
        the training rows.
    held_out : dict or None
        The same on the rows that were held out.
    quality : Quality
        Figures of the tree beside its rivals.
    is_own : bool
        True for the classifier's own tree.
    """

    kept: Positions
    tree: Any
    training: dict[str, Any]
    held_out: dict[str, Any] | None
    quality: Quality
    is_own: bool


class Levels:
    """Grows a level for the thresholds that it is asked for; the same thresholds share a tree.

    Parameters
    ----------
    material : Material
    time_limit : float or None
        Seconds for a tree; the classifier's own is taken as it is.
    """

    def __init__(self, material: Material, time_limit: float | None) -> None:
        self.material = material
        self.time_limit = time_limit
        self._own = own_kept(material)
        self._grown: dict[bytes, Level] = {}

    def on(self, kept: Positions) -> Level:
        """The level that keeps these thresholds.

        Raises InvalidInputError for more thresholds than a tree can be searched on.
        """
        key = kept.tobytes()
        if key not in self._grown:
            self._grown[key] = self._level(kept)
        return self._grown[key]

    def _level(self, kept: Positions) -> Level:
        classifier, training, held_out = self.material.classifier, self.material.training, self.material.held_out
        table = self.material.conditions.select(np.isin(np.arange(len(self.material.conditions)), kept))
        B = table.binarize(training.table)
        tree = classifier.tree_
        is_own = np.array_equal(kept, self._own)
        if not is_own:
            tree = _grown(clone(tree), B, self.material.learned, training.weight, self.time_limit)
        rates, judged = None, B
        if held_out is not None:
            judged = table.binarize(held_out.table)
            rates = _rates(tree, judged, held_out, training.commonest)
        quality = self.material.comparison.quality(tree, judged)
        return Level(kept, tree, _rates(tree, B, training, training.commonest), rates, quality, is_own)


def own_kept(material: Material) -> Positions:
    """Positions of the classifier's own thresholds among all conditions."""
    position = {name: at for at, name in enumerate(material.conditions.names())}
    return np.array([position[name] for name in material.discretizer.thresholds_.names()], dtype=np.int64)


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


def tried_settings(material: Material) -> list[str]:
    """Settings of the tree that are better than those of the classifier, in words, where its tree is worth nothing."""
    table = material.discretizer.thresholds_
    training, held_out = (
        None if rows is None else BinaryRows(table.binarize(rows.table), rows.y, rows.answers, rows.weight)
        for rows in (material.training, material.held_out)
    )
    assert training is not None
    judged = training if held_out is None else held_out
    if not material.comparison.quality(material.classifier.tree_, judged.B).is_useless:
        return []
    return [advice_sentence(tree) for tree in tried_trees(material.comparison, training, held_out) or ()]


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


def quality_document(quality: Quality) -> dict[str, Any]:
    """Figures of a level's tree, those of CART, and what to say of a tree that is worth nothing."""
    return {
        "tree": asdict(quality.tree),
        "cart": None if quality.cart is None else asdict(quality.cart),
        "cart_leaves": quality.cart_leaves,
        "confusion": [numbers(line) for line in quality.confusion],
        "verdict": safe_text(verdict_sentence(quality)) or None,
    }


def certificate(tree: Any, fit_to: str = "labels") -> dict[str, Any]:
    """The proof about a tree, as sentences and as numbers.

    ``text`` is the short form that other outputs have, ``claim`` says it with all that it is about, ``detail`` with numbers.
    """
    among = f"{compared_trees(tree)} on these thresholds"
    price = f"{_price(tree, fit_to)}: {amount_in_words(tree.criterion, tree.objective_)}."
    text = proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)
    if tree.is_optimal_:
        claim = f"Proven: no {among} is better on the training rows"
        proof = f"No {among} has a smaller sum; equally good ones may exist."
    elif tree.lower_bound_ > 0:
        claim = f"Not proven to be the best {among}: {text} on the training rows"
        proof = f"Time ran out; no {among} has a sum below {_rounded_down(tree.criterion, tree.lower_bound_)}."
    else:
        claim = f"Not proven to be the best {among}"
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


def cost_in_words(tree: Any, fit_to: str) -> str:
    """What a tree costs without the price of its leaves."""
    if tree.criterion != "error":
        return f"the {CRITERION_NAMES[tree.criterion]} per training row"
    wrong = "gets wrong" if fit_to == "labels" else "answers unlike the black box"
    return f"the share of training rows that it {wrong}"


def _price(tree: Any, fit_to: str) -> str:
    """The sum that a tree makes as small as possible, as a sentence without its total."""
    leaves = "1 leaf" if tree.n_leaves_ == 1 else f"each of {tree.n_leaves_} leaves"
    cost = max(0.0, tree.objective_ - tree.regularization_ * tree.n_leaves_)
    said, price = (amount_in_words(tree.criterion, value) for value in (cost, tree.regularization_))
    if tree.criterion == "error":
        wrong = "Wrong on" if fit_to == "labels" else "Unlike the black box on"
        return f"{wrong} {said} of the training rows, plus {price} for {leaves}"
    name = CRITERION_NAMES[tree.criterion]
    return f"{name[0].upper()}{name[1:]} of {said} per training row, plus {price} for {leaves}"


def _rounded_down(criterion: str, value: float) -> str:
    """Four digits of a value of a criterion, never more than the number itself."""
    exact = Decimal(value)
    return amount_in_words(criterion, float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_FLOOR)))


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
