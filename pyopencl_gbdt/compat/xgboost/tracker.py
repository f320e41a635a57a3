"""XGBoost's tracker, at which workers register to get their ranks."""

from __future__ import annotations

import socket
from typing import Any

from pyopencl_gbdt.compat.xgboost.collective import TRACKER_KEY
from pyopencl_gbdt.device.team.tracker import Tracker
from pyopencl_gbdt.errors import ParameterError, TeamError
from pyopencl_gbdt.messages import show

#: An address of no host in use, by which the system tells its own address on the network.
_OUTSIDE = ("10.255.255.255", 1)


class RabitTracker:
    """A tracker of several workers, which ``collective.init`` joins.

    Parameters
    ----------
    n_workers : int
        One needs no network.
    host_ip : str or None
        The address of this host, as the workers know it; None is that of its way to the network.
    port : int
        0: the system chooses one.
    sortby : "host" or "task"
        Ranks are in the order of the workers' hosts, or of their ``dmlc_task_id``.
    timeout : int
        Seconds that ``wait_for`` waits unless it is told; 0: as long as it takes.

    Raises
    ------
    ParameterError
        If one of them cannot be used.
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
        if n_workers < 1:
            raise ParameterError(f"n_workers={show(n_workers)}: expected at least 1; give more")
        if sortby not in ("host", "task"):
            raise ParameterError(f"sortby={show(sortby)}: expected 'host' or 'task'; give one")
        self._timeout = int(timeout)
        self._tracker: Tracker | None = None
        if n_workers > 1:
            host = _own_address() if host_ip is None else host_ip
            self._tracker = Tracker(n_workers, host, port, by_task=sortby == "task")

    def start(self) -> None:
        """Begin to serve workers."""
        if self._tracker is not None:
            self._tracker.start()

    def wait_for(self, timeout: int | None = None) -> None:
        """Wait until all workers have come and left.

        Parameters
        ----------
        timeout : int or None
            Seconds.

        Raises
        ------
        TeamError
            If they have not by then.
        """
        seconds = timeout or self._timeout or None
        if self._tracker is not None and not self._tracker.wait(seconds):
            raise TeamError(
                f"the tracker's workers have not left within {seconds:g} s: expected all of them "
                "to come and leave; see what they do, or give wait_for a longer timeout"
            )

    def free(self) -> None:
        """End the tracker."""
        if self._tracker is not None:
            self._tracker.close()

    def worker_args(self) -> dict[str, Any]:
        """Return what workers give ``collective.init``, with a secret that only they may know."""
        if self._tracker is None:
            return {"dmlc_tracker_uri": "127.0.0.1", "dmlc_tracker_port": 0, TRACKER_KEY: ""}
        host, port = self._tracker.address
        return {
            "dmlc_tracker_uri": host,
            "dmlc_tracker_port": port,
            TRACKER_KEY: self._tracker.key.hex(),
        }


def _own_address() -> str:
    """Return this host's address on its way to the network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(_OUTSIDE)
        except OSError:
            return "127.0.0.1"
        return str(one.getsockname()[0])
