"""Joint codes of a fit: columns of few codes that are read together.

``pages/joint_columns.py`` has a picture. Each column's histogram is a sum over the joint one, so
the search of splits, and all that follows, is as with plain codes. A launch that grows whole trees
reads joint codes by place; the histograms of a GPU read those of a row, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.switches import JOINT_CODES, asked
from pyopencl_gbdt.dtypes import BLOCK_BYTES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import gathers_columns, joint_codes_pay, variant_of
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS, JointColumns, exclusive_columns
from pyopencl_gbdt.pages.page import AnyPage, Layout, Page
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.primitives.histogram_kernel import OWN_BANKS, local_codes
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes, PackedCodes

#: Rows of a node from which on the columns of a place are read by their joint code. PoCL, 1 thread
#: beside other programs, processor ms a round from 32, 128, 256 and 1024 rows on: 100 k x 54, 44 of
#: them indicators, 7 classes, depth 6, 53, 51, 56 and 71; 60 k x 600 of 5 values, depth 8, 101, 99,
#: 118 and 201.
JOINT_ROWS = 64
#: The histograms that read joint codes, in words of an error.
_JOIN = f"those of {OWN_BANKS!r}, which GPUs have"
#: Joint codes beside the columns' own ones take at most this share of a device's memory.
MOST_MEMORY = 1 / 16


def joins_columns(facts: FitFacts) -> bool:
    """Whether a fit whose trees are grown by one launch, level by level, reads joint codes.

    Trees that draw columns make their own ones, see ``drawn_places.py``.

    Raises
    ------
    ParameterError
        If joint codes were asked for, and the fit cannot have them.
    """
    return _decided(facts, why_not)


def may_join(facts: FitFacts) -> bool:
    """Whether a launch that grew whole trees would read joint codes."""
    return asked(JOINT_CODES) != "off" and not why_not(facts)


def joins_blocks(facts: FitFacts) -> bool:
    """Whether the histograms of trees that grow by steps read joint codes.

    Raises
    ------
    ParameterError
        If joint codes were asked for, and the fit cannot have them.
    """
    if asked(JOINT_CODES) == "auto" and not joint_codes_pay(facts):
        return False
    if asked(JOINT_CODES) == "alone" and gathers_columns(facts):  # by column
        return False
    return _decided(facts, why_no_blocks)


def _decided(facts: FitFacts, why_not: Callable[[FitFacts], str]) -> bool:
    word = asked(JOINT_CODES)
    if word == "off":
        return False
    why = why_not(facts)
    if why and word != "auto":
        raise ParameterError(f"{JOINT_CODES}={word!r}: {why}; unset it")
    return not why


def why_not(facts: FitFacts) -> str:
    """Return why one launch cannot read joint codes, as words of an error; "" if it can."""
    if facts.n_drawn:  # codes of each tree, as if no two of its columns shared one
        n_trees = facts.n_outputs * facts.parameters.num_parallel_tree
        return _of_codes(facts) or _of_memory(facts, n_trees * blocks_of(facts.n_drawn))
    if facts.columns_of_tree and not _of_codes(facts):
        return "levels or nodes draw columns, and read these by plain codes"
    return why_not_joined(facts)


def why_no_blocks(facts: FitFacts) -> str:
    """Return why histograms cannot read joint codes, as words of an error; "" if they can."""
    pages, caps = facts.pages, facts.device
    if pages.kind != "dense" or pages.adds_histograms:
        return "only dense codes that stay on one device, in one page, are joined"
    if gathers_columns(facts):
        return "trees gather the plain codes of the columns that they draw"
    if facts.n_sketches:
        return "splits are searched by sketches, whose histograms read plain codes"
    histogram = None if caps is None else variant_of("histogram", facts, caps)
    if caps is None or histogram is None or histogram.name != OWN_BANKS:
        name = "" if histogram is None else histogram.name
        return f"trees grow by steps, whose histograms ({name!r}) read plain codes, all but {_JOIN}"
    if local_codes(histogram, caps) < MOST_CELLS:
        return f"local memory of {caps.local_bytes} bytes has no room for {MOST_CELLS} joint codes"
    return why_not_joined(facts)


def why_not_joined(facts: FitFacts) -> str:
    """Return why the codes of a fit are not joined; "" if joint codes are few and have room."""
    return _of_codes(facts) or _of_memory(facts, blocks_of(facts.pages.n_joined))


def _of_codes(facts: FitFacts) -> str:
    """Return why the codes of a fit cannot be joined."""
    pages = facts.pages
    if pages.most_codes > MOST_CELLS:
        return f"max_bin={facts.parameters.max_bin} gives codes of two bytes"
    if pages.has_statistics:
        return "codes of statistics of categories change from round to round"
    if not pages.n_joined:
        return "no two columns have few enough values to share a code of a byte"
    return ""


def _of_memory(facts: FitFacts, n_blocks: int) -> str:
    """Return why joint codes have no room; those that stand alone may take all of it."""
    pages, caps = facts.pages, facts.device
    needed, share = BLOCK_BYTES * n_blocks * facts.n_rows, MOST_MEMORY
    if pages.stores_joint:
        share = 1.0
    if caps is None or needed > min(caps.max_alloc_bytes, share * caps.global_bytes):
        return f"joint codes need {needed} bytes, too much of the device's memory"
    return ""


def blocks_of(n_places: int) -> int:
    """Return the number of blocks of a row's codes by place."""
    return -(-n_places // BLOCK_BYTES)


def exclusive_groups(
    facts: FitFacts, layout: Layout, pages: Sequence[AnyPage], most_rows: int
) -> list[list[int]]:
    """Return the exclusive columns of a fit, if one launch may read them as one.

    ``pages``: all rows of the fit, if they stay on the device; others are not looked at.
    ``most_rows``: rows up to which one launch grows trees by joint codes.
    """
    caps = facts.device
    if caps is None or len(pages) != 1 or facts.n_rows > most_rows:
        return []
    if asked(JOINT_CODES) in ("off", "products"):
        return []
    page = pages[0]
    if not isinstance(page, Page) or not isinstance(page.codes, PackedCodes):
        return []
    codes = page.codes.by_feature
    if codes.dtype != np.uint8 or not codes.size or not codes.device.holds_memory:
        return []
    if variant_of("whole_trees", facts, caps).name != "one_launch":
        return []
    return exclusive_columns(layout, codes.get())


class JointCodes:
    """The codes of a fit's rows by place, made once from the codes by feature.

    Blocks of ``BLOCK_BYTES`` places lie one after the other, each row by row. So a task reads its
    places of many rows from neighbouring bytes, however many places there are.

    Attributes
    ----------
    columns : JointColumns
        Its places with joint codes come first, and the other columns behind them.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows = parts.arena, parts.rows
        columns, layout = parts.features.places, parts.features.layout
        self.columns = columns
        self.program = parts.ways.build_kernel("plan", template="joint_codes", by_row=BLOCK_BYTES)
        arena = self.arena
        for name, values in (
            ("members", columns.members), ("member_begin", columns.digits),
            ("digit_begin", columns.place_digits), ("digit_cells", columns.digit_cells(layout)),
            ("place_cells", columns.cells(layout)),
        ):  # fmt: skip
            arena.array(name, values.size, np.uint32, values.astype(np.uint32))
        arena.array("terms", layout.n_codes, np.uint8, columns.terms(layout))
        shape = (blocks_of(columns.n_places), self.rows.n_rows, BLOCK_BYTES)
        arena.array("place_codes", shape, np.uint8, self.join)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of kernels that read joint codes."""
        found = self.arena.arguments(
            "members", "member_begin", "digit_begin", "digit_cells", "place_cells", "fullest"
        )
        by_row = {"by_row": self.arena["place_codes"], "row_codes": BLOCK_BYTES}
        by_row["block_codes"] = BLOCK_BYTES * self.rows.n_rows
        return {"n_joint": self.columns.n_joint, **by_row, **found}

    def join(self, codes: DeviceArray) -> None:
        """Fill the array of codes by place."""
        plain = self.rows.pages[0].codes.column_arguments["codes"]
        self.program.bind(
            "join_codes", (self.rows.row_groups, blocks_of(self.columns.n_places)),
            n_rows=self.rows.n_rows, n_places=self.columns.n_places,
            by_feature=plain, place_codes=codes,
            **self.arena.arguments(
                "members", "member_begin", "digit_begin", "terms", "feature_offset"
            ),
        )()  # fmt: skip


class JointBlocks:
    """The joint codes of a fit's rows in the order in which histograms read them, made once.

    They are those that are stored, if these stand alone.

    Attributes
    ----------
    layout : Layout
        The layout of the places, as if each were a column.
    sums : JointSums
        Which sums over joint codes are those of the columns' own codes.
    """

    def __init__(self, parts: FitParts) -> None:
        arena, self.rows = parts.arena, parts.rows
        self.arena, columns, plain = arena, parts.features.joined, parts.features.layout
        self.layout, self.sums = columns.layout(plain), columns.sums(plain)
        self.program = parts.ways.build_kernel("joint_blocks")
        order = self.order = joint_order(parts)
        stored = self.rows.codes
        if isinstance(stored, JoinedCodes):
            blocks = stored.codes
        else:
            arena.array("members", columns.members.size, np.uint32, columns.members)
            arena.array("member_begin", columns.begins.size, np.uint32, columns.begins)
            shape = order.shape(self.rows.n_rows)
            blocks = arena.array("joint_blocks", shape, np.uint8, self.join)
        nothing = DeviceArray(arena.device, (columns.n_places, 0), np.uint8, None)
        self.codes = PackedCodes(blocks, nothing, order)

    def join(self, codes: DeviceArray) -> None:
        """Fill the array of joint codes."""
        order, n_rows = self.order, self.rows.n_rows
        plain = self.rows.pages[0].codes.column_arguments["codes"]
        self.program.bind(
            "join_blocks", (self.rows.row_groups, order.n_blocks), n_rows=n_rows,
            first_row=0, n_places=order.n_features, block_features=order.block_features,
            by_feature=plain, codes=codes, **order.strides(n_rows),
            **self.arena.arguments("members", "member_begin", "feature_offset"),
        )()  # fmt: skip


def joint_order(parts: FitParts) -> BlockOrder:
    """Return the order of a row's joint codes, as histograms read them."""
    return order_of_places(parts.features.joined, parts.arena.device.caps)


def order_of_places(columns: JointColumns, caps: Capabilities) -> BlockOrder:
    """Return the same for places that are not of a fit yet."""
    return BlockOrder.of(columns.n_places, np.dtype(np.uint8), coalesced=caps.coalesces_reads)
