"""Parse JSON documents and check their entries."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, NoReturn

from fcca.exceptions import InvalidInputError
from fcca.utils._numbers import is_whole

Label = str | int | float | bool

ITEMS_AT_MOST = 2_000_000
LARGEST_WHOLE = 2**62
#: Values of ``fit_to`` for trees that learn soft labels, and all values.
SOFT_FIT_TO = ("mixture", "probability")
FIT_TO = ("labels", "target", *SOFT_FIT_TO)
SELECTION_FIT_TO = ("labels", "target")
CUT = {"threshold": float, "cut": float, "below": float | None, "above": float | None}


def parsed(text: Any, largest: int, what: str) -> Any:
    """Parse a JSON document.

    NaN, infinity, and a name that occurs twice in an object are errors.

    Parameters
    ----------
    text : str or bytes
        Bytes must be UTF-8. A byte order mark is skipped.
    largest : int
        Maximum number of characters.
    what : str
        Kind of document, for error messages, such as "a tree".

    Examples
    --------
    >>> from fcca.utils._json_documents import parsed
    >>> parsed('{"classes": [0, 1]}', 1000, "a tree")
    {'classes': [0, 1]}
    """
    if not isinstance(text, str | bytes):
        raise InvalidInputError(f"A JSON document must be str or bytes, got {type(text).__name__}.")
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
    """Raise an error if a document has more than ``largest`` characters.

    The parameters are those of :func:`parsed`.
    """
    if len(text) > largest:
        raise InvalidInputError(f"The document has {len(text):,} characters, but {what} may have at most {largest:,}.")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON does not allow the value {name}")


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object from pairs of name and value.

    A name that occurs twice is an error.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice[:40]!r} occurs twice in an object")
    return found


@dataclass(frozen=True)
class DocumentReader:
    """Read and check the entries of a parsed JSON document.

    Invalid entries raise an InvalidInputError, which says what is wrong and how to write the document again.

    Parameters
    ----------
    what : str
        The kind of document, such as "tree".
    form : str
        Expected value of the entry ``format``.
    versions : tuple of int
        Versions of the format that can be read.
    file : str
        Name of such a document in the output directory of ``fcca distill``, for error messages.
    writer : str
        Name of the function that writes such documents, for error messages.
    """

    what: str
    form: str
    versions: tuple[int, ...]
    file: str
    writer: str

    @property
    def advice(self) -> str:
        """A sentence that says how to write a damaged document again."""
        return f"Write it again with {self.writer} or fcca distill."

    def damaged(self, reason: str) -> InvalidInputError:
        """Build the error for a damaged document; ``reason`` says what is wrong with it."""
        return InvalidInputError(f"Damaged {self.what}: {reason}. {self.advice}")

    def version(self, document: Any) -> int:
        """Check the format of a parsed document, and return the version of the format."""
        if not isinstance(document, dict) or document.get("format") != self.form:
            raise InvalidInputError(
                f"Not a {self.what} of fcca: expected a JSON object with format {self.form!r}, such as the {self.file} "
                "that fcca distill writes."
            )
        version = document.get("version")
        if not is_whole(version) or version not in self.versions:
            known = " and ".join(map(str, self.versions))
            raise InvalidInputError(
                f"The {self.what} has version {repr(version)[:40]}, but this version of fcca reads only version {known}. "
                f"Update fcca, or write the {self.what} again with {self.writer} or fcca distill."
            )
        return int(version)

    def entry(self, given: Any, name: str, kind: Any, where: str = "the document") -> Any:
        """Return an entry of a JSON object after checking its type.

        Where a float is expected, an integer is valid and is converted. All numbers must be finite.

        Parameters
        ----------
        given : object
            A parsed JSON value. Anything but a JSON object is an error.
        name : str
            Name of the entry.
        kind : type
            Expected type: str, bool, int, float, list or dict. With ``kind | None`` the entry may be null, but not missing.
        where : str
            Name of the JSON object in error messages.
        """
        value: Any = given.get(name) if isinstance(given, dict) else None
        if isinstance(kind, UnionType):
            if value is None and isinstance(given, dict) and name in given:
                return None
            kind = kind.__args__[0]
        if kind is float and is_whole(value):
            try:
                value = float(value)
            except OverflowError:
                value = math.inf
        if not (is_whole(value) if kind is int else isinstance(value, kind)):
            raise self.damaged(f"{name!r} of {where} is missing or has the wrong type")
        if kind is float and not math.isfinite(value):
            raise self.damaged(f"{name!r} of {where} is not finite")
        if kind is list and len(value) > ITEMS_AT_MOST:
            raise self.damaged(f"{name!r} of {where} has {len(value):,} entries, more than {ITEMS_AT_MOST:,}")
        return value

    def entries(self, given: Any, kinds: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return several entries of a JSON object as a dict.

        ``kinds`` maps the names of the entries to their expected types. The other parameters are those of :meth:`entry`.
        """
        return {name: self.entry(given, name, kind, where) for name, kind in kinds.items()}

    def numbers(self, given: Any, name: str, where: str) -> list[float]:
        """Return the entry ``name``, which must be a list of finite numbers, as floats."""
        return [self.entry({name: one}, name, float, where) for one in self.entry(given, name, list, where)]

    def check_range(self, found: Mapping[str, Any], names: Iterable[str], least: float, most: float, where: str) -> None:
        """Check that numbers read from a document lie between ``least`` and ``most``.

        Parameters
        ----------
        found : mapping
            The entries by name.
        names : iterable of str
            Names of the entries to check.
        least, most : float
        where : str
            Name of the JSON object in error messages.
        """
        for name in names:
            if isinstance(found[name], int | float) and not least <= found[name] <= most:
                limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
                raise self.damaged(f"{name!r} of {where} must be {limits}")

    def fit_to(self, given: Any, where: str, allowed: Sequence[str] = FIT_TO) -> str:
        """Return the entry ``fit_to``, which must be one of ``allowed``."""
        found: str = self.entry(given, "fit_to", str, where)
        if found not in allowed:
            raise self.damaged(f"'fit_to' of {where} must be {' or '.join(allowed)}, got {found[:20]!r}")
        return found

    def counts(self, given: dict[str, Any], known: Collection[str], what: str) -> dict[str, int]:
        """Check that a JSON object maps each status to a count, and return it.

        The statuses must be in ``known``. Counts are integers of at least 0. ``what`` names the object in error messages.
        """
        if not all(name in known and is_whole(n) and 0 <= n < LARGEST_WHOLE for name, n in given.items()):
            raise self.damaged(f"{what} must be non-negative counts by status ({', '.join(known)})")
        return given

    def labels(self, given: Sequence[Any], what: str) -> tuple[Label, ...]:
        """Check that labels are distinct strings or finite numbers, and return them.

        At least one label is required. ``what`` names the labels in error messages.
        """
        if not given or not all(is_label(label) for label in given):
            raise self.damaged(f"{what} must be a list of at least one string or finite number")
        if len(set(given)) < len(given):
            raise self.damaged(f"{what} must be distinct")
        return tuple(given)

    def categories(self, given: Any, where: str) -> tuple[Label, ...]:
        """Return the entry ``categories``, which must be a list of labels."""
        return self.labels(self.entry(given, "categories", list, where), f"categories of {where}")

    def cut(self, given: Any, where: str) -> tuple[float, float, float, float]:
        """Return the entries ``threshold``, ``cut``, ``below`` and ``above`` of a condition.

        ``below`` and ``above`` are the nearest training values on the two sides of the threshold. An unknown value is NaN.
        """
        threshold, cut, below, above = self.entries(given, CUT, where).values()
        below, above = (math.nan if value is None else value for value in (below, above))
        if below > threshold or above <= threshold:
            raise self.damaged(f"the threshold of {where} does not lie between its values 'below' and 'above'")
        return threshold, cut, below, above

    def facts_of_cuts(
        self, conditions: Sequence[Any], features: Sequence[int]
    ) -> tuple[frozenset[int], dict[int, tuple[float, ...]]]:
        """Return the columns of zeros and ones, and the special values of columns.

        Cuts have them as entries ``zero_one`` and ``special``.

        Parameters
        ----------
        conditions : sequence
            The entries of the conditions.
        features : sequence of int
            For each condition, the position of its column.
        """
        marked = [at for at, entry in enumerate(conditions) if entry.get("zero_one")]
        for at in marked:
            if conditions[at].get("kind") != "cut" or self.cut(conditions[at], f"condition {at}")[::2] != (0.5, 0.0):
                raise self.damaged(f"condition {at} is not the cut of a column of zeros and ones")
        special: dict[int, tuple[float, ...]] = {}
        for at, entry in enumerate(conditions):
            if "special" in entry:
                where, values = f"condition {at}", tuple(self.numbers(entry, "special", f"condition {at}"))
                if entry.get("kind") != "cut" or list(values) != sorted(set(values)) or not values:
                    raise self.damaged(f"the special values of {where} are not those of a cut, in ascending order")
                if special.setdefault(features[at], values) != values:
                    raise self.damaged(f"the special values of {where} differ from those of another cut of its column")
        return frozenset(features[at] for at in marked), special


def is_label(given: Any) -> bool:
    """Return True for a string, a finite number or a boolean."""
    return isinstance(given, str | int) or (isinstance(given, float) and math.isfinite(given))
