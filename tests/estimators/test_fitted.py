"""What scikit-learn's tools ask of fitted estimators: margins, stages, leaves and scores."""

import pickle

import numpy as np
import pytest

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRanker,
    GBDTRegressor,
    Model,
    train,
)
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DataError, NotFittedError, ParameterError
from pyopencl_gbdt.prediction import walk_rows
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

SMALL = {"n_estimators": 6, "max_depth": 3, "device": TEST_DEVICE}
X = np.random.default_rng(3).normal(size=(300, 4)).astype(np.float32)
NUMBER = X[:, 0] * X[:, 1] + X[:, 2]
CLASS = np.array(["low", "mid", "top"])[np.digitize(NUMBER, [-0.5, 0.5])]
TARGETS = {
    "binary": NUMBER > 0, "classes": CLASS, "one class": np.zeros(300),
    "multilabel": np.stack([NUMBER > 0, X[:, 3] > 0], axis=1).astype(int),
}  # fmt: skip


@pytest.fixture(scope="module", params=TARGETS)
def classifier(request):
    return GBDTClassifier(**SMALL).fit(X, TARGETS[request.param])


def test_margins_and_logarithms(classifier):
    margins, shares = classifier.decision_function(X), classifier.predict_proba(X)
    assert_same_bits(margins, classifier.predict(X, output_margin=True))
    logs = classifier.predict_log_proba(X)
    assert logs.dtype == np.float64
    np.testing.assert_allclose(logs, np.log(shares.astype(np.float64)), rtol=2e-7, atol=1e-12)
    some = {"iteration_range": (0, 2)}
    assert_same_bits(classifier.decision_function(X, **some), margins_of(classifier, **some))
    assert classifier.n_classes_ == len(classifier.classes_)


def margins_of(classifier, **options):
    return classifier.model_.predict(X, output_margin=True, device=TEST_DEVICE, **options)


def test_the_logarithm_of_nothing():
    hinge = GBDTClassifier(objective="binary:hinge", **SMALL).fit(X, NUMBER > 0)
    assert set(np.unique(hinge.predict_log_proba(X))) == {-np.inf, np.float32(0)}


@pytest.mark.parametrize("n_rows", [3, 300])
def test_stages_are_those_of_predictions_of_some_rounds(classifier, n_rows, monkeypatch):
    """Of few rows on the host, of many on the device; also where some rounds are in memory."""
    rows = X[:n_rows]
    monkeypatch.setattr(walk_rows, "MOST_WALKS", 100)
    monkeypatch.setattr(walk_rows, "_STAGES_BYTES", 4 * 4 * n_rows)
    for name in ("predict", "predict_proba"):
        stages = list(getattr(classifier, f"staged_{name}")(rows))
        assert len(stages) == 6
        for n, found in enumerate(stages):
            wanted = getattr(classifier, name)(rows, iteration_range=(0, n + 1))
            np.testing.assert_array_equal(found, wanted)


def test_stages_of_numbers_and_their_options():
    model = GBDTRegressor(num_parallel_tree=2, **SMALL).fit(X, NUMBER)
    given = {"base_margin": X[:, 3], "iteration_range": (1, 5)}
    stages = list(model.staged_predict(X, **given))
    assert len(stages) == 4
    assert_same_bits(stages[-1], model.predict(X, **given))
    assert_same_bits(stages[0], model.predict(X, base_margin=X[:, 3], iteration_range=(1, 2)))
    two = GBDTRegressor(**SMALL).fit(X, np.stack([NUMBER, X[:, 3]], axis=1))
    stages = list(two.staged_predict(X))
    assert_same_bits(stages[2], two.predict(X, iteration_range=(0, 3)))
    assert_same_bits(list(two.staged_predict(as_sparse(X)))[-1], two.predict(X))
    with pytest.raises(DataError, match="X comes in batches"):
        model.model_.staged_predict(lambda: iter([X]))


def as_sparse(values):
    return pytest.importorskip("scipy.sparse").csr_matrix(values)


def test_early_stopping_ends_the_stages():
    model = GBDTRegressor(**{**SMALL, "n_estimators": 40}, learning_rate=1, early_stopping_rounds=2)
    model.fit(X, NUMBER, eval_set=[(X[::2] + 1, NUMBER[::2])])
    stages = list(model.staged_predict(X))
    assert len(stages) == model.best_iteration + 1
    assert_same_bits(stages[-1], model.predict(X))
    assert model.apply(X).shape == (300, model.best_iteration + 1)


# -- leaves ----------------------------------------------------------------------------------------
PARAMS = {
    "classes of forests": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.7,
    },
    "leaf-wise": {"max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"},
    "symmetric": {"grow_policy": "symmetric"},
    "sets": {"cat_method": "sets"},
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PARAMS)
def test_leaves_are_xgboosts(name, tmp_path, device):
    xgboost = pytest.importorskip("xgboost")
    rows, by_level = X.copy(), name == "sets"
    rows[:, 3] = np.floor(np.abs(rows[:, 3]) * 8)
    rows[::7, 1] = np.nan
    label = np.digitize(NUMBER, [-0.5, 0.5]) + (by_level * rows[:, 3]) % 3
    data = Dataset(rows, label, categorical_features=[3] if by_level else None)
    model = train({**SMALL, **PARAMS[name]}, data)
    model.save_model(tmp_path / "m.json")
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    kinds = ["q", "q", "q", "c"] if by_level else None
    coded = model.tree_values(rows)
    matrix = xgboost.DMatrix(coded, feature_types=kinds, enable_categorical=by_level)
    wanted = booster.predict(matrix, pred_leaf=True)
    again = Model.load_model(tmp_path / "m.json")
    for on in (TEST_DEVICE, device):
        found = again.predict(rows, pred_leaf=True, device=on)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, wanted)
        few = again.predict(rows[:5], pred_leaf=True, device=on, iteration_range=(1, 3))
        per_round = again.ensemble.round_trees
        np.testing.assert_array_equal(few, wanted[:5, per_round : 3 * per_round])


@pytest.mark.parametrize(
    "params", [{"grow_policy": "lossguide", "max_leaves": 9}, {"gamma": 20, "tree_method": "exact"}]
)
def test_leaves_of_xgboosts_own_files(params, tmp_path):
    """Leaf-wise and pruned trees, which are not numbered breadth-first."""
    xgboost = pytest.importorskip("xgboost")
    rows = xgboost.DMatrix(X, NUMBER)
    booster = xgboost.train(params, rows, 4)
    booster.save_model(tmp_path / "theirs.json")
    model = Model.load_model(tmp_path / "theirs.json")
    assert any(tree.file_numbers is not None for tree in model.ensemble.trees)
    model = pickle.loads(pickle.dumps(model))
    wanted = booster.predict(rows, pred_leaf=True)
    for first, end in ((0, 4), (1, 3)):
        given = {"iteration_range": (first, end), "device": TEST_DEVICE}
        found = model.predict(X, pred_leaf=True, **given)
        np.testing.assert_array_equal(found, wanted[:, first:end])
    model.save_model(tmp_path / "ours.json")
    again = xgboost.Booster(model_file=tmp_path / "ours.json").predict(rows, pred_leaf=True)
    ours = Model.load_model(tmp_path / "ours.json").predict(X, pred_leaf=True, device=TEST_DEVICE)
    np.testing.assert_array_equal(ours, again)


def test_apply_of_every_estimator_and_stages_of_a_ranker():
    for made, label, n_trees in (
        (GBDTRegressor(**SMALL), NUMBER, 6),
        (GBDTClassifier(**SMALL), CLASS, 18),
        (GBDTRandomForestClassifier(**SMALL), NUMBER > 0, 6),
        (GBDTRegressor(**{**SMALL, "n_estimators": 1}), NUMBER, 1),
    ):
        leaves = made.fit(X, label).apply(X)
        assert leaves.shape == (300, n_trees)
        assert_same_bits(made.apply(as_sparse(X)), leaves)
    values = made.model_.ensemble.trees[0].value[leaves[:, 0], 0]
    base = np.float32(made.model_.ensemble.base_margin)
    assert_same_bits(base + values, made.predict(X))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("f")
    ranker = GBDTRanker(**SMALL).fit(frame, np.minimum(np.abs(NUMBER), 4).astype(int), group=[300])
    assert_same_bits(ranker.apply(frame.assign(qid=0)), ranker.apply(frame))
    assert_same_bits(list(ranker.staged_predict(frame.assign(qid=0)))[-1], ranker.predict(frame))


def test_leaves_of_batches_and_what_does_not_fit_together(device):
    model = train(SMALL, Dataset(X, NUMBER))
    found = model.predict(lambda: iter([X[:100], X[100:]]), pred_leaf=True, device=device)
    assert_same_bits(found, model.predict(X, pred_leaf=True, device=device))
    with pytest.raises(ParameterError, match="pred_leaf=True and output_margin=True"):
        model.predict(X, pred_leaf=True, output_margin=True)
    with pytest.raises(DataError, match="X has 3 features"):
        GBDTRegressor(**SMALL).fit(X, NUMBER).apply(X[:, :3])


def test_trees_of_more_leaves_than_float32_counts_walk_on_the_host(monkeypatch):
    model = train(SMALL, Dataset(X, NUMBER))
    wanted = model.predict(X, pred_leaf=True, device=open_device(TEST_DEVICE))
    monkeypatch.setattr(walk_rows, "_MOST_IDS", 2)
    monkeypatch.setattr(walk_rows.on_device, "leaf_ids", None)
    assert_same_bits(model.predict(X, pred_leaf=True, device=open_device(TEST_DEVICE)), wanted)


# -- numbers of the fit ----------------------------------------------------------------------------
def test_the_intercept_is_xgboosts(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    for ours, theirs, label in (
        (GBDTClassifier(**SMALL), xgboost.XGBClassifier(), NUMBER > 0.7),
        (GBDTClassifier(**SMALL), xgboost.XGBClassifier(), np.digitize(NUMBER, [-0.5, 0.5])),
        (GBDTRegressor(**SMALL, objective="count:poisson"), xgboost.XGBRegressor(), NUMBER**2),
    ):
        ours.fit(X, label).save_model(tmp_path / "m.json")
        theirs.load_model(tmp_path / "m.json")
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
        assert ours.intercept_.shape == theirs.intercept_.shape


def test_scores_of_rounds():
    y, other = NUMBER > 0, (X[::3] + 1, NUMBER[::3] > 0)
    model = GBDTClassifier(**SMALL, eval_metric=["error", "logloss"])
    model.fit(X, y, eval_set=[(X, y), (X[:50], y[:50]), other])
    history = model.evals_result()
    assert model.train_score_.tolist() == [-x for x in history["validation_0"]["logloss"]]
    assert model.validation_score_.tolist() == [-x for x in history["validation_2"]["logloss"]]
    assert (np.diff(model.train_score_) > 0).all()
    model.set_params(eval_metric="auc").fit(X, y, eval_set=[other])
    assert model.validation_score_.tolist() == model.evals_result()["validation_0"]["auc"]
    assert model.train_score_.shape == (0,)
    assert model.fit(X, y).validation_score_.shape == (0,)


def test_before_fit():
    for name in ("intercept_", "train_score_", "validation_score_", "n_classes_"):
        assert not hasattr(GBDTClassifier(), name)
    for name in ("apply", "decision_function", "staged_predict_proba", "predict_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(GBDTClassifier(), name)(X)
