"""read_table on npz archives."""

import gzip

import numpy as np
import pytest

from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.errors import DataError

X = np.array([[1.0, np.nan], [3.0, 4.0]])
Y = np.array([0, 1])


@pytest.fixture
def read(tmp_path):
    def read_arrays(arrays, options=None, name="table.npz"):
        path = tmp_path / name
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)
        return read_table(path, **(options or {}))

    return read_arrays


def test_arrays(read):
    weight, names = np.array([1, 2]), np.array(["a", "b"])
    table = read({"X": X, "y": Y, "weight": weight, "feature_names": names, "more": Y})
    assert table.X.dtype == table.y.dtype == table.weight.dtype == np.float32
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == [0, 1]
    assert table.weight.tolist() == [1, 2]
    assert table.feature_names == ["a", "b"]


def test_queries(read):
    assert read({"X": X, "y": Y}).qid is None
    for ids in (np.array([3, 3], np.uint8), np.array([3.0, 3.0])):
        table = read({"X": X, "y": Y, "qid": ids})
        assert table.qid.tolist() == [3, 3]
        assert table.qid.dtype == np.int64


def test_known_by_its_content(read, tmp_path):
    assert read({"X": X, "y": Y}, name="table.dat").feature_names is None
    path = tmp_path / "table.npz.gz"
    path.write_bytes(gzip.compress((tmp_path / "table.dat").read_bytes()))
    np.testing.assert_array_equal(read_table(path).X, X)


def test_without_label(read):
    assert read({"X": X}, {"with_label": False}).y is None
    assert read({"X": X, "y": Y}, {"with_label": False}).y is None


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"X": X}, {}, r"table.npz: array 'y' is absent \(found: X\): expected X and y"),
        ({"y": Y}, {}, "array 'X' is absent"),
        ({"data": Y}, {"with_label": False}, r"'X' is absent \(found: data\): expected X;"),
        ({}, {}, "found: nothing"),
        ({"X": X, "y": Y[:1]}, {}, "table.npz: y has 1 value, X has 2 rows"),
        ({"X": X[0], "y": Y}, {}, "table.npz: X has shape"),
        ({"X": X * np.inf, "y": Y}, {}, "table.npz: X holds 3 infinite values"),
        ({"X": X, "y": Y}, {"n_features": 3}, "X has 2 features, but the model is expecting 3"),
        ({"X": X, "y": Y, "weight": -Y}, {}, "table.npz: weight holds 1 negative value"),
        ({"X": X, "y": Y, "qid": [1]}, {}, "table.npz: qid has 1 value, X has 2 rows"),
        ({"X": X, "y": Y, "qid": [2, 1]}, {}, "table.npz: qid is not sorted"),
        ({"X": X, "y": Y, "qid": [1, 1.5]}, {}, "qid has dtype float64: expected integers"),
        ({"X": X.astype(object), "y": Y}, {}, "cannot be read as npz .*allow_pickle"),
        ({"X": X, "y": Y, "feature_names": np.array(["a"])}, {}, "feature_names has shape"),
    ],
)
def test_messages(read, arrays, options, message):
    with pytest.raises(DataError, match=message):
        read(arrays, options)


def test_damaged_archives(read, tmp_path):
    read({"X": X, "y": Y})
    path = tmp_path / "table.npz"
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 0xFF
    for data in (whole[:-30], whole[:40], bytes(flipped), b"PK\x03\x04", b"PK\x03\x04" * 99):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"table.npz: cannot be read as npz"):
            read_table(path)


def test_other_files_called_npz(tmp_path):
    path = tmp_path / "table.npz"
    with path.open("wb") as file:
        np.save(file, X)
    for options in ({}, {"file_format": "npz"}):
        with pytest.raises(DataError, match=r"cannot be read as npz|not UTF-8 text"):
            read_table(path, **options)
    path.write_text("1,2\n")
    with pytest.raises(DataError, match="cannot be read as npz"):
        read_table(path, file_format="npz")
    assert read_table(path).X.tolist() == [[2]]
