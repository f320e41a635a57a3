"""portable_math: the device gives the twin's bits, and the twin is as accurate as it says."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.numerics import portable_math as pm
from tests.compare import assert_same_bits
from tests.reference.gradients import weigh
from tests.test_dtypes import FIELDS

#: Kernels of CPUs as the compiler optimises them: what users get, and where it could change bits.
OPTIMISED = True

N = 65_536
TINY = np.finfo(np.float32).tiny
#: Zeros, tiny and huge normal numbers, ties and neighbours of 1, of both signs.
EDGES = np.float32(
    [0, TINY, 1.5 * TINY, 2**-60, 0.5, 1 - 2**-24, 1, 1 + 2**-23, 1.5, 2.5, 1e9, 2**126]
)
EDGES = np.concatenate([EDGES, -EDGES])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def floats(rng, n, low=-30, high=30):
    """Random signs and mantissas, exponents in low..high."""
    x = np.ldexp(rng.uniform(1, 2, n), rng.integers(low, high + 1, n)) * rng.choice([-1, 1], n)
    return x.astype(np.float32)


def two_floats(rng, n):
    """Random numbers in two floats; every eighth has no low part."""
    hi = floats(rng, n)
    lo = np.where(rng.random(n) < 0.125, 0, hi * 2.0**-25 * rng.uniform(-1, 1, n))
    return hi, lo.astype(np.float32)


def by_power(function, x, k):
    """Apply a function of an array and one power to an array of powers."""
    powers = np.unique(k)
    parts = [function(x[k == power], power) for power in powers]
    result = np.zeros(x.shape, parts[0].dtype)
    for power, part in zip(powers, parts, strict=True):
        result[k == power] = part
    return result


def expected_floats(a, b, c, d, k):
    """Columns of the kernel ``floats``."""
    x, y = (a, b), (c, d)
    with np.errstate(all="ignore"):
        pairs = [
            pm.two_sum(a, c),
            pm.fast_two_sum(a, b),
            pm.two_prod(a, c),
            pm.df_add(x, y),
            pm.df_neg(x),
            pm.df_mul(x, y),
            pm.df_div(x, y),
            (a * np.float32(0.25), b * np.float32(0.25)),
        ]
        singles = [
            a * c + d,
            pm.reciprocal(c),
            pm.portable_exp(a),
            pm.portable_sigmoid(a),
            by_power(pm.scale_by, a, k),
            by_power(lambda v, p: np.full_like(v, pm.power_of_two(p)), a, k),
            pm.df_less(x, y).astype(np.float32),
        ]
    return np.stack([part for pair in pairs for part in pair] + singles, axis=1)


def device_floats(device, *inputs):
    program = device.build("math_probe", wg_size=64, fields=FIELDS)
    n = inputs[0].size
    results = device.zeros((n, 23), np.float32)
    groups = -(-n // program.wg_size)
    program.launch("floats", groups, np.uint32(n), *map(device.upload, inputs), results)
    return results.get()


def test_floats_have_the_twins_bits(device, rng):
    a, b = two_floats(rng, N)
    c, d = two_floats(rng, N)
    c = np.abs(c)  # what is divided by is positive
    a[:4096] = rng.uniform(-100, 100, 4096)
    c[:1024], d[:1024] = a[:1024], b[:1024]  # equal numbers
    d[1024:8192] = -(a * c)[1024:8192]  # contraction would leave the product's rounding error
    k = rng.integers(-80, 81, N).astype(np.int32)
    assert_same_bits(device_floats(device, a, b, c, d, k), expected_floats(a, b, c, d, k))


def test_floats_at_edges_have_the_twins_bits(device):
    a, c = (grid.reshape(-1) for grid in np.meshgrid(EDGES, EDGES))
    zero = np.zeros_like(a)
    k = np.resize(np.array([-300, -126, -60, 0, 1, 60, 127, 300], np.int32), a.size)
    got = device_floats(device, a, zero, c, zero, k)
    want = expected_floats(a, zero, c, zero, k)
    # devices may flush subnormals, and a NaN's bits are theirs
    counts = (np.abs(want) >= TINY) & np.isfinite(want) | (want == 0)
    counts[:, 12:14] &= np.isin(c, [0.5, 1, 1.5, 2.5, 1e9])[:, None]  # df_div's range
    counts[:, 17] &= (c > 2**-120) & (c < 2**120)  # that of reciprocal
    assert counts.mean() > 0.7
    assert_same_bits(np.where(counts, got, 0), np.where(counts, want, 0))


def test_integers_have_the_twins_bits(device, rng):
    x = rng.integers(0, 2**32, N, dtype=np.uint32).view(np.float32)
    x[: EDGES.size] = EDGES
    x[4096:8192] = rng.integers(-64, 64, 4096) / 8  # ties
    k = rng.integers(-130, 131, N).astype(np.int32)
    k[4096:8192] = rng.integers(-2, 3, 4096)
    q = rng.integers(-(2**61), 2**61, N) >> rng.integers(0, 61, N)
    q[:3] = 0, 2**61, -(2**61)
    bits = np.abs(q).astype(np.float64)
    weight = rng.uniform(0, 1, N) * np.exp2(rng.integers(-60, 62, N) - np.log2(bits + 1))
    weight = np.where(rng.random(N) < 0.25, rng.integers(0, 3, N), weight).astype(np.float32)
    program = device.build("math_probe", wg_size=64, fields=FIELDS)
    quanta, weighed = device.zeros(N, np.int64), device.zeros(N, np.int64)
    df, keys = device.zeros((N, 2), np.float32), device.zeros(N, np.uint32)
    missing = device.zeros(N, np.uint32)
    program.launch(
        "integers", -(-N // program.wg_size), n=N, xs=device.upload(x),
        weights=device.upload(weight), qs=device.upload(q), ks=device.upload(k), quanta=quanta,
        weighed=weighed, two_floats=df, keys=keys, missing=missing,
    )  # fmt: skip
    assert_same_bits(quanta.get(), by_power(pm.to_quanta, x, k), "to_quanta")
    assert_same_bits(weighed.get(), weigh(q, weight), "weigh")
    assert_same_bits(df.get(), np.stack(pm.df_from_i64(q), axis=1), "df_from_i64")
    assert_same_bits(keys.get(), pm.ordered(x), "ordered")
    assert_same_bits(missing.get(), np.isnan(x).astype(np.uint32), "is_missing")
    assert_same_bits(pm.is_missing(x), np.isnan(x))


def exact(pair, i):
    return Fraction(float(pair[0][i])) + Fraction(float(pair[1][i]))


def test_sums_and_products_of_floats_are_exact(rng):
    a, b = floats(rng, N, -14, 14), floats(rng, N, -14, 14)
    for function, truth in ((pm.two_sum, np.add), (pm.two_prod, np.multiply)):
        hi, lo = (part.astype(np.float64) for part in function(a, b))
        assert np.array_equal(hi + lo, truth(a.astype(np.float64), b.astype(np.float64)))


@pytest.mark.parametrize(
    ("function", "operation", "bits"),
    [
        (pm.df_add, Fraction.__add__, 45),
        (pm.df_mul, Fraction.__mul__, 44),
        (pm.df_div, Fraction.__truediv__, 44),
    ],
)
def test_error_of_two_floats(rng, function, operation, bits):
    x, y = two_floats(rng, 3000), two_floats(rng, 3000)
    y = np.where(y[0] < 0, pm.df_neg(y), y)
    y[:, :1000] = np.array(x)[:, :1000] * np.sign(x[0][:1000]) * np.float32(1 + 2**-11)
    result = function(x, (y[0], y[1]))
    for i in range(3000):
        truth = operation(exact(x, i), exact(y, i))
        assert abs(exact(result, i) - truth) <= abs(truth) / 2**bits


def test_integers_in_two_floats(rng):
    v = rng.integers(-(2**62), 2**62, 3000) >> rng.integers(0, 62, 3000)
    result = pm.df_from_i64(v)
    for i, number in enumerate(v.tolist()):
        error = abs(exact(result, i) - number)
        assert error == 0 if abs(number) < 2**47 else error <= Fraction(abs(number), 2**46)


def test_exp_is_clamped_and_the_sigmoid_rises():
    x = np.float32([-1e9, -80, 0, 80, 1e9])
    assert_same_bits(pm.portable_exp(x)[[0, 2, 4]], pm.portable_exp(x[[1, 2, 3]]))
    assert abs(pm.portable_sigmoid(x)[2] - 0.5) <= 2**-25
    assert (np.diff(pm.portable_sigmoid(np.linspace(-90, 90, 2001, dtype=np.float32))) >= 0).all()


def test_quanta_are_rounded_to_even(rng):
    x = np.concatenate([floats(rng, 3000), rng.integers(-99, 99, 3000) / 8]).astype(np.float32)
    for s in (-40, -3, 0, 1, 2, 7, 30):
        truth = [round(Fraction(float(v)) * Fraction(2) ** s) for v in x]
        assert_same_bits(pm.to_quanta(x, s), np.array(truth, np.int64))
    subnormal = np.float32([1e-40, -1e-40])
    assert_same_bits(pm.to_quanta(subnormal, 120), np.zeros(2, np.int64))


def test_weights_are_exact_in_integers(rng):
    q = rng.integers(-(2**40), 2**40, 3000)
    whole = rng.integers(0, 2**20, 3000)
    assert_same_bits(weigh(q, whole.astype(np.float32)), q * whole)
    weight = np.abs(floats(rng, 3000, -14, 20))
    for number, w, result in zip(q.tolist(), weight, weigh(q, weight).tolist(), strict=True):
        assert result == (number * Fraction(float(w)) + Fraction(1, 2)).__floor__()


def test_keys_order_floats(rng):
    x = np.concatenate([floats(rng, 5000, -126, 127), np.float32([0.0, -0.0, 1e-40, -1e-40])])
    keys = pm.ordered(x)
    assert_same_bits(x[np.argsort(keys, kind="stable")], np.sort(x, kind="stable"))
    assert pm.ordered(np.float32([0.0])) == pm.ordered(np.float32([-0.0]))
