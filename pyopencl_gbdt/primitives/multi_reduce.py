"""Sums of values by bucket, wherever the buckets lie."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, build_row
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    check_array,
    check_dtype,
    check_length,
    chunking,
    own_device,
    run,
)

DTYPES = (np.int32, np.uint32, np.int64)
BUCKET_DTYPES = (np.uint8, np.uint32)
MAX_BUCKETS = 64
_MAX_VALUES = 2**32 - 1


class Buckets:
    """``n`` values with a bucket each, and the sums of every work-group by bucket.

    What ``MultiReduce`` and ``MultiScan`` have in common; parameters and errors are theirs.
    """

    def __init__(
        self,
        device: Device,
        kernel: str,
        n: int,
        n_buckets: int,
        dtype: npt.DTypeLike,
        *,
        pairs: bool,
        bucket_dtype: npt.DTypeLike,
        variant: str | Variant,
    ) -> None:
        self.device = device
        self.n = check_length("n", n, _MAX_VALUES)
        if isinstance(n_buckets, bool) or n_buckets not in range(1, MAX_BUCKETS + 1):
            raise ParameterError(
                f"n_buckets={n_buckets!r}: expected an integer 1..{MAX_BUCKETS}; for more, sort "
                "the values by bucket and use segmented_reduce or segmented_scan"
            )
        self.n_buckets = int(n_buckets)
        self.dtype = check_dtype("dtype", dtype, (np.int64,) if pairs else DTYPES)
        self.numbers = 2 if pairs else 1
        self.bucket_dtype = check_dtype("bucket_dtype", bucket_dtype, BUCKET_DTYPES)
        row, self.program = build_row(
            device,
            kernel,
            variant,
            type=f"u{8 * self.dtype.itemsize}",
            numbers=self.numbers,
            bucket=C_NAMES[self.bucket_dtype],
        )
        self.chunk, self.groups = chunking(row, self.program.wg_size, self.n, device)
        self.sums = device.empty((self.n_buckets * self.numbers, self.groups), self.dtype)

    def check_values(self, name: str, array: DeviceArray, n: int) -> None:
        """Raise DataError unless an array has ``n`` of the values, of the device and dtype."""
        check_array(name, array, self.device, [self.dtype])
        shape = (n, 2) if self.numbers == 2 else (n,)
        if array.shape != shape:
            raise DataError(f"{name}: shape {array.shape}; expected {shape}; one value a bucket id")

    def bind_sums(self, values: DeviceArray, buckets: DeviceArray) -> list[Launch]:
        """Check the inputs and bind the kernel that sums chunks."""
        self.check_values("values", values, self.n)
        check_array("buckets", buckets, self.device, [self.bucket_dtype], self.n)
        sizes = (np.uint32(self.n_buckets), np.uint32(self.n), np.uint32(self.chunk))
        arguments = (values, buckets, *sizes, self.sums)
        return [self.program.bind("multi_sums", self.groups, *arguments)]


class MultiReduce:
    """Sums of ``n`` values by bucket, prepared once and bound to arrays.

    Interleaved keys of Mitchell & Frank, "Accelerating the XGBoost algorithm using GPU computing"
    (2017): nothing is sorted, all buckets are summed in one pass.

    Parameters
    ----------
    device : Device
    n : int
        Values, 0..2**32 - 1.
    n_buckets : int
        1..64.
    dtype : dtype
        int32, uint32 or int64; sums wrap.
    pairs : bool, default False
        Whether a value is a pair of int64, such as a gradient and a Hessian.
    bucket_dtype : dtype, default uint8
        uint8 or uint32.
    variant : str or Variant, default "auto"
        Row of the variant table; all of them give equal bits.

    Raises
    ------
    DataError, ParameterError
        If a dtype, n or n_buckets is none of the above.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_buckets: int,
        dtype: npt.DTypeLike,
        *,
        pairs: bool = False,
        bucket_dtype: npt.DTypeLike = np.uint8,
        variant: str | Variant = "auto",
    ) -> None:
        self._buckets = Buckets(
            *(device, "multi_reduce", n, n_buckets, dtype),
            pairs=pairs,
            bucket_dtype=bucket_dtype,
            variant=variant,
        )

    def bind(self, values: DeviceArray, buckets: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, shape (n,), or (n, 2) of pairs
        buckets : DeviceArray of ``bucket_dtype``, n elements
            Values with a bucket of n_buckets or more are left out.
        out : DeviceArray of ``dtype``, shape (n_buckets,), or (n_buckets, 2), written

        Returns
        -------
        list of Launch
            Run in order, as often as wanted.

        Raises
        ------
        DataError
            If an array is of another device, dtype or shape.
        """
        own = self._buckets
        launches = own.bind_sums(values, buckets)
        own.check_values("out", out, own.n_buckets)
        arguments = (own.sums, np.uint32(own.groups), out)
        return [
            *launches,
            own.program.bind("multi_totals", own.n_buckets * own.numbers, *arguments),
        ]


def multi_reduce(
    values: DeviceArray,
    buckets: DeviceArray,
    n_buckets: int,
    *,
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the sum of the values of every bucket.

    Parameters
    ----------
    values : DeviceArray of int32, uint32 or int64, shape (n,); or of int64, shape (n, 2)
        Sums wrap.
    buckets : DeviceArray of uint8 or uint32, n elements
        Values with a bucket of n_buckets or more are left out.
    n_buckets : int
        1..64.
    variant : str or Variant, default "auto"

    Returns
    -------
    DeviceArray like ``values``, shape (n_buckets,) or (n_buckets, 2)
        The host does not wait for it.

    Raises
    ------
    DataError
        If an array is no device array, of another device, dtype or shape.
    ParameterError
        If ``n_buckets`` or ``variant`` is none of the above.
    """
    device = own_device("values", values)
    check_array("buckets", buckets, device, BUCKET_DTYPES)
    pairs = len(values.shape) == 2
    prepared = MultiReduce(
        *(device, buckets.size, n_buckets, values.dtype),
        pairs=pairs,
        bucket_dtype=buckets.dtype,
        variant=variant,
    )
    out = device.empty((n_buckets, 2) if pairs else n_buckets, values.dtype)
    run(prepared.bind(values, buckets, out))
    return out
