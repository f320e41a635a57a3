"""A launch of one work-group as the end of the one before it: the same values by one launch."""

from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt.device import last_group
from pyopencl_gbdt.device.followed_source import NotFollowedError, followed_source
from pyopencl_gbdt.device.last_group import followed
from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.device.opencl.source import INLINED
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.errors import KernelBuildError

SQUARES = """
FN u32 changed(const u32 value) { return value * value; }

KERNEL(8) squares(const u32 n, GLOBAL const u32* RESTRICT values, GLOBAL u32* RESTRICT found) {
    for (u32 i = GLOBAL_ID; i < n; i += 8 * N_GROUPS) found[i] = changed(values[i]);
}
"""
#: Its function and its arrays have the names of the other's; it reads what the others wrote.
TOTAL = """
typedef struct { u32 sum, count; } total_t;

FN u32 changed(const total_t total) { return total.sum + total.count; }

BRIEF
KERNEL(8) total(
        const u32 n, const u32 added, GLOBAL const u32* RESTRICT found, GLOBAL u32* values) {
    LOCAL_ARRAY(u32, shared, 8);
    total_t all;
    all.sum = 0, all.count = added;
    for (u32 i = GROUP_ID * 8 + LOCAL_ID; i < n; i += 8 * N_GROUPS) all.sum += found[i];
    shared[LOCAL_ID] = all.sum;
    BARRIER();
    if (LOCAL_ID != 0) return;
    for (u32 i = 1; i < 8; i++) all.sum += shared[i];
    values[0] = changed(all); /* one of those that were squared */
}

KERNEL(8) other(GLOBAL u32* values) { values[LOCAL_ID] = 0; }
"""
N = 1000
PAIRS = {"squares": "total"}


@pytest.fixture
def bound(device, monkeypatch):
    """Return a function that binds both kernels, with arrays of their own."""
    words = header(f"dialect_{device.caps.api}.h")
    monkeypatch.setattr(
        type(device.programs), "source", lambda bundle, template, *_, **__: words + TOTAL
    )
    monkeypatch.setattr(last_group, "_headers", lambda api, *_: (f"dialect_{api}.h",))

    def build(name, text):
        program = device.build_rendered(name, words + text, 8, {})
        program.kernel = program.template = name
        return program

    first, second = build("squares", SQUARES), build("total", TOTAL)

    def bind(groups=5, then=1):
        values = device.upload(np.arange(N, dtype=np.uint32))
        found = device.zeros(N, np.uint32)
        return values, [
            first.bind("squares", groups, n=N, values=values, found=found),
            second.bind("total", then, n=N, added=3, found=found, values=values),
        ]

    return bind


@pytest.mark.parametrize("groups", [5, (3, 2), 1])
def test_the_last_group_does_what_another_launch_did(device, bound, groups):
    arrived = device.zeros(1, np.uint32)
    values, launches = bound(groups)
    host = Launch("host", lambda: None)
    (one, after) = followed([*launches, host], PAIRS, arrived)
    assert (one.name, after) == ("squares_total", host)
    if device.caps.platform == POCL:  # else threads would share local arrays
        program, ask = one.enqueue.program.program, cl.program_build_info.OPTIONS
        assert INLINED in program.get_build_info(device.cl_device, ask)
    before = device.n_launches
    for turn in range(20):  # the counter of work-groups begins at 0 each time
        values.set(np.arange(turn, N + turn, dtype=np.uint32))
        one()
        wanted = int((np.arange(turn, N + turn, dtype=np.uint64) ** 2).sum() + 3) % 2**32
        assert values.get()[0] == wanted, turn
    assert arrived.get()[0] == 0
    assert device.n_launches == before + 20


def test_what_cannot_be_joined_stays(device, bound, monkeypatch):
    arrived = device.zeros(1, np.uint32)
    _, launches = bound()
    _, wide = bound(then=2)
    host = Launch("host", lambda: None)
    for actions in ([*reversed(launches)], wide, [launches[0], host, launches[1]], [host]):
        assert followed(actions, PAIRS, arrived) == actions
    assert followed(launches, {}, arrived) == launches

    def fails(*_):
        raise KernelBuildError("too many registers")

    monkeypatch.setattr(type(device), "build_rendered", fails)
    assert followed(launches, PAIRS, arrived) == launches


FIRST = "KERNEL(8) a(GLOBAL u32* RESTRICT x) {\n    x[0] = 1;\n}\n"
THEN = "KERNEL(8) b(GLOBAL const u32* RESTRICT y, const u32 n) {\n    (void)y[n];\n}\n"


def joined(first, shared=(), then=THEN):
    return followed_source(first, "a", then, "b", (), tuple(shared), alone=False)


def test_arguments_that_both_have_are_one():
    apart, together = joined(FIRST), joined(FIRST, {"y": "x"}.items())
    assert "a_b(GLOBAL u32* x, GLOBAL const u32* y_then, const u32 n_then," in apart
    assert "a_b(GLOBAL u32* x, const u32 n_then, GLOBAL u32* arrived_groups)" in together
    assert "GLOBAL const u32* y = x;" in together
    reads = FIRST.replace("GLOBAL", "GLOBAL const", 1)
    assert "a_b(GLOBAL const u32* RESTRICT x," in joined(reads)
    writes = THEN.replace("GLOBAL const", "GLOBAL")
    assert "a_b(GLOBAL u32* x," in joined(reads, {"y": "x"}.items(), writes)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (FIRST.replace("    x", "    if (x[0]) return;\n    x"), "returns before its end"),
        ("#define n 7\n" + FIRST, "defines words"),
        (FIRST.replace(" a(", " c("), "no kernel 'a'"),
    ],
)
def test_sources_that_cannot_be_joined(first, why):
    with pytest.raises(NotFollowedError, match=why):
        joined(first)


def test_an_argument_that_the_first_kernel_changes_is_not_shared():
    class Values:
        handle, dtype = 0, np.dtype(np.uint32)

    values = Values()

    def call(text, name, *args):
        program = SimpleNamespace(source=text)
        return SimpleNamespace(program=program, name=name, args=args)

    then = call(THEN, "b", values, 3)
    assert last_group._shared(call(FIRST, "a", values), then) == {"y": "x"}
    moved = FIRST.replace("    x", "    x += 3;\n    x")
    assert last_group._shared(call(moved, "a", values), then) == {}
