"""``missing=``: a number that means "missing" beside NaN."""

import numpy as np
import pytest

from pyopencl_gbdt.data import check_matrix
from pyopencl_gbdt.data.arrays import narrow as narrow_module
from pyopencl_gbdt.errors import DataError, ParameterError

NAN = float("nan")
GIVEN = np.array([[0, 1, -999], [NAN, 0, 2.5]])


def matrix_of(X, missing):
    return check_matrix(X, missing=missing)[0]


@pytest.mark.parametrize("missing", [None, NAN, np.float32("nan")])
def test_nan_alone_by_default(missing):
    np.testing.assert_array_equal(matrix_of(GIVEN, missing), GIVEN.astype(np.float32))


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", object])
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_number(monkeypatch, dtype, chunk):
    monkeypatch.setattr(narrow_module, "CHUNK", chunk)
    given = GIVEN.astype(dtype)
    before = given.copy()
    np.testing.assert_array_equal(matrix_of(given, 0), [[NAN, 1, -999], [NAN, NAN, 2.5]])
    np.testing.assert_array_equal(matrix_of(given, -999), [[0, 1, NAN], [NAN, 0, 2.5]])
    np.testing.assert_array_equal(given.astype(float), before.astype(float))


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "?"])
def test_integers(dtype):
    given = np.array([[0, 1], [1, 0]], dtype)
    np.testing.assert_array_equal(matrix_of(given, 0), [[NAN, 1], [1, NAN]])
    np.testing.assert_array_equal(matrix_of(given, -999), given.astype(float))


def test_other_containers():
    wanted = [[NAN, 1], [2, NAN]]
    for given in (
        [[0, 1], [2, None]],
        np.ma.masked_array([[0, 1], [2, 3]], [[0, 0], [0, 1]]),
        np.asfortranarray([[0.0, 1], [2, 0]]),
    ):
        np.testing.assert_array_equal(matrix_of(given, 0), wanted)


def test_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0, 2], "b": pd.array([1, None], "Int64"), "c": [0.5, 0.0]})
    np.testing.assert_array_equal(matrix_of(frame, 0), [[NAN, 1, 0.5], [2, NAN, NAN]])
    np.testing.assert_array_equal(matrix_of(frame[["a", "a"]].set_axis(["x", "y"], axis=1), 0),
                                  [[NAN, NAN], [2, 2]])  # fmt: skip
    assert frame["a"].tolist() == [0, 2]


def test_numbers_that_float32_rounds():
    assert np.isnan(matrix_of(np.array([[0.1]]), 0.1)).all()
    assert np.isnan(matrix_of(np.array([[0.1]], np.float32), 0.1)).all()


def test_what_float32_cannot_hold():
    sentinel = -np.finfo(np.float64).max
    np.testing.assert_array_equal(matrix_of(np.array([[sentinel, 1]]), sentinel), [[NAN, 1]])
    with pytest.raises(DataError, match=r"1 too large value, the first .* row 0, column 1"):
        matrix_of(np.array([[sentinel, -sentinel]]), sentinel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinity(dtype):
    given = np.array([[np.inf, 1]], dtype)
    np.testing.assert_array_equal(matrix_of(given, np.inf), [[NAN, 1]])
    with pytest.raises(DataError, match=r"1 infinite value, the first \(-inf\)"):
        matrix_of(np.array([[np.inf, -np.inf]], dtype), np.inf)


def test_no_copy_where_none_is_missing():
    given = np.ones((3, 2), np.float32)
    assert matrix_of(given, 0) is given


@pytest.mark.parametrize("missing", ["?", True, [0], 1j])
def test_no_number(missing):
    with pytest.raises(ParameterError, match=r"missing=.*: expected a number, NaN or None"):
        matrix_of(GIVEN, missing)
