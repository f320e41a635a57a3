"""Leaves become linear functions of the numeric features on their paths, by least squares.

A leaf's function minimises the second-order loss of its rows: with X their values and a column of
ones, ``(X^T H X + linear_lambda) b = -X^T g``, where the constant has no penalty (Shi et al. 2019,
"Gradient boosting with piece-wise linear regression trees", eq. 3; rules as LightGBM's). Rows that
miss one of the features do not count, and get the leaf's number. The leaf stays a number in the
first round of a model, and if fewer rows count than its function has coefficients.

All sums are integers, so that their order does not matter; the template says why none overflows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.objectives import Objective


class LinearLeaves(LeafValues):
    """Gives leaves their functions; the values of all rows lie on the device beside the codes.

    ``data``: with values on the host, or on the device.
    """

    kernels: ClassVar[tuple[str, ...]] = ("linear_leaves",)

    def __init__(self, parts: FitParts, objective: Objective, data: Dataset) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        self._data = data
        self.most = self.nodes.most_terms
        self.program = self.ways.build_kernel(
            "linear_leaves",
            most=self.most,
            chunk=self.ways.variant("update_margins").params["chunk"],
        )
        arena, nodes = self.arena, self.nodes.max_nodes
        shape = (self.rows.n_rows, self.features.layout.n_features)
        arena.array("row_values", shape, np.float32, self._take_values)
        most_sums = (self.most + 1) * (self.most + 4) // 2
        arena.array("leaf_extremes", (nodes, 2 * self.most + 1), np.uint32)
        arena.array("leaf_products", (nodes, 2 * most_sums), np.uint32)
        arena.array("leaf_sizes", nodes, np.uint32)
        for name in ("leaf_features", "term_features"):
            arena.array(name, nodes * self.most, np.uint32)
        for name in ("leaf_coefficients", "term_coefficients"):
            arena.array(name, nodes * self.most, np.float32)
        arena.array("term_begin", nodes + 1, np.uint32)
        arena.array("intercepts", nodes, np.float32)
        words = self.nodes.forest_block, 2 + 2 * self.most, nodes
        arena.array("forest_terms", words, np.uint32)

    def _take_values(self, values: DeviceArray) -> None:
        values.set(self._data.values)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the linear functions of finished trees' leaves."""
        arena, nodes, bind = self.arena, self.nodes, self.program.bind
        each = 8 * arena.device.caps.compute_units
        by_node = min(-(-nodes.max_nodes // self.program.wg_size), each)
        found = {"sizes": arena["leaf_sizes"], "features": arena["leaf_features"]}
        sums = {"extremes": arena["leaf_extremes"], "sums": arena["leaf_products"]}
        begin = bind(
            "list_features", by_node, first_batches=len(nodes.batches), **found, **sums,
            **arena.arguments("leaf_header", "nodes"),
        )  # fmt: skip
        found["coefficients"] = arena["leaf_coefficients"]
        solve = bind(
            "solve", min(nodes.max_nodes, each), linear_lambda=nodes.params.linear_lambda, **found,
            **sums, **arena.arguments("leaf_header", "leaf_rate", "nodes", "node_sums", "scale",
                                      "intercepts"),
        )  # fmt: skip
        lists = bind(
            "list_terms", 1, most_nodes=nodes.max_nodes, forest=arena["forest_terms"], **found,
            **arena.arguments("leaf_header", "intercepts", "term_begin", "term_features",
                              "term_coefficients"),
        )  # fmt: skip
        bounds = (self._page(page, "bound_values") for page in self.rows.pages)
        added = (
            self._page(page, "sum_products", sums=sums["sums"], node_sums=arena["node_sums"])
            for page in self.rows.pages
        )
        return [begin, *bounds, *added, solve, lists]

    def _page(self, page: FitPage, kernel: str, **sums: DeviceArray) -> Launch:
        """Return the launch that adds up what a page's rows tell of their leaves."""
        nodes, arena = self.nodes, self.arena
        chunk = self.ways.variant("update_margins").params["chunk"]
        most_tasks = nodes.n_trees * page.n_rows // chunk + nodes.max_nodes
        arguments: dict[str, Any] = {
            "n_rows": page.part.n_rows, "n_features": self.features.layout.n_features,
            "task_begin": page["leaf_task_begin"], "values": arena["row_values"],
            "sizes": arena["leaf_sizes"], "features": arena["leaf_features"],
            "extremes": arena["leaf_extremes"],
        }  # fmt: skip
        return self.program.bind(
            kernel, min(most_tasks, 16 * arena.device.caps.compute_units), **arguments, **sums,
            **page.arguments("leaf_header", "nodes"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "high"),
            scale=arena["scale"],
        )  # fmt: skip
