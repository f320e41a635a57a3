"""What a round is expected to cost on one device and on several: the model of ``docs/scaling.md``.

No model of trees depends on it: it decides which devices train, and a bench prints it beside what
was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.parameters import Parameters

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
