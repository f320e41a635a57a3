"""Trees that several devices grow together, from parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fitting import StartingPoint, Task
from pyopencl_gbdt.training.together import leading


def trees_together(
    devices: Sequence[Device], params: Parameters, objective: Objective, data: Dataset, start: float
) -> list[Tree]:
    """Train as many rounds as ``params`` say from a margin; each device has an equal part."""
    edges = [data.n_rows * k // len(devices) for k in range(len(devices) + 1)]
    task = Task(params, objective, data, (), {}, StartingPoint(start, start))
    with leading(devices, task, list(pairwise(edges))) as fit:
        for _ in range(params.n_estimators):
            fit.step()
        return fit.model().ensemble.trees
