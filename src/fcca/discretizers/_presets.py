"""Presets: values of the parameters of FCCADiscretizer that are left at None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Depth of the trees of the default black box.
BLACK_BOX_DEPTH = {None: 2, "paper": 1}
#: By preset, the values of the parameters that are None.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: {"max_thresholds": 100, "scale": "range", "category_distance": "auto"},
    "paper": {"max_thresholds": "all", "scale": "range", "category_distance": 1.0},
}


def most_thresholds(preset: str | None, max_thresholds: int | str | None) -> int | None:
    """Return the most thresholds to keep; None for all.

    Parameters
    ----------
    preset : str or None
    max_thresholds : int, "all" or None
    """
    most = resolved({"preset": preset, "max_thresholds": max_thresholds})["max_thresholds"]
    return None if most == "all" else most


def resolved(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the parameters that are None by those of the preset.

    Parameters
    ----------
    parameters : mapping
        Parameters of an FCCADiscretizer, ``preset`` among them.
    """
    return dict(parameters) | {
        name: value for name, value in PRESETS[parameters["preset"]].items() if parameters.get(name) is None
    }
