"""Prefix sums, maxima and minima."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_row
from pyopencl_gbdt.primitives.checks import TILE, ceil_div, check_length, own_device, run
from pyopencl_gbdt.primitives.elements import check_elements, of_array, row_for
from pyopencl_gbdt.primitives.lookback import Chain

MAX_ELEMENTS = TILE * (2**31 - 1)  # work-groups are numbered by int32


class Scan:
    """A scan of ``n`` elements, prepared once and bound to arrays.

    One pass where a driver was run with decoupled look-back (Merrill & Garland, "Single-pass
    parallel prefix scan with decoupled look-back", NVR-2016-002). Elsewhere, and for sums of
    float32, reduce, then scan: totals of tiles, the scan of the totals, the scan of each tile
    (Merrill & Grimshaw, "Parallel scan for stream architectures", UVA CS2009-14).

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
    pairs : bool, default False
        Whether the elements are pairs of int64, which are summed component by component.
    variant : str or Variant, default "auto"
        Row of the variant table; all of them give equal bits. Sums of float32, whose order is
        fixed, take the next row instead of one that looks back.

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
        pairs: bool = False,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.elements = check_elements(dtype, op, pairs=pairs)
        self.inclusive = bool(inclusive)
        chosen = row_for(device, "scan", variant, self.elements)
        row, self._program = build_row(
            device, "scan", chosen, type=self.elements.type, op=self.elements.op
        )
        self._chain = Chain(device, self._program, row, self.n, self.elements)
        self._totals: list[DeviceArray] = []
        tiles = ceil_div(self.n, TILE)
        while tiles > 1 and not row.lookback:
            self._totals.append(self.elements.empty(device, tiles))
            tiles = ceil_div(tiles, TILE)

    def bind(self, values: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements (or n pairs)
        out : DeviceArray of ``dtype``, n elements (or n pairs), written
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
        self.elements.check("values", values, self.device, self.n)
        self.elements.check("out", out, self.device, self.n)
        if self._chain.looks_back:
            return self._chain.bind("scan", [values], out, inclusive=self.inclusive)
        bind = self._program.bind
        levels = [values, *self._totals]
        sizes = [self.n, *(totals.shape[0] for totals in self._totals)]
        upward, downward = [], []
        for level, array in enumerate(levels):
            n, tiles = np.uint64(sizes[level]), ceil_div(sizes[level], TILE)
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
        Rows of an int64 array of shape (n, 2) are pairs, summed component by component; arrays of
        other shapes are taken flat.
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
        If ``op`` or ``variant`` is unknown, or pairs are not summed.
    """
    device = own_device("values", values)
    elements, n = of_array(values, op)
    prepared = Scan(
        *(device, n, elements.dtype),
        inclusive=inclusive,
        op=elements.op,
        pairs=elements.pairs,
        variant=variant,
    )
    if out is None:
        out = device.empty(values.shape, values.dtype)
    run(prepared.bind(values, out))
    return out
