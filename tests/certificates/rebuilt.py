"""A careful forgery: everything that depends on changed counterfactuals is recomputed, so it is consistent."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from certificates.certified import Case
from fcca import OptimalTreeClassifier
from fcca.certificates import read_certificate
from fcca.certificates._check_thresholds import repeated_ties
from fcca.certificates._evidence import Evidence
from fcca.discretizers import CrossingCounts, DecidingValues, crossings
from fcca.export import Certificate, as_distilled, to_json
from fcca.selection import most_frequent
from fcca.tables import weighted_rows


def called(document: dict[str, Any], rows: set[int], status: str) -> None:
    """Give rows another status; remove their counterfactuals if the status has none."""
    found = document["counterfactuals"]
    for at, row in enumerate(found["row"]):
        if row in rows:
            found["status"][at] = status
            if status == "unknown":
                found["target"][at], found["cost"][at], found["bound"][at] = None, None, 0.0
            if status == "feasible":
                found["bound"][at] = 0.0
    if status == "unknown":
        without_moves(document, rows)


def without_moves(document: dict[str, Any], rows: set[int]) -> None:
    found = document["counterfactuals"]
    kept = [k for k, row in enumerate(found["move_row"]) if row not in rows]
    for name in ("move_row", "move_feature", "move_from", "move_to"):
        found[name] = [found[name][k] for k in kept]


def rows_of_a_column(document: dict[str, Any]) -> set[int]:
    """The rows that move the column of the first move."""
    found = document["counterfactuals"]
    feature = found["move_feature"][0]
    return {row for row, j in zip(found["move_row"], found["move_feature"], strict=True) if j == feature}


def rebuilt(document: dict[str, Any], one: Case) -> None:
    """Recompute statuses, thresholds, tree and proof from the counterfactuals in the document."""
    document["statuses"] = dict(Counter(document["counterfactuals"]["status"]))
    rows = weighted_rows(one.X, one.y, one.weight)
    given = Evidence(read_certificate(json.dumps(document)), rows, rows.rows, one.model)
    answers, points, search = given.as_found(), given.points, given.search
    gaps = DecidingValues(given.gap_point, points.gap_feature.astype(np.int32), len(points.gap_row), 0)
    crossed = crossings(given.engine, answers, search.columns, gaps, repeated_ties(given, answers))
    table, _ = crossed.table(list(given.stated.columns), given.weight[answers.rows[crossed.point]], search.columns)
    merged, _ = search.merged(CrossingCounts(table, answers.counts(), len(given.table), 1, 0.0, 1.0))
    found, _ = search.finished(merged, search.values_around(merged, given.table) if search.needs_values_around else None)
    keep = most_frequent(found, document["parameters"]["Q"], 100)
    document["thresholds"] |= {"found": json.loads(found.to_json()), "kept": np.flatnonzero(keep).tolist()}
    kept, asked = found.select(keep), given.stated.parameters
    unfitted = OptimalTreeClassifier(asked.max_depth, max_leaf_nodes=asked.max_leaf_nodes, criterion=asked.criterion)
    grown = unfitted.fit(kept.binarize(given.table), rows.y, given.weight)
    structure = grown.tree_.with_conditions(kept)
    numbers = {name: float(getattr(grown, f"{name}_")) for name in ("objective", "lower_bound", "gap")}
    proof = numbers | {"optimal": bool(grown.is_optimal_)}
    base = as_distilled(one.classifier)
    assert base.provenance is not None
    told = grown.predict(kept.binarize(given.table))
    shares = {
        name: float(given.weight[told == of].sum() / given.weight.sum())
        for name, of in (("fidelity", given.predictions), ("accuracy", rows.y))
    }
    tree = replace(
        base,
        structure=structure,
        thresholds=replace(kept, columns=None if base.thresholds.columns is None else base.columns),
        certificate=Certificate.of(grown),
        provenance=replace(base.provenance, statuses=document["statuses"], **shares),
    )
    document["tree"], document["proof"] = json.loads(to_json(tree)), proof
