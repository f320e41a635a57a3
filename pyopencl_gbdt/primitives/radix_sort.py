"""Stable LSD radix sort of 4- and 8-byte keys, with or without 4- or 8-byte values; argsort."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    check_array,
    check_dtype,
    check_length,
    check_values,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.radix_plan import Passes, SortPlan, cut_bits, place_of, take

#: Dtypes of keys and values.
DTYPES = (np.uint32, np.int32, np.float32, np.uint64, np.int64, np.float64)
MAX_KEYS = 2**40 - 1  # a tile's state word has 40 bits for an index
_KEY_NAMES = {**C_NAMES, np.dtype(np.float64): "f64"}


class RadixSort:
    """A stable sort of columns of ``n`` keys in place: prepare it once, then bind it to arrays.

    Every pass sorts the keys by one digit, the least significant first. On GPUs whose work-groups
    see each other's writes, one launch counts the digits of all passes, and each pass is one
    launch, whose tiles look back for the counts of earlier tiles (Adinets & Merrill, "Onesweep: a
    faster least significant digit radix sort for GPUs", 2022). On other devices a pass counts the
    digits of each work-group's chunk, scans the counts and scatters the keys (Satish, Harris &
    Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009). Unlike theirs,
    a chunk has many tiles, so the table of counts is small. The number of passes is even, so the
    result is in the input array. The same launches sort all columns. If work-groups have one
    work-item and there is a column for every compute unit, a work-group sorts whole columns.

    Parameters
    ----------
    n : int
        Keys of a column, 0..2**40 - 1.
    key_dtype : dtype
        uint32, int32, float32, uint64, int64 or float64. The float keys -0.0 and +0.0 are equal.
        Every NaN, of any sign and payload, comes last, in descending order too. Equal keys keep
        their order and their bits. Kernels do no arithmetic in double precision.
    value_dtype : dtype, optional
        One of the same; None sorts keys without values.
    columns : int, default 1
        Most columns that are sorted at a time; at most 2**40 - 1 keys together.
    descending : bool, default False
        Whether the largest key comes first; equal keys keep their order.
    begin_bit, end_bit : int, optional
        Sort only by the bits ``begin_bit..end_bit - 1`` of the key's ordered form; bit 0 is the
        lowest. The ordered form of an unsigned integer is the key itself. Of a signed integer, the
        sign bit is flipped. Of a float, the sign bit is set if it was clear, else all bits are
        flipped; -0.0 counts as +0.0, and a NaN has all bits set. Descending sorts take the
        complement, except of NaN. Default: all bits.
    variant : str or Variant, default "auto"
        A variant or its name; all give equal bits.

    Raises
    ------
    DataError
        If a dtype is not among those above.
    ParameterError
        If ``n``, ``columns`` or a bit is out of range.

    Notes
    -----
    Scratch: a copy of keys and values, and one counter per digit and work-group or one word per
    digit and tile. If work-groups sort whole columns, the copy has a column for each work-group.
    See ``radix_plan.scratch_bytes``.

    Examples
    --------
    >>> keys, rows = device.upload(x), device.upload(np.arange(x.size, dtype=np.uint32))
    >>> sort = RadixSort(device, x.size, x.dtype, rows.dtype, descending=True)
    >>> sort.sort(keys, rows)  # rows.get() is an argsort
    """

    def __init__(
        self,
        device: Device,
        n: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike | None = None,
        *,
        columns: int = 1,
        descending: bool = False,
        begin_bit: int = 0,
        end_bit: int | None = None,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n = check_length("n", n, MAX_KEYS)
        self.columns = check_length("columns", columns, MAX_KEYS // max(1, self.n))
        self.key_dtype = check_dtype("key_dtype", key_dtype, DTYPES)
        self.value_dtype = (
            None if value_dtype is None else check_dtype("value_dtype", value_dtype, DTYPES)
        )
        cut_bits(begin_bit, end_bit, self.key_dtype, 1)  # raises before anything is built

        chosen, self._program = build_variant_program(
            device,
            "radix_sort",
            variant,
            derived=lambda chosen: {
                "take": take(
                    chosen, device.caps, self.n * self.columns, self.key_dtype, self.value_dtype
                )
            },
            key=_KEY_NAMES[self.key_dtype],
            value_bytes=0 if self.value_dtype is None else self.value_dtype.itemsize,
            place=C_NAMES[np.dtype(place_of(self.n * self.columns))],
            descending=bool(descending),
        )
        self._radix_bits = chosen.params["radix_bits"]
        self._bits = cut_bits(begin_bit, end_bit, self.key_dtype, self._radix_bits)
        self._plan = SortPlan(
            chosen, device.caps, self._program.wg_size, self.n, self.columns, self.key_dtype,
            self.value_dtype,
        )  # fmt: skip
        scratch = self._plan.scratch()
        self._scratch = {name: device.empty(*array) for name, array in scratch.items()}

    def bind(
        self,
        keys: DeviceArray,
        values: DeviceArray | None = None,
        *,
        first: int = 0,
        columns: int | None = None,
        end_bit: int | None = None,
        once: bool = False,
    ) -> list[Launch]:
        """Bind the passes to arrays.

        Parameters
        ----------
        keys : DeviceArray of ``key_dtype``, written
            Columns of n elements, one after the other.
        values : DeviceArray of ``value_dtype``, written
            Moved with the keys; required if and only if the sort has a ``value_dtype``. Its first
            column belongs to the first column that is sorted.
        first : int, default 0
            The first column of ``keys`` to sort.
        columns : int, optional
            Number of columns to sort, at most the number that the sort was made for. By default the
            sort's own number, and the arrays must have exactly these columns.
        end_bit : int, optional
            Sort only by bits below this one, which is at most the sort's own; fewer bits take
            fewer passes.
        once : bool, default False
            Whether the launches will run only once; such launches cost less to bind and more to
            run.

        Returns
        -------
        list of Launch
            Run them in order, as often as needed; each run sorts the arrays' current contents.

        Raises
        ------
        DataError
            If an array is missing or not expected, is of another device, dtype or size, or both
            arrays are the same.
        ParameterError
            If there are more columns or bits than the sort was made for.
        """
        bits = self._bits
        if end_bit is not None:
            bits = cut_bits(bits.begin, end_bit, self.key_dtype, self._radix_bits)
            check_length("end_bit", end_bit, self._bits.end)
        size = beside = self.columns * self.n
        if columns is not None:  # the arrays may have more columns
            check_length("columns", columns, self.columns)
            size = max((first + columns) * self.n, getattr(keys, "size", 0))
            beside = max(columns * self.n, getattr(values, "size", 0))
        columns = self.columns if columns is None else columns
        check_array("keys", keys, self.device, [self.key_dtype], size)
        check_values("RadixSort", values, keys, self.device, self.value_dtype, beside)
        if self.n < 2 or columns < 1 or not bits.passes:
            return []
        bind = self._program.prepare if once else self._program.bind
        passes = Passes(self._plan, bits, self._scratch, bind, columns)
        return passes.launches(keys, values, first)

    def sort(self, keys: DeviceArray, values: DeviceArray | None = None) -> None:
        """Sort in place, without waiting; arguments and errors are those of ``bind``."""
        run(self.bind(keys, values))

    def number(self, indices: DeviceArray) -> None:
        """Write 0, 1, 2, ... to a uint32 array, without waiting."""
        check_array("indices", indices, self.device, [np.uint32])
        units = self.device.caps.compute_units
        self._program.launch("radix_number", units, indices, np.uint64(indices.size))


def radix_sort(
    keys: DeviceArray,
    values: DeviceArray | None = None,
    *,
    descending: bool = False,
    begin_bit: int = 0,
    end_bit: int | None = None,
    variant: str | Variant = "auto",
) -> None:
    """Sort keys in place by a stable sort, and move values with them.

    Parameters
    ----------
    keys : DeviceArray of uint32, int32, float32, uint64, int64 or float64, written
        For floats, -0.0 equals +0.0 and every NaN comes last.
    values : DeviceArray of one of the same dtypes, as many as keys, written, optional

    Raises
    ------
    DataError
        If an array is not a device array, is of another device, dtype or size, or both arrays are
        the same.
    ParameterError
        If a bit is out of range, or ``variant`` is unknown.

    Examples
    --------
    >>> keys = device.upload(np.array([3, 1, 2], np.int64))
    >>> radix_sort(keys, descending=True)
    >>> keys.get()
    array([3, 2, 1])
    """
    device = own_device("keys", keys)
    if values is not None:
        check_array("values", values, device, DTYPES, keys.size)
    RadixSort(
        device,
        keys.size,
        keys.dtype,
        None if values is None else values.dtype,
        descending=descending,
        begin_bit=begin_bit,
        end_bit=end_bit,
        variant=variant,
    ).sort(keys, values)


def radix_argsort(
    keys: DeviceArray,
    *,
    descending: bool = False,
    begin_bit: int = 0,
    end_bit: int | None = None,
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the indices that sort the keys; equal keys keep their order, keys stay unchanged.

    Parameters
    ----------
    keys : DeviceArray of at most 2**32 keys, dtype as for ``radix_sort``

    Returns
    -------
    DeviceArray of uint32, as many as keys

    Raises
    ------
    DataError, ParameterError
        As for ``radix_sort``; ParameterError also for more than 2**32 keys.
    """
    device = own_device("keys", keys)
    check_length("keys", keys.size, 2**32)
    sort = RadixSort(
        device,
        keys.size,
        keys.dtype,
        np.uint32,
        descending=descending,
        begin_bit=begin_bit,
        end_bit=end_bit,
        variant=variant,
    )
    indices = device.empty(keys.shape, np.uint32)
    if keys.size:
        copied = device.empty(keys.shape, keys.dtype)
        device.copy(keys, copied, 0)
        sort.number(indices)
        sort.sort(copied, indices)
    return indices
