"""The classes that grow the trees of a fit: chosen in one place, from facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from pyopencl_gbdt.device.helper_process import usable_cores
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.fit.ways import fit_kernels, gathers_columns, variant_of
from pyopencl_gbdt.growth.finalize import LeafValues, PlainBoosting, UpdateMargins
from pyopencl_gbdt.growth.policy import (
    BestFirst,
    LevelWise,
    Policy,
    Symmetric,
    Together,
    tree_sizes,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.table import DEEPEST_LEVEL

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.boosting import Boosting, MarginUpdate
    from pyopencl_gbdt.growth.newton_leaves import NewtonLeaves
    from pyopencl_gbdt.growth.partition import Partition
    from pyopencl_gbdt.growth.split import SplitSearch
    from pyopencl_gbdt.growth.whole_trees import WholeTrees

#: A CPU walks whole columns if there are at least this many for each compute unit, ...
COLUMNS_PER_UNIT = 4
#: ... if what a tree knows of its rows fits a core's cache, ... PoCL, 2 cores of an AMD EPYC with
#: 1 MB each, ms a round of depth 6 of both cores, with walks and with pieces of nodes: 16 k x 62 k,
#: 80 entries a row, 20 classes: 480 and 1700; the same, regression: 60 and 63; 64 k rows: 208 and
#: 246. Dense, 20 k x 28: 21 and 21, 100 k x 28: 111 and 91.
MOST_WALKED_ROWS = 65536
#: ... and a tree has at most this many nodes in a step, for which every work-group has room.
MOST_WALKED_NODES = 4096

#: One launch grows the trees of a batch for at most this many rows, ... PoCL, 2 cores, ms a round
#: by steps and by one launch, depth 6, 28 features: 60 k rows 4.1 and 2.2; 200 k 8.2 and 6.6; 500 k
#: 21.5 and 19.9; 1 M 38.5 and 47. Depth 8: 60 k 8.2 and 4.3; 200 k 14.4 and 9.1; 1 M 54 and 82.
MOST_WHOLE_ROWS = 131072
#: ... or for so many times as many if columns share codes, so that this share of codes is left at
#: most. PoCL, 2 cores beside other programs, processor ms a round by steps and by one launch with
#: joint codes: 300 k x 100 of 5 values, depth 5, 72 and 38; 300 k x 54, 44 of them indicators,
#: depth 6, 38 and 24, 1 M rows, depth 8, 188 and 162; 1 M x 60 of 5 values, depth 6, 229 and 152.
#: 300 k x 300 of 5 values, a tenth drawn, 1 thread, 36 and 14.
TIMES_JOINT_ROWS, MOST_JOINED = 8, 0.5
#: The same, leaf by leaf, ... PoCL, 1 thread, processor ms a round by steps and by one launch, 28
#: features: 20 k rows, 31 leaves 5.5 and 3.9, 255 leaves 38 and 14; 100 k, 255 leaves 56 and 31.
MOST_BEST_FIRST_ROWS = 131072
#: ... or for at most this many rows a leaf. The same: 500 k rows, 255 leaves 133 and 86; 31 leaves
#: 46 and 57.
MOST_ROWS_A_LEAF = 4096
#: Features from which on the keys of borders would leave 32 bits.
MOST_FEATURES_WHOLE = 1 << 22
#: Units of a CPU's device for each core of the process: PoCL counts the host's cores, also where a
#: container may use few. 16 threads on 2 cores take three times as long as steps, 2 on 1 less.
MOST_UNITS_A_CORE = 2

#: In place of these, a kernel of ``WholeTrees`` is named.
_OF_STEPS = ("histogram", "split", "partition")
#: Kernels that are not named: those that another kernel's variant stands for.
_UNNAMED = ("approx", "tiled_histogram")


class RecipePart(Protocol):
    """A class of a recipe; ``kernels`` as in `SplitSearch`."""

    kernels: ClassVar[tuple[str, ...]]


#: The kernels of all classes that some fits have and others have not.
OF_SOME = frozenset({
    "approx", "category_sets", "category_split", "column_search", "columns", "dropout", "exact",
    "gather_columns", "histogram", "interleaved", "leaves_by_next_order", "linear_leaves",
    "newton_leaves", "node_pieces", "ordered_leaves", "partition", "row_nodes", "sketched_leaves",
    "split", "symmetric", "symmetric_sets", "tiled_histogram", "update_margins", "vector_split",
    "whole_trees",
})  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The classes that grow the trees of a fit.

    Attributes
    ----------
    rows : tuple of type
        How rows may lie on the device, the best way first: another one is for what does not fit.
    policy : Policy
        Which nodes split next.
    search, partition : type, or None
        What finds splits, and what moves rows to the children. None: ``whole`` does both.
    update : type
        What adds finished trees to the margins.
    sets : tuple of type
        What splits by sets of levels, if features are categorical.
    leaves : type
        What replaces leaf values; ``LeafValues`` where they follow from the sums of splits.
    steps : type, or None
        What moves the weights of leaves further, if they take several steps.
    boosting : type
        What gradients are computed from, and what becomes of the trees.
    whole : type, or None
        What grows the trees of a batch by one launch.
    """

    rows: tuple[type[FitRows], ...]
    policy: Policy
    search: type[SplitSearch] | None
    partition: type[Partition] | None
    update: type[MarginUpdate]
    sets: tuple[type[RecipePart], ...] = ()
    leaves: type[LeafValues] = LeafValues
    steps: type[NewtonLeaves] | None = None
    boosting: type[Boosting] = PlainBoosting
    whole: type[WholeTrees] | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of these classes that not every fit has."""
        parts: list[type[RecipePart] | None] = [
            self.whole, self.search, self.partition, self.update, *self.sets, self.leaves,
            self.steps, self.boosting,
        ]  # fmt: skip
        every = [name for part in parts if part is not None for name in part.kernels]
        return tuple(dict.fromkeys(every))

    @property
    def left_out(self) -> frozenset[str]:
        """The kernels that other fits have."""
        return OF_SOME - {*self.kernels}

    def variants(self, parts: FitParts) -> dict[str, str]:
        """Return the variant of every kernel of a fit, the kind of its pages, and joint codes."""
        kernels = [name for name in fit_kernels() if name not in self.left_out]
        kernels += [name for name in self.kernels if name not in (*kernels, *_UNNAMED)]
        found = {kernel: parts.ways.variant(kernel).name for kernel in kernels}
        if self.whole is not None:
            (whole,) = self.whole.kernels
            found |= dict.fromkeys(_OF_STEPS, found.pop(whole))
        kinds, facts = parts.rows.kinds(), parts.ways.facts
        beside = self.whole is None and facts.pages.n_joined > 0 and "codes" not in kinds
        if beside and _joins_blocks(facts):
            kinds["codes"] = "plain, and joint by row"
        return found | kinds


def choose_recipe(facts: FitFacts, policy: Policy | None = None) -> Recipe:
    """Return the classes of a fit; each is imported by the fits that have it.

    ``facts``: they alone decide which classes these are.
    ``policy``: which nodes split next; None is what the parameters ask for.
    """
    policy = policy or choose_policy(facts)
    update, steps = _update(facts, policy), None
    boosting: type[Boosting] = PlainBoosting
    search: type[SplitSearch] | None = None
    partition: type[Partition] | None = None
    sets: tuple[type[RecipePart], ...] = ()
    whole: type[WholeTrees] | None = None
    if grows_whole(facts, policy):
        whole = _whole(policy)
    elif facts.pages.kind != "sorted":
        from pyopencl_gbdt.growth.partition import PartitionByCodes

        search, partition = _search_of_codes(facts, policy), PartitionByCodes
        sets = _sets(facts, policy)
    else:
        search, partition, update = _of_columns(facts, policy)
    if facts.pages.n_joined and not (whole is not None and policy.splits_alone):
        _joins_blocks(facts)  # or an error says why not
    if facts.parameters.takes_steps:
        from pyopencl_gbdt.growth.newton_leaves import NewtonLeaves

        steps = NewtonLeaves
    if facts.parameters.weighs_trees:
        from pyopencl_gbdt.growth.dropout import DropoutBoosting

        boosting = DropoutBoosting
    rows, leaves = choose_rows(facts), _leaves(facts)
    return Recipe(rows, policy, search, partition, update, sets, leaves, steps, boosting, whole)


def _joins_blocks(facts: FitFacts) -> bool:
    from pyopencl_gbdt.growth.joint_columns import joins_blocks

    return joins_blocks(facts)


def _update(facts: FitFacts, policy: Policy) -> type[MarginUpdate]:
    if facts.n_sketches:
        from pyopencl_gbdt.growth.sketched_leaves import SketchedLeaves

        return SketchedLeaves
    if facts.pages.n_orders > 1:
        from pyopencl_gbdt.growth.leaves_by_next_order import LeavesByNextOrder, walks_leaves

        if walks_leaves(facts, tree_sizes(policy, facts.parameters, facts.n_rows)):
            return LeavesByNextOrder
    return UpdateMargins


def _leaves(facts: FitFacts) -> type[LeafValues]:
    if facts.parameters.linear_tree:
        from pyopencl_gbdt.growth.linear_leaves import LinearLeaves

        return LinearLeaves
    if facts.parameters.is_ordered:
        from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves

        return OrderedLeaves
    if facts.loss.renews:
        from pyopencl_gbdt.growth.renew_leaves import RenewLeaves

        return RenewLeaves
    return LeafValues


def _whole(policy: Policy) -> type[WholeTrees]:
    if policy.fills_levels:
        from pyopencl_gbdt.growth.whole_symmetric import WholeSymmetric

        return WholeSymmetric
    if policy.picks_leaves:
        from pyopencl_gbdt.growth.whole_best_first import WholeBestFirst

        return WholeBestFirst
    from pyopencl_gbdt.growth.whole_trees import WholeTrees

    return WholeTrees


def _search_of_codes(facts: FitFacts, policy: Policy) -> type[SplitSearch]:
    from pyopencl_gbdt.growth.split import GatheredSearch, HistogramSearch

    if facts.has_vectors:
        from pyopencl_gbdt.growth.vector_split import VectorSearch

        return VectorSearch
    if gathers_columns(facts):
        return GatheredSearch
    if policy.fills_levels:
        from pyopencl_gbdt.growth.symmetric import SymmetricSearch

        return SymmetricSearch
    return HistogramSearch


def _sets(facts: FitFacts, policy: Policy) -> tuple[type[RecipePart], ...]:
    if not facts.pages.has_sets:
        return ()
    from pyopencl_gbdt.growth.category_sets import CategorySets

    if policy.fills_levels or facts.has_vectors:
        from pyopencl_gbdt.growth.symmetric_sets import LevelBorders

        return LevelBorders, CategorySets
    from pyopencl_gbdt.growth.category_split import CategorySplit

    return CategorySplit, CategorySets


def _of_columns(
    facts: FitFacts, policy: Policy
) -> tuple[type[SplitSearch], type[Partition], type[MarginUpdate]]:
    from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode

    if walks_columns(facts, policy):
        from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows

        return ColumnSearch, PartitionOfRows, UpdateMarginsByNode
    from pyopencl_gbdt.growth.exact import ApproximateSearch, ExactSearch

    approximate = facts.parameters.search == "approx"
    search = ApproximateSearch if approximate else ExactSearch
    return search, PartitionByColumns, UpdateMarginsByNode


def choose_rows(facts: FitFacts) -> tuple[type[FitRows], ...]:
    """Return how rows may lie on the device, as ``choose_recipe`` does."""
    page, given = facts.parameters.page, facts.pages.given
    if page == "streamed" or given == "stored pages":
        return (RowsInTurn,)
    stay = facts.stays_resident or page != "auto" or given or facts.pages.kind == "tiled"
    return (FitRows,) if stay else (FitRows, RowsInTurn)


def choose_policy(facts: FitFacts) -> Policy:
    """Return which nodes split next, as ``choose_recipe`` does.

    Several leaves split in a step where that is faster.
    """
    params, pages = facts.parameters, facts.pages
    if params.symmetric_trees:
        return Symmetric(params.max_depth, moves_last_rows=params.linear_tree)
    if facts.has_vectors and not params.leaf_wise:
        deepest = params.max_depth or DEEPEST_LEVEL
        return Together(deepest, limits_leaves=params.max_leaves > 0)
    if not params.leaf_wise:
        return LevelWise(
            params.max_depth or DEEPEST_LEVEL, limits_leaves=params.max_leaves > 0,
            moves_last_rows=params.linear_tree,
        )  # fmt: skip
    if facts.has_vectors:
        return BestFirst(splits_alike=True)
    from pyopencl_gbdt.growth.best_first import MOST_SEVERAL

    one = facts.device is None or params.is_ordered or params.max_leaves > MOST_SEVERAL
    if (
        one or params.linear_tree or pages.kind in ("sorted", "streamed")
    ):  # pages in turn: each step is a pass
        return BestFirst()
    assert facts.device is not None
    picks = variant_of("plan", facts, facts.device).params["picks"]
    return BestFirst(picks=min(picks, pages.most_picks or picks))


def walks_columns(facts: FitFacts, policy: Policy) -> bool:
    """Whether exact search walks whole columns, rather than pieces of nodes' own entries.

    That is on CPUs, level by level, if there are columns for all work-items, few enough rows,
    and no terms of scores that cancel. The trees are the same.
    """
    params, pages, caps = facts.parameters, facts.pages, facts.device
    if caps is None or pages.kind != "sorted" or params.search == "approx" or policy.picks_leaves:
        return False
    if pages.has_monotone or params.reg_alpha > 0:
        return False
    enough = COLUMNS_PER_UNIT * caps.compute_units
    if facts.n_rows > MOST_WALKED_ROWS or pages.n_features < enough:
        return False
    sizes = tree_sizes(policy, params, facts.n_rows)
    wg_size = params.work_group_size or variant_of("exact", facts, caps).params["wg_size"]
    return max(sizes.capacities[: sizes.n_steps]) <= MOST_WALKED_NODES and wg_size == 1


def grows_whole(facts: FitFacts, policy: Policy) -> bool:
    """Whether one launch grows all trees of a batch, rather than one or more for each step.

    That is on CPUs, for few rows of dense codes, where all nodes of a tree have its features, and
    may split on each. Levels of symmetric trees may draw columns and noise, too. The trees are the
    same.
    """
    params, pages, caps = facts.parameters, facts.pages, facts.device
    best_first = policy == BestFirst()
    most_rows = MOST_WHOLE_ROWS
    shared = 0 < pages.n_joined <= MOST_JOINED * pages.n_features
    if shared and policy.splits_alone:
        from pyopencl_gbdt.growth.joint_columns import may_join

        most_rows *= TIMES_JOINT_ROWS if may_join(facts) else 1
    if best_first:
        most_rows = max(MOST_BEST_FIRST_ROWS, MOST_ROWS_A_LEAF * params.max_leaves)
    large = facts.n_rows > most_rows or pages.adds_histograms
    if caps is None or pages.kind != "dense" or large or params.is_ordered:
        return False
    by_level = policy.splits_alone or (policy.fills_levels and not facts.has_vectors)
    if not (by_level or best_first) or params.linear_tree:  # its leaves need their lists of rows
        return False
    if params.histogram != "auto" or params.work_group_size:
        return False
    of_borders = pages.has_sets or pages.has_monotone or params.reg_alpha > 0 or params.smooths
    lists_drawn = (
        params.leaves_out_rows and variant_of("update_margins", facts, caps).name == "walk"
    )
    if of_borders or lists_drawn or not _draws_whole(facts, policy):
        return False
    # work-groups wait for one another, so most of their threads have to run
    run = caps.compute_units <= MOST_UNITS_A_CORE * usable_cores()
    if not run or pages.n_features >= MOST_FEATURES_WHOLE:
        return False
    from pyopencl_gbdt.growth.whole_trees import MOST_CODES_WHOLE

    few = pages.most_bins < MOST_CODES_WHOLE and pages.most_codes <= MOST_CODES_WHOLE
    return few and variant_of("whole_trees", facts, caps).name == "one_launch"


def _draws_whole(facts: FitFacts, policy: Policy) -> bool:
    """Whether one launch can grow trees with these draws of columns and of splits."""
    params = facts.parameters
    if params.forced_splits:
        return False
    if policy.fills_levels:  # groups that interact depend on the nodes above
        return not (params.extra_trees or facts.pages.limits_paths)
    listed = facts.n_drawn and not policy.picks_leaves
    return not ((facts.pages.masks_columns and not listed) or params.draws_splits)
