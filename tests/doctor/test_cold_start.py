"""Cold starts in parts: each moment belongs to one part, and processes that fail are told of."""

import json
import sys
import types

import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device.discovery import find
from pyopencl_gbdt.doctor import cold_start
from pyopencl_gbdt.doctor.cold_start import PARTS, TimeParts
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE
from tests.processes import QUICK_BUILDS


@pytest.fixture
def tiny(monkeypatch):
    """Train 3 rounds of 200 x 3, by kernels that are built quickly."""
    for name, value in QUICK_BUILDS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cold_start.measure, "__defaults__", ((200, 3, 3),))


def test_a_moment_belongs_to_the_innermost_part():
    moments = iter([11, 12, 15, 19, 26, 27])
    parts = TimeParts(10, lambda: next(moments))
    with parts.during("rounds"), parts.during("programs"):
        pass
    parts.end("rest")
    found = {part: seconds for part, seconds in parts.seconds.items() if seconds}
    assert found == {"start": 1, "rest": 1 + 1, "rounds": 3 + 7, "programs": 4}
    assert sum(found.values()) == 17


def test_calls_are_counted_even_if_they_fail(monkeypatch):
    class Thing:
        def work(self, *, fails):
            if fails:
                raise ZeroDivisionError
            return 5

    made = types.SimpleNamespace(Thing=Thing)
    monkeypatch.setitem(sys.modules, "made_here", made)
    moments = iter(range(1, 10))
    parts = TimeParts(0, lambda: next(moments))
    parts.watch("set-up", "made_here", "Thing.work")
    assert Thing().work(fails=False) == 5
    with pytest.raises(ZeroDivisionError):
        Thing().work(fails=True)
    assert parts.seconds["set-up"] == 2


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny")
def test_a_table_and_a_file(tmp_path, capsys):
    file = tmp_path / "times.json"
    assert main(["doctor", "--time", "--device", TEST_DEVICE, "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = json.loads(file.read_text())
    assert found["device"] == find(TEST_DEVICE).device_id
    assert [found[key] for key in ("format", "rows", "features", "rounds")] == [1, 200, 3, 3]
    for state in ("empty", "kept"):
        assert set(found[state]) == {*PARTS, "modules"}
        assert all(found[state][part] > 0 for part in PARTS)
        assert 100 < found[state]["modules"] < 400
    assert found["as_fits_run"] > 0
    told = [line.split(":")[0].strip() for line in lines if line.startswith("  ") and ":" in line]
    assert told == list(PARTS)


def test_a_process_that_fails_or_hangs(monkeypatch):
    with pytest.raises(DeviceError, match=r"'nowhere:0': a new process that trains ended with 1: "):
        cold_start.measure("nowhere:0", (200, 3, 1))
    monkeypatch.setattr(cold_start, "_PATIENCE", 0.01)
    with pytest.raises(DeviceError, match=r"took longer than 0.01 s; run pyopencl-gbdt doctor wi"):
        cold_start.measure(TEST_DEVICE, (200, 3, 1))
