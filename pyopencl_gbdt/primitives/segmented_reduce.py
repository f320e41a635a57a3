"""Sums, maxima and minima of segments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    OFFSET_DTYPES,
    ceil_div,
    check_array,
    check_dtype,
    check_elements,
    check_length,
    of_array,
    offsets_on_device,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.scans import MAX_ELEMENTS

#: Elements of a segment that are reduced to one. It fixes the order of float sums: do not tune it.
SEGMENT_CHUNK = 1024
_CHUNK_BITS = 10
_MAX_SEGMENTS = 2**31 - 1


class SegmentedReduce:
    """A reduction of ``n_segments`` segments of ``n`` elements.

    Prepare it once, then bind it to arrays. Segments are cut into chunks of 1024 elements, so one
    long segment keeps the device as busy as many short ones. The results of a segment's chunks are
    reduced in the same way. Every element is read once.

    Parameters
    ----------
    n : int
        Elements.
    n_segments : int
        Segments, 0..2**31 - 1.
    dtype, op, pairs, variant
        As for ``Reduce``; so are the errors.
    offset_dtype : dtype, default int64
        uint32 or int64.

    Notes
    -----
    Integer sums wrap. The order of a float32 sum depends only on the segment's length, and is the
    same on every device. A chunk of 1024 elements is an array of shape (32, 32). Each of the 32
    lanes is summed from the first element to the last, starting from +0.0. Then the first half is
    added to the second half until one sum remains. The chunks' sums are summed in the same way. The
    error is at most ``36 * ceil(log1024(length)) * 2**-24`` times the sum of the magnitudes, to
    first order (Higham 1993, "The accuracy of floating point summation", section 4). NaN, signed
    zeros and subnormal numbers are as for ``Scan``.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_segments: int,
        dtype: npt.DTypeLike,
        *,
        op: str = "sum",
        pairs: bool = False,
        offset_dtype: npt.DTypeLike = np.int64,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.n_segments = check_length("n_segments", n_segments, _MAX_SEGMENTS)
        self.elements = check_elements(dtype, op, pairs=pairs)
        self.offset_dtype = check_dtype("offset_dtype", offset_dtype, OFFSET_DTYPES)
        chosen, self._program = build_variant_program(
            device,
            "segmented_reduce",
            variant,
            type=self.elements.type,
            op=self.elements.op,
            offset=C_NAMES[self.offset_dtype],
        )
        self._items = chosen.params["items"]
        # two arrays of partial results: a level reads one and writes the other
        slots = [self._slots(level) for level in range(1, self._n_levels())]
        self._partials = [self.elements.empty(device, count) for count in slots[:2]]

    def _n_levels(self) -> int:
        """Return the number of levels that reduce the longest segment to one element."""
        levels, span = 1, SEGMENT_CHUNK
        while span < self.n:
            levels, span = levels + 1, span * SEGMENT_CHUNK
        return levels

    def _slots(self, level: int) -> int:
        """Return the most results that are left after ``level`` levels."""
        return (self.n >> _CHUNK_BITS * level) + self.n_segments

    def bind(self, values: DeviceArray, offsets: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements (or n pairs)
        offsets : DeviceArray of ``offset_dtype``, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``. Must ascend within ``0..n``; the
            result is undefined otherwise.
        out : DeviceArray of ``dtype``, n_segments elements (or pairs), written
            An empty segment gives the identity: 0, or the dtype's lowest (max) or highest (min)
            value, infinities for float32.
        """
        self.elements.check("values", values, self.device, self.n)
        check_array("offsets", offsets, self.device, [self.offset_dtype], self.n_segments + 1)
        self.elements.check("out", out, self.device, self.n_segments)
        if self.n_segments == 0:
            return []
        launches, inputs = [], values
        for level in range(self._n_levels()):
            slots = self._slots(level + 1)
            last = level + 1 == self._n_levels()
            partials = out if last else self._partials[level % 2]  # the last level writes none
            launches.append(
                self._program.bind(
                    "segment_level", ceil_div(slots, self._items), inputs=inputs, offsets=offsets,
                    n_segments=self.n_segments, n_slots=slots, shift=_CHUNK_BITS * level,
                    partials=partials, out=out,
                )
            )  # fmt: skip
            inputs = partials
        return launches


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
        As for ``reduce``.
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
    DataError, ParameterError
        As for ``reduce``; DataError also if host offsets descend or are outside the array.
    """
    device = own_device("values", values)
    elements, n = of_array(values)
    ends = offsets_on_device(offsets, device, n)
    n_segments = ends.size - 1
    prepared = SegmentedReduce(
        *(device, n, n_segments, elements.dtype),
        op=op,
        pairs=elements.pairs,
        offset_dtype=ends.dtype,
        variant=variant,
    )
    if out is None:
        out = elements.empty(device, n_segments)
    run(prepared.bind(values, ends, out))
    return out
