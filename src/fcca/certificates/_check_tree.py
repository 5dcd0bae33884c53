"""Check the tree: recompute its leaves and its objective, and repeat the search for it."""

from __future__ import annotations

import warnings
from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.certificates._certificate_reader import OLD_DEFAULTS
from fcca.certificates._evidence import NEAR, Evidence, Floats, NotChecked, is_near, typed_label
from fcca.certificates._fingerprints import plain_label
from fcca.exceptions import UnfinishedSearchWarning
from fcca.export import WITHOUT_EFFECT, Part, conditions_in, plain_parameter
from fcca.tables import Column, Columns, SoftLabels, column_names
from fcca.trees import OptimalTreeClassifier, compared_trees, default_leaf_price, leaf_cost

TREE_LIMITS = ("criterion", "max_leaf_nodes", "min_samples_leaf", "min_weight_fraction_leaf")
NUMBERS = ("threshold", "cut", "below", "above", "count")


def row_weights(given: Evidence) -> Floats:
    """Return the weight of each row, multiplied by the weight of its class."""
    if given.stated.parameters.class_weight is None:
        return given.weight
    _, code = np.unique(given.training_labels, return_inverse=True)
    weighted: Floats = given.weight * _class_factors(given)[code.ravel()]
    return weighted


def soft_labels(given: Evidence) -> SoftLabels | None:
    """Return the soft labels that the tree learned; None if it learned classes.

    They are multiplied by the weights of the rows and of the classes.
    """
    if given.soft is None or given.stated.parameters.class_weight is None:
        return given.soft
    return given.soft.times(_class_factors(given))


def _class_factors(given: Evidence) -> Floats:
    """Return the weight of each class, in the sorted order of the classes."""
    weights = given.stated.parameters.class_weight
    classes, code = np.unique(given.training_labels, return_inverse=True)
    if weights == "balanced":
        mass = np.bincount(code.ravel(), weights=given.weight)
        balanced: Floats = given.weight.sum() / (len(classes) * mass)
        return balanced
    assert isinstance(weights, tuple)
    known = {typed_label(one): weight for one, weight in weights}
    return np.array([known.get(typed_label(one), 1.0) for one in classes.tolist()])


def check_weighted_classes(given: Evidence) -> list[str]:
    """Check that the stated class weights are for classes that occur in the rows.

    As in scikit-learn, weights of other classes are allowed if all classes that occur have a weight.
    """
    weights = given.stated.parameters.class_weight
    if not isinstance(weights, tuple):
        return []
    named, classes = (
        {typed_label(one) for one, _ in weights},
        {typed_label(one) for one in np.unique(given.training_labels).tolist()},
    )
    if others := [label for label, _ in weights if typed_label(label) not in classes and not classes <= named]:
        return [f"a class weight names {others[0]!r}, but the classes are {sorted(str(label) for _, label in classes)}"]
    return []


def tree_on_thresholds(given: Evidence) -> list[str]:
    """Check that the tree tests only kept thresholds, and recompute its leaves.

    For each leaf, the stated number of rows and the stated class weights must agree with the training rows.
    """
    stated = given.stated
    if stated.tree is None:
        return [stated.contradiction]
    tree = stated.tree
    nodes = tree.structure
    problems = _threshold_problems(given)
    problems += _class_problems(given) + _column_problems(given)
    known = set(conditions_in(given.kept))
    for node, test in enumerate(tree.tests):
        if test is not None and test not in known:
            said = nodes.test_in_words(node, True, tree.columns.names, tree.columns)
            problems.append(f"node {node} of the tree tests {said}, which is not one of the thresholds kept")
    leaf = tree.apply(given.rows.X)
    rows, held = np.bincount(leaf, minlength=len(nodes.feature)), _held_weights(given, leaf)
    if held is None:
        return [*problems, "the tree and the rows have different classes"]
    for node in np.flatnonzero(nodes.feature < 0).tolist():
        if rows[node] != nodes.n_rows[node]:
            problems.append(f"leaf {node} of the tree gets {rows[node]} rows, but {nodes.n_rows[node]} are stated")
        elif not is_near(nodes.weight[node], held[node]).all():
            shown = ", ".join(f"{one:g}" for one in held[node])
            problems.append(f"leaf {node} of the tree gets a total weight per class of {shown}, but others are stated")
    return problems


def _held_weights(given: Evidence, leaf: NDArray[np.int64]) -> Floats | None:
    """Sum the weight of each class in each leaf of the tree.

    ``leaf`` holds the leaf that each row reaches. Return None if the tree and the rows have different classes.
    """
    tree = given.tree
    position = {typed_label(one): k for k, one in enumerate(tree.classes)}
    code = np.array([position.get(typed_label(one), -1) for one in given.training_labels.tolist()], dtype=np.int64)
    if (code < 0).any() or len(np.unique(code)) != len(tree.classes):
        return None
    held = np.zeros(tree.structure.weight.shape)
    np.add.at(held, (leaf, code), row_weights(given))
    return held


def _class_problems(given: Evidence) -> list[str]:
    """Check that the certificate and the tree state the classes of the rows, in the same order."""
    stated, found = given.stated, np.unique(given.training_labels).tolist()
    in_data = [(type(label).__name__, label) for label in stated.classes]
    in_tree = [typed_label(label) for label in given.tree.classes]
    problems = []
    for name, classes, shown in (("data", in_data, stated.classes), ("tree", in_tree, given.tree.classes)):
        if classes != [typed_label(label) for label in found]:
            expected = [plain_label(label) for label in found]
            problems.append(f"the classes of the {name} are {list(shown)}, but the rows have {expected}")
    return problems


def _column_problems(given: Evidence) -> list[str]:
    """Check that the columns of the tree match the rows and the black box."""
    own, names, tree = given.search.columns, column_names(given.rows.X), given.tree
    plain = Columns.numbers(len(given.stated.columns), names) if own is None else own
    problems = []
    for j, (stated, column) in enumerate(zip(tree.columns, plain, strict=True)):
        expected = Column(column.name if names is None else names[j], column.categories, column.missing)
        if _described(stated) != _described(expected):
            what = f"column {given.stated.columns[j]!r} of the tree"
            problems.append(f"{what} differs from the rows and the black box in its name, categories or missing values")
    if tree.takes_missing != (own is not None):
        words = (
            "accepts missing values, but they reject them" if own is None else "rejects missing values, but they accept them"
        )
        problems.append(f"the tree differs from the rows and the black box: it {words}")
    return problems[:1]


def _described(column: Column) -> tuple[Any, ...]:
    categories = None if column.categories is None else [typed_label(label) for label in column.categories]
    return column.name, categories, column.missing


def _threshold_problems(given: Evidence) -> list[str]:
    """Check that the conditions of the tree are the kept thresholds, and check its provenance."""
    table = given.tree.thresholds
    kept, problems = given.kept, []
    if table is not None and not (
        kept.names() == table.names()
        and all(np.array_equal(getattr(kept, name), getattr(table, name), equal_nan=True) for name in ("feature", *NUMBERS))
    ):
        problems.append("the conditions of the tree differ from the thresholds kept, or have other counts")
    return problems + _provenance_problems(given)


def _provenance_problems(given: Evidence) -> list[str]:
    """Check the provenance of the tree: what the tree itself states about its origin.

    These are the statuses of the counterfactuals, all parameters, the fidelity and the accuracy.
    """
    stated, provenance, problems = given.stated, given.tree.provenance, []
    assert provenance is not None  # read_certificate requires it
    if provenance.statuses != stated.statuses:
        problems.append(f"the tree states the counterfactuals by status as {provenance.statuses}, not {stated.statuses}")
    if provenance.fit_to != stated.parameters.fit_to:
        problems.append(f"the tree has fit_to={provenance.fit_to!r}, but the parameters have {stated.parameters.fit_to!r}")
    for part, stated_of, expected in (
        ("search", provenance.discretizer.parameters, _search_parameters(given, provenance.discretizer.parameters)),
        ("tree", provenance.tree.parameters, _tree_parameters(given, provenance.tree.parameters)),
        ("selection", _parameters(provenance.selection), _selection_parameters(given)),
    ):
        others = (name for name in expected if typed_label(stated_of.get(name, ...)) != typed_label(expected[name]))
        if (first := min(others, default=None)) is not None:
            problems.append(f"the provenance of the tree and the parameters have a different {first} of the {part}")
    predicted = _as_written(np.asarray(given.tree.predict(given.rows.X)))
    # The provenance has an accuracy if the weights in the leaves are weights of labels.
    of_labels = stated.parameters.fit_to != "target" and stated.parameters.class_weight is None
    for name, share, of, is_needed in (
        ("fidelity", provenance.fidelity, given.predictions, True),
        ("accuracy", provenance.accuracy, given.rows.y, of_labels),
    ):
        found = float(given.weight[predicted == _as_written(np.asarray(of))].sum() / given.weight.sum())
        if (share is not None) != is_needed:
            problems.append(
                f"the {name} of the tree is missing" if is_needed else f"an {name} is stated for a tree without labels"
            )
        elif share is not None and not is_near(share, found):
            problems.append(f"the {name} of the tree is {found:.9g}, not {share:.9g}")
    return problems


def _parameters(part: Part | None) -> dict[str, Any]:
    return {"selection": None} if part is None else dict(part.parameters)


def _search_parameters(given: Evidence, stated: Container[str]) -> dict[str, Any]:
    """Return the parameters of the discretizer that the provenance of the tree must state.

    ``stated`` holds the names of the parameters in the provenance. Older versions of fcca wrote fewer parameters. So a
    newer parameter may be absent from the provenance, provided that it has the value that older versions always used.
    """
    requested = {name: plain_parameter(value) for name, value in given.stated.parameters.search.items()}
    old = {name for name, value in OLD_DEFAULTS.items() if requested[name] == value and name not in stated}
    return {name: value for name, value in requested.items() if name not in WITHOUT_EFFECT | old}


def _tree_parameters(given: Evidence, stated: Container[str]) -> dict[str, Any]:
    """Return the parameters of the tree that its provenance must state.

    ``stated`` holds the names of the parameters in the provenance. Older versions of fcca wrote fewer parameters. So a
    newer parameter may be absent from the provenance, provided that it has the value that older versions always used.
    """
    requested = given.stated.parameters
    found: dict[str, Any] = {"max_depth": requested.max_depth, "regularization": requested.regularization}
    found |= {name: getattr(requested, name) for name in TREE_LIMITS}
    if not isinstance(requested.class_weight, tuple):
        found["class_weight"] = requested.class_weight
    if requested.max_nodes is not None or "max_nodes" in stated:  # old documents do not have it
        found["max_nodes"] = requested.max_nodes
    return found


def _selection_parameters(given: Evidence) -> dict[str, Any]:
    """Return the parameters of the selection that the provenance of the tree must state."""
    requested = given.stated.parameters.selection
    if requested is None:
        return {"selection": None}
    return {name: requested[name] for name in ("n_thresholds", "max_inconsistency", "max_features", "max_nodes", "fit_to")}


def objective(given: Evidence) -> list[str]:
    """Check the stated regularization, depth, objective, lower bound and gap of the tree."""
    requested, tree, proof = given.stated.parameters, given.tree, given.stated.proof
    claim = tree.certificate
    problems = []
    if any(getattr(claim, name) != getattr(proof, name) for name in ("objective", "lower_bound", "gap", "optimal")):
        problems.append("the objective, bound, gap or optimality of the tree differs from the proof")
    weight, soft = row_weights(given), soft_labels(given)
    total = float(weight.sum()) if soft is None else soft.total
    regularization = requested.regularization
    if regularization is None:
        is_soft = soft is not None
        price = default_leaf_price(requested.criterion, len(tree.classes), len(given.kept), is_soft=is_soft)
        regularization = price / total
    if not is_near(claim.regularization, regularization):
        problems.append(f"the regularization is {regularization:.9g}, but the tree states {claim.regularization:.9g}")
    problems += [
        f"{name} is {getattr(requested, name)}, but the tree states {getattr(claim, name)}"
        for name in ("max_depth", *TREE_LIMITS)
        if getattr(claim, name) != getattr(requested, name)
    ]
    if claim.max_depth is not None and tree.structure.depth > claim.max_depth:
        problems.append(f"the tree has depth {tree.structure.depth}, more than its max_depth of {claim.max_depth}")
    if claim.max_leaf_nodes is not None and tree.structure.n_leaves > claim.max_leaf_nodes:
        problems.append(
            f"the tree has {tree.structure.n_leaves} leaves, more than its max_leaf_nodes of {claim.max_leaf_nodes}"
        )
    leaf = tree.apply(given.rows.X)
    held = _held_weights(given, leaf)
    if held is None:
        return problems  # tree_on_thresholds reports this
    leaves = np.flatnonzero(tree.structure.feature < 0)
    learned = held[leaves]
    if soft is not None:
        learned = np.array([soft.class_weights(np.flatnonzero(leaf == one)) for one in leaves])
        if tree.structure.soft_weight is None or not np.allclose(
            tree.structure.soft_weight[leaves], learned, rtol=NEAR, atol=NEAR
        ):
            problems.append("the soft labels in the leaves differ from those recomputed from the rows")
    if len(leaves) > 1:
        rows = np.bincount(leaf, minlength=len(held))[leaves]
        least = requested.min_weight_fraction_leaf * total
        if rows.min() < requested.min_samples_leaf or learned.sum(axis=1).min() < least * (1 - NEAR):
            problems.append("a leaf has fewer rows than min_samples_leaf or less weight than min_weight_fraction_leaf")
    cost = float(leaf_cost(learned, requested.criterion).sum() / total)
    return problems + _of_proof(given, cost + claim.regularization * tree.structure.n_leaves)


def _of_proof(given: Evidence, value: float) -> list[str]:
    proof = given.stated.proof
    problems = []
    if not is_near(proof.objective, value):
        problems.append(f"the objective is {value:.12g}, not {proof.objective:.12g}")
    if proof.lower_bound > proof.objective + NEAR:
        problems.append("the lower bound is above the objective")
    gap = (proof.objective - proof.lower_bound) / proof.objective if proof.objective > 0 else 0.0
    if abs(gap - proof.gap) > NEAR:
        problems.append(f"the objective and the lower bound have a gap of {gap:.9g}, not {proof.gap:.9g}")
    if proof.optimal and proof.lower_bound < proof.objective - NEAR:
        problems.append("the tree is called optimal, but its lower bound is below its objective")
    if not proof.optimal and not given.stated.parameters.tree_is_limited:
        problems.append("the tree is not called optimal, but without a limit the search ends with a proof")
    return problems


def _as_written(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert labels to the types of a JSON document, to compare them with stated labels."""
    return np.array([plain_label(label) for label in labels.tolist()], dtype=object)


def best_tree(given: Evidence) -> list[str] | str:
    """Repeat the search for the tree with the lowest objective.

    Return the problems, or a sentence that says what was confirmed.
    """
    stated, proof, time_limit = given.stated, given.stated.proof, given.effort.time_limit
    B = given.kept.binarize(given.table)
    requested = {name: getattr(stated.parameters, name) for name in ("max_depth", *TREE_LIMITS)}
    search = OptimalTreeClassifier(**requested, regularization=given.tree.certificate.regularization, time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        best = search.fit_counted(B, given.training_labels, row_weights(given), soft=soft_labels(given))
    if proof.optimal and best.objective_ < proof.objective - NEAR:
        return [f"another tree has objective {best.objective_:.12g}, better than the one called optimal"]
    if best.objective_ < proof.lower_bound - NEAR:
        return [f"another tree has objective {best.objective_:.12g}, below the stated lower bound"]
    if best.lower_bound_ > proof.objective + NEAR:
        return [f"the stated objective is {proof.objective:.12g}, but no tree is below {best.lower_bound_:.12g}"]
    if not best.is_optimal_:
        if best.lower_bound_ >= proof.lower_bound - NEAR:
            return "the search reached the bound again within the time limit"
        raise NotChecked(
            f"The time limit of {time_limit:g} s stopped the search before optimality was proven. No better tree was found."
        )
    return f"no {compared_trees(search)} {'is better' if proof.optimal else 'has an objective below the lower bound'}"
