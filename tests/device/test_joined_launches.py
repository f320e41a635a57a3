"""Launches of several fits as one: the same values, and launches that differ stay apart."""

import numpy as np
import pytest

from pyopencl_gbdt.device.joined_launches import joined, joined_source
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
KERNEL(8) shifted(GLOBAL const u32* RESTRICT values_0, GLOBAL const u32* RESTRICT values_1,
    const u32 shift_0, const u32 shift_1, GLOBAL u32* found_0, GLOBAL u32* found_1) {
    GLOBAL const u32* RESTRICT values = Z == 0 ? values_0 : values_1;
    const u32 shift = Z == 0 ? shift_0 : shift_1;
    GLOBAL u32* found = Z == 0 ? found_0 : found_1;
    if (GLOBAL_ID < 12) found[GLOBAL_ID] = values[GLOBAL_ID] + shift;
}
"""


def test_every_parameter_is_chosen_by_the_place():
    assert joined_source(KERNEL, 2, "Z").split() == WANTED.split()


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


def test_launches_that_differ_stay_apart(device, fits, monkeypatch):
    program, own = fits
    wide = program.bind("shifted", 3, device.upload(own[0][0]), 0, own[0][1])
    launches = [one[2] for one in own]
    assert joined([[wide], [launches[1]]]) == [wide, launches[1]]  # by their groups
    assert joined([launches[:1], launches[1:]]) == launches  # by their number

    def fails(self, n_fits):
        raise KernelBuildError("too many arguments")

    monkeypatch.setattr(type(program), "of_fits", fails)
    assert joined([[launch] for launch in launches]) == launches
