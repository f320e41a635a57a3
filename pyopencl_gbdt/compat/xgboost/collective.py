"""XGBoost's ``collective``: one process, or the ranks of an MPI job.

In a job (``mpirun -n 4 python script.py``) ``init`` joins the ranks of ``MPI.COMM_WORLD``; there is
no tracker. Ranks train together by ``pyopencl_gbdt.train``, see ``docs/large-data.md``.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.team.mpi import job_communicator
from pyopencl_gbdt.errors import ParameterError

_KNOWN = ("", "rabit", "federated", "in-memory", "in-memory-federated")


class Op(IntEnum):
    """What ``allreduce`` does with the numbers of all processes."""

    MAX = 0
    MIN = 1
    SUM = 2
    BITWISE_AND = 3
    BITWISE_OR = 4
    BITWISE_XOR = 5


_FUNCTIONS: Mapping[Op, Callable[..., Any]] = {
    Op.MAX: np.maximum, Op.MIN: np.minimum, Op.SUM: np.add, Op.BITWISE_AND: np.bitwise_and,
    Op.BITWISE_OR: np.bitwise_or, Op.BITWISE_XOR: np.bitwise_xor,
}  # fmt: skip


class _Job:
    """The ranks that ``init`` joined; None outside ``init`` and ``finalize``."""

    communicator: Any = None


@dataclass
class Config:
    """Settings of a communicator, which one process does not need."""

    retry: int | None = None
    timeout: int | None = None
    tracker_host_ip: str | None = None
    tracker_port: int | None = None
    tracker_timeout: int | None = None
    worker_port: Any = None

    def get_comm_config(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return ``args`` with the settings that are given."""
        given = {"dmlc_retry": self.retry, "dmlc_timeout": self.timeout}
        return {**args, **{name: value for name, value in given.items() if value is not None}}


def init(**args: Any) -> None:
    """Join the ranks of the MPI job, if a launcher started several; else begin alone.

    Raises
    ------
    ParameterError
        If several processes are named that no launcher of MPI started.
    """
    names = {name.lower(): value for name, value in args.items()}
    kind = names.get("dmlc_communicator", "")
    everyone = job_communicator() if kind in ("", "rabit") else None
    if everyone is not None:
        finalize()
        _Job.communicator = everyone.Dup()
        return
    several = int(names.get("dmlc_num_worker", names.get("in_memory_world_size", 1)) or 1) > 1
    if kind not in _KNOWN or several or "dmlc_tracker_uri" in names:
        raise ParameterError(
            f"collective.init({sorted(names)}): expected one process, or ranks that mpirun starts; "
            "start them by mpirun, or train by Dask"
        )


def finalize() -> None:
    """Leave the ranks of the job."""
    if _Job.communicator is not None:
        _Job.communicator.Free()
        _Job.communicator = None


def get_rank() -> int:
    """Return the number of this process."""
    return 0 if _Job.communicator is None else int(_Job.communicator.Get_rank())


def get_world_size() -> int:
    """Return the number of processes."""
    return 1 if _Job.communicator is None else int(_Job.communicator.Get_size())


def is_distributed() -> bool:
    """Tell whether there are several processes."""
    return get_world_size() > 1


def communicator_print(msg: Any) -> None:
    """Print a message."""
    text = msg if isinstance(msg, str) else str(msg)
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def get_processor_name() -> str:
    """Return the name of the machine."""
    return platform.node()


def broadcast(data: Any, root: int) -> Any:
    """Return what process ``root`` has, by a pickle and back."""
    found = data if _Job.communicator is None else _Job.communicator.bcast(data, root)
    return pickle.loads(pickle.dumps(found))


def allreduce(data: npt.NDArray[Any], op: Op) -> npt.NDArray[Any]:
    """Return the numbers of all processes put together, in the order of ranks.

    Raises
    ------
    ParameterError
        If ``data`` is no array.
    """
    if not isinstance(data, np.ndarray):
        raise ParameterError("allreduce only takes in numpy.ndarray; convert data by np.asarray")
    parts = [data] if _Job.communicator is None else _Job.communicator.allgather(data)
    found: npt.NDArray[Any] = reduce(_FUNCTIONS[Op(op)], parts[1:], parts[0].copy())
    return found  # every rank puts them together in the order of ranks: the same bits


def signal_error() -> None:
    """End the process with an error."""
    os._exit(-1)


class CommunicatorContext:
    """A ``with`` block between ``init`` and ``finalize``."""

    def __init__(self, **args: Any) -> None:
        self.args = args
        self.args["DMLC_TASK_ID"] = f"[xgboost.py]:{os.getpid()}"

    def __enter__(self) -> dict[str, Any]:
        init(**{name: value for name, value in self.args.items() if name != "DMLC_TASK_ID"})
        return self.args

    def __exit__(self, *args: Any) -> None:
        finalize()


__all__ = [
    "CommunicatorContext", "Config", "Op", "allreduce", "broadcast", "communicator_print",
    "finalize", "get_processor_name", "get_rank", "get_world_size", "init", "is_distributed",
    "signal_error",
]  # fmt: skip
