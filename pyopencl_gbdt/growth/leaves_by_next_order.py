"""Compute leaf values again, with the codes of the next order of the rows.

With ordered target statistics in several orders, a tree's splits are found by the codes of one
order. The rows of a leaf then have codes that fit their labels by chance, and more so the fewer
they are. By the codes of another order, rows come to leaves that this chance did not choose.
(CatBoost takes leaf values from an order of their own, Prokhorenkova et al. 2018, section 4.)
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.nodes import Batch, TreeSizes
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.growth.partition import Partition
from pyopencl_gbdt.parameters.facts import FitFacts

#: With fewer rows for each leaf that a tree can have, leaf values come from another order of the
#: rows than splits. Held-out log loss, PoCL, 3 sets of `bench tasks --categories`, 3 to 10 seeds:
#: with 78 to 125 rows better on each, by 2 to 11 %; with 750 on two of three, with 1500 on none.
#: 60 rounds of depth 6: with 312 rows better on `access` and worse on `clicks`.
FEW_ROWS_OF_A_LEAF = 128


def walks_leaves(facts: FitFacts, sizes: TreeSizes) -> bool:
    """Tell whether leaf values come from the codes of the next order of the rows.

    That is where trees are large for the rows, so that splits fit an order's chance.
    """
    if facts.pages.n_orders == 1 or facts.parameters.is_ordered:
        return False
    if facts.loss.renews or sizes.fills_levels or facts.n_sketches:
        return False
    return facts.n_rows < FEW_ROWS_OF_A_LEAF * sizes.most_leaves


class LeavesByNextOrder(LeafValues):
    """Gives each leaf the value of the rows that come to it, and adds the values to the margins."""

    kernels: ClassVar[tuple[str, ...]] = ("leaves_by_next_order",)
    takes_next_order = True

    def __init__(self, parts: FitParts, partition: Partition | None = None) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena, ways = self.arena, self.ways
        self.program = ways.build_kernel(
            "leaves_by_next_order",
            of_variant=("cells",),
            code=self.rows.codes.code_type,
            categories=self.features.has_categories,
        )
        arena.array("walked_leaf", (self.nodes.n_trees, self.rows.n_rows), ROW)
        arena.array(
            "walked_sums", (self.nodes.max_nodes, 4), np.uint32, zeros
        )  # every tree leaves them so

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        return [*(self._sum(batch, page) for page in self.rows.pages), self._set()]

    def add(self, batch: Batch) -> list[Launch]:
        """Return the launches that add the trees that were finished last."""
        arena, rows, nodes = self.arena, self.rows, self.nodes
        outputs = -(-batch.size // nodes.n_parallel)
        return [
            self.program.bind(
                "add_leaves", (rows.row_groups, outputs), n_rows=rows.n_rows,
                first_tree=batch.first,
                n_trees=batch.size, n_parallel=nodes.n_parallel, leaves=arena["walked_leaf"],
                **arena.arguments("steps", "margins"),
            )
        ]  # fmt: skip

    def _sum(self, batch: Batch, page: FitPage) -> Launch:
        """Return the launch that finds the leaves of a page's rows, and adds up their quanta."""
        arena, rows = self.arena, self.rows
        return self.program.bind(
            "sum_leaves", (rows.row_groups, batch.size), n_rows=rows.n_rows, **page.rows,
            **page.codes.row_arguments, **self.features.walked_sets(self.arena),
            leaf_header=page["leaf_header"], leaves=arena["walked_leaf"], sums=arena["walked_sums"],
            **arena.arguments("steps", "scale", "quanta", "high"),
        )  # fmt: skip

    def _set(self) -> Launch:
        """Return the launch that sets the leaves' values."""
        p = self.nodes.params
        arena = self.arena
        groups = min(
            -(-self.nodes.max_nodes // self.program.wg_size), 8 * arena.device.caps.compute_units
        )
        return self.program.bind(
            "value_leaves", groups, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step, sums=arena["walked_sums"],
            **arena.arguments("leaf_rate", "leaf_header", "nodes", "node_weights", "node_values",
                              "node_bounds", "scale", "walk", "steps"),
        )  # fmt: skip
