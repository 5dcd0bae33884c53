"""Convert the errors that libraries raise for damaged files into InvalidInputError."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fcca.exceptions import FCCAError, InvalidInputError


@contextmanager
def damage_as_invalid_input(path: Path, what: str) -> Iterator[None]:
    """Convert errors in a ``with`` block into an InvalidInputError.

    Objects from a damaged file can raise exceptions of any type, and no library lists them. So every exception means that
    the file cannot be used. Only a MemoryError and the errors of fcca are raised unchanged.

    Parameters
    ----------
    path : Path
        The file, for the message.
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
            f"{path} looks like {what}, but it cannot be loaded: {reason}. Save the model again, or load another file."
        ) from error
