"""Make tiled codes on a device: present values alone, from dense rows or from rows of entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Program, build_variant_program
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.program import bytes_a_launch
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import search_tables
from pyopencl_gbdt.pages.page import Layout, Page
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.primitives.tiled_codes import (
    CELL,
    TiledCodes,
    tile_begins,
    tiled_features,
)
from pyopencl_gbdt.primitives.tiled_histogram_kernel import tile_capacity

U32 = npt.NDArray[np.uint32]
#: Values of a page, the missing ones included: kernels number cells by 32 bits.
_MOST_VALUES = 2**32 - 1
#: Most entries of a piece of rows that is uploaded at a time.
_PIECE_ENTRIES = 1 << 21


@dataclass(frozen=True)
class TileSizes:
    """Sizes of tiled codes, as far as they are known before the data are quantised.

    Attributes
    ----------
    n_entries : int
        Present values; an estimate while they are not counted yet.
    """

    n_entries: int

    def plan(self, n_rows: int, n_tiles: int) -> MemoryPlan:
        """Return the arrays of all rows."""
        return MemoryPlan.of(
            {"cells": (self.n_entries, CELL), "row_begin": (n_tiles * (n_rows + 1), ROW)}
        )


class TileSource(Protocol):
    """Rows of values that can be read several times, piece by piece."""

    @property
    def sparse(self) -> bool:
        """Whether rows are entries: a column and a value each."""

    def pieces(self) -> Iterable[tuple[int, int, dict[str, DeviceArray]]]:
        """Yield each piece's first row, its number of rows, and the kernels' arguments."""


class EntryRows:
    """Rows of entries on the host, as in a CSR matrix; columns ascend in a row.

    Parameters
    ----------
    row_starts : integer array, shape (n_rows + 1,)
        Index of the first entry of every row, then the number of entries.
    columns : integer array, shape (n_entries,)
    values : float32 array, shape (n_entries,)
    """

    sparse = True

    def __init__(
        self,
        device: Device,
        row_starts: npt.NDArray[Any],
        columns: npt.NDArray[Any],
        values: npt.NDArray[np.float32],
    ) -> None:
        self.device, self.row_starts = device, row_starts.astype(np.int64)
        self.columns, self.values = columns, values

    def pieces(self) -> Iterable[tuple[int, int, dict[str, DeviceArray]]]:
        """Upload piece by piece; yield first row, number of rows, and the kernels' arguments."""
        starts, upload, first = self.row_starts, self.device.upload, 0
        while first < starts.size - 1:
            fits = np.searchsorted(starts, starts[first] + _PIECE_ENTRIES, side="right")
            behind = max(first + 1, int(fits) - 1)
            begin, end = int(starts[first]), int(starts[behind])
            yield first, behind - first, {
                "starts": upload(starts[first : behind + 1] - begin, np.uint32),
                "columns": upload(self.columns[begin:end], np.uint32),
                "values": upload(self.values[begin:end], np.float32),
            }  # fmt: skip
            first = behind


def suited_layout(layout: Layout) -> Layout:
    """Return a layout whose histograms leave out missing values, wherever a feature has some."""
    n_codes = np.diff(layout.feature_offset.astype(np.int64))
    fullest = np.where(n_codes > layout.feature_bins, layout.feature_bins, layout.fullest)
    return Layout(
        layout.feature_bins, layout.feature_offset, layout.thresholds, fullest.astype(np.uint32)
    )


def tiled_bounds(
    device: Device, n_rows: int, n_features: int, n_tiles: int, n_entries: int, n_pages: int = 0
) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of every page of tiled codes.

    ``n_entries``: expected present values, which lie evenly in the rows.
    ``n_pages``: number of pages, at most ``n_rows``; 0 is the fewest that fit.
    """
    # a histogram reads a row's quanta beside its cells
    most = min(device.caps.max_alloc_bytes, bytes_a_launch(device.caps) // 2)
    taken = TileSizes(n_entries * 21 // 20).plan(n_rows, n_tiles)
    needed = max(map(taken.bytes_of, taken.arrays)) / most
    fewest = int(np.ceil(max(needed, n_rows * n_features / _MOST_VALUES)))
    n_pages = min(n_rows, n_pages or max(1, fewest))
    begins = [n_rows * i // n_pages for i in range(n_pages + 1)]
    return [(a, b - a) for a, b in pairwise(begins)]


class TileMaker:
    """Encodes rows into tiles: counts, adds up, then writes.

    ``layout``: the layout of the codes; its missing codes are left out.
    """

    def __init__(self, device: Device, layout: Layout) -> None:
        self.device, self.layout = device, layout
        self.begins = tile_begins(layout.feature_offset, tile_capacity(device.caps))
        self._tables = device.upload(search_tables(layout))
        self._begins = device.upload(self.begins)

    @property
    def n_tiles(self) -> int:
        return self.begins.size - 1

    def encode(self, source: TileSource, bounds: Sequence[tuple[int, int]]) -> list[Page]:
        """Return the tiled codes of all rows, in pages.

        ``bounds``: first row and number of rows of every page.
        """
        device, layout = self.device, self.layout
        features = device.upload(
            tiled_features(layout.feature_offset, layout.feature_bins, self.begins)
        )
        begun = [
            device.empty((self.n_tiles, n_rows + 1), ROW, "row begins") for _, n_rows in bounds
        ]
        for row_begin in begun:
            device.clear(row_begin)
        self._launch("count", source, bounds, [{"row_begin": array} for array in begun])
        cells = [device.empty(self._add_up(array, source), CELL, "cells") for array in begun]
        self._launch(
            "write", source, bounds,
            [{"row_begin": r, "cells": c, "features": features}
             for r, c in zip(begun, cells, strict=True)],
        )  # fmt: skip
        device.finish()
        return [
            Page(TiledCodes(own, row_begin, features, self.begins), first, n_rows)
            for own, row_begin, (first, n_rows) in zip(cells, begun, bounds, strict=True)
        ]

    def _program(self, source: TileSource) -> Program:
        return build_variant_program(self.device, "tiles", "auto", sparse=source.sparse)[1]

    def _launch(
        self,
        kernel: str,
        source: TileSource,
        bounds: Sequence[tuple[int, int]],
        arrays: Sequence[dict[str, DeviceArray]],
    ) -> None:
        """Launch a kernel for all rows of all pieces in all pages."""
        program = self._program(source)
        for start, rows, values in source.pieces():
            for (first, n_rows), own in zip(bounds, arrays, strict=True):
                begin, end = max(start, first), min(start + rows, first + n_rows)
                if begin < end:
                    program.launch(
                        kernel, (self.device.caps.row_groups(end - begin), self.n_tiles),
                        n_rows=end - begin, n_features=self.layout.n_features,
                        skipped=begin - start, first_row=begin - first, row_words=n_rows + 1,
                        begins=self._begins, tables=self._tables, **values, **own,
                    )  # fmt: skip

    def _add_up(self, row_begin: DeviceArray, source: TileSource) -> int:
        """Turn numbers of cells into places of cells; return the number of all."""
        run(Scan(self.device, row_begin.size, np.uint32).bind(row_begin, row_begin))
        total = self.device.empty(1, np.uint32)
        self._program(source).launch(
            "total", 1, last=row_begin.size - 1, row_begin=row_begin, n_cells=total
        )
        return int(total.get()[0])
