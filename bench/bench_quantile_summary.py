"""quantile_summary of 28 columns: build, merge of two halves, prune to 256 parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from bench.common import Case, same
from pyopencl_gbdt.device import Device, Launch
from pyopencl_gbdt.primitives import QuantileSummary, SummaryBuild, SummaryMerge, SummaryPrune

N_COLUMNS, SIZE = 28, 256
#: An entry's value and ranks.
_BYTES = 28
#: Values and ranks of a column.
Column = tuple[np.ndarray, np.ndarray]


class _Data:
    """Values and weights of columns, on the host and on the device, and their summary."""

    def __init__(self, device: Device, n: int, rng: np.random.Generator, variant: str) -> None:
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


def _build(values: np.ndarray, weights: np.ndarray) -> Column:
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


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    whole = _Data(device, n, rng, variant)
    yield _case(n, "build", 12 * n + _BYTES * n, whole.build, whole.out, whole.numpy)

    one, two = (_Data(device, n // 2, rng, variant) for _ in range(2))
    for launch in (*one.build, *two.build):
        launch()
    exact = one.numpy(), two.numpy()
    merged = QuantileSummary.empty(device, N_COLUMNS, 2 * (n // 2))
    merge = SummaryMerge(device, n // 2, n // 2, N_COLUMNS, variant=variant)
    yield _case(
        *(n, "merge of two halves", 2 * _BYTES * n, merge.bind(one.out, two.out, merged), merged),
        lambda: [_merge(a, b) for a, b in zip(*exact, strict=True)],
    )

    given = whole.numpy()
    prune = SummaryPrune(device, n, N_COLUMNS, SIZE + 1, SIZE, variant=variant)
    pruned = QuantileSummary.empty(device, N_COLUMNS, prune.kept)
    yield _case(
        *(n, f"prune to {SIZE}", 2 * _BYTES * prune.kept, prune.bind(whole.out, pruned), pruned),
        lambda: [_prune(column) for column in given],
    )


def _case(
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

    return Case(
        kernel="quantile_summary",
        detail=f"{detail}, {N_COLUMNS} columns",
        n=n,
        n_bytes=n_bytes,
        launches=launches,
        check=check,
        numpy=numpy,
    )
