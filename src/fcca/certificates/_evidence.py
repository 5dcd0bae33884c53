"""The evidence of all checks: rows, black box and certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Distances
from fcca.certificates._certificate_reader import CertificateDocument, StatedCounterfactuals
from fcca.certificates._certificate_writer import WITHOUT_COUNTERFACTUAL
from fcca.certificates._fingerprints import plain_label
from fcca.constraints import Limits, holds
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals, Moves
from fcca.discretizers import ThresholdSearch
from fcca.export import DistilledTree
from fcca.models import LinearModel
from fcca.tables import Columns, SoftLabels, TrainingTable
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEAR = 1e-9  # largest difference of two equal sums; relative for numbers above 1
ROWS_NAMED = 3


def is_near(one: Any, other: Any) -> Any:
    """Return True where numbers are equal up to rounding."""
    return np.abs(np.subtract(one, other)) <= NEAR * np.maximum(1.0, np.abs(other))


def named_rows(rows: Sequence[int] | Longs) -> str:
    """List rows as text: ``row 5``, ``rows 5, 8 and 9``, ``rows 5, 8, 9 and 4 more``."""
    shown = [str(int(row)) for row in rows[:ROWS_NAMED]]
    more = len(rows) - len(shown)
    if len(rows) == 1:
        return f"row {shown[0]}"
    if more:
        return f"rows {', '.join(shown)} and {more:,} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def problem_of_rows(rows: Sequence[int] | Longs, what: str) -> list[str]:
    """Describe a problem of some rows; an empty list without rows."""
    return [f"{named_rows(rows)}: {what}"] if len(rows) else []


def typed_label(label: Any) -> tuple[str, Any]:
    """Return a label with its type, for comparisons.

    True differs from 1, but 1.0 does not.
    """
    plain = plain_label(label) if isinstance(label, str | int | float | np.generic) else label
    return type(plain).__name__, plain


def _positions(rows: Longs, known: Longs, reason: str) -> Longs:
    """Return the positions of rows among the known rows.

    Raise NotChecked with the given reason if a row is unknown.
    """
    if not np.isin(rows, known).all():
        raise NotChecked(reason)
    order = np.argsort(known, kind="stable")
    found: Longs = order[np.searchsorted(known, rows, sorter=order)]
    return found


class NotChecked(Exception):  # noqa: N818
    """A check cannot be run; the message gives the reason."""


@dataclass(frozen=True)
class Effort:
    """Limits on the work of the checks.

    Attributes
    ----------
    sample : int or None
        Number of counterfactuals to re-prove, drawn at random. None: all.
    random_state : int or None
        Seed of the draw. None: a random seed.
    time_limit : float or None
        Seconds for each search.
    n_jobs : int or None
    shown : bool
        Whether to show progress bars.
    """

    sample: int | None = None
    random_state: int | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    shown: bool = False


@dataclass
class Evidence:
    """The certificate, the training rows and the black box of a verification.

    Attributes
    ----------
    stated : CertificateDocument
    rows : TrainingTable
        The rows with a weight above 0.
    numbers : ndarray of int
        Their row numbers in the certificate.
    estimator : fitted classifier
    effort : Effort
    """

    stated: CertificateDocument
    rows: TrainingTable
    numbers: Longs
    estimator: Any
    effort: Effort = Effort()

    # --- computed from the rows and the black box ---------------------------------------------------------------------

    @cached_property
    def search(self) -> ThresholdSearch:
        """The discretizer's threshold search, rebuilt from the rows and the certificate's rules."""
        given = self.stated.parameters
        parameters = given.search | {"constraints": list(given.rules) or None, "n_jobs": self.effort.n_jobs, "verbose": 0}
        search = ThresholdSearch(MappingProxyType(parameters), self.estimator, self.stated.columns, self.rows.X)
        table = search.encode(self.rows.X)
        statistics = search.statistics(table, weight=self.weight)
        ready = search.with_statistics(statistics, rows=table)
        return ready.with_bins(ready.bins(table, self.weight)) if ready.needs_bins else ready

    @property
    def engine(self) -> CounterfactualEngine:
        """The counterfactual engine, after it has observed the rows."""
        return self.search.engine

    @property
    def distances(self) -> Distances:
        """The units of distance, from the parameters and these rows."""
        distances = self.engine.cells.distances
        assert distances is not None
        return distances

    @cached_property
    def table(self) -> Floats:
        """The rows, encoded for the black box."""
        return self.search.encode(self.rows.X)

    @cached_property
    def weight(self) -> Floats:
        """The rows' weights."""
        weight = self.rows.sample_weight
        return np.ones(len(self.rows.y)) if weight is None else np.asarray(weight, dtype=np.float64)

    @cached_property
    def predictions(self) -> NDArray[np.generic]:
        """Predictions of the black box for the rows."""
        return self.engine.predict(self.table)

    @cached_property
    def columns(self) -> Columns:
        """The columns by name, as rules know them."""
        return self.search.named_columns

    @cached_property
    def should_be_searched(self) -> Bools:
        """Mask of correctly predicted rows with a confidence from p0 to p1."""
        search, model = self.stated.parameters.search, self.engine.model
        confidence = model.confidence(self.engine.scores(self.table))
        least = 0.0 if model.n_outputs > 1 and search["p0"] == 0.5 else search["p0"]
        in_band: Bools = (confidence >= least) & (confidence <= search["p1"])
        searched: Bools = (self.predictions == self.rows.y) & in_band
        return searched

    @cached_property
    def may_end_open(self) -> bool:
        """True if a search may have ended without a proof.

        Without a time limit, every search of the core ends with a proof. Mixed-integer programs are an exception: HiGHS may
        give up. They solve linear models with more than two classes, with categories or under rules.
        """
        stated, model = self.stated.parameters, self.engine.model
        by_programs = isinstance(model, LinearModel) and bool(model.n_outputs > 1 or model.effects or stated.rules)
        return stated.search_is_limited or by_programs

    @cached_property
    def limits(self) -> Limits | None:
        """The rules, compiled for the rows of the counterfactuals."""
        return self.search.limits(self.before)

    @cached_property
    def kept(self) -> ThresholdTable:
        """The thresholds kept."""
        found = self.stated.found
        return found.select(np.isin(np.arange(len(found)), self.stated.kept))

    @cached_property
    def training_labels(self) -> NDArray[Any]:
        """Training labels of the tree: the given labels or the black box's predictions."""
        return self.targets(self.stated.parameters.fit_to)

    @cached_property
    def soft(self) -> SoftLabels | None:
        """Class probabilities of the black box; None if the tree did not learn them."""
        if self.stated.parameters.fit_to != "probability":
            return None
        model = self.engine.model
        return SoftLabels.of(model.probabilities(self.engine.scores(self.table)), self.weight)

    def targets(self, fit_to: str) -> NDArray[Any]:
        """Return the given labels or the black box's predictions."""
        return np.asarray(self.predictions if fit_to == "target" else self.rows.y)

    def solve(self, which: Longs, limits: Limits | None, time_limit: float | None) -> Counterfactuals:
        """Repeat the search for some of the counterfactuals."""
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
        """Repeat the search, and mark counterfactuals that break a rule as unverified."""
        return self.search.checked(self.table, self.solve(which, limits, time_limit), limits)

    # --- claims of the certificate, by positions in the table ---------------------------------------------------------

    @property
    def points(self) -> StatedCounterfactuals:
        """The counterfactuals."""
        if self.stated.points is None:
            raise NotChecked("The rows came in chunks, so the certificate has counts but no counterfactuals.")
        return self.stated.points

    @property
    def tree(self) -> DistilledTree:
        """The tree."""
        if self.stated.tree is None:
            raise NotChecked("The tree contradicts itself.")
        return self.stated.tree

    @cached_property
    def at(self) -> Longs:
        """Position in the table of each counterfactual's row."""
        return _positions(self.points.row, self.numbers, "Some counterfactuals belong to rows that are not in the table.")

    @cached_property
    def move_point(self) -> Longs:
        """Position of each move's counterfactual."""
        return self._point_of(self.points.move_row)

    @cached_property
    def gap_point(self) -> Longs:
        """Position of the counterfactual for each missing value that alone decides."""
        return self._point_of(self.points.gap_row)

    def _point_of(self, rows: Longs) -> Longs:
        return _positions(rows, self.points.row, "Some moves belong to rows without a counterfactual.")

    def codes(self, feature: Longs, values: Sequence[Any]) -> tuple[Floats, Bools]:
        """Encode values for the black box, with NaN for missing values.

        Also returns a mask of unknown values.
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
        """Values at which moves start, and a mask of unknown ones."""
        return self.codes(self.points.move_feature, self.points.move_from)

    @cached_property
    def landing(self) -> tuple[Floats, Bools]:
        """Values at which moves end, and a mask of unknown ones."""
        return self.codes(self.points.move_feature, self.points.move_to)

    @cached_property
    def before(self) -> Floats:
        """The rows of the counterfactuals."""
        return self.table[self.at]

    @cached_property
    def after(self) -> Floats:
        """The rows of the counterfactuals after their moves."""
        changed = self.before.copy()
        changed[self.move_point, self.points.move_feature] = self.landing[0]
        return changed

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """Status of each counterfactual."""
        return np.array(self.points.status, dtype="U10")

    @cached_property
    def claims_flip(self) -> Bools:
        """Mask of counterfactuals with the status optimal or feasible."""
        return np.isin(self.status, ("optimal", "feasible"))

    @cached_property
    def unverified(self) -> Bools:
        """Mask of counterfactuals with the status unverified."""
        unverified: Bools = self.status == "unverified"
        return unverified

    @cached_property
    def without_counterfactual(self) -> Bools:
        """Mask of rows with the status infeasible or unknown."""
        return np.isin(self.status, WITHOUT_COUNTERFACTUAL)

    @cached_property
    def left_open(self) -> Bools:
        """Mask of counterfactuals with the status feasible or unknown."""
        return np.isin(self.status, ("feasible", "unknown"))

    @cached_property
    def keeps_rules(self) -> Bools:
        """Mask of counterfactuals that keep the rules."""
        kept: Bools = holds(self.stated.parameters.rules, self.columns, self.before, self.after)
        return kept

    @cached_property
    def own_class(self) -> NDArray[np.int32]:
        """Position of the class that is predicted for each counterfactual's row."""
        return self.engine.class_index(self.predictions[self.at])

    @cached_property
    def target_code(self) -> NDArray[np.int32]:
        """Position of each counterfactual's target class; -1 for none."""
        position = {typed_label(label): k for k, label in enumerate(self.engine.model.classes.tolist())}
        targets = (-1 if label is None else position.get((type(label).__name__, label), -1) for label in self.points.target)
        return np.array(list(targets), dtype=np.int32)

    def as_found(self) -> Counterfactuals:
        """Return the counterfactuals as the engine would, with recomputed cuts."""
        if self.landing[1].any() or np.isnan(self.landing[0]).any():
            raise NotChecked("Some moves end at an unknown value of their column.")
        order = np.lexsort((self.points.move_feature, self.move_point))
        point, feature = self.move_point[order], self.points.move_feature[order].astype(np.int32)
        origin, landing = self.origin[0][order], self.landing[0][order]
        nowhere = np.full(len(order), np.nan)
        cut = self.engine.cells.last_crossed(feature, origin, landing, nowhere) if self.engine.has_cuts else landing
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
