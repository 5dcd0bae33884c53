"""The data sets of the benchmarks and the paper's protocol on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

import _results

sys.path.append(str(Path(__file__).resolve().parents[1]))  # experiments/ is not installed

from experiments.datasets import Dataset, DatasetNotFoundError, load

Floats = NDArray[np.float64]

#: The paper's data sets with the paper's p1 (Table 2).
PAPER_P1 = {"boston": 1.0, "ionosphere": 1.0, "arrhythmia": 1.0, "magic": 0.7, "particle": 0.7, "vehicle": 0.7}
SEED = 100
#: In scikit-learn, so at hand everywhere.
BREAST_CANCER = "breast cancer"


@dataclass(frozen=True)
class PaperData:
    """One data set. The rows of the folds define the scaling to [0, 1]; ``external`` rows are in no fold."""

    name: str
    feature_names: list[str]
    X: Floats
    y: NDArray[np.int64]
    external_rows: Floats
    external_labels: NDArray[np.int64]

    @property
    def p1(self) -> float:
        return PAPER_P1.get(self.name, 1.0)

    def folds(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Training and held-out rows of the paper's five stratified folds. The rows are not shuffled."""
        return list(StratifiedKFold(5).split(self.X, self.y))


def _load(name: str) -> Dataset:
    try:
        return load(name.replace(" ", "_"), download=False)
    except DatasetNotFoundError as error:
        sys.exit(str(error))


def at_hand(names: Sequence[str], *, instead: Sequence[str] = (BREAST_CANCER,)) -> list[str]:
    """List the data sets that are available in FCCA_DATA or scikit-learn, and print which ones are left out.

    If none is available, return ``instead``.
    """
    absent = []
    for name in names:
        try:
            load(name.replace(" ", "_"), download=False)
        except DatasetNotFoundError:
            absent.append(name)
    if absent:
        _results.skipped(f"{', '.join(absent)}: not in the folder that FCCA_DATA names")
    found = [name for name in names if name not in absent]
    if not found and instead:
        print(f"Instead: {', '.join(instead)}, which is in scikit-learn.")
    return found or list(instead)


def load_frame(name: str) -> pd.DataFrame:
    """Load a data set as a frame with the features first and ``label`` as the last column."""
    data = _load(name)
    return data.X.copy().assign(label=data.y)  # a copy is in one chunk


def load_paper_data(name: str) -> PaperData:
    """Load a data set of the paper, prepared as by the authors."""
    data = _load(name)
    training, external = data.split()
    X, y = data.X.to_numpy(dtype=np.float64), data.y.to_numpy()
    scaler = MinMaxScaler().fit(X[training])
    external_rows = scaler.transform(X[external]) if len(external) else np.empty((0, X.shape[1]))
    names = [str(column) for column in data.X.columns]
    return PaperData(name, names, scaler.transform(X[training]), y[training], external_rows, y[external])


def paper_target() -> GradientBoostingClassifier:
    """Return the paper's target model, unfitted."""
    return GradientBoostingClassifier(n_estimators=100, max_depth=1, learning_rate=0.1, random_state=SEED)
