"""The columns that trees draw, where pages that take turns bring no others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.fit.column_stream import ColumnStream, places_of
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import ColumnsTaken
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes


class TakeColumns(ColumnsTaken):
    """Draws the columns of some trees, and lets pages bring these; waits for the device.

    Parameters
    ----------
    rows : FitRows
        Whose pages bring them.
    draws : sequence of Launch
        Draw the columns of some trees, ...
    drawn : uint32 DeviceArray, shape (n_trees or more, n_drawn)
        ... and list them here.
    gathers : sequence of sequence of Launch
        What gathers them on the device for histograms, page by page.
    """

    name = "columns that pages bring"

    def __init__(
        self, rows: FitRows, draws: Sequence[Launch], drawn: DeviceArray,
        gathers: Sequence[Sequence[Launch]], n_trees: int,
    ) -> None:  # fmt: skip
        stream, codes = rows.stream, rows.codes
        assert isinstance(stream, ColumnStream)
        assert isinstance(codes, JoinedCodes)
        self.stream, self.digits, self.n_trees = stream, codes.digits, n_trees
        self.draws, self.drawn, self.gathers = draws, drawn, gathers

    def __call__(self) -> None:
        self.stream.begin_columns()
        for launch in self.draws:
            launch()
        columns = np.unique(self.drawn.get()[: self.n_trees])
        self.digits.set(places_of(columns, self.digits.shape[0]))
        self.stream.take_columns(columns, self.gathers)
