"""Names of columns: what is taken, what is refused, and whether rows have those of training."""

import numpy as np
import pytest

from pyopencl_gbdt.data.names import (
    check_columns,
    check_feature_names,
    scikit_learn_words,
    shortened,
)
from pyopencl_gbdt.errors import DataError

ABC = ["a", "b", "c"]


@pytest.mark.parametrize(
    "names",
    [
        ABC,
        tuple(ABC),
        np.array(ABC),
        np.array(ABC, object),
        iter(ABC),
    ],
    ids=["list", "tuple", "array", "objects", "iterator"],
)
def test_names_become_a_list_of_str(names):
    found = check_feature_names(names, 3)
    assert found == ABC
    assert all(type(name) is str for name in found)


def test_names_of_pandas():
    pd = pytest.importorskip("pandas")
    assert check_feature_names(pd.Index(ABC), 3) == ABC
    assert check_feature_names(pd.Series(ABC), 3) == ABC
    assert check_feature_names(pd.RangeIndex(3), 3) == ["0", "1", "2"]


def test_whole_numbers_become_their_digits():
    assert check_feature_names([3, np.int8(-1), "x"], 3) == ["3", "-1", "x"]


def test_what_xgboosts_matrices_refuse_is_taken():
    names = ["x[1]", "a<b", "", "ü \t\n"]
    assert check_feature_names(names, 4) == names


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("abc", "feature_names='abc': expected a list of 3 names; give one for every column"),
        (b"abc", "expected a list of 3 names"),
        ({"a", "b", "c"}, "expected a list of 3 names"),
        ({"a": 1, "b": 2, "c": 3}, "expected a list of 3 names"),
        (5, "feature_names=5: expected a list of 3 names"),
        (["a", "b"], "feature_names has 2 names, X has 3 columns: expected a name for every"),
        (["a"] * 4, "feature_names has 4 names, X has 3 columns"),
        (["a", "b", "a"], r"feature_names\[0\] and feature_names\[2\] are both 'a'.*rename one"),
        ([1, 2, "1"], "are both '1'"),
        (["a", None, "c"], r"feature_names\[1\]=None: expected a string"),
        (["a", 1.5, "c"], r"feature_names\[1\]=1.5: expected a string"),
        (["a", True, "c"], r"feature_names\[1\]=True: expected a string"),
        (["a", "b", "c\x01"], r"feature_names\[2\]='c\\x01': expected a string without control"),
        (["\ud800", "b", "c"], r"feature_names\[0\]=.*lone surrogates"),
    ],
)
def test_names_that_are_refused(names, message):
    with pytest.raises(DataError, match=message):
        check_feature_names(names, 3)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (None, ABC),
        (ABC, None),
        (ABC, ABC),
        (tuple(ABC), ABC),
        (["0", "1", "2"], ABC),  # numbers say no more than the order
        (["7", "9", "8"], None),
    ],
)
def test_columns_that_fit(names, expected):
    check_columns(names, expected)


@pytest.mark.parametrize(
    ("names", "expected", "message"),
    [
        (["c", "b", "a"], ABC, "^X has 'c' as column 0, counted from 0: expected 'a', as in train"),
        (["a", "x", "c"], ABC, "^X has 'x' as column 1, .*: expected 'b', .*in the same order"),
        (["a", "b"], ABC, r"^X ends there at column 2, .*expected 'c', .*\(3 columns, not 2\)"),
        (["a", "b", "c", "d"], ABC, "^X has 'd' at column 3, .*: expected no more columns"),
        (["2", "1", "0"], None, "^X has '2' as column 0, counted from 0: expected '0'"),
        (["1", "0", "2"], ABC, "^X has '1' as column 0, .* expected 'a'"),
        (["0", "1"], ABC, "^X has '0' as column 0, .* expected 'a'"),
    ],
)
def test_columns_that_differ(names, expected, message):
    with pytest.raises(DataError, match=message):
        check_columns(names, expected)


def test_words_for_whose_columns_they_are():
    with pytest.raises(DataError, match=r"^t.csv has 'b' as .* as in the training data; give"):
        check_columns(["b"], ["a"], "t.csv", "the training data")


def test_scikit_learns_words():
    assert "same order as they were in fit" in scikit_learn_words(["b", "a"], ["a", "b"])
    many = scikit_learn_words([f"x{i}" for i in range(7)], ["a", "x0"])
    assert "unseen at fit time:\n- x1\n- x2\n- x3\n- x4\n- x5\n- ...\n" in many
    assert "yet now missing:\n- a\n" in many


def test_shortened():
    assert shortened(ABC) == "'a', 'b', 'c'"
    assert shortened([*ABC, "d"]) == "'a', 'b', 'c', ..."
