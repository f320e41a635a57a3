"""`Dataset` and the estimators of `compat.lightgbm`."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pyopencl_gbdt.compat import lightgbm as lgb

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] - X[:, 1] + 0.1 * RNG.normal(size=300)
LABELS = np.where(Y > 0, "up", "down")
QUIET = {"verbosity": -1, "num_leaves": 7}


def test_fields_before_and_after_building():
    data = lgb.Dataset(X, list(Y), weight=np.arange(300), init_score=np.zeros(300))
    assert data.get_label() == list(Y)
    for call in (data.num_data, data.num_feature, data.get_feature_name,
                 lambda: data.feature_num_bin(0)):  # fmt: skip
        with pytest.raises(lgb.LightGBMError, match="before construct dataset"):
            call()
    for call in (lambda: data.get_field("label"), lambda: data.set_field("label", Y),
                 data.get_data):  # fmt: skip
        with pytest.raises(Exception, match=r"before construct [dD]ataset"):
            call()
    data.construct()
    assert (data.num_data(), data.num_feature()) == (300, 4)
    assert data.get_label().dtype == data.get_weight().dtype == np.float32
    assert data.get_field("init_score").dtype == np.float64
    assert data.get_feature_name() == ["Column_0", "Column_1", "Column_2", "Column_3"]
    assert data.get_position() is None
    data.set_weight(None)
    assert data.get_weight() is None
    data.set_group([100, 200])
    assert data.get_field("group").tolist() == [0, 100, 300]
    data.set_init_score(np.zeros((300, 2)))
    assert data.get_init_score().shape == (300, 2)
    data.set_label(Y + 1)
    assert np.allclose(data.get_label(), Y + 1)
    with pytest.raises(lgb.LightGBMError, match="Unknown field colour"):
        data.set_field("colour", Y)
    with pytest.raises(lgb.LightGBMError, match="Unknown field colour"):
        data.get_field("colour")
    with pytest.raises(lgb.LightGBMError, match=r"Length of label \(3\) differs"):
        data.set_label([1, 2, 3])
    with pytest.raises(lgb.LightGBMError, match="Weights should be non-negative"):
        data.set_weight(-Y)
    with pytest.raises(lgb.LightGBMError, match=r"Sum of query counts \(5\) differs"):
        data.set_group([2, 3])
    with pytest.raises(lgb.LightGBMError, match="NaN or Inf in label"):
        data.set_label(np.full(300, np.nan))
    with pytest.raises(lgb.LightGBMError, match="position: expected None"):
        data.set_position(np.arange(300))
    with pytest.raises(lgb.LightGBMError, match="Cannot call `get_data` after freed raw data"):
        data.get_data()
    kept = lgb.Dataset(X, Y, free_raw_data=False).construct()
    assert kept.get_data() is X


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"data": X}, ValueError, "Label should not be None"),
        ({"data": X[0], "label": Y}, ValueError, "must be 2 dimensional"),
        ({"data": object(), "label": Y}, TypeError, "Cannot initialize Dataset from object"),
        ({"data": [X, X[:, :2]], "label": Y}, ValueError, "must have same number of columns"),
        ({"data": [X, [1]], "label": Y}, TypeError, "can only be of ndarray or Sequence"),
        ({"data": X, "label": Y, "reference": 3}, TypeError, "should be None or dataset instance"),
        ({"data": X, "label": Y, "feature_name": ["a"]}, ValueError, "don't match"),
        ({"data": X, "label": Y, "feature_name": list("aabc")}, lgb.LightGBMError, "one time"),
        ({"data": X, "label": Y, "categorical_feature": ["z"]}, TypeError, r"unknown name\(z\)"),
        ({"data": X, "label": LABELS}, TypeError, "for label"),
        ({"data": X, "label": np.zeros((300, 2))}, TypeError, "for label"),
    ],
    ids=lambda one: "",
)
def test_wrong_rows(given, error, message):
    with pytest.raises(error, match=message):
        lgb.Dataset(**given).construct()


def test_tables():
    frame = pd.DataFrame(X, columns=list("abcd"))
    data = lgb.Dataset(frame, pd.DataFrame({"y": Y})).construct()
    assert data.get_feature_name() == list("abcd")
    with pytest.raises(ValueError, match="DataFrame for label cannot have multiple columns"):
        lgb.Dataset(X, frame).construct()
    with pytest.raises(ValueError, match="Fields with bad pandas dtypes: t"):
        lgb.Dataset(frame.assign(t="x"), Y).construct()


def test_names_and_levels_of_all_kinds():
    frame = pd.DataFrame(X, columns=["a b", "c", "d", "e"])
    model = lgb.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, Y)
    assert model.feature_name_[0] == "a_b"
    assert model.predict(frame, validate_features=True).shape == (300,)
    with pytest.raises(lgb.LightGBMError, match="special JSON characters"):
        lgb.Dataset(frame.rename(columns={"c": "c:d"}), Y).construct()
    kinds = pd.DataFrame({
        "f": pd.Categorical(RNG.choice([0.1, 0.2, -0.1], 300)),
        "b": pd.Categorical(RNG.choice([True, False], 300)),
    })  # fmt: skip
    booster = lgb.train(QUIET, lgb.Dataset(kinds, Y), 3)
    assert booster.predict(kinds).shape == (300,)
    assert booster.pandas_categorical == [["-0.1", "0.1", "0.2"], ["False", "True"]]


def test_categories():
    town = RNG.integers(0, 6, 300)
    y = np.isin(town, [0, 2, 4]).astype(float)
    frame = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical([f"t{one}" for one in town])})
    rows = np.column_stack([X[:, 0], town])
    params = {**QUIET, "num_leaves": 2, "min_data_per_group": 1, "cat_smooth": 1,
              "learning_rate": 1.0, "max_cat_to_onehot": 1}  # fmt: skip
    models = [
        lgb.train(params, lgb.Dataset(frame, y), 1),
        lgb.train(params, lgb.Dataset(rows, y, categorical_feature=[1]), 1),
        lgb.train({**params, "categorical_feature": [1]}, lgb.Dataset(rows, y), 1),
        lgb.train(params, lgb.Dataset(rows, y, feature_name=["age", "town"],
                                      categorical_feature=["town"]), 1),
    ]  # fmt: skip
    for model, given in zip(models, (frame, rows, rows, rows), strict=True):
        assert np.allclose(model.predict(given), y, atol=1e-6)
        tree = model.dump_model()["tree_info"][0]
        assert (tree["num_cat"], tree["tree_structure"]["decision_type"]) == (1, "==")
    assert models[0].pandas_categorical == [[f"t{i}" for i in range(6)]]
    with pytest.raises(lgb.LightGBMError, match="for the categorical feature"):
        models[0].get_split_value_histogram("town")


def test_absent_entries_are_zero_or_missing():
    dense = np.where(RNG.random((300, 4)) < 0.5, 0, X)
    for kind in (sparse.csr_matrix, sparse.csc_matrix):
        by_sparse = lgb.train(QUIET, lgb.Dataset(kind(dense), Y), 3)
        by_array = lgb.train(QUIET, lgb.Dataset(dense, Y), 3)
        assert np.array_equal(by_sparse.predict(kind(dense)), by_array.predict(dense))
        shares = by_sparse.predict(kind(dense), pred_contrib=True)
        assert (type(shares), shares.shape) == (kind, (300, 5))
    quiet = {**QUIET, "min_data_in_bin": 1}  # the bins of sparse rows
    missing = {**quiet, "zero_as_missing": True}
    by_sparse = lgb.train(missing, lgb.Dataset(sparse.csr_matrix(dense), Y), 3)
    by_array = lgb.train(missing, lgb.Dataset(dense, Y), 3)
    as_nan = lgb.train(quiet, lgb.Dataset(np.where(dense == 0, np.nan, dense), Y), 3)
    expected = as_nan.predict(np.where(dense == 0, np.nan, dense))
    assert np.allclose(by_array.predict(dense), expected, atol=1e-6)
    assert np.allclose(by_sparse.predict(sparse.csr_matrix(dense)), expected, atol=1e-6)
    holes = np.where(RNG.random((300, 4)) < 0.1, np.nan, X)
    as_zero = lgb.train({**QUIET, "use_missing": False}, lgb.Dataset(holes, Y), 3)
    zeros = lgb.train(QUIET, lgb.Dataset(np.nan_to_num(holes), Y), 3)
    assert np.array_equal(as_zero.predict(holes), zeros.predict(np.nan_to_num(holes)))


def test_rows_in_pieces():
    class Rows(lgb.Sequence):
        batch_size = 70

        def __init__(self, values):
            self.values = values

        def __getitem__(self, place):
            return self.values[place]

        def __len__(self):
            return len(self.values)

    expected = lgb.train(QUIET, lgb.Dataset(X, Y), 2).predict(X)
    for data in (Rows(X), [Rows(X[:100]), Rows(X[100:])], [X[:100], X[100:]], X.tolist()):
        assert np.array_equal(lgb.train(QUIET, lgb.Dataset(data, Y), 2).predict(X), expected)
    with pytest.raises(NotImplementedError, match="must implement __len__"):
        len(lgb.Sequence())


def test_subsets_references_and_chains():
    data = lgb.Dataset(X, Y, weight=np.arange(300) + 1, group=[100, 200])
    part = data.subset(range(50, 150)).construct()
    assert (part.num_data(), part.get_group().tolist()) == (100, [50, 50])
    assert np.allclose(part.get_label(), Y[50:150])
    assert part.get_weight()[0] == 51
    other = data.create_valid(X, Y)
    assert other.get_ref_chain() == {data, other}
    wide = lgb.Dataset(np.hstack([X, X]), Y, reference=data)
    with pytest.raises(lgb.LightGBMError, match="expected 4 columns, got 8"):
        wide.construct()


def test_columns_are_added_and_names_set():
    first = lgb.Dataset(X[:, :2], Y).construct()
    second = lgb.Dataset(X[:, 2:], Y).construct()
    first.add_features_from(second)
    assert first.get_feature_name() == ["Column_0", "Column_1", "D2_Column_0", "D2_Column_1"]
    assert np.array_equal(lgb.train(QUIET, first, 2).predict(X),
                          lgb.train(QUIET, lgb.Dataset(X, Y), 2).predict(X))  # fmt: skip
    first.set_feature_name(list("abcd"))
    assert lgb.train(QUIET, first, 1).feature_name() == list("abcd")
    with pytest.raises(ValueError, match="must be constructed before adding features"):
        first.add_features_from(lgb.Dataset(X, Y))
    with pytest.raises(lgb.LightGBMError, match="different number of rows"):
        first.add_features_from(lgb.Dataset(X[:9], Y[:9]).construct())
    with pytest.raises(lgb.LightGBMError, match="Cannot set categorical feature after freed"):
        first.set_categorical_feature([0])


def test_files(tmp_path):
    data = lgb.Dataset(X, Y, weight=np.arange(300) + 1).save_binary(tmp_path / "rows.bin")
    again = lgb.Dataset(tmp_path / "rows.bin")
    expected = lgb.train(QUIET, data, 2).predict(X)
    assert np.array_equal(lgb.train(QUIET, again, 2).predict(X), expected)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([Y, X]), delimiter=",")
    text = lgb.Dataset(str(tmp_path / "rows.csv")).construct()
    assert np.allclose(text.get_label(), Y)
    assert text.num_feature() == 4


def test_regressor():
    model = lgb.LGBMRegressor(n_estimators=20, num_leaves=7, verbose=-1)
    with pytest.raises(lgb.LightGBMError, match="Need to call fit beforehand"):
        _ = model.booster_
    model.fit(X[:200], Y[:200], eval_X=(X[200:], X[:50]), eval_y=(Y[200:], Y[:50]),
              eval_names=["a", "b"], callbacks=[lgb.early_stopping(2, verbose=False)])  # fmt: skip
    assert list(model.evals_result_) == ["a", "b"]
    assert model.score(X, Y) > 0.8
    assert model.n_estimators_ == model.n_iter_ <= 20
    assert model.best_score_["a"]["l2"] > 0
    assert model.n_features_ == model.n_features_in_ == 4
    assert model.objective_ == "regression"
    assert model.feature_importances_.sum() == sum(model.booster_.feature_importance())
    assert not hasattr(model, "feature_names_in_")
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = lgb.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, Y)
    assert named.feature_names_in_.tolist() == named.feature_name_ == list("abcd")
    more = lgb.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, Y, init_model=named)
    assert more.n_estimators_ == 4


def test_classifier():
    model = lgb.LGBMClassifier(n_estimators=10, num_leaves=7, verbose=-1)
    model.fit(X, LABELS, eval_X=X[:50], eval_y=LABELS[:50], eval_metric=["logloss", "auc"])
    assert list(model.evals_result_["valid_0"]) == ["binary_logloss", "auc", "binary"][:2]
    assert model.classes_.tolist() == ["down", "up"]
    assert model.n_classes_ == 2
    assert model.predict_proba(X).shape == (300, 2)
    assert model.score(X, LABELS) > 0.9
    assert model.decision_function(X).shape == (300,)
    three = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
    several = lgb.LGBMClassifier(n_estimators=5, verbose=-1, class_weight={"a": 2}).fit(X, three)
    assert several.predict_proba(X).shape == (300, 3)
    assert several.predict(X, pred_leaf=True).shape == (300, 15)
    assert set(several.predict(X)) == {"a", "b", "c"}


def test_ranker():
    grades = np.digitize(Y, [-0.5, 0.5])
    model = lgb.LGBMRanker(n_estimators=3, verbose=-1)
    model.fit(X, grades, group=[30] * 10, eval_X=X[:60], eval_y=grades[:60], eval_group=[[30, 30]],
              eval_at=[2])  # fmt: skip
    assert list(model.evals_result_["valid_0"]) == ["ndcg@2"]
    with pytest.raises(ValueError, match="Should set group for ranking task"):
        model.fit(X, grades)
    with pytest.raises(ValueError, match="eval_group cannot be None"):
        model.fit(X, grades, group=[30] * 10, eval_X=X, eval_y=grades)
    other = lgb.LGBMRanker(n_estimators=1, verbose=-1, ndcg_at=[3])
    with pytest.warns(UserWarning, match="Found 'ndcg_at' in params"):
        other.fit(X, grades, group=[30] * 10, eval_X=X[:60], eval_y=grades[:60],
                  eval_group=[[30, 30]])  # fmt: skip
    assert list(other.evals_result_["valid_0"]) == ["ndcg@3"]


def test_functions_of_the_users():
    def squares(y_true, y_pred, weight):
        assert weight is None
        return y_pred - y_true, np.ones_like(y_true)

    def spread(y_true, y_pred):
        return "spread", float(np.ptp(y_pred)), True

    model = lgb.LGBMRegressor(n_estimators=5, verbose=-1, objective=squares)
    model.fit(X, Y, eval_X=X[:50], eval_y=Y[:50], eval_metric=spread)
    assert list(model.evals_result_["valid_0"]) == ["l2", "spread"]
    assert model.objective_ is squares
    wrong = lgb.LGBMRegressor(n_estimators=1, verbose=-1, objective=lambda y: (y, y))
    with pytest.raises(TypeError, match="should have 2, 3 or 4 arguments, got 1"):
        wrong.fit(X, Y)
    classes = lgb.LGBMClassifier(n_estimators=2, verbose=-1, objective=squares).fit(X, LABELS)
    with pytest.warns(UserWarning, match="Cannot compute class probabilities"):
        assert classes.predict_proba(X).shape == (300,)


def test_evaluation_sets_of_both_forms():
    model = lgb.LGBMRegressor(n_estimators=2, verbose=-1)
    with pytest.warns(lgb.LGBMDeprecationWarning, match="'eval_set' is deprecated"):
        model.fit(X, Y, eval_set=[(X, Y)])
    assert list(model.evals_result_) == ["training"]
    with pytest.raises(ValueError, match="not just one of them"):
        model.fit(X, Y, eval_X=X)
    with pytest.raises(ValueError, match="must be a tuple of same length"):
        model.fit(X, Y, eval_X=(X,), eval_y=Y)
    with pytest.raises(TypeError, match="eval_sample_weight should be dict or list"):
        model.fit(X, Y, eval_X=X[:9], eval_y=Y[:9], eval_sample_weight=(1,))


def test_tools_of_scikit_learn_take_them():
    model = lgb.LGBMClassifier(n_estimators=2, verbose=-1, max_bin=63)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.get_params()["max_bin"] == 63
    search = GridSearchCV(model, {"num_leaves": [3, 7]}, cv=2).fit(X, LABELS)
    assert search.best_score_ > 0.8
    with pytest.raises(ValueError, match="X has 3 features, but LGBMClassifier is expecting 4"):
        search.best_estimator_.predict(X[:, :3])
    with pytest.raises(ValueError, match="Unknown LGBMModel type"):
        lgb.LGBMModel().fit(X, Y)
    fitted = lgb.LGBMModel(objective="regression", n_estimators=2, verbose=-1).fit(X, Y)
    assert fitted.predict(X).shape == (300,)


@pytest.mark.parametrize(
    ("params", "x", "y"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7, np.nan], [1, 1, 1, 1, 0, 0, 0, 0, 1]),
        ({"zero_as_missing": True}, [0, 1, 2, 3, 4, 5, np.nan], [0, 1, 1, 1, 0, 0, 0]),
        ({"categorical_column": 0}, range(8), [0, 1] * 4),
        ({"categorical_column": 0}, [0, np.nan] * 3, [0, 1] * 3),
        ({"categorical_column": 0}, [1.9, 1.2, 0.3, 0.4], [1, 1, 0, 0]),
        ({"categorical_column": 0}, [-1, -2, 3, 4], [1, 1, 0, 0]),
    ],
)
def test_one_split_tells_all(params, x, y):
    """Missing values, zeros and levels, as LightGBM's own users write them."""
    rows, labels = np.array(x, float).reshape(-1, 1), np.array(y, float)
    exact = {
        "verbosity": -1, "boost_from_average": False, "min_data": 1, "num_leaves": 2,
        "learning_rate": 1, "min_data_per_group": 1, "cat_smooth": 1, "cat_l2": 0,
        "max_cat_to_onehot": 1,
    }  # fmt: skip
    booster = lgb.train({**exact, **params}, lgb.Dataset(rows, labels), 1)
    assert np.allclose(booster.predict(rows), labels)


@pytest.mark.parametrize(
    ("params", "y", "expected"),
    [
        ({}, [0.0, 10.0, 0.0, 10.0], 5.0),
        ({"objective": "binary"}, [0.0, 1.0, 2.0, 3.0], 0.75),  # labels above 0 are of class 1
        ({"objective": "multiclass", "num_class": 3}, [0, 1, 2, 0], [0.5, 0.25, 0.25]),
        ({"objective": "multiclassova", "num_class": 3}, [0, 1, 2, 0], [0.5, 0.25, 0.25]),
    ],
)
def test_columns_that_tell_nothing(params, y, expected):
    rows = np.ones((4, 1))
    booster = lgb.train({**QUIET, "min_data": 1, **params}, lgb.Dataset(rows, y), 2)
    assert np.allclose(booster.predict(rows), expected, atol=1e-5)


@pytest.mark.parametrize("given", ["auto", [], ["other"]])
def test_categories_of_tables_are_categorical_whatever_is_listed(given):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 300)
    levels = np.array(["low", "mid", "top"])
    table = pd.DataFrame({
        "size": pd.Categorical(levels[codes], categories=levels, ordered=True),
        "other": pd.Categorical(levels[rng.integers(0, 3, 300)]),
    })  # fmt: skip
    data = lgb.Dataset(table, (codes == 1) * 1.0, categorical_feature=given)
    booster = lgb.train({"verbose": -1, "num_leaves": 2}, data, 1)
    root = booster.dump_model()["tree_info"][0]["tree_structure"]
    assert (root["split_feature"], root["decision_type"]) == (0, "==")


@pytest.mark.parametrize("kind", ["table", "record_batch"])
def test_starting_scores_of_arrow(kind):
    """A column for each class."""
    pa = pytest.importorskip("pyarrow")
    scores, classes = np.random.default_rng(0).normal(size=(len(X), 3)), np.arange(len(X)) % 3
    given = getattr(pa, kind)({f"class {k}": scores[:, k] for k in range(3)})
    params = {**QUIET, "objective": "multiclass", "num_class": 3}
    models = [
        lgb.train(params, lgb.Dataset(X, classes, init_score=one), 2).model_to_string()
        for one in (scores, given)
    ]
    assert models[0] == models[1]


@pytest.mark.parametrize("weighed", [{"1": 5.0, "2": 2.0}, {"2": 3.0}])
def test_weights_of_classes_whose_names_are_digits(weighed):
    classes, found = np.digitize(Y, [-0.5, 0.5]), []
    numbers = {int(name): weight for name, weight in weighed.items()}
    for y, weights in ((classes, numbers), (classes.astype(str), weighed)):
        model = lgb.LGBMClassifier(n_estimators=2, class_weight=weights, **QUIET)
        model.fit(X[:200], y[:200], eval_X=X[200:], eval_y=y[200:], eval_class_weight=[weights])
        found.append(model.evals_result_["valid_0"]["multi_logloss"])
    assert found[0] == found[1]
