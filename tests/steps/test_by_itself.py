"""A step is built from five parts, without a fit: ten lines of NumPy and its own arrays."""

import numpy as np

from pyopencl_gbdt.dtypes import LEVEL, NODE, QUANTA, SCALE
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import allocate, assemble
from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.growth.partition import row_lists
from pyopencl_gbdt.growth.policy import LevelWise, tree_arrays, tree_sizes
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.steps.builders import fullest_cells, make_layout, make_page


def test_a_histogram_of_five_rows(device):
    codes = np.array([[0, 1], [2, 0], [1, 1], [2, 1], [0, 0]], np.uint8)
    quanta = np.array([[1, 10], [2, 10], [4, 10], [8, 10], [16, 10]])
    params, layout = Parameters.from_dict({"max_depth": 1}), make_layout([3, 2], [False, False])
    page, sizes = Page(make_page(device, codes), 0, 5), tree_sizes(LevelWise(1), params, 5)
    parts = assemble(device, FitFacts(params, n_rows=5), sizes, FitFeatures(layout), [page])
    root = np.array([(0, 1, 0, 1), (1, 0, 0, 0)], LEVEL)
    for name, values in (("quanta", quanta.astype(QUANTA)), ("scale", np.zeros(1, SCALE)),
                         ("high", np.zeros((1, 2), QUANTA)), ("levels", root)):  # fmt: skip
        parts.arena.array(name, values.shape, values.dtype, values)
    parts.arena.array("hist_task_begin", 4, np.uint32, [0, 1, 1, 1])
    tree_arrays(parts.arena, parts.rows, parts.nodes)
    row_lists(parts.rows, parts.nodes)
    step = Histogram(parts)
    allocate(parts)
    node = np.zeros(1, NODE)
    node["count"], node["in_order"], node["sibling_slot"] = 5, 1, -1
    parts.arena["nodes"].set(node)
    parts.arena.device.clear(parts.arena["pool"])
    for launch in step.level(0):
        launch()
    wanted = np.zeros((5, 2), np.int64)
    for place in (codes + layout.feature_offset[:-1]).T:
        np.add.at(wanted, place, quanta)
    found, skipped = parts.arena["pool"].get()[0], fullest_cells(layout)
    left_out = np.isin(np.arange(5), skipped) & (found == 0).all(axis=1)  # as some variants do
    assert found[~left_out].tolist() == wanted[~left_out].tolist()
