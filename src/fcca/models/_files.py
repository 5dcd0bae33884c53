"""Classifiers from files: told apart by what is in them, and never by running code that a file brings along."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.base import is_classifier

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._native import as_classifier
from fcca.models._stored_trees import check_stored_trees

FORMATS = "skops (.skops) for scikit-learn and all others, XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm, .json)"

# What skops does not take for harmless by itself and what models that can be read are made of. Trees are in it because
# their nodes are used unchecked: they are checked here. What a partial function calls, skops lists by its own name.
TRUSTED_TYPES = frozenset(
    {
        "catboost.core.CatBoostClassifier",
        "collections.OrderedDict",
        "fcca._columns.Column",
        "fcca._columns.Columns",
        "fcca._units.PowerOfTwoScaler",
        "fcca.cli._xgboost.XGBClassifier",
        "fcca.models._table_coder.TableCoder",
        "functools.partial",
        "interpret.glassbox._ebm._ebm.ExplainableBoostingClassifier",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "numpy.dtype",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.tree._tree.Tree",
        "sklearn.utils.validation.check_array",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
    }
)
EXTRAS = {"xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost", "interpret": "ebm", "skops": "skops"}

PICKLE_SUFFIXES = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
ZIP, CATBOOST_BINARY, LIGHTGBM_TEXT = b"PK\x03\x04", b"CBM1", b"tree\n"


def load_model(path: str | Path) -> Any:
    """Load a fitted classifier from a file.

    Parameters
    ----------
    path : str or Path
        A file of skops, XGBoost, LightGBM or CatBoost. What it is, is seen from what is in it.

    Returns
    -------
    classifier
        With ``predict``, ``predict_proba`` and ``classes_``; :func:`fcca.read_model` reads it. It is fitted already:
        put a scikit-learn one into a FrozenEstimator where it is not to be fitted again.

    Raises
    ------
    InvalidInputError
        For a file that is missing, empty, damaged or of no known format, for one that holds something else than a
        classifier, for a pickle, and for a skops file with types that are not known to be harmless.
    UnsupportedModelError
        For a booster that is not a classifier, or where the library that the file needs is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import skops.io
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fcca.models._files import load_model
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> skops.io.dump(LogisticRegression(max_iter=5000).fit(*load_breast_cancer(return_X_y=True)), path)
    >>> load_model(path)
    LogisticRegression(max_iter=5000)
    """
    path = Path(path)
    content = _content(path)
    classifier = _loader(path, content)(path, content)
    if not is_classifier(classifier):
        raise InvalidInputError(f"{path} holds a {type(classifier).__name__}, not a classifier. Save the fitted classifier.")
    if not hasattr(classifier, "classes_"):
        raise InvalidInputError(
            f"{path} holds a {type(classifier).__name__} that is not fitted. Fit it before you save it: model.fit(X, y)."
        )
    return classifier


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}. Formats that can be loaded: {FORMATS}.") from error
    except IsADirectoryError as error:
        raise InvalidInputError(f"{path} is a directory. Name a file of one of these formats: {FORMATS}.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not content:
        raise InvalidInputError(f"{path} is empty. Formats that can be loaded: {FORMATS}.")
    return content


def _loader(path: Path, content: bytes) -> Callable[[Path, bytes], Any]:
    """The function that loads what this file holds."""
    if path.suffix.lower() in PICKLE_SUFFIXES or _is_pickle(content):
        raise InvalidInputError(
            f"{path} is a pickle, and loading one runs whatever code is in it. Where you trust it, load it yourself and "
            "save it without code: skops.io.dump(joblib.load(file), 'model.skops')."
        )
    if content.startswith(ZIP):
        return _load_skops
    if content.startswith(CATBOOST_BINARY):
        return _load_catboost_binary
    if content.startswith((LIGHTGBM_TEXT, LIGHTGBM_TEXT.replace(b"\n", b"\r\n"))):
        return _load_lightgbm
    if content.startswith(b"{") and b"learner" in content[:32] and content[1:].lstrip()[:1] not in (b'"', b"}"):
        return _load_xgboost  # UBJSON: a type follows the brace
    if content.lstrip()[:1] == b"{":
        return _json_loader(path, content)
    raise InvalidInputError(
        f"{path} is of no known format: it begins with {content[:16]!r}. Formats that can be loaded: {FORMATS}."
    )


def _is_pickle(content: bytes) -> bool:
    """Protocols 2 and later begin with the opcode PROTO; joblib compresses the same."""
    compressed = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
    return (content[0] == 0x80 and content[1:2] <= b"\x08" and content.endswith(b".")) or content.startswith(compressed)


def _json_loader(path: Path, content: bytes) -> Callable[[Path, bytes], Any]:
    """XGBoost and CatBoost both write JSON."""
    try:
        document = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInputError(
            f"{path} begins like JSON and is damaged: {error}. It may have been cut off on the way; save it again."
        ) from error
    if "learner" in document:
        return _load_xgboost
    if "features_info" in document and "model_info" in document:
        _check_catboost_document(path, document)
        return _load_catboost_json
    keys = ", ".join(repr(key) for key in list(document)[:5]) or "nothing"
    raise InvalidInputError(
        f"{path} is JSON, but neither XGBoost's nor CatBoost's: it has {keys}. Formats that can be loaded: {FORMATS}."
    )


def _check_catboost_document(path: Path, document: dict[str, Any]) -> None:
    """CatBoost itself loads documents without trees, and says nothing."""
    trees = document.get("oblivious_trees", document.get("trees"))
    if not isinstance(trees, list) or not trees or not all(isinstance(tree, dict) for tree in trees):
        raise _damaged(path, "a CatBoost model", ValueError("it has no trees"))
    if not isinstance(document["model_info"], dict) or not document["model_info"].get("params"):
        raise _damaged(path, "a CatBoost model", ValueError("it does not say how it was trained"))


def _library(name: str, path: Path, what: str) -> ModuleType:
    """Import what a file needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedModelError(
            f"{path} is {what}, and {name.partition('.')[0]} is not installed. "
            f"Install it: pip install 'fcca[{EXTRAS[name.partition('.')[0]]}]'."
        ) from error


def _damaged(path: Path, what: str, error: Exception) -> InvalidInputError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = re.sub(r"^(\[[\d:]+\] )?\S+:\d+: ", "", lines[0]).rstrip(" .:")  # without the place in the library's source
    return InvalidInputError(
        f"{path} looks like {what} and cannot be loaded: {reason}. Save it again, or load another file."
    )


def _load_skops(path: Path, content: bytes) -> Any:
    what = "a skops file"
    skops = _library("skops.io", path, what)
    try:
        unknown = skops.get_untrusted_types(data=content)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, AttributeError) as error:
        raise _damaged(path, what, error) from error
    refused = sorted(set(unknown) - TRUSTED_TYPES)
    if refused:
        raise InvalidInputError(
            f"{path} holds types that are not known to be harmless: {', '.join(refused)}. Where you trust it, load it "
            "yourself with skops.io.load(file, trusted=[…]) and pass on the classifier itself."
        )
    try:
        classifier = skops.loads(content, trusted=unknown)
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise _damaged(path, what, error) from error
        raise UnsupportedModelError(
            f"{path} needs {missing}, which is not installed. Install it: pip install 'fcca[{EXTRAS[missing]}]'."
        ) from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, AttributeError) as error:
        raise _damaged(path, what, error) from error
    check_stored_trees(classifier, path)
    return as_classifier(classifier) if hasattr(classifier, "predict") else classifier


def _load_xgboost(path: Path, content: bytes) -> Any:
    xgboost = _library("xgboost", path, "an XGBoost model")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))  # from memory, so that the content and not the suffix tells the format
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise _damaged(path, "an XGBoost model", error) from error
    return as_classifier(booster)


def _load_lightgbm(path: Path, content: bytes) -> Any:
    lightgbm = _library("lightgbm", path, "a LightGBM model")
    try:
        text = content.decode().replace("\r\n", "\n")
        _check_lightgbm_text(text)
        booster = lightgbm.Booster(model_str=text)
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise _damaged(path, "a LightGBM model", error) from error
    return as_classifier(booster)


def _check_lightgbm_text(text: str) -> None:
    """LightGBM itself does not survive every text that was cut off."""
    sizes = next((line for line in text.splitlines() if line.startswith("tree_sizes=")), "tree_sizes=")
    expected, found = len(sizes.partition("=")[2].split()), text.count("\nTree=")
    if expected != found or "\nend of trees" not in text:
        raise ValueError(f"it is cut off: {found} of {expected} trees are there")


def _load_catboost(path: Path, content: bytes, kind: str) -> Any:
    catboost = _library("catboost", path, "a CatBoost model")
    model = catboost.CatBoost()
    try:
        model.load_model(str(path), format=kind)
    except (catboost.CatBoostError, ValueError) as error:
        raise _damaged(path, "a CatBoost model", error) from error
    return as_classifier(model)


def _load_catboost_binary(path: Path, content: bytes) -> Any:
    return _load_catboost(path, content, "cbm")


def _load_catboost_json(path: Path, content: bytes) -> Any:
    return _load_catboost(path, content, "json")
