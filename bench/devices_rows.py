"""Rows for benches of large fits: values that are quantised, or codes that are ready.

Both are drawn by many threads, block by block, so that they do not depend on the number of threads
or of devices. Codes take a byte a value where values take four, and need no quantising: what lets
a billion rows be made and taken to the devices in seconds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from bench.external_rows import Rows, block_order, n_features_of
from bench.host import n_cpus
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.fit.page_schedule import evenly
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.stored import HostPages

F32 = npt.NDArray[np.float32]
#: Rows that are drawn from one seed: the numbers do not depend on the number of threads.
BLOCK = 1 << 20
_BINS = 256
#: Bytes of a page of codes.
_PAGE_BYTES = 1 << 29


def made_rows(
    n_rows: int, n_features: int, seed: int, first: int = 0, n_classes: int = 2
) -> tuple[F32, F32]:
    """Return uniform values, and labels that depend on four columns; in many threads.

    Parameters
    ----------
    n_rows, n_features, seed : int
    first : int
        The first row, a multiple of a block's; rows are the same in any part.
    n_classes : int, default 2
        Labels are 0 to ``n_classes - 1``.
    """
    values, label = np.empty((n_rows, n_features), np.float32), np.empty(n_rows, np.float32)

    def fill(begin: int) -> None:
        rows = slice(begin, begin + BLOCK)
        own = values[rows]
        rng = np.random.Generator(np.random.SFC64([seed, (first + begin) // BLOCK]))
        rng.random(dtype=np.float32, out=own)
        signal = own[:, 0] + own[:, 1 % n_features] * own[:, 2 % n_features]
        noise = rng.random(len(own), dtype=np.float32)
        score = signal - own[:, 3 % n_features] + noise
        if n_classes == 2:
            label[rows] = score > 0.75
        else:
            label[rows] = np.clip(np.floor((score + 1) * (n_classes / 4)), 0, n_classes - 1)

    with ThreadPoolExecutor(n_cpus()) as pool:
        for _ in pool.map(fill, range(0, n_rows, BLOCK)):
            pass
    return values, label


def coded_rows(
    device: Device, n_rows: int, n_features: int, seed: int, n_pages: int = 0
) -> tuple[Rows, HostPages]:
    """Return random bytes as codes, in page-locked pages, and labels that follow four columns.

    Parameters
    ----------
    device : Device
        One of those that train; all have the same order of codes.
    n_rows, n_features, seed : int
    n_pages : int
        0: as many as 512 MiB take, a multiple of 8: up to 8 devices have whole ones.
    """
    bins = np.full(n_features, _BINS, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32) * _BINS
    thresholds = np.tile(np.arange(1, _BINS + 1, dtype=np.float32), n_features)
    layout = Layout(bins, offset, thresholds, np.zeros(n_features, np.uint32))
    order = block_order(device, n_features)
    eighths = max(1, -(-n_rows * order.row_bytes // (8 * _PAGE_BYTES)))
    bounds = evenly(n_rows, n_pages or 8 * eighths)
    label = np.empty(n_rows, np.float32)

    def draw(host: npt.NDArray[np.uint8], index: int) -> None:
        first, size = bounds[index]
        rng = np.random.Generator(np.random.SFC64([seed, index]))
        words = host[: host.size // 8 * 8].view(np.uint64)
        words[:] = rng.bit_generator.random_raw(words.size)
        host[words.nbytes :] = 0
        blocks = order.blocks(host)
        for number, block in enumerate(blocks):
            block[:, n_features_of(order, number) :] = 0  # padding
        signal = (
            blocks[0][:, : min(4, n_features)].astype(np.float32)
            @ np.array([1.0, 0.5, 0.5, -1.0], np.float32)[:n_features]
        )
        label[first : first + size] = signal + _BINS * rng.random(size, np.float32) > 0.75 * _BINS

    with ThreadPoolExecutor(n_cpus()) as pool:
        made = list(pool.map(lambda one: device.pinned(one[1] * order.row_bytes), bounds))
        list(pool.map(draw, made, range(len(bounds))))
    return Rows(label, n_features), HostPages(layout, bounds, made)


def part_of(rows: Rows, pages: HostPages, rank: int, size: int) -> tuple[Rows, HostPages]:
    """Return a member's rows and its pages, which are whole ones."""
    first, end = (len(pages.bounds) * k // size for k in (rank, rank + 1))
    own = pages.bounds[first:end]
    begin, stop = own[0][0], sum(own[-1])
    bounds = [(a - begin, n) for a, n in own]
    made = [pages.codes(index) for index in range(first, end)]
    return Rows(rows.label[begin:stop], rows.n_features), HostPages(pages.layout, bounds, made)
