"""Divide rows among several devices, and decide whether several are faster than one.

No model depends on it: the rule only costs or saves time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.bandwidth import host_times
from pyopencl_gbdt.device.selection import Chosen
from pyopencl_gbdt.device.team.nccl import may_join
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.histogram import CodeHistogram
from pyopencl_gbdt.training.fit_facts import Task
from pyopencl_gbdt.training.round_cost import ON_CARDS, THROUGH_HOST, round_cost

#: Rows and features of the histogram whose time is a device's speed; the second number of rows is
#: for a device that hides latency.
_MEASURED_ROWS = (1 << 17, 1 << 20)
_MEASURED_FEATURES = 28
_BINS = 256
_speeds: dict[tuple[int, str, str], float] = {}


@dataclass(frozen=True)
class Division:
    """Devices that train together, and each one's rows.

    Attributes
    ----------
    devices : sequence of Device
        Opened for this fit.
    bounds : sequence of (int, int)
        First row of every device, and the row behind its last one.
    note : str
        Which devices are left out, and why; empty if all of them train.
    """

    devices: Sequence[Device]
    bounds: Sequence[tuple[int, int]]
    note: str

    def described(self) -> str:
        """Return each device's name and its part of the rows."""
        n_rows = self.bounds[-1][1]
        return ", ".join(
            f"{device.caps.device_id} {100 * (end - first) / max(1, n_rows):.3g} %"
            for device, (first, end) in zip(self.devices, self.bounds, strict=True)
        )


def divided(chosen: Sequence[Chosen], task: Task) -> Division:
    """Return the devices that train a task, and their rows.

    With weights, rows are divided by them, and all devices train. Without, rows are divided by the
    devices' measured speeds; a part of the devices trains alone if that is expected to be faster:
    first the fastest alone, then with the second, and so on. Of CPU runtimes, the fastest counts. A
    device without rows is left out.

    ``task``: with all rows.
    """
    data = task.data
    devices = [open_device(one.info.device_id) for one in chosen]
    weights = [one.weight for one in chosen if one.weight is not None]
    note = ""
    if not weights:
        speeds = [histogram_speed(device) for device in devices]
        able = with_own_cores(devices, speeds)
        own = [speeds[i] for i in able]
        sizes = data.n_rows, data.n_features
        joined = may_join([devices[i] for i in able])
        best = best_team(own, task.params, *sizes, joined=joined, n_outputs=task.n_outputs)
        kept = [able[i] for i in best]
        if len(kept) < len(devices):
            note = _note([devices[i] for i in kept], len(devices), data.n_rows)
        devices, weights = [devices[i] for i in kept], [speeds[i] for i in kept]
    bounds = row_bounds(data, weights)
    filled = [i for i, (first, end) in enumerate(bounds) if end > first]
    return Division([devices[i] for i in filled], [bounds[i] for i in filled], note)


def _note(kept: Sequence[Device], n_named: int, n_rows: int) -> str:
    names = " and ".join(device.caps.device_id for device in kept)
    return (
        f"of {n_named} devices, {names} {'trains' if len(kept) == 1 else 'train'}: more are "
        f"expected to be slower with {n_rows} rows; give weights to let all train, such as "
        "device='gpu:0=1,gpu:1=1'"
    )


def with_own_cores(devices: Sequence[Device], speeds: Sequence[float]) -> list[int]:
    """Return the indices of devices that do not share cores, ascending: of CPUs the fastest.

    Several runtimes for a CPU share its cores.
    """
    cpus = [i for i, device in enumerate(devices) if device.caps.on_host_cores]
    fastest = max(cpus, key=lambda i: speeds[i], default=-1)
    return [i for i in range(len(devices)) if i not in cpus or i == fastest]


def row_bounds(data: Dataset, weights: Sequence[float]) -> list[tuple[int, int]]:
    """Divide rows in proportion to weights; a query stays whole."""
    ends = np.rint(np.cumsum(weights) / np.sum(weights) * data.n_rows).astype(np.int64)
    if data.group_offsets is not None:
        ends = _nearest(ends, data.group_offsets)
    every = [0, *ends.tolist()]
    return list(pairwise(every))


def _nearest(ends: npt.NDArray[np.int64], borders: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    above = np.minimum(np.searchsorted(borders, ends), borders.size - 1)
    below = np.maximum(above - 1, 0)
    nearer = ends - borders[below] < borders[above] - ends
    return np.where(nearer, borders[below], borders[above])


def histogram_speed(device: Device) -> float:
    """Return how many values a second the device adds up; measured once a process and device."""
    caps = device.caps
    key = (os.getpid(), caps.name, caps.platform)
    if key not in _speeds:
        n = 1 << 10 if caps.is_simulator else _MEASURED_ROWS[caps.hides_latency]
        rng = np.random.default_rng(0)
        codes = device.upload(rng.integers(0, _BINS - 1, (n, _MEASURED_FEATURES), np.uint8))
        pairs = device.upload(rng.integers(-1000, 1000, (n, 2), np.int32))
        sums = device.empty((_MEASURED_FEATURES, _BINS - 1, 2), np.int64)
        built = CodeHistogram(device, n, _MEASURED_FEATURES, np.uint8, _BINS - 1)
        for launch in built.pack(codes):
            launch()
        seconds = host_times(device, built.sums(pairs, sums), 3).median
        _speeds[key] = n * _MEASURED_FEATURES / seconds
    return _speeds[key]


def best_team(
    speeds: Sequence[float],
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    joined: bool = False,
    n_outputs: int = 1,
) -> list[int]:
    """Return the indices of the devices that are expected to be fastest together, ascending.

    Parameters
    ----------
    speeds : sequence of float
        Values that each adds up in a second.
    joined : bool
        Whether NCCL adds up on the cards.
    n_outputs : int, default 1
        Trees of a round, those of a forest apart.
    """
    link = ON_CARDS if joined else THROUGH_HOST
    order = sorted(range(len(speeds)), key=lambda i: -speeds[i])
    seconds = [
        round_cost(
            [speeds[i] for i in order[:size]], params, n_rows, n_features, link, n_outputs=n_outputs
        ).seconds
        for size in range(1, len(order) + 1)
    ]
    return sorted(order[: int(np.argmin(seconds)) + 1])
