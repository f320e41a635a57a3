"""The least bytes that each kernel of a fit must move.

Every input is read once and every output is written once. What depends on the data is computed from
the finished trees, which tell how many rows each node had. Small tables (task offsets, bins of a
feature) are not counted. A kernel that reads a value twice, or a whole memory transaction for one
byte, moves more; its share of the bandwidth shows that.

A kernel has the name of ``Program.label``: the kernel of the variant table and, if it differs,
the function of the program, such as ``histogram.reduce``. A new kernel needs one formula: in
``OF_SET_UP`` here, for kernels that quantise; in ``OF_TREE`` of `tree_traffic`, `leaf_traffic` or
`column_traffic`; or in ``_WHOLE``. A test finds kernels without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import gathers_columns
from pyopencl_gbdt.gradients.sketch import searched_parts
from pyopencl_gbdt.growth.drawn_columns import gathered_parts
from pyopencl_gbdt.profiling import column_traffic, leaf_traffic, tree_traffic
from pyopencl_gbdt.profiling.tree_facts import TreeFacts, count_tree, with_entries_of_roots

_FLOAT = 4


def _are_cut(fit: FitParts) -> npt.NDArray[np.bool_]:
    """Return which features are sorted and cut: not those with levels, nor the last, shares."""
    layout = fit.features.layout
    cut = np.arange(layout.n_features) < layout.n_features - fit.features.n_ordered
    return cut if layout.categorical is None else cut & ~layout.categorical


def _values(fit: FitParts) -> int:
    """Return the bytes of the values that are sorted."""
    return fit.rows.n_rows * int(_are_cut(fit).sum()) * _FLOAT


def _sorts(fit: FitParts, weighted: bool) -> int:
    """Return the bytes of the passes of a sort, which moves row ids, too, if rows have weights."""
    passes = 32 // int(fit.ways.variant("radix_sort").params["radix_bits"])
    return passes * 2 * _values(fit) * (2 if weighted else 1)


def _join_codes(fit: FitParts, weighted: bool) -> int:
    return fit.rows.n_rows * (fit.features.layout.n_features + fit.features.places.n_places)


def _encode(fit: FitParts, weighted: bool) -> int:
    values = fit.rows.n_rows * fit.features.layout.n_features
    alone = fit.ways.variant("quantize").params["wg_size"] == 1  # also writes codes by feature
    twice = values * fit.rows.codes.code_bytes if alone else 0
    return values * _FLOAT + fit.rows.codes.row_bytes * fit.rows.n_rows + twice


def _levels_of_columns(fit: FitParts, weighted: bool) -> int:
    # a column that became statistics is empty: code in, level out, emptied; level in, count out
    return 2 * fit.rows.n_rows * int((fit.features.layout.feature_bins == 0).sum()) * _FLOAT


#: Bytes of quantising by kernel; the second argument tells whether rows have weights.
OF_SET_UP: Mapping[str, Callable[[FitParts, bool], int]] = {
    "quantize.columns": lambda fit, weighted: _values(fit) * (3 if weighted else 2),
    "radix_sort.radix_count": lambda fit, weighted: _sorts(fit, False) // 2,
    # counts all digits in a single read
    "radix_sort.radix_histogram": lambda fit, weighted: _values(fit),
    "radix_sort.radix_scatter": _sorts,
    "radix_sort.radix_sweep": _sorts,
    "radix_sort.radix_columns": lambda fit, weighted: _values(fit) + _sorts(fit, weighted),
    # for each cut, the values on both sides: read from the sorted column, and written
    "quantize.cuts": lambda fit, weighted: (
        int(fit.features.layout.feature_bins[_are_cut(fit)].sum()) * 2 * 2 * _FLOAT
    ),
    "quantize.encode": _encode,
    "plan.join_codes": _join_codes,
    "tiles.count": lambda fit, weighted: (
        fit.rows.n_rows * (fit.features.layout.n_features + fit.rows.tiles.size) * _FLOAT
    ),
    "tiles.write": lambda fit, weighted: (
        fit.rows.n_rows * (fit.features.layout.n_features * _FLOAT + fit.rows.codes.row_bytes)
    ),
    "tiles.total": lambda fit, weighted: 2 * _FLOAT,
    # every value is written, and most read
    "wide_rows.place": lambda fit, weighted: (
        2 * fit.rows.n_rows * fit.features.layout.n_features * _FLOAT
    ),
    "wide_rows.take_levels": _levels_of_columns,
    "wide_rows.write_counts": _levels_of_columns,
}

#: Functions that read or write each of their arrays whole, once, by program. Arrays changed in
#: place count once too. (Exceptions: `curve_keys` gets the margins of all classes but reads those
#: of one class. A sort of segments of some lengths gets the other segments too.)
_WHOLE = {
    **leaf_traffic.WHOLE,
    "aft": "aft_gradients",
    "auc": "class_shares curve_area curve_keys curve_pairs total_areas",
    "column_bins": "bins count heads",
    "column_search": "begin_columns",
    "combination": "begin_keys compare extend_keys list_keys mark_heads number_pairs scatter_codes",
    "cox": "cox_exponentials cox_gradients cox_quanta cox_terms",
    "cox_metric": "cox_hazards cox_losses cox_planes total_losses",
    "custom": "check_gradients custom_gradients",
    "gradients": (
        "draw_partners lambdas rank_documents scale_lambdas softmax sum_losses sum_precisions "
        "update_bias"
    ),
    "mean_loss": "largest_loss sum_losses total_losses",
    "order_codes": "encode_shares",
    "ordered_statistics": "add_totals draw_keys gather_levels look_up mark walk_codes write_means",
    "pair_scores": "add_up begin gather score subtract",
    "quantize": "gather number transpose",
    "radix_sort": "radix_bases radix_clear radix_offsets",
    "ranking_metric": "rank_hits rank_keys sum_places total_places",
    "reduce": "reduce_tiles",
    "row_outputs": "row_outputs",
    "scan": "scan_clear scan_tiles scan_totals",
    "segmented_radix_sort": (
        "counter_scan counter_sums large_counts large_scatter segment_counts segment_lists "
        "segment_offsets sort_segments sort_small sort_tiny"
    ),
}
#: Their labels; the bytes are those of their arguments.
WHOLE_ARRAYS = frozenset(
    f"{program}.{function}"
    for program, functions in _WHOLE.items()
    for function in functions.split()
)
#: Bytes by kernel for trees that were grown together.
OF_TREE: Mapping[str, Callable[[TreeFacts], int]] = {
    **tree_traffic.OF_TREE,
    **leaf_traffic.OF_TREE,
    **column_traffic.OF_TREE,
}

#: Kernels that search splits, and move rows.
_OF_SEARCH = (
    "histogram", "tiled_histogram", "vector_split", "partition", "plan.begin_tree", "plan.decide",
    "plan.place", "plan.choose_columns",
)  # fmt: skip

#: Kernels that work on the columns that a tree has gathered, if it has.
_OF_FEATURES = ("histogram", "split", "plan.best", "plan.decide")


class Tally:
    """Sum the bytes of a fit, tree by tree.

    ``left_out``: kernels that the fit does not launch.

    Attributes
    ----------
    evaluation_rows : int
        Number of rows of evaluation sets, which walk every tree.
    sparse_rows : int
        The same, of sparse evaluation sets.
    """

    def __init__(self, fit: FitParts, left_out: Collection[str]) -> None:
        self.fit, self._left_out = fit, left_out
        self._gathered = gathered_parts(fit) if gathers_columns(fit.ways.facts) else None
        self.evaluation_rows = self.sparse_rows = 0
        self._trees: Counter[str] = Counter()

    def add_tree(self, nodes: Mapping[str, npt.NDArray[Any]], levels: npt.NDArray[np.void]) -> None:
        """Add a finished tree; the arguments are those of ``count_tree``."""
        columns = self.fit.features.columns
        if columns is not None:
            nodes = with_entries_of_roots(nodes, int(levels["count"][0]), columns.n_entries)
        trees = searched = TreeFacts(self.fit, count_tree(nodes, levels))
        if self.fit.nodes.n_sketches:
            few = count_tree(nodes, self._of_sketches(levels))
            searched = TreeFacts(searched_parts(self.fit), few)
        gathered = None if self._gathered is None else TreeFacts(self._gathered, trees.counts)
        for kernel, of_tree in OF_TREE.items():
            if kernel.split(".")[0] in self._left_out:
                continue
            if kernel.startswith(_OF_FEATURES) and gathered is not None:
                self._trees[kernel] += of_tree(gathered)
            else:
                self._trees[kernel] += of_tree(searched if kernel.startswith(_OF_SEARCH) else trees)
        # margins read and written, and a value at each step; paths are as long as in training
        both, steps = 2 * trees.outputs, trees.roots * trees.mean_steps
        self._trees["predict"] += round(self.evaluation_rows * (both + steps) * _FLOAT)
        # an entry's column too; columns that a search passes on its way are not counted
        self._trees["predict_sparse"] += round(self.sparse_rows * (both + 2 * steps) * _FLOAT)

    def _of_sketches(self, levels: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
        """Return levels with as many nodes as the trees of the sketches have."""
        nodes, few = self.fit.nodes, np.array(levels)
        few["count"] = levels["count"] // nodes.n_outputs * nodes.n_sketches
        return few

    def watch(self, n_rows: int, *, sparse: bool) -> None:
        """Count the rows of one more evaluation set."""
        if sparse:
            self.sparse_rows += n_rows
        else:
            self.evaluation_rows += n_rows

    def forget_trees(self) -> None:
        """Reset the sums, since the trees so far are trained again."""
        self._trees.clear()

    def n_bytes(self, kernel: str, weighted: bool) -> int | None:
        """Return the bytes of a kernel's launches so far; None for an unknown kernel.

        ``kernel``: as in ``Program.label``.
        ``weighted``: whether the quantised data had weights.
        """
        of_set_up = OF_SET_UP.get(kernel)
        return self._trees.get(kernel) if of_set_up is None else of_set_up(self.fit, weighted)
