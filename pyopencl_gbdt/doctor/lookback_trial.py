"""A trial of decoupled look-back on a driver with which the tests were not run.

Look-back needs a fence that orders accesses to global memory for other work-groups, which OpenCL
1.2 does not promise, and work-groups that go on while others wait for them. The trial runs each
primitive with look-back several times on many tiles. If all results are right, ``measured_facts``
lets the device use those variants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Variant
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.measured_facts import LOOKBACK
from pyopencl_gbdt.device.variants.table import TABLE
from pyopencl_gbdt.primitives.radix_sort import radix_sort
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_scan import segmented_scan

Array = npt.NDArray[Any]
#: Elements, hundreds of tiles; and runs, as a race shows now and then.
N_ELEMENTS, N_RUNS = 1 << 19, 8


def _scan(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    got = scan(device.upload(values), inclusive=True, variant=variant).get()
    return [(got, np.cumsum(values, dtype=values.dtype))]


def _segmented_scan(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    heads = (values & 1023) == 0
    flags = device.upload(heads.astype(np.uint8))
    got = segmented_scan(device.upload(values), flags, inclusive=True, variant=variant).get()
    sums = np.cumsum(values, dtype=values.dtype)
    start = np.maximum.accumulate(np.where(heads, np.arange(values.size), 0))
    return [(got, sums - sums[start] + values[start])]


def _radix_sort(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    keys, rows = device.upload(values), device.upload(np.arange(values.size, dtype=np.uint32))
    radix_sort(keys, rows, variant=variant)
    order = np.argsort(values, kind="stable")
    return [(keys.get(), values[order]), (rows.get(), order.astype(np.uint32))]


_RUNS: dict[str, Callable[[Device, Array, Variant], list[tuple[Array, Array]]]] = {
    "scan": _scan,
    "segmented_scan": _segmented_scan,
    "radix_sort": _radix_sort,
}


def variants(caps: Capabilities) -> list[Variant]:
    """Return the variants with look-back that a device would get; none if it has or needs none."""
    if caps.lookback or not LOOKBACK.due(caps):
        return []
    return [
        variant
        for variant in TABLE
        if variant.lookback and variant.kernel in _RUNS and variant.suits(caps)
        and not variant.warp_words
    ]  # fmt: skip


def run(device: Device, variant: Variant) -> str:
    """Run a variant; return how a result differs, empty if none does."""
    values = np.random.default_rng(9).integers(-(2**31), 2**31, N_ELEMENTS).astype(np.int32)
    for attempt in range(N_RUNS):
        for got, want in _RUNS[variant.kernel](device, values, variant):
            wrong = np.count_nonzero(got != want)
            if wrong:
                return f"run {attempt + 1} of {N_RUNS}: {wrong} of {want.size} differ"
    return ""
