"""Arguments of kernels, checked by name and type against the rendered source."""

import numpy as np
import pytest

from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.device.signature import MOST_POSITIONAL, arrange, signatures
from pyopencl_gbdt.dtypes import NODE

SOURCE = """
typedef u32 word_t;
KERNEL(64) fill(const u32 n, /* how many */ const f32 value, GLOBAL word_t* RESTRICT out) {}
KERNEL(1) records(GLOBAL const node_t* nodes, GLOBAL const i64x2* sums, GLOBAL const u8* flags) {}
KERNEL(1) many(const u32 a, const u32 b, const u32 c, const u32 d, const u32 e, const u32 f,
    const u32 g, const u32 h, const u32 i) {}
"""


@pytest.fixture
def array(device):
    return device.empty(4, np.uint32)


def test_names_and_types_are_read_from_the_source():
    fill = signatures(SOURCE)["fill"]
    assert [(p.name, p.type, p.is_array) for p in fill] == [
        ("n", "u32", False),
        ("value", "f32", False),
        ("out", "u32", True),
    ]


def test_every_parameter_of_a_real_kernel_is_read():
    source = render("level", "opencl", wg_size=64, row_chunk=8, hist_chunk=8, picked=0,
                    limited=True, tables=False, counted=False, smooth=False)  # fmt: skip
    names = [parameter.name for parameter in signatures(source)["decide"]]
    assert names[:4] == ["depth", "n_each", "n_alike", "gamma"]
    assert names[-1] == "child_rows"


def test_names_in_any_order_give_the_kernels_order(array):
    args = arrange(SOURCE, "fill", (), {"out": array, "value": 2, "n": np.int64(7)})
    assert args[0] == 7
    assert type(args[0]) is np.uint32
    assert type(args[1]) is np.float32
    assert args[2] is array


@pytest.mark.parametrize(
    ("named", "wrong"),
    [
        ({"n": 1, "value": 2.0}, "missing arguments ['out']"),
        ({"n": 1, "value": 2.0, "out": None, "of": 3}, "unknown ones ['of']"),
        ({"n": -1, "value": 2.0}, "0..4294967295"),
        ({"n": 2**32, "value": 2.0}, "0..4294967295"),
        ({"n": 1.5, "value": 2.0}, "an integer"),
    ],
)
def test_wrong_names_and_numbers_are_refused(array, named, wrong):
    if "missing" not in wrong:
        named = {**named, "out": array}
    with pytest.raises(TypeError) as caught:
        arrange(SOURCE, "fill", (), named)
    assert wrong in str(caught.value)


def test_an_argument_given_twice_is_refused(array):
    with pytest.raises(TypeError, match=r"given twice .'n'."):
        arrange(SOURCE, "fill", (3,), {"n": 3, "value": 1, "out": array})


def test_arrays_have_the_kernels_dtypes(device, array):
    nodes, sums = device.empty(2, NODE), device.empty((2, 2), np.int64)
    flags = device.empty(2, np.bool_)
    assert arrange(SOURCE, "records", (nodes, sums, flags), {}) == (nodes, sums, flags)
    with pytest.raises(TypeError, match="expected one of node_t"):
        arrange(SOURCE, "records", (array, sums, flags), {})
    with pytest.raises(TypeError, match="expected one of i64x2"):
        arrange(SOURCE, "records", (nodes, nodes, flags), {})
    with pytest.raises(TypeError, match="expected a DeviceArray"):
        arrange(SOURCE, "records", (nodes, sums, 3), {})
    with pytest.raises(TypeError, match="expected a number"):
        arrange(SOURCE, "fill", (), {"n": array, "value": 1, "out": array})


def test_many_arguments_are_given_by_name():
    numbers = list(range(MOST_POSITIONAL + 1))
    with pytest.raises(TypeError, match="give them by name"):
        arrange(SOURCE, "many", numbers, {})
    named = dict(zip("abcdefghi", numbers, strict=True))
    assert arrange(SOURCE, "many", (), named) == tuple(numbers)


def test_no_such_kernel_names_those_that_are_there():
    with pytest.raises(TypeError, match="fill"):
        arrange(SOURCE, "fil", (), {})
