"""Prefix sums within buckets; values of a bucket need not be neighbours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import check_array, own_device, run
from pyopencl_gbdt.primitives.chunks import BUCKET_DTYPES, Buckets


class MultiScan(Buckets):
    """A scan of ``n`` values within their buckets: prepare it once, then bind it to arrays.

    This is the multiscan of Mitchell & Frank, "Accelerating the XGBoost algorithm using GPU
    computing" (2017). Their threads keep a sum for each bucket. Here a tile is sorted by bucket in
    local memory and scanned once, so the cost of a value does not grow with the number of buckets.

    Parameters
    ----------
    device, n, n_buckets, dtype, pairs, bucket_dtype, variant
        As for ``MultiReduce``; so are the errors.
    inclusive : bool, default False
        Whether ``out[i]`` includes ``values[i]``.
    """

    _kernel = "multi_scan"

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
        super().__init__(
            *(device, n, n_buckets, dtype), pairs=pairs, bucket_dtype=bucket_dtype, variant=variant
        )
        self.inclusive = bool(inclusive)

    def bind(self, values: DeviceArray, buckets: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, shape (n,), or (n, 2) of pairs
        buckets : DeviceArray of ``bucket_dtype``, n elements
            For buckets of n_buckets or more, ``out`` is 0.
        out : DeviceArray like ``values``, written
            May be ``values``.
        """
        launches = self._bind_sums(values, buckets)
        self._check_values("out", out, self.n)
        if self.n == 0:
            return []
        bind, sums_per_chunk = self._program.bind, self.n_buckets * self._numbers
        arguments = (values, buckets, *self._sizes, np.uint32(self.inclusive), self._sums, out)
        return [
            *launches,
            bind("multi_offsets", sums_per_chunk, self._sums, np.uint32(self._groups)),
            bind("multi_places", self._groups, *arguments),
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
    """Return, for every value, the sum of the earlier values of its bucket.

    Parameters
    ----------
    values, buckets, n_buckets
        As for ``multi_reduce``, with the same errors. For buckets of n_buckets or more, the result
        is 0.
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.
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
