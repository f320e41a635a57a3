"""Where the rows of a fit lie: on its device, or, if nothing asks for all of them, pages in turn.

The least memory is checked before the data are quantised, and the exact memory afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.team.messages import FitsDevice, IsQuantized
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit.nodes import TreeSizes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.page_schedule import PageSchedule
from pyopencl_gbdt.fit.parts import (
    FitParts,
    RowWeights,
    assemble,
    check,
    choose_trees,
    fits,
    has_joint_codes,
    on_paper,
)
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import may_stand_alone
from pyopencl_gbdt.growth.policy import Policy, agreed, tree_sizes
from pyopencl_gbdt.growth.recipe import (
    MOST_WHOLE_ROWS,
    TIMES_JOINT_ROWS,
    choose_policy,
    choose_rows,
)
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS
from pyopencl_gbdt.pages.page import (
    AnyPage,
    Layout,
    Page,
    QuantizedData,
    SortedColumns,
    even_layout,
)
from pyopencl_gbdt.pages.paged import (
    LEAST_DENSE_BYTES,
    MOST_CODE_BYTES,
    expected_columns,
    expected_tiles,
    paged,
)
from pyopencl_gbdt.pages.quantize import joins_none
from pyopencl_gbdt.pages.stored import StoredPages
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.constraints import Constraints, limits_of
from pyopencl_gbdt.parameters.facts import FitFacts, PageFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes

if TYPE_CHECKING:
    from pyopencl_gbdt.training.joint_pages import JointPages
    from pyopencl_gbdt.training.pages_in_turn import PagesInTurn

#: Values whose fit is not built on paper before, which takes some 0.4 ms, ...
_FEW_VALUES = 1_000_000
#: ... if there are so many bytes for each of them and each bin: more than the histograms of a tree
#: with a leaf for every row take, and all else.
_PLENTY = 48


def _sizes_of(codes: QuantizedData) -> tuple[ColumnSizes | None, TileSizes | None]:
    """Return the sizes of sorted columns, and of tiled codes; None for pages of other kinds."""
    page = codes.pages[0]
    if isinstance(page, SortedColumns):
        return ColumnSizes(page.n_entries, page.missing), None
    tiles = [
        page.codes.cells.size
        for page in codes.pages
        if isinstance(page, Page) and isinstance(page.codes, TiledCodes)
    ]
    return None, TileSizes(sum(tiles)) if tiles else None


@dataclass
class Placement:
    """What the sizes of a fit follow from; see ``Fit``.

    Attributes
    ----------
    policy : Policy or None
        None is what the parameters ask for; ``chosen`` is what became of it.
    statistics : bool
        Whether categorical columns have statistics.
    orders : (int, int)
        Features whose codes change from round to round, and orders of the rows that take turns.
    """

    device: Device
    params: Parameters
    objective: Objective
    data: Dataset
    share: Share
    policy: Policy | None
    beside: MemoryPlan
    weights: RowWeights
    first_round: int
    statistics: bool
    orders: tuple[int, int]
    n_pages: int
    n_slots: int

    def __post_init__(self) -> None:
        data, codes = self.data, self.share.codes
        limited = self.params.constrains(data.feature_weights)
        self.limits = limits_of(self.params, data) if limited else Constraints()
        given = ""
        if codes is not None:  # to ask whether None is of a protocol takes 0.1 ms
            given = "stored pages" if isinstance(codes, StoredPages) else "codes"
        pages = PageFacts(
            given=given, has_statistics=self.statistics, n_orders=self.orders[1], most_picks=1
        )
        self.facts = FitFacts(
            self.params, self.objective.facts(), n_rows=data.n_rows,
            n_targets=data.n_targets, sparse=data.sparse is not None, device=self.device.caps,
            pages=pages,
        )  # fmt: skip
        self.chosen = self.policy or choose_policy(self.facts)

    def _joint_pages(self) -> JointPages | None:
        """Return the plan to store joint codes alone; None if columns' own codes are stored."""
        if not may_stand_alone(self.facts, self.data.n_features):
            return None
        from pyopencl_gbdt.training.joint_pages import JointPages

        return JointPages(
            self.device, self.params, self.data, self.share, self.facts, self.beside,
            self._features,
            lambda layout, pages, beside: self._parts(layout, pages, None, None, beside=beside),
        )  # fmt: skip

    def _on_paper(self, parts: FitParts) -> FitParts:
        """Build the fit's steps on paper; return the parts that know their arrays."""
        built = on_paper(parts)
        RoundKernels(built, self.chosen, self.objective, self.data)
        return built

    def place(self) -> tuple[FitParts, QuantizedData | None]:
        """Return the fit's parts with its pages, and the codes if all stay on the device.

        Raises
        ------
        MemoryPlanError
            If the fit does not fit the device.
        """
        given, tiles = self.share.codes, self._tiles()
        rows = choose_rows(self.facts if tiles is None else self.facts.with_pages(kind="tiled"))
        if FitRows not in rows:
            return self._in_turn(), None
        assert given is None or not isinstance(given, StoredPages)
        may_stream = RowsInTurn in rows
        joint = self._joint_pages() if tiles is None else None
        least = None if joint is None else joint.expected()
        planned = 0 if joint is None else joint.set_up_bytes(least)
        if self._may_not_fit():
            columns = None if tiles is not None else expected_columns(self.data, self.params.search)
            if least is None:
                least = self._parts(even_layout(self.data.n_features), (), columns, tiles)
            if not may_stream:
                check(self._on_paper(least))
            elif not self._fits_all(least):
                return self._in_turn(), None
        codes: QuantizedData | None = None
        try:
            codes = given or self._quantized(tiles, joint, planned)
        except MemoryPlanError:
            if not may_stream:
                raise
        self.data.end_reading()
        if may_stream and not all(self.share.team.exchange(IsQuantized, codes is not None)):
            del codes
            return self._in_turn(), None
        assert codes is not None
        parts = self._parts(codes.layout, codes.pages, *_sizes_of(codes))
        if joint is not None and joint.joins(parts):
            codes = joint.joined(parts, codes)
            parts = self._parts(codes.layout, codes.pages, None, None)
            self.device.free_unused()  # the columns' own codes
        if not may_stream and self._may_not_fit():
            check(self._on_paper(parts))
        elif may_stream and not self._fits_all(parts):
            del codes, parts
            self.data.forget()
            return self._in_turn(), None
        return parts, codes

    def _keeps_others(self, joint: JointPages | None) -> bool:
        """Whether the data set keeps joint codes of an earlier fit that this one does not read."""
        codes = None if self.data.kept is None else self.data.kept[1]
        if not isinstance(codes, QuantizedData) or not has_joint_codes(codes.pages[0]):
            return False
        return joint is None or not joint.reads(codes)

    def _may_not_fit(self) -> bool:
        """Tell whether a tree may be too large for the device, so that it is built on paper first.

        Several trees at a time are, in any case. What does not fit is refused in the end.
        """
        data, device = self.data, self.device
        n_values, bins = data.n_rows * data.n_features, min(self.params.max_bin, data.n_rows)
        there = device.caps.global_bytes - device.allocated_bytes - self.beside.total_bytes
        there = min(there, device.caps.max_alloc_bytes)
        many = n_values > _FEW_VALUES or n_values * bins * _PLENTY > there
        return many or self.share.team.size > 1

    def _fits_all(self, parts: FitParts) -> bool:
        """Tell whether a fit fits the devices of all members: either all of them stream, or none.

        Members that stream grow all trees of a round at a time.
        """
        if not self._may_not_fit():
            return True
        return all(self.share.team.exchange(FitsDevice, fits(parts, self._on_paper)))

    @property
    def _tree(self) -> TreeSizes:
        """The sizes of a tree."""
        return tree_sizes(self.chosen, self.params, self.share.all_rows or self.data.n_rows)

    def _tiles(self) -> TileSizes | None:
        """Return the sizes of tiled codes, if the data suit them."""
        params, data = self.params, self.data
        share = self.share
        if share.codes is not None or share.layout is not None or self.statistics:  # dense codes
            return None
        most_bytes = data.n_rows * data.n_features * MOST_CODE_BYTES
        if params.page_kind == "auto" and most_bytes < LEAST_DENSE_BYTES:
            return None
        sizes = params.search, params.page_kind, params.max_bin, self._tree.slots
        return expected_tiles(data, self.device, *sizes)

    def _quantized(
        self, tiles: TileSizes | None, joint: JointPages | None, planned: int
    ) -> QuantizedData:
        """Return the pages; the data set keeps them for the next fit.

        ``planned``: bytes for codes; 0: as many as each column's own take.
        """
        if self.share.layout is not None:
            from pyopencl_gbdt.pages.parted_cuts import encoded_part

            layout, max_bin = self.share.layout, self.params.max_bin
            return encoded_part(self.data, self.device, layout, max_bin, self.n_pages)
        data, params, kept = self.data, self.params, self.data.kept
        exact, rule = params.max_bin_exact, params.cut_rule
        most = params.max_bin if params.search == "hist" else 0
        key = self.device.process_key, tiles is not None, most, self.n_pages, exact, rule
        if kept is not None and kept[0] == key and not self._keeps_others(joint):
            assert isinstance(kept[1], QuantizedData)
            return kept[1]
        data.forget()  # frees the former pages first
        del kept
        made = paged(
            data, self.device, params.search, params.max_bin, self.n_pages, tiles,
            exact=exact, rule=CUT_RULES[rule], code_bytes=planned,
            joiner_of=joins_none if joint is None else joint.joiner,
        )  # fmt: skip
        data.kept = key, made
        return made

    def _features(self, layout: Layout) -> FitFeatures:
        """Return the features of dense codes."""
        ordered, sampled = self.orders[0], self.params.samples_columns
        return FitFeatures(layout, n_ordered=ordered, limits=self.limits, sampled=sampled)

    def _parts(
        self, layout: Layout, pages: Sequence[AnyPage], columns: ColumnSizes | None,
        tiles: TileSizes | None, schedule: PageSchedule | None = None,
        beside: MemoryPlan | None = None, *, sends: bool | None = None,
    ) -> FitParts:  # fmt: skip
        """Return a fit's parts; several leaves split in a step where that is faster, and fits."""
        exclusive = list[list[int]]()
        n_small = np.count_nonzero(np.diff(layout.feature_offset) <= MOST_CELLS // 2)
        if n_small > 1 and self.share.team.size == 1 and not self.orders[0]:
            from pyopencl_gbdt.growth.joint_columns import exclusive_groups

            most_rows = MOST_WHOLE_ROWS * TIMES_JOINT_ROWS
            exclusive = exclusive_groups(self.facts, layout, pages, most_rows)
        features = replace(
            self._features(layout), columns=columns, tiled=tiles, exclusive=exclusive
        )
        kind = features.kind if schedule is None else "streamed"
        facts = self.facts.with_pages(kind=kind, most_picks=0, sends_columns=sends)
        known = features, pages, schedule, beside or self.beside
        parts = self._sized(facts, *known)
        if self.policy is None and self.chosen.picks > 1 and not self._fits_all(parts):
            parts = self._sized(facts.with_pages(most_picks=1), *known)
        return parts

    def _sized(
        self, facts: FitFacts, features: FitFeatures, pages: Sequence[AnyPage],
        schedule: PageSchedule | None, beside: MemoryPlan,
    ) -> FitParts:  # fmt: skip
        """Return a fit's parts, and set the policy; all members of a team call it together."""
        self.chosen = self.policy or agreed(choose_policy(facts), self.share.team)
        parts = assemble(
            self.device, facts, self._tree, features, pages, self.weights, schedule=schedule,
            share=self.share, first_round=self.first_round, beside=beside,
        )  # fmt: skip
        choose_trees(parts, self._on_paper)
        return parts

    def _in_turn(self) -> FitParts:
        """Return a fit's parts whose pages take turns; make the pages if there are none yet."""
        return self._turns().place()

    def _turns(self) -> PagesInTurn:
        from pyopencl_gbdt.training.pages_in_turn import PagesInTurn

        return PagesInTurn(
            self.device, self.params, self.data, self.share, self.n_pages, self.n_slots,
            lambda layout, turns, sends: self._parts(layout, (), None, None, turns, sends=sends),
            self._on_paper,
        )  # fmt: skip

    def turn_again(self, parts: FitParts) -> None:
        """Choose again how many of the same pages lie on the device at a time."""
        self._turns().choose_again(parts)
