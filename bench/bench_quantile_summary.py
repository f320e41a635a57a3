"""quantile_summary: 28 columns; build, merge two halves, prune to 256, and cuts of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same
from pyopencl_gbdt.device import Device, Launch
from pyopencl_gbdt.primitives.quantile_summary import (
    QuantileSummary,
    SummaryBuild,
    SummaryMerge,
    SummaryPrune,
)
from pyopencl_gbdt.reference import quantile_summary as twin

N_COLUMNS, SIZE = 28, 256
#: The twin takes seconds beyond so many elements; then laws are checked instead.
_TWIN_ELEMENTS = 2**17


class _Data:
    """Values and weights of columns, on the host and on the device."""

    def __init__(self, device: Device, n: int, rng: np.random.Generator) -> None:
        self.values = rng.standard_normal(n).astype(np.float32)
        self.weights = rng.integers(1, 2**24, n)
        self.offsets = np.linspace(0, n, N_COLUMNS + 1).astype(np.int64)
        self.given = [device.upload(a) for a in (self.values, self.weights, self.offsets)]
        self.out = QuantileSummary.empty(device, N_COLUMNS, n)

    def build(self, device: Device, variant: str) -> list[Launch]:
        n, longest = len(self.values), int(np.diff(self.offsets).max())
        prepared = SummaryBuild(device, n, N_COLUMNS, longest=longest, variant=variant)
        return prepared.bind(*self.given, self.out)

    def exact(self) -> twin.Arrays:
        return twin.build(self.values, self.weights, self.offsets)


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    whole, halves = _Data(device, n, rng), [_Data(device, n // 2, rng) for _ in range(2)]
    yield _case(
        n, f"build, {N_COLUMNS} columns", 36 * n, whole.build(device, variant),
        lambda: _check(whole.out, n, whole.exact), lambda: _numpy_build(whole),
    )  # fmt: skip
    for half in halves:
        for launch in half.build(device, variant):
            launch()
    merged = QuantileSummary.empty(device, N_COLUMNS, 2 * (n // 2))
    merge = SummaryMerge(device, n // 2, n // 2, N_COLUMNS, variant=variant)
    yield _case(
        n, "merge two halves", 56 * n, merge.bind(halves[0].out, halves[1].out, merged),
        lambda: _check(merged, n, lambda: twin.merge(*(half.exact() for half in halves))),
        lambda: _numpy_merge(halves),
    )  # fmt: skip
    pruned = QuantileSummary.empty(device, N_COLUMNS, min(n, N_COLUMNS * (SIZE + 1)))
    prune = SummaryPrune(device, n, N_COLUMNS, SIZE + 1, SIZE, variant=variant)
    yield _case(
        n, f"prune to {SIZE}", 2 * pruned.values.nbytes + 2 * pruned.ranks.nbytes,
        prune.bind(whole.out, pruned),
        lambda: _check(pruned, n, lambda: twin.prune(whole.exact(), SIZE)),
        lambda: _numpy_prune(whole),
    )  # fmt: skip


def _case(n, detail, n_bytes, launches, check, numpy) -> Case:  # type: ignore[no-untyped-def]
    return Case(
        kernel="quantile_summary", detail=detail, n=n, n_bytes=n_bytes, launches=launches,
        check=check, numpy=numpy,
    )  # fmt: skip
