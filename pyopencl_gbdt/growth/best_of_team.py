"""The best splits among those that a team's members have found on their own features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.team.member import Member
from pyopencl_gbdt.device.team.messages import BestSplits
from pyopencl_gbdt.device.team.sums import EarlyCopy


def best_of(every: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the candidate of the highest score for every node.

    Parameters
    ----------
    every : sequence of structured arrays of ``CANDIDATE``, shape (n_nodes,)
        In the order of the members' features: of equal scores, the first one is taken.
    """
    first, *others = every
    best: npt.NDArray[Any] = first.copy()
    for other in others:
        higher, equal = (
            compare(other["score_hi"], best["score_hi"]) for compare in (np.greater, np.equal)
        )
        better = higher | (equal & (other["score_lo"] > best["score_lo"]))
        best[better] = other[better]
    return best


@dataclass(frozen=True)
class BestOfTeam:
    """Replaces the best splits of own features by those of all; waits for device and team.

    Attributes
    ----------
    team : Member
    chosen : DeviceArray of ``CANDIDATE``
    levels : EarlyCopy
        Of the levels, from which the number of nodes is known.
    depth : int
    """

    team: Member
    chosen: DeviceArray
    levels: EarlyCopy
    depth: int
    name: str = "best splits of the team"

    def __call__(self) -> None:
        count = int(self.levels.values()["count"][self.depth])
        if count == 0:
            return
        chosen, dtype = self.chosen, self.chosen.dtype
        host, _ = self.team.buffers.of(chosen.device, count * dtype.itemsize)
        chosen.device.read_later(chosen, host, 0)()
        own = host.view(dtype).copy()
        chosen.set(best_of(self.team.exchange(BestSplits, own)))
