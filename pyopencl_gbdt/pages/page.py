"""Quantised data on a device, and the order of its codes in a histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.primitives.packed_codes import PackedCodes


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
    """

    feature_bins: np.ndarray[tuple[int], np.dtype[np.uint32]]
    feature_offset: np.ndarray[tuple[int], np.dtype[np.uint32]]
    thresholds: np.ndarray[tuple[int], np.dtype[np.float32]]
    fullest: np.ndarray[tuple[int], np.dtype[np.uint32]]

    @property
    def n_features(self) -> int:
        return int(self.feature_bins.size)

    @property
    def n_codes(self) -> int:
        """Number of codes of all features together."""
        return int(self.feature_offset[-1])

    @property
    def most_codes(self) -> int:
        """Largest number of codes of a feature, the code for missing values included."""
        return int(np.diff(self.feature_offset).max())


def smallest_layout(n_features: int) -> Layout:
    """Return the layout with one bin per feature, which needs the least memory of all."""
    ones = np.ones(n_features, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32)
    return Layout(ones, offset, np.zeros(n_features, np.float32), np.zeros(n_features, np.uint32))


@dataclass(frozen=True)
class QuantizedData:
    """A data set as pages of codes; training uses the first page only."""

    pages: list[PackedCodes]
    layout: Layout
