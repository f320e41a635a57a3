"""The synthetic data: seeded, of the sizes promised, learnable."""

import hashlib

import numpy as np
import pytest

from pyopencl_gbdt.comparison.shapes import SHAPES

SMALL = {"cifar": 300, "bosch": 10_000, "yahoo": 2_000}


def make(name, seed=0, n_rows=None, **options):
    return SHAPES[name].make(seed, n_rows or SMALL.get(name, 5_000), **options)


def test_the_names():
    assert list(SHAPES) == [shape.name for shape in SHAPES.values()]
    assert {"higgs", "higgs-d8", "higgs-d12", "higgs-skewed", "bosch", "yahoo", "cifar"} < set(
        SHAPES
    )
    assert [SHAPES[f"bins-{n}"].max_bin for n in (16, 64, 256, 1024, 4096)] == [
        16, 64, 256, 1024, 4096,
    ]  # fmt: skip
    assert [SHAPES[f"rows-1e{power}"].n_rows for power in range(3, 9)] == [
        10**power for power in range(3, 9)
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_and_dtypes(name):
    shape = SHAPES[name]
    values, labels = shape.make(0, 120)
    assert values.shape == (120, shape.n_features)
    assert labels.shape == ((120,) if shape.n_models == 1 else (120, shape.n_models))
    assert values.dtype == labels.dtype == np.float32
    assert values.flags.c_contiguous
    assert values.nbytes + labels.nbytes == shape.expected_bytes(120)
    assert np.isfinite(labels).all()
    if shape.objective == "binary:logistic":
        assert set(np.unique(labels)) <= {0.0, 1.0}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["higgs", "higgs-skewed", "bosch", "yahoo", "cifar"])
def test_seeds(name):
    once, again, other = make(name), make(name), make(name, seed=1)
    held_out = make(name, held_out=True)
    for a, b in zip(once, again, strict=True):
        assert a.tobytes() == b.tobytes()
    for rest in (other, held_out):
        assert not np.array_equal(once[0], rest[0], equal_nan=True)


@pytest.mark.parametrize("name", ["higgs", "bosch", "cifar"])
def test_fewer_rows_are_a_prefix(name):
    """Across the border of a block, too."""
    shape = SHAPES[name]
    n_rows = (1 << 19) // shape.n_features + 250
    values, labels = shape.make(3, n_rows)
    for fewer in (1, 99, 101, n_rows - 200):
        some, some_labels = shape.make(3, fewer)
        assert some.tobytes() == values[:fewer].tobytes()
        assert some_labels.tobytes() == labels[:fewer].tobytes()


#: Models of two machines can be compared only if their data are the same bytes.
DIGESTS = {
    "higgs": "2a66c2b5be846f6a",
    "higgs-skewed": "6664ea4e112271fe",
    "bosch": "feff22f5c0b71872",
    "yahoo": "816f1ba434e1d0f8",
    "cifar": "4c12084abf872198",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_bytes_never_change(name):
    values, labels = SHAPES[name].make(0, 300)
    digest = hashlib.sha256(np.nan_to_num(values, nan=-1.0).tobytes() + labels.tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[name]


def test_missing_values_come_in_blocks():
    values, _ = make("bosch")
    missing = np.isnan(values)
    assert abs(missing.mean() - SHAPES["bosch"].missing) < 0.01
    blocks = missing.reshape(-1, 100, 44, 22)  # lots of rows, stations of columns
    assert (blocks.all(axis=(1, 3)) | ~blocks.any(axis=(1, 3))).all()
    assert not missing.all(axis=0).any()
    assert not np.isnan(make("higgs")[0]).any()


def test_half_the_features_are_skewed():
    values, _ = make("higgs-skewed")
    zero = (values == 0).mean(axis=0)
    assert np.allclose(zero[1::2], 0.9, atol=0.02)
    assert (zero[::2] < 0.01).all()


def test_labels():
    assert 0.4 < make("higgs")[1].mean() < 0.6
    assert set(np.unique(make("yahoo")[1])) == {0, 1, 2, 3, 4}
    pixels, classes = make("cifar")
    assert (classes.sum(axis=1) == 1).all()
    assert pixels.min() == 0
    assert pixels.max() == 255
    assert (pixels == np.floor(pixels)).all()
