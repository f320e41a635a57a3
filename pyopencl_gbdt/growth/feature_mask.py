"""Which features every node of a level may split on."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace

#: What draws columns, one of those of the other.
_STAGES = ("tree", "level", "node")
#: Work-groups that take the nodes of a level in turn, each with keys for all features.
_GROUPS = 256


def _words(ws: Workspace) -> int:
    """Return the words that hold a bit for every feature."""
    return -(-ws.layout.n_features // 32)


def _groups(ws: Workspace) -> int:
    return min(_GROUPS, ws.search_capacity)


def reserve(ws: Workspace) -> None:
    """Plan the masks of features, and what it takes to draw them."""
    n = ws.layout.n_features
    ws.reserve("allowed", (ws.search_capacity, _words(ws)), np.uint32)
    ws.reserve("column_keys", (_groups(ws), n), np.uint32)
    ws.reserve("feature_weights", n if ws.feature_weights is not None else 1, np.float32)
    ws.reserve("column_groups", (max(1, len(ws.interactions)), _words(ws)), np.uint32)


class FeatureMask:
    """Fills ``allowed``, a bit a feature and node; for fits that do not let nodes have them all."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        n = ws.layout.n_features
        counts = ws.params.column_counts(n)
        stages = [
            name
            for name, before, kept in zip(_STAGES, (n, *counts), counts, strict=False)
            if kept < before
        ]
        self.program = ws.build(
            "plan",
            lambda variant: ws.device.build(
                "feature_mask",
                wg_size=ws.wg_size(variant),
                weighted=ws.feature_weights is not None,
                stages=" ".join(stages),
                few=n <= (64 if ws.wg_size(variant) == 1 else 256),
            ),
        )
        self.n_words, self.groups = _words(ws), _groups(ws)

    def begin(self) -> None:
        """Set what never changes."""
        ws = self.ws
        if ws.feature_weights is not None:
            ws["feature_weights"].set(ws.feature_weights)
        bits = np.zeros((max(1, len(ws.interactions)), 32 * self.n_words), np.uint8)
        for row, group in zip(bits, ws.interactions, strict=False):
            row[list(group)] = 1
        words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)
        ws["column_groups"].set(words)

    def level(self, depth: int, batch: Batch) -> Launch:
        """Return the launch for the nodes of a level."""
        ws, n = self.ws, self.ws.layout.n_features
        of_tree, of_level, of_node = ws.params.column_counts(n)
        return self.program.bind(
            "choose_columns", min(self.groups, ws.level_capacity(depth)), depth=depth,
            n_features=n, seed=ws.params.random_state, n_batches=len(ws.batches),
            first_tree=batch.first, of_tree=of_tree, of_level=of_level, of_node=of_node,
            n_groups=len(ws.interactions), header=ws["leaf_header"],
            weights=ws["feature_weights"], groups=ws["column_groups"],
            all_keys=ws["column_keys"], **ws.arguments("levels", "nodes", "allowed"),
        )  # fmt: skip
