"""Histograms whose accumulators lie in local memory: their ranges of codes, and their builds."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Program, Variant

#: Numbers of local accumulators that kernels are built for; few sizes need few programs.
CELLS = (1024, 2048, 3072, 4352)
#: Most copies of a code's accumulator in local memory.
_MOST_COPIES = 8


class CodeLayout(Protocol):
    """Where each feature's codes lie in a histogram; ``pages.page.Layout`` is one."""

    @property
    def feature_offset(self) -> npt.NDArray[np.uint32]:
        """First code of every feature, then the number of codes; shape (n_features + 1,)."""

    @property
    def fullest(self) -> npt.NDArray[np.uint32]:
        """The code of every feature that histograms may leave out; shape (n_features,)."""


def code_ranges(
    layout: CodeLayout, capacity: int, places: npt.NDArray[np.int64], block: int, *, ranged: bool
) -> npt.NDArray[np.uint32]:
    """Cut the codes of all features into ranges of at most ``capacity``, each in one block.

    Parameters
    ----------
    capacity : int
        Codes that one work-group's accumulators hold.
    places : int64 array, shape (n_features,)
        Index of each feature's code in a row of packed codes.
    block : int
        Codes in a block; no range has features of two blocks.
    ranged : bool
        Whether a range may begin inside a feature; otherwise every feature must fit.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        First place, last place + 1, first code, last code + 1.
    """
    offset = layout.feature_offset.astype(np.int64)
    in_block = places // block
    block_end = offset[np.searchsorted(in_block, in_block, side="right")]
    ranges, begin = [], 0
    while begin < offset[-1]:
        first = int(np.searchsorted(offset, begin, side="right")) - 1
        end = min(begin + capacity, int(block_end[first]))
        if not ranged:
            end = int(offset[np.searchsorted(offset, end, side="right") - 1])
        if end <= begin:
            raise ValueError(f"a feature has more than {capacity} codes")
        last = int(np.searchsorted(offset, end, side="left")) - 1
        ranges.append((places[first], places[last] + 1, begin, end))
        begin = end
    return np.array(ranges, np.uint32)


def build_local(
    device: Device,
    variant: Variant,
    capacity: int,
    most: int,
    *,
    ranged: bool,
    split_blocks: bool,
    **options: Any,
) -> Program:
    """Build with accumulators in local memory, in several copies if there is room.

    Parameters
    ----------
    capacity : int
        Codes that one work-group's accumulators hold.
    most : int
        Most codes of a range.
    split_blocks : bool
        Whether a block has several ranges.
    **options
        Parameters that the templates of histograms share.
    """
    copies = 1
    while copies < _MOST_COPIES and 2 * copies * most <= capacity:
        copies *= 2
    cells = next((n for n in CELLS if copies * most <= n <= capacity), capacity)
    unroll = device.caps.unrolls_atomics
    return device.build(
        "histogram", ranged=ranged, cells=cells, copies=copies, chunk=variant.params["chunk"],
        split_blocks=split_blocks, unroll=unroll, in_registers=unroll, **options,
    )  # fmt: skip


def build_private(
    device: Device, variant: Variant, capacity: int, most: int, *, wg_size: int, block: int,
    **options: Any,
) -> Program:  # fmt: skip
    """Build with as many copies of the accumulators as work-items and local memory allow.

    Parameters are as for ``build_local``; ``wg_size`` and ``block`` are among its options.
    """
    codes = next((n for n in (256, 512, 1024) if most <= n <= capacity), capacity)
    copies = max(1, min(wg_size // (2 * block), capacity // codes))
    own = {"wg_size": wg_size, "block": block, "chunk": variant.params["chunk"]}
    return device.build("histogram_private", codes=codes, copies=copies, **own, **options)
