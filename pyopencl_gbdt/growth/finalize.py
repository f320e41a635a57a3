"""What is done with trees that have all their nodes: leaves get values, margins the leaves' values.

Rounds of plain boosting consist of that alone; ``growth/boosting.py`` has the seam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import copy_launch
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM
from pyopencl_gbdt.dtypes import KEPT, LEVEL, PAYLOAD, STEP, WALK
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitFeatures, FitPage, RowPart
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import LISTS, Ways
from pyopencl_gbdt.gradients.gradients import EXPONENTS, are_counted_ahead, are_quantized_ahead
from pyopencl_gbdt.growth.boosting import (
    AnyStart,
    Boosting,
    FollowingRows,
    MarginUpdate,
    WeightedStart,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives import Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.gradients.sources import GradientSource
    from pyopencl_gbdt.growth.partition import Partition

#: Most bytes of a row's codes, and least nodes, for which there is room in local memory.
_LOCAL_CODES, _LEAST_NODES = 32, 128
#: Nodes that a work-item finishes, if there are several work-groups.
_ITEM_NODES = 2
#: Most nodes that a work-item copies where one work-group does all: that is no launch of its own.
_KEPT_NODES = 4
#: Number of rows ahead for which a CPU's kernel prefetches codes and margins.
_AHEAD = 48


class LeafValues:
    """Replaces the leaf values of finished trees; this class keeps the values from the splits.

    ``kernels`` are as in `SplitSearch`.
    """

    kernels: ClassVar[tuple[str, ...]] = ()
    takes_next_order: bool = False
    """Whether rows have the codes of the next order of the rows, where orders take turns."""

    def __init__(self, parts: FitParts, objective: Objective, data: Dataset) -> None:
        """Build the kernels, of which there are none here."""

    def start(self, margins: Any, state: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take the margins of the rows before the first round, and what ``state`` has returned."""

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return the state that later rounds need beside the trees; waits for the device."""
        return {}

    def round_begins(self, source: GradientSource | None) -> Sequence[Sequence[Action]]:
        """Return the actions that compute gradients before a round's trees; rounds take turns.

        ``source``: the kernels of a loss that has its own.
        """
        return [[] if source is None else source.launches()]

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        return []


class Finalize:
    """Finishes trees.

    Build it after the kernels of leaves: its tasks have the size of their chunks.
    """

    def __init__(
        self, arena: Arena, rows: FitRows, nodes: Nodes, features: FitFeatures, ways: Ways
    ) -> None:
        self.arena, self.rows, self.nodes, self.features = arena, rows, nodes, features
        self.program = ways.build_kernel(
            "plan",
            template="finalize",
            leaf_chunk=ways.variant("update_margins").params["chunk"],
            tables=nodes.policy.splits_alike,
            n_exponents=EXPONENTS,
            counted=nodes.params.limits_rows,
            smooth=nodes.params.smooths,
        )
        self._learning_rate = nodes.params.learning_rate  # that which ``leaf_rate`` holds
        most, block = nodes.max_nodes, nodes.forest_block
        arena.array("walk", most, WALK)
        arena.array("steps", most, STEP)
        arena.array("roots", nodes.n_trees, np.uint32, np.arange(nodes.n_trees))
        arena.array("forest_nodes", (block, len(KEPT), most), np.uint32)
        arena.array("forest_levels", (block, nodes.n_levels + 1), LEVEL)
        rows.array_of_pages("leaf_task_begin", most + 1, np.uint32)
        done = nodes.first_round * len(nodes.batches)  # it will wait at 0
        rows.array_of_pages("leaf_header", 4, np.uint32, [0, 0, block - 1, done])

    def set_rate(self, learning_rate: float) -> None:
        """Enqueue another learning rate for the rounds to come; nothing waits."""
        if learning_rate == self._learning_rate:
            return
        self._learning_rate = learning_rate
        rate = self.nodes.leaf_rate(learning_rate)
        self.program.launch("set_leaf_rate", 1, rate, self.arena["leaf_rate"])

    def tree(self, batch: Batch) -> list[Launch]:
        """Return the launches that make the last leaves, leaf tasks and the trees that rows walk.

        Every page makes the same trees, and leaf tasks of its own.
        """
        return [self._page(batch, page) for page in self.rows.pages]

    def _page(self, batch: Batch, page: FitPage) -> Launch:
        nodes, p = self.nodes, self.nodes.params
        depth = 2**31 if nodes.policy.moves_last_rows else nodes.n_levels
        block = (1, 1)  # steps are not walked along columns
        if self.features.columns is None:
            block = page.codes.block_features, page.codes.block_codes
        return self.program.bind(
            "finish_tree", self._groups, level=nodes.n_levels, depth=depth, n_trees=batch.size,
            n_lists=nodes.n_lists,
            features_per_block=block[0], block=block[1], most_kept=nodes.forest_block,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight, **p.smoothing,
            **page.arguments("levels", "nodes", "leaf_task_begin", "leaf_header", "drawn"),
            **self.arena.arguments("leaf_rate", "scale", "feature_offset", "feature_bins",
                                   "thresholds", "walk", "steps", "exponents", *PAYLOAD),
        )  # fmt: skip

    @property
    def _groups(self) -> int:
        """Work-groups that finish trees: several of a GPU, where there are many nodes."""
        caps = self.arena.device.caps
        many = -(-self.nodes.max_nodes // (_ITEM_NODES * self.program.wg_size))
        return min(many, caps.compute_units) if caps.hides_latency else 1

    def keep(self) -> Launch:
        """Return the launch that puts the trees where they wait for the host."""
        arena, nodes = self.arena, self.nodes
        groups = min(-(-nodes.max_nodes // self.program.wg_size), arena.device.caps.compute_units)
        if nodes.max_nodes <= _KEPT_NODES * self.program.wg_size:
            groups = 1
        return self.program.bind(
            "keep", groups, most_nodes=nodes.max_nodes, level_words=arena["levels"].nbytes // 4,
            levels=arena["levels"].words(), forest_levels=arena["forest_levels"].words(),
            **arena.arguments("leaf_header", "nodes", "node_sums", "node_weights", "node_values",
                              "scale", "forest_nodes"),
        )  # fmt: skip


def walked_terms(arena: Arena) -> dict[str, DeviceArray]:
    """Return the arguments by which kernels that walk trees find the terms of linear leaves."""
    return arena.arguments("term_begin", "intercepts", "term_features", "term_coefficients")


@dataclass(frozen=True)
class LocalWalk:
    """What rows keep in local memory while they walk trees.

    Attributes
    ----------
    nodes : int
        Nodes of all trees of a batch for which there is room; 0: rows walk in global memory.
    words : int
        Words of 32 bits that a row's codes take.
    """

    nodes: int = 0
    words: int = 0

    @classmethod
    def of(cls, variant: Variant, parts: FitParts) -> LocalWalk:
        """Return the sizes for rows that walk trees.

        Rows of up to 32 codes of a byte keep all of them, if the trees have few nodes.
        """
        _, rows, nodes, features, ways = parts
        codes, wg_size = rows.codes, ways.wg_size(variant)
        plain = not (features.has_categories or nodes.params.linear_tree)
        short = codes.code_type == "u8" and codes.row_bytes <= _LOCAL_CODES
        if variant.name != "walk" or not (plain and short):
            return cls()
        if nodes.max_nodes > variant.params["local_nodes"]:
            return cls()
        room = max(_LEAST_NODES, 1 << (nodes.max_nodes - 1).bit_length())
        local = 8 * room + (codes.row_bytes + 8) * wg_size + 4 * EXPONENTS  # 8 for sums
        if local + LOCAL_HEADROOM > ways.device.caps.local_bytes:
            return cls()
        return cls(room, codes.row_bytes // 4)


class UpdateMargins:
    """Adds finished trees to the margins of the training rows."""

    kernels: ClassVar[tuple[str, ...]] = ("update_margins",)

    def __init__(self, parts: FitParts, partition: Partition | None = None) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        ways, rows = self.ways, self.rows
        counts = self._counts = are_counted_ahead(rows, self.nodes, ways)
        self._quantizes = are_quantized_ahead(rows, self.nodes, ways)
        for attempt in ways.attempts("update_margins"):
            with attempt as variant:
                self._local = LocalWalk.of(variant, parts)
                made = ways.device.build(
                    "update_margins",
                    wg_size=ways.wg_size(variant),
                    walk=variant.name == "walk",
                    chunk=variant.params["chunk"],
                    code=self.rows.codes.code_type,
                    prefetch=_AHEAD if self.arena.device.caps.prefetches else 0,
                    categories=self.features.has_categories,
                    linear=self.nodes.params.linear_tree,
                    loss=ways.facts.loss.kernel if counts and variant.name == "walk" else "",
                    weighted=rows.weighted,
                    n_exponents=EXPONENTS,
                    ahead=self._quantizes and variant.name == "walk",
                    local_nodes=self._local.nodes,
                    local_words=self._local.words,
                )
                self.program = ways.built(attempt, made)

    def add(self, batch: Batch) -> list[Action]:
        """Return the actions that add the trees that were finished last."""
        pages = [[self._page(batch, page)] for page in self.rows.pages]
        lists = LISTS if self.rows.leaves_have_lists else ()
        reads, writes = (CODES, "margins"), ("margins",)
        return self.rows.pagewise(pages, reads, writes, drops=lists, updates=lists)

    def _terms(self) -> dict[str, Any]:
        """Return the kernel's arguments for leaves that are linear functions."""
        if not self.nodes.params.linear_tree:
            return {}
        values = self.arena["row_values"]
        return {"n_features": values.shape[1], "values": values, **walked_terms(self.arena)}

    def _codes(self, page: FitPage) -> Mapping[str, Any]:
        """Return the kernel's arguments for the codes of rows that walk."""
        if not self._local.nodes:
            return page.codes.row_arguments
        return {"codes": page.codes.row_arguments["codes"], "n_nodes": self.arena["steps"].size}

    def _next(self, batch: Batch, part: RowPart) -> dict[str, Any]:
        """Return the kernel's arguments for the next round's gradients."""
        if not self._counts:
            return {}
        more = self.rows.gradient_arguments(batch, part)
        labels = {"labels": more["labels"], "label_stride": more["label_stride"]}
        found = labels | part.arguments(*self.rows.weights, "exponents")
        if not self._quantizes:
            return found
        arrays = part.arguments("scale", "scale_ahead", "quanta", "sums")
        return found | arrays | {"n_sums": part.groups}

    def _page(self, batch: Batch, page: FitPage) -> Launch:
        bind, part = self.program.bind, page.part
        nodes = self.nodes
        variant = self.ways.variant("update_margins")
        most_groups = 16 * self.arena.device.caps.compute_units
        if variant.name == "walk":
            groups = min(most_groups, -(-page.n_rows // self.program.wg_size))
            if self._quantizes:  # a unit of NVIDIA's runs 6 groups at once, of 8 that have sums
                groups = max(1, part.groups * 3 // 4)
            outputs = -(-batch.size // nodes.n_parallel)
            return bind(
                "add_leaves", (groups, outputs), n_rows=part.n_rows, first_tree=batch.first,
                n_trees=batch.size, n_parallel=nodes.n_parallel, **page.rows,
                **self._codes(page), **self.features.walked_sets(self.arena), **self._terms(),
                **self._next(batch, part), **part.arguments("steps", "margins"),
            )  # fmt: skip
        most_tasks = nodes.n_trees * page.n_rows // variant.params["chunk"] + nodes.max_nodes
        return bind(
            "add_leaves", min(most_tasks, most_groups), n_rows=part.n_rows,
            first_row=page.first_row, first_tree=batch.first, header=page["leaf_header"],
            task_begin=page["leaf_task_begin"], nodes=page["nodes"],
            node_values=self.arena["node_values"],
            **page.codes.column_arguments, **self.features.moved_sets(self.arena),
            **part.arguments("even_rows", "odd_rows", "feature_bins", "margins"),
        )  # fmt: skip


def kept_margins(rows: FitRows) -> list[Action]:
    """Return the copies of the margins for the gradients of several batches."""
    if not rows.keeps_margins:
        return []
    copies = [[copy_launch(part["margins"], part["before"])] for part in rows.parts]
    return rows.pagewise(copies, ("margins",), ("before",))


class PlainBoosting(Boosting):
    """Gradients are computed from the sum of all trees; trees, also of forests, stay unchanged."""

    kernels: ClassVar[tuple[str, ...]] = ()

    def __init__(self, parts: FitParts, update: MarginUpdate) -> None:
        self.parts, self.update = parts, update

    def start(self, margins: AnyStart, following: Sequence[FollowingRows]) -> None:
        """Reset all margins."""
        assert not isinstance(margins, WeightedStart)  # trees have no weights
        self.parts.rows.set("margins", margins)
        for rows in following:
            rows.restart()

    def begin_round(self, number: int, rate: float) -> None:
        """Leave the margins as they are."""

    def kept_margins(self) -> list[Action]:
        """Return the copies of the margins, if there are several batches."""
        return kept_margins(self.parts.rows)

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return the actions that add each leaf's value to the margins of its rows."""
        return self.update.add(batch)

    def follow(self, rows: FollowingRows, batch: Batch) -> list[Action]:
        """Return the actions that add each leaf's value to the margins of its rows."""
        return rows.launches(self.parts, batch)

    def end_round(self) -> None:
        """Do nothing: the margins are those after the round."""

    def weights(self, n_rounds: int) -> None:
        """Return None: trees have no weights."""


def way_to_leaves(parts: FitParts) -> str:
    """Return how the kernel ``find_leaves`` of ``leaf_of_rows.cl.mako`` finds the rows' leaves."""
    if parts.features.columns is not None:
        return "by_node"
    lists = parts.rows.leaves_have_lists and parts.rows.schedule is None
    return "by_rows" if lists else "walk"


def find_leaves(
    parts: FitParts, program: Program, batch: Batch, page: FitPage, leaves: DeviceArray
) -> Launch:
    """Return the launch of ``find_leaves`` that writes the leaf of every row of a page.

    Parameters
    ----------
    program : Program
        Built with the def of ``way_to_leaves``.
    leaves : uint32 array, shape (n_trees, n_rows)
        Written; of the rows of the page's part.
    """
    arena, _, nodes, features, ways = parts
    part, way = page.part, way_to_leaves(parts)
    if way == "by_rows":
        most = nodes.n_trees * page.n_rows // ways.variant("update_margins").params["chunk"]
        groups = min(most + nodes.max_nodes, 16 * arena.device.caps.compute_units)
        return program.bind(
            "find_leaves", groups, n_rows=part.n_rows, first_row=page.first_row,
            header=page["leaf_header"], task_begin=page["leaf_task_begin"], nodes=page["nodes"],
            leaves=leaves, **page.codes.column_arguments, **features.moved_sets(arena),
            **part.arguments("even_rows", "odd_rows", "feature_bins"),
        )  # fmt: skip
    how: dict[str, Any] = {"row_nodes": arena["row_nodes"]} if way == "by_node" else {
        "steps": arena["steps"], **features.walked_sets(arena), **page.codes.row_arguments,
    }  # fmt: skip
    groups_of = part.groups, batch.size
    return program.bind(
        "find_leaves", groups_of, n_rows=part.n_rows, **page.rows, **how, leaves=leaves
    )
