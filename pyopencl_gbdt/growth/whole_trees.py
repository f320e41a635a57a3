"""One launch grows the trees of a batch: for few rows on a CPU, where launches cost more than work.

``templates/growth/whole_trees.cl.mako`` has a picture. The trees are those of ``Grower``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import BLOCK_BYTES, CANDIDATE, PAYLOAD, SUM
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth import partition, policy
from pyopencl_gbdt.growth.joint_columns import JOINT_ROWS, JointCodes, joins_columns

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.drawn_columns import DrawnColumns
    from pyopencl_gbdt.growth.drawn_places import DrawnPlaces

#: Words of a phase's counters: those of what is taken and of what is finished lie in cache lines of
#: their own.
COUNTER_WORDS = 32
#: Most codes of a feature: 256 bins and missing values.
MOST_CODES_WHOLE = 257
#: Cells from a place's first one to the next place's: not about 4 KiB, as then places of few cells
#: would lie in the same half of a first cache. PoCL, 1 thread, processor ms of a tree, 257 and 385
#: cells apart: 60 k x 600 of 5 values, depth 5, 34 and 32; 100 k x 54, 7 classes, 34 and 30.
CELLS_APART = MOST_CODES_WHOLE + 128
#: Columns whose histograms a work-group builds at once: they fit a core's first cache.
AT_ONCE = 4
#: Places whose codes are read together, row by row, ...
_BY_ROW = BLOCK_BYTES
#: ... if the codes of a row lie in a cache line. PoCL, 1 thread beside other programs, processor ms
#: a round, by columns and by rows: 100 k x 54 with 44 indicators in joint codes, 7 classes, 45 and
#: 34; 60 k x 600 of 5 values in joint codes, depth 5, where a row's 200 places lie together, 23 and
#: 34.
_ROW_BYTES = 64
#: Trees of several outputs whose roots are read together, and places of a pass. PoCL, 1 thread
#: beside other programs, processor ms a round, 100 k x 54, 44 of them indicators, 7 classes, depth
#: 6, roots one by one and together: 41 to 46 and 36 to 40; each addition 0.57 and 0.27 ns.
_ROOTS, _ROOT_PLACES = 4, 8
#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 16


class WholeTrees:
    """Grows the trees of a batch by one launch; see `recipe.grows_whole`."""

    kernels: ClassVar[tuple[str, ...]] = ("whole_trees",)
    template: ClassVar[str] = "whole_trees"
    #: Phases of a level: search, move.
    phases: ClassVar[int] = 2
    #: Cells in which a work-group builds histograms that are not kept, and adds up joint ones.
    #: Half as much again for words, see ``packed_rows``.
    scratch_cells: ClassVar[int] = (_BY_ROW + _BY_ROW // 2 + 2) * CELLS_APART
    #: Whether the columns that each tree draws are listed.
    lists_columns: ClassVar[bool] = True
    #: Whether columns may have joint codes, and histograms may be built row by row.
    joins_columns: ClassVar[bool] = True

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        n_drawn = self.ways.facts.n_drawn if self.lists_columns else 0
        joins = self.joins_columns and joins_columns(self.ways.facts)
        self.joint = JointCodes(parts) if joins and not n_drawn else None
        self.drawn: DrawnColumns | None = None
        self.drawn_places: DrawnPlaces | None = None
        if joins and n_drawn:
            from pyopencl_gbdt.growth.drawn_places import DrawnPlaces

            self.drawn_places = DrawnPlaces(parts)
        self.n_places = n_drawn or self.features.layout.n_features
        if self.joint is not None:
            self.n_places = self.joint.columns.n_places
        if n_drawn and not joins:
            from pyopencl_gbdt.growth.drawn_columns import DrawnColumns

            self.drawn = DrawnColumns(parts)
        choose = partial(self.ways.variant, self.kernels[0])
        self._program = build_variant(self.arena.device, self.kernels[0], choose, self._build)[1]
        if self._program is not None:
            self._ask()

    def _ask(self) -> None:
        """Ask for histograms, candidates, lists of rows, and the counters that groups share."""
        arena, nodes = self.arena, self.nodes
        policy.tree_arrays(self.arena, self.rows, self.nodes)
        partition.row_lists(self.rows, self.nodes)
        arena.array("pool", (nodes.slots, self.features.layout.n_codes, 2), SUM)
        # every launch leaves the counters at 0
        arena.array(
            "counters", (self.phases * nodes.n_levels + 1) * COUNTER_WORDS, np.uint32, zeros
        )
        arena.array("opened", 1, np.uint64, zeros)
        if self.joint is not None:
            arena.array("run_rows", -(-self.n_places // _BY_ROW), np.uint32, zeros)
        of_roots = self._roots_at_once * _ROOT_PLACES * MOST_CODES_WHOLE
        cells = -(-(self.scratch_cells + of_roots) // 4) * 4
        arena.array("scratch", (self.groups, cells, 2), SUM)
        self._ask_for_splits()

    def _ask_for_splits(self) -> None:
        """Ask for the arrays of the search of splits."""
        shape = (self.nodes.search_capacity, self.n_places)
        self.arena.array("candidates", shape, CANDIDATE)

    def _build(self, variant: Variant) -> Program | None:
        """Build the variant's kernel; none if the driver failed to, so that steps have to."""
        if variant.name != "one_launch":
            return None
        params = self.nodes.params
        return self.ways.device.build(
            self.template, wg_size=1, clipped=params.max_delta_step > 0,
            code=self.rows.codes.code_type, most_codes=MOST_CODES_WHOLE, at_once=AT_ONCE,
            phases=self.phases, counter_words=COUNTER_WORDS, counted=params.limits_rows,
            **self._built_for(),
        )  # fmt: skip

    def _built_for(self) -> dict[str, int]:
        """Return the parameters that the template alone has."""
        return {
            "drawn": self._draws_columns,
            "joint": JOINT_ROWS if self.joint or self.drawn_places else 0,
            "by_row": self._together,
            "prefetch": _AHEAD if self.ways.device.caps.prefetches else 0,
            "roots_at_once": self._roots_at_once, "root_places": _ROOT_PLACES,
            "doubles": self._has_doubles,
        }  # fmt: skip

    @property
    def _has_doubles(self) -> bool:
        """Whether scores are compared in doubles before exact ones are computed."""
        return self.ways.device.caps.fp64 and not self.nodes.params.max_delta_step > 0

    @property
    def _roots_at_once(self) -> int:
        """Trees whose roots are read together; 0: each tree's by itself."""
        return _ROOTS if self._together == _BY_ROW and self.nodes.n_trees > 1 else 0

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
        own: dict[str, Any] = dict(self.arena.arguments("candidates"))
        before: list[Action] = []
        if self.drawn is not None:
            before = [self.drawn.draw(batch)]
            own |= self.arena.arguments("drawn_columns")
        if self.drawn_places is not None:
            before = [*self.drawn_places.launches(batch)]
            own |= self.drawn_places.arguments()
        elif self.joint is not None:
            own |= self.joint.arguments() | self.arena.arguments("run_rows")
        elif self._together:
            plain = self.rows.pages[0].codes.row_arguments
            row_codes = plain["row_stride"]
            own |= {"by_row": plain["codes"], "row_codes": row_codes, "block_codes": _BY_ROW}
        if self._together:
            own["n_units"] = self.arena.device.caps.compute_units
        return [*before, self._grow(batch, **own)]

    @property
    def _draws_columns(self) -> bool:
        """Whether trees draw columns, which are listed."""
        return self.drawn is not None or self.drawn_places is not None

    @property
    def _together(self) -> int:
        """Places that are read together, row by row; 0: histograms are built column by column."""
        if self.drawn_places is not None:
            from pyopencl_gbdt.growth.drawn_places import DRAWN_BLOCK

            return DRAWN_BLOCK
        if self.drawn is not None or not self.joins_columns:
            return 0
        by_row = self.joint is not None or self.rows.codes.row_bytes <= _ROW_BYTES
        return _BY_ROW if by_row else 0

    def _grow(self, batch: Batch, **more: Any) -> Launch:
        """Return the launch; ``more`` are the arguments of the search of splits."""
        p, page = self.nodes.params, self.rows.pages[0]
        rows, features = self.rows, self.features
        assert self._program is not None
        places = {"n_drawn" if self.drawn_places else "n_places": self.n_places}
        return self._program.bind(
            "grow", self.groups, n_levels=self.nodes.n_levels, n_trees=batch.size,
            n_rows=rows.n_rows, n_sums=rows.row_groups, **places,
            n_codes=features.layout.n_codes,
            gamma=p.gamma, reg_lambda=p.reg_lambda, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight, codes=page.codes.column_arguments["codes"],
            high_words=page.part["high"], **page.arguments("levels", "nodes"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "pool"),
            **self.arena.arguments("sums", "leaf_rate", "scale", "feature_offset", "feature_bins",
                                   "scratch", "counters", "opened", *PAYLOAD),
            **more,
        )  # fmt: skip
