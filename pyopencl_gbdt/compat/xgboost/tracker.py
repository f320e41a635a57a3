"""XGBoost's tracker of several processes, which this library does without."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


class RabitTracker:
    """A tracker; only one process can be tracked.

    Parameters
    ----------
    n_workers : int
        1. Several processes train together by ``pyopencl_gbdt.train(communicator=)``.
    host_ip, port, sortby, timeout
        Have no effect.

    Raises
    ------
    ParameterError
        If there are several processes.
    """

    def __init__(
        self,
        n_workers: int,
        host_ip: str | None,
        port: int = 0,
        *,
        sortby: str = "host",
        timeout: int = 0,
    ) -> None:
        if n_workers != 1:
            raise ParameterError(
                f"n_workers={show(n_workers)}: expected 1; several processes train together by "
                "pyopencl_gbdt.train(communicator=), or by Dask"
            )
        if sortby not in ("host", "task"):
            raise ParameterError(f"sortby={show(sortby)}: expected 'host' or 'task'; give one")

    def start(self) -> None:
        """Begin; nothing is to be done."""

    def wait_for(self, timeout: int | None = None) -> None:
        """Wait for the processes; nothing is to be done."""

    def free(self) -> None:
        """End; nothing is to be done."""

    def worker_args(self) -> dict[str, Any]:
        """Return what processes give ``collective.init``: nothing."""
        return {}
