"""polars, Arrow, and other tables: names stay, nulls are missing; with and without narwhals."""

import sys
from datetime import date

import numpy as np
import pytest

from pyopencl_gbdt.data import check_matrix, check_target, check_weight, encode_labels
from pyopencl_gbdt.data.arrays.matrix import column_names, has_text_names, take_column
from pyopencl_gbdt.errors import DataError

pl = pytest.importorskip("polars")
NAN = float("nan")
COLUMNS = {"b": [1, None, 3], "a": [0.5, 1.5, None], "c": [True, None, False]}
WANTED = [[1, 0.5, 1], [NAN, 1.5, NAN], [3, NAN, 0]]


def arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


KINDS = {
    "polars": pl.DataFrame,
    "polars lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "arrow": arrow,
    "arrow chunks": lambda columns: pytest.importorskip("pyarrow").concat_tables(
        [arrow(columns).slice(0, 1), arrow(columns).slice(1)]
    ),
    "arrow batch": lambda columns: arrow(columns).to_batches()[0],
    "arrow reader": lambda columns: arrow(columns).to_reader(),
    "narwhals": lambda columns: pytest.importorskip("narwhals").from_native(pl.DataFrame(columns)),
    "narwhals lazy": lambda columns: pytest.importorskip("narwhals").from_native(
        pl.DataFrame(columns).lazy()
    ),
}


@pytest.fixture(params=["narwhals", "arrow alone", "nothing"])
def installed(request, monkeypatch):
    """Hide the optional libraries that read tables."""
    if request.param != "narwhals":
        monkeypatch.setitem(sys.modules, "narwhals", None)
    if request.param == "nothing":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_names(kind):
    table = KINDS[kind](COLUMNS)
    assert column_names(table) == ["b", "a", "c"]
    assert has_text_names(table)
    matrix, names = check_matrix(table)
    assert names == ["b", "a", "c"]
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    np.testing.assert_array_equal(matrix, WANTED)


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "arrow"])
def test_without_what_reads_tables(kind, installed):
    matrix, names = check_matrix(KINDS[kind](COLUMNS))
    assert names == ["b", "a", "c"]
    np.testing.assert_array_equal(matrix, WANTED)


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "arrow"])
def test_missing_number(kind):
    matrix, _ = check_matrix(KINDS[kind](COLUMNS), missing=3)
    np.testing.assert_array_equal(matrix, [*WANTED[:2], [NAN, NAN, 0]])


def test_dtypes_of_polars():
    table = pl.DataFrame(
        {
            "u8": pl.Series([0, 255], dtype=pl.UInt8),
            "i64": pl.Series([-(2**40), None], dtype=pl.Int64),
            "f32": pl.Series([0.5, NAN], dtype=pl.Float32),
            "null": pl.Series([None, None]),
            "decimal": pl.Series(["1.5", None]).cast(pl.Decimal(10, 2)),
        }
    )
    matrix, _ = check_matrix(table)
    np.testing.assert_array_equal(matrix, [[0, -(2**40), 0.5, NAN, 1.5], [255, *[NAN] * 4]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["x", "y"], r"X holds 'x' at row 0, column 1 \('bad'\).*encode it as numbers"),
        ([None, "y"], r"X holds 'y' at row 1, column 1 \('bad'\)"),
        (pl.Series(["u", "v"], dtype=pl.Categorical), r"X holds 'u' at row 0, column 1 \('bad'\)"),
        ([date(2020, 1, 1)] * 2, r"X: column 1 \('bad'\) has dtype datetime64.*or drop it"),
        ([[1], [2]], r"at row 0, column 1 \('bad'\)"),
        ([1.0, np.inf], r"X holds 1 infinite value, the first \(inf\) at row 1, column 1 \('bad"),
        ([1e300, 0.0], r"1 too large value, .* row 0, column 1 \('bad'\)"),
    ],
)
def test_bad_columns_are_named(column, message):
    table = pl.DataFrame({"good": [1, 2], "bad": column})
    for given in (table, table.lazy()):
        with pytest.raises(DataError, match=message):
            check_matrix(given)


def test_shapes():
    with pytest.raises(DataError, match="X has 0 sample"):
        check_matrix(pl.DataFrame({"a": []}))
    with pytest.raises(DataError, match="X has 0"):
        check_matrix(pl.DataFrame())
    with pytest.raises(DataError, match="expecting 3 features"):
        check_matrix(pl.DataFrame({"a": [1]}), n_features=3)
    with pytest.raises(DataError, match="reshape"):
        check_matrix(pl.Series([1, 2]))


def test_a_table_that_fails():
    with pytest.raises(DataError, match="X is a LazyFrame whose columns cannot be read"):
        check_matrix(pl.DataFrame({"a": [1]}).lazy().with_columns(b=pl.col("a").str.len_chars()))


def test_damaged_offsets_of_arrow():
    """pyarrow itself ends the process when it encodes such strings."""
    pa = pytest.importorskip("pyarrow")
    offsets = pa.py_buffer(np.array([0, 2, 2**30, 3], np.int32))
    damaged = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(DataError, match=r"columns cannot be read: .*[Oo]ffset"):
        check_matrix(pa.table({"a": damaged}))


def test_targets_and_weights():
    pa = pytest.importorskip("pyarrow")
    for y in (
        pl.Series([1, 2]),
        pl.DataFrame({"y": [1, 2]}),
        pl.DataFrame({"y": [1, 2]}).lazy(),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        pa.table({"y": [1, 2]}),
    ):
        assert check_target(y, 2).tolist() == [1, 2]
        assert check_weight(y, 2).tolist() == [1, 2]
    two = pl.DataFrame({"y": [1, 2], "z": [3.0, 4.0]})
    for y in (two, two.lazy(), two.to_arrow()):
        assert check_target(y, 2).tolist() == [[1, 3], [2, 4]]
    for y in (pl.Series([1, None]), pa.array([1, None])):
        with pytest.raises(DataError, match=r"1 missing value, the first .* at row 1"):
            check_target(y, 2)


def test_class_labels():
    pa = pytest.importorskip("pyarrow")
    for y in (
        pl.Series(["u", "v", "u"]),
        pl.Series(["u", "v", "u"], dtype=pl.Categorical),
        pl.DataFrame({"y": ["u", "v", "u"]}),
        pl.DataFrame({"y": ["u", "v", "u"]}).lazy(),
        pa.array(["u", "v", "u"]),
        pa.chunked_array([["u"], ["v", "u"]]),
    ):
        classes, codes = encode_labels(y)
        assert classes.tolist() == ["u", "v"]
        assert codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "arrow"])
def test_a_column_is_taken_out(kind):
    rest, taken = take_column(KINDS[kind]({"x": [1, 2], "qid": [0, 1], "z": [3, 4]}), "qid")
    assert taken.tolist() == [0, 1]
    matrix, names = check_matrix(rest)
    assert names == ["x", "z"]
    assert matrix.tolist() == [[1, 3], [2, 4]]
