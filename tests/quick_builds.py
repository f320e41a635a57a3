"""Build PoCL's kernels as they are written, as much of a run of tests is spent in its compiler."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from pyopencl_gbdt.device.opencl.device import OpenCLDevice
from pyopencl_gbdt.device.opencl.pocl import POCL


@contextmanager
def builds_quickly(*, optimised_for_cpus: bool = False) -> Iterator[None]:
    """Let PoCL optimise no kernel, or only those for one work-item a group; bits are the same."""
    usual = OpenCLDevice._options

    def options(self: OpenCLDevice, wg_size: int) -> list[str]:
        quick = self.caps.platform == POCL and (wg_size > 1 or not optimised_for_cpus)
        return [*usual(self, wg_size), *(["-cl-opt-disable"] if quick else [])]

    with patch.object(OpenCLDevice, "_options", options):
        yield


@contextmanager
def links_quickly(folder: Path) -> Iterator[None]:
    """Let PoCL link its kernels by GNU gold, if that is installed.

    PoCL starts the linker for each kernel, and Clang looks for it in ``COMPILER_PATH`` first. The
    usual linker takes 20 ms of a processor for a kernel, gold half of that.

    Parameters
    ----------
    folder : Path
        An empty one; gets a link to gold.
    """
    gold = shutil.which("ld.gold")
    if gold is None or "COMPILER_PATH" in os.environ:
        yield
        return
    (folder / "ld").symlink_to(gold)
    with patch.dict(os.environ, COMPILER_PATH=str(folder)):
        yield
