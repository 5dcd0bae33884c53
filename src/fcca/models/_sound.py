"""Checks that files of models share: libraries follow the numbers in them unchecked, and a damaged file ends the process."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
T = TypeVar("T")

MOST_CATEGORIES = 2**24  # as many as XGBoost's float32 can tell apart; libraries keep a bit for each


def entry(document: Any, name: str, kind: type[T]) -> T:
    """An entry of a JSON object, of a type."""
    value = document.get(name) if isinstance(document, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"it has no {name!r} of the right kind")
    return value


def count(document: Any, name: str, *, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number that stands as a text or as itself."""
    value = document.get(name) if isinstance(document, dict) else None
    if isinstance(value, str) and len(value) < 20:
        value = int(value) if value.removeprefix("-").isascii() and value.removeprefix("-").isdigit() else None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"its {name!r} is not a number between {least} and {most}")
    return value


def whole(given: Any, name: str, size: int | None = None, *, least: int = -(2**31), most: int = 2**31 - 1) -> Numbers:
    """A list of whole numbers within bounds, as many as there must be."""
    if not isinstance(given, list | np.ndarray):
        raise ValueError(f"its {name!r} is not a list")
    try:
        numbers = np.asarray(given if len(given) else np.empty(0, dtype=np.int64))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"its {name!r} is not a list of numbers") from error
    if numbers.ndim != 1 or numbers.dtype.kind not in "iub" or (size is not None and len(numbers) != size):
        raise ValueError(f"its {name!r} is not a list of {'' if size is None else f'{size} '}whole numbers")
    if len(numbers) and not (least <= int(numbers.min()) and int(numbers.max()) <= most):
        raise ValueError(f"its {name!r} has a number that is not between {least} and {most}")
    return numbers.astype(np.int64)


def floats(given: Any, name: str, size: int) -> None:
    """Refuse what is not a list of so many finite numbers."""
    if not isinstance(given, list | np.ndarray):
        raise ValueError(f"its {name!r} is not a list")
    try:
        with np.errstate(invalid="ignore"):  # signalling NaNs, which are refused below
            numbers = np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"its {name!r} is not a list of numbers") from error
    if numbers.shape != (size,) or (isinstance(given, list) and not all(isinstance(n, int | float) for n in given)):
        raise ValueError(f"its {name!r} is not a list of {size} numbers")
    if not np.isfinite(numbers).all():
        raise ValueError(f"its {name!r} has a number that is not finite")


def texts(given: Any, name: str) -> list[str]:
    """A list of texts."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ValueError(f"its {name!r} is not a list of texts")
    return given


def is_tree(left: Numbers, right: Numbers, inner: NDArray[np.bool_]) -> bool:
    """Whether every walk from node 0 ends: children are nodes, none is the root, and none has two parents."""
    children = np.concatenate([left[inner], right[inner]])
    if len(left) == 0 or np.any(children <= 0) or np.any(children >= len(left)):
        return False
    return bool(np.bincount(children, minlength=len(left)).max(initial=0) <= 1)
