"""Asks the system for large pages where a CPU's kernels gather from large arrays.

A row's codes lie anywhere in tens of MB, of which a core knows the addresses of 4 KB pages for a
part only; others are looked up in memory. One page of 2 MB takes the place of 512. The system
decides: where it gives none, nothing changes.

PoCL 3, one thread on an AMD EPYC in a virtual machine, processor ms of a round with small and with
large pages: 500 k x 28, leaf by leaf, 255 leaves 160 and 134, in another run 175 and 126; 1 M x 28,
depth 6 160 and 135, depth 8 233 and 201.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl

#: Bytes of arrays from which on the system is asked: a large page of most processors.
LEAST_BYTES = 1 << 21


@cache
def _system() -> Any:
    """Return the C library if it has ``madvise``, else None."""
    try:
        return ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):  # on Windows there is neither
        return None


def ask(address: int, n_bytes: int) -> bool:
    """Ask for large pages between two addresses; tell whether the system heard."""
    advice, madvise = getattr(mmap, "MADV_HUGEPAGE", None), _system()
    begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (address + n_bytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if advice is None or madvise is None or end <= begin:
        return False
    return int(madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), advice)) == 0


def ask_for(buffer: Any, queue: Any, n_bytes: int) -> Any:
    """Return a new buffer, after asking the system for huge pages if the buffer is large.

    Parameters
    ----------
    buffer : pyopencl.Buffer
        A new one, on a CPU device; the host's memory is the device's.
    queue : pyopencl.CommandQueue
        A queue of the same device. The function does not wait for it.
    """
    if n_bytes < LEAST_BYTES or _system() is None:
        return buffer
    try:
        own = cl.CommandQueue(queue.context, queue.device)
        flags = cl.map_flags.WRITE_INVALIDATE_REGION
        host, _ = cl.enqueue_map_buffer(own, buffer, flags, 0, n_bytes, np.uint8)
        ask(host.ctypes.data, n_bytes)
        host.base.release(own)
        own.finish()
    except cl.Error:  # the driver maps no such buffer; it works with small pages
        pass
    return buffer
