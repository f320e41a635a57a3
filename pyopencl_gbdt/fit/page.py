"""A page of a fit: the codes of some rows, and the arrays that no other page shares.

Pages of a fit take turns in the kernels that read codes. They share gradients, histograms, splits
and trees. Each has the rows of every node that lie in the page: its own nodes, levels and tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.pages.page import AnyPage, Page, SortedColumns
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


def name_of(name: str, index: int) -> str:
    """Return the name under which the workspace keeps a page's array; the first has it as it is."""
    return name if index == 0 else f"{name} of page {index}"


@dataclass(frozen=True)
class FitPage:
    """A page and its arrays.

    Attributes
    ----------
    index : int
        Number of the page, from 0.
    page : Page or SortedColumns
    arrays : mapping of str to DeviceArray
        All arrays of the fit.
    """

    index: int
    page: AnyPage
    arrays: Mapping[str, DeviceArray]

    @property
    def codes(self) -> PackedCodes | TiledCodes:
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
        """The page's first row, as an index of the fit's rows."""
        return self.page.first_row

    @property
    def rows(self) -> dict[str, int]:
        """Return the kernels' arguments that say which rows lie in the page."""
        return {"first_row": self.first_row, "page_rows": self.n_rows}

    def __getitem__(self, name: str) -> DeviceArray:
        return self.arrays[name_of(name, self.index)]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays of this page that a kernel calls as the workspace does."""
        return {name: self[name] for name in names}
