"""Margins of an ensemble on any device."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.fallback import with_fallbacks
from pyopencl_gbdt.device.pace import settled
from pyopencl_gbdt.dtypes import WALK
from pyopencl_gbdt.frames import clear_frames
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.steps import predict

F32 = npt.NDArray[np.float32]
#: Rows go to the device in pieces of at most this many bytes.
_PIECE_BYTES = 256 * 1024 * 1024
#: Trees of one launch: none may run into a display's watchdog (0.2 s).
_TREES_A_LAUNCH = 64


def pack(ensemble: Ensemble) -> tuple[npt.NDArray[np.void], npt.NDArray[np.uint32], int]:
    """Return nodes of all trees as ``dtypes.WALK``, where each begins, and the longest way."""
    begin = np.zeros(len(ensemble.trees) + 1, np.int64)
    np.cumsum([tree.n_nodes for tree in ensemble.trees], out=begin[1:])
    walk = np.zeros(int(begin[-1]), WALK)
    longest = 1
    for tree, first in zip(ensemble.trees, begin, strict=False):
        mine = walk[first : first + tree.n_nodes]
        mine["left"] = np.where(tree.is_leaf, 0, tree.left)
        mine["feature"] = tree.feature
        mine["default_left"] = tree.default_left
        mine["number"] = np.where(tree.is_leaf, tree.value[:, 0], tree.threshold)
        longest = max(longest, int(tree.depth.max()) + 1)
    return walk, begin.astype(np.uint32), longest


def predict_margins(ensemble: Ensemble, values: F32, device: str | Device = "auto") -> F32:
    """Return the margin of every row: the float32 sum of starting score and leaf values, in order.

    Parameters
    ----------
    ensemble : Ensemble
    values : float32 array, shape (n_rows, n_features), C order
        NaN is missing.
    device : str or Device

    Returns
    -------
    float32 array, shape (n_rows,)
    """
    try:
        return with_fallbacks(partial(_open_and_predict, ensemble, values, device))
    except BaseException as error:
        clear_frames(error)
        raise


def _open_and_predict(ensemble: Ensemble, values: F32, device: str | Device) -> F32:
    opened = open_device(device)
    with settled(opened):
        return _predict(opened, ensemble, values)


def _predict(opened: Device, ensemble: Ensemble, values: F32) -> F32:
    walk, begin, longest = pack(ensemble)
    n_trees = len(ensemble.trees)
    nodes, tree_begin = opened.upload(walk), opened.upload(begin)
    rows = max(1, min(_PIECE_BYTES, opened.caps.max_alloc_bytes) // (4 * values.shape[1]))
    out = np.full(values.shape[0], ensemble.base_margin, np.float32)
    for first in range(0, values.shape[0], rows):
        piece = opened.upload(values[first : first + rows])
        margins = opened.upload(out[first : first + rows])
        for tree in range(0, n_trees, _TREES_A_LAUNCH):
            trees = (tree, min(tree + _TREES_A_LAUNCH, n_trees))
            predict.prepare(
                opened, piece, nodes, tree_begin, margins, trees=trees, longest=longest
            )()
        out[first : first + rows] = margins.get()
    return out
