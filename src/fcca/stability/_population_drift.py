"""Drift: compare how new rows and old rows are spread over the bins between thresholds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from fcca.classifier import FCCAClassifier
from fcca.discretizers import ThresholdTransformer
from fcca.exceptions import InvalidInputError, LightWeightsWarning
from fcca.stability._bins import EncodedRows, bins_of, encoded
from fcca.tables import check_weights
from fcca.thresholds import ThresholdTable
from fcca.utils import bar, html_table, number, paragraph, type_in_words

Floats = NDArray[np.float64]

STABLE, SHIFTED = 0.1, 0.25
HALF_A_ROW = 0.5
LINES_IN_HTML = 30
LEAVES = "leaves of the tree"


@dataclass(frozen=True)
class BinShares:
    """Weights of the old and new rows in each bin, and their drift.

    Attributes
    ----------
    name : str
        What the bins divide: the name of a column, a condition, or ``"leaves of the tree"``.
    bins : tuple of str
        Names of the bins.
    reference, new : ndarray of shape (n_bins,)
        Weight of the old rows and of the new rows in each bin.
    is_unseen : ndarray of bool, shape (n_bins,)
        Mask of the bins for unknown categories.

    Notes
    -----
    If a bin has only old rows or only new rows, it is treated as if it had half a row of the other kind. Otherwise the
    logarithm would be infinite. A bin without any row is ignored.
    """

    name: str
    bins: tuple[str, ...]
    reference: Floats
    new: Floats
    is_unseen: NDArray[np.bool_]

    @property
    def reference_share(self) -> Floats:
        """Share of the old rows in each bin."""
        return _normalized(self.reference)

    @property
    def new_share(self) -> Floats:
        """Share of the new rows in each bin."""
        return _normalized(self.new)

    @property
    def contribution(self) -> Floats:
        """Contribution of each bin to the population stability index.

        It is ``(q - p) * ln(q / p)``, where p is the share of the old rows in the bin and q the share of the new rows.
        """
        is_used = self._is_used
        old, new = (np.where(is_used & (rows == 0), HALF_A_ROW, rows) for rows in (self.reference, self.new))
        p, q = _normalized(old), _normalized(new)
        terms = np.zeros(len(self.bins))
        terms[is_used] = (q[is_used] - p[is_used]) * np.log(q[is_used] / p[is_used])
        return terms

    @property
    def psi(self) -> float:
        """Population stability index: the sum of the contributions of all bins."""
        return float(self.contribution.sum())

    @property
    def n_bins(self) -> int:
        """Number of bins with at least one old or new row."""
        return int(self._is_used.sum())

    @property
    def expected(self) -> float:
        """Approximate mean of the index if there is no drift.

        It is ``(B - 1) * (1/n + 1/m)`` for B bins, n old rows and m new rows.
        """
        return (self.n_bins - 1) * self._noise

    @property
    def p_value(self) -> float:
        """Approximate probability of an index this large or larger if there is no drift.

        It is NaN for a single bin.
        """
        return float(chi2.sf(self.psi / self._noise, self.n_bins - 1)) if self.n_bins > 1 else float("nan")

    @property
    def by_chance(self) -> float:
        """Approximate 95 % quantile of the index if there is no drift."""
        return float(chi2.ppf(0.95, self.n_bins - 1)) * self._noise if self.n_bins > 1 else 0.0

    @property
    def reading(self) -> str:
        """Usual interpretation of the index: ``"stable"`` below 0.1, ``"look"`` up to 0.25, ``"shifted"`` above."""
        return "stable" if self.psi < STABLE else "look" if self.psi <= SHIFTED else "shifted"

    @property
    def unseen_share(self) -> float:
        """Share of the new rows with an unknown category."""
        return float(self.new_share[self.is_unseen].sum())

    @property
    def _is_used(self) -> NDArray[np.bool_]:
        used: NDArray[np.bool_] = (self.reference > 0) | (self.new > 0)
        return used

    @property
    def _noise(self) -> float:
        return float(1 / self.reference.sum() + 1 / self.new.sum())


@dataclass(frozen=True, repr=False)
class Drift:
    """Drift between old and new rows, for each column, each condition and the leaves of a tree.

    Attributes
    ----------
    columns : tuple of BinShares
        One per column with a condition, in the order of the table. The bins are the intervals between thresholds, or groups
        of categories that no condition separates. Missing values and unknown categories have separate bins if they occur.
    conditions : tuple of BinShares
        One per condition, with the bins "does not hold" and "holds".
    leaves : BinShares or None
        The leaves of the tree as bins; None without a tree.
    """

    columns: tuple[BinShares, ...]
    conditions: tuple[BinShares, ...]
    leaves: BinShares | None

    @property
    def parts(self) -> tuple[BinShares, ...]:
        """All columns, sorted from large to small drift, and then the leaves of the tree."""
        ordered = sorted(self.columns, key=lambda one: -one.psi)
        return (*ordered, *([] if self.leaves is None else [self.leaves]))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per column, sorted from large to small drift.

        If there is a tree, the last row is about its leaves.

        Returns
        -------
        DataFrame
            ``column``: its name. ``bins``: number of bins with at least one row. ``psi``: the population stability index.
            ``expected``: approximate mean of the index if there is no drift. ``p_value``: approximate probability of an
            index this large or larger if there is no drift. ``reading``: usual interpretation of the index.
            ``unseen``: share of the new rows with an unknown category.
        """
        return _frame(self.parts, "column")

    def conditions_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per condition.

        Returns
        -------
        DataFrame
            ``condition``: its name. ``reference`` and ``new``: the shares of the old and of the new rows for which it holds.
            No condition holds for an unknown category. ``psi``, ``expected``, ``p_value`` and ``reading`` are as in
            :meth:`to_frame`.
        """
        frame = _frame(self.conditions, "condition").drop(columns=["bins", "unseen"])
        frame.insert(1, "reference", [float(one.reference_share[1]) for one in self.conditions])
        frame.insert(2, "new", [float(one.new_share[1]) for one in self.conditions])
        return frame

    def bins_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per bin.

        Returns
        -------
        DataFrame
            ``column`` and ``bin``: their names. ``reference`` and ``new``: shares of the old and of the new rows in the bin.
            ``contribution``: what the bin adds to the index. ``note``: ``"not seen before"`` for unknown categories. For
            other bins, ``"empty before"``, ``"empty now"`` or ``"empty"`` if the bin has no old rows, no new rows, or
            neither.
        """
        lines = [
            {"column": one.name, "bin": name, "reference": p, "new": q, "contribution": term, "note": _note(p, q, unseen)}
            for one in (*self.columns, *([] if self.leaves is None else [self.leaves]))
            for name, p, q, term, unseen in zip(
                one.bins,
                one.reference_share.tolist(),
                one.new_share.tolist(),
                one.contribution.tolist(),
                one.is_unseen.tolist(),
                strict=True,
            )
        ]
        return pd.DataFrame(lines, columns=["column", "bin", "reference", "new", "contribution", "note"])

    def sentences(self) -> list[str]:
        """Return the main results as sentences: which columns have drifted, and by how much."""
        counts = {word: sum(one.reading == word for one in self.columns) for word in ("stable", "look", "shifted")}
        old, new = (float(rows.sum()) for rows in (self.columns[0].reference, self.columns[0].new))
        texts = [
            f"{new:,.6g} new rows and {old:,.6g} old rows. Columns: {counts['stable']:,} stable (below {STABLE}), "
            f"{counts['look']:,} to look at (up to {SHIFTED}), {counts['shifted']:,} shifted."
        ]
        moved = sorted((one for one in self.columns if one.reading != "stable"), key=lambda one: -one.psi)
        if moved:
            texts.append(f"Not stable: {', '.join(f'{one.name} ({one.psi:.3f})' for one in moved)}.")
        noisy = [one for one in self.columns if one.reading != "stable" and one.p_value > 0.05]
        if noisy:
            texts.append(
                f"There are too few rows to distinguish drift from chance in "
                f"{', '.join(one.name for one in noisy)}: such an index is common without drift."
            )
        unseen = [one for one in self.columns if one.unseen_share > 0]
        if unseen:
            shares = ", ".join(f"{one.name} in {one.unseen_share:.1%} of the new rows" for one in unseen)
            texts.append(f"Unknown categories: {shares}.")
        if self.leaves is not None:
            texts.append(f"The leaves of the tree: {self.leaves.psi:.3f}, {self.leaves.reading}.")
        return texts

    def __repr__(self) -> str:
        return "\n".join(["Population stability", *(f"  {text}" for text in self.sentences())])

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        shown = ["column", "bins", "psi", "reading", "expected"]
        most = max(SHIFTED, float(frame["psi"].max()))
        lines = [
            (name, bins, number(psi), bar(psi / most), reading, number(expected))
            for name, bins, psi, reading, expected in frame[shown].head(LINES_IN_HTML).to_numpy().tolist()
        ]
        head = ("column", "bins", "stability index", "", "usual interpretation", "expected without drift")
        more = paragraph(f"… {len(frame) - len(lines):,} more") if len(frame) > len(lines) else ""
        texts = "".join(paragraph(text) for text in self.sentences())
        return html_table(head, lines, numbers=(1, 2, 5)) + more + texts


def drift(
    table: Any,
    X_reference: Any,
    X_new: Any,
    *,
    sample_weight: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
) -> Drift:
    """Compare new rows with old rows by the population stability index.

    The bins of a column are the intervals between its thresholds. Let p be the share of the old rows in a bin, and q the
    share of the new rows. The population stability index is the sum of ``(q - p) * ln(q / p)`` over all bins.

    Parameters
    ----------
    table : ThresholdTable, fitted discretizer, or fitted FCCAClassifier
        The thresholds that define the bins. For a classifier, the leaves of its tree are used as bins too.
    X_reference : array-like or data frame of shape (n_rows, n_features)
        The old rows, such as the training rows.
    X_new : array-like or data frame of shape (n_new_rows, n_features)
        The new rows. Missing values are allowed in every column. Unknown categories have a separate bin.
    sample_weight, sample_weight_new : array-like of shape (n_rows,), optional
        Weights of the old and of the new rows. A row with weight 2 counts as two identical rows, so the sum of the weights
        is used as the number of rows.

    Returns
    -------
    Drift
        The index of each column and condition, and of the leaves of the tree.

    See Also
    --------
    fcca.plots.DriftDisplay : Draws the result as bars.

    Notes
    -----
    An index below 0.1 is usually interpreted as stable, up to 0.25 as a change to look at, and above 0.25 as a shift
    (Siddiqi, Credit Risk Scorecards, 2006; Lewis, An Introduction to Credit Scoring, 1994). This reading ignores the number
    of rows.

    Consider B bins, n old rows and m new rows without drift. The index is then about ``1/n + 1/m`` times a chi-square
    variable with ``B - 1`` degrees of freedom (Yurdakul, Statistical Properties of Population Stability Index, dissertation,
    Western Michigan University, 2018). ``expected`` is its mean, and ``p_value`` the probability of an index this large
    or larger. With few rows, a large index may be chance. With many rows, a small index may be real but irrelevant. The
    p-values are not corrected for multiple tests: of 20 columns without drift, one is expected to have a p-value below 0.05.
    If bins have few rows, the p-value is inaccurate.

    Examples
    --------
    >>> import numpy as np
    >>> from fcca import ThresholdTable
    >>> from fcca.stability import drift
    >>> table = ThresholdTable.from_list([("income", 2.0), ("income", 3.5)], ["income", "age"])
    >>> old, new = np.random.default_rng(0).normal([3, 40], [1, 9], (2, 500, 2))
    >>> drift(table, old, new + [1, 0]).to_frame()[["column", "bins", "reading"]]
       column  bins  reading
    0  income     3  shifted
    """
    thresholds, tree = _source(table)
    is_table = isinstance(table, ThresholdTable)
    old = encoded(thresholds, X_reference, "X_reference", as_codes=is_table)
    new = encoded(thresholds, X_new, "X_new", as_codes=is_table)
    weights = (
        _weights(sample_weight, len(old.X), "sample_weight"),
        _weights(sample_weight_new, len(new.X), "sample_weight_new"),
    )
    both = (old, new)
    return Drift(
        columns=tuple(_of_column(thresholds, j, both, weights) for j in np.unique(thresholds.feature).tolist()),
        conditions=_of_conditions(thresholds, both, weights),
        leaves=None if tree is None else _of_leaves(tree, both, weights),
    )


def _source(given: Any) -> tuple[ThresholdTable, FCCAClassifier | None]:
    """Return the thresholds of ``given``, and ``given`` itself if it is a classifier, otherwise None."""
    tree = None
    if isinstance(given, ThresholdTable):
        table = given
    elif isinstance(given, FCCAClassifier):
        check_is_fitted(given)
        table, tree = given.discretizer_.thresholds_, given
    elif isinstance(given, ThresholdTransformer):
        check_is_fitted(given, "thresholds_")
        table = given.thresholds_
    else:
        raise InvalidInputError(
            f"Expected a ThresholdTable, a fitted discretizer or a fitted FCCAClassifier, got {type_in_words(given)}."
        )
    if len(table) == 0:
        raise InvalidInputError(
            "The table has no thresholds, so there are no bins to compare. Give a table with at least one threshold."
        )
    return table, tree


def _weights(given: ArrayLike | None, n_rows: int, name: str) -> Floats:
    try:
        weight = check_weights(given, n_rows)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("sample_weight", name)) from error
    total = float(weight.sum())
    if total < n_rows / 10:
        warnings.warn(
            f"{name} sums to {total:.4g}, so the {n_rows} rows count as only {total:.4g} rows. The expected index and the "
            "half row that is added to an empty bin are then too large. Scale the weights to mean 1.",
            LightWeightsWarning,
            stacklevel=3,
        )
    return weight


# --- shares ---------------------------------------------------------------------------------------------------------------

Both = tuple[EncodedRows, EncodedRows]
Weights = tuple[Floats, Floats]


def _shares(
    name: str, bins: Sequence[str], places: Sequence[NDArray[np.intp]], weights: Weights, *, unseen: int | None = None
) -> BinShares:
    old, new = (np.bincount(at, w, len(bins)).astype(np.float64) for at, w in zip(places, weights, strict=True))
    return BinShares(name, tuple(bins), old, new, np.arange(len(bins)) == unseen)


def _without_empty(shares: BinShares, optional: Sequence[int]) -> BinShares:
    """Remove bins without any rows, old or new, if their positions are in ``optional``."""
    empty = (shares.reference == 0) & (shares.new == 0) & np.isin(np.arange(len(shares.bins)), optional)
    names = tuple(name for name, gone in zip(shares.bins, empty.tolist(), strict=True) if not gone)
    return BinShares(shares.name, names, shares.reference[~empty], shares.new[~empty], shares.is_unseen[~empty])


def _of_column(table: ThresholdTable, j: int, both: Both, weights: Weights) -> BinShares:
    bins = bins_of(table, j)
    places = [bins.place(rows.X[:, j], rows.unseen[:, j]) for rows in both]
    shares = _shares(table.feature_names[j], bins.names, places, weights, unseen=bins.unseen)
    tests_missing = bool(((table.feature == j) & (table.kind == "missing")).any())
    return _without_empty(shares, [bins.unseen] if tests_missing else [bins.missing, bins.unseen])


def _of_conditions(table: ThresholdTable, both: Both, weights: Weights) -> tuple[BinShares, ...]:
    binary = [rows.binary_columns(table).astype(np.intp) for rows in both]
    return tuple(
        _shares(name, ("does not hold", "holds"), [rows[:, at] for rows in binary], weights)
        for at, name in enumerate(table.names())
    )


def _of_leaves(classifier: FCCAClassifier, both: Both, weights: Weights) -> BinShares:
    structure = classifier.structure_
    is_leaf = structure.feature < 0
    position = np.cumsum(is_leaf) - 1
    return _shares(LEAVES, classifier.rules(), [position[structure.leaf_of(rows.X)] for rows in both], weights)


def _normalized(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum())


# --- frames ---------------------------------------------------------------------------------------------------------------


def _frame(shares: Sequence[BinShares], what: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            what: [one.name for one in shares],
            "bins": [one.n_bins for one in shares],
            "psi": [one.psi for one in shares],
            "expected": [one.expected for one in shares],
            "p_value": [one.p_value for one in shares],
            "reading": [one.reading for one in shares],
            "unseen": [one.unseen_share for one in shares],
        }
    )


def _note(p: float, q: float, is_unseen: bool) -> str:
    if is_unseen:
        return "not seen before"
    return "empty" if p == q == 0 else "empty before" if p == 0 else "empty now" if q == 0 else ""
