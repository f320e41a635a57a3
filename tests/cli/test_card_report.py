"""``pyopencl-gbdt doctor --report`` at the command line."""

import json
from functools import partial

import pytest

from pyopencl_gbdt import _version
from pyopencl_gbdt.cards import collect
from pyopencl_gbdt.cards.report import summaries
from pyopencl_gbdt.cards.trainings import FIRST, TIMED, TRAININGS
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.card_report import FILE
from pyopencl_gbdt.cli.output import WIDTH
from pyopencl_gbdt.comparison import schema
from pyopencl_gbdt.doctor import watch
from pyopencl_gbdt.doctor.findings import Listing
from pyopencl_gbdt.messages import open_an_issue
from tests.cards.workers import worker
from tests.conftest import TEST_DEVICE
from tests.doctor.machines import CPU, GPU, listing_of
from tests.processes import QUICK_BUILDS


def passed_self_test(device, seconds, show, keep, raises=None):
    """Stand for a self-test of one case."""
    case = {"case": "scan", "chosen": True, "problem": "", "seconds": 0.1}
    run = watch.SelfTest(device, [case], unfinished=raises is not None)
    keep(run)
    if raises is not None:
        raise raises
    return run


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Call it with what is listed, what goes wrong in the steps, and what the self-test raises."""
    monkeypatch.chdir(tmp_path)

    def be(listing, act=None, raises=None, **more):
        monkeypatch.setattr(watch, "list_devices", lambda spec: listing)
        monkeypatch.setattr(collect, "run_self_test", partial(passed_self_test, raises=raises))
        monkeypatch.setattr(collect, "remember", lambda run: None)
        monkeypatch.setattr(collect, "_WORKER", worker(act, **more))

    return be


def read(path=FILE):
    (found,) = schema.load(str(path))["machines"]
    return found


def test_a_good_card(machine, capsys):
    machine(listing_of(GPU))
    assert main(["doctor", "--report", "--by", "Jane"]) == 0
    out = capsys.readouterr().out
    for words in (
        "Radeon", "passed, 1 of 1", "20 of 20 models", "small 1.5 ms", f"Saved    {FILE}",
        "open an issue in the repository where you found this library", "passed all checks",
    ):  # fmt: skip
        assert words in " ".join(out.split()) or words in out, words
    assert max(map(len, out[out.index("Reports") :].splitlines())) <= WIDTH
    found = read()
    assert found["finished"]
    (summary,) = summaries(found)
    assert (summary.good, summary.by, summary.device) == (True, "Jane", "Radeon")


def test_a_card_that_fails_names_the_safer_ways(machine, capsys):
    machine(listing_of(GPU), {"exact": "crash", "exact|work-groups of 64": "none"})
    assert main(["doctor", "--report", "a.json"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "training exact: ends the process by signal 11" in out
    assert "work-groups of 64: 1 of 1 trainings give the right model" in out
    assert "unoptimised kernels: 0 of 1 trainings give the right model; not exact" in out
    assert len(summaries(read("a.json"))[0].safer) == 3


@pytest.mark.thorough
def test_each_device_has_a_card(machine):
    machine(listing_of(CPU, GPU))
    assert main(["doctor", "--report"]) == 0
    assert [one.device for one in summaries(read())] == ["Radeon", "pthread"]


def test_an_interrupted_report_holds_what_is_known(machine, capsys):
    machine(listing_of(GPU), raises=KeyboardInterrupt())
    assert main(["doctor", "--report"]) == 130
    assert f"{FILE} holds what is known so far" in capsys.readouterr().err
    found = read()
    assert not found["finished"]
    assert [step["name"] for step in found["cards"][0]["steps"]] == [next(iter(TRAININGS))]
    assert found["doctor"]["self_test"][0]["cases"][0]["case"] == "scan"
    assert not summaries(found)[0].good


def test_a_slow_compiler_is_told(machine, capsys):
    machine(listing_of(GPU), build=90.0)
    assert main(["doctor", "--report", "--minutes", "3"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "A kernel is built in 10.0 s here, so all checks take about 19 minutes" in out
    assert "they end after 3 minutes" in out


def test_no_device_is_worth_a_report(machine, capsys):
    machine(Listing(failure="ends the process by signal 11"))
    assert main(["doctor", "--report"]) == 1
    assert "Send it" in capsys.readouterr().out
    found = read()
    assert found["cards"] == []
    assert found["doctor"]["listing_failure"] == "ends the process by signal 11"


def test_the_address_stands_in_one_place(monkeypatch):
    assert _version.PROJECT_URL == "" or _version.PROJECT_URL in open_an_issue()
    monkeypatch.setattr("pyopencl_gbdt.messages.PROJECT_URL", "https://example.org/x")
    assert open_an_issue() == "open an issue in https://example.org/x"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--minutes", "3"], "--minutes needs --report; add --report"),
        (["--by", "Jane"], "--by needs --report"),
        (["--report", "--minutes", "0"], "--minutes 0: expected 0.1..1440"),
        (["--report", "--json", "a.json"], "leave out --json"),
        (["--report", "--time-limit", "5"], "has --minutes; leave out --time-limit"),
        (["--report", "no/such/a.json"], "create it first"),
    ],
)
def test_wrong_options(arguments, words, capsys):
    assert main(["doctor", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.thorough
def test_a_real_device(tmp_path, capsys, monkeypatch):
    """Some steps, by the real worker; each training and the self-test have tests of their own."""
    for name, value in QUICK_BUILDS.items():
        monkeypatch.setenv(name, value)
    some = {FIRST: TRAININGS[FIRST]}
    monkeypatch.setattr(collect, "TRAININGS", some)
    monkeypatch.setattr("pyopencl_gbdt.cards.report.TRAININGS", some)
    monkeypatch.setattr(collect, "TIMED", {"small": TIMED["small"]})
    monkeypatch.setattr(collect, "run_self_test", passed_self_test)
    saved = tmp_path / "card.json"
    words = ["--report", str(saved), "--device", TEST_DEVICE, "--minutes", "30"]
    assert main(["doctor", *words]) == 0
    (summary,) = summaries(read(saved))
    assert summary.good
    assert summary.digests == "1 of 1"
    assert summary.rounds.keys() == {"small"}
    assert len(json.dumps(read(saved))) < 60_000
