"""The common part of ``Compact``, ``RunLength``, ``StablePartition``: count chunks, then move."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.primitives.checks import chunking


class Chunks:
    """``n`` elements in chunks, one chunk for each work-group, and a counter for each chunk.

    Parameters
    ----------
    device : Device
    n : int
        0..2**32 - 1.
    built : (Variant, Program)
        As ``build_variant_program`` returns them.
    """

    def __init__(self, device: Device, n: int, built: tuple[Variant, Program]) -> None:
        chosen, self.program = built
        chunk, self.groups = chunking(chosen, self.program.wg_size, n, device)
        self._sizes = n, chunk
        self._counts = device.empty(self.groups, np.uint32)

    def count(self, name: str, marks: DeviceArray, total: DeviceArray) -> list[Launch]:
        """Bind ``<name>_counts``, which counts, and ``<name>_offsets``, which scans the counters.

        Each chunk's counter then has the count of all earlier chunks, and ``total`` has the sum.
        """
        bind, counts = self.program.bind, self._counts
        return [
            bind(f"{name}_counts", self.groups, marks, *self._sizes, counts),
            bind(f"{name}_offsets", 1, counts, self.groups, total),
        ]

    def move(self, name: str, before: str, **more: Any) -> Launch:
        """Bind a kernel that moves elements to places given by the scanned counters.

        Parameters
        ----------
        name : str
            The kernel's name.
        before : str
            The kernel's name for the counters.
        **more
            The kernel's other arguments.
        """
        n, chunk = self._sizes
        return self.program.bind(
            name, self.groups, n=n, chunk=chunk, **{before: self._counts}, **more
        )
