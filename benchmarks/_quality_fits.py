"""One fit of the quality benchmark: the method, its result and its measures."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import inspect
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

import _quality_tables
from _quality_tables import Floats, Integers, Split, split_of

SMOOTHING = 0.5
#: Measures of a fit; the sign says whether more is better.
MEASURES = {"accuracy": 1, "balanced accuracy": 1, "AUC": 1, "log-loss": -1}


@dataclass
class Fitted:
    """Probabilities and figures of a fitted method. A figure that does not apply to the method is None."""

    probability: Floats
    seconds: float
    leaves: int | None = None
    conditions: int | None = None
    columns: int | None = None
    black_box: Integers | None = None  # its predictions
    proven: bool | None = None


@dataclass(frozen=True)
class Method:
    """A classification method. ``fit`` gets a split and a time limit in seconds."""

    name: str
    group: str
    fit: Callable[[Split, float], Fitted]
    #: Import name and distribution of an optional library.
    library: tuple[str, str] = ("sklearn", "scikit-learn")
    #: Number of splits, if a method is slow.
    most_splits: int = 10
    #: Files whose content decides the result, besides the method's module.
    depends_on: Callable[[], tuple[Path, ...]] = field(default=tuple)

    @property
    def missing(self) -> str:
        """Reason why the method is skipped; empty if it can be run."""
        if importlib.util.find_spec(self.library[0]) is None:
            return f"{self.library[1]} is not installed (pip install 'fcca[bench]')"
        return ""

    @property
    def version(self) -> str:
        """A string that changes if earlier results are no longer valid."""
        files = (Path(inspect.getfile(self.fit)), Path(_quality_tables.__file__), Path(__file__), *self.depends_on())
        return f"{importlib.metadata.version(self.library[1])}-{digest(files)}"


@cache
def digest(files: tuple[Path, ...]) -> str:
    """Hash the content of files to eight hexadecimal digits."""
    found = hashlib.sha256()
    for path in files:
        found.update(path.read_bytes())
    return found.hexdigest()[:8]


class Timer:
    """CPU seconds of this process within a ``with`` block."""

    seconds = 0.0


@contextmanager
def timed() -> Iterator[Timer]:
    """Measure the CPU seconds of a block."""
    timer, begin = Timer(), time.process_time()
    yield timer
    timer.seconds = time.process_time() - begin


def leaf_probability(leaf: NDArray[Any], y: Integers, leaf_test: NDArray[Any], n_classes: int) -> Floats:
    """Compute the smoothed class probabilities of each held-out row's leaf, (w + ½) / (n + K/2).

    n is the number of training rows in the leaf, w the number of them in the class, and K the number of classes.
    """
    known, position = np.unique(np.concatenate([leaf, leaf_test]), return_inverse=True)
    weight = np.full((len(known), n_classes), SMOOTHING)
    np.add.at(weight, (position[: len(leaf)], y), 1.0)
    share: Floats = weight / weight.sum(axis=1, keepdims=True)
    return share[position[len(leaf) :]]


def smoothed(probability: Floats, n_rows: int) -> Floats:
    """Smooth the probabilities of a model without leaves, as if all training rows were in one leaf."""
    n_classes = probability.shape[1]
    found: Floats = (n_rows * probability + SMOOTHING) / (n_rows + SMOOTHING * n_classes)
    return found


def measures(fitted: Fitted, y: Integers) -> dict[str, float]:
    """Compute accuracy, balanced accuracy, AUC (one-vs-rest, macro), log-loss and fidelity on held-out rows."""
    probability = fitted.probability / fitted.probability.sum(axis=1, keepdims=True)
    n_classes = probability.shape[1]
    predicted = probability.argmax(axis=1)
    present = np.unique(y)
    scores = [roc_auc_score(y == k, probability[:, k]) for k in (present if n_classes > 2 else [1])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that is predicted and absent
        balanced = balanced_accuracy_score(y, predicted)
    found = {
        "accuracy": float(np.mean(predicted == y)),
        "balanced accuracy": float(balanced),
        "AUC": float(np.mean(scores)),
        "log-loss": float(log_loss(y, probability, labels=np.arange(n_classes))),
    }
    if fitted.black_box is not None:
        found["fidelity"] = float(np.mean(predicted == fitted.black_box))
    return found


def run_fit(method: Method, table: str, seed: int, limit: float) -> dict[str, Any]:
    """Fit one method on one split, and measure it."""
    split = split_of(table, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = method.fit(split, limit)
        found = measures(fitted, split.y_test)
    return {
        "rows": len(split.y),
        "held-out rows": len(split.y_test),
        **found,
        "leaves": fitted.leaves,
        "conditions": fitted.conditions,
        "columns": fitted.columns,
        "seconds": fitted.seconds,
        "proven": fitted.proven,
    }
