"""Pages of a fit on paper, as they will be on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.fit.page import name_of
from pyopencl_gbdt.pages.page import AnyPage, Page, SortedColumns
from pyopencl_gbdt.primitives.block_order import BlockOrder
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


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
        sizes = features.tiled.arrays(n_rows, tiles.size - 1)
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
