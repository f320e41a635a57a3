"""Joint codes of the columns that each tree draws.

``templates/growth/drawn_places.cl.mako`` has a picture. Which columns share a code depends on what
a tree has drawn, so that its codes are made anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.drawn_columns import DrawnColumns

#: Places whose codes of a row lie together, in a word. PoCL, 1 thread, processor ms of a tree, 60 k
#: x 600 of 5 values, a tenth drawn, depth 5, by 4 and 8 places: 3.5 and 3.8; by plain codes 8.5.
DRAWN_BLOCK = 4
#: Rows whose codes are made at a time: they fit a core's first cache. The same, joining alone, by
#: 1024, 2048 and 8192 rows: 0.80, 0.69 and 0.65.
_CHUNK = 2048


class DrawnPlaces:
    """Lists the columns that each tree draws, and makes their joint codes.

    Tables are as those of ``JointCodes``, one after the other for each tree of a batch. Each column
    is a digit of its own.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, features, ways = parts
        self.drawn = DrawnColumns(parts)
        self.n_features, n_drawn = features.layout.n_features, self.drawn.n_drawn
        self.n_places = n_drawn  # at most
        self.program = ways.build_kernel(
            "plan", template="drawn_places", places=DRAWN_BLOCK, chunk=_CHUNK
        )
        sizes = np.diff(features.layout.feature_offset.astype(np.int64))
        order = np.argsort(-sizes, kind="stable").astype(np.uint32)
        n_trees, arena = self.nodes.n_trees, self.arena
        arena.array("join_order", order.size, np.uint32, order)
        digits = np.arange(n_drawn + 1, dtype=np.uint32)
        arena.array("member_begin", digits.size, np.uint32, digits)
        arena.array("is_drawn", (n_trees, self.n_features), np.uint8)
        arena.array("drawn_places", n_trees, np.uint32)
        arena.array("digit_begin", (n_trees, n_drawn + 1), np.uint32)
        for name in ("members", "digit_cells", "place_cells"):
            arena.array(name, (n_trees, n_drawn), np.uint32)
        self._blocks = -(-n_drawn // DRAWN_BLOCK)
        shape = (n_trees, self._blocks, self.rows.n_rows, DRAWN_BLOCK)
        arena.array("place_codes", shape, np.uint8)

    @property
    def _tree_codes(self) -> np.uint64:
        """Bytes of a tree's codes."""
        found: np.uint64 = np.uint64(self._blocks * self.rows.n_rows * DRAWN_BLOCK)
        return found

    def launches(self, batch: Batch) -> list[Launch]:
        """Return the launches that draw the columns of some trees, and join their codes."""
        arena, n_rows = self.arena, self.rows.n_rows
        tables = arena.arguments("drawn_places", "members", "digit_begin", "digit_cells")
        listed = self.program.bind(
            "list_places", batch.size, n_features=self.n_features, n_drawn=self.drawn.n_drawn,
            **tables,
            **arena.arguments(
                "feature_offset", "join_order", "drawn_columns", "is_drawn", "place_cells"
            ),
        )  # fmt: skip
        joined = self.program.bind(
            "join_drawn", (self.rows.row_groups, batch.size), n_rows=n_rows,
            n_drawn=self.drawn.n_drawn,
            by_feature=self.rows.pages[0].codes.column_arguments["codes"],
            tree_codes=self._tree_codes, place_codes=arena["place_codes"], **tables,
        )  # fmt: skip
        return [self.drawn.draw(batch), listed, joined]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the kernel that reads joint codes."""
        found = self.arena.arguments(
            "drawn_places", "members", "member_begin", "digit_begin", "digit_cells", "place_cells",
            "fullest",
        )  # fmt: skip
        block = DRAWN_BLOCK * self.rows.n_rows
        by_row = {"by_row": self.arena["place_codes"], "row_codes": DRAWN_BLOCK}
        return {**by_row, "block_codes": block, "tree_codes": self._tree_codes, **found}
