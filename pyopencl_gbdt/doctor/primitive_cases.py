"""The primitives in the self-test: each case returns what a device computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Variant
from pyopencl_gbdt.doctor.known_results import Results
from pyopencl_gbdt.doctor.samples import SampleElements
from pyopencl_gbdt.primitives import quantile_summary
from pyopencl_gbdt.primitives.compact import compact
from pyopencl_gbdt.primitives.histogram import histogram
from pyopencl_gbdt.primitives.multi_reduce import multi_reduce
from pyopencl_gbdt.primitives.multi_scan import multi_scan
from pyopencl_gbdt.primitives.radix_sort import radix_sort
from pyopencl_gbdt.primitives.reduce import reduce
from pyopencl_gbdt.primitives.run_length import run_length_encode
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_radix_sort import segmented_radix_sort
from pyopencl_gbdt.primitives.segmented_reduce import segmented_reduce
from pyopencl_gbdt.primitives.segmented_scan import segmented_scan
from pyopencl_gbdt.primitives.stable_partition import stable_partition

N_BUCKETS = 20


def buckets(values: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Return the bucket of each number."""
    return (values.astype(np.int64) % N_BUCKETS).astype(np.uint8)


def wide(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return numbers whose sums need 64 bits."""
    return values.astype(np.int64) << 20


def histogram_inputs(values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[Any], ...]:
    """Return codes of two features, pairs to sum, and the rows to take."""
    codes = np.stack([buckets(values), buckets(values >> 8)], axis=1)
    pairs = np.stack([values, values[::-1]], axis=1)
    return codes, pairs, np.flatnonzero(values & 1).astype(np.uint32)


def summary_inputs(values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[Any], ...]:
    """Return numbers, of which many are equal, and their weights."""
    return (values >> 20).astype(np.float32), values.astype(np.int64) << 10


def _scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    return {"sums": scan(device.upload(x.floats), variant=variant).get()}


def _reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    return {"sum": reduce(device.upload(x.floats), variant=variant).get()}


def _segmented_scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, heads = device.upload(x.floats), device.upload(x.flags)
    return {"sums": segmented_scan(values, heads, inclusive=True, variant=variant).get()}


def _segmented_reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    values = device.upload(x.floats)
    return {"sums": segmented_reduce(values, x.offsets, variant=variant).get()}


def _radix_sort(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys, values = device.upload(x.floats), device.upload(x.integers)
    radix_sort(keys, values, variant=variant)
    return {"keys": keys.get(), "values": values.get()}


def _segmented_radix_sort(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys = device.upload(x.integers)
    moved = device.upload(np.arange(x.integers.size, dtype=np.uint32))
    segmented_radix_sort(keys, x.offsets, moved, variant=variant)
    return {"keys": keys.get(), "values": moved.get()}


def _compact(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, flags = device.upload(x.integers), device.upload(x.flags)
    out, count = compact(values, flags, variant=variant)
    return {"values": out.get()[: int(count.get()[0])]}


def _stable_partition(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, flags = device.upload(x.integers), device.upload(x.flags)
    out, counts = stable_partition(values, flags, x.offsets, variant=variant)
    return {"values": out.get(), "counts": counts.get()}


def _run_length(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys = device.upload((x.integers & 1).astype(np.uint8))
    unique, counts, n_runs = run_length_encode(keys, variant=variant)
    n = int(n_runs.get()[0])
    return {"keys": unique.get()[:n], "lengths": counts.get()[:n]}


def _multi_reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, of = device.upload(wide(x.integers)), device.upload(buckets(x.integers))
    return {"sums": multi_reduce(numbers, of, N_BUCKETS, variant=variant).get()}


def _multi_scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, of = device.upload(wide(x.integers)), device.upload(buckets(x.integers))
    return {"sums": multi_scan(numbers, of, N_BUCKETS, variant=variant).get()}


def _histogram(device: Device, x: SampleElements, variant: Variant) -> Results:
    codes, pairs, rows = map(device.upload, histogram_inputs(x.integers))
    return {"sums": histogram(codes, pairs, N_BUCKETS, rows, variant=variant).get()}


def _quantile_summary(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, weights = map(device.upload, summary_inputs(x.integers))
    built = quantile_summary.build(numbers, weights, x.offsets, variant=variant)
    pruned = quantile_summary.prune(built, N_BUCKETS, variant=variant)
    merged = quantile_summary.merge(pruned, built, variant=variant)
    return dict(zip(("values", "ranks", "offsets"), merged.get(), strict=True))


#: By kernel: a function of the device, the elements and the variant.
RESULTS: dict[str, Callable[[Device, SampleElements, Variant], Results]] = {
    "scan": _scan,
    "reduce": _reduce,
    "segmented_scan": _segmented_scan,
    "segmented_reduce": _segmented_reduce,
    "radix_sort": _radix_sort,
    "segmented_radix_sort": _segmented_radix_sort,
    "compact": _compact,
    "stable_partition": _stable_partition,
    "run_length": _run_length,
    "multi_reduce": _multi_reduce,
    "multi_scan": _multi_scan,
    "histogram": _histogram,
    "quantile_summary": _quantile_summary,
}
