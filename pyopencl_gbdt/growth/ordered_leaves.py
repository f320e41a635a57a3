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
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW, SCALE, VALUE
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.gradients.softmax import Softmax
from pyopencl_gbdt.gradients.sources import GradientSource
from pyopencl_gbdt.numerics.row_orders import PrefixModels, n_entries, n_models
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: The name of the models' margins in checkpoints.
_STATE = "ordered margins"


def state_sizes(params: Parameters, n_rows: int, n_outputs: int) -> dict[str, int]:
    """Return how many numbers each array of ``OrderedLeaves.state`` has."""
    if params.boosting_type != "ordered":
        return {}
    return {_STATE: n_outputs * n_entries(n_rows, params.n_orders)}


class OrderedLeaves:
    """Gives leaves their values, and keeps the margins of the models that splits are found by.

    Parameters
    ----------
    ws : Workspace
    objective : Objective
    data : Dataset
    """

    kernels: ClassVar[tuple[str, ...]] = ("ordered_leaves",)

    def __init__(self, ws: Workspace, objective: Objective, data: Dataset) -> None:
        self.ws, self._label = ws, data.label
        p = ws.params
        self.n_entries = n_entries(ws.n_rows, p.n_orders)
        self._n_models = n_models(ws.n_rows, p.n_orders)
        self.program = ws.build(
            "ordered_leaves",
            lambda variant: ws.device.build(
                "ordered_leaves",
                wg_size=ws.wg_size(variant),
                loss=objective.kernel,
                weighted=ws.weighted,
                sampled=p.samples_rows,
                cells=variant.params["cells"],
                code="" if ws.columns is not None else ws.code_type,
                categories=ws.has_categories,
                walk=ws.variant("update_margins").name == "walk",
                chunk=ws.variant("update_margins").params["chunk"],
            ),
        )

        self._ask_for_models()
        self._ask_for_entries()
        ws.array("ordered_rows", self.n_entries, ROW, self._take_orders)  # and what belongs to them

    @cached_property
    def models(self) -> PrefixModels:
        """The rows that every model learns from; drawn when they are needed first."""
        ws, p = self.ws, self.ws.params
        return PrefixModels.drawn(ws.n_rows, p.n_orders, p.random_state, in_time=p.has_time)

    def _ask_for_models(self) -> None:
        """Ask for tables of the models, and for sums and values of their leaves."""
        ws, models, nodes = self.ws, self._n_models, self.ws.max_nodes
        orders = ws.params.n_orders, ws.n_rows
        ws.array("ordered_table", (models, 3), np.uint32)
        ws.array("ordered_entry_of", orders, np.uint32)
        ws.array("ordered_exponents", (ws.n_trees, 512), np.uint32, zeros)
        ws.array("ordered_scale", ws.n_trees, SCALE)
        ws.array("ordered_sums", (models, nodes, 4), np.uint32, zeros)  # every tree leaves them so
        ws.array("ordered_values", (models, nodes), VALUE)

    def _ask_for_entries(self) -> None:
        """Ask for what is known of every row in every model."""
        ws, outputs, n = self.ws, self.ws.n_outputs, self.n_entries
        ws.array("ordered_margins", (outputs, n), VALUE)
        ws.array("ordered_labels", n if ws.n_targets == 1 else (ws.n_targets, n), VALUE)
        for name in ("ordered_g", "ordered_h"):
            ws.array(name, (outputs, n) if ws.given else 1, VALUE)
        ws.array("seen_margins", ws.margin_shape(ws.n_rows), VALUE)
        ws.array("ordered_leaf", (ws.n_trees, ws.n_rows), np.uint32)

    def _take_orders(self, rows: DeviceArray) -> None:
        """Upload the orders of the rows, and the labels of all entries."""
        ws, models = self.ws, self.models
        rows.set(models.rows)
        ws["ordered_table"].set(models.table)
        ws["ordered_entry_of"].set(models.entry_of)
        ws["ordered_labels"].set(np.ascontiguousarray(self._label[models.rows].T))

    @property
    def _groups(self) -> int:
        return self.ws.row_groups * self._n_models

    def start(self, margins: Any, state: Mapping[str, F32]) -> None:
        """Set the margins of all models before the first round.

        Parameters
        ----------
        margins : float, or float32 array of shape (n_rows,) or (n_outputs, n_rows)
        state : mapping of str to float32 array
            What ``state`` has returned after the rounds so far; empty before the first one.
        """
        ws = self.ws
        if state:
            ws["ordered_margins"].set(state[_STATE].reshape(ws["ordered_margins"].shape))
            return
        every = np.broadcast_to(np.asarray(margins, np.float32), (ws.n_outputs, ws.n_rows))
        ws["ordered_margins"].set(every[:, self.models.rows])

    def state(self) -> dict[str, F32]:
        """Return the margins of all models; waits for the device."""
        return {_STATE: self.ws["ordered_margins"].get().ravel()}

    def round_begins(self, source: GradientSource | None) -> list[list[Action]]:
        """Return what computes gradients before a round's trees; rounds take turns.

        Parameters
        ----------
        source : GradientSource or None
            The kernels of a loss that has its own.
        """
        ws, n = self.ws, self.n_entries
        given: list[Launch] = []
        if isinstance(source, Softmax):
            names = ("ordered_margins", "ordered_labels", "ordered_g", "ordered_h")
            of_rows = (ws.gradients_at, "labels", "given_g", "given_h")
            all_rows = source.of(ws.n_rows, *(ws[name] for name in of_rows))
            given = [all_rows, source.of(n, *(ws[name] for name in names))]
        return [
            [
                self.program.bind(
                    "take_margins", (ws.row_groups, ws.n_outputs), n_rows=ws.n_rows,
                    n_entries=n, order=order, margins=ws["seen_margins"],
                    entry_of=ws["ordered_entry_of"], entry_margins=ws["ordered_margins"],
                ),
                *given,
            ]
            for order in range(ws.params.n_orders)
        ]  # fmt: skip

    def launches(self, batch: Batch) -> list[Action]:
        """Return what gives the leaves of finished trees their values, before margins move."""
        ws, p, bind = self.ws, self.ws.params, self.program.bind
        groups = (self._groups, batch.size)
        where = self._entry_arguments(batch)
        found: list[Action] = [self._find(batch, page) for page in ws.pages]
        exponents, scale = ws["ordered_exponents"], ws["ordered_scale"]
        found += [
            bind("count_entries", groups, **where, **self._gradients(), exponents=exponents),
            bind(
                "sum_entries", groups, **where, **self._gradients(), most_nodes=ws.max_nodes,
                weight_bits=ws.weight_bits, weight_shift=ws.weight_shift, exponents=exponents,
                leaves=ws["ordered_leaf"], scale=scale, sums=ws["ordered_sums"],
                **ws.arguments("leaf_header"),
            ),
            bind(
                "value_leaves", self._groups, n_models=self._n_models, n_trees=batch.size,
                most_nodes=ws.max_nodes, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
                max_delta_step=p.max_delta_step, tree_scale=ws["scale"], scale=scale,
                sums=ws["ordered_sums"], values=ws["ordered_values"], exponents=exponents,
                **ws.arguments("leaf_rate", "leaf_header", "nodes"),
            ),
        ]  # fmt: skip
        found += [self._set(page) for page in ws.pages]
        where.pop("label_stride")
        add = bind(
            "add_entries", groups, **where, most_nodes=ws.max_nodes, leaves=ws["ordered_leaf"],
            values=ws["ordered_values"], margins=ws["ordered_margins"],
        )  # fmt: skip
        return [*found, add]

    def _entry_arguments(self, batch: Batch) -> dict[str, Any]:
        """Return the kernels' arguments that say where the entries of some trees lie."""
        ws, n = self.ws, self.n_entries
        return {
            "n_rows": ws.n_rows, "n_entries": n, "n_models": self._n_models,
            "first_tree": batch.first, "table": ws["ordered_table"], "rows": ws["ordered_rows"],
            "label_stride": n if ws.given or ws.n_targets > 1 else 0,
        }  # fmt: skip

    def _gradients(self) -> dict[str, DeviceArray]:
        """Return what the gradients of entries are taken of."""
        ws = self.ws
        names = ("ordered_g", "ordered_h") if ws.given else ("ordered_margins", "ordered_labels")
        factors = ws["factors"] if ws.params.samples_rows else ws["weights"]
        return {
            "margins": ws[names[0]], "labels": ws[names[1]], "weights": ws["weights"],
            "factors": factors,
        }  # fmt: skip

    def _find(self, batch: Batch, page: FitPage) -> Launch:
        """Return the launch that finds the leaf of every row of a page."""
        ws, bind, leaves = self.ws, self.program.bind, self.ws["ordered_leaf"]
        variant = ws.variant("update_margins")
        if ws.columns is None and variant.name != "walk":
            most = ws.n_trees * page.n_rows // variant.params["chunk"] + ws.max_nodes
            return bind(
                "find_leaves", min(most, 16 * ws.device.caps.compute_units), n_rows=ws.n_rows,
                first_row=page.first_row, header=page["leaf_header"],
                task_begin=page["leaf_task_begin"], nodes=page["nodes"], leaves=leaves,
                **page.codes.column_arguments(), **ws.set_arguments(),
                **ws.arguments("even_rows", "odd_rows", "feature_bins"),
            )  # fmt: skip
        how: dict[str, Any] = {"row_nodes": ws["row_nodes"]} if ws.columns is not None else {
            "steps": ws["steps"], **ws.category_arguments("sets"), **page.codes.row_arguments(),
        }  # fmt: skip
        groups = (ws.row_groups, batch.size)
        return bind(
            "find_leaves", groups, n_rows=ws.n_rows, **page.rows, **how, leaves=leaves
        )  # fmt: skip

    def _set(self, page: FitPage) -> Launch:
        """Return the launch that sets the leaves' values in the trees and in a page's nodes."""
        ws = self.ws
        groups = min(-(-ws.max_nodes // self.program.wg_size), 8 * ws.device.caps.compute_units)
        return self.program.bind(
            "set_leaves", groups, first_value=(self._n_models - 1) * ws.max_nodes,
            values=ws["ordered_values"], **page.arguments("leaf_header", "nodes"),
            **ws.arguments("walk", "steps"),
        )  # fmt: skip
