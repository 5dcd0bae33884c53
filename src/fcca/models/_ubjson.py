"""UBJSON as XGBoost writes it, read strictly: XGBoost itself reads past the end of a file that was cut off."""

from __future__ import annotations

from typing import Any

import numpy as np

DEEPEST = 64
NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
CONSTANTS = {"T": True, "F": False, "Z": None}


def read_ubjson(content: bytes) -> Any:
    """The document in a file; a ValueError where it is damaged.

    Examples
    --------
    >>> from fcca.models._ubjson import read_ubjson
    >>> read_ubjson(b"{L" + bytes(7) + b"\\x01ai\\x05}")
    {'a': 5}
    """
    reader = _Reader(content)
    document = reader.value(reader.mark(), 0)
    if reader.at != len(content):
        raise ValueError(f"it goes on after its end at byte {reader.at}")
    return document


class _Reader:
    """Walks over the bytes once."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, n: int) -> bytes:
        end = self.at + n
        if n < 0 or end > len(self.content):
            raise ValueError(f"it is cut off or damaged at byte {self.at}")
        taken = self.content[self.at : end]
        self.at = end
        return taken

    def mark(self) -> str:
        return self.take(1).decode("latin-1")

    def number(self, mark: str) -> int | float:
        kind = np.dtype(NUMBERS[mark])
        found: int | float = np.frombuffer(self.take(kind.itemsize), dtype=kind)[0].item()
        return found

    def length(self) -> int:
        mark = self.mark()
        if mark not in "iUIlL":
            raise ValueError(f"it has no length at byte {self.at}")
        return int(self.number(mark))

    def text(self) -> str:
        return self.take(self.length()).decode()

    def value(self, mark: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"lists or objects stand in each other more than {DEEPEST} deep")
        if mark in NUMBERS:
            return self.number(mark)
        if mark in CONSTANTS:
            return CONSTANTS[mark]
        if mark == "S":
            return self.text()
        if mark == "C":
            return self.mark()
        if mark == "{":
            return self.object(depth)
        if mark == "[":
            return self.list(depth)
        raise ValueError(f"it has an unknown type {mark!r} at byte {self.at - 1}")

    def object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (self.content[self.at : self.at + 1]) != b"}":
            name = self.text()
            if name in found:
                raise ValueError(f"it has {name!r} twice")
            found[name] = self.value(self.mark(), depth + 1)
        self.at += 1
        return found

    def list(self, depth: int) -> Any:
        if self.content[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.mark()
            if kind not in NUMBERS or self.mark() != "#":
                raise ValueError(f"it has a list of unknown type {kind!r} at byte {self.at}")
            dtype = np.dtype(NUMBERS[kind])
            size = self.length()
            return np.frombuffer(self.take(size * dtype.itemsize), dtype=dtype).astype(dtype.newbyteorder("="))
        if self.content[self.at : self.at + 1] == b"#":
            self.at += 1
            size = self.length()
            if size > len(self.content) - self.at:
                raise ValueError(f"it is cut off at byte {self.at}")
            return [self.value(self.mark(), depth + 1) for _ in range(size)]
        found = []
        while (mark := self.mark()) != "]":
            found.append(self.value(mark, depth + 1))
        return found
