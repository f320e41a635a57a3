"""Fits that store joint codes alone: the columns' own codes are let go.

::

    own codes, by row and by feature      joint codes, one of the two
    r0: a b c d .. | r1: a b c d ..       by row      histograms read them
    a: r0 r1 ..    | b: r0 r1 .. ..       by column   trees gather the columns that they draw
                                          each column is a digit, see ``JointColumns.digit_table``

Rows move, and walk trees, by the digits of their joint codes. A later fit of the same data that
needs other codes quantises them again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyopencl_gbdt.device.arena import uploaded
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.dtypes import BLOCK_BYTES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import gathers_columns, variant_of
from pyopencl_gbdt.growth.joint_columns import (
    ENVIRONMENT,
    asked,
    blocks_of,
    joins_blocks,
    joint_order,
    why_no_blocks,
    why_not_joined,
)
from pyopencl_gbdt.pages.page import AnyPage, Page
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes

#: The columns' own codes are let go where they take at least this share of a device's memory.
#: 700 k x 2000 of 5 values on an H200 with 141 GiB takes 3.30 GB with them and 0.49 GB without,
#: with 10 % of the columns drawn 2.99 and 0.64 GB, by the plan. Less is kept for the next fit.
LEAST_SHARE = 1 / 128


def stands_alone(facts: FitFacts, room: int) -> bool:
    """Whether a fit stores joint codes alone.

    Parameters
    ----------
    facts : FitFacts
    room : int
        Bytes that the device has beside the columns' own codes, which joint ones are made of.

    Raises
    ------
    ParameterError
        If that was asked for, and the fit cannot.
    """
    word = asked()
    if word not in ("auto", "alone") or (word == "auto" and not _pays(facts)):
        return False
    needed = BLOCK_BYTES * blocks_of(facts.pages.n_joined) * facts.n_rows
    why = why_not_alone(facts)
    if not why and needed > room:
        why = f"joint codes need {needed} bytes beside the columns' own codes, {room} are there"
    if why and word == "alone":
        raise ParameterError(f"{ENVIRONMENT}={word!r}: {why}; unset it")
    return not why


def why_not_alone(facts: FitFacts) -> str:
    """Return why a fit needs the columns' own codes, as words of an error; "" if it does not."""
    params, pages, caps = facts.parameters, facts.pages, facts.device
    if pages.given:
        return "codes that are given to a fit may serve others, too"
    if pages.adds_histograms:
        return "only dense codes that stay on one device, in one page, are joined"
    if params.is_ordered or pages.n_orders > 1:
        return "rows in several orders are moved by each column's own codes"
    if caps is not None and variant_of("whole_trees", facts, caps).name == "one_launch":
        return "a launch that grows whole trees reads each column's own codes beside joint ones"
    return why_not_joined(facts) if gathers_columns(facts) else why_no_blocks(facts)


def _pays(facts: FitFacts) -> bool:
    """Whether the columns' own codes take much memory, and joint ones are few."""
    pages, caps = facts.pages, facts.device
    if caps is None or not pages.n_joined or pages.kind != "dense" or pages.adds_histograms:
        return False
    order = BlockOrder.of(pages.n_features, np.dtype(np.uint8), coalesced=caps.coalesces_reads)
    own = (order.row_bytes + pages.n_features) * facts.n_rows
    if own < LEAST_SHARE * caps.global_bytes:
        return False
    percent = variant_of("joint_blocks", facts, caps).params["percent"]
    few = 100 * pages.n_joined <= percent * pages.n_features
    return few and (gathers_columns(facts) or joins_blocks(facts))


def is_stored(page: AnyPage, parts: FitParts) -> bool:
    """Whether a page has the joint codes that a fit reads."""
    codes = page.codes if isinstance(page, Page) else None
    by_column = gathers_columns(parts.ways.facts)
    return isinstance(codes, JoinedCodes) and (codes.order is None) == by_column


def joined_pages(parts: FitParts) -> list[AnyPage]:
    """Return the page of a fit with joint codes in place of the columns' own codes."""
    features, rows, device = parts.features, parts.rows, parts.arena.device
    (page,), columns, layout = rows.page_list, features.joined, features.layout
    by_column = gathers_columns(parts.ways.facts)
    order = None if by_column else joint_order(parts)
    places = np.arange(columns.n_places) if order is None else order.places()
    members, begins, offset, digits = uploaded(
        device,
        [
            columns.members, columns.begins, layout.feature_offset,
            columns.digit_table(layout, places),
        ],
    )  # fmt: skip
    n_rows, n_places = rows.n_rows, columns.n_places
    shape = (n_places, n_rows) if order is None else order.shape(n_rows)
    codes = device.empty(shape, np.uint8, "joint codes")
    program = parts.ways.build_kernel("joint_blocks")
    tables = {"members": members, "member_begin": begins, "feature_offset": offset}
    sizes = {"n_rows": n_rows, "n_places": n_places, "codes": codes}
    assert isinstance(page, Page)
    plain = page.codes.column_arguments()["codes"]
    groups = rows.row_groups, min(n_places, MOST_Y) if order is None else order.n_blocks
    if order is None:
        program.launch("join_columns", groups, by_feature=plain, **sizes, **tables)
    else:
        program.launch(
            "join_blocks", groups, block_features=order.block_features, by_feature=plain,
            **order.strides(n_rows), **sizes, **tables,
        )  # fmt: skip
    device.finish()
    return [replace(page, codes=JoinedCodes(codes, digits, order))]
