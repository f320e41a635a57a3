"""Two methods to sort segments: one after the other, or by classes of their length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.primitives.checks import ceil_div, chunking


@dataclass(frozen=True)
class SegmentSizes:
    """Numbers of keys and segments, and the most keys of a segment."""

    n: int
    n_segments: int
    longest: int


class SortMethod:
    """Launches and scratch memory of one method."""

    def __init__(
        self,
        device: Device,
        variant: Variant,
        program: Program,
        sizes: SegmentSizes,
        key_dtype: np.dtype[Any],
        value_dtype: np.dtype[Any] | None,
    ) -> None:
        self.device, self.variant, self.program = device, variant, program
        self.n, self.n_segments, self.longest = sizes.n, sizes.n_segments, sizes.longest
        self.bits = 8 * key_dtype.itemsize
        self.most_groups = max(1, variant.params["groups_per_unit"] * device.caps.compute_units)
        room = self.n if self.needs_scratch() else 0
        self.keys = device.empty(room, key_dtype)
        self.values = None if value_dtype is None else device.empty(room, value_dtype)
        self.allocate()

    def needs_scratch(self) -> bool:
        """Tell whether a segment may be so long that its passes need a copy of keys and values."""
        return self.longest > self.variant.params["tiny"]

    def allocate(self) -> None:
        """Allocate the scratch memory other than copies of keys and values."""

    def bind(
        self, keys: DeviceArray, offsets: DeviceArray, values: DeviceArray | None
    ) -> list[Launch]:
        """Return the launches; arguments are those of ``SegmentedRadixSort.bind``, checked."""
        raise NotImplementedError


class Sequential(SortMethod):
    """Each work-item sorts some segments, one after the other."""

    def bind(
        self, keys: DeviceArray, offsets: DeviceArray, values: DeviceArray | None
    ) -> list[Launch]:
        share = ceil_div(self.n_segments, self.most_groups)
        moved = () if values is None else (values, self.values)
        sizes = (np.uint32(self.n_segments), np.uint32(share))
        groups = ceil_div(self.n_segments, share)
        return [
            self.program.bind("sort_segments", groups, keys, offsets, *sizes, self.keys, *moved)
        ]


class ByLength(SortMethod):
    """Tiny, small and large segments are sorted by different kernels."""

    def needs_scratch(self) -> bool:
        params = self.variant.params
        self.tile = self.program.wg_size * params["items"]
        self.above_small = max(self.tile, params["tiny"])
        return self.longest > self.above_small

    def allocate(self) -> None:
        empty, params = self.device.empty, self.variant.params
        self.share, self.list_groups = chunking(
            self.variant, self.program.wg_size, self.n_segments, self.device
        )
        self.n_small, self.n_chunks = empty(1, np.uint32), empty(1, np.uint32)
        self.small_counts = empty(self.list_groups, np.uint32)
        self.chunk_counts = empty(self.list_groups, np.uint32)
        self.small = empty(self._most(params["tiny"] + 1), np.uint32)
        self.chunk_begin = empty(self.n_segments + 1, np.uint32)
        large = self._most(self.above_small + 1) if self.needs_scratch() else 0
        self.most_chunks = large and large + self.n // (self.tile * params["large_tiles"])
        self.counts = empty(256 * self.most_chunks, np.uint32)
        self.sums = empty(self.most_groups if large else 0, np.uint32)
        self.total = empty(1, np.uint32)

    def _most(self, length: int) -> int:
        """Return the largest possible number of segments with at least ``length`` keys."""
        return min(self.n_segments, self.n // length)

    def bind(
        self, keys: DeviceArray, offsets: DeviceArray, values: DeviceArray | None
    ) -> list[Launch]:
        bind, params = self.program.bind, self.variant.params
        n_segments, beside = np.uint32(self.n_segments), () if values is None else (values,)
        tiny_groups = ceil_div(self.n_segments, max(1, 1024 // params["tiny"]))
        launches = [bind("sort_tiny", tiny_groups, keys, offsets, n_segments, *beside)]
        if self.longest <= params["tiny"]:
            return launches
        sizes, counts = (n_segments, np.uint32(self.share)), (self.small_counts, self.chunk_counts)
        groups = self.list_groups
        launches += [
            bind("segment_counts", groups, offsets, *sizes, *counts),
            bind("segment_offsets", 1, counts[0], np.uint32(groups), self.n_small),
            bind("segment_offsets", 1, counts[1], np.uint32(groups), self.n_chunks),
            bind("segment_lists", groups, offsets, *sizes, *counts, self.small, self.chunk_begin),
            bind(
                "sort_small",
                min(self.small.size, self.most_groups),
                *(keys, offsets, self.small, self.n_small, *beside),
            ),
        ]
        ends: list[tuple[Any, Any]] = [(keys, values), (self.keys, self.values)]
        for bit in range(0, self.bits if self.most_chunks else 0, 8):
            launches += self._large_pass(bit, offsets, *ends)
            ends.reverse()
        return launches

    def _large_pass(
        self, bit: int, offsets: DeviceArray, source: tuple[Any, Any], target: tuple[Any, Any]
    ) -> list[Launch]:
        bind, chunk_begin, n_segments = self.program.bind, self.chunk_begin, self.n_segments
        groups = min(self.most_chunks, self.most_groups)
        of_digit = {
            "keys": source[0], "offsets": offsets, "chunk_begin": chunk_begin,
            "n_segments": n_segments, "bit": bit, "counts": self.counts,
        }  # fmt: skip
        scanned = (chunk_begin, n_segments, self.counts)
        beside = {} if source[1] is None else {"values": source[1], "out_values": target[1]}
        return [
            bind("large_counts", groups, **of_digit),
            bind("counter_sums", self.sums.size, *scanned, self.sums),
            bind("segment_offsets", 1, self.sums, self.sums.size, self.total),
            bind("counter_scan", self.sums.size, *scanned, self.sums),
            bind("large_scatter", groups, out_keys=target[0], **of_digit, **beside),
        ]
