"""Rows whose margins are followed while a model is trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.steps import predict
from pyopencl_gbdt.workspace import Workspace

F32 = npt.NDArray[np.float32]
#: Margins before the first tree: of all rows, or of each.
Start = float | F32


@dataclass(frozen=True)
class WatchedRows:
    """An evaluation set on the device.

    Attributes
    ----------
    values : DeviceArray of float32, shape (n_rows, n_features), or None
        None for the training rows, whose margins are there anyway.
    start : float or float32 array, shape (n_rows,)
        Margins before the first tree.
    margins : DeviceArray of float32, shape (n_rows,)
    """

    values: DeviceArray | None
    start: Start
    margins: DeviceArray

    def launches(self, ws: Workspace) -> list[Launch]:
        """Return what adds a finished tree to the margins."""
        if self.values is None:
            return []
        return [
            predict.prepare(
                ws.device,
                self.values,
                ws["walk"],
                ws["first_tree"],
                self.margins,
                trees=(0, 1),
                longest=ws.max_depth + 1,
            )
        ]
