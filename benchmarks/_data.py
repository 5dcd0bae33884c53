"""The data sets of the benchmarks and the paper's protocol on them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

Floats = NDArray[np.float64]

#: The paper's data sets with the paper's p1 (Table 2).
PAPER_P1 = {"boston": 1.0, "ionosphere": 1.0, "arrhythmia": 1.0, "magic": 0.7, "particle": 0.7, "vehicle": 0.7}
#: Rows to train on where the rest is an external test set.
TRAINING_ROWS = {"magic": 5000}
SEED = 100


@dataclass(frozen=True)
class PaperData:
    """One data set, scaled to [0, 1] by its rows for the folds; ``external`` rows are in no fold."""

    name: str
    feature_names: list[str]
    X: Floats
    y: NDArray[np.int64]
    external_rows: Floats
    external_labels: NDArray[np.int64]

    @property
    def p1(self) -> float:
        return PAPER_P1[self.name]

    def folds(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Training and held-out rows of the paper's five folds: stratified, rows in their order."""
        return list(StratifiedKFold(5).split(self.X, self.y))


def data_folder() -> Path:
    """The folder that FCCA_DATA names; ends the program with a message where there is none."""
    named = os.environ.get("FCCA_DATA")
    if not named or not Path(named).is_dir():
        sys.exit(
            f"No data at FCCA_DATA={named}. Set it to a folder with boston.csv, ionosphere.csv, … (last column: label)."
        )
    return Path(named)


def load_frame(name: str) -> pd.DataFrame:
    """One CSV file, features first, the last column named ``label``."""
    path = data_folder() / f"{name}.csv"
    if not path.is_file():
        sys.exit(f"{path} is missing. Set FCCA_DATA to a folder that has {name}.csv (features first, last column: label).")
    frame = pd.read_csv(path)
    if frame.columns[-1] != "label":
        sys.exit(f"{path}: the last column must be named label, not {frame.columns[-1]!r}.")
    return frame


def load_paper_data(name: str) -> PaperData:
    """A data set of the paper, as the authors prepare it: the external rows are drawn first, with seed 100."""
    frame = load_frame(name)
    n_external = len(frame) - TRAINING_ROWS.get(name, len(frame))
    external = frame.sample(n=n_external, random_state=SEED)
    training = frame.drop(index=external.index)
    scaler = MinMaxScaler().fit(_features(training))
    external_rows = scaler.transform(_features(external)) if n_external else np.empty((0, frame.shape[1] - 1))
    return PaperData(
        name,
        [str(column) for column in frame.columns[:-1]],
        scaler.transform(_features(training)),
        training["label"].to_numpy(),
        external_rows,
        external["label"].to_numpy(),
    )


def paper_target() -> GradientBoostingClassifier:
    """The paper's target model, unfitted."""
    return GradientBoostingClassifier(n_estimators=100, max_depth=1, learning_rate=0.1, random_state=SEED)


def _features(frame: pd.DataFrame) -> Floats:
    return frame.iloc[:, :-1].to_numpy(dtype=np.float64)
