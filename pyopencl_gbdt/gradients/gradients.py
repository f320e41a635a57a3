"""Compute gradients and Hessians in fixed point from margins and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import QUANTA, SCALE, SUM
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import PerRow, RowPart
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.parameters.facts import FitFacts

#: Exponents of a tree's gradients, and of its Hessians, that are counted: all of float32.
EXPONENTS = 2 * 256
#: Work-groups of a compute unit, of all trees together, where splits are searched by sketches.
_GROUPS_OF_A_UNIT = 16


def are_computed_again(facts: FitFacts, rows: FitRows) -> bool:
    """Return whether the quanta of all outputs are computed where leaves add them up.

    Where sketches search splits, nothing else reads them, unless rows are drawn or counted, or
    leaves take other values than those of their sums. To write and read them takes longer than to
    read margins and labels again. H200, 1 M rows, 100 targets, us a round: 803 to write them and
    442 to add them up, or 384 to do both (CUDA); 778 and 445, or 502 (OpenCL).
    """
    hides = facts.device is not None and facts.device.hides_latency
    if not (hides and facts.n_sketches and rows.schedule is None):
        return False
    params = facts.parameters
    others = (
        facts.loss.renews, params.is_ordered, params.linear_tree, params.weighs_trees,
        params.takes_steps, params.samples_rows, params.limits_rows,
        facts.statistics,
    )  # fmt: skip
    return not any(others)


def are_counted_ahead(rows: FitRows, nodes: Nodes, ways: Ways) -> bool:
    """Return whether exponents of gradients are counted where the margins change.

    Rows that walk a tree have their new margins at hand, so a launch less reads them. Losses with
    kernels of their own, draws of rows, several trees an output, and margins that change otherwise
    go without. H200, ms a round of depth 6, counted before a round and ahead (CUDA; OpenCL):
    10 k x 20 0.173 and 0.166; 0.247 and 0.244. 1 M x 28 0.318 and 0.305; 0.408 and 0.394. 11 M,
    kernels alone, 1.75 and 1.73; 1.91 and 1.88.
    """
    facts, params = ways.facts, nodes.params
    if not facts.loss.kernel or ways.variant("update_margins").name != "walk":
        return False
    others = (
        facts.loss.given, facts.n_sketches, facts.pages.n_orders > 1, facts.pages.kind == "sorted",
        params.samples_rows, params.is_ordered, params.linear_tree, params.weighs_trees,
        nodes.n_parallel > 1, len(nodes.batches) > 1, rows.schedule is not None,
    )  # fmt: skip
    return not any(others)


def are_quantized_ahead(rows: FitRows, nodes: Nodes, ways: Ways) -> bool:
    """Return whether quanta are computed where the margins change, by the last tree's scale.

    That is nearly always the next tree's scale; if it is not, they are computed again. Few rows go
    without, as the kernel has more to do before and behind its rows. H200, ms a round of depth 6,
    computed before a round and ahead: 11 M x 28 1.486 and 1.458 (OpenCL), 1.341 and 1.331 (CUDA);
    OpenCL, 1 M 0.435 and 0.427, 10 k 0.250 and 0.253.
    """
    if not are_counted_ahead(rows, nodes, ways):
        return False
    params, least = nodes.params, ways.variant("update_margins").params["ahead_rows"]
    others = rows.weighted, params.limits_rows, params.random_strength > 0, len(rows.page_rows) > 1
    return rows.n_rows >= least and not any(others)


class Gradients:
    """Computes gradients and Hessians for the trees of a batch.

    Parameters
    ----------
    arena, rows, nodes, ways
    loss : str
        As ``Objective.kernel``.
    """

    def __init__(self, arena: Arena, rows: FitRows, nodes: Nodes, ways: Ways, loss: str) -> None:
        self.arena, self.rows, self.nodes = arena, rows, nodes
        quantized = are_quantized_ahead(rows, nodes, ways)
        self.program = ways.build_kernel(
            "gradients",
            loss=loss,
            weighted=rows.weighted,
            sampled=nodes.params.samples_rows,
            n_exponents=EXPONENTS,
            counted=nodes.params.limits_rows,
            squared=nodes.params.random_strength > 0,
            clears=rows.has_histograms,
            ahead=quantized,
        )
        self._beside = rows.factors_of_rows
        trees = nodes.n_trees
        arena.array("exponents", (trees, EXPONENTS), np.uint32, zeros)  # every tree leaves them so
        arena.array("scale", trees, SCALE)
        self._ahead = are_counted_ahead(rows, nodes, ways)
        self._scale_ahead = ("scale_ahead",) if quantized else ()
        if quantized:
            arena.array("scale_ahead", (trees, 2), np.int32)
        self._stored = not (nodes.n_sketches and are_computed_again(ways.facts, rows))
        if self._stored:
            rows.array_of_rows("quanta", PerRow(each=trees, after=(2,)), QUANTA)
        else:
            arena.array("quanta", (1, 2), QUANTA)
        if rows.has_high:
            rows.array_of_rows("high", PerRow(each=trees, after=(2,)), QUANTA)
        else:
            arena.array("high", (1, 2), QUANTA)
        arena.array("needs_high", 1, np.uint32, zeros)
        arena.array("sums", (trees * rows.row_groups, 2), SUM)
        if nodes.params.random_strength > 0:
            arena.array("squares", trees * rows.row_groups, SUM)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that compute ``quanta``, ``scale`` and ``sums`` for a batch of trees.

        They also clear the roots' histograms, unless the histogram's variant does so itself. If
        ``scale.wide`` is set, ``high`` has the high words of the quanta. If high words are needed
        but ``high`` is not allocated, ``needs_high`` is set and the trees are invalid. ``sums``
        are then to be added up over pages and devices.
        """
        rows = self.rows
        reads = (*rows.gradients_of, *self._beside)
        high = ("high",) if rows.has_high else ()
        later = [[self._quantize(batch, part, clears=False)] for part in rows.parts]
        first = [[self._quantize(batch, part, clears=True)] for part in rows.parts]
        if rows.schedule is None:
            later = first
        return [
            *([] if self._ahead else self._counts(batch)),
            *rows.sum(self.arena["exponents"]),
            *rows.cleared("sums"),
            *(rows.cleared("squares") if self._squares else ()),
            *rows.pagewise(later, reads, ("quanta", *high), first=first),
            *(rows.sum(self.arena["squares"]) if self._squares else ()),
        ]

    def begin(self) -> list[Action]:
        """Return actions that count the first round's exponents, if later rounds' come ahead."""
        return self._counts(self.nodes.batches[0]) if self._ahead else []

    def _counts(self, batch: Batch) -> list[Action]:
        """Return the actions that count the exponents of gradients."""
        reads = (*self.rows.gradients_of, *self._beside)
        return self.rows.pagewise([[self._count(batch, part)] for part in self.rows.parts], reads)

    def _groups(self, batch: Batch, part: RowPart) -> int:
        """Return the work-groups that share the rows of a tree.

        Each group finds the tree's scale. So where nothing needs the sums of ``row_groups``, many
        trees have few groups each.
        """
        units = self.arena.device.caps.compute_units
        few = -(-_GROUPS_OF_A_UNIT * units // batch.size)
        return min(part.groups, few) if self.nodes.n_sketches else part.groups

    def _count(self, batch: Batch, part: RowPart) -> Launch:
        """Return the launch that counts the exponents of gradients."""
        return self.program.bind(
            "gradients", (self._groups(batch, part), batch.size),
            **self.rows.gradient_arguments(batch, part), **self._draws(),
            **part.arguments(*self._beside, *self._scale_ahead, "exponents"),
        )  # fmt: skip

    def _quantize(self, batch: Batch, part: RowPart, *, clears: bool) -> Launch:
        """Return the launch that rounds gradients; it clears the roots' histograms if asked to.

        Where quanta are not stored, it finds the scales alone: for no rows.
        """
        rows = self.rows
        inputs = rows.gradient_arguments(batch, part)
        if not self._stored:
            inputs["n_rows"] = 0
        groups = self._groups(batch, part) if self._stored else 1
        return self.program.bind(
            "quantize_gradients", (groups, batch.size),
            weight_bits=rows.weight_bits, weight_shift=rows.weight_shift,
            has_high=rows.has_high, adds=rows.schedule is not None,
            **self._counting(part), **self._draws(), **inputs, **self._cleared(clears=clears),
            **part.arguments(*self._beside, "needs_high", "exponents", "scale", "quanta", "high",
                             "sums", *self._scale_ahead, *self._squares),
        )  # fmt: skip

    @property
    def _squares(self) -> tuple[str, ...]:
        """The array that only kernels for noise in scores have."""
        return ("squares",) if self.nodes.params.random_strength > 0 else ()

    def _cleared(self, *, clears: bool) -> dict[str, Any]:
        """Return the histograms of roots and how much of each to clear, where roots have them."""
        if not self.rows.has_histograms:
            return {}
        cells = self.rows.cells_to_clear if clears else 0
        return {"root_cells": cells, "pool": self.arena["pool"]}

    def _draws(self) -> dict[str, int]:
        """Return how many trees have factors of their own, where rows are sampled."""
        return {"n_draws": self.nodes.n_lists} if self.nodes.params.samples_rows else {}

    def _counting(self, part: RowPart) -> dict[str, int]:
        """Return the arguments that only kernels that count rows have."""
        if not self.nodes.params.limits_rows:
            return {}
        first_id = self.rows.share.first_row + part.first_row
        least = self.nodes.params.min_samples_leaf
        return {"first_id": first_id, "count_bits": self.nodes.count_bits, "least_rows": least}
