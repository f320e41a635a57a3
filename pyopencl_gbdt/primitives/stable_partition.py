"""Stable partition: move flagged values to the front of their segments."""

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
    """A stable partition of ``n`` values in ``n_segments`` segments.

    Prepare it once, then bind it to arrays.

    Parameters
    ----------
    n : int
        Values, 0..2**32 - 1.
    n_segments : int
        Segments, 0..2**31 - 1; at least 1 if n is not 0.
    dtype : dtype
        uint32, int32, float32 or int64.
    offset_dtype : dtype, default int64
        uint32 or int64.
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If a dtype, n or n_segments is not among those above.

    Notes
    -----
    Scratch: one uint32 for each segment (the number of set flags before it) and one for each
    work-group. Flags are read three times and values once. That is less traffic than storing a rank
    for every value.
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
            Not zero for values that go to the front.
        offsets : DeviceArray of ``offset_dtype``, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``. Must ascend from 0 to n; the result is
            undefined otherwise.
        out : DeviceArray of ``dtype``, n elements, written; not ``values``
        counts : DeviceArray of uint32, n_segments elements, written
            Number of set flags in every segment. The first value without a flag is at
            ``offsets[s] + counts[s]``.
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
    """Return the values with each segment's flagged ones in front, and their numbers.

    Parameters
    ----------
    values : DeviceArray of uint32, int32, float32 or int64
    flags : DeviceArray of uint8 or bool, as many as values
        Not zero for values that go to the front.
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        Segment s is ``offsets[s]..offsets[s + 1] - 1``. Offsets must ascend from 0 to
        ``values.size``; host values are checked, those of a device array are not. Default: one
        segment.
    variant : str or Variant, default "auto"

    Returns
    -------
    out : DeviceArray like ``values``
        In each segment the flagged values, then the others; both keep their order.
    counts : DeviceArray of uint32, n_segments elements
        Number of set flags in every segment. The host waits for neither array.

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
