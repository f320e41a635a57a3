"""Cases of ``python -m bench primitives``: what moves or sorts values, histograms and summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bench.common import Case, same, same_sorted, sample
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.primitives import (
    CodeHistogram,
    Compact,
    QuantileSummary,
    RadixSort,
    RunLength,
    SegmentedRadixSort,
    StablePartition,
    SummaryBuild,
    SummaryMerge,
    SummaryPrune,
    UniqueByKey,
)
from pyopencl_gbdt.primitives.checks import run
from tests.reference import compact as compact_twin
from tests.reference import radix_sort as radix_sort_twin
from tests.reference import run_length as run_length_twin
from tests.reference import segmented_radix_sort as segmented_radix_sort_twin
from tests.reference import stable_partition as stable_partition_twin

Array = np.ndarray
Generator = np.random.Generator
_U32, _F32, _U64 = np.uint32, np.float32, np.uint64
#: Dtypes of keys and values; None: keys alone.
SORTED = (
    (_U32, None), (_U32, _U32), (_U32, _U64), (_F32, None), (_F32, _U32), (_U64, None),
    (_U64, _U32),
)  # fmt: skip
#: Beyond so many keys the twins of sorts take too long.
_TWIN_KEYS = 2**24
#: Columns of histograms and of summaries; the largest number of parts that a summary is pruned to.
N_COLUMNS, SIZE = 28, 256
#: Bins of a feature, share of the rows that are listed (1: all, without a list), packed before.
FORMS = ((32, 1.0, True), (255, 1.0, True), (255, 1.0, False), (255, 0.5, True), (256, 1.0, True))
#: Bytes of an entry of a summary: its value and ranks.
_ENTRY = 28
#: Values and ranks of a column.
Column = tuple[Array, Array]


def compact(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield half of the values, and few of them."""
    values = sample(rng, n, np.uint32)
    for share in (0.5, 0.01):
        flags = (rng.random(n) < share).astype(np.uint8)
        expected = compact_twin.compact(values, flags)
        kept, (out, count) = len(expected), (device.empty(m, np.uint32) for m in (n, 1))
        yield Case(
            *("compact", f"uint32 {share:.0%}", n, values.nbytes + n + expected.nbytes),
            Compact(device, n, np.uint32, variant=variant).bind(
                device.upload(values), device.upload(flags), out, count
            ),
            lambda got=(count, out), kept=kept, expected=expected: (
                same(got[0].get(), np.array([kept], np.uint32)),
                same(got[1].get()[:kept], expected),
            ),
            lambda flags=flags: values[flags.view(np.bool_)],
            cub=("compact", "uint32", 0) if share == 0.5 else None,
        )


def stable_partition(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield rows in one segment, and in many."""
    values, flags = sample(rng, n, np.uint32), (rng.random(n) < 0.5).astype(np.uint8)
    for n_segments in (1, 64):
        inner = np.sort(rng.integers(0, n + 1, n_segments - 1))
        offsets = np.concatenate([[0], inner, [n]]).astype(np.int64)
        results = [device.empty(m, np.uint32) for m in (n, n_segments)]
        prepared = StablePartition(device, n, n_segments, np.uint32, variant=variant)
        by_numpy = partial(stable_partition_twin.stable_partition, values, flags, offsets)
        yield Case(
            *("stable_partition", f"uint32 {n_segments} segments", n, 2 * values.nbytes + n),
            prepared.bind(*map(device.upload, (values, flags, offsets)), *results),
            partial(_same_all, results, by_numpy),
            by_numpy,
        )


def _same_all(arrays: Sequence[DeviceArray], expected: Callable[[], Sequence[Array]]) -> None:
    for array, host in zip(arrays, expected(), strict=False):
        same(array.get(), host)


def run_length(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield short runs and long ones, with their lengths; and first values."""
    for mean in (3, 100):
        keys = np.repeat(sample(rng, n, np.uint32), rng.geometric(1 / mean, n))[:n]
        by_numpy = partial(run_length_twin.run_length_encode, keys)
        prepared = RunLength(device, n, keys.dtype, variant=variant)
        yield _runs(device, [keys], by_numpy, prepared, f"uint32 runs of {mean}")
    values = sample(rng, n, np.uint32)
    unique = UniqueByKey(device, n, keys.dtype, values.dtype, variant=variant)
    by_numpy = partial(run_length_twin.unique_by_key, keys, values)
    yield _runs(device, [keys, values], by_numpy, unique, f"uint32 first values, {mean}")


def _runs(
    device: Device, given: list[Array], by_numpy: Callable[[], Any], prepared: Any, detail: str
) -> Case:
    n, (expected, seconds, *_) = len(given[0]), by_numpy()
    results = [device.empty(m, np.uint32) for m in (n, n, 1)]

    def check() -> None:
        unique, second, n_runs = (array.get() for array in results)
        same(n_runs, np.array([len(expected)], np.uint32))
        same(unique[: len(expected)], expected)
        same(second[: len(expected)], seconds)

    n_bytes = given[0].nbytes + expected.nbytes + seconds.nbytes
    launches = prepared.bind(*map(device.upload, given), *results)
    return Case("run_length", detail, n, n_bytes, launches, check, by_numpy)


class _Sorted:
    """Keys that are sorted in place, and the rows beside them, if any."""

    def __init__(self, device: Device, keys: Array, rows_dtype: Any) -> None:
        self.keys, self.rows = keys, np.arange(len(keys), dtype=rows_dtype or np.uint32)
        self.host = [keys] if rows_dtype is None else [keys, self.rows]
        self.arrays = [device.upload(array) for array in self.host]

    def prepare(self) -> None:
        for array, host in zip(self.arrays, self.host, strict=True):
            array.set(host)

    @property
    def n_bytes(self) -> int:
        return 2 * sum(array.nbytes for array in self.arrays)


def radix_sort(
    device: Device, n: int, rng: Generator, variant: str, kinds: Sequence[Any] = SORTED
) -> Iterator[Case]:
    """Yield keys alone, with row numbers (an argsort), and with values of 8 bytes."""
    for dtype, value_dtype in kinds:
        own = _Sorted(device, sample(rng, n, dtype), value_dtype)
        name = own.keys.dtype.name
        cub = "sort_keys" if value_dtype is None else "sort_pairs"

        def check(own: _Sorted = own) -> None:
            if n > _TWIN_KEYS:
                same_sorted(own.arrays, own.keys, own.rows)
            else:
                _same_all(own.arrays, partial(radix_sort_twin.radix_sort, own.keys, own.rows))

        prepared = RadixSort(device, n, dtype, value_dtype, variant=variant)
        by_numpy = np.sort if value_dtype is None else np.argsort
        yield Case(
            "radix_sort", f"{name}{'' if value_dtype is None else f' + {own.rows.dtype}'}",
            n, own.n_bytes, prepared.bind(*own.arrays), check,
            partial(by_numpy, own.keys, kind="stable"), own.prepare,
            None if value_dtype is np.uint64 else (cub, name, 0),
        )  # fmt: skip


def segmented_radix_sort(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield many short segments, many of 1000 keys, and ten long ones."""
    short = np.minimum(np.cumsum(rng.integers(0, 65, max(1, n // 32))), n)
    equal = np.arange(0, n + 1, min(n, 1000))
    long = np.linspace(0, n, 11).astype(np.int64)
    for offsets, lengths, row_dtype in (
        (np.concatenate([[0], short]), "0..64", None), (equal, "1000", None),
        (equal, "1000", np.uint32), (long, "10 long", None),
    ):  # fmt: skip
        n_keys, n_segments = int(offsets[-1]), len(offsets) - 1
        own = _Sorted(device, sample(rng, n_keys, np.uint32), row_dtype)
        sizes = device, n_keys, n_segments, np.uint32, row_dtype
        launches = SegmentedRadixSort(*sizes, variant=variant).bind(
            own.arrays[0], device.upload(offsets, np.int64), *own.arrays[1:]
        )
        twin = partial(segmented_radix_sort_twin.segmented_radix_sort, own.keys, offsets, own.rows)

        def check(own: _Sorted = own, offsets: Array = offsets, twin: Any = twin) -> None:
            if len(own.keys) > _TWIN_KEYS:
                _in_order(own.arrays[0].get(), own.keys, offsets)
            else:
                _same_all(own.arrays, twin)

        cub = "segmented_sort", "uint32", n_segments
        yield Case(
            "segmented_radix_sort", f"uint32{'' if row_dtype is None else ' + rows'} {lengths}",
            n_keys, own.n_bytes, launches, check,
            lambda own=own, offsets=offsets: [
                np.sort(own.keys[start:end], kind="stable") for start, end in pairwise(offsets)
            ],
            own.prepare, cub if lengths == "1000" and row_dtype is None else None,
        )  # fmt: skip


def _in_order(after: Array, before: Array, offsets: Array) -> None:
    """Raise AssertionError unless every segment ascends and has its keys' sum."""
    falls = np.flatnonzero(after[1:] < after[:-1]) + 1
    starts = offsets[:-1][offsets[:-1] < offsets[1:]]
    if np.setdiff1d(falls, starts).size:
        raise AssertionError("the device's segments are not in order")
    sums = [np.add.reduceat(keys, starts, dtype=np.uint64) for keys in (before, after)]
    same(sums[1], sums[0])


def histogram(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield 28 features of few bins and many, all rows and half of them, packed before or not.

    ``n`` counts codes: rows times features. The least traffic is the codes and pairs of the rows
    that count, once each, and the sums.
    """
    n_rows = max(1, n // N_COLUMNS)
    pairs = rng.integers(-(2**24), 2**24, (n_rows, 2), dtype=np.int32)
    summed = device.upload(pairs)
    for n_bins, share, packed in FORMS:
        codes = rng.integers(0, n_bins, (n_rows, N_COLUMNS), dtype=np.uint8)
        rows = None
        if share < 1:
            rows = np.flatnonzero(rng.random(n_rows) < share).astype(np.uint32)
        counted = n_rows if rows is None else rows.size
        out = device.empty((N_COLUMNS, n_bins, 2), np.int64)
        prepared = CodeHistogram(device, n_rows, N_COLUMNS, np.uint8, n_bins, variant=variant)
        pack = prepared.pack(device.upload(codes))
        sums = prepared.sums(summed, out, None if rows is None else device.upload(rows))
        run(pack)
        of_rows = "" if rows is None else f", {counted / n_rows:.0%} of rows"
        by_numpy = partial(_histogram_by_numpy, codes, pairs, n_bins, rows)
        yield Case(
            "histogram", f"uint8 {N_COLUMNS} x {n_bins}{of_rows}{'' if packed else ', packs'}",
            counted * N_COLUMNS, counted * (N_COLUMNS + 8) + out.nbytes,
            sums if packed else pack + sums,
            lambda out=out, by_numpy=by_numpy: same(out.get(), by_numpy()), by_numpy,
        )  # fmt: skip


def _histogram_by_numpy(codes: Array, pairs: Array, n_bins: int, rows: Array | None) -> Array:
    """Sum by ``bincount``: in float64, which is exact as no sum reaches 2**53."""
    if rows is not None:
        codes, pairs = codes[rows], pairs[rows]
    sums = np.empty((N_COLUMNS, n_bins, 2), np.int64)
    for part in range(2):
        weights = pairs[:, part].astype(np.float64)
        for feature in range(N_COLUMNS):
            sums[feature, :, part] = np.bincount(codes[:, feature], weights, n_bins)
    return sums


class _Columns:
    """Values and weights of columns, on the host and on the device, and their summary."""

    def __init__(self, device: Device, n: int, rng: Generator, variant: str) -> None:
        self.values = rng.standard_normal(n).astype(np.float32)
        self.weights = rng.integers(1, 2**24, n)
        self.offsets = np.linspace(0, n, N_COLUMNS + 1).astype(np.int64)
        self.out = QuantileSummary.empty(device, N_COLUMNS, n)
        longest = int(np.diff(self.offsets).max())
        self.build = SummaryBuild(device, n, N_COLUMNS, longest=longest, variant=variant).bind(
            *(device.upload(a) for a in (self.values, self.weights, self.offsets)), self.out
        )

    def numpy(self) -> list[Column]:
        ends = [slice(start, end) for start, end in pairwise(self.offsets)]
        return [_build(self.values[part], self.weights[part]) for part in ends]


def _build(values: Array, weights: Array) -> Column:
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    last = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))
    up_to = np.cumsum(weights[order])[last]
    below = np.concatenate([[0], up_to[:-1]])
    return ascending[last], np.stack([below, up_to, up_to - below], axis=1)


def _merge(a: Column, b: Column) -> Column:
    values = np.union1d(a[0], b[0])
    ranks = np.zeros((len(values), 3), np.int64)
    for own, (below, up_to, weight) in ((a[0], a[1].T), (b[0], b[1].T)):
        at = np.searchsorted(own, values)
        inside = np.minimum(at, len(own) - 1)
        equal = own[inside] == values
        before = np.where(at > 0, (below + weight)[at - 1], 0)
        after = np.where(at < len(own), (up_to - weight)[inside], up_to[-1])
        ranks[:, 0] += np.where(equal, below[inside], before)
        ranks[:, 1] += np.where(equal, up_to[inside], after)
        ranks[:, 2] += np.where(equal, weight[inside], 0)
    return values, ranks


def _prune(column: Column) -> Column:
    values, ranks = column
    if len(values) <= SIZE + 1:
        return column
    below, up_to, weight = ranks.T
    borders = (below + weight)[:-1] + (up_to - weight)[1:]
    twice_ranks = [2 * k * int(up_to[-1]) // SIZE for k in range(SIZE + 1)]
    kept = np.unique(np.searchsorted(borders, twice_ranks, side="right"))
    return values[kept], ranks[kept]


def quantile_summary(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield 28 columns: build, merge of two halves, prune to 256 parts."""
    whole = _Columns(device, n, rng, variant)
    yield _summary(n, "build", 12 * n + _ENTRY * n, whole.build, whole.out, whole.numpy)

    one, two = (_Columns(device, n // 2, rng, variant) for _ in range(2))
    for launch in (*one.build, *two.build):
        launch()
    exact = one.numpy(), two.numpy()
    merged = QuantileSummary.empty(device, N_COLUMNS, 2 * (n // 2))
    merge = SummaryMerge(device, n // 2, n // 2, N_COLUMNS, variant=variant)
    yield _summary(
        *(
            n,
            "merge of two halves",
            2 * _ENTRY * n,
            merge.bind(one.out, two.out, merged),
            merged,
        ),
        lambda: [_merge(a, b) for a, b in zip(*exact, strict=True)],
    )

    given = whole.numpy()
    prune = SummaryPrune(device, n, N_COLUMNS, SIZE + 1, SIZE, variant=variant)
    pruned = QuantileSummary.empty(device, N_COLUMNS, prune.kept)
    yield _summary(
        *(
            n,
            f"prune to {SIZE}",
            2 * _ENTRY * prune.kept,
            prune.bind(whole.out, pruned),
            pruned,
        ),
        lambda: [_prune(column) for column in given],
    )


def _summary(
    n: int,
    detail: str,
    n_bytes: int,
    launches: list[Launch],
    out: QuantileSummary,
    numpy: Callable[[], list[Column]],
) -> Case:
    def check() -> None:
        columns = numpy()
        values, ranks, offsets = out.get()
        same(values, np.concatenate([values for values, _ in columns]))
        same(ranks, np.concatenate([ranks for _, ranks in columns]))
        sizes = [len(values) for values, _ in columns]
        same(offsets, np.cumsum([0, *sizes]).astype(np.uint32))

    named = "quantile_summary", f"{detail}, {N_COLUMNS} columns"
    return Case(*named, n, n_bytes, launches, check, numpy)
