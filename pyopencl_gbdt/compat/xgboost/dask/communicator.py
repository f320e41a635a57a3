"""``collective``'s block, for functions that Dask's workers run."""

from __future__ import annotations

from typing import Any

import distributed

from pyopencl_gbdt.compat.xgboost import collective


class WorkerContext(collective.CommunicatorContext):
    """As ``collective.CommunicatorContext``; the worker's name and address are its task."""

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        worker = distributed.get_worker()
        self.args["DMLC_TASK_ID"] = f"[xgboost.dask-{worker.name}]:{worker.address}"
