"""The trees of a DART fit on the device, and the rows beside the training rows that follow them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.program import Action, Program
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.boosting import FollowingRows, of_followed_rows, starting_sums
from pyopencl_gbdt.growth.coded_trees import CodedTrees

F32 = npt.NDArray[np.float32]
#: In place of where a tree's leaves of rows are kept: it is one of a model that is continued.
_EARLIER = 0xFFFFFFFF


class WeightedTrees(NamedTuple):
    """Trees by their places in the model, their outputs, and their weights around a round."""

    trees: npt.NDArray[np.int64]
    outputs: npt.NDArray[np.int64]
    before: F32
    after: F32


class FollowedWeighted:
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

    def change(self, bank: KeptTrees, trees: WeightedTrees) -> None:
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


class KeptTrees:
    """All trees of the model, as rows walk them on the device.

    Trees of this fit lie batch by batch, each batch in room for ``max_nodes``, as they were grown;
    those of a model that is continued lie apart.

    Attributes
    ----------
    roots : uint32 array, shape (n_trees, 2)
        The first node of every tree, and its place in ``row_leaves``; that of a model that is
        continued has none.
    """

    def __init__(
        self, parts: FitParts, earlier: CodedTrees, n_rounds: int, places: npt.NDArray[np.int64]
    ) -> None:
        self.parts, self.n_earlier = parts, earlier.begin.size
        arena, upload = parts.arena, parts.arena.device.upload
        nodes, batches = parts.nodes, parts.nodes.batches
        of_round = [n * nodes.max_nodes + np.arange(one.size) for n, one in enumerate(batches)]
        rounds = np.arange(n_rounds)[:, None] * (len(batches) * nodes.max_nodes)
        own = (rounds + np.concatenate(of_round)).ravel()
        self.roots = np.zeros((self.n_earlier + own.size, 2), np.uint32)
        self.roots[:, 0] = np.append(earlier.begin, own)
        self.roots[:, 1] = np.append(np.full(self.n_earlier, _EARLIER), places)
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
