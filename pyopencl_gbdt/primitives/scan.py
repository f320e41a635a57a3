"""Scans: prefix sums, maxima and minima."""

from __future__ import annotations

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import of_array, own_device, run
from pyopencl_gbdt.primitives.scans import TiledScan


class Scan(TiledScan):
    """A scan of ``n`` elements: prepare it once, then bind it to arrays.

    With drivers on which decoupled look-back was tested, it is one pass (Merrill & Garland,
    "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002). With others, and for
    sums of float32, it reduces and then scans: it computes the totals of tiles, scans the totals,
    and scans each tile (Merrill & Grimshaw, "Parallel scan for stream architectures", UVA
    CS2009-14).

    Parameters
    ----------
    device, n, dtype, op, pairs
        As for ``Reduce``; so are the errors.
    inclusive : bool, default False
        Whether ``out[i]`` includes ``values[i]``. The first element of an exclusive scan is the
        identity: 0, or the dtype's lowest (max) or highest (min) value, infinities for float32.
    variant : str or Variant, default "auto"
        A variant or its name; all give equal bits. For sums of float32, whose order is fixed, the
        next variant is used instead of one with look-back.

    Notes
    -----
    Integer sums wrap. Sums of float32 have a fixed order, given by a tree that begins at position
    0. Its nodes have 16 children, which are added from left to right, starting from +0.0 (so -0.0
    becomes +0.0). The prefix of an element is its parent's prefix plus the sum of its left
    siblings. The error of a prefix sum of n elements is at most
    ``17 * ceil(log16(n)) * 2**-24`` times the sum of the magnitudes, to first order. A NaN sum is
    the quiet NaN 0x7fc00000. The device decides whether subnormal numbers are kept or flushed.
    Maxima and minima of float32 order -0.0 before +0.0; if an element is NaN, the result is NaN.
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
        As for ``reduce``; so are the errors.
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
