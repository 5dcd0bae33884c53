"""Damage to files: of bytes, of JSON values, of zip members, of lines. The same number gives the same damage."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from typing import Any

TOKENS = (
    b"0", b"-1", b"1e999", b"NaN", b"Infinity", b"null", b"[]", b"{}", b'""', b"\x00", b"\xff" * 4, b"99999999999999999999",
    b"2147483647", b"-2147483648", b"4294967295", b"[[[[[[[[", b"{" * 50, b"\xef\xbb\xbf", b"\r\n", b"\n\n", b",", b";",
    b"=",
)  # fmt: skip
DEEP = "deep"
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64,
    10**30, 10**400, 0.5, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), -float("inf"), "", "0", "-1", "nan",
    "1e400", "x" * 5000, "\x00", "\ud800", "é", [], {}, [[]], [0], [-1], [None], {"a": 1}, DEEP,
)  # fmt: skip


def mutated(content: bytes, number: int, *, structured: str | None = None) -> bytes:
    """The file with one to four damages.

    Parameters
    ----------
    content : bytes
    number : int
        Which damage.
    structured : {"json", "zip", "lines", "numbers", None}
        What the bytes are made of, so that half of all damages leave the outer form as it was.
    """
    rng = random.Random(number)
    kinds = {"json": _json_changed, "zip": _zip_changed, "lines": _lines_changed, "numbers": _numbers_changed}
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        change = kinds[structured] if structured is not None and rng.random() < 0.6 else _bytes_changed
        content = change(content, rng)
    return content


def _bytes_changed(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return rng.choice(TOKENS)
    begin = rng.randrange(len(content))
    end = min(len(content), begin + rng.choice((1, 2, 8, 64, 512)))
    changed = bytearray(content)
    how = rng.randrange(9)
    if how == 0:
        changed[begin] ^= 1 << rng.randrange(8)
    elif how == 1:
        changed[begin] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    elif how == 2:
        del changed[begin:]
    elif how == 3:
        del changed[begin:end]
    elif how == 4:
        changed[begin:begin] = rng.choice(TOKENS)
    elif how == 5:
        changed[begin:begin] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 16))))
    elif how == 6:
        changed[begin:begin] = content[begin:end] * rng.choice((1, 2, 50))
    elif how == 7:
        at = rng.randrange(len(content))
        changed[at:at] = content[begin:end]
    else:
        number = struct.pack(rng.choice(("<i", ">i", "<q", ">q")), rng.choice((-1, 0, 2**31 - 1, -(2**31), 1_000_000)))
        changed[begin : begin + len(number)] = number
    return bytes(changed)


def _json_changed(content: bytes, rng: random.Random) -> bytes:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _bytes_changed(content, rng)
    places = list(_places(document))
    if not places:
        return _bytes_changed(content, rng)
    # By the name of the entry first: else the thousand numbers of a long list get nearly all damages.
    names = sorted({name for _, _, name in places})
    chosen = rng.choice(names)
    parent, key, _ = rng.choice([place for place in places if place[2] == chosen])
    how = rng.randrange(10)
    if how < 5:
        parent[key] = rng.choice(VALUES)
    elif how == 5:
        del parent[key]
    elif how == 6:
        parent[key] = rng.choice(places)[0]
    elif how == 7 and isinstance(parent[key], list):
        parent[key] = parent[key] * 2 if rng.random() < 0.5 else parent[key][: len(parent[key]) // 2]
    elif how == 8 and isinstance(parent[key], int | float):
        parent[key] = rng.choice((-parent[key], parent[key] + 1, parent[key] - 1, parent[key] * 1000, str(parent[key])))
    elif isinstance(parent, list):
        parent.insert(key, rng.choice(VALUES))
    else:
        parent[rng.choice(("", "x", "\x00"))] = rng.choice(VALUES)
    try:
        text = json.dumps(document)
    except ValueError:  # it now stands in itself
        return _bytes_changed(content, rng)
    return text.replace(json.dumps(DEEP), "[" * 3000 + "]" * 3000).encode()


def _places(document: Any, name: str = "") -> Any:
    """Every value in a document: what it stands in, by which key, and the name of the entry it belongs to."""
    pending = [(document, name)]
    while pending:
        parent, name = pending.pop()
        entries = parent.items() if isinstance(parent, dict) else enumerate(parent) if isinstance(parent, list) else ()
        for key, value in entries:
            of = key if isinstance(key, str) else name
            yield parent, key, of
            pending.append((value, of))


def _zip_changed(content: bytes, rng: random.Random) -> bytes:
    """Change one member of an archive, so that its checksums hold."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, KeyError, RuntimeError):
        return _bytes_changed(content, rng)
    name = "schema.json" if "schema.json" in members and rng.random() < 0.5 else rng.choice(sorted(members))
    how = rng.randrange(10)
    if how == 0:
        del members[name]
    elif how == 1:
        members[name] = rng.choice(sorted(members.values()))
    else:
        members[name] = (_json_changed if name.endswith(".json") else _bytes_changed)(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return out.getvalue()


def _lines_changed(content: bytes, rng: random.Random) -> bytes:
    """Change a line, or one word or field of it."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    how = rng.randrange(6)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, rng.choice(lines))
    elif how == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        separator = rng.choice((b" ", b",", b"=", b":"))
        words = lines[at].split(separator)
        words[rng.randrange(len(words))] = rng.choice((*TOKENS, b"1", b"3", b"100000", b"-7", rng.choice(words)))
        lines[at] = separator.join(words)
    return b"\n".join(lines)


def _numbers_changed(content: bytes, rng: random.Random) -> bytes:
    """Change a number of four bytes, of one that is small and so a count, an index or an offset."""
    if len(content) < 8:
        return _bytes_changed(content, rng)
    for _ in range(50):
        at = rng.randrange(len(content) - 4)
        (value,) = struct.unpack_from(">I" if rng.random() < 0.5 else "<I", content, at)
        if value < 65536:
            break
    changed = bytearray(content)
    new = rng.choice((value + 1, max(value - 1, 0), 0, 2**31 - 1, 2**32 - 1, value * 2, 100_000, rng.randrange(256)))
    struct.pack_into(rng.choice(("<I", ">I")), changed, at, new % 2**32)
    return bytes(changed)
