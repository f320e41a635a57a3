"""What a sparse matrix holds, as far as the memory of a fit depends on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.pages.columns import entries_of
from pyopencl_gbdt.pages.cuts import ordered
from pyopencl_gbdt.pages.page import Layout

I64 = npt.NDArray[np.int64]
#: Bytes of the host's objects in a fit, beside its arrays.
_HOST_BYTES = 90_000


@dataclass(frozen=True)
class ValueCounts:
    """Present and distinct values of every column.

    Attributes
    ----------
    n_rows : int
    present : int64 array, shape (n_features,)
    distinct : int64 array, shape (n_features,)
    """

    n_rows: int
    present: I64
    distinct: I64

    @classmethod
    def of(cls, matrix: SparseMatrix) -> ValueCounts:
        """Count the values of a matrix; the host sorts them, and takes 30 bytes for each."""
        columns = entries_of(matrix)
        keys = columns.features.astype(np.uint64) << np.uint64(32)
        keys |= ordered(columns.values)
        keys.sort()
        new = np.concatenate([[True], keys[1:] != keys[:-1]])[: keys.size]
        features = (keys[new] >> np.uint64(32)).astype(np.int64)
        distinct = np.bincount(features, minlength=columns.n_features)
        return cls(columns.n_rows, np.diff(columns.starts), distinct.astype(np.int64))

    @property
    def n_features(self) -> int:
        return int(self.present.size)

    @property
    def n_entries(self) -> int:
        return int(self.present.sum())

    @property
    def density(self) -> float:
        """The share of values that are present, 0 to 1."""
        return self.n_entries / (self.n_rows * self.n_features)

    def host_bytes(self, max_bin: int | None, *, tiled: bool = False) -> int:
        """Return the peak bytes of the host's arrays while columns are sorted or encoded.

        The matrix itself is not counted. The factors were measured with ``tracemalloc`` on four
        matrices of 60 k to 300 k entries; the sum of NumPy's temporary arrays has no simpler form.

        Parameters
        ----------
        max_bin : int or None
            As for ``layout``; None is sorted on the device.
        tiled : bool
            Whether codes are tiled; else columns are kept sorted.
        """
        n_codes = self.layout(max_bin).n_codes
        if max_bin is None:  # entries by column, and values on both sides of thresholds
            return _HOST_BYTES + (
                8 * self.n_entries + 8 * n_codes + 12 * min(n_codes, 1 << 20) + 57 * self.n_features
            )
        each = 52 if tiled else 60
        n_distinct = int(self.distinct.sum())
        return _HOST_BYTES + (
            each * self.n_entries + 48 * n_distinct + 11 * n_codes + 27 * self.n_features
        )

    def layout(self, max_bin: int | None) -> Layout:
        """Return the layout of these values with at most ``max_bin`` bins; None is one for each.

        Thresholds and fullest codes are 0. Where a few values have most of a column's rows, a
        column gets fewer bins than this says.
        """
        missing = self.present < self.n_rows
        bins = self.distinct
        if max_bin is not None:
            bins = np.minimum(bins, np.where((max_bin == 256) & missing, 255, max_bin))
        offset = np.zeros(self.n_features + 1, np.int64)
        np.cumsum(bins + missing, out=offset[1:])
        thresholds = np.zeros(int(offset[-1]), np.float32)
        fullest = np.zeros(self.n_features, np.uint32)
        return Layout(bins.astype(np.uint32), offset.astype(np.uint32), thresholds, fullest)
