"""Leaves take a quantile of their rows' residuals, for losses whose Hessian says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.team import Action
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.numerics.quantiles import fraction_of
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.objectives import Objective

#: Words that hold a node's counts.
COUNTS = 512


def reserve(ws: Workspace, *, weighted: bool) -> None:
    """Plan what renewing leaves takes."""
    ws.reserve("renew_weights", ws.n_targets * ws.n_rows if weighted else 0, np.int64)
    ws.reserve("renew_alpha", (ws.n_outputs, 2), np.uint32)
    ws.reserve("renew_leaf", (ws.n_trees, ws.n_rows), np.uint32)
    ws.reserve("renew_key", (ws.n_trees, ws.n_rows), np.uint32)
    ws.reserve("renew_counts", (ws.max_nodes, COUNTS), np.uint32)
    ws.reserve("renew_prefix", (ws.max_nodes, 2), np.uint32)
    ws.reserve("renew_rank", (ws.max_nodes, 2), np.int64)
    ws.reserve("renew_fraction", ws.max_nodes, np.float32)


class RenewLeaves:
    """Selects quantiles digit by digit, without a sort; sums are integers.

    Parameters
    ----------
    ws : Workspace
        Its memory is not planned yet.
    objective : Objective
        One that ``renews``.
    data : Dataset
    """

    def __init__(self, ws: Workspace, objective: Objective, data: Dataset) -> None:
        self.ws, self.objective = ws, objective
        every = [objective.leaf_shares(target, data.weight) for target in data.targets()]
        found = [self._whole(share) for share in every if share is not None]
        self.weights = np.concatenate(found) if found else None
        weighted = self.weighted = self.weights is not None
        reserve(ws, weighted=weighted)
        self.program = ws.build(
            "renew_leaves",
            lambda variant: ws.device.build(
                "renew_leaves",
                wg_size=ws.wg_size(variant),
                weighted=weighted,
                code="" if ws.columns is not None else ws.code_type,
                categories=ws.has_categories,
            ),
        )

    def _whole(self, share: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the weights of a target as integers, of one scale in the whole team."""
        every = self.ws.team.exchange(float(share.max(initial=0.0)))
        return whole(share, self.ws.all_rows, max(every))

    def begin(self) -> None:
        """Set what the first tree expects."""
        self.ws.device.clear(self.ws["renew_counts"])  # every tree leaves them so
        if self.weights is not None:
            self.ws["renew_weights"].set(self.weights)
            self.weights = None  # they stay on the device
        outputs = range(self.ws.n_outputs)
        self.ws["renew_alpha"].set([fraction_of(self.objective.leaf_alpha(k)) for k in outputs])

    def launches(self, batch: Batch) -> list[Action]:
        """Return what gives the leaves of finished trees their values, before margins move."""
        ws, bind = self.ws, self.program.bind
        groups = (ws.row_groups, batch.size)
        kept = {
            "weights": ws["renew_weights"], "leaves": ws["renew_leaf"], "keys": ws["renew_key"],
            "counts": ws["renew_counts"],
        }  # fmt: skip
        where = ws.gradient_arguments(batch)
        found: list[Action] = [
            bind("count_first", groups, **where, **page.rows, **self._leaves_of(page), **kept)
            for page in ws.pages
        ]
        found += [*self._sum(), self._pick(24, batch)]
        places = {n: where[n] for n in ("n_rows", "first_tree", "n_parallel", "label_stride")}
        for shift in (16, 8, 0):
            count = bind(
                "count_next", groups, **places, shift=shift, prefixes=ws["renew_prefix"], **kept
            )  # fmt: skip
            found += [count, *self._sum(), self._pick(shift, batch)]
        return [*found, *(self._renew(page) for page in ws.pages)]

    def _leaves_of(self, page: FitPage) -> dict[str, Any]:
        """Return the kernel's arguments that tell a row's leaf."""
        if self.ws.columns is not None:
            return {"row_nodes": self.ws["row_nodes"]}
        sets = self.ws.category_arguments("sets")
        return {"steps": self.ws["steps"], **sets, **page.codes.row_arguments()}

    def _sum(self) -> list[Action]:
        """Return what adds up the counts over the team; weights are counted in 64 bits."""
        counts = self.ws["renew_counts"]
        return self.ws.team.sum(counts, dtype=np.uint64 if self.weighted else np.uint32)

    def _pick(self, shift: int, batch: Batch) -> Launch:
        ws = self.ws
        groups = min(ws.max_nodes, 8 * ws.device.caps.compute_units)
        return self.program.bind(
            "pick_digit", groups, shift=shift, first_tree=batch.first, n_parallel=ws.n_parallel,
            alphas=ws["renew_alpha"], prefixes=ws["renew_prefix"], ranks=ws["renew_rank"],
            fractions=ws["renew_fraction"], counts=ws["renew_counts"],
            **ws.arguments("nodes", "leaf_header"),
        )  # fmt: skip

    def _renew(self, page: FitPage) -> Launch:
        """Return the launch that sets the values in the trees and in a page's nodes."""
        ws = self.ws
        groups = min(-(-ws.max_nodes // self.program.wg_size), 8 * ws.device.caps.compute_units)
        return self.program.bind(
            "renew", groups, prefixes=ws["renew_prefix"], ranks=ws["renew_rank"],
            fractions=ws["renew_fraction"], **page.arguments("leaf_header", "nodes"),
            **ws.arguments("leaf_rate", "walk", "steps"),
        )  # fmt: skip
