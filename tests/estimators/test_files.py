"""A model file goes to the kind of estimator that it is of, or is refused."""

import json

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    Model,
    train,
)
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.estimators.fitted import SAVED_BY
from pyopencl_gbdt.model.formats.base import CLASSES
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((120, 3)).astype(np.float32)
LABELS = {
    "reg:squarederror": X[:, 0],
    "reg:absoluteerror": X[:, 0],
    "survival:cox": np.exp(X[:, 0]),
    "binary:logistic": X[:, 0] > 0,
    "binary:hinge": X[:, 0] > 0,
    "multi:softprob": np.digitize(X[:, 0], [-0.5, 0.5]),
    "rank:ndcg": X[:, 0] > 0,
}
KINDS = {
    "regressor": (GBDTRegressor, GBDTRandomForestRegressor),
    "classifier": (GBDTClassifier, GBDTRandomForestClassifier),
    "ranker": (GBDTRanker,),
}
EVERY = [one for kind in KINDS.values() for one in kind]


def kind_of(objective):
    first = objective.partition(":")[0]
    return {"binary": "classifier", "multi": "classifier", "rank": "ranker"}.get(first, "regressor")


def trained(objective):
    more = {"num_class": 3} if objective.startswith("multi") else {}
    qid = np.arange(120) // 12 if objective.startswith("rank") else None
    params = {"objective": objective, "max_depth": 2, "device": TEST_DEVICE, **more}
    return train(params, Dataset(X, LABELS[objective].astype(np.float32), qid=qid), 2)


def edit(path, **attributes):
    document = json.loads(path.read_text())
    document["learner"]["attributes"] |= attributes
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("objective", LABELS)
@pytest.mark.parametrize("estimator", EVERY)
def test_a_model_that_train_made(objective, estimator, tmp_path):
    path = tmp_path / "m.json"
    model = trained(objective)
    model.save_model(path)
    asked = estimator(n_estimators=1, device=TEST_DEVICE)
    if estimator in KINDS[kind_of(objective)]:
        asked.load_model(path)
        assert asked.model_.ensemble == model.ensemble
        return
    fits = KINDS[kind_of(objective)][0].__name__
    words = rf"m\.json: .*objective='{objective}'.* for {estimator.__name__}; load it by {fits}\."
    with pytest.raises(ModelFormatError, match=words):
        asked.load_model(path)
    assert not asked.__sklearn_is_fitted__()


def test_a_refused_file_leaves_the_estimator(tmp_path):
    path = tmp_path / "m.json"
    trained("reg:squarederror").save_model(path)
    mine = GBDTClassifier(n_estimators=2, device=TEST_DEVICE).fit(X, X[:, 0] > 0)
    before = {**vars(mine)}
    with pytest.raises(ModelFormatError, match="GBDTRegressor"):
        mine.load_model(path)
    assert vars(mine).keys() == before.keys()
    assert mine.model_ is before["model_"]
    edit(path, **{CLASSES: "[0"})
    with pytest.raises(ModelFormatError, match="classes"):
        GBDTRegressor().load_model(path)


def test_probabilities_as_numbers(tmp_path):
    """A regressor may name a loss of classes; then it may load one."""
    path = tmp_path / "m.json"
    asked = {"objective": "binary:logistic", "device": TEST_DEVICE, "n_estimators": 2}
    mine = GBDTRegressor(**asked).fit(X, X[:, 0] > 0)
    mine.save_model(path)
    for other in (GBDTRegressor(device=TEST_DEVICE), GBDTRegressor(**asked)):
        np.testing.assert_array_equal(other.load_model(path).predict(X), mine.predict(X))
    with pytest.raises(ModelFormatError, match=r"saved by a regressor.*GBDTRegressor"):
        GBDTClassifier().load_model(path)
    trained("binary:logistic").save_model(path)
    GBDTRegressor(**asked).load_model(path)
    GBDTClassifier(device=TEST_DEVICE, n_estimators=2).fit(X, X[:, 0] > 0).save_model(path)
    with pytest.raises(ModelFormatError, match=r"saved by a classifier.*GBDTClassifier"):
        GBDTRegressor(**asked).load_model(path)


def test_custom_losses(tmp_path):
    def loss(margin, data):
        label = data.label if isinstance(data, Dataset) else data
        return margin - label, np.ones_like(margin)

    def own(y, margin):
        return margin - y, np.ones_like(margin)

    path = tmp_path / "m.json"
    train({"objective": loss, "device": TEST_DEVICE}, Dataset(X, X[:, 0]), 2).save_model(path)
    GBDTRegressor(device=TEST_DEVICE).load_model(path)
    with pytest.raises(ModelFormatError, match=r"objective='custom'.*GBDTRegressor"):
        GBDTClassifier().load_model(path)
    asked = {"objective": own, "n_estimators": 2, "device": TEST_DEVICE}
    mine = GBDTClassifier(**asked).fit(X, X[:, 0] > 0)
    mine.save_model(path)
    read = GBDTClassifier(device=TEST_DEVICE).load_model(path)
    np.testing.assert_array_equal(read.predict_proba(X), mine.predict_proba(X))
    with pytest.raises(ModelFormatError, match=r"saved by a classifier.*GBDTClassifier"):
        GBDTRegressor().load_model(path)


@pytest.mark.parametrize("ours", [GBDTRegressor, GBDTClassifier, GBDTRanker])
def test_xgboosts_estimators_take_the_same_files(ours, tmp_path):
    """And refuse the same ones, by the attribute that both write."""
    theirs = {
        GBDTRegressor: xgboost.XGBRegressor,
        GBDTClassifier: xgboost.XGBClassifier,
        GBDTRanker: xgboost.XGBRanker,
    }
    path, y = tmp_path / "m.json", (X[:, 0] > 0).astype(int)
    queries = {"qid": np.arange(120) // 12} if ours is GBDTRanker else {}
    mine = ours(n_estimators=2, max_depth=2, device=TEST_DEVICE).fit(X, y, **queries)
    mine.save_model(path)
    assert SAVED_BY not in mine.model_.ensemble.attributes
    for estimator, other in theirs.items():
        if estimator is ours:
            other().load_model(path)
            again = estimator(device=TEST_DEVICE).load_model(path)
            assert again.model_.ensemble == mine.model_.ensemble
        else:
            with pytest.raises(TypeError, match="different type"):
                other().load_model(path)
            with pytest.raises(ModelFormatError, match=r"saved by a"):
                estimator().load_model(path)
    their = theirs[ours](n_estimators=2, max_depth=2).fit(X, y, **queries)
    their.save_model(path)
    for estimator in theirs:
        if estimator is ours:
            estimator(device=TEST_DEVICE).load_model(path).predict(X)
        else:
            with pytest.raises(ModelFormatError, match=r"saved by a"):
                estimator().load_model(path)
    Model.load_model(path)


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "3", '{"_estimator_type":"clusterer"}', "[" * 9999]
)
def test_damaged_kinds_are_refused(text, tmp_path):
    path = tmp_path / "m.json"
    trained("reg:squarederror").save_model(path)
    edit(path, **{SAVED_BY: text})
    with pytest.raises(ModelFormatError, match=r"m\.json: attribute scikit_learn"):
        GBDTRegressor().load_model(path)
    edit(path, **{SAVED_BY: "{}"})
    GBDTRegressor().load_model(path)


BAD_CLASSES = ["", "x", "3", "{}", "[]", "[1,2,3]", "[1,1]", "[[1],[2]]", '[1,"a"]', "[null,1]",
               "[1e999,2.0]", f"[1,{10**30}]", "[" * 99999, '[NaN,NaN]', "[true,2]"]  # fmt: skip


@pytest.mark.parametrize("text", BAD_CLASSES)
def test_damaged_classes_are_refused(text, tmp_path):
    path = tmp_path / "m.json"
    trained("binary:logistic").save_model(path)
    edit(path, **{CLASSES: text})
    with pytest.raises(ModelFormatError, match=r"m\.json: attribute pyopencl_gbdt\.classes"):
        GBDTClassifier().load_model(path)
    edit(path, **{CLASSES: '["no","yes"]'})
    assert GBDTClassifier().load_model(path).classes_.tolist() == ["no", "yes"]


def test_a_file_of_dropped_trees_tells_the_booster(tmp_path):
    params = {"n_estimators": 3, "max_depth": 2, "device": TEST_DEVICE}
    for booster in ("dart", "gbtree"):
        fitted = GBDTRegressor(booster=booster, **params).fit(X, LABELS["reg:squarederror"])
        fitted.save_model(tmp_path / "model.json")
        again = GBDTRegressor(booster="gbtree" if booster == "dart" else "dart")
        again.load_model(tmp_path / "model.json")
        assert again.get_params()["booster"] == booster
