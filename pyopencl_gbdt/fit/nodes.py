"""The trees of a round, and the most nodes that they can have; known before a tree is grown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.dtypes import KEPT
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.table import MOST_TERMS
from pyopencl_gbdt.parameters.values import ParameterValues


@dataclass(frozen=True)
class TreeSizes:
    """How many nodes of one tree split in each step; known before the tree is grown.

    A step is a level of all trees, or a leaf of every tree. ``growth.policy.tree_sizes`` returns
    the sizes of a policy.

    Attributes
    ----------
    most_leaves : int
        Leaves that the tree can have; a table has some without rows.
    n_steps : int
        Steps whose nodes can split; at least 1.
    first_steps : int
        Steps after which a tree may be complete; all, if the host does not ask.
    capacities : tuple of int
        Most new nodes of each step, the last one's children included; later steps have as many as
        the last one here.
    made : int
        Most leaves that are made, those included that the tree does not get.
    slots : int
        Most histograms that are kept at a time.
    picks : int
        Leaves of every tree that a step may split, which are listed in ``picked``. 0: a step splits
        nodes of the step's level.
    picks_leaves : bool
        Whether a step splits leaves that are listed in ``picked``.
    limits_leaves : bool
        Whether ``decide`` counts leaves, as a level may have more splits than a tree may.
    splits_alone : bool
        Whether a step splits each node of a level that gains enough, whatever others gain.
    fills_levels : bool
        Whether all nodes of a level split alike, those without rows too: trees are tables.
    splits_alike : bool
        Whether the search decides for several nodes together, of which some may gain nothing:
        their children keep their weight.
    moves_last_rows : bool
        Whether rows move to the children of the last step, too. If not, leaves of the last level
        have no lists of rows.
    """

    most_leaves: int
    n_steps: int
    first_steps: int
    capacities: tuple[int, ...]
    made: int
    slots: int
    picks: int = 0
    picks_leaves: bool = False
    limits_leaves: bool = False
    splits_alone: bool = False
    fills_levels: bool = False
    splits_alike: bool = False
    moves_last_rows: bool = False

    def capacity(self, step: int) -> int:
        """Return the most new nodes whose splits are searched in a step."""
        return self.capacities[min(step, len(self.capacities) - 1)]


@dataclass(frozen=True)
class Candidates:
    """What a split search leaves of a step for the policy: some candidates of every new node.

    Attributes
    ----------
    compared : bool
        Whether the search compared a node's candidates; then only the best one is left. If not,
        the policy's kernel compares those of all features, which takes no launch of its own.
    """

    compared: bool
    n_features: int

    @property
    def array(self) -> str:
        """The array that holds them."""
        return "chosen" if self.compared else "candidates"

    @property
    def per_node(self) -> int:
        """Number of candidates of a node."""
        return 1 if self.compared else self.n_features


#: Trees wait on the device in a block of at most this many bytes before the host reads them.
FOREST_BYTES = 16 * 1024 * 1024
#: Rounds of trees with weights after which the host reads them, as it checks what they add up to.
CHECKED_ROUNDS = 16


def forest_bytes(caps: Capabilities, *, in_turn: bool) -> int:
    """Return the most bytes of trees that may wait on a device: a limit, not what trees take."""
    room = min(FOREST_BYTES, caps.max_alloc_bytes // 4)
    return min(room, caps.global_bytes // 64) if in_turn else room


class Batch(NamedTuple):
    """Trees of a round that are grown at a time: the number of the first, and how many."""

    first: int
    size: int


@dataclass
class Nodes:
    """The trees of a round, their levels and nodes.

    Attributes
    ----------
    policy : TreeSizes
        Sizes of a tree that follow from which nodes split next.
    all_rows : int
        Rows of all members of a team.
    n_outputs, n_parallel : int
        Margins of a row, and trees that are added to each of them in a round.
    n_trees : int
        Trees that are grown at a time; see ``fit.choose_trees``.
    first_round : int
        Rounds before the first one.
    set_words : int
        Words of the set of codes of a split, see ``Features.set_words``.
    numeric_features : int
        Features that are not split by sets of codes.
    has_vectors : bool
        Whether leaves are vectors: the trees of all outputs grow together and split alike.
    n_sketches : int
        Sums of the outputs' gradients by which splits are searched; 0: by all outputs.
    renews : bool
        Whether leaf values are quantiles of residuals.
    enqueues_sums : bool
        Whether sums over a team are enqueued, so that the host need not know a level's nodes.
    forest_bytes : int
        Most bytes of the trees that wait on the device.
    agreed_block : int
        ``forest_block`` as the team has agreed on it; 0 before.
    """

    params: ParameterValues
    policy: TreeSizes
    all_rows: int
    n_outputs: int = 1
    n_parallel: int = 1
    n_trees: int = 1
    first_round: int = 0
    set_words: int = 0
    numeric_features: int = 0
    has_vectors: bool = False
    n_sketches: int = 0
    renews: bool = False
    enqueues_sums: bool = False
    forest_bytes: int = FOREST_BYTES
    agreed_block: int = 0

    @property
    def count_bits(self) -> int:
        """Bits of a count in a sum of Hessians, see ``cl_kernels/counted_children.h``."""
        return next(bits for bits in range(1, 64) if self.all_rows < 2**bits * (2**bits - 1))

    @property
    def round_trees(self) -> int:
        """Trees of a round."""
        return self.n_outputs * self.n_parallel

    @property
    def n_streams(self) -> int:
        """Trees of a round that draw rows of their own; with vectors, those of one output."""
        return self.n_parallel if self.has_vectors else self.round_trees

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

    @property
    def forest_block(self) -> int:
        """Batches of trees that wait on the device before the host reads them."""
        if self.agreed_block:
            return self.agreed_block
        sets = self.most_sets * self.set_words * 4
        fields = len(KEPT) + (2 + 2 * self.most_terms if self.params.linear_tree else 0)
        most = self.forest_bytes // (self.max_nodes * fields * 4 + sets)
        batches = len(self.batches)  # those of a round are read together
        rounds = self.params.n_estimators
        if self.params.weighs_trees:  # the host checks the sums of trees as it reads them
            rounds = min(rounds, CHECKED_ROUNDS)
        return max(batches, min(most, rounds * batches))

    def leaf_rate(self, learning_rate: float) -> np.float32:
        """Return the factor on leaf values; 0 if devices would disagree on it."""
        factor: np.float32 = np.float32(learning_rate) / np.float32(self.n_parallel)
        return np.float32(0) if factor < 2.0**-125 else factor

    @property
    def draw_arrays(self) -> tuple[str, ...]:
        """The arrays that searches read in which chance has a part; none for others."""
        noise = ("noise", "noisy_ranks") if self.params.random_strength > 0 else ()
        return ("draws", *noise) if self.params.draws_splits else ()

    @property
    def pick_arrays(self) -> tuple[str, ...]:
        """The array of the leaves that a step splits; none where it splits all of a level's."""
        return ("picked",) if self.policy.picks_leaves else ()

    @property
    def n_alike(self) -> int:
        """Outputs whose trees split alike; 1 where trees split by themselves."""
        return self.n_outputs if self.has_vectors else 1

    @property
    def orders_levels_once(self) -> bool:
        """Whether the levels of a categorical column have one order in all nodes of a tree."""
        return self.policy.fills_levels or self.has_vectors

    @property
    def n_lists(self) -> int:
        """Trees of a batch that have lists of rows; those that split alike share the first's."""
        return self.n_trees // self.n_alike

    # -- of a tree ---------------------------------------------------------------------------
    @property
    def n_levels(self) -> int:
        """Levels, or steps of the policy, whose nodes can split."""
        return self.policy.n_steps

    @property
    def most_terms(self) -> int:
        """Most features in the linear function of a leaf; at least 1."""
        return max(1, min(MOST_TERMS, self.numeric_features, self.longest - 1))

    @property
    def longest(self) -> int:
        """Most nodes on the way to a leaf."""
        most = self.params.max_depth or self.policy.most_leaves
        return (most if self.policy.fills_levels else min(most, self.all_rows)) + 1

    # -- of the trees that are grown at a time --------------------------------------------------
    def level_capacity(self, depth: int) -> int:
        """Return the most nodes that a level, or a step of the policy, can have."""
        return self.n_trees * self.policy.capacity(depth)

    @property
    def most_level_nodes(self) -> int:
        """Most nodes of a level, the last one included."""
        return self.n_trees * max(self.policy.capacities[: self.n_levels + 1])

    @property
    def search_capacity(self) -> int:
        """Most nodes of a level whose splits are searched."""
        return self.n_trees * max(self.policy.capacities[: self.n_levels])

    @property
    def slots(self) -> int:
        """Histograms that are kept."""
        return self.n_trees * self.policy.slots

    @property
    def max_nodes(self) -> int:
        """Most nodes of the trees that are grown at a time."""
        return self.n_trees * (2 * self.policy.made - 1)

    @property
    def most_sets(self) -> int:
        """Most sets of codes of these trees: one for each pair of children."""
        return self.max_nodes // 2 + 1

    def fixed_slot(self, level: int) -> int:
        """Return the first histogram that is kept of a level's nodes built from rows.

        It does not depend on the splits where a team enqueues its sums, so that the host need not
        know them. 0: the splits of earlier levels tell.
        """
        most = self.n_trees << (self.n_levels - 1)
        fixed = self.enqueues_sums and not self.policy.picks_leaves and self.slots >= most
        return self.n_trees << (level - 1) if fixed and level else 0

    def fixed_slots(self, level: int) -> slice | None:
        """Return the histograms of a level that a team enqueues to add up; None: splits tell."""
        begin = self.fixed_slot(level)
        if begin:
            return slice(begin, min(2 * begin, self.slots))
        return slice(0, self.n_trees) if self.enqueues_sums and not level else None
