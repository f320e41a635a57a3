"""One launch grows the trees of a batch: for few rows on a CPU, where launches cost more than work.

``templates/growth/whole_trees.cl.mako`` has a picture. The trees are those of ``Grower``.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE, PAYLOAD, SUM
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth import level, partition
from pyopencl_gbdt.growth.drawn_columns import DrawnColumns

#: Words of a phase's counters: those of what is taken and of what is finished lie in cache lines of
#: their own. Phases of a level: search, move.
_WORDS, _PHASES = 32, 2
#: Most codes of a feature: 256 bins and missing values.
MOST_CODES_WHOLE = 257
#: Features whose histograms a work-group builds at once: they fit a core's first cache.
_AT_ONCE = 4


class WholeTrees:
    """Grows the trees of a batch by one launch; see `recipe.grows_whole`."""

    kernels: ClassVar[tuple[str, ...]] = ("whole_trees",)

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        self.n_places = self.ways.facts.n_drawn or self.features.layout.n_features
        self.drawn = DrawnColumns(parts) if self.ways.facts.n_drawn else None
        choose = partial(self.ways.variant, self.kernels[0])
        self._program = build_variant(self.arena.device, self.kernels[0], choose, self._build)[1]
        if self._program is not None:
            self._ask()

    def _ask(self) -> None:
        """Ask for histograms, candidates, lists of rows, and the counters that groups share."""
        arena, nodes = self.arena, self.nodes
        level.tree_arrays(self.arena, self.rows, self.nodes)
        partition.row_lists(self.rows, self.nodes)
        arena.array("pool", (nodes.slots, self.features.layout.n_codes, 2), SUM)
        arena.array("candidates", (nodes.search_capacity, self.n_places), CANDIDATE)
        arena.array("scratch", (self.groups, _AT_ONCE * MOST_CODES_WHOLE, 2), SUM)
        # every launch leaves the counters at 0
        arena.array("counters", (_PHASES * nodes.n_levels + 1) * _WORDS, np.uint32, zeros)
        arena.array("opened", 1, np.uint64, zeros)

    def _build(self, variant: Variant) -> Program | None:
        """Build the variant's kernel; none if the driver failed to, so that steps have to."""
        if variant.name != "one_launch":
            return None
        clipped, code = self.nodes.params.max_delta_step > 0, self.rows.codes.code_type
        return self.ways.device.build(
            "whole_trees", wg_size=1, clipped=clipped, code=code, most_codes=MOST_CODES_WHOLE,
            at_once=_AT_ONCE, phases=_PHASES, counter_words=_WORDS,
            counted=self.nodes.params.limits_rows, drawn=self.drawn is not None,
        )  # fmt: skip

    @property
    def groups(self) -> int:
        """Work-groups that grow whole trees; some may start when all is done.

        Several a unit, as a driver may give a thread several. No more than the roots' features: a
        level of few nodes has no more tasks.
        """
        per_unit: int = self.ways.variant("whole_trees").params["groups_per_unit"]
        most = max(per_unit, self.nodes.n_trees * self.n_places)
        return min(per_unit * self.arena.device.caps.compute_units, most)

    def tree(self, batch: Batch) -> list[Action]:
        """Return the launches that grow some trees, bound to the fit's arrays."""
        drawn = [] if self.drawn is None else [self.drawn.draw(batch)]
        return [*drawn, self._grow(batch)]

    def finish_sets(self) -> list[Action]:
        """Return nothing: no split is by a set of codes."""
        return []

    def _grow(self, batch: Batch) -> Launch:
        p, page = self.nodes.params, self.rows.pages[0]
        rows, features = self.rows, self.features
        drawn = () if self.drawn is None else ("drawn_columns",)
        assert self._program is not None
        return self._program.bind(
            "grow", self.groups, n_levels=self.nodes.n_levels, n_trees=batch.size,
            n_rows=rows.n_rows, n_sums=rows.row_groups, n_places=self.n_places,
            n_codes=features.layout.n_codes,
            gamma=p.gamma, reg_lambda=p.reg_lambda, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight, codes=page.codes.column_arguments()["codes"],
            high_words=page.part["high"], **page.arguments("levels", "nodes"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "pool"),
            **self.arena.arguments("sums", "leaf_rate", "scale", "feature_offset", "feature_bins",
                           "scratch", "candidates", "counters", "opened", *PAYLOAD, *drawn),
        )  # fmt: skip
