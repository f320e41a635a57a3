"""Matrices of ``compat.xgboost``, beside XGBoost's where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows
from tests.conftest import TEST_DEVICE

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


def facts(matrix):
    """Return what a matrix tells of itself."""
    return {
        "size": (matrix.num_row(), matrix.num_col(), matrix.num_nonmissing()),
        "names": matrix.feature_names,
        "types": matrix.feature_types,
        "values": matrix.get_data().toarray().tolist(),
        "label": matrix.get_label().tolist(),
        "weight": matrix.get_weight().tolist(),
        "margin": matrix.get_base_margin().tolist(),
        "group": matrix.get_group().tolist(),
        "offsets": matrix.get_uint_info("group_ptr").tolist(),
        "shares": matrix.get_float_info("feature_weights").tolist(),
    }


X = np.array([[1, np.nan, 3], [4, 5, 6], [0, -1, np.nan], [2, 2, 2]], np.float32)
TABLE = pd.DataFrame(
    {"a": [1, 2, 3, 4], "b": [0.5, np.nan, 1, 2], "c": [True, False, True, True],
     "d": pd.Categorical(["x", "y", "x", "z"])}
)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (X, {"label": [1, 2, 3, 4], "weight": [1, 2, 3, 4]}),
        (X.tolist(), {"label": [1, 2, 3, 4]}),
        (X, {"missing": 2, "feature_names": ["u", "v", "w"], "feature_types": ["int", "q", "i"]}),
        (X.astype(np.float64), {"group": [1, 3], "weight": [1, 2], "feature_weights": [0, 1, 2]}),
        (np.asfortranarray(X), {"qid": [3, 3, 7, 8], "base_margin": [1, 2, 3, 4]}),
        (X, {"label": np.ones((4, 2)), "base_margin": np.arange(12).reshape(3, 4)}),
        (scipy.sparse.csr_matrix([[0, 1, 0], [2, 0, 3]]), {"label": [1, 2]}),
        (scipy.sparse.csc_matrix([[0, 1, 0], [2, 0, 3]]), {}),
        (TABLE, {"enable_categorical": True, "label": TABLE["a"]}),
        (TABLE[["a", "b"]], {"label": TABLE[["a"]]}),
        (X[:, :1] * 0 + 2, {"feature_types": ["c"]}),
        (X[:0], {}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Empty dataset")
def test_a_matrix_tells_of_itself_what_xgboosts_does(theirs, data, how):
    assert facts(xgb.DMatrix(data, **how)) == facts(theirs.DMatrix(data, **how))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"data": X[0]}, "Please reshape the input data into 2-dimensional matrix"),
        ({"data": X, "label": [1, 2]}, "Invalid size for `label`"),
        ({"data": X, "label": [1, 2, 3, np.nan]}, "Label contains NaN"),
        ({"data": X, "label": np.ones((2, 2, 1))}, "Invalid shape: .* for label"),
        ({"data": X, "label_lower_bound": [1]}, "Invalid size for `label_lower_bound`"),
        ({"data": X, "weight": [-1, 1, 1, 1]}, "Weights must be positive"),
        ({"data": X, "feature_weights": [-1, 1, 1]}, "Feature weight must be"),
        ({"data": X, "group": [1, 3], "qid": [1, 1, 1, 1]}, "Either one of `group` or `qid`"),
        ({"data": X, "data_split_mode": 1}, "expected DataSplitMode.ROW"),
        ({"data": X * np.inf}, "Input data contains `inf`"),
        ({"data": np.ma.masked_array(X)}, "Masked array is not supported"),
        ({"data": X, "label": np.ma.masked_array([1])}, "Masked array is not supported"),
        ({"data": X, "feature_names": ["a"]}, "feature names must have the same length"),
        ({"data": X, "feature_names": ["a", "b", "b"]}, "must be unique"),
        ({"data": X, "feature_names": ["a", "b", "c<"]}, "may not contain"),
        ({"data": X, "feature_types": ["a", "q", "q"]}, "All feature_types must be one of"),
        ({"data": -X, "feature_types": ["c", "q", "q"]}, "Invalid categorical value"),
        ({"data": TABLE}, "`enable_categorical` must be set to `True`.* d: category"),
        ({"data": TABLE.astype({"d": str}), "enable_categorical": True}, "Invalid columns: d"),
    ],
)
def test_wrong_matrices(arguments, words):
    with pytest.raises(ValueError, match=words):
        xgb.DMatrix(**arguments)


def test_queries_of_other_rows_are_told_by_the_training(theirs):
    for library, words in ((xgb, "group adds up to 10 rows"), (theirs, "Invalid query group")):
        matrix = library.DMatrix(X, [0, 1, 2, 3], group=[1, 9])
        assert matrix.get_uint_info("group_ptr").tolist() == [0, 1, 10]
        with pytest.raises(ValueError, match=words):
            library.train({"objective": "rank:ndcg"}, matrix, 1)


def test_what_no_matrix_is_made_of():
    for data in (None, 3, "", object()):
        with pytest.raises((TypeError, ValueError)):
            xgb.DMatrix(data)
    with pytest.raises(ValueError, match="Opening nofile failed"):
        xgb.DMatrix("nofile")


def test_slices_are_those_of_xgboost(theirs):
    how = {"label": [1, 2, 3, 4], "base_margin": np.arange(12).reshape(4, 3), "weight": [1, 2],
           "group": [2, 2], "feature_weights": [1, 2, 3], "feature_names": list("abc")}  # fmt: skip
    for chosen in ([0, 2], np.array([3]), [1, 1, 0]):
        parts = [library.DMatrix(X, **how).slice(chosen, allow_groups=True)
                 for library in (xgb, theirs)]  # fmt: skip
        assert facts(parts[0]) == facts(parts[1])
    with pytest.raises(ValueError, match="slice does not support group structure"):
        xgb.DMatrix(X, **how).slice([0])


def test_fields_can_be_set_later():
    matrix = xgb.DMatrix(X)
    matrix.set_weight([5, 6])  # before the queries that they belong to
    matrix.set_group([1, 3])
    matrix.set_label([1, 0, 1, 0])
    assert matrix.dataset().weight.tolist() == [5, 6, 6, 6]
    matrix.set_info(weight=[], feature_names=["a", "b", "c"], feature_types=["q"] * 3)
    assert matrix.get_weight().size == 0
    assert matrix.dataset().feature_names == ["a", "b", "c"]
    matrix.feature_names = None
    assert matrix.feature_names is None
    for call in (lambda: matrix.get_float_info("colour"), lambda: matrix.set_uint_info("a", [1]),
                 lambda: matrix.set_float_info("a", [1])):  # fmt: skip
        with pytest.raises(ValueError, match="Unknown key"):
            call()


@pytest.mark.parametrize("data", [X, scipy.sparse.csr_matrix([[0, 1, 0], [2, 0, 3]]), TABLE])
def test_files_keep_a_matrix(tmp_path, data):
    own = xgb.DMatrix(
        data, np.arange(data.shape[0]), enable_categorical=True, group=[1, data.shape[0] - 1]
    )
    own.save_binary(tmp_path / "rows")
    assert facts(xgb.DMatrix(tmp_path / "rows")) == facts(own)
    (tmp_path / "rows").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ValueError, match=r"not a file of DMatrix\.save_binary"):
        xgb.DMatrix(tmp_path / "rows")


def test_text_is_read(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,3\n4,5,6\n")
    matrix = xgb.DMatrix(f"{tmp_path}/rows.csv?format=csv&label_column=0")
    assert matrix.get_label().tolist() == [1, 4]
    assert matrix.get_data().toarray().tolist() == [[2, 3], [5, 6]]


class Batches(xgb.DataIter):
    def __init__(self, parts):
        super().__init__()
        self.parts, self.at = parts, 0

    def reset(self):
        self.at = 0

    def next(self, input_data):
        if self.at == len(self.parts):
            return False
        input_data(**self.parts[self.at])
        self.at += 1
        return True


def test_batches_are_rows_in_a_row():
    X, y = rows()
    parts = [{"data": X[:50], "label": y[:50]}, {"data": X[50:], "label": y[50:]}]
    whole = xgb.train({"max_depth": 2}, xgb.DMatrix(X, y), 2)
    for make in (xgb.DMatrix, xgb.QuantileDMatrix, xgb.ExtMemQuantileDMatrix):
        matrix = make(Batches(parts))
        assert xgb.train({"max_depth": 2}, matrix, 2).save_raw() == whole.save_raw()
    frames = [{"data": TABLE}, {"data": TABLE.astype({"d": str}).astype({"d": "category"})}]
    assert xgb.DMatrix(Batches(frames[:1]), enable_categorical=True).num_row() == 4
    mixed = [{"data": TABLE}, {"data": TABLE.astype({"a": "category"})}]
    with pytest.raises(ValueError, match="Inconsistent number of categories"):
        xgb.QuantileDMatrix(Batches(mixed), enable_categorical=True)
    with pytest.raises(ValueError, match="Must have at least 1 batch"):
        xgb.DMatrix(Batches([]))
    with pytest.raises(ValueError, match="data like label should be specified as batch argument"):
        xgb.QuantileDMatrix(Batches(parts), label=y)
    with pytest.raises(TypeError, match="expected a DataIter"):
        xgb.ExtMemQuantileDMatrix(X)


def test_bins_belong_to_the_training_rows():
    X, y = rows()
    matrix = xgb.QuantileDMatrix(X, y, max_bin=8)
    starts, points = matrix.get_quantile_cut()
    assert np.diff(starts).tolist() == [9] * 4
    assert (np.diff(points[:9]) > 0).all()
    assert points[0] < X[:, 0].min() < X[:, 0].max() < points[8]
    test = xgb.QuantileDMatrix(X, y, ref=matrix)
    xgb.train({"max_bin": 8}, matrix, 1, evals=[(test, "test")], verbose_eval=False)
    with pytest.raises(ValueError, match="Inconsistent `max_bin`"):
        xgb.train({"max_bin": 9}, matrix, 1)
    with pytest.raises(ValueError, match="Inconsistent `max_bin`"):
        xgb.QuantileDMatrix(X, ref=matrix, max_bin=9)
    with pytest.raises(ValueError, match="should be used as a reference"):
        xgb.train({"max_bin": 8}, matrix, 1, evals=[(xgb.QuantileDMatrix(X, y), "test")])
    with pytest.raises(
        ValueError, match=r"Invalid ref DMatrix, different number of features\.: re"
    ):
        xgb.QuantileDMatrix(X[:, :2], ref=matrix)
    with pytest.raises(TypeError, match="expected a DMatrix"):
        xgb.QuantileDMatrix(X, ref=X)
    with pytest.raises(ValueError, match="hasn't been generated yet"):
        xgb.DMatrix(X).get_quantile_cut()
    trained = xgb.DMatrix(X, y)
    xgb.train({"max_bin": 8}, trained, 1)
    assert np.array_equal(trained.get_quantile_cut()[1], points)


def test_rows_have_a_weight_each():
    y, short, by_query = np.arange(len(X)), np.ones(3), {"qid": np.arange(len(X)) // 2}
    with pytest.raises(
        ValueError, match=r"Size of weights must equal to number of rows\.: weight h"
    ):
        xgb.train({}, xgb.DMatrix(X, y, weight=short), 1)
    with pytest.raises(ValueError, match=r"Invalid size of sample weight\.: weight has 3 values"):
        xgb.XGBRegressor().fit(X, y, sample_weight=short)
    with pytest.raises(ValueError, match="Size of weight must equal to the number of query groups"):
        xgb.QuantileDMatrix(X, y, weight=short, **by_query)
    of_queries = np.ones(by_query["qid"][-1] + 1)
    train = xgb.QuantileDMatrix(X, y, weight=of_queries, **by_query)
    assert xgb.QuantileDMatrix(X, weight=of_queries, ref=train).get_weight().size == len(of_queries)


def test_levels_are_those_of_training():
    y = np.arange(4)
    train = xgb.DMatrix(TABLE, y, enable_categorical=True)
    own = xgb.train({"min_child_weight": 0}, train, 3)
    moved = TABLE.assign(d=pd.Categorical(["z", "y", "x", "x"], categories=list("zyx")))
    wanted = own.predict(xgb.DMatrix(moved, enable_categorical=True))
    codes = moved.assign(d=[2, 1, 0, 0]).to_numpy(np.float32)
    assert np.array_equal(own.inplace_predict(codes, validate_features=False), wanted)
    by_levels = xgb.DMatrix(moved, feature_types=train.get_categories(), enable_categorical=True)
    assert np.array_equal(own.predict(by_levels), wanted)
    assert not own.get_categories().empty()
    assert xgb.DMatrix(X).get_categories().empty()
    other = {"min_child_weight": 0, "tree_method": "approx"}
    by_approx = xgb.train(other, xgb.DMatrix(TABLE, y, enable_categorical=True), 3)
    assert by_approx.get_dump() == own.get_dump()
    unseen = xgb.DMatrix(TABLE.assign(d=pd.Categorical(list("xyzw"))), enable_categorical=True)
    with pytest.raises(ValueError, match=r"Found a category not in the training set .* 'w'"):
        own.predict(unseen)
    with pytest.raises(ValueError, match="The data type doesn't match"):
        own.predict(xgb.DMatrix(TABLE.assign(d=[1, 2, 3, 4])))
    with pytest.raises(ValueError, match="export_to_arrow"):
        own.get_categories().to_arrow()


def test_columns_of_weight_0_are_not_sampled():
    X, y = rows(200, 6)
    matrix = xgb.DMatrix(X, y, feature_weights=[0, 1, 1, 0, 0, 1])
    own = xgb.train({"colsample_bynode": 0.5, "seed": 3}, matrix, 5)
    assert set(own.get_score()) <= {"f1", "f2", "f5"}


@pytest.mark.parametrize("levels", [list("zabcd"), [9, 4, 5, 6, 7]])
def test_levels_without_rows_are_known(theirs, levels):
    pd = pytest.importorskip("pandas")
    column = pd.Categorical([levels[n] for n in (1, 2, 3, 1, 2, 3, 1, 2)], categories=levels)
    table = pd.DataFrame({"a": column, "x": np.arange(8.0)})
    some, y = table.a != levels[3], np.arange(8.0)
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(table[some], y[some], enable_categorical=True)
        booster = library.train({"max_depth": 2}, matrix, 2)
        found.append(booster.predict(library.DMatrix(table, enable_categorical=True))[some])
        arrow = matrix.get_categories(export_to_arrow=True).to_arrow()
        assert sorted(arrow[0][1].to_pylist()) == sorted(levels)
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_levels_of_another_kind_are_refused(theirs):
    pd = pytest.importorskip("pandas")
    words = pd.DataFrame({"c": ["cdef", "abc", "def"]}, dtype="category")
    numbers = pd.DataFrame({"c": [0, 1, 1]}, dtype="category")
    for library in (xgb, theirs):
        known = library.DMatrix(words, enable_categorical=True).get_categories()
        for matrix in (library.DMatrix, library.QuantileDMatrix):
            with pytest.raises(ValueError, match="index type must match between the training"):
                matrix(numbers, enable_categorical=True, feature_types=known)


def test_training_on_0_rows_says_so():
    with pytest.raises(xgb.core.XGBoostError, match="0 rows: expected at least 1"):
        xgb.train({"device": TEST_DEVICE}, xgb.DMatrix(np.zeros((0, 2)), label=[]), 1)


def test_text_by_its_first_index(theirs, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 1:2 3:4\n0 2:5\n1 1:7\n")
    for mode, n_features in (("", 4), ("&indexing_mode=0", 4), ("&indexing_mode=1", 3)):
        own, wanted = (library.DMatrix(f"{path}?format=libsvm{mode}") for library in (xgb, theirs))
        assert own.num_col() == wanted.num_col() == n_features
        assert np.array_equal(own.get_data().toarray(), wanted.get_data().toarray())
    with pytest.raises(ValueError, match="indexing_mode='one': expected a whole number"):
        xgb.DMatrix(f"{path}?format=libsvm&indexing_mode=one")


def test_types_that_are_not_known(theirs):
    class Rows:
        pass

    matrix = scipy.sparse.dok_matrix(np.eye(3, dtype=np.float32))
    for library in (xgb, theirs):
        with pytest.warns(UserWarning, match=r"Unknown data type: .*dok_matrix"):
            assert library.DMatrix(matrix).num_row() == 3
        with (
            pytest.warns(UserWarning, match=r"Unknown data type: .*Rows"),
            pytest.raises(TypeError, match="Not supported type for data"),
        ):
            library.DMatrix(Rows())
