"""A page of a fit: the codes of some rows, and the arrays that no other page shares.

Pages of a fit take turns in the kernels that read codes. They share histograms, splits and trees.
Each has the rows of every node that lie in the page: its own nodes, levels and tasks.

Arrays of rows, such as margins, are those of all pages together where all pages stay on the device.
Where pages take turns there, each page has its own, in its slot (``fit.page_stream``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import AnyCodes, AnyPage, Page, SortedColumns
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


def name_of(name: str, index: int) -> str:
    """Return the name under which the fit keeps a page's array; the first has it as it is."""
    return name if index == 0 else f"{name} of page {index}"


def in_slot(name: str, slot: int) -> str:
    """Return the name under which the fit keeps a slot's array of rows."""
    return f"{name} in slot {slot}"


class PerRow(NamedTuple):
    """The shape of an array of rows: ``(*before, each * n_rows, *after)``."""

    before: tuple[int, ...] = ()
    each: int = 1
    after: tuple[int, ...] = ()

    def of(self, n_rows: int) -> tuple[int, ...]:
        """Return the shape for so many rows."""
        return (*self.before, self.each * n_rows, *self.after)


@dataclass(frozen=True)
class RowPart:
    """Rows whose arrays lie on the device as one: those of all pages, or of a page in its slot.

    Attributes
    ----------
    first_row, n_rows : int
        The part has the rows ``first_row .. first_row + n_rows - 1`` of the fit.
    groups : int
        Work-groups that share these rows evenly, in passes over every row.
    arrays : mapping of str to DeviceArray
        All arrays of the fit.
    slot : int
        Where the page lies; -1 where all pages stay on the device.
    by_row : collection of str
        The arrays of rows.
    """

    first_row: int
    n_rows: int
    groups: int
    arrays: Mapping[str, DeviceArray]
    slot: int = -1
    by_row: Collection[str] = ()

    def __getitem__(self, name: str) -> DeviceArray:
        if self.slot >= 0 and name in self.by_row:
            return self.arrays[in_slot(name, self.slot)]
        return self.arrays[name]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays, shared ones or those of rows, that a kernel calls as the fit does."""
        return {name: self[name] for name in names}


@dataclass(frozen=True)
class FitPage:
    """A page and its arrays.

    Attributes
    ----------
    index : int
        Number of the page, from 0.
    page : Page or SortedColumns
    part : RowPart
        The rows that the page's arrays of rows have.
    """

    index: int
    page: AnyPage
    part: RowPart

    @property
    def codes(self) -> AnyCodes:
        assert isinstance(self.page, Page)
        return self.page.codes

    @property
    def columns(self) -> SortedColumns:
        assert isinstance(self.page, SortedColumns)
        return self.page

    @property
    def n_rows(self) -> int:
        return self.page.n_rows

    @property
    def first_row(self) -> int:
        """The page's first row, as an index of its part's rows."""
        return self.page.first_row - self.part.first_row

    @property
    def rows(self) -> dict[str, int]:
        """Return the kernels' arguments that say which rows lie in the page."""
        return {"first_row": self.first_row, "page_rows": self.n_rows}

    def __getitem__(self, name: str) -> DeviceArray:
        return self.part.arrays[name_of(name, self.index)]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays of this page that a kernel calls as the fit does."""
        return {name: self[name] for name in names}


def resident_pages(
    arena: Arena,
    features: FitFeatures,
    order: BlockOrder,
    bounds: Sequence[tuple[int, int]],
    tiles: npt.NDArray[np.uint32] | None,
) -> list[AnyPage]:
    """Return pages that stay on the device, and ask for their arrays.

    Parameters
    ----------
    arena : Arena
    features : FitFeatures
    order : BlockOrder
        Where the codes of a row lie, if they are dense.
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    tiles : uint32 array or None
        First feature of every tile of tiled codes, then the number of features.
    """
    device, n_features = arena.device, features.layout.n_features
    n_rows = sum(bounds[-1])
    if features.tiled is not None and tiles is not None:
        sizes = features.tiled.plan(n_rows, tiles.size - 1).arrays
        cells, row_begin = (arena.array(f"tiled {name}", *size) for name, size in sizes.items())
        by_tile = row_begin.reshaped((tiles.size - 1, n_rows + 1))
        table = DeviceArray(device, (n_features, 4), np.uint32, None)
        return [Page(TiledCodes(cells, by_tile, table, tiles), 0, n_rows)]
    if features.columns is not None:
        names, n_entries = ("sorted rows", "sorted places"), features.columns.n_entries
        ids, places = (arena.array(name, n_entries, ROW) for name in names)
        table = DeviceArray(device, (features.layout.n_codes,), np.uint32, None)
        return [SortedColumns(ids, places, table, n_rows, features.columns.missing)]
    pages = list[AnyPage]()
    for index, (first, own) in enumerate(bounds):
        codes = arena.array(name_of("codes", index), order.shape(own), order.dtype)
        columns = arena.array(name_of("by_feature", index), (n_features, own), order.dtype)
        pages.append(Page(PackedCodes(codes, columns, order), first, own))
    return pages


def codes_alone(
    device: Device, features: FitFeatures, order: BlockOrder, n_rows: int
) -> PackedCodes:
    """Return codes of so many rows without columns, whose memory is counted elsewhere."""
    codes = DeviceArray(device, order.shape(n_rows), order.dtype, None)
    columns = DeviceArray(device, (features.layout.n_features, 0), order.dtype, None)
    return PackedCodes(codes, columns, order)
