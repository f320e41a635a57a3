"""The same fit on a device on paper: the constructors of its steps tell there what they take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.paper import PaperDevice, PaperTeam
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.page import name_of
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.pages.page import AnyPage, Page, SortedColumns
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


def on_paper(parts: FitParts) -> FitParts:
    """Return the parts of a fit on paper, whose steps are still to be built.

    Its pages are those of the fit; if there are none yet, pages as they will be.
    """
    real, paper = parts.rows, PaperDevice.like(parts.arena.device)
    arena, ways = Arena(paper, parts.arena.beside), replace(parts.ways, device=paper)
    team = real.team
    if team.size > 1:  # a member builds on paper by itself
        team = PaperTeam(team.rank, team.size)
    share = replace(real.share, team=team)
    rows = replace(real, arena=arena, ways=ways, row_arrays={}, share=share)
    if not rows.page_list:
        rows.page_list = _pages(rows)
    if isinstance(rows, RowsInTurn):
        rows.visits, rows.codes_to_come = None, not real.page_list
        if rows.drawn is not None:
            rows.drawn = drawn = replace(rows.drawn, arena=arena, ways=ways, row_arrays={})
            if not drawn.page_list:
                codes = rows.code_bytes_of(drawn.n_rows)
                arena.array("codes of drawn rows", codes, np.uint8)
                drawn.page_list = [Page(_codes(drawn, drawn.n_rows), 0, drawn.n_rows)]
    return FitParts(arena, rows, parts.nodes, parts.features, ways)


def _pages(rows: FitRows) -> list[AnyPage]:
    """Return pages as they will be, and ask for their arrays; without those of slots."""
    arena, features, n_rows = rows.arena, rows.features, rows.n_rows
    device, n_features = arena.device, features.layout.n_features
    if isinstance(rows, RowsInTurn):
        most = rows.turns.most_rows
        return [Page(_codes(rows, most), 0, most)]
    if features.tiled is not None:
        begins = rows.tiles
        sizes = features.tiled.arrays(n_rows, begins.size - 1)
        cells, row_begin = (arena.array(f"tiled {name}", *size) for name, size in sizes.items())
        by_tile = row_begin.reshaped((begins.size - 1, n_rows + 1))
        table = DeviceArray(device, (n_features, 4), np.uint32, None)
        return [Page(TiledCodes(cells, by_tile, table, begins), 0, n_rows)]
    if features.columns is not None:
        names, n_entries = ("sorted rows", "sorted places"), features.columns.n_entries
        ids, places = (arena.array(name, n_entries, ROW) for name in names)
        table = DeviceArray(device, (features.layout.n_codes,), np.uint32, None)
        return [SortedColumns(ids, places, table, n_rows, features.columns.missing)]
    order, pages = rows.block_order, list[AnyPage]()
    for index, (first, own) in enumerate(rows.page_rows):
        codes = arena.array(name_of("codes", index), order.shape(own), order.dtype)
        columns = arena.array(name_of("by_feature", index), (n_features, own), order.dtype)
        pages.append(Page(PackedCodes(codes, columns, order), first, own))
    return pages


def _codes(rows: FitRows, n_rows: int) -> PackedCodes:
    """Return codes of so many rows without columns, whose memory is counted elsewhere."""
    order, device = rows.block_order, rows.arena.device
    codes = DeviceArray(device, order.shape(n_rows), order.dtype, None)
    columns = DeviceArray(device, (rows.features.layout.n_features, 0), order.dtype, None)
    return PackedCodes(codes, columns, order)
