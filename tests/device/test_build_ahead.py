"""A helper process compiles kernels that a fit will launch."""

import io
import json
import subprocess
import time

import pytest

from pyopencl_gbdt.device import helper_process, helpers
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.opencl.source import NO_HEADER, POCL, with_single_copies
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.signature import argument_types

SOURCE = """
KERNEL(1) fill(const u32 n, const f32 value, GLOBAL f32* RESTRICT out) {
    for (u32 i = GROUP_ID; i < n; i++) out[i] = value;
}
"""


def test_it_begins_with_the_first_kernel_and_turns_to_the_last(monkeypatch):
    programs = [["one", [], [["a", []], ["b", []]]], ["two", [], [["c", []], ["d", []]]]]
    orders = helpers.BuildOrders()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, programs))))
    orders.read()
    orders.ended = False
    assert orders.next()[2] == "a"
    orders.turned = True
    assert [orders.next()[2] for _ in range(2)] == ["d", "c"]
    orders.ended = True
    assert orders.next() is None  # what is left is the fit's


def test_it_leaves_a_compiled_kernel_in_the_folder(device, monkeypatch, tmp_path):
    """The arrays are null: the kernel must not run."""
    if device.caps.platform != POCL:
        pytest.skip("other drivers build whole programs at once")
    monkeypatch.setattr("pyopencl_gbdt.device.drivers.folders.pocl_folder", lambda: tmp_path)
    fast = header("dialect_opencl_builtins.h") + header("dialect_opencl_fast_build.h")
    text = fast + with_single_copies(header("dialect_opencl.h") + SOURCE)
    helper = build_ahead.BuildHelper(int(device.caps.device_id.rsplit(":", 1)[1]))
    try:
        helper.add(text, ["-cl-std=CL1.2", NO_HEADER], argument_types(SOURCE))
        until = time.monotonic() + 60
        while not (found := list(tmp_path.rglob("fill.so"))) and time.monotonic() < until:
            assert helper.process.poll() is None
            time.sleep(0.05)
        assert found
        helper.turn()
        helper.launched()
        assert helper.process.wait(30) == 0
    finally:
        helper.end()


#: A helper whose compiler hangs.
HANGS = (
    "import time, pyopencl; pyopencl.Program = lambda *_: time.sleep(600)\n"
    "from pyopencl_gbdt.device import helpers; helpers.{0}({1})"
)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("function", "argument", "line"),
    [
        ("compile_kernels", "int(sys.argv[2].rsplit(':', 1)[1])", [SOURCE, [], [["fill", []]]]),
        ("compile_programs", "sys.argv[2]", ["", SOURCE, [], []]),
    ],
)
def test_a_helper_ends_where_the_process_that_asked_is_killed(device, function, argument, line):
    """Also while it compiles; the system closes the pipe of a process that was killed."""
    if device.caps.platform != POCL:
        pytest.skip("one of the two helps PoCL alone")
    code = HANGS.format(function, argument)
    helper = helper_process.start(code, device.caps.device_id, stdin=subprocess.PIPE, variables={})
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
    build_ahead.start(0)
    assert build_ahead.current() is None


def test_the_types_of_arguments():
    assert argument_types(SOURCE) == [("fill", ["<u4", "<f4", ""])]
