"""Callbacks, ``cv`` and settings of ``compat.xgboost``, beside XGBoost where it is installed."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows, small_integers

FEW = {"max_depth": 2}


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


@pytest.fixture(scope="module")
def matrix():
    return xgb.DMatrix(*rows())


def test_hooks_get_a_booster(matrix):
    seen = []

    class Watch(xgb.callback.TrainingCallback):
        def before_training(self, model):
            seen.append(("begin", model.num_boosted_rounds()))
            return model

        def before_iteration(self, model, epoch, evals_log):
            seen.append((epoch, model.num_boosted_rounds()))
            return epoch == 3

        def after_iteration(self, model, epoch, evals_log):
            margins = model.predict(matrix)
            seen.append((model.get_dump()[-1], margins, evals_log["a"]["rmse"][-1]))
            return False

        def after_training(self, model):
            model.set_attr(done=1)
            return model

    own = xgb.train(FEW, matrix, 9, evals=[(matrix, "a")], callbacks=[Watch()], verbose_eval=False)
    assert [one for one in seen if len(one) == 2] == [("begin", 0), (0, 0), (1, 1), (2, 2), (3, 3)]
    assert own.num_boosted_rounds() == 3
    assert own.attr("done") == "1"
    assert np.array_equal(seen[-2][1], own.predict(matrix))
    label = matrix.get_label()
    assert seen[-2][2] == pytest.approx(np.sqrt(np.mean((seen[-2][1] - label) ** 2)), rel=1e-5)
    with pytest.raises(TypeError, match="must be an instance of `TrainingCallback`"):
        xgb.train(FEW, matrix, 1, callbacks=[3])
    with pytest.raises(TypeError, match="metric must be callable"):
        xgb.train(FEW, matrix, 1, custom_metric="mae")


@pytest.mark.parametrize(
    "how",
    [{}, {"save_best": True}, {"min_delta": 0.05}, {"data_name": "a"}, {"metric_name": "mae"},
     {"maximize": True}],
)  # fmt: skip
def test_early_stopping_is_xgboosts(theirs, how):
    X, y = small_integers()
    found = []
    for library in (xgb, theirs):
        train, test = library.DMatrix(X[:120], y[:120]), library.DMatrix(X[120:], y[120:])
        stop = library.callback.EarlyStopping(rounds=2, **how)
        own = library.train(
            {"eta": 1, "max_depth": 3, "eval_metric": ["rmse", "mae"]}, train, 20,
            evals=[(train, "a"), (test, "b")], callbacks=[stop], verbose_eval=False,
        )  # fmt: skip
        found.append((own.best_iteration, own.num_boosted_rounds()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"min_delta": -1}, "min_delta must be greater or equal to 0"),
        ({"data_name": "z"}, "No dataset named: z"),
        ({"metric_name": "z"}, "No metric named: z"),
    ],
)
def test_wrong_early_stopping(matrix, how, words):
    with pytest.raises(ValueError, match=words):
        xgb.train(
            FEW, matrix, 2, evals=[(matrix, "a")],
            callbacks=[xgb.callback.EarlyStopping(rounds=1, **how)],
        )  # fmt: skip


def test_lines_are_xgboosts(theirs):
    X, y = small_integers()
    for period in (1, 2, 4, 9):
        lines = {}
        for name, library in (("ours", xgb), ("theirs", theirs)):
            matrix = library.DMatrix(X, y)
            monitor = library.callback.EvaluationMonitor(
                period=period, logger=lines.setdefault(name, []).append
            )
            library.train(FEW, matrix, 5, evals=[(matrix, "a")], callbacks=[monitor],
                          verbose_eval=False)  # fmt: skip
        assert lines["ours"] == lines["theirs"]
    with pytest.raises(AssertionError, match="expected 1 or more rounds"):
        xgb.callback.EvaluationMonitor(period=0)


def test_rates_hold_from_the_next_round_on(matrix):
    scheduler = xgb.callback.LearningRateScheduler
    own = xgb.train({"eta": 0.5, **FEW}, matrix, 3, callbacks=[scheduler([0.0, 0.25, 1.0])])
    assert np.array_equal(own[:2].predict(matrix), own[:1].predict(matrix))
    same = xgb.train({"eta": 0.5, **FEW}, matrix, 3, callbacks=[scheduler(lambda n: n / 4)])
    assert same.save_raw() == own.save_raw()
    with pytest.raises(TypeError, match="Invalid learning rates"):
        scheduler(3)


@pytest.mark.parametrize("as_pickle", [False, True])
def test_check_points_are_models(tmp_path, matrix, as_pickle):
    point = xgb.callback.TrainingCheckPoint(tmp_path, "m", as_pickle=as_pickle, interval=2)
    own = xgb.train(FEW, matrix, 6, callbacks=[point])
    ending = "pkl" if as_pickle else "ubj"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"m_2.{ending}", f"m_4.{ending}"]
    last = tmp_path / f"m_4.{ending}"
    kept = pickle.loads(last.read_bytes()) if as_pickle else xgb.Booster(model_file=last)
    assert np.array_equal(kept.predict(matrix), own[:5].predict(matrix))


def test_cross_validation_is_xgboosts(theirs):
    X, y = small_integers()
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    for how in ({"folds": folds}, {"nfold": 3, "shuffle": False},
                {"nfold": 3, "metrics": ["mae"], "early_stopping_rounds": 2}):  # fmt: skip
        found, wanted = (
            library.cv({"eta": 1, **FEW}, library.DMatrix(X, y), 4, as_pandas=False, **how)
            for library in (xgb, theirs)
        )
        assert list(found) == list(wanted)
        if "early_stopping_rounds" not in how:
            for name, values in found.items():
                np.testing.assert_allclose(values, wanted[name], rtol=2e-2, atol=1e-3)
    table = xgb.cv(FEW, xgb.DMatrix(X, y), 2)
    assert table.shape == (2, 4)
    with pytest.raises(ValueError, match="`QuantileDMatrix` is not yet supported"):
        xgb.cv(FEW, xgb.QuantileDMatrix(X, y), 2)
    stop = xgb.callback.EarlyStopping(rounds=1, save_best=True)
    with pytest.raises(ValueError, match="`save_best` is not applicable"):
        xgb.cv(FEW, xgb.DMatrix(X, y), 2, callbacks=[stop])


def test_queries_stay_whole_in_folds():
    X, y = small_integers()
    matrix = xgb.DMatrix(X, y % 3, group=[20] * 10, weight=np.arange(10) + 1)
    sizes = []

    def keep(train, test, params):
        sizes.append((train.get_group().tolist(), test.get_group().tolist()))
        return train, test, params

    xgb.cv({"objective": "rank:ndcg", **FEW}, matrix, 1, nfold=5, fpreproc=keep)
    assert sizes == [([20] * 8, [20] * 2)] * 5


def test_settings_belong_to_a_thread():
    before = xgb.get_config()
    with xgb.config_context(verbosity=0):
        assert xgb.get_config()["verbosity"] == 0
        seen = []
        other = threading.Thread(target=lambda: seen.append(xgb.get_config()["verbosity"]))
        other.start()
        other.join()
        assert seen == [1]
    assert xgb.get_config() == before
    for how in ({"colour": 1}, {"verbosity": 9}):
        with pytest.raises(ValueError, match=r"expected"):
            xgb.set_config(**how)


def test_one_process_is_a_team_of_its_own():
    from pyopencl_gbdt.compat.xgboost import collective

    with collective.CommunicatorContext():
        assert (collective.get_rank(), collective.get_world_size()) == (0, 1)
        assert not collective.is_distributed()
        assert collective.allreduce(np.arange(3), collective.Op.SUM).tolist() == [0, 1, 2]
        assert collective.broadcast({"a": 1}, 0) == {"a": 1}


def test_arguments_by_their_place_are_told(matrix):
    with pytest.warns(FutureWarning, match="Pass `evals` as keyword args"):
        xgb.train(FEW, matrix, 1, [(matrix, "a")])


def test_pictures_are_drawn(matrix):
    pytest.importorskip("matplotlib").use("Agg")
    own = xgb.train(FEW, matrix, 2)
    axes = xgb.plot_importance(own, max_num_features=2, title="t", xlim=(0, 9))
    assert (axes.get_title(), len(axes.patches), axes.get_xlim()) == ("t", 2, (0, 9))
    assert xgb.plot_tree(own, tree_idx=1) is not None
    assert "digraph" in str(xgb.to_graphviz(own))
    with pytest.raises(ValueError, match="results in empty"):
        xgb.plot_importance({})
    with pytest.raises(ValueError, match="xlim must be a tuple of 2 elements"):
        xgb.plot_importance(own, xlim=3)
    with pytest.raises(TypeError, match="`booster` must be Booster or XGBModel"):
        xgb.plot_tree(3)
