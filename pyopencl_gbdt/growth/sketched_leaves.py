"""Trees of all outputs that split as the trees of sketches, with leaf values from all gradients.

The trees of the sketches are found as those of vector leaves are. The nodes of every output's tree
are copies of these, with sums, weights, values and gains of the output's own gradients; see
``gradients.sketch``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import PAYLOAD, ROW
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.gradients import EXPONENTS
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.growth.level import node_arrays
from pyopencl_gbdt.growth.partition import Partition
from pyopencl_gbdt.growth.split import constraints


class SketchedLeaves(LeafValues):
    """Gives the trees of all outputs their nodes, leaf values and gains, and adds them to margins.

    Parameters
    ----------
    parts : FitParts
        With all outputs.
    """

    kernels: ClassVar[tuple[str, ...]] = ("sketched_leaves",)

    def __init__(self, parts: FitParts, partition: Partition | None = None) -> None:
        self.arena, self.rows, self.nodes, features, ways = parts
        arena, rows, nodes = self.arena, self.rows, self.nodes
        self.program = ways.build_kernel(
            "sketched_leaves", of_variant=("cells",), code=rows.codes.code_type,
            n_exponents=EXPONENTS, monotone=features.limits.monotone is not None,
        )  # fmt: skip
        node_arrays(arena, rows, nodes)
        constraints(arena, features)
        self._limits = arena.arguments("monotone") if features.limits.monotone is not None else {}
        self.most_places = nodes.max_nodes // nodes.n_outputs
        arena.array("node_places", nodes.max_nodes, np.uint32)
        arena.array("leaf_places", (nodes.n_parallel, rows.n_rows), ROW)
        places = nodes.n_outputs, self.most_places
        arena.array("place_sums", (*places, 4), np.uint32, zeros)  # every tree leaves them so
        arena.array("place_values", places, np.float32)

    def expand(self, searched: FitParts) -> list[Launch]:
        """Return the launches that make the nodes of all outputs' trees, in every page.

        Parameters
        ----------
        searched : FitParts
            With the trees of the sketches.
        """
        nodes, few = self.nodes, searched.nodes
        groups = min(-(-nodes.max_nodes // self.program.wg_size), 16 * self._units)
        return [
            self.program.bind(
                "expand", groups, n_levels=nodes.n_levels, n_rows=self.rows.n_rows,
                n_sketches=few.n_outputs, n_alike=nodes.n_alike, n_parallel=nodes.n_parallel,
                searched_levels=own["levels"], searched_nodes=own["nodes"],
                exponents=searched.arena["exponents"], **page.arguments("levels", "nodes"),
                **self.arena.arguments("node_sums", "node_bounds", "node_places"),
            )
            for page, own in zip(self.rows.pages, searched.rows.pages, strict=True)
        ]  # fmt: skip

    @property
    def _units(self) -> int:
        return self.arena.device.caps.compute_units

    def launches(self, batch: Batch) -> list[Action]:
        """Return what gives the nodes of all outputs their sums and values."""
        arena, nodes, p = self.arena, self.nodes, self.nodes.params
        each = max(1, min(self.rows.row_groups, -(-16 * self._units // batch.size)))
        where = {
            "n_levels": nodes.n_levels, "n_alike": nodes.n_alike, "most_places": self.most_places,
            **arena.arguments("levels", "scale", "place_sums"),
        }  # fmt: skip
        return [
            *(self._find(page) for page in self.rows.pages),
            self.program.bind(
                "sum_places", (each, batch.size), n_rows=self.rows.n_rows,
                n_parallel=nodes.n_parallel, **where,
                **arena.arguments("quanta", "high", "leaf_places"),
            ),
            *self.rows.sum(arena["place_sums"], dtype=np.uint64),
            self.program.bind(
                "value_places", nodes.n_outputs, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
                max_delta_step=p.max_delta_step, **where,
                **self._limits,
                **arena.arguments("leaf_rate", "place_values", "nodes", "walk", "steps", *PAYLOAD),
            ),
        ]  # fmt: skip

    def _find(self, page: FitPage) -> Launch:
        """Return the launch that finds the places of a page's rows."""
        rows = self.rows
        own: dict[str, Any] = {**page.rows, **page.codes.row_arguments()}
        return self.program.bind(
            "find_places", (rows.row_groups, self.nodes.n_parallel), n_rows=rows.n_rows,
            **own, **self.arena.arguments("steps", "node_places", "leaf_places"),
        )  # fmt: skip

    def add(self, batch: Batch) -> list[Launch]:
        """Return the launch that adds the trees that were finished last."""
        rows, nodes = self.rows, self.nodes
        return [
            self.program.bind(
                "add_leaves", (rows.row_groups, nodes.n_outputs), n_rows=rows.n_rows,
                first_tree=batch.first, n_trees=batch.size, n_parallel=nodes.n_parallel,
                most_places=self.most_places,
                **self.arena.arguments("leaf_places", "place_values", "margins"),
            )
        ]  # fmt: skip
