"""What ``Compact``, ``RunLength`` and ``StablePartition`` share: count by chunks, then move."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.primitives.checks import chunking


class Chunks:
    """``n`` elements in chunks, one for each work-group, and a counter for each chunk.

    Parameters
    ----------
    device : Device
    n : int
        0..2**32 - 1.
    built : (Variant, Program)
        As ``build_row`` returns them.
    """

    def __init__(self, device: Device, n: int, built: tuple[Variant, Program]) -> None:
        chosen, self.program = built
        chunk, self.groups = chunking(chosen, self.program.wg_size, n, device)
        self._sizes = n, chunk
        self._counts = device.empty(self.groups, np.uint32)

    def count(self, name: str, marks: DeviceArray, total: DeviceArray) -> list[Launch]:
        """Bind ``<name>_counts`` and ``<name>_offsets``: counters become what lies before them."""
        bind, counts = self.program.bind, self._counts
        return [
            bind(f"{name}_counts", self.groups, marks, *self._sizes, counts),
            bind(f"{name}_offsets", 1, counts, self.groups, total),
        ]

    def move(self, name: str, before: str, **more: Any) -> Launch:
        """Bind a kernel that takes the sizes, what lies before chunks, and more.

        Parameters
        ----------
        name : str
        before : str
            What the kernel calls the numbers of elements before each chunk.
        **more
            Its other arguments.
        """
        n, chunk = self._sizes
        return self.program.bind(
            name, self.groups, n=n, chunk=chunk, **{before: self._counts}, **more
        )
