"""The least bytes of the kernels that grow trees from rows; see `traffic`.

What depends on the data is computed from the finished trees, which tell the rows of each node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pyopencl_gbdt.dtypes import (
    CANDIDATE,
    KEPT,
    NODE,
    PAYLOAD_BYTES,
    STEP,
    SUM,
    SUMS_BYTES,
    WALK,
)
from pyopencl_gbdt.fit.ways import gathered_columns
from pyopencl_gbdt.gradients.sample import CLASSES
from pyopencl_gbdt.growth.category_split import facts_of
from pyopencl_gbdt.growth.histogram import reads_joint
from pyopencl_gbdt.growth.joint_columns import joins_columns, joint_order
from pyopencl_gbdt.growth.whole_best_first import FEW_ROWS
from pyopencl_gbdt.profiling.tree_facts import FLOAT, QUANTA_PAIR, ROW_ID, SUM_PAIR, TreeFacts

#: A node and what it carries.
_RECORD = NODE.itemsize + PAYLOAD_BYTES


def _gradients(trees: TreeFacts) -> int:
    return trees.inputs + (trees.listed * FLOAT if trees.params.samples_rows else 0)


def _draw(trees: TreeFacts) -> int:
    written = trees.listed * FLOAT
    if trees.fit.rows.lists_drawn:
        written += int(trees.counts.built_rows[0]) // trees.fit.nodes.n_alike * ROW_ID
    if not trees.params.samples_by_gradient:
        return written
    return trees.inputs + written + trees.roots * CLASSES * 4


def _gather_drawn(trees: TreeFacts) -> int:
    if trees.fit.features.columns is not None:
        return 0
    moved = 2 * (trees.fit.rows.codes.row_bytes + QUANTA_PAIR)  # read and written
    return trees.rows * FLOAT + int(trees.counts.built_rows[0]) * (moved + ROW_ID)


def _share_seen(trees: TreeFacts) -> float:
    """Return the share of listed rows whose codes are read; on a CPU, only sampled rows are."""
    p, fit = trees.params, trees.fit
    if not p.leaves_out_rows or fit.rows.lists_drawn or fit.ways.variant("histogram").name != "cpu":
        return 1.0
    return p.top_rate + p.other_rate if p.sampling_method == "goss" else p.drawn_share


def _histogram(trees: TreeFacts) -> int:
    joint = reads_joint(trees.fit.ways)
    row_bytes = joint_order(trees.fit).row_bytes if joint else trees.fit.rows.codes.row_bytes
    codes, built_rows = row_bytes * _share_seen(trees), trees.counts.built_rows
    quanta = int(built_rows.sum()) * QUANTA_PAIR + trees.row_ids(built_rows)
    rows = round(trees.of_steps(built_rows) * codes) + quanta
    if trees.fit.ways.variant("histogram").atomic_sums:
        return rows + trees.histograms(trees.of_steps(trees.counts.built))
    parts = np.array([int(own.sum()) for own in trees.partials])
    return rows + trees.histograms(trees.of_steps(parts))


def _reduce(trees: TreeFacts) -> int:
    # a histogram built by one work-group is complete already
    straddling = [parts[parts > 1] for parts in trees.partials]
    return trees.histograms(sum(int((parts + 1).sum()) for parts in straddling))


def _candidates(trees: TreeFacts, of_few: int, of_others: int) -> int:
    """Bytes of candidates, so many of a node where they are few, and where they are not."""
    few, searched = trees.few_candidates, trees.counts.nodes[:-1]
    n = int(searched[few].sum()) * of_few + int(searched[~few].sum()) * of_others
    return n * CANDIDATE.itemsize


def _feature_weights(trees: TreeFacts) -> int:
    return trees.n_features * FLOAT if trees.fit.features.limits.feature_weights is not None else 0


def _gather_columns(trees: TreeFacts) -> int:
    n_drawn = gathered_columns(trees.fit.ways.facts)  # of dense codes, which are read by feature
    return 2 * trees.rows * n_drawn * trees.code_bytes if n_drawn else 0


def _draw_borders(trees: TreeFacts) -> int:
    # a node is read, or the first one of a tree's level, and the bits of its features are written
    steps = trees.counts.nodes.size - 1
    shared = trees.roots * steps if trees.fit.nodes.policy.fills_levels else 0
    return (shared or trees.searched) * (NODE.itemsize + trees.n_features * 4)


def _pick(trees: TreeFacts) -> int:
    steps = trees.counts.nodes.size - 1  # each step reads the gains of all leaves so far
    gains = trees.roots * steps * (steps + 1) // 2 * FLOAT
    return 2 * trees.searched * _RECORD + _candidates(trees, trees.n_features + 1, 2) + gains


def _pick_leaves(trees: TreeFacts) -> int:
    steps = int(np.count_nonzero(trees.counts.nodes[:-1]))
    open_leaves = 2 * ROW_ID * trees.fit.nodes.policy.most_leaves * steps  # read and written
    known = 3 * FLOAT * trees.searched  # gain, rank, and the order in which nodes are made
    nodes = 2 * trees.searched * _RECORD
    return nodes + _candidates(trees, trees.n_features + 1, 2) + open_leaves + known


def _decide_picked(trees: TreeFacts) -> int:
    # nodes read and written, and their children
    return trees.splits * (4 * _RECORD + CANDIDATE.itemsize)


def _place(trees: TreeFacts) -> int:
    splits = int(trees.counts.splits[trees.moving].sum())
    picks = trees.fit.nodes.policy.picks_leaves
    looked_at = splits if picks else int(trees.counts.nodes[:-2].sum())
    return (looked_at + 2 * 2 * splits) * NODE.itemsize


def _move(trees: TreeFacts) -> int:
    moved = trees.counts.split_rows[trees.moving]
    rows = int(moved.sum()) * (trees.code_bytes + ROW_ID) + trees.row_ids(moved)
    # a work-group that moves a whole small child also clears its histogram
    chunk = trees.fit.ways.variant("histogram").params["chunk"]
    split_sizes = trees.counts.split_sizes[trees.moving]
    cleared = sum(int((sizes // 2 > chunk).sum()) for sizes in split_sizes)
    return rows // trees.fit.nodes.n_alike + cleared * trees.fit.rows.cells_to_clear * SUM.itemsize


def _grow(trees: TreeFacts) -> int:
    counts = trees.counts
    subtracted = counts.nodes[:-1] - counts.built[:-1]
    # of the last level, histograms are read and none is kept
    cells = counts.built[:-2].sum() + 2 * subtracted[:-1].sum() + subtracted[-1]
    facts = trees.fit.ways.facts
    n_places = facts.n_drawn or trees.n_features
    n_codes = _joint_places(trees) if joins_columns(facts) else n_places
    rows = int(counts.built_rows.sum()) * (n_codes * trees.code_bytes + QUANTA_PAIR)
    moved = counts.split_rows[:-2]
    rows += int(moved.sum()) * (trees.code_bytes + ROW_ID)
    ids = trees.row_ids(counts.built_rows) + trees.row_ids(moved)
    histograms = trees.histograms(int(cells)) * n_places // trees.n_features
    nodes = 2 * (trees.searched + trees.splits) * _RECORD
    return rows + ids + histograms + nodes + trees.fit.arena["sums"].nbytes


def _joint_places(trees: TreeFacts) -> int:
    """Return the places that a tree reads; those of drawn columns in proportion."""
    facts = trees.fit.ways.facts
    return -(-facts.pages.n_joined * (facts.n_drawn or trees.n_features) // trees.n_features)


def _join_drawn(trees: TreeFacts) -> int:
    """Return the bytes of the columns that trees draw, and of their joint codes."""
    drawn = trees.fit.ways.facts.n_drawn
    return trees.roots * trees.n_rows * (drawn + (_joint_places(trees) if drawn else 0))


def _grow_leaves(trees: TreeFacts) -> int:
    # nodes of few rows have no histograms
    counts = trees.counts
    large = sum(int((sizes > FEW_ROWS).sum()) for sizes in counts.sizes)
    built = sum(int((sizes > FEW_ROWS).sum()) for sizes in counts.built_sizes)
    rows = int(counts.built_rows.sum()) * (trees.n_features * trees.code_bytes + QUANTA_PAIR)
    rows += int(counts.split_rows.sum()) * (trees.code_bytes + ROW_ID)
    ids = trees.row_ids(counts.built_rows) + trees.row_ids(counts.split_rows)
    nodes = 2 * (trees.nodes + trees.splits) * _RECORD
    histograms = trees.histograms(built + 2 * (large - built))
    return rows + ids + nodes + histograms + trees.fit.arena["sums"].nbytes


def _ordered(trees: TreeFacts) -> int:
    """Return the nodes whose levels are put in order: those of roots where trees share it."""
    return trees.roots if trees.fit.nodes.orders_levels_once else trees.searched


def _order_levels(trees: TreeFacts) -> int:
    layout = trees.fit.features.layout
    codes = np.diff(layout.feature_offset)[layout.categorical]
    facts = facts_of(trees.fit.nodes)
    return _ordered(trees) * (int(codes.sum()) * SUM_PAIR + codes.size * facts * SUM.itemsize)


def _find_sets(trees: TreeFacts) -> int:
    categorical = trees.fit.features.layout.categorical
    assert categorical is not None
    each = (
        facts_of(trees.fit.nodes) * SUM.itemsize + NODE.itemsize + SUMS_BYTES + CANDIDATE.itemsize
    )
    return _ordered(trees) * int(categorical.sum()) * each


def _finish_sets(trees: TreeFacts) -> int:
    kept = 2 * (trees.nodes // 2 + 1) * trees.fit.nodes.set_words * 4  # read and written
    return trees.nodes * NODE.itemsize + kept


def _choose_leads(trees: TreeFacts) -> int:
    """Return the bytes of one choice a root and column of sets; trees of one output have none."""
    leads = trees.fit.arena.arrays.get("leads")
    each = CANDIDATE.itemsize + SUMS_BYTES + FLOAT
    return 0 if leads is None else trees.roots * leads.shape[1] * each


def _levels(trees: TreeFacts) -> int:
    """Return the searched levels of all trees that were grown together."""
    nodes = trees.counts.nodes[:-1]
    return int((-(-nodes // (1 << np.arange(nodes.size)))).sum())


def _codes(trees: TreeFacts) -> tuple[int, int, int]:
    """Return the codes of numbers, those of categories, and the cells of borders between levels."""
    layout = trees.fit.features.layout
    if layout.categorical is None:
        return layout.n_codes, 0, 0
    each = np.diff(layout.feature_offset).astype(np.int64)
    cells = int(trees.fit.arena["border_flags"].shape[1])
    return int(each[~layout.categorical].sum()), int(each[layout.categorical].sum()), cells


def _find_roughly(trees: TreeFacts) -> int:
    numbers, _, cells = _codes(trees)
    written = _levels(trees) * (numbers + cells + trees.n_features) * FLOAT
    return trees.searched * (numbers + cells) * SUM_PAIR + written


def _find_symmetric(trees: TreeFacts) -> int:
    numbers, _, cells = _codes(trees)
    scores = (numbers + cells + trees.n_features) * FLOAT
    each = scores + trees.n_features * CANDIDATE.itemsize
    return _levels(trees) * each + trees.searched * SUM_PAIR  # of one border


def _share(trees: TreeFacts, places: int) -> int:
    """Bytes of the choice of a split for so many places, and of writing it to their nodes."""
    candidates = places * trees.n_features + trees.searched
    nodes = trees.searched * (NODE.itemsize + SUMS_BYTES + SUM_PAIR)
    return candidates * CANDIDATE.itemsize + nodes


def _find_of_outputs(trees: TreeFacts) -> int:
    places = trees.searched // trees.fit.nodes.n_outputs
    candidates = places * trees.n_features * CANDIDATE.itemsize
    numbers, _, cells = _codes(trees)
    return trees.searched * ((numbers + cells) * SUM_PAIR + SUMS_BYTES) + candidates


def _add_up_sets(trees: TreeFacts) -> int:
    _, levels, cells = _codes(trees)
    built = int(trees.counts.built[:-1].sum())
    others = trees.searched - built  # parent minus sibling, in place
    return (built * (levels + cells) + 2 * others * cells) * SUM_PAIR


def _force(trees: TreeFacts) -> int:
    # half a feature's sums of each forced split, for each tree
    splits, layout = trees.fit.features.limits.forced, trees.fit.features.layout
    codes = sum(int(layout.feature_bins[one.feature]) for one in splits)
    return trees.roots * (codes * SUM_PAIR // 2 + len(splits) * CANDIDATE.itemsize)


def _quantize(trees: TreeFacts) -> int:
    elsewhere = trees.computes_again or trees.quantizes_ahead
    written = 0 if elsewhere else _gradients(trees) + trees.rows * QUANTA_PAIR
    return written + trees.roots * trees.fit.rows.cells_to_clear * SUM.itemsize


OF_TREE: Mapping[str, Callable[[TreeFacts], int]] = {
    "gradients": _gradients,
    "gradients.quantize_gradients": _quantize,
    "gradients.draw": _draw,
    "gradients.gather_drawn": _gather_drawn,
    "gradients.count_classes": lambda trees: trees.inputs + 2 * trees.roots * CLASSES * 4,
    "gradients.clear_classes": lambda trees: trees.roots * CLASSES * 4,
    "gradients.sketch": lambda trees: (  # margins and labels; sketches, and a Hessian
        trees.n_rows * (2 * trees.fit.nodes.n_outputs + trees.fit.nodes.n_sketches + 1) * FLOAT
    ),
    "plan.begin_tree": lambda trees: trees.fit.arena["sums"].nbytes,
    "histogram": _histogram,
    "tiled_histogram": _histogram,
    "histogram.reduce": _reduce,
    "tiled_histogram.reduce": _reduce,
    "split.find": lambda trees: (
        trees.histograms(trees.of_steps((2 * trees.counts.nodes - trees.counts.built)[:-1]))
        + trees.of_steps(trees.counts.nodes[:-1]) * trees.n_features * CANDIDATE.itemsize
    ),
    "plan.best": lambda trees: _candidates(trees, 0, trees.n_features + 1),
    "plan.best_of_places": lambda trees: (
        (trees.of_steps(trees.counts.nodes[:-1]) * trees.n_features + trees.searched)
        * CANDIDATE.itemsize
    ),
    "plan.decide": lambda trees: (  # read, written, and children
        2 * (trees.searched + trees.splits) * _RECORD + _candidates(trees, trees.n_features, 1)
    ),
    "plan.choose_columns": lambda trees: (
        trees.searched * (NODE.itemsize + -(-trees.n_features // 32) * 4 + _feature_weights(trees))
    ),
    "plan.draw_columns": lambda trees: (
        trees.roots * (4 * trees.fit.ways.facts.columns_of_tree + _feature_weights(trees))
    ),
    "plan.list_levels": lambda trees: (  # the bits of all levels are read
        4
        * trees.roots
        * (
            gathered_columns(trees.fit.ways.facts)
            + trees.fit.nodes.n_levels * -(-trees.n_features // 32)
        )
    ),
    "plan.list_places": lambda trees: (  # order and sizes of features; a member's tables, and marks
        trees.roots * (9 * trees.n_features + 12 * trees.fit.ways.facts.n_drawn)
    ),
    "plan.join_drawn": _join_drawn,
    "plan.open_levels": lambda trees: (  # the bits of all levels are read and written
        2 * trees.roots * trees.fit.nodes.n_levels * -(-trees.n_features // 32) * 4
    ),
    "gather_columns": _gather_columns,
    "plan.draw_borders": _draw_borders,
    "plan.scale_noise": lambda trees: (
        # half a pair of sums for each work-group that adds up squares; the root's sums, a number
        trees.fit.arena["sums"].nbytes // 2 + trees.roots * (SUM_PAIR + FLOAT)
    ),
    "plan.force": _force,
    "plan.tell_gains": lambda trees: (
        trees.roots * len(trees.fit.features.limits.forced) * (ROW_ID + FLOAT)
    ),
    "plan.pick": _pick,
    "plan.decide_picked": _decide_picked,
    "plan.pick_leaves": _pick_leaves,
    "plan.decide_leaves": _decide_picked,
    "plan.settle": lambda trees: trees.nodes * (NODE.itemsize + ROW_ID),
    "plan.place": _place,
    "partition.move": _move,
    "whole_trees.grow": _grow,
    "whole_trees.grow_leaves": _grow_leaves,
    "plan.finish_tree": lambda trees: (  # writes the values of the last leaves
        trees.nodes * (NODE.itemsize + FLOAT + WALK.itemsize + STEP.itemsize)
        + int(trees.counts.nodes[-1]) * PAYLOAD_BYTES
    ),
    "plan.keep": lambda trees: 2 * (4 * len(KEPT) * trees.nodes + trees.fit.arena["levels"].nbytes),
    "category_split.order_levels": _order_levels,
    "category_split.find_sets": _find_sets,
    "category_split.sum_sets": _find_sets,
    "category_sets.write_sets": lambda trees: trees.splits * (NODE.itemsize + SUMS_BYTES),
    "category_sets.finish_sets": _finish_sets,
    "symmetric.add_up": lambda trees: 2 * trees.searched * _codes(trees)[0] * SUM_PAIR,
    "symmetric.find_roughly": _find_roughly,
    "symmetric.find": _find_symmetric,
    "symmetric.share": lambda trees: _share(trees, _levels(trees)),
    "symmetric_sets.open_borders": lambda trees: (
        trees.roots * (_codes(trees)[1] * SUM_PAIR + _codes(trees)[2] * FLOAT)
    ),
    "symmetric_sets.add_up_sets": _add_up_sets,
    "symmetric_sets.write_level_sets": lambda trees: trees.splits * NODE.itemsize,
    "symmetric_sets.choose_leads": _choose_leads,
    "vector_split.add_up": lambda trees: 2 * trees.searched * _codes(trees)[0] * SUM_PAIR,
    "vector_split.find": _find_of_outputs,
    "vector_split.share": lambda trees: _share(trees, trees.searched // trees.fit.nodes.n_outputs),
}
