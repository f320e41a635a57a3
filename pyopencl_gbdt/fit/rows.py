"""The rows of a fit: their arrays, and the launches of their pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, Contents, MemoryPlan
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import RowGroups
from pyopencl_gbdt.dtypes import QUANTA, VALUE
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import (
    FitFeatures,
    FitPage,
    PerRow,
    RowPart,
    codes_alone,
    name_of,
    resident_pages,
)
from pyopencl_gbdt.fit.page_schedule import PageSchedule, PageWise
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import RowLists, Ways
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import AnyCodes, AnyPage, Page, most_page_bytes, page_bounds
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes, PackedCodes, code_dtype
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes, tile_begins
from pyopencl_gbdt.primitives.tiled_histogram_kernel import tile_capacity

if TYPE_CHECKING:
    from pyopencl_gbdt.device.team.sums import Window
    from pyopencl_gbdt.fit.page_stream import PageStream

#: Returns the first values of an array of rows.
Values = Callable[[], npt.ArrayLike]
#: Rows, or entries, of all trees at a time: numbers have 32 bits, with room for a step behind.
MOST_NUMBERED = 2**32 - 2**16


@dataclass
class FitRows(RowLists):
    """The rows of a fit, all of whose pages stay on the device.

    Attributes
    ----------
    arena : Arena
        All arrays that the fit's steps have asked for.
    nodes, features, ways
    page_list : sequence of Page, or of one SortedColumns
        The data; empty while they are not there yet.
    weight_bits, weight_shift : int
        As ``numerics.weights.normalise`` returns them.
    n_targets : int
        Labels of a row: 1, or one an output.
    given : bool
        Whether the loss has kernels of its own, which fill ``given_g`` and ``given_h``.
    n_orders : int
        Orders of the rows that statistics of categories are computed in, round by round in turn.
    share : Share
        The team that this device is a member of, and its place there.
    team_groups : int
        Work-groups of passes over rows, agreed on by the team; 0 where there is none.
    has_high : bool
        Whether there is room for quanta of more than 32 bits.
    row_arrays : dict of str to (PerRow, dtype)
        The arrays that have elements for every row: the shape for so many rows, and the dtype.
    first_values : dict of str to callable
        What arrays of rows will hold at first.
    """

    arena: Arena
    nodes: Nodes
    features: FitFeatures
    ways: Ways
    n_rows: int
    page_list: Sequence[AnyPage] = ()
    weighted: bool = False
    weight_bits: int = 0
    weight_shift: int = 0
    n_targets: int = 1
    given: bool = False
    n_orders: int = 1
    share: Share = field(default_factory=Share)
    team_groups: int = 0
    has_high: bool = False
    row_arrays: dict[str, tuple[PerRow, np.dtype[Any]]] = field(default_factory=dict)
    first_values: dict[str, Values] = field(default_factory=dict)

    @property
    def schedule(self) -> PageSchedule | None:
        """The pages that take turns on the device."""
        return None

    @property
    def stream(self) -> PageStream | None:
        """What moves pages that take turns."""
        return None

    @property
    def drawn(self) -> FitRows | None:
        """The gathered rows that trees grow on, see ``fit.rows_in_turn``."""
        return None

    @property
    def grown(self) -> FitRows:
        """The rows that trees grow on."""
        return self.drawn or self

    # -- the team ----------------------------------------------------------------------------
    @property
    def team(self) -> Team:
        return self.share.team

    def join(self) -> None:
        """Agree with the other members of the team on work-groups and on gathered columns."""
        if self.team.size > 1:
            self.team_groups = self.team.least(RowGroups, self.row_groups)
            self.ways.agree(self.team, one_page=len(self.page_rows) == 1)

    @property
    def row_groups(self) -> int:
        """Work-groups that share all rows evenly, for passes over every row."""
        return self.team_groups or self.arena.device.caps.row_groups(self.n_rows)

    # -- pages -------------------------------------------------------------------------------
    @property
    def block_order(self) -> BlockOrder:
        """Where the codes of a row lie on this device, if they are dense."""
        layout, caps = self.features.layout, self.arena.device.caps
        dtype = code_dtype(layout.most_codes)
        return BlockOrder.of(layout.n_features, dtype, coalesced=caps.coalesces_reads)

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """First row and number of rows of every page; as expected while there are none."""
        if self.page_list:
            return [(page.first_row, page.n_rows) for page in self.page_list]
        if self.features.columns is not None or self.features.tiled is not None:
            return [(0, self.n_rows)]
        caps, row_bytes = self.arena.device.caps, self.block_order.row_bytes
        return page_bounds(self.n_rows, row_bytes, most_page_bytes(caps, row_bytes))

    @property
    def pages(self) -> list[FitPage]:
        """The pages, with their arrays if these are allocated."""
        whole = self.parts[0]
        return [FitPage(i, page, whole) for i, page in enumerate(self.page_list)]

    @property
    def parts(self) -> list[RowPart]:
        """The rows whose arrays lie on the device as one: all rows, or each page's."""
        return [RowPart(0, self.n_rows, self.row_groups, self.arena.arrays)]

    @property
    def codes(self) -> AnyCodes:
        """The codes of the first page."""
        return self.pages[0].codes

    @property
    def tiles(self) -> npt.NDArray[np.uint32]:
        """First feature of every tile of tiled codes, then the number of features."""
        if self.page_list:
            page = self.page_list[0]
            assert isinstance(page, Page)
            assert isinstance(page.codes, TiledCodes)
            return page.codes.begins
        capacity = tile_capacity(self.arena.device.caps)
        return tile_begins(self.features.layout.feature_offset, capacity)

    def kinds(self) -> dict[str, str]:
        """Return how the rows lie on the device, for ``Model.variants``."""
        found, codes = {"page": self.features.kind}, None
        if self.features.columns is None and self.page_list:
            codes = self.codes
        return found | {"codes": codes.kind} if isinstance(codes, JoinedCodes) else found

    # -- arrays ------------------------------------------------------------------------------
    def array_of_rows(
        self, name: str, shape: PerRow, dtype: npt.DTypeLike, values: Values | None = None
    ) -> None:
        """Ask for an array of rows; where pages take turns, every slot has one for its page's rows.

        Parameters
        ----------
        dtype : numpy dtype
        values : callable or None
            Returns what the array of all rows holds at first.
        """
        self.row_arrays[name] = shape, np.dtype(dtype)
        self._ask(name, shape, dtype)
        if values is not None and self.arena.device.holds_memory:
            self.first_values[name] = values
            if self.arena.has_memory:
                self.fill()

    def _ask(self, name: str, shape: PerRow, dtype: npt.DTypeLike) -> None:
        """Ask for the array of all rows."""
        self.arena.array(name, shape.of(self.n_rows), dtype)

    def array_of_pages(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> None:
        """Ask for an array that every page has for itself, see ``FitPage``."""
        for index in range(len(self.page_rows)):
            self.arena.array(name_of(name, index), shape, dtype, contents)

    def margin_shape(self, n_rows: int) -> tuple[int, ...]:
        """Return the shape of the margins of so many rows."""
        return PerRow.numbers(self.nodes.n_outputs).of(n_rows)

    def own_arrays(self) -> None:
        """Ask for arrays that belong to no step: those of rows, and tables of bins."""
        numbers = {"margins": self.nodes.n_outputs, "labels": self.n_targets}
        if self.keeps_margins:
            numbers["before"] = self.nodes.n_outputs
        if self.weighted:
            numbers["weights"] = 1
        for name, count in numbers.items():
            self.array_of_rows(name, PerRow.numbers(count), VALUE)
        outputs = self.nodes.n_outputs
        for name in ("given_g", "given_h") if self.given else ():
            self.array_of_rows(name, PerRow((outputs,)), VALUE)
        self._tables()

    def _tables(self) -> None:
        """Ask for tables of bins, and for the learning rate."""
        rate = [self.nodes.leaf_rate(self.nodes.params.learning_rate)]
        self.arena.array("leaf_rate", 1, np.float32, rate)
        self.features.ask_for_tables(self.arena)

    def allocate(self) -> None:
        """Bring all arrays that steps have asked for to the device, with their contents."""
        self.arena.allocate(joins=True)
        self.fill()

    def fill(self) -> None:
        """Give the arrays of rows their first values, those that have some."""
        values, self.first_values = self.first_values, {}
        for name, of in values.items():
            self.set(name, of())

    def set(self, name: str, values: npt.ArrayLike) -> None:
        """Set an array of rows from host values that broadcast to its shape; waits."""
        array = self.arena[name]
        array.set(np.broadcast_to(np.asarray(values, array.dtype), array.shape))

    def get(self, name: str) -> npt.NDArray[Any]:
        """Return an array of rows, which are its last axis; waits for the device."""
        return self.arena[name].get()

    def forget_steps(self) -> None:
        """Let go of what the steps have asked for; others may be built then."""
        self.arena.forget_all()
        self.ways.choose_anew()
        self.row_arrays, self.first_values = {}, {}

    def trees_fit(self, n_trees: int, fits: Callable[[], bool]) -> bool:
        """Tell whether so many trees can be grown at a time; ``fits`` asks the device's memory."""
        columns = self.features.columns
        each = self.n_rows if columns is None else max(self.n_rows, columns.n_entries)
        return n_trees * each <= MOST_NUMBERED and n_trees <= MOST_Y and fits()

    def ask_for_slots(self) -> None:
        """Ask for the arrays that pages in turn share; for none where all pages stay."""

    def kept(self) -> MemoryPlan:
        """Return the host's memory for pages that take turns; nothing where all pages stay."""
        return MemoryPlan()

    def make_room_for_high_words(self, turn: Callable[[], None]) -> None:
        """Make room for them; ``turn`` chooses anew how many pages lie on the device, if some do.

        The steps have to be built anew, so release the former ones before.
        """
        self.has_high = True
        for name in [name for name in self.arena.arrays if name.partition(" of ")[0] == "high"]:
            self.arena.forget(name)
        self.arena.array("high", (self.nodes.n_trees * self.n_rows, 2), QUANTA)

    def on_paper(self, arena: Arena, ways: Ways, share: Share) -> FitRows:
        """Return the same rows on paper, whose steps are still to be built."""
        return replace(self, arena=arena, ways=ways, row_arrays={}, share=share)

    def paper_pages(self) -> list[AnyPage]:
        """Return pages as they will be, on paper, and ask for their arrays."""
        tiles = None if self.features.tiled is None else self.tiles
        return resident_pages(self.arena, self.features, self.block_order, self.page_rows, tiles)

    def paper_codes(self, n_rows: int) -> PackedCodes:
        """Return codes of so many rows on paper, whose memory is counted elsewhere."""
        return codes_alone(self.arena.device, self.features, self.block_order, n_rows)

    def forget_pages(self) -> None:
        """Let go of all pages and arrays, whoever may keep the fit alive."""
        self.page_list = ()
        self.forget_steps()

    # -- launches of pages -------------------------------------------------------------------
    def pagewise(
        self,
        launches: Sequence[Sequence[Launch]],
        reads: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
        drops: tuple[str, ...] = (),
        first: Sequence[Sequence[Launch]] | None = None,
        updates: tuple[str, ...] = (),
    ) -> list[Action]:
        """Return the actions of all pages, or of all parts of the rows.

        Where pages stay on the device, these are their launches, page after page. Where they take
        turns, one action puts them on the list of the next pass; see ``PageWise``.
        """
        return self._queued(PageWise(launches, reads, writes, drops, first, updates))

    def _queued(self, action: PageWise) -> list[Action]:
        """Return the launches of every page, one page after the other."""
        return [launch for own in action.launches for launch in own]

    def all_rows_done(self) -> list[Action]:
        """Return the action after which all rows have been visited; none where pages stay."""
        return []

    def cleared(self, name: str) -> list[Action]:
        """Return the action that clears what pages in turn add to; none where pages stay."""
        return []

    def joined(self, actions: Sequence[Action]) -> list[Action]:
        """Return the actions of trees, enqueued by few calls where pages stay."""
        return self.arena.device.together(actions)

    def close(self, *, stored: bool) -> None:
        """Free what the host keeps of pages; with ``stored``, their files, too."""

    def in_order(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions; launches of no page run behind those of pages before them."""
        return list(actions)

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return the actions after which an array holds the sum over all pages and devices."""
        return [*self.all_rows_done(), *self.team.sum(array, window, dtype)]

    # -- what gradients are taken of -----------------------------------------------------------
    @property
    def keeps_margins(self) -> bool:
        """Whether a round's margins change before all its gradients are computed from them."""
        batches = self.nodes.batches
        return len(batches) > 1 and not self.given and not self.nodes.params.is_ordered

    @property
    def gradients_at(self) -> str:
        """The name of the margins from which a round's gradients are computed."""
        return "seen_margins" if self.nodes.params.is_ordered else "margins"

    @property
    def gradients_of(self) -> tuple[str, str]:
        """The arrays of rows from which gradients of trees are computed."""
        if self.given:
            return "given_g", "given_h"
        return "before" if self.keeps_margins else self.gradients_at, "labels"

    @property
    def weights(self) -> tuple[str, ...]:
        """The array of the rows' weights, if rows have weights."""
        return ("weights",) if self.weighted else ()

    @property
    def factors_of_rows(self) -> tuple[str, ...]:
        """The arrays whose numbers a row's gradients are multiplied by."""
        return (*self.weights, *(("factors",) if self.nodes.params.samples_rows else ()))

    def gradient_arguments(self, batch: Batch, part: RowPart) -> dict[str, Any]:
        """Return the kernels' arguments from which the gradients of some trees are computed.

        Margins and labels, or gradients and Hessians that are given; rows, the first tree, trees
        of an output, and the distance of two outputs' labels.
        """
        margins, labels = (part[name] for name in self.gradients_of)
        stride = part.n_rows if self.given or self.n_targets > 1 else 0
        return {
            "margins": margins, "labels": labels, "n_rows": part.n_rows, "first_tree": batch.first,
            "n_parallel": self.nodes.n_parallel, "label_stride": stride,
        }  # fmt: skip
