"""Sketches: random sums of all outputs' gradients, by which splits of vector leaves are searched.

A tree of 100 outputs then costs about as much as trees of a few. Leaf values come from the
gradients of all outputs, see ``growth.sketched_leaves``.

    gradients of all outputs  -+-> sums with random signs -> quanta -> histograms, splits, rows
                               +-> quanta  ------------------------------------------> leaf values

Iosipoi & Vakhrushev 2022, "SketchBoost: fast gradient boosted decision tree for multioutput
problems", of which this is the random projection; the signs are those of Achlioptas 2003. A user's
loss may give other gradients in their place, as ``split_grad`` of XGBoost 3.2 does.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, RenamedArena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import PerRow, RowPart
from pyopencl_gbdt.fit.page_schedule import PageWise
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows, Values
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.base import GIVEN_GRADIENTS

#: Arrays that the search has for its sketches, beside those that the fit has for all outputs.
_OWN = (
    "nodes", "levels", "node_sums", "node_weights", "node_values", "node_bounds", "exponents",
    "scale", "quanta", "high", "sums", "monotone", "sets",
)  # fmt: skip


class SketchedRows(FitRows):
    """The rows of a fit, which are ``whole``, with sketches in place of outputs' gradients."""

    arena: RenamedArena
    whole: FitRows
    share_hessians: bool

    @classmethod
    def like(
        cls, rows: FitRows, arena: Arena, nodes: Nodes, *, share_hessians: bool
    ) -> SketchedRows:
        """Return the same rows, with these arrays and the trees of the sketches."""
        same = {field.name: getattr(rows, field.name) for field in fields(rows)}
        own = {"arena": arena, "nodes": nodes, "row_arrays": {}, "first_values": {}}
        made = cls(**{**same, **own})
        made.whole, made.share_hessians = rows, share_hessians
        return made

    @property
    def gradients_of(self) -> tuple[str, str]:
        """The sketches and their Hessians."""
        return "sketches", "sketch_hessians"

    def gradient_arguments(self, batch: Batch, part: RowPart) -> dict[str, Any]:
        """Return the arguments of all sketches, which may share their Hessians."""
        own = super().gradient_arguments(batch, part)
        return own | {"label_stride": 0} if self.share_hessians else own


class SketchedRowsInTurn(SketchedRows, RowsInTurn):
    """The same where pages take turns: arrays lie in slots of the fit, by names of their own."""

    @property
    def leaves_have_lists(self) -> bool:
        """Return False: rows find their leaves by walking."""
        return False

    @property
    def parts(self) -> list[RowPart]:
        """The rows of each page, with its arrays as they are called here."""
        return [replace(part, arrays=self.arena.arrays) for part in self.whole.parts]

    def array_of_rows(
        self, name: str, shape: PerRow, dtype: npt.DTypeLike, values: Values | None = None
    ) -> None:
        """Ask for an array of rows of the fit, by its name there."""
        self.whole.array_of_rows(self.arena.named(name), shape, dtype, values)

    def _queued(self, action: PageWise) -> list[Action]:
        return super()._queued(action.renamed(self.arena.named))


def searched_parts(parts: FitParts, *, given: bool = False) -> FitParts:
    """Return the parts of the search by sketches, of a fit that has some.

    Sketches tell nothing of the outputs' order: leaf values obey it, splits do not know it.

    ``given``: whether the loss gives them, with their Hessians. The least gain is then that of
    their sum.
    """
    arena, rows, nodes, features, ways = parts
    n_sketches = nodes.n_sketches
    own = RenamedArena(arena, _OWN, " of sketches")
    params = replace(nodes.params, gamma=nodes.params.gamma * (1 if given else n_sketches))
    few = replace(
        nodes, params=params, n_outputs=n_sketches, n_trees=n_sketches * nodes.n_parallel,
        n_sketches=0,
    )  # fmt: skip
    free = replace(features, limits=replace(features.limits, monotone=None))
    kind = SketchedRowsInTurn if isinstance(rows, RowsInTurn) else SketchedRows
    made = kind.like(rows, own, few, share_hessians=not given)
    return FitParts(own, made, few, free, ways)


class Sketch:
    """Computes the sketches of a round and their quanta.

    ``parts``: with all outputs.
    ``searched``: as ``searched_parts`` returns them.
    """

    def __init__(self, parts: FitParts, searched: FitParts, objective: Objective) -> None:
        from pyopencl_gbdt.numerics.random_numbers import SKETCHES

        self.arena, self.rows, self.nodes, _, ways = parts
        self.searched = searched
        n_sketches = self.nodes.n_sketches
        self.program = ways.build_kernel(
            "gradients", template="sketch", loss=objective.kernel, n_sketches=n_sketches,
            first_stream=SKETCHES,
        )  # fmt: skip
        self.rows.array_of_rows("sketches", PerRow((n_sketches,)), VALUE)
        self.rows.array_of_rows("sketch_hessians", PerRow(), VALUE)
        own, rows, nodes, *_ = searched
        self.gradients = Gradients(own, rows, nodes, ways, GIVEN_GRADIENTS)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that compute a round's sketches, and round them to integers."""
        parts = [[self._of(batch, part)] for part in self.rows.parts]
        own = Batch(batch.first, self.searched.nodes.n_trees)
        sketched = self.rows.pagewise(
            parts, self.rows.gradients_of, ("sketches", "sketch_hessians")
        )
        return [*sketched, *self.gradients.launches(own)]

    def _of(self, batch: Batch, part: RowPart) -> Launch:
        given = self.rows.gradient_arguments(batch, part)
        names = ("margins", "labels", "n_rows", "label_stride")
        header: DeviceArray = self.arena["leaf_header"]
        return self.program.bind(
            "sketch", part.groups, n_outputs=self.nodes.n_outputs, header=header,
            seed=self.nodes.params.random_state, **{name: given[name] for name in names},
            sketches=part["sketches"], hessians=part["sketch_hessians"],
        )  # fmt: skip


class SplitGradients:
    """Takes the gradients that a loss gives to search splits by, and computes their quanta.

    The loss's ``GradientSource`` sets the arrays ``sketches`` and ``sketch_hessians``, float32
    (n_split, n_rows), before every round.
    """

    def __init__(self, parts: FitParts, searched: FitParts, objective: Objective) -> None:
        self.searched = searched
        for name in ("sketches", "sketch_hessians"):
            parts.rows.array_of_rows(name, PerRow((objective.n_split,)), VALUE)
        own, rows, nodes, _, ways = searched
        self.gradients = Gradients(own, rows, nodes, ways, GIVEN_GRADIENTS)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that compute the quanta of a round."""
        return self.gradients.launches(Batch(batch.first, self.searched.nodes.n_trees))
