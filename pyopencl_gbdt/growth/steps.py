"""The steps of a tree, built for one fit, and their order: the one place that joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.gather_drawn import GatherDrawn
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.gradients.sample import Sample
from pyopencl_gbdt.gradients.sources import source_of
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.grower import Grower, TreeGrower
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.growth.partition import Partition
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.growth.walked_leaves import WalkedLeaves
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.objectives import Objective


class LeafValues(Protocol):
    """What replaces the leaf values of finished trees."""

    def launches(self, batch: Batch) -> list[Action]:
        """Return the launches that do it, before margins move."""


class Steps:
    """The kernels of one fit, built, with the arrays that these have asked for."""

    def __init__(
        self, parts: FitParts, policy: Policy, objective: Objective, data: Dataset
    ) -> None:
        arena, rows, nodes, _, ways = parts
        self.parts, self.policy = parts, policy
        drawn = rows.drawn
        rows.own_arrays()
        if drawn is not None:
            drawn.team_groups = rows.row_groups
        self.source = source_of(objective, parts, data) if objective.given else None
        own = arena, rows, nodes, ways
        self.sample = Sample(*own, objective) if nodes.params.samples_rows else None
        self.gradients = Gradients(*own, objective)
        self.gather = None if drawn is None else GatherDrawn(arena, rows, ways, drawn)
        recipe = self.recipe = choose_recipe(ways.facts, policy)
        partition: Partition | None = None
        grown = parts._replace(rows=rows.grown)
        self.grower: TreeGrower
        if recipe.search is None or recipe.partition is None:
            self.grower = WholeTrees(parts)
        else:
            search = recipe.search(grown)
            partition = recipe.partition(grown, search)
            self.grower = Grower(grown, search, policy, partition)
        self.leaf = recipe.update(parts, partition)
        self.boosting = recipe.boosting(parts, self.leaf)
        self.finish = Finalize(*grown)
        leaves = None if recipe.leaves is None else recipe.leaves(parts, objective, data)
        self.ordered = leaves if isinstance(leaves, OrderedLeaves) else None
        walked = self.leaf if isinstance(self.leaf, WalkedLeaves) else None
        self.renewal: LeafValues | None = leaves or walked

    def classes(self) -> dict[str, str]:
        """Return the classes of this fit, by what they do."""
        recipe = self.recipe
        made = {
            "pages": self.parts.rows.visits, "source": self.source, "sample": self.sample,
            "gather": self.gather, "gradients": self.gradients, "grower": self.grower,
            "policy": self.policy,
        }  # fmt: skip
        found: dict[str, type] = {p: type(one) for p, one in made.items() if one is not None}
        chosen = {
            "search": recipe.search, "partition": recipe.partition, "update": recipe.update,
            "leaves": recipe.leaves, "boosting": recipe.boosting,
        }  # fmt: skip
        found |= {part: one for part, one in chosen.items() if one is not None}
        return {part: one.__name__ for part, one in found.items()}

    def start(
        self,
        margins: float | npt.NDArray[np.float32],
        state: Mapping[str, npt.NDArray[np.float32]],
    ) -> None:
        """Take the margins of the rows before the first round, and what ``state`` has returned."""
        if self.ordered is not None:
            self.ordered.start(margins, state)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return what the rounds to come need beside the trees; waits for the device."""
        return {} if self.ordered is None else self.ordered.state()

    def round_begins(self) -> Sequence[Sequence[Action]]:
        """Return what a round begins with, before its trees; rounds take turns."""
        if self.ordered is not None:
            return self.ordered.round_begins(self.source)
        return [[] if self.source is None else self.source.launches()]

    def trees(self, batch: Batch, turn: Sequence[Action] = ()) -> list[Action]:
        """Return what trees that are grown at a time take, bound to the fit's arrays.

        ``turn`` changes the rows' codes between the search of splits and that of leaf values.
        """
        drawn = [] if self.sample is None else self.sample.launches(batch)
        gathered = [] if self.gather is None else self.gather.launches()
        grown = [*self.gradients.launches(batch), *gathered, *self.grower.tree(batch)]
        renewed = [] if self.renewal is None else self.renewal.launches(batch)
        sets = self.grower.finish_sets()
        finished = [*self.finish.tree(batch), *sets, *turn, *renewed, self.finish.keep()]
        return self.parts.rows.in_order([*drawn, *grown, *finished, *self.boosting.add(batch)])
