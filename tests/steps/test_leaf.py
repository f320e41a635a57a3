"""leaf: every row gets its leaf's value, from the row list of the leaf's depth."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.dtypes import NODE
from pyopencl_gbdt.reference.leaf import add_leaves
from pyopencl_gbdt.steps.leaf import Leaf
from tests.compare import assert_same_bits
from tests.steps.builders import make_layout, make_workspace, spoil

WG_SIZES, WG_SIZES_CPU = (1, 16, 64, 256), (1, 64)
CHUNK = 50


@pytest.fixture(autouse=True)
def small_chunks(device, force):
    force(choose("leaf", device.caps), chunk=CHUNK)


@pytest.mark.parametrize("n", [1, 2, 49, 50, 51, 5000])
def test_equals_twin(device, rng, wg, n):
    layout = make_layout([2], [False])
    ws = make_workspace(device, layout, np.zeros((n, 1), np.uint8), max_depth=7, work_group_size=wg)
    n_leaves = min(n, 30, 1 + ws.max_nodes // 2)
    ends = np.sort(rng.choice(np.arange(1, n), n_leaves - 1, replace=False)) if n > 1 else []
    bounds = np.concatenate([[0], ends, [n]]).astype(np.int64)
    nodes = np.zeros(2 * n_leaves - 1, NODE)
    at = rng.permutation(nodes.size)[:n_leaves]  # leaves among inner nodes, in any order
    nodes["begin"][at], nodes["count"][at] = bounds[:-1], np.diff(bounds)
    nodes["depth"] = rng.integers(0, 8, nodes.size)
    nodes["value"] = rng.normal(size=nodes.size)
    nodes["count"][np.setdiff1d(np.arange(nodes.size), at)] = 999  # without tasks, so unused
    is_leaf = np.isin(np.arange(nodes.size), at)
    tasks = np.where(is_leaf, -(-nodes["count"].astype(np.int64) // CHUNK), 0)
    begin = np.concatenate([[0], np.cumsum(tasks)])
    ws["leaf_header"].set([nodes.size, begin[-1]])
    ws["leaf_task_begin"].set(begin)
    ws["nodes"].set(nodes)
    rows = rng.permutation(n).astype(np.uint32)
    leaves = []
    lists = {name: spoil(ws[name], rng) for name in ("even_rows", "odd_rows")}
    for node in nodes[at]:
        mine = slice(node["begin"], node["begin"] + node["count"])
        lists["odd_rows" if node["depth"] % 2 else "even_rows"][mine] = rows[mine]
        leaves.append((rows[mine], node["value"]))
    for name, content in lists.items():
        ws[name].set(content)
    margins = rng.normal(size=n).astype(np.float32)
    ws["margins"].set(margins)
    Leaf(ws).add()()
    assert_same_bits(ws["margins"].get(), add_leaves(margins, leaves), "margins")
