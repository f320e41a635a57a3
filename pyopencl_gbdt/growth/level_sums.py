"""How the members of a team add up a level's histograms, and find its best splits.

One of two ways:

    all features    every member gets all sums, and searches all features
    own features    a member gets the sums of its own features, searches these, and exchanges the
                    best split of every node

               features of rank 0 | of rank 1 | of rank 2
    rank 0         sums of all    |   own     |   own        best of rank 0's  -+
    rank 1            own         |  of all   |   own        best of rank 1's   +- the best of all
    rank 2            own         |   own     |  of all      best of rank 2's  -+

Ranks have neighbouring features in the order of ranks. So of equal scores the one of the lower rank
has the lower feature, and the trees are those of one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import BestSplits
from pyopencl_gbdt.device.team.sums import Window
from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import Layout


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
    chosen : DeviceArray of ``CANDIDATE``
    levels : EarlyCopy
        Copies the levels to the host, which reads the number of nodes from them.
    """

    team: Team
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


#: Members keep sums of their own features alone from the first level on whose new histograms have
#: so many bytes for each member. Messages to every other member cost a rank about as much as this.
#: Loopback, ms of a sum of all features in slices, and of own ones with the exchange of 32 splits:
#: 2 processes: 64 KiB 0.19 and 0.19, 512 KiB 0.55 and 0.33, 2 MiB 4.9 and 1.0; 4 processes: 0.80
#: and 0.95, 2.2 and 1.6, 5.4 and 3.3 (2 cores of an AMD EPYC, ``python -m bench scaling``).
OWN_BYTES = 1 << 17


def feature_ends(layout: Layout, size: int) -> list[int]:
    """Return where the features of each of so many members begin, and the number of features.

    Neighbouring features, with about as many codes for each member; some may have none.
    """
    offset = layout.feature_offset.astype(np.int64)
    wanted = np.arange(size + 1) * offset[-1] // size
    ends: list[int] = np.searchsorted(offset, wanted).tolist()
    return ends


class LevelSums(Protocol):
    """The sums of one level, of one member.

    Attributes
    ----------
    features : range
        Those whose splits the member searches.
    levels : EarlyCopy
        Copies the levels to the host, before the kernels of the level run.
    """

    @property
    def features(self) -> range: ...

    @property
    def levels(self) -> EarlyCopy: ...

    def histograms(self, new: Window) -> list[Action]:
        """Return the actions that add up the histograms of some slots over the members."""

    def best_splits(self) -> list[Action]:
        """Return the actions after which ``chosen`` has the best splits of all features."""


class OfAllFeatures:
    """Every member gets the sums of all features; also what a device alone has."""

    def __init__(self, arena: Arena, team: Team, layout: Layout, step: int) -> None:
        self.arena, self.team, self.layout, self.step = arena, team, layout, step
        self.features = range(layout.n_features)
        self.levels = EarlyCopy(arena["levels"])

    def histograms(self, new: Window) -> list[Action]:
        """Return the sum over the members."""
        return self.team.sum(self.arena["pool"], new)

    def best_splits(self) -> list[Action]:
        """Return nothing: a member has searched all features."""
        return []


class OfOwnFeatures(OfAllFeatures):
    """A member gets the sums of its own features; those of others stay as they are.

    A node's parent and sibling have the sums of the same features, or of all.
    """

    def __init__(self, arena: Arena, team: Team, layout: Layout, step: int) -> None:
        super().__init__(arena, team, layout, step)
        self.ends = feature_ends(layout, team.size)
        self.features = range(*self.ends[team.rank : team.rank + 2])

    def histograms(self, new: Window) -> list[Action]:
        """Return the sum of each member's own codes."""
        ends = 2 * self.layout.feature_offset[self.ends].astype(int)
        return self.team.sum_own(self.arena["pool"], new, ends.tolist())

    def best_splits(self) -> list[Action]:
        """Return the exchange of the members' best splits."""
        return [BestOfTeam(self.team, self.arena["chosen"], self.levels, self.step)]


def keeps_own_features(team: Team, nodes: Nodes, features: FitFeatures, step: int) -> bool:
    """Whether this member gets the sums of its own features alone in a step.

    Never where a split needs its feature's sums beside the search: sets of levels are made from
    them, and the nodes of a symmetric tree share a split; nor for forced splits, nor with noise in
    scores, which members do not send. A member that has only the sums of its
    own features cannot go back to all of them; the nodes of a step never become fewer.
    """
    if features.columns is not None or nodes.policy.fills_levels or features.has_categories:
        return False
    if features.most_at_steps:  # places of features are not in their order
        return False
    if nodes.params.random_strength > 0 or nodes.params.forced_splits:
        return False
    n_new = nodes.level_capacity(step) // (2 if step else 1)
    return team.keeps_own and 16 * n_new * features.layout.n_codes >= team.size * OWN_BYTES


def level_sums(parts: FitParts, step: int) -> LevelSums:
    """Return how a level is added up."""
    arena, rows, nodes, features, _ = parts
    own = keeps_own_features(rows.team, nodes, features, step)
    return (OfOwnFeatures if own else OfAllFeatures)(arena, rows.team, features.layout, step)


@dataclass(frozen=True)
class NewSlots:
    """Returns the pool's slots that a level's nodes built from rows have.

    Roots have the first slots; the smaller children of every level follow.

    Attributes
    ----------
    levels : EarlyCopy
        Of the levels; it goes before the kernels that fill the slots. Then the host knows the slots
        while these kernels run.
    """

    levels: EarlyCopy
    depth: int

    def __call__(self) -> slice:
        levels = self.levels.values()
        n_trees = int(levels["count"][0])
        first, count = (int(levels[name][self.depth]) for name in ("first", "count"))
        if self.depth == 0:
            return slice(0, n_trees)
        begin = (first - n_trees) // 2 + n_trees
        return slice(begin, begin + count // 2)
