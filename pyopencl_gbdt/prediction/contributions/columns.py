"""Contributions of features of trees are told for the columns of X that they are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Ensemble

I64 = npt.NDArray[np.int64]
#: In places: no tree asks for the column, or for both columns of the pair.
NO_PLACE = -1


def told_places(ensemble: Ensemble, used: npt.NDArray[np.uint32], pairs: bool) -> I64 | None:
    """Return the place of the sum of each column, or of each pair of columns.

    Parameters
    ----------
    ensemble : Ensemble
    used : uint32 array, shape (n_used,)
        Features of trees.
    pairs : bool

    Returns
    -------
    int64 array, shape (n_features + 1,) or (n_features + 1, n_features + 1), or None
        The pair of the features i and j < i has the place ``i * (i - 1) / 2 + j``, and a feature,
        in the diagonal, one behind those of the pairs. None: a feature is made of several columns.
    """
    if (used >= ensemble.n_features).any():
        return None
    width = ensemble.n_features + 1
    found = np.full((width, width) if pairs else width, NO_PLACE, np.int64)
    if pairs:
        one, other = np.tril_indices(used.size, -1)
        found[used[one], used[other]] = found[used[other], used[one]] = np.arange(one.size)
        found[used, used] = one.size + np.arange(used.size)
    else:
        found[used] = np.arange(used.size)
    return found


def to_columns(ensemble: Ensemble, used: npt.NDArray[np.uint32], quanta: I64) -> I64:
    """Return contributions of columns.

    A feature that is made of several columns is shared out equally; what the division leaves goes
    to the first of them.

    Parameters
    ----------
    ensemble : Ensemble
    used : uint32 array, shape (n_used,)
        Features of trees.
    quanta : int64 array, shape (n_rows, n_outputs, n_used)

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1)
        The last column is 0.
    """
    found = np.zeros((*quanta.shape[:2], ensemble.n_features + 1), np.int64)
    for place, feature in enumerate(used.tolist()):
        own, sources = quanta[..., place], ensemble.sources(feature)
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
    quanta : int64 array, shape (n_rows, n_outputs, n_pairs + n_used)
        See ``told_places``.

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1, n_features + 1)
        Symmetric; the diagonal has the contributions of columns.
    """
    width = ensemble.n_features + 1
    found = np.zeros((*quanta.shape[:2], width, width), np.int64)
    one, other = np.tril_indices(used.size, -1)
    sources = [ensemble.sources(feature) for feature in used.tolist()]
    for pair, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        own = quanta[..., pair]
        first, second = np.meshgrid(sources[i], sources[j], indexing="ij")
        share = own // first.size
        for a, b in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
            for line, column in ((a, b), (b, a)):
                found[..., line, column] += share
        rest = own - first.size * share
        for line, column in ((first[0, 0], second[0, 0]), (second[0, 0], first[0, 0])):
            found[..., line, column] += rest
    index = np.arange(width)
    found[..., index, index] = to_columns(ensemble, used, quanta[..., one.size :])
    return found
