"""Hand-made additive models that are hard for a depth-first search: many features, all about equally good."""

from dataclasses import dataclass

import numpy as np

from fcca import _core
from fcca.cells import Cells
from fcca.counterfactuals._search_space import NO_LIMITS, core_limits
from oracles import cell_milp

MARGIN = 1e-4


@dataclass(frozen=True)
class HardTable:
    """One point at 0 in every feature; moving feature j into its cell k lands at landings[j, k] and gains gains[j, k]."""

    landings: np.ndarray
    gains: np.ndarray
    needed: float
    costs: tuple[float, float, float]

    @classmethod
    def random(cls, rng, n_features, n_cuts, spread, needed_share, costs):
        """Gains of 1 to 1 + spread per cut; a share of all that can be gained is needed."""
        landings = (np.arange(n_cuts + 1) - 0.3 * rng.random((n_features, n_cuts + 1))) / n_cuts
        landings[:, 0], landings[:, -1] = 0, 1
        gains = np.cumsum(1 + spread * rng.random((n_features, n_cuts + 1)), axis=1)
        gains -= gains[:, :1]
        return cls(landings, gains, float(needed_share * gains[:, -1].sum()), costs)

    def solve(self, time_limit=np.inf):
        """Cost, bound, status and nodes by the engine's core."""
        m, n_cells = self.landings.shape
        n_cuts = n_cells - 1
        cells = Cells.from_cuts(list(self.landings[:, 1:] - 0.1 / n_cuts))
        cells.smallest[:] = cells.largest[:] = self.landings.ravel()
        cost, bound, status, _, nodes, *_ = _core.solve_additive(
            rows=np.zeros((1, m)),
            points=np.zeros(1, dtype=np.int64),
            own_class=np.zeros(1, dtype=np.int32),
            target=np.full(1, -1, dtype=np.int32),
            margin=np.array([MARGIN]),
            cells=cells.as_core(),
            limits=core_limits(cells, NO_LIMITS, (), None),
            values=np.ascontiguousarray(self.gains.reshape(-1, 1)),
            base=np.array([MARGIN - self.needed]),
            lambda0=self.costs[0],
            lambda1=self.costs[1],
            lambda2=self.costs[2],
            n_threads=1,
            time_limit=time_limit,
            time_limit_per_row=np.inf,
            progress=None,
        )
        return cost[0], bound[0], status[0], nodes[0]

    def least_cost(self):
        """The same by a mixed-integer program."""
        prices = self.costs[0] + self.costs[1] * self.landings + self.costs[2] * self.landings**2
        prices[:, 0] = 0
        cost, _ = cell_milp.cheapest_choice(list(prices), [gain[:, None] for gain in self.gains], np.array([self.needed]))
        return cost
