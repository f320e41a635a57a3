"""Grow the nodes of a tree: search splits, choose the nodes that split, move their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.level import Level
from pyopencl_gbdt.growth.partition import Partition, PartitionByCodes
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.search import SplitSearch

#: Steps that are enqueued before the host asks again whether a leaf splits. On an H200 a step
#: without leaves takes 25 us, and asking 100 to 200, as the device runs out of work meanwhile.
STEPS_AT_ONCE = 4


class TreeGrower(Protocol):
    """What grows the nodes of a batch's trees."""

    def tree(self, batch: Batch) -> list[Action]:
        """Return the actions of all steps of some trees, bound to the fit's arrays."""

    def finish_sets(self) -> list[Action]:
        """Return what finishes the splits by sets of codes, if there are any."""


class Grower:
    """Joins a search, a policy and a partition; built behind the search and the partition.

    Parameters
    ----------
    parts : FitParts
    search : SplitSearch
    policy : Policy
    partition : Partition
    """

    def __init__(
        self, parts: FitParts, search: SplitSearch, policy: Policy, partition: Partition
    ) -> None:
        self.parts, self.search, self.partition = parts, search, partition
        self.level = Level(parts)
        self.chosen = policy.build(parts, self.level)

    def finish_sets(self) -> list[Action]:
        """Return what finishes the splits by sets of codes, if there are any."""
        moves = self.partition
        sets = moves.sets if isinstance(moves, PartitionByCodes) else None
        return [] if sets is None else [sets.finish()]

    def tree(self, batch: Batch) -> list[Action]:
        """Return the actions of all steps of some trees, bound to the fit's arrays."""
        nodes = self.parts.nodes
        actions: list[Action] = [*self.level.begin(batch), *self.partition.begin(batch)]
        first = nodes.policy.first_steps
        for step in range(first):
            actions += self.step(step, batch)
        if first < nodes.n_levels:
            actions.append(MoreSteps(self, batch, first))
        return [*actions, *self.chosen.settle(batch)]

    def step(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of one step."""
        searched = self.search.search(step, batch)
        actions = list(searched if step else self.level.with_sums(searched, batch))
        actions += self.chosen.choose(step, batch, self.search.candidates(step))
        if step + 1 < self.parts.nodes.n_levels or self.parts.rows.moves_last_rows:
            return [*actions, *self.partition.move(step, batch), *self.level.place(step, batch)]
        return [*actions, *self.partition.last(step, batch)]


@dataclass
class MoreSteps:
    """Runs the steps that few trees need, some at a time, until no leaf splits.

    Calling it waits for the device. The launches of a step are bound when it is first needed.

    Attributes
    ----------
    grower : Grower
    batch : Batch
    first : int
        The first of these steps.
    bound : list
        The actions of the steps that were needed so far.
    """

    grower: Grower
    batch: Batch
    first: int
    bound: list[list[Action]] = field(default_factory=list)
    name: str = "more steps"

    def __call__(self) -> None:
        for step in range(self.first, self.grower.parts.nodes.n_levels):
            if (step - self.first) % STEPS_AT_ONCE == 0 and not self.grower.chosen.growing():
                return
            if step - self.first == len(self.bound):
                actions = self.grower.step(step, self.batch)
                self.bound.append(self.grower.parts.arena.device.together(actions))
            for action in self.bound[step - self.first]:
                action()
