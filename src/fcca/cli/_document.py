"""What ``fcca distill --json`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fcca.cli._found import Distillation
from fcca.cli._models import described
from fcca.export._tree import as_distilled


def distill_document(found: Distillation, written: Sequence[Path]) -> dict[str, Any]:
    """Everything that was found, as JSON has it."""
    kept, every = found.discretizer.thresholds_, found.discretizer.all_thresholds_
    classifier, statuses = found.classifier, found.statuses
    nodes = classifier.structure_
    return {
        "data": {"name": found.data.name, "label": found.data.label, "columns": found.data.n_columns},
        "streamed": found.streamed,
        "sample": found.sample,
        "rows": {
            "total": found.data.n_rows,
            "training": found.training.rows,
            "held_out": 0 if found.held_out is None else found.held_out.rows,
        },
        "classes": [{"class": label, "rows": count} for label, count in found.data.class_counts.items()],
        "model": {
            "description": described(found.target),
            "file": None if found.model_file is None else str(found.model_file),
        },
        "counterfactuals": {
            "asked": sum(statuses.values()),
            "statuses": statuses,
            "median_cost": found.median_cost,
        },
        "thresholds": {
            "Q": float(found.discretizer.Q),
            "found": len(every),
            "selection": _selection(found),
            "columns_used": kept.features_used,
            "kept": [
                {"condition": name, "count": float(count)} for name, count in zip(kept.names(), kept.count, strict=True)
            ],
        },
        "commonest_class": found.commonest,
        "rates": {
            "training": _rates(asdict(found.training)),
            "held_out": None if found.held_out is None else _rates(asdict(found.held_out)),
        },
        "tree": {
            "depth": nodes.depth,
            "leaves": nodes.n_leaves,
            "rules": nodes.rules(kept.feature_names, np.asarray(classifier.classes_, dtype=object), found.shown_columns()),
        },
        "certificate": asdict(as_distilled(classifier).certificate),
        "files": {path.name: str(path) for path in written},
        "seconds": found.seconds,
        "notes": list(found.notes),
    }


def _selection(found: Distillation) -> dict[str, Any] | None:
    chosen = getattr(found.discretizer, "selection_", None)
    if chosen is None:
        return None
    names = ("n_thresholds", "inconsistency", "lower_bound", "is_optimal", "proof")
    return {"candidates": len(chosen.candidates)} | {name: getattr(chosen, name) for name in names}


def _rates(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in scores.items() if name != "rows"}
