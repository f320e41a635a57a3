"""Stable LSD radix sort of 4-byte keys, with or without 4-byte values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    check_array,
    check_dtype,
    check_length,
    chunking,
    own_device,
    run,
)

DTYPES = (np.uint32, np.int32, np.float32)
_MAX_KEYS = 2**32 - 1  # places are uint32


class RadixSort:
    """A stable ascending sort of ``n`` keys in place, prepared once and bound to arrays.

    Every pass moves the keys by one digit, from the least significant: count the digits of each
    work-group's chunk, scan the counts, scatter (Satish, Harris & Garland, "Designing efficient
    sorting algorithms for manycore GPUs", IPDPS 2009; here each work-group walks a chunk of many
    tiles, so the table of counts stays small). Passes are even in number, so the result ends
    where it began.

    Parameters
    ----------
    device : Device
    n : int
        Keys, 0..2**32 - 1.
    key_dtype : dtype
        uint32, int32 or float32. Of float32 keys, -0.0 and +0.0 are equal and every NaN, of any
        sign and payload, comes last; equal keys keep their order and their bits.
    value_dtype : dtype, optional
        uint32, int32 or float32; None sorts keys alone.
    variant : str or Variant, default "auto"
        Row of the variant table; all of them give equal bits.

    Raises
    ------
    DataError
        If a dtype is none of the above.
    ParameterError
        If ``n`` is out of range.

    Notes
    -----
    Scratch: a copy of keys and values, and one counter per digit and work-group.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike | None = None,
        *,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_KEYS)
        self.key_dtype = check_dtype("key_dtype", key_dtype, DTYPES)
        self.value_dtype = (
            None if value_dtype is None else check_dtype("value_dtype", value_dtype, DTYPES)
        )
        row, self._program = build_variant(
            device,
            "radix_sort",
            variant,
            lambda row: device.build(
                "radix_sort",
                wg_size=row.params["wg_size"],
                items=row.params["items"],
                radix_bits=row.params["radix_bits"],
                key=C_NAMES[self.key_dtype],
                has_values=self.value_dtype is not None,
            ),
        )
        self._bits = row.params["radix_bits"]
        self._chunk, self._groups = chunking(row, self._program.wg_size, self.n, device)
        self._counts = device.empty(self._groups << self._bits, np.uint32)
        self._total = device.empty(1, np.uint32)
        self._keys = device.empty(self.n, self.key_dtype)
        self._values = None if self.value_dtype is None else device.empty(self.n, self.value_dtype)

    def bind(self, keys: DeviceArray, values: DeviceArray | None = None) -> list[Launch]:
        """Bind the passes to arrays.

        Parameters
        ----------
        keys : DeviceArray of ``key_dtype``, n elements, written
        values : DeviceArray of ``value_dtype``, n elements, written
            Moved along with the keys; given exactly if ``value_dtype`` was.

        Returns
        -------
        list of Launch
            Run in order, as often as wanted: each round sorts what the arrays hold then.

        Raises
        ------
        DataError
            If an array is missing, too many, of another device, dtype or size.
        """
        check_array("keys", keys, self.device, [self.key_dtype], self.n)
        if (values is None) != (self.value_dtype is None):
            raise DataError(
                f"values={values!r}: this RadixSort has value_dtype={self.value_dtype}; "
                "give both or neither"
            )
        ends = [[keys, self._keys]]
        if values is not None and self.value_dtype is not None and self._values is not None:
            check_array("values", values, self.device, [self.value_dtype], self.n)
            ends.append([values, self._values])
        if self.n < 2:
            return []
        bind = self._program.bind
        n, chunk = np.uint32(self.n), np.uint32(self._chunk)
        launches = []
        for digit in range(32 // self._bits):
            shift = np.uint32(digit * self._bits)
            source, target = digit % 2, 1 - digit % 2
            value_pair = (ends[1][source], ends[1][target]) if len(ends) == 2 else ()
            from_keys, to_keys = ends[0][source], ends[0][target]
            counts = self._counts
            launches += [
                bind("radix_count", self._groups, from_keys, n, chunk, shift, counts),
                bind("radix_offsets", 1, counts, np.uint32(counts.size), self._total),
                bind(
                    "radix_scatter",
                    self._groups,
                    *(from_keys, n, chunk, shift, counts, to_keys),
                    *value_pair,
                ),
            ]
        return launches

    def sort(self, keys: DeviceArray, values: DeviceArray | None = None) -> None:
        """Sort in place, without waiting; arguments and errors as in ``bind``."""
        run(self.bind(keys, values))


def radix_sort(
    keys: DeviceArray, values: DeviceArray | None = None, *, variant: str | Variant = "auto"
) -> None:
    """Sort keys in place in ascending order, stable, and move values along.

    Parameters
    ----------
    keys : DeviceArray of uint32, int32 or float32, written
        For float32, -0.0 equals +0.0 and every NaN comes last.
    values : DeviceArray of uint32, int32 or float32, as many as keys, written, optional
    variant : str or Variant, default "auto"

    Raises
    ------
    DataError
        If an array is no device array, of another device, dtype or size.
    """
    device = own_device("keys", keys)
    if values is not None:
        check_array("values", values, device, DTYPES, keys.size)
    value_dtype = None if values is None else values.dtype
    RadixSort(device, keys.size, keys.dtype, value_dtype, variant=variant).sort(keys, values)
