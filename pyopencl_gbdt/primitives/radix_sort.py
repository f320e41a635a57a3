"""Stable LSD radix sort of 4-byte keys, with or without 4-byte values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import (
    Device,
    DeviceArray,
    Launch,
    Variant,
    build_variant,
    choose,
)
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    ceil_div,
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
    """A stable ascending sort of columns of ``n`` keys in place, prepared once, bound to arrays.

    Every pass moves the keys by one digit, from the least significant: count the digits of each
    work-group's chunk, scan the counts, scatter (Satish, Harris & Garland, "Designing efficient
    sorting algorithms for manycore GPUs", IPDPS 2009; here each work-group walks a chunk of many
    tiles, so the table of counts stays small). Passes are even in number, so the result ends
    where it began. Columns are sorted side by side in the same launches. Where work-groups have
    one work-item, and every compute unit gets a column, a work-group sorts whole columns.

    Parameters
    ----------
    device : Device
    n : int
        Keys of a column, 0..2**32 - 1.
    key_dtype : dtype
        uint32, int32 or float32. Of float32 keys, -0.0 and +0.0 are equal and every NaN, of any
        sign and payload, comes last; equal keys keep their order and their bits.
    value_dtype : dtype, optional
        uint32, int32 or float32; None sorts keys alone.
    columns : int, default 1
        Most columns that are sorted at a time; 2**32 - 1 keys together.
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
    Scratch: a copy of keys and values, and one counter per digit and work-group; where a
    work-group sorts whole columns, a column for each. See ``scratch_bytes``.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike | None = None,
        *,
        columns: int = 1,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_KEYS)
        self.columns = check_length("columns", columns, _MAX_KEYS // max(1, self.n))
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
        self._row, self._bits = row, row.params["radix_bits"]
        counters, self._scratch_columns = _scratch(device, row, self._program.wg_size, n, columns)
        self._counts = device.empty(counters, np.uint32)
        self._total = device.empty(1, np.uint32)
        shape = (self._scratch_columns, self.n)
        self._keys = device.empty(shape, self.key_dtype)
        self._values = None if self.value_dtype is None else device.empty(shape, self.value_dtype)

    def bind(
        self,
        keys: DeviceArray,
        values: DeviceArray | None = None,
        *,
        first: int = 0,
        columns: int | None = None,
        once: bool = False,
    ) -> list[Launch]:
        """Bind the passes to arrays.

        Parameters
        ----------
        keys : DeviceArray of ``key_dtype``, written
            Columns of n elements, one behind the other.
        values : DeviceArray of ``value_dtype``, written
            Moved along with the keys; given exactly if ``value_dtype`` was. Its first column
            belongs to the first that is sorted.
        first : int, default 0
            The first column of ``keys`` to sort.
        columns : int, optional
            How many to sort, at most as many as the sort was made for. By default the arrays hold
            exactly those.
        once : bool, default False
            Whether the launches will run once: they cost less to bind and more to run.

        Returns
        -------
        list of Launch
            Run in order, as often as wanted: each round sorts what the arrays hold then.

        Raises
        ------
        DataError
            If an array is missing, too many, of another device, dtype or size.
        ParameterError
            If there are more columns than the sort was made for.
        """
        size = beside = self.columns * self.n
        if columns is not None:  # of an array that may hold more
            check_length("columns", columns, self.columns)
            size = max((first + columns) * self.n, getattr(keys, "size", 0))
            beside = max(columns * self.n, getattr(values, "size", 0))
        columns = self.columns if columns is None else columns
        check_array("keys", keys, self.device, [self.key_dtype], size)
        if (values is None) != (self.value_dtype is None):
            raise DataError(
                f"values={values!r}: this RadixSort has value_dtype={self.value_dtype}; "
                "give both or neither"
            )
        if values is not None and self.value_dtype is not None:
            check_array("values", values, self.device, [self.value_dtype], beside)
        if self.n < 2 or columns < 1:
            return []
        bind = self._program.prepare if once else self._program.bind
        if _by_columns(self.device, self._program.wg_size, columns):
            groups = min(columns, self._scratch_columns)
            moved = () if values is None else (values, self._values)
            arguments = (np.uint64(first * self.n), np.uint32(self.n), np.uint32(columns))
            return [bind("radix_columns", groups, keys, *arguments, self._keys, *moved)]
        return self._passes(bind, keys, values, first * self.n, columns)

    def _passes(
        self,
        bind: Callable[..., Launch],
        keys: DeviceArray,
        values: DeviceArray | None,
        start: int,
        columns: int,
    ) -> list[Launch]:
        n = np.uint32(self.n)
        chunk, groups = chunking(
            self._row, self._program.wg_size, self.n, self.device, columns=columns
        )
        counts, counters = self._counts, np.uint32(columns * groups << self._bits)
        ends = [(keys, values, np.uint64(start)), (self._keys, self._values, np.uint64(0))]
        launches = []
        for digit in range(32 // self._bits):
            shift = np.uint32(digit * self._bits)
            (source, moved, begin), (target, moved_to, to) = ends
            beside = () if values is None else (moved, moved_to)
            sizes = (begin, n, np.uint32(chunk), shift)
            launches += [
                bind("radix_count", (groups, columns), source, *sizes, counts),
                bind("radix_offsets", 1, counts, counters, self._total),
                bind(
                    "radix_scatter",
                    (groups, columns),
                    *(source, *sizes, counts, target, to),
                    *beside,
                ),
            ]
            ends.reverse()
        return launches

    def sort(self, keys: DeviceArray, values: DeviceArray | None = None) -> None:
        """Sort in place, without waiting; arguments and errors as in ``bind``."""
        run(self.bind(keys, values))


def _by_columns(device: Device, wg_size: int, columns: int) -> bool:
    """Tell whether work-groups sort whole columns: every core gets one, nothing is scanned."""
    return wg_size == 1 and columns >= device.caps.compute_units


def _scratch(device: Device, row: Variant, wg_size: int, n: int, columns: int) -> tuple[int, int]:
    """Return the counters, and the columns of scratch, that sorting up to ``columns`` takes."""
    units = device.caps.compute_units
    tiles = columns * ceil_div(n, wg_size * row.params["items"])
    groups = min(tiles, max(columns, row.params["groups_per_unit"] * units))
    scratch = min(columns, units) if _by_columns(device, wg_size, columns) else columns
    return groups << row.params["radix_bits"], scratch


def scratch_bytes(device: Device, n: int, columns: int, *, has_values: bool) -> int:
    """Return the bytes of scratch of a sort, of the row that the device gets."""
    row = choose("radix_sort", device.caps)
    wg_size = min(row.params["wg_size"], device.caps.max_work_group)
    counters, scratch = _scratch(device, row, wg_size, n, columns)
    return 4 * (counters + 1 + scratch * n * (2 if has_values else 1))


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
