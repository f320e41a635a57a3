"""The rows that a tree draws from pages that take turns: gathered to one page that stays.

    pages in turn  |a b c d|e f g h|i j k l|      draw and gather: one pass over the codes
    drawn rows     |b e f k|                      the levels of the tree
    pages in turn  |a b c d|e f g h|i j k l|      margins: one pass over the codes

The workspace of the drawn rows has what trees grow with. All its arrays but those of rows are the
arrays of the fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pyopencl_gbdt.dtypes import code_dtype
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.fit.workspace import Workspace
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
class DrawnRows(Workspace):
    """The workspace of the rows that a tree draws; ``n_rows`` is the most of them."""

    @classmethod
    def of(cls, ws: Workspace) -> DrawnRows:
        """Return the workspace for a fit whose pages take turns, and that grows a tree a round."""
        n_rows = room_for(ws.params.subsample, ws.n_rows)
        weights = ws.weighted, ws.weight_bits, ws.weight_shift
        own = cls(ws.device, ws.params, ws.policy, ws.layout, (), n_rows, *weights)
        for name in ("given", "first_round", "monotone", "interactions", "feature_weights"):
            setattr(own, name, getattr(ws, name))
        own.gathers, own.arena = True, ws.arena
        own.share = replace(ws.share, all_rows=ws.all_rows, codes=None)
        return own

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """The page of all drawn rows."""
        return [(0, self.n_rows)]

    def own_arrays(self) -> None:
        """Ask for the tables of bins; the fit has margins and labels."""
        self._tables()


def follow(drawn: Workspace, ws: Workspace) -> None:
    """Take the sizes that the pages in turn decide."""
    drawn.team_groups, drawn.agreed_block = ws.row_groups, ws.forest_block


def make_room(drawn: Workspace) -> None:
    """Allocate the codes of the drawn rows; their other arrays come with those of the fit."""
    dtype, n_features = code_dtype(drawn.layout.most_codes), drawn.layout.n_features
    codes = empty_codes(drawn.device, drawn.n_rows, n_features, dtype, columns=False)
    drawn.page_list = [Page(codes, 0, drawn.n_rows)]


def gathers_rows(ws: Workspace) -> bool:
    """Tell whether a fit whose pages take turns may grow its trees on gathered rows.

    That is one tree a round, of which no more rows are drawn than expected, on one device.
    """
    drawn = ws.params.samples_rows and ws.params.sampling_method != "goss"
    return drawn and ws.round_trees == 1 and not ws.renews and ws.team.size == 1


def passes_of_codes(ws: Workspace) -> int:
    """Return the passes over codes that a tree takes."""
    return 2 if ws.gathers else ws.n_levels + 1


def copied_share(turns: Turns) -> float:
    """Return the share of the pages that a pass copies to the device."""
    return 1 - min(1.0, turns.n_slots / len(turns.bounds))
