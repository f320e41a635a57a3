"""Pages on disk that a CPU's kernels read where the system keeps their files.

    file     |header, 4 KiB|codes ..|
    memory   |             |codes ..|     the system's own copy, mapped: nothing is read to a slot

The system reads what is not there yet, and may forget it where memory is short.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.disk_pages import BEGIN, Bounds, DiskPages
from pyopencl_gbdt.pages.page import Layout

U8 = npt.NDArray[np.uint8]


def can_map(stored: Any) -> TypeGuard[DiskPages]:
    """Return whether the files of pages can be mapped: Windows would not remove them then."""
    return isinstance(stored, DiskPages) and stored.is_plain and hasattr(mmap.mmap, "madvise")


class MappedPages:
    """Pages of codes in mapped files: ``PagesInMemory`` of ``pages.stored``.

    Parameters
    ----------
    stored : DiskPages
        Whose files hold codes as they are; see ``can_map``.
    sizes : list of int
        Bytes of every page's codes.

    Raises
    ------
    DataError
        If a file is missing, damaged, or that of another fit.
    """

    def __init__(self, stored: DiskPages, sizes: list[int]) -> None:
        self.layout: Layout = stored.layout
        self.bounds: Bounds = stored.bounds
        self._stored = stored
        self._files = [stored.mapped(index, size) for index, size in enumerate(sizes)]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._asks = 2 * stored.stored_bytes > memory  # the system may have forgotten pages
        self._codes = [np.frombuffer(file, np.uint8, offset=BEGIN) for file in self._files]

    def codes(self, index: int) -> U8:
        """Return a page's bytes where the system keeps them; not to be changed."""
        return self._codes[index]

    def load(self, index: int, into: U8) -> None:
        """Read a page's codes by row; see ``DiskPages.load``."""
        self._stored.load(index, into)

    def ready(self, index: int) -> None:
        """Look at a page's file before kernels read it, and ask for the next one.

        Raises
        ------
        DataError
            If it is missing, damaged, or that of another fit.
        """
        if self._stored.check(index, self._codes[index]) or self._asks:
            with contextlib.suppress(OSError):  # advice; it takes 0.15 ms for 8 MB that are there
                self._files[(index + 1) % len(self._files)].madvise(mmap.MADV_WILLNEED)

    def close(self) -> None:
        """Remove all files and folders of the fit."""
        self._stored.close()
