"""Errors of libraries that load a damaged file, converted into one type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fcca.exceptions import FCCAError, InvalidInputError


@contextmanager
def damage_as_invalid_input(path: Path, what: str) -> Iterator[None]:
    """Convert every error of a block into an InvalidInputError.

    A file sets the state of a library's objects, and no library documents the exceptions of a wrong state. So any
    exception means that the file cannot be used. Only a MemoryError is passed on.

    Parameters
    ----------
    path : Path
    what : str
        Format of the file for the message, such as "an XGBoost model".
    """
    try:
        yield
    except (FCCAError, MemoryError):
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = re.sub(r"^(\[[\d:]+\] )?\S+:\d+: ", "", lines[0]).rstrip(" .:")  # without the line of the library's source
        raise InvalidInputError(
            f"{path} looks like {what}, but it cannot be loaded: {reason}. Save it again, or load another file."
        ) from error
