"""What is chosen, and what it is expected to take."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.comparison import plan
from pyopencl_gbdt.comparison.shapes import SHAPES
from pyopencl_gbdt.device import discovery
from pyopencl_gbdt.errors import DeviceError, ParameterError
from tests.device.fakes import make_info

GPU = make_info(device_id="opencl:0:0", name="Card")
CUDA = make_info(device_id="cuda:0", api="cuda", name="Card", platform="CUDA")
SIMULATOR = make_info(device_id="opencl:2:0", name="Oclgrind", is_simulator=True, kind="cpu")
BROKEN = make_info("no compiler", device_id="opencl:1:0")


@pytest.fixture
def four(monkeypatch):
    listed = [GPU, SIMULATOR, BROKEN, CUDA]
    monkeypatch.setattr(discovery, "survey", lambda interface="": (listed, []))
    monkeypatch.setattr(plan, "devices", lambda: listed)


def test_all_is_every_driver_of_a_card_and_no_simulator(four):
    assert plan.choose_devices("all") == [GPU, CUDA]
    assert plan.choose_devices(" ALL ") == [GPU, CUDA]


def test_named_devices_come_once_and_in_order(four):
    assert plan.choose_devices("cuda, oclgrind,cuda:0") == [CUDA, SIMULATOR]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("opencl:1:0", "no compiler"),
        ("cuda,,opencl", "expected all or device strings"),
        ("", "expected all or device strings"),
        ("radeon", "no usable GPU of AMD"),
    ],
)
def test_devices_that_are_not_there(four, text, words):
    with pytest.raises(DeviceError, match=words):
        plan.choose_devices(text)


def test_all_without_a_device_says_what_to_do(monkeypatch):
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)
    monkeypatch.setattr(
        discovery, "survey", lambda interface="": ([SIMULATOR], ["OpenCL: nothing"])
    )
    monkeypatch.setattr(plan, "devices", lambda: [SIMULATOR])
    with pytest.raises(DeviceError, match="Next: "):
        plan.choose_devices("all")


def names(*arguments, **options):
    return [shape.name for shape in plan.choose_shapes(*arguments, **options)]


def test_shapes():
    assert names(None, quick=False) == list(plan.DEFAULT)
    assert names(None, quick=True) == [shape.name for shape in plan.QUICK]
    assert names("all", quick=False) == list(SHAPES)
    assert names("tiny, rows-1e[34],tiny", quick=False) == ["tiny", "rows-1e3", "rows-1e4"]
    (small,) = plan.choose_shapes("bosch", quick=True)
    assert small.n_rows < SHAPES["bosch"].n_rows
    assert [s.n_rounds for s in plan.choose_shapes("tiny", quick=False, n_rounds=7)] == [7]


@pytest.mark.parametrize(
    ("text", "quick", "words"),
    [
        ("higs", False, "did you mean 'higgs'"),
        ("nothing", False, "give one of them"),
        ("", False, "expected all, a pattern or one of"),
        ("yahoo", True, "expected all, a pattern or one of small, higgs"),
    ],
)
def test_wrong_shapes(text, quick, words):
    with pytest.raises(ParameterError, match=words):
        plan.choose_shapes(text, quick=quick)


def test_the_floor_by_hand():
    shape = replace(SHAPES["tiny"], n_rows=10, n_features=4, max_depth=1)
    # margin, label and a pair 16; codes and pair 12; two ids and a code 9; leaves 12
    assert plan.floor_bytes(shape) == 10 * (16 + 12 + 9 + 12)
    # a second level: half of codes, pair and id; and a partition
    assert plan.floor_bytes(replace(shape, max_depth=2)) == 10 * (49 + 8 + 9)
    assert plan.floor_bytes(replace(shape, max_bin=1024)) == 10 * (49 + 4 + 1)
    assert plan.floor_bytes(replace(shape, missing=0.5)) == 10 * (49 - 2)


def test_estimates_grow_with_the_work():
    shape, rate = SHAPES["higgs"], 1e10
    one = plan.estimated_seconds(shape, rate, 3)
    assert plan.estimated_seconds(replace(shape, n_rounds=200), rate, 3) > 1.5 * one
    assert plan.estimated_seconds(shape, rate, 9) > 2 * one
    assert plan.estimated_seconds(shape, 100 * rate, 3) < one / 10
    assert plan.estimated_seconds(replace(shape, n_models=3), rate, 3) > 2 * one
    assert plan.estimated_seconds(replace(shape, n_rows=10), rate, 3) < 10
