"""What is sent, and what never is."""

import getpass
import json
import socket
from pathlib import Path

import pytest

from pyopencl_gbdt.doctor import report
from pyopencl_gbdt.doctor.findings import Finding, everywhere
from pyopencl_gbdt.doctor.watch import SelfTest
from tests.doctor.machines import CPU, GPU, OS_RELEASE, Builder, listed, listing_of

SCRUBBER = report.Scrubber("/home/jane", "jane", "wolf.example.org")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/jane/x.so", "~/x.so"),
        ("/data/jane/x.so by jane", "/data/<user>/x.so by <user>"),
        ("janet and jane2", "janet and jane2"),
        ("wolf.example.org, wolf: werewolf", "<host>, <host>: werewolf"),
        ("/home/joe/x", "/home/<user>/x"),
        (r"C:\Users\joe\x", r"C:\Users\<user>\x"),
        ("/Users/joe/x", "/Users/<user>/x"),
        ("GPU-5ebc7c53-5a6c-4c7e-8d2e-1f", "GPU-<number>"),
    ],
)
def test_names_are_taken_out(text, clean):
    assert SCRUBBER.text(text) == clean


def test_short_and_common_names_stay():
    scrubber = report.Scrubber("/", "root", "pc")
    assert scrubber.text("/usr by root on pc") == "/usr by root on pc"


def test_keys_stay_and_everything_else_is_cleaned():
    value = {"jane": ["jane", {"a": ("jane",)}, 3, None, True]}
    assert SCRUBBER.clean(value) == {"jane": ["<user>", {"a": ["<user>"]}, 3, None, True]}


@pytest.fixture
def parts(tmp_path):
    builder = Builder(tmp_path).file("/etc/os-release", OS_RELEASE["debian"]).card("0x1002")
    environment = {
        "OCL_ICD_VENDORS": "/home/jane/vendors", "NVIDIA_REQUIRE_CUDA": "abc", "USER": "jane",
        "PYOPENCL_GBDT_DEVICE": "gpu",
    }  # fmt: skip
    machine = builder.file("/.dockerenv").machine(environment=environment)
    run = SelfTest(GPU, [
        {"case": "scan", "chosen": True, "problem": "", "seconds": 0.1},
        {"case": "radix_sort", "chosen": True, "problem": "a\nb\nc\nd /home/jane", "seconds": 1},
    ], seconds=1.2)  # fmt: skip
    findings = [Finding("icd-empty", "error", "/home/jane/a.icd is empty", everywhere("rm x"))]
    listing = listing_of(GPU, CPU, notes=("CUDA: none",))
    return machine, listing, findings, [run]


def test_the_report(parts):
    facts = report.as_json(*parts, SCRUBBER)
    text = json.dumps(facts)
    assert json.loads(text) == facts
    assert "jane" not in text
    assert "abc" not in text
    assert facts["format_version"] == report.FORMAT_VERSION
    assert facts["versions"]["distribution"] == "Debian GNU/Linux 13 (trixie)"
    assert facts["versions"]["inside"] == "Docker"
    assert facts["cards"] == ["amd"]
    assert facts["variables"] == {
        "OCL_ICD_VENDORS": "~/vendors", "PYOPENCL_GBDT_DEVICE": "gpu",
    }  # fmt: skip
    assert [device["device_id"] for device in facts["devices"]] == ["opencl:0:0", "opencl:1:0"]
    assert facts["findings"][0]["text"] == "~/a.icd is empty"
    assert facts["self_test"][0]["passed"] is False
    assert facts["self_test"][0]["cases"][1]["problem"].endswith("~")


def test_the_block(parts):
    facts = report.as_json(*parts, SCRUBBER)
    lines = report.as_text(facts, parts[-1], SCRUBBER).splitlines()
    assert (lines[0], lines[-1]) == (report.BEGIN, report.END)
    assert "error icd-empty: ~/a.icd is empty" in lines
    assert "self-test opencl:0:0 FAILED: 1 of 2 comparisons give equal bits, 1 s" in lines
    assert lines[lines.index("  radix_sort: a") + 2 :] == ["    c", report.END]  # three lines


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            {"name": "gfx1100", "platform": "AMD Accelerated Parallel Processing", "vendor": "AMD"},
            ["two compute units as one", "read before a barrier", "waves of 32 or 64", "mem_fence"],
        ),
        (
            {"name": "zink Vulkan 1.4(NVIDIA H200)", "platform": "rusticl", "vendor": "Unknown"},
            ["says 1 compute unit", "below 2^-126 are flushed"],
        ),
        (
            {"name": "Intel(R) Arc(TM) A770", "platform": "Intel(R) OpenCL Graphics"},
            ["added four times", "4 GiB at most", "fifty times as long to compile"],
        ),
        ({"name": "Apple M2", "platform": "Apple"}, ["64-bit atomics do not build"]),
        ({"name": "QUALCOMM Adreno(TM)", "platform": "QUALCOMM Snapdragon(TM)"}, ["SIGSEGV"]),
    ],
)
def test_it_tells_what_is_known_of_a_driver_and_answered(tmp_path, facts, words):
    """Of every GPU's driver that the tests do not run on, also what may be true of any."""
    machine = Builder(tmp_path).machine()
    told = report.as_json(machine, listing_of(listed(**facts)), [], [], SCRUBBER)
    lines = report.as_text(told, [], SCRUBBER).splitlines()
    known = [line for line in lines if line.startswith("  known, and answered: ")]
    for text in (
        *words,
        "minutes for a large kernel",
        "more memory than",
        "longer than 0.5 to 2 s",
    ):
        assert sum(text in line for line in known) == 1, text
    tested = report.as_json(
        machine, listing_of(listed(**facts, tested_driver=True)), [], [], SCRUBBER
    )
    assert tested["answered_faults"] == {"opencl:0:0": []}


def test_this_machines_names_do_not_leave_it(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "marianne")
    monkeypatch.setattr(socket, "gethostname", lambda: "obelisk.local")
    scrubber = report.Scrubber.here()
    assert scrubber.text(f"{Path.home() / 'x'} marianne obelisk") == "~/x <user> <host>"

    def fail():
        raise KeyError("no such user")

    monkeypatch.setattr(getpass, "getuser", fail)
    assert report.Scrubber.here().host == "obelisk.local"
