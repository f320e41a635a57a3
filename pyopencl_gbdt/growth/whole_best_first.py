"""One launch grows the trees of a batch leaf by leaf, as ``WholeTrees`` does level by level.

``templates/growth/whole_best_first.cl.mako`` has a picture. The trees are those of ``Grower`` with
``BestFirst``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.dtypes import CANDIDATE, PAYLOAD
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.whole_trees import COUNTER_WORDS, MOST_CODES_WHOLE, WholeTrees

#: Rows of a node whose children are searched by the codes that their rows have.
FEW_ROWS = 256
#: Rows of a task that moves rows.
_CHUNK = 4096
#: Most features of a task, half of it where there are more. PoCL, 1 thread beside other programs,
#: processor ms a round: 40 k x 200, 63 leaves, 73 by 16 and 85 by 32; before, by 16, 76.
_MOST_FEATURES = 32
#: Rows whose codes are copied before they are added, ...
_STAGED = 1024
#: ... and 16-byte cells for a row's codes, of two bytes, and its sums.
_STAGED_CELLS = (_STAGED + 16) * (_MOST_FEATURES // 8 + 1)
#: Rows from which on work-groups add parts of a node's rows.
_ADDED_ROWS = 2048
#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 16


class WholeBestFirst(WholeTrees):
    """Grows the trees of a batch leaf by leaf in one launch; see `recipe.grows_whole`."""

    template: ClassVar[str] = "whole_best_first"
    #: Phases of a step: add, search, move; and the end.
    phases: ClassVar[int] = 4
    #: Those of a task's features, and of staged rows.
    scratch_cells: ClassVar[int] = _MOST_FEATURES * MOST_CODES_WHOLE + _STAGED_CELLS
    lists_columns: ClassVar[bool] = False
    joins_columns: ClassVar[bool] = False

    def _ask_for_splits(self) -> None:
        """Ask for the arrays of the search of splits, and of open leaves."""
        from pyopencl_gbdt.growth import best_first

        rows, nodes, arena = self.rows, self.nodes, self.arena
        best_first.open_leaves(rows, nodes)
        rows.array_of_pages("open_gain", nodes.n_trees * nodes.policy.most_leaves, np.float32)
        rows.array_of_pages("open_at", nodes.n_trees, np.uint32)
        arena.array("candidates", (nodes.search_capacity, self.n_places), CANDIDATE)

    def _build(self, variant: Variant) -> Program | None:
        """Build the variant's kernel; none if the driver failed to, so that steps have to."""
        if variant.name != "one_launch":
            return None
        p, device = self.nodes.params, self.ways.device
        return device.build(
            self.template, wg_size=1, clipped=p.max_delta_step > 0,
            code=self.rows.codes.code_type, most_codes=MOST_CODES_WHOLE,
            counter_words=COUNTER_WORDS, counted=p.limits_rows, few_rows=FEW_ROWS, chunk=_CHUNK,
            prefetch=_AHEAD if device.caps.prefetches else 0, most_features=_MOST_FEATURES,
            staged=_STAGED, added_rows=_ADDED_ROWS, doubles=self._has_doubles,
        )  # fmt: skip

    def _grow(self, batch: Batch, **more: Any) -> Launch:
        """Return the launch; ``more`` are the arguments of the search of splits."""
        p, page, nodes = self.nodes.params, self.rows.pages[0], self.nodes
        layout = self.features.layout
        by_row = page.codes.row_arguments
        assert self._program is not None
        return self._program.bind(
            "grow_leaves", self.groups, n_levels=nodes.n_levels, n_trees=batch.size,
            n_rows=self.rows.n_rows, n_sums=self.rows.row_groups, n_features=layout.n_features,
            n_codes=layout.n_codes, most_leaves=nodes.policy.most_leaves,
            max_depth=p.max_depth or 2**31, n_units=self.arena.device.caps.compute_units,
            row_codes=by_row["row_stride"], gamma=p.gamma, reg_lambda=p.reg_lambda,
            max_delta_step=p.max_delta_step, min_child_weight=p.min_child_weight,
            codes=by_row["codes"], columns=page.codes.column_arguments["codes"],
            high_words=page.part["high"],
            **page.arguments("levels", "nodes", "kept", "open", "open_gain", "open_at", "picked"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "pool"),
            **self.arena.arguments("sums", "leaf_rate", "scale", "feature_offset", "feature_bins",
                                   "scratch", "counters", "opened", *PAYLOAD),
            **more,
        )  # fmt: skip
