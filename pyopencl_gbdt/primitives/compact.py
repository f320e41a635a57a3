"""Compaction: keep the flagged values, in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    FLAG_DTYPES,
    MOVED_DTYPES,
    check_apart,
    check_array,
    check_dtype,
    check_length,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.chunks import Chunks

_MAX_VALUES = 2**32 - 1  # indices are uint32


class Compact:
    """A compaction of ``n`` values: prepare it once, then bind it to arrays.

    The kernels count each chunk's flags, scan the counts and move the values (Blelloch,
    CMU-CS-90-190, section 1.4; here by chunks of many tiles).

    Parameters
    ----------
    n : int
        Values, 0..2**32 - 1.
    dtype : dtype
        uint32, int32, float32 or int64.
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If dtype or n is not among those above.
    """

    def __init__(
        self, device: Device, n: int, dtype: npt.DTypeLike, *, variant: str | Variant = "auto"
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_VALUES)
        self.dtype = check_dtype("dtype", dtype, MOVED_DTYPES)
        built = build_variant_program(
            device, "compact", variant, type=f"u{8 * self.dtype.itemsize}"
        )
        self._chunks = Chunks(device, self.n, built)

    def bind(
        self, values: DeviceArray, flags: DeviceArray, out: DeviceArray, count: DeviceArray
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements
        flags : DeviceArray of uint8 or bool, n elements
            Not zero for values to keep.
        out : DeviceArray of ``dtype``, n elements, written; not ``values``
            Elements from ``count`` on stay unchanged.
        count : DeviceArray of uint32, 1 element, written
            Number of values kept.
        """
        check_array("values", values, self.device, [self.dtype], self.n)
        check_array("flags", flags, self.device, FLAG_DTYPES, self.n)
        check_array("out", out, self.device, [self.dtype], self.n)
        check_apart("out", out, "values", values)
        check_array("count", count, self.device, [np.uint32], 1)
        return [
            *self._chunks.count("compact", flags, count),
            self._chunks.move("compact_move", "offsets", values=values, flags=flags, out=out),
        ]


def compact(
    values: DeviceArray, flags: DeviceArray, *, variant: str | Variant = "auto"
) -> tuple[DeviceArray, DeviceArray]:
    """Return the values whose flag is set, in order, and their number.

    Parameters
    ----------
    values : DeviceArray of uint32, int32, float32 or int64
    flags : DeviceArray of uint8 or bool, as many as values
    variant : str or Variant, default "auto"

    Returns
    -------
    out : DeviceArray like ``values``
        As large as ``values``; elements from ``count`` on are undefined.
    count : DeviceArray of uint32, 1 element
        The host does not wait for it.

    Raises
    ------
    DataError
        If an array is not a device array, or is of another device, dtype or size.
    ParameterError
        If ``variant`` is unknown.
    """
    device = own_device("values", values)
    check_array("flags", flags, device, FLAG_DTYPES, values.size)
    prepared = Compact(device, values.size, values.dtype, variant=variant)
    out, count = device.empty(values.size, values.dtype), device.empty(1, np.uint32)
    run(prepared.bind(values, flags, out, count))
    return out, count
