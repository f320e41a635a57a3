"""The steps that a worker takes, on a real device."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.cards import worker
from pyopencl_gbdt.cards.trainings import FIRST, TIMED, WAYS, Step
from pyopencl_gbdt.cards.worker import EXPECTED
from pyopencl_gbdt.comparison import schema
from pyopencl_gbdt.comparison.schema import document
from tests.comparison.samples import make_machine
from tests.conftest import TEST_DEVICE


def test_the_first_training_tells_how_long_kernels_are_built():
    found = worker.take(Step(FIRST), TEST_DEVICE)
    assert (found["problem"], found["equal"], found["digest"]) == ("", True, EXPECTED[FIRST])
    assert 0 <= found["build_seconds"] <= found["seconds"]


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_a_way_gives_the_same_model(way, monkeypatch):
    for name, value in WAYS[way].environment.items():
        monkeypatch.setenv(name, value)
    assert worker.take(Step("sampled", way), TEST_DEVICE)["equal"]


@pytest.mark.thorough
def test_a_shape_is_timed(monkeypatch):
    monkeypatch.setitem(
        TIMED, "small", replace(TIMED["small"], n_rows=200, max_depth=2, n_rounds=2)
    )
    found = worker.take(Step("small", timed=True), TEST_DEVICE)
    assert found["problem"] == ""
    machine = {**make_machine([]), **found["machine"]}
    assert schema.check(document([machine])) == ""
    (result,) = machine["results"]
    assert result["round_ms"] > 0


def test_what_a_driver_raises_is_the_problem(monkeypatch):
    def fail(*arguments, **more):
        raise RuntimeError("out of resources")

    monkeypatch.setattr(worker, "digest", fail)
    found = worker.take(Step("exact"), TEST_DEVICE)
    assert found["problem"] == "RuntimeError: out of resources"
    assert "digest" not in found
