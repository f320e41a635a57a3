"""The rows of a fit: their arrays, and the launches of their pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, Contents
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import RowGroups
from pyopencl_gbdt.device.team.sums import Window
from pyopencl_gbdt.dtypes import VALUE, code_dtype
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitPage, PerRow, RowPart, name_of
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.fit.visits import Visits
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.pages.page import AnyPage, Page, most_page_bytes, page_bounds
from pyopencl_gbdt.primitives.block_order import BlockOrder
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes, tile_begins
from pyopencl_gbdt.primitives.tiled_histogram_kernel import tile_capacity

#: The lists of rows: of nodes at even depths, and at odd ones.
LISTS = ("even_rows", "odd_rows")
#: Returns the first values of an array of rows.
Values = Callable[[], npt.ArrayLike]


def _numbers(count: int) -> PerRow:
    """Return the shape of so many numbers of every row."""
    return PerRow(() if count == 1 else (count,))


@dataclass
class FitRows:
    """The rows of a fit, all of whose pages stay on the device.

    Attributes
    ----------
    arena : Arena
        All arrays that the fit's steps have asked for.
    nodes, features, ways
    n_rows : int
    page_list : sequence of Page, or of one SortedColumns
        The data; empty while they are not there yet.
    weighted : bool
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
    def turns(self) -> Turns | None:
        """The pages that take turns on the device."""
        return None

    @property
    def visits(self) -> Visits | None:
        """What moves pages that take turns."""
        return None

    @property
    def drawn(self) -> FitRows | None:
        """The gathered rows that trees grow on, see ``fit.drawn_rows``."""
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
        """Agree with the other members of the team on the work-groups of passes over rows."""
        if self.team.size > 1:
            self.team_groups = self.team.least(RowGroups, self.row_groups)

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
        row_bytes = self.block_order.row_bytes
        most = most_page_bytes(self.arena.device.caps, row_bytes)
        return page_bounds(self.n_rows, row_bytes, most)

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
    def codes(self) -> PackedCodes | TiledCodes:
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
        if self.features.columns is not None:
            return {"page": "sorted"}
        return {"page": "dense" if self.features.tiled is None else "tiled"}

    # -- arrays ------------------------------------------------------------------------------
    def array_of_rows(
        self, name: str, shape: PerRow, dtype: npt.DTypeLike, values: Values | None = None
    ) -> None:
        """Ask for an array of rows; where pages take turns, every slot has one for its page's rows.

        Parameters
        ----------
        name : str
        shape : PerRow
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
        return _numbers(self.nodes.n_outputs).of(n_rows)

    def own_arrays(self) -> None:
        """Ask for what belongs to no step: what is known of every row, and tables of bins."""
        numbers = {"margins": self.nodes.n_outputs, "labels": self.n_targets}
        if self.keeps_margins:
            numbers["before"] = self.nodes.n_outputs
        if self.weighted:
            numbers["weights"] = 1
        for name, count in numbers.items():
            self.array_of_rows(name, _numbers(count), VALUE)
        outputs = self.nodes.n_outputs
        for name in ("given_g", "given_h") if self.given else ():
            self.array_of_rows(name, PerRow((outputs,)), VALUE)
        self._tables()

    def _tables(self) -> None:
        """Ask for tables of bins, and for what kernels are bound to in place of rows' arrays."""
        layout, array = self.features.layout, self.arena.array
        if not self.weighted:
            array("weights", 1, VALUE)
        if not self.given:
            for name in ("given_g", "given_h"):
                array(name, (1, 1), VALUE)
        rate = [self.nodes.leaf_rate(self.nodes.params.learning_rate)]
        array("leaf_rate", 1, np.float32, rate)
        for name in ("feature_offset", "feature_bins", "fullest"):
            table = getattr(layout, name)
            array(name, table.size, np.uint32, table)
        array("thresholds", layout.n_codes, VALUE, layout.thresholds)

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
        """Return the actions of every page, or part of the rows.

        Where pages stay on the device, these are their launches, page after page. Where they take
        turns, one action puts them on the list of the next pass; see ``PageWise``.
        """
        return [launch for own in launches for launch in own]

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
        """Whether a round's margins change while gradients are still to be taken of them."""
        batches = self.nodes.batches
        return len(batches) > 1 and not self.given and not self.nodes.params.is_ordered

    @property
    def gradients_at(self) -> str:
        """The array of the margins that a round's splits take their gradients of."""
        return "seen_margins" if self.nodes.params.is_ordered else "margins"

    @property
    def gradients_of(self) -> tuple[str, str]:
        """The arrays of rows that gradients of trees are taken of."""
        if self.given:
            return "given_g", "given_h"
        return "before" if self.keeps_margins else self.gradients_at, "labels"

    def gradient_arguments(self, batch: Batch, part: RowPart) -> dict[str, Any]:
        """Return the kernels' arguments that say what gradients of some trees are taken of.

        Margins and labels, or gradients and Hessians that are given; rows, the first tree, trees
        of an output, and the distance of two outputs' labels.
        """
        margins, labels = (part[name] for name in self.gradients_of)
        stride = part.n_rows if self.given or self.n_targets > 1 else 0
        return {
            "margins": margins, "labels": labels, "n_rows": part.n_rows, "first_tree": batch.first,
            "n_parallel": self.nodes.n_parallel, "label_stride": stride,
        }  # fmt: skip

    # -- histograms and lists of rows ----------------------------------------------------------
    @property
    def adds_histograms(self) -> bool:
        """Whether a node's histogram is added up from several pages or devices."""
        return len(self.page_rows) > 1 or self.team.size > 1

    @property
    def cells_to_clear(self) -> int:
        """Sums to clear in a node's histogram before it is built; 0 if the kernel clears them."""
        if self.features.columns is not None:
            return 0
        cleared = self.adds_histograms or self.ways.variant("histogram").int64_atomics
        return 2 * self.features.layout.n_codes if cleared else 0

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn; the others are in none.

        That is where rows find their leaves without lists.
        """
        columns = self.features.columns
        walks = columns is None and self.ways.variant("update_margins").name == "walk"
        return self.nodes.params.samples_rows and walks

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

    def moved_rows(self, step: int) -> tuple[str, ...]:
        """Return the list that a step's partition writes whole, level by level."""
        if self.nodes.policy.picks_leaves or self.leaves_have_lists:
            return ()
        return (LISTS[(step + 1) % 2],)

    def updated_rows(self, step: int) -> tuple[str, ...]:
        """Return the lists of which a step's partition writes the rows of single nodes."""
        if self.nodes.policy.picks_leaves:
            return LISTS
        return (LISTS[(step + 1) % 2],) if self.leaves_have_lists else ()
