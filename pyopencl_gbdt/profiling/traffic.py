"""The least bytes that each kernel of a fit must move.

Every input is read once and every output is written once. What depends on the data is computed from
the finished trees, which tell how many rows each node had. Small tables (task offsets, bins of a
feature) are not counted. A kernel that reads a value twice, or a whole memory transaction for one
byte, moves more; its share of the bandwidth shows that.

A new kernel needs an entry in ``tree_traffic.TREE``, ``SET_UP`` or ``WHOLE_ARRAYS``; a test finds
kernels without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.profiling.tree_counts import count_tree
from pyopencl_gbdt.profiling.tree_traffic import TREE, mean_steps, outputs_of

_FLOAT = 4


def _columns(ws: Workspace, weighted: bool) -> int:
    values = ws.n_rows * ws.layout.n_features
    return values * (3 if weighted else 2) * _FLOAT


def _passes(ws: Workspace) -> int:
    return int(32 // ws.variant("radix_sort").params["radix_bits"])


def _radix_count(ws: Workspace, weighted: bool) -> int:
    return _passes(ws) * ws.n_rows * ws.layout.n_features * _FLOAT


def _radix_histogram(ws: Workspace, weighted: bool) -> int:
    return _radix_count(ws, weighted) // _passes(ws)  # counts all digits in a single read


def _radix_scatter(ws: Workspace, weighted: bool) -> int:
    return 2 * _radix_count(ws, weighted) * (2 if weighted else 1)  # moves row ids too


def _radix_columns(ws: Workspace, weighted: bool) -> int:
    return _radix_count(ws, weighted) // _passes(ws) + _radix_scatter(ws, weighted)


def _cuts(ws: Workspace, weighted: bool) -> int:
    # for each cut, the values on both sides: read from the sorted column, and written
    return int(ws.layout.feature_bins.sum()) * 2 * 2 * _FLOAT


def _encode(ws: Workspace, weighted: bool) -> int:
    values = ws.n_rows * ws.layout.n_features
    alone = ws.variant("quantize").params["wg_size"] == 1  # then it also writes codes by feature
    twice = values * ws.code_bytes if alone else 0
    return values * _FLOAT + ws.row_bytes * ws.n_rows + twice


#: Bytes of all launches of a kernel while the data are quantised.
SET_UP: dict[str, Callable[[Workspace, bool], int]] = {
    "quantize.columns": _columns,
    "radix_sort.radix_columns": _radix_columns,
    "radix_sort.radix_count": _radix_count,
    "radix_sort.radix_scatter": _radix_scatter,
    "radix_sort.radix_histogram": _radix_histogram,
    "radix_sort.radix_sweep": _radix_scatter,
    "quantize.cuts": _cuts,
    "quantize.encode": _encode,
}

#: Kernels that read or write each of their arrays whole, once. Arrays changed in place count once
#: too. (Exceptions: `curve_keys` gets the margins of all classes but reads those of one class. A
#: sort of segments of some lengths gets the other segments too.)
WHOLE_ARRAYS = frozenset(
    {
        "aft.aft_gradients",
        "auc.class_shares",
        "custom.custom_gradients",
        "custom.check_gradients",
        "cox.cox_exponentials",
        "cox.cox_quanta",
        "cox.cox_terms",
        "cox.cox_gradients",
        *(f"cox_metric.cox_{name}" for name in ("hazards", "planes", "losses")),
        "cox_metric.total_losses",
        "auc.curve_area",
        "auc.curve_keys",
        "auc.curve_pairs",
        "auc.total_areas",
        "gradients.draw_partners",
        "gradients.lambdas",
        "gradients.rank_documents",
        "gradients.scale_lambdas",
        "gradients.softmax",
        "gradients.sum_losses",
        "gradients.sum_precisions",
        "gradients.update_bias",
        "mean_loss.largest_loss",
        "mean_loss.sum_losses",
        "mean_loss.total_losses",
        "quantize.gather",
        "quantize.number",
        "quantize.transpose",
        "radix_sort.radix_bases",
        "radix_sort.radix_clear",
        "radix_sort.radix_offsets",
        *(f"ranking_metric.{name}" for name in ("rank_hits", "rank_keys", "sum_places")),
        "ranking_metric.total_places",
        "reduce.reduce_tiles",
        "scan.scan_clear",
        "scan.scan_totals",
        "scan.scan_tiles",
        *(
            f"segmented_radix_sort.{name}"
            for name in (
                *("sort_segments", "sort_tiny", "sort_small", "segment_counts", "segment_offsets"),
                *("segment_lists", "large_counts", "counter_sums", "counter_scan", "large_scatter"),
            )
        ),
    }
)


class Tally:
    """Sum the bytes of a fit, tree by tree.

    Attributes
    ----------
    evaluation_rows : int
        Number of rows of evaluation sets, which walk every tree.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.evaluation_rows = 0
        self._trees: Counter[str] = Counter()

    def add_tree(self, nodes: Mapping[str, npt.NDArray[Any]], levels: npt.NDArray[np.void]) -> None:
        """Add a finished tree; the arguments are those of ``count_tree``."""
        tree = count_tree(nodes, levels)
        for kernel, n_bytes in TREE.items():
            self._trees[kernel] += n_bytes(self.ws, tree)
        # margins read and written, and a value at each step; paths are as long as in training
        values = 2 * outputs_of(self.ws, tree) + int(tree.nodes[0]) * mean_steps(tree)
        self._trees["predict"] += round(self.evaluation_rows * values * _FLOAT)

    def forget_trees(self) -> None:
        """Reset the sums, since the trees so far are trained again."""
        self._trees.clear()

    def n_bytes(self, kernel: str, weighted: bool) -> int | None:
        """Return the bytes of a kernel's launches so far; None for an unknown kernel.

        Parameters
        ----------
        kernel : str
            As in ``Program.label``.
        weighted : bool
            Whether the quantised data had weights.
        """
        if kernel in SET_UP:
            return SET_UP[kernel](self.ws, weighted)
        return self._trees.get(kernel)
