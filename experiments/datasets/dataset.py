"""A data set, and its division into the paper's folds and external rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from experiments.datasets.catalog import PaperSettings
from fcca.exceptions import InvalidInputError

Positions = NDArray[np.intp]

#: The seed with which the paper's authors draw the external test rows.
PAPER_SEED = 100
PAPER_FOLDS = 5


@dataclass(frozen=True, eq=False)
class FoldRows:
    """Row positions of one fold: training rows, held-out rows, and external rows that are in no fold."""

    training: Positions
    held_out: Positions
    external: Positions


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification table with its origin.

    Parameters
    ----------
    name : str
        The name given to :func:`experiments.datasets.load`.
    X : DataFrame
        Unscaled features. Categorical columns have pandas' ``category`` type; missing values are NaN.
    y : Series
        Class of every row.
    source : str
        Path of the file, ``"OpenML 59"`` or ``"scikit-learn"``.
    complete : bool
        True if the data set has all rows of the original, or if the size of the original is unknown.
    note : str
        Remarks for tables of results, for example that some rows are missing, or that the size differs from the paper.
    paper : PaperSettings or None
        The figures of the paper's Tables 1 and 2, for the data sets of the paper.
    """

    name: str
    X: pd.DataFrame = field(repr=False)
    y: pd.Series = field(repr=False)
    source: str
    complete: bool = True
    note: str = ""
    paper: PaperSettings | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def features(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def categorical(self) -> list[str]:
        """Names of the categorical features."""
        return [str(column) for column, kind in self.X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]

    def split(self) -> tuple[Positions, Positions]:
        """Return the positions of the rows for the folds, and of the external test rows.

        For its big data sets, the paper uses 5,000 random rows for the folds, and all other rows as external test rows. An
        incomplete data set has no external rows, because too few rows would be left for a test.

        Returns
        -------
        training, external : arrays of int
            Row positions. The external ones are in the order in which they were drawn.
        """
        everything = np.arange(self.rows, dtype=np.intp)
        wanted = self.paper.training_rows if self.paper is not None and self.paper.external_rows else self.rows
        n_external = self.rows - wanted if self.complete else 0
        if n_external <= 0:
            return everything, everything[:0]
        external = pd.Series(everything).sample(n=n_external, random_state=PAPER_SEED).to_numpy()
        return np.setdiff1d(everything, external, assume_unique=True), external

    def folds(self) -> list[FoldRows]:
        """Return the paper's five stratified folds. The rows are not shuffled."""
        training, external = self.split()
        labels = self.y.to_numpy()[training]
        rarest = int(pd.Series(labels).value_counts().min())
        if rarest < PAPER_FOLDS:
            raise InvalidInputError(
                f"The rarest class of {self.name} has {rarest} row(s), but {PAPER_FOLDS} folds need at least {PAPER_FOLDS}."
            )
        return [
            FoldRows(training[fitted], training[tested], external)
            for fitted, tested in StratifiedKFold(PAPER_FOLDS).split(np.empty((len(training), 0)), labels)
        ]
