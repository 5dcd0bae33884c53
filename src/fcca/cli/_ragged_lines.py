"""Find lines of a CSV file with too many or too few fields."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

from fcca.exceptions import InvalidInputError


def check_fields(path: Path, compression: str | None, n: int) -> None:
    """Check that every line of a CSV file has as many fields as the header.

    The error message names the first other line. Empty lines are ignored. A line with line breaks in quotes is named by the
    number of its first line.

    Parameters
    ----------
    path : Path
    compression : {"gzip"} or None
    n : int
        Number of fields of the header.
    """
    first: tuple[int, int] | None = None
    others = 0
    with (gzip.open if compression else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader, line = csv.reader(file), 1
        try:
            for fields in reader:
                is_empty = len(fields) <= 1 and not "".join(fields).strip()
                if len(fields) != n and not is_empty:
                    others += first is not None
                    first = first or (line, len(fields))
                line = reader.line_num + 1
        except csv.Error:  # pandas reports damage of other kinds
            pass
    if first is None:
        return
    line, found = first
    more = f" {others:,} more line{'s have' if others > 1 else ' has'} another number of fields, too." if others else ""
    cause = "A comma inside a field needs quotes around the field." if found > n else "A missing value is an empty field."
    raise InvalidInputError(
        f"Line {line:,} of {path.name} has {found} field{'s' if found != 1 else ''}, but the header has {n} column "
        f"name{'s' if n != 1 else ''}. Expected {n} in every line. {cause}{more}"
    )
