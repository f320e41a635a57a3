"""An evaluation set that is read anew in every round: only its margins stay on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.staging import PIECE_BYTES
from pyopencl_gbdt.prediction import predict

#: An evaluation set in batches stays on the device if its values take at most this share of the
#: device's memory.
MOST_RESIDENT = 0.25


def is_read_anew(device: Device, rows: BatchedRows) -> bool:
    """Tell whether an evaluation set is too large to stay on a device."""
    return 4 * rows.shape[0] * rows.shape[1] > MOST_RESIDENT * device.caps.global_bytes


def piece_rows(rows: BatchedRows) -> int:
    """Return the rows that are brought to the device at a time."""
    return min(rows.most_rows, max(1, PIECE_BYTES // (4 * rows.shape[1])))


class RowsInBatches:
    """The rows of an evaluation set, and the place on the device for some of them.

    Parameters
    ----------
    device : Device
    rows : BatchedRows
    """

    def __init__(self, device: Device, rows: BatchedRows) -> None:
        self.device, self.rows = device, rows
        self.piece = device.empty((piece_rows(rows), rows.shape[1]), np.float32)


class AddTrees:
    """The action that adds finished trees to the margins of all rows, piece by piece.

    Parameters
    ----------
    rows : RowsInBatches
    margins : DeviceArray of float32, shape (n_rows,) or (n_outputs, n_rows), written
    nodes, roots : DeviceArray
        As for ``predict.prepare``.
    options : mapping of str to object
        Other arguments of ``predict.prepare``.
    """

    name = "add_trees"

    def __init__(
        self,
        rows: RowsInBatches,
        margins: DeviceArray,
        nodes: DeviceArray,
        roots: DeviceArray,
        options: Mapping[str, Any],
    ) -> None:
        self._rows, self._margins = rows, margins
        self._trees, self._options = (nodes, roots), dict(options)

    def __call__(self) -> None:
        """Read the rows once, and add the trees; waits for the device."""
        device, piece = self._rows.device, self._rows.piece
        margins = self._margins.get()
        for first, block in self._rows.rows.blocks(piece.shape[0]):
            device.write(piece, block, 0)
            some = slice(first, first + len(block))
            own = device.upload(np.ascontiguousarray(margins[..., some]))
            values = device.rows(piece, 0, len(block))
            for launch in predict.prepare(device, values, *self._trees, own, **self._options):
                launch()
            margins[..., some] = own.get()
        self._margins.set(margins)
