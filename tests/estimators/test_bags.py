"""A bag of folds: members that stop by their own folds, joined in one model."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, GBDTRegressor, Model
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DataWarning, ModelFormatError, ParameterError
from pyopencl_gbdt.estimators.held_out import (
    HoldOut,
    NothingHeldOutError,
    folds_of,
    joined,
    train_bag,
)
from pyopencl_gbdt.model.joined_statistics import JoinedStatistics
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.prediction import with_statistics
from pyopencl_gbdt.training.train import train
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(8)
X = RNG.standard_normal((200, 3)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(200) / 2).astype(np.float32)
CODES = np.digitize(Y, [-0.5, 0.5])
BEST = {"preset": "best", "max_depth": 2, "device": TEST_DEVICE}
#: Steps so large that few rounds follow the best one.
QUICK = {**BEST, "learning_rate": 0.3}
PARAMS = {"n_estimators": 4, "max_depth": 2, "base_score": 0.25, "device": TEST_DEVICE}


def test_every_row_is_held_out_once():
    folds = folds_of(Dataset(X, CODES), HoldOut(1, classes=True), 5)
    held = np.concatenate([own for _, own in folds])
    assert sorted(held.tolist()) == list(range(200))
    for rest, own in folds:
        assert own.size == 40
        assert np.array_equal(np.sort(np.concatenate([rest, own])), np.arange(200))
        shares = np.bincount(CODES[own]) / 40 - np.bincount(CODES) / 200
        assert np.abs(shares).max() < 0.05


def test_groups_stay_together():
    groups = RNG.integers(0, 12, 200)
    folds = folds_of(Dataset(X, Y), HoldOut(1, groups=groups), 3)
    sets = [set(groups[own]) for _, own in folds]
    assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]
    assert set().union(*sets) == set(groups)


@pytest.mark.parametrize("n_groups", [2, 4, 5, 6, 8, 10])
def test_each_fold_has_groups(n_groups):
    shares = np.arange(1, n_groups + 1)
    groups = RNG.choice(n_groups, 200, p=shares / shares.sum())
    folds = folds_of(Dataset(X, Y), HoldOut(1, groups=groups), 5)
    assert len(folds) == min(n_groups, 5)
    assert np.sort(np.concatenate([held for _, held in folds])).tolist() == list(range(200))
    sizes = [held.size for _, held in folds]
    assert max(sizes) - min(sizes) <= np.bincount(groups).max()
    fitted = GBDTRegressor(**BEST, n_estimators=2).fit(X, Y, groups=groups)
    assert fitted.n_iter_ == 2 * len(folds)
    with pytest.raises(NothingHeldOutError, match="all rows are of one group"):
        folds_of(Dataset(X, Y), HoldOut(1, groups=np.zeros(200)), 5)


@pytest.mark.parametrize("linear", [False, True])
def test_margins_are_means_of_the_members(linear):
    data = Dataset(X, Y)
    folds = folds_of(data, HoldOut(1), 4)
    params = {**PARAMS, "linear_tree": linear}
    model, members = train_bag(data, folds, lambda rest, held: train(params, rest))
    assert (model.ensemble.leaves is LINEAR) == linear
    assert model.num_boosted_rounds() == 16
    mean = np.mean([one.predict(X, output_margin=True) for one, _ in members], axis=0)
    np.testing.assert_allclose(model.predict(X, output_margin=True), mean, rtol=1e-5, atol=1e-6)
    for (_, unseen), (_, held) in zip(members, folds, strict=True):
        np.testing.assert_array_equal(unseen.label, Y[held])
    first = model.ensemble.trees[0].value
    np.testing.assert_array_equal(first, members[0][0].ensemble.trees[0].value * np.float32(0.25))


@pytest.fixture(scope="module")
def fitted():
    return GBDTRegressor(**QUICK).fit(X, Y)


@pytest.mark.thorough
def test_a_second_fit_is_the_same(fitted):
    assert fitted.model_.parameters["grow_policy"] == "symmetric"
    assert fitted.evals_result() == {}
    again = GBDTRegressor(**QUICK).fit(X, Y)
    assert again.model_.ensemble == fitted.model_.ensemble


@pytest.mark.parametrize("name", ["m.json", "m.ubj", "m.gbdt"])
def test_it_is_one_model_in_one_file(fitted, tmp_path, name):
    fitted.save_model(tmp_path / name)
    read = Model.load_model(tmp_path / name)
    np.testing.assert_array_equal(read.predict(X), fitted.predict(X))


@pytest.mark.thorough
def test_linear_leaves():
    fitted = GBDTRegressor(**BEST, linear_tree=True, n_estimators=3).fit(X, Y)
    assert fitted.model_.ensemble.leaves is LINEAR
    assert fitted.n_iter_ == 15


@pytest.mark.thorough
def test_classes_and_exact_rounds():
    fitted = GBDTClassifier(**BEST, n_estimators=3, scoring="accuracy").fit(X, CODES)
    assert fitted.n_iter_ == 15
    assert fitted.predict_proba(X).shape == (200, 3)
    stopped = GBDTClassifier(**QUICK, scoring="accuracy", n_iter_no_change=5).fit(X, CODES)
    assert 5 <= stopped.n_iter_ < 1000
    assert GBDTClassifier(**QUICK, n_iter_no_change=5).fit(X, CODES > 0).n_iter_ > 4


def test_intervals_come_from_rows_that_members_have_not_seen(fitted):
    assert fitted._scores_of_rows.size == 200
    ends = fitted.predict_interval(X, 0.8)
    assert ((ends[:, 0] <= Y) & (ends[:, 1] >= Y)).mean() >= 0.8


def test_who_has_no_bag(capsys):
    few = GBDTRegressor(**BEST, n_estimators=3).fit(X[:12], Y[:12])
    assert few.n_iter_ == 3
    assert (
        "preset='best': 12 rows are too few for 5 folds: one model is trained"
        in capsys.readouterr().err
    )
    ranker = GBDTRanker(**BEST, n_estimators=2).fit(X, CODES, group=[100, 100])
    assert ranker.n_iter_ == 2
    with pytest.raises(NothingHeldOutError, match="one class"):
        folds_of(Dataset(X, np.zeros(200)), HoldOut(1, classes=True), 5)


def test_few_rows_or_one_class_give_one_model_that_stops(capsys):
    few = GBDTRegressor(**QUICK).fit(X[:15], Y[:15])
    assert 1 <= few.n_iter_ <= 1000
    assert "one model is trained\n" in capsys.readouterr().err
    one = GBDTClassifier(**BEST, learning_rate=0.3).fit(X[:30], np.zeros(30))
    assert one.n_iter_ == 50


def test_a_member_without_scores_trains_all_rounds():
    labels = np.arange(200) < 2
    with pytest.warns(DataWarning, match="watched is NaN in every round: expected a number; give"):
        fitted = GBDTClassifier(**BEST, eval_metric="auc", learning_rate=0.3).fit(X, labels)
    assert fitted.n_iter_ > 100


def test_rows_without_weight_are_no_fold():
    weight = np.repeat([1.0, 0.0], 100)
    folds = folds_of(Dataset(X, Y, weight), HoldOut(1), 5)
    assert [int(weight[held].sum()) for _, held in folds] == [20] * 5
    weight = (np.arange(200) % 7 > 0).astype(float)
    folds = folds_of(Dataset(X, Y, weight), HoldOut(1, groups=np.arange(200) % 7), 5)
    assert all(weight[held].any() for _, held in folds)


@pytest.mark.parametrize("groups", [None, np.arange(200) % 4])
def test_folds_need_rows(groups):
    own = [None if groups is None else groups[:n] for n in (24, 25)]
    with pytest.raises(NothingHeldOutError, match="24 rows are too few for 5 folds"):
        folds_of(Dataset(X[:24], Y[:24]), HoldOut(1, groups=own[0]), 5)
    assert len(folds_of(Dataset(X[:25], Y[:25]), HoldOut(1, groups=own[1]), 5)) >= 4


def test_what_cannot_be_joined():
    dropped = train({**PARAMS, "booster": "dart", "rate_drop": 0.5}, Dataset(X, Y))
    with pytest.raises(ParameterError, match="members: expected models without weights of trees"):
        joined([dropped, dropped])


FRAME = pd.DataFrame({"town": [f"t{i * 7 % 40}" for i in range(200)], "x": X[:, 0]})


@pytest.fixture(scope="module")
def members():
    """Return three models with statistics of a column and of a combination, each of its rows."""
    frame = FRAME.assign(side=[f"s{i % 3}" for i in range(200)])
    data = Dataset(frame, Y)
    params = {**PARAMS, "cat_method": "statistics", "max_ctr_complexity": 2}
    params |= {"target_border_count": 2, "n_estimators": 8}
    parts = (np.arange(150), np.arange(50, 200), np.arange(0, 200, 2))
    found = [train(params, data.slice(part)) for part in parts]
    assert {2} == {
        len(table.parts) for one in found for table in one.ensemble.statistics.tables[2:]
    }
    return found, frame


@pytest.mark.thorough
def test_each_member_keeps_its_own_statistics(members):
    found, frame = members
    model, own = joined(found), [one.ensemble for one in found]
    statistics = model.ensemble.statistics
    sizes = [one.statistics.n_features for one in own]
    assert statistics.member_features == [0, *np.cumsum(sizes)]
    assert {one.statistics.targets for one in own} != {own[0].statistics.targets}
    unseen = frame.assign(town=[*frame.town[:190], *["nowhere"] * 8, None, None])
    margins = model.predict(unseen, output_margin=True)
    wanted = np.mean([one.predict(unseen, output_margin=True) for one in found], axis=0)
    assert np.abs(margins - wanted).max() < 1e-5
    for place, one in zip(statistics.member_features, own, strict=False):
        for feature in range(one.statistics.n_features):
            assert statistics.sources(place + feature) == one.statistics.sources(feature)
            assert statistics.parts(place + feature) == one.statistics.parts(feature)
    names = [model.ensemble.feature_name(3 + f) for f in range(sum(sizes))]
    assert len({*names}) == len(names)
    assert names[-1].endswith("of member 2")


def test_rows_get_the_same_statistics_on_the_device(members, monkeypatch):
    found, frame = members
    model, device = joined(found), open_device(TEST_DEVICE)
    on_host = model.tree_values(frame).host()
    monkeypatch.setattr(with_statistics, "_FEW_LOOK_UPS", 0)
    assert np.array_equal(model.tree_values(frame).on(device).get(), on_host, equal_nan=True)


def test_joined_statistics_are_kept_and_explained(members, tmp_path):
    found, frame = members
    model = joined(found)
    files = [tmp_path / name for name in ("bag.json", "bag.gbdt")]
    for file in files:
        model.save_model(file)
    for again in (*map(Model.load_model, files), pickle.loads(pickle.dumps(model))):
        assert again.ensemble.statistics == model.ensemble.statistics
        assert np.array_equal(again.predict(frame), model.predict(frame))
    assert {*model.get_score()} <= {"town", "x", "side"}
    parts = model.predict(frame, pred_contribs=True)
    assert parts.shape == (200, 4)
    assert np.abs(parts.sum(axis=1) - model.predict(frame)).max() < 1e-4
    with pytest.raises(ParameterError, match="model: the one to continue has statistics"):
        train(PARAMS, Dataset(frame, Y), model=model)


def test_joined_statistics_have_the_same_columns(members):
    own = members[0][0].ensemble.statistics
    other = replace(own, n_columns=9)
    for wrong in ((), (own, other)):
        with pytest.raises(ModelFormatError, match=f"statistics of {len(wrong)} members: expected"):
            JoinedStatistics(wrong)


@pytest.mark.thorough
def test_a_bag_takes_sets_or_statistics():
    for method, counts in (("sets", False), ("statistics", True)):
        fitted = GBDTRegressor(**BEST, n_estimators=1, cat_method=method).fit(FRAME, Y)
        assert fitted.n_iter_ == 5
        assert (fitted.model_.ensemble.statistics is not None) is counts


def test_verbose_prints_the_rounds_of_each_member(capsys):
    GBDTRegressor(**BEST, n_iter_no_change=2).fit(X, Y, verbose=True)
    assert capsys.readouterr().out.count("[0]") == 5
