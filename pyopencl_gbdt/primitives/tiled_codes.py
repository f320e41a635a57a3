"""Codes of a page on a device without those of missing values, in tiles of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.lazy_dataclasses import dataclass

U32 = npt.NDArray[np.uint32]
#: A present code in a tile; a tile has at most so many cells.
CELL = np.dtype(np.uint16)
MOST_CELLS = 1 << 16


def tile_begins(feature_offset: U32, capacity: int) -> U32:
    """Cut features into tiles of neighbours.

    Parameters
    ----------
    feature_offset : uint32 array, shape (n_features + 1,)
        First code of every feature, the code for missing values included; then their number.
    capacity : int
        Most codes of a tile, up to 65536; a feature with more has a tile for itself.

    Returns
    -------
    uint32 array, shape (n_tiles + 1,)
        The first feature of every tile, then the number of features.
    """
    offset = feature_offset.astype(np.int64)
    begins, n_features = [0], offset.size - 1
    while begins[-1] < n_features:
        fits = np.searchsorted(offset, offset[begins[-1]] + min(capacity, MOST_CELLS), side="right")
        begins.append(max(begins[-1] + 1, min(int(fits) - 1, n_features)))
    return np.array(begins, np.uint32)


def tiled_features(feature_offset: U32, feature_bins: U32, begins: U32) -> U32:
    """Return where tiles have every feature: its tile, first cell, last cell + 1, missing code.

    Parameters
    ----------
    feature_offset : uint32 array, shape (n_features + 1,)
    feature_bins : uint32 array, shape (n_features,)
        Bins without the code for missing values, which is the number itself.
    begins : uint32 array, shape (n_tiles + 1,)
        As ``tile_begins`` returns them.

    Returns
    -------
    uint32 array, shape (n_features, 4)
    """
    tile = np.repeat(np.arange(begins.size - 1, dtype=np.uint32), np.diff(begins))
    first = feature_offset[:-1] - feature_offset[begins[tile]]
    return np.stack([tile, first, first + feature_bins, feature_bins], axis=1).astype(np.uint32)


@dataclass(frozen=True)
class TiledCodes:
    """The present codes of consecutive rows on a device.

    A cell is the index of a row's bin among all codes of its tile's features. A row's cells of a
    tile ascend; a feature without a cell is missing.

    Attributes
    ----------
    cells : uint16 DeviceArray, shape (n_entries,)
        By tile, then by row, then by feature.
    row_begin : uint32 DeviceArray, shape (n_tiles, n_rows + 1)
        Index of the first cell of every row in every tile; the last one is where the tile ends.
    features : uint32 DeviceArray, shape (n_features, 4)
        See ``tiled_features``.
    begins : uint32 array, shape (n_tiles + 1,)
        See ``tile_begins``.
    """

    cells: DeviceArray
    row_begin: DeviceArray
    features: DeviceArray
    begins: U32

    #: Kernels name a feature by its number: there are no blocks of codes.
    block_features = block_codes = 1
    #: The kernels' word for these codes.
    code_type = "tiled"
    #: Least bytes that tell a row's code: where its cells begin and end, and one of them.
    code_bytes = 2 * 4 + CELL.itemsize

    @property
    def n_rows(self) -> int:
        return self.row_begin.shape[1] - 1

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.cells.nbytes + self.row_begin.nbytes + self.features.nbytes

    @property
    def row_bytes(self) -> int:
        """Mean bytes of a row."""
        return (self.cells.nbytes + self.row_begin.nbytes) // self.n_rows

    @property
    def column_arguments(self) -> dict[str, Any]:
        """The kernel arguments for reading codes; see templates/parts/row_codes.cl.mako."""
        return {**self.cell_arguments(), "features": self.features}

    @property
    def row_arguments(self) -> dict[str, Any]:
        """The same: a row's codes and a feature's are read from the same arrays."""
        return self.column_arguments

    def cell_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading all cells of a row."""
        return {
            "row_begin": self.row_begin, "cells": self.cells, "row_words": self.row_begin.shape[1]
        }  # fmt: skip
