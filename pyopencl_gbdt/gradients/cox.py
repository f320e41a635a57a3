"""Gradients of ``survival:cox`` from margins: scans over the rows in the order of their times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives.survival import PLANES, in_time, top_bits
from pyopencl_gbdt.primitives.reduce import Reduce
from pyopencl_gbdt.primitives.scan import Scan

F32 = npt.NDArray[np.float32]
_PLANES = [f"cox_{name}{j}" for name, (planes, _) in PLANES.items() for j in range(planes)]


class CoxGradients:
    """Computes ``given_g`` and ``given_h``; needs 64 bytes for each row.

    Parameters
    ----------
    label : float32 array, shape (n_rows,)
        Times; negative for censored rows.
    """

    def __init__(self, arena: Arena, rows: FitRows, ways: Ways, label: F32) -> None:
        self.arena, self.rows, self._label = arena, rows, label
        n, device = label.size, arena.device
        self._program = device.build("cox", wg_size=ways.wg_size(ways.variant("gradients")))
        self._largest = Reduce(device, n, np.float32, op="max")
        self._scan = Scan(device, n, np.int64, inclusive=True)
        for name in ("cox_quanta", "cox_sums", *_PLANES):
            arena.array(name, n, np.int64)
        arena.array("cox_largest", 1, np.float32)
        arena.array("cox_starts", n, np.uint32)
        arena.array("cox_order", n, np.uint32, self._sort)

    def _sort(self, order: DeviceArray) -> None:
        """Sort the rows by time on the host, and upload their order."""
        found, starts = in_time(self._label)
        order.set(found)
        self.arena["cox_starts"].set(starts)

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Launch]:
        """Return the launches of a round."""
        bind = self._program.bind
        arena, rows = self.arena, self.rows
        groups, n = rows.row_groups, rows.n_rows
        order, starts, quanta, sums, largest = (
            arena[f"cox_{name}"] for name in ("order", "starts", "quanta", "sums", "largest")
        )
        planes = {name.removeprefix("cox_"): arena[name] for name in _PLANES}
        risks = arena["given_h"]  # used as scratch until the last kernel writes the Hessians
        top = top_bits(rows.n_rows)
        return [
            bind("cox_exponentials", groups, n, order, arena["margins"], risks),
            *self._largest.bind(risks, largest),
            bind("cox_quanta", groups, n, top, largest, risks, quanta),
            *self._scan.bind(quanta, sums),
            bind("cox_terms", groups, n_rows=n, starts=starts, sums=sums, **planes),
            *(launch for plane in planes.values() for launch in self._scan.bind(plane, plane)),
            bind(
                "cox_gradients", groups, n_rows=n, order=order, starts=starts, quanta=quanta,
                **planes, gradients=arena["given_g"], hessians=arena["given_h"],
            ),
        ]  # fmt: skip
