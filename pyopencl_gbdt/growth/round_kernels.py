"""The kernels of a round, built for one fit, and their order: the one place that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.launching import Launching, RoundSize
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.messages import VariantRefused
from pyopencl_gbdt.device.variants import choosing
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.growth.boosting import FollowingRows, MarginUpdate
from pyopencl_gbdt.growth.finalize import Finalize, LeafValues, PlainBoosting
from pyopencl_gbdt.growth.policy import Level, Policy
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives import Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.gradients.sample import GatherDrawn, Sample
    from pyopencl_gbdt.gradients.sketch import Sketch, SplitGradients
    from pyopencl_gbdt.gradients.sources import GradientSource
    from pyopencl_gbdt.growth.category_sets import FinishedSets
    from pyopencl_gbdt.growth.partition import Partition
    from pyopencl_gbdt.growth.sketched_leaves import SketchedLeaves
    from pyopencl_gbdt.growth.split import SplitSearch

#: Steps that are enqueued before the host asks again whether a leaf splits. On an H200 a step
#: without leaves takes 25 us, and asking 100 to 200, as the device runs out of work meanwhile.
STEPS_AT_ONCE = 4


class TreeGrower(Protocol):
    """What grows the nodes of a batch's trees."""

    def tree(self, batch: Batch) -> list[Action]:
        """Return the actions of all steps of some trees, bound to the fit's arrays."""


class Grower:
    """Joins a search, a policy and a partition; built behind the search and the partition."""

    def __init__(
        self, parts: FitParts, search: SplitSearch, policy: Policy, partition: Partition
    ) -> None:
        from pyopencl_gbdt.growth.forced_splits import ForcedSplits

        self.parts, self.search, self.partition = parts, search, partition
        self.level = Level(parts)
        self.chosen = policy.build(parts, self.level)
        self.forced = ForcedSplits(parts) if parts.features.limits.forced else None

    def tree(self, batch: Batch) -> list[Action]:
        """Return the actions of all steps of some trees, bound to the fit's arrays."""
        nodes = self.parts.nodes
        actions: list[Action] = [*self.level.begin(batch), *self.partition.begin(batch)]
        first = nodes.policy.first_steps
        for step in range(first):
            actions += self.step(step, batch)
        if first < nodes.n_levels:
            actions.append(MoreSteps(self, batch, first))
        forced = [] if self.forced is None else [self.forced.settle(batch)]
        return [*actions, *self.chosen.settle(batch), *forced]

    def step(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of one step."""
        searched = self.search.search(step, batch)
        actions = list(searched if step else self.level.with_sums(searched, batch))
        found = self.search.candidates(step)
        actions += [] if self.forced is None else [self.forced.level(step, batch, found)]
        actions += self.chosen.choose(step, batch, found)
        if step + 1 < self.parts.nodes.n_levels or self.parts.rows.moves_last_rows:
            return [*actions, *self.partition.move(step, batch), *self.level.place(step, batch)]
        return [*actions, *self.partition.last(step, batch)]


@dataclass
class MoreSteps:
    """Runs further steps, which few trees need, some at a time, until no leaf splits.

    Calling it waits for the device. The launches of a step are bound when the step first runs.

    Attributes
    ----------
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


def built_kernels(
    parts: FitParts, policy: Policy, objective: Objective, data: Dataset
) -> RoundKernels:
    """Build the kernels of a fit; again if one took another variant meanwhile.

    The arrays of kernels that were built before may depend on it.
    """
    while True:
        n_refused = len(choosing.REFUSED)
        kernels = RoundKernels(parts, policy, objective, data)
        if parts.arena.has_memory:
            return kernels
        # members build again together: constructors of steps may exchange facts
        refused = int(len(choosing.REFUSED) != n_refused)
        if not parts.rows.team.most(VariantRefused, refused):
            return kernels
        parts.rows.forget_steps()


def _source(objective: Objective, parts: FitParts, data: Dataset) -> GradientSource:
    from pyopencl_gbdt.gradients.sources import source_of

    return source_of(objective, parts, data)


def _sample(parts: FitParts, objective: Objective) -> Sample:
    from pyopencl_gbdt.gradients.sample import Sample

    arena, rows, nodes, _, ways = parts
    return Sample(arena, rows, nodes, ways, objective)


def _gather(parts: FitParts, drawn: FitRows) -> GatherDrawn:
    from pyopencl_gbdt.gradients.sample import GatherDrawn

    return GatherDrawn(parts.arena, parts.rows, parts.ways, drawn)


def _sketch(grown: FitParts, objective: Objective) -> Sketch | SplitGradients:
    from pyopencl_gbdt.gradients.sketch import Sketch, SplitGradients, searched_parts

    searched = searched_parts(grown, given=objective.n_split > 0)
    return (SplitGradients if objective.n_split else Sketch)(grown, searched, objective)


def _finished_sets(grown: FitParts) -> FinishedSets:
    from pyopencl_gbdt.growth.category_sets import FinishedSets

    return FinishedSets(grown)


class RoundKernels:
    """The kernels of one fit, built, with the arrays that these have asked for.

    Attributes
    ----------
    source : GradientSource or None
        A loss that has kernels of its own.
    sample : Sample or None
        Draws the rows of each tree.
    gradients : Gradients
        Rounds each row's gradient and Hessian to integers.
    grower : TreeGrower
        Searches splits, chooses the nodes that split, and moves their rows.
    finish : Finalize
        Makes the trees in the form that kernels walk.
    sets : FinishedSets or None
        Makes splits by sets of codes in that form.
    leaves : LeafValues
        Replaces leaf values, where they do not follow from the sums of splits.
    boosting : Boosting
        What gradients are computed from, and what becomes of the trees.
    launching : Launching
        Says how launches are made.
    """

    def __init__(
        self, parts: FitParts, policy: Policy, objective: Objective, data: Dataset
    ) -> None:
        arena, rows, nodes, _, ways = parts
        self.rows, self.nodes, self.policy, drawn = rows, nodes, policy, rows.drawn
        rows.own_arrays()
        if drawn is not None:
            drawn.team_groups = rows.row_groups
        self.source = _source(objective, parts, data) if objective.given else None
        own = arena, rows, nodes, ways
        size = RoundSize(
            not policy.picks_leaves, nodes.most_level_nodes, rows.n_rows, nodes.params.n_estimators
        )
        self.launching = Launching(arena, size)
        self.sample = _sample(parts, objective) if nodes.params.samples_rows else None
        with self.launching.waiting():
            self.gradients = Gradients(*own, objective.kernel)
        self.gather = None if drawn is None else _gather(parts, drawn)
        recipe = self.recipe = choose_recipe(ways.facts, policy)
        partition: Partition | None = None
        grown = parts._replace(rows=rows.grown)
        self.sketch = _sketch(grown, objective) if nodes.n_sketches else None
        searched = grown if self.sketch is None else self.sketch.searched
        self.grower: TreeGrower
        if recipe.whole is not None:
            self.grower = recipe.whole(parts)
        else:
            assert recipe.search is not None
            assert recipe.partition is not None
            with self.launching.waiting():
                search = recipe.search(searched)
                partition = recipe.partition(searched, search)
                self.grower = Grower(searched, search, policy, partition)
        with self.launching.waiting():
            update = recipe.update(parts, partition)
        self.boosting = recipe.boosting(parts, update)
        self.sketched: SketchedLeaves | None = None
        with self.launching.waiting():
            self.finish = Finalize(*grown)
        self.sets = _finished_sets(grown) if parts.features.has_categories else None
        self.leaves = self._leaves_of(parts, update, objective, data)

    def _leaves_of(
        self, parts: FitParts, update: MarginUpdate, objective: Objective, data: Dataset
    ) -> LeafValues:
        """Return the step that sets leaf values; ``update`` adds them to margins."""
        recipe = self.recipe
        every: list[LeafValues] = []
        if isinstance(update, LeafValues):  # it looks up each row's leaf once for both
            every.append(update)
        if recipe.leaves is not LeafValues or not every:
            every.append(recipe.leaves(parts, objective, data))
        if recipe.steps is not None:
            every[-1] = recipe.steps(parts, objective, every[-1])
        if self.nodes.n_sketches:
            from pyopencl_gbdt.growth.sketched_leaves import LaterLeaves, SketchedLeaves

            if isinstance(update, SketchedLeaves):
                self.sketched = update
                return update if every == [update] else LaterLeaves(update, every)
        (leaves,) = every
        return leaves

    def classes(self) -> dict[str, str]:
        """Return the classes of this fit, by what they do."""
        recipe = self.recipe
        made = {
            "pages": self.rows.stream, "source": self.source, "sample": self.sample,
            "gather": self.gather, "gradients": self.gradients, "grower": self.grower,
            "policy": self.policy,
        }  # fmt: skip
        found: dict[str, type] = {p: type(one) for p, one in made.items() if one is not None}
        chosen = {
            "search": recipe.search, "partition": recipe.partition, "update": recipe.update,
            "leaves": None if recipe.leaves is LeafValues else recipe.leaves, "steps": recipe.steps,
            "boosting": recipe.boosting,
        }  # fmt: skip
        found |= {part: one for part, one in chosen.items() if one is not None}
        return {part: one.__name__ for part, one in found.items()}

    def bind(self, turn: Sequence[Action]) -> None:
        """Bind the launches of a round, or have them bound later; see ``trees`` for ``turn``."""
        self._begins = self.leaves.round_begins(self.source)
        self._kept = self.boosting.kept_margins()
        self._turn, self._following = turn, list[FollowingRows]()
        self._bound: list[list[Action]] | None = None
        self._joined: list[list[Action]] = []
        if not self.binds_later:
            self._bound = self._bound_batches()

    @property
    def binds_later(self) -> bool:
        """Whether launches are bound when they are asked for, as others' may do their work.

        With weights of trees they are not: dropped trees change the rows that are followed.
        """
        return self.rows.arena.device.shares_queue and isinstance(self.boosting, PlainBoosting)

    def _bound_batches(self) -> list[list[Action]]:
        batches = self.nodes.batches
        found = [self.launching.actions(self.trees(batch, self._turn)) for batch in batches]
        for rows in self._following:
            self._add_following(found, rows)
        return found

    def _add_following(self, bound: list[list[Action]], rows: FollowingRows) -> None:
        for batch, launches in zip(self.nodes.batches, bound, strict=True):
            launches.extend(self.boosting.follow(rows, batch))

    def follow(self, rows: FollowingRows) -> None:
        """Update the margins of other rows with every tree."""
        self._joined = []
        self._following.append(rows)
        if self._bound is not None:
            self._add_following(self._bound, rows)

    def begin_round(self, number: int) -> list[Action]:
        """Return the actions that begin a round, before its trees."""
        return [*self._begins[number % len(self._begins)], *self._kept]

    def batches(self, *, joined: bool) -> list[list[Action]]:
        """Return the actions of a round's batches of trees; ``joined`` enqueues them by few calls.

        The first round does without: most of what joins calls would delay it.
        """
        if self._bound is None:
            self._bound = self._bound_batches()
        if joined and not self._joined:
            self._joined = [self.rows.joined(actions) for actions in self._bound]
        return self._joined if joined else self._bound

    def _grown(self, batch: Batch) -> list[Action]:
        """Return the actions that grow the trees of outputs, or of sketches and then of outputs."""
        if self.sketch is None:
            return self.grower.tree(batch)
        searched, leaves = self.sketch.searched, self.sketched
        assert leaves is not None
        few = Batch(batch.first, searched.nodes.n_trees)
        return [
            *self.sketch.launches(batch), *self.grower.tree(few), *leaves.expand(searched),
        ]  # fmt: skip

    def trees(self, batch: Batch, turn: Sequence[Action]) -> list[Action]:
        """Return the actions of trees that grow at the same time, bound to the fit's arrays.

        ``turn`` gives the rows the codes of the next order, for leaves that take values by these.
        """
        none: list[Action] = []
        return self.rows.in_order([
            *(none if self.sample is None else self.sample.launches(batch)),
            *self.gradients.launches(batch),
            *(none if self.gather is None else self.gather.launches()),
            *self._grown(batch),
            *self.finish.tree(batch),
            *(none if self.sets is None else self.sets.launches()),
            *(turn if self.leaves.takes_next_order else none),
            *self.leaves.launches(batch),
            self.finish.keep(),
            *self.boosting.add(batch),
        ])  # fmt: skip
