"""The least bytes that each kernel of a fit has to move.

Every input is read once, every output is written once. What depends on the data is counted from the
finished trees, which say how many rows each node had. Bytes of small tables (task offsets, bins of
a feature) are left out. A kernel that reads a value twice, or a whole memory transaction for the
sake of one byte, moves more than this: that is what its share of the bandwidth is meant to show.

A new kernel needs a line in ``TREE``, ``GROWING``, ``SET_UP`` or ``WHOLE_ARRAYS``; a test finds
those without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, QUANTA, STEP, SUM, WALK
from pyopencl_gbdt.steps.renew_leaves import COUNTS
from pyopencl_gbdt.traffic_growing import GROWING, factors, few_levels, label_and_margin
from pyopencl_gbdt.tree_counts import I64, TreeCounts, count_tree, partial_histograms
from pyopencl_gbdt.workspace import Workspace

_ROW_ID = _FLOAT = 4


def _histograms(ws: Workspace, n_nodes: int) -> int:
    return n_nodes * ws.layout.n_codes * 2 * SUM.itemsize


def _row_ids(level_rows: I64) -> int:
    """Bytes of the row lists of all levels: the root's rows are in order and not listed."""
    return int(level_rows[1:].sum()) * _ROW_ID


def _partials(ws: Workspace, tree: TreeCounts) -> list[I64]:
    """Return ``partial_histograms`` of every level."""
    chunk, groups = ws.variant("histogram").params["chunk"], ws.histogram_groups
    return [partial_histograms(sizes, chunk, groups) for sizes in tree.built_sizes]


def _gradients(ws: Workspace, tree: TreeCounts) -> int:
    return label_and_margin(ws) + factors(ws)


def _quantize_gradients(ws: Workspace, tree: TreeCounts) -> int:
    roots = ws.n_trees * ws.cells_to_clear * SUM.itemsize
    return label_and_margin(ws) + factors(ws) + ws["quanta"].nbytes + roots


def _begin_tree(ws: Workspace, tree: TreeCounts) -> int:
    return ws["sums"].nbytes


def _histogram(ws: Workspace, tree: TreeCounts) -> int:
    codes = ws.codes.nbytes // ws.n_rows
    quanta = 2 * QUANTA.itemsize
    rows = int(tree.built_rows.sum()) * (codes + quanta) + _row_ids(tree.built_rows)
    atomics = ws.variant("histogram").int64_atomics
    written = tree.built if atomics else [parts.sum() for parts in _partials(ws, tree)]
    return rows + _histograms(ws, int(sum(written)))


def _reduce(ws: Workspace, tree: TreeCounts) -> int:
    # what a single work-group built is in its place already
    straddling = [parts[parts > 1] for parts in _partials(ws, tree)]
    return _histograms(ws, sum(int((parts + 1).sum()) for parts in straddling))


def _find(ws: Workspace, tree: TreeCounts) -> int:
    searched = int(tree.nodes[:-1].sum())
    subtracted = searched - int(tree.built.sum())
    candidates = searched * ws.layout.n_features * CANDIDATE.itemsize
    return _histograms(ws, searched + subtracted) + candidates


def _best(ws: Workspace, tree: TreeCounts) -> int:
    searched = int(tree.nodes[:-1][~few_levels(ws, tree)].sum())
    return searched * (ws.layout.n_features + 1) * CANDIDATE.itemsize


def _decide(ws: Workspace, tree: TreeCounts) -> int:
    few, searched = few_levels(ws, tree), tree.nodes[:-1]
    candidates = int(searched[few].sum()) * ws.layout.n_features + int(searched[~few].sum())
    nodes = 2 * int(searched.sum()) + 2 * int(tree.splits.sum())  # in, out, and their children
    return nodes * NODE.itemsize + candidates * CANDIDATE.itemsize


def _placed(ws: Workspace) -> slice:
    """Return the levels whose rows move: of all but the last, or of all that split leaf-wise."""
    return slice(-1 if ws.params.leaf_wise else -2)


def _place(ws: Workspace, tree: TreeCounts) -> int:
    # the last level's nodes get no rows of their own
    above, nodes = tree.splits[_placed(ws)], tree.nodes[_placed(ws)]
    read = above if ws.params.leaf_wise else nodes
    return int(read.sum() + 2 * 2 * above.sum()) * NODE.itemsize


def _move(ws: Workspace, tree: TreeCounts) -> int:
    moved = tree.split_rows[_placed(ws)]
    codes = ws.codes.dtype.itemsize
    rows = int(moved.sum()) * (codes + _ROW_ID) + _row_ids(moved)
    # smaller children that fit one work-group are cleared by it
    chunk = ws.variant("histogram").params["chunk"]
    cleared = sum(int((sizes // 2 > chunk).sum()) for sizes in tree.split_sizes[_placed(ws)])
    return rows + cleared * ws.cells_to_clear * SUM.itemsize


def _finish_tree(ws: Workspace, tree: TreeCounts) -> int:
    walked = int(tree.nodes.sum()) * (NODE.itemsize + WALK.itemsize + STEP.itemsize)
    return walked + int(tree.nodes[-1]) * NODE.itemsize  # the last level's leaves get their values


def _keep(ws: Workspace, tree: TreeCounts) -> int:
    return 2 * (ws["nodes"].nbytes + ws["levels"].nbytes)


def _renew_weights(ws: Workspace) -> int:
    size: int = ws.reserved.get("renew_weights", (0,))[0]
    return size * SUM.itemsize


def _count_first(ws: Workspace, tree: TreeCounts) -> int:
    weights = _renew_weights(ws)
    codes = int(tree.split_rows.sum()) * ws.codes.dtype.itemsize
    return ws.n_rows * (2 * _FLOAT + 2 * _ROW_ID) + weights + codes  # leaf and key are kept


def _count_next(ws: Workspace, tree: TreeCounts) -> int:
    return 3 * (ws.n_rows * 2 * _ROW_ID + _renew_weights(ws))


def _pick(ws: Workspace, tree: TreeCounts) -> int:
    return 4 * 2 * int(tree.nodes.sum()) * COUNTS * 4  # read, and 0 again


def _renew(ws: Workspace, tree: TreeCounts) -> int:
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return leaves * (2 * SUM.itemsize + 2 * _ROW_ID + 4 * _FLOAT)


def _add_leaves(ws: Workspace, tree: TreeCounts) -> int:
    margins = ws.n_outputs * ws.n_rows * 2 * _FLOAT
    codes = ws.codes.dtype.itemsize
    if ws.variant("leaf").name == "walk":  # a code of every node on a row's way
        return margins + int(tree.split_rows.sum()) * codes
    in_order = not tree.splits[0] or ws.n_levels == 1  # the root's rows are not listed
    listed = 0 if in_order else ws.n_rows * _ROW_ID
    return margins + listed + int(tree.split_rows[-2]) * codes


#: Bytes of all launches of a kernel for one tree.
TREE: dict[str, Callable[[Workspace, TreeCounts], int]] = {
    "gradients": _gradients,
    "gradients.quantize_gradients": _quantize_gradients,
    "plan.begin_tree": _begin_tree,
    "histogram": _histogram,
    "histogram.reduce": _reduce,
    "split.find": _find,
    "plan.best": _best,
    "plan.decide": _decide,
    "plan.place": _place,
    "partition.move": _move,
    "plan.finish_tree": _finish_tree,
    "plan.keep": _keep,
    "renew_leaves.count_first": _count_first,
    "renew_leaves.count_next": _count_next,
    "renew_leaves.pick_digit": _pick,
    "renew_leaves.renew": _renew,
    "leaf.add_leaves": _add_leaves,
    **GROWING,
}


def _columns(ws: Workspace, weighted: bool) -> int:
    values = ws.n_rows * ws.layout.n_features
    return values * (3 if weighted else 2) * _FLOAT


def _passes(ws: Workspace) -> int:
    return int(32 // ws.variant("radix_sort").params["radix_bits"])


def _radix_count(ws: Workspace, weighted: bool) -> int:
    return _passes(ws) * ws.n_rows * ws.layout.n_features * _FLOAT


def _radix_histogram(ws: Workspace, weighted: bool) -> int:
    return _radix_count(ws, weighted) // _passes(ws)  # all digits in one reading


def _radix_scatter(ws: Workspace, weighted: bool) -> int:
    return 2 * _radix_count(ws, weighted) * (2 if weighted else 1)  # row ids move along


def _radix_columns(ws: Workspace, weighted: bool) -> int:
    return _radix_count(ws, weighted) // _passes(ws) + _radix_scatter(ws, weighted)


def _cuts(ws: Workspace, weighted: bool) -> int:
    # the values on both sides of every cut, read from the sorted column and written
    return int(ws.layout.feature_bins.sum()) * 2 * 2 * _FLOAT


def _encode(ws: Workspace, weighted: bool) -> int:
    values = ws.n_rows * ws.layout.n_features
    alone = ws.variant("quantize").params["wg_size"] == 1  # it writes codes by feature, too
    twice = values * ws.codes.dtype.itemsize if alone else 0
    return values * _FLOAT + ws.codes.nbytes + twice


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

#: Kernels of losses that look at several rows or margins; they share a row of the variant table.
_GIVEN = (
    "softmax",
    "rank_documents",
    "sum_precisions",
    "draw_partners",
    "lambdas",
    "scale_lambdas",
    "sum_losses",
    "update_bias",
)
#: Kernels that read or write the whole of each array that they are given, once (`curve_keys` of
#: classes has all of their margins in reach, and reads those of one; a sort of segments of some
#: length has the others in reach, too).
WHOLE_ARRAYS = frozenset(
    {
        "aft.aft_gradients",
        "curve.class_shares",
        "custom.custom_gradients",
        "custom.check_gradients",
        "cox.cox_exponentials",
        "cox.cox_quanta",
        "cox.cox_terms",
        "cox.cox_gradients",
        *(f"cox_metric.cox_{name}" for name in ("hazards", "planes", "losses")),
        "cox_metric.total_losses",
        "curve.curve_area",
        "curve.curve_keys",
        "curve.curve_pairs",
        "curve.total_areas",
        *(f"gradients.{name}" for name in _GIVEN),
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
    """Adds up the bytes of a fit, tree by tree.

    Attributes
    ----------
    evaluation_rows : int
        Rows of evaluation sets, which walk every tree.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.evaluation_rows = 0
        self._trees: Counter[str] = Counter()

    def add_tree(self, nodes: npt.NDArray[np.void], levels: npt.NDArray[np.void]) -> None:
        """Count a finished tree; arguments as for ``count_tree``."""
        tree = count_tree(nodes, levels)
        for kernel, n_bytes in TREE.items():
            self._trees[kernel] += n_bytes(self.ws, tree)
        # a margin in and out, and a value at every step of a way as long as the training rows'
        steps = float(tree.split_rows.sum()) / self.ws.n_rows
        self._trees["predict"] += round(self.evaluation_rows * (2 + steps) * _FLOAT)

    def forget_trees(self) -> None:
        """Begin anew: the trees so far are void."""
        self._trees.clear()

    def n_bytes(self, kernel: str, weighted: bool) -> int | None:
        """Return the bytes of a kernel's launches so far; None for one that is not known here.

        Parameters
        ----------
        kernel : str
            As ``Program.label`` spells it.
        weighted : bool
            Whether the data that were quantised had weights.
        """
        if kernel in SET_UP:
            return SET_UP[kernel](self.ws, weighted)
        return self._trees.get(kernel)
