"""The histogram's kernels for tiled codes: sum gradients and Hessians of present values alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Capabilities, Device, Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.variants import choose
from pyopencl_gbdt.primitives.histogram_kernel import add_up, capacity_of, shared_groups
from pyopencl_gbdt.primitives.histogram_local import CELLS
from pyopencl_gbdt.primitives.tiled_codes import MOST_CELLS, TiledCodes

U32 = npt.NDArray[np.uint32]
#: The kernel's name in the variant table.
TILED_HISTOGRAM = "tiled_histogram"
#: Number of rows ahead for which a CPU's kernel prefetches where cells begin.
_AHEAD = 32


def cell_ranges(feature_offset: U32, begins: U32, capacity: int) -> U32:
    """Cut every tile into ranges of at most ``capacity`` cells.

    Parameters
    ----------
    feature_offset : uint32 array, shape (n_features + 1,)
    begins : uint32 array, shape (n_tiles + 1,)
        First feature of every tile, then the number of features.
    capacity : int
        Cells that a work-group's accumulators hold.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        The tile, the first code of the range, its first cell, its last cell + 1.
    """
    ranges = []
    for tile, (first, behind) in enumerate(pairwise(begins)):
        code, n_cells = int(feature_offset[first]), int(feature_offset[behind])
        n_cells -= code
        for cell in range(0, n_cells, capacity):
            ranges.append((tile, code + cell, cell, min(cell + capacity, n_cells)))
    return np.array(ranges, np.uint32)


def range_capacity(variant: Variant, caps: Capabilities) -> int:
    """Return the most cells of a range; a CPU's sums are in global memory and take all of them."""
    return MOST_CELLS if variant.name == "cpu" else capacity_of(variant, caps)


def tile_capacity(caps: Capabilities) -> int:
    """Return the most codes of a tile's features that suit the device's histogram."""
    return capacity_of(choose(TILED_HISTOGRAM, caps), caps)


class TiledHistogramKernel:
    """Computes the histograms of a level of nodes from tiles; missing values are left out.

    Parameters
    ----------
    feature_offset : uint32 array, shape (n_features + 1,)
        First code of every feature, then the number of codes.
    variant : Variant or callable
        As for ``build_variant``.
    wg_size : int, default 0
        Work-items of a work-group; 0 takes the variant's size.
    adds : bool, default False
        Whether histograms are added to those of other pages.

    Attributes
    ----------
    partials : bool
        Whether each work-group writes sums of its own, which another launch adds up.
    """

    def __init__(
        self,
        device: Device,
        page: TiledCodes,
        feature_offset: U32,
        variant: Variant | Callable[[], Variant],
        *,
        wg_size: int = 0,
        adds: bool = False,
    ) -> None:
        self.device, self.page, self.feature_offset = device, page, feature_offset
        self._wg_size, self._adds = wg_size, adds
        self.n_codes = int(feature_offset[-1])
        if isinstance(variant, Variant):
            self.variant, self.program = variant, self._build(variant)
            self.program.kernel = TILED_HISTOGRAM
        else:
            self.variant, self.program = build_variant(
                device, TILED_HISTOGRAM, variant, self._build
            )

    def _build(self, variant: Variant) -> Program:
        device, begins = self.device, self.page.begins
        self.partials = not variant.atomic_sums
        capacity = range_capacity(variant, device.caps)
        ranges = cell_ranges(self.feature_offset, begins, capacity)
        self.n_ranges, most = len(ranges), int((ranges[:, 3] - ranges[:, 2]).max())
        self.ranges = device.upload(ranges)
        chunk = variant.params["chunk"]
        if variant.name == "cpu":
            ahead = _AHEAD if device.caps.prefetches else 0
            return device.build(
                "tiled_histogram_cpu", wg_size=1, chunk=chunk, prefetch=ahead, adds=self._adds
            )
        return device.build(
            "tiled_histogram",
            wg_size=self._wg_size or variant.params["wg_size"],
            most_cells=next((n for n in CELLS if most <= n <= capacity), capacity),
            ranged=self.n_ranges > begins.size - 1,
            chunk=chunk,
            adds=self._adds,
        )

    @property
    def groups(self) -> int:
        """Number of work-groups that share the tasks of a level, for each range of cells."""
        return shared_groups(self.variant, self.device.caps, self.n_ranges)

    def level(self, page: TiledCodes, *, groups: int, depth: int, **arrays: Any) -> list[Launch]:
        """Return the launches that compute histograms of a level's nodes from a page's rows.

        Parameters and arrays are those of ``HistogramKernel.level``.
        """
        build = self.program.bind(
            "histogram",
            (self.n_ranges, groups),
            depth=depth,
            n_codes=self.n_codes,
            ranges=self.ranges,
            **page.cell_arguments(),
            **arrays,
        )
        if not self.partials:
            return [build]
        return [build, add_up(self.device, self.program, self.n_codes, groups, depth, arrays)]
