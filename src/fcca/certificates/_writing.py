"""Certificates: all that a distillation claims, in one document that anybody can check again.

The document says what it is about, by fingerprints of the rows and of the black box, and what is claimed of it: every
counterfactual with its cost and bound, the thresholds they cross, the tree on them and its proof. It has no digest of
itself: what makes it hold is that everything in it can be computed again, which :func:`fcca.certificates.verify` does.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fcca.certificates._fingerprints import data_fingerprint, model_fingerprint, plain_label, positions_of_categories
from fcca.classifier import FCCAClassifier, TrainingTable
from fcca.constraints import Constraint
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.export import to_json, with_escapes
from fcca.models import FROZEN, DecidedAt, OpenColumn, labelled, public_names, read_model, unwrapped
from fcca.selection import FORBIDDEN, KEPT, Admissible

FORMAT, VERSION = "fcca-certificate", 1
SEARCH = (
    "p0",
    "p1",
    "lambda0",
    "lambda1",
    "lambda2",
    "margin",
    "Q",
    "merge_tolerance",
    "round_thresholds",
    "time_limit",
    "time_limit_per_row",
)
IN_PIECES = "The rows came in pieces, so the counterfactuals were counted and not kept."
LONGEST_VALUE = 200
WITHOUT_ANSWER = ("infeasible", "unknown")


def certificate(classifier: Any, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None) -> str:
    """Everything that a fitted classifier claims, as a JSON document that can be checked again.

    Parameters
    ----------
    classifier : FCCAClassifier
        Fitted, with an FCCADiscretizer.
    X, y, sample_weight : as in fit, optional
        The training rows; see :meth:`fcca.FCCAClassifier.training_data`. Not needed where they came in pieces: then the
        document has counts and no counterfactuals.

    Returns
    -------
    str
        JSON with ``format`` "fcca-certificate" and ``version`` 1. The page on certificates in the documentation says what
        every entry means.

    See Also
    --------
    fcca.certificates.verify : checks it.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.certificates import certificate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> document = json.loads(certificate(FCCAClassifier().fit(X, y)))
    >>> document["statuses"], document["proof"]["optimal"]
    ({'optimal': 564}, True)
    """
    if not isinstance(classifier, FCCAClassifier):
        raise InvalidInputError(
            f"Expected a fitted FCCAClassifier, got {type(classifier).__name__}. Make one with FCCAClassifier(…).fit(X, y)."
        )
    check_is_fitted(classifier)
    if not isinstance(classifier.discretizer_, FCCADiscretizer):
        raise InvalidInputError(
            f"{type(classifier.discretizer_).__name__} has no counterfactuals, which a certificate is about. Use "
            "FCCADiscretizer."
        )
    in_pieces = not hasattr(classifier.discretizer_, "counterfactuals_")
    rows = None if in_pieces and X is None else classifier.training_data(X, y, sample_weight)
    return written_certificate(classifier, rows)


def written_certificate(
    classifier: FCCAClassifier,
    rows: TrainingTable | None,
    *,
    row_numbers: NDArray[np.int64] | None = None,
    read: Mapping[str, Any] | None = None,
) -> str:
    """The document of a classifier.

    Parameters
    ----------
    classifier : FCCAClassifier
        Fitted.
    rows : TrainingTable or None
        Those that it was fitted on; None where they are gone.
    row_numbers : ndarray, optional
        What to call the rows of the table given to fit; 0, 1, … where None.
    read : mapping, optional
        How the rows were read from a file.
    """
    discretizer: FCCADiscretizer = classifier.discretizer_
    found: Counterfactuals | None = getattr(discretizer, "counterfactuals_", None)
    if found is not None and row_numbers is not None:
        found = replace(found, rows=row_numbers[found.rows])
    tree = classifier.tree_
    names = discretizer.all_thresholds_.feature_names
    document = {
        "format": FORMAT,
        "version": VERSION,
        "versions": _versions(discretizer.estimator_),
        "data": {
            "fingerprint": None if rows is None else _fingerprint(classifier, rows, row_numbers),
            "rows": None if rows is None else len(rows.y),
            "columns": list(names),
            "classes": [plain_label(label) for label in classifier.classes_.tolist()],
            "read": None if read is None else dict(read),
        },
        "model": _described_model(discretizer.estimator_, rows),
        "parameters": _parameters(classifier),
        "statuses": {str(name): int(n) for name, n in discretizer.statuses_.items()},
        "counterfactuals": None if found is None else _columns_of(found, discretizer),
        "why_no_counterfactuals": IN_PIECES if found is None else None,
        "thresholds": {
            "found": json.loads(discretizer.all_thresholds_.to_json()),
            "kept": _kept(discretizer),
            "selection": _described_selection(discretizer),
        },
        "tree": json.loads(to_json(classifier)),
        "proof": {
            "objective": float(tree.objective_),
            "lower_bound": float(tree.lower_bound_),
            "gap": float(tree.gap_),
            "optimal": bool(tree.is_optimal_),
        },
    }
    lines = ",\n".join(f'  "{name}": {_written(value)}' for name, value in document.items())
    return with_escapes("{\n" + lines + "\n}\n")


def _written(value: Any) -> str:
    """JSON, the entries of an object on a line each."""
    if isinstance(value, dict) and value:
        parts = (f"    {json.dumps(name, ensure_ascii=False)}: {_json(entry)}" for name, entry in value.items())
        return "{\n" + ",\n".join(parts) + "\n  }"
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# --- what it is about ---------------------------------------------------------------------------------------------------


def _fingerprint(classifier: FCCAClassifier, rows: TrainingTable, row_numbers: NDArray[np.int64] | None) -> str:
    numbers = rows.rows if row_numbers is None else row_numbers[rows.rows]
    categories = positions_of_categories(classifier.discretizer_.all_thresholds_.columns)
    return data_fingerprint(rows.X, rows.y, rows.sample_weight, numbers, categories=categories)


def _versions(estimator: Any) -> dict[str, str]:
    from fcca import __version__

    versions = {"fcca": __version__}
    library = type(unwrapped(estimator)).__module__.partition(".")[0]
    for name in ("numpy", "scikit-learn", {"sklearn": "scikit-learn", "interpret": "interpret-core"}.get(library, library)):
        try:
            versions[name] = versions.get(name) or metadata.version(name)
        except metadata.PackageNotFoundError:  # a library that was not installed as a package
            versions[name] = str(getattr(sys.modules.get(name), "__version__", "unknown"))
    return versions | {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}


def decision_threshold(estimator: Any) -> float | None:
    """The probability at which a classifier was told to decide by :func:`fcca.models.decide_at`; None where nobody did."""
    while FROZEN in public_names(estimator):
        estimator = estimator.estimator
    return float(estimator.threshold) if isinstance(estimator, DecidedAt) else None


def _described_model(estimator: Any, rows: TrainingTable | None) -> dict[str, Any]:
    model = read_model(estimator)
    fingerprint: str | None = None
    if rows is not None:
        fingerprint = model_fingerprint(labelled(model, rows.X))
    elif not any(isinstance(column, OpenColumn) for column in model.columns or ()):
        fingerprint = model_fingerprint(model)
    inner = unwrapped(estimator)
    if isinstance(inner, DecidedAt):
        inner = unwrapped(inner.estimator)
    given = inner.get_params(deep=False) if hasattr(inner, "get_params") else {}
    return {
        "fingerprint": fingerprint,
        "class": f"{type(inner).__module__}.{type(inner).__qualname__}",
        "parameters": {str(name): _shown(value) for name, value in given.items()},
        "decision_threshold": decision_threshold(estimator),
    }


def _shown(value: Any) -> Any:
    """A parameter to be read by people: as it is where JSON has it, else as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return repr(value)[:LONGEST_VALUE]


# --- what was asked for -------------------------------------------------------------------------------------------------


def _parameters(classifier: FCCAClassifier) -> dict[str, Any]:
    discretizer, tree = classifier.discretizer_, classifier.tree_
    rules: tuple[Constraint, ...] = tuple(discretizer.constraints or ())
    weights = tree.class_weight
    if isinstance(weights, dict):
        weights = [[plain_label(label), float(weight)] for label, weight in weights.items()]
    return {
        **{name: _shown(getattr(discretizer, name)) for name in SEARCH},
        "rules": [{"rule": entry.pop("rule"), **entry} for entry in (rule.to_dict() for rule in rules)],
        "rules_in_words": [repr(rule) for rule in rules],
        "selection": _parameters_of_selection(discretizer),
        "fit_to": classifier.fit_to,
        "tree": {
            "max_depth": None if tree.max_depth is None else int(tree.max_depth),
            "regularization": None if tree.regularization is None else float(tree.regularization),
            "class_weight": weights,
            "time_limit": None if tree.time_limit is None else float(tree.time_limit),
            "max_nodes": None if tree.max_nodes is None else int(tree.max_nodes),
        },
    }


def _parameters_of_selection(discretizer: FCCADiscretizer) -> dict[str, Any] | None:
    """The parameters of a selection, conditions that it names by their positions among those that ``Q`` keeps."""
    selection = discretizer.selection
    if selection is None:
        return None
    candidates = discretizer.selection_.candidates
    admissible = Admissible.of(
        candidates,
        keep=selection.keep,
        forbid=selection.forbid,
        per_feature=selection.per_feature,
        max_features=selection.max_features,
    )
    caps = selection.per_feature
    return {
        "n_thresholds": None if selection.n_thresholds is None else int(selection.n_thresholds),
        "max_inconsistency": None if selection.max_inconsistency is None else float(selection.max_inconsistency),
        "max_features": None if selection.max_features is None else int(selection.max_features),
        "keep": np.flatnonzero(admissible.state == KEPT).tolist(),
        "forbid": np.flatnonzero(admissible.state == FORBIDDEN).tolist(),
        "per_feature": {name: int(n) for name, n in caps.items()} if isinstance(caps, Mapping) else _shown(caps),
        "fit_to": selection.fit_to,
        "time_limit": None if selection.time_limit is None else float(selection.time_limit),
        "max_nodes": None if selection.max_nodes is None else int(selection.max_nodes),
    }


# --- what was found -----------------------------------------------------------------------------------------------------


def _columns_of(found: Counterfactuals, discretizer: FCCADiscretizer) -> dict[str, Any]:
    """The answers by row, as columns: one entry per answer, and one per move; and the gaps that decide by themselves."""
    order = np.argsort(found.rows, kind="stable")
    found = found.take(order)
    moves = found.moves
    labels = found.values(moves.feature, moves.origin), found.values(moves.feature, moves.landing)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    is_gap = discretizer.all_thresholds_.kind == "missing"
    points, first = discretizer.crossing_points()
    condition = np.repeat(np.arange(len(is_gap)), np.diff(first))
    of_gaps = is_gap[condition]
    gaps = sorted(
        zip(
            found.rows[rank[points[of_gaps]]].tolist(),
            discretizer.all_thresholds_.feature[condition[of_gaps]].tolist(),
            strict=True,
        )
    )
    return {
        "row": found.rows.tolist(),
        "target": [
            None if label is None or status in WITHOUT_ANSWER else plain_label(label)
            for label, status in zip(found.target.tolist(), found.status.tolist(), strict=True)
        ],
        "status": found.status.tolist(),
        "cost": _numbers(found.cost),
        "bound": _numbers(found.bound),
        "move_row": found.rows[moves.point].tolist(),
        "move_feature": moves.feature.tolist(),
        "move_from": [_value(value) for value in labels[0].tolist()],
        "move_to": [_value(value) for value in labels[1].tolist()],
        "gap_row": [row for row, _ in gaps],
        "gap_feature": [feature for _, feature in gaps],
    }


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _value(value: Any) -> Any:
    """A value of a row: a number as it is, a category as its label, a missing value as null."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value if isinstance(value, float) else plain_label(value)


def _kept(discretizer: FCCADiscretizer) -> list[int]:
    """Which of the conditions found are kept."""
    position = {name: at for at, name in enumerate(discretizer.all_thresholds_)}
    return sorted(position[name] for name in discretizer.thresholds_)


def _described_selection(discretizer: FCCADiscretizer) -> dict[str, Any] | None:
    chosen = getattr(discretizer, "selection_", None)
    if chosen is None:
        return None
    return {
        "inconsistency": float(chosen.inconsistency),
        "lower_bound": float(chosen.lower_bound),
        "optimal": bool(chosen.is_optimal),
    }
