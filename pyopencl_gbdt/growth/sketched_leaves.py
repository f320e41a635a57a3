"""Trees of all outputs that split as the trees of sketches, with leaf values from all gradients.

The trees of the sketches are found as those of vector leaves are. The nodes of every output's tree
are copies of these, with sums, weights, values and gains of the output's own gradients; see
``gradients.sketch``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import PAYLOAD, ROW
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage, PerRow, RowPart
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import LISTS
from pyopencl_gbdt.gradients.gradients import EXPONENTS, are_computed_again
from pyopencl_gbdt.gradients.sources import GradientSource
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.growth.partition import Partition
from pyopencl_gbdt.growth.policy import node_arrays
from pyopencl_gbdt.growth.split import constraints


class SketchedLeaves(LeafValues):
    """Gives the trees of all outputs their nodes, leaf values and gains, and adds them to margins.

    ``parts``: with all outputs.
    """

    kernels: ClassVar[tuple[str, ...]] = ("sketched_leaves",)

    def __init__(self, parts: FitParts, partition: Partition | None = None) -> None:
        self.arena, self.rows, self.nodes, features, ways = parts
        self.features = features
        arena, rows, nodes = self.arena, self.rows, self.nodes
        self._again = are_computed_again(ways.facts, rows)
        self.program = ways.build_kernel(
            "sketched_leaves", of_variant=("cells",), code=rows.codes.code_type,
            n_exponents=EXPONENTS, monotone=features.limits.monotone is not None,
            categories=features.has_categories,
            loss=ways.facts.loss.kernel if self._again else "",
            weighted=self._again and rows.weighted,
        )  # fmt: skip
        node_arrays(arena, rows, nodes)
        constraints(arena, features)
        self._limits = arena.arguments("monotone") if features.limits.monotone is not None else {}
        self.most_places = nodes.max_nodes // nodes.n_outputs
        arena.array("node_places", nodes.max_nodes, np.uint32)
        rows.array_of_rows("leaf_places", PerRow((nodes.n_parallel,)), ROW)
        places = nodes.n_outputs, self.most_places
        arena.array("place_sums", (*places, 4), np.uint32, zeros)  # every tree leaves them so
        arena.array("place_values", places, np.float32)

    def expand(self, searched: FitParts) -> list[Launch]:
        """Return the launches that make the nodes of all outputs' trees, in every page.

        ``searched``: with the trees of the sketches.
        """
        nodes, few = self.nodes, searched.nodes
        groups = min(-(-nodes.max_nodes // self.program.wg_size), 16 * self._units)
        sets = self.features.moved_sets(self.arena)
        if sets:
            sets["searched_sets"] = searched.arena["sets"]
        return [
            self.program.bind(
                "expand", groups, n_levels=nodes.n_levels, n_rows=self.rows.n_rows,
                n_sketches=few.n_outputs, n_alike=nodes.n_alike, n_parallel=nodes.n_parallel,
                searched_levels=own["levels"], searched_nodes=own["nodes"],
                exponents=searched.arena["exponents"], **page.arguments("levels", "nodes"),
                **sets, **self.arena.arguments("node_sums", "node_bounds", "node_places"),
            )
            for page, own in zip(self.rows.pages, searched.rows.pages, strict=True)
        ]  # fmt: skip

    @property
    def _units(self) -> int:
        return self.arena.device.caps.compute_units

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the sums and values of all outputs' nodes."""
        arena, rows, p = self.arena, self.rows, self.nodes.params
        quanta = ("quanta", "high") if rows.has_high else ("quanta",)
        finds = [[self._find(page)] for page in rows.pages]
        sums = [[self._sum(batch, part)] for part in rows.parts]
        return [
            *rows.pagewise(finds, (CODES,), ("leaf_places",)),
            *rows.pagewise(sums, ("leaf_places", *quanta), drops=quanta),
            *rows.sum(arena["place_sums"], dtype=np.uint64),
            self.program.bind(
                "value_places", self.nodes.n_outputs, reg_lambda=p.reg_lambda,
                reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step, **self._where,
                **self._limits,
                **arena.arguments("leaf_rate", "place_values", "nodes", "walk", "steps", *PAYLOAD),
            ),
        ]  # fmt: skip

    def read_values(self) -> Launch:
        """Return the launch that copies leaf values to rows, after leaves have changed."""
        where = self._where
        for name in ("scale", "place_sums"):
            where.pop(name)
        return self.program.bind(
            "read_values", self.nodes.n_outputs, **where,
            **self.arena.arguments("node_values", "place_values"),
        )  # fmt: skip

    @property
    def _where(self) -> dict[str, Any]:
        """The kernel arguments by which nodes find their places."""
        sizes = {"n_levels": self.nodes.n_levels, "n_alike": self.nodes.n_alike}
        arrays = self.arena.arguments("levels", "scale", "place_sums")
        return {**sizes, "most_places": self.most_places, **arrays}

    def _find(self, page: FitPage) -> Launch:
        """Return the launch that finds the places of a page's rows."""
        own: dict[str, Any] = {**page.rows, **page.codes.row_arguments}
        own |= self.features.walked_sets(self.arena)
        return self.program.bind(
            "find_places", (self.rows.row_groups, self.nodes.n_parallel), n_rows=page.part.n_rows,
            **own, **page.part.arguments("steps", "node_places", "leaf_places"),
        )  # fmt: skip

    def _sum(self, batch: Batch, part: RowPart) -> Launch:
        """Return the launch that adds up the gradients of some rows by places."""
        each = max(1, min(part.groups, -(-16 * self._units // batch.size)))
        gradients = {
            "n_rows": part.n_rows, "n_parallel": self.nodes.n_parallel,
            **part.arguments("quanta", "high"),
        }  # fmt: skip
        if self._again:
            gradients = self.rows.gradient_arguments(batch, part)
            gradients |= part.arguments(*self.rows.weights)
        return self.program.bind(
            "sum_places", (each, batch.size), **gradients, **self._where,
            **part.arguments("leaf_places"),
        )  # fmt: skip

    def add(self, batch: Batch) -> list[Action]:
        """Return the actions that add the trees that were finished last."""
        parts = [[self._add(batch, part)] for part in self.rows.parts]
        read = ("leaf_places", "margins")
        return self.rows.pagewise(parts, read, ("margins",), drops=("leaf_places", *LISTS))

    def _add(self, batch: Batch, part: RowPart) -> Launch:
        return self.program.bind(
            "add_leaves", (part.groups, self.nodes.n_outputs), n_rows=part.n_rows,
            first_tree=batch.first, n_trees=batch.size, n_parallel=self.nodes.n_parallel,
            most_places=self.most_places,
            **part.arguments("leaf_places", "place_values", "margins"),
        )  # fmt: skip


class LaterLeaves(LeafValues):
    """Replaces leaf values where splits come from sketches and values do not come from sums.

    ``values``: the steps that set leaf values, in order; ``sketched`` is the first, or has its part
    in it.
    """

    def __init__(self, sketched: SketchedLeaves, values: Sequence[LeafValues]) -> None:
        self._sketched, self._values = sketched, values

    def start(self, margins: Any, state: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take the margins of the rows before the first round, and what ``state`` has returned."""
        self._values[-1].start(margins, state)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return the state that later rounds need beside the trees; waits for the device."""
        return self._values[-1].state()

    def round_begins(self, source: GradientSource | None) -> Sequence[Sequence[Action]]:
        """Return the actions that compute gradients before a round's trees; see `LeafValues`."""
        return self._values[-1].round_begins(source)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        every = [action for values in self._values for action in values.launches(batch)]
        return [*every, self._sketched.read_values()]
