"""``pyopencl-gbdt doctor`` at the command line."""

import json

import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.output import WIDTH
from pyopencl_gbdt.doctor import report, watch
from pyopencl_gbdt.doctor.findings import Listing
from pyopencl_gbdt.doctor.machine import Machine
from tests.conftest import TEST_DEVICE
from tests.doctor.machines import CPU, GPU, Builder, listed, listing_of


@pytest.fixture
def devices(monkeypatch, tmp_path):
    """Call it with what is listed, and the devices whose self-test fails.

    The machine is empty: what is installed on this one would add findings.
    """
    monkeypatch.setattr(Machine, "here", Builder(tmp_path / "machine").machine)

    def be(listing, bad=()):
        tested = []

        def test(device, seconds, show):
            tested.append((device.device_id, seconds))
            show("1. scan")
            problem = "3 of 4 differ" if device.device_id in bad else ""
            case = {"case": "scan", "chosen": True, "problem": problem, "seconds": 0.1}
            return watch.SelfTest(device, [case])

        monkeypatch.setattr(watch, "list_devices", lambda spec: listing)
        monkeypatch.setattr(watch, "run_self_test", test)
        return tested

    return be


@pytest.mark.exhaustive
def test_a_real_device_passes_and_the_report_is_saved(tmp_path, capsys):
    saved = tmp_path / "report.json"
    assert main(["doctor", "--device", TEST_DEVICE, "--json", str(saved)]) == 0
    said = capsys.readouterr()
    assert "Verdict  a device can be used." in said.out
    assert said.out.rstrip().endswith(report.END)
    assert said.err.startswith("testing ")
    facts = json.loads(saved.read_text(encoding="utf-8"))
    (run,) = facts["self_test"]
    assert run["passed"]
    assert {case["problem"] for case in run["cases"]} == {""}


def test_graphics_cards_first_and_simulators_never(devices, capsys):
    simulator = listed("opencl:2:0", is_simulator=True, name="Oclgrind")
    tested = devices(listing_of(simulator, CPU, GPU))
    assert main(["doctor", "--time-limit", "10"]) == 0
    assert [device for device, _ in tested] == ["opencl:0:0", "opencl:1:0"]
    assert 4 < tested[0][1] <= 5
    assert tested[1][1] > 9
    out = capsys.readouterr().out
    assert "Oclgrind" in out
    before = out[: out.index(report.BEGIN)]
    assert max(map(len, before.splitlines())) <= WIDTH


def test_what_is_asked_for_is_tested_alone(devices):
    simulator = listed("opencl:2:0", is_simulator=True)
    tested = devices(listing_of(CPU, simulator, chosen="opencl:2:0"))
    assert main(["doctor", "--device", "oclgrind"]) == 0
    assert [device for device, _ in tested] == ["opencl:2:0"]
    assert tested[0][1] > 100


def test_one_that_passes_is_enough(devices, capsys):
    devices(listing_of(GPU, CPU), bad=["opencl:0:0"])
    assert main(["doctor"]) == 0
    assert "scan: 3 of 4 differ" in capsys.readouterr().out
    devices(listing_of(GPU, CPU), bad=["opencl:0:0", "opencl:1:0"])
    assert main(["doctor"]) == 1


def test_nothing_is_run_if_so_wished(devices, capsys):
    tested = devices(listing_of(CPU))
    assert main(["doctor", "--no-self-test"]) == 0
    assert tested == []
    assert "Self-test" not in capsys.readouterr().out


def test_no_device_at_all(devices, capsys):
    devices(Listing(failure="ends the process by signal 11"))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "listing-fails" in out
    assert "no device can be used" in out
    text = "device='x': no usable device fits.\nFound:\n  y\nNext: use device='cpu'."
    devices(Listing((CPU,), problem=text))
    assert main(["doctor", "--device", "x"]) == 1
    out = capsys.readouterr().out
    assert "that device cannot be used" in out
    assert "error device-not-found: --device x: no usable device fits." in out
    assert "Next: use --device cpu." in out
    assert "device=" not in out


def test_wrong_options(capsys, tmp_path):
    assert main(["doctor", "--time-limit", "0"]) == 2
    assert "--time-limit 0: expected 1..86400" in capsys.readouterr().err
    assert main(["doctor", "--json", str(tmp_path / "no" / "such.json")]) == 2
    assert "create it first" in capsys.readouterr().err
