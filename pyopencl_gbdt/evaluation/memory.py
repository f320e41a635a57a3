"""Plan the device memory of evaluation sets and their metrics: bring them to a device on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.evaluation.evaluation import Evaluation
from pyopencl_gbdt.evaluation.watched import EvaluationSet, RowsInBatches, is_read_anew, prefix_of
from pyopencl_gbdt.growth.dropout import of_followed_rows
from pyopencl_gbdt.metrics import Metric
from pyopencl_gbdt.objectives import Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.prediction.predict_sparse import SparseRows


def plan_evaluation(
    device: Device,
    objective: Objective,
    metrics: Mapping[str, Metric],
    evals: Sequence[tuple[Dataset, str]],
    data: Dataset,
    gathered: Dataset | None = None,
    *,
    weighted: bool = False,
) -> MemoryPlan:
    """Return the plan of all sets, without the margins and labels of the training rows.

    Parameters
    ----------
    device : Device
    objective : Objective
    metrics : mapping of str to Metric
    evals : sequence of (Dataset, str)
    data : Dataset
        The training rows.
    gathered : Dataset or None
        The training rows of all members of a team.
    weighted : bool
        Whether trees have weights, so that sets have sums of trees.
    """
    plan = MemoryPlan()
    for rows, name in evals:
        paper, prefix = PaperDevice.like(device, has_limits=False), prefix_of(name)
        shape = max(objective.n_outputs, rows.n_targets), rows.n_rows
        if rows is data:
            watched = EvaluationSet(None, 0.0, DeviceArray(paper, shape, np.float32, None))
        else:
            values = None if rows is gathered else _values(device, paper, rows, shape[0])
            margins = paper.empty(shape, np.float32, "margins")
            watched = EvaluationSet(values, 0.0, margins, gathered=rows is gathered)
            if weighted and values is not None:
                of_followed_rows(paper, shape)
        labels = DeviceArray(paper, (rows.label.size,), np.float32, None)
        Evaluation(paper, objective, metrics, [(rows, name)], [watched], labels)
        for number, one in enumerate(paper.allocations):
            own = one.name.removeprefix(f"{prefix}: ") or f"array {number}"
            plan.add(f"{prefix}: {own}", one.shape, one.dtype)
    return plan


def _values(
    device: Device, paper: PaperDevice, rows: Dataset, n_outputs: int
) -> DeviceArray | SparseRows | RowsInBatches:
    """Return the values of a set on paper, where ``EvaluationSet.of`` will have them."""
    shape = rows.n_rows, rows.n_features
    if rows.sparse is not None:
        from pyopencl_gbdt.prediction.predict_sparse import SparseRows

        return SparseRows.of(paper, rows.sparse)
    if rows.batches is not None and is_read_anew(device, rows.batches):
        anew = RowsInBatches(paper, rows.batches)
        paper.empty((n_outputs, anew.piece.shape[0]), np.float32, "margins of a piece")
        return anew
    if rows.lies_on(device):
        return DeviceArray(paper, shape, np.float32, None)
    return paper.empty(shape, np.float32, "values")
