"""Leaves take several Newton steps: gradients are computed anew where their weights lead.

A step takes the gradients of all rows at their margins before the round plus the weight of their
leaf (CatBoost's ``leaf_estimation_iterations``). All rows count with their own weights, as in
CatBoost. So the first step is that of the splits, but where the tree has a sample of the rows, or
random weights of them. What differs: a step minimises the loss with the penalties of
``reg_lambda`` and ``reg_alpha``, where CatBoost's steps penalise their own length alone; and a step
that would leave the interval in which a leaf's minimum was found to be goes to its middle, where
CatBoost computes the loss and halves a step that does not lower it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import BOUNDS, SCALE, VALUE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import PerRow, RowPart
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.gradients import EXPONENTS
from pyopencl_gbdt.gradients.sources import GradientSource
from pyopencl_gbdt.growth.finalize import LeafValues, find_leaves, way_to_leaves
from pyopencl_gbdt.growth.leaves_by_next_order import LeavesByNextOrder
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.values import ParameterValues


def further_steps(params: ParameterValues) -> int:
    """Return the number of further Newton steps. Splits are the first if no rows are sampled."""
    return params.leaf_estimation_iterations - (0 if params.samples_rows else 1)


class NewtonLeaves(LeafValues):
    """Moves the weights of leaves by several Newton steps.

    ``objective``: a loss that can tell its gradients when a number is added to margins.
    ``first``: the step that sets leaf weights without Newton steps.
    """

    kernels: ClassVar[tuple[str, ...]] = ("newton_leaves",)

    def __init__(self, parts: FitParts, objective: Objective, first: LeafValues) -> None:
        self._parts = parts
        self.arena, self.rows, self.nodes, features, ways = parts
        arena, rows, nodes = self.arena, self.rows, self.nodes
        self.first, self.takes_next_order = first, first.takes_next_order
        self._finds = "" if isinstance(first, LeavesByNextOrder) else way_to_leaves(parts)
        self.program = ways.build_kernel(
            "newton_leaves",
            of_variant=("cells",),
            loss=objective.moved_kernel,
            weighted=rows.weighted,
            code="" if features.columns is not None else rows.codes.code_type,
            categories=features.has_categories,
            chunk=ways.variant("update_margins").params["chunk"],
            n_exponents=EXPONENTS,
            finds=self._finds,
        )
        if self._finds:
            rows.array_of_rows("newton_leaf", PerRow((nodes.n_trees,)), np.uint32)
        arena.array("newton_exponents", (nodes.n_trees, EXPONENTS), np.uint32, zeros)
        arena.array("newton_scale", nodes.n_trees, SCALE)
        arena.array("newton_sums", (nodes.max_nodes, 4), np.uint32, zeros)  # steps leave them so
        arena.array("newton_nearest", nodes.max_nodes, BOUNDS)
        arena.array("newton_weights", nodes.max_nodes, VALUE)
        self._steps = further_steps(nodes.params)

    def start(self, margins: Any, state: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take the margins of the rows before the first round, and what ``state`` has returned."""
        self.first.start(margins, state)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return the state that later rounds need beside the trees; waits for the device."""
        return self.first.state()

    def round_begins(self, source: GradientSource | None) -> Sequence[Sequence[Action]]:
        """Return the actions that compute gradients before a round's trees; see `LeafValues`."""
        return self.first.round_begins(source)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        rows, leaf = self.rows, self._leaf
        found = [*self.first.launches(batch), self._begin()]
        if self._finds:
            finds = [
                [find_leaves(self._parts, self.program, batch, page, page.part[leaf])]
                for page in rows.pages
            ]
            found += rows.pagewise(finds, (CODES,), (leaf,))
        reads = (leaf, *rows.gradients_of, *rows.weights)
        for step in range(self._steps):
            drops = (leaf,) if step + 1 == self._steps else ()
            counts = [[self._count(batch, part)] for part in rows.parts]
            sums = [[self._sum(batch, part)] for part in rows.parts]
            found += [
                *rows.pagewise(counts, reads), *rows.sum(self.arena["newton_exponents"]),
                *rows.pagewise(sums, reads, drops=drops),
                *rows.sum(self.arena["newton_sums"], dtype=np.uint64),
                self._step(batch),
            ]  # fmt: skip
        return found

    @property
    def _leaf(self) -> str:
        """The array of rows that has each row's leaf."""
        return "newton_leaf" if self._finds else "walked_leaf"

    def _gradients(self, batch: Batch, part: RowPart) -> dict[str, Any]:
        """Return the arguments from which gradients are computed."""
        where = self.rows.gradient_arguments(batch, part)
        weights = self.arena["newton_weights"]
        own = part.arguments(*self.rows.weights)
        return {**where, "leaves": part[self._leaf], "leaf_weights": weights, **own}

    def _count(self, batch: Batch, part: RowPart) -> Launch:
        return self.program.bind(
            "count_rows", (part.groups, batch.size), **self._gradients(batch, part),
            exponents=self.arena["newton_exponents"],
        )  # fmt: skip

    def _sum(self, batch: Batch, part: RowPart) -> Launch:
        arena, rows = self.arena, self.rows
        return self.program.bind(
            "sum_rows", (part.groups, batch.size), **self._gradients(batch, part),
            weight_bits=rows.weight_bits, weight_shift=rows.weight_shift,
            exponents=arena["newton_exponents"], scale=arena["newton_scale"],
            sums=arena["newton_sums"], **arena.arguments("leaf_header"),
        )  # fmt: skip

    @property
    def _groups(self) -> int:
        """Work-groups of passes over nodes."""
        groups = -(-self.nodes.max_nodes // self.program.wg_size)
        return min(groups, 8 * self.arena.device.caps.compute_units)

    def _begin(self) -> Launch:
        """Return the launch that sets the weights to begin with."""
        arena = self.arena
        return self.program.bind(
            "begin_steps", self._groups, from_zero=self.nodes.params.samples_rows,
            nearest=arena["newton_nearest"], leaf_weights=arena["newton_weights"],
            **arena.arguments("leaf_header", "node_weights"),
        )  # fmt: skip

    def _step(self, batch: Batch) -> Launch:
        """Return the launch that moves the weights of leaves."""
        arena, p = self.arena, self.nodes.params
        return self.program.bind(
            "step_leaves", self._groups, n_trees=batch.size, reg_lambda=p.reg_lambda,
            reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step, tree_scale=arena["scale"],
            scale=arena["newton_scale"], sums=arena["newton_sums"],
            exponents=arena["newton_exponents"], nearest=arena["newton_nearest"],
            leaf_weights=arena["newton_weights"],
            **arena.arguments("leaf_rate", "leaf_header", "nodes", "node_bounds", "node_weights",
                              "node_values", "walk", "steps"),
        )  # fmt: skip
