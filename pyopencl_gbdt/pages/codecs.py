"""How a page of codes is written to disk: as it is, packed to bits, or compressed.

Codes of one feature are alike, so pages are compressed feature by feature. Real codes, bytes on
disk as a share of the page's, and MB/s of one core to decompress:

    rows x features, bins      bits    zstd 1         zstd 3         LZ4
    HIGGS 7000 x 28, 256       0.78    0.79  7700     0.79  8500     0.82
    HIGGS 7000 x 28, 64        0.59    0.60  1500     0.60  1500     0.82
    HIGGS 7000 x 28, 1024      0.48    0.57  1500     0.57  1500     0.80
    rank 3005 x 301, 256       0.43    0.26  1900     0.25  1600     0.37
    categorical 7000 x 8, 64   0.32    0.35  1500     0.34  1400     0.50
    digits 1797 x 64, 16       0.45    0.33  2500     0.35  1900     0.64

So Zstandard at level 1 is never much larger than bits, and half as large for data with many equal
values; LZ4 hardly compresses codes. Row by row, zstd 1 takes 0.88 for HIGGS with 256 bins.

Pages of 500 000 x 28, whose columns are drawn from HIGGS, MB of the page that one core of an EPYC
makes of the stored bytes in a second, the order of rows included: with 256 bins plain 16 000, bits
1250, zstd 1 1700; with 64 bins 340 and 960; with 1024 bins 1450 and 350. That machine's disk reads
770 MB/s, so at 0.77 of the bytes a page takes 0.78 of the time, if another thread decompresses.

A feature of 10 bits, in 16-bit codes, packed to bits. A plane holds one bit of each code, eight
codes a byte; whole bytes are copied, as they are the fastest to unpack:

    codes     c0 c1 c2 .. c(n-1)
    packed    |low bytes: n|plane of bit 8: n / 8|plane of bit 9: n / 8|
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, code_dtype

U8 = npt.NDArray[np.uint8]
#: A page is packed or compressed if that leaves at most this share of its bytes, ...
MOST_LEFT = 0.9
#: ... or this share on a CPU, which unpacks with the cores that train. PoCL, 2 cores, 2 M x 28
#: with zstd at 0.80: MB/s of the page, checksum included, 780, and 2400 plain.
MOST_LEFT_ON_CPU = 0.5
#: Codes of 16 bits are compressed rather than packed if that leaves at most this share.
WORTH_WAITING = 0.75
#: Rows that are moved to the order of rows at a time, so that they stay in a core's cache.
_ROWS = 4096
_LEVEL = 1


class PageOrder:
    """Where the codes of a feature lie in a page's bytes.

    ``coalesced``: ``Capabilities.coalesces_reads`` of the device.
    """

    def __init__(self, layout: Layout, *, coalesced: bool) -> None:
        self.dtype, self.n_features = code_dtype(layout.most_codes), layout.n_features
        self._order = BlockOrder.of(self.n_features, self.dtype, coalesced=coalesced)
        self.row_bytes = self._order.row_bytes

    def columns(self, page: U8) -> npt.NDArray[Any]:
        """Return the codes by feature, shape (n_features, n_rows), C order."""
        n_rows = page.size // self.row_bytes
        found = np.empty((self.n_features, n_rows), self.dtype)
        for first in range(0, n_rows, _ROWS):
            rows = slice(first, first + _ROWS)
            for features, block in self._blocks(page):
                own = found[features, rows]
                own[...] = block[rows, : len(own)].T
        return found

    def write(self, columns: npt.NDArray[Any], page: U8) -> None:
        """Write codes by feature to a page's bytes; the padding becomes 0."""
        for first in range(0, page.size // self.row_bytes, _ROWS):
            rows = slice(first, first + _ROWS)
            for features, block in self._blocks(page):
                own = columns[features, rows]
                block[rows, : len(own)] = own.T
                block[rows, len(own) :] = 0

    def _blocks(self, page: U8) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield the features of every block, and its codes, shape (n_rows, codes of a block)."""
        each = self._order.block_features
        for number, block in enumerate(self._order.blocks(page.view(self.dtype))):
            yield slice(number * each, (number + 1) * each), block


def page_sizes(layout: Layout, bounds: Sequence[tuple[int, int]], *, coalesced: bool) -> list[int]:
    """Return the bytes of the codes of pages, of which ``bounds`` has first rows and sizes."""
    row_bytes = PageOrder(layout, coalesced=coalesced).row_bytes
    return [n_rows * row_bytes for _, n_rows in bounds]


def bits_of(n_codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the bits that codes ``0 .. n_codes - 1`` need, int64; 0 for a single code."""
    most = np.maximum(np.asarray(n_codes, np.int64), 1) - 1
    return np.frexp(most.astype(np.float64))[1].astype(np.int64)


def packed_bytes(bits: npt.NDArray[np.int64], n_rows: int) -> int:
    """Return the bytes of packed codes of features with these bits."""
    whole, planes = bits // 8, bits % 8
    return int((whole * n_rows + planes * -(-n_rows // 8)).sum())


def pack(columns: npt.NDArray[Any], bits: npt.NDArray[np.int64]) -> U8:
    """Pack codes, feature after feature.

    Parameters
    ----------
    columns : uint8 or uint16 array, shape (n_features, n_rows)
    bits : int64 array, shape (n_features,)
        As ``bits_of`` returns them.

    Returns
    -------
    uint8 array, shape (packed_bytes(bits, n_rows),)
    """
    out = np.empty(packed_bytes(bits, columns.shape[1]), np.uint8)
    end = 0
    for column, n_bits in zip(columns, bits.tolist(), strict=True):
        for first, is_byte in _pieces(n_bits):
            part = (column >> first).astype(np.uint8)
            piece = part if is_byte else np.packbits(part & 1)
            out[end : end + piece.size] = piece
            end += piece.size
    return out


def unpack(packed: U8, bits: npt.NDArray[np.int64], into: npt.NDArray[Any]) -> None:
    """Unpack codes that ``pack`` packed.

    Parameters
    ----------
    bits : int64 array, shape (n_features,)
    into : uint8 or uint16 array, shape (n_features, n_rows), written
    """
    n_rows, end = into.shape[1], 0
    for own, n_bits in zip(into, bits.tolist(), strict=True):
        own[...] = 0
        for first, is_byte in _pieces(n_bits):
            size = n_rows if is_byte else -(-n_rows // 8)
            piece = packed[end : end + size]
            end += size
            part = piece if is_byte else np.unpackbits(piece, count=n_rows)
            np.bitwise_or(own, part.astype(into.dtype, copy=False) << first, out=own)


def _pieces(n_bits: int) -> Iterator[tuple[int, bool]]:
    """Yield the first bit of each piece of a code, and whether the piece is a whole byte."""
    for first in range(0, n_bits - 7, 8):
        yield first, True
    for first in range(n_bits // 8 * 8, n_bits):
        yield first, False


class Codec(ABC):
    """A way to write a page; ``name`` stands in the file."""

    name: bytes

    @abstractmethod
    def encode(self, page: U8) -> U8:
        """Return the bytes to write."""

    @abstractmethod
    def decode(self, stored: U8, into: U8) -> None:
        """Write a page's bytes; raises ``ValueError`` if the stored bytes are too few."""


class Plain(Codec):
    """A page as it is."""

    name = b"plain"

    def encode(self, page: U8) -> U8:
        return page

    def decode(self, stored: U8, into: U8) -> None:
        into[...] = stored


class Bits(Codec):
    """Codes by feature, packed to bits."""

    name = b"bits"

    def __init__(self, layout: Layout, order: PageOrder) -> None:
        self._order = order
        self._bits = bits_of(np.diff(layout.feature_offset.astype(np.int64)))

    def share(self, n_rows: int) -> float:
        """Return the packed bytes as a share of the page's."""
        return packed_bytes(self._bits, n_rows) / (n_rows * self._order.row_bytes)

    def encode(self, page: U8) -> U8:
        return pack(self._order.columns(page), self._bits)

    def decode(self, stored: U8, into: U8) -> None:
        order = self._order
        columns = np.empty((order.n_features, into.size // order.row_bytes), order.dtype)
        if stored.size != packed_bytes(self._bits, columns.shape[1]):
            raise ValueError("another number of bytes")
        unpack(stored, self._bits, columns)
        order.write(columns, into)


class Zstandard(Codec):
    """Codes by feature, compressed; 16-bit codes as their low bytes, then their high bytes."""

    name = b"zstd"

    def __init__(self, order: PageOrder, library: Any) -> None:
        self._order, self._library = order, library

    def encode(self, page: U8) -> U8:
        columns = self._order.columns(page)
        bytes_of = columns.view(np.uint8).reshape(-1, self._order.dtype.itemsize)
        planes = np.ascontiguousarray(bytes_of.T)
        made = self._library.ZstdCompressor(level=_LEVEL).compress(planes.data.cast("B"))
        return np.frombuffer(made, np.uint8)

    def decode(self, stored: U8, into: U8) -> None:
        order = self._order
        n_rows, size = into.size // order.row_bytes, order.dtype.itemsize
        n_bytes = order.n_features * n_rows * size
        try:
            plain = self._library.ZstdDecompressor().decompress(stored.data, n_bytes)
        except self._library.ZstdError as error:
            raise ValueError(str(error)) from error
        planes = np.frombuffer(plain, np.uint8)
        if planes.size != n_bytes:
            raise ValueError("another number of bytes")
        if size > 1:
            planes = np.ascontiguousarray(planes.reshape(size, -1).T).reshape(-1)
        order.write(planes.view(order.dtype).reshape(order.n_features, n_rows), into)


def choose(layout: Layout, order: PageOrder, page: U8, *, on_host_cores: bool) -> tuple[Codec, U8]:
    """Return the codec for pages like this one, and the bytes that it makes of this one.

    It is Zstandard if the package ``zstandard`` is installed, else bits, where either leaves at
    most ``MOST_LEFT`` of the bytes, or ``MOST_LEFT_ON_CPU`` for pages of a CPU. Bits are unpacked
    faster where codes have 16 bits.
    """
    most = MOST_LEFT_ON_CPU if on_host_cores else MOST_LEFT
    bits = Bits(layout, order)
    packed = bits.share(page.size // order.row_bytes)
    try:
        import zstandard
    except ImportError:
        codec: Codec = bits if packed <= most else Plain()
        return codec, codec.encode(page)
    codec = Zstandard(order, zstandard)
    made = codec.encode(page)
    if order.dtype.itemsize > 1 and made.size > WORTH_WAITING * packed * page.size:
        codec, made = bits, bits.encode(page)
    return (codec, made) if made.size <= most * page.size else (Plain(), page)
