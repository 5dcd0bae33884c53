"""Read certificates.

The form of a document is checked completely before any of it is used. Nothing in it is run as code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fcca.certificates._certificate_document import (
    TIMES,
    CertificateDocument,
    Label,
    Longs,
    SourceFile,
    StatedCounterfactuals,
    StatedParameters,
    StatedProof,
    StatedSample,
)
from fcca.certificates._certificate_writer import FORMAT, IN_CHUNKS, SEARCH, VERSION
from fcca.constraints import Constraint
from fcca.counterfactuals import STATUSES, check_category_distance, check_scale
from fcca.discretizers import PRESETS, REASONS
from fcca.exceptions import InvalidInputError
from fcca.export import TREE, TREE_VERSION, WITHOUT_THRESHOLDS, DistilledTree, from_json
from fcca.thresholds import ThresholdTable
from fcca.trees import CRITERIA
from fcca.utils import LARGEST_WHOLE, SELECTION_FIT_TO, DocumentReader, is_label, is_whole, parsed

LARGEST = 2**29  # characters; a certificate of a million rows has fewer
FINGERPRINT = re.compile(r"[0-9a-f]{64}")
SHARES = ("p0", "p1", "Q")
COSTS = ("lambda0", "lambda1", "lambda2")
# Values of parameters that older documents do not have.
OLD_DEFAULTS = {
    "scale": "range", "category_distance": 1.0, "count_ties": False, "special_values": None, "relative_gap": 0.0,
    "max_rows": "all",
}  # fmt: skip
# Words that parameters may have in place of a number.
WORDS = {"merge_tolerance": ("auto",), "max_thresholds": ("all",), "max_rows": ("auto", "all")}
TREE_PARAMETERS = {
    "criterion": str,
    "max_depth": int | None,
    "max_leaf_nodes": int | None,
    "min_samples_leaf": int,
    "min_weight_fraction_leaf": float,
    "regularization": float | None,
    "max_nodes": int | None,
    "time_limit": float | None,
}
SELECTION = {
    "n_thresholds": int | None,
    "max_inconsistency": float | None,
    "max_features": int | None,
    "max_nodes": int | None,
    "time_limit": float | None,
}
SELECTION_PROOF = {"inconsistency": float, "lower_bound": float, "optimal": bool}

_reader = DocumentReader("certificate", FORMAT, (VERSION,), "certificate.json", "fcca.certificates.certificate")


def read_certificate(text: str | bytes) -> CertificateDocument:
    """Read a certificate written by :func:`fcca.certificates.certificate`, and check its form.

    Parameters
    ----------
    text : str or bytes
        Bytes must be UTF-8.

    Returns
    -------
    CertificateDocument

    Raises
    ------
    InvalidInputError
        If the text is not a complete, well-formed certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import FCCAClassifier
    >>> from fcca.certificates import certificate, read_certificate
    >>> stated = read_certificate(certificate(FCCAClassifier().fit(*load_iris(return_X_y=True))))
    >>> stated.classes, stated.proof.optimal
    ((0, 1, 2), True)
    """
    document = parsed(text, LARGEST, "a certificate")
    _reader.version(document)
    data, model = (_reader.entry(document, name, dict) for name in ("data", "model"))
    columns = _texts(_reader.entry(data, "columns", list, "data"), "columns")
    thresholds = _reader.entry(document, "thresholds", dict)
    found = _thresholds_found(thresholds, columns)
    fingerprint, n_rows = _fingerprint(data, "data"), _reader.entry(data, "rows", int | None, "data")
    if (fingerprint is None) != (n_rows is None) or (n_rows is not None and n_rows < 0):
        raise _reader.damaged("'fingerprint' and 'rows' of data must both be given or both be null")
    versions, proof = (_reader.entry(document, name, dict) for name in ("versions", "proof"))
    tree, contradiction = _tree(_reader.entry(document, "tree", dict), columns)
    return CertificateDocument(
        versions=_reader.entries(versions, dict.fromkeys(versions, str), "versions"),
        data_fingerprint=fingerprint,
        n_rows=n_rows,
        columns=columns,
        classes=_reader.labels(_reader.entry(data, "classes", list, "data"), "classes"),
        read=_read_from(_reader.entry(data, "read", dict | None, "data"), columns),
        model_fingerprint=_fingerprint(model, "model"),
        model_class=_reader.entry(model, "class", str, "model"),
        decision_threshold=_decision(_reader.entry(model, "decision_threshold", float | None, "model")),
        parameters=_parameters(_reader.entry(document, "parameters", dict)),
        statuses=_reader.counts(_reader.entry(document, "statuses", dict), STATUSES, "the rows"),
        points=_counterfactuals(_reader.entry(document, "counterfactuals", dict | None), document, len(columns)),
        sample=_sample(_reader.entry({"sample": None} | document, "sample", dict | None)),
        found=found,
        kept=_kept(thresholds, len(found)),
        selection=_proof_of_selection(_reader.entry(thresholds, "selection", dict | None, "thresholds")),
        tree=tree,
        contradiction=contradiction,
        proof=StatedProof(**_reader.entries(proof, get_type_hints(StatedProof), "the proof")),
    )


def _fingerprint(given: dict[str, Any], where: str) -> str | None:
    text: str | None = _reader.entry(given, "fingerprint", str | None, where)
    if text is not None and FINGERPRINT.fullmatch(text) is None:
        raise _reader.damaged(f"the fingerprint of {where} must have 64 hexadecimal digits")
    return text


def _read_from(given: dict[str, Any] | None, columns: tuple[str, ...]) -> SourceFile | None:
    if given is None:
        return None
    where = "data.read"
    named = _reader.entry(given, "categorical", list, where)
    categorical = _texts(named, "the categorical columns") if named else ()
    if others := [name for name in categorical if name not in columns]:
        raise _reader.damaged(f"the categorical column {others[0][:40]!r} is not one of the columns")
    fingerprint = _fingerprint(given, where)
    if fingerprint is None:  # otherwise the check of the file would be skipped silently
        raise _reader.damaged(f"{where} has no fingerprint of its file")
    n_rows = _reader.entry(given, "rows", int, where)
    left_out = _whole(_reader.entry(given, "left_out", list, where), "left_out")
    if len(np.unique(left_out)) < len(left_out) or (len(left_out) and left_out.max() >= n_rows):
        raise _reader.damaged(f"'left_out' must hold distinct row numbers below {n_rows:,}")
    return SourceFile(
        label=_reader.entry(given, "label", str, where),
        categorical=categorical,
        n_rows=n_rows,
        left_out=left_out,
        fingerprint=fingerprint,
    )


def _texts(given: list[Any], what: str) -> tuple[str, ...]:
    if not given or not all(isinstance(text, str) for text in given) or len(set(given)) < len(given):
        raise _reader.damaged(f"{what} must be a list of one or more distinct strings")
    return tuple(given)


def _decision(threshold: float | None) -> float | None:
    if threshold is not None and not 0 < threshold < 1:
        raise _reader.damaged(f"the decision threshold must be between 0 and 1, got {threshold:g}")
    return threshold


# --- parameters -----------------------------------------------------------------------------------------------------------


def _parameters(given: dict[str, Any]) -> StatedParameters:
    where, of_tree = "parameters", "the tree's parameters"
    given = OLD_DEFAULTS | given
    texts = {
        name: value
        for name, value in given.items()
        if isinstance(value, str) and (name == "margin" or value in WORDS.get(name, ()))
    }
    numbers = {name: kind for name, kind in SEARCH.items() if name not in texts}
    search = _reader.entries(given, numbers, where) | texts
    _reader.check_range(search, (*SHARES, "merge_tolerance"), 0, 1, where)
    _reader.check_range(search, (*COSTS, *TIMES), 0, math.inf, where)
    if not 0 <= search["relative_gap"] < 1:
        raise _reader.damaged("the relative gap must be from 0 to below 1")
    if search["preset"] not in PRESETS:
        raise _reader.damaged(f"the preset must be one of {', '.join(map(str, PRESETS))}, got {search['preset']!r}")
    _reader.check_range(search, ("max_thresholds", "max_rows"), 1, math.inf, where)
    if "margin" in numbers and search["margin"] <= 0:
        raise _reader.damaged("the margin must be above 0")
    search |= _distances(given, where)
    tree = _reader.entry(given, "tree", dict, where)
    stated = _reader.entries({"max_nodes": None} | tree, TREE_PARAMETERS, of_tree)  # old documents have no max_nodes
    if stated["criterion"] not in CRITERIA:
        raise _reader.damaged(f"the tree's criterion must be one of {', '.join(CRITERIA)}, got {stated['criterion']!r}")
    _reader.check_range(stated, ("regularization", "max_nodes", "time_limit"), 0, math.inf, of_tree)
    _reader.check_range(stated, ("max_depth", "max_leaf_nodes", "min_samples_leaf"), 1, math.inf, of_tree)
    _reader.check_range(stated, ("min_weight_fraction_leaf",), 0, 0.5, of_tree)
    seconds = stated.pop("time_limit")
    return StatedParameters(
        search=search,
        rules=tuple(_rule(rule) for rule in _reader.entry(given, "rules", list, where)),
        selection=_selection(_reader.entry(given, "selection", dict | None, where)),
        fit_to=_reader.fit_to(given, where),
        class_weight=_class_weight(tree),
        tree_is_limited=stated["max_nodes"] is not None or seconds is not None,
        **stated,
    )


def _distances(given: dict[str, Any], where: str) -> dict[str, Any]:
    """Read the parameters ``scale``, ``category_distance`` and ``special_values``.

    If a document lacks one of them, its value in the paper is used: "range" for ``scale``, 1 for ``category_distance``.
    There are no special values by default.
    """
    given = OLD_DEFAULTS | given
    scale = _reader.entry(given, "scale", dict if isinstance(given["scale"], dict) else str, where)
    distance = _reader.entry(
        given, "category_distance", str if isinstance(given["category_distance"], str) else float, where
    )
    if isinstance(scale, dict):
        scale = _reader.entries(scale, dict.fromkeys(scale, float), "the scale")
    try:
        check_scale(scale)
        check_category_distance(distance)
    except InvalidInputError as error:
        raise _reader.damaged(str(error).rstrip(".")) from error
    is_list = isinstance(given.get("special_values"), list)
    special = _reader.entry(given, "special_values", list if is_list else dict | None, where)
    if isinstance(special, dict):
        special = {name: _reader.numbers(special, name, "special_values") for name in special}
    elif special is not None:
        special = _reader.numbers(given, "special_values", where)
    return {"scale": scale, "category_distance": distance, "special_values": special}


def _rule(entry: Any) -> Constraint:
    try:
        return Constraint.from_dict(entry)
    except (TypeError, ValueError, AttributeError, KeyError) as error:  # InvalidInputError is a ValueError
        raise _reader.damaged(f"a rule cannot be read: {str(error).rstrip('.')}") from error


def _class_weight(parameters: dict[str, Any]) -> tuple[tuple[Label, float], ...] | str | None:
    where = "the class weights"
    if "class_weight" not in parameters:
        raise _reader.damaged("the tree's parameters have no 'class_weight'")
    given = parameters["class_weight"]
    if given is None or given == "balanced":
        return given  # type: ignore[no-any-return]
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise _reader.damaged(f"{where} must be pairs of a class and a number")
    weights: list[float] = [_reader.entry({"weight": pair[1]}, "weight", float, where) for pair in given]
    return tuple(zip(_reader.labels([pair[0] for pair in given], where), weights, strict=True)) if given else ()


def _selection(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if given is None:
        return None
    where = "the selection's parameters"
    read = _reader.entries(given, SELECTION, where)
    if any(isinstance(value, int) and abs(value) >= LARGEST_WHOLE for value in read.values()):
        raise _reader.damaged(f"{where} have a number that is too large")
    caps = given.get("per_feature")
    if caps is not None and not is_whole(caps):
        caps = {name: _reader.entry(caps, name, int, where) for name in _reader.entry(given, "per_feature", dict, where)}
    lists = {name: _whole(_reader.entry(given, name, list, where), name).tolist() for name in ("keep", "forbid")}
    return read | lists | {"per_feature": caps, "fit_to": _reader.fit_to(given, where, SELECTION_FIT_TO)}


# --- counterfactuals ------------------------------------------------------------------------------------------------------


def _counterfactuals(given: dict[str, Any] | None, document: dict[str, Any], n_columns: int) -> StatedCounterfactuals | None:
    if document.get("why_no_counterfactuals", "") != (IN_CHUNKS if given is None else None):
        raise _reader.damaged("'why_no_counterfactuals' must give the reason if there are no counterfactuals, else null")
    if given is None:
        return None
    columns = _reader.entries(given, dict.fromkeys(COLUMN_READERS, list), "counterfactuals")
    points = StatedCounterfactuals(**{name: COLUMN_READERS[name](values, name) for name, values in columns.items()})
    for names in (
        ("row", "target", "status", "cost", "bound"),
        ("move_row", "move_feature", "move_from", "move_to"),
        ("gap_row", "gap_feature"),
    ):
        if len({len(getattr(points, name)) for name in names}) > 1:
            raise _reader.damaged(f"the columns {', '.join(names)} must have the same length")
    if any(len(features) and features.max() >= n_columns for features in (points.move_feature, points.gap_feature)):
        raise _reader.damaged(f"the column of a move is out of range; there are {n_columns} columns")
    return points


def _sample(given: dict[str, Any] | None) -> StatedSample | None:
    if given is None:
        return None
    where = "the sample"
    entries = _reader.entries(given, get_type_hints(StatedSample), where)
    if entries["reason"] not in REASONS:
        raise _reader.damaged(f"the reason of {where} must be one of {', '.join(REASONS)}, got {entries['reason']!r}")
    _reader.check_range(entries, ("size", "searched", "rows", "conditions"), 1, LARGEST_WHOLE, where)
    _reader.check_range(entries, ("unfinished",), 0, LARGEST_WHOLE, where)
    return StatedSample(**entries)


def _whole(given: list[Any], name: str) -> Longs:
    if not all(is_whole(value) and 0 <= value < LARGEST_WHOLE for value in given):
        raise _reader.damaged(f"{name!r} must hold whole numbers of at least 0")
    return np.array(given, dtype=np.int64)


def _numbers(given: list[Any], name: str) -> NDArray[np.float64]:
    fits = (value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in given)
    if not all(fits):
        raise _reader.damaged(f"{name!r} must hold numbers")
    try:
        values = np.array([math.inf if value is None else float(value) for value in given], dtype=np.float64)
    except OverflowError as error:
        raise _reader.damaged(f"{name!r} holds a number that is too large") from error
    if (values < 0).any():
        raise _reader.damaged(f"{name!r} holds a number below 0")
    return values


def _values(given: list[Any], name: str) -> tuple[Label | None, ...]:
    if not all(value is None or is_label(value) for value in given):
        raise _reader.damaged(f"{name!r} must hold strings, numbers or null")
    return tuple(given)


def _status_names(given: list[Any], name: str) -> tuple[str, ...]:
    if not all(isinstance(status, str) and status in STATUSES for status in given):
        raise _reader.damaged(f"{name!r} must hold only {', '.join(STATUSES)}")
    return tuple(given)


# The reader of each column of StatedCounterfactuals.
COLUMN_READERS: dict[str, Callable[[list[Any], str], Any]] = {
    **dict.fromkeys(("row", "move_row", "move_feature", "gap_row", "gap_feature"), _whole),
    **dict.fromkeys(("target", "move_from", "move_to"), _values),
    **dict.fromkeys(("cost", "bound"), _numbers),
    "status": _status_names,
}


# --- thresholds and tree --------------------------------------------------------------------------------------------------


def _thresholds_found(given: dict[str, Any], columns: tuple[str, ...]) -> ThresholdTable:
    table = ThresholdTable.from_json(json.dumps(_reader.entry(given, "found", dict, "thresholds")))
    if table.feature_names != columns:
        raise _reader.damaged("the thresholds and the data have different columns")
    return table


def _kept(given: dict[str, Any], n_found: int) -> tuple[int, ...]:
    kept = _whole(_reader.entry(given, "kept", list, "thresholds"), "kept")
    if len(kept) == 0 or (np.diff(kept) <= 0).any() or kept[-1] >= n_found:
        raise _reader.damaged("'kept' must hold one or more positions of thresholds found, in ascending order")
    return tuple(kept.tolist())


def _tree(given: dict[str, Any], columns: tuple[str, ...]) -> tuple[DistilledTree | None, str]:
    """Read the tree. If its entries contradict each other, return None and the reason."""
    for name, kind in (("format", str), ("nodes", list), ("conditions", list), ("certificate", dict)):
        _reader.entry(given, name, kind, "the tree")
    if given.get("version") == WITHOUT_THRESHOLDS and is_whole(given["version"]):
        raise _reader.damaged(f"its tree has version {WITHOUT_THRESHOLDS}, but a certificate needs version {TREE_VERSION}")
    _reader.entry(given, "provenance", dict, "the tree")
    try:
        tree = from_json(json.dumps(given))
    except InvalidInputError as error:
        return None, str(error).partition(f" {TREE.advice}")[0].rstrip(".")
    if tree.columns.names != columns:
        return None, "The tree and the data have different columns"
    return tree, ""


def _proof_of_selection(given: dict[str, Any] | None) -> StatedProof | None:
    if given is None:
        return None
    return StatedProof(*_reader.entries(given, SELECTION_PROOF, "the selection").values())
