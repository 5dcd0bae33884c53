"""A small client of OpenML: descriptions in JSON, files in ARFF, both kept on disk once they are complete and checked."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from fcca._files import atomic_outputs
from fcca.datasets._errors import DownloadError
from fcca.exceptions import InvalidInputError

OPENML = "https://www.openml.org/api/v1/json"
DESCRIPTION, DATA = "description.json", "data.arff"
ATTEMPTS = 3
#: Seconds before the second attempt; twice as many before the third.
PAUSE = 1.0
#: Seconds after which a file that still trickles in is given up.
PATIENCE = 1800.0
PIECE = 1 << 20
# Asking again helps where the server was busy, and nowhere else.
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

_Answer = TypeVar("_Answer")


class _PassingError(DownloadError):
    """A failure that another attempt may mend."""


@dataclass(frozen=True)
class OpenMLFile:
    """A data set of OpenML on this disk."""

    path: Path
    target: str
    ignored: frozenset[str]


def openml_address() -> str:
    """Address of OpenML's JSON interface: FCCA_OPENML where a mirror is to be asked."""
    return (os.environ.get("FCCA_OPENML") or OPENML).rstrip("/")


def cache_folder() -> Path:
    """Where downloads are kept: FCCA_CACHE, else where the platform keeps caches."""
    named = os.environ.get("FCCA_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fcca" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fcca"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fcca"


def fetch(data_id: int, name: str, *, timeout: float, download: bool = True) -> OpenMLFile:
    """Data set of OpenML from the cache, or downloaded into it.

    Parameters
    ----------
    data_id : int
        OpenML's number of the data set.
    name : str
        What OpenML must call it, so that a wrong number cannot go unseen.
    timeout : float
        Seconds to wait for the server's next bytes.
    download : bool, default=True
        Whether the network may be used.

    Raises
    ------
    DownloadError
        Where it is not in the cache and cannot be downloaded.
    InvalidInputError
        Where the cache cannot be written to.
    """
    folder = cache_folder() / "openml" / str(data_id)
    kept = _kept(folder, data_id, name)
    if kept is not None:
        return kept
    if not download:
        raise DownloadError(f"it is not in the cache, {folder}, and downloads were not wanted")
    try:
        description = _retried(lambda: _description(data_id, timeout))
        _check_description(description, data_id, name)
        with atomic_outputs(folder) as outputs:
            # Where OpenML promises no MD5, the one of what arrived tells later damage.
            description["md5_checksum"] = _retried(lambda: _download(description, outputs.path(DATA), timeout))
            outputs.path(DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
    except DownloadError as error:
        damaged = f" (the copy in {folder} is damaged)" if (folder / DATA).exists() else ""
        raise DownloadError(f"{error}{damaged}") from error
    except (InvalidInputError, OSError) as error:
        raise InvalidInputError(
            f"The download of OpenML {data_id} cannot be kept. {error} "
            "Set FCCA_CACHE to a folder that can be written to and has room."
        ) from error
    return _file(description, folder)


def _kept(folder: Path, data_id: int, name: str) -> OpenMLFile | None:
    """What the cache holds; None where it holds nothing, or something damaged, which is then downloaded again."""
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        _check_description(description, data_id, name)
        with (folder / DATA).open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except (OSError, ValueError):  # a DownloadError is an OSError
        return None
    return _file(description, folder) if digest == description.get("md5_checksum") else None


def _file(description: dict[str, Any], folder: Path) -> OpenMLFile:
    ignored = {*_texts(description.get("ignore_attribute")), *_texts(description.get("row_id_attribute"))}
    return OpenMLFile(folder / DATA, str(description["default_target_attribute"]), frozenset(ignored))


def _texts(value: Any) -> list[str]:
    """OpenML writes one name as a text, several as a list or with commas, and none as nothing."""
    if not value:
        return []
    return [str(text) for text in value] if isinstance(value, list) else [text.strip() for text in str(value).split(",")]


def _description(data_id: int, timeout: float) -> Any:
    url = f"{openml_address()}/data/{data_id}"
    with _open(url, timeout) as response:
        content = b"".join(_pieces(response, url, timeout))
    try:
        return json.loads(content)["data_set_description"]
    except (ValueError, KeyError, TypeError) as error:
        raise _PassingError(f"{url} answered with something else than the description of a data set") from error


def _check_description(description: Any, data_id: int, name: str) -> None:
    if not isinstance(description, dict):
        raise DownloadError(f"OpenML's description of {data_id} is no JSON object")
    lacking = [key for key in ("id", "name", "url", "format", "default_target_attribute") if not description.get(key)]
    if lacking:
        raise DownloadError(f"OpenML's description of {data_id} lacks {', '.join(lacking)}")
    if (str(description["id"]), str(description["name"]).lower()) != (str(data_id), name.lower()):
        raise DownloadError(
            f"OpenML describes {description['name']!r} with the id {description['id']}, "
            f"but {name!r} with the id {data_id} was asked for"
        )
    if str(description["format"]).lower() not in {"arff", "sparse_arff"}:
        raise DownloadError(f"OpenML has {data_id} as {description['format']}, but only ARFF can be read")


def _download(description: dict[str, Any], path: Path, timeout: float) -> str:
    """Write the file and return its MD5, which must be the one of the description where that has one."""
    url = str(description["url"])
    digest = hashlib.md5(usedforsecurity=False)
    with _open(url, timeout) as response, path.open("wb") as file:
        for piece in _pieces(response, url, timeout):
            digest.update(piece)
            file.write(piece)
    expected = description.get("md5_checksum")
    if expected and digest.hexdigest() != str(expected).lower():
        raise _PassingError(f"the file at {url} has the MD5 {digest.hexdigest()}, but OpenML promises {expected}")
    return digest.hexdigest()


def _open(url: str, timeout: float) -> HTTPResponse:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadError(f"{url!r} is not an address of the web")
    request = Request(url, headers={"User-Agent": f"fcca/{version('fcca')}"})
    try:
        response: HTTPResponse = urlopen(request, timeout=timeout)
    except HTTPError as error:
        with error:
            kind = _PassingError if error.code in BUSY else DownloadError
            raise kind(f"{url} answered {error.code} {error.reason}{_openml_message(error)}") from error
    except (URLError, HTTPException, OSError) as error:
        raise _PassingError(f"{url} could not be reached: {_reason(error, timeout)}") from error
    return response


def _openml_message(error: HTTPError) -> str:
    """OpenML's own words, where its error comes with them."""
    try:
        message = json.loads(error.read(PIECE))["error"]["message"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return ""
    return f" ({message})"


def _pieces(response: HTTPResponse, url: str, timeout: float) -> Iterator[bytes]:
    """Yield what arrives, piece by piece; an end before the announced length is an error."""
    announced = response.length
    received = 0
    end = time.monotonic() + PATIENCE
    while True:
        try:
            piece = response.read1(PIECE)
        except (HTTPException, OSError) as error:
            raise _PassingError(f"{url} broke off after {received:,} bytes: {_reason(error, timeout)}") from error
        if not piece:
            break
        received += len(piece)
        if time.monotonic() > end:
            raise DownloadError(f"{url} is too slow: {received:,} bytes in {PATIENCE:g} s")
        yield piece
    if announced is not None and received != announced:
        raise _PassingError(f"{url} broke off after {received:,} of {announced:,} bytes")


def _reason(error: Exception, timeout: float) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout:g} s"
    return str(reason) or type(reason).__name__


def _retried(call: Callable[[], _Answer]) -> _Answer:
    for attempt in range(ATTEMPTS - 1):
        try:
            return call()
        except _PassingError:
            time.sleep(PAUSE * 2**attempt)
    return call()
