"""Gather the rows that a tree draws, out of pages that take turns, to a page that stays.

A pass over the pages copies the codes and quanta of the drawn rows. The levels of the tree then
work on these rows alone. If there are more of them than expected, ``needs_high`` is set to 2, and
the fit begins again without such a page.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import QUANTA, ROW
from pyopencl_gbdt.fit.page import FitPage, PerRow
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.primitives.packed_codes import PackedCodes


class GatherDrawn:
    """Copies the drawn rows of every page to the page of the drawn rows; built behind `Sample`.

    Parameters
    ----------
    arena, rows, ways
        Whose pages take turns.
    drawn : FitRows
        Those that were drawn, see ``fit.rows_in_turn``.
    """

    def __init__(self, arena: Arena, rows: FitRows, ways: Ways, drawn: FitRows) -> None:
        self.arena, self.rows, self.drawn = arena, rows, drawn
        self.program = ways.build_kernel("gradients", template="gather_drawn")
        drawn.array_of_rows("quanta", PerRow(after=(2,)), QUANTA)
        # codes and row ids are valid, whatever the first tree leaves out
        arena.device.clear(_packed(drawn).codes)
        arena.array("even_rows", drawn.n_rows, ROW, zeros)

    def launches(self) -> list[Action]:
        """Return the actions that gather the rows of a tree; its quanta were computed before."""
        pages = [[self._page(page)] for page in self.rows.pages]
        lost = ("quanta", "factors")
        return self.rows.pagewise(pages, (CODES, *lost), drops=lost)

    def _page(self, page: FitPage) -> Launch:
        drawn, part, source = self.drawn, page.part, page.codes
        (into,) = drawn.pages
        assert isinstance(source, PackedCodes)
        to_codes = _packed(drawn)
        strides = source.block_strides(), to_codes.block_strides()
        return self.program.bind(
            "gather_drawn", part.groups, n_rows=page.n_rows, n_blocks=source.order.n_blocks,
            **strides[0], **{f"to_{name}": stride for name, stride in strides[1].items()},
            capacity=np.uint32(drawn.n_rows), codes=source.codes.words(),
            to_codes=to_codes.codes.words(), to_quanta=self.arena["quanta"],
            rows=self.arena["even_rows"],
            drawn=into["drawn"], **part.arguments("factors", "quanta", "needs_high"),
        )  # fmt: skip


def _packed(drawn: FitRows) -> PackedCodes:
    """Return the codes of the drawn rows."""
    codes = drawn.codes
    assert isinstance(codes, PackedCodes)
    return codes
