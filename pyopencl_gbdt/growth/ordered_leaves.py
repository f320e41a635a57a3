"""Ordered boosting: leaf values from prefixes of orders of the rows, and their models' margins.

Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018, section
5 and appendix B. A model learns from a prefix of a random order of the rows. Splits are found by
gradients of each row under the largest model that has not learnt from it. Then the tree is added
to every model, with leaf values from the gradients of the model's own prefix under its own margins,
and to the model of all rows, which is the result. As there, prefixes have doubling sizes, so that
all models of an order have margins of at most three times the rows. What differs: the gain of a
split is the usual one, of all rows' ordered gradients; leaf values take a Newton step; the smallest
prefix has `FIRST_PREFIX` rows, which take their gradients from the model that learns from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW, SCALE, VALUE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.gradients import EXPONENTS
from pyopencl_gbdt.gradients.sources import GradientSource
from pyopencl_gbdt.growth.boosting import starting_margins
from pyopencl_gbdt.growth.finalize import LeafValues, find_leaves
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters

if TYPE_CHECKING:
    from pyopencl_gbdt.numerics.random_numbers import PrefixModels

F32 = npt.NDArray[np.float32]
#: The name of the models' margins in checkpoints.
_STATE = "ordered margins"


def state_sizes(params: Parameters, n_rows: int, n_outputs: int) -> dict[str, int]:
    """Return how many numbers each array of ``OrderedLeaves.state`` has."""
    from pyopencl_gbdt.numerics.random_numbers import n_entries

    return {_STATE: n_outputs * n_entries(n_rows, params.n_orders)}


class OrderedLeaves(LeafValues):
    """Gives leaves their values, and keeps the margins of the models that splits are found by."""

    kernels: ClassVar[tuple[str, ...]] = ("ordered_leaves",)

    def __init__(self, parts: FitParts, objective: Objective, data: Dataset) -> None:
        from pyopencl_gbdt.numerics.random_numbers import n_entries, n_models

        self._parts = parts
        self.arena, self.rows, self.nodes, features, ways = parts
        rows = self.rows
        self._label = data.label
        p = self.nodes.params
        self.n_entries = n_entries(rows.n_rows, p.n_orders)
        self._n_models = n_models(rows.n_rows, p.n_orders)
        self.program = ways.build_kernel(
            "ordered_leaves",
            of_variant=("cells",),
            loss=objective.kernel,
            weighted=rows.weighted,
            sampled=p.samples_rows,
            code="" if features.columns is not None else rows.codes.code_type,
            categories=features.has_categories,
            walk=ways.variant("update_margins").name == "walk",
            chunk=ways.variant("update_margins").params["chunk"],
            n_exponents=EXPONENTS,
        )

        self._ask_for_models()
        self._ask_for_entries()
        self.arena.array(
            "ordered_rows", self.n_entries, ROW, self._take_orders
        )  # and what belongs to them

    @cached_property
    def models(self) -> PrefixModels:
        """The rows that every model learns from; drawn when they are needed first."""
        from pyopencl_gbdt.numerics.random_numbers import PrefixModels

        p = self.nodes.params
        return PrefixModels.drawn(self.rows.n_rows, p.n_orders, p.random_state, in_time=p.has_time)

    def _ask_for_models(self) -> None:
        """Ask for tables of the models, and for sums and values of their leaves."""
        models, nodes = self._n_models, self.nodes.max_nodes
        arena = self.arena
        orders = self.nodes.params.n_orders, self.rows.n_rows
        arena.array("ordered_table", (models, 3), np.uint32)
        arena.array("ordered_entry_of", orders, np.uint32)
        arena.array("ordered_exponents", (self.nodes.n_trees, EXPONENTS), np.uint32, zeros)
        arena.array("ordered_scale", self.nodes.n_trees, SCALE)
        arena.array(
            "ordered_sums", (models, nodes, 4), np.uint32, zeros
        )  # every tree leaves them so
        arena.array("ordered_values", (models, nodes), VALUE)

    def _ask_for_entries(self) -> None:
        """Ask for the arrays of every row in every model."""
        outputs, n = self.nodes.n_outputs, self.n_entries
        arena, rows = self.arena, self.rows
        arena.array("ordered_margins", (outputs, n), VALUE)
        arena.array("ordered_labels", n if rows.n_targets == 1 else (rows.n_targets, n), VALUE)
        for name in ("ordered_g", "ordered_h"):
            arena.array(name, (outputs, n) if rows.given else 1, VALUE)
        arena.array("seen_margins", rows.margin_shape(rows.n_rows), VALUE)
        arena.array("ordered_leaf", (self.nodes.n_trees, rows.n_rows), np.uint32)

    def _take_orders(self, rows: DeviceArray) -> None:
        """Upload the orders of the rows, and the labels of all entries."""
        models = self.models
        arena = self.arena
        rows.set(models.rows)
        arena["ordered_table"].set(models.table)
        arena["ordered_entry_of"].set(models.entry_of)
        arena["ordered_labels"].set(np.ascontiguousarray(self._label[models.rows].T))

    @property
    def _groups(self) -> int:
        return self.rows.row_groups * self._n_models

    def start(self, margins: Any, state: Mapping[str, F32]) -> None:
        """Set the margins of all models before the first round; ``state`` is empty at first."""
        arena = self.arena
        if state:
            arena["ordered_margins"].set(state[_STATE].reshape(arena["ordered_margins"].shape))
            return
        every = np.broadcast_to(
            np.asarray(starting_margins(margins), np.float32),
            (self.nodes.n_outputs, self.rows.n_rows),
        )
        arena["ordered_margins"].set(every[:, self.models.rows])

    def state(self) -> dict[str, F32]:
        """Return the margins of all models; waits for the device."""
        return {_STATE: self.arena["ordered_margins"].get().ravel()}

    def round_begins(self, source: GradientSource | None) -> list[list[Action]]:
        """Return the actions that compute gradients before a round's trees; see `LeafValues`."""
        from pyopencl_gbdt.gradients.by_row import Softmax

        n = self.n_entries
        arena, rows, nodes = self.arena, self.rows, self.nodes
        given: list[Launch] = []
        if isinstance(source, Softmax):
            names = ("ordered_margins", "ordered_labels", "ordered_g", "ordered_h")
            of_rows = (rows.gradients_at, "labels", "given_g", "given_h")
            all_rows = source.of(rows.n_rows, *(arena[name] for name in of_rows))
            given = [all_rows, source.of(n, *(arena[name] for name in names))]
        return [
            [
                self.program.bind(
                    "take_margins", (rows.row_groups, nodes.n_outputs), n_rows=rows.n_rows,
                    n_entries=n, order=order, margins=arena["seen_margins"],
                    entry_of=arena["ordered_entry_of"], entry_margins=arena["ordered_margins"],
                ),
                *given,
            ]
            for order in range(nodes.params.n_orders)
        ]  # fmt: skip

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that set the leaf values of finished trees, before margins change."""
        p, bind = self.nodes.params, self.program.bind
        arena, rows, nodes = self.arena, self.rows, self.nodes
        groups = (self._groups, batch.size)
        where = self._entry_arguments(batch)
        found: list[Action] = [
            find_leaves(self._parts, self.program, batch, page, arena["ordered_leaf"])
            for page in rows.pages
        ]
        exponents, scale = arena["ordered_exponents"], arena["ordered_scale"]
        found += [
            bind("count_entries", groups, **where, **self._gradients(), exponents=exponents),
            bind(
                "sum_entries", groups, **where, **self._gradients(), most_nodes=nodes.max_nodes,
                weight_bits=rows.weight_bits, weight_shift=rows.weight_shift, exponents=exponents,
                leaves=arena["ordered_leaf"], scale=scale, sums=arena["ordered_sums"],
                **arena.arguments("leaf_header"),
            ),
            bind(
                "value_leaves", self._groups, n_models=self._n_models, n_trees=batch.size,
                most_nodes=nodes.max_nodes, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
                max_delta_step=p.max_delta_step, tree_scale=arena["scale"], scale=scale,
                sums=arena["ordered_sums"], values=arena["ordered_values"], exponents=exponents,
                **arena.arguments("leaf_rate", "leaf_header", "nodes", "node_bounds"),
            ),
        ]  # fmt: skip
        found.append(self._set())
        where.pop("label_stride")
        add = bind(
            "add_entries", groups, **where, most_nodes=nodes.max_nodes,
            leaves=arena["ordered_leaf"],
            values=arena["ordered_values"], margins=arena["ordered_margins"],
        )  # fmt: skip
        return [*found, add]

    def _entry_arguments(self, batch: Batch) -> dict[str, Any]:
        """Return the kernels' arguments that say where the entries of some trees lie."""
        n = self.n_entries
        arena, rows = self.arena, self.rows
        return {
            "n_rows": rows.n_rows, "n_entries": n, "n_models": self._n_models,
            "first_tree": batch.first, "table": arena["ordered_table"],
            "rows": arena["ordered_rows"],
            "label_stride": n if rows.given or rows.n_targets > 1 else 0,
        }  # fmt: skip

    def _gradients(self) -> dict[str, Any]:
        """Return the arrays from which the gradients of entries are computed."""
        arena = self.arena
        names = (
            ("ordered_g", "ordered_h") if self.rows.given else ("ordered_margins", "ordered_labels")
        )
        margins, labels = (arena[name] for name in names)
        own = arena.arguments(*self.rows.factors_of_rows)
        draws = {"n_draws": self.nodes.n_lists} if self.nodes.params.samples_rows else {}
        return {"margins": margins, "labels": labels, **own, **draws}

    def _set(self) -> Launch:
        """Return the launch that sets the leaves' values."""
        arena = self.arena
        groups = min(
            -(-self.nodes.max_nodes // self.program.wg_size), 8 * arena.device.caps.compute_units
        )
        return self.program.bind(
            "set_leaves", groups, first_value=(self._n_models - 1) * self.nodes.max_nodes,
            values=arena["ordered_values"],
            **arena.arguments("leaf_header", "nodes", "node_values", "walk", "steps"),
        )  # fmt: skip
