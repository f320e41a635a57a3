"""What the doctor measures of a device, tries on it, and keeps."""

from dataclasses import asdict, replace

import pytest

from pyopencl_gbdt.device import discovery, open_device
from pyopencl_gbdt.device.drivers import fact_store, faults, measured_facts
from pyopencl_gbdt.doctor import selftest, watch
from pyopencl_gbdt.doctor.findings import Listed
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps

KERNELS = {"scan", "segmented_scan", "radix_sort"}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))


@pytest.fixture
def stranger(monkeypatch):
    """The test device as a GPU of an untested driver, which runs nothing but the trial."""
    monkeypatch.setattr(selftest, "N_ELEMENTS", 6000)
    monkeypatch.setattr(selftest, "N_RUNS", 2)
    usual = selftest.cases
    monkeypatch.setattr(selftest, "cases", lambda device: [c for c in usual(device) if c.fact])
    device = open_device(TEST_DEVICE)
    device.caps = replace(device.caps, kind="gpu", lookback=False, tested_driver=False)
    return device


def answers_of(device):
    return {line["fact"]: line["answer"] for line in selftest.results(device) if "fact" in line}


@pytest.mark.thorough
def test_look_back_that_passes_its_trial_is_used_from_then_on(stranger):
    assert {variant.kernel for variant in selftest.variants_on_trial(stranger.caps)} == KERNELS
    answers = answers_of(stranger)
    assert answers["lookback"] == 1
    assert answers["wave_width"] >= 1
    fact_store.store(stranger.caps, answers)
    assert measured_facts.applied(stranger.caps).lookback
    assert selftest.variants_on_trial(measured_facts.applied(stranger.caps)) == []


@pytest.mark.thorough
def test_look_back_that_fails_its_trial_is_not_used(stranger, monkeypatch):
    right = selftest.scan

    class Wrong:
        def __init__(self, found):
            self.found = found

        def get(self):
            out = self.found.get()
            out[4000:] += 1  # a tile that read its predecessor's sum too early
            return out

    monkeypatch.setattr(selftest, "scan", lambda *a, **k: Wrong(right(*a, **k)))
    lines = list(selftest.results(stranger))
    (failed,) = [line for line in lines if line.get("problem")]
    assert failed["problem"] == "run 1 of 2: 2000 of 6000 differ"
    assert not failed["chosen"]
    answers = answers_of(stranger)
    assert answers["lookback"] == 0
    fact_store.store(stranger.caps, answers)
    assert not measured_facts.applied(stranger.caps).lookback


@pytest.mark.parametrize(
    "facts",
    [{"tested_driver": True}, {"kind": "cpu"}, {"lookback": True}, {"int64_atomics": False}],
    ids=str,
)
def test_where_there_is_nothing_to_try(facts):
    assert selftest.variants_on_trial(make_caps(**facts)) == []


def test_words_of_64_bits_that_may_be_read_in_halves_are_not_looked_back_for(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    caps = make_caps(kind="gpu", tested_driver=False, lookback=False, int64_atomics=True)
    halves = replace(caps, int64_atomics=False, device_id="opencl:9:9", name="halves")
    for device in (caps, halves):
        fact_store.store(device, {"lookback": 1})
    assert measured_facts.applied(caps).lookback
    assert not measured_facts.applied(halves).lookback


# -- the verdict ---------------------------------------------------------------------------------
def a_run(problem="", *, raised=False, **facts):
    caps = make_caps(**facts)
    case = {"case": "scan", "chosen": True, "problem": problem, "raised": raised, "seconds": 0.1}
    listed = Listed(caps.device_id, "", asdict(caps), {})
    return caps, watch.SelfTest(listed, [case], facts={"wave_width": 32})


def test_a_device_with_wrong_results_is_refused_until_it_passes(monkeypatch):
    caps, wrong = a_run("3 of 4 differ", platform="Apple", kind="cpu")
    watch.remember(wrong)
    assert "the last self-test with this driver found wrong" in measured_facts.problem(caps)
    assert f"doctor --device {caps.device_id}`" in measured_facts.problem(caps)
    monkeypatch.setenv(measured_facts.DOCTOR, "1")
    assert measured_facts.problem(caps) == ""  # so the doctor can test it again
    monkeypatch.delenv(measured_facts.DOCTOR)
    watch.remember(a_run(platform="Apple", kind="cpu")[1])
    assert measured_facts.problem(caps) == ""
    assert fact_store.load(caps) == {"wave_width": 32, "self_test": 1}


def test_an_error_is_no_wrong_result():
    """It may be that the memory was full."""
    caps, failed = a_run("MemoryError: full", raised=True)
    watch.remember(failed)
    assert measured_facts.problem(caps) == ""
    assert "self_test" not in fact_store.load(caps)


def test_tested_drivers_keep_nothing():
    caps, wrong = a_run("3 of 4 differ", tested_driver=True)
    watch.remember(wrong)
    assert fact_store.load(caps) == {}
    assert measured_facts.problem(caps) == ""


def test_discovery_says_it(monkeypatch, device):
    if device.caps.api != "opencl":
        pytest.skip("only OpenCL's devices are measured")
    usual = faults.apply

    def untested(caps):
        return replace(usual(caps)[0], tested_driver=False), "", []

    monkeypatch.setattr(faults, "apply", untested)
    fact_store.store(device.caps, {"self_test": 0, "subnormals": 0})
    with pytest.raises(DeviceError, match="found wrong results"):
        discovery.find(device.caps.device_id)
