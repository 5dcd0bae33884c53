"""A reader of names and texts in SQL, by the manuals of the dialects and without sqlglot.

Outside of names and texts a statement has only keywords, numbers and signs: whatever gets out of its quotes is seen.
"""

from __future__ import annotations

import re

BACKSLASHED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\\": "\\", "'": "'", '"': '"', "`": "`"}
ONLY_GOOGLE = {"a": "\a", "v": "\v", "?": "?"}
#: What opens and closes a name; whether a backslash escapes in names, and in texts.
QUOTES = {
    "duckdb": ('"', '"', False, False),
    "postgres": ('"', '"', False, False),
    "sqlite": ('"', '"', False, False),
    "bigquery": ("`", "`", True, True),
    "snowflake": ('"', '"', False, True),
    "tsql": ("[", "]", False, False),
    "spark": ("`", "`", False, True),
}
PLAIN = re.compile(r"[A-Za-z0-9_ \n(),.<>=*/+|-]")
ARRAYS = {"bigquery": "[]"}  # what may stand outside of quotes, too
KEYWORDS = {
    *("SELECT", "FROM", "AS", "CASE", "WHEN", "THEN", "ELSE", "END", "AND", "OR", "NOT", "IN", "IS", "NULL", "CAST"),
    *("NULLIF", "ABS", "COLLATE", "TYPEOF", "IS_NAN", "IF", "NCHAR", "N", "BINARY", "TRUE", "FALSE", "MAX"),
    *("DOUBLE", "PRECISION", "REAL", "FLOAT", "FLOAT64", "TEXT", "STRING", "VARCHAR", "NVARCHAR", "BIGINT", "BIT"),
    *("Latin1_General_100_BIN2", "e0", "CROSS", "JOIN", "LATERAL", "APPLY", "OFFSET", "UNNEST", "STRUCT"),
    *("JSON_EACH", "JSON_ARRAY"),
}


class Statement:
    """A statement taken apart.

    Attributes
    ----------
    names : set of str
    texts : set of str
        Joined where the statement joins chunks, with characters that are given by their codes.
    """

    def __init__(self, text: str, dialect: str) -> None:
        opening, closing, self.name_escapes, self.text_escapes = QUOTES[dialect]
        self.text, self.dialect, self.at = text, dialect, 0
        self.names: set[str] = set()
        chunks: list[tuple[str, str]] = []  # what it is, and its text
        while self.at < len(text):
            character = text[self.at]
            if character == opening:
                name = self._quoted(closing, self.name_escapes, doubled=dialect != "bigquery")
                self.names.add(name)
                chunks.append(("name", name))
            elif character == "'":
                chunks.append(("text", self._quoted("'", self.text_escapes, doubled=dialect not in ("bigquery", "spark"))))
            else:
                is_plain = PLAIN.match(character) or character in ARRAYS.get(dialect, "")
                assert is_plain, f"{character!r} stands outside of all quotes"
                chunks.append(("other", character))
                self.at += 1
        outside = "".join(part if kind == "other" else " ' " for kind, part in chunks)
        words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", re.sub(r"\b\d+(\.\d+)?(e-?\d+)?\b", "0", outside)))
        assert words <= KEYWORDS, words - KEYWORDS
        assert "--" not in outside
        assert "/*" not in outside
        self.texts = _joined(chunks)

    def _quoted(self, closing: str, escapes: bool, *, doubled: bool) -> str:
        found, self.at = "", self.at + 1
        while True:
            character = self.text[self.at]
            if escapes and character == "\\":
                found += self._escape()
            elif character == closing:
                self.at += 1
                if not (doubled and self.text[self.at : self.at + 1] == closing):
                    return found
                found += closing
                self.at += 1
            else:
                assert self.dialect != "bigquery" or character not in "\r\n", "no line breaks in BigQuery's texts"
                found += character
                self.at += 1

    def _escape(self) -> str:
        after = self.text[self.at + 1]
        octal = re.match(r"[0-3][0-7]{2}", self.text[self.at + 1 :])
        if octal:
            self.at += 4
            return chr(int(octal[0], 8))
        if after == "x" and self.dialect != "spark":
            code = self.text[self.at + 2 : self.at + 4]
            self.at += 4
            return chr(int(code, 16))
        self.at += 2
        return (BACKSLASHED | (ONLY_GOOGLE if self.dialect == "bigquery" else {}))[after]


def _joined(chunks: list[tuple[str, str]]) -> set[str]:
    """All texts; ``'a' + NCHAR(10) + 'b'`` is one."""
    line, texts = "", []
    for kind, part in chunks:
        if kind == "text":
            texts.append(part)
        line += {"name": "\x01", "text": "\x02", "other": part}[kind]
    line = re.sub(r"N(?=\x02)", "", line)
    codes = [int(code) for code in re.findall(r"NCHAR\((\d+)\)", line)]
    line = re.sub(r"NCHAR\(\d+\)", "\x03", line)
    values, spelled = iter(texts), iter(chr(code) for code in codes)
    found = set()
    for run in re.findall(r"[\x02\x03](?:\s*(?:\+|\|\|)\s*[\x02\x03])*", line):
        found.add("".join(next(values) if mark == "\x02" else next(spelled) for mark in run if mark in "\x02\x03"))
    return found
