"""Read the next page of codes in the background, while the fit works on this one."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.disk_pages import DiskPages
from pyopencl_gbdt.pages.page import Layout

U8 = npt.NDArray[np.uint8]


class ReadAhead:
    """Pages on disk that are read before they are asked for: ``StoredPages`` of ``pages.stored``.

    It takes the memory of one page. Pages are expected in turn, the first one after the last.

    Parameters
    ----------
    pages : DiskPages
    """

    def __init__(self, pages: DiskPages) -> None:
        self._pages = pages
        self.layout: Layout = pages.layout
        self.bounds = pages.bounds
        self._pool = ThreadPoolExecutor(1, "pyopencl_gbdt reads pages")
        self._next: tuple[int, Future[U8]] | None = None

    def load(self, index: int, into: U8) -> None:
        """Copy a page's codes by row, then begin to read the page after it.

        Raises
        ------
        DataError
            As ``DiskPages.load``.
        """
        ahead, self._next = self._next, None
        page: U8 | None = None
        if ahead is not None:
            page = ahead[1].result()
        if page is not None and ahead is not None and ahead[0] == index:
            into[...] = page
        else:
            self._pages.load(index, into)
        if len(self.bounds) > 1:
            following = (index + 1) % len(self.bounds)
            size = into.size // self.bounds[index][1] * self.bounds[following][1]
            if page is None or page.size != size:
                page = np.empty(size, np.uint8)
            self._next = following, self._pool.submit(self._read, following, page)

    def _read(self, index: int, page: U8) -> U8:
        self._pages.load(index, page)
        return page

    def close(self) -> None:
        """Wait for the background thread, and remove the files."""
        self._pool.shutdown(cancel_futures=True)
        self._next = None
        self._pages.close()
