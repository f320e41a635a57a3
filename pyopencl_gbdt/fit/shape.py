"""What one fit trains, and the sizes that follow from it: trees of a round, levels, nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team import Team
from pyopencl_gbdt.dtypes import code_dtype
from pyopencl_gbdt.fit.own_features import keeps_own
from pyopencl_gbdt.fit.policy import PolicySizes
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.page import AnyPage, Layout, most_page_bytes, page_bounds
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.block_order import BlockOrder

if TYPE_CHECKING:
    from pyopencl_gbdt.objectives import Objective
    from pyopencl_gbdt.parameters.constraints import Constraints

#: With fewer rows for each leaf that a tree can have, leaf values come from another order of the
#: rows than splits. Held-out log loss, PoCL, 3 sets of `bench tasks --categories`, 3 to 10 seeds:
#: with 78 to 125 rows better on each, by 2 to 11 %; with 750 on two of three, with 1500 on none.
#: 60 rounds of depth 6: with 312 rows better on `access` and worse on `clicks`.
FEW_ROWS_OF_A_LEAF = 128


class Batch(NamedTuple):
    """Trees of a round that are grown at a time: the number of the first, and how many."""

    first: int
    size: int


@dataclass
class FitShape:
    """Data, parameters and limits of a fit.

    Attributes
    ----------
    page_list : sequence of Page, or of one SortedColumns
        The data; empty while they are not there yet.
    policy : PolicySizes
        Which nodes split next; the sizes of levels follow from it.
    n_outputs, n_parallel : int
        Margins of a row, and trees that are added to each of them in a round.
    n_targets : int
        Labels of a row: 1, or one an output.
    n_trees : int
        Trees that are grown at a time; see ``Workspace.choose_trees``.
    share : Share
        The team that this device is a member of, and its place there.
    team_groups : int
        Work-groups of passes over rows, agreed on by the team; 0 where there is none.
    first_round : int
        Rounds before the first one.
    monotone : uint32 array, shape (n_features,), or None
        Constraints: 1 rising, 2 falling, 0 none.
    interactions : sequence of sequence of int
        Features that may follow each other; none is no constraint.
    feature_weights : float32 array, shape (n_features,), or None
        For the sampling of features.
    columns : ColumnSizes or None
        Sizes of sorted columns, if splits are searched along them; None is by histograms.
    tiled : TileSizes or None
        Sizes of tiled codes; None is dense codes.
    n_ordered : int
        Features whose codes change from round to round, see ``pages.orders``.
    turns : Turns or None
        The pages that take turns on the device; None where all pages stay there.
    gathers : bool
        Whether trees grow on drawn rows that were gathered, see ``fit.drawn_rows``.
    n_orders : int
        Orders of the rows that statistics of categories are computed in, round by round in turn.
    renews : bool
        Whether leaf values are quantiles of residuals.
    given : bool
        Whether the loss has kernels of its own, which fill ``given_g`` and ``given_h``.
    """

    device: Device
    params: Parameters
    policy: PolicySizes
    layout: Layout
    page_list: Sequence[AnyPage]
    n_rows: int
    weighted: bool
    weight_bits: int
    weight_shift: int
    columns: ColumnSizes | None = None
    tiled: TileSizes | None = None
    n_ordered: int = 0
    turns: Turns | None = None
    gathers: bool = False
    n_orders: int = 1
    renews: bool = False
    given: bool = False
    n_outputs: int = 1
    n_parallel: int = 1
    n_targets: int = 1
    n_trees: int = 1
    first_round: int = 0
    share: Share = field(default_factory=Share)
    team_groups: int = 0
    monotone: npt.NDArray[np.uint32] | None = None
    interactions: Sequence[Sequence[int]] = ()
    feature_weights: npt.NDArray[np.float32] | None = None

    def describe(self, objective: Objective, n_targets: int, limits: Constraints) -> None:
        """Take what the loss, the labels and constraints say of a round's trees."""
        self.given, self.n_targets = objective.given, n_targets
        self.renews = objective.renews
        self.n_outputs = max(objective.n_outputs, n_targets)
        self.n_parallel = self.params.num_parallel_tree
        self.monotone, self.interactions = limits.monotone, limits.interactions
        self.feature_weights = limits.feature_weights

    @property
    def block_order(self) -> BlockOrder:
        """Where the codes of a row lie on this device, if they are dense."""
        layout, caps = self.layout, self.device.caps
        dtype = code_dtype(layout.most_codes)
        return BlockOrder.of(layout.n_features, dtype, coalesced=caps.coalesces_reads)

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """First row and number of rows of every page; as expected while there are none."""
        if self.turns is not None:
            return list(self.turns.bounds)
        if self.page_list:
            return [(page.first_row, page.n_rows) for page in self.page_list]
        if self.columns is not None or self.tiled is not None:
            return [(0, self.n_rows)]
        row_bytes = self.block_order.row_bytes
        return page_bounds(self.n_rows, row_bytes, most_page_bytes(self.device.caps, row_bytes))

    @property
    def round_trees(self) -> int:
        """Trees of a round."""
        return self.n_outputs * self.n_parallel

    @property
    def batches(self) -> list[Batch]:
        """A round's trees as they are grown: those of some outputs, or some of one output."""
        if self.n_trees >= self.n_parallel:
            step, ends = self.n_trees // self.n_parallel * self.n_parallel, [self.round_trees]
        else:
            step, ends = (
                self.n_trees,
                [*range(self.n_parallel, self.round_trees + 1, self.n_parallel)],
            )
        firsts: list[Batch] = []
        for begin, end in zip([0, *ends], ends, strict=False):
            firsts += [Batch(i, min(step, end - i)) for i in range(begin, end, step)]
        return firsts

    def margin_shape(self, n_rows: int) -> tuple[int, ...]:
        """Return the shape of the margins of so many rows."""
        return (n_rows,) if self.n_outputs == 1 else (self.n_outputs, n_rows)

    def level_capacity(self, depth: int) -> int:
        """Return the most nodes that a level, or a step of the policy, can have."""
        return self.n_trees * self.policy.capacity(depth, self.most_leaves)

    @property
    def most_leaves(self) -> int:
        """Leaves that a tree can have; a table has some without rows."""
        if self.policy.fills_levels:
            return 1 << self.params.max_depth
        return self.params.most_leaves(self.all_rows)

    @property
    def n_levels(self) -> int:
        """Levels, or steps of the policy, whose nodes can split."""
        return self.policy.n_steps(self.most_leaves)

    @property
    def longest(self) -> int:
        """Most nodes on the way to a leaf."""
        most = self.params.max_depth or self.most_leaves
        return (most if self.policy.fills_levels else min(most, self.all_rows)) + 1

    @property
    def most_level_nodes(self) -> int:
        """Most nodes of a level, the last one included."""
        return max(self.level_capacity(depth) for depth in range(self.n_levels + 1))

    @property
    def search_capacity(self) -> int:
        """Most nodes of a level whose splits are searched."""
        return max(self.level_capacity(depth) for depth in range(self.n_levels))

    @property
    def slots(self) -> int:
        """Histograms that are kept."""
        return self.n_trees * self.policy.slots(self.most_leaves)

    def fixed_slot(self, level: int) -> int:
        """Return the first histogram that is kept of a level's nodes built from rows.

        It does not depend on the splits where a team enqueues its sums, so that the host need not
        know them. 0: the splits of earlier levels tell.
        """
        most = self.n_trees << (self.n_levels - 1)
        fixed = self.team.enqueues and not self.policy.picks_leaves and self.slots >= most
        return self.n_trees << (level - 1) if fixed and level else 0

    def keeps_own_features(self, step: int) -> bool:
        """Whether this member gets the sums of its own features alone in a step.

        Never where a split needs its feature's sums beside the search: sets of levels are made from
        them, and the nodes of a symmetric tree share a split.
        """
        if self.columns is not None or self.policy.fills_levels or self.has_categories:
            return False
        n_new = self.level_capacity(step) // (2 if step else 1)
        return keeps_own(self.team, self.layout, n_new)

    @property
    def max_nodes(self) -> int:
        """Most nodes of the trees that are grown at a time."""
        return self.n_trees * (2 * self.policy.made(self.most_leaves) - 1)

    @property
    def row_groups(self) -> int:
        """Work-groups that share all rows evenly, for passes over every row."""
        together = self.n_rows if self.turns is None else self.turns.most_rows
        own = self.device.caps.row_groups(together)
        return self.team_groups or own

    @property
    def team(self) -> Team:
        return self.share.team

    @property
    def all_rows(self) -> int:
        """Rows of all members of the team."""
        return self.share.all_rows or self.n_rows

    @property
    def has_categories(self) -> bool:
        """Whether some features are split by sets of levels."""
        return self.layout.categorical is not None

    @property
    def set_words(self) -> int:
        """Words of a set of codes: the number of levels, and a bit for each code."""
        assert self.layout.categorical is not None
        return 2 + int(self.layout.feature_bins[self.layout.categorical].max()) // 32

    @property
    def most_sets(self) -> int:
        """Most sets of the trees that are grown at a time: one for each pair of children."""
        return self.max_nodes // 2 + 1

    @property
    def masks_columns(self) -> bool:
        """Whether nodes may split on some of the features alone."""
        return self.params.samples_columns or bool(self.interactions)

    def leaf_rate(self, learning_rate: float) -> np.float32:
        """Return the factor on leaf values; 0 if devices would disagree on it."""
        factor: np.float32 = np.float32(learning_rate) / np.float32(self.n_parallel)
        return np.float32(0) if factor < 2.0**-125 else factor

    @property
    def keeps_margins(self) -> bool:
        """Whether a round's margins change while gradients are still to be taken of them."""
        return len(self.batches) > 1 and not self.given and not self.is_ordered

    @property
    def is_ordered(self) -> bool:
        """Whether splits are found by gradients of models that have not learnt from the row."""
        return self.params.boosting_type == "ordered"

    @property
    def walks_leaves(self) -> bool:
        """Whether leaf values come from the codes of the next order of the rows.

        That is where trees are large for the rows, so that splits fit an order's chance.
        """
        if self.n_orders == 1 or self.is_ordered or self.renews or self.policy.fills_levels:
            return False
        return self.n_rows < FEW_ROWS_OF_A_LEAF * self.most_leaves

    @property
    def gradients_at(self) -> str:
        """The array of the margins that a round's splits take their gradients of."""
        return "seen_margins" if self.is_ordered else "margins"
