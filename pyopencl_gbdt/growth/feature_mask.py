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
        self.groups = min(_GROUPS, ws.search_capacity)
        n_words, n_groups = -(-n // 32), max(1, len(ws.interactions))  # a bit for every feature
        weights = ws.feature_weights
        ws.array("allowed", (ws.search_capacity, n_words), np.uint32)
        ws.array("column_keys", (self.groups, n), np.uint32)
        ws.array("feature_weights", 1 if weights is None else n, np.float32, weights)
        bits = np.zeros((n_groups, 32 * n_words), np.uint8)
        for row, group in zip(bits, ws.interactions, strict=False):
            row[list(group)] = 1
        words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)
        ws.array("column_groups", (n_groups, n_words), np.uint32, words)

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
