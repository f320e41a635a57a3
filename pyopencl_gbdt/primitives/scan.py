"""Prefix sums, maxima and minima."""

from __future__ import annotations

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import own_device, run
from pyopencl_gbdt.primitives.elements import of_array
from pyopencl_gbdt.primitives.scans import TiledScan


class Scan(TiledScan):
    """A scan of ``n`` elements, prepared once and bound to arrays.

    One pass where a driver was run with decoupled look-back (Merrill & Garland, "Single-pass
    parallel prefix scan with decoupled look-back", NVR-2016-002). Elsewhere, and for sums of
    float32, reduce, then scan: totals of tiles, the scan of the totals, the scan of each tile
    (Merrill & Grimshaw, "Parallel scan for stream architectures", UVA CS2009-14).

    Parameters
    ----------
    device, n, dtype, op, pairs
        As for ``Reduce``, as are the errors.
    inclusive : bool, default False
        Whether ``out[i]`` counts ``values[i]``; the first exclusive element is the identity: 0, or
        the dtype's lowest (max) or highest (min) value, infinities for float32.
    variant : str or Variant, default "auto"
        Row of the variant table; all of them give equal bits. Sums of float32, whose order is
        fixed, take the next row instead of one that looks back.

    Notes
    -----
    Integer sums wrap. Sums of float32 are taken in a fixed order: a tree whose nodes have 16
    children, combined left to right from +0.0 (so -0.0 is lost), aligned to position 0; the prefix
    of an element is that of its parent plus the sum of its left siblings. The error of a prefix
    sum of n elements is at most ``17 * ceil(log16(n)) * 2**-24`` times the sum of the magnitudes,
    to first order. A NaN sum is the quiet NaN 0x7fc00000. Subnormal numbers are kept or flushed
    as the device does. Maxima and minima of float32 order -0.0 before +0.0; NaN wins.
    """

    _kernel, _prefix, _above = "scan", "scan", 0  # exclusive

    def bind(self, values: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements (or n pairs)
        out : DeviceArray of ``dtype``, n elements (or n pairs), written
            May be ``values``.
        """
        return self._bind((values,), out)


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
        Taken as ``reduce`` takes them, with the same errors.
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.
    inclusive, op, variant
        As for ``Scan``, which also states the order of float sums.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.
    """
    device = own_device("values", values)
    elements, n = of_array(values)
    prepared = Scan(
        *(device, n, elements.dtype),
        inclusive=inclusive, op=op, pairs=elements.pairs, variant=variant,
    )  # fmt: skip
    if out is None:
        out = device.empty(values.shape, values.dtype)
    run(prepared.bind(values, out))
    return out
