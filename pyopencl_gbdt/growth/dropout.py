"""DART: rounds drop trees, whose weights then change; ``docs/dart.md`` has the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.program import Action, Parts, Program
from pyopencl_gbdt.dtypes import STEP, SUM, VALUE, WALK
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage, PerRow
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.boosting import (
    AnyStart,
    FollowingRows,
    WeightedStart,
    kept_margins,
    starting_margins,
    starting_sums,
)
from pyopencl_gbdt.growth.coded_trees import CodedTrees, coded_trees
from pyopencl_gbdt.growth.drop_schedule import DropSchedule
from pyopencl_gbdt.growth.update_margins import MarginUpdate

F32 = npt.NDArray[np.float32]
#: Nodes on the longest path of a model that is continued, where its trees are not known yet.
_CONTINUED = 64
#: Outputs that split alike for which rows walk a tree once. PoCL, 2 cores, processor s, 25 rounds,
#: 20 k x 10, 12 classes, depth 6, a rate_drop of 0.3: 3.1 for one output, 2.15 for four.
_TOGETHER = 4
_ENTRY_WORDS = 4


class _WeightedTrees(NamedTuple):
    """Trees by their places in the model, their outputs, and their weights around a round."""

    trees: npt.NDArray[np.int64]
    outputs: npt.NDArray[np.int64]
    before: F32
    after: F32


def of_followed_rows(
    device: Device, shape: tuple[int, ...]
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return new arrays of an evaluation set: base margins, sums of trees, and values of leaves."""
    return (
        device.empty(shape, VALUE, "margins before the trees"),
        device.empty(shape, SUM, "sums of trees"),
        device.empty(shape[-1], VALUE, "values of leaves"),
    )


class _FollowedRows:
    """An evaluation set: the sums of its rows, and the launches that change them."""

    def __init__(self, device: Device, program: Program, rows: FollowingRows) -> None:
        self.rows, self.program = rows, program
        self.shape = tuple(rows.margins.shape)
        self.n_rows = self.shape[-1]
        self.start, self.sums, self.values = of_followed_rows(device, self.shape)
        device.clear(self.values)
        margins, sums = starting_sums(rows.start)
        self.start.set(np.broadcast_to(np.asarray(margins, np.float32), self.shape))
        self.sums.set(np.broadcast_to(np.asarray(sums, np.int64), self.shape))
        most = 16 * device.caps.compute_units
        self.groups = min(most, -(-self.n_rows // program.wg_size))
        self._walks: dict[int, list[Action]] = {}

    def change(self, bank: _Bank, trees: _WeightedTrees) -> None:
        """Let trees leave the sums with one weight and come back with another; set the margins."""
        for tree, output, before, after in zip(*(one.tolist() for one in trees), strict=True):
            if tree not in self._walks:
                self._walks[tree] = bank.walk(self.rows, tree, self.values)
            for walk in self._walks[tree]:
                walk()
            self.program.launch(
                "add_values", self.groups, n_rows=self.n_rows, first=output * self.n_rows,
                before=before, after=after, values=self.values, tree_sums=self.sums,
            )  # fmt: skip
        self.program.launch(
            "show", self.groups, n=self.sums.size, start=self.start, tree_sums=self.sums,
            margins=self.rows.margins,
        )  # fmt: skip


class _Bank:
    """All trees of the model, as rows walk them on the device.

    Trees of this fit lie batch by batch, each batch in room for ``max_nodes``, as they were grown;
    those of a model that is continued lie apart.

    Attributes
    ----------
    roots : uint32 array, shape (n_trees, 2)
        The first node of every tree, and whether it is one of a model that is continued.
    """

    def __init__(self, parts: FitParts, earlier: CodedTrees, n_rounds: int) -> None:
        self.parts, self.n_earlier = parts, earlier.begin.size
        arena, upload = parts.arena, parts.arena.device.upload
        nodes, batches = parts.nodes, parts.nodes.batches
        of_round = [n * nodes.max_nodes + np.arange(one.size) for n, one in enumerate(batches)]
        rounds = np.arange(n_rounds)[:, None] * (len(batches) * nodes.max_nodes)
        own = (rounds + np.concatenate(of_round)).ravel()
        self.roots = np.zeros((self.n_earlier + own.size, 2), np.uint32)
        self.roots[:, 0] = np.append(earlier.begin, own)
        self.roots[: self.n_earlier, 1] = 1
        arena["kept_roots"].set(self.roots[self.n_earlier :, 0])
        self.earlier_steps = arena["kept_steps"]  # as the kernel's argument, where there are none
        self.kept_sets = arena["kept_sets"] if parts.features.has_categories else None
        self.earlier_sets = self.kept_sets
        if self.n_earlier:
            _tell_next_outputs(earlier, nodes.n_parallel)
            self.earlier_steps = upload(earlier.steps)
            self.earlier_sets = None if self.kept_sets is None else upload(earlier.sets)
            self._earlier_walk = upload(earlier.walk)
            self._earlier_roots = upload(earlier.begin)
        self.longest = max(parts.nodes.longest, earlier.longest)

    def walk(self, rows: FollowingRows, tree: int, values: DeviceArray) -> list[Action]:
        """Return the launches that add the leaf values of a tree to ``values``."""
        arena, own = self.parts.arena, tree - self.n_earlier
        if own < 0:
            nodes, roots, own = self._earlier_walk, self._earlier_roots, tree
            sets = self.earlier_sets
        else:
            nodes, roots, sets = arena["kept_walk"], arena["kept_roots"], self.kept_sets
        return rows.walk(self.parts, nodes, roots, own, self.longest, values, sets)

    def set_arguments(self) -> dict[str, Any]:
        """Return the kernel's arguments for splits by sets; nothing without them."""
        if self.kept_sets is None:
            return {}
        return {"kept_sets": self.kept_sets, "earlier_sets": self.earlier_sets}


def _tell_next_outputs(trees: CodedTrees, n_parallel: int) -> None:
    """Set the places of leaves to how many nodes further the next output's leaves lie."""
    ends = np.append(trees.begin, trees.steps.size).astype(np.int64)
    following = np.minimum(np.arange(n_parallel, ends.size - 1 + n_parallel), ends.size - 1)
    further = np.repeat(ends[following] - ends[:-1], np.diff(ends))
    leaves = trees.steps["left"] == 0
    trees.steps["place"][leaves] = further[leaves]


class DropoutBoosting:
    """Gradients are computed from the trees that a round does not drop; weights change after it.

    A row's sum of the trees is an integer, so trees are taken out and put back without a trace.
    """

    kernels: ClassVar[tuple[str, ...]] = ("dropout",)

    def __init__(self, parts: FitParts, update: MarginUpdate) -> None:
        self.parts = parts
        self.arena, self.rows, self.nodes, self.features, ways = parts
        arena, nodes = self.arena, self.nodes
        shape = PerRow(() if nodes.n_outputs == 1 else (nodes.n_outputs,))
        self.rows.array_of_rows("start", shape, VALUE)
        self.rows.array_of_rows("tree_sums", shape, SUM)
        n_rounds = max(1, nodes.params.n_estimators)
        n_nodes = n_rounds * len(nodes.batches) * nodes.max_nodes
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
        self.program = ways.build_kernel(
            "dropout", code=self.rows.codes.code_type, parts=self._has_parts,
            together=self._together, categories=self.features.has_categories,
        )  # fmt: skip
        arena.array("listed", (2 * self._n_walks + most, _ENTRY_WORDS), np.uint32)
        self._followed: list[_FollowedRows] = []

    def start(self, margins: AnyStart, following: Sequence[FollowingRows]) -> None:
        """Reset all sums; forget the trees of this fit."""
        arena, rows = self.arena, self.rows
        trees, weights = [], np.zeros(0, np.float32)
        if isinstance(margins, WeightedStart):
            trees, weights = margins.trees, margins.weights
        self._drops = list[tuple[int, float]]()
        self.n_dropped = list[int]()
        of_first = weights.reshape(-1, self.nodes.round_trees)[:, : self._n_vectors]
        self._weights, self._schedule = of_first, self._scheduled(of_first)
        n_rounds = arena["kept_roots"].size // self.nodes.round_trees
        words = self.nodes.set_words if self.features.has_categories else 0
        earlier = coded_trees(trees, self.features.layout, rows.codes, words)
        self._bank = _Bank(self.parts, earlier, n_rounds)
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

    def _scheduled(self, weights: F32) -> DropSchedule:
        return DropSchedule(self.nodes.params, self._n_vectors, weights.ravel())

    def _of_outputs(self, trees: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the places of the trees of all outputs, for each tree of the schedule."""
        nodes = self.nodes
        first = trees // self._n_vectors * nodes.round_trees + trees % self._n_vectors
        found: npt.NDArray[np.int64] = first[:, None] + nodes.n_parallel * np.arange(nodes.n_alike)
        return found.ravel()

    def _parts(self, n_trees: int, longest: int) -> Parts:
        """Return the launches in which the rows of each page walk so many trees."""
        most_rows = max(page.n_rows for page in self.rows.pages)
        tree_bytes = longest * (STEP.itemsize + VALUE.itemsize)
        return Parts.of(self.arena.device.caps, most_rows * n_trees * tree_bytes)

    def _change(self, parts: Parts, *, after: int) -> list[Launch]:
        """Return what lets rows walk trees of a round, whose weights change."""
        return [one for page in self.rows.pages for one in self._page(page, parts, after)]

    def _page(self, page: FitPage, parts: Parts, after: int) -> list[Launch]:
        part = page.part
        most = 16 * self.arena.device.caps.compute_units
        groups = min(most, -(-page.n_rows // self.program.wg_size)), self._n_walks
        outputs = {"n_outputs": self.nodes.n_outputs} if self._together > 1 else {}
        arguments = {
            **outputs,
            "n_rows": part.n_rows, "after": after, **page.rows, **page.codes.row_arguments(),
            **part.arguments("start", "tree_sums", "margins"),
            **self.arena.arguments("listed", "kept_steps"),
            "earlier_steps": self._bank.earlier_steps, **self._bank.set_arguments(),
        }  # fmt: skip
        if self._has_parts:
            return parts.bind(self.program, "change", groups, **arguments)
        return [self.program.bind("change", groups, **arguments)]

    def begin_round(self, number: int, rate: float) -> None:
        """Take the trees out of the margins that this round drops."""
        n_trees = self._schedule.weights.size
        drop = self._schedule.next(number, rate)
        self._drops.append((number, rate))
        self.n_dropped.append(drop.trees.size)
        nodes, n_new = self.nodes, self._n_vectors
        trees = self._of_outputs(np.append(drop.trees, np.arange(n_trees, n_trees + n_new)))
        before = np.append(drop.before, np.zeros(n_new, np.float32))
        after = np.append(drop.after, np.full(n_new, drop.of_new, np.float32))
        self._weighted = _WeightedTrees(
            trees,
            trees % nodes.round_trees // nodes.n_parallel,
            *(np.repeat(one, nodes.n_alike) for one in (before, after)),
        )
        n_dropped = drop.trees.size * nodes.n_alike
        self._list(n_dropped)
        if n_dropped:
            for launch in self._dropping(n_dropped):
                launch()

    def _dropping(self, n_trees: int) -> list[Launch]:
        """Return what takes so many trees out of the margins."""
        parts = self._parts(n_trees, self._bank.longest)
        if parts not in self._changes:
            self._changes[parts] = self._change(parts, after=0)
        return self._changes[parts]

    def _list(self, n_dropped: int) -> None:
        """List the round's dropped trees on the device, and its new ones behind them."""
        trees, outputs, before, after = self._weighted
        n_heads, walked = 2 * self._n_walks, outputs % self._together == 0
        keys = outputs // self._together + self._n_walks * (np.arange(trees.size) >= n_dropped)
        trees, keys, before, after = (one[walked] for one in (trees, keys, before, after))
        order = np.argsort(keys, kind="stable")
        ends = n_heads + np.searchsorted(keys[order], np.arange(n_heads + 1))
        listed = np.zeros((n_heads + trees.size, _ENTRY_WORDS), np.uint32)
        listed[:n_heads, 0], listed[:n_heads, 1] = ends[:-1], ends[1:]
        listed[n_heads:, :2] = self._bank.roots[trees[order]]
        listed[n_heads:, 2] = before[order].view(np.uint32)
        listed[n_heads:, 3] = after[order].view(np.uint32)
        self.arena["listed"].set(listed)

    def kept_margins(self) -> list[Action]:
        """Return the copies of the margins, if there are several batches."""
        return kept_margins(self.rows)

    def add(self, batch: Batch) -> list[Launch]:
        """Return what keeps the trees that were finished last, and adds those of the round."""
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
        """Take rows whose margins ``end_round`` is to update."""
        if rows.has_values and all(one.rows is not rows for one in self._followed):
            self._followed.append(_FollowedRows(self.arena.device, self.program, rows))
        return []

    def end_round(self) -> None:
        """Add the new trees to the sums of other rows, and give dropped trees their new weights."""
        for rows in self._followed:
            rows.change(self._bank, self._weighted)

    def weights(self, n_rounds: int) -> F32:
        """Return the weights of all trees as they were after some rounds of this fit."""
        schedule = self._schedule
        if n_rounds < len(self._drops):
            schedule = self._scheduled(self._weights)
            for number, rate in self._drops[:n_rounds]:
                schedule.next(number, rate)
        rounds = schedule.weights.reshape(-1, self._n_vectors)
        return np.tile(rounds, self.nodes.n_alike).ravel()
