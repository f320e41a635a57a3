"""The sum, maximum or minimum of an array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    ceil_div,
    check_apart,
    check_elements,
    check_length,
    of_array,
    own_device,
    run,
)

#: Elements that are reduced to one. It fixes the order of float sums: do not tune it.
REDUCE_TILE = 16384
MAX_ELEMENTS = REDUCE_TILE * (2**31 - 1)  # work-groups are numbered by int32


class Reduce:
    """A reduction of ``n`` elements to one: prepare it once, then bind it to arrays.

    Every tile of 16384 elements is reduced to one; the results are reduced in the same way. Every
    input is read once, 16 bytes at a time.

    Parameters
    ----------
    dtype : dtype
        int32, uint32, int64 or float32.
    op : {"sum", "max", "min"}, default "sum"
    pairs : bool, default False
        Whether the elements are pairs of int64, each component summed on its own.
    variant : str or Variant, default "auto"
        A variant or its name; all give equal bits.

    Raises
    ------
    DataError, ParameterError
        If dtype, op or n is not among those above.

    Notes
    -----
    Integer sums wrap. Sums of float32 have the same order on every device. A tile of 16384 elements
    is an array of shape (16, 1024). Each of the 1024 lanes is summed from the first element to the
    last, starting from +0.0 (so -0.0 becomes +0.0). Then neighbouring lanes are added, twice; 256
    sums remain. Then the first half is added to the second half until one sum remains. The sums of
    the tiles are summed in the same way. The error of a sum of n elements is at most
    ``25 * ceil(log16384(n)) * 2**-24`` times the sum of the magnitudes, to first order; this is
    pairwise summation with a wide base (Higham 1993, "The accuracy of floating point summation",
    section 4). A NaN sum is the quiet NaN 0x7fc00000. The device decides whether subnormal numbers
    are kept or flushed. Maxima and minima of float32 order -0.0 before +0.0; if an element is NaN,
    the result is NaN.

    Examples
    --------
    >>> values = device.upload(np.arange(1_000_000, dtype=np.float32))
    >>> reduce(values, op="max").get()
    array([999999.], dtype=float32)
    """

    def __init__(
        self,
        device: Device,
        n: int,
        dtype: npt.DTypeLike,
        *,
        op: str = "sum",
        pairs: bool = False,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_ELEMENTS)
        self.elements = check_elements(dtype, op, pairs=pairs)
        chosen, self._program = build_variant_program(
            device, "reduce", variant, type=self.elements.type, op=self.elements.op
        )
        self._items = chosen.params["items"]
        self._partials: list[DeviceArray] = []
        tiles = ceil_div(self.n, REDUCE_TILE)
        while tiles > 1:
            self._partials.append(self.elements.empty(device, tiles))
            tiles = ceil_div(tiles, REDUCE_TILE)

    def bind(self, values: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements (or n pairs)
        out : DeviceArray of ``dtype``, one element (or pair), written
            Without elements it is the identity: 0, or the dtype's lowest (max) or highest (min)
            value, infinities for float32.

        Returns
        -------
        list of Launch
            Run them in order, as often as needed.

        Raises
        ------
        DataError
            If an array is of another device, dtype or size, or both arrays are the same.
        """
        self.elements.check("values", values, self.device, self.n)
        self.elements.check("out", out, self.device, 1)
        check_apart("out", out, "values", values)
        launches, n = [], self.n
        for source, target in zip([values, *self._partials], [*self._partials, out], strict=True):
            tiles = max(1, ceil_div(n, REDUCE_TILE))
            groups = ceil_div(tiles, self._items)
            launches.append(
                self._program.bind("reduce_tiles", groups, source, np.uint64(n), target)
            )
            n = tiles
        return launches


def reduce(
    values: DeviceArray,
    out: DeviceArray | None = None,
    *,
    op: str = "sum",
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the sum (or maximum, minimum) of an array.

    Parameters
    ----------
    values : DeviceArray of int32, uint32, int64 or float32
        Rows of an int64 array of shape (n, 2) are pairs, each component summed on its own. Arrays
        of other shapes are flattened.
    out : DeviceArray like ``values``, one element, written, optional
        Default: a new array, shape (1,), or (1, 2) for pairs.
    op, variant
        As for ``Reduce``, which also states the order of float sums.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.

    Raises
    ------
    DataError
        If an array is not a device array, or is of another device, dtype or size.
    ParameterError
        If ``op`` or ``variant`` is unknown, or ``op`` of pairs is not "sum".
    """
    device = own_device("values", values)
    elements, n = of_array(values)
    prepared = Reduce(device, n, elements.dtype, op=op, pairs=elements.pairs, variant=variant)
    if out is None:
        out = elements.empty(device, 1)
    run(prepared.bind(values, out))
    return out
