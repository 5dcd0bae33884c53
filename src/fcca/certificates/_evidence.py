"""The evidence that all checks use: the rows, the black box and the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Distances
from fcca.certificates._certificate_document import CertificateDocument, StatedCounterfactuals
from fcca.certificates._certificate_writer import WITHOUT_COUNTERFACTUAL
from fcca.certificates._fingerprints import plain_label
from fcca.constraints import Limits, holds
from fcca.counterfactuals import PROVEN, STATUSES, CounterfactualEngine, Counterfactuals, Moves
from fcca.discretizers import RowOrder, ThresholdSearch
from fcca.export import DistilledTree
from fcca.models import LinearModel
from fcca.tables import Columns, SoftLabels, Special, TrainingTable, is_special, special_by_column, without_special
from fcca.thresholds import ThresholdTable
from fcca.utils import SOFT_FIT_TO

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEAR = 1e-9  # largest difference of two equal sums; relative for numbers above 1
ROWS_NAMED = 3


def is_near(one: Any, other: Any) -> Any:
    """Return True where two numbers are equal up to rounding errors."""
    return np.abs(np.subtract(one, other)) <= NEAR * np.maximum(1.0, np.abs(other))


def named_rows(rows: Sequence[int] | Longs) -> str:
    """List row numbers as text, such as ``row 5`` or ``rows 5, 8, 9 and 4 more``."""
    shown = [str(int(row)) for row in rows[:ROWS_NAMED]]
    more = len(rows) - len(shown)
    if len(rows) == 1:
        return f"row {shown[0]}"
    if more:
        return f"rows {', '.join(shown)} and {more:,} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def problem_of_rows(rows: Sequence[int] | Longs, what: str) -> list[str]:
    """Return a list with one sentence that names the rows and their problem ``what``.

    The list is empty if there are no rows.
    """
    return [f"{named_rows(rows)}: {what}"] if len(rows) else []


def typed_label(label: Any) -> tuple[str, Any]:
    """Return a label together with the name of its type, for exact comparisons.

    So True and 1 are different labels. 1.0 and 1 are the same label.
    """
    plain = plain_label(label) if isinstance(label, str | int | float | np.generic) else label
    return type(plain).__name__, plain


def _positions(rows: Longs, known: Longs, reason: str) -> Longs:
    """Find each number of ``rows`` in the array ``known``, and return its position.

    Raise NotChecked with the message ``reason`` if a number is not in ``known``.
    """
    if not np.isin(rows, known).all():
        raise NotChecked(reason)
    order = np.argsort(known, kind="stable")
    found: Longs = order[np.searchsorted(known, rows, sorter=order)]
    return found


class NotChecked(Exception):  # noqa: N818
    """Raised by a check that cannot be run. The message gives the reason."""


@dataclass(frozen=True)
class Effort:
    """Limits on the work of the checks.

    Attributes
    ----------
    sample : int or None
        Number of counterfactuals to prove again, drawn at random. None stands for all of them.
    random_state : int or None
        Seed of the draw. None draws a new seed.
    time_limit : float or None
        Time limit in seconds for each search or group of searches; None for no limit.
    n_jobs : int or None
        Number of threads of the searches.
    """

    sample: int | None = None
    random_state: int | None = None
    time_limit: float | None = None
    n_jobs: int | None = None


@dataclass
class Evidence:
    """The certificate, the training rows and the black box, and values computed from them.

    A counterfactual consists of moves: a move is the change of one column. Arrays about counterfactuals have one entry per
    counterfactual of the certificate, and arrays about moves have one entry per move.

    Attributes
    ----------
    stated : CertificateDocument
        The certificate. Its claims are not trusted.
    rows : TrainingTable
        The training rows with a weight above 0.
    numbers : ndarray of int
        For each of these rows, its row number in the certificate.
    estimator : fitted classifier
        The black box.
    effort : Effort
        Limits on the work of the checks.
    """

    stated: CertificateDocument
    rows: TrainingTable
    numbers: Longs
    estimator: Any
    effort: Effort = Effort()

    # --- computed from the rows and the black box ---------------------------------------------------------------------

    @cached_property
    def search(self) -> ThresholdSearch:
        """The search for thresholds as in ``fit``, rebuilt from the rows and the stated parameters."""
        given = self.stated.parameters
        parameters = given.search | {"constraints": list(given.rules) or None, "n_jobs": self.effort.n_jobs}
        search = ThresholdSearch(MappingProxyType(parameters), self.estimator, self.stated.columns, self.rows.X)
        table = search.encode(self.rows.X)
        statistics = search.statistics(table, weight=self.weight)
        ready = search.with_statistics(statistics, rows=table)
        return ready.with_bins(ready.bins(table, self.weight)) if ready.needs_bins else ready

    @property
    def engine(self) -> CounterfactualEngine:
        """The engine that searches for counterfactuals, with the statistics of the training rows."""
        return self.search.engine

    @property
    def distances(self) -> Distances:
        """The units of distance, computed from the stated parameters and the training rows."""
        distances = self.engine.cells.distances
        assert distances is not None
        return distances

    @cached_property
    def table(self) -> Floats:
        """The training rows, encoded as numbers for the black box."""
        return self.search.encode(self.rows.X)

    @cached_property
    def ordinary(self) -> Floats:
        """The encoded training rows, with NaN in place of special values."""
        return without_special(self.table, self.special)

    @cached_property
    def special(self) -> Special:
        """Special values by column, from the stated parameters."""
        given = self.stated.parameters.search["special_values"]
        return special_by_column(given, self.stated.columns, (~self.columns.is_category).tolist())

    @cached_property
    def leaves_special(self) -> Bools:
        """Mask of the moves that replace a special value."""
        return is_special(self.special, self.points.move_feature, self.origin[0])

    @cached_property
    def weight(self) -> Floats:
        """Weights of the training rows."""
        weight = self.rows.sample_weight
        return np.ones(len(self.rows.y)) if weight is None else np.asarray(weight, dtype=np.float64)

    @cached_property
    def predictions(self) -> NDArray[np.generic]:
        """Classes that the black box predicts for the training rows."""
        return self.engine.predict(self.table)

    @cached_property
    def columns(self) -> Columns:
        """Descriptions of the columns, with the names that the rules use."""
        return self.search.named_columns

    @cached_property
    def should_be_searched(self) -> Bools:
        """Mask of the rows that must have been searched for a counterfactual.

        The black box predicts these rows correctly, with a probability from p0 to p1.
        """
        search, model = self.stated.parameters.search, self.engine.model
        confidence = model.confidence(self.engine.scores(self.table))
        least = 0.0 if model.n_outputs > 1 and search["p0"] == 0.5 else search["p0"]
        in_band: Bools = (confidence >= least) & (confidence <= search["p1"])
        searched: Bools = (self.predictions == self.rows.y) & in_band
        return searched

    @cached_property
    def order(self) -> RowOrder | None:
        """The random order in which rows are searched; None if the weights do not allow one.

        Of equal rows, those that are stated to be searched come first.
        """
        points = np.flatnonzero(self.should_be_searched)
        if len(points) == 0:
            return None
        X, classes = self.table[points], self.engine.class_index(self.predictions[points])
        order = RowOrder.of(X, classes, self.weight[points])
        return order and order.exchanged(X, classes, np.isin(self.numbers[points], self.points.row))

    @cached_property
    def expected(self) -> Longs:
        """Positions in ``table`` of the rows that must have been searched, of the stated sample if there is one."""
        points = np.flatnonzero(self.should_be_searched)
        return points if self.sample_size is None else points[self._sampled_order.rows(self.sample_size)]

    @cached_property
    def sampled_weight(self) -> Floats:
        """Weights with which the rows are counted: those in the stated sample, or in the table without a sample."""
        if self.sample_size is None:
            return self.weight
        points = np.flatnonzero(self.should_be_searched)
        weight = np.zeros(len(self.weight))
        weight[points] = self._sampled_order.weights(self.sample_size, len(points))
        return weight

    @property
    def sample_size(self) -> int | None:
        """Stated size of the sample of rows; None without a sample."""
        return None if self.stated.sample is None else self.stated.sample.size

    @property
    def _sampled_order(self) -> RowOrder:
        if self.order is None or self.sample_size is None or self.sample_size > self.order.n_units:
            raise NotChecked("The stated sample of the rows is larger than the table, or the weights do not allow a sample.")
        return self.order

    @cached_property
    def may_end_open(self) -> bool:
        """True if a search for a counterfactual may have ended without a proof.

        Without a time limit, every search of the C++ core ends with a proof. A mixed-integer program may end without one,
        because its solver HiGHS may give up. Such programs are used for linear models with more than two classes, with
        categories or with rules.
        """
        stated, model = self.stated.parameters, self.engine.model
        by_programs = isinstance(model, LinearModel) and bool(model.n_outputs > 1 or model.effects or stated.rules)
        return stated.search_is_limited or by_programs

    @cached_property
    def limits(self) -> Limits | None:
        """The stated rules, compiled for the row of each counterfactual; None without rules."""
        return self.search.limits(self.before)

    @cached_property
    def kept(self) -> ThresholdTable:
        """The thresholds that the certificate states to be kept."""
        found = self.stated.found
        return found.select(np.isin(np.arange(len(found)), self.stated.kept))

    @cached_property
    def training_labels(self) -> NDArray[Any]:
        """Class of each training row, from which the class weights of the nodes are computed.

        It is the label or, if ``fit_to`` is "target", the prediction of the black box.
        """
        return self.targets(self.stated.parameters.fit_to)

    @cached_property
    def soft(self) -> SoftLabels | None:
        """The soft labels that the tree learned; None if it learned classes."""
        fit_to = self.stated.parameters.fit_to
        if fit_to not in SOFT_FIT_TO:
            return None
        model = self.engine.model
        soft = SoftLabels.of(model.probabilities(self.engine.scores(self.table)), self.weight)
        if fit_to == "probability":
            return soft
        return soft.mixed(np.unique(self.training_labels, return_inverse=True)[1].ravel(), self.weight)

    def targets(self, fit_to: str) -> NDArray[Any]:
        """Return the predictions of the black box if ``fit_to`` is "target", and the labels otherwise."""
        return np.asarray(self.predictions if fit_to == "target" else self.rows.y)

    def solve(self, which: Longs, limits: Limits | None, time_limit: float | None) -> Counterfactuals:
        """Repeat the search for the counterfactuals at the positions ``which``.

        ``limits`` are the rules, compiled for the rows of these counterfactuals.
        """
        return self.engine.solve(
            self.table,
            self.at[which],
            self.own_class[which],
            feature_names=self.stated.columns,
            limits=limits,
            n_jobs=self.effort.n_jobs,
            time_limit=time_limit,
        )

    def solve_and_check(self, which: Longs, limits: Limits | None, time_limit: float | None) -> Counterfactuals:
        """Repeat the search as :meth:`solve` does, and check the rules.

        A counterfactual that breaks a rule gets the status ``unverified``.
        """
        return self.search.checked(self.table, self.solve(which, limits, time_limit), limits)

    # --- claims of the certificate, by positions in the table ---------------------------------------------------------

    @property
    def points(self) -> StatedCounterfactuals:
        """The counterfactuals that the certificate states."""
        if self.stated.points is None:
            raise NotChecked("The rows came in chunks, so the certificate has counts but no counterfactuals.")
        return self.stated.points

    @property
    def tree(self) -> DistilledTree:
        """The tree that the certificate states."""
        if self.stated.tree is None:
            raise NotChecked("The tree contradicts itself.")
        return self.stated.tree

    @cached_property
    def at(self) -> Longs:
        """For each counterfactual, the position of its row in ``table``."""
        return _positions(self.points.row, self.numbers, "Some counterfactuals belong to rows that are not in the table.")

    @cached_property
    def move_point(self) -> Longs:
        """For each move, the position of its counterfactual."""
        return self._point_of(self.points.move_row)

    @cached_property
    def gap_point(self) -> Longs:
        """For each deciding missing value, the position of the counterfactual of its row.

        A missing value is deciding if filling it in, without another change, flips the prediction.
        """
        return self._point_of(self.points.gap_row)

    def _point_of(self, rows: Longs) -> Longs:
        return _positions(rows, self.points.row, "Some moves belong to rows without a counterfactual.")

    def codes(self, feature: Longs, values: Sequence[Any]) -> tuple[Floats, Bools]:
        """Encode stated values as numbers, with NaN for missing and unknown values.

        ``feature`` holds the column of each value, as a position. Return the encoded values, and a mask of the unknown ones.
        """
        codes, unknown = np.full(len(values), np.nan), np.zeros(len(values), dtype=np.bool_)
        for k, (j, value) in enumerate(zip(feature.tolist(), values, strict=True)):
            if value is None:
                continue
            code = self._code(j, value)
            if code is None:
                unknown[k] = True
            else:
                codes[k] = code
        return codes, unknown

    def _code(self, j: int, value: Any) -> float | None:
        if self.columns[j].categories is None:
            try:
                return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
            except OverflowError:  # a whole number larger than any float
                return None
        return self._codes_of_labels[j].get(typed_label(value))

    @cached_property
    def _codes_of_labels(self) -> list[dict[Any, float]]:
        labels = (column.categories or () for column in self.columns)
        return [{typed_label(label): float(code) for code, label in enumerate(each)} for each in labels]

    @cached_property
    def origin(self) -> tuple[Floats, Bools]:
        """Values at which the moves start, encoded as numbers, and a mask of unknown values."""
        return self.codes(self.points.move_feature, self.points.move_from)

    @cached_property
    def landing(self) -> tuple[Floats, Bools]:
        """Values at which the moves end, encoded as numbers, and a mask of unknown values."""
        return self.codes(self.points.move_feature, self.points.move_to)

    @cached_property
    def before(self) -> Floats:
        """The row of each counterfactual before its changes, encoded as numbers."""
        return self.table[self.at]

    @cached_property
    def after(self) -> Floats:
        """The row of each counterfactual after its changes, encoded as numbers."""
        changed = self.before.copy()
        changed[self.move_point, self.points.move_feature] = self.landing[0]
        return changed

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """Stated status of each counterfactual, such as ``optimal`` or ``infeasible``."""
        return np.array(self.points.status, dtype="U10")

    @cached_property
    def claims_flip(self) -> Bools:
        """Mask of the counterfactuals that, according to the certificate, flip the prediction.

        Their status is optimal, within_gap or feasible.
        """
        return np.isin(self.status, (*PROVEN, "feasible"))

    @cached_property
    def unverified(self) -> Bools:
        """Mask of the counterfactuals with the status unverified.

        The search found them, but the black box predicts another class or a rule is broken.
        """
        unverified: Bools = self.status == "unverified"
        return unverified

    @cached_property
    def without_counterfactual(self) -> Bools:
        """Mask of searches without a counterfactual: those with the status infeasible or unknown."""
        return np.isin(self.status, WITHOUT_COUNTERFACTUAL)

    @cached_property
    def left_open(self) -> Bools:
        """Mask of the searches that, according to the certificate, ended without a proof.

        Their status is feasible or unknown.
        """
        return np.isin(self.status, ("feasible", "unknown"))

    @cached_property
    def keeps_rules(self) -> Bools:
        """Mask of counterfactuals whose changes obey the rules."""
        kept: Bools = holds(self.stated.parameters.rules, self.columns, self.before, self.after)
        return kept

    @cached_property
    def own_class(self) -> NDArray[np.int32]:
        """Class that is predicted for each row before its changes, as a position in the classes."""
        return self.engine.class_index(self.predictions[self.at])

    @cached_property
    def target_code(self) -> NDArray[np.int32]:
        """Stated class of each changed row, as a position in the classes; -1 for none."""
        position = {typed_label(label): k for k, label in enumerate(self.engine.model.classes.tolist())}
        targets = (-1 if label is None else position.get((type(label).__name__, label), -1) for label in self.points.target)
        return np.array(list(targets), dtype=np.int32)

    def as_found(self) -> Counterfactuals:
        """Return the stated counterfactuals in the form of a search result.

        The certificate does not state the cuts that the moves cross, so they are computed here.
        """
        if self.landing[1].any() or np.isnan(self.landing[0]).any():
            raise NotChecked("Some changed values are missing, or are no valid value of their column.")
        order = np.lexsort((self.points.move_feature, self.move_point))
        point, feature = self.move_point[order], self.points.move_feature[order].astype(np.int32)
        origin, landing = self.origin[0][order], self.landing[0][order]
        nowhere = np.full(len(order), np.nan)
        cut = self.engine.last_crossed(feature, origin, landing, nowhere) if self.engine.has_cuts else landing
        n = len(self.at)
        return Counterfactuals(
            rows=self.at,
            classes=self.engine.model.classes,
            target_code=self.target_code,
            status_code=np.array([STATUSES.index(name) for name in self.points.status], dtype=np.int8),
            cost=self.points.cost,
            bound=self.points.bound,
            nodes=np.zeros(n, dtype=np.int64),
            seconds=np.zeros(n),
            moves=Moves(point, feature, origin, landing, cut),
            feature_names=self.stated.columns,
            columns=self.search.columns,
        )
