"""Features that are shares, 0..1, and change during a training: their cuts have equal distances."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.pages.cuts import Cuts

N_BINS = 32
#: Between the bins; exact in float32.
CUTS = (np.arange(1, N_BINS) / N_BINS).astype(np.float32)


def with_shares(cuts: Cuts, n_shares: int) -> Cuts:
    """Return cut points in which those of the last features are ``CUTS``."""
    if not n_shares:
        return cuts
    width = max(cuts.below.shape[1], N_BINS)
    padding = ((0, 0), (0, width - cuts.below.shape[1]))
    below, above = np.pad(cuts.below, padding), np.pad(cuts.above, padding)
    n_bins, missing, fullest = cuts.n_bins.copy(), cuts.missing.copy(), cuts.fullest.copy()
    last = slice(n_bins.size - n_shares, None)
    below[last, :N_BINS] = above[last, :N_BINS] = np.append(CUTS, np.float32(1))
    n_bins[last], missing[last], fullest[last] = N_BINS, True, N_BINS
    return Cuts(below, above, n_bins, missing, fullest)
