"""Check options and file paths before any work.

This module imports only the standard library and small modules of fcca. So a wrong option is reported at once, before
scikit-learn and pandas are imported.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.utils import close_to, similar

SCALES = ("range", "rank", "mad")
INPUT_FORMATS = {".csv": None, ".csv.gz": "gzip", ".parquet": None}


@dataclass(frozen=True)
class OptionCheck:
    """A check of the value of a command line option.

    It is part of the option's type annotation. Options that were not given (None) are not checked.

    Attributes
    ----------
    of : callable
        Called with the name and the value of the option. Raises an error if the value is invalid.
    """

    of: Callable[[str, Any], object]


def expects(expected: str, fits: Callable[[Any], bool]) -> OptionCheck:
    """Return an option check that accepts a value if ``fits(value)`` is True.

    ``expected`` describes valid values in the error message.
    """
    return OptionCheck(lambda option, value: check(option, value, fits(value), expected))


def accepted_by(judge: Callable[[Any], object]) -> OptionCheck:
    """Return an option check that calls ``judge(value)``.

    ``judge`` must raise an error for an invalid value. Its return value is ignored.
    """
    return OptionCheck(lambda option, value: judge(value))


def expects_name(*suffixes: str) -> OptionCheck:
    """Return an option check that accepts file names that end in one of ``suffixes``."""
    expected = f"a file name that ends in {' or '.join(suffixes)}"
    return expects(expected, lambda path: path.name.lower().endswith(suffixes))


# --- files --------------------------------------------------------------------------------------------------------------


def check_file(path: Path, expected: str) -> None:
    """Check that a path is a non-empty file.

    ``expected`` describes the file in the error message.
    """
    if not path.exists():
        folder = path.parent
        is_listed = folder.is_dir() and os.access(folder, os.R_OK)
        others = [other.name for other in folder.iterdir() if other.is_file()] if is_listed else []
        hint = close_to(path.name, others) if similar(path.name, others) else f"The current directory is {Path.cwd()}."
        raise InvalidInputError(f"There is no file {path}. {hint}")
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file. Expected {expected}.")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{path} is empty. Expected {expected}.")


def file_of(expected: str) -> OptionCheck:
    """Return an option check that a path is a non-empty file.

    ``expected`` describes the file in the error message.
    """
    return accepted_by(lambda path: check_file(path, expected))


def table_format(path: Path) -> str:
    """Return the file format of a table, one of the keys of ``INPUT_FORMATS``.

    The format is the ending of the file name, such as ``.csv``.
    """
    formats = ", ".join(INPUT_FORMATS)
    check_file(path, f"a table with column names and rows: one of {formats}")
    suffix = next((suffix for suffix in INPUT_FORMATS if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise InvalidInputError(f"Unknown table format: {path.name}. Expected a name that ends in {formats}.")
    return suffix


def check_streamable(path: Path | None) -> None:
    """Check that a table is a Parquet file.

    Other formats cannot be read in chunks. The error message shows how to convert a CSV file to Parquet.
    """
    if path is None:
        raise InvalidInputError("--stream was given without a file. Expected fcca distill DATA.parquet --stream.")
    if table_format(path) != ".parquet":
        made = path.name[: path.name.lower().index(".csv")] + ".parquet"
        raise InvalidInputError(
            f"--stream was given with {path.name}, but only Parquet files can be read in chunks. Convert it with pandas: "
            f"pandas.read_csv({path.name!r}).to_parquet({made!r}). If memory is short, convert it with pyarrow to "
            f"parts/part-0.parquet: from pyarrow.dataset import dataset, write_dataset; write_dataset(dataset({path.name!r}"
            ", format='csv'), 'parts', format='parquet')."
        )


# --- values -------------------------------------------------------------------------------------------------------------


def check(option: str, value: Any, fits: bool, expected: str) -> None:
    """Raise an error about the value of an option if ``fits`` is False.

    ``expected`` describes valid values in the error message.
    """
    if not fits:
        raise InvalidInputError(f"{option} is {value}. Expected {expected}.")


def chosen_rows(text: str) -> list[range]:
    """Parse the row numbers of ``--rows``, such as ``0,5,10-20``.

    Return one range for each number or range in the text. ``10-20`` includes both 10 and 20.
    """
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise InvalidInputError(f"--rows is {text}. Expected row numbers and ranges, counted from 0, such as 0,5,10-20.")
        ranges.append(range(int(match[1]), int(match[2] or match[1]) + 1))
    return ranges


def chosen_levels(option: str, text: str) -> tuple[float, ...]:
    """Parse the quantiles of an option, such as ``0,0.7,0.9``.

    Return distinct numbers from 0 to 1, in ascending order. ``option`` is the name of the option, for error messages.
    """
    try:
        levels = sorted({float(part) for part in text.split(",")})
    except ValueError:
        levels = []
    fits = bool(levels) and all(0 <= level <= 1 for level in levels)
    check(option, text, fits, "numbers from 0 to 1, separated by commas, such as 0,0.7,0.9")
    return tuple(levels)


def units_of(text: str) -> str | dict[str, float]:
    """Parse the value of ``--scale``, such as ``income=1000,age=10``.

    Return a dictionary of columns and their units of distance. The words ``range``, ``rank`` and ``mad`` are returned
    unchanged.
    """
    if text in SCALES:
        return text
    return _numbers_by_name("--scale", text, f"{', '.join(SCALES)} or units of columns, such as income=1000,age=10")


def margin_of(text: str) -> float | str:
    """Parse the value of ``--margin``: a number such as ``0.0001``, or a share of the range of scores such as ``10%``.

    A share is returned unchanged.
    """
    is_share = text.strip().endswith("%")
    number = number_or_word(text.strip().removesuffix("%"))
    fits = isinstance(number, float) and 0 < number <= (100 if is_share else 1e100)
    check("--margin", text, fits, "a number above 0 and up to 1e100, such as 0.0001, or a share of the scores, such as 10%")
    return text if is_share else float(number)


def special_values_of(text: str) -> set[float] | dict[str, set[float]]:
    """Parse the value of ``--special``, such as ``-9,-8`` or ``score=-9,-8,months=99``.

    Return the special values of all columns, or a dictionary of columns and their special values. A number without a name
    belongs to the column named before it.
    """
    expected = "special values, such as -9,-8, or special values of columns, such as score=-9,-8,months=99"
    everywhere: set[float] = set()
    by_name: dict[str, set[float]] = {}
    latest = everywhere
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        value = number_or_word(number)
        named = bool(equals)
        fits = isinstance(value, float) and math.isfinite(value) and (name.strip() != "" or not named)
        check("--special", text, fits and not (named and everywhere), expected)
        if named:
            latest = by_name.setdefault(name.strip(), set())
        latest.add(float(value))
    return by_name or everywhere


def check_special_columns(special: Any, names: Sequence[str]) -> None:
    """Check that the columns that ``--special`` names exist in a table.

    ``special`` is the result of :func:`special_values_of`, or None. ``names`` are the columns of the table.
    """
    unknown = [name for name in special if name not in names] if isinstance(special, dict) else []
    if unknown:
        raise InvalidInputError(f"--special names the unknown column {unknown[0]!r}. {close_to(unknown[0], names)}")


def class_weights(option: str, text: str) -> str | dict[str, float]:
    """Parse class weights such as ``yes=5,no=1``.

    Return a dictionary of classes and weights. The word ``balanced`` is returned unchanged. ``option`` is the name of the
    option, for error messages.
    """
    if text == "balanced":
        return text
    return _numbers_by_name(option, text, "'balanced', or classes with weights above 0, such as yes=5,no=1")


def class_names_of(text: str) -> dict[str, str]:
    """Parse the value of ``--class-names``, such as ``0=good,1=bad``.

    Return a dictionary of labels and names.
    """
    parts = [[side.strip() for side in part.split("=", maxsplit=1)] for part in text.split(",")]
    fits = all(len(part) == 2 and all(part) for part in parts) and len({part[0] for part in parts}) == len(parts)
    check("--class-names", text, fits, "labels and their names, such as 0=good,1=bad")
    return dict(parts)


def _numbers_by_name(option: str, text: str, expected: str) -> dict[str, float]:
    """Parse a text such as ``a=1,b=2`` into a mapping of names to positive numbers.

    ``option`` and ``expected`` are the name of the option and a description of valid values, for error messages.
    """
    parts = [part.rpartition("=") for part in text.split(",")]
    numbers = {name.strip(): number_or_word(number) for name, _, number in parts}
    fits = all(isinstance(number, float) and 0 < number < math.inf for number in numbers.values()) and "" not in numbers
    check(option, text, fits and len(numbers) == len(parts), expected)
    return {name: number for name, number in numbers.items() if isinstance(number, float)}


def number_or_word(text: str) -> float | str:
    """Return the text as a number, or unchanged if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return text


def not_installed(library: str) -> UnsupportedModelError:
    """Return the error for an optional library that is not installed."""
    return UnsupportedModelError(f"{library} is not installed. Install it: pip install 'fcca[{library}]'.")


def check_installed(library: str | None) -> None:
    """Check that an optional library is installed.

    If ``library`` is None, nothing is checked.
    """
    if library is not None and find_spec(library) is None:
        raise not_installed(library)
