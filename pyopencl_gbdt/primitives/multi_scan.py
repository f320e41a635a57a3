"""Prefix sums within buckets, wherever the buckets lie."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import check_array, own_device, run
from pyopencl_gbdt.primitives.multi_reduce import BUCKET_DTYPES, Buckets


class MultiScan:
    """A scan of ``n`` values within their buckets, prepared once and bound to arrays.

    Interleaved keys of Mitchell & Frank, "Accelerating the XGBoost algorithm using GPU computing"
    (2017). They keep a sum a bucket and a thread; here a tile is sorted by bucket in local memory
    and scanned once, so the cost of a value does not grow with the number of buckets.

    Parameters
    ----------
    device, n, n_buckets, dtype, pairs, bucket_dtype, variant
        As for ``MultiReduce``, as are the errors.
    inclusive : bool, default False
        Whether ``out[i]`` counts ``values[i]``.
    """

    def __init__(
        self,
        device: Device,
        n: int,
        n_buckets: int,
        dtype: npt.DTypeLike,
        *,
        inclusive: bool = False,
        pairs: bool = False,
        bucket_dtype: npt.DTypeLike = np.uint8,
        variant: str | Variant = "auto",
    ) -> None:
        self.inclusive = bool(inclusive)
        self._buckets = Buckets(
            *(device, "multi_scan", n, n_buckets, dtype),
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
            Where it is n_buckets or more, ``out`` is 0.
        out : DeviceArray like ``values``, written
            May be ``values``.

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
        own.check_values("out", out, own.n)
        if own.n == 0:
            return []
        sizes = (np.uint32(own.n_buckets), np.uint32(own.n), np.uint32(own.chunk))
        arguments = (values, buckets, *sizes, np.uint32(self.inclusive), own.sums, out)
        rows = own.n_buckets * own.numbers
        return [
            *launches,
            own.program.bind("multi_offsets", rows, own.sums, np.uint32(own.groups)),
            own.program.bind("multi_places", own.groups, *arguments),
        ]


def multi_scan(
    values: DeviceArray,
    buckets: DeviceArray,
    n_buckets: int,
    out: DeviceArray | None = None,
    *,
    inclusive: bool = False,
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return for every value the sum of those before it that have its bucket.

    Parameters
    ----------
    values : DeviceArray of int32, uint32 or int64, shape (n,); or of int64, shape (n, 2)
        Sums wrap.
    buckets : DeviceArray of uint8 or uint32, n elements
        Where it is n_buckets or more, the result is 0.
    n_buckets : int
        1..64.
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.
    inclusive, variant
        As for ``MultiScan``.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.

    Raises
    ------
    DataError
        If an array is no device array, of another device, dtype or shape.
    ParameterError
        If ``n_buckets`` or ``variant`` is none of the above.
    """
    device = own_device("values", values)
    check_array("buckets", buckets, device, BUCKET_DTYPES)
    prepared = MultiScan(
        *(device, buckets.size, n_buckets, values.dtype),
        inclusive=inclusive,
        pairs=len(values.shape) == 2,
        bucket_dtype=buckets.dtype,
        variant=variant,
    )
    if out is None:
        out = device.empty(values.shape, values.dtype)
    run(prepared.bind(values, buckets, out))
    return out
