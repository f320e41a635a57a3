"""Pages of joint codes, which are made of few rows at a time.

::

    values of a piece  ->  the columns' own codes of the piece  ->  joint codes of all rows
                           by row, by feature: few bytes            stored once

So quantising takes no more memory than the joint codes and a piece. Kept codes of columns are
joined in the same way: all rows are one piece.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, Program, staging
from pyopencl_gbdt.device.arena import uploaded
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import CutRule, cut_features
from pyopencl_gbdt.pages.joint_columns import JointColumns
from pyopencl_gbdt.pages.page import Layout, Page
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes, PackedCodes

#: Rows that tell how many values columns have, before the columns are cut.
_SAMPLED_ROWS = 512


def piece_rows(n_rows: int, n_features: int) -> int:
    """Return of how many rows the columns' own codes are made at a time: those of a piece."""
    return max(1, min(n_rows, staging.PIECE_BYTES // (4 * n_features)))


@dataclass(frozen=True)
class JointShape:
    """How the joint codes of a fit are stored.

    Attributes
    ----------
    order : BlockOrder or None
        The order in which histograms read a row's codes; None stores codes by place.
    """

    columns: JointColumns
    order: BlockOrder | None

    def of(self, n_rows: int) -> tuple[int, ...]:
        """Return the shape of the array of so many rows."""
        return (self.columns.n_places, n_rows) if self.order is None else self.order.shape(n_rows)

    def promised(self, device: Device, n_rows: int) -> Page:
        """Return a page whose arrays have no memory yet."""
        codes = DeviceArray(device, self.of(n_rows), np.uint8, None)
        digits = DeviceArray(device, (self.columns.members.size, 2), np.uint32, None)
        return Page(JoinedCodes(codes, digits, self.order), 0, n_rows)


class Joiner:
    """Joins the columns' own codes.

    Parameters
    ----------
    build : callable
        Returns the program of the template ``joint_blocks``.
    """

    def __init__(self, shape: JointShape, layout: Layout, build: Callable[[], Program]) -> None:
        self.shape, self.layout, self._build = shape, layout, build

    def page(self, device: Device, n_rows: int) -> Page:
        """Allocate a page of joint codes; their contents are undefined until rows are joined."""
        columns, order, layout = self.shape.columns, self.shape.order, self.layout
        places = np.arange(columns.n_places) if order is None else order.places
        self._program = self._build()
        members, begins, offset, digits = uploaded(
            device,
            [
                columns.members, columns.begins, layout.feature_offset,
                columns.digit_table(layout, places),
            ],
        )  # fmt: skip
        self._tables = {"members": members, "member_begin": begins, "feature_offset": offset}
        codes = device.empty(self.shape.of(n_rows), np.uint8, "joint codes")
        return Page(JoinedCodes(codes, digits, order), 0, n_rows)

    def join(self, piece: Page, page: Page) -> None:
        """Join the columns' own codes of some rows, which lie in a page of joint codes."""
        own, joined = piece.codes, page.codes
        assert isinstance(own, PackedCodes)
        assert isinstance(joined, JoinedCodes)
        caps, n_places = own.codes.device.caps, self.shape.columns.n_places
        groups, order = caps.row_groups(piece.n_rows), self.shape.order
        named = {
            "n_rows": piece.n_rows, "first_row": piece.first_row - page.first_row,
            "n_places": n_places, "by_feature": own.by_feature, "codes": joined.codes,
            **self._tables,
        }  # fmt: skip
        if order is None:
            many = groups, min(n_places, MOST_Y)
            self._program.launch("join_columns", many, all_rows=page.n_rows, **named)
        else:
            self._program.launch(
                "join_blocks", (groups, order.n_blocks), block_features=order.block_features,
                **order.strides(page.n_rows), **named,
            )  # fmt: skip


def expected_layout(data: Dataset, device: Device, max_bin: int, rule: CutRule) -> Layout:
    """Return how many codes columns will have, about: as many as some of their rows have.

    On paper, and where the host does not have the values, columns have as many as they can.

    ``data``: its values are dense.
    """
    n_rows, values = data.n_rows, data.features
    bins = np.full(data.n_features, min(max_bin, n_rows), np.int64)
    missing = np.full(data.n_features, rule.ranked)  # as ``training/paper_data.py`` counts
    if device.holds_memory and isinstance(values, np.ndarray):
        rows = np.linspace(0, n_rows - 1, min(n_rows, _SAMPLED_ROWS)).astype(np.int64)
        found, missing = _distinct(values[rows])
        bins = np.minimum(found, max_bin)
    own = np.ones(data.n_features, np.bool_)
    own[cut_features(data)] = False
    for column in np.flatnonzero(own).tolist():
        levels, points = data.categories.get(column), data.cut_points.get(column)
        if levels is not None:
            bins[column] = levels.n_levels
        elif points is not None:
            bins[column] = points.size + 1
    bins = np.maximum(bins, ~missing)  # a code at least
    offset = np.concatenate([[0], np.cumsum(bins + missing)]).astype(np.uint32)
    nothing = np.zeros(data.n_features, np.uint32)
    return Layout(bins.astype(np.uint32), offset, np.zeros(int(offset[-1]), np.float32), nothing)


def _distinct(
    values: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the number of different values of every column, and whether some are missing."""
    ordered = np.sort(values, axis=0)  # missing ones last
    present = ~np.isnan(ordered)
    others = (ordered[1:] != ordered[:-1]) & present[1:]
    return present[0] + others.sum(axis=0), ~present[-1]
