"""The least bytes that each kernel of a fit must move.

Every input is read once and every output is written once. What depends on the data is computed from
the finished trees, which tell how many rows each node had. Small tables (task offsets, bins of a
feature) are not counted. A kernel that reads a value twice, or a whole memory transaction for one
byte, moves more; its share of the bandwidth shows that.

A new kernel needs one rule, here, in `tree_traffic`, or in a module for one way of training, such
as `column_traffic` or `ordered_traffic`; a test finds kernels without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import pyopencl_gbdt.profiling.linear_traffic
import pyopencl_gbdt.profiling.ordered_traffic  # noqa: F401 (registers its rules)
from pyopencl_gbdt.dtypes import BOUNDS, CANDIDATE, NODE, QUANTA, STEP, SUM, SUMS_BYTES, WALK
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.sketch import searched_parts
from pyopencl_gbdt.growth.category_split import FACTS
from pyopencl_gbdt.growth.drawn_columns import gathered_parts
from pyopencl_gbdt.growth.newton_leaves import further_steps
from pyopencl_gbdt.growth.recipe import gathers_columns
from pyopencl_gbdt.profiling.column_traffic import with_entries_of_roots
from pyopencl_gbdt.profiling.least_bytes import (
    RULES,
    TreeCounts,
    count_tree,
    of_set_up,
    of_tree,
    whole_arrays,
)
from pyopencl_gbdt.profiling.tree_traffic import mean_steps, outputs_of

_LEAF = 4
#: Bytes of the sums of gradients and Hessians of a leaf.
_SUMS = 16


def _rows(fit: FitParts, tree: TreeCounts) -> int:
    """Rows of all trees."""
    return int(tree.nodes[0]) * fit.rows.n_rows


@of_tree("leaves_by_next_order.sum_leaves")
def _sum_leaves(fit: FitParts, tree: TreeCounts) -> int:
    rows = _rows(fit, tree)
    return (
        rows * (2 * QUANTA.itemsize + _LEAF)
        + round(rows * mean_steps(tree)) * fit.rows.codes.code_bytes
    )


@of_tree("leaves_by_next_order.value_leaves")
def _value_leaves(fit: FitParts, tree: TreeCounts) -> int:
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return leaves * (2 * _SUMS + 4 * _FLOAT)  # sums are cleared, too; a weight and three values


@of_tree("leaves_by_next_order.add_leaves")
def _add_leaves(fit: FitParts, tree: TreeCounts) -> int:
    return outputs_of(fit, tree) * fit.rows.n_rows * 2 * _FLOAT + _rows(fit, tree) * _LEAF


@of_tree("newton_leaves.begin_steps")
def _begin_steps(fit: FitParts, tree: TreeCounts) -> int:
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return leaves * (2 * _FLOAT + BOUNDS.itemsize)


@of_tree("newton_leaves.count_rows", "newton_leaves.sum_rows")
def _sum_rows(fit: FitParts, tree: TreeCounts) -> int:
    steps = further_steps(fit.nodes.params)
    return steps * _rows(fit, tree) * ((2 + fit.rows.weighted) * _FLOAT + _LEAF)


@of_tree("newton_leaves.step_leaves")
def _step_leaves(fit: FitParts, tree: TreeCounts) -> int:
    # sums are cleared, too; a weight and its bounds in and out; a weight and three values
    each = 2 * _SUMS + 2 * (_FLOAT + BOUNDS.itemsize) + 4 * _FLOAT
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return further_steps(fit.nodes.params) * leaves * each


@of_tree("dropout.keep_trees")
def _keep_trees(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes.sum()) * 2 * (STEP.itemsize + WALK.itemsize)


@of_tree("dropout.change")
def _change(fit: FitParts, tree: TreeCounts) -> int:
    """Return the bytes of the walk of new trees; how many are dropped does not follow from them."""
    sums = outputs_of(fit, tree) * fit.rows.n_rows * (2 * SUM.itemsize + 2 * _FLOAT)
    return sums + round(_rows(fit, tree) * mean_steps(tree)) * fit.rows.codes.code_bytes


#: Of a feature in a node: levels in order, and sums.
_FACTS = FACTS * SUM.itemsize


def _searched(tree: TreeCounts) -> int:
    return int(tree.nodes[:-1].sum())


@of_tree("category_split.order_levels")
def _order_levels(fit: FitParts, tree: TreeCounts) -> int:
    assert fit.features.layout.categorical is not None
    codes = np.diff(fit.features.layout.feature_offset)[fit.features.layout.categorical]
    ordered = (
        int(tree.nodes[0]) if fit.nodes.policy.fills_levels else _searched(tree)
    )  # once a tree
    return ordered * (int(codes.sum()) * 2 * SUM.itemsize + codes.size * _FACTS)


@of_tree("category_split.find_sets")
def _find_sets(fit: FitParts, tree: TreeCounts) -> int:
    assert fit.features.layout.categorical is not None
    each = _FACTS + NODE.itemsize + SUMS_BYTES + CANDIDATE.itemsize
    return _searched(tree) * int(fit.features.layout.categorical.sum()) * each


@of_tree("category_sets.write_sets")
def _write_sets(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.splits.sum()) * (NODE.itemsize + SUMS_BYTES)


@of_tree("category_sets.finish_sets")
def _finish_sets(fit: FitParts, tree: TreeCounts) -> int:
    nodes = int(tree.nodes.sum())
    kept = 2 * (nodes // 2 + 1) * fit.nodes.set_words * 4  # read and written
    return nodes * NODE.itemsize + kept


_FLOAT = 4


def _are_cut(fit: FitParts) -> npt.NDArray[np.bool_]:
    """Return which features are sorted and cut: not those with levels, nor the last, shares."""
    cut = (
        np.arange(fit.features.layout.n_features)
        < fit.features.layout.n_features - fit.features.n_ordered
    )
    return (
        cut if fit.features.layout.categorical is None else cut & ~fit.features.layout.categorical
    )


@of_set_up("quantize.columns")
def _columns(fit: FitParts, weighted: bool) -> int:
    values = fit.rows.n_rows * int(_are_cut(fit).sum())
    return values * (3 if weighted else 2) * _FLOAT


def _passes(fit: FitParts) -> int:
    return int(32 // fit.ways.variant("radix_sort").params["radix_bits"])


@of_set_up("radix_sort.radix_count")
def _radix_count(fit: FitParts, weighted: bool) -> int:
    return _passes(fit) * fit.rows.n_rows * int(_are_cut(fit).sum()) * _FLOAT


@of_set_up("radix_sort.radix_histogram")
def _radix_histogram(fit: FitParts, weighted: bool) -> int:
    return _radix_count(fit, weighted) // _passes(fit)  # counts all digits in a single read


@of_set_up("radix_sort.radix_scatter", "radix_sort.radix_sweep")
def _radix_scatter(fit: FitParts, weighted: bool) -> int:
    return 2 * _radix_count(fit, weighted) * (2 if weighted else 1)  # moves row ids too


@of_set_up("radix_sort.radix_columns")
def _radix_columns(fit: FitParts, weighted: bool) -> int:
    return _radix_count(fit, weighted) // _passes(fit) + _radix_scatter(fit, weighted)


@of_set_up("quantize.cuts")
def _cuts(fit: FitParts, weighted: bool) -> int:
    # for each cut, the values on both sides: read from the sorted column, and written
    return int(fit.features.layout.feature_bins[_are_cut(fit)].sum()) * 2 * 2 * _FLOAT


@of_set_up("quantize.encode")
def _encode(fit: FitParts, weighted: bool) -> int:
    values = fit.rows.n_rows * fit.features.layout.n_features
    alone = (
        fit.ways.variant("quantize").params["wg_size"] == 1
    )  # then it also writes codes by feature
    twice = values * fit.rows.codes.code_bytes if alone else 0
    return values * _FLOAT + fit.rows.codes.row_bytes * fit.rows.n_rows + twice


@of_set_up("tiles.count")
def _count_cells(fit: FitParts, weighted: bool) -> int:
    return fit.rows.n_rows * (
        fit.features.layout.n_features * _FLOAT + fit.rows.tiles.size * _FLOAT
    )


@of_set_up("tiles.write")
def _write_cells(fit: FitParts, weighted: bool) -> int:
    return fit.rows.n_rows * (fit.features.layout.n_features * _FLOAT + fit.rows.codes.row_bytes)


@of_set_up("wide_rows.place")
def _place(fit: FitParts, weighted: bool) -> int:
    return (
        2 * fit.rows.n_rows * fit.features.layout.n_features * _FLOAT
    )  # every value is written, and most read


@of_set_up("wide_rows.take_levels", "wide_rows.write_counts")
def _levels_of_columns(fit: FitParts, weighted: bool) -> int:
    # a column that became statistics is empty: code in, level out, emptied; level in, count out
    return 2 * fit.rows.n_rows * int((fit.features.layout.feature_bins == 0).sum()) * _FLOAT


@of_set_up("tiles.total")
def _total_cells(fit: FitParts, weighted: bool) -> int:
    return 2 * _FLOAT


#: Functions that read or write each of their arrays whole, once, by program. Arrays changed in
#: place count once too. (Exceptions: `curve_keys` gets the margins of all classes but reads those
#: of one class. A sort of segments of some lengths gets the other segments too.)
_WHOLE = {
    "aft": "aft_gradients",
    "auc": "class_shares curve_area curve_keys curve_pairs total_areas",
    "column_bins": "bins count heads",
    "column_search": "begin_columns",
    "combination": "begin_keys compare extend_keys list_keys mark_heads scatter_codes",
    "cox": "cox_exponentials cox_gradients cox_quanta cox_terms",
    "cox_metric": "cox_hazards cox_losses cox_planes total_losses",
    "custom": "check_gradients custom_gradients",
    "distribution": "distribution",
    "dropout": "add_values show",
    "gradients": (
        "draw_partners lambdas rank_documents scale_lambdas softmax sum_losses sum_precisions "
        "update_bias"
    ),
    "mean_loss": "largest_loss sum_losses total_losses",
    "order_codes": "encode_shares",
    "ordered_statistics": "add_totals draw_keys gather_levels look_up mark write_means",
    "pair_scores": "add_up begin gather score subtract",
    "quantize": "gather number transpose",
    "radix_sort": "radix_bases radix_clear radix_offsets",
    "ranking_metric": "rank_hits rank_keys sum_places total_places",
    "reduce": "reduce_tiles",
    "scan": "scan_clear scan_tiles scan_totals",
    "segmented_radix_sort": (
        "counter_scan counter_sums large_counts large_scatter segment_counts segment_lists "
        "segment_offsets sort_segments sort_small sort_tiny"
    ),
}
for _program, _functions in _WHOLE.items():
    whole_arrays(_program, _functions.split())


#: Kernels that search splits, and move rows.
_OF_SEARCH = (
    "histogram", "tiled_histogram", "vector_split", "partition", "plan.begin_tree", "plan.decide",
    "plan.place", "plan.choose_columns",
)  # fmt: skip

#: Kernels that work on the columns that a tree has gathered, if it has.
_OF_FEATURES = ("histogram", "split", "plan.best", "plan.decide")


class Tally:
    """Sum the bytes of a fit, tree by tree.

    Parameters
    ----------
    fit : FitParts
    left_out : collection of str
        Kernels that the fit does not launch.

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
        tree = count_tree(nodes, levels)
        searched, few = self.fit, tree
        if self.fit.nodes.n_sketches:
            searched, few = searched_parts(self.fit), count_tree(nodes, self._of_sketches(levels))
        for kernel, rule in RULES.items():
            if rule.of_tree is None or kernel.split(".")[0] in self._left_out:
                continue
            if kernel.startswith(_OF_FEATURES) and self._gathered is not None:
                self._trees[kernel] += rule.of_tree(self._gathered, tree)
            elif kernel.startswith(_OF_SEARCH):
                self._trees[kernel] += rule.of_tree(searched, few)
            else:
                self._trees[kernel] += rule.of_tree(self.fit, tree)
        # margins read and written, and a value at each step; paths are as long as in training
        both = 2 * outputs_of(self.fit, tree)
        steps = int(tree.nodes[0]) * mean_steps(tree)
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

        Parameters
        ----------
        kernel : str
            As in ``Program.label``.
        weighted : bool
            Whether the quantised data had weights.
        """
        rule = RULES.get(kernel)
        if rule is not None and rule.of_set_up is not None:
            return rule.of_set_up(self.fit, weighted)
        return self._trees.get(kernel)
