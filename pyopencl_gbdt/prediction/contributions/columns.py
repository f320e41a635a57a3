"""Contributions of features of trees are told for the columns of X that they are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Ensemble

I64 = npt.NDArray[np.int64]


def to_columns(ensemble: Ensemble, used: npt.NDArray[np.uint32], quanta: I64) -> I64:
    """Return contributions of columns.

    A feature that is made of several columns is shared out equally; what the division leaves goes
    to the first of them.

    Parameters
    ----------
    ensemble : Ensemble
    used : uint32 array, shape (n_used,)
        Features of trees.
    quanta : int64 array, shape (n_outputs, n_used, n_rows)

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1)
        The last column is 0.
    """
    n_outputs, _, n_rows = quanta.shape
    found = np.zeros((n_rows, n_outputs, ensemble.n_features + 1), np.int64)
    if not (used >= ensemble.n_features).any():
        found[..., used] = quanta.transpose(2, 0, 1)
        return found
    for place, feature in enumerate(used.tolist()):
        own, sources = quanta[:, place].T, ensemble.sources(feature)
        share = own // len(sources)
        for source in sources:
            found[..., source] += share
        found[..., sources[0]] += own - len(sources) * share
    return found


def pairs_to_columns(ensemble: Ensemble, used: npt.NDArray[np.uint32], quanta: I64) -> I64:
    """Return interactions of columns; features of several columns are shared out equally.

    Parameters
    ----------
    ensemble : Ensemble
    used : uint32 array, shape (n_used,)
        Features of trees.
    quanta : int64 array, shape (n_outputs, n_pairs, n_rows)
        The pair of the features i and j < i is in ``i * (i - 1) / 2 + j``.

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1, n_features + 1)
        Symmetric, and 0 on the diagonal.
    """
    n_outputs, _, n_rows = quanta.shape
    width, by_pair = ensemble.n_features + 1, quanta.transpose(2, 0, 1)
    found = np.zeros((n_rows, n_outputs, width, width), np.int64)
    one, other = np.tril_indices(used.size, -1)
    if not (used >= ensemble.n_features).any():
        found[..., used[one], used[other]] = by_pair
        found[..., used[other], used[one]] = by_pair
        return found
    sources = [ensemble.sources(feature) for feature in used.tolist()]
    for pair, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        own = by_pair[..., pair]
        first, second = np.meshgrid(sources[i], sources[j], indexing="ij")
        share = own // first.size
        for a, b in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
            for line, column in ((a, b), (b, a)):
                found[..., line, column] += share
        rest = own - first.size * share
        for line, column in ((first[0, 0], second[0, 0]), (second[0, 0], first[0, 0])):
            found[..., line, column] += rest
    index = np.arange(width)
    found[..., index, index] = 0
    return found
