"""Launches that several primitives share.

``Compact``, ``RunLength`` and ``StablePartition`` count chunks, then move; ``MultiReduce`` and
``MultiScan`` sum chunks by bucket.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import (
    Device,
    DeviceArray,
    Launch,
    Program,
    Variant,
    build_variant_program,
)
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    check_array,
    check_dtype,
    check_length,
    chunking,
)


class Chunks:
    """``n`` elements in chunks, one chunk for each work-group, and a counter for each chunk.

    ``n``: 0..2**32 - 1.
    ``built``: as ``build_variant_program`` returns them.
    """

    def __init__(self, device: Device, n: int, built: tuple[Variant, Program]) -> None:
        chosen, self.program = built
        chunk, self.groups = chunking(chosen, self.program.wg_size, n, device)
        self._sizes = n, chunk
        self._counts = device.empty(self.groups, np.uint32)

    def count(self, name: str, marks: DeviceArray, total: DeviceArray) -> list[Launch]:
        """Bind ``<name>_counts``, which counts, and ``<name>_offsets``, which scans the counters.

        Each chunk's counter then has the count of all earlier chunks, and ``total`` has the sum.
        """
        bind, counts = self.program.bind, self._counts
        return [
            bind(f"{name}_counts", self.groups, marks, *self._sizes, counts),
            bind(f"{name}_offsets", 1, counts, self.groups, total),
        ]

    def move(self, name: str, before: str, **more: Any) -> Launch:
        """Bind a kernel that moves elements to places given by the scanned counters.

        ``before``: the kernel's name for the counters.
        """
        n, chunk = self._sizes
        return self.program.bind(
            name, self.groups, n=n, chunk=chunk, **{before: self._counts}, **more
        )


DTYPES = (np.int32, np.uint32, np.int64)
BUCKET_DTYPES = (np.uint8, np.uint32)
MAX_BUCKETS = 64
_MAX_VALUES = 2**32 - 1


class Buckets:
    """``n`` values with a bucket id each, and every work-group's sums by bucket.

    Parameters and errors are those of ``MultiReduce``.
    """

    _kernel: ClassVar[str]

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
        self.device = device
        self.n = check_length("n", n, _MAX_VALUES)
        if isinstance(n_buckets, bool) or n_buckets not in range(1, MAX_BUCKETS + 1):
            raise ParameterError(
                f"n_buckets={n_buckets!r}: expected an integer 1..{MAX_BUCKETS}; for more, sort "
                "the values by bucket and use segmented_reduce or segmented_scan"
            )
        self.n_buckets = int(n_buckets)
        self.dtype = check_dtype("dtype", dtype, (np.int64,) if pairs else DTYPES)
        self._numbers = 2 if pairs else 1
        self.bucket_dtype = check_dtype("bucket_dtype", bucket_dtype, BUCKET_DTYPES)
        chosen, self._program = build_variant_program(
            device,
            self._kernel,
            variant,
            type=f"u{8 * self.dtype.itemsize}",
            numbers=self._numbers,
            bucket=C_NAMES[self.bucket_dtype],
        )
        chunk, self._groups = chunking(chosen, self._program.wg_size, self.n, device)
        self._sizes = np.uint32(self.n_buckets), np.uint32(self.n), np.uint32(chunk)
        self._sums = device.empty((self.n_buckets * self._numbers, self._groups), self.dtype)

    def _check_values(self, name: str, array: DeviceArray, n: int) -> None:
        """Raise DataError unless an array is on the device and has ``n`` values of the dtype."""
        check_array(name, array, self.device, [self.dtype])
        shape = (n, 2) if self._numbers == 2 else (n,)
        if array.shape != shape:
            raise DataError(f"{name}: shape {array.shape}; expected {shape}; one value a bucket id")

    def _bind_sums(self, values: DeviceArray, buckets: DeviceArray) -> list[Launch]:
        """Check the inputs and bind the kernel that sums chunks by bucket."""
        self._check_values("values", values, self.n)
        check_array("buckets", buckets, self.device, [self.bucket_dtype], self.n)
        arguments = (values, buckets, *self._sizes, self._sums)
        return [self._program.bind("multi_sums", self._groups, *arguments)]
