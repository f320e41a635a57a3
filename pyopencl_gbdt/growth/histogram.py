"""Gradient sums per node, feature and bin, of a fit's levels.

The members of a team add up a level's histograms and find its best splits in one of two ways.

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
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.device.team.member import Member, Team
from pyopencl_gbdt.device.team.messages import BestSplits
from pyopencl_gbdt.device.team.sums import Window
from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.dtypes import SUM
from pyopencl_gbdt.errors import KernelLaunchError
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import FitFeatures, FitPage
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import LISTS, Ways
from pyopencl_gbdt.growth.joint_columns import JointBlocks, joins_blocks
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.primitives.histogram_kernel import HistogramKernel
from pyopencl_gbdt.primitives.histogram_plan import OWN_BANKS, shared_groups, work_groups
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes
from pyopencl_gbdt.primitives.tiled_histogram_kernel import (
    TiledHistogramKernel,
    cell_ranges,
    range_capacity,
)


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
        Of the levels, for the host; it goes before the kernels of the level.
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
        assert isinstance(self.team, Member)
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
    depth : int
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


def reads_joint(ways: Ways) -> bool:
    """Whether the histograms of a fit read joint codes."""
    return ways.facts.pages.n_joined > 0 and joins_blocks(ways.facts)


def _of_joint(variant: Variant, ways: Ways) -> Variant:
    """Return the variant of the histogram with the work-groups that joint codes take."""
    if not reads_joint(ways):
        return variant
    own = ways.variant("joint_blocks").params
    groups = {"wg_size": own["histogram_size"], "groups_per_unit": own["histogram_groups"]}
    return replace(variant, params={**variant.params, **groups})


def histogram_groups(rows: FitRows, features: FitFeatures, ways: Ways) -> int:
    """Return the work-groups that share the histogram tasks of a level, for each range of codes."""
    layout, caps, variant = features.layout, ways.device.caps, ways.variant("histogram")
    if features.tiled is not None:
        capacity = range_capacity(variant, caps)
        ranges = cell_ranges(layout.feature_offset, rows.tiles, capacity)
        return shared_groups(variant, caps, len(ranges))
    if reads_joint(ways):
        layout = features.joined.layout(layout)
    return work_groups(
        _of_joint(variant, ways), caps, layout.n_features, rows.n_rows, layout.most_codes
    )


class Histogram:
    """Builds the histograms of one level after another.

    ``opened`` tells whether nodes need those of some features alone, see ``OpenColumns``.
    """

    def __init__(self, parts: FitParts, *, opened: bool = False) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        self.opened = opened
        arena = self.arena
        self.joint = JointBlocks(parts) if reads_joint(self.ways) else None
        if self.nodes.params.histogram != "auto":  # no other variant is tried
            self.kernel = self._built(self.ways.variant("histogram"))
        else:
            for attempt in self.ways.attempts("histogram"):
                if self.joint is not None and not reads_joint(self.ways):
                    self._reads_own_codes()
                with attempt as variant:
                    self.kernel = self._built(variant)
                    self.ways.built(attempt, self.kernel.program)
        n_codes, partials = (
            self.features.layout.n_codes,
            not self.ways.variant("histogram").atomic_sums,
        )
        self.groups = histogram_groups(self.rows, self.features, self.ways)
        if isinstance(self.kernel, HistogramKernel) and self.kernel.opens:
            from pyopencl_gbdt.growth.open_columns import open_places

            open_places(parts, self.groups, self.kernel.page.order.row_codes)
        groups, cells = (self.groups, n_codes) if partials else (1, 1)
        arena.array("pool", (self.nodes.slots, n_codes, 2), SUM)
        arena.array("partial", (groups, 2, cells, 2), SUM)

    def _reads_own_codes(self) -> None:
        """Read the columns' own codes, as the driver fails to build what reads joint ones.

        Raises
        ------
        KernelLaunchError
            If these are all that is stored: the fit starts again, and quantises its data again.
        """
        variant = self.ways.variant("histogram").name
        if isinstance(self.rows.codes, JoinedCodes):
            raise KernelLaunchError(
                f"joint codes are all that is stored, and {variant!r} does not read them; set "
                f"{JOINT_CODES}=off",
                "histogram", OWN_BANKS, variant,
            )  # fmt: skip
        self.joint = None
        self.arena.forget("joint_blocks")

    def _built(self, variant: Variant) -> HistogramKernel | TiledHistogramKernel:
        arena, rows, nodes = self.arena, self.rows, self.nodes
        size, adds = nodes.params.work_group_size, rows.adds_histograms
        if isinstance(rows.codes, TiledCodes):
            return TiledHistogramKernel(
                arena.device,
                rows.codes,
                self.features.layout.feature_offset,
                variant,
                wg_size=size,
                adds=adds,
            )
        if self.joint is not None:
            return HistogramKernel(
                arena.device, self.joint.codes, self.joint.layout, _of_joint(variant, self.ways),
                wg_size=size, adds=adds, joint=self.joint.sums,
            )  # fmt: skip
        assert not isinstance(rows.codes, JoinedCodes)
        skips = nodes.params.leaves_out_rows and not rows.lists_drawn
        return HistogramKernel(
            arena.device, rows.codes, self.features.layout, variant,
            wg_size=size, skips_unsampled=skips, adds=adds, opened=self.opened,
        )  # fmt: skip

    def level(
        self, depth: int, sums: LevelSums | None = None, opened: dict[str, Any] | None = None
    ) -> list[Action]:
        """Return the actions that fill the pool slots of a level's nodes built from rows.

        ``sums`` are those of the level over a team; None is of all features. ``opened`` are the
        arguments that tell which features are open.
        """
        rows, nodes = self.rows, self.nodes
        high = ("high",) if rows.has_high else ()
        reads = (CODES, "quanta", *high, *rows.listed_rows(depth))
        lists = () if rows.leaves_have_lists else LISTS
        drops = ("quanta", *high, *lists) if depth + 1 == nodes.n_levels else ()
        opens = isinstance(self.kernel, HistogramKernel) and self.kernel.opens
        more = {**opened, **self.arena.arguments("open_places")} if opened and opens else {}
        pages = [self._page(depth, page, more) for page in rows.pages]
        picked = nodes.policy.picks_leaves and (depth > 0 or rows.lists_drawn)
        updates = LISTS if picked else ()
        built = rows.pagewise(pages, reads, drops=drops, updates=updates)
        done = rows.all_rows_done()
        if rows.team.size == 1:
            return [*built, *done]
        new = nodes.fixed_slots(depth)
        if new is not None:
            return [*built, *done, *rows.team.sum(self.arena["pool"], new)]
        sums = sums or OfAllFeatures(self.arena, rows.team, self.features.layout, depth)
        early = sums.levels
        summed = sums.histograms(NewSlots(early, depth))
        return [*built, *done, early, *summed] if done else [early, *built, *summed]

    def _most_tasks(self, depth: int) -> int:
        """Return the most tasks of a level of one device: other groups would have nothing to do."""
        nodes, parts = self.nodes, 2 if depth else 1  # of siblings, the smaller one has tasks
        chunk = self.ways.variant("histogram").params["chunk"]
        rows = nodes.n_trees * self.rows.n_rows // parts
        return rows // chunk + -(-nodes.level_capacity(depth) // parts)

    def _page(self, depth: int, page: FitPage, more: dict[str, Any]) -> list[Launch]:
        codes: Any = page.codes if self.joint is None else self.joint.codes  # of the kernel's kind
        of_rows = page.part.arguments("even_rows", "odd_rows", "quanta", "scale", "pool", "partial")
        arrays: dict[str, Any] = {**page.arguments("levels", "nodes"), **of_rows}
        if self.features.most_at_steps:
            arrays["n_first"] = self.features.n_at(depth)
        return self.kernel.level(
            codes,
            groups=min(self.groups, self._most_tasks(depth)),
            depth=depth,
            n_rows=page.part.n_rows,
            first_row=page.first_row,
            task_begin=page["hist_task_begin"],
            high_words=page.part["high"],
            **more,
            **arrays,
        )
