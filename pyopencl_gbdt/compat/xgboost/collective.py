"""XGBoost's ``collective``: one process, or the ranks of a team.

``init`` joins the ranks of an MPI job (``mpirun -n 4 python script.py``), or the workers of a
``RabitTracker``. In a training on Dask, the functions of the user's that all workers call find the
ranks of these. As in XGBoost, each thread has its own rank.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.team.channel import Channel
from pyopencl_gbdt.device.team.handshake import Limits, seconds
from pyopencl_gbdt.device.team.member import Alone, current_team, set_current_team
from pyopencl_gbdt.device.team.messages import UserValue
from pyopencl_gbdt.device.team.mpi import MpiTeam, job_communicator
from pyopencl_gbdt.device.team.tracker import tracked_team
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show

_KNOWN = ("", "rabit", "federated", "in-memory", "in-memory-federated")
#: By what workers prove that they belong to a tracker, in the arguments of ``init``.
TRACKER_KEY = "dmlc_tracker_key"


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
#: Letters of the kinds of numbers that ``allreduce`` takes.
_KINDS = "fiu"


class _Joined(threading.local):
    """What ``init`` joined in this thread, until ``finalize``."""

    team: Any = None
    tracker: Channel | None = None


_JOINED = _Joined()


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
    """Join the ranks of the MPI job, if a launcher started several, or the workers of a tracker.

    Without either, begin alone.

    Parameters
    ----------
    **args
        What ``RabitTracker.worker_args`` returns; ``dmlc_task_id``, by which a tracker may order
        its workers; ``dmlc_timeout``, seconds after which a rank that sends nothing is given up.

    Raises
    ------
    ParameterError
        If several processes are named that neither a launcher of MPI nor a tracker brings together.
    TeamError
        If the tracker, or another of its workers, is not there.
    """
    names = {name.lower(): value for name, value in args.items()}
    kind = names.get("dmlc_communicator", "")
    limits, patience = Limits.of_environment(), names.get("dmlc_timeout") or 0
    if patience:
        limits = replace(limits, patience=seconds(patience, "dmlc_timeout", limits.patience))
    everyone = job_communicator() if kind in ("", "rabit") else None
    n_workers = int(names.get("dmlc_num_worker", names.get("in_memory_world_size", 1)) or 1)
    uri, port = names.get("dmlc_tracker_uri"), names.get("dmlc_tracker_port")
    if everyone is not None:
        finalize()
        _JOINED.team = MpiTeam(everyone, limits)
    elif kind in ("", "rabit") and uri is not None and TRACKER_KEY in names:
        finalize()
        where, key = (str(uri), int(port or 0)), bytes.fromhex(names[TRACKER_KEY])
        task = str(names.get("dmlc_task_id", ""))
        if key:
            _JOINED.team, _JOINED.tracker = tracked_team(where, key, task, limits)
        else:
            _JOINED.team = Alone()
    elif kind not in _KNOWN or n_workers > 1 or uri is not None:
        raise ParameterError(
            f"collective.init({sorted(names)}): expected one process, ranks that mpirun starts, or "
            "all that RabitTracker.worker_args() returns; give one of them, or train by Dask"
        )
    else:
        return
    set_current_team(_JOINED.team)


def finalize() -> None:
    """Leave the ranks of the job."""
    _leave(None)


def _leave(error: BaseException | None) -> None:
    team, tracker = _JOINED.team, _JOINED.tracker
    if team is None:
        return
    _JOINED.team = _JOINED.tracker = None
    set_current_team(None)
    if not isinstance(team, Alone):
        team.leave(error)
    if tracker is not None:
        tracker.close(None, Limits.of_environment())


def joined_ranks() -> Any:
    """Return the team of several processes that ``init`` joined, or None."""
    return _JOINED.team if get_world_size() > 1 else None


def forget_ranks() -> None:
    """Take the ranks for gone: an error has ended their team, which cannot be left again."""
    _JOINED.team = None
    set_current_team(None)


def get_rank() -> int:
    """Return the number of this process."""
    team = current_team()
    return 0 if team is None else team.rank


def get_world_size() -> int:
    """Return the number of processes."""
    team = current_team()
    return 1 if team is None else team.size


def is_distributed() -> bool:
    """Tell whether ``init`` joined ranks, or several processes train; a tracker may have one."""
    return current_team() is not None


def communicator_print(msg: Any) -> None:
    """Print a message."""
    text = msg if isinstance(msg, str) else str(msg)
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def get_processor_name() -> str:
    """Return the name of the machine."""
    return platform.node()


def broadcast(data: Any, root: int) -> Any:
    """Return what process ``root`` has; the others' ``data`` does not count.

    Raises
    ------
    ParameterError
        If there is no such process.
    """
    team, size = current_team(), get_world_size()
    if not 0 <= root < size:
        raise ParameterError(f"root={show(root)}: expected 0..{size - 1}; give a rank")
    if team is None:
        return data
    return team.exchange(UserValue, data if team.rank == root else None)[root]


def allreduce(data: npt.NDArray[Any], op: Op) -> npt.NDArray[Any]:
    """Return the numbers of all processes put together, in the order of ranks.

    Raises
    ------
    DataTypeError
        If ``data`` is not an array of numbers.
    """
    if not isinstance(data, np.ndarray):
        raise DataTypeError("allreduce only takes in numpy.ndarray; convert data by np.asarray")
    if data.dtype.kind not in _KINDS:
        raise DataTypeError(f"data type {data.dtype} is not supported; convert it to numbers")
    team = current_team()
    parts = [data] if team is None else team.exchange(UserValue, data)
    found: npt.NDArray[Any] = reduce(_FUNCTIONS[Op(op)], parts[1:], parts[0].copy())
    return found  # every rank puts them together in the order of ranks: the same bits


def signal_error() -> None:
    """End the process with an error."""
    os._exit(-1)


class CommunicatorContext:
    """A ``with`` block between ``init`` and ``finalize``; its error is told to the other ranks."""

    def __init__(self, **args: Any) -> None:
        self.args = args

    def __enter__(self) -> dict[str, Any]:
        init(**self.args)
        return self.args

    def __exit__(self, *args: Any) -> None:
        _leave(args[1])


__all__ = [
    "CommunicatorContext", "Config", "Op", "allreduce", "broadcast", "communicator_print",
    "finalize", "get_processor_name", "get_rank", "get_world_size", "init", "is_distributed",
    "signal_error",
]  # fmt: skip
