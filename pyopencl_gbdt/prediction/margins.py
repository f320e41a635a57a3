"""Margins of an ensemble on any device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, open_device
from pyopencl_gbdt.device.fallback import with_fallbacks
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.pace import settled
from pyopencl_gbdt.device.tracebacks import clear_frames
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction import predict
from pyopencl_gbdt.prediction.packing import packed

F32 = npt.NDArray[np.float32]
#: Rows go to the device in pieces of at most this many bytes.
_PIECE_BYTES = 256 * 1024 * 1024
#: Rows times trees of one launch: none may run into a display's watchdog (0.2 s), and binding a
#: launch takes the host 0.3 ms.
_WALKS_A_LAUNCH = 2**27
#: Intel's CPU runtime reads the host's memory in place where it lies on a multiple of so many bytes
#: (MEM_BASE_ADDR_ALIGN), and copies it otherwise, 28 MB in 17 ms. NumPy's arrays do not lie so.
_ALIGNED = 128
_WORTH_ALIGNING = 4 * 1024 * 1024
#: Rows of 4 bytes or more that end at a multiple of 4096 bytes.
_RESIDENT_ROWS = 1024


def predict_margins(
    ensemble: Ensemble,
    values: F32 | DeviceMatrix,
    device: str | Device = "auto",
    *,
    start: F32 | None = None,
    rounds: tuple[int, int] | None = None,
) -> F32:
    """Return the margins of every row: the float32 sum of starting score and leaf values, in order.

    Parameters
    ----------
    ensemble : Ensemble
    values : float32 array or DeviceMatrix, shape (n_rows, n_features), C order
        NaN is missing. A matrix that lies on the device is read there.
    device : str or Device
    start : float32 array, shape of the result, or None
        Where the sum of every row starts; None is the ensemble's ``base_margin``.
    rounds : (int, int) or None
        First round and round behind the last; None is all of them.

    Returns
    -------
    float32 array, shape (n_rows,), or (n_outputs, n_rows) if there are several outputs
    """
    work = partial(_open_and_predict, ensemble, values, device, start, rounds)
    try:
        return with_fallbacks(work)
    except BaseException as error:
        clear_frames(error)
        raise


def _open_and_predict(
    ensemble: Ensemble,
    values: F32 | DeviceMatrix,
    device: str | Device,
    start: F32 | None,
    rounds: tuple[int, int] | None,
) -> F32:
    opened = open_device(device)
    out = np.empty((ensemble.n_outputs, values.shape[0]), np.float32)
    out[:] = np.array(each(ensemble.base_margin))[:, None] if start is None else start
    given = values.for_device(opened) if isinstance(values, DeviceMatrix) else values
    with settled(opened):
        _add_trees(opened, ensemble, given, out, rounds or (0, ensemble.n_rounds))
    return out[0] if ensemble.n_outputs == 1 else out


def _add_trees(
    opened: Device,
    ensemble: Ensemble,
    values: F32 | DeviceArray,
    out: F32,
    rounds: tuple[int, int],
) -> None:
    if not isinstance(values, DeviceArray):
        values = np.ascontiguousarray(values, np.float32)  # itself, where the contract is kept
    n_rows = values.shape[0]
    limit = min(_PIECE_BYTES, opened.caps.max_alloc_bytes)
    walk = predict.plan_walk(opened, packed(ensemble), n_rows, limit)
    for piece in _pieces(values, walk.piece_rows, opened.borrows):
        walk.take(_rows(opened, values, piece))
        for output, own in enumerate(out):
            margins = opened.upload(own[piece])
            n_together = max(1, _WALKS_A_LAUNCH // margins.size)
            begin, end = ((output * ensemble.n_rounds + r) * ensemble.n_parallel for r in rounds)
            for tree in range(begin, end, n_together):
                walk.add(margins, (tree, min(tree + n_together, end)))
            own[piece] = margins.get()


def _rows(opened: Device, values: F32 | DeviceArray, piece: slice) -> F32 | DeviceArray:
    if isinstance(values, DeviceArray):
        if piece.start == 0 and piece.stop >= values.shape[0]:
            return values
        return opened.rows(values, piece.start, min(piece.stop, values.shape[0]))
    return values[piece]


def _pieces(values: F32 | DeviceArray, most: int, borrows: bool) -> Iterator[slice]:
    """Cut rows into pieces of ``most`` rows.

    Where the device reads the host's memory, a few rows go first, so that the others are aligned;
    pieces of what is on the device start at a multiple of 4096 bytes.
    """
    n_rows = values.shape[0]
    if isinstance(values, DeviceArray):
        most = max(1, most // _RESIDENT_ROWS) * _RESIDENT_ROWS
        for first in range(0, n_rows, most):
            yield slice(first, first + most)
        return
    row_bytes = values.shape[1] * values.itemsize
    head = 0
    if borrows and values.nbytes >= _WORTH_ALIGNING:
        rows = range(_ALIGNED // values.itemsize)
        aligned = [row for row in rows if (values.ctypes.data + row * row_bytes) % _ALIGNED == 0]
        head = min([*aligned[:1], most])
        yield from [slice(0, head)] if head else []
    for first in range(head, n_rows, most):
        yield slice(first, first + most)
