"""The file of a report: what it holds, what it never holds, and what it says in words."""

import getpass
import json
import socket
from pathlib import Path

import pytest

from pyopencl_gbdt.cards.collect import Card
from pyopencl_gbdt.cards.report import Report, summaries, without_folders
from pyopencl_gbdt.comparison import agreement, schema
from pyopencl_gbdt.comparison.schema import merge
from pyopencl_gbdt.doctor.findings import Finding
from pyopencl_gbdt.doctor.watch import SelfTest
from tests.comparison.samples import SHAPE, make_device, make_result, save
from tests.doctor.machines import GPU, Builder, listing_of

SECRET = "/work/secret lab"


def step(name, way="", *, problem="", equal=True, timed=False):
    return {
        "name": name, "way": way, "timed": timed, "problem": problem, "seconds": 0.5,
        "digest": "d" * 64, "equal": equal and not timed,
    }  # fmt: skip


@pytest.fixture
def report(tmp_path, monkeypatch):
    """A report of Jane's machine, whose driver tells where she works."""
    monkeypatch.setattr(getpass, "getuser", lambda: "jane")
    monkeypatch.setattr(socket, "gethostname", lambda: "wolf.example.org")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/jane"))
    monkeypatch.setattr(Path, "cwd", lambda: Path(SECRET))
    environment = {
        "OCL_ICD_VENDORS": f"{SECRET}/vendors", "POCL_CACHE_DIR": "/data/janes/cache",
        "RUSTICL_ENABLE": "radeonsi",
    }  # fmt: skip
    machine = Builder(tmp_path).card("0x1002").machine(environment=environment)
    findings = [Finding("icd-empty", "error", "/etc/OpenCL/vendors/a.icd is empty", {})]
    found = Report(machine, listing_of(GPU, notes=("of wolf: /home/jane/x.so",)), findings)
    card = Card(GPU, ended="the time was over at: rounds of wide")
    case = {"case": "scan", "chosen": True, "problem": "", "seconds": 0.1}
    card.self_test = SelfTest(GPU, [case])
    card.steps = [
        step("logistic"),
        step("exact", problem=f"fails: {SECRET}/deep/driver.c: jane@wolf", equal=False),
        step("cox", equal=False),
        step("exact", "work-groups of 64"),
        step("cox", "work-groups of 64", equal=False),
        step("small", timed=True),
    ]
    card.machine = {
        "devices": [make_device("opencl:0:0")],
        "shapes": [SHAPE],
        "results": [make_result("opencl:0:0")],
    }
    found.cards.append(card)
    return found


def test_nothing_private_is_in_it(report):
    text = report.text(finished=True)
    for private in ("jane", "wolf", "secret", "/data", "/work", "deep", "vendors/"):
        assert private not in text.replace("/etc/OpenCL/vendors/", ""), private
    assert "<folder>/driver.c" in text
    assert "/etc/OpenCL/vendors/a.icd is empty" in text
    assert "radeonsi" in text


def test_the_name_is_only_the_one_that_was_given(report):
    assert json.loads(report.text(finished=True))["machines"][0]["by"] == ""
    report.by = "Jane of wolf"
    assert json.loads(report.text(finished=True))["machines"][0]["by"] == "Jane of wolf"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/opt/firm/x/libfoo.so: no", "<folder>/libfoo.so: no"),
        ("PATH=/a/b:/c/d", "PATH=<folder>:<folder>"),
        ("in '/data/some', (/x/y.py)", "in '<folder>', (<folder>/y.py)"),
        (r"C:\Firm\x\lib.dll fails", "<folder>/lib.dll fails"),
        ("~/.cache/a", "<folder>"),
        ("/usr/lib/x.so, /dev/dri/renderD128, /opt/rocm-6.4/lib", None),
        ("20/20 ms/round, 1 / 2, and/or, https://host/a/b", None),
    ],
)
def test_folders_are_taken_out(text, clean):
    assert without_folders(text) == (text if clean is None else clean)


def test_a_report_is_a_comparison_that_can_be_merged(report, tmp_path):
    paths = []
    for day in range(12):
        report.head["date"] = f"2026-01-{day + 1:02} 00:00 UTC"
        paths.append(save(tmp_path / f"{day}.json", report.document(finished=True)))
    assert schema.check(schema.load(paths[0])) == ""
    merged = merge(paths)
    assert len(merged["machines"]) == 12
    assert [len(summaries(machine)) for machine in merged["machines"]] == [1] * 12
    (compared,) = agreement.compare(merged)
    assert (compared.state, len(compared.rows)) == ("same", 12)


def test_a_report_without_a_device_can_be_sent_too(report):
    report.cards.clear()
    document = report.document(finished=False)
    assert schema.check(document) == ""
    assert summaries(document["machines"][0]) == []


def test_the_summary(report):
    (found,) = summaries(report.document(finished=True)["machines"][0])
    assert found.device == "Radeon"
    assert found.doctor == "passed, 1 of 1"
    assert found.digests == "1 of 20, 17 not tried"
    assert found.rounds == {"small": 1.5}
    assert found.problems == [
        "training exact: fails: <folder>/driver.c: <user>@<host>", "training cox: another model",
    ]  # fmt: skip
    assert found.safer == ["work-groups of 64: 1 of 2 trainings give the right model; not cox"]
    assert not found.good
