"""Twin of ``growth.approx``: bins that hold about equal sums of Hessians."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout

I64 = npt.NDArray[np.int64]


def bin_ends(hessians: I64, max_bin: int) -> I64:
    """Return for each value of a feature the last value of its bin.

    Parameters
    ----------
    hessians : int64 array, shape (n_values,)
        Sum of Hessians of each value, in quanta; in the order of the values.
    max_bin : int
        A feature with at most so many values keeps a bin for each.

    Notes
    -----
    With H the sum of Hessians of smaller values and T that of all, a value belongs to bin
    floor(H * max_bin / T). So all values of a bin but the last sum to less than
    T / max_bin. Values behind the last one with a Hessian share the last end.
    """
    n = hessians.size
    if n <= max_bin:
        return np.arange(n)
    total = max(int(hessians.sum()), 1)
    below = [0, *hessians.cumsum().tolist()]
    number = np.array([h * max_bin // total for h in below])  # Python's integers do not overflow
    last = np.flatnonzero(number[1:] != number[:-1])
    return np.append(last, n - 1)[np.searchsorted(last, np.arange(n))]


def merge_bins(hist: I64, deciding: I64, layout: Layout, max_bin: int) -> I64:
    """Return a histogram in which the last value of each bin has the sums of the bin.

    Parameters
    ----------
    hist : int64 array, shape (n_codes, 2)
        Sums of gradients and Hessians of every distinct value.
    deciding : int64 array, shape (n_codes, 2)
        The sums that decide where bins end: the root's, or those of the node itself.
    layout : Layout
    max_bin : int
    """
    merged: I64 = hist.copy()
    for offset, n_bins in zip(layout.feature_offset, layout.feature_bins, strict=False):
        own = slice(int(offset), int(offset) + int(n_bins))
        ends = bin_ends(deciding[own, 1], max_bin)
        merged[own] = 0
        np.add.at(merged[own], ends, hist[own])
    return merged
