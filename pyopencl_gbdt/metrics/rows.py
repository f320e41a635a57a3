"""Rows that metrics are computed for, on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Program, build_variant_program
from pyopencl_gbdt.device.arena import Arena, Contents
from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
#: Size in int64 words of a metric's result on the device, of which five are used.
N_WORDS = 8


@dataclass(frozen=True)
class EvaluatedRows:
    """Margins, labels and weights of an evaluation set on a device, and its data on the host.

    Attributes
    ----------
    arena : Arena
        Where metrics get their arrays.
    margins : DeviceArray of float32, n_rows elements, or shape (n_classes, n_rows)
    labels : DeviceArray of float32, n_rows elements
    weights : DeviceArray of float32, n_rows elements; a dummy if there are no weights
    label : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    link : str
        Statements that set the prediction ``p`` from ``margin``, see ``Objective.link``.
    wg_size : int
        Work-items per work-group; 0 is the variant's default.
    n_classes : int
        Number of classes, whose probabilities are the softmax of a row's margins; 0 for rows
        with a single margin.
    name : str
        Begins the names of the metrics' arrays.
    """

    arena: Arena
    margins: DeviceArray
    labels: DeviceArray
    weights: DeviceArray
    label: F32
    weight: F32 | None
    link: str
    wg_size: int = 0
    n_classes: int = 0
    name: str = ""

    @property
    def device(self) -> Device:
        return self.arena.device

    @property
    def n_rows(self) -> int:
        return int(self.label.size)

    @property
    def groups(self) -> int:
        """Number of work-groups; they share the rows evenly."""
        return self.device.caps.row_groups(self.n_rows)

    def array(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> DeviceArray:
        """Return an array of a metric; see ``Arena.array``."""
        return self.arena.array(f"{self.name}{name}", shape, dtype, contents)

    def program(self, kernel: str, **constants: Any) -> Program:
        """Return a metric's program; its template gets the link and these constants."""
        own = {"wg_size": self.wg_size, "link": self.link, **constants}
        return build_variant_program(self.device, kernel, "auto", **own)[1]

    def of(self, metric: str) -> EvaluatedRows:
        """Return the same rows for a metric; its arrays have the metric's name in theirs."""
        return replace(self, name=f"{self.name}{metric}.")
