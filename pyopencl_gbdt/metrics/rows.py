"""Rows that metrics are computed of, on a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray

F32 = npt.NDArray[np.float32]
#: Words (int64) that a metric leaves for the host, of which five are used: a row of the results.
N_WORDS = 8


@dataclass(frozen=True)
class RowShape:
    """What memory for the metrics of a set depends on.

    Attributes
    ----------
    device : Device
    n_rows, n_classes : int
        As of ``EvaluatedRows``.
    weighted : bool
    """

    device: Device
    n_rows: int
    weighted: bool
    n_classes: int = 0

    @property
    def groups(self) -> int:
        """Work-groups that share the rows evenly."""
        return max(1, min(8 * self.device.caps.compute_units, (self.n_rows + 255) // 256))


@dataclass(frozen=True)
class EvaluatedRows:
    """Margins, labels and weights of a set, on a device, and what the host knows of them.

    Attributes
    ----------
    device : Device
    margins : DeviceArray of float32, n_rows elements, or shape (n_classes, n_rows)
    labels : DeviceArray of float32, n_rows elements
    weights : DeviceArray of float32, n_rows elements; one that is not read, without weights
    label : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    link : str
        Statements that set the prediction ``p`` from ``margin``, see ``Objective.link``.
    wg_size : int
        Work-items of a work-group; 0 leaves it to the variant.
    n_classes : int
        Classes, whose probabilities are the softmax of a row's margins; 0 where a row has a margin.
    """

    device: Device
    margins: DeviceArray
    labels: DeviceArray
    weights: DeviceArray
    label: F32
    weight: F32 | None
    link: str
    wg_size: int = 0
    n_classes: int = 0

    @property
    def shape(self) -> RowShape:
        weighted = self.weight is not None
        return RowShape(self.device, self.label.size, weighted, self.n_classes)

    @property
    def n_rows(self) -> int:
        return int(self.label.size)

    @property
    def groups(self) -> int:
        """Work-groups that share the rows evenly."""
        return self.shape.groups
