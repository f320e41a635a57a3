"""Which variant of every kernel a fit uses, and the sizes that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Program, Variant, build_variant
from pyopencl_gbdt.device.launch_size import Parts
from pyopencl_gbdt.device.variants import KERNELS, choose, choosing
from pyopencl_gbdt.fit.shape import FitShape
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.primitives.histogram_plan import choose_histogram, shared_groups, work_groups
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes, tile_begins
from pyopencl_gbdt.primitives.tiled_histogram_kernel import (
    TILED_HISTOGRAM,
    cell_ranges,
    range_capacity,
    tile_capacity,
)

#: Bytes of an entry that a kernel may read and write: its row, its place and the row's quanta.
ENTRY_BYTES = 2 * (4 + 4 + 8)
#: Splits that a work-item of a lone work-group compares at most.
FEW_CANDIDATES = 64


def fit_kernels() -> list[str]:
    """Return the kernels of the variant table that run in the rounds of every fit."""
    every = ((name, kernel) for name, kernel in KERNELS.items() if kernel.phase == "rounds")
    return [name for name, kernel in every if not kernel.fitted_with]


@dataclass(frozen=True)
class Candidates:
    """What a split search leaves of a step for the policy: some candidates of every new node.

    Attributes
    ----------
    compared : bool
        Whether the search compared a node's candidates; then only the best one is left. If not,
        the policy's kernel compares those of all features, which takes no launch of its own.
    n_features : int
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


@dataclass
class FitVariants(FitShape):
    """The variants of a fit's kernels, by device, data and parameters."""

    chosen_variants: dict[tuple[Any, ...], Variant] = field(default_factory=dict)
    """The variants that ``variant`` has returned; a fit asks a hundred times."""

    def variant(self, kernel: str) -> Variant:
        """Return the row of the variant table that this fit uses for a kernel."""
        codes = self.layout.most_codes if kernel == "histogram" else 0
        shape = self.tiled is None, self.policy.picks, codes, self.n_parallel, self.gathers
        key = kernel, len(choosing.REFUSED), *shape  # a variant that fails is refused
        if key not in self.chosen_variants:
            self.chosen_variants[key] = self._choose(kernel)
        return self.chosen_variants[key]

    def _choose(self, kernel: str) -> Variant:
        caps, name = self.device.caps, self.params.histogram
        many = self.n_parallel > 1 or self.policy.picks > 1
        if kernel == "update_margins" and (many or self.gathers):
            # by rows, two trees would meet at a margin, leaves that are made too many have rows,
            # and rows that were not drawn are in no list
            return choose(kernel, caps, "walk")
        if kernel != "histogram":
            return choose(kernel, caps)
        if self.tiled is not None:
            known = {variant.name for variant in KERNELS[TILED_HISTOGRAM].variants}
            return choose(TILED_HISTOGRAM, caps, name if name in known else "auto")
        return choose_histogram(caps, self.layout.most_codes, name)

    def build(self, kernel: str, make: Callable[[Variant], Program]) -> Program:
        """Build a kernel's variant, or the next one where the driver fails to.

        Call it before asking for arrays that depend on the variant.

        Raises
        ------
        KernelBuildError
            If no variant builds, or the one that does not was asked for by name.
        """
        return build_variant(self.device, kernel, partial(self.variant, kernel), make)[1]

    def wg_size(self, variant: Variant) -> int:
        """Return the work-group size to build a variant for."""
        return self.params.work_group_size or variant.params["wg_size"]

    def candidates_of(self, step: int) -> Candidates:
        """Return what the search leaves of a step; few candidates are left uncompared."""
        if self.columns is not None:
            return Candidates(True, self.layout.n_features)
        wg_size = min(self.wg_size(self.variant("plan")), self.device.caps.max_work_group)
        n_features, nodes_each = self.layout.n_features, -(-self.level_capacity(step) // wg_size)
        many = n_features * nodes_each > FEW_CANDIDATES
        return Candidates(many or self.keeps_own_features(step), n_features)

    @property
    def most_entry_tasks(self) -> int:
        """Most pieces of entries that lie by node: whole ones, and one more for a node's rest."""
        assert self.columns is not None
        chunk = min(self.variant(name).params["chunk"] for name in ("exact", "columns"))
        return self.n_trees * (self.columns.n_entries // chunk + 1) + self.search_capacity

    @property
    def entry_parts(self) -> Parts:
        """The launches that a kernel over all entries needs."""
        assert self.columns is not None
        n_bytes = ENTRY_BYTES * self.n_trees * self.columns.n_entries
        return Parts.of(self.device.caps, n_bytes)

    @property
    def interleaved_levels(self) -> int:
        """Levels below the roots whose entries stay in the data's order; 0 where they always move.

        Leaf by leaf, entries move: a step has two nodes of a tree, and would read those of all. So
        they do where every node has bins of its own, which are marked along its own entries.
        """
        of_nodes = self.params.search == "approx" and self.params.proposal == "local"
        if self.columns is None or self.policy.picks_leaves or of_nodes:
            return 0
        return min(self.variant("interleaved").params["depth"], self.n_levels - 1)

    @property
    def n_stretches(self) -> int:
        """Stretches of the data's order, see ``growth.interleaved``."""
        assert self.columns is not None
        return -(-self.columns.n_entries // self.variant("interleaved").params["chunk"])

    @property
    def most_stretch_pieces(self) -> int:
        """Most pieces of nodes in stretches; those of the level to which entries move, too."""
        if not self.interleaved_levels:
            return 0
        deepest = min(self.interleaved_levels + 1, self.n_levels - 1)
        return self.n_stretches * self.level_capacity(deepest)

    @property
    def entry_lists(self) -> set[str]:
        """The lists that entries move to, of two that take turns: of nodes at even or odd depth."""
        end = self.n_levels + self.policy.moves_last_rows
        depths = range(self.interleaved_levels + 1, end)
        return {"odd" if depth % 2 else "even" for depth in depths[:2]}

    @property
    def quanta_of_roots(self) -> str:
        """The array of the roots' quanta: not that of the list which entries move to first."""
        odd = bool(self.entry_lists) and self.interleaved_levels % 2
        return "odd_quanta" if odd else "even_quanta"

    @property
    def most_row_tasks(self) -> int:
        """Most tasks of a partition pass: whole chunks, and one more for every node's rest."""
        chunk = self.variant("partition").params["chunk"]
        return self.n_trees * self.n_rows // chunk + self.search_capacity

    @property
    def histogram_groups(self) -> int:
        """Work-groups that share the histogram tasks of a level, for each range of codes."""
        layout, variant = self.layout, self.variant("histogram")
        if self.tiled is not None:
            capacity = range_capacity(variant, self.device.caps)
            ranges = cell_ranges(layout.feature_offset, self.tiles, capacity)
            return shared_groups(variant, self.device.caps, len(ranges))
        of_rows = self.n_rows, layout.most_codes
        return work_groups(variant, self.device.caps, layout.n_features, *of_rows)

    @property
    def tiles(self) -> npt.NDArray[np.uint32]:
        """First feature of every tile of tiled codes, then the number of features."""
        if self.page_list:
            page = self.page_list[0]
            assert isinstance(page, Page)
            assert isinstance(page.codes, TiledCodes)
            return page.codes.begins
        return tile_begins(self.layout.feature_offset, tile_capacity(self.device.caps))

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn; the others are in none.

        That is where rows find their leaves without lists.
        """
        if self.gathers and self.turns is not None:
            return False  # the gathered rows are listed
        walks = self.columns is None and self.variant("update_margins").name == "walk"
        return self.params.samples_rows and walks

    @property
    def adds_histograms(self) -> bool:
        """Whether a node's histogram is added up from several pages or devices."""
        return len(self.page_rows) > 1 or self.team.size > 1 or self.turns is not None

    @property
    def cells_to_clear(self) -> int:
        """Sums in a node's histogram that are to be 0 before it is built; 0: it does so itself."""
        if self.columns is not None:
            return 0
        cleared = self.adds_histograms or self.variant("histogram").int64_atomics
        return 2 * self.layout.n_codes if cleared else 0

    def kind_of_pages(self) -> dict[str, str]:
        """Return how the rows lie on the device, for ``Model.variants``."""
        found = {}
        found["page"] = "dense" if self.tiled is None else "tiled"
        if self.turns is not None:
            found["page"] = "streamed"
            if self.gathers:
                found["drawn rows"] = "gathered"
        if self.columns is not None:
            found["page"] = "sorted"
        return found
