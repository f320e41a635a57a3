"""Many tasks for few rows, so that a simulator sees what work-groups do to each other.

Oclgrind has one compute unit, and what it can simulate in seconds has some hundred rows: most
launches would have one work-group, and a node one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.variants import KERNELS, Variant

#: Compute units at least, and the rows of a task. A kernel keeps 32 rows in a word.
UNITS, CHUNK = 3, 64


def of_several_units(caps: Capabilities) -> Capabilities:
    """Return the capabilities with a few compute units."""
    return replace(caps, compute_units=max(UNITS, caps.compute_units))


@contextmanager
def small_tasks() -> Iterator[None]:
    """Let tasks have few rows; the models are the same."""

    def cut(variant: Variant) -> Variant:
        chunk = {"chunk": CHUNK} if "chunk" in variant.params else {}
        return replace(variant, params={**variant.params, **chunk})

    small = {
        kernel: replace(entry, variants=tuple(map(cut, entry.variants)))
        for kernel, entry in KERNELS.items()
    }
    with patch.dict(KERNELS, small):
        yield
