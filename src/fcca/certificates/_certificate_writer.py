"""Write certificates: all claims about a tree in one JSON document.

Fingerprints identify the rows and the black box. The claims are: every counterfactual with its cost and lower bound, the
thresholds that the counterfactuals cross, the tree, and what is proven about it. The document has no checksum of itself,
because :func:`fcca.certificates.verify` recomputes everything in it.
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
from fcca.discretizers import FCCADiscretizer, asked_distances
from fcca.exceptions import InvalidInputError
from fcca.export import json_document, to_json
from fcca.models import FROZEN, DecidedAt, OpenColumn, labelled, public_names, read_model, unwrapped
from fcca.selection import FORBIDDEN, KEPT, Admissible

FORMAT, VERSION = "fcca-certificate", 1
# Parameters of the search with their types. Some may also be strings, such as "all".
SEARCH: dict[str, Any] = {
    "p0": float,
    "p1": float,
    "lambda0": float,
    "lambda1": float,
    "lambda2": float,
    "margin": float,
    "Q": float,
    "preset": str | None,
    "count_ties": bool | None,
    "max_thresholds": int | None,
    "max_rows": int | None,
    "merge_tolerance": float,
    "round_thresholds": bool,
    "time_limit": float | None,
    "time_limit_per_row": float | None,
    "relative_gap": float,
}
IN_CHUNKS = "The rows came in chunks, so the counterfactuals were counted and not kept."
LONGEST_VALUE = 200
WITHOUT_COUNTERFACTUAL = ("infeasible", "unknown")


def certificate(classifier: Any, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None) -> str:
    """Return the certificate of a fitted classifier as JSON, for :func:`verify`.

    Parameters
    ----------
    classifier : FCCAClassifier
        A fitted classifier with an ``FCCADiscretizer``.
    X, y, sample_weight : as in fit, optional
        The training rows; see :meth:`fcca.FCCAClassifier.training_data`. They may be omitted if the classifier was fitted
        on rows in chunks. The document then has the counts of the thresholds, but no counterfactuals.

    Returns
    -------
    str
        JSON with ``format`` "fcca-certificate" and ``version`` 1. The page on certificates in the documentation explains
        every entry.

    See Also
    --------
    fcca.certificates.verify : Checks a certificate.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.certificates import certificate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> document = json.loads(certificate(FCCAClassifier().fit(X, y)))
    >>> document["statuses"], document["proof"]["optimal"]
    ({'optimal': 569}, True)
    """
    if not isinstance(classifier, FCCAClassifier):
        raise InvalidInputError(
            f"Expected a fitted FCCAClassifier, got {type(classifier).__name__}. Make one with FCCAClassifier(…).fit(X, y)."
        )
    check_is_fitted(classifier)
    if not isinstance(classifier.discretizer_, FCCADiscretizer):
        raise InvalidInputError(
            f"A certificate lists counterfactuals, but the discretizer, a {type(classifier.discretizer_).__name__}, does "
            "not compute any. Use FCCADiscretizer."
        )
    in_chunks = not hasattr(classifier.discretizer_, "counterfactuals_")
    rows = None if in_chunks and X is None else classifier.training_data(X, y, sample_weight)
    return written_certificate(classifier, rows)


def written_certificate(
    classifier: FCCAClassifier,
    rows: TrainingTable | None,
    *,
    row_numbers: NDArray[np.int64] | None = None,
    read: Mapping[str, Any] | None = None,
) -> str:
    """Return the certificate of a fitted classifier as JSON.

    Parameters
    ----------
    classifier : FCCAClassifier
        A fitted classifier.
    rows : TrainingTable or None
        The training rows; None if they came in chunks.
    row_numbers : ndarray, optional
        Row numbers to write for the rows of the table given to ``fit``, such as the line numbers of a file. None means 0, 1,
        2, ….
    read : mapping, optional
        The file that the rows were read from, and the options that it was read with.
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
        "why_no_counterfactuals": IN_CHUNKS if found is None else None,
        "sample": _described_sample(discretizer),
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
    return json_document(document, lambda value: isinstance(value, dict) and bool(value))


# --- data and black box -------------------------------------------------------------------------------------------------


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
        except metadata.PackageNotFoundError:  # the library is not installed as a package
            versions[name] = str(getattr(sys.modules.get(name), "__version__", "unknown"))
    return versions | {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}


def decision_threshold(estimator: Any) -> float | None:
    """Return the decision threshold that :func:`fcca.models.decide_at` gave a black box.

    Return None for a black box without such a threshold.
    """
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
    """Convert a parameter to a JSON value, or to a string if JSON has no such value."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return repr(value)[:LONGEST_VALUE]


# --- parameters ---------------------------------------------------------------------------------------------------------


def _parameters(classifier: FCCAClassifier) -> dict[str, Any]:
    discretizer, tree = classifier.discretizer_, classifier.tree_
    rules: tuple[Constraint, ...] = tuple(discretizer.constraints or ())
    weights = tree.class_weight
    if isinstance(weights, dict):
        weights = [[plain_label(label), float(weight)] for label, weight in weights.items()]
    return {
        **{name: _shown(getattr(discretizer, name)) for name in SEARCH},
        **asked_distances(discretizer),
        "rules": [{"rule": entry.pop("rule"), **entry} for entry in (rule.to_dict() for rule in rules)],
        "rules_in_words": [repr(rule) for rule in rules],
        "selection": _parameters_of_selection(discretizer),
        "fit_to": classifier.fit_to_,
        "tree": {
            "criterion": tree.criterion,
            "max_depth": _optional(int, tree.max_depth),
            "max_leaf_nodes": _optional(int, tree.max_leaf_nodes),
            "min_samples_leaf": int(tree.min_samples_leaf),
            "min_weight_fraction_leaf": float(tree.min_weight_fraction_leaf),
            "regularization": _optional(float, tree.regularization),
            "class_weight": weights,
            "time_limit": _optional(float, tree.time_limit),
            "max_nodes": _optional(int, tree.max_nodes),
        },
    }


def _optional(kind: type, value: Any) -> Any:
    return None if value is None else kind(value)


def _parameters_of_selection(discretizer: FCCADiscretizer) -> dict[str, Any] | None:
    """Return the parameters of the discretizer's selection; None without a selection.

    ``keep`` and ``forbid`` are converted to positions in the list of conditions that remain after ``Q`` is applied.
    """
    selection = discretizer.selection
    if selection is None:
        return None
    candidates = discretizer.selection_.candidates
    caps, most = selection.per_feature, selection.max_features
    limits = {"keep": selection.keep, "forbid": selection.forbid, "per_feature": caps, "max_features": most}
    admissible = Admissible.of(candidates, **limits)
    return {
        "n_thresholds": _optional(int, selection.n_thresholds),
        "max_inconsistency": _optional(float, selection.max_inconsistency),
        "max_features": _optional(int, most),
        "keep": np.flatnonzero(admissible.state == KEPT).tolist(),
        "forbid": np.flatnonzero(admissible.state == FORBIDDEN).tolist(),
        "per_feature": {name: int(n) for name, n in caps.items()} if isinstance(caps, Mapping) else _shown(caps),
        "fit_to": selection.fit_to,
        "time_limit": _optional(float, selection.time_limit),
        "max_nodes": _optional(int, selection.max_nodes),
    }


# --- results ------------------------------------------------------------------------------------------------------------


def _columns_of(found: Counterfactuals, discretizer: FCCADiscretizer) -> dict[str, Any]:
    """Return the counterfactuals as lists, named after the attributes of ``StatedCounterfactuals``."""
    table = discretizer.all_thresholds_
    points, first = discretizer.crossing_points()
    condition = np.repeat(np.arange(len(table)), np.diff(first))
    decides = table.kind[condition] == "missing"
    rows, features = found.rows[points[decides]], table.feature[condition[decides]]
    in_order = np.lexsort((features, rows))
    found = found.take(np.argsort(found.rows, kind="stable"))
    moves = found.moves
    labels = found.values(moves.feature, moves.origin), found.values(moves.feature, moves.landing)
    return {
        "row": found.rows.tolist(),
        "target": [
            None if label is None or status in WITHOUT_COUNTERFACTUAL else plain_label(label)
            for label, status in zip(found.target.tolist(), found.status.tolist(), strict=True)
        ],
        "status": found.status.tolist(),
        "cost": _numbers(found.cost),
        "bound": _numbers(found.bound),
        "move_row": found.rows[moves.point].tolist(),
        "move_feature": moves.feature.tolist(),
        "move_from": [_value(value) for value in labels[0].tolist()],
        "move_to": [_value(value) for value in labels[1].tolist()],
        "gap_row": rows[in_order].tolist(),
        "gap_feature": features[in_order].tolist(),
    }


def _described_sample(discretizer: FCCADiscretizer) -> dict[str, Any] | None:
    """Describe the sample of rows that were searched; None if all rows were searched."""
    sample = discretizer.row_sample_
    if sample is None:
        return None
    return {
        "size": sample.size,
        "searched": sample.n_searched,
        "rows": sample.n_rows,
        "reason": sample.reason,
        "level": sample.level,
        "conditions": sample.n_conditions,
        "unfinished": sample.n_unfinished,
    }


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _value(value: Any) -> Any:
    """Convert a value of a row to a JSON value; a missing value becomes None."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value if isinstance(value, float) else plain_label(value)


def _kept(discretizer: FCCADiscretizer) -> list[int]:
    """Return the position of each kept condition in the list of all conditions found."""
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
