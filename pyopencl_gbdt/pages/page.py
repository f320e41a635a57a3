"""Data as codes on a device, and where a histogram has them."""

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
        Value bins; code ``feature_bins[f]`` stands for a missing value.
    feature_offset : uint32 array, shape (n_features + 1,)
        First code of every feature in a histogram, the missing one included where a feature has
        missing values.
    thresholds : float32 array, shape (n_codes,)
        ``thresholds[feature_offset[f] + bin]``: values below it lie in ``0 .. bin``.
    fullest : uint32 array, shape (n_features,)
        The code of every feature that most rows have, or nearly most: histograms may leave it out.
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
        """Codes of all features together."""
        return int(self.feature_offset[-1])

    @property
    def most_codes(self) -> int:
        """Codes of the feature that has most, the missing one counted for every feature."""
        return int(np.diff(self.feature_offset).max())


def smallest_layout(n_features: int) -> Layout:
    """Return the layout with a single bin a feature: no data need less memory."""
    ones = np.ones(n_features, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32)
    return Layout(ones, offset, np.zeros(n_features, np.float32), np.zeros(n_features, np.uint32))


@dataclass(frozen=True)
class QuantizedData:
    """A data set as codes; a list of pages, of which training takes one for now."""

    pages: list[PackedCodes]
    layout: Layout
