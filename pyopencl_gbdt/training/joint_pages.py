"""Whether a fit stores joint codes alone, which is decided before its rows are encoded.

::

    some rows       how many codes columns will have: memory is planned for joint codes
    cut points      how many they have: joint codes are made of a piece of rows at a time

Then the memory of the columns' own codes is freed::

    own codes, by row and by feature      joint codes, one of the two
    r0: a b c d .. | r1: a b c d ..       by row      histograms read them
    a: r0 r1 ..    | b: r0 r1 .. ..       by column   trees gather the columns that they draw
                                          each column is a digit, see ``JointColumns.digit_table``

Rows move, and walk trees, by the digits of their joint codes. A later fit of the same data that
needs other codes quantises them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.device.switches import JOINT_CODES, asked
from pyopencl_gbdt.dtypes import BLOCK_BYTES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import (
    Ways,
    gathered_columns,
    gathers_columns,
    joint_codes_are_few,
    takes_much,
    variant_of,
)
from pyopencl_gbdt.growth.joint_columns import (
    blocks_of,
    joins_blocks,
    order_of_places,
    why_no_blocks,
    why_not_joined,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.joiner import Joiner, JointShape, expected_layout, piece_rows
from pyopencl_gbdt.pages.page import AnyPage, Layout, Page, QuantizedData, histogram_rows
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes, empty_codes

#: Returns a fit's parts with pages of a layout, beside what others will allocate.
PartsOf = Callable[[Layout, Sequence[AnyPage], MemoryPlan], FitParts]


def expects_alone(facts: FitFacts) -> bool:
    """Whether a fit will store joint codes alone if its columns have as many codes as expected."""
    if not facts.pages.n_joined or (asked(JOINT_CODES) == "auto" and not _pays(facts)):
        return False
    return not why_not_alone(facts)


def stands_alone(facts: FitFacts, room: int) -> bool:
    """Whether a fit stores joint codes alone.

    ``room``: bytes that the device has for joint codes that are to be made.

    Raises
    ------
    ParameterError
        If that was asked for, and the fit cannot.
    """
    word = asked(JOINT_CODES)
    if word not in ("auto", "alone") or (word == "auto" and not _pays(facts)):
        return False
    needed = BLOCK_BYTES * blocks_of(facts.pages.n_joined) * facts.n_rows
    why = why_not_alone(facts)
    if not why and needed > room:
        why = f"joint codes need {needed} bytes, {room} are there"
    if why and word == "alone":
        raise ParameterError(f"{JOINT_CODES}={word!r}: {why}; unset it")
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
    if caps is not None and facts.n_rows > _most_rows(facts, caps):
        return "a launch would make histograms of all rows, and take too long"
    return why_not_joined(facts) if gathers_columns(facts) else why_no_blocks(facts)


def _most_rows(facts: FitFacts, caps: Capabilities) -> int:
    """Return the most rows of a page whose histograms read joint codes, or drawn columns."""
    blocks = max(blocks_of(facts.pages.n_joined), blocks_of(gathered_columns(facts))) + 1
    return histogram_rows(caps, BLOCK_BYTES * blocks)


def _pays(facts: FitFacts) -> bool:
    """Whether the columns' own codes take much memory, and joint ones are few."""
    pages, caps = facts.pages, facts.device
    if caps is None or not pages.n_joined or pages.kind != "dense" or pages.adds_histograms:
        return False
    if not takes_much(facts, pages.n_features):
        return False
    if not joint_codes_are_few(facts, caps):
        return False
    return gathers_columns(facts) or joins_blocks(facts)


def joint_shape(features: FitFeatures, facts: FitFacts) -> JointShape:
    """Return how the joint codes of a fit are stored, if they stand alone."""
    caps = facts.device
    assert caps is not None
    order = None if gathers_columns(facts) else order_of_places(features.joined, caps)
    return JointShape(features.joined, order)


def is_stored(page: AnyPage, facts: FitFacts) -> bool:
    """Whether a page has the joint codes that a fit reads."""
    codes = page.codes if isinstance(page, Page) else None
    return isinstance(codes, JoinedCodes) and (codes.order is None) == gathers_columns(facts)


def joiner_of(features: FitFeatures, ways: Ways) -> Joiner:
    """Return the joiner of a fit's codes, if only joint codes are stored."""
    build = partial(ways.build_kernel, "joint_blocks")
    return Joiner(joint_shape(features, ways.facts), features.layout, build)


def joined_pages(parts: FitParts) -> list[AnyPage]:
    """Return the page of a fit with joint codes in place of the columns' own codes."""
    (page,), device = parts.rows.page_list, parts.arena.device
    joiner = joiner_of(parts.features, parts.ways)
    assert isinstance(page, Page)
    joined = joiner.page(device, page.n_rows)
    joiner.join(page, joined)
    device.finish()
    return [joined]


@dataclass
class JointPages:
    """Decides for a fit on one device; the other attributes are those of its ``Placement``.

    Attributes
    ----------
    features_of : callable
        Returns the features of a layout.
    parts_of : callable
    """

    device: Device
    params: Parameters
    data: Dataset
    share: Share
    facts: FitFacts
    beside: MemoryPlan
    features_of: Callable[[Layout], FitFeatures]
    parts_of: PartsOf

    @property
    def _may(self) -> bool:
        """Whether the fit makes dense codes itself, of all rows."""
        alone = self.share.team.size == 1 and self.share.layout is None
        dense = not self.facts.sparse and self.params.search == "hist"
        return alone and dense and not self.facts.pages.given

    @property
    def _room(self) -> int:
        """Bytes that the device has for codes."""
        there = self.device.caps.global_bytes - self.device.allocated_bytes
        return there - self.beside.total_bytes

    def _facts_of(self, features: FitFeatures) -> FitFacts:
        """Return what is known of a fit that stores joint codes of these features alone."""
        return self.facts.with_pages(**features.facts(), stores_joint=True)

    def expected(self) -> FitParts | None:
        """Return the parts of a fit that is expected to store joint codes alone; None: others.

        Its page has no memory yet; the bytes of the codes are among those of others.
        """
        if not self._may:
            return None
        rule = CUT_RULES[self.params.cut_rule]
        features = self.features_of(
            expected_layout(self.data, self.device, self.params.max_bin, rule)
        )
        facts = self._facts_of(features)
        if not expects_alone(facts):
            return None
        n_rows, shape = self.data.n_rows, joint_shape(features, facts)
        beside = MemoryPlan(dict(self.beside.arrays))
        beside.add("joint codes", shape.of(n_rows), np.uint8)
        return self.parts_of(features.layout, [shape.promised(self.device, n_rows)], beside)

    def set_up_bytes(self, expected: FitParts | None) -> int:
        """Return the bytes of codes while data are quantised; 0: each column has its own codes."""
        if expected is None:
            return 0
        paper = PaperDevice.like(self.device, has_limits=False)
        n_rows, n_features = self.data.n_rows, self.data.n_features
        paper.empty(joint_shape(expected.features, expected.ways.facts).of(n_rows), np.uint8)
        piece = piece_rows(n_rows, n_features)  # has the columns' own codes
        empty_codes(paper, piece, n_features, np.dtype(np.uint8))
        return paper.asked_bytes

    def joiner(self, layout: Layout) -> Joiner | None:
        """Return the joiner of a layout's codes; None if each column keeps its own codes."""
        if not self._may:
            return None
        features = self.features_of(layout)
        facts = self._facts_of(features)
        alone = facts.pages.n_joined and stands_alone(facts, self._room)
        return joiner_of(features, Ways(self.device, facts)) if alone else None

    def reads(self, codes: QuantizedData) -> bool:
        """Whether the fit reads joint codes that another fit has left."""
        facts = self._facts_of(self.features_of(codes.layout))
        alone = stands_alone(facts, self.device.caps.global_bytes)  # they have room
        return alone and is_stored(codes.pages[0], facts)

    def joins(self, parts: FitParts) -> bool:
        """Whether the columns' own codes, which were kept, are to be joined."""
        facts = parts.ways.facts
        if not facts.pages.n_joined or facts.pages.stores_joint:
            return False
        return stands_alone(facts, self._room)

    def joined(self, parts: FitParts, codes: QuantizedData) -> QuantizedData:
        """Return joint codes in place of the columns' own ones; the data set keeps them."""
        made = QuantizedData(joined_pages(parts), codes.layout)
        kept, self.data.kept = self.data.kept, None
        if kept is not None:
            self.data.kept = (kept[0], made)
        return made
