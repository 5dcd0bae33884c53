"""Check the objects of a .skops file before they are used.

A damaged or forged file can contain objects with wrong values. The checks find values that would crash later, or lead to
wrong predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.classifier import FCCAClassifier
from fcca.constraints import Constraint
from fcca.counterfactuals import STATUSES, Counterfactuals
from fcca.discretizers import FCCADiscretizer, TargetThresholdTransformer, ThresholdTransformer
from fcca.export._distilled_tree import Certificate, conditions_in
from fcca.export._from_json import check_certificate
from fcca.export._scorecard_to_json import scorecard_from_json, scorecard_to_json
from fcca.models import check_supported
from fcca.models.files import objects_in
from fcca.scorecard import FCCAScorecard, Scorecard
from fcca.selection import Selection
from fcca.tables import Column, Columns, StandIns
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier, TreeStructure

SELECTION_PATH = "selection_path_"


def check_stored(loaded: Any) -> None:
    """Raise a ValueError if an object of fcca in a loaded file is inconsistent.

    Parameters
    ----------
    loaded : object
        The loaded object. The objects inside it are also checked.
    """
    found = list(objects_in(loaded))
    # Parts come before the objects that contain them.
    for kind, check in CHECKS.items():
        for one in found:
            if isinstance(one, kind):
                check(one)


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"it holds {what}")


def _array(given: Any, kinds: str, shape: tuple[int, ...], what: str) -> None:
    """Check the type and shape of an array; NaN and infinity are allowed.

    Parameters
    ----------
    given : object
    kinds : str
        Allowed kinds of numpy types, such as "i" for integers.
    shape : tuple of int
    what : str
        Name of the array in the error message.
    """
    _require(isinstance(given, np.ndarray) and given.dtype.kind in kinds and given.shape == shape, f"{what} of a wrong kind")


def _within(given: NDArray[Any], least: int, most: int, what: str) -> None:
    """Check that all values of an array lie between ``least`` and ``most``."""
    _require(len(given) == 0 or (int(given.min()) >= least and int(given.max()) <= most), f"{what} out of range")


def _whole(given: Any, what: str) -> int:
    _require(isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 0, f"{what} of a wrong kind")
    return int(given)


# --- parts --------------------------------------------------------------------------------------------------------------


def _check_column(column: Column) -> None:
    labels = column.categories
    _require(column.name is None or isinstance(column.name, str), "a column whose name is not a string")
    _require(labels is None or (isinstance(labels, tuple) and len(labels) > 0), "a column without categories")
    _require(labels is None or len(set(labels)) == len(labels), "a column that lists a category twice")
    flags = (column.missing, column.as_category, column.none_is_missing, column.as_object, column.ignored)
    _require(all(isinstance(flag, bool) for flag in flags), "a column whose flags are not true or false")


def _check_stand_ins(stand_ins: StandIns) -> None:
    values, flags = stand_ins.values, (stand_ins.takes_missing, stand_ins.is_category)
    _require(isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1, "values of a wrong kind")
    _require(bool(np.isfinite(values).all()), "values that are not finite")
    for mask in flags:
        _require(
            isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == values.shape, "masks of a wrong kind"
        )


def _check_columns(columns: Columns) -> None:
    _require(
        isinstance(columns.columns, tuple) and all(isinstance(one, Column) for one in columns.columns),
        "columns of a wrong kind",
    )
    _require(set(vars(columns)) <= {"columns", *_CACHED}, "columns with unknown attributes")
    for name in _CACHED:  # cached values are recomputed
        vars(columns).pop(name, None)


_CACHED = ("names", "named", "is_category", "has_categories", "may_miss", "_codes")


def _check_structure(nodes: TreeStructure) -> None:
    _require(isinstance(nodes.feature, np.ndarray) and nodes.feature.ndim == 1 and len(nodes.feature) > 0, "no nodes")
    n = len(nodes.feature)
    for name in ("feature", "left", "right", "n_rows"):
        _array(getattr(nodes, name), "i", (n,), f"nodes whose {name} is")
    _array(nodes.threshold, "f", (n,), "thresholds")
    _require(isinstance(nodes.weight, np.ndarray) and nodes.weight.ndim == 2, "weights of a wrong kind")
    _array(nodes.weight, "f", (n, nodes.weight.shape[1]), "weights")
    _require(np.isfinite(nodes.weight).all() and (nodes.weight >= 0).all(), "weights below 0 or not finite")
    _require((nodes.weight.sum(axis=1) > 0).all(), "a node without weight")
    _require((nodes.n_rows >= 0).all(), "a node with a negative number of rows")
    inner = np.flatnonzero(nodes.feature >= 0)
    _require((nodes.feature[nodes.feature < 0] == -1).all(), "a node that is neither a split nor a leaf")
    children = np.concatenate([nodes.left[inner], nodes.right[inner]]).astype(np.int64)
    parents = np.concatenate([inner, inner])
    _require(((children > parents) & (children < n)).all(), "a node with a child out of range")
    _require(len(np.unique(children)) == len(children) == n - 1, "nodes that have several parents or none")
    _require(isinstance(nodes.categories, dict) and isinstance(nodes.asks_missing, frozenset), "nodes of a wrong kind")
    _require(
        isinstance(nodes.asks_special, frozenset) and isinstance(nodes.missing_right, frozenset), "nodes of a wrong kind"
    )
    _require(isinstance(nodes.asks_one, frozenset), "nodes of a wrong kind")
    special = [*nodes.categories, *nodes.asks_missing, *nodes.asks_special]
    _require(
        len(set(special)) == len(special) and set(special) <= set(inner.tolist()), "a condition that belongs to no node"
    )
    for codes in nodes.categories.values():
        _require(
            isinstance(codes, tuple) and codes and all(isinstance(code, int) and code >= 0 for code in codes),
            "a set of categories without categories",
        )
    plain = np.setdiff1d(inner, [*nodes.categories, *nodes.asks_missing])
    _require(np.isfinite(nodes.threshold[plain.astype(np.int64)]).all(), "thresholds that are not finite")
    _require(nodes.missing_right <= set(plain.tolist()), "missing values at a node that does not compare")
    cuts = set(plain.tolist()) - nodes.asks_special
    _require(nodes.asks_one <= cuts, "a condition 'x = 1' at a node that does not compare")


def _check_counterfactuals(found: Counterfactuals) -> None:
    _require(isinstance(found.rows, np.ndarray) and isinstance(found.classes, np.ndarray), "counterfactuals without rows")
    n, moves = len(found.rows), found.moves
    whole = {"rows": found.rows, "target_code": found.target_code, "status_code": found.status_code, "nodes": found.nodes}
    for name, given in whole.items():
        _array(given, "i", (n,), f"counterfactuals whose {name} is")
    for name in ("cost", "bound", "seconds"):
        _array(getattr(found, name), "f", (n,), f"counterfactuals whose {name} is")
    n_moves = len(moves.point) if isinstance(moves.point, np.ndarray) else -1
    for given in (moves.point, moves.feature):
        _array(given, "i", (n_moves,), "moves")
    for given in (moves.origin, moves.landing, moves.cut):
        _array(given, "f", (n_moves,), "moves")
    _require(isinstance(found.feature_names, list | tuple), "counterfactuals of columns without names")
    n_features, n_classes = len(found.feature_names), len(found.classes)
    _require(all(isinstance(name, str) for name in found.feature_names), "names that are not strings")
    _within(found.rows, 0, 2**62, "rows")
    _within(found.status_code, 0, len(STATUSES) - 1, "statuses")
    _within(found.target_code, -1, n_classes - 1, "classes of counterfactuals")
    _within(moves.point, 0, n - 1, "moves")
    _within(moves.feature, 0, n_features - 1, "moves")
    _require(n_moves == 0 or (np.diff(moves.point) >= 0).all(), "moves that are not sorted")
    _require(found.columns is None or isinstance(found.columns, Columns), "columns of a wrong kind")
    if found.columns is not None:
        _require(len(found.columns) == n_features, "counterfactuals whose number of columns is wrong")
        _check_codes(found.columns, moves)
    if found.own_code is not None:
        _array(found.own_code, "i", (n,), "predictions")
        _within(found.own_code, 0, n_classes - 1, "predictions")
    _require(
        isinstance(found.rules, tuple) and all(isinstance(rule, Constraint) for rule in found.rules), "rules of a wrong kind"
    )
    _require(isinstance(found.special, dict), "special values of a wrong kind")
    for j, values in found.special.items():
        _require(
            isinstance(j, int) and 0 <= j < n_features and isinstance(values, np.ndarray), "special values of a wrong kind"
        )
        _array(values, "f", (len(values),), "special values")
    if found.box is not None:
        _require(isinstance(found.box, tuple) and len(found.box) == 2, "ranges without two ends")
        for end in found.box:
            _array(end, "f", (n_features,), "ends of ranges")


def _check_codes(columns: Columns, moves: Any) -> None:
    """Check that moves of categorical columns start and end at valid codes.

    ``moves`` are the changes that counterfactuals make, one per changed column. Missing values are allowed.
    """
    for j, column in enumerate(columns):
        if column.categories is None:
            continue
        for given in (moves.origin, moves.landing):
            codes = given[moves.feature == j]
            codes = codes[~np.isnan(codes)]
            known = (codes == np.floor(codes)) & (codes >= 0) & (codes < len(column.categories))
            _require(known.all(), "a move with a category code out of range")


def _check_selection(chosen: Selection) -> None:
    _require(isinstance(chosen.candidates, ThresholdTable), "a selection without conditions")
    _array(chosen.kept, "b", (len(chosen.candidates),), "a selection")


def _check_rule(rule: Constraint) -> None:
    _require(Constraint.from_dict(rule.to_dict()) == rule, "an inconsistent rule")


# --- estimators ---------------------------------------------------------------------------------------------------------


def _check_discretizer(given: ThresholdTransformer) -> None:
    if isinstance(given, TargetThresholdTransformer) and hasattr(given, "estimator_"):
        check_supported(given.estimator_)
    if not hasattr(given, "thresholds_"):
        return
    every, kept = given.all_thresholds_, given.thresholds_
    _require(
        isinstance(every, ThresholdTable) and isinstance(kept, ThresholdTable), "thresholds that are not a ThresholdTable"
    )
    n = _whole(given.n_features_in_, "a number of columns")
    _require(
        len(every.feature_names) == n and kept.feature_names == every.feature_names,
        "thresholds whose columns differ from those of the discretizer",
    )
    known = set(conditions_in(every))
    _require(
        kept.columns == every.columns and known.issuperset(conditions_in(kept)),
        "kept thresholds that are not among all thresholds",
    )
    if isinstance(given, TargetThresholdTransformer):
        _check_fit_of_stand_ins(given.stand_ins_, every.columns or Columns.numbers(n))
    if hasattr(given, "selection_"):
        _require(isinstance(given.selection_, Selection), "a selection of a wrong kind")
    found = getattr(given, "counterfactuals_", None)
    if isinstance(given, FCCADiscretizer) and found is not None:
        _require(
            isinstance(found, Counterfactuals) and len(found.feature_names) == n,
            "counterfactuals whose number of columns is wrong",
        )
        points, first = given.crossing_points()
        _array(first, "i", (len(every) + 1,), "crossings")
        _require(isinstance(points, np.ndarray), "crossings of a wrong kind")
        _array(points, "i", (len(points),), "crossings")
        _require(first[0] == 0 and first[-1] == len(points) and (np.diff(first) >= 0).all(), "crossings out of order")
        _within(points, 0, len(found) - 1, "crossings")
    if hasattr(given, "statuses_"):
        counts = given.statuses_
        _require(isinstance(counts, dict) and set(counts) <= set(STATUSES), "unknown statuses")
        for count in counts.values():
            _whole(count, "statuses")


def _check_fit_of_stand_ins(stand_ins: StandIns, columns: Columns) -> None:
    """Check that there is a value for each column, and a known category for each column of categories."""
    _require(isinstance(stand_ins, StandIns) and len(stand_ins.values) == len(columns), "other columns of stand-ins")
    _require(np.array_equal(stand_ins.is_category, columns.is_category), "stand-ins for other columns of categories")
    for value, column in zip(stand_ins.values.tolist(), columns, strict=True):
        n = len(column.categories or ())
        _require(n == 0 or (value.is_integer() and 0 <= value < n), "a stand-in with a category code out of range")


def _check_tree(given: OptimalTreeClassifier) -> None:
    if not hasattr(given, "tree_"):
        return
    nodes = given.tree_
    _require(isinstance(nodes, TreeStructure), "a tree without nodes")
    n = _whole(given.n_features_in_, "a number of columns")
    _within(nodes.feature, -1, n - 1, "columns of nodes")
    _require(
        not nodes.categories and not nodes.asks_special,
        "a tree with conditions other than 'x > threshold' and 'x is missing'",
    )
    missing = given.missing_columns_
    _require(isinstance(missing, np.ndarray) and missing.ndim == 1 and missing.dtype.kind == "i", "columns of a wrong kind")
    _within(missing, 0, n - 1, "columns with missing values")
    _require(isinstance(given.classes_, np.ndarray) and given.classes_.ndim == 1, "classes of a wrong kind")
    _require(len(given.classes_) == nodes.weight.shape[1], "a tree whose nodes have another number of classes")
    _require(
        (given.n_leaves_, given.depth_) == (nodes.n_leaves, nodes.depth),
        "a tree whose nodes differ from its stored number of leaves or depth",
    )
    numbers = (given.objective_, given.lower_bound_, given.gap_, given.regularization_)
    _require(all(isinstance(number, float) and np.isfinite(number) for number in numbers), "a proof without numbers")
    _require(isinstance(given.is_optimal_, bool), "a proof of a wrong kind")
    given.check_parameters()
    check_certificate(Certificate.of(given), nodes)


def _check_classifier(given: FCCAClassifier) -> None:
    path = vars(given).get(SELECTION_PATH)
    if path is not None:
        setattr(given, SELECTION_PATH, _frame(path))
    if not hasattr(given, "structure_"):
        return
    table, grown = given.discretizer_.thresholds_, given.tree_
    n = _whole(given.n_features_in_, "a number of columns")
    _require(isinstance(table, ThresholdTable) and isinstance(grown.tree_, TreeStructure), "a tree without thresholds")
    _require(
        given.discretizer_.n_features_in_ == n and grown.n_features_in_ == len(table),
        "a tree that does not fit the thresholds",
    )
    _require(np.array_equal(given.classes_, grown.classes_), "a tree whose classes differ from those of the classifier")
    named, known = (list(getattr(one, "feature_names_in_", ())) for one in (given, given.discretizer_))
    _require(named == known and len(named) in (0, n), "a discretizer whose columns differ from those of the classifier")
    own, expected = given.structure_, grown.tree_.with_conditions(table)
    _require(isinstance(own, TreeStructure) and _same_nodes(own, expected), "a structure that differs from the fitted tree")
    fidelity = given.fidelity_
    _require(isinstance(fidelity, float) and 0 <= fidelity <= 1, "a fidelity that is not between 0 and 1")


def _same_nodes(own: TreeStructure, other: TreeStructure) -> bool:
    arrays = ("feature", "threshold", "left", "right", "weight", "n_rows")
    same = all(np.array_equal(getattr(own, name), getattr(other, name), equal_nan=True) for name in arrays)
    same = same and own.categories == other.categories and own.asks_missing == other.asks_missing
    same = same and own.missing_right == other.missing_right
    return same and (own.asks_special, own.asks_one, own.special) == (other.asks_special, other.asks_one, other.special)


def _check_scorecard(given: Scorecard) -> None:
    text = scorecard_to_json(given)
    _require(scorecard_to_json(scorecard_from_json(text)) == text, "an inconsistent scorecard")


def _check_fitted_scorecard(given: FCCAScorecard) -> None:
    if not hasattr(given, "scorecard_"):
        return
    card, discretizer = given.scorecard_, given.discretizer_
    _require(isinstance(card, Scorecard), "a scorecard of a wrong kind")
    _require(isinstance(given.thresholds_, ThresholdTable), "thresholds that are not a ThresholdTable")
    _require(np.array_equal(given.classes_, card.classes_), "a scorecard with other classes")
    _require(given.n_features_in_ == discretizer.n_features_in_ == len(card.columns), "a scorecard of other columns")
    named = [list(getattr(one, "feature_names_in_", ())) for one in (given, discretizer, card)]
    _require(named[0] == named[1] == named[2], "a scorecard with other names of columns")
    _require(isinstance(given.trends_, dict) and set(given.trends_.values()) <= {"rising", "falling"}, "unknown trends")


def _frame(path: Any) -> pd.DataFrame:
    """Convert the result of :func:`plain_path` back to a data frame."""
    _require(
        isinstance(path, dict) and all(isinstance(column, list) for column in path.values()),
        "a selection path that is not a table",
    )
    _require(
        all(isinstance(name, str) and all(isinstance(one, int | float) for one in column) for name, column in path.items()),
        "a selection path with values that are not numbers",
    )
    return pd.DataFrame(path)


def plain_path(path: pd.DataFrame) -> dict[str, list[Any]]:
    """Convert a data frame to a dictionary of lists, which skops can write."""
    return {str(name): column.tolist() for name, column in path.items()}


CHECKS: dict[type, Callable[[Any], None]] = {
    Column: _check_column,
    Columns: _check_columns,
    StandIns: _check_stand_ins,
    Constraint: _check_rule,
    TreeStructure: _check_structure,
    Counterfactuals: _check_counterfactuals,
    Selection: _check_selection,
    OptimalTreeClassifier: _check_tree,
    ThresholdTransformer: _check_discretizer,
    FCCAClassifier: _check_classifier,
    Scorecard: _check_scorecard,
    FCCAScorecard: _check_fitted_scorecard,
}
