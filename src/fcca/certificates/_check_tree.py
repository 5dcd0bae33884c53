"""Checks of the tree: its leaves, its objective and its proof, computed again."""

from __future__ import annotations

import warnings
from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.certificates._evidence import NEAR, Floats, Material, NotChecked, is_near, told_apart
from fcca.certificates._fingerprints import plain_label
from fcca.certificates._reading import PAPER_DISTANCES
from fcca.exceptions import UnfinishedSearchWarning
from fcca.export import WITHOUT_EFFECT, Part, conditions_in, plain_parameter
from fcca.tables import Column, Columns, column_names
from fcca.trees import OptimalTreeClassifier, compared_trees, default_leaf_price, leaf_cost

TREE_LIMITS = ("criterion", "max_leaf_nodes", "min_samples_leaf", "min_weight_fraction_leaf")
NUMBERS = ("threshold", "cut", "below", "above", "count")


def row_weights(given: Material) -> Floats:
    """Weights of the rows times those of their classes."""
    weights, label = given.stated.parameters.class_weight, given.learned
    if weights is None:
        return given.weight
    classes, code = np.unique(label, return_inverse=True)
    if weights == "balanced":
        mass = np.bincount(code.ravel(), weights=given.weight)
        factor = given.weight.sum() / (len(classes) * mass)
    else:
        assert isinstance(weights, tuple)
        known = {told_apart(one): weight for one, weight in weights}
        factor = np.array([known.get(told_apart(one), 1.0) for one in classes.tolist()])
    weighted: Floats = given.weight * factor[code.ravel()]
    return weighted


def weights_of_no_class(given: Material) -> list[str]:
    """Check that class weights name classes of the rows.

    As in scikit-learn, others are allowed beside all of those.
    """
    weights = given.stated.parameters.class_weight
    if not isinstance(weights, tuple):
        return []
    named, classes = {told_apart(one) for one, _ in weights}, {told_apart(one) for one in np.unique(given.learned).tolist()}
    if others := [label for label, _ in weights if told_apart(label) not in classes and not classes <= named]:
        return [f"a class weight is of {others[0]!r}, and the classes are {sorted(str(label) for _, label in classes)}"]
    return []


def tree_on_thresholds(given: Material) -> list[str]:
    """Check the tree's conditions, and the rows and weights of its leaves."""
    stated = given.stated
    if stated.tree is None:
        return [stated.contradiction]
    tree = stated.tree
    nodes = tree.structure
    problems = _of_thresholds(given)
    problems += _of_classes(given) + _of_columns(given)
    known = set(conditions_in(given.kept))
    for node, test in enumerate(tree.tests):
        if test is not None and test not in known:
            said = nodes.test_in_words(node, True, tree.columns.names, tree.columns)
            problems.append(f"node {node} of the tree asks whether {said}, which is none of the thresholds kept")
    leaf = tree.apply(given.rows.X)
    rows, held = np.bincount(leaf, minlength=len(nodes.feature)), _held_weights(given, leaf)
    if held is None:
        return [*problems, "the tree knows other classes than the rows have"]
    for node in np.flatnonzero(nodes.feature < 0).tolist():
        if rows[node] != nodes.n_rows[node]:
            problems.append(f"leaf {node} of the tree holds {rows[node]} rows, and states {nodes.n_rows[node]}")
        elif not is_near(nodes.weight[node], held[node]).all():
            shown = ", ".join(f"{one:g}" for one in held[node])
            problems.append(f"leaf {node} of the tree holds weights {shown} of the classes, and states others")
    return problems


def _held_weights(given: Material, leaf: NDArray[np.int64]) -> Floats | None:
    """Class weights of the rows in each node; None where the tree has other classes."""
    tree = given.tree
    position = {told_apart(one): k for k, one in enumerate(tree.classes)}
    code = np.array([position.get(told_apart(one), -1) for one in given.learned.tolist()], dtype=np.int64)
    if (code < 0).any() or len(np.unique(code)) != len(tree.classes):
        return None
    held = np.zeros(tree.structure.weight.shape)
    np.add.at(held, (leaf, code), row_weights(given))
    return held


def _of_classes(given: Material) -> list[str]:
    """Check that the classes are those of the rows, in their order."""
    stated, found = given.stated, np.unique(given.learned).tolist()
    in_data = [(type(label).__name__, label) for label in stated.classes]
    in_tree = [told_apart(label) for label in given.tree.classes]
    problems = []
    for name, classes, shown in (("data", in_data, stated.classes), ("tree", in_tree, given.tree.classes)):
        if classes != [told_apart(label) for label in found]:
            told = [plain_label(label) for label in found]
            problems.append(f"the classes of the {name} are {list(shown)}, those that the rows have are {told}")
    return problems


def _of_columns(given: Material) -> list[str]:
    """Check that the columns are those of the rows and the black box."""
    own, names, tree = given.search.columns, column_names(given.rows.X), given.tree
    plain = Columns.numbers(len(given.stated.columns), names) if own is None else own
    problems = []
    for j, (stated, column) in enumerate(zip(tree.columns, plain, strict=True)):
        expected = Column(column.name if names is None else names[j], column.categories, column.missing)
        if _told(stated) != _told(expected):
            what = f"column {given.stated.columns[j]!r} of the tree"
            problems.append(f"{what} has another name, other categories or gaps than the rows and the black box give it")
    if tree.takes_missing != (own is not None):
        words = "takes missing values, which are refused" if own is None else "refuses missing values, which are taken"
        problems.append(f"the tree {words} by rows and black box")
    return problems[:1]


def _told(column: Column) -> tuple[Any, ...]:
    categories = None if column.categories is None else [told_apart(label) for label in column.categories]
    return column.name, categories, column.missing


def _of_thresholds(given: Material) -> list[str]:
    """Check that tree and certificate state the same thresholds and counterfactuals."""
    table = given.tree.thresholds
    kept, problems = given.kept, []
    if table is not None and not (
        kept.names() == table.names()
        and all(np.array_equal(getattr(kept, name), getattr(table, name), equal_nan=True) for name in ("feature", *NUMBERS))
    ):
        problems.append("the conditions that the tree was given are not the thresholds kept, or have other counts")
    return problems + _of_provenance(given)


def _of_provenance(given: Material) -> list[str]:
    """Check the provenance of the tree: statuses, training labels, fidelity and accuracy."""
    stated, provenance, problems = given.stated, given.tree.provenance, []
    assert provenance is not None  # the document was refused otherwise
    if provenance.statuses != stated.statuses:
        problems.append(f"the tree was made from counterfactuals {provenance.statuses}, not {stated.statuses}")
    if provenance.fit_to != stated.parameters.fit_to:
        problems.append(f"the tree learned the {provenance.fit_to}, but {stated.parameters.fit_to} was asked for")
    for part, stated_of, asked in (
        ("search", provenance.discretizer.parameters, _asked_of_search(given, provenance.discretizer.parameters)),
        ("tree", provenance.tree.parameters, _asked_of_tree(given, provenance.tree.parameters)),
        ("selection", _parameters(provenance.selection), _asked_of_selection(given)),
    ):
        if others := sorted(name for name in asked if told_apart(stated_of.get(name, ...)) != told_apart(asked[name])):
            problems.append(f"the tree comes from a {part} with another {others[0]} than was asked for")
    told = _as_written(np.asarray(given.tree.predict(given.rows.X)))
    # An accuracy is told where the weights in the leaves are those of the labels.
    of_labels = stated.parameters.fit_to == "labels" and stated.parameters.class_weight is None
    for name, share, of, is_told in (
        ("fidelity", provenance.fidelity, given.answers, True),
        ("accuracy", provenance.accuracy, given.rows.y, of_labels),
    ):
        found = float(given.weight[told == _as_written(np.asarray(of))].sum() / given.weight.sum())
        if (share is not None) != is_told:
            problems.append(
                f"the {name} of the tree is left out" if is_told else f"an {name} is told of a tree without labels"
            )
        elif share is not None and not is_near(share, found):
            problems.append(f"the {name} of the tree is {found:.9g}, not {share:.9g}")
    return problems


def _parameters(part: Part | None) -> dict[str, Any]:
    return {"selection": None} if part is None else dict(part.parameters)


def _asked_of_search(given: Material, told: Container[str]) -> dict[str, Any]:
    """Parameters of the search that the tree's provenance has to state."""
    asked = {name: plain_parameter(value) for name, value in given.stated.parameters.search.items()}
    old = {name for name, paper in PAPER_DISTANCES.items() if asked[name] == paper and name not in told}
    return {name: value for name, value in asked.items() if name not in WITHOUT_EFFECT | old}


def _asked_of_tree(given: Material, told: Container[str]) -> dict[str, Any]:
    """Parameters of the tree that its provenance has to state."""
    asked = given.stated.parameters
    found: dict[str, Any] = {"max_depth": asked.max_depth, "regularization": asked.regularization}
    found |= {name: getattr(asked, name) for name in TREE_LIMITS}
    if not isinstance(asked.class_weight, tuple):
        found["class_weight"] = asked.class_weight
    if asked.max_nodes is not None or "max_nodes" in told:  # documents of the first trees do not have it
        found["max_nodes"] = asked.max_nodes
    return found


def _asked_of_selection(given: Material) -> dict[str, Any]:
    """Parameters of the selection that the tree's provenance has to state."""
    asked = given.stated.parameters.selection
    if asked is None:
        return {"selection": None}
    return {name: asked[name] for name in ("n_thresholds", "max_inconsistency", "max_features", "max_nodes", "fit_to")}


def objective(given: Material) -> list[str]:
    """Check regularization, depth, objective, bound and gap of the tree."""
    asked, tree, proof = given.stated.parameters, given.tree, given.stated.proof
    claim = tree.certificate
    problems = []
    if any(getattr(claim, name) != getattr(proof, name) for name in ("objective", "lower_bound", "gap", "optimal")):
        problems.append("the tree states another objective, bound, gap or optimality than the proof")
    weight = row_weights(given)
    regularization = asked.regularization
    if regularization is None:
        price = default_leaf_price(asked.criterion, len(tree.classes), len(given.kept))
        regularization = price / float(weight.sum())
    if not is_near(claim.regularization, regularization):
        problems.append(f"a leaf costs {regularization:.9g} as it was asked for, and {claim.regularization:.9g} in the tree")
    problems += [
        f"{name} {getattr(asked, name)} was asked for, and the tree states {getattr(claim, name)}"
        for name in ("max_depth", *TREE_LIMITS)
        if getattr(claim, name) != getattr(asked, name)
    ]
    if claim.max_depth is not None and tree.structure.depth > claim.max_depth:
        problems.append(f"the tree has depth {tree.structure.depth}, more than the {claim.max_depth} that it states")
    if claim.max_leaf_nodes is not None and tree.structure.n_leaves > claim.max_leaf_nodes:
        problems.append(
            f"the tree has {tree.structure.n_leaves} leaves, more than the {claim.max_leaf_nodes} that it states"
        )
    leaf = tree.apply(given.rows.X)
    held = _held_weights(given, leaf)
    if held is None:
        return problems  # the check of the leaves says so
    leaves = np.flatnonzero(tree.structure.feature < 0)
    if len(leaves) > 1:
        rows = np.bincount(leaf, minlength=len(held))[leaves]
        least = asked.min_weight_fraction_leaf * float(weight.sum())
        if rows.min() < asked.min_samples_leaf or held[leaves].sum(axis=1).min() < least * (1 - NEAR):
            problems.append("a leaf has fewer rows or less weight than was asked for")
    cost = float(leaf_cost(held[leaves], asked.criterion).sum() / weight.sum())
    return problems + _of_proof(given, cost + claim.regularization * tree.structure.n_leaves)


def _of_proof(given: Material, value: float) -> list[str]:
    proof = given.stated.proof
    problems = []
    if not is_near(proof.objective, value):
        problems.append(f"the objective is {value:.12g}, not {proof.objective:.12g}")
    if proof.lower_bound > proof.objective + NEAR:
        problems.append("the lower bound lies above the objective")
    gap = (proof.objective - proof.lower_bound) / proof.objective if proof.objective > 0 else 0.0
    if abs(gap - proof.gap) > NEAR:
        problems.append(f"objective and lower bound have a gap of {gap:.9g}, not {proof.gap:.9g}")
    if proof.optimal and proof.lower_bound < proof.objective - NEAR:
        problems.append("the tree is called optimal, but its lower bound lies below its objective")
    if not proof.optimal and not given.stated.parameters.tree_is_limited:
        problems.append("the tree is not called optimal, as no search for a tree ends without a limit")
    return problems


def _as_written(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as a document has them, to be compared with its classes."""
    return np.array([plain_label(label) for label in labels.tolist()], dtype=object)


def best_tree(given: Material) -> list[str] | str:
    """Search the best tree again; return problems, or what was confirmed."""
    stated, proof, time_limit = given.stated, given.stated.proof, given.effort.time_limit
    B = given.kept.binarize(given.table)
    asked = {name: getattr(stated.parameters, name) for name in ("max_depth", *TREE_LIMITS)}
    search = OptimalTreeClassifier(**asked, regularization=given.tree.certificate.regularization, time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        best = search.fit(B, given.learned, row_weights(given))
    if proof.optimal and best.objective_ < proof.objective - NEAR:
        return [f"a tree of objective {best.objective_:.12g} is better than the one called optimal"]
    if best.objective_ < proof.lower_bound - NEAR:
        return [f"a tree of objective {best.objective_:.12g} lies below the stated lower bound"]
    if best.lower_bound_ > proof.objective + NEAR:
        return [f"no tree is below {best.lower_bound_:.12g}, but an objective of {proof.objective:.12g} is stated"]
    if not best.is_optimal_:
        if best.lower_bound_ >= proof.lower_bound - NEAR:
            return "the bound was reached again within the time limit"
        raise NotChecked(f"The time limit of {time_limit:g} s ended the search before its proof; no better tree was found.")
    return f"no {compared_trees(search)} is {'better' if proof.optimal else 'below the lower bound'}"
