"""Stable sorts of many segments of different lengths at once.

Two methods: one segment after the other, or classes of segments by their length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import (
    Device,
    DeviceArray,
    Launch,
    Program,
    Variant,
    build_variant_program,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    OFFSET_DTYPES,
    ceil_div,
    check_array,
    check_dtype,
    check_length,
    check_values,
    chunking,
    offsets_on_device,
    own_device,
    run,
)


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


DTYPES = (np.uint32, np.int32, np.float32, np.uint64, np.int64, np.float64)
_MAX_KEYS = 2**32 - 1  # indices in a segment, and counters, are uint32
_MAX_SEGMENTS = 2**31 - 1


class SegmentedRadixSort:
    """A stable sort of ``n_segments`` segments of ``n`` keys in place.

    Prepare it once, then bind it to arrays. The device sorts a segment by a method that depends on
    its length. In a very short segment, a key's index is the number of keys that come before it. A
    segment of up to a tile is loaded once, sorted in local memory and written once. A long segment
    is sorted in chunks, 8 bits a pass. The counters of all long segments are scanned together, so
    ten long segments keep a GPU as busy as a million short ones.

    Parameters
    ----------
    n : int
        Keys, 0..2**32 - 1.
    n_segments : int
        Segments, 0..2**31 - 1.
    key_dtype, value_dtype, descending, variant
        As for ``RadixSort``.
    longest : int, optional
        Most keys of a segment. A small number saves scratch and launches. If a segment is longer,
        the result is undefined. Default: ``n``.
    offset_dtype : dtype, default int64
        uint32 or int64.

    Raises
    ------
    DataError
        If a dtype is not among those above.
    ParameterError
        If ``n``, ``n_segments`` or ``longest`` is out of range.

    Notes
    -----
    Scratch on a GPU: two uint32 for each segment. If a segment may be longer than a tile (1024
    keys), also copies of keys and values, and 1 KiB for every 4096 keys and every long segment. On
    a CPU: copies of keys and values if a segment may be longer than 64 keys.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_segments: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike | None = None,
        *,
        descending: bool = False,
        longest: int | None = None,
        offset_dtype: npt.DTypeLike = np.int64,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_KEYS)
        self.n_segments = check_length("n_segments", n_segments, _MAX_SEGMENTS)
        self.longest = self.n if longest is None else check_length("longest", longest, _MAX_KEYS)
        self.key_dtype = check_dtype("key_dtype", key_dtype, DTYPES)
        self.value_dtype = (
            None if value_dtype is None else check_dtype("value_dtype", value_dtype, DTYPES)
        )
        self.offset_dtype = check_dtype("offset_dtype", offset_dtype, OFFSET_DTYPES)
        chosen, program = build_variant_program(
            device,
            "segmented_radix_sort",
            variant,
            key=f"{self.key_dtype.kind}{8 * self.key_dtype.itemsize}",
            value="" if self.value_dtype is None else f"u{8 * self.value_dtype.itemsize}",
            descending=bool(descending),
            offset=C_NAMES[self.offset_dtype],
        )
        method = Sequential if program.wg_size == 1 else ByLength
        sizes = SegmentSizes(self.n, self.n_segments, self.longest)
        self._method = method(device, chosen, program, sizes, self.key_dtype, self.value_dtype)

    def bind(
        self, keys: DeviceArray, offsets: DeviceArray, values: DeviceArray | None = None
    ) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        keys : DeviceArray of ``key_dtype``, n elements, written
        offsets : DeviceArray of ``offset_dtype``, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``. Must ascend within ``0..n``; the
            result is undefined otherwise.
        values : DeviceArray of ``value_dtype``, n elements, written
            Moved with the keys; required if and only if the sort has a ``value_dtype``.

        Returns
        -------
        list of Launch
            Run them in order, as often as needed; each run sorts the arrays' current contents.

        Raises
        ------
        DataError
            If an array is missing or not expected, or is of another device, dtype or size.
        """
        check_array("keys", keys, self.device, [self.key_dtype], self.n)
        check_array("offsets", offsets, self.device, [self.offset_dtype], self.n_segments + 1)
        check_values("SegmentedRadixSort", values, keys, self.device, self.value_dtype, self.n)
        if self.n < 2 or self.n_segments == 0 or self.longest < 2:
            return []
        return self._method.bind(keys, offsets, values)


def segmented_radix_sort(
    keys: DeviceArray,
    offsets: DeviceArray | npt.ArrayLike,
    values: DeviceArray | None = None,
    *,
    descending: bool = False,
    variant: str | Variant = "auto",
) -> None:
    """Sort the keys of every segment in place by a stable sort, and move values with them.

    Parameters
    ----------
    keys : DeviceArray of uint32, int32, float32, uint64, int64 or float64, written
        For floats, -0.0 equals +0.0 and every NaN comes last, in descending order too.
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        Segment s is ``offsets[s]..offsets[s + 1] - 1``. Host values are checked; those of a device
        array must ascend within ``0..keys.size``. Keys outside all segments stay unchanged.
    values : DeviceArray of any of these dtypes, as many as keys, written, optional

    Raises
    ------
    DataError
        If an array is of another device, dtype or size, or host offsets descend or are outside the
        array.
    ParameterError
        If ``variant`` is unknown.
    """
    device = own_device("keys", keys)
    check_dtype("keys", keys.dtype, DTYPES)
    if values is not None:
        check_array("values", values, device, DTYPES, keys.size)
    longest = None
    ends = offsets_on_device(offsets, device, keys.size)
    if not isinstance(offsets, DeviceArray):
        longest = int(np.diff(np.asarray(offsets)).max(initial=0))
    prepared = SegmentedRadixSort(
        *(device, keys.size, ends.size - 1, keys.dtype),
        None if values is None else values.dtype,
        descending=descending,
        longest=longest,
        offset_dtype=ends.dtype,
        variant=variant,
    )
    run(prepared.bind(keys, ends, values))
