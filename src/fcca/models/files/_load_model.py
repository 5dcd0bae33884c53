"""Load classifiers from files.

The format of a file is recognised by its content, not by its name. Code in a file is never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from fcca.exceptions import InvalidInputError
from fcca.models._native import as_classifier
from fcca.models.files._catboost_file import check_steps
from fcca.models.files._load_errors import damage_as_invalid_input
from fcca.models.files._model_checks import check_usable
from fcca.models.files._skops import ZIP, library_for, load_skops
from fcca.models.files._trial_load import try_in_child
from fcca.utils import as_path, regular_content, without_repetition

FORMATS = (
    "skops (.skops) for scikit-learn and all other classifiers, XGBoost (.json, .ubj), LightGBM (.txt), "
    "CatBoost (.cbm, .json)"
)

PICKLE_SUFFIXES = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
# First bytes of gzip, bzip2, xz, lz4 and zlib. joblib compresses pickles with any of them.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
LARGEST_FILE = 4 * 2**30  # bytes
CATBOOST_BINARY, LIGHTGBM_TEXT = b"CBM1", b"tree\n"
XGBOOST_ROOT = 2**31 - 1  # parent of a root
LIGHTGBM_PARAMETER = re.compile(r"\[[a-z_0-9]+: .*\]", re.ASCII)

Load = Callable[[Path, bytes], Any]


def load_model(path: str | Path, *, trusted: bool = False) -> Any:
    """Load a fitted classifier from a file.

    The file is loaded by the library that wrote it. Some damaged files make these libraries crash or hang. So the file is
    first loaded in a child process, which also predicts some rows.

    Parameters
    ----------
    path : str or Path
        A file of skops, XGBoost, LightGBM or CatBoost, of at most 4 GiB. The format is read from the content, not from the
        name.
    trusted : bool, default=False
        Whether to skip the child process, which takes some seconds. Set it to True only for files that you wrote, because a
        damaged file may crash this process. The types in a skops file are checked in any case.

    Returns
    -------
    classifier
        A fitted classifier with ``predict``, ``predict_proba`` and ``classes_``, for :func:`fcca.read_model`. Wrap a
        scikit-learn classifier in a FrozenEstimator to prevent refitting.

    Raises
    ------
    InvalidInputError
        For a file that is missing, empty, too large, compressed, damaged or of an unknown format. For a directory, device or
        pipe. For a pickle, for a file without a classifier, and for a skops file with untrusted types. For a file that
        crashes the child process, or exceeds its limits of time and memory.
    UnsupportedModelError
        For a booster that is not a classifier, or if the library of the file is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import skops.io
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fcca.models import load_model
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> skops.io.dump(LogisticRegression(max_iter=5000).fit(*load_breast_cancer(return_X_y=True)), path)
    >>> load_model(path)
    LogisticRegression(max_iter=5000)
    """
    path = as_path(path)
    content = file_content(path)
    what, load = _format(path, content)
    if not trusted:
        try_in_child(_load_untrusted, path, content, what)
    return _checked(path, content, what, load)


def _load_untrusted(path: Path, content: bytes) -> Any:
    """Load and check a file of any format.

    The child process calls this function.
    """
    return _checked(path, content, *_format(path, content))


def _checked(path: Path, content: bytes, what: str, load: Load) -> Any:
    """Load a file, and check that it contains a usable classifier.

    The classifier must be fitted, and must predict some rows without an error.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        The content of the file.
    what : str
        Format of the file for messages, such as "an XGBoost model".
    load : callable
        ``load(path, content)`` returns the object in the file.
    """
    with damage_as_invalid_input(path, what):
        found = load(path, content)
        classifier = as_classifier(found) if hasattr(found, "predict") else found
    kind = type(classifier).__name__
    with damage_as_invalid_input(path, f"a {kind}"):
        if not is_classifier(classifier):
            raise InvalidInputError(f"{path} holds a {kind}, not a classifier. Save the fitted classifier.")
        if not hasattr(classifier, "classes_"):
            raise InvalidInputError(f"{path} holds a {kind} that is not fitted. Fit it before saving: model.fit(X, y).")
        check_usable(classifier)
    return classifier


def file_content(path: Path, formats: str = FORMATS) -> bytes:
    """Return the content of a regular file of at most 4 GiB.

    Parameters
    ----------
    path : Path
    formats : str
        Supported formats, for messages.

    Raises
    ------
    InvalidInputError
        If the file does not exist, is empty or too large, cannot be read, or is not a regular file.
    """
    try:
        content = regular_content(path, LARGEST_FILE)
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}. Supported formats: {formats}.") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} Supported formats: {formats}.") from error
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{str(path)!r} cannot be read: {reason}.") from error
    if not content:
        raise InvalidInputError(f"{path} is empty. Supported formats: {formats}.")
    return content


def check_not_pickled(path: Path, content: bytes, instead: str) -> None:
    """Raise an InvalidInputError for pickles and for compressed files.

    A compressed file may contain a pickle.

    Parameters
    ----------
    path : Path
    content : bytes
        The content of the file.
    instead : str
        Python code that saves the object in a format that cannot contain code. The error message recommends it.
    """
    advice = f"If you trust the file, load it yourself and save it in a format without code: {instead}."
    # Pickles of protocol 2 and later begin with the opcode PROTO.
    is_pickle = content[0] == 0x80 and content[1:2] <= b"\x08" and content.endswith(b".")
    if is_pickle or path.suffix.lower() in PICKLE_SUFFIXES:
        raise InvalidInputError(f"{path} is a pickle. Loading a pickle runs the code in it. {advice}")
    if content.startswith(COMPRESSED):
        raise InvalidInputError(
            f"{path} is compressed. Unpack it first, for example with gunzip. It may hold a pickle, as written by joblib. "
            f"Loading a pickle runs the code in it. {advice}"
        )


# --- formats ------------------------------------------------------------------------------------------------------------


def _format(path: Path, content: bytes) -> tuple[str, Load]:
    """Return the format of a file, and the function that loads it.

    The format is a string for messages, such as "an XGBoost model".
    """
    check_not_pickled(path, content, "skops.io.dump(joblib.load(file), 'model.skops')")
    if content.startswith(ZIP):
        return "a skops file", load_skops
    if content.startswith(CATBOOST_BINARY):
        return "a CatBoost model", _load_catboost
    if content.startswith((LIGHTGBM_TEXT, LIGHTGBM_TEXT.replace(b"\n", b"\r\n"))):
        return "a LightGBM model", _load_lightgbm
    if content.startswith(b"{") and b"learner" in content[:32] and content[1:].lstrip()[:1] not in (b'"', b"}"):
        return "an XGBoost model", _load_xgboost  # UBJSON: a type follows the brace
    if content.lstrip()[:1] == b"{":
        return _json_format(path, content)
    raise InvalidInputError(f"{path} has an unknown format: it begins with {content[:16]!r}. Supported formats: {FORMATS}.")


def _json_format(path: Path, content: bytes) -> tuple[str, Load]:
    """Return the format of a JSON file, and the function that loads it.

    JSON files of XGBoost and CatBoost are supported.
    """
    try:
        document = json.loads(content.decode(), object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise InvalidInputError(
            f"{path} begins like JSON, but it is damaged: {error}. It may be truncated. Save the model again."
        ) from error
    if "learner" in document:
        return "an XGBoost model", _load_xgboost
    if "features_info" in document and "model_info" in document:
        return "a CatBoost model", _load_catboost_json
    keys = ", ".join(repr(key) for key in list(document)[:5]) or "nothing"
    raise InvalidInputError(
        f"{path} is JSON, but written neither by XGBoost nor by CatBoost: its keys are {keys}. Supported formats: {FORMATS}."
    )


def _load_xgboost(path: Path, content: bytes) -> Any:
    booster = library_for(path, "xgboost").Booster()
    booster.load_model(bytearray(content))  # from memory, so that the content tells the format, not the suffix
    _check_parents(json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"])
    return booster


def _check_parents(gradient_booster: dict[str, Any]) -> None:
    """Check that the parent of each node exists.

    Otherwise, XGBoost would read outside of its arrays, and may crash.
    """
    model = gradient_booster.get("gbtree", gradient_booster)["model"]
    for tree in model.get("trees", ()):
        parents = np.array(tree["parents"])
        if np.any((parents < 0) | (parents >= len(parents)) & (parents != XGBOOST_ROOT)):
            raise ValueError("a node of a tree has a parent that does not exist")


def _load_lightgbm(path: Path, content: bytes) -> Any:
    text = content.decode().replace("\r\n", "\n")
    parameters = text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    # LightGBM reads beyond the end of other lines, and may or may not crash.
    if not all(LIGHTGBM_PARAMETER.fullmatch(line) for line in parameters.split("\n") if line):
        raise ValueError("its parameters are damaged")
    return library_for(path, "lightgbm").Booster(model_str=text)


def _load_catboost(path: Path, content: bytes) -> Any:
    model = library_for(path, "catboost").CatBoost()
    check_steps(content)
    model.load_model(blob=content)
    return model


def _load_catboost_json(path: Path, content: bytes) -> Any:
    model = library_for(path, "catboost").CatBoost()
    with TemporaryDirectory() as folder:  # CatBoost cannot load JSON from memory, and the original file may have changed
        copy = Path(folder) / "model.json"
        copy.write_bytes(content)
        model.load_model(str(copy), format="json")
    return model
