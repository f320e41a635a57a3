"""check_matrix on pandas DataFrames: dtypes, names, places."""

import numpy as np
import pytest

from pyopencl_gbdt.data import check_matrix
from pyopencl_gbdt.errors import DataError

pd = pytest.importorskip("pandas")
NAN = float("nan")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, None]),
        pd.Series([1, None], dtype="Int8"),
        pd.Series([1, None], dtype="Float64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([1, None], dtype=object),
        pd.Series([1, pd.NA], dtype=object),
        pd.Series([1, pd.NaT], dtype=object),
        pd.Series([True, NAN], dtype=object),
        pd.Series(pd.arrays.SparseArray([1.0, NAN])),
    ],
    ids=lambda column: str(column.dtype),
)
def test_missing_in_every_dtype(column):
    matrix, names = check_matrix(pd.DataFrame({"a": [5, 6], "b": column}))
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert names == ["a", "b"]
    np.testing.assert_array_equal(matrix, [[5, 1], [6, NAN]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "Int64", "boolean"])
def test_one_dtype(dtype):
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]}).astype(dtype)
    np.testing.assert_array_equal(check_matrix(frame)[0], [[0, 1], [1, 0]])


def test_float32_frame_is_not_copied():
    array = np.ones((3, 2), np.float32)
    matrix, _ = check_matrix(pd.DataFrame(array, columns=["a", "b"], copy=False))
    assert np.shares_memory(matrix, array)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["x", "y"], ["x", "y"]),
        ([0, 1], None),
        (["x", 1], ["x", "1"]),
        ([("x", 1), ("x", 2)], ["x 1", "x 2"]),
        ([1, 0], ["1", "0"]),
        ([7, 9], ["7", "9"]),
        ([7, 7], None),
    ],
)
def test_names(columns, expected):
    assert check_matrix(pd.DataFrame([[1, 2]], columns=columns))[1] == expected


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [[1.0, 2.0], [3.0]],
            r"holds \[1.0, 2.0\] at row 0, column 1 \('c'\).*a column of its own",
        ),
        (["red", "blue"], r"holds 'red' at row 0, column 1 \('c'\).*encode it as numbers"),
        (pd.Series([1, "blue"], dtype=object), r"'blue' at row 1, column 1 \('c'\)"),
        (pd.Series([pd.NA, "z"], dtype="string"), r"'z' at row 1, column 1 \('c'\)"),
        (pd.Categorical([1, 2]), r"column 1 \('c'\) has dtype category.*encode"),
        (pd.to_datetime(["2020-01-01"] * 2), r"column 1 \('c'\) has dtype datetime64"),
        (pd.to_timedelta([1, 2]), r"column 1 \('c'\) has dtype timedelta64"),
        ([1, 2j], r"column 1 \('c'\) has dtype complex128"),
        ([1, np.inf], r"1 infinite value, .* row 1, column 1 \('c'\)"),
        ([1, 1e39], r"1 too large value, .* row 1, column 1 \('c'\)"),
    ],
)
def test_bad_column_is_named(column, message):
    with pytest.raises(DataError, match=message):
        check_matrix(pd.DataFrame({"a": [1, 2], "c": column}))


def test_first_place_is_by_row_across_columns():
    frame = pd.DataFrame({"a": [1, 2, np.inf], "b": [1, 2, 3], "c": [1, np.inf, np.inf]})
    with pytest.raises(DataError, match=r"3 infinite values, .* row 1, column 2 \('c'\)"):
        check_matrix(frame)


def test_shapes_and_names_that_do_not_fit():
    with pytest.raises(DataError, match="two columns named 'a'"):
        check_matrix(pd.DataFrame(np.eye(2), columns=["a", "a"]))
    with pytest.raises(DataError, match="X has 2 features, but the model is expecting 3"):
        check_matrix(pd.DataFrame(np.eye(2)), n_features=3)
    with pytest.raises(DataError, match="0 sample"):
        check_matrix(pd.DataFrame({"a": []}))
    with pytest.raises(DataError, match="0 feature"):
        check_matrix(pd.DataFrame(index=[1, 2]))
    with pytest.raises(DataError, match="reshape"):
        check_matrix(pd.Series([1, 2]))


def test_row_labels_do_not_matter():
    frame = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}, index=["r", "r"])
    np.testing.assert_array_equal(check_matrix(frame[["a"]])[0], [[1], [2]])
