"""The least bytes of each kernel, counted by hand for a tree that fits on a page."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.dtypes import CANDIDATE, KEPT, LEVEL, NO_NODE, NODE, PAYLOAD_BYTES, STEP, WALK
from pyopencl_gbdt.fit.nodes import Candidates, TreeSizes
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.policy import BestFirst, LevelWise
from pyopencl_gbdt.parameters.constraints import ForcedSplit
from pyopencl_gbdt.parameters.facts import FitFacts, PageFacts
from pyopencl_gbdt.profiling import column_traffic, leaf_traffic, traffic, tree_facts, tree_traffic
from pyopencl_gbdt.profiling.traffic import OF_SET_UP, OF_TREE, WHOLE_ARRAYS
from pyopencl_gbdt.profiling.tree_facts import TreeFacts, count_tree, partial_histograms
from tests.device.fakes import BASELINE

#: 10 rows; max_depth=3. Capitals split.
#:
#:   depth 0              A 10
#:   depth 1         b 4       C 6
#:   depth 2               D 5     e 1
#:   depth 3              f ?  g ?          the last level's rows are not counted
DEPTH, ROWS = 3, 10
#: Codes of all features, features, bytes of a row of codes.
CODES, FEATURES, ROW_BYTES = 7, 2, 16
HISTOGRAM = CODES * 16
RECORD = NODE.itemsize + PAYLOAD_BYTES
LEVEL_WISE = LevelWise(DEPTH)


def tree():
    """(count, left child or none, whether its histogram is parent minus sibling) per node."""
    facts = [
        (10, 1, False),
        (4, None, False), (6, 3, True),
        (5, 5, True), (1, None, False),
        (0, None, False), (0, None, False),
    ]  # fmt: skip
    nodes = np.zeros(15, NODE)  # more than there are
    nodes["count"][7:] = 999
    for node, (count, left, subtracted) in zip(nodes, facts, strict=False):
        node["count"] = count
        node["left"] = NO_NODE if left is None else left
        node["sibling_slot"] = 0 if subtracted else -1
    levels = np.zeros(DEPTH + 1, LEVEL)
    levels["first"], levels["count"] = [0, 1, 3, 5], [1, 2, 2, 2]
    return nodes, levels


#: What a policy tells besides sizes.
FLAGS = (
    "picks", "picks_leaves", "limits_leaves", "splits_alone", "fills_levels", "splits_alike",
    "moves_last_rows",
)  # fmt: skip
#: Kernels that the fit does not launch.
LEFT_OUT = (
    "exact", "node_pieces", "columns", "row_nodes", "interleaved", "approx", "symmetric",
    "vector_split", "column_search", "category_split", "category_sets", "symmetric_sets",
    "ordered_leaves", "leaves_by_next_order", "sketched_leaves", "newton_leaves", "dropout",
    "linear_leaves",
)  # fmt: skip


def fit(*, weighted=False, atomics=True, leaf="walk", policy=LEVEL_WISE, **params):
    """What the formulas ask of a fit."""
    given = {
        "samples_rows": False, "leaves_out_rows": False, "samples_by_gradient": False,
        "sampling_method": "uniform", "num_parallel_tree": 1, "reg_alpha": 0.0, "search": "exact",
        "work_group_size": 0, "leaf_estimation_iterations": 3, "is_ordered": False,
        "linear_tree": False, "column_counts": lambda n: (n, n, n), "sketch": 0,
        "has_vectors": lambda n_outputs: False, **params,
    }  # fmt: skip
    arena = Arena(PaperDevice(BASELINE))
    arena.array("sums", (5, 2), np.int64)
    arena.array("levels", DEPTH + 1, LEVEL)
    chosen = {
        "histogram": SimpleNamespace(name="any", atomic_sums=atomics, params={"chunk": 3}),
        "update_margins": SimpleNamespace(name=leaf),
        "plan": SimpleNamespace(params={"wg_size": 1}),
        "radix_sort": SimpleNamespace(params={"radix_bits": 8}),
        "quantize": SimpleNamespace(params={"wg_size": 256}),
        "exact": SimpleNamespace(params={"chunk": 8}),
        "columns": SimpleNamespace(params={"chunk": 6}),
        "interleaved": SimpleNamespace(params={"chunk": 8, "depth": 0}),
    }
    layout = SimpleNamespace(
        n_codes=CODES, n_features=FEATURES, categorical=None,
        feature_bins=np.array([3, 4], np.uint32),
    )  # fmt: skip
    flags = {f: getattr(policy, f) for f in FLAGS}
    sizes = TreeSizes(8, DEPTH, DEPTH, (1, 2, 4, 8), 8, 4, **flags)
    params = SimpleNamespace(**{"smooths": False, **given})
    facts = FitFacts(params, n_rows=ROWS, pages=PageFacts(n_orders=2))
    nodes = SimpleNamespace(
        params=params, policy=sizes, n_levels=DEPTH, n_trees=1,
        n_outputs=1, n_parallel=1, n_alike=1, n_sketches=0, batches=(0,), renews=False,
        orders_levels_once=policy.fills_levels,
    )  # fmt: skip
    rows = SimpleNamespace(
        n_rows=ROWS, weighted=weighted, lists_drawn=False, n_orders=2, pages=(),
        row_arrays=("renew_weights",), cells_to_clear=2 * CODES if atomics else 0,
        codes=SimpleNamespace(row_bytes=ROW_BYTES, code_bytes=1),
    )  # fmt: skip
    forced = ForcedSplit(feature=1, threshold=0.0, parent=-1, side=0)
    limits = SimpleNamespace(feature_weights=None, monotone=None, forced=[forced])
    features = SimpleNamespace(
        layout=layout, columns=None, n_ordered=1, limits=limits, most_at_steps=()
    )
    ways = SimpleNamespace(chosen=chosen, variant=chosen.__getitem__, facts=facts)
    return FitParts(arena, rows, nodes, features, ways)


def bytes_of(kernel, parts, counts):
    """The least bytes of a kernel for a tree."""
    return OF_TREE[kernel](TreeFacts(parts, counts))


@pytest.fixture(autouse=True)
def _sizes(monkeypatch):
    """Two work-groups share a histogram; the root's candidates are few."""
    monkeypatch.setattr(tree_facts, "histogram_groups", lambda *of: 2)
    of = lambda parts, step: Candidates(step > 0, FEATURES)  # noqa: E731
    monkeypatch.setattr(tree_facts, "candidates_of", of)


def test_what_is_counted():
    counts = count_tree(*tree())
    assert counts.nodes.tolist() == [1, 2, 2, 2]
    assert counts.splits.tolist() == [1, 1, 1, 0]
    assert counts.split_rows.tolist() == [10, 6, 5, 0]
    assert counts.built.tolist() == [1, 1, 1, 0]  # A, b, e
    assert counts.built_rows.tolist() == [10, 4, 1, 0]
    assert [sizes.tolist() for sizes in counts.sizes] == [[10], [4, 6], [5, 1], []]
    assert [sizes.tolist() for sizes in counts.built_sizes] == [[10], [4], [1], []]
    assert [sizes.tolist() for sizes in counts.split_sizes] == [[10], [6], [5], []]


@pytest.mark.parametrize(
    ("sizes", "chunk", "groups", "expected"),
    [
        ([], 4, 3, []),
        ([9], 3, 1, [1]),
        ([9], 3, 3, [3]),  # tasks |0|1|2|
        ([9], 3, 8, [3]),  # some groups have no task
        ([6, 6], 3, 2, [1, 1]),  # tasks |0 0|1 1|
        ([3, 9], 3, 2, [1, 2]),  # tasks |0 1|1 1|
        ([3, 3, 3, 3], 3, 3, [1, 1, 1, 1]),  # one task each: nothing straddles
        ([1, 14, 2], 3, 2, [1, 2, 1]),  # tasks |0 1 1|1 1 1 2|
    ],
)
def test_work_groups_that_share_a_node(sizes, chunk, groups, expected):
    assert partial_histograms(np.array(sizes, np.int64), chunk, groups).tolist() == expected


def test_work_groups_that_share_a_node_as_the_kernels_cut_them():
    rng = np.random.default_rng(3)
    for _ in range(50):
        sizes = rng.integers(1, 40, rng.integers(1, 12))
        chunk, groups = int(rng.integers(1, 9)), int(rng.integers(1, 20))
        node_of_task = np.repeat(np.arange(sizes.size), -(-sizes // chunk))
        n = node_of_task.size
        expected = np.zeros(sizes.size, np.int64)
        for group in range(groups):  # `first_task` of tasks.h
            mine = node_of_task[n * group // groups : n * (group + 1) // groups]
            expected[np.unique(mine)] += 1
        assert partial_histograms(sizes, chunk, groups).tolist() == expected.tolist()


ATOMICS = {
    # margin, label
    "gradients": 10 * 8,
    # the same, quanta, and the root's histogram is cleared
    "gradients.quantize_gradients": 10 * (8 + 8) + HISTOGRAM,
    # a factor a row, by chance alone
    "gradients.draw": 10 * 4,
    # a factor a row; codes and quanta in and out, and a list
    "gradients.gather_drawn": 10 * 4 + 10 * (2 * (16 + 8) + 4),
    # margin, label; counts in and out, which are 0 before
    "gradients.count_classes": 10 * 8 + 2 * 2048 * 4,
    "gradients.clear_classes": 2048 * 4,
    "plan.begin_tree": 80,
    # rows of A, b, e with codes and quanta; row ids but A's; three histograms
    "histogram": 15 * (16 + 8) + 5 * 4 + 3 * HISTOGRAM,
    # A, b, C, D, e are read; C and D written back; a candidate a feature
    "split.find": 7 * HISTOGRAM + 5 * 2 * CANDIDATE.itemsize,
    # b, C, D, e; those of A are few
    "plan.best": 4 * (2 + 1) * CANDIDATE.itemsize,
    "plan.best_of_places": 5 * (2 + 1) * CANDIDATE.itemsize,
    # five nodes in and out, six children; two candidates of A, one of each of the others
    "plan.decide": (10 + 6) * RECORD + 6 * CANDIDATE.itemsize,
    # A, b, C, D, e: a word of bits each
    "plan.choose_columns": 5 * (NODE.itemsize + 4),
    # a word of bits of each level, read and written
    "plan.open_levels": 2 * DEPTH * 4,
    # the same, read; no column is drawn
    "plan.list_levels": DEPTH * 4,
    "plan.draw_columns": 0,
    # marks, order and sizes of two features
    "plan.list_places": 2 * (1 + 4 + 4),
    "plan.join_drawn": 0,
    "gather_columns": 0,
    # the same, and bits for two features
    "plan.draw_borders": 5 * (NODE.itemsize + 2 * 4),
    # five sums of squares, the root's sums, and the noise
    "plan.scale_noise": 5 * 8 + 16 + 4,
    # nodes in and out; both candidates of A and the best ones of the others; what is kept of
    # each; gains of 1, 2 and 3 leaves
    # half of the 4 bins of the forced split's feature; its gain, and the node
    "plan.force": 2 * 16 + CANDIDATE.itemsize,
    "plan.tell_gains": 4 + 4,
    "plan.pick": 10 * RECORD + (2 + 4 + 5) * CANDIDATE.itemsize + 6 * 4,
    # A, C and D in and out, their children; a candidate each
    "plan.decide_picked": 3 * (4 * RECORD + CANDIDATE.itemsize),
    # as `pick`; in three steps the open leaves of a tree of 8 in and out; what is known of nodes
    "plan.pick_leaves": 10 * RECORD + 11 * CANDIDATE.itemsize + 3 * 8 * 2 * 4 + 5 * 3 * 4,
    "plan.decide_leaves": 3 * (4 * RECORD + CANDIDATE.itemsize),
    # all nodes, and when each was made
    "plan.settle": 7 * (NODE.itemsize + 4),
    # A, b, C; the two children of A and of C in and out
    "plan.place": (3 + 8) * NODE.itemsize,
    # rows of A and C: a code in, an id out; C's ids in; b may have more than a chunk of rows, so
    # its histogram is cleared
    "partition.move": 16 * (1 + 4) + 6 * 4 + HISTOGRAM,
    # all nodes in, both forms out; f and g get their values
    "plan.finish_tree": 7 * (NODE.itemsize + 4 + WALK.itemsize + STEP.itemsize) + 2 * PAYLOAD_BYTES,
    "plan.keep": 2 * (7 * len(KEPT) * 4 + 4 * LEVEL.itemsize),
    # codes as below; leaf out
    "renew_leaves.find_leaves": 10 * 4 + 21,
    "renew_leaves.select_leaves": 10 * (4 + 8) + 21,
    # label, margin, weight, and codes as below; leaf and key out
    "renew_leaves.count_first": 10 * (8 + 8 + 8) + 21,
    # rows of A, b, e: codes, quanta, and ids but for A; those of A and C move; histograms of A and
    # b written, C's made of A's, D's read; nodes in and out, and children; sums of the root
    "whole_trees.grow": 15 * 10 + 5 * 4 + 16 * 5 + 6 * 4 + 5 * HISTOGRAM + 16 * RECORD + 80,
    # as above, but no histograms of so few rows; rows of D move, too
    "whole_trees.grow_leaves": 15 * 10 + 5 * 4 + 21 * 5 + 11 * 4 + 20 * RECORD + 80,
    "renew_leaves.count_next": 3 * 10 * (8 + 8),
    # four times: the counts of all nodes in, and cleared
    "renew_leaves.pick_digit": 4 * 2 * 7 * 512 * 4,
    # D, e, f, g: ranks, prefixes, fraction; a value in three places
    "renew_leaves.renew": 4 * (16 + 8 + 4 + 12),
    # codes of an ordered feature in, and out by row and by feature
    "order_codes.replace_codes": 10 * 3,
    # margins in and out; a code for every split on the way: 10 + 6 + 5
    "update_margins.add_leaves": 10 * 8 + 21,
}


@pytest.mark.parametrize("kernel", ATOMICS)
def test_hand_count(kernel):
    assert bytes_of(kernel, fit(), count_tree(*tree())) == ATOMICS[kernel]


def test_a_kernel_has_one_formula():
    tables = (tree_traffic.OF_TREE, leaf_traffic.OF_TREE, column_traffic.OF_TREE)
    tables = [*tables, OF_SET_UP, dict.fromkeys(WHOLE_ARRAYS)]
    assert len({kernel for table in tables for kernel in table}) == sum(map(len, tables))


def test_a_formula_is_added_up_over_trees(monkeypatch):
    monkeypatch.setitem(OF_TREE, "made_up", lambda trees: 17)
    tally = traffic.Tally(fit(), LEFT_OUT)
    tally.add_tree(*tree())
    tally.add_tree(*tree())
    assert tally.n_bytes("made_up", weighted=False) == 34


def three_trees():
    """Counts as if three trees had been grown at a time, of which one split."""
    counts = count_tree(*tree())
    return replace(counts, nodes=np.array([3, 2, 2, 2]), built_rows=np.array([30, 4, 1, 0]))


def test_several_outputs():
    """Rows are read once for every output, but codes and nodes are counted in the trees."""
    for kernel, once in (
        ("gradients", 0), ("gradients.quantize_gradients", 0), ("gradients.draw", 0),
        ("renew_leaves.count_first", 21), ("update_margins.add_leaves", 21),
    ):  # fmt: skip
        found = bytes_of(kernel, fit(), three_trees())
        assert found - once == 3 * (ATOMICS[kernel] - once)


def test_trees_of_one_output_share_its_margins():
    parts = fit()
    parts.nodes.n_parallel = 3
    assert (
        bytes_of("update_margins.add_leaves", parts, three_trees())
        == ATOMICS["update_margins.add_leaves"]
    )


def test_leaf_by_leaf_all_rows_move():
    """D's rows too; D is the one node that is placed with its children besides A and C."""
    counts, parts = count_tree(*tree()), fit(policy=BestFirst())
    moved = bytes_of("partition.move", parts, counts)
    assert moved == ATOMICS["partition.move"] + 5 * (1 + 4) + 5 * 4
    assert bytes_of("plan.place", parts, counts) == 3 * (1 + 4) * NODE.itemsize
    by_rows = fit(policy=BestFirst(), leaf="by_rows")  # every leaf has its rows
    assert bytes_of("update_margins.add_leaves", by_rows, counts) == 10 * 8 + 10 * 4
    assert bytes_of("renew_leaves.find_leaves", by_rows, counts) == 10 * 4 + 10 * 4
    # label, margin, weight, and leaf in; key out
    assert bytes_of("renew_leaves.count_first", by_rows, counts) == 10 * (8 + 8 + 8)


def test_arrays_of_other_steps_are_no_weights():
    parts = fit()
    parts.rows.row_arrays = ("factors",)
    counts = count_tree(*tree())
    assert bytes_of("renew_leaves.count_first", parts, counts) == 10 * (8 + 8) + 21
    assert bytes_of("renew_leaves.count_next", parts, counts) == 3 * 10 * 8


def test_weights_are_read_twice():
    counts, parts = count_tree(*tree()), fit(weighted=True)
    for kernel in ("gradients", "gradients.quantize_gradients"):
        assert bytes_of(kernel, parts, counts) == ATOMICS[kernel] + 10 * 4


def test_partial_histograms_are_written_and_added_up():
    """A has 4 tasks of 3 rows, b 2, in two work-groups each; e is in its place already."""
    counts, parts = count_tree(*tree()), fit(atomics=False)
    assert bytes_of("histogram", parts, counts) == 15 * 24 + 5 * 4 + 5 * HISTOGRAM
    assert bytes_of("histogram.reduce", parts, counts) == 2 * (2 + 1) * HISTOGRAM
    cleared = bytes_of("partition.move", parts, counts)
    assert cleared == ATOMICS["partition.move"] - HISTOGRAM


def test_leaves_by_row_lists():
    """All ids, as the root split; and a code of D's rows, which lie where D left them."""
    counts, parts = count_tree(*tree()), fit(leaf="by_rows")
    assert bytes_of("update_margins.add_leaves", parts, counts) == 10 * 8 + 10 * 4 + 5


def test_a_lonely_root():
    nodes, levels = tree()
    nodes["left"][0] = NO_NODE
    levels["first"], levels["count"] = [0, 1, 1, 1], [1, 0, 0, 0]
    counts = count_tree(nodes, levels)
    assert bytes_of("partition.move", fit(), counts) == 0
    assert bytes_of("histogram", fit(), counts) == 10 * 24 + HISTOGRAM
    for leaf in ("walk", "by_rows"):
        assert bytes_of("update_margins.add_leaves", fit(leaf=leaf), counts) == 10 * 8


def test_a_fit_adds_up_its_trees():
    tally = traffic.Tally(fit(), LEFT_OUT)
    tally.evaluation_rows, tally.sparse_rows = 100, 10
    tally.add_tree(*tree())
    tally.add_tree(*tree())
    assert tally.n_bytes("histogram", weighted=False) == 2 * ATOMICS["histogram"]
    # 100 rows: a margin in and out, and 2.1 values, as many as splits on a training row's way
    assert tally.n_bytes("predict", weighted=False) == 2 * 1640
    # 10 sparse rows: the column of each value too
    assert tally.n_bytes("predict_sparse", weighted=False) == 2 * (164 + 84)
    assert tally.n_bytes("nonsense", weighted=False) is None


@pytest.mark.parametrize(
    ("kernel", "plain", "weighted"),
    [
        # of two features, the last one is a share, which is not sorted
        ("quantize.columns", 10 * 8, 10 * 12),
        ("radix_sort.radix_count", 4 * 10 * 4, 4 * 10 * 4),
        ("radix_sort.radix_scatter", 4 * 10 * 8, 4 * 10 * 16),
        ("radix_sort.radix_histogram", 10 * 4, 10 * 4),
        ("radix_sort.radix_sweep", 4 * 10 * 8, 4 * 10 * 16),
        ("radix_sort.radix_columns", 9 * 10 * 4, 17 * 10 * 4),
        ("quantize.cuts", 3 * 16, 3 * 16),
        ("quantize.encode", 10 * (2 * 4 + 16), 10 * (2 * 4 + 16)),
    ],
)
def test_set_up(kernel, plain, weighted):
    tally = traffic.Tally(fit(), LEFT_OUT)
    assert tally.n_bytes(kernel, weighted=False) == plain
    assert tally.n_bytes(kernel, weighted=True) == weighted


def test_a_lonely_work_item_writes_codes_by_feature_too():
    parts = fit()
    parts.ways.chosen["quantize"] = SimpleNamespace(params={"wg_size": 1})
    assert OF_SET_UP["quantize.encode"](parts, False) == 10 * (2 * 4 + 16 + 2)
