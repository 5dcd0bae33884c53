"""Certificates read back. A document is judged wholly before anything is made of it, and nothing in it is ever run."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca._documents import DocumentReader, is_whole, parsed
from fcca.constraints import Constraint
from fcca.counterfactuals import STATUSES
from fcca.exceptions import InvalidInputError
from fcca.export._certificate import FORMAT, IN_PIECES, VERSION
from fcca.export._json import VERSION as VERSION_OF_TREES
from fcca.export._json import WITHOUT_THRESHOLDS
from fcca.export._reading import TREE, from_json
from fcca.export._tree import DistilledTree
from fcca.thresholds import ThresholdTable

Label = str | int | float | bool
Longs = NDArray[np.int64]

LARGEST_WHOLE = 2**62
LARGEST = 2**29  # characters; a certificate of a million rows has fewer
FINGERPRINT = re.compile(r"[0-9a-f]{64}")
SHARES = ("p0", "p1", "Q")
COSTS = ("lambda0", "lambda1", "lambda2")
TIMES = ("time_limit", "time_limit_per_point")

_reader = DocumentReader("certificate", "Write it again with fcca.export.certificate or fcca distill.")


@dataclass(frozen=True)
class Points:
    """The counterfactuals of a certificate, as it states them.

    Attributes
    ----------
    row : ndarray of int
        One entry per counterfactual, as the next four.
    target : tuple
        Labels; None where there is no answer.
    status : tuple of str
    cost, bound : ndarray
        Infinite where it has none.
    move_row, move_feature : ndarray of int
        One entry per move, as the next two.
    move_from, move_to : tuple
        Numbers, labels of categories, None for a missing value.
    gap_row, gap_feature : ndarray of int
        Missing values that decide by themselves.
    """

    row: Longs
    target: tuple[Label | None, ...]
    status: tuple[str, ...]
    cost: NDArray[np.float64]
    bound: NDArray[np.float64]
    move_row: Longs
    move_feature: Longs
    move_from: tuple[Label | None, ...]
    move_to: tuple[Label | None, ...]
    gap_row: Longs
    gap_feature: Longs


@dataclass(frozen=True)
class StatedProof:
    """What a certificate claims of a tree, or of a choice of thresholds (whose objective is its inconsistency)."""

    objective: float
    lower_bound: float
    optimal: bool
    gap: float = 0.0


@dataclass(frozen=True)
class StatedParameters:
    """What was asked for; the names are those of FCCADiscretizer, FCCAClassifier and OptimalTreeClassifier."""

    search: dict[str, Any]
    rules: tuple[Constraint, ...]
    selection: dict[str, Any] | None
    fit_to: str
    max_depth: int | None
    regularization: float | None
    class_weight: tuple[tuple[Label, float], ...] | str | None
    max_nodes: int | None
    tree_is_limited: bool

    @property
    def search_is_limited(self) -> bool:
        """Whether searches of counterfactuals may have been ended by the clock."""
        return any(self.search[name] is not None for name in TIMES)


@dataclass(frozen=True)
class ReadFrom:
    """How the command line read the rows.

    Attributes
    ----------
    label : str
        The label column.
    categorical : tuple of str
        Columns that were said to hold categories.
    n_rows : int
        All rows of the file.
    left_out : ndarray of int
        Those of them that are no training rows.
    fingerprint : str
        Of all rows.
    """

    label: str
    categorical: tuple[str, ...]
    n_rows: int
    left_out: Longs
    fingerprint: str


@dataclass(frozen=True)
class CertificateDocument:
    """A certificate, well-formed; whether it is true is for :func:`fcca.verification.verify` to say.

    Of a tree that contradicts itself there is none, and ``contradiction`` says why.
    """

    versions: dict[str, str]
    data_fingerprint: str | None
    n_rows: int | None
    columns: tuple[str, ...]
    classes: tuple[Label, ...]
    read: ReadFrom | None
    model_fingerprint: str | None
    model_class: str
    decision_threshold: float | None
    parameters: StatedParameters
    statuses: dict[str, int]
    points: Points | None
    found: ThresholdTable
    kept: tuple[int, ...]
    selection: StatedProof | None
    tree: DistilledTree | None
    contradiction: str
    proof: StatedProof


def read_certificate(text: str | bytes) -> CertificateDocument:
    """What a document of :func:`fcca.export.certificate` states.

    Parameters
    ----------
    text : str or bytes
        UTF-8 where bytes.

    Returns
    -------
    CertificateDocument

    Raises
    ------
    InvalidInputError
        For anything that is not such a document, whole and well-formed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import certificate, read_certificate
    >>> stated = read_certificate(certificate(FCCAClassifier().fit(*load_iris(return_X_y=True))))
    >>> stated.classes, stated.proof.optimal
    ((0, 1, 2), True)
    """
    document = parsed(text, LARGEST, "a certificate")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInputError(
            f"Not a certificate of fcca: expected a JSON object with format {FORMAT!r}, such as the certificate.json that "
            "fcca distill writes."
        )
    version = document.get("version")
    if not is_whole(version) or version != VERSION:
        raise InvalidInputError(f"A certificate of version {repr(version)[:40]}; this fcca reads version {VERSION}.")
    data, model = (_reader.entry(document, name, dict) for name in ("data", "model"))
    columns = _texts(_reader.entry(data, "columns", list, "data"), "columns")
    thresholds = _reader.entry(document, "thresholds", dict)
    found = _found(thresholds, columns)
    fingerprint, n_rows = _fingerprint(data, "data"), _reader.optional(data, "rows", int, "data")
    if (fingerprint is None) != (n_rows is None) or (n_rows is not None and n_rows < 0):
        raise _reader.damaged("a fingerprint of the rows and how many there are stand together, or neither does")
    tree, contradiction = _tree(_reader.entry(document, "tree", dict), columns)
    return CertificateDocument(
        versions=_versions(_reader.entry(document, "versions", dict)),
        data_fingerprint=fingerprint,
        n_rows=n_rows,
        columns=columns,
        classes=_reader.labels(_reader.entry(data, "classes", list, "data"), "classes"),
        read=_read_from(_reader.optional(data, "read", dict, "data"), columns),
        model_fingerprint=_fingerprint(model, "model"),
        model_class=_reader.entry(model, "class", str, "model"),
        decision_threshold=_decision(_reader.optional(model, "decision_threshold", float, "model")),
        parameters=_parameters(_reader.entry(document, "parameters", dict)),
        statuses=_statuses(_reader.entry(document, "statuses", dict)),
        points=_points(_reader.optional(document, "counterfactuals", dict), document, len(columns)),
        found=found,
        kept=_kept(thresholds, len(found)),
        selection=_stated(_reader.optional(thresholds, "selection", dict, "thresholds"), "inconsistency", "the selection"),
        tree=tree,
        contradiction=contradiction,
        proof=_proof(_reader.entry(document, "proof", dict)),
    )


def _versions(given: dict[str, Any]) -> dict[str, str]:
    return {name: _reader.entry(given, name, str, "versions") for name in given}


def _fingerprint(given: dict[str, Any], where: str) -> str | None:
    text: str | None = _reader.optional(given, "fingerprint", str, where)
    if text is not None and FINGERPRINT.fullmatch(text) is None:
        raise _reader.damaged(f"the fingerprint of {where} is not of 64 hexadecimal digits")
    return text


def _read_from(given: dict[str, Any] | None, columns: tuple[str, ...]) -> ReadFrom | None:
    if given is None:
        return None
    where = "data.read"
    named = _reader.entry(given, "categorical", list, where)
    categorical = _texts(named, "the columns of categories") if named else ()
    if others := [name for name in categorical if name not in columns]:
        raise _reader.damaged(f"{others[0][:40]!r} is said to hold categories, and is no column")
    fingerprint = _fingerprint(given, where)
    if fingerprint is None:  # the check of the file would be left out without a word
        raise _reader.damaged(f"{where} says how a file was read, and not which it is: it has no fingerprint")
    n_rows = _reader.entry(given, "rows", int, where)
    left_out = _whole(_reader.entry(given, "left_out", list, where), "left_out")
    if len(np.unique(left_out)) < len(left_out) or (len(left_out) and left_out.max() >= n_rows):
        raise _reader.damaged(f"'left_out' must be different rows of the {n_rows:,} of the file")
    return ReadFrom(
        label=_reader.entry(given, "label", str, where),
        categorical=categorical,
        n_rows=n_rows,
        left_out=left_out,
        fingerprint=fingerprint,
    )


def _texts(given: list[Any], what: str) -> tuple[str, ...]:
    if not given or not all(isinstance(text, str) for text in given) or len(set(given)) < len(given):
        raise _reader.damaged(f"{what} must be different texts, and at least one")
    return tuple(given)


def _decision(threshold: float | None) -> float | None:
    if threshold is not None and not 0 < threshold < 1:
        raise _reader.damaged("the decision threshold is not between 0 and 1")
    return threshold


def _statuses(given: dict[str, Any]) -> dict[str, int]:
    for name in given:
        if name not in STATUSES or _reader.entry(given, name, int, "statuses") < 0:
            raise _reader.damaged(f"{name[:20]!r} is no status with a number of rows")
    return dict(given)


# --- parameters -----------------------------------------------------------------------------------------------------------


def _parameters(given: dict[str, Any]) -> StatedParameters:
    where = "parameters"
    search: dict[str, Any] = {name: _reader.entry(given, name, float, where) for name in (*SHARES, *COSTS)}
    if any(not 0 <= search[name] <= 1 for name in SHARES) or any(search[name] < 0 for name in COSTS):
        raise _reader.damaged("p0, p1 and Q are shares, and costs are not below 0")
    for name, word in (("margin", None), ("merge_tolerance", "auto")):
        value = given.get(name)
        is_word = isinstance(value, str) and (word is None or value == word)
        search[name] = value if is_word else _reader.entry(given, name, float, where)
    if not isinstance(search["margin"], str) and search["margin"] <= 0:
        raise _reader.damaged("the margin is above 0")
    if not isinstance(search["merge_tolerance"], str) and not 0 <= search["merge_tolerance"] <= 1:
        raise _reader.damaged("'merge_tolerance' is a share")
    search["round_thresholds"] = _reader.entry(given, "round_thresholds", bool, where)
    for name in TIMES:
        search[name] = _seconds(given, name, where)
    rules = _reader.entry(given, "rules", list, where)
    fit_to = _reader.entry(given, "fit_to", str, where)
    if fit_to not in ("labels", "target"):
        raise _reader.damaged("fit_to must be 'labels' or 'target'")
    tree = _reader.entry(given, "tree", dict, where)
    of_tree = "the tree's parameters"
    max_depth = _reader.optional(tree, "max_depth", int, of_tree)
    regularization = _reader.optional(tree, "regularization", float, of_tree)
    max_nodes = _reader.optional(tree, "max_nodes", int, of_tree) if "max_nodes" in tree else None
    seconds = _seconds(tree, "time_limit", of_tree)
    if max_nodes is not None and max_nodes < 0:
        raise _reader.damaged("'max_nodes' of the tree's parameters is below 0")
    if (max_depth is not None and max_depth < 1) or (regularization is not None and regularization < 0):
        raise _reader.damaged("the tree's depth is at least 1, and what a leaf costs is not below 0")
    return StatedParameters(
        search=search,
        rules=tuple(_rule(rule) for rule in rules),
        selection=_selection(_reader.optional(given, "selection", dict, where)),
        fit_to=fit_to,
        max_depth=max_depth,
        regularization=regularization,
        class_weight=_class_weight(tree),
        max_nodes=max_nodes,
        tree_is_limited=max_nodes is not None or seconds is not None,
    )


def _seconds(given: dict[str, Any], name: str, where: str) -> float | None:
    seconds: float | None = _reader.optional(given, name, float, where)
    if seconds is not None and seconds < 0:
        raise _reader.damaged(f"{name!r} of {where} is below 0")
    return seconds


def _rule(entry: Any) -> Constraint:
    try:
        return Constraint.from_dict(entry)
    except (TypeError, ValueError, AttributeError, KeyError) as error:  # InvalidInputError is a ValueError
        raise _reader.damaged(f"a rule cannot be read: {str(error).rstrip('.')}") from error


def _class_weight(parameters: dict[str, Any]) -> tuple[tuple[Label, float], ...] | str | None:
    where = "the class weights"
    if "class_weight" not in parameters:
        raise _reader.damaged(f"{where} are left out")
    given = parameters["class_weight"]
    if given is None or given == "balanced":
        return given  # type: ignore[no-any-return]
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise _reader.damaged(f"{where} are not pairs of a class and a number")
    weights: list[float] = [_reader.entry({"weight": pair[1]}, "weight", float, where) for pair in given]
    return tuple(zip(_reader.labels([pair[0] for pair in given], where), weights, strict=True)) if given else ()


def _selection(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if given is None:
        return None
    where = "the selection's parameters"
    kinds = {"n_thresholds": int, "max_inconsistency": float, "max_features": int, "max_nodes": int, "time_limit": float}
    read = {name: _reader.optional(given, name, kind, where) for name, kind in kinds.items()}
    if any(kind is int and read[name] is not None and abs(read[name]) >= LARGEST_WHOLE for name, kind in kinds.items()):
        raise _reader.damaged(f"{where} have a number that is too large")
    caps = given.get("per_feature")
    if caps is not None and not is_whole(caps):
        caps = {name: _reader.entry(caps, name, int, where) for name in _reader.entry(given, "per_feature", dict, where)}
    against = _reader.entry(given, "against", str, where)
    if against not in ("labels", "target"):
        raise _reader.damaged("a selection is against 'labels' or 'target'")
    lists = {name: _whole(_reader.entry(given, name, list, where), name).tolist() for name in ("keep", "forbid")}
    return read | lists | {"per_feature": caps, "against": against}


# --- counterfactuals ------------------------------------------------------------------------------------------------------


def _points(given: dict[str, Any] | None, document: dict[str, Any], n_columns: int) -> Points | None:
    if document.get("why_no_counterfactuals", "") != (IN_PIECES if given is None else None):
        raise _reader.damaged("'why_no_counterfactuals' says why there are none where there are none, and is null elsewhere")
    if given is None:
        return None
    where = "counterfactuals"

    def column(name: str) -> list[Any]:
        values: list[Any] = _reader.entry(given, name, list, where)
        return values

    points = Points(
        row=_whole(column("row"), "row"),
        target=_values(column("target"), "target"),
        status=tuple(column("status")),
        cost=_numbers(column("cost"), "cost"),
        bound=_numbers(column("bound"), "bound"),
        move_row=_whole(column("move_row"), "move_row"),
        move_feature=_whole(column("move_feature"), "move_feature"),
        move_from=_values(column("move_from"), "move_from"),
        move_to=_values(column("move_to"), "move_to"),
        gap_row=_whole(column("gap_row"), "gap_row"),
        gap_feature=_whole(column("gap_feature"), "gap_feature"),
    )
    for names in (
        ("row", "target", "status", "cost", "bound"),
        ("move_row", "move_feature", "move_from", "move_to"),
        ("gap_row", "gap_feature"),
    ):
        if len({len(getattr(points, name)) for name in names}) > 1:
            raise _reader.damaged(f"the columns {', '.join(names)} are not of one length")
    if not all(isinstance(status, str) and status in STATUSES for status in points.status):
        raise _reader.damaged(f"a status is none of {', '.join(STATUSES)}")
    if any(len(features) and features.max() >= n_columns for features in (points.move_feature, points.gap_feature)):
        raise _reader.damaged(f"a move is of a column that there is not; there are {n_columns}")
    return points


def _whole(given: list[Any], name: str) -> Longs:
    if not all(is_whole(value) and 0 <= value < LARGEST_WHOLE for value in given):
        raise _reader.damaged(f"{name!r} holds something else than whole numbers from 0 on")
    return np.array(given, dtype=np.int64)


def _numbers(given: list[Any], name: str) -> NDArray[np.float64]:
    fits = (value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in given)
    if not all(fits):
        raise _reader.damaged(f"{name!r} holds something else than numbers")
    try:
        values = np.array([math.inf if value is None else float(value) for value in given], dtype=np.float64)
    except OverflowError as error:
        raise _reader.damaged(f"{name!r} holds a number that is too large") from error
    if (values < 0).any():
        raise _reader.damaged(f"{name!r} holds a number below 0")
    return values


def _values(given: list[Any], name: str) -> tuple[Label | None, ...]:
    fits = (
        value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
        for value in given
    )
    if not all(fits):
        raise _reader.damaged(f"{name!r} holds something else than texts, numbers and null")
    return tuple(given)


# --- thresholds and tree --------------------------------------------------------------------------------------------------


def _found(given: dict[str, Any], columns: tuple[str, ...]) -> ThresholdTable:
    table = ThresholdTable.from_json(json.dumps(_reader.entry(given, "found", dict, "thresholds")))
    if table.feature_names != columns:
        raise _reader.damaged("the thresholds are on other columns than the data")
    return table


def _kept(given: dict[str, Any], n_found: int) -> tuple[int, ...]:
    kept = _whole(_reader.entry(given, "kept", list, "thresholds"), "kept")
    if len(kept) == 0 or (np.diff(kept) <= 0).any() or kept[-1] >= n_found:
        raise _reader.damaged("'kept' must be positions of thresholds found, ascending, and at least one")
    return tuple(kept.tolist())


def _tree(given: dict[str, Any], columns: tuple[str, ...]) -> tuple[DistilledTree | None, str]:
    """The tree, or what is wrong with it."""
    for name, kind in (("format", str), ("nodes", list), ("conditions", list), ("certificate", dict)):
        _reader.entry(given, name, kind, "the tree")
    if given.get("version") == WITHOUT_THRESHOLDS and is_whole(given["version"]):
        raise _reader.damaged(f"its tree is of version {WITHOUT_THRESHOLDS}, and a certificate's is of {VERSION_OF_TREES}")
    _reader.entry(given, "provenance", dict, "the tree")
    try:
        tree = from_json(json.dumps(given))
    except InvalidInputError as error:
        return None, str(error).partition(f" {TREE.advice}")[0].rstrip(".")
    if tree.columns.names != columns:
        return None, "The tree is on other columns than the data"
    return tree, ""


def _stated(given: dict[str, Any] | None, objective: str, where: str) -> StatedProof | None:
    if given is None:
        return None
    return StatedProof(
        objective=_reader.entry(given, objective, float, where),
        lower_bound=_reader.entry(given, "lower_bound", float, where),
        optimal=_reader.entry(given, "optimal", bool, where),
    )


def _proof(given: dict[str, Any]) -> StatedProof:
    where = "the proof"
    return StatedProof(
        objective=_reader.entry(given, "objective", float, where),
        lower_bound=_reader.entry(given, "lower_bound", float, where),
        optimal=_reader.entry(given, "optimal", bool, where),
        gap=_reader.entry(given, "gap", float, where),
    )
