"""Sparse matrices: what SciPy holds is checked, kept sparse and never changed."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.data.arrays import sparse
from pyopencl_gbdt.data.arrays.check_sparse import check_sparse
from pyopencl_gbdt.errors import DataError, ParameterError
from tests.compare import assert_same_bits

NAN = np.nan
#: -1 stands for a zero that is stored, and 0 for what is absent.
CODED = np.array([[1.5, 0, 2, 0], [0, 0, 0, 0], [4, -1, 0, 7], [0, 0, 0, 8]])
DENSE = np.where(CODED == 0, NAN, np.where(CODED == -1, 0, CODED)).astype(np.float32)


def stored(kind=sp.csr_array, dtype=np.float64):
    """Return the matrix in a format of SciPy, with the zero stored."""
    row, col = np.nonzero(CODED)
    values = DENSE[row, col].astype(dtype)
    if kind in (sp.lil_matrix, sp.dok_array, sp.bsr_array):  # these keep no zeros in a conversion
        values[values == 0] = 3
    return kind(sp.coo_array((values, (row, col)), CODED.shape))


def dense_of(matrix):
    return matrix.dense(np.arange(matrix.shape[1]))


def state(matrix):
    """Return copies of all that a matrix holds, its flags included."""
    return {
        name: (np.array(value), getattr(value, "dtype", None))
        for name, value in vars(matrix).items()
        if not name.startswith("_shape")
    }


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, ">f8", np.longdouble])
def test_formats_and_dtypes(kind, dtype):
    given = stored(kind, np.dtype(dtype).newbyteorder("="))
    given.data = given.data.astype(dtype)
    before = state(given)
    found = check_sparse(given)
    wanted = DENSE if np.dtype(dtype).kind == "f" else np.trunc(DENSE)
    assert_same_bits(dense_of(found), wanted)
    assert (found.row_starts.dtype, found.columns.dtype) == (np.int64, np.int32)
    assert found.row_starts.tolist() == [0, 2, 2, 5, 6]
    after = state(given)
    assert before.keys() == after.keys()
    for name, (value, kind_of) in before.items():
        assert np.array_equal(after[name][0], value)
        assert after[name][1] == kind_of


@pytest.mark.parametrize("kind", [sp.lil_matrix, sp.dok_array, sp.bsr_array, sp.dia_matrix])
def test_other_formats_go_through_csr(kind):
    given = stored(kind)
    wanted = given.toarray()
    there = given.tocsr()
    there.data[:] = 1
    wanted = np.where(there.toarray() == 1, wanted, NAN).astype(np.float32)
    assert_same_bits(dense_of(check_sparse(given)), wanted)


def test_arrays_are_shared_where_dtypes_allow():
    given = stored(sp.csr_array, np.float32)
    given.indices = given.indices.astype(np.int32)
    found = check_sparse(given)
    assert np.shares_memory(found.values, given.data)
    assert np.shares_memory(found.columns, given.indices)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_unsorted_and_duplicate_entries_are_summed_as_scipy_does(kind, dtype):
    rng = np.random.default_rng(3)
    values = (rng.random(400) * 200).astype(dtype)
    starts, indices = np.array([0, 150, 150, 400]), rng.integers(0, 20, 400)
    shape = (3, 20) if kind is sp.csr_array else (20, 3)
    given = kind((values, indices, starts.copy()), shape)
    wanted = kind((values.copy(), indices.copy(), starts), shape).tocsr()
    wanted.sum_duplicates()
    found = check_sparse(given)
    assert_same_bits(found.values, wanted.data.astype(np.float32))
    assert np.array_equal(found.columns, wanted.indices)
    assert np.array_equal(found.row_starts, wanted.indptr)
    assert np.array_equal(given.indices, indices)
    assert not vars(given).keys() & {"_has_sorted_indices", "_has_canonical_format"}


@pytest.mark.parametrize("index_dtype", [np.int16, np.int64, np.uint32])
def test_indices_of_any_dtype(index_dtype):
    given = stored(sp.csr_matrix)
    given.indices, given.indptr = given.indices.astype(index_dtype), given.indptr.astype(np.int64)
    assert_same_bits(dense_of(check_sparse(given)), DENSE)


def test_nan_and_a_number_are_missing():
    given = stored(sp.csr_array)
    given.data[1] = NAN
    found = check_sparse(given, missing=7)
    wanted = np.where((DENSE == 7) | (DENSE == 2), np.float32(NAN), DENSE)
    assert_same_bits(dense_of(found), wanted)
    assert found.row_starts.tolist() == [0, 1, 1, 3, 4]
    assert dense_of(check_sparse(found, missing=8))[3, 3] != 8
    assert check_sparse(given, missing=NAN).n_entries == 5


def changed(name, value, kind=sp.csr_matrix, at=2):
    given = stored(kind)
    getattr(given, name)[at] = value
    return given


def of_objects():
    given = stored()
    given.data = given.data.astype(object)
    return given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (changed("data", np.inf), r"1 infinite value, the first \(inf\) at row 2, column 0"),
        (changed("data", -1e300), r"too large.*\(-1e\+300\) at row 2, column 0, counted from 0"),
        (changed("indices", 9), r"entry at row 2, column 9.*expected columns 0..3; correct"),
        (changed("indices", -1), r"entry at row 2, column -1"),
        (changed("indices", 4, sp.csc_matrix), r"entry at row 4, column 1.*expected rows 0..3"),
        (changed("row", 4, sp.coo_matrix), r"entry at row 4, column 0, counted"),
        (changed("col", -2, sp.coo_matrix), r"entry at row 2, column -2, counted"),
        (changed("indptr", 9), r"X.indptr: expected 5 ascending numbers from 0 to at most 6"),
        (stored(dtype=np.complex64), "Complex data not supported: X is a sparse matrix"),
        (of_objects(), "sparse matrix of dtype object: expected real numbers"),
        (sp.csr_array((0, 3)), r"0 sample\(s\)"),
        (sp.csr_array((3, 2**31)), "2147483648 columns: expected 2147483647 at most"),
        (sp.coo_array(np.ones(3)), r"X has shape \(3,\): expected rows and features"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        check_sparse(given)


def test_other_columns_and_missing_zeros_are_refused():
    with pytest.raises(DataError, match="X has 4 features, but the model is expecting 5"):
        check_sparse(stored(), n_features=5)
    for zero in (0, -0.0, 1e-60):
        with pytest.raises(ParameterError, match=r"with a sparse X: expected NaN .*eliminate_zero"):
            check_sparse(stored(), missing=zero)
    with pytest.raises(DataError, match=r"y is a sparse coo matrix: expected a dense array"):
        Dataset(DENSE, stored(sp.coo_array))


def test_rows_columns_and_blocks(monkeypatch):
    monkeypatch.setattr(sparse, "CHUNK", 7)
    rng = np.random.default_rng(1)
    given = sp.random_array((30, 9), density=0.4, format="csr", rng=rng, dtype=np.float32)
    given.data[:5] = 0
    found = check_sparse(given)
    whole = dense_of(found)
    rows = rng.integers(-30, 30, 100)
    assert_same_bits(dense_of(found.take(rows)), whole[rows])
    assert found.take([]).shape == (0, 9)
    assert_same_bits(dense_of(found.rows(4, 11)), whole[4:11])
    assert_same_bits(found.dense([7, 0, 3], 2, 20), whole[2:20, [7, 0, 3]])
    starts, own, values = found.by_column()
    for column in range(9):
        part = slice(starts[column], starts[column + 1])
        assert own[part].tolist() == np.flatnonzero(~np.isnan(whole[:, column])).tolist()
        assert_same_bits(values[part], whole[own[part], column])


def test_a_data_set_of_it():
    data = Dataset(stored(sp.csc_array), [0, 1, 2, 3], [1, 2, 3, 4])
    assert (data.n_rows, data.n_features, data.is_sparse) == (4, 4, True)
    assert repr(data) == "Dataset(4 rows x 4 features, sparse, 38 % present, labels, weight)"
    part = data.slice([-1, 0, 0])
    assert part.label.tolist() == [3, 0, 0]
    assert_same_bits(dense_of(part.features), DENSE[[3, 0, 0]])
    copy = pickle.loads(pickle.dumps(data))
    assert copy.digests() == data.digests()
    assert copy.digests()["values"] not in (part.digests()["values"], Dataset(DENSE).digests())
    with pytest.raises(
        DataError, match="X is sparse, 4 x 4: expected dense values here; read Data"
    ):
        data.values  # noqa: B018
    assert not Dataset(DENSE).is_sparse
    assert Dataset(DENSE).sparse is None
