"""The common part of the operations on quantile summaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import check_length, chunking
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.primitives.summary_arrays import MAX_COLUMNS


class SummaryStep:
    """The common part of build, merge and prune: launch by chunks, and scan flags to places."""

    def __init__(
        self,
        device: Device,
        n_columns: int,
        n_flags: int,
        part: str,
        variant: str | Variant,
        offset: str = "u32",
    ) -> None:
        self.device = device
        self.n_columns = check_length("n_columns", n_columns, MAX_COLUMNS)
        built = build_variant_program(device, "quantile_summary", variant, part=part, offset=offset)
        self._variant, self._program = built
        self._places = device.empty(n_flags + 1, np.uint32)
        self._scan = Scan(device, n_flags + 1, np.uint32)

    def _bind(self, kernel: str, n_elements: int, /, **arguments: Any) -> Launch:
        """Bind a kernel whose work-groups have a chunk of ``n_elements``."""
        chunk, groups = chunking(self._variant, self._program.wg_size, n_elements, self.device)
        return self._program.bind(kernel, groups, chunk=chunk, **arguments)
