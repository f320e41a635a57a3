"""Cut points from quantile summaries: the values are read once, for data that come slowly.

A piece of the rows becomes a summary of every column, which is pruned. Summaries are merged as the
digits of a binary number are carried, so that few merges lie above each piece:

    pieces     0 1 2 3 4
    merged     |0 1|2 3|4      two of a level become one of the next
               |0 1 2 3|4

Bins are filled as those of exact cut points, from the entries of the last summary. A column with at
most ``ENTRIES_A_BIN * max_bin`` distinct values has the exact cut points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.pages.budget import summary_values
from pyopencl_gbdt.pages.cuts import SHARES, CutRule, Cuts
from pyopencl_gbdt.primitives import quantile_summary
from pyopencl_gbdt.primitives.quantile_summary import QuantileSummary

#: The kernels that write what the host reads of a summary.
SUMMARY_KERNELS = [("quantile_summary", f"summary_{name}") for name in ("merge", "take", "offsets")]
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Entries of a summary for each bin: as many as XGBoost's sketch has, whose error is then an eighth
#: of a bin for each level of merges.
ENTRIES_A_BIN = 8


def summary_cuts(
    device: Device,
    blocks: Iterator[tuple[int, F32]],
    weight: F32 | None,
    shape: tuple[int, int],
    cut: npt.NDArray[np.uint32],
    max_bin: int,
    rule: CutRule = SHARES,
) -> Cuts:
    """Return cut points whose bins are nearly equally full; they depend on the blocks.

    Blocks are cut into pieces of so many values as the device has memory to summarise.

    Parameters
    ----------
    blocks : iterator of (int, float32 array)
        First row and values of every block of rows, in order.
    weight : float32 array, shape (n_rows,), or None
    shape : (int, int)
        Rows and features.
    cut : uint32 array
        Features to cut; others get no bins.
    """
    weights = None if weight is None else whole(weight.astype(np.float64))
    merged = _Merged(device, ENTRIES_A_BIN * max_bin, cut.size)
    missing = np.zeros(shape[1], np.bool_)  # in rows without weight; elsewhere, ranks tell
    if not cut.size:
        return _cuts(merged, missing, cut, max_bin, 0, rule)
    rows = max(1, summary_values(device) // shape[1])
    columns = _Columns(device, cut, min(rows, shape[0]), shape[1])
    for first, block in blocks:
        for start in range(0, len(block), rows):
            piece = block[start : start + rows]
            own = None if weights is None else weights[first + start :][: len(piece)]
            if own is not None and (own == 0).any():
                missing |= np.isnan(piece[own == 0]).any(axis=0)
            merged.add(*columns.of(piece, own), len(piece))
    total = shape[0] if weights is None else int(weights.sum())
    return _cuts(merged, missing, cut, max_bin, total, rule)


def full_summary(arguments: Mapping[str, Any], *, n_entries: int) -> None:
    """Answer to ``SUMMARY_KERNELS`` on paper: every column has so many entries, none is missing."""
    offsets, ranks = arguments.get("out_offsets"), arguments.get("out_ranks")
    if offsets is not None:
        offsets.handle = np.arange(offsets.size, dtype=np.uint32) * np.uint32(n_entries)
    if ranks is not None:
        below = (np.arange(ranks.shape[0]) % n_entries + 1) << 40
        ranks.handle = np.broadcast_to(below[:, None], ranks.shape)


class _Columns:
    """Copies rows to a device, and there to columns, at most ``rows`` at a time."""

    def __init__(
        self,
        device: Device,
        cut: npt.NDArray[np.uint32],
        rows: int,
        n_features: int,
    ) -> None:
        self._device = device
        _, self._program = build_variant_program(
            device, "quantize", "auto", weighted=False, code="u8"
        )
        self._features, self._none = device.upload(cut), device.empty(1, np.float32)
        self._rows = None if device.borrows else device.empty((rows, n_features), np.float32)
        self._ones = device.empty(0, np.int64)

    def of(self, piece: F32, weights: I64 | None) -> tuple[DeviceArray, DeviceArray]:
        """Return values and weights of all columns, one column after the other."""
        device, (n_rows, n_features) = self._device, piece.shape
        n_columns, values = self._features.size, self._rows
        if values is None:
            values = device.borrow(piece)
        else:
            device.write(values, piece, 0)
        columns = device.empty(n_columns * n_rows, np.float32)
        self._program.launch(
            "columns", device.caps.row_groups(n_rows), n_rows=n_rows, n_features=n_features,
            begin_feature=0, first_feature=0, n_columns=n_columns, start=0, all_rows=n_rows,
            features=self._features, values=values, weights=self._none, keys=columns,
        )  # fmt: skip
        if weights is not None:
            return columns, device.upload(np.tile(weights, n_columns))
        if self._ones.size != n_columns * n_rows:
            self._ones = device.upload(np.ones(n_columns * n_rows, np.int64))
        return columns, self._ones


class _Merged:
    """Summaries of columns, merged in a binary tree of the pieces."""

    def __init__(self, device: Device, size: int, n_columns: int) -> None:
        self._device, self._size, self._n_columns = device, size, n_columns
        self._levels: list[QuantileSummary | None] = []

    def add(self, values: DeviceArray, weights: DeviceArray, n_rows: int) -> None:
        """Summarise a piece's columns, which lie one after the other."""
        offsets = np.arange(self._n_columns + 1, dtype=np.int64) * n_rows
        carried = self._pruned(quantile_summary.build(values, weights, offsets))
        for level, there in enumerate(self._levels):
            if there is None:
                self._levels[level] = carried
                return
            carried = self._pruned(quantile_summary.merge(there, carried))
            self._levels[level] = None
        self._levels.append(carried)

    def _pruned(self, summary: QuantileSummary) -> QuantileSummary:
        found = quantile_summary.prune(summary, self._size)
        self._device.finish()  # what it was made of is freed
        return found

    def whole(self) -> tuple[F32, I64, I64]:
        """Return values, ranks and offsets of the summary of all pieces, not pruned."""
        found: QuantileSummary | None = None
        for there in self._levels:
            if there is not None:
                found = there if found is None else quantile_summary.merge(found, there)
        assert found is not None
        values, ranks, offsets = found.get()
        return values, ranks.astype(np.int64), offsets.astype(np.int64)


def _cuts(
    merged: _Merged,
    missing: npt.NDArray[np.bool_],
    cut: npt.NDArray[np.uint32],
    max_bin: int,
    total: int,
    rule: CutRule,
) -> Cuts:
    """Return the cut points of summaries of rows whose weights add up to ``total``."""
    cuts = Cuts.none(missing, max_bin)
    if cut.size:
        values, ranks, offsets = merged.whole()
    for number, feature in enumerate(cut.tolist()):
        own = slice(offsets[number], offsets[number + 1])
        mine, weight = values[own], np.diff(ranks[own, 1], prepend=0)
        some_missing = int(weight.sum()) < total
        missing[feature] |= some_missing
        ends = rule.bin_ends(weight, rule.most_bins(max_bin, some_missing=some_missing))
        if ends.size:
            above = np.append(mine[ends[:-1]], mine[-1])
            taken = np.add.reduceat(weight, np.append(0, ends[:-1]))
            below = rule.lower_sides(mine[ends - 1], above)
            cuts.put(feature, below, above, int(taken.argmax()))
    return cuts
