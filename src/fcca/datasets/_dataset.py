"""A data set and the paper's way to divide its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from fcca.datasets._catalog import PaperSettings
from fcca.exceptions import InvalidInputError

Positions = NDArray[np.intp]

#: The seed with which the paper's authors draw the external test rows.
PAPER_SEED = 100
PAPER_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Fold:
    """Positions of rows: to train on, held out for the test, and in no fold at all."""

    training: Positions
    held_out: Positions
    external: Positions


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification table with its origin and what is missing from it.

    Parameters
    ----------
    name : str
        What :func:`fcca.datasets.load` calls it.
    X : DataFrame
        Features as the source gives them, unscaled; columns of categories have pandas' ``category`` type, missing cells
        are NaN.
    y : Series
        Class of every row.
    target_name : str
        Column that the classes were read from.
    positive : str
        What class 1 means; empty where there are more than two classes, or where nobody said.
    source : str
        Path of the file, ``"OpenML 59"`` or ``"scikit-learn"``.
    complete : bool
        Whether all rows of the original are here. Always True where the original's size is not known.
    note : str
        What a table of results must say of this copy: that it is a part, that the paper prints another size. Empty where
        there is nothing to say.
    description : str
        What the data is about.
    original_rows : int or None
        Rows of the original.
    paper : PaperSettings or None
        What the paper's Tables 1 and 2 print, for the data sets of the paper.
    """

    name: str
    X: pd.DataFrame = field(repr=False)
    y: pd.Series = field(repr=False)
    target_name: str
    positive: str
    source: str
    complete: bool
    note: str
    description: str
    original_rows: int | None
    paper: PaperSettings | None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def features(self) -> int:
        """How many features there are."""
        return self.X.shape[1]

    @property
    def categorical(self) -> list[str]:
        """Names of the features that are categories."""
        return [str(column) for column, kind in self.X.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]

    def split(self, seed: int | None = None) -> tuple[Positions, Positions]:
        """Positions of the rows for the folds, and of the external test rows.

        The paper trains on 5,000 random rows of its big data sets and tests on all others too. A copy with a part of the
        rows only is all for the folds: what is left of it would be no external test to speak of.

        Parameters
        ----------
        seed : int or None, default=None
            Seed of the draw. None is the seed of the paper's authors.

        Returns
        -------
        training, external : arrays of int
            Row positions; the external ones in the order in which they were drawn, and none where the paper has none.
        """
        seed = PAPER_SEED if seed is None else seed
        everything = np.arange(self.rows, dtype=np.intp)
        wanted = self.paper.training_rows if self.paper is not None and self.paper.external_rows else self.rows
        n_external = self.rows - wanted if self.complete else 0
        if n_external <= 0:
            return everything, everything[:0]
        external = pd.Series(everything).sample(n=n_external, random_state=seed).to_numpy()
        return np.setdiff1d(everything, external, assume_unique=True), external

    def folds(self, n: int = PAPER_FOLDS, seed: int | None = None) -> list[Fold]:
        """Stratified folds for cross-validation, by default the paper's.

        Parameters
        ----------
        n : int, default=5
            How many folds.
        seed : int or None, default=None
            None takes the rows in their order, and the external rows as the paper's authors draw them. A number shuffles
            the rows first and draws other external rows.

        Returns
        -------
        list of Fold
            Positions of the rows in ``X`` and ``y``; the same ``external`` in each.

        Examples
        --------
        >>> from fcca.datasets import load
        >>> iris = load("iris")
        >>> [(len(fold.training), len(fold.held_out), len(fold.external)) for fold in iris.folds()]
        [(120, 30, 0), (120, 30, 0), (120, 30, 0), (120, 30, 0), (120, 30, 0)]
        """
        training, external = self.split(seed)
        labels = self.y.to_numpy()[training]
        rarest = int(pd.Series(labels).value_counts().min())
        if not 2 <= n <= rarest:
            raise InvalidInputError(
                f"{n} folds cannot be made of {self.name}: give at least 2 and at most {rarest}, "
                "the number of rows of its rarest class."
            )
        splitter = StratifiedKFold(n) if seed is None else StratifiedKFold(n, shuffle=True, random_state=seed)
        return [
            Fold(training[fitted], training[tested], external)
            for fitted, tested in splitter.split(np.empty((len(training), 0)), labels)
        ]
