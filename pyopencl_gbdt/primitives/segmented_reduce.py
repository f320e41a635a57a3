"""Sums, maxima and minima of segments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    OFFSET_DTYPES,
    SCAN_DTYPES,
    TILE,
    ceil_div,
    check_array,
    check_dtype,
    check_length,
    check_op,
    kernel_type,
    offsets_on_device,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.scan import MAX_ELEMENTS

_MAX_SEGMENTS = 2**31 - 1


class SegmentedReduce:
    """A reduction of ``n_segments`` segments of ``n`` elements, prepared once, bound to arrays.

    Segments are cut into chunks of 4096, so one long segment keeps the device as busy as many short
    ones; a second kernel combines a segment's chunks.

    Parameters
    ----------
    device : Device
    n : int
        Elements.
    n_segments : int
        Segments, 0..2**31 - 1.
    dtype : dtype
        int32, uint32, int64 or float32.
    op : {"sum", "max", "min"}, default "sum"
    offset_dtype : dtype, default int64
        uint32 or int64.
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If dtype, op, n or n_segments is none of the above.

    Notes
    -----
    Integer sums wrap. A float32 sum is taken in an order that depends on the segment's length
    alone, not on where it lies: chunks of 4096 in the tree order of ``Scan``, then the chunks'
    sums 4096 at a time in tree order, then those from left to right; with ``17 * levels * 2**-24``
    times the sum of the magnitudes as error bound to first order, where 16 levels serve any segment
    below 2**32. NaN, signed zeros and subnormals are as for ``Scan``.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_segments: int,
        dtype: npt.DTypeLike,
        *,
        op: str = "sum",
        offset_dtype: npt.DTypeLike = np.int64,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.n_segments = check_length("n_segments", n_segments, _MAX_SEGMENTS)
        self.dtype = check_dtype("dtype", dtype, SCAN_DTYPES)
        self.offset_dtype = check_dtype("offset_dtype", offset_dtype, OFFSET_DTYPES)
        self.op = check_op(op)
        row, self._program = build_variant(
            device,
            "segmented_reduce",
            variant,
            lambda row: device.build(
                "segmented_reduce",
                wg_size=row.params["wg_size"],
                items=row.params["items"],
                type=kernel_type(self.dtype, op),
                op=op,
                offset=C_NAMES[self.offset_dtype],
            ),
        )
        self._items = row.params["items"]
        self._partials = device.empty(self.n // TILE + self.n_segments, self.dtype)

    def bind(self, values: DeviceArray, offsets: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements
        offsets : DeviceArray of ``offset_dtype``, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``. Must ascend within ``0..n``; the
            result is undefined otherwise.
        out : DeviceArray of ``dtype``, n_segments elements, written
            An empty segment gives the identity: 0, or the dtype's lowest (max) or highest (min)
            value, infinities for float32.

        Returns
        -------
        list of Launch
            Run in order, as often as wanted.

        Raises
        ------
        DataError
            If an array is of another device, dtype or size.
        """
        check_array("values", values, self.device, [self.dtype], self.n)
        check_array("offsets", offsets, self.device, [self.offset_dtype], self.n_segments + 1)
        check_array("out", out, self.device, [self.dtype], self.n_segments)
        if self.n_segments == 0:
            return []
        partials, n_segments = self._partials, np.uint32(self.n_segments)
        n_slots = np.uint64(partials.size)
        bind = self._program.bind
        return [
            bind(
                "segment_partials",
                ceil_div(partials.size, self._items),
                *(values, offsets, n_segments, n_slots, partials),
            ),
            bind(
                "segment_totals",
                ceil_div(self.n_segments, self._items),
                *(partials, offsets, n_segments, out),
            ),
        ]


def segmented_reduce(
    values: DeviceArray,
    offsets: DeviceArray | npt.ArrayLike,
    out: DeviceArray | None = None,
    *,
    op: str = "sum",
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the sum (or maximum, minimum) of every segment.

    Parameters
    ----------
    values : DeviceArray of int32, uint32, int64 or float32
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        Segment s is ``offsets[s]..offsets[s + 1] - 1``. Host values are checked; those of a device
        array must ascend within ``0..values.size``.
    out : DeviceArray like ``values``, n_segments elements, written, optional
        Default: a new array.
    op, variant
        As for ``SegmentedReduce``, which also states the order of float sums.

    Returns
    -------
    DeviceArray
        ``out``; an empty segment gives the identity. The host does not wait for it.

    Raises
    ------
    DataError
        If an array is of another device, dtype or size, or host offsets descend or leave the array.
    ParameterError
        If ``op`` or ``variant`` is unknown.
    """
    device = own_device("values", values)
    check_dtype("values", values.dtype, SCAN_DTYPES)
    check_op(op)
    ends = offsets_on_device(offsets, device, values.size)
    n_segments = ends.size - 1
    prepared = SegmentedReduce(
        *(device, values.size, n_segments, values.dtype),
        op=op,
        offset_dtype=ends.dtype,
        variant=variant,
    )
    if out is None:
        out = device.empty(n_segments, values.dtype)
    run(prepared.bind(values, ends, out))
    return out
