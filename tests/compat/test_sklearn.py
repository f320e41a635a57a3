"""`compat.sklearn` beside scikit-learn's HistGradientBoosting."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from pyopencl_gbdt.compat import sklearn as ours
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from tests.compat.signatures import differences

BOTH = [ours.HistGradientBoostingClassifier, ours.HistGradientBoostingRegressor]
X, Y = make_regression(300, 4, noise=5, random_state=0)
LABELS = {"regressor": Y, "classifier": np.where(Y > 0, "up", "down")}
THREE = np.digitize(Y, [-40, 40])


def labels_of(cls):
    return Y if issubclass(cls, ours.HistGradientBoostingRegressor) else LABELS["classifier"]


@pytest.mark.skipif(sklearn.__version__ < "1.9", reason="signatures are those of 1.9")
@pytest.mark.parametrize("cls", BOTH)
def test_signatures_are_those_of_scikit_learn(cls):
    reasons = {f"{cls.__name__}.get_metadata_routing": "made by scikit-learn's base class"}
    assert differences(cls, getattr(ensemble, cls.__name__), reasons) == []


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        ("squared_error", Y),
        ("absolute_error", Y),
        ("gamma", np.abs(Y) + 1),
        ("poisson", np.abs(Y)),
        ("quantile", Y),
    ],
)
def test_losses_score_as_scikit_learn_does(loss, y):
    quantile = 0.3 if loss == "quantile" else None
    given = {"loss": loss, "quantile": quantile, "early_stopping": True, "random_state": 0}
    found, theirs = (
        lib.HistGradientBoostingRegressor(max_iter=20, **given).fit(X, y)
        for lib in (ours, ensemble)
    )
    for name in ("train_score_", "validation_score_"):
        own, original = getattr(found, name), getattr(theirs, name)
        assert own[0] == pytest.approx(original[0], rel=1e-3)  # of the starting prediction
        assert own[5] == pytest.approx(original[5], rel=0.05)
    assert len(found.train_score_) == found.n_iter_ + 1


@pytest.mark.parametrize("y", [LABELS["classifier"], THREE], ids=["two classes", "three"])
def test_classes_are_learnt_as_well(y):
    found, theirs = (
        lib.HistGradientBoostingClassifier(max_iter=30).fit(X, y) for lib in (ours, ensemble)
    )
    assert found.n_trees_per_iteration_ == theirs.n_trees_per_iteration_
    assert np.array_equal(found.classes_, theirs.classes_)
    own, original = (log_loss(y, one.predict_proba(X)) for one in (found, theirs))
    assert own == pytest.approx(original, rel=0.2)
    shapes = [one.decision_function(X).shape for one in (found, theirs)]
    assert shapes[0] == shapes[1]


def test_one_round_of_three_classes_is_that_of_scikit_learn():
    """Hessians differ by a factor, which the learning rate takes back."""
    columns = np.digitize(X, np.quantile(X, np.linspace(0.1, 0.9, 9)))
    given = {"max_iter": 1, "max_leaf_nodes": 4, "l2_regularization": 3.0}
    found, theirs = (
        lib.HistGradientBoostingClassifier(**given).fit(columns, THREE) for lib in (ours, ensemble)
    )
    assert np.allclose(found.predict_proba(columns), theirs.predict_proba(columns), atol=1e-6)


@pytest.mark.parametrize("cls", BOTH)
def test_stages_end_at_the_prediction(cls):
    model = cls(max_iter=4).fit(X, labels_of(cls))
    names = ["predict"]
    if cls is ours.HistGradientBoostingClassifier:
        names += ["predict_proba", "decision_function"]
    for name in names:
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == model.n_iter_ == 4
        assert np.array_equal(stages[-1], getattr(model, name)(X))


@pytest.mark.parametrize("scoring", ["loss", None, "neg_mean_absolute_error"])
def test_early_stopping_by_any_score(scoring):
    model = ours.HistGradientBoostingRegressor(
        scoring=scoring, early_stopping=True, n_iter_no_change=3, tol=0.2, random_state=1,
        max_iter=200,
    ).fit(X, Y)  # fmt: skip
    assert 3 <= model.n_iter_ < 200
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_ + 1


def test_auto_stops_above_10000_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10001, 1))
    y = (rows[:, 0] > 0).astype(int)
    given = {"max_iter": 10, "n_iter_no_change": 2, "tol": 0.1}
    few, many = (
        ours.HistGradientBoostingClassifier(**given).fit(rows[:n], y[:n]) for n in (10000, 10001)
    )
    assert (few.do_early_stopping_, few.n_iter_, few.train_score_.size) == (False, 10, 0)
    assert many.do_early_stopping_
    assert many.n_iter_ < 10


def test_validation_on_training_rows_and_on_given_rows():
    given = {"early_stopping": True, "max_iter": 5, "random_state": 0}
    none = ours.HistGradientBoostingRegressor(validation_fraction=None, **given).fit(X, Y)
    assert (none.validation_score_.size, none.train_score_.size) == (0, 6)
    model = ours.HistGradientBoostingRegressor(max_iter=5).fit(
        X[:200], Y[:200], X_val=X[200:], y_val=Y[200:], sample_weight_val=np.ones(100)
    )
    assert model.do_early_stopping_
    assert model.validation_score_.size == 6


def test_wrong_validation_sets():
    model = ours.HistGradientBoostingRegressor()
    with pytest.raises(ValueError, match="X_val is provided, but y_val was not provided"):
        model.fit(X, Y, X_val=X)
    with pytest.raises(ValueError, match="y_val is provided, but X_val was not provided"):
        model.fit(X, Y, y_val=Y)
    with pytest.raises(ValueError, match="early_stopping is False"):
        model.set_params(early_stopping=False).fit(X, Y, X_val=X, y_val=Y)
    classes = ours.HistGradientBoostingClassifier()
    with pytest.raises(ValueError, match="previously unseen labels: \\['sideways'\\]"):
        classes.fit(X, LABELS["classifier"], X_val=X[:1], y_val=["sideways"])


@pytest.mark.parametrize("cls", BOTH)
def test_warm_start_adds_iterations(cls):
    y = labels_of(cls)
    whole = cls(max_iter=6, random_state=0, early_stopping=True).fit(X, y)
    model = cls(max_iter=3, random_state=0, early_stopping=True, warm_start=True).fit(X, y)
    model.set_params(max_iter=6).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    assert np.array_equal(model.validation_score_, whole.validation_score_)
    with pytest.raises(ValueError, match="max_iter=2 must be larger than or equal to n_iter_=6"):
        model.set_params(max_iter=2).fit(X, y)


def test_categories_by_dtype_names_places_and_mask():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 6, 400)
    frame = pd.DataFrame({"age": rng.normal(size=400), "town": town})
    y = np.isin(town, [0, 2, 4]).astype(int)
    by_dtype = frame.assign(town=pd.Categorical([f"t{one}" for one in town]))
    given = {"max_iter": 1, "max_depth": 1}
    found = []
    for chosen, rows in (
        ("from_dtype", by_dtype),
        (["town"], frame),
        ([1], frame),
        (np.array([False, True]), frame),
    ):
        model = ours.HistGradientBoostingClassifier(categorical_features=chosen, **given)
        found.append(model.fit(rows, y))
        assert found[-1].is_categorical_.tolist() == [False, True]
        assert found[-1].score(rows, y) == 1  # a split by a set of levels
    numbers = ours.HistGradientBoostingClassifier(categorical_features=None, **given)
    assert numbers.fit(frame, y).is_categorical_ is None
    unknown = [[0.0, 77], [0.0, 0.5], [0.0, np.nan]]
    rows = pd.DataFrame(unknown, columns=frame.columns)
    assert len(set(found[1].predict_proba(rows)[:, 1])) == 1
    as_array = ours.HistGradientBoostingClassifier(categorical_features=[1], **given)
    as_array.fit(frame.to_numpy(), y)
    assert len(set(as_array.predict_proba(np.array(unknown))[:, 1])) == 1


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([b"a"], "must be an array-like of bool, int or str, got: bytes8"),
        (np.array([b"a", 1.5], object), "got: bytes, float"),
        ([0, -1], r"must be in \[0, n_features - 1\]"),
        ([True], r"must have shape \(n_features,\), got: \(1,\)"),
        (["age"], "when the model is fitted on data without feature names"),
    ],
)
def test_wrong_categorical_features(chosen, message):
    with pytest.raises(ParameterError, match=message):
        ours.HistGradientBoostingRegressor(categorical_features=chosen).fit(X, Y)


def test_names_and_levels_that_do_not_fit():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ParameterError, match="item value 'z' which is not a valid feature name"):
        ours.HistGradientBoostingRegressor(categorical_features=["z"]).fit(frame, Y)
    levels = frame.assign(a=pd.Categorical(np.arange(300) % 40))
    with pytest.raises(DataError, match="'a' is expected to have a cardinality <= 16"):
        ours.HistGradientBoostingRegressor(max_bins=16).fit(levels, Y)


def test_monotonic_constraints_hold():
    frame = pd.DataFrame(X, columns=list("abcd"))
    for given, rows in (({"a": 1, "b": -1}, frame), ([1, -1, 0, 0], X)):
        model = ours.HistGradientBoostingRegressor(monotonic_cst=given, max_iter=20).fit(rows, Y)
        line = np.zeros((50, 4))
        line[:, 0] = np.linspace(-2, 2, 50)
        own = pd.DataFrame(line, columns=frame.columns) if rows is frame else line
        assert (np.diff(model.predict(own)) >= 0).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\) but the input data"),
        ({"monotonic_cst": [3, 0, 0, 0]}, r"array-like of -1, 0 or 1. Observed values: \[3\]"),
        ({"monotonic_cst": {"a": 1}}, "was not fitted on data with feature names"),
        ({"interaction_cst": [0, 1]}, "must be a sequence of tuples or lists"),
        ({"interaction_cst": [{0, 9}]}, r"= \[0, 3\], specifying the position of features"),
        ({"loss": "quantile"}, "quantile=None: expected a number from 0 to 1"),
    ],
)
def test_wrong_constraints(given, message):
    with pytest.raises(ParameterError, match=message):
        ours.HistGradientBoostingRegressor(**given).fit(X, Y)


def test_wrong_constraints_by_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = dict.fromkeys("cdefghijk", 1)
    fit = ours.HistGradientBoostingRegressor(monotonic_cst=names).fit
    with pytest.raises(ParameterError, match=r"7 unexpected feature names: \['e', .*'i', '...'\]"):
        fit(frame, Y)
    fit = ours.HistGradientBoostingRegressor(monotonic_cst={"a": "+"}).fit
    with pytest.raises(ParameterError, match=r"monotonic_cst\['a'\] must be either -1, 0 or 1"):
        fit(frame, Y)
    classes = ours.HistGradientBoostingClassifier(monotonic_cst=[0, 0, 0, 1])
    with pytest.raises(ParameterError, match="not supported for multiclass"):
        classes.fit(X, THREE)
    both = ours.HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0], categorical_features=[0])
    with pytest.raises(ParameterError, match="Categorical features cannot have monotonic"):
        both.fit(np.round(X), Y)


def test_interactions_of_pairs_and_of_none():
    both = [
        ours.HistGradientBoostingRegressor(interaction_cst=given, max_iter=10).fit(X, Y)
        for given in ("pairwise", "no_interactions", [{0, 1}])
    ]
    for model, most in zip(both, (2, 1, 2), strict=True):
        for tree in model.model_.ensemble.trees:
            paths = [
                {int(tree.feature[node]) for node in _above(tree, leaf)}
                for leaf in np.flatnonzero(tree.is_leaf)
            ]
            assert max(map(len, paths)) <= most


def _above(tree, node):
    while (node := int(tree.parent[node])) >= 0:
        yield node


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_iter": 0}, r"'max_iter' .* must be an int in the range \[1, inf\). Got 0 instead"),
        ({"learning_rate": 0}, r"must be a float in the range \(0, inf\). Got 0"),
        ({"max_bins": 256}, r"an int in the range \[2, 255\]"),
        ({"max_features": 1.5}, r"a float in the range \(0, 1\]"),
        ({"loss": "l2"}, "a str among {'absolute_error', .*}. Got 'l2'"),
        ({"early_stopping": "yes"}, "a str among {'auto'}, an instance of 'bool'"),
        ({"random_state": -1}, "RandomState' or None"),
        ({"max_leaf_nodes": 1}, "or None. Got 1"),
    ],
)
def test_wrong_parameters_in_scikit_learns_words(given, message):
    with pytest.raises(ParameterError, match=message):
        ours.HistGradientBoostingRegressor(**given).fit(X, Y)


def test_wrong_rows_labels_and_weights():
    model = ours.HistGradientBoostingRegressor()
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(DataTypeError, match="Sparse data was passed"):
        model.fit(sparse.csr_matrix(X), Y)
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        model.fit(X, Y[1:])
    with pytest.raises(DataError, match=r"sample_weight.shape == \(3,\), expected \(300,\)"):
        model.fit(X, Y, [1, 2, 3])
    with pytest.raises(DataError, match="1D array or scalar"):
        model.fit(X, Y, np.ones((300, 2)))
    with pytest.raises(DataError, match="the target y is None"):
        model.fit(X, None)
    with pytest.raises(DataError, match="strictly positive y"):
        model.set_params(loss="gamma").fit(X, Y)
    with pytest.raises(DataError, match=r"non-negative y and sum\(y\) > 0"):
        model.set_params(loss="poisson").fit(X, Y)
    with pytest.raises(ValueError, match="is not fitted yet"):
        ours.HistGradientBoostingRegressor().predict(X)
    with pytest.raises(DataError, match="X has 3 features, but HistGradientBoostingRegressor is"):
        ours.HistGradientBoostingRegressor(max_iter=1).fit(X, Y).predict(X[:, :3])


def test_infinite_values_are_large_ones():
    rows = np.array([-np.inf, 0, 1, np.inf, np.nan])[:, None]
    given = {"min_samples_leaf": 1, "max_iter": 1, "learning_rate": 1, "max_depth": 2}
    for y in (np.isnan(rows[:, 0]), rows[:, 0] == np.inf):
        for own in (rows, pd.DataFrame(rows, columns=["a"])):
            model = ours.HistGradientBoostingClassifier(**given).fit(own, y)
            assert model.score(own, y) == 1


def test_class_weights_are_row_weights():
    y = (Y > 0).astype(int)
    by_class = ours.HistGradientBoostingClassifier(max_iter=5, class_weight={0: 1, 1: 3})
    by_row = ours.HistGradientBoostingClassifier(max_iter=5)
    found = by_class.fit(X, y, np.full(300, 2.0)).predict_proba(X)
    assert np.array_equal(found, by_row.fit(X, y, 2 * (1 + 2.0 * y)).predict_proba(X))


def test_tools_of_scikit_learn_take_them():
    model = ours.HistGradientBoostingClassifier(max_iter=3, random_state=0)
    search = GridSearchCV(model, {"max_leaf_nodes": [3, 8]}, cv=2).fit(X, LABELS["classifier"])
    assert search.best_score_ > 0.7
    copy = clone(model.set_params(learning_rate=0.5))
    assert copy.get_params() == model.get_params()
    fitted = copy.fit(X, LABELS["classifier"])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_verbose_prints(capsys):
    rows, y = make_classification(100, random_state=0)
    ours.HistGradientBoostingClassifier(max_iter=2, verbose=1).fit(rows, y)
    assert "Fit 2 trees" in capsys.readouterr().err


def test_what_differs_as_documented():
    """Partial dependence holds the starting score, and quantiles are at other places."""
    from sklearn.inspection import partial_dependence

    model = ours.HistGradientBoostingRegressor(max_iter=3).fit(X, Y + 1000)
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=3).fit(X, Y + 1000)
    means = [
        partial_dependence(one, X[:50], [0], method=how)["average"].mean()
        for one, how in ((model, "auto"), (model, "brute"), (theirs, "brute"), (theirs, "auto"))
    ]
    assert means[0] == means[1] == pytest.approx(means[2], rel=0.01)
    assert abs(means[3]) < 500
    y, rows = np.array([0.0, 1.0, 3.0, 7.0, 20.0]), np.ones((5, 1))
    given = {"loss": "quantile", "quantile": 0.6, "max_iter": 1}
    for cls, place in (
        (ours.HistGradientBoostingRegressor, 6 * 0.6 - 1),
        (ensemble.HistGradientBoostingRegressor, 4 * 0.6),
    ):
        found = cls(**given).fit(rows, y).predict(rows[:1])[0]
        assert found == pytest.approx(np.interp(place, range(5), y), rel=1e-5)


def test_names_of_columns_are_told_apart():
    X = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame(X, columns=["a", "b"])
    small = {"max_iter": 1, "min_samples_leaf": 2}
    named = ours.HistGradientBoostingRegressor(**small).fit(table, X[:, 0])
    plain = ours.HistGradientBoostingRegressor(**small).fit(X, X[:, 0])
    words = "X does not have valid feature names, but HistGradientBoostingRegressor was fitted"
    with pytest.warns(UserWarning, match=words):
        named.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without"):
        plain.predict(table)
    with pytest.raises(TypeError, match=r"input has \['int', 'str'\] as feature name"):
        plain.fit(pd.DataFrame(X, columns=["a", 1]), X[:, 0])
    assert np.array_equal(named.predict(table), plain.predict(X))
