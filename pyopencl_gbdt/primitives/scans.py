"""The common part of ``Scan`` and ``SegmentedScan``: one pass over tiles, or levels of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import (
    Device,
    DeviceArray,
    Launch,
    Program,
    Variant,
    build_variant_program,
)
from pyopencl_gbdt.primitives.checks import (
    TILE,
    Elements,
    ceil_div,
    check_elements,
    check_length,
    variant_for,
)

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

    ``program``: built from ``variant``.
    ``variant``: if it does not look back, nothing is allocated.
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


MAX_ELEMENTS = TILE * (2**31 - 1)  # work-groups are numbered by int32


class TiledScan:
    """A scan of ``n`` elements; parameters, order of sums and errors are those of ``Scan``."""

    _kernel: ClassVar[str]
    _prefix: ClassVar[str]
    """First part of its kernels' names."""
    _above: ClassVar[int]
    """The kernel's mode for scanning the levels of totals."""

    def __init__(
        self,
        device: Device,
        n: int,
        dtype: npt.DTypeLike,
        *,
        inclusive: bool = False,
        op: str = "sum",
        pairs: bool = False,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.elements = check_elements(dtype, op, pairs=pairs)
        self.inclusive = bool(inclusive)
        chosen, self._program = build_variant_program(
            device,
            self._kernel,
            variant_for(device, self._kernel, variant, self.elements),
            derived=lambda chosen: {"take": vectors_of(chosen, self.elements)},
            type=self.elements.type,
            op=self.elements.op,
        )
        self._chain = Chain(device, self._program, chosen, self.n, self.elements)
        self._sizes = [self.n]
        while self._sizes[-1] > TILE and not chosen.lookback:
            self._sizes.append(ceil_div(self._sizes[-1], TILE))
        self._totals = [self._empty(size) for size in self._sizes[1:]]

    def _empty(self, n: int) -> tuple[DeviceArray, ...]:
        """Allocate a level of ``n`` totals."""
        return (self.elements.empty(self.device, n),)

    def _bind(self, inputs: tuple[DeviceArray, ...], out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; ``inputs`` are the values, then the head flags, if any."""
        self.elements.check("values", inputs[0], self.device, self.n)
        self.elements.check("out", out, self.device, self.n)
        if self.n == 0:
            return []
        if self._chain.looks_back:
            return self._chain.bind(self._prefix, inputs, out, inclusive=self.inclusive)
        levels = [inputs, *self._totals]
        upward, downward = [], []
        for level, (arrays, size) in enumerate(zip(levels, self._sizes, strict=True)):
            n, tiles, top = np.uint64(size), ceil_div(size, TILE), level == len(levels) - 1
            above = arrays if top else levels[level + 1]
            if not top:
                totals = (*arrays, n, *above)
                upward.append(self._program.bind(f"{self._prefix}_totals", tiles, *totals))
            mode = np.uint32(self._above if level else self.inclusive)
            target = arrays[0] if level else out
            arguments = (*arrays, n, mode, above[0], np.uint32(not top), target)
            downward.append(self._program.bind(f"{self._prefix}_tiles", tiles, *arguments))
        return upward + downward[::-1]
