"""Targets, labels and weights."""

import numpy as np
import pytest

from pyopencl_gbdt.data import (
    check_binary_labels,
    check_target,
    check_weight,
    encode_known_labels,
    encode_labels,
)
from pyopencl_gbdt.data.threads import transposed
from pyopencl_gbdt.errors import DataError

NAN = float("nan")


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1],
        (0.0, 1.0, 1.0),
        range(3),
        np.array([0, 1, 1], ">i2"),
        np.array([[0], [1], [1]], np.float64),
        np.array([0, 9, 1, 9, 1, 9])[::2],
        np.array([False, True, True]),
        np.array([0, 1, 1], object),
    ],
)
def test_target_becomes_a_float32_vector(y):
    target = check_target(y, 3)
    assert target.dtype == np.float32
    assert target.shape == (3,)
    assert target.flags.c_contiguous
    np.testing.assert_array_equal(target, np.asarray(y, float).reshape(-1))


def test_several_targets():
    y = [[1, 2], [3, 4], [5, 6]]
    for given in (
        y,
        np.array(y, ">f8"),
        np.asfortranarray(y),
        np.ma.masked_array(y, np.zeros((3, 2))),
    ):
        target = check_target(given, 3)
        assert target.dtype == np.float32
        assert target.tolist() == y
    with pytest.raises(DataError, match=r"y holds -1.0 at row 2, .*expected label >= 0"):
        check_target([[1, 2], [3, 4], [5, -1]], 3, objective="count:poisson")


def test_target_is_not_copied():
    y = np.ones(4, np.float32)
    assert np.shares_memory(check_target(y, 4), y)
    assert np.shares_memory(check_weight(y, 4), y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "y has 2 values, X has 3 rows"),
        ([1], "y has 1 value, X has 3 rows"),
        (1.0, "y is 1.0: expected an array"),
        (None, "y is None: expected an array"),
        ([[1, 2, 3]], "y has 1 value, X has 3 rows"),
        (np.zeros((3, 0)), r"y has shape \(3, 0\): expected \(n_rows,\) or \(n_rows, 1\)"),
        (np.zeros((3, 1, 1)), r"y has shape \(3, 1, 1\): expected .* or \(n_rows, n_outputs\)"),
        (np.zeros((3, 2, 2)), r"y has shape \(3, 2, 2\): expected .*a column for every output"),
        ([[1, 2], [1], [1, 2]], "y is not an array of numbers: .*rows of equal length"),
        ([[1, 2], [1, NAN], [1, 2]], r"y\[:, 1\] holds 1 missing value, the first .* at row 1,"),
        ([[1, 2], [1, 2], ["a", 2]], r"y\[:, 0\] holds 'a' at row 2"),
        ([1, NAN, 3], "1 missing value, the first .* at row 1,"),
        ([1, None, None], "2 missing values, the first .* at row 1,"),
        ([1, 2, np.inf], "1 infinite value, the first .* at row 2, .*expected finite numbers;"),
        ([1, 2, 1e39], "1 too large value, the first .* at row 2,"),
        (np.ma.masked_array([1, 2, 3], [0, 0, 1]), "1 missing value, the first .* at row 2,"),
        ([1, "b", 3], "y holds 'b' at row 1, .*expected a number.*encode"),
        (np.array(["a", "b", "c"]), "y holds 'a' at row 0"),
        ([1j, 2, 3], "dtype complex128"),
    ],
)
def test_target_messages(y, message):
    with pytest.raises(DataError, match=message):
        check_target(y, 3)


def test_binary_labels():
    assert check_target([0, 1], 2, objective="binary:logistic").tolist() == [0, 1]
    assert check_target([True, True], 2, objective="binary:logistic").tolist() == [1, 1]
    zeros = np.zeros(1, np.float32)
    assert check_binary_labels(zeros) is zeros
    with pytest.raises(DataError, match=r"y holds -1.0 at row 1, .*expected 0 or 1 .*GBDTClassif"):
        check_target([1, -1], 2, objective="binary:logistic")
    with pytest.raises(DataError, match=r"y holds 0.5 at row 0"):
        check_binary_labels(np.array([0.5], np.float32))


@pytest.mark.parametrize(
    ("objective", "y", "message"),
    [
        ("binary:hinge", 2, r"y holds 2.0 at row 1, .*expected 0 or 1 for .*'binary:hinge'"),
        ("binary:logitraw", 0.5, "expected 0 or 1 for objective='binary:logitraw'; encode"),
        ("reg:logistic", 1.5, "expected 0 <= label <= 1 for .*give probabilities, or use reg:sq"),
        ("cross_entropy", -0.1, "expected 0 <= label <= 1 for objective='cross_entropy'"),
        ("count:poisson", -1, "y holds -1.0 at row 1, .*expected label >= 0 for .*; give counts"),
        ("reg:tweedie", -1e-30, "expected label >= 0 for objective='reg:tweedie'"),
        ("reg:gamma", 0, "y holds 0.0 at row 1, .*expected label > 0 for .*use reg:tweedie"),
        ("reg:squaredlogerror", -1, "expected label > -1 for .*; shift the labels"),
    ],
)
def test_labels_that_a_loss_refuses(objective, y, message):
    with pytest.raises(DataError, match=message):
        check_target([0.75 if objective == "reg:logistic" else 1, y], 2, objective=objective)


@pytest.mark.parametrize(
    ("objective", "y"),
    [
        ("reg:logistic", [0, 0.5, 1]),
        ("cross_entropy", [0, 0.5, 1]),
        ("count:poisson", [0, 2.5, 3e38]),
        ("reg:tweedie", [0, 1, 2]),
        ("reg:gamma", [1e-40, 1, 2]),
        ("reg:squaredlogerror", [-0.99, 0, 1]),
        ("reg:pseudohubererror", [-5, 0, 1]),
        ("mape", [-5, 0, 1]),
    ],
)
def test_labels_that_a_loss_takes(objective, y):
    assert check_target(y, 3, objective=objective).tolist() == np.float32(y).tolist()


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["no", "yes", "no"], ["no", "yes"]),
        ([False, True, False], [False, True]),
        ([-1, 1, -1], [-1, 1]),
        ([[3], [7], [3]], [3, 7]),
        ([0.5, 1.5, 0.5], [0.5, 1.5]),
        (np.array(["no", "yes", "no"], object), ["no", "yes"]),
        (np.array([b"n", b"y", b"n"]), [b"n", b"y"]),
        (np.array([1, 2, 1], object), [1, 2]),
        (np.array(["2020", "2021", "2020"], "M8[Y]"), np.array(["2020", "2021"], "M8[Y]")),
    ],
)
def test_encode_labels(y, classes):
    found, codes = encode_labels(y)
    np.testing.assert_array_equal(found, classes)
    assert codes.dtype == np.float32
    assert codes.tolist() == [0, 1, 0]


def test_many_classes():
    for y in (list("cabbca"), [30, 10, 20, 20, 30, 10], np.array([3.0, 1, 2, 2, 3, 1])):
        classes, codes = encode_labels(y)
        assert classes.tolist() == sorted(set(y))
        assert codes.tolist() == [2, 0, 1, 1, 2, 0]
        known = encode_known_labels(list(y[:2]), classes, "other")
        assert known.dtype == np.float32
        assert known.tolist() == [2, 0]
    assert encode_known_labels([True, False], np.array([0.0, 1.0]), "other").tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "x", "y"], "other holds 'x' at row 1, counted from 0: expected .* 'a', 'b', 'c';"),
        ([1, 2], "other holds 1 at row 0"),
        (["a", None], r"other holds 1 missing or infinite label, the first \(None\) at row 1"),
        (["a", 1], "other mixes labels of types int, str"),
    ],
)
def test_unknown_labels(y, message):
    with pytest.raises(DataError, match=message):
        encode_known_labels(y, np.array(["a", "b", "c"]), "other")


def test_classes_keep_a_plain_dtype():
    assert encode_labels([True, False])[0].dtype == np.bool_
    assert encode_labels(np.array([3, 4], object))[0].dtype.kind == "i"
    assert encode_labels(["a", "b"])[0].dtype.kind == "U"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(7) + 0.5, r"7 classes \(0.5, 1.5, 2.5, 3.5, 4.5, ...\): expected whole"),
        ([1.5, 2.5, 3.5], r"3 classes \(1.5, 2.5, 3.5\).*GBDTRegressor"),
        ([], r"y has 0 classes"),
        ([1, "a"], "y mixes labels of types int, str"),
        (["a", None], r"1 missing or infinite label, the first \(None\) at row 1"),
        ([1, NAN, NAN], r"2 missing or infinite labels, the first \(nan\) at row 1"),
        ([1, np.inf], r"the first \(inf\) at row 1"),
        (np.array(["2020", "NaT"], "M8[Y]"), "at row 1"),
        (np.ma.masked_array([1, 2], [0, 1]), r"the first \(None\) at row 1"),
        ([[1, 2]], r"y has shape \(1, 2\)"),
    ],
)
def test_encode_labels_messages(y, message):
    with pytest.raises(DataError, match=message):
        encode_labels(y)


def test_weight():
    assert check_weight(None, 3) is None
    weight = check_weight([0, 1, 2], 3)
    assert weight.dtype == np.float32
    assert weight.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], "weight has 2 values, X has 3 rows"),
        ([1, -1, -2], r"weight holds 2 negative values, the first \(-1.0\) at row 1, .*>= 0"),
        ([0, 0, 0], "weight is zero in every row"),
        ([1e-50, 0, 0], "weight is zero in every row"),
        ([1, NAN, 1], "weight holds 1 missing value"),
        ([1, 1, np.inf], "weight holds 1 infinite value"),
        (["a", 1, 1], "weight holds 'a' at row 0"),
        (2.0, "weight is 2.0: expected an array"),
    ],
)
def test_weight_messages(weight, message):
    with pytest.raises(DataError, match=message):
        check_weight(weight, 3)


def test_pandas_targets():
    pd = pytest.importorskip("pandas")
    assert check_target(pd.Series([1, 2], dtype="Int64", index=[7, 7]), 2).tolist() == [1, 2]
    assert check_target(pd.DataFrame({"y": [1, 2]}), 2).tolist() == [1, 2]
    assert check_target(pd.Index([1, 2]), 2).tolist() == [1, 2]
    assert check_target(pd.array([1, 2], dtype="Int64"), 2).tolist() == [1, 2]
    with pytest.raises(DataError, match=r"1 missing value, the first .* at row 1,"):
        check_target(pd.Series([1, None], dtype="Int64"), 2)
    with pytest.raises(DataError, match="y holds 'a' at row 0"):
        check_target(pd.Series(["a", "b"]), 2)
    with pytest.raises(DataError, match="y has dtype category"):
        check_target(pd.Series([1, 2], dtype="category"), 2)
    two = check_target(pd.DataFrame({"a": [1, 2], "b": pd.array([3, 4], "Int64")}), 2)
    assert two.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(DataError, match=r"y\[:, 1\] holds 1 missing value, the first .* at row 0,"):
        check_target(pd.DataFrame({"a": [1], "b": pd.array([None], "Int64")}), 1)


@pytest.mark.parametrize("dtype", ["Int64", "category", "object", "string", "boolean"])
def test_pandas_labels(dtype):
    pd = pytest.importorskip("pandas")
    values = ["0", "1"] if dtype == "string" else [False, True] if dtype == "boolean" else [0, 1]
    classes, codes = encode_labels(pd.Series(values, dtype=dtype))
    assert classes.tolist() == values
    assert codes.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"1 missing or infinite label.* at row 1"):
        encode_labels(pd.Series([values[0], None], dtype=dtype))


@pytest.mark.parametrize("shape", [(1, 1), (700, 3), (3, 700), (70_001, 5), (0, 2)])
def test_labels_are_transposed(shape):
    """In blocks of rows, of which some threads take several."""
    matrix = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    turned = transposed(matrix[:, ::-1])
    assert turned.flags.c_contiguous
    assert np.array_equal(turned, matrix[:, ::-1].T)
