"""The features that each tree draws, listed.

A tree that grows by steps gathers their codes first::

    codes by feature   f0 f1 f2 f3 f4 f5 f6 ..      all features
    drawn columns      1 4 5
    drawn codes        row 0: f1 f4 f5   row 1: f1 f4 f5 ..
    histograms         |f1      |f4      |f5      |         each as wide as the widest feature's

Histograms and the search of splits work on these alone. Rows move by the codes by feature. What
levels, nodes and constraints leave of a tree's features is masked, as ever.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import gathered_columns, gathers_levels
from pyopencl_gbdt.pages.page import AnyPage, Layout, Page
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes, PackedCodes

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.level_columns import LevelColumns


class DrawnColumns:
    """Fills ``drawn_columns``: for each tree the features that it draws, ascending.

    They are those that ``FeatureMask`` marks.
    """

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.feature_mask import MOST_COMPARED, column_weights

        self.arena, _, self.nodes, self.features, ways = parts
        n, self.n_drawn = self.features.layout.n_features, ways.facts.columns_of_tree
        self.program = ways.build(
            "plan",
            lambda variant: ways.device.build(
                "drawn_columns",
                wg_size=ways.wg_size(variant),
                weighted=self.features.limits.feature_weights is not None,
                few=n <= MOST_COMPARED[ways.wg_size(variant) == 1],
            ),
        )
        column_weights(self.arena, self.features)
        self.arena.array("drawn_keys", (self.nodes.n_trees, n), np.uint32)
        self.arena.array("drawn_columns", (self.nodes.n_trees, self.n_drawn), np.uint32)

    def draws(self, batch: Batch) -> list[Launch]:
        """Return the launch that lists the features of some trees."""
        return [self.draw(batch)]

    def draw(self, batch: Batch) -> Launch:
        """Return that launch alone."""
        arena, nodes = self.arena, self.nodes
        return self.program.bind(
            "draw_columns", batch.size, n_features=self.features.layout.n_features,
            n_drawn=self.n_drawn, seed=nodes.params.random_state, n_batches=len(nodes.batches),
            first_tree=batch.first, header=arena["leaf_header"], weights=arena["feature_weights"],
            all_keys=arena["drawn_keys"], drawn=arena["drawn_columns"],
        )  # fmt: skip


def gathered_parts(parts: FitParts) -> FitParts:
    """Return the parts of a search among gathered columns; asks for the array of their codes."""
    from pyopencl_gbdt.growth.level_columns import most_at_steps

    arena, rows, nodes, features, ways = parts
    page, n, width = rows.page_list[0], gathered_columns(ways.facts), features.layout.most_codes
    assert isinstance(page, Page)
    assert isinstance(page.codes, PackedCodes | JoinedCodes)
    dtype = page.codes.codes.dtype
    order = BlockOrder.of(n, dtype, coalesced=arena.device.caps.coalesces_reads)
    fullest = arena.array("drawn_fullest", (nodes.n_trees, order.row_codes), dtype)
    pages = _pages(rows, order, fullest)
    offset = np.arange(n + 1, dtype=np.uint32) * np.uint32(width)
    layout = Layout(
        np.full(n, width, np.uint32), offset, np.zeros(0, np.float32), np.zeros(n, np.uint32)
    )
    most = most_at_steps(parts) if gathers_levels(ways.facts) else ()
    few = replace(features, layout=layout, sampled=not ways.facts.n_drawn, most_at_steps=most)
    return parts._replace(rows=replace(rows, features=few, page_list=pages), features=few)


def _pages(rows: FitRows, order: BlockOrder, fullest: DeviceArray) -> list[AnyPage]:
    """Return the pages of the codes that trees gather, and ask for their arrays."""
    if rows.schedule is not None:
        from pyopencl_gbdt.fit.columns_in_turn import ColumnsInTurn

        assert isinstance(rows, ColumnsInTurn)
        return rows.gathered_pages(order, fullest)
    runs, *others = order.shape(rows.n_rows)
    n_trees, arena = rows.nodes.n_trees, rows.arena
    codes = arena.array("drawn_codes", (n_trees * runs, *others), order.dtype, zeros)
    nothing = DeviceArray(arena.device, (order.n_features, 0), order.dtype, None)
    return [Page(PackedCodes(codes, nothing, order, n_trees, fullest), 0, rows.n_rows)]


class GatherColumns:
    """Lists the features that each tree draws, and copies their codes.

    ``searched``: as ``gathered_parts`` returns them.
    """

    def __init__(self, parts: FitParts, searched: FitParts) -> None:
        from pyopencl_gbdt.growth.level_columns import LevelColumns

        self.rows, self.gathered, self.ways = parts.rows, searched.rows, parts.ways
        kind = LevelColumns if gathers_levels(self.ways.facts) else DrawnColumns
        self.drawn: DrawnColumns | LevelColumns = kind(parts)
        self.program = self.ways.build_kernel(
            "gather_columns", of_variant=("rows",), code=self.rows.codes.code_type
        )

    def _groups(self, n_rows: int, codes: PackedCodes) -> int:
        """Work-groups of a tree: with several work-items, each has a block of some rows."""
        size, variant = self.program.wg_size, self.ways.variant("gather_columns")
        if size == 1:
            return self.rows.row_groups
        return -(-n_rows // (variant.params["rows"] * size)) * codes.order.n_used

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that list the columns of some trees and gather them."""
        pages = zip(self.rows.pages, self.gathered.pages, strict=True)
        draws, gathers = self.drawn.draws(batch), [[self._page(batch, *page)] for page in pages]
        if self.rows.stream is not None:
            from pyopencl_gbdt.fit.columns_in_turn import TakeColumns

            drawn = self.drawn.arena["drawn_columns"]
            return [TakeColumns(self.rows, draws, drawn, gathers, batch.size)]
        return [*draws, *(launch for own in gathers for launch in own)]

    def _page(self, batch: Batch, page: FitPage, gathered: FitPage) -> Launch:
        source, to = page.codes, gathered.codes
        assert isinstance(to, PackedCodes)
        if isinstance(source, JoinedCodes):
            columns = {"by_feature": source.codes, "digits": source.digits}
        else:
            assert isinstance(source, PackedCodes)
            columns = {"by_feature": source.by_feature}
        return self.program.bind(
            "gather_columns", (self._groups(page.n_rows, to), batch.size), n_rows=page.n_rows,
            n_drawn=self.drawn.n_drawn, block_features=to.block_features,
            copy_codes=np.uint64(to.copy_codes),
            row_codes=to.order.row_codes, columns=self.drawn.arena["drawn_columns"],
            **columns, **to.block_arguments,
            **self.drawn.arena.arguments("fullest", "drawn_fullest"),
        )  # fmt: skip
