"""Times: one clock, one rule of warming up, medians and quartiles."""

import re
from pathlib import Path

import pytest

from pyopencl_gbdt.device import timing
from pyopencl_gbdt.device.timing import Stopwatch, Times, clock, clocked, in_turns, repeated

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tick(monkeypatch):
    """``tick(s)`` lets s seconds pass, half of them with a busy processor."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing.time, "process_time", lambda: now[0] / 2)

    def tick(seconds):
        now[0] += seconds

    return tick


def test_times_have_a_middle_and_a_spread():
    times = Times((3.0, 1.0, 2.0))
    assert (times.median, times.fastest, times.slowest) == (2.0, 1.0, 3.0)
    assert times.quartiles == (1.5, 2.5)
    assert Times((4.0,)).quartiles == (4.0, 4.0)


def test_a_run_and_its_parts(tick):
    assert clock(tick, 2.0) == 2.0
    assert clocked(tick, 2.0) == (2.0, 1.0)
    for processor, part in ((False, 3.0), (True, 1.5)):
        watch = Stopwatch(processor=processor)
        tick(3.0)
        assert watch.lap() == part
        assert watch.lap() == 0.0


def test_the_first_run_warms_up_and_preparing_takes_no_time(tick):
    runs, prepared = iter((100.0, 4.0, 2.0)), []

    def prepare():
        prepared.append(tick(7.0))

    assert repeated(lambda: tick(next(runs)), 2, prepare=prepare, per=2) == Times((2.0, 1.0))
    assert len(prepared) == 3


def test_work_takes_turns_and_the_first_turn_warms_up():
    order = []

    def work(name):
        order.append(name)
        return float(len(order))

    found = in_turns([lambda: work("a"), lambda: work("b")], 2)
    assert order == ["a", "b"] * 3
    assert found == [Times((3.0, 5.0)), Times((4.0, 6.0))]


@pytest.mark.skipif(not (ROOT / "bench").is_dir(), reason="needs a checkout")
def test_benches_tuning_and_all_rooms_below_devices_have_no_other_clock():
    files = [
        path for folder in ("bench", "pyopencl_gbdt") for path in (ROOT / folder).rglob("*.py")
    ]
    devices = ROOT / "pyopencl_gbdt/device"
    for path in files:
        if devices in path.parents and path.parent.name != "variants":
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(perf_counter|process_time)\(", text), path
