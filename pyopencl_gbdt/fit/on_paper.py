"""The same fit on a device on paper: the constructors of its steps tell there what they take."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.paper import PaperDevice, PaperTeam
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.page import name_of
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.pages.page import AnyPage, Page, SortedColumns
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


def on_paper(ws: Workspace) -> Workspace:
    """Return a workspace like that of a fit, whose steps are still to be built.

    Its pages are those of the fit; if there are none yet, pages as they will be.
    """
    paper = PaperDevice.like(ws.device)
    twin = _on(paper, ws)
    twin.visits, twin.codes_to_come = None, not ws.page_list
    if ws.team.size > 1:  # a member builds on paper by itself
        twin.share = replace(ws.share, team=PaperTeam(ws.team.rank, ws.team.size))
    if not ws.page_list:
        twin.page_list = _pages(twin)
    if ws.drawn is not None:
        twin.drawn = drawn = _on(paper, ws.drawn)
        drawn.arena = twin.arena
        if not drawn.page_list:
            twin.array("codes of drawn rows", drawn.code_bytes_of(drawn.n_rows), np.uint8)
            drawn.page_list = [Page(_codes(drawn, drawn.n_rows), 0, drawn.n_rows)]
    return twin


def _on(device: PaperDevice, ws: Workspace) -> Workspace:
    twin = copy(ws)
    twin.device, twin.arena, twin.row_arrays = device, Arena(device), {}
    return twin


def _pages(ws: Workspace) -> list[AnyPage]:
    """Return pages as they will be, and ask for their arrays; without those of slots."""
    n_features, bounds = ws.layout.n_features, ws.page_rows
    if ws.turns is not None:
        return [Page(_codes(ws, ws.turns.most_rows), 0, ws.turns.most_rows)]
    if ws.tiled is not None:
        begins = ws.tiles
        sizes = ws.tiled.arrays(ws.n_rows, begins.size - 1)
        cells, row_begin = (ws.array(f"tiled {name}", *size) for name, size in sizes.items())
        by_tile = row_begin.reshaped((begins.size - 1, ws.n_rows + 1))
        features = DeviceArray(ws.device, (n_features, 4), np.uint32, None)
        return [Page(TiledCodes(cells, by_tile, features, begins), 0, ws.n_rows)]
    if ws.columns is not None:
        names, n_entries = ("sorted rows", "sorted places"), ws.columns.n_entries
        rows, places = (ws.array(name, n_entries, ROW) for name in names)
        features = DeviceArray(ws.device, (ws.layout.n_codes,), np.uint32, None)
        return [SortedColumns(rows, places, features, ws.n_rows, ws.columns.missing)]
    order, pages = ws.block_order, list[AnyPage]()
    for index, (first, n_rows) in enumerate(bounds):
        codes = ws.array(name_of("codes", index), order.shape(n_rows), order.dtype)
        columns = ws.array(name_of("by_feature", index), (n_features, n_rows), order.dtype)
        pages.append(Page(PackedCodes(codes, columns, order), first, n_rows))
    return pages


def _codes(ws: Workspace, n_rows: int) -> PackedCodes:
    """Return codes of so many rows without columns, whose memory is counted elsewhere."""
    order = ws.block_order
    codes = DeviceArray(ws.device, order.shape(n_rows), order.dtype, None)
    columns = DeviceArray(ws.device, (ws.layout.n_features, 0), order.dtype, None)
    return PackedCodes(codes, columns, order)
