"""Checks of options and of the paths of files, before any work.

Nothing here imports more than the standard library: a wrong option is reported at once, not after the seconds that
scikit-learn and pandas take to import.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fcca.exceptions import InvalidInputError, UnsupportedModelError

SCALES = ("range", "rank", "mad")
INPUT_FORMATS = {".csv": None, ".csv.gz": "gzip", ".parquet": None}


@dataclass(frozen=True)
class OptionCheck:
    """A check of an option, beside its declaration; options that are not given are not checked.

    Attributes
    ----------
    of : callable
        Takes the option's name and its value; raises an error if the value cannot be used.
    """

    of: Callable[[str, Any], object]


def expects(expected: str, fits: Callable[[Any], bool]) -> OptionCheck:
    """A check that a value fits; the error says what is expected."""
    return OptionCheck(lambda option, value: check(option, value, fits(value), expected))


def accepted_by(judge: Callable[[Any], object]) -> OptionCheck:
    """A check by a function of the value alone, such as that of a path."""
    return OptionCheck(lambda option, value: judge(value))


def expects_name(*suffixes: str) -> OptionCheck:
    """A check that the name of a file ends in one of these."""
    expected = f"a file name that ends in {' or '.join(suffixes)}"
    return expects(expected, lambda path: path.name.lower().endswith(suffixes))


# --- files --------------------------------------------------------------------------------------------------------------


def check_file(path: Path, expected: str) -> None:
    """OptionCheck that there is a file with content at a path."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}. OptionCheck the path; it is taken relative to {Path.cwd()}.")
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file. Expected {expected}.")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{path} is empty. Expected {expected}.")


def file_of(expected: str) -> OptionCheck:
    """A check that a path is that of a file with content."""
    return accepted_by(lambda path: check_file(path, expected))


def table_format(path: Path) -> str:
    """The ending that tells the format of a table, one of INPUT_FORMATS."""
    formats = ", ".join(INPUT_FORMATS)
    check_file(path, f"a table with a header line of column names, and rows: one of {formats}")
    suffix = next((suffix for suffix in INPUT_FORMATS if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise InvalidInputError(f"Cannot tell the format of {path.name}. Expected a name that ends in {formats}.")
    return suffix


def check_streamable(path: Path | None) -> None:
    """OptionCheck that a table is a Parquet file; the error says how to make one."""
    if path is None:
        raise InvalidInputError("--stream was given without a file. Expected fcca distill DATA.parquet --stream.")
    if table_format(path) != ".parquet":
        made = path.name[: path.name.lower().index(".csv")] + ".parquet"
        raise InvalidInputError(
            f"--stream was given with {path.name}. Only Parquet files are read in pieces. pandas makes one: "
            f"pandas.read_csv({path.name!r}).to_parquet({made!r}). Where memory is short for that, pyarrow makes "
            f"parts/part-0.parquet: from pyarrow.dataset import dataset, write_dataset; write_dataset(dataset({path.name!r}"
            ", format='csv'), 'parts', format='parquet')."
        )


# --- values -------------------------------------------------------------------------------------------------------------


def check(option: str, value: Any, fits: bool, expected: str) -> None:
    """Raise an error if a value does not fit."""
    if not fits:
        raise InvalidInputError(f"{option} is {value}. Expected {expected}.")


def chosen_rows(text: str) -> list[range]:
    """``0,5,10-20`` as ranges; both ends of a range count."""
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise InvalidInputError(
                f"--rows is {text}. Expected row numbers and ranges, the first row is 0, such as 0,5,10-20."
            )
        ranges.append(range(int(match[1]), int(match[2] or match[1]) + 1))
    return ranges


def chosen_levels(option: str, text: str) -> tuple[float, ...]:
    """``0,0.7,0.9`` as numbers from 0 to 1, each once, the smallest first."""
    try:
        levels = sorted({float(part) for part in text.split(",")})
    except ValueError:
        levels = []
    fits = bool(levels) and all(0 <= level <= 1 for level in levels)
    check(option, text, fits, "numbers from 0 to 1 with commas between them, such as 0,0.7,0.9")
    return tuple(levels)


def units_of(text: str) -> str | dict[str, float]:
    """``income=1000,age=10`` as units by column; ``range``, ``rank`` and ``mad`` as they are."""
    if text in SCALES:
        return text
    return _numbers_by_name("--scale", text, f"{', '.join(SCALES)} or units of columns, such as income=1000,age=10")


def class_weights(option: str, text: str) -> str | dict[str, float]:
    """``yes=5,no=1`` as weights by class; ``balanced`` as it is."""
    if text == "balanced":
        return text
    return _numbers_by_name(option, text, "'balanced', or classes with weights above 0, such as yes=5,no=1")


def _numbers_by_name(option: str, text: str, expected: str) -> dict[str, float]:
    """``a=1,b=2`` as numbers above 0, each name once."""
    parts = [part.rpartition("=") for part in text.split(",")]
    numbers = {name.strip(): number_or_word(number) for name, _, number in parts}
    fits = all(isinstance(number, float) and 0 < number < math.inf for number in numbers.values()) and "" not in numbers
    check(option, text, fits and len(numbers) == len(parts), expected)
    return {name: number for name, number in numbers.items() if isinstance(number, float)}


def number_or_word(text: str) -> float | str:
    """A number, or the text where it is none."""
    try:
        return float(text)
    except ValueError:
        return text


def not_installed(library: str) -> UnsupportedModelError:
    """The error where an optional library is missing."""
    return UnsupportedModelError(f"{library} is not installed. Install it: pip install 'fcca[{library}]'.")


def check_installed(library: str | None) -> None:
    """OptionCheck that an optional library is there; None is always."""
    if library is not None and find_spec(library) is None:
        raise not_installed(library)
