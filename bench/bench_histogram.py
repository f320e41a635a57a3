"""histogram: 28 features of few bins and many, all rows and half of them, packed before or not.

``n`` counts codes: rows times features. The least traffic is the codes and pairs of the rows that
count, once each, and the sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.common import Case, same
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.histogram import CodeHistogram

N_FEATURES = 28
#: Bins of a feature, share of the rows that are listed (1: all, without a list), packed before.
FORMS = ((32, 1.0, True), (255, 1.0, True), (255, 1.0, False), (255, 0.5, True), (256, 1.0, True))

Codes = npt.NDArray[np.uint8]
Pairs = npt.NDArray[np.int32]


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    n_rows = max(1, n // N_FEATURES)
    pairs = rng.integers(-(2**24), 2**24, (n_rows, 2), dtype=np.int32)
    summed = device.upload(pairs)
    for n_bins, share, packed in FORMS:
        codes = rng.integers(0, n_bins, (n_rows, N_FEATURES), dtype=np.uint8)
        rows = None
        if share < 1:
            rows = np.flatnonzero(rng.random(n_rows) < share).astype(np.uint32)
        yield _case(device, (codes, pairs), summed, n_bins, rows, packed, variant)


def _case(
    device: Device,
    host: tuple[Codes, Pairs],
    pairs: DeviceArray,
    n_bins: int,
    rows: npt.NDArray[np.uint32] | None,
    packed: bool,
    variant: str,
) -> Case:
    n_rows = len(host[0])
    counted = n_rows if rows is None else rows.size
    codes = device.upload(host[0])
    out = device.empty((N_FEATURES, n_bins, 2), np.int64)
    prepared = CodeHistogram(device, n_rows, N_FEATURES, np.uint8, n_bins, variant=variant)
    pack = prepared.pack(codes)
    sums = prepared.sums(pairs, out, None if rows is None else device.upload(rows))
    run(pack)

    def numpy() -> npt.NDArray[np.int64]:
        return _with_numpy(*host, n_bins, rows)

    share = "" if rows is None else f", {counted / n_rows:.0%} of rows"
    return Case(
        kernel="histogram",
        detail=f"uint8 {N_FEATURES} x {n_bins}{share}{'' if packed else ', packs'}",
        n=counted * N_FEATURES,
        n_bytes=counted * (N_FEATURES + pairs.nbytes // n_rows) + out.nbytes,
        launches=sums if packed else pack + sums,
        check=lambda: same(out.get(), numpy()),
        numpy=numpy,
    )


def _with_numpy(
    codes: Codes, pairs: Pairs, n_bins: int, rows: npt.NDArray[np.uint32] | None
) -> npt.NDArray[np.int64]:
    """Sum by ``bincount``: in float64, which is exact as no sum reaches 2**53."""
    if rows is not None:
        codes, pairs = codes[rows], pairs[rows]
    sums = np.empty((N_FEATURES, n_bins, 2), np.int64)
    for part in range(2):
        weights = pairs[:, part].astype(np.float64)
        for feature in range(N_FEATURES):
            sums[feature, :, part] = np.bincount(codes[:, feature], weights, n_bins)
    return sums
