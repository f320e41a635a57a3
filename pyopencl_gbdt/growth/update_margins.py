"""Every row's margin gets the value of its leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from pyopencl_gbdt.device import DeviceArray, Launch, Program
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import LISTS
from pyopencl_gbdt.growth.partition import Partition

#: Number of rows ahead for which a CPU's kernel prefetches codes and margins.
_AHEAD = 48


def walked_terms(arena: Arena) -> dict[str, DeviceArray]:
    """Return the arguments by which kernels that walk trees find the terms of linear leaves."""
    return arena.arguments("term_begin", "intercepts", "term_features", "term_coefficients")


class MarginUpdate(Protocol):
    """What adds finished trees to the margins of the training rows.

    ``kernels`` are as in `SplitSearch`.
    """

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, parts: FitParts, partition: Any) -> None: ...

    def add(self, batch: Batch) -> Sequence[Action]:
        """Return the actions that add the trees that were finished last."""


class UpdateMargins:
    """Adds finished trees to the margins of the training rows."""

    kernels: ClassVar[tuple[str, ...]] = ("update_margins",)

    def __init__(self, parts: FitParts, partition: Partition | None = None) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        ways = self.ways
        for attempt in ways.attempts("update_margins"):
            with attempt as variant:
                made = ways.device.build(
                    "update_margins",
                    wg_size=ways.wg_size(variant),
                    walk=variant.name == "walk",
                    chunk=variant.params["chunk"],
                    code=self.rows.codes.code_type,
                    prefetch=_AHEAD if self.arena.device.caps.prefetches else 0,
                    categories=self.features.has_categories,
                    linear=self.nodes.params.linear_tree,
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

    def _page(self, batch: Batch, page: FitPage) -> Launch:
        bind, part = self.program.bind, page.part
        nodes = self.nodes
        variant = self.ways.variant("update_margins")
        most_groups = 16 * self.arena.device.caps.compute_units
        if variant.name == "walk":
            groups = min(most_groups, -(-page.n_rows // self.program.wg_size))
            outputs = -(-batch.size // nodes.n_parallel)
            return bind(
                "add_leaves", (groups, outputs), n_rows=part.n_rows, first_tree=batch.first,
                n_trees=batch.size, n_parallel=nodes.n_parallel, **page.rows,
                **page.codes.row_arguments(), **self.features.walked_sets(self.arena),
                **self._terms(), **part.arguments("steps", "margins"),
            )  # fmt: skip
        most_tasks = nodes.n_trees * page.n_rows // variant.params["chunk"] + nodes.max_nodes
        return bind(
            "add_leaves", min(most_tasks, most_groups), n_rows=part.n_rows,
            first_row=page.first_row, first_tree=batch.first, header=page["leaf_header"],
            task_begin=page["leaf_task_begin"], nodes=page["nodes"],
            node_values=self.arena["node_values"],
            **page.codes.column_arguments(), **self.features.moved_sets(self.arena),
            **part.arguments("even_rows", "odd_rows", "feature_bins", "margins"),
        )  # fmt: skip


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
    parts : FitParts
    program : Program
        Built with the def of ``way_to_leaves``.
    batch : Batch
    page : FitPage
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
            leaves=leaves, **page.codes.column_arguments(), **features.moved_sets(arena),
            **part.arguments("even_rows", "odd_rows", "feature_bins"),
        )  # fmt: skip
    how: dict[str, Any] = {"row_nodes": arena["row_nodes"]} if way == "by_node" else {
        "steps": arena["steps"], **features.walked_sets(arena), **page.codes.row_arguments(),
    }  # fmt: skip
    groups_of = part.groups, batch.size
    return program.bind(
        "find_leaves", groups_of, n_rows=part.n_rows, **page.rows, **how, leaves=leaves
    )
