"""The levels of the report: the thresholds and the tree at each slider position."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fcca.classifier import fit_tree
from fcca.discretizers import BinaryRows
from fcca.exceptions import LightWeightsWarning, UnfinishedSearchWarning
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.quality import Quality, advice_sentence, figures_sentence, tried_trees, verdict_sentence
from fcca.report._report_input import Positions, PredictedRows, ReportInput
from fcca.thresholds import ThresholdTable
from fcca.trees import CRITERION_NAMES, TreeStructure, amount_in_words, compared_trees
from fcca.utils import printable, proof_in_words

LONGEST_TEXT = 2000
#: What the cost of a tree on soft labels is measured against.
LEARNED_SHARES = {
    "probability": "the probabilities of the black box",
    "mixture": "a mixture of the labels and the probabilities of the black box",
}
# The integer part of the number at the end of a condition.
LAST_NUMBER = re.compile(r"(?<=[>≤] )(-?)(\d{4,})(?=(\.\d+)?( or missing)?$)")


@dataclass(frozen=True)
class Level:
    """Some of the thresholds, and the optimal tree that uses only these.

    Attributes
    ----------
    kept : ndarray of int
        Positions of these thresholds in ``ReportInput.conditions``.
    tree : OptimalTreeClassifier
        Fitted on the binary columns of these thresholds.
    training : dict
        Rates on the training rows, such as accuracy and compression. ``commonest`` is the most frequent class of the
        training rows, and ``baseline`` is the accuracy of always predicting it.
    held_out : dict or None
        The same rates on the held-out rows; None if there are none.
    quality : Quality
        Accuracy and other measures of the tree, of CART, of the most frequent class and of the black box.
    is_own : bool
        Whether this is the tree of the classifier that the report is about.
    """

    kept: Positions
    tree: Any
    training: dict[str, Any]
    held_out: dict[str, Any] | None
    quality: Quality
    is_own: bool

    def mask(self, inputs: ReportInput) -> NDArray[np.bool_]:
        """Return a mask of these thresholds among ``inputs.conditions``."""
        return np.isin(np.arange(len(inputs.conditions)), self.kept)


class Levels:
    """Fits one tree for each set of thresholds that a slider can select.

    For the thresholds of the classifier, the tree of the classifier is reused.

    Parameters
    ----------
    inputs : ReportInput
    time_limit : float or None
        Seconds for each tree; None for no limit.
    """

    def __init__(self, inputs: ReportInput, time_limit: float | None) -> None:
        self.inputs = inputs
        self.time_limit = time_limit
        self._classifier_kept = classifier_kept(inputs)
        self._grown: dict[bytes, Level] = {}

    def on(self, kept: Positions) -> Level:
        """Return the level with the thresholds at the positions ``kept``.

        Raise an InvalidInputError if there are more thresholds than the tree search accepts.
        """
        key = kept.tobytes()
        if key not in self._grown:
            self._grown[key] = self._level(kept)
        return self._grown[key]

    def _level(self, kept: Positions) -> Level:
        classifier, training, held_out = self.inputs.classifier, self.inputs.training, self.inputs.held_out
        table = self.inputs.conditions.select(np.isin(np.arange(len(self.inputs.conditions)), kept))
        B = table.binarize(training.table)
        tree = classifier.tree_
        is_own = np.array_equal(kept, self._classifier_kept)
        if not is_own:
            rows = BinaryRows(B, training.y, training.predictions, training.weight, soft=self.inputs.soft)
            tree = _grown(clone(tree), rows, classifier.fit_to_, self.time_limit)
        rates, judged = None, B
        if held_out is not None:
            judged = table.binarize(held_out.table)
            rates = self._rates(tree, judged, held_out)
        quality = self.inputs.comparison.quality(tree, judged)
        quality = replace(quality, commonest_class=self.inputs.name(quality.commonest_class))
        return Level(kept, tree, self._rates(tree, B, training), rates, quality, is_own)

    def _rates(self, tree: Any, B: NDArray[np.int8], rows: PredictedRows) -> dict[str, Any]:
        commonest = self.inputs.training.commonest
        return _rates(tree, B, rows, commonest) | {"commonest": printable(self.inputs.name(commonest))}


def classifier_kept(inputs: ReportInput) -> Positions:
    """Return the positions in ``inputs.conditions`` of the thresholds that the classifier uses."""
    position = {name: at for at, name in enumerate(inputs.conditions.names())}
    return np.array([position[name] for name in inputs.discretizer.thresholds_.names()], dtype=np.int64)


def _grown(tree: Any, rows: BinaryRows, fit_to: str, time_limit: float | None) -> Any:
    tree_limit = tree.get_params().get("time_limit")
    limits = [limit for limit in (tree_limit, time_limit) if limit is not None]
    tree.set_params(time_limit=min(limits) if limits else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the page shows the proof
        warnings.simplefilter("ignore", LightWeightsWarning)  # shown when the classifier was fitted
        return fit_tree(tree, rows, fit_to)


def _rates(tree: Any, B: NDArray[np.int8], rows: PredictedRows, commonest: Any) -> dict[str, Any]:
    predicted = tree.predict(B)
    return {
        "rows": len(rows),
        "accuracy": fidelity(predicted, rows.y, rows.weight),
        "fidelity": fidelity(predicted, rows.predictions, rows.weight),
        "compression": compression_rate(B, rows.weight),
        "inconsistency": inconsistency_rate(B, rows.y, rows.weight),
        "baseline": fidelity(np.full(len(rows), commonest, dtype=rows.y.dtype), rows.y, rows.weight),
    }


def tried_settings(inputs: ReportInput) -> list[str]:
    """Try other settings of the tree if it is no better than the most frequent class.

    Return one sentence for each setting whose tree is better. Return an empty list if the tree itself is better
    than the most frequent class.
    """
    table = inputs.discretizer.thresholds_
    training, held_out = (
        None if rows is None else BinaryRows(table.binarize(rows.table), rows.y, rows.predictions, rows.weight, soft=soft)
        for rows, soft in ((inputs.training, inputs.soft), (inputs.held_out, None))
    )
    assert training is not None
    judged = training if held_out is None else held_out
    if not inputs.comparison.quality(inputs.classifier.tree_, judged.B).is_useless:
        return []
    return [advice_sentence(tree) for tree in tried_trees(inputs.comparison, training, held_out) or ()]


# --- as documents -------------------------------------------------------------------------------------------------------


def tree_document(
    level: Level,
    conditions: ThresholdTable,
    listed: NDArray[np.int64],
    class_codes: NDArray[np.int64],
    n_classes: int,
) -> dict[str, Any]:
    """Return the nodes of a level's tree as JSON data for the page.

    Parameters
    ----------
    level : Level
    conditions : ThresholdTable
        All conditions found.
    listed : ndarray of int
        Positions of the conditions that the page lists. The conditions of the tree are among them.
    class_codes : ndarray of int
        Position of each class of the tree among the classes of the page.
    n_classes : int
        Number of classes of the page.
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
    """Return the quality of a tree and of CART as JSON data for the page.

    ``sentence`` has the accuracies of the tree, the black box and the most frequent class. ``verdict`` is a warning
    if the tree is no better than the most frequent class, and None otherwise.
    """
    return {
        "tree": asdict(quality.tree),
        "cart": None if quality.cart is None else asdict(quality.cart),
        "cart_leaves": quality.cart_leaves,
        "confusion": [numbers(line) for line in quality.confusion],
        "sentence": figures_sentence(quality),
        "verdict": safe_text(verdict_sentence(quality)) or None,
    }


def certificate(tree: Any, fit_to: str = "labels") -> dict[str, Any]:
    """Return what is proven about a tree, as sentences and numbers for the page.

    ``text`` is a short form such as ``proven optimal``. ``claim`` says which trees the tree was compared with. ``detail``
    explains the objective with its numbers.

    Parameters
    ----------
    tree : OptimalTreeClassifier
        Fitted.
    fit_to : {"labels", "target", "probability", "mixture"}, default="labels"
        What the tree learned.
    """
    among = compared_trees(tree)
    price = f"{_price(tree, fit_to)}: {amount_in_words(tree.criterion, tree.objective_)}."
    text = proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)
    if tree.is_optimal_:
        claim = f"Proven: no {among} has a lower cost on the training rows"
        proof = f"No {among} has a smaller sum. Other trees may have the same sum."
    elif tree.lower_bound_ > 0:
        claim = f"Not proven to be the best {among}: {text} on the training rows"
        bound = _rounded_down(tree.criterion, tree.lower_bound_)
        proof = f"The search was stopped by the time limit. No {among} has a sum below {bound}."
    else:
        claim = f"Not proven to be the best {among}"
        proof = "The search was stopped by the time limit before it had a lower bound on the sum."
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
    """Describe the first part of the objective of a tree: its cost on the training rows.

    The other part is the cost per leaf. ``fit_to`` says what the tree learned, as in :func:`certificate`.
    """
    if tree.criterion != "error":
        against = f", against {LEARNED_SHARES[fit_to]}" if fit_to in LEARNED_SHARES else ""
        return f"the {CRITERION_NAMES[tree.criterion]} per training row{against}"
    return {
        **{each: f"its expected error per training row, by {shares}" for each, shares in LEARNED_SHARES.items()},
        "labels": "the share of training rows that it gets wrong",
        "target": "the share of training rows that it predicts differently from the black box",
    }[fit_to]


def _price(tree: Any, fit_to: str) -> str:
    """Describe the objective of a tree: its cost on the training rows, plus the cost of its leaves."""
    leaves = "1 leaf" if tree.n_leaves_ == 1 else f"each of {tree.n_leaves_} leaves"
    cost = max(0.0, tree.objective_ - tree.regularization_ * tree.n_leaves_)
    said, price = (amount_in_words(tree.criterion, value) for value in (cost, tree.regularization_))
    if tree.criterion == "error":
        words = {"labels": "Wrong on", "target": "Different from the black box on"}
        return f"{words.get(fit_to, 'Expected to be wrong on')} {said} of the training rows, plus {price} for {leaves}"
    name = CRITERION_NAMES[tree.criterion]
    against = f" against {LEARNED_SHARES[fit_to]}" if fit_to in LEARNED_SHARES else ""
    return f"{name[0].upper()}{name[1:]} of {said} per training row{against}, plus {price} for {leaves}"


def _rounded_down(criterion: str, value: float) -> str:
    """Round a value of a criterion down to four significant digits, and format it."""
    exact = Decimal(value)
    return amount_in_words(criterion, float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_FLOOR)))


def numbers(values: Any) -> list[float | int | None]:
    """Convert numbers to a list for JSON.

    Whole numbers become integers. NaN and infinity become None.
    """
    return [
        None if not math.isfinite(x) else int(x) if x.is_integer() and abs(x) < 1e15 else x
        for x in np.asarray(values, dtype=np.float64).tolist()
    ]


def shown_text(text: str) -> str:
    """Escape the text of a condition, and add thousands separators, as in 10,900."""
    return safe_text(LAST_NUMBER.sub(lambda found: f"{found[1]}{int(found[2]):,}", printable(text)))


def safe_text(given: object) -> str:
    """Escape a string for display. The middle of a very long string is replaced by ``…``."""
    shown = printable(given)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[: LONGEST_TEXT // 2]} … {shown[-LONGEST_TEXT // 2 :]}"
