"""Data of the report's section on a scorecard."""

from __future__ import annotations

from typing import Any

from fcca.report._levels import numbers, safe_text
from fcca.report._report_input import ReportInput
from fcca.scorecard import Scorecard


def scorecard_document(card: Scorecard, inputs: ReportInput) -> dict[str, Any]:
    """Return the scale and the bins of a scorecard, with names safe to show."""
    table = card.table
    columns = {name: numbers(table[name]) for name in ("count", "event_rate", "points")}
    names = {name: [safe_text(text) for text in table[name]] for name in ("column", "bin")}
    return {
        **{name: numbers([getattr(card, name)])[0] for name in ("base_points", "base_score", "base_odds", "pdo")},
        "favourable": safe_text(inputs.name(card.favourable)),
        "second_class": safe_text(inputs.name(card.classes[1])),
        "bins": [
            dict(zip((*names, *columns), line, strict=True)) for line in zip(*names.values(), *columns.values(), strict=True)
        ],
    }
