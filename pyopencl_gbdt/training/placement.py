"""Where the rows of a fit lie: all on its device, or in pages that take turns there.

The least memory is checked before the data are quantised, and the exact memory afterwards. If all
rows do not fit, and nothing asks for all of them at a time, pages take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.device.team_messages import FitsDevice, IsQuantized
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit.choose_turns import choose_turns
from pyopencl_gbdt.fit.drawn_rows import (
    DrawnRows,
    copied_share,
    gathers_rows,
    make_room,
    passes_of_codes,
)
from pyopencl_gbdt.fit.on_paper import on_paper
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.policy import Policy, agreed, policy_of
from pyopencl_gbdt.growth.steps import Steps
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.page import AnyPage, Layout, QuantizedData, even_layout
from pyopencl_gbdt.pages.paged import (
    expected_columns,
    expected_tiles,
    paged,
    sizes_of,
    tile_sizes_of,
)
from pyopencl_gbdt.pages.shared_cuts import encoded_part
from pyopencl_gbdt.pages.stored import StoredPages
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.streamed import cut_layout, stays_resident, stored_pages

#: Values whose fit is not built on paper before, which takes some 0.4 ms, ...
_FEW_VALUES = 1_000_000
#: ... if there are so many bytes for each of them and each bin: more than the histograms of a tree
#: with a leaf for every row take, and all else.
_PLENTY = 48


@dataclass
class Placement:
    """What the sizes of a fit follow from; see ``Booster``.

    Attributes
    ----------
    policy : Policy or None
        None is what the parameters ask for; ``chosen`` is what became of it.
    weighted : bool
    weight_bits, weight_shift : int
        As ``numerics.weights.normalise`` returns them.
    statistics : bool
        Whether categorical columns become statistics.
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
    weighted: bool
    weight_bits: int
    weight_shift: int
    first_round: int
    statistics: bool
    orders: tuple[int, int]
    n_pages: int
    n_slots: int

    def __post_init__(self) -> None:
        self.chosen = self.policy or policy_of(self.params)
        self.limits = limits_of(self.params, self.data)

    def _on_paper(self, ws: Workspace) -> Workspace:
        """Build the fit's steps on paper; return the workspace that knows their arrays."""
        built = on_paper(ws)
        Steps(built, self.chosen, self.objective, self.data)
        return built

    def place(self) -> tuple[Workspace, QuantizedData | None]:
        """Return the fit's workspace with its pages, and the codes if all stay on the device.

        Raises
        ------
        MemoryPlanError
            If the fit does not fit the device.
        """
        resident = stays_resident(
            self.params, self.objective, self.data, statistics=self.statistics
        )
        kind, given, layout = self.params.page_kind, self.share.codes, self.share.layout
        if kind == "streamed" or isinstance(given, StoredPages):
            return self._in_turn(), None
        tiles = self._tiles()
        asked = given is None and (self.share.team.size == 1 or layout is not None)
        may_stream = not resident and self.params.page == "auto" and asked and tiles is None
        if self._may_not_fit():
            columns = None if tiles is not None else expected_columns(self.data, self.params.search)
            least = self._workspace(even_layout(self.data.n_features), (), columns, tiles)
            if not may_stream:
                self._on_paper(least).check()
            elif not self._fits_all(least):
                return self._in_turn(), None
        codes: QuantizedData | None = None
        try:
            codes = given or self._quantized(tiles)
        except MemoryPlanError:
            if not may_stream:
                raise
        self.data.end_reading()
        if may_stream and not all(self.share.team.exchange(IsQuantized, codes is not None)):
            del codes
            return self._in_turn(), None
        assert codes is not None
        ws = self._workspace(codes.layout, codes.pages, sizes_of(codes), tile_sizes_of(codes))
        if not may_stream and self._may_not_fit():
            self._on_paper(ws).check()
        elif may_stream and not self._fits_all(ws):
            del codes, ws
            self.data.forget()
            return self._in_turn(), None
        return ws, codes

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

    def _fits_all(self, ws: Workspace) -> bool:
        """Tell whether a fit fits the devices of all members: either all of them stream, or none.

        Members that stream grow all trees of a round at a time.
        """
        if not self._may_not_fit():
            return True
        return all(self.share.team.exchange(FitsDevice, ws.fits(self._on_paper)))

    def _tiles(self) -> TileSizes | None:
        """Return the sizes of tiled codes, if the data suit them."""
        params, data = self.params, self.data
        share = self.share
        if share.codes is not None or share.layout is not None or self.statistics:  # dense codes
            return None
        slots = self.chosen.slots(params.most_leaves(self.share.all_rows or data.n_rows))
        sizes = params.search, params.page_kind, params.max_bin, slots
        return expected_tiles(data, self.device, *sizes)

    def _quantized(self, tiles: TileSizes | None) -> QuantizedData:
        if self.share.layout is not None:
            layout, max_bin = self.share.layout, self.params.max_bin
            return encoded_part(self.data, self.device, layout, max_bin, self.n_pages)
        sizes = self.params.search, self.params.max_bin, self.n_pages, tiles
        return paged(self.data, self.device, *sizes, exact=self.params.max_bin_exact)

    def _workspace(
        self,
        layout: Layout,
        pages: Sequence[AnyPage],
        columns: ColumnSizes | None,
        tiles: TileSizes | None,
        turns: Turns | None = None,
    ) -> Workspace:
        """Return a workspace; several leaves split in a step where that is faster, and fits."""
        several = self.policy is None and columns is None and turns is None
        if self.policy is None:  # where pages take turns, each step of the policy is a pass
            caps = self.device.caps if several else None
            self.chosen = agreed(policy_of(self.params, caps), self.share.team)
        ws = self._sized(layout, pages, columns, tiles, turns)
        if several and self.chosen.picks > 1 and not self._fits_all(ws):
            self.chosen = agreed(policy_of(self.params), self.share.team)
            ws = self._sized(layout, pages, columns, tiles, turns)
        return ws

    def _sized(
        self,
        layout: Layout,
        pages: Sequence[AnyPage],
        columns: ColumnSizes | None,
        tiles: TileSizes | None,
        turns: Turns | None,
    ) -> Workspace:
        weights = self.weighted, self.weight_bits, self.weight_shift
        sizes = layout, pages, self.data.n_rows
        ws = Workspace(self.device, self.params, self.chosen, *sizes, *weights)
        ws.describe(self.objective, self.data.n_targets, self.limits)
        ws.columns, ws.tiled, ws.turns = columns, tiles, turns
        ws.first_round, ws.beside = self.first_round, self.beside
        ws.n_ordered, ws.n_orders = self.orders
        ws.join(self.share)
        ws.choose_trees(self._on_paper)
        return ws

    def _in_turn(self) -> Workspace:
        """Return a workspace whose pages take turns; make the pages if there are none yet."""
        data, device = self.data, self.device
        data.forget()  # codes of an earlier fit
        stored = self.share.codes if isinstance(self.share.codes, StoredPages) else None
        layout = self.share.layout if stored is None else stored.layout
        if layout is None:
            self._turned(even_layout(data.n_features))  # raises before columns are cut
            layout = cut_layout(data, device, self.params)
        ws = self._turned(layout, None if stored is None else stored.bounds)
        assert ws.turns is not None
        made = stored or stored_pages(data, device, self.params, layout, ws.turns)
        data.end_reading()
        ws.take_turns(made)
        if ws.drawn is not None:
            make_room(ws.drawn)
        return ws

    def _turned(self, layout: Layout, bounds: Sequence[tuple[int, int]] | None = None) -> Workspace:
        """Return a workspace for pages that take turns, with no pages yet."""
        ws = self._workspace(layout, (), None, None, Turns([(0, self.data.n_rows)], 1))
        choose_turns(ws, self._on_paper, bounds, self.n_pages, self.n_slots)
        self._on_paper(ws).check()
        if gathers_rows(ws):
            self._gather(ws, bounds)
        return ws

    def _gather(self, ws: Workspace, bounds: Sequence[tuple[int, int]] | None) -> None:
        """Grow trees on gathered rows, if they fit the device and fewer pages are copied then."""
        assert ws.turns is not None
        turns, copied = ws.turns, passes_of_codes(ws) * copied_share(ws.turns)
        ws.gathers, ws.drawn = True, DrawnRows.of(ws)
        try:
            choose_turns(ws, self._on_paper, bounds, self.n_pages, self.n_slots)
            self._on_paper(ws).check()
            if passes_of_codes(ws) * copied_share(ws.turns) < copied:
                return
        except MemoryPlanError:
            pass
        ws.gather_no_rows()
        ws.turns = turns

    def turn_again(self, ws: Workspace) -> None:
        """Choose again how many of the same pages lie on the device at a time."""
        assert ws.turns is not None
        choose_turns(ws, self._on_paper, ws.turns.bounds)
