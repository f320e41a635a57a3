"""read_table on libsvm text."""

import gzip
import warnings

import numpy as np
import pytest

from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.files import libsvm as libsvm_module
from pyopencl_gbdt.errors import DataError

NAN = float("nan")


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="table.libsvm", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read_table(path, **options)

    return read_text


def values(table):
    """Return a table's values as a dense array; NaN is missing."""
    return table.X if isinstance(table.X, np.ndarray) else table.X.dense()


@pytest.mark.parametrize("chunk", [0, 3, 1 << 20])
@pytest.mark.parametrize("name", ["table.libsvm", "table.svm.txt", "table"])
@pytest.mark.parametrize(
    "text",
    [
        "1 0:2 2:3\n0 1:4\n-1\n",
        "# made by hand\n+1 0:2 2:3 # a comment 7:7\r\n\r\n0.0\t1:4e0   \r\n-1e0",
        "1 2:3 0:2\n0 1:4\n-1\n",
    ],
)
def test_absent_is_missing(read, monkeypatch, chunk, name, text):
    monkeypatch.setattr(libsvm_module, "CHUNK", chunk)
    table = read(text, name)
    assert isinstance(table.X, SparseMatrix)
    assert table.X.values.dtype == table.y.dtype == np.float32
    assert table.X.row_starts.tolist() == [0, 2, 3, 3]
    np.testing.assert_array_equal(values(table), [[2, NAN, 3], [NAN, 4, NAN], [NAN, NAN, NAN]])
    assert table.y.tolist() == [1, 0, -1]
    assert table.feature_names is None


def test_gzip(read):
    assert read(gzip.compress(b"1 0:5\n"), "table.gz").X.tolist() == [[5]]


def test_one_based(read):
    assert read("1 1:5 2:6\n", one_based=True).X.tolist() == [[5, 6]]
    np.testing.assert_array_equal(values(read("1 1:5 2:6\n")), [[NAN, 5, 6]])


def test_n_features_is_the_width(read):
    np.testing.assert_array_equal(values(read("1 0:5\n", n_features=3)), [[5, NAN, NAN]])
    assert np.isnan(values(read("1\n0\n", n_features=1))).all()


def test_nan_is_missing(read):
    np.testing.assert_array_equal(read("1 0:nan 1:5\n").X, [[NAN, 5]])
    assert read("1 0:nan 1:5\n", n_features=9).X.n_entries == 1


def test_half_of_the_values_make_it_dense(read):
    half, fewer = read("1 0:5 3:0\n0 1:6 2:7\n"), read("1 0:5 3:0\n0 1:6\n")
    assert half.X.flags.c_contiguous
    np.testing.assert_array_equal(half.X, [[5, NAN, NAN, 0], [NAN, 6, 7, NAN]])
    assert isinstance(fewer.X, SparseMatrix)
    np.testing.assert_array_equal(values(fewer), [[5, NAN, NAN, 0], [NAN, 6, NAN, NAN]])
    np.testing.assert_array_equal(read("1 2:3\n", dense=True).X, [[NAN, NAN, 3]])
    wide = read("1 2147483646:2\n", n_features=2**31 - 1)
    assert wide.X.shape == (1, 2**31 - 1)


def test_indices_beyond_the_features_are_left_out(tmp_path):
    path = tmp_path / "wide.libsvm"
    path.write_text("1 5:1 0:2\n\n0 1:3 4:9 7:8\n1 2:5\n")
    said = r"3 values in columns from 4 on \(from 0; the first in line 1\) are left out"
    with pytest.warns(UserWarning, match=said):
        table = read_table(path, n_features=4, drop_beyond=True)
    wanted = [[2, NAN, NAN, NAN], [NAN, 3, NAN, NAN], [NAN, NAN, 5, NAN]]
    np.testing.assert_array_equal(values(table), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, n_features=8, drop_beyond=True).X.n_entries == 6


@pytest.mark.parametrize("text", ["0:5 1:6\n", "1 0:5 1:6\n", "what 0:5 1:6\n"])
def test_without_label(read, text):
    table = read(text, with_label=False)
    assert table.y is None
    assert table.X.tolist() == [[5, 6]]


def test_query_ids(tmp_path):
    path = tmp_path / "rank.txt"
    path.write_text("2 qid:1 0:5 1:6\n0 qid:2 0:7 1:8 # qid:3\n")
    table = read_table(path)
    assert table.X.tolist() == [[5, 6], [7, 8]]
    assert table.qid.tolist() == [1, 2]
    path.write_text("2 qid:1 0:5 1:6\n\n0 0:7 1:8\n")
    with pytest.raises(DataError, match="line 3: no query id, but others have one"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 0:1\n1 0:x\n", {}, "table.libsvm, line 2: found value 'x': expected a number"),
        ("1 0:1\n\nyes 0:1\n", {}, "line 3: found label 'yes': expected a number"),
        ("nan 0:1\n", {}, "line 1: found label 'nan': expected a finite number"),
        ("1 0:1 1:inf\n", {}, "line 1: found value 'inf': .*leave it out if it is missing"),
        ("1 0:-1e39\n", {}, "line 1: found value '-1e39': .*float32 can hold"),
        ("1 0:1 5\n", {}, "line 1, item 3: found '5': expected 'index:value'"),
        ("1 0:1:2\n", {}, "line 1, item 2: found '0:1:2'"),
        ("1 0: 2\n", {}, "line 1, item 2: found '0:'"),
        ("1 a:2\n", {}, "line 1, item 2: found 'a:2'"),
        ("1 -1:2\n", {}, "line 1, item 2: found '-1:2'"),
        ("1 0:1_0\n", {}, "line 1, item 2: found '0:1_0'"),
        ("1_0 0:1\n", {}, "line 1, item 1: found '1_0': expected a number as label"),
        ("1 0:\u0663\n", {}, "line 1, item 2: found"),
        ("0:1 1:2\n", {}, "line 1: starts with '0:1': expected a label; .*with_label=False"),
        ("1,2,3\n", {}, "line 1: found label '1,2,3'"),
        ("1 0:1 0:2\n", {}, r"line 1: column 0 \(from 0\) is given twice"),
        ("1 2:1 0:2 2:5\n1 0:3\n", {}, "line 1: column 2"),
        ("1 0:1\n0 1:1\n", {"n_features": 1}, "line 2: found index 1: expected 0..0; check n_fea"),
        ("1 0:1\n", {"one_based": True}, "line 1: found index 0: expected 1.*check"),
        (
            "1 3000000000:1\n",
            {},
            "line 1: found index 3000000000: expected 0..2147483646; check n_features",
        ),
        ("1 123456789012345678901:1\n", {}, "line 1: found index '123.*fewer digits"),
        ("1\n0\n", {}, "no line has an index:value pair; give n_features"),
        ("# nothing\n", {}, "table.libsvm: no rows"),
        ("", {}, "the file is empty"),
        (b"1 0:\xff", {}, "line 1: byte 0xff is not UTF-8"),
    ],
)
def test_messages(read, text, options, message):
    with pytest.raises(DataError, match=message):
        read(text, **options)


def test_csv_is_not_taken_for_libsvm(read):
    assert read("1,2\n3,4\n", "table.txt").X.tolist() == [[2], [4]]
    with pytest.raises(DataError, match="found '12:30'"):
        read("1,12:30\n0,12:31\n", "table.txt")
