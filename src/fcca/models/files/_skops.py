"""Load skops files.

Types are checked before objects are created, and objects are checked before use.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.exceptions import NotFittedError

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._native import NativeClassifier
from fcca.models.files._load_errors import damage_as_invalid_input
from fcca.models.files._model_checks import check_usable
from fcca.models.files._sklearn_objects import check_sklearn_objects, objects_in
from fcca.models.files._skops_constructors import check_constructors
from fcca.models.pipelines._table_coder import TableCoder
from fcca.tables import Column, Columns, PowerOfTwoScaler

ZIP = b"PK\x03\x04"

# Types of supported models that skops does not trust. skops distrusts scikit-learn's trees because their nodes are used
# unchecked: they are checked here. skops lists the function in a partial under the function's name.
TRUSTED_TYPES = frozenset(
    {
        *(f"{kind.__module__}.{kind.__qualname__}" for kind in (Column, Columns, PowerOfTwoScaler, TableCoder)),
        "catboost.core.CatBoostClassifier",
        "collections.OrderedDict",
        "fcca.cli._xgboost.XGBClassifier",
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
BOOSTERS = frozenset(
    {"catboost.core.CatBoostClassifier", "lightgbm.sklearn.LGBMClassifier", "xgboost.sklearn.XGBClassifier"}
)

MOST_GROWTH, MOST_BYTES = 100, 2**30
MOST_OF_SCHEMA = 2**26  # JSON takes up to 20 times its size in memory; a boosting of 1,000 trees has a schema of 21 MB


def library_for(path: Path, name: str) -> ModuleType:
    """Import the library ``name``, which is needed to load the file ``path``.

    Raise an UnsupportedModelError if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise _missing(path, name.partition(".")[0]) from error


def _missing(path: Path, library: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{library} is required for {path}, but it is not installed. Install it: pip install 'fcca[{EXTRAS[library]}]'."
    )


def skops_library(path: Path) -> ModuleType:
    """Import ``skops.io``, which is needed to read or write the file ``path``."""
    return library_for(path, "skops.io")


def load_skops(path: Path, content: bytes, trusted: Collection[str] = TRUSTED_TYPES) -> Any:
    """Load the object in a skops file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : bytes
        The content of the file.
    trusted : collection of str
        Dotted names of the types that the file may contain, in addition to the types that skops trusts.
    """
    what = "a skops file"
    skops = skops_library(path)
    with damage_as_invalid_input(path, what):
        check_archive(content)
        unknown = skops.get_untrusted_types(data=content)
    refused = sorted(set(unknown).difference(trusted))
    if refused:
        raise InvalidInputError(
            f"{path} holds types that are not known to be safe: {', '.join(refused)}. If you trust the file, load it "
            "yourself with skops.io.load(file, trusted=[…]), and pass the loaded classifier instead of the file."
        )
    with damage_as_invalid_input(path, what):
        try:
            found = skops.loads(content, trusted=unknown)
        except ImportError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            raise _missing(path, missing) from error
        check_sklearn_objects(found, path)
        _check_boosters(found)
    return found


def check_archive(content: bytes) -> None:
    """Check the unpacked size and the loaders of a skops file.

    A loader is the class of skops that creates an object. Raise a ValueError if the size is too large or a loader is not
    allowed.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > max(MOST_BYTES, MOST_GROWTH * len(content)):
            raise ValueError(f"it has {len(content):,} bytes, but {size:,} after unpacking, which is too large")
        schema_size = archive.getinfo("schema.json").file_size
        if schema_size > MOST_OF_SCHEMA:
            raise ValueError(
                f"its schema.json has {schema_size:,} bytes, more than the limit of {MOST_OF_SCHEMA:,}. If you trust the "
                "file, load it yourself with skops.io.load, and pass the loaded classifier instead of the file"
            )
        check_constructors(json.loads(archive.read("schema.json")))


def stored_class(content: bytes) -> str:
    """Return the dotted name of the class of the object in a skops file; empty if the file is damaged.

    No object is created.
    """
    try:
        check_archive(content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            schema = json.loads(archive.read("schema.json"))
        return f"{schema['__module__']}.{schema['__class__']}"
    except (ValueError, LookupError, TypeError, zipfile.BadZipFile, RecursionError, OSError):
        return ""


def _check_boosters(found: Any) -> None:
    """Check all fitted boosters inside a loaded object.

    These are classifiers of XGBoost, LightGBM and CatBoost.
    """
    for part in objects_in(found):
        names = {f"{base.__module__}.{base.__qualname__}" for base in type(part).__mro__}
        if isinstance(part, NativeClassifier) or not names.isdisjoint(BOOSTERS):
            with suppress(NotFittedError):  # an unfitted parameter of another estimator
                check_usable(part)
