"""Build PoCL's kernels as they are written, as most of a run of tests is spent in its compiler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from pyopencl_gbdt.device.opencl.device import OpenCLDevice
from pyopencl_gbdt.device.opencl.source import POCL


@contextmanager
def builds_quickly(*, optimised_for_cpus: bool = False) -> Iterator[None]:
    """Let PoCL optimise no kernel, or only those for one work-item a group; bits are the same."""
    usual = OpenCLDevice._options

    def options(self: OpenCLDevice, wg_size: int) -> list[str]:
        quick = self.caps.platform == POCL and (wg_size > 1 or not optimised_for_cpus)
        return [*usual(self, wg_size), *(["-cl-opt-disable"] if quick else [])]

    with patch.object(OpenCLDevice, "_options", options):
        yield
