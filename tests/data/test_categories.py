"""Categorical columns of a data set: levels, codes, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.data.categories.chosen import categorical_argument, check_categorical
from pyopencl_gbdt.data.categories.levels import NO_LEVEL, Levels, recode
from pyopencl_gbdt.errors import DataError, ParameterError
from tests.tables import polars

NAN = np.nan
X = np.array([[7.0, 0.5], [-2, 1.5], [NAN, 2.5], [7, NAN], [3, 0.5]], np.float32)
SHOPS = ["b", None, "é", "c", "a"]
NUMBERS = [1.0, 2.0, 3.0, NAN, 5.0]


def shops(column) -> pd.DataFrame:
    return pd.DataFrame({"n": NUMBERS, "shop": column, "open": [True, False, True, True, False]})


def strings(*values: str) -> Levels:
    return Levels(np.array(values, object))


INPUTS = {
    "category, shuffled": shops(pd.Categorical(SHOPS, ["z", "é", "c", "b", "a"])),
    "string": shops(pd.array(SHOPS, "string")),
    "str": shops(pd.Series(SHOPS)),
    "object": shops(pd.Series(SHOPS, dtype=object)),
    "pandas arrow": shops(pd.Series(SHOPS, dtype=pd.ArrowDtype(pa.string()))),
    "pandas dictionary": shops(
        pd.Series(SHOPS, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    ),
    "arrow strings": pa.table({"n": NUMBERS, "shop": pa.array(SHOPS)}),
    "arrow dictionary": pa.table(
        {
            "n": NUMBERS,
            "shop": pa.chunked_array(
                [pa.array(SHOPS[:2]).dictionary_encode(), pa.array(SHOPS[2:]).dictionary_encode()]
            ),
        }
    ),
    "a dictionary with a string twice": pa.table(
        {
            "n": NUMBERS,
            "shop": pa.DictionaryArray.from_arrays(
                pa.array([4, None, 0, 3, 1]), pa.array(["é", "a", "b", "c", "b"])
            ),
        }
    ),
    "record batch": pa.RecordBatch.from_pydict(
        {"n": pa.array(NUMBERS), "shop": pa.array(SHOPS).dictionary_encode()}
    ),
}


if polars is not None:
    INPUTS |= {
        "polars string": polars.DataFrame({"n": NUMBERS, "shop": SHOPS}),
        "polars categorical": polars.DataFrame(
            {"n": NUMBERS, "shop": polars.Series(SHOPS, dtype=polars.Categorical)}
        ),
        "polars enum": polars.DataFrame(
            {
                "n": NUMBERS,
                "shop": polars.Series(SHOPS, dtype=polars.Enum(["é", "c", "q", "b", "a"])),
            }
        ).lazy(),
    }


@pytest.mark.parametrize("kind", INPUTS)
def test_every_table_has_the_same_codes(kind):
    data = Dataset(INPUTS[kind])
    assert data.categories == {1: strings("a", "b", "c", "é")}
    assert np.array_equal(data.values[:, 1], [1, NAN, 3, 2, 0], equal_nan=True)
    assert np.array_equal(data.values[:, 0], NUMBERS, equal_nan=True)
    assert data.level_codes(1).tolist() == [1, NO_LEVEL, 3, 2, 0]


def test_arrays_name_their_columns():
    rows = np.array([NUMBERS, SHOPS], object).T
    for given in ([1], [False, True], ["shop"], "shop", "name:n,shop"):
        data = Dataset(rows, feature_names=["n", "shop"], categorical_features=given)
        assert data.categories[1] == strings("a", "b", "c", "é")
    assert Dataset(np.array([["u"], ["v"]]), categorical_features=[0]).values.tolist() == [[0], [1]]
    with pytest.raises(
        DataError, match=r"'b' at row 0.*or name the column in categorical_features"
    ):
        Dataset(rows)


def test_levels_of_numbers_are_sorted_and_exact():
    data = Dataset(X, feature_types=["c", "q"])
    assert data.categories.keys() == {0}
    assert data.categories[0].values.tolist() == [-2, 3, 7]
    assert np.array_equal(data.values[:, 0], [2, 0, NAN, 2, 1], equal_nan=True)
    assert np.array_equal(data.values[:, 1], X[:, 1], equal_nan=True)
    assert X[0, 0] == 7
    large = np.array([[2**60 + 1], [2**60], [5]])
    assert Dataset(large, categorical_features=[0]).values.tolist() == [[2], [1], [0]]
    assert Dataset(large, categorical_features=[0], missing=5).level_codes(0).tolist() == [1, 0, -1]


def test_what_is_no_level_has_no_code():
    levels = Levels(np.array([2, 5]))
    assert levels.encode(np.array([5, 4, 2, 9])).tolist() == [1, NO_LEVEL, 0, NO_LEVEL]
    assert Levels(np.array([], np.int64)).encode(np.array([1])).tolist() == [NO_LEVEL]
    assert strings("a", "c").encode(np.array(["c", "b"], object)).tolist() == [1, NO_LEVEL]
    codes = recode(np.array([1, -1, 0], np.int32), strings("a", "c"), strings("b", "c"), "X")
    assert codes.tolist() == [1, NO_LEVEL, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *[(given, "expected column numbers 0..1") for given in ([2], [-1], [0.5], [[0]], 3)],
        (["towm"], r"names of columns.*did you mean 'town'"),
        ([True], "or a mask of 2 bools"),
    ],
)
def test_unknown_columns_are_refused(given, message):
    with pytest.raises(DataError, match=f"categorical_features=.*{message}"):
        check_categorical(given, 2, ["town", "n"])


def test_names_of_xgboost():
    assert categorical_argument() == categorical_argument(enable_categorical=True) == "from_dtype"
    assert categorical_argument(enable_categorical=False) is None
    assert categorical_argument([1], enable_categorical=True) == [1]
    assert categorical_argument(feature_types=["q", "c"]).tolist() == [False, True]
    for wrong in ({"feature_types": ["x"]}, {"feature_types": ["c"], "categorical_features": [0]}):
        with pytest.raises(ParameterError, match="feature_types"):
            categorical_argument(**wrong)
    assert check_categorical("auto", 3, by_dtype=[1]) == [1]
    assert check_categorical(None, 3, by_dtype=[1]) == []
    assert check_categorical("2,0", 3) == [0, 2]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(["a", 1, "b"], dtype=object), r"holds 'a' \(str\) and 1 \(int\): expected one"),
        (pd.Series([b"a", b"b", b""]), r"holds b'a' \(bytes\): expected strings or whole"),
        (pd.Categorical([1.5, 2, 2]), r"holds 1\.5: expected whole numbers"),
        (pd.Series([1, np.inf, 2]), "holds inf: expected whole numbers"),
        (pd.to_datetime(["2020-01-01"] * 3), r"has dtype datetime64.*astype\(str\)"),
        (pd.Series([[1], [2], [1]]), r"holds \[1\] \(list\)"),
        (pd.Series(["\ud800"] * 3, dtype=object), "holds .*string that UTF-8 can hold"),
    ],
)
def test_a_column_of_other_values_is_named(column, message):
    with pytest.raises(DataError, match=rf"X: column 1 \('c'\) {message}"):
        Dataset(pd.DataFrame({"n": [0, 1, 2], "c": column}), categorical_features=["c"])


def test_tables_that_memory_does_not_hold_are_refused(monkeypatch):
    frame = pd.DataFrame({"c": [f"{number:x}" for number in range(50_000)]})
    for there, message in (
        (1_300_000, "X, 50000 x 1, take 1.6 MB: expected at most 1.3 MB.*give fewer rows"),
        (3_000_000, r"X: column 0 \('c'\) has 50000 levels, whose tables take 10 MB.*merge rare"),
    ):
        monkeypatch.setattr("pyopencl_gbdt.data.budget.available_memory", lambda there=there: there)
        with pytest.raises(DataError, match=message):
            Dataset(frame)


def test_sparse_rows_and_columns_by_dtype_can_be_refused():
    with pytest.raises(DataError, match="X is sparse: expected a dense array"):
        Dataset(scipy.sparse.csr_array(np.eye(2)), categorical_features=[1])
    with pytest.raises(DataError, match="'b' at row 0, column 1"):
        Dataset(INPUTS["str"], categorical_features=None)
    assert Dataset(scipy.sparse.csr_array(np.eye(2))).categories == {}


def test_rows_by_the_levels_of_training():
    training = Dataset(pd.DataFrame({"c": ["x", "b", "m"], "n": [1, 2, 3]}))
    rows = Dataset(pd.DataFrame({"c": ["m", "a", "x"], "n": [4, 5, 6]}))
    again = rows.coded_by(training.categories)
    assert np.array_equal(again.values, [[1, 4], [NAN, 5], [2, 6]], equal_nan=True)
    assert again.level_codes(0).tolist() == [1, 3, 2]  # 3 is a level that training has not seen
    assert again.coded_by(training.categories) is again
    assert again.slice([1, 0]).level_codes(0).tolist() == [3, 1]
    missing = Dataset(pd.DataFrame({"c": ["m", None, "x"], "n": [4, 5, 6]}))
    found = missing.coded_by(training.categories).digests()
    assert [part for part, own in again.digests().items() if own != found[part]] == ["categories"]
    assert rows.values[:, 0].tolist() == [1, 0, 2]
    for other, message in (
        ({"c": [1, 2], "n": [1, 2]}, r"eval: column 0 \('c'\) holds numbers.*3 levels"),
        ({"c": ["a", "b"], "n": ["a", "b"]}, r"eval: column 1 \('n'\) is categorical: expected"),
        (
            {"c": pd.Categorical([1, 2]), "n": [1, 2]},
            r"eval: column 0 \('c'\) holds whole numbers, such as 1: expected strings, such as 'b'",
        ),
    ):
        with pytest.raises(DataError, match=message):
            Dataset(pd.DataFrame(other)).coded_by(training.categories, "eval")


def test_slices_pickles_and_digests_know_the_levels():
    data = Dataset(INPUTS["str"])
    part = data.slice([4, 3])
    assert part.categories == data.categories
    assert part.level_codes(1).tolist() == [0, 2]
    copied = pickle.loads(pickle.dumps(data))
    assert copied.categories == data.categories
    assert copied.digests() == data.digests()
    renamed = Dataset(INPUTS["str"].replace("c", "d"))
    assert [k for k in data.digests() if data.digests()[k] != renamed.digests()[k]] == [
        "categories"
    ]
    assert "1 categorical" in repr(data)
    with pytest.raises(ParameterError, match=r"feature=0: expected one of \[1\]"):
        data.level_codes(0)
