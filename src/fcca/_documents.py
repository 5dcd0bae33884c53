"""JSON documents from anywhere: parsed within limits, and every entry asked for by its kind."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from fcca.exceptions import InvalidInputError

__all__ = ["DocumentReader", "check_length", "is_whole", "parsed"]

Label = str | int | float | bool

ITEMS_AT_MOST = 2_000_000


def parsed(text: Any, largest: int, what: str) -> Any:
    """What a JSON document holds: nothing in it twice under one name, and no number that JSON does not have.

    Parameters
    ----------
    text : str or bytes
        UTF-8 where bytes, and no other encoding. A byte order mark before it is passed over.
    largest : int
        The most characters that are looked at.
    what : str
        What the document is to be, such as "a tree".

    Examples
    --------
    >>> from fcca._documents import parsed
    >>> parsed('{"classes": [0, 1]}', 1000, "a tree")
    {'classes': [0, 1]}
    """
    if not isinstance(text, str | bytes):
        raise InvalidInputError(f"Expected the text of a JSON document, got {type(text).__name__}.")
    check_length(text, largest, what)
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise InvalidInputError(
                f"Not a JSON document in UTF-8: {error.reason} at byte {error.start:,}. Save it as UTF-8."
            ) from error
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:  # a JSONDecodeError is a ValueError
        raise InvalidInputError(f"Not a JSON document: {error}.") from error


def check_length(text: str | bytes, largest: int, what: str) -> None:
    """Refuse a document that is longer than its kind can be; parameters as above."""
    if len(text) > largest:
        raise InvalidInputError(f"The document has {len(text):,} characters; {what} has at most {largest:,}.")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a name that stands twice, two readers may take different values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"an object has {twice[:40]!r} twice")
    return found


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class DocumentReader:
    """Takes entries out of a parsed document and refuses what they may not be.

    Parameters
    ----------
    what : str
        What the document is, such as "tree".
    advice : str
        What to do where it is damaged.
    """

    what: str
    advice: str

    def damaged(self, reason: str) -> InvalidInputError:
        """The error that says what is wrong."""
        return InvalidInputError(f"Damaged {self.what}: {reason}. {self.advice}")

    def entry(self, given: Any, name: str, kind: type, where: str = "the document") -> Any:
        """An entry of an object, of a type; whole numbers may stand for others, and all are finite.

        Parameters
        ----------
        given : object
            A parsed one, of whatever type.
        name : str
        kind : type
            str, bool, int, float, list or dict.
        where : str
            What the object is called.
        """
        value: Any = given.get(name) if isinstance(given, dict) else None
        if kind is float and is_whole(value):
            try:
                value = float(value)
            except OverflowError:
                value = math.inf
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.damaged(f"{where} has no {name!r} of the right kind")
        found: Any = value
        if kind is float and not math.isfinite(found):
            raise self.damaged(f"{name!r} of {where} is not finite")
        if kind is list and len(found) > ITEMS_AT_MOST:
            raise self.damaged(f"{where} has {len(found):,} {name}, more than {ITEMS_AT_MOST:,}")
        return found

    def optional(self, given: Any, name: str, kind: type, where: str = "the document") -> Any:
        """The same, of an entry that is there and may be null."""
        if isinstance(given, dict) and name in given and given[name] is None:
            return None
        return self.entry(given, name, kind, where)

    def labels(self, given: Sequence[Any], what: str) -> tuple[Label, ...]:
        """Different texts or finite numbers, at least one."""
        if not given or not all(_is_label(label) for label in given):
            raise self.damaged(f"{what} must be texts or finite numbers, and at least one")
        if len(set(given)) < len(given):
            raise self.damaged(f"{what} must be different ones")
        return tuple(given)

    def cut(self, given: Any, where: str) -> tuple[float, float, float, float]:
        """Threshold, the model's own number, and the training values next to the threshold, NaN where none is known."""
        threshold, cut = self.entry(given, "threshold", float, where), self.entry(given, "cut", float, where)
        below, above = (
            math.nan if (value := self.optional(given, side, float, where)) is None else value for side in ("below", "above")
        )
        if below > threshold or above <= threshold:
            raise self.damaged(f"the threshold of {where} does not lie between its values 'below' and 'above'")
        return threshold, cut, below, above


def _is_label(given: Any) -> bool:
    return isinstance(given, str | int) or (isinstance(given, float) and math.isfinite(given))
