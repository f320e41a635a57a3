"""sample: the twin's factors, and roots' lists of the rows that were drawn."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.gradients.sample import Sample
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.reference import sample
from tests.steps.builders import make_layout, make_parts, random_codes

WG_SIZES, WG_SIZES_CPU = (16, 64, 256), (1, 64)
LAYOUT = make_layout([5, 9], [True, False])
METHODS = {
    "few": {"subsample": 0.02},
    "half": {"subsample": 0.5},
    "gradients": {"subsample": 0.3, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss", "learning_rate": 1.0},
    "weights": {"sampling_method": "bayesian"},
    "weights of a sample": {
        "sampling_method": "bayesian",
        "bagging_temperature": 0.4,
        "subsample": 0.6,
    },
    "goss, whose first rounds draw all": {"sampling_method": "goss"},
}


def normal(rng, n_rows):
    return rng.normal(size=n_rows).astype(np.float32)


def heavy(rng, n_rows):
    """Labels over 60 powers of ten, some of them 0."""
    labels = rng.normal(size=n_rows) * 10.0 ** rng.integers(-30, 30, n_rows)
    return np.where(rng.random(n_rows) < 0.1, 0, labels).astype(np.float32)


def draw(device, rng, n_rows, trees, wg, params, labels=normal):
    """Return factors, lists and their lengths of trees of one output."""
    parts = make_parts(
        device, LAYOUT, random_codes(rng, LAYOUT, n_rows), parallel=trees,
        work_group_size=wg, max_depth=2, **params,
    )  # fmt: skip
    walks = parts.ways.variant("update_margins").name == "walk"
    drawn = parts.nodes.params.leaves_out_rows
    assert parts.rows.lists_drawn == (drawn and (trees > 1 or walks))
    parts.arena["margins"].set(np.zeros(n_rows, np.float32))
    parts.arena["labels"].set(labels(rng, n_rows))
    for launch in Sample(
        parts.arena, parts.rows, parts.nodes, parts.ways, get_objective("reg:squarederror")
    ).launches(Batch(0, trees)):
        launch()
    lists = parts.arena["even_rows"].get().reshape(trees, n_rows)
    return parts.arena["factors"].get(), lists, parts.arena["drawn"].get()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_rows", [1, 500, 70_001])
def test_lists_have_the_rows_that_were_drawn(device, rng, wg, method, n_rows):
    factors, lists, counts = draw(device, rng, n_rows, 2, wg, METHODS[method])
    if method == "weights":
        assert factors.all()
        return
    for factor, rows, count in zip(factors, lists, counts, strict=True):
        assert_same_bits(np.sort(rows[:count]), np.flatnonzero(factor).astype(np.uint32))


@pytest.mark.parametrize("method", METHODS)
def test_listing_changes_no_factor(device, rng, wg, method):
    """A tree draws the same rows alone, where a device may list none, and beside another."""
    params, seed = METHODS[method], rng.integers(1 << 30)
    alone, *_ = draw(device, np.random.default_rng(seed), 5000, 1, wg, params)
    beside, *_ = draw(device, np.random.default_rng(seed), 5000, 2, wg, params)
    assert_same_bits(beside[0], alone[0])
    assert alone.any()


@pytest.mark.parametrize("labels", [normal, heavy])
@pytest.mark.parametrize("n_rows", [1, 500])
@pytest.mark.parametrize("method", ["gradients", "goss", "weights", "weights of a sample"])
def test_factors_are_the_twins(device, wg, method, n_rows, labels):
    rng = np.random.default_rng(n_rows)
    found, *_ = draw(device, rng, n_rows, 2, wg, METHODS[method], labels)
    params = Parameters.from_dict(METHODS[method])
    again = np.random.default_rng(n_rows)
    random_codes(again, LAYOUT, n_rows)
    g = -labels(again, n_rows)
    for tree in range(2):
        wanted = sample.factors(params, g, np.ones_like(g), None, 0, tree)
        assert_same_bits(found[tree], wanted)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0, 1e30])
def test_weights_are_powers_of_exponential_numbers(temperature):
    bits = np.array([0, 1 << 9, 1 << 31, 0xFFFFFFFF], np.uint32)
    weights = sample.random_weights(bits, np.float32(temperature))
    u = (2.0 * (bits >> 9) + 1) * 2.0**-24
    powers = np.clip(np.float32(temperature) * np.log(-np.log(u)), -80, 80)
    np.testing.assert_allclose(weights, np.exp(powers), rtol=2e-5)
    assert weights.all()


def test_weights_have_the_mean_of_their_distribution():
    """Exponential numbers have the mean 1 and the variance 1."""
    params = Parameters.from_dict({"bootstrap_type": "Bayesian"})
    rows = np.zeros(100_000, np.float32)
    weights = sample.factors(params, rows, rows, None, 3, 0)
    assert weights.mean() == pytest.approx(1, abs=0.02)
    assert weights.var() == pytest.approx(1, abs=0.05)


def exact_border(counts, rate):
    """The border in exact numbers, from above; floats lose small classes beside large ones."""
    top = int(np.flatnonzero(counts)[-1])
    rows = [(c, int(counts[c])) for c in range(max(1, top - 640), top + 1) if counts[c]]
    wanted = Fraction(float(np.float32(rate) * np.float32(counts.sum())))

    def size(c, part):
        return Fraction(2) ** ((c >> 3) - (top >> 3)) * (8 + c % 8 + part) / 8

    below = sum(n * size(c, Fraction(1, 2)) for c, n in rows)
    above = 0
    for c, n in reversed(rows):
        m = below / (wanted - above)
        if m >= size(c, 0):
            break
        above += n
        below -= n * size(c, Fraction(1, 2))
    return m


@pytest.mark.few(3)
@pytest.mark.parametrize("rate", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("spread", [0, 30, 600])
def test_the_border_is_that_of_exact_sums(rng, rate, spread):
    for _ in range(50):
        classes = np.clip(1000 + rng.normal(size=300) * spread, 0, 2047).astype(np.intp)
        counts = np.bincount(classes, rng.integers(1, 1000, 300), 2048).astype(np.int64)
        m, power = sample._border(counts, np.float32(rate))
        assert power == (int(np.flatnonzero(counts)[-1]) >> 3) - 127
        assert float(m) == pytest.approx(float(exact_border(counts, rate)), rel=1e-5, abs=0)


def test_the_border_of_most_rows():
    """The sum of 2^32 - 1 rows stays below 2^63."""
    counts = np.zeros(2048, np.int64)
    counts[1023] = 2**32 - 1
    m, _ = sample._border(counts, np.float32(0.5))
    assert float(m) == 2 * 31 / 16
