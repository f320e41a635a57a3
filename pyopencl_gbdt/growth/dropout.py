"""DART: rounds drop trees, whose weights then change; ``docs/dart.md`` has the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action, Parts
from pyopencl_gbdt.dtypes import STEP, SUM, VALUE, WALK, c_type
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage, PerRow
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.boosting import (
    AnyStart,
    Boosting,
    FollowingRows,
    MarginUpdate,
    WeightedStart,
    starting_margins,
    starting_sums,
)
from pyopencl_gbdt.growth.coded_trees import coded_trees
from pyopencl_gbdt.growth.finalize import kept_margins

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.drop_schedule import Turn
    from pyopencl_gbdt.growth.kept_trees import FollowedWeighted, WeightedTrees

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: Nodes on the longest path of a model that is continued, where its trees are not known yet.
_CONTINUED = 64
#: Outputs that split alike for which rows walk a tree once. PoCL, 2 cores, processor s, 25 rounds,
#: 20 k x 10, 12 classes, depth 6, a rate_drop of 0.3: 3.1 for one output, 2.15 for four.
_TOGETHER = 4
_ENTRY_WORDS = 4
#: Room for trees in the list of rounds, beside that for twice all trees.
_MORE_LISTED = 1024
#: Leaves of rows are kept if they take at most this share of a device's memory; else rows walk
#: dropped trees again. 100 k x 28, depth 6, ten dropped trees, PoCL, 2 cores, processor ms a round:
#: 91 to walk them, and 32 to read their leaves; a round of trees without weights takes 10.5.
LEAVES_SHARE = 1 / 16


class DropoutBoosting(Boosting):
    """Gradients are computed from the trees that a round does not drop; weights change after it.

    A row's sum of the trees is an integer, so trees are taken out and put back without a trace.
    """

    kernels: ClassVar[tuple[str, ...]] = ("dropout",)

    def __init__(self, parts: FitParts, update: MarginUpdate) -> None:
        from pyopencl_gbdt.growth.drop_schedule import MOST_AHEAD

        self.parts = parts
        self.arena, self.rows, self.nodes, self.features, ways = parts
        arena, nodes = self.arena, self.nodes
        shape = PerRow(() if nodes.n_outputs == 1 else (nodes.n_outputs,))
        self.rows.array_of_rows("start", shape, VALUE)
        self.rows.array_of_rows("tree_sums", shape, SUM)
        n_rounds = max(1, nodes.params.n_estimators)
        n_nodes = n_rounds * len(nodes.batches) * nodes.max_nodes
        arena.advice.append("lower n_estimators, as booster='dart' keeps all trees on the device")
        arena.array("kept_walk", n_nodes, WALK)
        arena.array("kept_steps", n_nodes, STEP)
        arena.array("kept_roots", n_rounds * nodes.round_trees, np.uint32)
        if self.features.has_categories:
            self._batch_words = nodes.most_sets * nodes.set_words
            n_batches = n_rounds * len(nodes.batches)
            arena.array("kept_sets", n_batches * self._batch_words, np.uint32)
        most = (nodes.first_round + n_rounds) * nodes.round_trees
        longest = max(nodes.longest, _CONTINUED if nodes.first_round else 0)
        self._has_parts = self._parts(most, longest).n_parts > 1
        self._keeps_leaves = self._leaves_fit(n_rounds)
        if self._keeps_leaves:
            n_trees = n_rounds * self._n_walks * nodes.n_parallel
            arena.array("row_leaves", (n_trees, self.rows.n_rows), self._leaf_dtype)
        self.program = ways.build_kernel(
            "dropout", code=self.rows.codes.code_type, parts=self._has_parts,
            together=self._together, categories=self.features.has_categories,
            leaves=c_type(self._leaf_dtype) if self._keeps_leaves else "",
        )  # fmt: skip
        n_heads = 1 + 2 * self._n_walks * min(n_rounds, MOST_AHEAD)
        n_listed = min(2 * most + _MORE_LISTED, most * min(n_rounds, MOST_AHEAD))
        arena.array("listed", (n_heads + n_listed, _ENTRY_WORDS), np.uint32)
        self._followed: list[FollowedWeighted] = []

    def start(self, margins: AnyStart, following: Sequence[FollowingRows]) -> None:
        """Reset all sums; forget the trees of this fit."""
        from pyopencl_gbdt.growth.drop_schedule import DropsAhead
        from pyopencl_gbdt.growth.kept_trees import KeptTrees

        arena, rows = self.arena, self.rows
        trees, weights = [], np.zeros(0, np.float32)
        if isinstance(margins, WeightedStart):
            trees, weights = margins.trees, margins.weights
        self._rounds = list[tuple[int, float]]()
        self.n_dropped: list[int] = []
        of_first = weights.reshape(-1, self.nodes.round_trees)[:, : self._n_vectors]
        n_rounds = arena["kept_roots"].size // self.nodes.round_trees
        self._weights, end = of_first.ravel(), self.nodes.first_round + n_rounds
        self._ahead = DropsAhead(self.nodes.params, self._n_vectors, self._weights, end)
        words = self.nodes.set_words if self.features.has_categories else 0
        earlier = coded_trees(trees, self.features.layout, rows.codes, words)
        self._bank = KeptTrees(self.parts, earlier, n_rounds, self._places(n_rounds))
        own, sums = starting_sums(margins)
        rows.set("start", own)
        rows.set("tree_sums", sums)
        rows.set("margins", starting_margins(margins))
        self._followed = []
        for other in following:
            other.restart()
        self._changes: dict[Parts, list[Launch]] = {}

    @property
    def _n_vectors(self) -> int:
        """Trees of a round; those of outputs that split alike are one, whose leaves are vectors."""
        return self.nodes.round_trees // self.nodes.n_alike

    @property
    def _together(self) -> int:
        """Outputs for which rows walk a tree once."""
        return min(_TOGETHER, self.nodes.n_alike)

    @property
    def _n_walks(self) -> int:
        """Walks of a row that take all outputs' trees of a place in the round."""
        return -(-self.nodes.n_outputs // self._together)

    @property
    def _leaf_dtype(self) -> np.dtype[Any]:
        """The type of a leaf, counted from the root of its tree."""
        return np.dtype(np.min_scalar_type(self.nodes.max_nodes - 1))

    def _leaves_fit(self, n_rounds: int) -> bool:
        """Tell whether there is room to keep the leaf of every row in every tree.

        It depends on sizes alone, so a fit on paper keeps leaves if that on the device does.
        """
        caps = self.parts.ways.facts.device or self.arena.device.caps
        n_leaves = n_rounds * self._n_walks * self.nodes.n_parallel * self.rows.n_rows
        most = min(caps.max_alloc_bytes, LEAVES_SHARE * caps.global_bytes)
        return n_leaves * self._leaf_dtype.itemsize <= most

    def _places(self, n_rounds: int) -> npt.NDArray[np.int64]:
        """Return where ``row_leaves`` has the leaves of every tree of this fit.

        Trees that are walked together share a place.
        """
        nodes = self.nodes
        output, number = np.divmod(np.arange(nodes.round_trees), nodes.n_parallel)
        own = output // self._together * nodes.n_parallel + number
        rounds = np.arange(n_rounds)[:, None] * (self._n_walks * nodes.n_parallel)
        found: npt.NDArray[np.int64] = (rounds + own).ravel()
        return found

    def _of_outputs(self, trees: I64, outputs: Sequence[int]) -> tuple[I64, I64]:
        """Return the places and outputs of each tree of the schedule, for some that split alike."""
        nodes = self.nodes
        first = trees // self._n_vectors * nodes.round_trees + trees % self._n_vectors
        found = (first[:, None] + nodes.n_parallel * np.array(outputs)).ravel()
        return found, found % nodes.round_trees // nodes.n_parallel

    def _parts(self, n_trees: int, longest: int) -> Parts:
        """Return the launches in which the rows of each page walk so many trees."""
        most_rows = max(page.n_rows for page in self.rows.pages)
        tree_bytes = longest * (STEP.itemsize + VALUE.itemsize)
        return Parts.of(self.arena.device.caps, most_rows * n_trees * tree_bytes)

    def _change(self, parts: Parts, *, after: int) -> list[Launch]:
        """Return the launches in which rows walk a round's trees, whose weights change."""
        return [one for page in self.rows.pages for one in self._page(page, parts, after)]

    def _page(self, page: FitPage, parts: Parts, after: int) -> list[Launch]:
        part = page.part
        most = 16 * self.arena.device.caps.compute_units
        groups = min(most, -(-page.n_rows // self.program.wg_size)), self._n_walks
        outputs = {"n_outputs": self.nodes.n_outputs} if self._together > 1 else {}
        arguments = {
            **outputs,
            "n_rows": part.n_rows, "after": after, **page.rows, **page.codes.row_arguments,
            **part.arguments("start", "tree_sums", "margins"),
            "first_batches": self.nodes.first_round * len(self.nodes.batches),
            "n_batches": len(self.nodes.batches), "leaf_header": self.rows.pages[0]["leaf_header"],
            **self.arena.arguments("listed", "kept_steps"),
            "earlier_steps": self._bank.earlier_steps, **self._bank.set_arguments(),
            **(self.arena.arguments("row_leaves") if self._keeps_leaves else {}),
        }  # fmt: skip
        if self._has_parts:
            return parts.bind(self.program, "change", groups, **arguments)
        return [self.program.bind("change", groups, **arguments)]

    def begin_round(self, number: int, rate: float) -> None:
        """Take the trees out of the margins that this round drops."""
        if not self._ahead.is_listed(number, rate):
            self._ahead.listed(self._list(self._ahead.turns(number, rate)))
        self._turn = self._ahead.take()
        self._rounds.append((number, rate))
        self.n_dropped.append(self._turn.drop.trees.size)
        if self.n_dropped[-1]:
            for launch in self._dropping(self.n_dropped[-1] * self.nodes.n_alike):
                launch()
        self._ahead.prepare()

    def _dropping(self, n_trees: int) -> list[Launch]:
        """Return the launches that take a number of trees out of the margins."""
        parts = self._parts(n_trees, self._bank.longest) if self._has_parts else Parts(1)
        if parts not in self._changes:
            self._changes[parts] = self._change(parts, after=0)
        return self._changes[parts]

    def _weighted(self, turn: Turn) -> WeightedTrees:
        """Return the trees that a round drops, and its new ones behind them."""
        from pyopencl_gbdt.growth.kept_trees import WeightedTrees

        drop, nodes, end = turn.drop, self.nodes, turn.weights.size
        n, n_new = drop.trees.size, self._n_vectors
        trees = np.arange(end - n - n_new, end)
        before = np.zeros(n + n_new, np.float32)
        after = np.full(n + n_new, drop.of_new, np.float32)
        trees[:n], before[:n], after[:n] = drop.trees, drop.before, drop.after
        places = self._of_outputs(trees, range(nodes.n_alike))
        return WeightedTrees(*places, *(np.repeat(one, nodes.n_alike) for one in (before, after)))

    def _list(self, turns: Sequence[Turn]) -> int:
        """List the trees of some rounds on the device; return of how many there was room."""
        room, n_heads = self.arena["listed"].shape[0] - 1, 2 * self._n_walks
        each = len(self._walked)
        n_trees = [turn.drop.trees.size + self._n_vectors for turn in turns]
        taken = np.cumsum(n_heads + each * np.array(n_trees))
        n_turns = int(np.searchsorted(taken, room, side="right"))
        first = np.zeros((1, _ENTRY_WORDS), np.uint32)
        first[0, 0] = turns[0].number - self.nodes.first_round
        self.arena["listed"].set(np.concatenate([first, *self._listed(turns[:n_turns])]))
        return n_turns

    @property
    def _walked(self) -> range:
        """The outputs that split alike for which rows walk a tree."""
        return range(0, self.nodes.n_alike, self._together)

    def _listed(self, turns: Sequence[Turn]) -> tuple[U32, U32]:
        """Return the heads of some rounds, as in the template, and their trees.

        NumPy takes about as long for the trees of one round as for those of many.
        """
        n_new, n_heads, drops = self._n_vectors, 2 * self._n_walks, [one.drop for one in turns]
        ends = np.array([turn.weights.size for turn in turns])
        new = (ends[:, None] - n_new + np.arange(n_new)).ravel()
        of_new = np.repeat(np.array([drop.of_new for drop in drops]), n_new)
        places = np.concatenate([*(drop.trees for drop in drops), new])
        before = np.concatenate([*(drop.before for drop in drops), np.zeros_like(of_new)])
        after = np.concatenate([*(drop.after for drop in drops), of_new])
        n_dropped = [drop.trees.size for drop in drops]
        heads_of = np.arange(len(turns)) * n_heads  # those of new trees are behind the others
        keys = np.concatenate(
            [np.repeat(heads_of, n_dropped), np.repeat(heads_of + self._n_walks, n_new)]
        )
        is_new = np.arange(places.size) >= places.size - new.size
        trees, outputs = self._of_outputs(places, self._walked)
        n_walked = len(self._walked)
        keys, before, after, is_new = (
            np.repeat(one, n_walked) for one in (keys, before, after, is_new)
        )
        keys += outputs // self._together
        n_keys = heads_of.size * n_heads
        heads = np.zeros((n_keys, _ENTRY_WORDS), np.uint32)
        heads[:, 1] = ends = np.cumsum(np.bincount(keys, minlength=n_keys))
        heads[1:, 0] = ends[:-1]
        by_codes = (trees < self._bank.n_earlier) | is_new
        heads[:, 2] = heads[:, 0] + np.bincount(keys[by_codes], minlength=n_keys)
        heads[:, :3] += 1 + n_keys
        order = np.argsort(keys, kind="stable")
        entries = np.zeros((trees.size, _ENTRY_WORDS), np.uint32)
        entries[:, :2] = self._bank.roots[trees[order]]
        entries[:, 2] = before[order].view(np.uint32)
        entries[:, 3] = after[order].view(np.uint32)
        return heads, entries

    def kept_margins(self) -> list[Action]:
        """Return the copies of the margins, if there are several batches."""
        return kept_margins(self.rows)

    def add(self, batch: Batch) -> list[Launch]:
        """Return the launches that keep the latest trees, and add those of the round."""
        arena, nodes = self.arena, self.nodes
        most = arena.device.caps.compute_units
        groups = min(-(-nodes.max_nodes // self.program.wg_size), most)
        is_last = batch == nodes.batches[-1]
        new = self._parts(nodes.round_trees, self._bank.longest)
        alike: dict[str, Any] = {}
        if self._together > 1:
            alike = {
                "n_levels": nodes.n_levels,
                "n_alike": nodes.n_alike,
                "levels": arena["levels"],
            }
        return [
            self.program.bind(
                "keep_trees", groups, most_nodes=nodes.max_nodes,
                first=nodes.first_round * len(nodes.batches),
                leaf_header=self.rows.pages[0]["leaf_header"], **alike, **self._sets(),
                **arena.arguments("walk", "steps", "kept_walk", "kept_steps"),
            ),
            *(self._change(new, after=1) if is_last else []),
        ]  # fmt: skip

    def _sets(self) -> dict[str, Any]:
        """Return the arguments by which a batch's sets are kept; nothing without sets."""
        if not self.features.has_categories:
            return {}
        sizes = {"most_words": self._batch_words, "set_words": self.nodes.set_words}
        return {**sizes, **self.arena.arguments("sets", "kept_sets")}

    def follow(self, rows: FollowingRows, batch: Batch) -> list[Action]:
        """Take further rows; ``end_round`` updates their margins."""
        from pyopencl_gbdt.growth.kept_trees import FollowedWeighted

        if rows.has_values and all(one.rows is not rows for one in self._followed):
            self._followed.append(FollowedWeighted(self.arena.device, self.program, rows))
        return []

    def end_round(self) -> None:
        """Add the new trees to the sums of other rows, and give dropped trees their new weights."""
        for rows in self._followed:
            rows.change(self._bank, self._weighted(self._turn))

    def weights(self, n_rounds: int) -> F32:
        """Return the weights of all trees as they were after some rounds of this fit."""
        from pyopencl_gbdt.growth.drop_schedule import DropSchedule

        found = self._ahead.weights
        if n_rounds < len(self._rounds):
            schedule = DropSchedule(self.nodes.params, self._n_vectors, self._weights)
            for number, rate in self._rounds[:n_rounds]:
                schedule.next(number, rate)
            found = schedule.weights
        rounds = found.reshape(-1, self._n_vectors)
        return np.tile(rounds, self.nodes.n_alike).ravel()
