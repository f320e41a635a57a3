"""Primitives in the self-test: each case returns the device's results and the twin's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Variant
from pyopencl_gbdt.primitives import quantile_summary
from pyopencl_gbdt.primitives.histogram import histogram
from pyopencl_gbdt.primitives.multi_reduce import multi_reduce
from pyopencl_gbdt.primitives.multi_scan import multi_scan
from pyopencl_gbdt.primitives.run_length import run_length_encode
from pyopencl_gbdt.primitives.segmented_radix_sort import segmented_radix_sort
from pyopencl_gbdt.reference import histogram as histogram_twin
from pyopencl_gbdt.reference import multi_reduce as multi_reduce_twin
from pyopencl_gbdt.reference import multi_scan as multi_scan_twin
from pyopencl_gbdt.reference import quantile_summary as quantile_summary_twin
from pyopencl_gbdt.reference import run_length as run_length_twin
from pyopencl_gbdt.reference import segmented_radix_sort as segmented_radix_sort_twin

Array = npt.NDArray[Any]
#: (name, result of the device, result of the twin).
Results = list[tuple[str, Array, Array]]
_BUCKETS = 20


def _segmented_radix_sort(
    device: Device, values: Array, offsets: Array, variant: Variant
) -> Results:
    keys, rows = device.upload(values), np.arange(values.size, dtype=np.uint32)
    moved = device.upload(rows)
    segmented_radix_sort(keys, offsets, moved, variant=variant)
    want_keys, want_rows = segmented_radix_sort_twin.segmented_radix_sort(values, offsets, rows)
    assert want_rows is not None
    return [("keys", keys.get(), want_keys), ("values", moved.get(), want_rows)]


def _run_length(device: Device, values: Array, offsets: Array, variant: Variant) -> Results:
    keys = (values & 1).astype(np.uint8)
    unique, counts, n_runs = run_length_encode(device.upload(keys), variant=variant)
    want, lengths = run_length_twin.run_length_encode(keys)
    return [
        ("runs", n_runs.get(), np.array([want.size], np.uint32)),
        ("keys", unique.get()[: want.size], want),
        ("lengths", counts.get()[: want.size], lengths),
    ]


def _buckets(values: Array) -> npt.NDArray[np.uint8]:
    return (values.astype(np.int64) % _BUCKETS).astype(np.uint8)


def _multi_reduce(device: Device, values: Array, offsets: Array, variant: Variant) -> Results:
    buckets, numbers = _buckets(values), values.astype(np.int64) << 20
    got = multi_reduce(device.upload(numbers), device.upload(buckets), _BUCKETS, variant=variant)
    return [("sums", got.get(), multi_reduce_twin.multi_reduce(numbers, buckets, _BUCKETS))]


def _multi_scan(device: Device, values: Array, offsets: Array, variant: Variant) -> Results:
    buckets, numbers = _buckets(values), values.astype(np.int64) << 20
    got = multi_scan(device.upload(numbers), device.upload(buckets), _BUCKETS, variant=variant)
    return [("sums", got.get(), multi_scan_twin.multi_scan(numbers, buckets, _BUCKETS))]


def _histogram(device: Device, values: Array, offsets: Array, variant: Variant) -> Results:
    codes = np.stack([_buckets(values), _buckets(values >> 8)], axis=1)
    pairs = np.stack([values, values[::-1]], axis=1)
    rows = np.flatnonzero(values & 1).astype(np.uint32)
    arrays = [device.upload(array) for array in (codes, pairs, rows)]
    got = histogram(arrays[0], arrays[1], _BUCKETS, arrays[2], variant=variant)
    want = histogram_twin.feature_histogram(codes, pairs, _BUCKETS, rows)
    return [("sums", got.get(), want)]


def _quantile_summary(device: Device, values: Array, offsets: Array, variant: Variant) -> Results:
    numbers, weights = (values >> 20).astype(np.float32), values.astype(np.int64) << 10
    whole = quantile_summary_twin.build(numbers, weights, offsets)
    want = quantile_summary_twin.prune(whole, _BUCKETS)
    built = quantile_summary.build(
        device.upload(numbers), device.upload(weights), offsets, variant=variant
    )
    pruned = quantile_summary.prune(built, _BUCKETS, variant=variant)
    merged = quantile_summary.merge(pruned, built, variant=variant)
    want = quantile_summary_twin.merge(want, whole)
    return list(zip(("values", "ranks", "offsets"), merged.get(), want, strict=True))


#: By kernel: a function of device, int32 values, segment offsets and variant.
RESULTS: dict[str, Callable[[Device, Array, Array, Variant], Results]] = {
    "histogram": _histogram,
    "segmented_radix_sort": _segmented_radix_sort,
    "run_length": _run_length,
    "multi_reduce": _multi_reduce,
    "multi_scan": _multi_scan,
    "quantile_summary": _quantile_summary,
}
