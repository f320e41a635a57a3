"""XGBoost's ``collective`` for one process; ``docs/large-data.md`` tells of several."""

from __future__ import annotations

import os
import pickle
import platform
import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

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
    """Begin; of several processes, see ``pyopencl_gbdt.train(communicator=)``.

    Raises
    ------
    ParameterError
        If a tracker of several processes is named.
    """
    names = {name.lower(): value for name, value in args.items()}
    kind = names.get("dmlc_communicator", "")
    several = int(names.get("dmlc_num_worker", names.get("in_memory_world_size", 1)) or 1) > 1
    if kind not in _KNOWN or several or "dmlc_tracker_uri" in names:
        raise ParameterError(
            f"collective.init({sorted(names)}): expected one process; several train together by "
            "pyopencl_gbdt.train(communicator=), or by Dask"
        )


def finalize() -> None:
    """End; nothing is to be done."""


def get_rank() -> int:
    """Return the number of this process, 0."""
    return 0


def get_world_size() -> int:
    """Return the number of processes, 1."""
    return 1


def is_distributed() -> bool:
    """Tell whether there are several processes: False."""
    return False


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
    return pickle.loads(pickle.dumps(data))


def allreduce(data: npt.NDArray[Any], op: Op) -> npt.NDArray[Any]:
    """Return the numbers of all processes put together: a copy.

    Raises
    ------
    ParameterError
        If ``data`` is no array.
    """
    if not isinstance(data, np.ndarray):
        raise ParameterError("allreduce only takes in numpy.ndarray; convert data by np.asarray")
    found: npt.NDArray[Any] = data.copy()
    return found


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
