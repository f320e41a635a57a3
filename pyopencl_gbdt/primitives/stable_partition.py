"""Flagged values first, then the others; both in order, within every segment."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    FLAG_DTYPES,
    MOVED_DTYPES,
    OFFSET_DTYPES,
    check_apart,
    check_array,
    check_dtype,
    check_length,
    offsets_on_device,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.chunks import Chunks

_MAX_VALUES = 2**32 - 1  # ranks are uint32
_MAX_SEGMENTS = 2**31 - 1


class StablePartition:
    """A partition of ``n`` values in ``n_segments`` segments, prepared once and bound to arrays.

    Parameters
    ----------
    device : Device
    n : int
        Values, 0..2**32 - 1.
    n_segments : int
        Segments, 0..2**31 - 1; 0 if and only if n may be 0.
    dtype : dtype
        uint32, int32, float32 or int64.
    offset_dtype : dtype, default int64
        uint32 or int64.
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If dtype, n or n_segments is none of the above.

    Notes
    -----
    Scratch: one uint32 for each segment (set flags before it) and one for each work-group. Flags
    are read three times, values once: less than ranks of all values would take.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_segments: int,
        dtype: npt.DTypeLike,
        *,
        offset_dtype: npt.DTypeLike = np.int64,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_VALUES)
        self.n_segments = check_length("n_segments", n_segments, _MAX_SEGMENTS)
        self.dtype = check_dtype("dtype", dtype, MOVED_DTYPES)
        self.offset_dtype = check_dtype("offset_dtype", offset_dtype, OFFSET_DTYPES)
        built = build_variant_program(
            device,
            "stable_partition",
            variant,
            type=f"u{8 * self.dtype.itemsize}",
            offset=C_NAMES[self.offset_dtype],
        )
        self._chunks = Chunks(device, self.n, built)
        self._total = device.empty(1, np.uint32)
        self._ranks = device.empty(self.n_segments + 1, np.uint32)

    def bind(
        self,
        values: DeviceArray,
        flags: DeviceArray,
        offsets: DeviceArray,
        out: DeviceArray,
        counts: DeviceArray,
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements
        flags : DeviceArray of uint8 or bool, n elements
            Not zero where the value goes first.
        offsets : DeviceArray of ``offset_dtype``, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``. Must ascend from 0 to n; the result is
            undefined otherwise.
        out : DeviceArray of ``dtype``, n elements, written; not ``values``
        counts : DeviceArray of uint32, n_segments elements, written
            Set flags of every segment: the first of the others lies at ``offsets[s] + counts[s]``.
        """
        check_array("values", values, self.device, [self.dtype], self.n)
        check_array("flags", flags, self.device, FLAG_DTYPES, self.n)
        check_array("offsets", offsets, self.device, [self.offset_dtype], self.n_segments + 1)
        check_array("out", out, self.device, [self.dtype], self.n)
        check_apart("out", out, "values", values)
        check_array("counts", counts, self.device, [np.uint32], self.n_segments)
        if self.n_segments == 0:
            return []
        if self.n == 0:
            return [Launch("clear", lambda: self.device.clear(counts))]
        move = self._chunks.move
        segments: dict[str, Any] = {
            "flags": flags,
            "offsets": offsets,
            "n_segments": self.n_segments,
            "ranks": self._ranks,
        }
        return [
            *self._chunks.count("partition", flags, self._total),
            move("partition_segments", "before_chunk", **segments),
            move(
                "partition_move", "before_chunk", values=values, counts=counts, out=out, **segments
            ),
        ]


def stable_partition(
    values: DeviceArray,
    flags: DeviceArray,
    offsets: DeviceArray | npt.ArrayLike | None = None,
    *,
    variant: str | Variant = "auto",
) -> tuple[DeviceArray, DeviceArray]:
    """Return the values with flagged ones first, within every segment, and how many those are.

    Parameters
    ----------
    values : DeviceArray of uint32, int32, float32 or int64
    flags : DeviceArray of uint8 or bool, as many as values
        Not zero where the value goes first.
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        Segment s is ``offsets[s]..offsets[s + 1] - 1``; they ascend from 0 to ``values.size``. Host
        values are checked, a device array's are not. Default: one segment.
    variant : str or Variant, default "auto"

    Returns
    -------
    out : DeviceArray like ``values``
        A permutation of each segment; both parts keep their order.
    counts : DeviceArray of uint32, n_segments elements
        Set flags of every segment. The host does not wait for either.

    Raises
    ------
    DataError
        If an array is of another device, dtype or size, or host offsets descend or do not run from
        0 to ``values.size``.
    ParameterError
        If ``variant`` is unknown.
    """
    device = own_device("values", values)
    check_dtype("values", values.dtype, MOVED_DTYPES)
    check_array("flags", flags, device, FLAG_DTYPES, values.size)
    whole = [0, values.size]
    ends = offsets_on_device(whole if offsets is None else offsets, device, values.size, cover=True)
    n_segments = ends.size - 1
    prepared = StablePartition(
        *(device, values.size, n_segments, values.dtype), offset_dtype=ends.dtype, variant=variant
    )
    out, counts = device.empty(values.size, values.dtype), device.empty(n_segments, np.uint32)
    run(prepared.bind(values, flags, ends, out, counts))
    return out, counts
