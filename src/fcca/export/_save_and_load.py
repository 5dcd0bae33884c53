"""Save fitted objects to files, and load them without running code from the files."""

from __future__ import annotations

import re
import zipfile
from codecs import BOM_UTF8
from copy import copy
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from fcca import discretizers
from fcca.classifier import FCCAClassifier
from fcca.conditions import JSON_FORMAT, LARGEST
from fcca.constraints import Constraint
from fcca.counterfactuals import Counterfactuals, Moves
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.export._check_stored import SELECTION_PATH, check_stored, plain_path
from fcca.export._distilled_tree import DistilledTree
from fcca.export._from_json import tree_in
from fcca.export._scorecard_to_json import FORMAT as SCORECARD_FORMAT, scorecard_from_json, scorecard_to_json
from fcca.export._to_json import FORMAT, LARGEST as LARGEST_TREE, to_json
from fcca.models import ADAPTERS, DecidedAt
from fcca.models.files import (
    TRUSTED_TYPES,
    ZIP,
    check_not_pickled,
    damage_as_invalid_input,
    file_content,
    load_skops,
    skops_library,
    stored_class,
    try_in_child,
)
from fcca.scorecard import FCCAScorecard, Scorecard, ScorecardColumn
from fcca.selection import OptimalSelection, Selection
from fcca.tables import Column, Columns, StandIns
from fcca.thresholds import ThresholdTable
from fcca.trees import OptimalTreeClassifier, TreeStructure
from fcca.utils import as_path, atomic_outputs, check_length, parsed

__all__ = ["load", "save", "trusted_types"]

FORMATS = "fcca's documents (.json) and skops (.skops), as fcca.export.save writes them"
LONGEST_HEAD = 1000  # bytes of a JSON document in which its format is named

STORED = (
    *(getattr(discretizers, name) for name in discretizers.__all__),
    *(FCCAClassifier, FCCAScorecard, OptimalTreeClassifier, OptimalSelection, Scorecard, ScorecardColumn),
    *(ThresholdTable, TreeStructure, Counterfactuals, Moves, Selection, Column, Columns, StandIns, DecidedAt),
    *Constraint.kinds.values(),
)


def trusted_types() -> list[str]:
    """Return the names of the types that a .skops file of fcca may contain.

    Use them as ``skops.io.load(path, trusted=fcca.export.trusted_types())``. Types that skops itself trusts are not listed.
    :func:`load` is safer than skops alone: it also checks how the file builds its objects, and that the objects are
    consistent. Only :func:`load` converts a table such as ``selection_path_`` back to a data frame.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from fcca.export import trusted_types
    >>> "fcca.classifier._classifier.FCCAClassifier" in trusted_types()
    True
    """
    adapters = {f"fcca.models.readers.{module}.{name}" for module, name in ADAPTERS.values()}
    own = {f"{kind.__module__}.{kind.__qualname__}" for kind in STORED}
    return sorted({*TRUSTED_TYPES, *adapters, *own, "builtins.frozenset"})


def save(fitted: Any, path: str | Path) -> None:
    """Save a fitted object to a file, which :func:`load` reads.

    The file is written completely or not at all.

    Parameters
    ----------
    fitted : estimator, DistilledTree, Scorecard or ThresholdTable
    path : str or Path
        The suffix of the path determines the format.

        With ``.json``, the file contains a tree, a scorecard or a threshold table as a JSON document. The document is small
        and sufficient for predictions. An :class:`fcca.FCCAClassifier` is saved as its :class:`DistilledTree`, and an
        :class:`fcca.FCCAScorecard` as its :class:`fcca.scorecard.Scorecard`.

        With ``.skops``, the file contains the whole estimator with the black box and the counterfactuals, but without the
        training rows.

    Raises
    ------
    InvalidInputError
        If the object cannot be saved in this format, if the path is invalid, or if the estimator contains types that
        :func:`load` does not know.
    UnsupportedModelError
        If skops is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import load, save
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(classifier, folder / "tree.json")
    >>> load(folder / "tree.json").rules() == classifier.rules()
    True
    >>> save(classifier, folder / "classifier.skops")
    >>> load(folder / "classifier.skops").at_granularity(0.9, X, y).n_thresholds_ < classifier.n_thresholds_
    True
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        content = _encoded(_document(fitted))
    elif suffix == ".skops":
        content = _skops(fitted, path)
    else:
        raise InvalidInputError(
            f"The file name must end in .json or .skops, got {path.name!r}. Use .json for the tree, or .skops for the whole "
            "estimator."
        )
    with atomic_outputs(path.parent) as outputs:
        outputs.path(path.name).write_bytes(content)


def _document(fitted: Any) -> str:
    if isinstance(fitted, ThresholdTable):
        return fitted.to_json()
    if isinstance(fitted, FCCAClassifier | DistilledTree):
        return to_json(fitted)
    if isinstance(fitted, FCCAScorecard | Scorecard):
        return scorecard_to_json(fitted)
    raise InvalidInputError(
        f"A {type(fitted).__name__} cannot be saved as .json. Expected an FCCAClassifier, a DistilledTree, a scorecard or a "
        "ThresholdTable, such as the thresholds_ of a discretizer. Use .skops for a whole estimator."
    )


def _encoded(document: str) -> bytes:
    try:
        return document.encode()
    except UnicodeEncodeError as error:
        shown = document[max(0, error.start - 40) : error.end]
        raise InvalidInputError(
            f"A name or a label contains a character that UTF-8 cannot encode: the last character of {shown!r}. Change the "
            "name or label before fitting."
        ) from error


def _skops(fitted: Any, path: Path) -> bytes:
    if not isinstance(fitted, BaseEstimator | ThresholdTable):
        hint = " Save it as .json." if isinstance(fitted, DistilledTree | Scorecard) else ""
        raise InvalidInputError(
            f"Expected an estimator or a ThresholdTable to save as .skops, got {type(fitted).__name__}.{hint}"
        )
    skops = skops_library(path)
    try:
        content: bytes = skops.dumps(_storable(fitted), compression=zipfile.ZIP_DEFLATED)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:  # the error of skops is a TypeError
        raise InvalidInputError(
            f"The {type(fitted).__name__} contains an object that skops cannot write: {error}. Save its tree as .json."
        ) from error
    refused = sorted(set(skops.get_untrusted_types(data=content)).difference(trusted_types()))
    if refused:
        raise InvalidInputError(
            f"The {type(fitted).__name__} contains types that fcca.export.load does not know: {', '.join(refused)}. Save it "
            "with skops.io.dump, and load it with skops.io.load(path, trusted=[*fcca.export.trusted_types(), …])."
        )
    return content


def _storable(fitted: Any) -> Any:
    """Return a copy of the estimator that skops can write.

    The state of an unfinished ``partial_fit`` is left out, and data frames become dictionaries of lists.
    """
    if isinstance(fitted, FCCADiscretizer):
        fitted = fitted.without_chunks()
    if isinstance(fitted, FCCAClassifier | FCCAScorecard):
        own = vars(fitted)
        stored = copy(fitted)
        for name in ("discretizer", "discretizer_"):
            if name in own:
                setattr(stored, name, _storable(own[name]))
        if SELECTION_PATH in own:
            setattr(stored, SELECTION_PATH, plain_path(own[SELECTION_PATH]))
        return stored
    return fitted


def load(path: str | Path, *, trusted: bool = False) -> Any:
    """Load a file that :func:`save` wrote, without running code from it.

    The format is detected from the content, not from the name.

    Parameters
    ----------
    path : str or Path
        A regular file of at most 4 GiB. It is the JSON document of a tree, a scorecard or a threshold table, or the skops
        file of an estimator. The commands ``fcca distill`` and ``fcca scorecard`` also write such documents.
    trusted : bool, default=False
        By default, a skops file is first loaded in a subprocess, which takes some seconds. The reason is that a damaged
        black box can crash or hang the library that loads it. Set ``trusted=True`` to skip this trial. The types in the
        file are checked in both cases.

    Returns
    -------
    DistilledTree, Scorecard, ThresholdTable or estimator

    Raises
    ------
    InvalidInputError
        If the file is missing, empty, too large, compressed, damaged or of another format. If the path is a directory, a
        device or a pipe. If the file is a pickle, which is never opened, or contains unknown types or inconsistent objects.
        If loading it crashes the subprocess or exceeds its limits of time and memory.
    UnsupportedModelError
        If a library that the file needs is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcca import ThresholdTable
    >>> from fcca.export import load, save
    >>> path = Path(tempfile.mkdtemp()) / "thresholds.json"
    >>> save(ThresholdTable.from_list([("RM", 6.94)], ["RM", "LSTAT"]), path)
    >>> load(path).names()
    ['RM > 6.94']
    """
    path = as_path(path)
    content = file_content(path, FORMATS)
    check_not_pickled(path, content, "fcca.export.save(joblib.load(file), 'classifier.skops')")
    try:
        if not content.startswith(ZIP):
            return _from_document(content)
        if not trusted:
            try_in_child(_from_skops, path, content, "a skops file")
        return _from_skops(path, content)
    except InvalidInputError as error:
        if str(path) in str(error):
            raise
        raise InvalidInputError(f"{path} cannot be loaded: {error}") from error


def holds_predictor(path: Path) -> bool:
    """Return True if a file looks like a stored tree or scorecard of this package.

    Only the beginning of a JSON file and the class in a skops file are read. :func:`load` checks the whole file.
    """
    content = file_content(path, FORMATS)
    if content.startswith(ZIP):
        return stored_class(content).startswith(("fcca.classifier.", "fcca.scorecard.", "fcca.trees."))
    return re.search(rb'"format"\s*:\s*"fcca[-.]', content[:LONGEST_HEAD]) is not None


def _from_skops(path: Path, content: bytes) -> Any:
    loaded = load_skops(path, content, trusted_types())
    with damage_as_invalid_input(path, "a skops file"):
        if not isinstance(loaded, BaseEstimator | ThresholdTable):
            raise ValueError(f"it holds a {type(loaded).__name__}, which is not an estimator")
        check_stored(loaded)
    return loaded


def _from_document(content: bytes) -> DistilledTree | Scorecard | ThresholdTable:
    if content.removeprefix(BOM_UTF8).lstrip()[:1] != b"{":
        raise InvalidInputError(f"Unknown format: the file begins with {content[:16]!r}. Expected {FORMATS}.")
    found = parsed(content, LARGEST, "a document")
    if found.get("format") == JSON_FORMAT:
        return ThresholdTable.from_json(content)
    if found.get("format") == FORMAT:
        check_length(content, LARGEST_TREE, "a tree")
        return tree_in(found)
    if found.get("format") == SCORECARD_FORMAT:
        return scorecard_from_json(content)
    keys = ", ".join(repr(key[:40]) for key in list(found)[:5]) or "nothing"
    raise InvalidInputError(
        f"The JSON document is neither a tree, a scorecard nor a threshold table: it has the keys {keys}. Expected "
        f"{FORMATS}. For models of other libraries, use fcca distill --model-file."
    )
