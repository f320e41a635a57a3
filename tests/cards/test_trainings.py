"""The trainings whose digests are the same on every device."""

import pytest

from pyopencl_gbdt.cards.trainings import TRAININGS, digest
from pyopencl_gbdt.cards.worker import EXPECTED
from pyopencl_gbdt.device import devices
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.objectives import OBJECTIVES
from pyopencl_gbdt.parameters.table import TABLE
from tests.conftest import TEST_DEVICE

#: Parameters each of whose values some training has.
CHOICES = ("grow_policy", "boosting_type", "lambdarank_pair_method")


@pytest.mark.few(2)
@pytest.mark.more(9)
@pytest.mark.parametrize("name", TRAININGS)
def test_known_digests(name):
    assert digest(name, TEST_DEVICE) == EXPECTED[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", TRAININGS)
def test_known_digests_on_intels_runtime(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    assert digest(name, "intel(r) opencl") == EXPECTED[name]


def test_twenty_models_that_differ():
    assert EXPECTED.keys() == TRAININGS.keys()
    assert len(set(EXPECTED.values())) == 20


def test_every_loss_family_is_trained():
    """A module of ``objectives`` is a family."""
    trained = {type(OBJECTIVES[one.params["objective"]]).__module__ for one in TRAININGS.values()}
    assert trained == {type(objective).__module__ for objective in OBJECTIVES.values()}


def test_every_way_to_train_is_used():
    rows = {row.name: row for row in TABLE}
    for name in CHOICES:
        used = {one.params.get(name, rows[name].default) for one in TRAININGS.values()}
        assert {f"{value!r}" for value in used} == set(rows[name].expected.split(" or ")), name
    methods = {one.params.get("tree_method", "auto") for one in TRAININGS.values()}
    assert methods == {"auto", "exact", "approx"}
    sampled = {one.params.get("sampling_method", "uniform") for one in TRAININGS.values()}
    assert sampled == {"uniform", "gradient_based", "goss"}
    assert {one.params.get("cat_method") for one in TRAININGS.values()} >= {"sets", "statistics"}
    assert {one.kind for one in TRAININGS.values()} == {"dense", "coded", "sparse", "queries"}
