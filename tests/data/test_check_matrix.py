"""check_matrix: every kind of input becomes the same float32 matrix, or a message with a place."""

import datetime
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from pyopencl_gbdt.data import check_matrix
from pyopencl_gbdt.data.arrays import narrow as narrow_module
from pyopencl_gbdt.errors import DataError

NAN = float("nan")
SMALL = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def matrix_of(X, **options):
    matrix, names = check_matrix(X, **options)
    assert matrix.dtype == np.dtype(np.float32)
    assert matrix.dtype.isnative
    assert matrix.flags.c_contiguous
    assert type(matrix) is np.ndarray
    assert names is None
    return matrix


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdg")
@pytest.mark.parametrize("order", "<>")
def test_numeric_dtypes(dtype, order):
    given = SMALL.astype(np.dtype(dtype).newbyteorder(order))
    np.testing.assert_array_equal(matrix_of(given), given.astype(np.float32))


@pytest.mark.parametrize(
    "given",
    [
        SMALL.tolist(),
        tuple(map(tuple, SMALL.tolist())),
        list(SMALL),
        np.asfortranarray(SMALL),
        np.repeat(SMALL, 2, axis=1)[:, ::2],
        SMALL[::-1, ::-1][::-1, ::-1],
        SMALL.astype(object),
        np.ma.masked_array(SMALL),
        memoryview(SMALL),
        [[1, Fraction(2), Decimal(3)], [np.float16(4), np.int8(5), 6.0]],
    ],
    ids=["list", "tuple", "rows", "fortran", "strided", "reversed", "object", "masked", "buffer",
         "numbers"],
)  # fmt: skip
def test_containers(given):
    np.testing.assert_array_equal(matrix_of(given), SMALL)


def test_no_needless_copy():
    given = SMALL.copy()
    given.flags.writeable = False
    assert matrix_of(given) is given
    assert not np.shares_memory(matrix_of(np.asfortranarray(given)), given)


def test_unaligned_input_is_copied():
    raw = np.zeros(SMALL.nbytes + 1, np.uint8)
    given = raw[1:].view(np.float32).reshape(SMALL.shape)
    given[...] = SMALL
    assert not given.flags.aligned
    assert matrix_of(given).flags.aligned


@pytest.mark.parametrize("dtype", ["f2", "<f4", ">f4", ">i8"])
def test_memory_maps(tmp_path, dtype):
    given = np.memmap(tmp_path / "rows", dtype, "w+", shape=(4, 6))
    given[:] = np.arange(24).reshape(4, 6)
    for rows in (given, given[::2, 1::2], given.T):
        matrix, _ = check_matrix(rows)
        assert matrix.dtype == np.dtype(np.float32)
        assert matrix.flags.c_contiguous
        np.testing.assert_array_equal(matrix, np.asarray(rows))
    same = np.memmap(tmp_path / "rows", "f4", "r", shape=(4, 3))
    assert np.shares_memory(check_matrix(same)[0], same)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_smallest_shapes(shape):
    assert matrix_of(np.ones(shape)).shape == shape


@pytest.mark.parametrize(
    "given",
    [
        [[NAN], [NAN]],
        [[None], [None]],
        np.array([[None], [NAN]], dtype=object),
        np.ma.masked_array([[1], [2]], mask=True),
        np.ma.masked_array([[np.inf], [1e300]], mask=True),
        np.ma.masked_array(np.array([["x"], [10**400]], dtype=object), mask=True),
        np.ma.masked_array([[True], [False]], mask=True),
    ],
)
def test_all_missing_column(given):
    assert np.isnan(matrix_of(given)).all()


def test_mask_is_missing_and_leaves_the_input_alone():
    given = np.ma.masked_array([[1, 2], [3, 4]], [[0, 1], [0, 0]])
    np.testing.assert_array_equal(matrix_of(given), [[1, NAN], [3, 4]])
    assert given.data.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2, 3], r"shape \(3,\).*X.reshape\(-1, 1\).*X.reshape\(1, -1\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\): expected two dimensions"),
        (3.0, "X is 3.0: expected an array"),
        (None, "X is None: expected an array"),
        ("abc", "X is 'abc': expected an array"),
        ({"a": [1]}, "expected an array"),
        (np.zeros((0, 3)), "X has 0 sample"),
        (np.zeros((3, 0)), "X has 0 feature"),
        ([[]], "X has 0 feature"),
        ([[1, 2], [3]], "row 1 has 1 values, row 0 has 2; .*equal length"),
        ([[1, 2], 3], "row 1 is not a sequence"),
        ([[1, "red"]], r"X holds 'red' at row 0, column 1, .*expected a number.*encode"),
        ([[1, "2"]], r"X holds '2' at row 0, column 1"),
        (np.array([["a", "b"]]), r"X holds 'a' at row 0, column 0"),
        (np.array([[b"a", b"b"]]), r"X holds b'a' at row 0, column 0"),
        ([[1, 2j]], "dtype complex128: expected real numbers"),
        (np.array([[1, 2j]], dtype=object), "X holds 2j at row 0, column 1"),
        ([[1, datetime.date(2020, 1, 1)]], "X holds datetime.date.* at row 0, column 1"),
        (np.array([["2020"]], "M8[D]"), r"dtype datetime64\[D\]: expected real numbers"),
        (np.zeros((1, 1), [("a", int)]), "expected real numbers"),
        ([[1, 10**400]], "<integer of 1329 bits> at row 0, column 1"),
        (scipy.sparse.csr_matrix(SMALL), r"sparse csr .*expected a dense array; use X.toarray\(\)"),
        (scipy.sparse.coo_array(SMALL), r"sparse coo .*expected a dense array; use X.toarray\(\)"),
    ],
)
def test_messages(given, message):
    with pytest.raises(DataError, match=message):
        check_matrix(given)


def test_name_is_used():
    with pytest.raises(DataError, match=r"^X_test has shape \(1,\).*X_test.reshape"):
        check_matrix([1], name="X_test")


def test_n_features():
    assert matrix_of(SMALL, n_features=3).shape == (2, 3)
    with pytest.raises(DataError, match="X has 3 features, but the model is expecting 4 features"):
        check_matrix(SMALL, n_features=4)


@pytest.mark.parametrize("chunk", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, object])
def test_infinity_is_counted_and_placed(monkeypatch, chunk, dtype):
    monkeypatch.setattr(narrow_module, "CHUNK", chunk)
    given = np.zeros((5, 2), dtype)
    given[2, 1], given[4, 0] = -np.inf, np.inf
    message = r"X holds 2 infinite values, the first \(-inf\) at row 2, column 1, .*NaN"
    with pytest.raises(DataError, match=message):
        check_matrix(given)


def test_float32_overflow_is_placed():
    edge = float(np.finfo(np.float32).max)
    assert matrix_of([[edge, -edge]]).tolist() == [[edge, -edge]]
    with pytest.raises(DataError, match=r"1 too large value, the first \(-1e\+39\) at row 1, col"):
        check_matrix([[1.0], [-1e39]])
    with pytest.raises(DataError, match="too large"):
        check_matrix([[10**39]])


def test_tiny_numbers_pass_without_a_warning():
    assert matrix_of([[1e-300, 1e-40]])[0, 0] == 0


def test_foreign_array_that_fails():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("on another device")

    with pytest.raises(DataError, match="on another device"):
        check_matrix(Broken())


def test_works_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert np.isnan(matrix_of([[None, 1]])[0, 0])
