"""Launches of the scans that look back: one pass, tiles in the order of tickets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.elements import Elements

_VECTOR_BYTES = 16


class Chain:
    """The states of a scan's tiles, see ``templates/chained.cl.mako``.

    Parameters
    ----------
    device : Device
    program : Program
        Built from ``row``.
    row : Variant
        One that looks back has ``items``, vectors of 16 bytes per work-item (of elements of 4
        bytes; fewer of wider ones); with another one nothing is allocated.
    n : int
        Elements.
    elements : Elements
    """

    def __init__(
        self, device: Device, program: Program, row: Variant, n: int, elements: Elements
    ) -> None:
        self.looks_back = row.lookback
        if not row.lookback:
            return
        self._program, self._n = program, n
        per_vector = _VECTOR_BYTES // elements.nbytes
        vectors = max(1, row.params["items"] * per_vector // 4)  # as in the template
        tile = program.wg_size * vectors * per_vector
        self._tiles = ceil_div(n, tile)
        words = elements.nbytes // 4  # each holds 32 bits beside its flag
        self._state = device.empty(1 + self._tiles * words, np.uint64)

    def bind(
        self, name: str, inputs: Sequence[DeviceArray], out: DeviceArray, *, inclusive: bool
    ) -> list[Launch]:
        """Bind the kernels ``<name>_clear`` and ``<name>_tiles`` to arrays that were checked."""
        if self._n == 0:
            return []
        state, bind = self._state, self._program.bind
        groups = ceil_div(state.size, self._program.wg_size)
        arguments = (*inputs, np.uint64(self._n), np.uint32(inclusive), state, out)
        return [
            bind(f"{name}_clear", groups, state, np.uint64(state.size)),
            bind(f"{name}_tiles", self._tiles, *arguments),
        ]
