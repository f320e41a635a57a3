"""Which variant of every kernel a fit uses, and which lists of rows follow from that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Capabilities, Device, Program, Variant
from pyopencl_gbdt.device.drivers.fallback import Attempt
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.small_fits import FitSize, in_small_fits
from pyopencl_gbdt.device.switches import JOINT_CODES, LEVEL_COLUMNS, asked
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import PercentGathered, PercentOfLevels
from pyopencl_gbdt.device.variants import KERNELS, choose, choosing
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.primitives.histogram_kernel import OWN_BANKS, can_hold, choose_histogram
from pyopencl_gbdt.primitives.packed_codes import BlockOrder
from pyopencl_gbdt.primitives.tiled_histogram_kernel import TILED_HISTOGRAM

#: The columns' own codes are let go where they take at least this share of a device's memory.
#: 700 k x 2000 of 5 values on an H200 with 141 GiB takes 3.30 GB with them and 0.50 GB without,
#: with 10 % of the columns drawn 3.30 and 0.64 GB, by the plan. Less is kept for the next fit.
LEAST_SHARE = 1 / 128


def fit_kernels() -> list[str]:
    """Return the kernels of the variant table that run in the rounds of every fit."""
    every = ((name, kernel) for name, kernel in KERNELS.items() if kernel.phase == "rounds")
    return [name for name, kernel in every if not kernel.fitted_with]


def _param(variant: Variant, name: str) -> Param:
    """Return a parameter of a variant, or one of its requirements."""
    return variant.params[name] if name in variant.params else bool(getattr(variant, name))


def variant_of(kernel: str, facts: FitFacts, caps: Capabilities) -> Variant:
    """Return the variant of a kernel that a fit with these facts uses on a device."""
    pages, name = facts.pages, facts.parameters.histogram
    several = facts.parameters.num_parallel_tree > 1 or pages.most_picks > 1
    if kernel == "update_margins" and (several or pages.gathers or facts.parameters.linear_tree):
        # by rows, two trees would meet at a margin, leaves that are made too many have rows,
        # and rows that were not drawn are in no list; linear leaves read other values of a row
        return choose(kernel, caps, "walk")
    small = _in_small_fits(kernel, facts, caps) if kernel in ("histogram", "plan") else None
    if small is not None:
        return small
    if kernel != "histogram":
        alone = kernel == "split" and facts.parameters.work_group_size == 1  # others need two
        return choose(kernel, caps, "sequential" if alone else "auto")
    if pages.kind == "tiled":
        known = {variant.name for variant in KERNELS[TILED_HISTOGRAM].variants}
        return choose(TILED_HISTOGRAM, caps, name if name in known else "auto")
    return choose_histogram(caps, pages.most_codes, name)


def _in_small_fits(kernel: str, facts: FitFacts, caps: Capabilities) -> Variant | None:
    """Return the variant in the sizes of small fits; None if a fit has those of large ones."""
    params, pages = facts.parameters, facts.pages
    if params.histogram != "auto" or params.leaf_wise or pages.kind != "dense":
        return None
    if pages.adds_histograms or pages.stores_joint:
        return None
    if pages.n_joined and asked(JOINT_CODES) not in ("auto", "off"):  # others read them
        return None
    trees = facts.n_outputs * params.num_parallel_tree
    leaves = trees * params.most_leaves(facts.n_rows)
    found = in_small_fits(kernel, FitSize(trees * facts.n_rows, leaves, pages.n_features), caps)
    if kernel == "plan" or found is None or can_hold(found, caps, pages.most_codes):
        return found
    return None


def gathers_columns(facts: FitFacts) -> bool:
    """Whether trees that grow by steps gather the codes of the columns that they draw.

    That is for dense codes of one page, where the trees of a round together gather no more columns
    than there are, and for pages that bring no other columns. All members of a team do, or none:
    they add up histograms of the same columns. The trees are the same.
    """
    pages, caps = facts.pages, facts.device
    if pages.sends_columns:
        return True
    few, agreed = gathered_columns(facts), pages.percent_gathered
    if caps is None or pages.kind != "dense" or not may_gather(facts):
        return False
    if pages.adds_histograms and agreed is None:  # of several pages of one device
        return False
    if gathers_levels(facts):
        return agreed is None or agreed > 0
    percent = percent_gathered(facts, caps) if agreed is None else agreed
    return _takes_at_most(percent, few, facts)


def gathered_columns(facts: FitFacts) -> int:
    """Return how many columns a tree gathers, if trees gather some; 0: it has all.

    They are those that the tree draws, or the fewer ones that its levels draw together.
    """
    return facts.columns_of_levels if gathers_levels(facts) else facts.columns_of_tree


def gathers_levels(facts: FitFacts) -> bool:
    """Whether trees that gather columns gather those alone that their levels draw.

    Levels that draw the same columns leave room for others: a tree gathers as many as its levels
    draw at most.

    ``PYOPENCL_GBDT_LEVEL_COLUMNS`` may be ``"off"``, or ``"on"``: wherever this is possible.
    """
    word, of_levels = asked(LEVEL_COLUMNS), facts.columns_of_levels
    if word != "auto" or not of_levels:
        return word == "on" and of_levels > 0
    agreed, caps = facts.pages.percent_of_levels, facts.device
    if caps is None:
        return False
    percent = percent_of_levels(facts, caps) if agreed is None else agreed
    return _takes_at_most(percent, of_levels, facts)


def _takes_at_most(percent: int, n_columns: int, facts: FitFacts) -> bool:
    """Whether histograms of so many gathered columns take at most this share of those of all.

    Joint codes make those of all smaller. H200, 700 k x 2000 of 5 values, whose joint codes are a
    third, depth 5, ms a round gathered and by joint codes of all: 10 % drawn 0.83 and 1.55, CUDA
    0.69 and 1.47; 30 % 1.99 and 1.57, CUDA 1.56 and 1.49; 50 % 2.87 and 1.46, CUDA 2.28 and 1.35.
    """
    pages, caps = facts.pages, facts.device
    of_all, joint = pages.n_codes, asked(JOINT_CODES) != "off" and not pages.adds_histograms
    if joint and caps is not None and joint_codes_pay(facts):
        reads_them = variant_of("histogram", facts, caps).name == OWN_BANKS
        of_all = min(of_all, pages.n_joined * pages.most_codes) if reads_them else of_all
    return 100 * n_columns * pages.most_codes <= percent * of_all


def joint_codes_pay(facts: FitFacts) -> bool:
    """Whether joint codes are few enough, and leaves have rows enough, for histograms by them."""
    pages, caps, n_rows = facts.pages, facts.device, facts.n_rows
    if caps is None or not pages.n_joined:
        return False
    least = variant_of("joint_blocks", facts, caps).params["rows"]
    leaves = facts.parameters.most_leaves(n_rows)
    return joint_codes_are_few(facts, caps) and n_rows >= least * leaves


def joint_codes_are_few(facts: FitFacts, caps: Capabilities) -> bool:
    """Whether a row has few enough joint codes beside the codes of its columns."""
    percent: int = variant_of("joint_blocks", facts, caps).params["percent"]
    return 100 * facts.pages.n_joined <= percent * facts.pages.n_features


def may_gather(facts: FitFacts) -> bool:
    """Whether trees draw columns, and need no others."""
    params, pages, few = facts.parameters, facts.pages, gathered_columns(facts)
    if not few or params.forced_splits:  # on columns that a tree may not have drawn
        return False
    gathered = few * facts.n_outputs * params.num_parallel_tree
    if gathered > pages.n_features or params.is_ordered or pages.n_orders > 1:
        return False
    return not (pages.has_sets or params.symmetric_trees or facts.has_vectors)


def percent_gathered(facts: FitFacts, caps: Capabilities) -> int:
    """Return the most that the histograms of gathered columns may take of those of all."""
    return int(variant_of("gather_columns", facts, caps).params["percent"])


def percent_of_levels(facts: FitFacts, caps: Capabilities) -> int:
    """Return the most that the histograms of columns of levels may take of those of all."""
    percent: int = variant_of("gather_columns", facts, caps).params["levels"]
    return percent


def may_stand_alone(facts: FitFacts, n_features: int) -> bool:
    """Whether a fit may store joint codes alone, as far as it is known before columns are cut."""
    word, caps = asked(JOINT_CODES), facts.device
    if caps is None or word not in ("auto", "alone"):
        return False
    gains = variant_of("joint_blocks", facts, caps).params["percent"] > 0
    return word == "alone" or (gains and takes_much(facts, n_features))


def takes_much(facts: FitFacts, n_features: int) -> bool:
    """Whether the columns' own codes take much of the device's memory."""
    caps = facts.device
    if caps is None:
        return False
    order = BlockOrder.of(n_features, np.dtype(np.uint8), coalesced=caps.coalesces_reads)
    return (order.row_bytes + n_features) * facts.n_rows >= LEAST_SHARE * caps.global_bytes


@dataclass
class Ways:
    """The variants of a fit's kernels.

    Attributes
    ----------
    device : Device
        Builds the kernels.
    facts : FitFacts
        What decides; ``learn`` adds to them.
    """

    device: Device
    facts: FitFacts
    _chosen: dict[str, Variant] = field(default_factory=dict)
    """What ``variant`` has returned; a fit asks a hundred times."""

    def variant(self, kernel: str) -> Variant:
        """Return the variant that this fit uses for a kernel.

        It stays until ``choose_anew``, unless the driver fails to build it.
        """
        found = self._chosen.get(kernel)
        refused = choosing.REFUSED
        if found is None or (refused and choosing.refusal(found, self.device.caps) in refused):
            found = variant_of(kernel, self.facts, self.device.caps)
            self._chosen[kernel] = found
        return found

    def choose_anew(self) -> None:
        """Forget the variants so far: they depend on what has changed since."""
        self._chosen.clear()

    def learn(self, **known: Any) -> None:
        """Add to what is known of the pages, and choose anew; names as in ``PageFacts``."""
        self.facts = self.facts.with_pages(**known)
        self.choose_anew()

    def agree(self, team: Team, *, one_page: bool) -> None:
        """Agree with the other members of a team on whether trees gather the columns they draw.

        They do where every member's device gathers so many columns: all get fewer bytes of sums.
        PoCL, 2 queues on 2 busy cores, 200 k x 100, depth 6, processor ms a round gathered and
        masked: 10 % drawn 21 and 98, 50 % 56 to 67 and 100 to 106, 75 % 76 to 81 and 89 to 98.
        Two H200, 400 k x 300, depth 6, ms a round: OpenCL through the host, 10 % 3.4 to 3.8 and 9.2
        to 10.0, 50 % 6.4 to 7.6 and 9.3 to 12.0; CUDA by NCCL, 10 % 0.38 and 0.82, 50 % 0.61, 0.85.

        ``one_page``: whether this member has its rows in one page.
        """
        facts, caps = self.facts, self.device.caps
        if facts.columns_of_levels:
            own = percent_of_levels(facts, caps) if one_page else 0
            self.learn(percent_of_levels=team.least(PercentOfLevels, own))
        if facts.columns_of_tree or facts.columns_of_levels:
            own = percent_gathered(facts, caps) if one_page else 0
            self.learn(percent_gathered=team.least(PercentGathered, own))

    def build(self, kernel: str, make: Callable[[Variant], Program]) -> Program:
        """Build a kernel's variant, or the next one where the driver fails to.

        Call it before asking for arrays that depend on the variant.

        Raises
        ------
        KernelBuildError
            If no variant builds, or the one that does not was asked for by name.
        """
        for attempt in self.attempts(kernel):
            with attempt as variant:
                program = self.built(attempt, make(variant))
        return program

    def attempts(self, kernel: str) -> Iterator[Attempt]:
        """Yield tries to build a kernel: its variant, then others while the driver fails to."""
        while True:
            variant = self.variant(kernel)
            attempt = Attempt(self.device, variant.kernel, variant)
            yield attempt
            if attempt.error is None:
                return
            attempt.go_on(self.variant(kernel))

    def built(self, attempt: Attempt, program: Program) -> Program:
        """Return the program that a try has built."""
        tiled = attempt.kernel == TILED_HISTOGRAM
        return attempt.built(
            program, partial(self.variant, "histogram" if tiled else attempt.kernel)
        )

    def build_kernel(
        self,
        kernel: str,
        *,
        template: str = "",
        of_variant: tuple[str, ...] = (),
        **options: Param,
    ) -> Program:
        """Build a kernel's template with these parameters; see ``build``.

        Parameters
        ----------
        kernel : str
            As in the variant table.
        template : str
            Its template, if that has another name.
        of_variant : tuple of str
            Parameters of the template that the variant sets, or that are its needs, besides the
            size of its work-groups.
        **options
            The other parameters.
        """
        for attempt in self.attempts(kernel):
            with attempt as variant:
                own = {name: _param(variant, name) for name in of_variant}
                made = self.device.build(
                    template or kernel, wg_size=self.wg_size(variant), **own, **options
                )
                program = self.built(attempt, made)
        return program

    def wg_size(self, variant: Variant) -> int:
        """Return the work-group size to build a variant for."""
        return self.facts.parameters.work_group_size or variant.params["wg_size"]


#: The lists of rows: of nodes at even depths, and at odd ones.
LISTS = ("even_rows", "odd_rows")


class RowLists:
    """What follows for the rows of a fit from its nodes, features and variants of kernels."""

    nodes: Nodes
    features: FitFeatures
    ways: Ways

    @property
    def page_rows(self) -> Sequence[tuple[int, int]]:
        """First row and number of rows of every page."""
        raise NotImplementedError

    @property
    def team(self) -> Team:
        """The members that train together."""
        raise NotImplementedError

    @property
    def adds_histograms(self) -> bool:
        """Whether a node's histogram is added up from several pages or devices."""
        return len(self.page_rows) > 1 or self.team.size > 1

    @property
    def has_histograms(self) -> bool:
        """Whether nodes have histograms of the gradients' own quanta."""
        return self.features.columns is None and not self.nodes.n_sketches

    @property
    def cells_to_clear(self) -> int:
        """Sums to clear in a node's histogram before it is built; 0 if the kernel clears them."""
        if not self.has_histograms:
            return 0
        cleared = self.adds_histograms or self.ways.variant("histogram").atomic_sums
        return 2 * self.histogram_codes if cleared else 0

    @property
    def histogram_codes(self) -> int:
        """Codes of a node's histogram: those of all features, or of the columns of its tree."""
        facts, layout = self.ways.facts, self.features.layout
        gathers = gathers_columns(facts)
        return gathered_columns(facts) * layout.most_codes if gathers else layout.n_codes

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn; the others are in none.

        That is where rows find their leaves without lists.
        """
        columns = self.features.columns
        walks = columns is None and self.ways.variant("update_margins").name == "walk"
        return self.nodes.params.leaves_out_rows and walks

    @property
    def leaves_have_lists(self) -> bool:
        """Whether margins are updated by the lists of rows, which leaves keep until then."""
        columns = self.features.columns
        return columns is None and self.ways.variant("update_margins").name != "walk"

    @property
    def moves_last_rows(self) -> bool:
        """Whether rows move to the children of the last step, too, for the margins' update."""
        return self.nodes.policy.moves_last_rows

    def listed_rows(self, step: int) -> tuple[str, ...]:
        """Return the lists that a step's histograms and partition read, level by level."""
        if self.nodes.policy.picks_leaves or (step == 0 and not self.lists_drawn):
            return ()
        return (LISTS[step % 2],)
