"""Gradients of losses that bring kernels of their own, by themselves."""

import numpy as np

from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import allocate, assemble
from pyopencl_gbdt.gradients.sources import source_of
from pyopencl_gbdt.growth.policy import tree_sizes
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.steps.builders import make_layout, make_page


def device_gradients(device, objective, margins, data, wg_size=0):
    """Return what a loss's kernels make of margins, float32 (n_rows,) each, in two equal rounds."""
    params = Parameters.from_dict({"work_group_size": wg_size})
    page = Page(make_page(device, np.zeros((data.n_rows, 1), np.uint8)), 0, data.n_rows)
    facts = FitFacts(params, LossFacts(given=True), n_rows=data.n_rows)
    sizes = tree_sizes(choose_recipe(facts).policy, params, data.n_rows)
    parts = assemble(device, facts, sizes, FitFeatures(make_layout([2], [False])), [page])
    parts.rows.own_arrays()
    source = source_of(objective, parts, data)
    allocate(parts)
    launches = source.launches()
    found = []
    for number in range(2):
        parts.arena["margins"].set(margins)
        source.before_round(number)
        for launch in launches:
            launch()
        found.append((parts.arena["given_g"].get()[0], parts.arena["given_h"].get()[0]))
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]
