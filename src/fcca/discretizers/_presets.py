"""Presets of FCCADiscretizer: the values of parameters that are left at None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Depth of the trees of the default black box.
BLACK_BOX_DEPTH = {None: 2, "paper": 1}
#: Values for parameters that are None, for each preset.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: {"max_thresholds": 100, "scale": "range", "category_distance": "auto", "count_ties": True, "max_rows": None},
    "paper": {"max_thresholds": "all", "scale": "range", "category_distance": 1.0, "count_ties": False, "max_rows": "all"},
}


def most_thresholds(preset: str | None, max_thresholds: int | str | None) -> int | None:
    """Return the maximum number of thresholds to keep; None for no limit.

    Parameters
    ----------
    preset : str or None
    max_thresholds : int, "all" or None
        The parameter of ``FCCADiscretizer``. None stands for the value of the preset.
    """
    most = resolved({"preset": preset, "max_thresholds": max_thresholds})["max_thresholds"]
    return None if most == "all" else most


def rows_to_search(preset: str | None, max_rows: int | str | None, *, searches_fast: bool) -> int | str:
    """Return how many rows to search: a number, "auto" or "all".

    Parameters
    ----------
    preset : str or None
    max_rows : int, "auto", "all" or None
        The parameter of ``FCCADiscretizer``. None stands for the value of the preset. If the preset has none, it is "all"
        for classifiers with fast searches and "auto" for other ones.
    searches_fast : bool
        See :attr:`ThresholdSearch.searches_fast`.
    """
    asked: int | str | None = resolved({"preset": preset, "max_rows": max_rows})["max_rows"]
    return asked if asked is not None else "all" if searches_fast else "auto"


def resolved(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Replace parameters that are None with the values of the preset.

    Parameters
    ----------
    parameters : mapping
        Parameters of an ``FCCADiscretizer``, including ``preset``.
    """
    return dict(parameters) | {
        name: value for name, value in PRESETS[parameters["preset"]].items() if parameters.get(name) is None
    }
