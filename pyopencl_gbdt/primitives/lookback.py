"""Launches of the scans with decoupled look-back: one pass over the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.elements import Elements

_VECTOR_BYTES = 16


def vectors_of(variant: Variant, elements: Elements) -> int:
    """Return the number of 16-byte vectors that a work-item holds; 0 without look-back.

    That is the variant's ``items``, or its ``items_of_8`` for elements of 8 bytes. Of pairs it is a
    quarter: their sums take as many registers as the vectors themselves.
    """
    if not variant.lookback:
        return 0
    items = variant.params["items"]
    if elements.nbytes == 8:
        return variant.params["items_of_8"]
    return items if elements.nbytes < 8 else max(1, items // 4)


class Chain:
    """The states of a scan's tiles; ``templates/primitives/chained.cl.mako`` describes them.

    Parameters
    ----------
    device : Device
    program : Program
        Built from ``variant``.
    variant : Variant
        If it does not look back, nothing is allocated.
    n : int
        Elements.
    elements : Elements
    """

    def __init__(
        self, device: Device, program: Program, variant: Variant, n: int, elements: Elements
    ) -> None:
        self.looks_back = variant.lookback
        if not variant.lookback:
            return
        self._program, self._n = program, n
        per_vector = _VECTOR_BYTES // elements.nbytes
        self._tiles = ceil_div(n, program.wg_size * vectors_of(variant, elements) * per_vector)
        words = elements.nbytes // 4  # each holds 32 bits beside its flag
        self._state = device.empty(1 + self._tiles * words, np.uint64)

    def bind(
        self, name: str, inputs: Sequence[DeviceArray], out: DeviceArray, *, inclusive: bool
    ) -> list[Launch]:
        """Bind the kernels ``<name>_clear`` and ``<name>_tiles`` to checked arrays."""
        state, bind = self._state, self._program.bind
        groups = ceil_div(state.size, self._program.wg_size)
        arguments = (*inputs, np.uint64(self._n), np.uint32(inclusive), state, out)
        return [
            bind(f"{name}_clear", groups, state, np.uint64(state.size)),
            bind(f"{name}_tiles", self._tiles, *arguments),
        ]
