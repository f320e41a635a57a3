"""Expressions: the C that is traced, and the same bits from it and from NumPy."""

import numpy as np
import pytest

from pyopencl_gbdt.numerics import expressions as e
from pyopencl_gbdt.numerics.portable_math import portable_exp, portable_log, reciprocal
from tests.compare import assert_same_bits

EDGES = np.float32([0, 1e-45, 1e-30, 0.5, 1, 3, 80, 1e30, 3e38, np.inf])


def plain(x, y):
    return np.float32(1) - x * y, e.at_least(y, 0.1)


def every_operation(x, y):
    """Each operator, comparison and kind of choice, and a function on either side of a branch."""
    near = (x < y) & ~(x <= -y) | x.equals(y)
    far = e.clamped(x, -3, 3) * (2 - y)
    chosen = e.where(near, lambda: e.log(e.size_of(y)) + 0.5, far)
    other = e.where(x > 1, 0.25, lambda: e.where(y >= x, lambda: e.exp(-x), 7))
    return chosen, other * e.reciprocal(e.at_most(e.at_least(e.size_of(y), 1), 1e6))


def every_operation_by_hand(x, y):
    near = ((x < y) & ~(x <= -y)) | (x == y)
    size = np.where(y < 0, -y, y)
    three = np.float32(3)
    far = np.where(x > three, three, np.where(x < -three, -three, x)) * (np.float32(2) - y)
    g = np.where(near, portable_log(size) + np.float32(0.5), far)
    of_branch = np.where(y >= x, portable_exp(-x), np.float32(7))
    other = np.where(x > 1, np.float32(0.25), of_branch)
    most = np.float32(1e6)
    least = np.where(size < 1, np.float32(1), size)
    return g, other * reciprocal(np.where(least > most, most, least))


def pairs():
    ends = np.r_[-EDGES, EDGES, np.float32(np.nan)]
    x, y = (a.ravel() for a in np.meshgrid(ends, ends))
    drawn = np.random.default_rng(2).normal(0, 3, (2, 500)).astype(np.float32)
    return np.r_[x, drawn[0]], np.r_[y, drawn[1]]


def test_each_operation_is_a_statement_of_its_own():
    assert e.statements(plain, ("margin", "label"), ("g", "h")).split("\n    ") == [
        "const f32 v1 = margin * label;",
        "const f32 v2 = 1.0f - v1;",
        "const f32 v3 = label < as_f32(0x3DCCCCCDu) ? as_f32(0x3DCCCCCDu) : label;",
        "g = v2;",
        "h = v3;",
    ]


def test_a_function_as_an_arm_is_a_branch():
    def seldom(x):
        return e.where(x < 1, lambda: e.exp(x), 0)

    assert e.statements(seldom, ("y",), ("loss",), prefix="m").split("\n    ") == [
        "f32 m1; if (y < 1.0f) {",
        "const f32 m2 = portable_exp(y);",
        "m1 = m2;",
        "} else {",
        "m1 = 0.0f;",
        "}",
        "loss = m1;",
    ]


def test_the_host_computes_what_numpy_does():
    x, y = pairs()
    with np.errstate(all="ignore"):
        wanted = every_operation_by_hand(x, y)
    for found, one in zip(e.evaluate(every_operation, x, y), wanted, strict=True):
        assert_same_bits(found[~np.isnan(one)], one[~np.isnan(one)])
        assert_same_bits(np.isnan(found), np.isnan(one))


def test_a_kernel_computes_what_the_host_does(device):
    x, y = pairs()
    g, h = e.evaluate(every_operation, x, y)
    normal = (np.abs(np.stack([g, h])) >= 2**-126) & np.isfinite(np.stack([g, h]))
    of_inputs = (np.abs(np.stack([x, y])) >= 2**-126) | (np.stack([x, y]) == 0)
    rows = (normal | (np.stack([g, h]) == 0)).all(axis=0) & of_inputs.all(axis=0)
    x, y, g, h = (a[rows] for a in (x, y, g, h))
    assert rows.sum() > 500
    code = e.statements(every_operation, ("margin", "label"), ("g", "h"))
    program = device.build("custom", wg_size=64, statements=code)
    found = [device.empty(x.size, np.float32) for _ in range(2)]
    program.bind(
        "custom_gradients", 2, n_rows=x.size, number=0, margins=device.upload(x),
        labels=device.upload(y), gradients=found[0], hessians=found[1],
        bad=device.zeros(2, np.uint32),
    )()  # fmt: skip
    assert_same_bits(found[0].get(), g)
    assert_same_bits(found[1].get(), h)


def test_constants_and_inputs_are_broadcast_to_rows():
    three = np.float32([1, 2, 3])
    alphas = np.float32([0.1, 0.9])
    one = e.evaluate(lambda x: 1, three)
    assert_same_bits(one, np.ones(3, np.float32))
    both = e.evaluate(lambda x: x * e.of_output(x, alphas), np.stack([three, three]))
    assert_same_bits(both, alphas[:, None] * three)
    text = e.statements(lambda x: e.of_output(x, alphas), ("margin",), ("g",))
    assert "output == 0u ? as_f32(0x3DCCCCCDu) : (as_f32(0x3F666666u))" in text


def test_numbers_are_written_so_that_their_bits_are_exact():
    assert [e.constant(x) for x in (2, -0.0, 0.5)] == ["2.0f", "-0.0f", "0.5f"]
    assert e.constant(0.1) == e.literal(0.1) == "as_f32(0x3DCCCCCDu)"
    assert e.constant(np.nan) == "as_f32(0x7FC00000u)"


def test_a_comparison_is_no_condition_of_python():
    with pytest.raises(TypeError, match="write where"):
        e.evaluate(lambda x: 1 if x < 0 else 2, EDGES)
