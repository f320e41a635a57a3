"""Memory of a fit's steps, known before the steps are built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.gradients import sources
from pyopencl_gbdt.growth import ordered_leaves, renew_leaves, steps, walked_leaves
from pyopencl_gbdt.objectives import Objective


@dataclass(frozen=True)
class Reservations:
    """Reserve that memory, for as many trees at a time as ``Workspace.choose_trees`` chooses.

    Attributes
    ----------
    objective : Objective
    weighted : bool
        Whether rows have weights.
    n_queries, longest : int
        Number of queries, and rows of the longest query.
    """

    objective: Objective
    weighted: bool
    n_queries: int
    longest: int

    @classmethod
    def of(cls, objective: Objective, data: Dataset) -> Reservations:
        """Return the reservations of a fit to some data."""
        sizes = np.diff(whole_offsets(data.group_offsets, data.n_rows))
        return cls(objective, data.weight is not None, sizes.size, int(sizes.max()))

    def reserve(self, ws: Workspace) -> None:
        """Add the arrays to the plan; call again if the number of trees at a time changes."""
        steps.reserve(ws)
        objective = self.objective
        if objective.given:
            sources.reserve(objective, ws, self.n_queries, self.longest)
        if ws.is_ordered:
            ordered_leaves.reserve(ws)
        if ws.walks_leaves:
            walked_leaves.reserve(ws)
        if objective.renews:
            one = np.ones(1, np.float32)
            weights = objective.leaf_weights(one, one if self.weighted else None)
            renew_leaves.reserve(ws, weighted=weights is not None)
