"""Whether a fit stores joint codes alone, which is decided before its rows are encoded.

::

    some rows       how many codes columns will have: memory is planned for joint codes
    cut points      how many they have: joint codes are made of a piece of rows at a time
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth.joint_alone import (
    expects_alone,
    is_stored,
    joined_pages,
    joiner_of,
    joint_shape,
    stands_alone,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.joiner import Joiner, expected_layout, piece_rows
from pyopencl_gbdt.pages.page import AnyPage, Layout, QuantizedData
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.packed_codes import empty_codes

#: Returns a fit's parts with pages of a layout, beside what others will allocate.
PartsOf = Callable[[Layout, Sequence[AnyPage], MemoryPlan], FitParts]


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
        """Return what joins the codes of a layout; None if each column keeps its own codes."""
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
