"""The least bytes of the kernels that grow trees; see `traffic`.

What depends on the data is computed from the finished trees, which tell the rows of each node.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import (
    CANDIDATE,
    KEPT,
    NODE,
    PAYLOAD_BYTES,
    QUANTA,
    STEP,
    SUM,
    WALK,
)
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.sample import CLASSES
from pyopencl_gbdt.growth.histogram import histogram_groups
from pyopencl_gbdt.growth.leaves_by_next_order import walks_leaves
from pyopencl_gbdt.growth.renew_leaves import COUNTS
from pyopencl_gbdt.growth.split import candidates_of
from pyopencl_gbdt.growth.whole_best_first import FEW_ROWS
from pyopencl_gbdt.profiling.least_bytes import I64, TreeCounts, of_tree, partial_histograms

_ROW_ID = _FLOAT = 4
#: A node and what it carries.
_RECORD = NODE.itemsize + PAYLOAD_BYTES


def _histograms(fit: FitParts, n_nodes: int) -> int:
    return n_nodes * fit.features.layout.n_codes * 2 * SUM.itemsize


def _row_ids(fit: FitParts, level_rows: I64) -> int:
    """Bytes of the row lists of all levels; a root with all rows has no list."""
    return int(level_rows[0 if fit.rows.lists_drawn else 1 :].sum()) * _ROW_ID


def _partials(fit: FitParts, tree: TreeCounts) -> list[I64]:
    """Return ``partial_histograms`` of every level."""
    chunk = fit.ways.variant("histogram").params["chunk"]
    groups = histogram_groups(fit.rows, fit.features, fit.ways)
    return [partial_histograms(sizes, chunk, groups) for sizes in tree.built_sizes]


def _rows(fit: FitParts, tree: TreeCounts) -> int:
    """Return the rows of all trees that were grown together."""
    return int(tree.nodes[0]) * fit.rows.n_rows


def _listed(fit: FitParts, tree: TreeCounts) -> int:
    """Return the rows of the trees that have lists and factors of their own."""
    return _rows(fit, tree) // fit.nodes.n_alike


def outputs_of(fit: FitParts, tree: TreeCounts) -> int:
    """Return the number of outputs whose trees were grown together."""
    return -(-int(tree.nodes[0]) // fit.nodes.n_parallel)


def mean_steps(tree: TreeCounts) -> float:
    """Return the mean number of splits on a training row's path through a tree."""
    return float(tree.split_rows.sum()) / max(1, int(tree.built_rows[0]))


def _inputs(fit: FitParts, tree: TreeCounts) -> int:
    """Bytes of margins and labels, or of given gradients and Hessians, and of weights."""
    return _rows(fit, tree) * (2 + fit.rows.weighted) * _FLOAT


@of_tree("gradients")
def _gradients(fit: FitParts, tree: TreeCounts) -> int:
    factors = _listed(fit, tree) * _FLOAT if fit.nodes.params.samples_rows else 0
    return _inputs(fit, tree) + factors


@of_tree("gradients.quantize_gradients")
def _quantize_gradients(fit: FitParts, tree: TreeCounts) -> int:
    roots = int(tree.nodes[0]) * fit.rows.cells_to_clear * SUM.itemsize
    return _gradients(fit, tree) + _rows(fit, tree) * 2 * QUANTA.itemsize + roots


@of_tree("gradients.draw")
def _draw(fit: FitParts, tree: TreeCounts) -> int:
    written = _listed(fit, tree) * _FLOAT
    if fit.rows.lists_drawn:
        written += int(tree.built_rows[0]) // fit.nodes.n_alike * _ROW_ID
    if not fit.nodes.params.samples_by_gradient:
        return written
    return _inputs(fit, tree) + written + _clear_classes(fit, tree)


@of_tree("gradients.gather_drawn")
def _gather_drawn(fit: FitParts, tree: TreeCounts) -> int:
    if fit.features.columns is not None:
        return 0
    each = (
        2 * (fit.rows.codes.row_bytes + 2 * QUANTA.itemsize) + _ROW_ID
    )  # read and written; and listed
    return _rows(fit, tree) * _FLOAT + int(tree.built_rows[0]) * each


@of_tree("gradients.count_classes")
def _count_classes(fit: FitParts, tree: TreeCounts) -> int:
    return _inputs(fit, tree) + 2 * _clear_classes(fit, tree)


@of_tree("gradients.clear_classes")
def _clear_classes(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes[0]) * CLASSES * 4


@of_tree("plan.begin_tree")
def _begin_tree(fit: FitParts, tree: TreeCounts) -> int:
    return fit.arena["sums"].nbytes


def _share_seen(fit: FitParts) -> float:
    """Return the share of listed rows whose codes are read; on a CPU, only sampled rows are."""
    p = fit.nodes.params
    if not p.leaves_out_rows or fit.rows.lists_drawn or fit.ways.variant("histogram").name != "cpu":
        return 1.0
    return p.top_rate + p.other_rate if p.sampling_method == "goss" else p.drawn_share


@of_tree("histogram", "tiled_histogram")
def _histogram(fit: FitParts, tree: TreeCounts) -> int:
    codes = fit.rows.codes.row_bytes * _share_seen(fit)
    quanta = 2 * QUANTA.itemsize
    rows = round(int(tree.built_rows.sum()) * (codes + quanta)) + _row_ids(fit, tree.built_rows)
    atomics = fit.ways.variant("histogram").int64_atomics
    written = tree.built if atomics else [parts.sum() for parts in _partials(fit, tree)]
    return rows + _histograms(fit, int(sum(written)))


@of_tree("histogram.reduce", "tiled_histogram.reduce")
def _reduce(fit: FitParts, tree: TreeCounts) -> int:
    # a histogram built by one work-group is complete already
    straddling = [parts[parts > 1] for parts in _partials(fit, tree)]
    return _histograms(fit, sum(int((parts + 1).sum()) for parts in straddling))


@of_tree("split.find")
def _find(fit: FitParts, tree: TreeCounts) -> int:
    searched = int(tree.nodes[:-1].sum())
    subtracted = searched - int(tree.built.sum())
    candidates = searched * fit.features.layout.n_features * CANDIDATE.itemsize
    return _histograms(fit, searched + subtracted) + candidates


def _few(fit: FitParts, tree: TreeCounts) -> npt.NDArray[np.bool_]:
    """Return a mask of levels where `decide` compares candidates; on others `best` does."""
    steps = range(tree.nodes.size - 1)
    return np.array([not candidates_of(fit, step).compared for step in steps], np.bool_)


@of_tree("plan.best")
def _best(fit: FitParts, tree: TreeCounts) -> int:
    searched = int(tree.nodes[:-1][~_few(fit, tree)].sum())
    return searched * (fit.features.layout.n_features + 1) * CANDIDATE.itemsize


@of_tree("plan.decide")
def _decide(fit: FitParts, tree: TreeCounts) -> int:
    few, searched = _few(fit, tree), tree.nodes[:-1]
    candidates = int(searched[few].sum()) * fit.features.layout.n_features + int(
        searched[~few].sum()
    )
    nodes = 2 * int(searched.sum()) + 2 * int(tree.splits.sum())  # read, written, and children
    return nodes * _RECORD + candidates * CANDIDATE.itemsize


@of_tree("plan.choose_columns")
def _choose_columns(fit: FitParts, tree: TreeCounts) -> int:
    n = fit.features.layout.n_features
    weights = n * _FLOAT if fit.features.limits.feature_weights is not None else 0
    return int(tree.nodes[:-1].sum()) * (NODE.itemsize + -(-n // 32) * 4 + weights)


@of_tree("plan.draw_columns")
def _draw_columns(fit: FitParts, tree: TreeCounts) -> int:
    n = fit.features.layout.n_features
    weights = n * _FLOAT if fit.features.limits.feature_weights is not None else 0
    return int(tree.nodes[0]) * (4 * fit.ways.facts.columns_of_tree + weights)


@of_tree("plan.gather_columns")
def _gather_columns(fit: FitParts, tree: TreeCounts) -> int:
    n_drawn = fit.ways.facts.columns_of_tree  # of dense codes, which are read by feature
    rows = int(tree.nodes[0]) * fit.rows.n_rows
    return 2 * rows * n_drawn * fit.rows.codes.code_bytes if n_drawn else 0


@of_tree("plan.draw_borders")
def _draw_borders(fit: FitParts, tree: TreeCounts) -> int:
    # a node is read, or the first one of a tree's level, and the bits of its features are written
    steps = tree.nodes.size - 1
    shared = int(tree.nodes[0]) * steps if fit.nodes.policy.fills_levels else 0
    places = shared or int(tree.nodes[:-1].sum())
    return places * (NODE.itemsize + fit.features.layout.n_features * 4)


@of_tree("plan.scale_noise")
def _scale_noise(fit: FitParts, tree: TreeCounts) -> int:
    # half a pair of sums for every work-group that adds up squares, the root's sums, and one number
    return fit.arena["sums"].nbytes // 2 + int(tree.nodes[0]) * (16 + 4)


@of_tree("plan.pick")
def _pick(fit: FitParts, tree: TreeCounts) -> int:
    few, new = _few(fit, tree), tree.nodes[:-1]
    candidates = int(new[few].sum()) * (fit.features.layout.n_features + 1) + 2 * int(
        new[~few].sum()
    )
    steps = new.size  # each step reads the gains of all leaves so far
    gains = int(tree.nodes[0]) * steps * (steps + 1) // 2 * _FLOAT
    return 2 * int(new.sum()) * _RECORD + candidates * CANDIDATE.itemsize + gains


@of_tree("plan.decide_picked")
def _decide_picked(fit: FitParts, tree: TreeCounts) -> int:
    # nodes read and written, and their children
    return int(tree.splits.sum()) * (4 * _RECORD + CANDIDATE.itemsize)


@of_tree("plan.pick_leaves")
def _pick_leaves(fit: FitParts, tree: TreeCounts) -> int:
    few, new = _few(fit, tree), tree.nodes[:-1]
    candidates = int(new[few].sum()) * (fit.features.layout.n_features + 1) + 2 * int(
        new[~few].sum()
    )
    open_leaves = (
        2 * _ROW_ID * fit.nodes.policy.most_leaves * int((new > 0).sum())
    )  # read, written in each step
    known = 3 * _FLOAT * int(new.sum())  # gain, rank, and the order in which nodes are made
    return 2 * int(new.sum()) * _RECORD + candidates * CANDIDATE.itemsize + open_leaves + known


@of_tree("plan.decide_leaves")
def _decide_leaves(fit: FitParts, tree: TreeCounts) -> int:
    return _decide_picked(fit, tree)


@of_tree("plan.settle")
def _settle(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes.sum()) * (NODE.itemsize + _ROW_ID)


def moving(fit: FitParts) -> slice:
    """Return the levels whose rows move: all, or all but the last split level."""
    return slice(None) if fit.nodes.policy.moves_last_rows else slice(-2)


@of_tree("plan.place")
def _place(fit: FitParts, tree: TreeCounts) -> int:
    splits = int(tree.splits[moving(fit)].sum())
    looked_at = splits if fit.nodes.policy.picks_leaves else int(tree.nodes[:-2].sum())
    return (looked_at + 2 * 2 * splits) * NODE.itemsize


@of_tree("partition.move")
def _move(fit: FitParts, tree: TreeCounts) -> int:
    moved = tree.split_rows[moving(fit)]
    codes = fit.rows.codes.code_bytes
    rows = int(moved.sum()) * (codes + _ROW_ID) + _row_ids(fit, moved)
    rows //= fit.nodes.n_alike
    # a work-group that moves a whole small child also clears its histogram
    chunk = fit.ways.variant("histogram").params["chunk"]
    cleared = sum(int((sizes // 2 > chunk).sum()) for sizes in tree.split_sizes[moving(fit)])
    return rows + cleared * fit.rows.cells_to_clear * SUM.itemsize


@of_tree("whole_trees.grow")
def _grow(fit: FitParts, tree: TreeCounts) -> int:
    searched = tree.nodes[:-1]
    subtracted = searched - tree.built[:-1]
    # of the last level, histograms are read and none is kept
    cells = tree.built[:-2].sum() + 2 * subtracted[:-1].sum() + subtracted[-1]
    n_features = fit.features.layout.n_features
    n_places = fit.ways.facts.n_drawn or n_features
    codes = n_places * fit.rows.codes.code_bytes
    rows = int(tree.built_rows.sum()) * (codes + 2 * QUANTA.itemsize)
    moved = tree.split_rows[:-2]
    rows += _row_ids(fit, tree.built_rows) + int(moved.sum()) * (
        fit.rows.codes.code_bytes + _ROW_ID
    )
    nodes = 2 * int(searched.sum() + tree.splits.sum()) * _RECORD
    return (
        rows
        + _row_ids(fit, moved)
        + _histograms(fit, int(cells)) * n_places // n_features
        + nodes
        + fit.arena["sums"].nbytes
    )


@of_tree("whole_trees.grow_leaves")
def _grow_leaves(fit: FitParts, tree: TreeCounts) -> int:
    # nodes of few rows have no histograms
    large = sum(int((sizes > FEW_ROWS).sum()) for sizes in tree.sizes)
    built = sum(int((sizes > FEW_ROWS).sum()) for sizes in tree.built_sizes)
    cells = built + 2 * (large - built)
    codes = fit.features.layout.n_features * fit.rows.codes.code_bytes
    rows = int(tree.built_rows.sum()) * (codes + 2 * QUANTA.itemsize)
    rows += int(tree.split_rows.sum()) * (fit.rows.codes.code_bytes + _ROW_ID)
    ids = _row_ids(fit, tree.built_rows) + _row_ids(fit, tree.split_rows)
    nodes = 2 * int(tree.nodes.sum() + tree.splits.sum()) * _RECORD
    return rows + ids + nodes + _histograms(fit, cells) + fit.arena["sums"].nbytes


@of_tree("plan.finish_tree")
def _finish_tree(fit: FitParts, tree: TreeCounts) -> int:
    walked = int(tree.nodes.sum()) * (NODE.itemsize + _FLOAT + WALK.itemsize + STEP.itemsize)
    return walked + int(tree.nodes[-1]) * PAYLOAD_BYTES  # writes the values of the last leaves


@of_tree("plan.keep")
def _keep(fit: FitParts, tree: TreeCounts) -> int:
    return 2 * (4 * len(KEPT) * int(tree.nodes.sum()) + fit.arena["levels"].nbytes)


def _renew_weights(fit: FitParts, tree: TreeCounts) -> int:
    """Bytes of the rows' weights in renewed leaves; 0 without weights."""
    return _rows(fit, tree) * SUM.itemsize if "renew_weights" in fit.rows.row_arrays else 0


@of_tree("renew_leaves.count_first")
def _count_first(fit: FitParts, tree: TreeCounts) -> int:
    if fit.features.columns is None:
        found = int(tree.split_rows.sum()) * fit.rows.codes.code_bytes
    else:
        found = _rows(fit, tree) * _ROW_ID  # every row has its node
    kept = _rows(fit, tree) * 2 * _ROW_ID  # leaf and key
    return _rows(fit, tree) * 2 * _FLOAT + kept + _renew_weights(fit, tree) + found


@of_tree("renew_leaves.count_next")
def _count_next(fit: FitParts, tree: TreeCounts) -> int:
    return 3 * (_rows(fit, tree) * 2 * _ROW_ID + _renew_weights(fit, tree))


@of_tree("renew_leaves.pick_digit")
def _pick_digit(fit: FitParts, tree: TreeCounts) -> int:
    return 4 * 2 * int(tree.nodes.sum()) * COUNTS * 4  # read, then reset to 0


@of_tree("renew_leaves.renew")
def _renew(fit: FitParts, tree: TreeCounts) -> int:
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return leaves * (2 * SUM.itemsize + 2 * _ROW_ID + 4 * _FLOAT)


@of_tree("order_codes.replace_codes")
def _replace_codes(fit: FitParts, tree: TreeCounts) -> int:
    # read, and written by row and by feature; of one order, only after a choice of combinations
    if fit.rows.n_orders == 1:
        return 0
    batches = len(fit.nodes.batches)
    walks = walks_leaves(fit.ways.facts, fit.nodes.policy)
    times = 2 * batches - 1 if walks else 1  # the next order's after every batch
    return (
        3 * fit.rows.n_rows * fit.features.n_ordered * fit.rows.codes.code_bytes * times // batches
    )


def to_leaves(fit: FitParts, tree: TreeCounts) -> int:
    """Return the bytes that tell the leaf of every row: codes, or row lists."""
    codes = fit.rows.codes.code_bytes
    if (
        fit.ways.variant("update_margins").name == "walk"
    ):  # reads a code at every node of a row's path
        return round(_rows(fit, tree) * mean_steps(tree)) * codes
    all_listed = fit.nodes.policy.moves_last_rows
    in_order = fit.nodes.n_levels == 1 and not all_listed  # the root's rows have no list
    listed = 0 if in_order else int(tree.split_rows[0]) * _ROW_ID
    return listed + (0 if all_listed else int(tree.split_rows[-2]) * codes)


@of_tree("update_margins.add_leaves")
def _add_leaves(fit: FitParts, tree: TreeCounts) -> int:
    margins = outputs_of(fit, tree) * fit.rows.n_rows * 2 * _FLOAT
    values = _rows(fit, tree) * _FLOAT if fit.nodes.params.linear_tree else 0  # one of each row
    return margins + values + to_leaves(fit, tree)
