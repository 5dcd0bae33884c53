"""A report's data as plain dictionaries: what the page shows, and the rows that can be looked up in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.conditions import negation_in_words
from fcca.discretizers import problem_of
from fcca.metrics import fidelity
from fcca.report._axes import Axis
from fcca.report._levels import (
    Level,
    certificate,
    cost_in_words,
    numbers,
    quality_document,
    safe_text,
    shown_text,
    tree_document,
)
from fcca.report._material import Material, Positions, Rows, model_name
from fcca.selection import NUMBERS_OF_THRESHOLDS
from fcca.thresholds import ThresholdTable
from fcca.utils import printable

VERSION = 2
CLASSES_SHOWN = 8
LONGEST_EXAMPLE = 60
STATUS_WORDS = {
    "optimal": "proven smallest",
    "feasible": "not proven in time",
    "infeasible": "proven that there is none",
    "unknown": "none found in time",
    "unverified": "not confirmed by the classifier itself",
}


def data_document(
    material: Material,
    axes: Sequence[Axis],
    first: int,
    listed: Positions,
    *,
    title: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    advice: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything on the page but the rows.

    ``conditions`` holds the listed ones, and ``columns`` those that carry one of them: whatever names a condition or a
    column in the document does so by its position there.
    """
    from fcca import __version__

    conditions = material.conditions
    name = model_name(material.discretizer.estimator_)
    given = [(safe_text(title), safe_text(text)) for title, text in facts]
    titles = {title for title, _ in given}
    return {
        "version": VERSION,
        "title": safe_text(title) if title is not None else f"A small tree on the thresholds of {printable(name)}",
        "made": {"fcca": __version__, "date": date.today().isoformat()},
        "facts": [list(fact) for fact in (*given, *(fact for fact in _facts(material, name) if fact[0] not in titles))],
        "notes": [safe_text(note) for note in (*notes, *material.notes, *_notes(material))],
        "columns": [_column(material, int(j)) for j in columns_of(conditions, listed)],
        "classes": [safe_text(label) for label in material.classes],
        "conditions": _conditions(conditions, listed),
        "n_conditions": len(conditions),
        "n_counterfactuals": numbers([_n_proven(material)])[0],
        "fit_to": material.classifier.fit_to,
        "cost": cost_in_words(material.classifier.tree_, material.classifier.fit_to),
        "black_box": {
            "name": dict(given).get("Black box", printable(name)),
            "training": _accuracy(material.training),
            "held_out": None if material.held_out is None else _accuracy(material.held_out),
        },
        "quality": _quality(material),
        "advice": [safe_text(line) for line in advice],
        "change": _change(material),
        "axes": [_axis(material, axis, listed) for axis in axes],
        "axis": first,
    }


def _axis(material: Material, axis: Axis, listed: Positions) -> dict[str, Any]:
    """A slider; where thresholds were chosen for it, also from what, against what, and the least that there can be."""
    levels = [_level(material, level, listed) for level in axis.levels]
    proofs = [None if step.proof is None else asdict(step.proof) for step in axis.steps]
    document = {
        "key": axis.key,
        "levels": [
            {"value": numbers([step.value])[0], **level, "proof": proof}
            for step, level, proof in zip(axis.steps, levels, proofs, strict=True)
        ],
        "start": axis.start,
    }
    if axis.choices is None:
        return document
    return document | {"among": axis.choices.among, "fit_to": axis.choices.fit_to, "least": axis.choices.least}


def _level(material: Material, level: Level, listed: Positions) -> dict[str, Any]:
    codes = material.class_codes(level.tree.classes_)
    return {
        "kept": _positions_in(listed, level.kept).tolist(),
        "n_kept": len(level.kept),
        "training": level.training,
        "held_out": level.held_out,
        "quality": quality_document(level.quality),
        "is_own": level.is_own,
        "tree": tree_document(level, material.conditions, listed, codes, len(material.classes)),
        "certificate": certificate(level.tree, material.classifier.fit_to),
    }


def _quality(material: Material) -> dict[str, Any]:
    """Figures that are the same for every tree."""
    compared = material.comparison
    return {
        "held_out": compared.is_held_out,
        "rows": numbers([compared.rows.masses.sum()])[0],
        "classes": [safe_text(label) for label in compared.classes],
        "commonest_class": safe_text(compared.commonest_class),
        "commonest": asdict(compared.commonest),
        "black_box": asdict(compared.black_box),
    }


def listed_conditions(material: Material, axes: Sequence[Axis], most: int | None = None) -> Positions:
    """Positions of the conditions that a page lists: all, or the most crossed, those of small levels and all a tree asks."""
    count = material.conditions.count
    if most is None or most >= len(count):
        return np.arange(len(count))
    levels = [level for axis in axes for level in axis.levels]
    asked = [level.kept[level.tree.tree_.feature[level.tree.tree_.feature >= 0]] for level in levels]
    small = [level.kept for level in levels if len(level.kept) <= min(most, NUMBERS_OF_THRESHOLDS[-1])]
    return np.unique(np.concatenate([np.argsort(-count, kind="stable")[:most], *asked, *small]))


def columns_of(conditions: ThresholdTable, listed: Positions) -> NDArray[np.int32]:
    """The columns that carry a listed condition."""
    columns: NDArray[np.int32] = np.unique(conditions.feature[listed])
    return columns


def _positions_in(listed: Positions, conditions: Positions) -> Positions:
    """Positions of conditions among the listed ones, without those that are not listed."""
    return np.searchsorted(listed, conditions[np.isin(conditions, listed)])


def _accuracy(rows: Rows) -> float:
    return fidelity(rows.answers, rows.y, rows.weight)


def _n_proven(material: Material) -> float:
    found = material.counterfactuals
    if found is None:
        return 0.0
    proven = found.rows[found.is_status("optimal")]
    return float(material.weight[np.searchsorted(material.numbers, proven)].sum())


def _column(material: Material, j: int) -> dict[str, Any]:
    column = None if material.columns is None else material.columns[j]
    values = material.training.table[:, j]
    categories = None if column is None else column.categories
    is_number = categories is None
    present = values[~np.isnan(values)] if is_number else values[:0]
    low, high = numbers([present.min(), present.max()]) if len(present) else (None, None)
    return {
        "name": safe_text(material.conditions.feature_names[j]),
        "kind": "number" if is_number else "category",
        "categories": None if categories is None else [printable(label) for label in categories],
        "missing": column is not None and column.missing,
        "low": low,
        "high": high,
    }


def _conditions(table: ThresholdTable, listed: Positions) -> list[dict[str, Any]]:
    position = {int(j): at for at, j in enumerate(columns_of(table, listed))}
    count, threshold, names = numbers(table.count), numbers(table.threshold), table.names()
    lines = []
    for at in listed.tolist():
        j, kind, codes = int(table.feature[at]), str(table.kind[at]), table.codes[at]
        missing = table.columns is not None and table.columns[j].missing
        negation = negation_in_words(
            table.feature_names[j], kind, float(table.threshold[at]), table.labels[at], may_be_missing=missing
        )
        lines.append(
            {
                "column": position[j],
                "kind": kind,
                "threshold": threshold[at],
                "codes": None if codes is None else list(codes),
                "text": shown_text(names[at]),
                "negation": shown_text(negation),
                "count": count[at],
            }
        )
    return lines


def _change(material: Material) -> dict[str, Any] | None:
    """Description of the changes: their number, the measure of their size, their rules."""
    found, discretizer, conditions = material.counterfactuals, material.discretizer, material.conditions
    if found is None:
        return None
    rules = getattr(discretizer, "constraints", None) or ()
    band = (float(discretizer.p0), float(discretizer.p1))
    names = conditions.names()
    texts = [shown_text(names[at]) for at in np.argsort(-conditions.count, kind="stable").tolist()]
    return {
        "asked": len(found),
        "proven": int(found.is_status("optimal").sum()),
        "band": None if band == (0.5, 1.0) else band,
        "lambda0": float(discretizer.lambda0),
        "lambda1": float(discretizer.lambda1),
        "lambda2": float(discretizer.lambda2),
        "size": _size_of_a_change(material),
        "rules": len(rules),
        "fixed": [printable(name) for rule in rules for name in rule.fixed_columns],
        "example": next((text for text in texts if len(text) <= LONGEST_EXAMPLE), None),
    }


# --- facts and notes ----------------------------------------------------------------------------------------------------

GIVEN_UNITS = "in the units given, else as a share of the column’s range"
DISTANCES = {
    "range": "as a share of the column’s range",
    "rank": "as a share of the way from the column’s lowest to its highest rank",
    "mad": "in median absolute deviations of the column",
}


def _facts(material: Material, name: str) -> list[tuple[str, str]]:
    training, found = material.training, material.counterfactuals
    held_out = "none" if material.held_out is None else f"{len(material.held_out):,}"
    facts = [
        ("Data", f"{len(training):,} training rows × {training.table.shape[1]:,} columns; {held_out} held out"),
        ("Classes", _classes(material)),
        ("Black box", printable(name)),
    ]
    if found is not None:
        counts = ", ".join(f"{count:,} {STATUS_WORDS[status]}" for status, count in found.counts().items())
        facts.append(("Counterfactuals", f"{len(found):,} rows asked: {counts}"))
        proven = found.cost[found.is_status("optimal")]
        facts.append(("Size of a change", _size_of_a_change(material)))
        facts.append(("Median size of a change", f"{np.median(proven):.3g}"))
    learned = "the labels" if material.classifier.fit_to == "labels" else "the answers of the black box"
    facts.append(("The tree learned", learned))
    return facts


def _size_of_a_change(material: Material) -> str:
    """The cost of a change as a formula in words."""
    discretizer = material.discretizer
    parts = [f"{discretizer.lambda0:g} for each column changed"] if discretizer.lambda0 else []
    scale = problem_of(discretizer).scale
    distance = f"the distance moved, {DISTANCES[scale] if isinstance(scale, str) else GIVEN_UNITS}"
    for factor, what in ((discretizer.lambda1, distance), (discretizer.lambda2, f"the square of {distance}")):
        if factor:
            parts.append(what if factor == 1 else f"{factor:g} × {what}")
    text = " + ".join(parts) or "0"
    if any(column.categories is not None for column in material.columns or ()):
        text += f"; another category is a distance of {discretizer.category_distance_:g}"
    if any(rule.cost_factors for rule in getattr(discretizer, "constraints", None) or ()):
        text += "; some columns count more or less, by the rules given"
    return text


def _classes(material: Material) -> str:
    codes = material.class_codes(material.training.y)
    counts = np.bincount(codes, minlength=len(material.classes))
    texts = [f"{printable(label)} ({n:,})" for label, n in zip(material.classes, counts.tolist(), strict=True)]
    shown = ", ".join(texts[:CLASSES_SHOWN])
    return shown if len(texts) <= CLASSES_SHOWN else f"{shown}, … ({len(texts)} classes)"


def _notes(material: Material) -> list[str]:
    notes = []
    if material.training.weight is not None:
        notes.append("The rows have weights: rates, counts and the shares at the nodes are shares of the weight.")
    if material.counterfactuals is None:
        name = type(material.discretizer).__name__
        notes.append(f"{name} computes no counterfactuals and has one granularity; its counts are importances.")
    return notes


# --- rows ---------------------------------------------------------------------------------------------------------------


def sample(codes: Positions, n: int) -> Positions:
    """Positions of at most n rows, the same ones every time, of every class in its share.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Classes of the rows.
    n : int
    """
    if len(codes) <= n:
        return np.arange(len(codes))
    exact = n * np.bincount(codes) / len(codes)
    share = np.floor(exact).astype(np.int64)
    # What the whole parts leave goes to the largest fractions.
    share[np.argsort(share - exact, kind="stable")[: n - share.sum()]] += 1
    random = np.random.default_rng(0)
    chosen = [
        random.choice(np.flatnonzero(codes == code), size=size, replace=False) for code, size in enumerate(share.tolist())
    ]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def picked(rows: dict[str, Any], which: Positions) -> dict[str, Any]:
    """Some of the rows of a document."""

    def some(values: list[Any]) -> list[Any]:
        return [values[at] for at in which.tolist()]

    return {
        name: values if name == "columns" else [some(column) for column in values] if name == "values" else some(values)
        for name, values in rows.items()
    }


def rows_document(material: Material, data: dict[str, Any], rows: Positions, listed: Positions) -> dict[str, Any]:
    """Some training rows: values of the columns that a tree asks, and counterfactuals as sentences."""
    asked = sorted(
        {
            data["conditions"][condition]["column"]
            for axis in data["axes"]
            for level in axis["levels"]
            for condition in level["tree"]["condition"]
            if condition >= 0
        }
    )
    feature = columns_of(material.conditions, listed)
    probability = material.probability(rows)
    training = material.training
    return {
        "number": [material.names[row] for row in rows.tolist()],
        "label": material.class_codes(training.y[rows]).tolist(),
        "target": material.class_codes(training.answers[rows]).tolist(),
        "probability": [None] * len(rows) if probability is None else [round(p, 4) for p in probability.tolist()],
        "columns": asked,
        "values": [numbers(training.table[rows, feature[j]]) for j in asked],
        "answer": _answers(material, rows, listed),
    }


def _answers(material: Material, rows: Positions, listed: Positions) -> list[dict[str, Any] | None]:
    found = material.counterfactuals
    answers: list[dict[str, Any] | None] = [None] * len(rows)
    if found is None:
        return answers
    points = material.point_of_row[rows]
    asked = np.flatnonzero(points >= 0)
    some = found.take(points[asked])
    crossed = _crossed(material, some.rows, listed)
    known = material.class_codes(found.classes)
    # XGBoost answers True with 1: the page has one name for a class.
    names = {label: str(material.classes[code]) for label, code in zip(found.classes.tolist(), known.tolist(), strict=True)}
    reached = ~some.is_status("infeasible", "unknown")
    to = np.where(reached, known[some.target_code], -1).tolist()
    cost, bound = _short(some.cost), _short(some.bound)
    for i, (at, status, sentence) in enumerate(
        zip(asked.tolist(), some.status.tolist(), some.sentences(names), strict=True)
    ):
        answers[at] = {
            "status": status,
            "to": to[i] if to[i] >= 0 else None,
            "sentence": sentence,
            "cost": cost[i],
            "bound": bound[i],
            "crossed": crossed[i],
        }
    return answers


def _short(values: NDArray[np.float64]) -> list[float | int | None]:
    """Six digits."""
    return numbers([float(f"{x:.6g}") for x in values.tolist()])


def _crossed(material: Material, rows: Positions, listed: Positions) -> list[list[int]]:
    """Per row, the listed conditions that its counterfactual crosses."""
    row, condition = material.discretizer.crossings()
    row, condition = row[np.isin(condition, listed)], _positions_in(listed, condition)
    order = np.lexsort((condition, row))
    row, condition = row[order], condition[order]
    begin, end = np.searchsorted(row, rows), np.searchsorted(row, rows, side="right")
    return [condition[first:last].tolist() for first, last in zip(begin.tolist(), end.tolist(), strict=True)]
