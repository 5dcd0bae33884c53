"""Weka's ARFF, dense and sparse: the format of OpenML's files."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

MISSING = "?"
#: Sparse rows that are read at a time.
BLOCK = 5_000
_NAME = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\s{]+"
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s*(\{{.*\}}|\w+)", re.IGNORECASE)
_CELL = re.compile(r"(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,])+")
_NUMERIC = frozenset({"numeric", "real", "integer"})


@dataclass(frozen=True)
class _Attribute:
    name: str
    numeric: bool
    classes: tuple[str, ...]  # the first is what a sparse row leaves out

    @cached_property
    def class_of(self) -> dict[float, str]:
        """Class that is written as a number, for every class; empty where one is not."""
        try:
            numbers = {float(text): text for text in self.classes}
        except ValueError:
            return {}
        return numbers if len(numbers) == len(self.classes) else {}


def read_arff(path: Path) -> pd.DataFrame:
    """Read an ARFF file: numeric attributes as float64, all others as texts, missing cells as NaN.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcca.datasets._arff import read_arff
    >>> path = Path(tempfile.mkdtemp()) / "table.arff"
    >>> _ = path.write_text("@relation r\\n@attribute width numeric\\n@attribute class {g,h}\\n@data\\n1.5,h\\n?,g\\n")
    >>> read_arff(path)
       width class
    0    1.5     h
    1    NaN     g
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is no ARFF file: it is not UTF-8 text.") from error
    header, mark, body = _divide(text)
    attributes = [_attribute(line, path) for line in header if line.lower().startswith("@attribute")]
    if not mark or not attributes:
        missing = "@attribute" if mark else "@data"
        raise InvalidInputError(f"{path} is no ARFF file: it has no {missing} line.")
    lines = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("%")]
    if not lines:
        raise InvalidInputError(f"{path} has no rows after @data.")
    rows = _sparse if lines[0].lstrip().startswith("{") else _dense
    try:
        return rows(lines, attributes)
    except (ValueError, IndexError, pd.errors.ParserWarning) as error:
        raise InvalidInputError(
            f"{path} is damaged: its rows do not fit its {len(attributes)} attributes ({error})."
        ) from error


def _divide(text: str) -> tuple[list[str], str, str]:
    found = re.search(r"^[ \t]*@data\b.*$", text, re.IGNORECASE | re.MULTILINE)
    if not found:
        return [line.strip() for line in text.splitlines()], "", ""
    return [line.strip() for line in text[: found.start()].splitlines()], found.group(), text[found.end() :]


def _attribute(line: str, path: Path) -> _Attribute:
    found = _ATTRIBUTE.match(line)
    if not found:
        raise InvalidInputError(f"{path} is no ARFF file that can be read: {line[:80]!r} names no attribute and its type.")
    name, kind = found.groups()
    classes = tuple(map(_unquoted, _cells(kind[1:-1]))) if kind.startswith("{") else ()
    return _Attribute(_unquoted(name), kind.lower() in _NUMERIC, classes)


def _dense(lines: list[str], attributes: list[_Attribute]) -> pd.DataFrame:
    # pandas would fill a short row with missing cells.
    short = next((i for i, line in enumerate(lines) if line.count(",") < len(attributes) - 1), None)
    if short is not None:
        raise ValueError(f"row {short + 1} is too short")
    with warnings.catch_warnings():
        # pandas only warns of rows that are too long, and drops their end.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        cells = pd.read_csv(
            io.StringIO("\n".join(lines)),
            header=None,
            names=list(range(len(attributes))),
            index_col=False,
            dtype={j: np.float64 if attribute.numeric else str for j, attribute in enumerate(attributes)},
            na_values=[MISSING],
            keep_default_na=False,
            quotechar=_quote(lines),
            escapechar="\\",
            skipinitialspace=True,
        )
    for j, attribute in enumerate(attributes):
        if not attribute.numeric:
            cells[j] = cells[j].str.strip()
    cells.columns = pd.Index([attribute.name for attribute in attributes])
    return cells


def _sparse(lines: list[str], attributes: list[_Attribute]) -> pd.DataFrame:
    insides = [_inside(line, i) for i, line in enumerate(lines)]
    numbers = _sparse_numbers(insides, attributes)
    columns = _sparse_cells(insides, attributes) if numbers is None else _named_classes(numbers, attributes)
    table = pd.DataFrame(columns)
    table.columns = pd.Index([attribute.name for attribute in attributes])
    return table


def _inside(line: str, i: int) -> str:
    line = line.strip()
    if not (line.startswith("{") and line.endswith("}")):
        raise ValueError(f"row {i + 1} is not between braces")
    return line[1:-1].strip()


def _sparse_numbers(insides: list[str], attributes: list[_Attribute]) -> NDArray[np.float64] | None:
    """All cells where they are plain numbers, many rows at a time, which is fast; None where they are not."""
    if not all(a.numeric or a.class_of for a in attributes):
        return None
    # What a sparse row leaves out is zero, or the first class.
    numbers = np.tile([next(iter(a.class_of), 0.0) for a in attributes], (len(insides), 1))
    for start in range(0, len(insides), BLOCK):
        block = insides[start : start + BLOCK]
        counts = [inside.count(",") + 1 if inside else 0 for inside in block]
        if not any(counts):
            continue
        text = "\n".join(filter(None, block))
        if any(sign in text for sign in "?'\""):
            return None
        try:
            cells = pd.read_csv(
                io.StringIO(text.replace(",", "\n")), sep=" ", skipinitialspace=True, header=None, dtype=np.float64
            ).to_numpy()
        except ValueError:
            return None
        if cells.shape != (sum(counts), 2) or np.isnan(cells).any():
            return None
        at = cells[:, 0].astype(np.intp)
        if (at != cells[:, 0]).any() or at.min() < 0 or at.max() >= len(attributes):
            return None
        numbers[start + np.repeat(np.arange(len(block)), counts), at] = cells[:, 1]
    undeclared = any(not np.isin(numbers[:, j], list(a.class_of)).all() for j, a in enumerate(attributes) if not a.numeric)
    return None if undeclared else numbers


def _named_classes(numbers: NDArray[np.float64], attributes: list[_Attribute]) -> dict[int, Any]:
    columns: dict[int, Any] = {}
    for j, attribute in enumerate(attributes):
        columns[j] = numbers[:, j] if attribute.numeric else pd.Series(numbers[:, j]).map(attribute.class_of)
    return columns


def _sparse_cells(insides: list[str], attributes: list[_Attribute]) -> dict[int, Any]:
    numbers = np.zeros((len(insides), len(attributes)))
    texts: dict[int, list[str | None]] = {
        j: [a.classes[0] if a.classes else None] * len(insides) for j, a in enumerate(attributes) if not a.numeric
    }
    for i, inside in enumerate(insides):
        for cell in _cells(inside):
            position, value = cell.split(None, 1)
            j = int(position)
            if not 0 <= j < len(attributes):
                raise ValueError(f"row {i + 1} names attribute {j}")
            if j in texts:
                texts[j][i] = None if value == MISSING else _unquoted(value)
            else:
                numbers[i, j] = np.nan if value == MISSING else float(value)
    return {j: pd.Series(texts[j]) if j in texts else numbers[:, j] for j in range(len(attributes))}


def _cells(text: str) -> list[str]:
    """Split at the commas that are in no quotes."""
    if not text.strip():
        return []
    cells = _CELL.findall(text) if "'" in text or '"' in text else text.split(",")
    return [cell.strip() for cell in cells]


def _quote(lines: list[str]) -> str:
    return '"' if any('"' in line for line in lines) and not any("'" in line for line in lines) else "'"


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
