"""Codes that lie outside the device, in pages that are loaded one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import search_tables
from pyopencl_gbdt.pages.page import Layout, Page
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, PackedCodes, code_dtype, empty_codes

U8 = npt.NDArray[np.uint8]
#: First row and number of rows of every page.
Bounds = Sequence[tuple[int, int]]


class KeptPages(Protocol):
    """Quantised rows outside the device, in pages of consecutive rows.

    Attributes
    ----------
    layout : Layout
        The layout of the codes of all rows.
    bounds : sequence of (int, int)
        First row and number of rows of every page; the pages have all rows, in order.
    """

    layout: Layout
    bounds: Bounds

    def close(self) -> None:
        """Free the pages; they cannot be loaded afterwards."""


@runtime_checkable
class StoredPages(KeptPages, Protocol):
    """Pages whose codes lie by row."""

    def load(self, index: int, into: U8) -> None:
        """Copy a page's codes by row, as ``PackedCodes.codes`` has them.

        ``index``: number of the page, from 0.
        ``into``: written; as many bytes as the page has, see ``page_shape``.

        Raises
        ------
        DataError
            If the page cannot be read whole.
        """


@runtime_checkable
class PagesInMemory(StoredPages, Protocol):
    """Stored pages that lie in the host's memory: a device copies from there."""

    def codes(self, index: int) -> U8:
        """Return a page's bytes, as ``load`` copies them; not to be changed."""


def page_shape(layout: Layout, n_rows: int, *, coalesced: bool) -> tuple[tuple[int, ...], Any]:
    """Return shape and dtype of a page's codes by row, see ``PackedCodes``.

    ``coalesced``: ``Capabilities.coalesces_reads`` of the device.
    """
    order = _order(layout, coalesced=coalesced)
    return order.shape(n_rows), order.dtype


def _order(layout: Layout, *, coalesced: bool) -> BlockOrder:
    dtype = code_dtype(layout.most_codes)
    return BlockOrder.of(layout.n_features, dtype, coalesced=coalesced)


class PageStore(StoredPages, Protocol):
    """Stored pages that are filled one after the other."""

    def add(self, index: int, page: U8) -> None:
        """Keep a page's bytes: those of ``page`` itself, which may be overwritten afterwards."""


class HostPages:
    """Pages in the host's memory.

    ``bounds``: first row and number of rows of every page.
    ``pages``: the bytes of every page's codes.
    """

    def __init__(self, layout: Layout, bounds: Bounds, pages: Sequence[U8]) -> None:
        self.layout = layout
        self.bounds: Bounds = list(bounds)
        self._pages = list(pages)

    def codes(self, index: int) -> U8:
        """Return a page's bytes; not to be changed."""
        if not self._pages:
            raise DataError("these pages were closed; quantise the data again")
        return self._pages[index]

    def load(self, index: int, into: U8) -> None:
        """Copy a page's bytes."""
        into[...] = self.codes(index)

    def close(self) -> None:
        """Free the pages."""
        self._pages = []


class HostColumns:
    """Pages in the host's memory, column by column: `KeptPages`.

    Parameters
    ----------
    layout : Layout
        The layout of codes of one byte.
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    pages : sequence of uint8 array
        The codes of every page, feature after feature.
    """

    def __init__(self, layout: Layout, bounds: Bounds, pages: Sequence[U8]) -> None:
        self.layout = layout
        self.bounds: Bounds = list(bounds)
        self._pages = list(pages)

    def columns(self, index: int, first: int, end: int) -> U8:
        """Return a page's codes of the features ``first`` to ``end - 1``; not to be changed."""
        n_rows = self.bounds[index][1]
        return self._pages[index][first * n_rows : end * n_rows]

    def close(self) -> None:
        """Free the pages."""
        self._pages = []


@dataclass
class PagesOnPaper:
    """Pages that would lie in files: nothing is written, and nothing is loaded."""

    layout: Layout
    bounds: Bounds

    def add(self, index: int, page: U8) -> None:
        """Keep nothing."""

    def load(self, index: int, into: U8) -> None:
        """Copy nothing."""

    def close(self) -> None:
        """Free nothing."""


def encoded_columns(quantizer: Quantizer, layout: Layout, bounds: Bounds) -> HostColumns:
    """Encode values to pages in the host's memory, column by column; see ``encoded_pages``."""
    return HostColumns(layout, bounds, _encode(quantizer, layout, bounds, None, by_column=True))


def encoded_pages(
    quantizer: Quantizer, layout: Layout, bounds: Bounds, store: PageStore | None = None
) -> StoredPages:
    """Encode values to pages outside the device, which holds one page at a time.

    Parameters
    ----------
    quantizer : Quantizer
        The quantizer of all rows.
    layout : Layout
        That follows from the quantizer's cut points.
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    store : PageStore or None
        Takes the pages, and is closed if that fails; None keeps them in the host's memory.

    Raises
    ------
    MemoryPlanError
        If a page does not fit the device.
    """
    try:
        kept = _encode(quantizer, layout, bounds, store)
    except BaseException:
        if store is not None:
            store.close()
        raise
    return HostPages(layout, bounds, kept) if store is None else store


def _encode(
    quantizer: Quantizer, layout: Layout, bounds: Bounds, store: PageStore | None, *,
    by_column: bool = False,
) -> list[U8]:  # fmt: skip
    device = quantizer.device
    dtype, most = code_dtype(layout.most_codes), max(n_rows for _, n_rows in bounds)
    tables = device.upload(search_tables(layout))
    whole = empty_codes(device, most, layout.n_features, dtype)
    buffer = None if store is None else np.empty(whole.codes.nbytes, np.uint8)
    kept: list[U8] = []
    index = 0
    for start, rows, piece in quantizer.pieces_of_values():
        while index < len(bounds):
            first, n_rows = bounds[index]
            codes = first_rows(whole, n_rows)
            quantizer.encode_piece(Page(codes, first, n_rows), start, rows, piece, tables)
            if start + rows < first + n_rows:
                break  # the page has rows of the next piece, too
            if by_column:
                quantizer.transpose(Page(codes, first, n_rows))
                kept.append(_read(device, codes.by_feature))
            elif store is None or buffer is None:
                kept.append(_read(device, codes.codes))
            else:
                device.read_into(codes.codes, buffer[: codes.codes.nbytes])
                store.add(index, buffer[: codes.codes.nbytes])
            index += 1
    return kept


def lent_codes(device: Device, stored: PagesInMemory, index: int) -> PackedCodes:
    """Return a page's codes that a device reads where they lie; see ``Device.borrow``."""
    (_, n_rows), layout = stored.bounds[index], stored.layout
    order = _order(layout, coalesced=device.caps.coalesces_reads)
    lent = device.borrow(stored.codes(index).view(order.dtype).reshape(order.shape(n_rows)))
    return PackedCodes(lent, device.empty((layout.n_features, 0), order.dtype), order)


def first_rows(codes: PackedCodes, n_rows: int) -> PackedCodes:
    """Return the same memory as codes of fewer rows."""
    columns = codes.by_feature.shape
    return PackedCodes(
        codes.codes.reshaped(codes.order.shape(n_rows)),
        codes.by_feature.reshaped((columns[0], min(columns[1], n_rows))),
        codes.order,
    )


def _read(device: Device, codes: DeviceArray) -> U8:
    """Return a page's bytes in memory from which the device copies fast."""
    host = device.pinned(codes.nbytes)
    device.read_into(codes, host)
    return host
