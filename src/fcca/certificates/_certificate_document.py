"""The contents of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.constraints import Constraint
from fcca.export import DistilledTree
from fcca.thresholds import ThresholdTable

Label = str | int | float | bool
Longs = NDArray[np.int64]

TIMES = ("time_limit", "time_limit_per_row")


@dataclass(frozen=True)
class StatedCounterfactuals:
    """The counterfactuals that a certificate states, before they are checked.

    A move is the change of one column by a counterfactual.

    Attributes
    ----------
    row : ndarray of int
        Row number. This and the next four attributes have one entry per row that was searched for a counterfactual.
    target : tuple
        Class that the changed row is predicted as; None if there is no counterfactual.
    status : tuple of str
        Outcome of the search, such as ``optimal`` or ``infeasible``.
    cost, bound : ndarray
        Cost of the counterfactual, and a lower bound on the cost of all counterfactuals of the row. Infinite if the
        certificate does not state it.
    move_row, move_feature : ndarray of int
        Row number and position of the changed column. This and the next two attributes have one entry per move.
    move_from, move_to : tuple
        Old and new value: a number, a category, or None for a missing value.
    gap_row, gap_feature : ndarray of int
        Row numbers and column positions of deciding missing values. The prediction flips if such a value is filled in and
        nothing else changes.
    """

    row: Longs
    target: tuple[Label | None, ...]
    status: tuple[str, ...]
    cost: NDArray[np.float64]
    bound: NDArray[np.float64]
    move_row: Longs
    move_feature: Longs
    move_from: tuple[Label | None, ...]
    move_to: tuple[Label | None, ...]
    gap_row: Longs
    gap_feature: Longs


@dataclass(frozen=True)
class StatedSample:
    """The claim that a random sample of the rows was searched.

    Attributes
    ----------
    size : int
        Size of the sample, from which :class:`fcca.discretizers.RowOrder` computes its rows.
    searched, rows : int
        Number of rows that were searched, and of those that would be searched without a limit.
    reason : str
        Why no more rows were searched.
    level : float
        Probability that the interval of any condition does not hold the true share.
    conditions : int
        Number of all conditions that a counterfactual can cross.
    unfinished : int
        Weight of the rows whose searches did not finish.
    """

    size: int
    searched: int
    rows: int
    reason: str
    level: float
    conditions: int
    unfinished: int


@dataclass(frozen=True)
class StatedProof:
    """The claim of a certificate that a tree or a selection is optimal, or almost optimal."""

    objective: float
    lower_bound: float
    optimal: bool
    gap: float = 0.0


@dataclass(frozen=True)
class StatedParameters:
    """The parameters in a certificate.

    ``search`` holds the parameters of ``FCCADiscretizer``, ``rules`` its constraints, and ``selection`` the parameters of
    its selection. ``fit_to`` is the parameter of ``FCCAClassifier``. ``tree_is_limited`` is True if the search for the tree
    had a limit on time or nodes. All other attributes are parameters of ``OptimalTreeClassifier``.
    """

    search: dict[str, Any]
    rules: tuple[Constraint, ...]
    selection: dict[str, Any] | None
    fit_to: str
    criterion: str
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    regularization: float | None
    class_weight: tuple[tuple[Label, float], ...] | str | None
    max_nodes: int | None
    tree_is_limited: bool

    @property
    def search_is_limited(self) -> bool:
        """True if searches for counterfactuals had a time limit, so that some may have been stopped."""
        return any(self.search[name] is not None for name in TIMES)


@dataclass(frozen=True)
class SourceFile:
    """The file that ``fcca distill`` read, and the options that it was read with.

    Attributes
    ----------
    label : str
        Name of the column with the labels.
    categorical : tuple of str
        Columns that the user declared to hold categories.
    n_rows : int
        Number of rows in the file.
    left_out : ndarray of int
        Row numbers of the rows that were not used for training.
    fingerprint : str
        Fingerprint of all rows in the file.
    """

    label: str
    categorical: tuple[str, ...]
    n_rows: int
    left_out: Longs
    fingerprint: str


@dataclass(frozen=True)
class CertificateDocument:
    """The contents of a certificate whose form was checked.

    Its claims may still be false: :func:`fcca.certificates.verify` checks them. If the entries of the tree contradict each
    other, ``tree`` is None and ``contradiction`` gives the reason.
    """

    versions: dict[str, str]
    data_fingerprint: str | None
    n_rows: int | None
    columns: tuple[str, ...]
    classes: tuple[Label, ...]
    read: SourceFile | None
    model_fingerprint: str | None
    model_class: str
    decision_threshold: float | None
    parameters: StatedParameters
    statuses: dict[str, int]
    points: StatedCounterfactuals | None
    sample: StatedSample | None
    found: ThresholdTable
    kept: tuple[int, ...]
    selection: StatedProof | None
    tree: DistilledTree | None
    contradiction: str
    proof: StatedProof
