"""Sums of values by bucket; values of a bucket need not be neighbours."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.primitives.checks import check_array, own_device, run
from pyopencl_gbdt.primitives.chunks import BUCKET_DTYPES, Buckets


class MultiReduce(Buckets):
    """Sums of ``n`` values by bucket: prepare them once, then bind them to arrays.

    Nothing is sorted; one pass sums all buckets (multireduce of interleaved sequences in Mitchell &
    Frank, "Accelerating the XGBoost algorithm using GPU computing", 2017).

    Parameters
    ----------
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
        A variant or its name; all give equal bits.

    Raises
    ------
    DataError, ParameterError
        If a dtype, n or n_buckets is not among those above.
    """

    _kernel = "multi_reduce"

    def bind(self, values: DeviceArray, buckets: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, shape (n,), or (n, 2) of pairs
        buckets : DeviceArray of ``bucket_dtype``, n elements
            Values whose bucket is n_buckets or more are left out.
        out : DeviceArray of ``dtype``, shape (n_buckets,), or (n_buckets, 2), written
        """
        launches = self._bind_sums(values, buckets)
        self._check_values("out", out, self.n_buckets)
        arguments = (self._sums, np.uint32(self._groups), out)
        groups = self.n_buckets * self._numbers
        return [*launches, self._program.bind("multi_totals", groups, *arguments)]


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
        Values whose bucket is n_buckets or more are left out.
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
        If an array is not a device array, or is of another device, dtype or shape.
    ParameterError
        If ``n_buckets`` or ``variant`` is not among those above.
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
