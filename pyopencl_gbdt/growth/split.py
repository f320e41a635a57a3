"""The best split of every node of a level."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch, Program, Variant
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.launch_size import rows_a_launch
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.category_split import CategorySplit

#: Features from which on a node's record tells the best rough score. With fewer, all of a node's
#: features are searched at the same time, and asking takes 2 us a level (H200, 10 k x 20).
MANY_FEATURES = 256
#: Work-groups of a level, about: where there are more pairs of a feature and a node, each group
#: searches its feature in several nodes.
GROUPS = 1 << 15
#: Of a pair of sums: it is read, its sibling's is, and the difference is written.
_CELL_BYTES = 3 * 16


def has_many_features(ws: Workspace) -> bool:
    """Whether features of a node tell each other the best rough score, without constraints."""
    return ws.layout.n_features >= MANY_FEATURES and ws.device.caps.hides_latency


def searches_few_bins(ws: Workspace, variant: Variant) -> bool:
    """Whether the kernel expects that most bins have no rows of a node, and leaves them out."""
    return ws.tiled is not None and variant.name == "sequential"


def constraints(ws: Workspace) -> None:
    """Ask for the constraints of features, and for which of them a node may split on."""
    monotone = ws.monotone
    ws.array("monotone", 1 if monotone is None else monotone.size, np.uint32, monotone)
    if not ws.masks_columns:
        ws.array("allowed", 1, np.uint32)  # bound, never read


class Split:
    """Searches the splits of one level after another; fills ``chosen``."""

    def __init__(self, ws: Workspace) -> None:
        self.ws, self.sparse, self.sequential = ws, False, False
        self.program = ws.build("split", self._build)
        n_features, nodes = ws.layout.n_features, ws.search_capacity
        ws.array("candidates", (nodes, n_features), CANDIDATE)
        ws.array("chosen", nodes, CANDIDATE)
        if self.sparse:
            ws.array("closed_features", (ws.max_nodes, n_features), np.uint8)
        constraints(ws)
        self.sets = CategorySplit(ws) if ws.has_categories else None

    @cached_property
    def best(self) -> Program:
        """The program that compares many candidates; few are compared where nodes split."""
        ws = self.ws
        return ws.build(
            "plan", lambda variant: ws.device.build("best", wg_size=ws.wg_size(variant))
        )

    def _build(self, variant: Variant) -> Program:
        ws = self.ws
        options = {
            "monotone": ws.monotone is not None, "masked": ws.masks_columns,
            "categories": ws.has_categories,
        }  # fmt: skip
        self.sparse = searches_few_bins(ws, variant)
        self.sequential = variant.name == "sequential"
        if self.sequential:
            shrunk = options["shrunk"] = ws.params.reg_alpha > 0
            plain = not (shrunk or options["monotone"])  # others clip anyway
            options["clipped"] = plain and ws.params.max_delta_step > 0
            options["sparse"] = self.sparse
            options["doubles"] = plain and not options["clipped"] and ws.device.caps.fp64
            return ws.device.build("split_cpu", wg_size=1, run=variant.params["run"], **options)
        options["many"] = has_many_features(ws) and not options["monotone"]
        return ws.device.build("split", wg_size=ws.wg_size(variant), **options)

    def _closed(self) -> dict[str, DeviceArray]:
        """Return the argument that only kernels for mostly empty bins have."""
        return {"closed": self.ws["closed_features"]} if self.sparse else {}

    def _groups_of_a_feature(self, n_features: int, n_nodes: int) -> int:
        if self.sequential:
            return min(n_nodes, MOST_Y)
        return min(n_nodes, MOST_Y, -(-GROUPS // max(1, n_features)))

    def level(self, depth: int, features: range) -> list[Launch]:
        """Return the launches for a level: they fill ``candidates`` and, if many, ``chosen``.

        Histograms of nodes whose sibling was built from rows become parent minus sibling first.

        Parameters
        ----------
        depth : int
        features : range
            Those that are searched; others' sums and candidates stay as they are.
        """
        ws = self.ws
        n_features, capacity = ws.layout.n_features, ws.level_capacity(depth)
        feature_bytes = _CELL_BYTES * capacity * ws.layout.n_codes / n_features
        together = rows_a_launch(ws.device.caps, feature_bytes)
        finds = [
            self._find(depth, features[first : first + together], capacity)
            for first in range(0, len(features), together)
        ]
        found = finds if self.sets is None else [*finds, *self.sets.level(depth)]
        if not ws.candidates_of(depth).compared:
            return found
        best = self.best.bind(
            "best", capacity, depth=depth, n_features=n_features,
            first_feature=features.start, end_feature=features.stop,
            **ws.arguments("levels", "candidates", "chosen"),
        )  # fmt: skip
        return [*found, best]

    def _find(self, depth: int, features: range, capacity: int) -> Launch:
        """Return the launch that searches some features in a level of so many nodes."""
        ws, p = self.ws, self.ws.params
        groups = self._groups_of_a_feature(len(features), capacity)
        return self.program.bind(
            "find", (len(features), groups), depth=depth, first_feature=features.start,
            n_features=ws.layout.n_features, n_codes=ws.layout.n_codes,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step, min_child_weight=p.min_child_weight,
            constraints=ws["monotone"], **ws.category_arguments("feature_kinds"),
            **ws.arguments("allowed", "levels", "nodes", "scale", "feature_offset", "feature_bins",
                           "fullest", "pool", "candidates"), **self._closed(),
        )  # fmt: skip
