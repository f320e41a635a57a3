"""A simulator gets several work-groups, and tasks of few rows."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.device.limited_device import baseline
from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.growth.renew_leaves import LEAST_NODES
from tests.portability import targets
from tests.portability.exercise import has_many_tasks
from tests.portability.many_tasks import CHUNK, UNITS, of_several_units, small_tasks
from tests.portability.problems import SHAPES, problem

pytestmark = pytest.mark.thorough
ROWS = SHAPES["tiny"][0]


def test_the_rows_of_a_training_are_several_tasks():
    before = dict(KERNELS)
    with small_tasks():
        sizes = [variant.params for entry in KERNELS.values() for variant in entry.variants]
    assert {own["chunk"] for own in sizes if "chunk" in own} == {CHUNK}
    assert before == KERNELS
    assert 2 * CHUNK < ROWS
    assert has_many_tasks("tiny", "")
    assert not has_many_tasks("tiny", "gpu")


def test_a_work_item_selects_a_leafs_quantile():
    """There are nodes enough for the units that are pretended."""
    caps = replace(baseline(targets.AMD[0].caps), compute_units=1)
    assert of_several_units(caps).compute_units == UNITS
    params = problem("tiny", "vectors, quantiles", "cpu").params
    n_nodes = len(params["quantile_alpha"]) * (2 ** (params["max_depth"] + 1) - 1)
    assert n_nodes >= LEAST_NODES * UNITS
