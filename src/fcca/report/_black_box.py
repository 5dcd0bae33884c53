"""The black box as JSON data, so that the page can compute its predictions."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models import LinearModel, Model, TreeBlock, TreeEnsemble, labelled, read_model
from fcca.report._report_input import ReportInput

MOST_CHARACTERS = 300_000
# Each node of a tree needs at least this many characters.
LEAST_PER_NODE = 10
TOO_LARGE = "The black box is too large for this page. The form shows the tree only."
NO_FORMULA = "This page cannot compute the probabilities of this black box. The form shows the tree only."


def black_box_document(inputs: ReportInput) -> dict[str, Any] | str:
    """Return the black box as JSON data, or a sentence that says why it is left out.

    It is left out if the data would be too large, or if there is no formula for its probabilities. Columns are referred to
    by their positions in the table, and classes by their positions among the classes of the page.
    """
    estimator, discretizer = inputs.discretizer.estimator_, inputs.discretizer
    try:
        model = read_model(estimator)
    except UnsupportedModelError:
        return NO_FORMULA
    model = labelled(model, discretizer.as_black_box_takes(inputs.training.table))
    link = model.link.formula() if hasattr(estimator, "predict_proba") else {"kind": "none"}
    if link is None:
        return NO_FORMULA
    if isinstance(model, TreeEnsemble) and LEAST_PER_NODE * len(model.feature) > MOST_CHARACTERS:
        return TOO_LARGE
    parts = _trees(model) if isinstance(model, TreeEnsemble) else _linear(model)
    document = {
        "classes": inputs.class_codes(model.classes).tolist(),
        "boundary": _exact(model.boundary),
        "link": link,
        "columns": used_columns(model),
        "fill": _stand_ins(model, inputs),
        **parts,
    }
    return TOO_LARGE if len(json.dumps(document, separators=(",", ":"))) > MOST_CHARACTERS else document


def used_columns(model: Model) -> list[int]:
    """Return the sorted positions of the columns that affect the predictions of a model."""
    if isinstance(model, TreeEnsemble):
        found: list[int] = np.unique(model.feature[model.feature >= 0]).tolist()
        return found
    assert isinstance(model, LinearModel)
    is_used = (model.coef != 0).any(axis=0)
    is_used[list(model.effects)] = True
    if model.missing is not None:
        is_used |= (model.missing != 0).any(axis=1)
    return np.flatnonzero(is_used).tolist()


def _stand_ins(model: Model, inputs: ReportInput) -> dict[str, dict[str, Any]]:
    """Return, by column, what the black box gets instead of missing values and unknown categories."""
    columns = used_columns(model)
    found = inputs.discretizer.stand_ins_
    return {
        str(j): {
            "value": _exact(found.values[j]),
            "missing": bool(found.takes_missing[j]),
            "category": bool(found.is_category[j]),
        }
        for j in columns
    }


def _trees(model: TreeEnsemble) -> dict[str, Any]:
    """Return the nodes of an ensemble. The entry ``left`` of a leaf is the position of its vector in ``value``."""
    is_leaf = model.feature < 0
    left = model.left.astype(np.int64)
    left[is_leaf] = np.arange(np.count_nonzero(is_leaf))
    parts = model.parts or (TreeBlock(len(model.roots), 1.0, 1.0),)
    return {
        "kind": "trees",
        "roots": model.roots.tolist(),
        "feature": model.feature.tolist(),
        "threshold": _exact_list(np.where(is_leaf | np.isnan(model.threshold), 0.0, model.threshold)),
        "left": left.tolist(),
        "right": np.where(is_leaf, 0, model.right).tolist(),
        "missing_left": None if model.missing_left is None else model.missing_left.astype(np.int64).tolist(),
        "categories": {str(node): codes.tolist() for node, codes in model.categories.items()},
        "value": [_exact_list(line) for line in model.value[is_leaf]],
        "base": _exact_list(model.base),
        "divisor": _exact(model.divisor),
        "parts": [[part.n_trees, _exact(part.divisor), _exact(part.weight)] for part in parts],
        "nested": bool(model.parts),
        "single": model.single_precision,
    }


def _linear(model: Model) -> dict[str, Any]:
    assert isinstance(model, LinearModel)
    columns = used_columns(model)
    return {
        "kind": "linear",
        "intercept": _exact_list(model.intercept),
        "terms": {
            str(j): {
                "centre": _exact(model.centre[j]),
                "coef": _exact_list(model.coef[:, j]),
                "effects": [_exact_list(line) for line in model.effects[j]] if j in model.effects else None,
                "missing": None if model.missing is None else _exact_list(model.missing[j]),
            }
            for j in columns
        },
    }


def _exact(x: float) -> float | int | str:
    """Convert a number to JSON without rounding. JavaScript reads the strings with ``Number``."""
    x = float(x)
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    return int(x) if x.is_integer() and abs(x) < 1e15 else x


def _exact_list(values: NDArray[np.float64]) -> list[float | int | str]:
    return [_exact(x) for x in values.tolist()]
