"""Classifiers from files: told apart by what is in them, and never by running code that a file brings along."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from sklearn.base import is_classifier

from fcca._documents import without_repetition
from fcca._files import as_path, regular_content
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._damage import check_archive, check_usable, damage_told
from fcca.models._native import as_classifier
from fcca.models._stored_catboost import check_binary
from fcca.models._stored_catboost import check_document as check_catboost_document
from fcca.models._stored_ensembles import check_stored_ensembles
from fcca.models._stored_lightgbm import check_text
from fcca.models._stored_trees import check_stored_trees
from fcca.models._stored_xgboost import check_document as check_xgboost_document
from fcca.models._stored_xgboost import check_ubjson

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
        "sklearn.calibration._TemperatureScaling",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._classification.balanced_accuracy_score",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        "sklearn.utils.validation.check_array",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
    }
)
EXTRAS = {"xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost", "interpret": "ebm", "skops": "skops"}

PICKLE_SUFFIXES = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
# What gzip, bzip2, xz, lz4 and zlib begin with; joblib compresses pickles by each of them.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
LARGEST_FILE = 4 * 2**30  # bytes
ZIP, CATBOOST_BINARY, LIGHTGBM_TEXT = b"PK\x03\x04", b"CBM1", b"tree\n"


def load_model(path: str | Path) -> Any:
    """Load a fitted classifier from a file.

    Parameters
    ----------
    path : str or Path
        A file of skops, XGBoost, LightGBM or CatBoost, of at most 4 GiB. What it is, is seen from what is in it.

    Returns
    -------
    classifier
        With ``predict``, ``predict_proba`` and ``classes_``; :func:`fcca.read_model` reads it. It is fitted already:
        put a scikit-learn one into a FrozenEstimator where it is not to be fitted again.

    Raises
    ------
    InvalidInputError
        For a file that is missing, empty, too large, compressed, damaged or of no known format, for a directory, device or
        pipe, for a file that holds something else than a classifier, for a pickle, and for a skops file with types that
        are not known to be harmless.
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
    path = as_path(path)
    content = file_content(path)
    classifier = _loader(path, content)(path, content)
    kind = type(classifier).__name__
    with damage_told(path, f"a {kind}"):
        if not is_classifier(classifier):
            raise InvalidInputError(f"{path} holds a {kind}, not a classifier. Save the fitted classifier.")
        if not hasattr(classifier, "classes_"):
            raise InvalidInputError(f"{path} holds a {kind} that is not fitted. Fit it before you save it: model.fit(X, y).")
        check_usable(classifier)
    return classifier


def file_content(path: Path, formats: str = FORMATS) -> bytes:
    """What is in a file, or an error that says why nothing is read.

    Parameters
    ----------
    path : Path
    formats : str
        What to say of formats that can be loaded.
    """
    try:
        content = regular_content(path, LARGEST_FILE)
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}. Formats that can be loaded: {formats}.") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} Formats that can be loaded: {formats}.") from error
    except (OSError, ValueError) as error:  # a ValueError for what no file can be called
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{str(path)!r} cannot be read: {reason}.") from error
    if not content:
        raise InvalidInputError(f"{path} is empty. Formats that can be loaded: {formats}.")
    return content


def _loader(path: Path, content: bytes) -> Callable[[Path, bytes], Any]:
    """The function that loads what this file holds."""
    check_unpacked(path, content, "skops.io.dump(joblib.load(file), 'model.skops')")
    if content.startswith(ZIP):
        return _load_skops
    if content.startswith(CATBOOST_BINARY):
        return partial(_load_catboost, check=lambda: check_binary(content))
    if content.startswith((LIGHTGBM_TEXT, LIGHTGBM_TEXT.replace(b"\n", b"\r\n"))):
        return _load_lightgbm
    if content.startswith(b"{") and b"learner" in content[:32] and content[1:].lstrip()[:1] not in (b'"', b"}"):
        return partial(_load_xgboost, check=lambda: check_ubjson(content))  # UBJSON: a type follows the brace
    if content.lstrip()[:1] == b"{":
        return _json_loader(path, content)
    raise InvalidInputError(
        f"{path} is of no known format: it begins with {content[:16]!r}. Formats that can be loaded: {FORMATS}."
    )


def check_unpacked(path: Path, content: bytes, instead: str) -> None:
    """Refuse pickles, which are code, and compressed files, in which there may be one.

    Parameters
    ----------
    path : Path
    content : bytes
    instead : str
        What saves the same without code.
    """
    advice = f"Where you trust it, load it yourself and save it without code: {instead}."
    # Protocols 2 and later begin with the opcode PROTO.
    is_pickle = content[0] == 0x80 and content[1:2] <= b"\x08" and content.endswith(b".")
    if is_pickle or path.suffix.lower() in PICKLE_SUFFIXES:
        raise InvalidInputError(f"{path} is a pickle, and loading one runs whatever code is in it. {advice}")
    if content.startswith(COMPRESSED):
        raise InvalidInputError(
            f"{path} is compressed. Unpack it first, for example with gunzip. Where a pickle is in it, as joblib writes "
            f"them, loading it would run whatever code is in it. {advice}"
        )


def _json_loader(path: Path, content: bytes) -> Callable[[Path, bytes], Any]:
    """XGBoost and CatBoost both write JSON."""
    constants: list[str] = []  # NaN and infinities, which are no numbers of JSON

    def constant(name: str) -> float:
        constants.append(name)
        return float(name)

    try:
        document = json.loads(content.decode(), object_pairs_hook=without_repetition, parse_constant=constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise InvalidInputError(
            f"{path} begins like JSON and is damaged: {error}. It may have been cut off on the way; save it again."
        ) from error
    if "learner" in document:
        return partial(_load_xgboost, check=lambda: check_xgboost_document(document))
    if "features_info" in document and "model_info" in document:
        return partial(_load_catboost, check=lambda: check_catboost_document(document, constants), by_name=True)
    keys = ", ".join(repr(key) for key in list(document)[:5]) or "nothing"
    raise InvalidInputError(
        f"{path} is JSON, but neither XGBoost's nor CatBoost's: it has {keys}. Formats that can be loaded: {FORMATS}."
    )


def _library(name: str, path: Path, what: str) -> ModuleType:
    """Import what a file needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedModelError(
            f"{path} is {what}, and {name.partition('.')[0]} is not installed. "
            f"Install it: pip install 'fcca[{EXTRAS[name.partition('.')[0]]}]'."
        ) from error


def skops_library(path: Path) -> ModuleType:
    """skops.io, for a file that it reads or is to write."""
    return _library("skops.io", path, "a skops file")


def loaded_skops(path: Path, content: bytes, trusted: Collection[str] = TRUSTED_TYPES) -> Any:
    """What a skops file holds, checked before it is made and before it is used.

    Parameters
    ----------
    path : Path
        For messages.
    content : bytes
    trusted : collection of str
        Types that may be in it, beside those that skops itself takes for harmless.
    """
    what = "a skops file"
    skops = skops_library(path)
    with damage_told(path, what):
        check_archive(content)
        unknown = skops.get_untrusted_types(data=content)
    refused = sorted(set(unknown).difference(trusted))
    if refused:
        raise InvalidInputError(
            f"{path} holds types that are not known to be harmless: {', '.join(refused)}. Where you trust it, load it "
            "yourself with skops.io.load(file, trusted=[…]) and pass on the classifier itself."
        )
    with damage_told(path, what):
        try:
            found = skops.loads(content, trusted=unknown)
        except ImportError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            raise UnsupportedModelError(
                f"{path} needs {missing}, which is not installed. Install it: pip install 'fcca[{EXTRAS[missing]}]'."
            ) from error
        check_stored_trees(found, path)
        check_stored_ensembles(found, path)
    return found


def _load_skops(path: Path, content: bytes) -> Any:
    found = loaded_skops(path, content)
    with damage_told(path, "a skops file"):
        return as_classifier(found) if hasattr(found, "predict") else found


def _load_xgboost(path: Path, content: bytes, check: Callable[[], None]) -> Any:
    xgboost = _library("xgboost", path, "an XGBoost model")
    booster = xgboost.Booster()
    with damage_told(path, "an XGBoost model"):
        check()
        booster.load_model(bytearray(content))  # from memory, so that the content and not the suffix tells the format
        return as_classifier(booster)


def _load_lightgbm(path: Path, content: bytes) -> Any:
    lightgbm = _library("lightgbm", path, "a LightGBM model")
    with damage_told(path, "a LightGBM model"):
        text = content.decode().replace("\r\n", "\n")
        check_text(text)
        return as_classifier(lightgbm.Booster(model_str=text))


def _load_catboost(path: Path, content: bytes, check: Callable[[], None], *, by_name: bool = False) -> Any:
    catboost = _library("catboost", path, "a CatBoost model")
    model = catboost.CatBoost()
    with damage_told(path, "a CatBoost model"):
        check()
        if by_name:
            with TemporaryDirectory() as folder:  # CatBoost does not take it from memory, and the file may have changed
                copy = Path(folder) / "model.json"
                copy.write_bytes(content)
                model.load_model(str(copy), format="json")
        else:
            model.load_model(blob=content)
        return as_classifier(model)
