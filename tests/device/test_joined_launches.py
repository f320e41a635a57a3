"""Launches of several fits as one: the same values, and launches that differ stay apart."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt.device.arena import joint_arrays
from pyopencl_gbdt.device.joined_launches import _layout, joined, packed
from pyopencl_gbdt.device.joined_source import (
    ArgumentLayout,
    RowByValue,
    RowOfTable,
    joined_source,
)
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.errors import KernelBuildError

KERNEL = """
/* KERNEL(8) not_one(u32 a) { */
KERNEL(8) shifted(GLOBAL const u32* RESTRICT values, const u32 shift, GLOBAL u32* found) {
    if (GLOBAL_ID < 12) found[GLOBAL_ID] = values[GLOBAL_ID] + shift;
}
"""


WANTED = """
KERNEL(8) shifted(GLOBAL u8* fits_0_0, GLOBAL u8* fits_0_1, GLOBAL u8* fits_1,
    GLOBAL const u64* RESTRICT fits_table, const u32 fits_first) {
    GLOBAL const u64* fits_row = fits_table + fits_first + 3 * Z;
    GLOBAL u8* fits_0 = Z == 0 ? fits_0_0 : fits_0_1;
    GLOBAL const u32* RESTRICT values = (GLOBAL const u32*)(fits_0 + fits_row[0]);
    const u32 shift = (u32)fits_row[1];
    GLOBAL u32* found = (GLOBAL u32*)(fits_1 + fits_row[2]);
    if (GLOBAL_ID < 12) found[GLOBAL_ID] = values[GLOBAL_ID] + shift;
}
"""


def test_every_parameter_is_chosen_by_the_place():
    layout = ArgumentLayout((0, None, 1), ((0, 1), (0, 0)))
    found = joined_source(KERNEL, 2, RowOfTable("Z"), (("shifted", layout),))
    assert found.split() == WANTED.split()
    assert joined_source(KERNEL, 2, RowOfTable("Z"), ()).split() == []


def test_an_allocation_of_several_fits_is_one_parameter():
    layout = ArgumentLayout((0, None, 1), ((0, 1, 0), (0, 0, 0)))
    found = joined_source(KERNEL, 3, RowOfTable("Z"), (("shifted", layout),))
    assert "(GLOBAL u8* fits_0_0, GLOBAL u8* fits_0_1, GLOBAL u8* fits_1," in found
    assert "fits_0 = Z == 0 ? fits_0_0 : Z == 1 ? fits_0_1 : fits_0_0;" in found


ALONE = """
typedef struct { ulong at[1]; } words_1;
BRIEF KERNEL(8) first(const words_1 fits_row) { const u32 one = (u32)fits_row.at[0]; }
KERNEL(8) second(GLOBAL u8* fits_0, const words_1 fits_row) {
    GLOBAL f32* all = (GLOBAL f32*)(fits_0 + fits_row.at[0]);
    all[0] = 0;
}
"""


def test_the_row_of_a_fit_alone_is_one_argument():
    source = """
BRIEF KERNEL(8) first(const u32 one) { }
KERNEL(8) second(GLOBAL f32* all) {
    all[0] = 0;
}
"""
    layouts = ("first", ArgumentLayout((None,), ())), ("second", ArgumentLayout((0,), ((0,),)))
    found = joined_source(source, 1, RowByValue(), layouts)
    assert found.split() == ALONE.split()


@pytest.fixture
def fits(device):
    """Return the program, and for each of three fits its values, its result and its launch."""
    dialect = "cuda" if device.caps.api == "cuda" else "opencl"
    source = header(f"dialect_{dialect}.h") + KERNEL
    program = device.build_rendered("shifted", source, 8, {})
    program.kernel = "shifted"
    found = []
    for fit in range(3):
        values, into = np.arange(12, dtype=np.uint32) * (fit + 1), device.zeros(12, np.uint32)
        own = program.bind("shifted", 2, values=device.upload(values), shift=fit, found=into)
        found.append((values + fit, into, own))
    return program, found


def check(fits):
    for wanted, into, _ in fits:
        np.testing.assert_array_equal(into.get(), wanted)


def test_launches_that_are_alike_are_one(device, fits):
    launches, host = [one[2] for one in fits[1]], Launch("host", lambda: None)
    actions = joined([[own, host] for own in launches])
    assert [action.name for action in actions] == ["shifted", "host", "host", "host"]
    before = device.n_launches
    for action in actions:
        action()
    assert device.n_launches == before + 1
    check(fits[1])


NUMBERS = """
KERNEL(8) shown(GLOBAL i64* found, const i64 low, const f32 part, const i32 less, const u8 few) {
    if (GLOBAL_ID == 0) {
        found[0] = low;
        found[1] = (i64)as_u32(part);
        found[2] = less;
        found[3] = few;
    }
}
"""


def test_arrays_of_one_allocation_and_numbers_of_each_type(device):
    """The kernel takes the allocation of all fits, the table and a place in it."""
    dialect = "cuda" if device.caps.api == "cuda" else "opencl"
    source = header(f"dialect_{dialect}.h") + NUMBERS
    program = device.build_rendered("shown", source, 8, {})
    program.kernel = "shown"
    numbers = [(-(2**62), 0.1, -5, 7), (3, -2.5, 2**31 - 1, 255)]
    planned = {"0": ((4,), np.dtype(np.int64)), "1": ((4,), np.dtype(np.int64))}
    of_fits = list(joint_arrays(device, planned).values())
    launches = [
        program.bind("shown", 1, into, *own) for into, own in zip(of_fits, numbers, strict=True)
    ]
    (one,) = joined([[launch] for launch in launches])
    assert len(one.enqueue.args) == 1 + 2
    one()
    for into, (low, part, less, few) in zip(of_fits, numbers, strict=True):
        bits = int(np.float32(part).view(np.uint32))
        assert into.get().tolist() == [low, bits, less, few]


def test_one_launch_passes_its_allocation_and_its_words(device):
    if device.caps.api != "opencl":
        pytest.skip("CUDA's launches keep their arguments")
    program = device.build_rendered("shown", header("dialect_opencl.h") + NUMBERS, 8, {})
    program.kernel = "shown"
    planned = {"0": ((4,), np.dtype(np.int64)), "1": ((4,), np.dtype(np.int64))}
    numbers = [(-(2**62), 0.1, -5, 7), (3, -2.5, 2**31 - 1, 255)]
    arrays = list(joint_arrays(device, planned).values())
    launches = [
        program.bind("shown", 1, into, *own) for into, own in zip(arrays, numbers, strict=True)
    ]
    host = Launch("host", lambda: None)
    seen = []
    found = packed([launches[0], host, launches[1]], lambda made: seen.append(made) or made)
    assert found[1] is host
    assert [one.enqueue.program for one in found[::2]] == 2 * seen
    assert [len(one.enqueue.args) for one in found[::2]] == [2, 2]
    for action in found:
        action()
    for into, (low, part, less, few) in zip(arrays, numbers, strict=True):
        bits = int(np.float32(part).view(np.uint32))
        assert into.get().tolist() == [low, bits, less, few]


def test_what_lies_together_in_all_launches_of_a_kernel():
    def step(together, *wholes):
        return SimpleNamespace(together=together, wholes=wholes, n_fits=2)

    first = step([0, None, 0, 3], (0, 1), (0, 0), (0, 1), (0, 0))
    assert _layout([first]) == ArgumentLayout((0, None, 0, 1), ((0, 1), (0, 0)))
    other = step([0, None, 2, 3], (0, 1), (0, 0), (0, 0), (0, 0))
    wanted = ArgumentLayout((0, None, 1, 2), ((0, 1), (0, 1), (0, 0)))
    assert _layout([first, other]) == wanted


def test_launches_that_differ_stay_apart(device, fits, monkeypatch):
    program, own = fits
    wide = program.bind("shifted", 3, device.upload(own[0][0]), 0, own[0][1])
    launches = [one[2] for one in own]
    assert joined([[wide], [launches[1]]]) == [wide, launches[1]]  # by their groups
    assert joined([launches[:1], launches[1:]]) == launches  # by their number

    def fails(self, source):
        raise KernelBuildError("too many arguments")

    monkeypatch.setattr(type(program), "of_source", fails)
    assert joined([[launch] for launch in launches]) == launches
    assert packed(launches) == launches
