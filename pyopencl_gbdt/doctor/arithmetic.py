"""Test whether a driver rounds as IEEE 754 requires, without fusing products and sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.numerics import portable_math as pm

F32 = npt.NDArray[np.float32]
#: Columns of the kernel ``floats`` of the template ``math_probe``.
COLUMNS = (
    "two_sum.hi", "two_sum.lo", "fast_two_sum.hi", "fast_two_sum.lo", "two_prod.hi", "two_prod.lo",
    "df_add.hi", "df_add.lo", "df_neg.hi", "df_neg.lo", "df_mul.hi", "df_mul.lo", "df_div.hi",
    "df_div.lo", "df_scale.hi", "df_scale.lo", "a * c + d", "reciprocal", "exp", "sigmoid",
    "scale_by", "power_of_two", "df_less",
)  # fmt: skip
_WG_SIZE = 64


def samples(n: int) -> tuple[F32, F32, F32, F32, npt.NDArray[np.int32]]:
    """Return inputs a, b, c, d, k; a quarter of them reveal products fused with sums."""
    rng = np.random.default_rng(7)

    def floats(low: float, high: float) -> F32:
        powers = np.exp2(rng.integers(-20, 21, n))
        return (rng.uniform(low, high, n) * powers).astype(np.float32)

    a, c, d = floats(-2, 2), floats(1, 2), floats(-2, 2)
    a[: n // 16] = rng.uniform(-80, 80, n // 16)
    d[: n // 4] = -(a * c)[: n // 4]  # if fused, the result is the rounding error of the product
    b = (a * np.float32(2.0**-25) * rng.uniform(-1, 1, n).astype(np.float32)).astype(np.float32)
    return a, b, c, d, rng.integers(-60, 61, n).astype(np.int32)


def expected(a: F32, b: F32, c: F32, d: F32, k: npt.NDArray[np.int32]) -> F32:
    """Return the results that the kernel must give, from the twins; shape (n, len(COLUMNS))."""
    x, y, quarter = (a, b), (c, d), np.float32(0.25)
    with np.errstate(all="ignore"):
        pairs = [
            pm.two_sum(a, c),
            pm.fast_two_sum(a, b),
            pm.two_prod(a, c),
            pm.df_add(x, y),
            pm.df_neg(x),
            pm.df_mul(x, y),
            pm.df_div(x, y),
            (a * quarter, b * quarter),
        ]
        scaled, power = np.empty_like(a), np.empty_like(a)
        for exponent in np.unique(k):
            here = k == exponent
            scaled[here] = pm.scale_by(a[here], int(exponent))
            power[here] = pm.power_of_two(int(exponent))
        singles = [
            a * c + d,
            pm.reciprocal(c),
            pm.portable_exp(a),
            pm.portable_sigmoid(a),
            scaled,
            power,
            pm.df_less(x, y).astype(np.float32),
        ]
    return np.stack([part for pair in pairs for part in pair] + singles, axis=1)


def probe(device: Device, n: int) -> str:
    """Compare a driver's arithmetic with the twins.

    Returns
    -------
    str
        Empty if all bits agree; else which results differ, and how often.
    """
    inputs = samples(n)
    program = device.build("math_probe", wg_size=_WG_SIZE, fields="")
    results = device.zeros((n, len(COLUMNS)), np.float32)
    groups = -(-n // program.wg_size)
    program.launch("floats", groups, np.uint32(n), *map(device.upload, inputs), results)
    got, want = results.get(), expected(*inputs)
    relevant = ~np.isin(np.arange(len(COLUMNS)), (12, 13)) | _dividable(inputs)[:, None]
    differs = (got.view(np.uint32) != want.view(np.uint32)) & relevant
    if not differs.any():
        return ""
    counts = differs.sum(axis=0)
    named = [f"{COLUMNS[i]} in {counts[i]}" for i in np.flatnonzero(counts)]
    text = f"of {n} results differ: {', '.join(named)}"
    if counts[COLUMNS.index("a * c + d")]:
        text += "; the compiler fuses products with sums although it is told not to"
    return text


def _dividable(inputs: tuple[npt.NDArray[np.generic], ...]) -> npt.NDArray[np.bool_]:
    """Return where (c, d) is a valid number in two floats, as division requires."""
    c, d = np.asarray(inputs[2], np.float64), np.asarray(inputs[3], np.float64)
    return np.asarray(np.abs(d) <= np.abs(c) * 2.0**-24)
