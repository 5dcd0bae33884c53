"""The method of the explainer that computes certified regions."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from fcca.counterfactuals._engine import MOST_THREADS, CounterfactualEngine
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._region_leads import RegionLeads, leads_over, region_leads
from fcca.counterfactuals._region_linear import boxes_of_linear
from fcca.counterfactuals._region_search import Boxes, boxes_of_trees
from fcca.counterfactuals._regions import Regions
from fcca.exceptions import InvalidInputError
from fcca.models import LinearModel
from fcca.utils import step

Floats = NDArray[np.float64]


class RegionsOfCounterfactuals:
    """Base class of the explainer: certified regions around counterfactuals."""

    engine: CounterfactualEngine
    feature_names: tuple[str, ...]
    n_jobs: int | None
    time_limit: float | None
    time_limit_per_row: float | None
    _is_whole: NDArray[np.bool_]

    def regions(self, found: Explanations) -> Regions:
        """Compute a maximal box around each changed row in which every row keeps the new class, with proof.

        In the whole box, the new class leads all others by at least half the margin, or by 5e-5 if the margin is larger. If
        trees vote with pure leaves, the new class wins the vote. With two classes, it may then win a tie that ``predict``
        decides for it.

        The box grows side by side: first the changed columns, in the direction of their change and then in the other one,
        then all other columns. Columns that few nodes of the trees test come first, or columns with small effects for a
        linear classifier. Each side is moved as far as the proof allows. So no side can be moved any further, but another
        order may give another box.

        The rules of the counterfactuals do not restrict the box. Missing and special values keep their value. The result is
        the same for any ``n_jobs``. The time limits apply to all searches of this call, and to each search.

        Parameters
        ----------
        found : Explanations
            Counterfactuals that :meth:`explain` of this explainer found.

        Returns
        -------
        Regions
        """
        if not isinstance(found, Explanations) or found.feature_names != self.feature_names:
            raise InvalidInputError("regions expects the result of explain of the same explainer.")
        which = np.flatnonzero(found.is_found)
        points, own = found.points[which], found.target_code[which]
        leads = region_leads(self.engine.model, own, self.engine.problem.margin)
        is_clear = leads_over(self.engine.model, self.engine.scores(points), own) < leads.excluded
        which, points, own = which[is_clear], points[is_clear], own[is_clear]
        leads = RegionLeads(*(lead[is_clear] for lead in leads))
        boxes, predicted = Boxes.none(len(self.feature_names)), own[:0]
        if len(points):
            boxes = self._boxes(found, which, own, leads)
            predicted = self.engine.class_index(self.engine.predict(boxes.witnesses))
        is_linear = isinstance(self.engine.model, LinearModel)
        return Regions.of(found, which, boxes, predicted, lower_is_inside=is_linear, is_whole=self._is_whole)

    def _boxes(self, found: Explanations, which: NDArray[np.int64], own: NDArray[np.int32], leads: RegionLeads) -> Boxes:
        """Compute the boxes around the counterfactuals at the positions ``which``."""
        points, orders = found.points[which], [self._order(found, i) for i in which.tolist()]
        if isinstance(self.engine.model, LinearModel):
            return boxes_of_linear(self.engine, points, own, -leads.excluded, orders)
        with step("Regions"):
            return boxes_of_trees(
                self.engine,
                points,
                own,
                leads,
                orders,
                n_threads=min(MOST_THREADS, effective_n_jobs(self.n_jobs)),
                ends_at=np.inf if self.time_limit is None else perf_counter() + self.time_limit,
                time_limit_per_row=np.inf if self.time_limit_per_row is None else self.time_limit_per_row,
            )

    def _order(self, found: Explanations, i: int) -> list[tuple[int, int]]:
        """Return the columns in the order in which the box grows, each with the direction of its change, or 0."""
        mine = np.flatnonzero(found.moves.point == i)
        change = found.moves.landing[mine] - found.moves.origin[mine]
        direction = np.nan_to_num(np.sign(change)).astype(int)
        moved = dict(zip(found.moves.feature[mine].tolist(), direction.tolist(), strict=True))
        others = np.argsort(self._importance(), kind="stable").tolist()
        return [*moved.items(), *((j, 0) for j in others if j not in moved)]

    def _importance(self) -> Floats:
        """Return, by column, the number of nodes that test it, or the largest effect in a linear classifier."""
        engine, model = self.engine, self.engine.model
        if isinstance(model, LinearModel):
            width = np.nan_to_num(engine.cells.box_high - engine.cells.box_low)
            effect: Floats = np.abs(model.coef).max(axis=0) * width
            for j, effects in model.effects.items():
                effect[j] = np.ptp(effects, axis=0).max()
            return effect
        tested = engine.forest.feature[engine.forest.feature >= 0]
        return np.bincount(tested, minlength=model.n_features).astype(np.float64)
