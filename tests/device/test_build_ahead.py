"""A helper process compiles kernels that a fit will launch."""

import io
import json
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from pyopencl_gbdt.device import early_start, helper_process
from pyopencl_gbdt.device.opencl import build_ahead, compile_ahead
from pyopencl_gbdt.device.opencl.pocl import NO_HEADER, POCL
from pyopencl_gbdt.device.opencl.source import with_single_copies
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.signature import argument_types

SOURCE = """
KERNEL(1) fill(const u32 n, const f32 value, GLOBAL f32* RESTRICT out) {
    for (u32 i = GROUP_ID; i < n; i++) out[i] = value;
}
"""
KERNELS = [("a", []), ("b", [])]


def test_planned_programs_come_first_and_of_the_others_the_last_kernel(monkeypatch):
    programs = [
        [-1, "one", "", [["a", []], ["b", []]]],
        [0, "two", "", [["c", []], ["d", []]]],
        [1, "three", "", [["e", []]]],
        None,
        [-1, "behind the end", "", [["f", []]]],
    ]
    orders = compile_ahead.BuildOrders()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, programs))))
    orders.read()
    assert orders.next() is None  # what is left is the fit's
    orders.ended = False
    found = [orders.next() for _ in range(5)]
    assert [(number, name) for number, _, _, name, _ in found] == [
        (0, "c"), (0, "d"), (1, "e"), (-1, "b"), (-1, "a"),
    ]  # fmt: skip


@pytest.fixture
def helper(monkeypatch):
    """A helper whose process is the test: ``said()`` and ``answer(line)``."""
    to_helper, from_helper = os.pipe(), os.pipe()
    process = SimpleNamespace(
        stdin=os.fdopen(to_helper[1], "wb"), stdout=os.fdopen(from_helper[0], "rb"),
        wait=lambda *_: 0,
    )  # fmt: skip
    monkeypatch.setattr(build_ahead.helper_process, "start", lambda *_, **options: process)
    monkeypatch.setattr(build_ahead.atexit, "register", lambda function: None)
    found = build_ahead.BuildHelper("", 0)
    orders, answers = os.fdopen(to_helper[0], "rb"), os.fdopen(from_helper[1], "wb", buffering=0)
    found.said = lambda: json.loads(orders.readline())
    found.answer = lambda number: answers.write(b"%d\n" % number)
    found.dies = answers.close
    yield found
    answers.close()
    found.close()
    orders.close()


def planned(letter, length, compiled):
    return build_ahead.Planned(letter * length, "", KERNELS, lambda: compiled.append(letter))


def test_both_processes_get_a_share_of_the_programs(helper):
    """Lengths 3 + 3 + 1 and 5 + 2: the helper has the longest one, then whoever has less."""
    compiled = []
    lengths = {"p": 3, "q": 5, "r": 1, "s": 3, "t": 2}
    before = {
        letter: helper.plan(planned(letter, length, compiled)) for letter, length in lengths.items()
    }
    again = helper.plan(planned("q", 5, compiled))  # another fit has the same program
    before["p"]()  # its own: the fit builds it
    assert [helper.said()[:2] for _ in range(2)] == [[1, "qqqqq"], [4, "tt"]]
    assert compiled == []
    waits = [threading.Thread(target=wait) for wait in (before["q"], again)]
    for thread in waits:
        thread.start()
    for number in (-1, 1, 4, 4):
        helper.answer(number)
    assert any(thread.is_alive() for thread in waits)
    helper.answer(1)
    for thread in waits:
        thread.join(30)
        assert not thread.is_alive()
    assert compiled == ["p", "r", "s"]  # while it waits
    before["t"]()
    assert helper.plan(planned("u", 9, compiled)) is None  # too late


def test_a_helper_that_dies_is_not_waited_for(helper):
    before = helper.plan(planned("p", 1, []))
    helper.dies()
    before()


def test_a_helper_that_hangs_is_waited_for_a_while(helper, monkeypatch):
    monkeypatch.setattr(build_ahead, "_LONGEST", 0.01)
    helper.plan(planned("p", 1, []))()
    assert helper.said()[1] == "p"


def test_it_leaves_a_compiled_kernel_in_the_folder(device, monkeypatch, tmp_path):
    """The arrays are null: the kernel must not run."""
    if device.caps.platform != POCL:
        pytest.skip("other drivers build whole programs at once")
    monkeypatch.setattr("pyopencl_gbdt.device.drivers.folders.pocl_folder", lambda: tmp_path)
    fast = header("dialect_opencl_builtins.h") + header("dialect_opencl_fast_build.h")
    text = fast + with_single_copies(header("dialect_opencl.h") + SOURCE)
    number = int(device.caps.device_id.rsplit(":", 1)[1])
    helper = build_ahead.BuildHelper(early_start._module_of_pyopencl(), number)
    try:
        helper.add(text, f"-cl-std=CL1.2 {NO_HEADER}", argument_types(SOURCE))
        until = time.monotonic() + 60
        while not (found := list(tmp_path.rglob("fill.so"))) and time.monotonic() < until:
            assert helper.process.poll() is None
            time.sleep(0.05)
        assert found
        helper.launched()  # nothing is bound yet
        assert helper.process.poll() is None
        helper.binds()
        helper.launched()
        assert helper.process.wait(30) == 0
    finally:
        helper.end()


#: Helpers whose compilers hang.
HANGS = {
    "build_ahead": (
        "import time\nfrom pyopencl_gbdt.device.opencl import compile_ahead\n"
        "compile_ahead.Compiler.compile = lambda *_: time.sleep(600)\n"
        "compile_ahead.compile_kernels(sys.argv[3], int(sys.argv[2].rsplit(':', 1)[1]))",
        [0, SOURCE, "", [["fill", []]]],
    ),
    "compile_apart": (
        "import time, pyopencl; pyopencl.Program = lambda *_: time.sleep(600)\n"
        "from pyopencl_gbdt.device import helpers; helpers.compile_programs(sys.argv[2])",
        ["", SOURCE, [], []],
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", HANGS)
def test_a_helper_ends_where_the_process_that_asked_is_killed(device, name):
    """Also while it compiles; the system closes the pipe of a process that was killed."""
    if device.caps.platform != POCL:
        pytest.skip("one of the two helps PoCL alone")
    code, line = HANGS[name]
    file = early_start._module_of_pyopencl()
    helper = helper_process.start(
        code, device.caps.device_id, file, stdin=subprocess.PIPE, variables={}
    )
    try:
        helper.stdin.write(json.dumps(line).encode() + b"\n")
        helper.stdin.close()
        assert helper.wait(60) == 0
    finally:
        helper.kill()
        helper.wait()


@pytest.mark.parametrize(("off", "cores"), [("off", 4), ("", 1)])
def test_it_starts_where_it_may_and_a_second_core_is_there(monkeypatch, off, cores):
    monkeypatch.setenv(build_ahead.ENVIRONMENT, off)
    monkeypatch.setattr(build_ahead, "usable_cores", lambda: cores)
    monkeypatch.setattr(build_ahead, "_helper", None)
    build_ahead.start("", 0)
    assert build_ahead.current() is None


def test_the_types_of_arguments():
    assert argument_types(SOURCE) == [("fill", ["<u4", "<f4", ""])]


FIT = """
import numpy as np
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.model import to_json
X = np.random.default_rng(1).normal(size=(300, 4)).astype(np.float32)
model = train({"device": "cpu", "verbosity": 0}, Dataset(X, X[:, 0]), 2)
helper = build_ahead.current()
print(sum(one.is_own for one in helper._planned) if helper else 0)
print(to_json(model.ensemble))
"""


@pytest.mark.thorough
def test_a_model_is_the_same_where_both_processes_compile(device, tmp_path):
    if device.caps.platform != POCL or device.caps.kind != "cpu":
        pytest.skip("other drivers build whole programs at once")
    found = {}
    for ahead in ("on", "off"):
        folders = {name: str(tmp_path / ahead / name) for name in ("XDG_CACHE_HOME", "HOME")}
        variables = {**os.environ, **folders, build_ahead.ENVIRONMENT: ahead}
        done = subprocess.run(
            [sys.executable, "-c", FIT], env=variables, capture_output=True, text=True, check=True
        )
        found[ahead] = done.stdout.split("\n", 1)
    assert found["on"][1] == found["off"][1]
    if build_ahead.usable_cores() > 1:
        assert int(found["on"][0]) > 0
        assert list(tmp_path.rglob("grow.so"))
        assert not list(tmp_path.rglob("set_leaf_rate.so"))  # nothing launches it
