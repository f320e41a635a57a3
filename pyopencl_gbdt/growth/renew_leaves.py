"""Leaves take a quantile of their rows' residuals, for losses whose Hessian says nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch, Program
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.messages import LargestLeafShare
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage, PerRow, RowPart
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.finalize import LeafValues, find_leaves, way_to_leaves
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.objectives import Objective

#: Words that hold a node's counts.
COUNTS = 512
#: Nodes for each compute unit from which on work-items select the quantiles of whole leaves. PoCL,
#: 2 units, beside other programs, 100 k rows, 64 leaves, processor ms: 1.4, digit by digit 2.9.
LEAST_NODES = 16


class RenewLeaves(LeafValues):
    """Selects quantiles digit by digit, without a sort; sums are integers.

    ``objective``: one that ``renews``.

    Attributes
    ----------
    selects : bool
        Whether a work-item selects the quantile of a whole leaf; then no digits are counted.
    """

    kernels: ClassVar[tuple[str, ...]] = ()

    def __init__(self, parts: FitParts, objective: Objective, data: Dataset) -> None:
        self._parts = parts
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        self._finds = way_to_leaves(parts) == "by_rows"
        self.objective, self._data = objective, data
        one = np.ones(1, np.float32)
        weights = objective.leaf_weights(one, None if data.weight is None else one)
        self.weighted = weights is not None
        self.selects = self._may_select()
        self.program = self._built()
        if self.selects and self.program.wg_size != 1:  # another variant had to be built
            self.selects = False
            self.program = self._built()
        self._ask()

    def _may_select(self) -> bool:
        """Whether work-items select the quantiles of whole leaves, of which each has several."""
        ways, rows = self.ways, self.rows
        one = ways.wg_size(ways.variant("renew_leaves")) == 1
        here = rows.team.size == 1 and len(rows.pages) == 1 and not self.weighted
        units = self.arena.device.caps.compute_units
        return self._finds and one and here and self.nodes.max_nodes >= LEAST_NODES * units

    def _built(self) -> Program:
        by_lists = "alone" if self.selects else "by_rows"
        return self.ways.build_kernel(
            "renew_leaves",
            weighted=self.weighted,
            code="" if self.features.columns is not None else self.rows.codes.code_type,
            categories=self.features.has_categories,
            n_counts=COUNTS,
            finds=by_lists if self._finds else "",
            chunk=self.ways.variant("update_margins").params["chunk"],
        )

    def _ask(self) -> None:
        from pyopencl_gbdt.numerics.quantiles import fraction_of

        nodes, trees, targets = self.nodes.max_nodes, self.nodes.n_trees, self.rows.n_targets
        arena = self.arena
        alphas = [fraction_of(self.objective.leaf_alpha(k)) for k in range(self.nodes.n_outputs)]
        arena.array("renew_alpha", (self.nodes.n_outputs, 2), np.uint32, alphas)
        self.rows.array_of_rows("renew_key", PerRow((trees,)), np.uint32)
        arena.array("renew_prefix", (nodes, 2), np.uint32)
        arena.array("renew_rank", (nodes, 2), np.int64)
        arena.array("renew_fraction", nodes, np.float32)
        if self.selects:  # nothing is counted
            return
        self.rows.array_of_rows("renew_leaf", PerRow((trees,)), np.uint32)
        arena.array("renew_counts", (nodes, COUNTS), np.uint32, zeros)  # every tree leaves them so
        if self.weighted:
            self.rows.array_of_rows("renew_weights", PerRow((targets,)), np.int64, self._weights)
        else:
            arena.array("renew_weights", 0, np.int64)

    def _weights(self) -> npt.NDArray[np.int64]:
        """Return the rows' weights of every target."""
        data, objective = self._data, self.objective
        every = [objective.leaf_shares(target, data.weight) for target in data.targets()]
        return np.stack([self._whole(share) for share in every if share is not None])

    def _whole(self, share: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the weights of a target as integers, of one scale in the whole team."""
        every = self.rows.team.exchange(LargestLeafShare, float(share.max(initial=0.0)))
        return whole(share, self.nodes.all_rows, max(every))

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        if self.selects:
            return [self._select(batch), self._renew()]
        keys = ("renew_leaf", "renew_key")
        rows = self.rows
        weights = ("renew_weights",) if self.weighted else ()
        counts = [[*self._find(batch, page), self._count_first(batch, page)] for page in rows.pages]
        reads = (CODES, *rows.gradients_of, *weights)
        found = [*rows.pagewise(counts, reads, keys), *self._sum(), self._pick(24, batch)]
        for shift in (16, 8, 0):
            counts = [[self._count_next(batch, part, shift)] for part in rows.parts]
            drops = () if shift else keys
            found += rows.pagewise(counts, (*keys, *weights), drops=drops)
            found += [*self._sum(), self._pick(shift, batch)]
        return [*found, self._renew()]

    def _select(self, batch: Batch) -> Launch:
        """Return the launch that finds the residuals of all leaves, each by a work-item."""
        arena, page = self.arena, self.rows.pages[0]
        part = page.part
        groups = min(self.nodes.max_nodes, 64 * arena.device.caps.compute_units)
        return self.program.bind(
            "select_leaves", groups, first_row=page.first_row, header=page["leaf_header"],
            task_begin=page["leaf_task_begin"], nodes=page["nodes"],
            **self.rows.gradient_arguments(batch, part), **page.codes.column_arguments,
            **self.features.moved_sets(arena), alphas=arena["renew_alpha"],
            keys=part["renew_key"], prefixes=arena["renew_prefix"], ranks=arena["renew_rank"],
            fractions=arena["renew_fraction"],
            **part.arguments("even_rows", "odd_rows", "feature_bins"),
        )  # fmt: skip

    def _find(self, batch: Batch, page: FitPage) -> list[Launch]:
        """Return the launches that write the leaf of every row, if lists of rows tell it."""
        if not self._finds:
            return []
        return [find_leaves(self._parts, self.program, batch, page, page.part["renew_leaf"])]

    def _kept(self, part: RowPart) -> dict[str, DeviceArray]:
        """Return the arguments that both counting kernels have."""
        names = {"weights": "renew_weights", "leaves": "renew_leaf", "keys": "renew_key"}
        return {"counts": part["renew_counts"]} | {k: part[name] for k, name in names.items()}

    def _count_first(self, batch: Batch, page: FitPage) -> Launch:
        groups = (page.part.groups, batch.size)
        where = self.rows.gradient_arguments(batch, page.part)
        return self.program.bind(
            "count_first", groups, **where, **page.rows, **self._leaves_of(page),
            **self._kept(page.part),
        )  # fmt: skip

    def _count_next(self, batch: Batch, part: RowPart, shift: int) -> Launch:
        where = self.rows.gradient_arguments(batch, part)
        places = {n: where[n] for n in ("n_rows", "first_tree", "n_parallel", "label_stride")}
        return self.program.bind(
            "count_next", (part.groups, batch.size), **places, shift=shift,
            prefixes=part["renew_prefix"], **self._kept(part),
        )  # fmt: skip

    def _leaves_of(self, page: FitPage) -> dict[str, Any]:
        """Return the kernel's arguments that tell a row's leaf."""
        if self._finds:
            return {}
        if self.features.columns is not None:
            return {"row_nodes": self.arena["row_nodes"]}
        sets = self.features.walked_sets(self.arena)
        return {"steps": self.arena["steps"], **sets, **page.codes.row_arguments}

    def _sum(self) -> list[Action]:
        """Return the actions that add up counts over the team; weights are counted in 64 bits."""
        counts = self.arena["renew_counts"]
        return self.rows.sum(counts, dtype=np.uint64 if self.weighted else np.uint32)

    def _pick(self, shift: int, batch: Batch) -> Launch:
        arena, nodes = self.arena, self.nodes
        groups = min(nodes.max_nodes, 8 * arena.device.caps.compute_units)
        return self.program.bind(
            "pick_digit", groups, shift=shift, first_tree=batch.first, n_parallel=nodes.n_parallel,
            alphas=arena["renew_alpha"], prefixes=arena["renew_prefix"], ranks=arena["renew_rank"],
            fractions=arena["renew_fraction"], counts=arena["renew_counts"],
            **arena.arguments("nodes", "leaf_header"),
        )  # fmt: skip

    def _renew(self) -> Launch:
        """Return the launch that sets the values of leaves."""
        arena = self.arena
        groups = min(
            -(-self.nodes.max_nodes // self.program.wg_size), 8 * arena.device.caps.compute_units
        )
        return self.program.bind(
            "renew", groups, prefixes=arena["renew_prefix"], ranks=arena["renew_rank"],
            fractions=arena["renew_fraction"],
            **arena.arguments("leaf_rate", "leaf_header", "node_values", "walk", "steps"),
        )  # fmt: skip
