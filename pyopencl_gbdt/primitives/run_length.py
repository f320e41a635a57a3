"""Runs of equal neighbours: each run's key, with its length or its first value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_variant_program
from pyopencl_gbdt.primitives.checks import (
    MOVED_DTYPES,
    check_apart,
    check_array,
    check_dtype,
    check_length,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.chunks import Chunks

#: Dtypes of keys and values.
DTYPES = (np.uint8, *MOVED_DTYPES)
_MAX_KEYS = 2**32 - 1  # indices are uint32


class _Runs:
    """The common part of both primitives: count the runs' heads by chunks, then move them."""

    def __init__(
        self,
        device: Device,
        n: int,
        key_dtype: npt.DTypeLike,
        value_dtype: np.dtype[Any] | None,
        variant: str | Variant,
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_KEYS)
        self.key_dtype = check_dtype("key_dtype", key_dtype, DTYPES)
        built = build_variant_program(
            device,
            "run_length",
            variant,
            type=f"u{8 * self.key_dtype.itemsize}",
            value="" if value_dtype is None else f"u{8 * value_dtype.itemsize}",
        )
        self._chunks = Chunks(device, self.n, built)

    def _bind_heads(
        self,
        keys: DeviceArray,
        unique: DeviceArray,
        n_runs: DeviceArray,
        second: DeviceArray,
        values: DeviceArray | None = None,
    ) -> list[Launch]:
        check_array("keys", keys, self.device, [self.key_dtype], self.n)
        check_array("unique", unique, self.device, [self.key_dtype], self.n)
        check_apart("unique", unique, "keys", keys)
        check_array("n_runs", n_runs, self.device, [np.uint32], 1)
        moved = {} if values is None else {"values": values}
        return [
            *self._chunks.count("run", keys, n_runs),
            self._chunks.move(
                "run_heads", "offsets", keys=keys, unique=unique, second=second, **moved
            ),
        ]


class RunLength(_Runs):
    """A run-length encoding of ``n`` keys: prepare it once, then bind it to arrays.

    Parameters
    ----------
    n : int
        Keys, 0..2**32 - 1.
    dtype : dtype
        uint8, uint32, int32, float32 or int64. Keys are compared by their bits: -0.0 and +0.0
        differ, NaNs of the same bits are equal.
    variant : str or Variant, default "auto"
        A variant or its name; all give equal bits.

    Raises
    ------
    DataError, ParameterError
        If dtype or n is not among those above.

    Notes
    -----
    Scratch: one uint32 for each key (the first index of each run) and one for each work-group.
    """

    def __init__(
        self, device: Device, n: int, dtype: npt.DTypeLike, *, variant: str | Variant = "auto"
    ) -> None:
        super().__init__(device, n, dtype, None, variant)
        self._starts = device.empty(self.n, np.uint32)

    def bind(
        self, keys: DeviceArray, unique: DeviceArray, counts: DeviceArray, n_runs: DeviceArray
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        keys : DeviceArray of ``dtype``, n elements
        unique : DeviceArray of ``dtype``, n elements, written; not ``keys``
            The key of every run; elements from n_runs on stay unchanged.
        counts : DeviceArray of uint32, n elements, written; not ``keys`` or ``unique``
            The length of every run; elements from n_runs on stay unchanged.
        n_runs : DeviceArray of uint32, 1 element, written
        """
        check_array("counts", counts, self.device, [np.uint32], self.n)
        launches = self._bind_heads(keys, unique, n_runs, self._starts)
        check_apart("counts", counts, "keys", keys)
        check_apart("counts", counts, "unique", unique)
        sizes = (np.uint32(self.n), n_runs)
        bind, groups = self._chunks.program.bind, self._chunks.groups
        return [*launches, bind("run_lengths", groups, self._starts, *sizes, counts)]


class UniqueByKey(_Runs):
    """Each run's key and first value, of ``n`` keys: prepare it once, then bind it to arrays.

    Parameters
    ----------
    n : int
        Keys, 0..2**32 - 1.
    key_dtype, value_dtype : dtype
        As for ``RunLength``; so are ``variant`` and the errors.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        key_dtype: npt.DTypeLike,
        value_dtype: npt.DTypeLike,
        *,
        variant: str | Variant = "auto",
    ) -> None:
        self.value_dtype = check_dtype("value_dtype", value_dtype, DTYPES)
        super().__init__(device, n, key_dtype, self.value_dtype, variant)

    def bind(
        self,
        keys: DeviceArray,
        values: DeviceArray,
        unique: DeviceArray,
        firsts: DeviceArray,
        n_runs: DeviceArray,
    ) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        keys, values : DeviceArray of ``key_dtype`` and ``value_dtype``, n elements each
        unique, firsts : DeviceArray of the same dtypes, n elements each, written
            Key and first value of every run; elements from n_runs on stay unchanged.
        n_runs : DeviceArray of uint32, 1 element, written
        """
        check_array("values", values, self.device, [self.value_dtype], self.n)
        check_array("firsts", firsts, self.device, [self.value_dtype], self.n)
        for name, array in (("values", values), ("keys", keys), ("unique", unique)):
            check_apart("firsts", firsts, name, array)
        check_apart("unique", unique, "values", values)
        return self._bind_heads(keys, unique, n_runs, firsts, values)


def run_length_encode(
    keys: DeviceArray, *, variant: str | Variant = "auto"
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return the key and the length of every run of equal neighbours, and the number of runs.

    Parameters
    ----------
    keys : DeviceArray of uint8, uint32, int32, float32 or int64
        Compared by their bits.
    variant : str or Variant, default "auto"

    Returns
    -------
    unique : DeviceArray like ``keys``
        As large as ``keys``, like ``counts``; elements from n_runs on are undefined.
    counts : DeviceArray of uint32
    n_runs : DeviceArray of uint32, 1 element
        The host does not wait for it.

    Raises
    ------
    DataError
        If ``keys`` is not a device array, or is of another dtype.
    ParameterError
        If ``variant`` is unknown.
    """
    device = own_device("keys", keys)
    prepared = RunLength(device, keys.size, keys.dtype, variant=variant)
    unique, n_runs = device.empty(keys.size, keys.dtype), device.empty(1, np.uint32)
    counts = device.empty(keys.size, np.uint32)
    run(prepared.bind(keys, unique, counts, n_runs))
    return unique, counts, n_runs


def unique_by_key(
    keys: DeviceArray, values: DeviceArray, *, variant: str | Variant = "auto"
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return the key and the first value of every run of equal neighbours, and the number of runs.

    Parameters, results and errors are those of ``run_length_encode``. ``values`` is a DeviceArray
    of any of the same dtypes, with one element for each key.
    """
    device = own_device("keys", keys)
    check_array("values", values, device, DTYPES, keys.size)
    prepared = UniqueByKey(device, keys.size, keys.dtype, values.dtype, variant=variant)
    unique, n_runs = device.empty(keys.size, keys.dtype), device.empty(1, np.uint32)
    firsts = device.empty(keys.size, values.dtype)
    run(prepared.bind(keys, values, unique, firsts, n_runs))
    return unique, firsts, n_runs
