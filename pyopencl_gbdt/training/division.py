"""Divide rows among several devices, and decide whether several are faster than one.

The rule compares what a round is expected to cost on one device and on several, by the model of
``docs/scaling.md``. No model of trees depends on it: the rule only costs or saves time. A bench
prints the cost beside what was measured.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

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
from pyopencl_gbdt.training.task import Task

#: Rows and features of the histogram whose time is a device's speed; the second number of rows is
#: for a device that hides latency.
_MEASURED_ROWS = (1 << 17, 1 << 20)
_MEASURED_FEATURES = 28
_BINS = 256
_speeds: dict[tuple[int, str, str], float] = {}

#: Bytes of a code's sums: gradient and Hessian, 8 each.
_CODE_BYTES = 16
#: Levels of a tree of unlimited depth, for the estimate.
_USUAL_DEPTH = 8
#: Costs in the time in which a device adds a value to the histogram by which its speed is measured,
#: which has one level and 28 features. A row of a level, as it is moved, and each of its values:
#: H100, CUDA, 4.4e11 values a second, 100 M x 28 and 1 M x 2000, depth 6. On 2 cores with PoCL, 1 M
#: x 28 fits, too.
_ROW, _VALUE = 9.6, 0.2
#: The border of a bin, as it is scored: 10 classes, 3072 features, depth 6 took 6.4 ms of an H200.
_BORDER = 5.5
#: Seconds of a level's launches on a GPU: H200, CUDA, 1 M and 11 M x 28, depth 6.
LAUNCHES = 43e-6
#: Bytes a second of copies to a card, and bytes of a row in a pass beside its codes: H200, 100 M
#: and 1000 M x 28 whose pages take turns.
_BUS, _ROW_BYTES = 55e9, 10.0
#: Sums beside those of levels: exponents and roots.
_SMALL_SUMS = 2


class SumCost(Protocol):
    """What sums over a team cost; see ``TeamLink``."""

    def seconds(self, size: int, n_bytes: float, n_sums: int) -> float: ...


@dataclass(frozen=True)
class TeamLink:
    """How the devices of a team add up.

    Attributes
    ----------
    speed : float
        Bytes that each of two devices sends, and receives, in a second.
    latency : float
        Seconds of a sum of any size between two devices.
    shared : bool
        Whether all devices share what moves the bytes.
    """

    speed: float
    latency: float
    shared: bool

    def seconds(self, size: int, n_bytes: float, n_sums: int) -> float:
        """Return the seconds of some sums over a team.

        Each device sends and receives 2 (size - 1) / size times the bytes, as in a ring.

        ``size``: devices of the team.
        ``n_bytes``: the bytes of all sums together.
        """
        if size == 1:
            return 0.0
        growth = 1 + _GROWTH * (math.log2(size) - 1)
        moved = n_bytes * 2 * (size - 1) / size * (growth if self.shared else 1)
        return moved / self.speed + n_sums * self.latency * growth


#: How much more a sum takes with each doubling of the devices: by NCCL, 11 M x 28 lost 8 us a sum
#: on two H100 and 15 on four; through the host's memory, depth 8 lost 5.6 ms a round on two H200,
#: 18 to 23 on four H100.
_GROWTH = 1.0
#: Through the host's memory, two H200: 11 M and 100 M rows x 28, depth 8, lost 5.6 and 7.2 ms a
#: round (OpenCL); two threads wait for each other in 14 us (EPYC), about four times a sum.
THROUGH_HOST = TeamLink(2.5e9, 60e-6, shared=True)
#: By NCCL, two and four H100: ``python -m bench devices-sums``; latency: see above.
ON_CARDS = TeamLink(350e9, 8e-6, shared=False)


@dataclass(frozen=True)
class RoundCost:
    """Seconds of a round, by what takes them.

    Attributes
    ----------
    rows : float
        Histograms and partition: work that devices share.
    search : float
        The search of splits: every device searches all features.
    sums : float
        Sums over the team.
    launches : float
        The launches of kernels; each device enqueues all of them.
    """

    rows: float
    search: float
    sums: float
    launches: float

    @property
    def seconds(self) -> float:
        """Return the seconds of the round."""
        return self.rows + self.search + self.sums + self.launches


def sum_bytes(params: Parameters, n_rows: int, n_features: int, n_outputs: int = 1) -> int:
    """Return the bytes that a member sends in a round: histograms of the splits' smaller children.

    Traffic, which no arena knows.
    """
    slots = params.max_leaves or 1 << (_depth(params) - 1)
    trees = n_outputs * params.num_parallel_tree
    return slots * n_features * min(params.max_bin, n_rows) * _CODE_BYTES * trees


def round_cost(
    speeds: Sequence[float],
    params: Parameters,
    n_rows: int,
    n_features: int,
    link: SumCost,
    *,
    n_outputs: int = 1,
    launches: float = 0.0,
) -> RoundCost:
    """Return the expected cost of a round.

    A level below the roots builds histograms of half of its rows. Devices divide rows in proportion
    to their speeds; the slowest one searches splits as the others do.

    Parameters
    ----------
    speeds : sequence of float
        Values that each device adds to histograms in a second.
    n_rows, n_features : int
        The rows and features of all devices together.
    link : SumCost
        Between the devices.
    n_outputs : int, default 1
        Trees of a round, those of a forest apart.
    launches : float, default 0.0
        Seconds of a level's launches; they do not depend on the number of devices.
    """
    depth, size = _depth(params), len(speeds)
    trees = n_outputs * params.num_parallel_tree
    rows = n_rows * params.drawn_share * (1 + 0.5 * (depth - 1)) * trees
    n_bytes = sum_bytes(params, n_rows, n_features, n_outputs)
    bins = 2 * n_bytes / _CODE_BYTES  # both children
    return RoundCost(
        rows=rows * (_ROW + _VALUE * n_features) / sum(speeds),
        search=bins * _BORDER / min(speeds),
        sums=link.seconds(size, n_bytes, depth + _SMALL_SUMS),
        launches=depth * launches,
    )


def streamed_seconds(n_rows: int, n_features: int, depth: int, staying: float) -> float:
    """Return the expected seconds of the copies of a tree whose pages take turns on a GPU.

    ``staying``: part of the pages that the device has room for.
    """
    return n_rows * (1 - staying) * (depth + 1) * (n_features + _ROW_BYTES) / _BUS


def _depth(params: Parameters) -> int:
    return params.max_depth or _USUAL_DEPTH


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
