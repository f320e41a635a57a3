"""The least bytes of the kernels of leaf values and margins; see `traffic`.

In ordered boosting, row ids of entries are counted where a row's leaf is needed; where weights or
factors are, they are counted once for each entry that a model learns from. How many features a
linear leaf has is not counted from a tree: one at least, as a leaf has a path. The leaves of a
model's first round have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyopencl_gbdt.dtypes import BOUNDS, NODE, QUANTA, STEP, SUM, SUMS_BYTES, WALK
from pyopencl_gbdt.growth.leaves_by_next_order import walks_leaves
from pyopencl_gbdt.growth.newton_leaves import further_steps
from pyopencl_gbdt.growth.renew_leaves import COUNTS
from pyopencl_gbdt.numerics.random_numbers import n_entries, n_models, prefix_sizes
from pyopencl_gbdt.primitives.packed_codes import code_dtype
from pyopencl_gbdt.profiling.tree_facts import FLOAT, QUANTA_PAIR, ROW_ID, SUM_PAIR, TreeFacts

#: Of a leaf, sums that are read and cleared; and a weight, and a value in three places.
_SUMS, _VALUES = 2 * SUM_PAIR, 4 * FLOAT
#: Of a linear leaf with one feature: its equations; its extremes and count; and a size, an
#: intercept, a feature and a coefficient.
_EQUATIONS, _EXTREMES, _TERMS = 5 * SUM.itemsize, 3 * FLOAT, 4 * FLOAT


def _renew_weights(trees: TreeFacts) -> int:
    """Bytes of the rows' weights in renewed leaves; 0 without weights."""
    return trees.rows * SUM.itemsize if "renew_weights" in trees.fit.rows.row_arrays else 0


def _count_first(trees: TreeFacts) -> int:
    if trees.fit.features.columns is not None:
        found = trees.rows * ROW_ID  # every row has its node
    elif trees.fit.ways.variant("update_margins").name == "walk":
        found = int(trees.counts.split_rows.sum()) * trees.code_bytes
    else:
        found = 0  # its leaf is read, not written
    kept = trees.rows * 2 * ROW_ID  # leaf and key
    return trees.rows * 2 * FLOAT + kept + _renew_weights(trees) + found


def _replace_codes(trees: TreeFacts) -> int:
    # read, and written by row and by feature; of one order, only after a choice of combinations
    fit = trees.fit
    n_columns = fit.features.n_ordered
    if fit.rows.n_orders == 1 or n_columns == 0:
        return 0
    most_codes = int(fit.features.layout.feature_bins[-n_columns:].max()) + 1  # and missing
    each = code_dtype(most_codes).itemsize + 2 * trees.code_bytes
    batches = len(fit.nodes.batches)
    walks = walks_leaves(fit.ways.facts, fit.nodes.policy)
    times = 2 * batches - 1 if walks else 1  # the next order's after every batch
    return trees.n_rows * n_columns * each * times // batches


def _expand(trees: TreeFacts) -> int:
    written = trees.nodes * (NODE.itemsize + SUMS_BYTES + BOUNDS.itemsize)
    nodes = trees.fit.nodes
    each = nodes.n_sketches * NODE.itemsize + ROW_ID  # a node of every sketch, and a place
    return written + trees.nodes // nodes.n_outputs * each


def _places(trees: TreeFacts) -> int:
    """Return the bytes of the places of all rows, in trees of one output."""
    return trees.fit.nodes.n_parallel * trees.n_rows * ROW_ID


def _find_places(trees: TreeFacts) -> int:
    steps = trees.fit.nodes.n_parallel * trees.n_rows * trees.mean_steps
    return _places(trees) + round(steps) * trees.code_bytes


def _learnt(trees: TreeFacts) -> int:
    """Return how many entries the models of ordered boosting learn from, over all outputs."""
    entries = trees.n_rows + trees.params.n_orders * sum(prefix_sizes(trees.n_rows))
    return trees.outputs * entries


def _entry_gradients(trees: TreeFacts) -> int:
    """Bytes of margins and labels, and of what multiplies gradients."""
    factors = (trees.fit.rows.weighted + trees.params.samples_rows) * trees.n_rows * FLOAT
    return _learnt(trees) * 2 * FLOAT + trees.outputs * factors


def _count_entries(trees: TreeFacts) -> int:
    by_row = trees.fit.rows.weighted or trees.params.samples_rows
    return _entry_gradients(trees) + (_learnt(trees) * ROW_ID if by_row else 0)


def _add_entries(trees: TreeFacts) -> int:
    entries = n_entries(trees.n_rows, trees.params.n_orders) * (ROW_ID + 2 * FLOAT)
    return trees.outputs * (entries + trees.n_rows * ROW_ID)


def _find_leaves(trees: TreeFacts) -> int:
    written = trees.rows * ROW_ID
    if trees.fit.features.columns is not None:
        return 2 * written  # every row has its node
    return written + trees.leaf_codes


def _sum_steps(trees: TreeFacts) -> int:
    steps = further_steps(trees.params)
    return steps * (trees.inputs + trees.rows * FLOAT)


def _add_leaves(trees: TreeFacts) -> int:
    values = trees.rows * FLOAT if trees.params.linear_tree else 0  # one of each row
    counted = trees.inputs - trees.rows * FLOAT if trees.counts_ahead else 0  # margins are at hand
    quanta = trees.rows * QUANTA_PAIR if trees.quantizes_ahead else 0
    return trees.margins + values + trees.leaf_codes + counted + quanta


def _with_path(trees: TreeFacts) -> int:
    """Leaves that have a path."""
    return int(trees.counts.nodes[1:].sum() - trees.counts.splits[1:].sum())


def _split_rows(trees: TreeFacts, each: int) -> int:
    """Bytes of the rows of trees with a split, each with so many beside its id and a value."""
    return int(trees.counts.split_rows[0]) * (ROW_ID + FLOAT + each)


#: Functions that read or write each of their arrays whole, once, by program.
WHOLE = {"dropout": "add_values show"}
OF_TREE: Mapping[str, Callable[[TreeFacts], int]] = {
    "renew_leaves.find_leaves": _find_leaves,
    "renew_leaves.count_first": _count_first,
    "renew_leaves.select_leaves": lambda trees: _find_leaves(trees) + trees.rows * 2 * FLOAT,
    "renew_leaves.count_next": lambda trees: 3 * (trees.rows * 2 * ROW_ID + _renew_weights(trees)),
    "renew_leaves.pick_digit": lambda trees: 4 * 2 * trees.nodes * COUNTS * 4,  # then reset to 0
    "renew_leaves.renew": lambda trees: trees.leaves * (SUM_PAIR + 2 * ROW_ID + _VALUES),
    "order_codes.replace_codes": _replace_codes,
    "update_margins.add_leaves": _add_leaves,
    "leaves_by_next_order.sum_leaves": lambda trees: (
        trees.rows * (QUANTA_PAIR + ROW_ID) + trees.path_codes
    ),
    "leaves_by_next_order.value_leaves": lambda trees: trees.leaves * (_SUMS + _VALUES),
    "leaves_by_next_order.add_leaves": lambda trees: trees.margins + trees.rows * ROW_ID,
    "newton_leaves.begin_steps": lambda trees: trees.leaves * (2 * FLOAT + BOUNDS.itemsize),
    "newton_leaves.find_leaves": _find_leaves,
    "newton_leaves.count_rows": _sum_steps,
    "newton_leaves.sum_rows": _sum_steps,
    "newton_leaves.step_leaves": lambda trees: (  # a weight and its bounds in and out, too
        further_steps(trees.params)
        * trees.leaves
        * (_SUMS + 2 * (FLOAT + BOUNDS.itemsize) + _VALUES)
    ),
    "dropout.keep_trees": lambda trees: trees.nodes * 2 * (STEP.itemsize + WALK.itemsize),
    "dropout.change": lambda trees: (  # the walk of new trees; how many are dropped is not known
        trees.outputs * trees.n_rows * (2 * SUM.itemsize + 2 * FLOAT) + trees.path_codes
    ),
    "sketched_leaves.expand": _expand,
    "sketched_leaves.find_places": _find_places,
    "sketched_leaves.sum_places": lambda trees: (
        _places(trees) + (trees.inputs if trees.computes_again else trees.rows * QUANTA_PAIR)
    ),
    "sketched_leaves.value_places": lambda trees: (
        trees.leaves * (_SUMS + _VALUES) + trees.nodes * (SUMS_BYTES + FLOAT) + trees.splits * FLOAT
    ),
    "sketched_leaves.read_values": lambda trees: 2 * trees.nodes * FLOAT,
    "sketched_leaves.add_leaves": lambda trees: _places(trees) + trees.margins,
    "ordered_leaves.take_margins": lambda trees: (
        trees.margins + trees.outputs * trees.n_rows * ROW_ID
    ),
    "ordered_leaves.find_leaves": _find_leaves,
    "ordered_leaves.count_entries": _count_entries,
    "ordered_leaves.sum_entries": lambda trees: (
        _entry_gradients(trees) + (_learnt(trees) + trees.outputs * trees.n_rows) * ROW_ID
    ),
    "ordered_leaves.value_leaves": lambda trees: (
        n_models(trees.n_rows, trees.params.n_orders) * trees.leaves * (_SUMS + FLOAT)
    ),
    "ordered_leaves.set_leaves": lambda trees: trees.leaves * _VALUES,
    "ordered_leaves.add_entries": _add_entries,
    "linear_leaves.list_features": lambda trees: (
        trees.nodes * (NODE.itemsize + FLOAT) + _with_path(trees) * (FLOAT + _EQUATIONS + _EXTREMES)
    ),
    "linear_leaves.bound_values": lambda trees: (
        _split_rows(trees, QUANTA.itemsize) + _with_path(trees) * _EXTREMES
    ),
    "linear_leaves.sum_products": lambda trees: (
        _split_rows(trees, QUANTA_PAIR) + _with_path(trees) * _EQUATIONS
    ),
    "linear_leaves.solve": lambda trees: _with_path(trees) * (_EQUATIONS + _EXTREMES + _TERMS),
    "linear_leaves.list_terms": lambda trees: (
        trees.nodes * 3 * FLOAT + _with_path(trees) * 3 * _TERMS
    ),
}
