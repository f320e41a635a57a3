"""The rows that a tree draws from pages that take turns: gathered to one page that stays.

    pages in turn  |a b c d|e f g h|i j k l|      draw and gather: one pass over the codes
    drawn rows     |b e f k|                      the levels of the tree
    pages in turn  |a b c d|e f g h|i j k l|      margins: one pass over the codes

All arrays that trees grow with are the arrays of the fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pyopencl_gbdt.dtypes import code_dtype
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.primitives.packed_codes import empty_codes

#: Room beyond the rows that are expected. The classes of importance are 12 % wide, so that their
#: middle is 6 % off at most; chance adds a few standard deviations.
_ROOM, _DEVIATIONS, _FEW = 1.08, 8, 64


def room_for(rate: float, n_rows: int) -> int:
    """Return the rows for which there is room, if each of ``n_rows`` is drawn with this chance."""
    spread = _DEVIATIONS * math.sqrt(n_rows * rate)
    return min(n_rows, int(_ROOM * rate * n_rows + spread) + _FEW)


@dataclass
class DrawnRows(FitRows):
    """The rows that a tree draws; ``n_rows`` is the most of them."""

    @classmethod
    def of(cls, rows: FitRows) -> DrawnRows:
        """Return the drawn rows of a fit whose pages take turns, and that grows a tree a round."""
        return cls(
            rows.arena, rows.nodes, rows.features, rows.ways,
            room_for(rows.nodes.params.subsample, rows.n_rows),
            weighted=rows.weighted, weight_bits=rows.weight_bits, weight_shift=rows.weight_shift,
            given=rows.given, share=replace(rows.share, codes=None),
        )  # fmt: skip

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """The page of all drawn rows."""
        return [(0, self.n_rows)]

    def make_room(self) -> None:
        """Allocate the codes of the drawn rows; their other arrays come with those of the fit."""
        layout = self.features.layout
        sizes = self.n_rows, layout.n_features, code_dtype(layout.most_codes)
        codes = empty_codes(self.arena.device, *sizes, columns=False)
        self.page_list = [Page(codes, 0, self.n_rows)]


def gathers_rows(rows: FitRows) -> bool:
    """Tell whether a fit whose pages take turns may grow its trees on gathered rows.

    That is one tree a round, of which no more rows are drawn than expected, on one device.
    """
    nodes = rows.nodes
    drawn = nodes.params.samples_rows and nodes.params.sampling_method != "goss"
    return drawn and nodes.round_trees == 1 and not nodes.renews and rows.team.size == 1


def passes_of_codes(nodes: Nodes, *, gathers: bool) -> int:
    """Return the passes over codes that a tree takes."""
    return 2 if gathers else nodes.n_levels + 1


def copied_share(turns: Turns) -> float:
    """Return the share of the pages that a pass copies to the device."""
    return 1 - min(1.0, turns.n_slots / len(turns.bounds))
