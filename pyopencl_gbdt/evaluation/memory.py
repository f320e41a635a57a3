"""Plan the device memory of evaluation sets and their metrics, before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.evaluation.prepared import by_kind, n_classes_of, runs_kernels
from pyopencl_gbdt.evaluation.rows_in_batches import is_read_anew, piece_rows
from pyopencl_gbdt.metrics import Metric
from pyopencl_gbdt.metrics.rows import N_WORDS, RowShape
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.prediction.predict_sparse import plan_rows


def plan_evaluation(
    device: Device,
    objective: Objective,
    metrics: Mapping[str, Metric],
    evals: Sequence[tuple[Dataset, str]],
    data: Dataset,
    gathered: Dataset | None = None,
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
    """
    plan = MemoryPlan()
    for rows, name in evals:
        prefix, n_outputs = f"evals {name!r}", max(objective.n_outputs, rows.n_targets)
        if rows is not data:
            if rows is gathered:
                pass  # its members have the values
            elif rows.sparse is not None:
                plan_rows(plan, prefix, device, rows.sparse)
            elif rows.batches is not None and is_read_anew(device, rows.batches):
                shape = piece_rows(rows.batches), rows.n_features
                plan.add(f"{prefix}: values", shape, np.float32)
                plan.add(f"{prefix}: margins of a piece", (n_outputs, shape[0]), np.float32)
            elif not rows.lies_on(device):
                plan.add(f"{prefix}: values", (rows.n_rows, rows.n_features), np.float32)
            plan.add(f"{prefix}: margins", (n_outputs, rows.n_rows), np.float32)
        on_device = {
            m: one for m, one in metrics.items() if runs_kernels(device, one, objective, rows)
        }
        if on_device:
            plan.add(f"{prefix}: labels", 0 if rows is data else rows.label.size, np.float32)
            _plan_metrics(plan, prefix, device, objective, rows, on_device)
    return plan


def _plan_metrics(
    plan: MemoryPlan,
    prefix: str,
    device: Device,
    objective: Objective,
    rows: Dataset,
    metrics: Mapping[str, Metric],
) -> None:
    """Add the memory of a set's metrics, without its margins and labels, to the plan."""
    weighted = rows.weight is not None
    shape = RowShape(device, rows.label.size, weighted, n_classes_of(objective))
    plan.add(f"{prefix}: weights", rows.label.size if weighted else 1, np.float32)
    plan.add(f"{prefix}: results", (len(metrics) * objective.n_outputs, N_WORDS), np.int64)
    for kind, own in by_kind(metrics):
        kind.plan(plan, prefix, shape, rows, own)
