"""Data of the report as a JSON document, without the rows that can be looked up."""

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
from fcca.report._errors import disagreements, judged_leaves
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
from fcca.report._report_input import Positions, PredictedRows, ReportInput, model_name
from fcca.report._sliders import Slider
from fcca.selection import NUMBERS_OF_THRESHOLDS
from fcca.thresholds import ThresholdTable
from fcca.utils import plain, printable

VERSION = 3
Floats = NDArray[np.float64]
CLASSES_SHOWN = 8
LONGEST_EXAMPLE = 60
# Below this share of the range, the middle half of the values gets an axis by rank.
LEAST_MIDDLE = 0.1
STATUS_WORDS = {
    "optimal": "proven cheapest",
    "within_gap": "proven close to the cheapest",
    "feasible": "not proven in time",
    "infeasible": "proven impossible",
    "unknown": "none found in time",
    "unverified": "not confirmed by the black box",
}


def data_document(
    inputs: ReportInput,
    sliders: Sequence[Slider],
    first: int,
    listed: Positions,
    *,
    title: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    advice: Sequence[str] = (),
    black_box: dict[str, Any] | str | None = None,
) -> dict[str, Any]:
    """Return the data of the page as a JSON document, without the rows.

    The entry ``conditions`` holds the conditions at the positions ``listed``, and ``columns`` holds their columns. All other
    entries refer to conditions and columns by their positions in these two lists.

    Parameters
    ----------
    inputs : ReportInput
    sliders : sequence of Slider
    first : int
        Index of the slider that is active when the page opens.
    listed : ndarray of int
        Result of :func:`listed_conditions`.
    title, facts, notes, advice : as in page
    black_box : dict or str, optional
        Result of :func:`black_box_document`.
    """
    from fcca import __version__

    conditions = inputs.conditions
    features, axes = columns_of(conditions, listed).tolist(), [_slider(inputs, slider, listed) for slider in sliders]
    features += sorted({*(black_box["columns"] if isinstance(black_box, dict) else ())} - {*features})
    lines = _conditions(conditions, listed, inputs.training.table)
    name = model_name(inputs.discretizer.estimator_)
    given = [(safe_text(title), safe_text(text)) for title, text in facts]
    titles = {title for title, _ in given}
    return {
        "version": VERSION,
        "title": safe_text(title) if title is not None else f"A small tree on the thresholds of {printable(name)}",
        "made": {"fcca": __version__, "date": date.today().isoformat()},
        "facts": [list(fact) for fact in (*given, *(fact for fact in _facts(inputs, name) if fact[0] not in titles))],
        "notes": [safe_text(note) for note in dict.fromkeys((*notes, *inputs.notes, *_notes(inputs)))],
        "columns": [_column(inputs, j) for j in features],
        "classes": [safe_text(label) for label in inputs.shown_classes],
        "conditions": lines,
        "n_conditions": len(conditions),
        "n_counterfactuals": numbers([_n_proven(inputs)])[0],
        "is_sample": getattr(inputs.discretizer, "row_sample_", None) is not None,
        "fit_to": inputs.classifier.fit_to_,
        "learned": LEARNED[inputs.classifier.fit_to_],
        "cost": cost_in_words(inputs.classifier.tree_, inputs.classifier.fit_to_),
        "black_box": {
            "name": dict(given).get("Black box", printable(name)),
            "training": _accuracy(inputs.training),
            "held_out": None if inputs.held_out is None else _accuracy(inputs.held_out),
        },
        "quality": _quality(inputs),
        "advice": [safe_text(line) for line in advice],
        "change": _change(inputs),
        "axes": axes,
        "axis": first,
        "form": _form(features, lines, axes, black_box),
        "tree_classes": inputs.class_codes(inputs.classifier.tree_.classes_).tolist(),
    }


def _form(
    features: list[int], conditions: list[dict[str, Any]], axes: list[dict[str, Any]], black_box: dict[str, Any] | str | None
) -> dict[str, Any]:
    """Return the columns of the what-if form: first those of the trees, then those of the black box alone.

    The rows hold the values of the columns ``in_rows``, of which the first ``n_asked`` are those of the trees. ``left_out``
    says why the form does not show the black box; None if it does.
    """
    trees = [level["tree"] for axis in axes for level in axis["levels"]]
    asked = sorted({conditions[at]["column"] for tree in trees for at in tree["condition"] if at >= 0})
    used = {features.index(j) for j in black_box["columns"]} if isinstance(black_box, dict) else set()
    columns = [*asked, *sorted(used - {*asked})]
    return {
        "columns": columns,
        "in_rows": columns,
        "n_asked": len(asked),
        "left_out": black_box if isinstance(black_box, str) else None,
    }


def _slider(inputs: ReportInput, slider: Slider, listed: Positions) -> dict[str, Any]:
    """Return the data of a slider: its positions, and the level at each of them.

    The slider for the number of thresholds has further entries: the thresholds to choose from, the classes that they should
    separate, and the smallest possible inconsistency.
    """
    levels = [_level(inputs, level, listed) for level in slider.levels]
    proofs = [None if step.proof is None else asdict(step.proof) for step in slider.steps]
    document = {
        "key": slider.key,
        "levels": [
            {"value": numbers([step.value])[0], **level, "proof": proof}
            for step, level, proof in zip(slider.steps, levels, proofs, strict=True)
        ],
        "start": slider.start,
    }
    if slider.choices is None:
        return document
    return document | {"among": slider.choices.among, "fit_to": slider.choices.fit_to, "least": slider.choices.least}


def _level(inputs: ReportInput, level: Level, listed: Positions) -> dict[str, Any]:
    codes = inputs.class_codes(level.tree.classes_)
    return {
        "kept": positions_in(listed, level.kept).tolist(),
        "n_kept": len(level.kept),
        "training": level.training,
        "held_out": level.held_out,
        "quality": quality_document(level.quality),
        "is_own": level.is_own,
        "tree": tree_document(level, inputs.conditions, listed, codes, len(inputs.classes)),
        "judged": judged_leaves(inputs, level),
        "disagreements": disagreements(
            inputs, level, {j: at for at, j in enumerate(columns_of(inputs.conditions, listed).tolist())}
        ),
        "certificate": certificate(level.tree, inputs.classifier.fit_to_),
    }


def _quality(inputs: ReportInput) -> dict[str, Any]:
    """Return the quality data that do not depend on the tree.

    The result has the weight of the measured rows, the classes, and the quality of the most frequent class and the black
    box.
    """
    compared = inputs.comparison
    return {
        "held_out": compared.is_held_out,
        "rows": numbers([compared.rows.masses.sum()])[0],
        "classes": [safe_text(inputs.name(label)) for label in compared.classes],
        "commonest_class": safe_text(inputs.name(compared.commonest_class)),
        "commonest": asdict(compared.commonest),
        "black_box": asdict(compared.black_box),
    }


def listed_conditions(inputs: ReportInput, sliders: Sequence[Slider], most: int | None = None) -> Positions:
    """Return the positions of the conditions that the page lists, sorted.

    If ``most`` is None, the page lists all conditions. Otherwise it lists the ``most`` conditions that are crossed most
    often. It also lists all conditions in trees, and all conditions of levels with few conditions.
    """
    count = inputs.conditions.count
    if most is None or most >= len(count):
        return np.arange(len(count))
    levels = [level for slider in sliders for level in slider.levels]
    in_trees = [level.kept[level.tree.tree_.feature[level.tree.tree_.feature >= 0]] for level in levels]
    small = [level.kept for level in levels if len(level.kept) <= min(most, NUMBERS_OF_THRESHOLDS[-1])]
    return np.unique(np.concatenate([np.argsort(-count, kind="stable")[:most], *in_trees, *small]))


def columns_of(conditions: ThresholdTable, listed: Positions) -> NDArray[np.int32]:
    """Return the sorted positions of the columns that the listed conditions test."""
    columns: NDArray[np.int32] = np.unique(conditions.feature[listed])
    return columns


def positions_in(listed: Positions, conditions: Positions) -> Positions:
    """Convert positions among all conditions to positions in ``listed``.

    Conditions that are not listed are left out.
    """
    return np.searchsorted(listed, conditions[np.isin(conditions, listed)])


def _accuracy(rows: PredictedRows) -> float:
    return fidelity(rows.predictions, rows.y, rows.weight)


def _n_proven(inputs: ReportInput) -> float:
    found = inputs.counterfactuals
    if found is None:
        return 0.0
    proven = found.rows[found.is_proven]
    return float(inputs.weight[np.searchsorted(inputs.numbers, proven)].sum())


def _column(inputs: ReportInput, j: int) -> dict[str, Any]:
    column = None if inputs.columns is None else inputs.columns[j]
    values = inputs.training.table[:, j]
    categories = None if column is None else column.categories
    is_number = categories is None
    present = values[~np.isnan(values)] if is_number else values[:0]
    low, high = numbers([present.min(), present.max()]) if len(present) else (None, None)
    return {
        "name": safe_text(inputs.conditions.feature_names[j]),
        "kind": "number" if is_number else "category",
        "categories": None if categories is None else [printable(label) for label in categories],
        "missing": column is not None and column.missing,
        "low": low,
        "high": high,
        "feature": j,
        "typical": numbers([inputs.typical[j]])[0],
        "special": numbers(inputs.special.get(j, ())),
        "special_in_rows": [[value, plain(value)] for value in inputs.conditions.special.get(j, ())],
        "quartiles": numbers(np.quantile(present, (0.25, 0.5, 0.75))) if _is_skewed(inputs, j, present) else None,
    }


def _is_skewed(inputs: ReportInput, j: int, present: Floats) -> bool:
    """Return True if the middle half of the ordinary values covers a small part of their range."""
    ordinary = present[~np.isin(present, inputs.special.get(j, ()))]
    if len(ordinary) == 0:
        return False
    low, first, third, high = np.quantile(ordinary, (0, 0.25, 0.75, 1))
    return bool(third - first < LEAST_MIDDLE * (high - low))


def _rank(values: Floats, threshold: float, kind: str) -> float | None:
    """Return the share of the values up to a threshold, or up to the middle of the rows with a special value."""
    present = values[~np.isnan(values)]
    if kind not in ("cut", "special") or len(present) == 0:
        return None
    below = present <= threshold if kind == "cut" else present < threshold
    return round(float(below.mean() + (0 if kind == "cut" else (present == threshold).mean() / 2)), 4)


def _conditions(table: ThresholdTable, listed: Positions, X: Floats) -> list[dict[str, Any]]:
    position = {int(j): at for at, j in enumerate(columns_of(table, listed))}
    count, threshold, names = numbers(table.count), numbers(table.threshold), table.names()
    in_words = table.kinds_in_words.tolist()
    shares = None
    if table.share is not None and table.share_low is not None and table.share_high is not None:
        shares = (table.share, table.share_low, table.share_high)
    lines = []
    for at in listed.tolist():
        j, kind, codes = int(table.feature[at]), str(table.kind[at]), table.codes[at]
        missing = table.columns is not None and table.columns[j].missing
        negation = negation_in_words(
            table.feature_names[j], in_words[at], float(table.threshold[at]), table.labels[at], may_be_missing=missing
        )
        lines.append(
            {
                "column": position[j],
                "kind": kind,
                "threshold": threshold[at],
                "rank": _rank(X[:, j], float(table.threshold[at]), kind),
                "codes": None if codes is None else list(codes),
                "text": shown_text(names[at]),
                "negation": shown_text(negation),
                "count": count[at],
                "share": None if shares is None else [round(float(values[at]), 6) for values in shares],
            }
        )
    return lines


def _change(inputs: ReportInput) -> dict[str, Any] | None:
    """Return the page's data on counterfactuals: how many there are, their cost formula and their rules.

    Return None if the discretizer does not compute counterfactuals.
    """
    found, discretizer, conditions = inputs.counterfactuals, inputs.discretizer, inputs.conditions
    if found is None:
        return None
    rules = getattr(discretizer, "constraints", None) or ()
    band = (float(discretizer.p0), float(discretizer.p1))
    names = conditions.names()
    texts = [shown_text(names[at]) for at in np.argsort(-conditions.count, kind="stable").tolist()]
    return {
        "asked": len(found),
        "proven": int(found.is_proven.sum()),
        "band": None if band == (0.5, 1.0) else band,
        "lambda0": float(discretizer.lambda0),
        "lambda1": float(discretizer.lambda1),
        "lambda2": float(discretizer.lambda2),
        "size": _cost_of_a_change(inputs),
        "rules": len(rules),
        "fixed": [printable(name) for rule in rules for name in rule.fixed_columns],
        "example": next((text for text in texts if len(text) <= LONGEST_EXAMPLE), None),
    }


# --- facts and notes ----------------------------------------------------------------------------------------------------

GIVEN_UNITS = "in the given units, or as a share of the column’s range"
LEARNED = {
    "probability": "the class probabilities of the black box",
    "mixture": "a mixture of the labels and the class probabilities of the black box",
    "labels": "the labels",
    "target": "the predictions of the black box",
}
DISTANCES = {
    "range": "as a share of the column’s range",
    "rank": "as a share of the column’s ranks",
    "mad": "in median absolute deviations of the column",
}


def _facts(inputs: ReportInput, name: str) -> list[tuple[str, str]]:
    training, found = inputs.training, inputs.counterfactuals
    held_out = "none" if inputs.held_out is None else f"{len(inputs.held_out):,}"
    facts = [
        ("Data", f"{len(training):,} training rows × {training.table.shape[1]:,} columns; {held_out} held out"),
        ("Classes", _classes(inputs)),
        ("Black box", printable(name)),
    ]
    if found is not None:
        counts = ", ".join(f"{count:,} {STATUS_WORDS[status]}" for status, count in found.counts().items())
        facts.append(("Counterfactuals", f"{len(found):,} rows: {counts}"))
        proven = found.cost[found.is_proven]
        facts.append(("Cost of a change", _cost_of_a_change(inputs)))
        facts.append(("Median cost of a change", f"{np.median(proven):.3g}"))
    facts.append(("The tree learned", LEARNED[inputs.classifier.fit_to_]))
    return facts


def _cost_of_a_change(inputs: ReportInput) -> str:
    """Describe how the cost of a change is computed, as a formula in words."""
    discretizer = inputs.discretizer
    parts = [f"{discretizer.lambda0:g} for each column changed"] if discretizer.lambda0 else []
    scale = problem_of(discretizer).scale
    distance = f"the distance moved, {DISTANCES[scale] if isinstance(scale, str) else GIVEN_UNITS}"
    for factor, what in ((discretizer.lambda1, distance), (discretizer.lambda2, f"the square of {distance}")):
        if factor:
            parts.append(what if factor == 1 else f"{factor:g} × {what}")
    text = " + ".join(parts) or "0"
    if any(column.categories is not None for column in inputs.columns or ()):
        text += f"; a change of category counts as a distance of {discretizer.category_distance_:g}"
    if any(rule.cost_factors for rule in getattr(discretizer, "constraints", None) or ()):
        text += "; the given rules make changes of some columns more or less expensive"
    return text


def _classes(inputs: ReportInput) -> str:
    codes = inputs.class_codes(inputs.training.y)
    counts = np.bincount(codes, minlength=len(inputs.classes))
    texts = [f"{printable(label)} ({n:,})" for label, n in zip(inputs.shown_classes, counts.tolist(), strict=True)]
    shown = ", ".join(texts[:CLASSES_SHOWN])
    return shown if len(texts) <= CLASSES_SHOWN else f"{shown}, … ({len(texts)} classes)"


def _notes(inputs: ReportInput) -> list[str]:
    notes = []
    if inputs.training.weight is not None:
        notes.append("The rows have weights. Rates, counts, and the shares in the nodes are computed from these weights.")
    sample = getattr(inputs.discretizer, "row_sample_", None)
    if sample is not None:
        notes.append(sample.in_words(inputs.conditions, inputs.discretizer.kept_at(inputs.discretizer.Q)))
    if inputs.counterfactuals is None:
        name = type(inputs.discretizer).__name__
        notes.append(f"{name} does not compute counterfactuals and has no granularity Q. Its counts are importances.")
    return notes
