"""Checks of the tree: its leaves filled anew, its objective added up anew, its proof made anew."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnfinishedSearchWarning
from fcca.export._certificate_fingerprints import plain_label
from fcca.trees import OptimalTreeClassifier
from fcca.verification._material import NEAR, Material, NotChecked, is_near

Floats = NDArray[np.float64]

ROWS_PER_LEAF = 10.0
NUMBERS = ("threshold", "cut", "below", "above", "count")


def learned(given: Material) -> NDArray[Any]:
    """What the tree learns: the labels, or the black box's answers."""
    return given.rows.y if given.stated.parameters.fit_to == "labels" else given.answers


def row_weights(given: Material) -> Floats:
    """The rows' weights, with those of the classes."""
    weights, label = given.stated.parameters.class_weight, np.asarray(learned(given))
    if weights is None:
        return given.weight
    classes, code = np.unique(label, return_inverse=True)
    if weights == "balanced":
        mass = np.bincount(code.ravel(), weights=given.weight)
        factor = given.weight.sum() / (len(classes) * mass)
    else:
        assert isinstance(weights, dict)
        factor = np.array([weights.get(plain_label(one), 1.0) for one in classes.tolist()])
    weighted: Floats = given.weight * factor[code.ravel()]
    return weighted


def tree_on_thresholds(given: Material) -> list[str]:
    """Every condition of the tree is one of those kept; its leaves hold the rows and weights that they are said to hold."""
    stated = given.stated
    if stated.tree is None:
        return [stated.contradiction]
    tree = stated.tree
    nodes = tree.structure
    problems = _of_thresholds(given)
    if tree.classes != stated.classes:
        problems.append(f"the classes of the tree are {list(tree.classes)}, those of the data {list(stated.classes)}")
    known = {(int(stated.found.feature[at]), _condition(stated.found, at)) for at in stated.kept}
    for node in np.flatnonzero(nodes.feature >= 0).tolist():
        asked = "missing" if node in nodes.asks_missing else nodes.categories.get(node) or float(nodes.threshold[node]).hex()
        if (int(nodes.feature[node]), asked) not in known:
            said = nodes.test_in_words(node, True, tree.columns.names, tree.columns)
            problems.append(f"node {node} of the tree asks whether {said}, which is none of the thresholds kept")
    label = np.asarray(learned(given))
    position = {one: k for k, one in enumerate(tree.classes)}
    code = np.array([position.get(plain_label(one), -1) for one in label.tolist()], dtype=np.int64)
    if (code < 0).any() or len(np.unique(code)) != len(tree.classes):
        return [*problems, "the tree knows other classes than the rows have"]
    weight = row_weights(given)
    leaf = tree.apply(given.rows.X)
    rows = np.bincount(leaf, minlength=len(nodes.feature))
    held = np.zeros(nodes.weight.shape)
    np.add.at(held, (leaf, code), weight)
    for node in np.flatnonzero(nodes.feature < 0).tolist():
        if rows[node] != nodes.n_rows[node]:
            problems.append(f"leaf {node} of the tree holds {rows[node]} rows, and states {nodes.n_rows[node]}")
        elif not is_near(nodes.weight[node], held[node]).all():
            shown = ", ".join(f"{one:g}" for one in held[node])
            problems.append(f"leaf {node} of the tree holds weights {shown} of the classes, and states others")
    return problems


def _of_thresholds(given: Material) -> list[str]:
    """What the tree's document says of the thresholds and the counterfactuals is what the certificate says of them."""
    stated, table = given.stated, given.tree.thresholds
    keep = np.zeros(len(stated.found), dtype=np.bool_)
    keep[list(stated.kept)] = True
    kept, problems = stated.found.select(keep), []
    if table is not None and not (
        kept.names() == table.names()
        and all(np.array_equal(getattr(kept, name), getattr(table, name), equal_nan=True) for name in ("feature", *NUMBERS))
    ):
        problems.append("the conditions that the tree was given are not the thresholds kept, or have other counts")
    provenance = given.tree.provenance
    if provenance is not None and provenance.statuses not in (None, stated.statuses):
        problems.append(f"the tree was made from counterfactuals {provenance.statuses}, not {stated.statuses}")
    if provenance is not None:
        if provenance.fit_to != stated.parameters.fit_to:
            problems.append(f"the tree learned the {provenance.fit_to}, but {stated.parameters.fit_to} was asked for")
        told = _as_written(np.asarray(given.tree.predict(given.rows.X)))
        for name, share, of in (
            ("fidelity", provenance.fidelity, given.answers),
            ("accuracy", provenance.accuracy, given.rows.y),
        ):
            found = float(given.weight[told == _as_written(np.asarray(of))].sum() / given.weight.sum())
            if share is not None and not is_near(share, found):
                problems.append(f"the {name} of the tree is {found:.9g}, not {share:.9g}")
    return problems


def _condition(table: Any, at: int) -> Any:
    kind = table.kind[at]
    return "missing" if kind == "missing" else table.codes[at] if kind == "set" else float(table.threshold[at]).hex()


def objective(given: Material) -> list[str]:
    """Regularization and depth are those asked for; the objective is that of the leaves; bound, gap and proof fit to it."""
    asked, tree, proof = given.stated.parameters, given.tree, given.stated.proof
    claim = tree.certificate
    problems = []
    if (claim.objective, claim.lower_bound, claim.gap, claim.optimal) != (
        proof.objective,
        proof.lower_bound,
        proof.gap,
        proof.optimal,
    ):
        problems.append("the tree states another objective, bound, gap or optimality than the proof")
    weight = row_weights(given)
    total = float(weight.sum())
    regularization = ROWS_PER_LEAF / total if asked.regularization is None else asked.regularization
    if not is_near(claim.regularization, regularization):
        problems.append(f"a leaf costs {regularization:.9g} as it was asked for, and {claim.regularization:.9g} in the tree")
    if claim.max_depth != asked.max_depth:
        problems.append(f"a depth of {asked.max_depth} was asked for, and the tree states {claim.max_depth}")
    if claim.max_depth is not None and tree.structure.depth > claim.max_depth:
        problems.append(f"the tree has depth {tree.structure.depth}, more than the {claim.max_depth} that it states")
    problems += _of_proof(given, weight, claim.regularization)
    return problems


def _of_proof(given: Material, weight: Floats, regularization: float) -> list[str]:
    proof, tree = given.stated.proof, given.tree
    wrong = float(weight[tree.predict(given.rows.X) != _as_written(learned(given))].sum() / weight.sum())
    value = wrong + regularization * tree.structure.n_leaves
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
    return problems


def _as_written(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as a document has them, to be compared with its classes."""
    return np.array([plain_label(label) for label in labels.tolist()], dtype=object)


def tree_proven_anew(given: Material, time_limit: float | None) -> tuple[list[str], str]:
    """The best tree on the thresholds kept is searched anew; also says what came of it."""
    stated, proof = given.stated, given.stated.proof
    keep = np.zeros(len(stated.found), dtype=np.bool_)
    keep[list(stated.kept)] = True
    B = stated.found.select(keep).binarize(given.table)
    search = OptimalTreeClassifier(
        max_depth=stated.parameters.max_depth,
        regularization=given.tree.certificate.regularization,
        time_limit=time_limit,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        anew = search.fit(B, learned(given), row_weights(given))
    if proof.optimal and anew.objective_ < proof.objective - NEAR:
        return [f"a tree of objective {anew.objective_:.12g} is better than the one called optimal"], ""
    if anew.objective_ < proof.lower_bound - NEAR:
        return [f"a tree of objective {anew.objective_:.12g} lies below the stated lower bound"], ""
    if anew.lower_bound_ > proof.objective + NEAR:
        return [f"no tree is below {anew.lower_bound_:.12g}, but an objective of {proof.objective:.12g} is stated"], ""
    if not anew.is_optimal_:
        if anew.lower_bound_ >= proof.lower_bound - NEAR:
            return [], "the bound was reached again within the time limit"
        raise NotChecked(f"The time limit of {time_limit:g} s ended the search before its proof; no better tree was found.")
    return [], "no tree of this depth is better" if proof.optimal else "no tree of this depth is below the lower bound"
