"""The features of a fit, and its pages.

Features say where their codes or columns lie, and which splits they may have. A page has the codes
of some rows, and the arrays that no other page shares.

Pages of a fit take turns in the kernels that read codes. They share histograms, splits and trees.
Each has the rows of every node that lie in the page: its own nodes, levels and tasks.

Arrays of rows, such as margins, are those of all pages together where all pages stay on the device.
Where pages take turns there, each page has its own, in its slot (``fit.page_stream``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW, VALUE
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS, JointColumns, join_columns
from pyopencl_gbdt.pages.page import AnyCodes, AnyPage, Layout, Page, SortedColumns
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.constraints import Constraints
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes


@dataclass(frozen=True)
class FitFeatures:
    """The features of a fit.

    Attributes
    ----------
    columns : ColumnSizes or None
        Sizes of sorted columns, if splits are searched along them; None is by histograms.
    tiled : TileSizes or None
        Sizes of tiled codes; None is dense codes.
    n_ordered : int
        Features whose codes change from round to round, see ``pages.orders``.
    sampled : bool
        Whether trees, levels or nodes draw some of the features.
    most_at_steps : tuple of int
        How many features, of the first places, a step's nodes or nodes below may split on; none:
        all. Places are in another order than features then.
    exclusive : sequence of sequences of int
        Groups of exclusive features, as far as they are known, see ``pages/joint_columns.py``.
    """

    layout: Layout
    columns: ColumnSizes | None = None
    tiled: TileSizes | None = None
    n_ordered: int = 0
    limits: Constraints = field(default_factory=Constraints)
    sampled: bool = False
    most_at_steps: tuple[int, ...] = ()
    exclusive: Sequence[Sequence[int]] = ()

    def n_at(self, step: int) -> int:
        """Return of how many features, from the first one on, a step needs histograms."""
        return self.most_at_steps[step] if self.most_at_steps else self.layout.n_features

    @property
    def kind(self) -> str:
        """How rows lie that stay on the device, as in ``PageFacts``."""
        if self.columns is not None:
            return "sorted"
        return "dense" if self.tiled is None else "tiled"

    @property
    def has_categories(self) -> bool:
        """Whether some features are split by sets of levels."""
        return self.layout.categorical is not None

    @property
    def set_words(self) -> int:
        """Words of a set of codes: the number of levels, and a bit for each code; 0: no sets."""
        if self.layout.categorical is None:
            return 0
        return 2 + int(self.layout.feature_bins[self.layout.categorical].max()) // 32

    @property
    def n_numeric(self) -> int:
        """Features that are not split by sets of levels."""
        categorical = self.layout.categorical
        return self.layout.n_features - (0 if categorical is None else int(categorical.sum()))

    @property
    def masks_columns(self) -> bool:
        """Whether nodes may split on some of the features alone."""
        return self.sampled or bool(self.limits.interactions)

    @cached_property
    def joined(self) -> JointColumns:
        """The features that can share joint codes, whichever codes rows have."""
        return join_columns(self.layout)

    @cached_property
    def places(self) -> JointColumns:
        """The same, where exclusive features are one digit if that makes fewer places."""
        if not self.exclusive:
            return self.joined
        return min(self.joined, join_columns(self.layout, self.exclusive), key=_n_places)

    @property
    def n_joined(self) -> int:
        """Columns of codes if features share joint ones; 0 if none can, or codes are not dense."""
        sizes = np.sort(np.diff(self.layout.feature_offset))[:2].astype(np.int64)
        none = sizes.size < 2 or sizes.prod() > MOST_CELLS
        if self.kind != "dense" or (none and not self.exclusive):
            return 0
        return self.places.n_places

    def ask_for_tables(self, arena: Arena) -> None:
        """Ask for the arrays that describe the bins of every feature to kernels."""
        layout = self.layout
        for name in ("feature_offset", "feature_bins", "fullest"):
            table = getattr(layout, name)
            arena.array(name, table.size, np.uint32, table)
        arena.array("thresholds", layout.n_codes, VALUE, layout.thresholds)

    def walked_sets(self, arena: Arena) -> dict[str, DeviceArray]:
        """Return the sets of codes, for kernels that walk trees by codes; nothing without sets."""
        return arena.arguments("sets") if self.has_categories else {}

    def moved_sets(self, arena: Arena) -> dict[str, Any]:
        """Return the sets and their size, for kernels that move rows; nothing without sets."""
        size = {"set_words": self.set_words} if self.has_categories else {}
        return self.walked_sets(arena) | size

    def masks(self, arena: Arena) -> dict[str, DeviceArray]:
        """Return which features nodes may split on, for searches; nothing if it is all of them."""
        return arena.arguments("allowed") if self.masks_columns else {}

    def facts(self) -> dict[str, Any]:
        """Return the facts that decide how trees grow, by the names in ``PageFacts``."""
        return {
            "kind": self.kind,
            "n_features": self.layout.n_features,
            "most_bins": int(self.layout.feature_bins.max()),
            "most_codes": self.layout.most_codes,
            "n_codes": self.layout.n_codes,
            "n_joined": self.n_joined,
            "has_sets": self.has_categories,
            "has_monotone": self.limits.monotone is not None,
            "masks_columns": self.masks_columns,
            "limits_paths": bool(self.limits.interactions),
        }


class FixedFeatures:
    """The features of a fit whose codes are the same in every round.

    ``RoundStatistics`` is for features that change, and has the same methods.
    """

    orders = renamed = None

    def restart(self) -> None:
        """Leave all codes as they are, as the other methods do."""

    def turn(self) -> list[Action]:
        """Return no actions."""
        return []

    def begin_round(self, number: int, trees: Callable[[], list[Tree]]) -> None:
        """Choose nothing."""

    def take_order(self, number: int) -> None:
        """Write no codes."""

    def end_round(self, number: int, trees: Callable[[], list[Tree]], first: int) -> None:
        """Score nothing."""


def _n_places(columns: JointColumns) -> int:
    return columns.n_places


def name_of(name: str, index: int) -> str:
    """Return the name under which the fit keeps a page's array; the first has it as it is."""
    return name if index == 0 else f"{name} of page {index}"


def in_slot(name: str, slot: int) -> str:
    """Return the name under which the fit keeps a slot's array of rows."""
    return f"{name} in slot {slot}"


class PerRow(NamedTuple):
    """The shape of an array of rows: ``(*before, each * n_rows, *after)``."""

    before: tuple[int, ...] = ()
    each: int = 1
    after: tuple[int, ...] = ()

    @classmethod
    def numbers(cls, count: int) -> PerRow:
        """Return the shape of so many numbers of every row."""
        return cls(() if count == 1 else (count,))

    def of(self, n_rows: int) -> tuple[int, ...]:
        """Return the shape for so many rows."""
        return (*self.before, self.each * n_rows, *self.after)


@dataclass(frozen=True)
class RowPart:
    """Rows whose arrays lie on the device as one: those of all pages, or of a page in its slot.

    Attributes
    ----------
    first_row, n_rows : int
        The part has the rows ``first_row .. first_row + n_rows - 1`` of the fit.
    groups : int
        Work-groups that share these rows evenly, in passes over every row.
    arrays : mapping of str to DeviceArray
        All arrays of the fit.
    slot : int
        Where the page lies; -1 where all pages stay on the device.
    by_row : collection of str
        The arrays of rows.
    """

    first_row: int
    n_rows: int
    groups: int
    arrays: Mapping[str, DeviceArray]
    slot: int = -1
    by_row: Collection[str] = ()

    def __getitem__(self, name: str) -> DeviceArray:
        if self.slot >= 0 and name in self.by_row:
            return self.arrays[in_slot(name, self.slot)]
        return self.arrays[name]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays, shared ones or those of rows, that a kernel calls as the fit does."""
        return {name: self[name] for name in names}


@dataclass(frozen=True)
class FitPage:
    """A page and its arrays.

    Attributes
    ----------
    index : int
        Number of the page, from 0.
    part : RowPart
        The rows that the page's arrays of rows have.
    """

    index: int
    page: AnyPage
    part: RowPart

    @property
    def codes(self) -> AnyCodes:
        assert isinstance(self.page, Page)
        return self.page.codes

    @property
    def columns(self) -> SortedColumns:
        assert isinstance(self.page, SortedColumns)
        return self.page

    @property
    def n_rows(self) -> int:
        return self.page.n_rows

    @property
    def first_row(self) -> int:
        """The page's first row, as an index of its part's rows."""
        return self.page.first_row - self.part.first_row

    @property
    def rows(self) -> dict[str, int]:
        """Return the kernels' arguments that say which rows lie in the page."""
        return {"first_row": self.first_row, "page_rows": self.n_rows}

    def __getitem__(self, name: str) -> DeviceArray:
        return self.part.arrays[name_of(name, self.index)]

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays of this page that a kernel calls as the fit does."""
        return {name: self[name] for name in names}


def resident_pages(
    arena: Arena,
    features: FitFeatures,
    order: BlockOrder,
    bounds: Sequence[tuple[int, int]],
    tiles: npt.NDArray[np.uint32] | None,
) -> list[AnyPage]:
    """Return pages that stay on the device, and ask for their arrays.

    Parameters
    ----------
    order : BlockOrder
        Where the codes of a row lie, if they are dense.
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    tiles : uint32 array or None
        First feature of every tile of tiled codes, then the number of features.
    """
    device, n_features = arena.device, features.layout.n_features
    n_rows = sum(bounds[-1])
    if features.tiled is not None and tiles is not None:
        sizes = features.tiled.plan(n_rows, tiles.size - 1).arrays
        cells, row_begin = (arena.array(f"tiled {name}", *size) for name, size in sizes.items())
        by_tile = row_begin.reshaped((tiles.size - 1, n_rows + 1))
        table = DeviceArray(device, (n_features, 4), np.uint32, None)
        return [Page(TiledCodes(cells, by_tile, table, tiles), 0, n_rows)]
    if features.columns is not None:
        names, n_entries = ("sorted rows", "sorted places"), features.columns.n_entries
        ids, places = (arena.array(name, n_entries, ROW) for name in names)
        table = DeviceArray(device, (features.layout.n_codes,), np.uint32, None)
        return [SortedColumns(ids, places, table, n_rows, features.columns.missing)]
    pages = list[AnyPage]()
    for index, (first, own) in enumerate(bounds):
        codes = arena.array(name_of("codes", index), order.shape(own), order.dtype)
        columns = arena.array(name_of("by_feature", index), (n_features, own), order.dtype)
        pages.append(Page(PackedCodes(codes, columns, order), first, own))
    return pages


def codes_alone(
    device: Device, features: FitFeatures, order: BlockOrder, n_rows: int
) -> PackedCodes:
    """Return codes of so many rows without columns, whose memory is counted elsewhere."""
    codes = DeviceArray(device, order.shape(n_rows), order.dtype, None)
    columns = DeviceArray(device, (features.layout.n_features, 0), order.dtype, None)
    return PackedCodes(codes, columns, order)
