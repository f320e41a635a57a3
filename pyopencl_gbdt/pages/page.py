"""Quantised data on a device, and the order of its codes in a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from pyopencl_gbdt.device import Capabilities, DeviceArray
from pyopencl_gbdt.device.program import rows_a_launch
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes, PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


@dataclass(frozen=True)
class Layout:
    """Where each feature's codes lie in a histogram.

    Attributes
    ----------
    feature_bins : uint32 array, shape (n_features,)
        Bins for values; code ``feature_bins[f]`` means a missing value.
    feature_offset : uint32 array, shape (n_features + 1,)
        Index of every feature's first code in a histogram, then the number of codes. A feature with
        missing values has a code for them.
    thresholds : float32 array, shape (n_codes,)
        Values below ``thresholds[feature_offset[f] + bin]`` are in bins ``0 .. bin``.
    fullest : uint32 array, shape (n_features,)
        The code that most rows have, or nearly most. Histograms may leave it out, because its sums
        are the node's sums minus those of the feature's other codes.
    categorical : bool array, shape (n_features,), or None
        Features whose bins are levels of categories; None is none.
    """

    feature_bins: np.ndarray[tuple[int], np.dtype[np.uint32]]
    feature_offset: np.ndarray[tuple[int], np.dtype[np.uint32]]
    thresholds: np.ndarray[tuple[int], np.dtype[np.float32]]
    fullest: np.ndarray[tuple[int], np.dtype[np.uint32]]
    categorical: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None

    @cached_property
    def n_features(self) -> int:
        return int(self.feature_bins.size)

    @cached_property
    def n_codes(self) -> int:
        """Number of codes of all features together."""
        return int(self.feature_offset[-1])

    @cached_property
    def most_codes(self) -> int:
        """Largest number of codes of a feature, the code for missing values included."""
        return int(np.diff(self.feature_offset).max())


def even_layout(n_features: int, n_bins: int = 1) -> Layout:
    """Return the layout of features that all have so many bins, and no missing values.

    With one bin for each, it needs the least memory of all.
    """
    bins, zeros = np.full(n_features, n_bins, np.uint32), np.zeros(n_features, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32) * np.uint32(n_bins)
    return Layout(bins, offset, np.zeros(n_features * n_bins, np.float32), zeros)


#: Codes of rows, in the form in which they are stored.
AnyCodes = PackedCodes | TiledCodes | JoinedCodes


@dataclass(frozen=True)
class Page:
    """The codes of consecutive rows, resident on a device.

    Attributes
    ----------
    first_row, n_rows : int
        The page has the rows ``first_row .. first_row + n_rows - 1`` of the data.
    """

    codes: AnyCodes
    first_row: int
    n_rows: int


@dataclass(frozen=True)
class SortedColumns:
    """The present values of all columns, sorted by feature and bin, resident on a device.

    An entry is a present value: its row, and its place, which is the index of its bin in the layout
    of all features.

    Attributes
    ----------
    rows, places : uint32 DeviceArray, shape (n_entries,)
    features : uint32 DeviceArray, shape (n_codes,)
        The feature of every bin's place; nothing reads those of missing values.
    missing : bool
        Whether some row has no entry in some feature.
    first_row : int
        0: the page has all rows.
    """

    rows: DeviceArray
    places: DeviceArray
    features: DeviceArray
    n_rows: int
    missing: bool
    first_row: int = 0

    @property
    def n_entries(self) -> int:
        return self.rows.size


#: Rows of a data set on a device, in the form that the search of splits reads.
AnyPage = Page | SortedColumns


@dataclass(frozen=True)
class QuantizedData:
    """A data set as pages, in the order of their rows."""

    pages: Sequence[AnyPage]
    layout: Layout


def histogram_rows(caps: Capabilities, row_bytes: int) -> int:
    """Return the most rows that one launch may add to histograms.

    It reads a row's codes, and for every 16 bytes of them the row's quanta and number.
    """
    return rows_a_launch(caps, 2 * row_bytes)


def most_page_bytes(caps: Capabilities, row_bytes: int) -> int:
    """Return the most bytes of a page's codes: a driver's limits on allocations and launches."""
    return min(caps.max_alloc_bytes, histogram_rows(caps, row_bytes) * row_bytes)


def page_bounds(
    n_rows: int, row_bytes: int, most_bytes: int, n_pages: int = 0
) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of every page; their sizes differ by 1 at most.

    Parameters
    ----------
    row_bytes : int
        The bytes of a row's codes, padding included.
    most_bytes : int
        The device's largest allocation; a page's codes fit into it, twice (by row, by feature).
    n_pages : int
        Number of pages, at most ``n_rows``; 0 is the fewest that fit.
    """
    fewest = -(-n_rows // max(1, most_bytes // row_bytes))
    n_pages = max(1, min(n_rows, n_pages or max(1, fewest)))
    begins = [n_rows * i // n_pages for i in range(n_pages + 1)]
    return [(a, b - a) for a, b in pairwise(begins)]
