"""Prefix sums, maxima and minima that start again at every head."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant
from pyopencl_gbdt.primitives.checks import (
    FLAG_DTYPES,
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
from pyopencl_gbdt.primitives.scan import MAX_ELEMENTS

_EXCLUSIVE, _INCLUSIVE, _CARRY = 0, 1, 2


class SegmentedScan:
    """A segmented scan of ``n`` elements, prepared once and bound to arrays.

    Pairs (value, head) are scanned as ``Scan`` scans values, in the same order (Blelloch, "Prefix
    sums and their applications", CMU-CS-90-190, section 1.5); a head starts a new segment, and so
    does element 0.

    Parameters
    ----------
    device : Device
    n : int
        Elements.
    dtype : dtype
        int32, uint32, int64 or float32.
    inclusive : bool, default False
        Whether ``out[i]`` counts ``values[i]``; a segment's first exclusive element is the
        identity.
    op : {"sum", "max", "min"}, default "sum"
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError, ParameterError
        If dtype, op or n is none of the above.

    Notes
    -----
    The tree that orders float32 sums is aligned to position 0 of the array, not to the segments:
    a segment that begins elsewhere may give other last bits. The rest is as for ``Scan``.
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
            "segmented_scan",
            variant,
            lambda row: device.build(
                "segmented_scan",
                wg_size=row.params["wg_size"],
                type=kernel_type(self.dtype, op),
                op=op,
            ),
        )
        self._totals: list[tuple[DeviceArray, DeviceArray]] = []
        tiles = ceil_div(self.n, TILE)
        while tiles > 1:
            self._totals.append((device.empty(tiles, self.dtype), device.empty(tiles, np.uint8)))
            tiles = ceil_div(tiles, TILE)

    def bind(self, values: DeviceArray, head_flags: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements
        head_flags : DeviceArray of uint8 or bool, n elements
            Not zero where a segment begins.
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
        check_array("head_flags", head_flags, self.device, FLAG_DTYPES, self.n)
        check_array("out", out, self.device, [self.dtype], self.n)
        bind = self._program.bind
        levels = [(values, head_flags), *self._totals]
        upward, downward = [], []
        for level, (array, heads) in enumerate(levels):
            n, tiles = np.uint64(array.size), ceil_div(array.size, TILE)
            top = level == len(levels) - 1
            before = array if top else levels[level + 1][0]
            if not top:
                upward.append(bind("segmented_totals", tiles, array, heads, n, *levels[level + 1]))
            mode = _CARRY if level else _INCLUSIVE if self.inclusive else _EXCLUSIVE
            target = array if level else out
            arguments = (n, np.uint32(mode), before, np.uint32(not top), target)
            downward.append(bind("segmented_tiles", tiles, array, heads, *arguments))
        return upward + downward[::-1] if self.n else []


def segmented_scan(
    values: DeviceArray,
    head_flags: DeviceArray,
    out: DeviceArray | None = None,
    *,
    inclusive: bool = False,
    op: str = "sum",
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return prefix sums (or maxima, minima) that start again at every head.

    Parameters
    ----------
    values : DeviceArray of int32, uint32, int64 or float32
    head_flags : DeviceArray of uint8 or bool, as many as values
        Not zero where a segment begins; element 0 begins one in any case.
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.
    inclusive, op, variant
        As for ``SegmentedScan``.

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
    check_array("head_flags", head_flags, device, FLAG_DTYPES, values.size)
    prepared = SegmentedScan(
        device, values.size, values.dtype, inclusive=inclusive, op=op, variant=variant
    )
    if out is None:
        out = device.empty(values.shape, values.dtype)
    run(prepared.bind(values, head_flags, out))
    return out
