"""Proximities: the share of trees in which two rows meet in a leaf (Breiman, 2001)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.device import Device, Program, build_variant_program, open_device
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import rows_a_launch
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.rows import rows_of
from pyopencl_gbdt.prediction.margins import tried
from pyopencl_gbdt.prediction.walk_rows import is_there

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]
#: Most bytes of the leaves of some rows, and of the counts, that are on the device at a time.
_PIECE_BYTES = 64 * 1024 * 1024


def proximities(
    model: Any,
    X: Any,
    Y: Any = None,
    *,
    missing: float | None = None,
    device: str | Device | None = None,
) -> F32:
    """Return the share of the trees in which two rows have the same leaf.

    The leaves of each row take ``4 * n_trees`` bytes on the host, and the result ``4 * n_rows *
    n_others``. The device holds 192 MiB of leaves and counts at most.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix or Dataset
        As for ``Model.predict``; sparse rows become an array.
    Y : as X, or None
        The other rows; None compares X with itself.
    missing : float or None
        A number that also means "missing"; None: as the estimator has it.
    device : str, Device or None
        Where to predict and to compare; None: the estimator's device, or "auto". All devices give
        the same bits.

    Returns
    -------
    float32 array, shape (n_rows, n_others)
        1 for rows that have the same leaf in all trees, and so the same prediction.

    Raises
    ------
    DataError
        If columns differ from those of training, rows are in batches, or the result would exceed
        the memory.
    ParameterError
        If ``model`` is not a model, or has no trees.
    """
    left = rows_of(model, X, missing=missing, device=device)
    right = left if Y is None else rows_of(model, Y, missing=missing, device=device, name="Y")
    check_free(
        4 * left.n_rows * right.n_rows,
        f"the proximities of {left.n_rows} x {right.n_rows} rows",
        "give fewer rows at a time, as X and Y",
    )
    ids = left.leaf_ids()
    if not ids.shape[1]:
        raise ParameterError(
            "model has no trees: expected one or more, in which rows meet; train it for a round"
        )
    others = ids if Y is None else right.leaf_ids()
    found = np.empty((left.n_rows, right.n_rows), np.float32)
    n_trees = np.float32(ids.shape[1])

    def work() -> None:
        for rows, columns, counts in count_same(left.device, ids, others):
            np.divide(counts, n_trees, out=found[rows, columns], casting="same_kind")

    tried(work)
    return found


def count_same(device: str | Device, left: I32, right: I32) -> Iterator[tuple[slice, slice, F32]]:
    """Yield pieces of left and right rows, and in how many trees they have the same leaf.

    Parameters
    ----------
    device : str or Device
        With "auto", the host counts where no device can be used.
    left, right : int32 array, shape (n_rows, n_trees)
        The leaf of each row in each tree.

    Yields
    ------
    rows, columns : slice
    counts : float32 array, shape (n_left, n_right of the piece)
    """
    if isinstance(device, str) and not is_there(device):
        for row, one in enumerate(left):
            counts = (right == one).sum(axis=1, dtype=np.uint32)
            yield slice(row, row + 1), slice(0, len(right)), counts[None].astype(np.float32)
        return
    opened, n_trees = open_device(device), left.shape[1]
    program, rows, columns = build(opened)
    most = max(1, _PIECE_BYTES // (4 * n_trees))
    n_right = _multiple(min(most, len(right)), columns)
    n_left = min(
        most, _PIECE_BYTES // (4 * n_right), MOST_Y * rows,
        rows_a_launch(opened.caps, 4 * n_trees * n_right / rows), len(left),
    )  # fmt: skip
    n_left = _multiple(max(1, n_left), rows)
    with settled(opened):
        for begin in range(0, len(right), n_right):
            others = _by_tree(right[begin : begin + n_right], columns)
            there = opened.upload(others)
            groups = -(-others.shape[1] // (columns * program.wg_size))
            for first in range(0, len(left), n_left):
                own = _by_tree(left[first : first + n_left], rows)
                counts = opened.empty((own.shape[1], others.shape[1]), np.uint32)
                program.launch(
                    "proximities", (groups, own.shape[1] // rows), n_trees=n_trees,
                    n_left=own.shape[1], n_right=others.shape[1], left=opened.upload(own),
                    right=there, counts=counts,
                )  # fmt: skip
                piece = slice(first, min(first + n_left, len(left)))
                other = slice(begin, min(begin + n_right, len(right)))
                whole = counts.get()[: piece.stop - first, : other.stop - begin]
                yield piece, other, whole.astype(np.float32)


def build(device: Device) -> tuple[Program, int, int]:
    """Return the program, and the sizes of a work-item's tile."""
    variant, program = build_variant_program(device, "proximities", "auto")
    return program, variant.params["rows"], variant.params["columns"]


def _by_tree(ids: I32, multiple: int) -> I32:
    """Return the leaves tree by tree; rows are added until their number is a multiple."""
    n_more = _multiple(len(ids), multiple) - len(ids)
    return np.ascontiguousarray(np.concatenate([ids, np.repeat(ids[-1:], n_more, axis=0)]).T)


def _multiple(n: int, of: int) -> int:
    return -(-n // of) * of
