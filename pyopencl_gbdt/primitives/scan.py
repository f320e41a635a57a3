"""Prefix sums, maxima and minima."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant
from pyopencl_gbdt.primitives.checks import (
    SCAN_DTYPES,
    TILE,
    ceil_div,
    check_array,
    check_dtype,
    check_length,
    check_op,
    kernel_type,
    own_device,
    run,
)

MAX_ELEMENTS = TILE * (2**31 - 1)  # work-groups are numbered by int32


class Scan:
    """A scan of ``n`` elements, prepared once and bound to arrays.

    Reduce, then scan: totals of tiles, the scan of the totals, the scan of each tile (Merrill &
    Grimshaw, "Parallel scan for stream architectures", UVA CS2009-14).

    Parameters
    ----------
    device : Device
    n : int
        Elements.
    dtype : dtype
        int32, uint32, int64 or float32.
    inclusive : bool, default False
        Whether ``out[i]`` counts ``values[i]``; the first exclusive element is the identity: 0, or
        the dtype's lowest (max) or highest (min) value, infinities for float32.
    op : {"sum", "max", "min"}, default "sum"
    variant : str or Variant, default "auto"
        Row of the variant table; all of them give equal bits.

    Raises
    ------
    DataError, ParameterError
        If dtype, op or n is none of the above.

    Notes
    -----
    Integer sums wrap. Sums of float32 are taken in a fixed order: a tree whose nodes have 16
    children, combined left to right from +0.0 (so -0.0 is lost), aligned to position 0; the prefix
    of an element is that of its parent plus the sum of its left siblings. The error of a prefix
    sum of n elements is at most ``17 * ceil(log16(n)) * 2**-24`` times the sum of the magnitudes,
    to first order. A NaN sum is the quiet NaN 0x7fc00000. Subnormal numbers are kept or flushed
    as the device does. Maxima and minima of float32 order -0.0 before +0.0; NaN wins.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        dtype: npt.DTypeLike,
        *,
        inclusive: bool = False,
        op: str = "sum",
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.dtype = check_dtype("dtype", dtype, SCAN_DTYPES)
        self.inclusive = bool(inclusive)
        self.op = check_op(op)
        _, self._program = build_variant(
            device,
            "scan",
            variant,
            lambda row: device.build(
                "scan", wg_size=row.params["wg_size"], type=kernel_type(self.dtype, op), op=op
            ),
        )
        self._totals: list[DeviceArray] = []
        tiles = ceil_div(self.n, TILE)
        while tiles > 1:
            self._totals.append(device.empty(tiles, self.dtype))
            tiles = ceil_div(tiles, TILE)

    def bind(self, values: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements
        out : DeviceArray of ``dtype``, n elements, written
            May be ``values``.

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
        check_array("out", out, self.device, [self.dtype], self.n)
        bind = self._program.bind
        levels = [values, *self._totals]
        upward, downward = [], []
        for level, array in enumerate(levels):
            n, tiles = np.uint64(array.size), ceil_div(array.size, TILE)
            top = level == len(levels) - 1
            before = array if top else levels[level + 1]
            if not top:
                upward.append(bind("scan_totals", tiles, array, n, before))
            inclusive = np.uint32(self.inclusive and level == 0)
            target = out if level == 0 else array
            arguments = (array, n, inclusive, before, np.uint32(not top), target)
            downward.append(bind("scan_tiles", tiles, *arguments))
        return upward + downward[::-1] if self.n else []


def scan(
    values: DeviceArray,
    out: DeviceArray | None = None,
    *,
    inclusive: bool = False,
    op: str = "sum",
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the prefix sums (or maxima, minima) of an array.

    Parameters
    ----------
    values : DeviceArray of int32, uint32, int64 or float32
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.
    inclusive, op, variant
        As for ``Scan``, which also states the order of float sums.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.

    Raises
    ------
    DataError
        If an array is no device array, of another device, dtype or size.
    ParameterError
        If ``op`` or ``variant`` is unknown.
    """
    device = own_device("values", values)
    prepared = Scan(device, values.size, values.dtype, inclusive=inclusive, op=op, variant=variant)
    if out is None:
        out = device.empty(values.shape, values.dtype)
    run(prepared.bind(values, out))
    return out
