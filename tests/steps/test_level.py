"""grow: splits, ids, places and tasks of a level equal those of a plain loop."""

import numpy as np
import pytest

from pyopencl_gbdt.dtypes import CANDIDATE, KEPT, NO_NODE, NO_SCORE, PAYLOAD
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth import split as split_step
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.policy import Level
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.gain import real_hessian, score
from tests.reference.gradients import Scale
from tests.reference.grow import Grower, Node
from tests.reference.split import Candidate
from tests.steps.builders import (
    get_nodes,
    level_nodes,
    make_layout,
    make_parts,
    make_room_for_nodes,
    set_level,
    set_nodes,
    set_scale,
    spoil,
    spoil_nodes,
)

LAYOUT = make_layout([200, 5, 30], [True, False, True])
SCALE = Scale(22, 23, wide=False, weight_shift=-1)
#: Of trees that are grown at a time.
SCALES = (SCALE, Scale(20, 25, wide=False, weight_shift=-1), Scale(24, 22, wide=True))
DEPTH = 9
WG_SIZES, WG_SIZES_CPU = (1, 16, 64, 256), (1, 64)
RULES = [{}, {"gamma": 3.0, "learning_rate": 0.05}, {"reg_alpha": 0.5, "max_delta_step": 0.2}]


def candidates(rng, nodes, params):
    """Random splits of nodes, some of them with next to no gain, some missing."""
    n = len(nodes)
    chosen = np.zeros(n, CANDIDATE)
    chosen["left_g"] = nodes["sum_g"] // 2 + rng.integers(-(2**24), 2**24, n)
    chosen["left_h"] = nodes["sum_h"] // 2
    own = np.zeros((2, n), np.float32)
    for tree, scale in enumerate(SCALES):
        mine = nodes["tree"] == tree
        rule = grower_of(scale, params).rule
        own[:, mine] = score(nodes["sum_g"][mine], nodes["sum_h"][mine], rule)
    chosen["score_hi"] = own[0] + rng.normal(0, 2**24, n) * rng.choice([0, 1, 1e-6], n)
    chosen["score_hi"][rng.random(n) < 0.2] = NO_SCORE
    chosen["score_lo"] = own[1] + rng.uniform(-1e-6, 1e-6, n)
    chosen["feature"] = rng.integers(0, 3, n)
    chosen["bin_direction"] = rng.integers(0, 60, n)
    return chosen


def spread(rng, chosen):
    """Candidates of three features, of which the chosen one is ahead."""
    every = np.repeat(chosen[:, None], 3, axis=1)
    at = rng.integers(0, 3, len(chosen))
    for i in range(3):
        behind = at != i
        worse = np.where(rng.random(len(chosen)) < 0.5, NO_SCORE, every["score_hi"][:, i] / 2)
        tied = (at < i) & (rng.random(len(chosen)) < 0.3)  # the lower feature is taken
        every["score_hi"][:, i] = np.where(behind & ~tied, worse, every["score_hi"][:, i])
        every["feature"][:, i] = np.where(behind, 99, every["feature"][:, i])
    return every


def parts_with(device, rng, wg, n_rows, **params):
    parts = make_parts(
        device, LAYOUT, np.zeros((n_rows, 3), np.uint8), max_depth=DEPTH + 1, work_group_size=wg,
        **params,
    )  # fmt: skip
    set_scale(parts, *SCALES[: parts.nodes.n_trees])
    for name in ("nodes", *PAYLOAD, "row_task_begin", "hist_task_begin", "chosen", "child_rows"):
        spoil(parts.arena[name], rng)
    return parts


def level(rng, n_nodes, trees=1):
    nodes, _ = level_nodes(rng.integers(2, 400, n_nodes), 64)
    nodes["tree"] = np.sort(rng.integers(0, trees, n_nodes))
    bounded = rng.random((2, n_nodes)) < 0.2
    nodes["lower"] = np.where(bounded[0], -0.2, nodes["lower"])
    nodes["upper"] = np.where(bounded[1], 0.1, nodes["upper"])
    nodes["sum_g"] = rng.integers(-(2**33), 2**33, n_nodes)
    nodes["sum_h"] = rng.integers(2**24, 2**33, n_nodes)
    nodes["slot"] = rng.permutation(n_nodes)
    return nodes


def grower_of(scale, params):
    none = np.zeros((1, 3), np.uint8), np.zeros((1, 2), np.int64)
    return Grower(*none, scale, LAYOUT, params)


def expected_decisions(nodes, chosen, params):
    """Nodes as the twin finishes them, and which split; ``chosen`` is None on the last level."""
    growers = [grower_of(scale, params) for scale in SCALES]
    finished = []
    for index, row in enumerate(nodes):
        grower = growers[row["tree"]]
        node = Node(np.zeros(0, np.uint32), np.array([[row["sum_g"], row["sum_h"]]]))
        node.lower, node.upper = row["lower"], row["upper"]
        grower._finish(node)
        c = None if chosen is None else chosen[index]
        if c is not None and c["score_hi"] > NO_SCORE:
            best = Candidate((c["score_hi"][None], c["score_lo"][None]), 0, 0, 0, 0, 0)
            gain = grower.gain(node, best)
            if gain > np.float32(1e-6) and gain >= np.float32(params.gamma):
                node.gain, node.values, node.left = gain, np.zeros(1, np.float32), 0
        finished.append(node)
    return finished


@pytest.mark.few(2)
@pytest.mark.parametrize("few", [False, True])
def test_decide(device, rng, wg, few, monkeypatch):
    """Splits that ``split`` compared, or few enough to be compared here."""
    monkeypatch.setattr(split_step, "FEW_CANDIDATES", 10**6 if few else 0)
    for n_nodes, trees in ((1, 1), (wg, 1), (wg + 1, 3), (300, 3)):
        for rules in RULES:
            parts = parts_with(device, rng, wg, 130_000, outputs=trees, **rules)
            depth = DEPTH
            nodes = level(rng, n_nodes, trees)
            chosen = candidates(rng, nodes, parts.nodes.params)
            first = set_level(parts, depth, nodes)
            if few:
                every = spread(rng, chosen)
                room = max(parts.arena["candidates"].shape[0], n_nodes)
                parts.arena.arrays["candidates"] = device.zeros((room, every.shape[1]), CANDIDATE)
                parts.arena["candidates"].set(every)
            else:
                parts.arena["chosen"].set(chosen)
            run(Level(parts).choose(depth, Batch(0, trees), split_step.candidates_of(parts, depth)))
            finished = expected_decisions(nodes, chosen, parts.nodes.params)
            splits = np.array([node.left == 0 for node in finished])
            found = get_nodes(parts)
            mine = found[first : first + n_nodes]
            left = np.where(splits, first + n_nodes + 2 * (np.cumsum(splits) - 1), NO_NODE)
            assert_same_bits(mine["left"], left.astype(np.uint32), "left")
            for name in ("weight", "value", "gain"):
                want = np.array([getattr(node, name) for node in finished], np.float32)
                assert_same_bits(mine[name], want, name)
            for name, value in (
                ("feature", chosen["feature"]),
                ("bin", chosen["bin_direction"] // 2),
                ("default_left", chosen["bin_direction"] % 2),
            ):
                assert_same_bits(mine[name], np.where(splits, value, 0).astype(np.uint32), name)
            tasks = np.where(splits, -(-nodes["count"].astype(np.int64) // row_chunk(parts)), 0)
            begin = np.concatenate([[0], np.cumsum(tasks)]).astype(np.uint32)
            assert_same_bits(parts.arena["row_task_begin"].get()[: n_nodes + 1], begin, "row tasks")
            levels = parts.arena["levels"].get()
            assert levels["row_tasks"][depth] == begin[-1]
            below = levels[depth + 1]
            assert (below["first"], below["count"]) == (first + n_nodes, 2 * splits.sum())
            lefts = found[left[splits]]
            rights = found[left[splits] + 1]
            for name in ("sum_g", "sum_h"):
                part = chosen[name.replace("sum", "left")][splits]
                assert_same_bits(lefts[name], part, name)
                assert_same_bits(rights[name], nodes[name][splits] - part, name)
            for children in (lefts, rights):
                for name in ("tree", "lower", "upper"):
                    assert_same_bits(children[name], nodes[name][splits], name)
                assert_same_bits(
                    children["parent"], (first + np.flatnonzero(splits)).astype(np.uint32)
                )
                assert (children["depth"] == depth + 1).all()
                assert not children["count"].any()
            assert not parts.arena["child_rows"].get()[: 2 * splits.sum()].any()


def row_chunk(parts):
    return parts.ways.variant("partition").params["chunk"]


def test_place(device, rng, wg):
    for n_nodes, trees in ((1, 1), (wg + 1, 1), (300, 3)):
        parts = parts_with(device, rng, wg, 130_000, outputs=trees)
        nodes = level(rng, n_nodes, trees)
        splits = rng.random(n_nodes) < (0.7 if n_nodes > 1 else 1)
        nodes["count"] = rng.choice([2, 5000, 70_000, 9000], n_nodes)
        nodes["begin"] = np.cumsum(nodes["count"]) - nodes["count"]
        # roots, and two nodes for every split above
        first = 2 * rng.integers(1, 200) + (n_nodes + trees) % 2
        nodes["left"] = np.where(splits, first + n_nodes + 2 * (np.cumsum(splits) - 1), NO_NODE)
        set_level(parts, DEPTH, nodes, first=first)
        n_left = rng.integers(1, nodes["count"])
        levels = parts.arena["levels"].get()
        levels["count"][DEPTH + 1] = 2 * splits.sum()
        parts.arena["levels"].set(levels)
        # ids here are beyond the fit's nodes
        room = max(first + 3 * n_nodes, parts.arena["nodes"].size)
        before = get_nodes(parts)
        make_room_for_nodes(parts, int(room))
        content = get_nodes(parts)
        content[: before.size] = before
        content["count"][nodes["left"][splits]] = n_left[splits]
        content["count"][nodes["left"][splits] + 1] = (nodes["count"] - n_left)[splits]
        set_nodes(parts, content)
        room = max(2 * n_nodes + 1, parts.arena["hist_task_begin"].size)
        parts.arena.arrays["hist_task_begin"] = device.zeros(int(room), np.uint32)
        parts.arena.arrays["child_rows"] = device.upload(
            content["count"][first + n_nodes :][: 2 * n_nodes]
        )
        run(Level(parts).place(DEPTH, Batch(0, trees)))
        found, hist_tasks = get_nodes(parts), []
        slot = (first + n_nodes - trees) // 2 + trees
        hist_chunk = parts.ways.variant("histogram").params["chunk"]
        for node, lefts in zip(nodes[splits], n_left[splits], strict=True):
            left, right = found[node["left"]], found[node["left"] + 1]
            counts = (int(lefts), int(node["count"] - lefts))
            assert (left["begin"], right["begin"]) == (node["begin"], node["begin"] + lefts)
            small, large = (left, right) if counts[0] <= counts[1] else (right, left)
            assert (small["slot"], small["sibling_slot"]) == (slot, -1)
            assert (large["slot"], large["sibling_slot"]) == (node["slot"], slot)
            slot += 1
            work = -(-min(counts) // hist_chunk)
            hist_tasks += [work, 0] if small is left else [0, work]
        want = np.concatenate([[0], np.cumsum(hist_tasks)]).astype(np.uint32)
        assert_same_bits(parts.arena["hist_task_begin"].get()[: want.size], want, "histogram tasks")
        assert parts.arena["levels"].get()["hist_tasks"][DEPTH + 1] == want[-1]


@pytest.mark.parametrize("batch", [Batch(0, 1), Batch(0, 3), Batch(1, 2)], ids=str)
def test_begin(device, rng, wg, batch):
    parts = parts_with(device, rng, wg, 3000, outputs=batch.first + batch.size)
    sums = rng.integers(-(2**50), 2**50, (parts.nodes.n_trees, parts.rows.row_groups, 2))
    parts.arena["sums"].set(sums.reshape(-1, 2))
    run(Level(parts).begin(batch))
    chunk = parts.ways.variant("histogram").params["chunk"]
    tasks = -(-3000 // chunk)
    for tree, root in enumerate(get_nodes(parts)[: batch.size]):
        assert (root["sum_g"], root["sum_h"]) == tuple(sums[tree].sum(axis=0))
        assert (root["begin"], root["count"]) == (tree * 3000, 3000)
        assert (root["tree"], root["parent"], root["depth"]) == (tree, NO_NODE, 0)
        assert (root["slot"], root["sibling_slot"]) == (tree, -1)
        assert root["in_order"] == 1
    top = parts.arena["levels"].get()[0]
    assert (top["first"], top["count"], top["hist_tasks"]) == (0, batch.size, batch.size * tasks)
    begin = np.arange(batch.size + 1, dtype=np.uint32) * tasks
    assert_same_bits(parts.arena["hist_task_begin"].get()[: begin.size], begin)


def test_begin_with_rows_that_were_drawn(device, rng, wg):
    """A tree none of whose rows was drawn has a task too, which clears its histogram."""
    parts = parts_with(device, rng, wg, 3000, parallel=4, subsample=0.5)
    assert parts.rows.lists_drawn
    spoil(parts.arena["sums"], rng)
    drawn = [2000, 0, 1, 3000]
    step = Level(parts)
    parts.arena["drawn"].set(drawn)
    run(step.begin(Batch(0, 4)))
    roots = get_nodes(parts)[:4]
    assert roots["count"].tolist() == drawn
    assert roots["begin"].tolist() == [0, 3000, 6000, 9000]
    assert not roots["in_order"].any()
    chunk = parts.ways.variant("histogram").params["chunk"]
    begin = np.cumsum([0] + [max(1, -(-n // chunk)) for n in drawn]).astype(np.uint32)
    assert_same_bits(parts.arena["hist_task_begin"].get()[:5], begin)
    assert parts.arena["levels"].get()["hist_tasks"][0] == begin[-1]


@pytest.mark.parametrize(("trees", "groups"), [(1, 1), (3, 1), (3, 5)])
def test_finish(device, rng, wg, trees, groups, monkeypatch):
    monkeypatch.setattr(Finalize, "_groups", groups)
    parts = parts_with(device, rng, wg, 3000, outputs=trees)
    step = Finalize(*parts)
    for n_nodes in (1, 17, 601):
        nodes = level(rng, n_nodes, trees)
        leaf = rng.random(n_nodes) < 0.5
        nodes["left"] = np.where(leaf, NO_NODE, rng.integers(trees, 600, n_nodes))
        nodes["feature"] = np.where(leaf, 0, rng.integers(0, 3, n_nodes))
        nodes["bin"] = np.where(leaf, 0, rng.integers(0, 5, n_nodes))
        nodes["default_left"] = ~leaf & (rng.random(n_nodes) < 0.5)
        nodes["value"] = rng.normal(size=n_nodes)
        nodes["count"] = rng.integers(1, 9000, n_nodes)
        nodes["depth"] = np.sort(rng.integers(0, parts.nodes.n_levels + 1, n_nodes))
        is_last = nodes["depth"] == parts.nodes.n_levels
        behind = int(n_nodes - is_last.sum())
        leaf |= is_last
        nodes["left"][is_last] = rng.integers(0, 600)  # junk until the tree is finished
        set_level(parts, parts.nodes.n_levels, nodes[behind:], first=behind)
        content = get_nodes(parts)
        content[:n_nodes] = nodes
        set_nodes(parts, content)
        spoil(parts.arena["exponents"], rng)
        spoil(parts.arena["drawn"], rng)
        parts.arena["leaf_header"].set([7, 7, n_nodes % parts.nodes.forest_block, 41])
        run(step.tree(Batch(0, trees)))
        found = get_nodes(parts)
        for node, want in zip(
            found[behind:n_nodes],
            expected_decisions(nodes[behind:], None, parts.nodes.params),
            strict=True,
        ):
            assert node["left"] == NO_NODE
            for name in ("weight", "value"):
                assert_same_bits(node[name], getattr(want, name), name)
        nodes[behind:] = found[behind:n_nodes]
        assert_same_bits(found[:behind], content[:behind], "the other nodes")
        below = parts.nodes.n_levels - nodes["depth"].astype(np.int64)
        keeps = (below == 1) | (leaf & (below > 1))
        tasks = (
            -(
                -nodes["count"].astype(np.int64)
                // parts.ways.variant("update_margins").params["chunk"]
            )
            * keeps
        )
        begin = np.concatenate([[0], np.cumsum(tasks)]).astype(np.uint32)
        assert_same_bits(parts.arena["leaf_task_begin"].get()[: n_nodes + 1], begin, "leaf tasks")
        header = [
            n_nodes,
            begin[-1],
            (n_nodes % parts.nodes.forest_block + 1) % parts.nodes.forest_block,
            42,
        ]
        assert_same_bits(parts.arena["leaf_header"].get(), np.uint32(header), "header")
        walk = parts.arena["walk"].get()[:n_nodes]
        place = LAYOUT.feature_offset[nodes["feature"]] + nodes["bin"]
        from_root = nodes["left"] - nodes["tree"]
        assert_same_bits(walk["left"], np.where(leaf, 0, from_root).astype(np.uint32))
        assert_same_bits(walk["feature"], nodes["feature"])
        assert_same_bits(walk["default_left"], nodes["default_left"])
        assert_same_bits(walk["number"], np.where(leaf, nodes["value"], LAYOUT.thresholds[place]))
        steps = parts.arena["steps"].get()[:n_nodes]
        n_bins = LAYOUT.feature_bins[nodes["feature"]]
        also_left = np.where(nodes["default_left"], n_bins, nodes["bin"])
        assert_same_bits(steps["left"], walk["left"])
        assert_same_bits(
            steps["place"],
            parts.rows.pages[0].codes.order.places[nodes["feature"]].astype(np.uint32),
        )
        assert_same_bits(steps["lefts"], (nodes["bin"] | also_left << 16).astype(np.uint32))
        assert_same_bits(steps["value"], nodes["value"])
        assert not parts.arena["exponents"].get().any()
        assert not parts.arena["drawn"].get().any()


def test_keep(device, rng, wg):
    parts = parts_with(device, rng, wg, 3000, n_estimators=5)
    step = Finalize(*parts)
    for name in ("forest_nodes", "forest_levels", "levels"):
        spoil(parts.arena[name], rng)
    want = {name: parts.arena[name].get() for name in ("forest_nodes", "forest_levels")}
    for place, n_nodes in ((0, 1), (3, parts.nodes.max_nodes), (1, 300)):
        nodes = spoil_nodes(parts, rng)
        nodes["tree"] %= parts.nodes.n_trees
        set_nodes(parts, nodes)
        hessians = real_hessian(nodes["sum_h"], SCALE)
        for word, name in enumerate(KEPT):
            kept = hessians if name == "hessian" else nodes[name]
            want["forest_nodes"][place, word, :n_nodes] = kept[:n_nodes].view(np.uint32)
        want["forest_levels"][place] = spoil(parts.arena["levels"], rng)
        parts.arena["leaf_header"].set([n_nodes, 0, place, 0])
        step.keep()()
        for name, content in want.items():
            assert_same_bits(parts.arena[name].get(), content, name)
