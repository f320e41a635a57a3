"""What is measured of a device, what a wrong answer removes, and where answers are kept."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import discovery, limited_device
from pyopencl_gbdt.device.drivers import fact_store, measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.device.opencl import device as opencl
from pyopencl_gbdt.device.program import bytes_a_launch
from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.training.train import train
from tests.device.fakes import FakeDevice, make_caps, make_info

FACTS = {fact.name: fact for fact in measured_facts.TABLE}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def rebuilt(device, monkeypatch):
    """Call it with a function that changes the source of kernels: a compiler that errs."""

    def change(source):
        monkeypatch.setattr(opencl, "_programs", {})
        monkeypatch.setattr(device.programs, "source", lambda *a, **k: source(render(*a, **k)))

    return change


def test_answers_of_a_device_that_computes_right(device):
    assert measured_facts.subnormals(device) == 0
    assert measured_facts.skipped_loads(device) == 1
    if device.caps.int64_atomics:
        assert measured_facts.int64_atomics(device) == 1


def test_a_device_that_flushes_subnormals_is_recognised(device, monkeypatch):
    """PoCL switches the processor to flushing them, if its compiler is told so."""
    if not device.caps.platform.startswith("Portable"):
        pytest.skip("only PoCL flushes them on request")
    usual = opencl.OpenCLDevice._options
    monkeypatch.setattr(
        opencl.OpenCLDevice, "_options", lambda *a: [*usual(*a), "-cl-denorms-are-zero"]
    )
    assert measured_facts.subnormals(device) == 1


def test_wrong_arithmetic_is_recognised(device, rebuilt):
    rebuilt(lambda text: text.replace("x * 4.0f", "x * 4.5f"))
    assert measured_facts.subnormals(device) == FAILED


def test_atomic_sums_that_are_counted_four_times_are_recognised(device, rebuilt):
    if not device.caps.int64_atomics:
        pytest.skip("it has no 64-bit atomics")
    rebuilt(lambda text: text.replace("-(i64)value << 8", "4 * (-(i64)value << 8)"))
    assert measured_facts.int64_atomics(device) == 0


@pytest.mark.parametrize(("carries", "answer"), [("sum < low", 1), ("sum <= low", FAILED)])
def test_sums_whose_words_are_added_to_one_by_one(device, rebuilt, carries, answer):
    if device.caps.api == "cuda":
        pytest.skip("it has 64-bit atomics")
    rebuilt(lambda text: text.replace("sum < low", carries))
    assert measured_facts.word_sums(device) == answer


@pytest.mark.parametrize("answer", [0, FAILED])
def test_wrong_atomic_sums_are_not_used(folder, answer):
    caps = make_caps(int64_atomics=True)
    assert measured_facts.applied(caps) == caps
    fact_store.store(caps, {"int64_atomics": answer})
    corrected = measured_facts.applied(caps)
    assert corrected == replace(caps, int64_atomics=False)


@pytest.mark.parametrize("units", [1, 7, 132])
@pytest.mark.parametrize("together", [1, 3])
def test_compute_units_are_found_from_times(units, together):
    """A unit runs several groups together, each slower by so much."""
    found = measured_facts.units_of(lambda groups: 0.004 * math.ceil(groups / units))
    assert 0.9 * units <= found <= units
    slow = measured_facts.units_of(lambda groups: 0.004 * max(1.0, groups / units) * together)
    assert slow == units


@pytest.mark.parametrize("factor", [3.0, 20.0])
def test_a_first_time_that_another_program_slowed_down_is_measured_again(factor):
    times = iter([0.004 * factor])
    assert measured_facts.units_of(lambda groups: next(times, 0.004 * math.ceil(groups / 7))) == 7


def test_a_card_that_says_one_unit_gets_the_measured_number(folder):
    caps = make_caps(compute_units=1)
    fact_store.store(caps, {"compute_units": 132, "subnormals": 1})
    assert measured_facts.applied(caps) == replace(caps, compute_units=132)
    for stated in (make_caps(compute_units=2), make_caps(compute_units=1, kind="cpu")):
        assert not FACTS["compute_units"].due(stated)
    failed = FACTS["compute_units"].applied(caps, FAILED)
    assert failed == caps


def test_a_measured_speed_sizes_launches(folder):
    caps = make_caps(compute_units=40)
    fact_store.store(caps, {"copy_speed": 16_000})
    measured = measured_facts.applied(caps)
    assert measured == replace(caps, copy_speed=16 * 10**9)
    assert bytes_a_launch(measured) == 400_000_000
    assert not FACTS["copy_speed"].due(replace(caps, kind="cpu"))
    assert FACTS["copy_speed"].applied(caps, FAILED) == caps


@pytest.mark.parametrize("width", [1, 8, 32, 64])
def test_the_width_of_waves_is_found_from_times(width):
    def seconds(run):
        return 0.01 if run >= width else 0.02

    assert measured_facts.width_of(seconds, 256) == width


@pytest.mark.thorough
def test_timed_kernels_run_and_give_plausible_numbers(device):
    # a unit holds 8 groups of 256 and more; a card shared with other programs adds errors
    assert 1 <= measured_facts.compute_units(device) <= 32 * device.caps.compute_units
    assert 1 <= measured_facts.wave_width(device) <= 256
    assert 2000 <= measured_facts.copy_speed(device) < 10_000_000
    assert 10 < measured_facts.int64_cost(device) < 10_000


def test_tested_drivers_cost_nothing(monkeypatch):
    monkeypatch.setattr(fact_store, "load", lambda caps: pytest.fail("the file was read"))
    caps = make_caps(tested_driver=True)
    assert measured_facts.applied(caps) is caps


def test_real_drivers_of_the_tests_are_tested_ones(device):
    if "rusticl" in device.caps.platform:
        pytest.skip("rusticl is measured, as users of other drivers have theirs measured")
    assert device.caps.tested_driver


# -- the file ------------------------------------------------------------------------------------
def test_answers_are_kept_by_device_and_driver(folder, monkeypatch):
    caps = make_caps()
    fact_store.store(caps, {"int64_atomics": 1})
    fact_store.store(caps, {"wave_width": 32})
    monkeypatch.setattr(fact_store, "_known", {})
    both = {"int64_atomics": 1, "wave_width": 32}
    assert fact_store.load(caps) == both
    assert fact_store.load(replace(caps, device_id="opencl:3:1")) == both  # an equal card
    assert fact_store.load(replace(caps, driver="2.0")) == {}
    monkeypatch.setenv("IGC_ShaderDumpEnable", "1")
    assert fact_store.load(caps) == {}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": "pyopencl_gbdt facts 1"}', None])
def test_a_damaged_file_is_ignored(folder, monkeypatch, damage):
    caps = make_caps()
    fact_store.store(caps, {"int64_atomics": 0})
    path = folder / fact_store.file_name(caps)
    kept = json.loads(path.read_text())
    path.write_bytes(json.dumps({**kept, "facts": [1]}).encode() if damage is None else damage)
    monkeypatch.setattr(fact_store, "_known", {})
    assert fact_store.load(caps) == {}


def test_a_folder_that_cannot_be_written_is_no_error(folder, monkeypatch):
    def refuse(*arguments):
        raise OSError("read-only")

    monkeypatch.setattr("pyopencl_gbdt.device.cache.write", refuse)
    fact_store.store(make_caps(), {"int64_atomics": 0})
    assert fact_store.load(make_caps()) == {"int64_atomics": 0}


def test_a_device_tells_what_was_measured_of_it(folder):
    info = make_info(compute_units=1)
    assert "measured" not in info.describe()
    fact_store.store(info.caps, {"subnormals": 1, "int64_atomics": 0, "wave_width": 64})
    said = (
        "    measured: numbers below 2^-126: flushed to zero; 64-bit atomic sums: wrong, not used; "
        "work-items that execute together: 64"
    )
    assert said in info.describe().splitlines()


@pytest.mark.thorough
# -- grids ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernels", ["baseline", pytest.param("", marks=pytest.mark.thorough)])
def test_no_bit_depends_on_the_number_of_compute_units(monkeypatch, kernels, device):
    """The grids of all kernels are sized from it."""
    monkeypatch.delenv("PYOPENCL_GBDT_PRETEND", raising=False)
    change = PRETENCES[kernels] if kernels else lambda caps: caps
    rng = np.random.default_rng(5)
    values = rng.integers(-40, 40, (1500, 5)).astype(np.float32)
    label = (values[:, 0] * values[:, 1] > values[:, 2] * 8).astype(np.float32)
    models = []
    for units in (1, 7, 132):
        monkeypatch.setattr(
            limited_device, "applied", lambda caps, n=units: replace(change(caps), compute_units=n)
        )
        opened = discovery.open_device(device.caps.device_id)
        assert opened.caps.compute_units == units
        params = {"objective": "binary:logistic", "max_depth": 4, "max_bin": 32, "subsample": 0.7}
        model = train({**params, "device": opened.caps.device_id}, Dataset(values, label), 3)
        models.append(
            (to_xgboost_json(model.ensemble), model.predict(values, device=opened).tobytes())
        )
    assert models[0] == models[1] == models[2]


def test_a_fake_device_is_not_tested():
    assert not FakeDevice().caps.tested_driver
