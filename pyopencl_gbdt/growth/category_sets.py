"""The sets of codes that go right at splits of categorical features, as bits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.category_split import order_arguments


def words_of(
    sets: npt.NDArray[np.uint32], batch: npt.NDArray[np.int64], left: npt.NDArray[np.uint32],
    n_levels: npt.NDArray[np.uint32],
) -> list[npt.NDArray[np.uint32]]:  # fmt: skip
    """Return the words of nodes' sets as a model keeps them, without missing values' bit.

    Parameters
    ----------
    sets : uint32 array, shape (n_batches, most_sets, set_words)
    batch : int64 array, shape (n,)
        The batch of each node.
    left : uint32 array, shape (n,)
        Its left child, as on the device.
    n_levels : uint32 array, shape (n,)
        Levels of its feature.
    """
    words = sets[batch, left // 2, 1:]
    bits = np.clip(n_levels.astype(np.int64)[:, None] - 32 * np.arange(words.shape[1]), 0, 32)
    words &= (np.left_shift(1, bits) - 1).astype(np.uint32)
    last = words.shape[1] - np.argmax(words[:, ::-1] != 0, axis=1)
    sizes = np.where(words.any(axis=1), last, 1).tolist()
    return [own[:size] for own, size in zip(words, sizes, strict=True)]


class FinishedSets:
    """Makes finished trees point to the sets of their splits, and keeps the sets for the host."""

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.nodes = parts.arena, parts.nodes
        nodes = self.nodes
        self.program = parts.ways.build_kernel("category_sets", picked=nodes.policy.picks)
        sets = nodes.most_sets, nodes.set_words
        self.arena.array("sets", sets, np.uint32)
        self.arena.array("forest_sets", (nodes.forest_block, *sets), np.uint32)

    def launches(self) -> list[Launch]:
        """Return the launch for the trees that were finished last."""
        arena, nodes = self.arena, self.nodes
        groups = min(-(-nodes.max_nodes // self.program.wg_size), arena.device.caps.compute_units)
        finish = self.program.bind(
            "finish_sets", max(groups, 1), set_words=nodes.set_words,
            most_words=nodes.most_sets * nodes.set_words, walk=arena["walk"].words(),
            **arena.arguments("leaf_header", "nodes", "sets", "steps", "forest_sets"),
        )  # fmt: skip
        return [finish]


class CategorySets:
    """Writes the sets of the nodes that split, before their rows move."""

    kernels: ClassVar[tuple[str, ...]] = ("category_sets",)

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena, nodes, ways = self.arena, self.nodes, self.ways
        self.program = ways.build_kernel("category_sets", picked=nodes.policy.picks)
        arena.array("sets", (nodes.most_sets, nodes.set_words), np.uint32)

    def write(self, step: int, batch: Batch) -> list[Launch]:
        """Return the launches that write the sets of a step's splits; nodes learn their kind."""
        return [self._page(step, batch, page) for page in self.rows.pages]

    def _page(self, depth: int, batch: Batch, page: FitPage) -> Launch:
        nodes = self.nodes
        return self.program.bind(
            "write_sets", nodes.level_capacity(depth), depth=depth, n_trees=batch.size,
            n_codes=self.features.layout.n_codes, set_words=nodes.set_words,
            **order_arguments(self.nodes),
            **page.arguments("levels", "nodes", *nodes.pick_arrays),
            **self.arena.arguments("feature_kinds", "node_sums", "scale", "feature_offset",
                                 "feature_bins", "fullest", "pool", "sets"),
        )  # fmt: skip
